"""The postmortem chapter says the same in words, tables and charts, and the same numbers as the chapters before it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from afterload.chapters import Workbook
from afterload.figures import Figure, Prose, Table
from afterload.figures.postmortem import proposals_table, sections
from afterload.figures.postmortem_charts import NO_POSTMORTEM
from afterload.plan.wording import worth
from afterload.scenario import load_scenario
from afterload.units import format_count, format_minutes, format_rate

Shown = Callable[[str], dict[str, Any]]
ORDERS = "builtin:scenarios/orders.yaml"
METHODS = tuple(name for name in vars(Workbook) if name.startswith("postmortem_"))


@pytest.fixture(scope="module")
def orders() -> Workbook:
    return Workbook(load_scenario(ORDERS))


def changed(*overrides: str) -> Workbook:
    return Workbook(load_scenario(ORDERS, list(overrides)))


def dicts(table: Table) -> list[dict[str, str]]:
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def test_durations_agree_in_words_table_and_chart(orders: Workbook) -> None:
    figure = orders.postmortem_durations()
    assert isinstance(figure, Figure)
    rows = {row["interval"].partition(":")[0]: row for row in dicts(figure.table)}
    assert rows["mitigate"]["interval"] == "mitigate: detected_at to mitigated_at"
    assert {name: row["minutes"] for name, row in rows.items()} == {
        "detect": "16 min", "mitigate": "27 min", "restore": "172 min", "recover": "351 min", "whole event": "523 min",
    }  # fmt: skip
    bars = figure.chart["layer"][0]["data"]["values"]
    assert [bar["interval"] for bar in bars] == list(rows)
    for bar in bars:
        minutes = (bar["end"] - bar["start"]) / 60_000
        assert minutes == bar["minutes"]
        assert rows[bar["interval"]]["minutes"] == format_minutes(minutes)
        assert rows[bar["interval"]]["from"] == bar["from"]
        assert rows[bar["interval"]]["to"] == bar["to"]
        assert f"{bar['interval'].capitalize()}: {format_minutes(minutes)}." in figure.alt
    words = orders.postmortem_answer().text
    assert "after 16 min; harm bounded 27 min later; dependency back 172 min (2 h 52 min) after the trigger" in words
    assert "normal again 351 min (5 h 51 min) after the restore" in words
    assert "objective of 240 min from the restore was missed by 111 min" in words
    assert rows["recover"]["beside it"] == "objective 240 min: missed by 111 min; computed 344 min (orders)"


def test_an_objective_that_was_met_and_a_measured_recovery() -> None:
    book = changed("recovery_objective=6 h", "recovery_measured=410 min")
    figure = book.postmortem_durations()
    assert (
        dicts(figure.table)[3]["beside it"]
        == "objective 360 min: met; computed 344 min (orders); last measured 410 min"
    )
    assert "objective of 360 min from the restore was met." in book.postmortem_answer().text


def test_what_is_not_given_is_said_and_not_drawn() -> None:
    book = changed("postmortem.detected_at=none", "postmortem.recovered_at=none")
    figure = book.postmortem_durations()
    given = {row["interval"].partition(":")[0]: row["minutes"] for row in dicts(figure.table)}
    assert given == {
        "detect": "not given", "mitigate": "not given", "restore": "172 min", "recover": "not given", "whole event": "not given",
    }  # fmt: skip
    assert [bar["interval"] for bar in figure.chart["layer"][0]["data"]["values"]] == ["restore"]
    assert dicts(figure.table)[0]["to"] == "not given"
    words = book.postmortem_answer().text
    assert "time to detect not given; time to bound the harm not given; dependency back" in words
    assert "time to recover not given." in words
    assert dicts(figure.table)[3]["beside it"].startswith("objective 240 min; computed 344 min")


def test_the_timeline_holds_both_sides_with_source_and_status(orders: Workbook) -> None:
    figure = orders.postmortem_timeline()
    assert isinstance(figure, Figure)
    rows = dicts(figure.table)
    points = figure.chart["layer"][0]["data"]["values"]
    assert len(rows) == len(points) == len(orders.loaded.timeline) + len(orders.loaded.own_timeline) == 34
    assert [row["what"] for row in rows] == [point["what"] for point in points]
    assert [point["at"] for point in points] == sorted(point["at"] for point in points)
    assert sum(point["side"] == "own" for point in points) == 7
    disagreeing = [row for row in rows if row["status"] == "disputed"]
    assert len(disagreeing) == 7
    assert all("(note: " in row["what"] for row in disagreeing)
    assert "Sources disagree on 7 of them." in figure.alt
    restored = {row["source"]: row for row in rows if row["kind"] == "dependency restored"}
    assert restored["provider's summary"]["time"].endswith("02:40")
    assert restored["checkout metrics"]["time"].endswith("02:44")
    assert restored["checkout metrics"]["what"].endswith("(note: the provider has 02:40 PDT)")
    # The account's instants stand at times of own entries, so they are not there twice.
    assert not [row for row in rows if row["source"].startswith("account of")]


def test_the_timeline_chapter_says_where_sources_disagree(orders: Workbook) -> None:
    figure = orders.events()
    assert isinstance(figure, Figure)
    [note] = figure.notes
    assert note.startswith("Sources disagree on 6 of 27 events: 2025-10-20 00:26 AWS: ")
    assert "02:25 DynamoDB: 02:24 PDT" in note


def test_the_split_is_that_of_the_windows(orders: Workbook) -> None:
    """The reference table of the event: EC2 172 and 670, Lambda 169 and 695; the team by its own instants."""
    table = orders.postmortem_split()
    assert isinstance(table, Table)
    rows = {row["service"]: (row["before, min"], row["after, min"]) for row in dicts(table)}
    assert rows["EC2 APIs and launches"] == ("172", "670")
    assert rows["Lambda"] == ("169", "695")
    assert rows["Orders, this account"] == ("172", "351")
    lasting = [item for item in orders.windows if item.after_min > 0]
    assert len(rows) == 1 + len(lasting)
    assert [row[4] for row in table.rows[1:]] == [
        format_count(minutes) for minutes in sorted((item.after_min for item in lasting), reverse=True)
    ]
    assert f"{len(orders.windows) - len(lasting)} more windows ended before it" in table.caption


def test_causes_rest_on_the_figures_of_the_other_chapters(orders: Workbook) -> None:
    table = orders.postmortem_causes()
    assert isinstance(table, Table)
    texts = {row["class"].partition(": ")[2]: row["computed here"] for row in dicts(table)}
    said = {row["class"].partition(": ")[2]: row["account and figures"] for row in dicts(table)}
    stack = orders.estimates.stacks["checkout"].result
    assert f"one call becomes {stack.multiplier:.0f} calls" in texts["workload amplification"]
    assert stack.multiplier == 243
    [dependency] = dicts(orders.hidden_capacity().table)
    for number in ("hidden capacity for this mix", "capacity", "load in the recovery", "class"):
        assert dependency[number] in texts["capacity degradation amplification"], number
    queue = orders.estimates.queues["orders"]
    assert f"{format_count(queue.recovery.backlog_at_restore)} items" in texts["backlog"]
    assert "206,400 items waiting at the restore, drained 344 min" in texts["backlog"]
    assert "3,000 missing instances in service 19.2 min" in texts["launch limits"]
    # 1,000 of 3,000 pass at once, the rest at 2/s.
    assert "16.7 min of it in launch limits" in texts["launch limits"]
    usual, restore = 600 + 1_200, 600 + 1_800
    assert (
        f"{format_rate(restore)} of direct traffic and drains, 1.33 times the usual {format_rate(usual)}"
        in texts["load spike"]
    )
    assert said == {
        "load spike": "not named",
        "capacity decrease": "named",
        "workload amplification": "named, and the figures show it",
        "capacity degradation amplification": "not named, though the figures show it",
        "backlog": "named, and the figures show it",
        "launch limits": "named, and the figures show it",
    }


def test_causes_follow_the_inputs() -> None:
    book = changed("queues.orders.service_rate=1200/min", "fleets.checkout-api.running=3600")
    rows = {row["class"].partition(": ")[2]: row for row in dicts(book.postmortem_causes())}
    assert "drained never at these rates" in rows["backlog"]["computed here"]
    assert rows["launch limits"]["account and figures"] == "named, but the figures do not show it"
    assert rows["launch limits"]["computed here"] == "no figure"
    assert "'launch limits' is named, but" in book.postmortem_gaps().to_text()


def test_actions_stand_by_due_date_with_the_worth_of_their_line(orders: Workbook) -> None:
    table = orders.postmortem_actions()
    assert isinstance(table, Table)
    rows = dicts(table)
    days = [date.fromisoformat(row["due"]) for row in rows]
    assert days == sorted(days)
    lines = {item.id: item for item in orders.plan.items}
    for row in rows:
        action = next(item for item in orders.loaded.scenario.postmortem.actions if item.text == row["action"])
        assert row["worth, computed"] == worth(lines[action.change])
    assert "Buys 314 min of drain" in rows[1]["worth, computed"]
    assert table.status == "status"
    # No clock is asked, so no action is late.
    assert "overdue" not in table.to_text()


def test_an_action_without_a_date_comes_last_and_an_unknown_line_is_said() -> None:
    book = changed(
        "postmortem.actions.0.due=none",
        "postmortem.actions.1.change=pause-list:fleets.checkout",
        "queues.orders.age_limit=15 min",
        "queues.orders.on_failure_destination=expired",
    )
    rows = dicts(book.postmortem_actions())
    assert [row["due"] for row in rows] == ["2025-11-14", "2026-01-15", "not given"]
    assert rows[0]["worth, computed"] == "names no line of the change plan"
    assert rows[2]["worth, computed"] == "in place by the change plan"
    gaps = book.postmortem_gaps().to_text()
    assert "postmortem.actions.1.change" in gaps
    assert "'pause-list:fleets.checkout' is not a line of the change plan" in gaps


def test_proposals_are_the_open_lines_that_no_action_names(orders: Workbook) -> None:
    table = orders.postmortem_proposals()
    assert isinstance(table, Table)
    proposed = {row["id for an action"]: row["worth, computed"] for row in dicts(table)}
    named = {action.change for action in orders.loaded.scenario.postmortem.actions}
    assert set(proposed) == {item.id for item in orders.plan.open} - named
    assert proposed == {item.id: worth(item) for item in orders.plan.open if item.id in proposed}
    assert "computed" in table.caption
    line = next(iter(proposed))
    again = changed(f"postmortem.actions.2.change={line}").postmortem_proposals()
    assert line not in again.to_text()


def test_stated_and_computed_impact_are_told_apart(orders: Workbook) -> None:
    rows = dicts(orders.postmortem_impact())
    assert [row["basis"] for row in rows] == ["stated", "stated", "computed", "computed"]
    assert [row["how many"] for row in rows] == ["573,000 orders", "3,100 calls", "206,400 items", "516 min"]
    assert rows[0]["source"] == "hypothetical order records"
    lossy = changed("queues.orders.age_limit=15 min").postmortem_impact()
    assert "188,400 items" in lossy.to_text()


def test_only_a_made_up_account_says_so(orders: Workbook) -> None:
    assert orders.postmortem_answer().text.startswith("Hypothetical: ")
    assert "Hypothetical" not in changed("hypothetical=false").postmortem_answer().text


def test_proposals_name_the_owner_agreed_on(orders: Workbook) -> None:
    plain = orders.postmortem_proposals()
    assert isinstance(plain, Table)
    assert plain.caption.endswith("computed, agreed by nobody")
    line = dicts(plain)[0]["id for an action"]
    shown = proposals_table(orders.loaded, orders.plan, {line: {"agreed_owner": "Ana Ortiz", "due": "soon"}})
    assert isinstance(shown, Table)
    assert shown.caption.endswith("computed, with the owners agreed on in the plan")
    first, *rest = dicts(shown)
    assert first == {**dicts(plain)[0], "owner": "Ana Ortiz"}
    assert rest == dicts(plain)[1:]


def test_headings_of_the_markdown_are_titles_and_captions(orders: Workbook) -> None:
    parts = sections(orders.estimates, orders.plan, orders.coupling)
    assert len(parts) == len(METHODS)
    for (heading, part), method in zip(parts[1:], METHODS[1:], strict=True):
        title = part.title if isinstance(part, Figure) else part.caption
        assert title.startswith(heading)
        shown = getattr(orders, method)()
        assert shown.to_text() == part.to_text(), method


@pytest.mark.parametrize("method", METHODS)
def test_without_a_postmortem_every_section_says_so(method: str) -> None:
    shown = getattr(Workbook(load_scenario("builtin:scenarios/checkout-api.yaml")), method)()
    assert isinstance(shown, Prose)
    assert "has no postmortem" in shown.text
    assert "has no postmortem" in NO_POSTMORTEM


def test_a_bare_account_says_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(
        json.dumps({
            "team": "T", "time_zone": "UTC", "recovery_objective": "4 h", "clients": {"c": {"sdk": "boto3", "number": 1}},
            "incident": {"name": "E", "trigger": "2025-10-20T00:00Z", "restored_at": "2025-10-20T02:00Z"},
            "postmortem": {"summary": "One line.\nThe same line.\n\nAnother."},
        }),
        encoding="utf-8",
    )  # fmt: skip
    book = Workbook(load_scenario(path))
    assert book.postmortem_answer().text.splitlines()[:2] == ["One line. The same line.", "Another."]
    for method, words in {
        "postmortem_impact": "no queue to compute any",
        "postmortem_timeline": "No entry",
        "postmortem_split": "nothing to split",
        "postmortem_interactions": "names no interaction",
        "postmortem_actions": "names no actions",
    }.items():
        shown = getattr(book, method)()
        assert isinstance(shown, Prose), method
        assert words in shown.text
    gaps = [row["field"] for row in dicts(book.postmortem_gaps())]
    assert gaps == [
        f"postmortem.{name}"
        for name in (
            "detected_at",
            "mitigated_at",
            "recovered_at",
            "trigger_kind",
            "sustained_by",
            "interactions",
            "actions",
        )
    ]
    causes = book.postmortem_causes()
    assert {row["account and figures"] for row in dicts(causes)} == {"the account does not say"}
