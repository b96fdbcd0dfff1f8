"""The sentence, the table and the chart of one figure say the same, and all follow every number of a scenario."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from afterload.chapters import Workbook
from afterload.estimates import QueueEstimate
from afterload.figures import Figure
from afterload.figures.charts import Clock, drawn, evenly, thin
from afterload.figures.summary import summary
from afterload.figures.words import NEVER
from afterload.plan import plan_json
from afterload.plan.wording import worth
from afterload.scenario import load_scenario
from afterload.units import format_count, format_minutes, format_number, format_rate

Shown = Callable[[str], dict[str, Any]]
Books = Callable[[str], Workbook]


def rows_of(spec: Any, key: str) -> list[dict[str, Any]]:
    """All data rows of a chart that hold a key."""
    return [row for rows in values_in(spec) for row in rows if key in row]


def values_in(spec: Any) -> Iterator[list[dict[str, Any]]]:
    if isinstance(spec, dict):
        yield from (spec.get("datasets") or {}).values()
        if isinstance(spec.get("data"), dict) and "values" in spec["data"]:
            yield spec["data"]["values"]
        for value in spec.values():
            yield from values_in(value)
    elif isinstance(spec, list):
        for item in spec:
            yield from values_in(item)


def cells(figure: Figure, key: str) -> dict[str, dict[str, str]]:
    """Rows of a table by the text of their first column."""
    return {row[0]: dict(zip(figure.table.columns, row, strict=True)) for row in figure.table.rows}


def minutes(value: float | None) -> str:
    return NEVER if value is None else format_minutes(value)


def test_backlog_sentence_table_and_chart_agree(shown: Shown, workbook: Books, name: str) -> None:
    figure = shown(name)["backlog"]
    if not isinstance(figure, Figure):
        assert not workbook(name).estimates.queues
        return
    sentences = shown(name)["backlog_answer"].text.splitlines()
    table = cells(figure, "queue")
    for sentence, item in zip(sentences, workbook(name).estimates.queues.values(), strict=True):
        row = table[item.name]
        assert row["waiting at the restore"] == format_count(item.recovery.backlog_at_restore)
        assert row["drain"] == minutes(item.drain_min)
        if item.recovery.backlog_at_restore >= 1:
            assert row["waiting at the restore"] in sentence
        if item.drain_min:
            assert row["drain"] in sentence
        if item.drain_min is None:
            assert "never drains" in sentence
            assert row["highest"].startswith("grows") or item.recovery.peak_backlog is not None
        points = [point for point in rows_of(figure.chart, "from_restore") if point["queue"] == item.name]
        if not points:
            assert figure.notes
            continue
        assert max(point["value"] for point in points) == pytest.approx(float(item.recovery.backlog.max()), abs=1e-3)
        if item.drain_min is not None:
            assert points[-1]["value"] == 0
            assert points[-1]["from_restore"] == pytest.approx(item.drain_min, abs=2e-3)


def test_catch_up_table_and_chart_agree(shown: Shown, workbook: Books, name: str) -> None:
    figure = shown(name)["catch_up"]
    if not isinstance(figure, Figure):
        return
    table = cells(figure, "queue")
    for item in workbook(name).estimates.queues.values():
        row = table[item.name]
        assert row["drain today"] == minutes(item.drain_min)
        assert row["rate for the objective"] == format_rate(item.catch_up_rate_per_min)
        assert row["service rate today"] == format_rate(item.service_rate_now_per_min)
        points = [point for point in rows_of(figure.chart, "headroom") if point["queue"] == item.name]
        drains = [point["drain"] for point in points]
        # More of a dependency than it bears brings it down: only a queue without one never drains later for more.
        assert drains == sorted(drains, reverse=True) or item.queue.calls_of
        today = [point for point in points if point["rate"] == pytest.approx(item.service_rate_now_per_min, abs=0.01)]
        # Without the ramp, which the method says: the chart's drain is not longer than the table's.
        if today and item.drain_min is not None:
            slack = 0.02 if item.load.ramp is None else 2
            assert today[0]["drain"] == pytest.approx(item.drain_min, abs=slack)


def test_the_dependency_bars_add_up_to_what_the_words_say(shown: Shown, workbook: Books, name: str) -> None:
    figure = shown(name)["dependency_load"]
    if not isinstance(figure, Figure):
        return
    bars = rows_of(figure.chart, "part")
    for dependency, given in workbook(name).estimates.loaded.scenario.dependencies.items():
        parts = [bar["rate"] for bar in bars if bar["dependency"] == dependency]
        if parts:
            said = f"{dependency}: {format_rate(sum(parts))} of a tested {format_rate(given.tested_rate_per_min)}"
            assert said in figure.alt


def test_layers_agree(shown: Shown, workbook: Books, name: str) -> None:
    figure = shown(name)["calls_by_layer"]
    if not isinstance(figure, Figure):
        return
    stacks = workbook(name).estimates.stacks
    bars = rows_of(figure.chart, "tries")
    for item in stacks.values():
        rows = [dict(zip(figure.table.columns, row, strict=True)) for row in figure.table.rows if row[0] == item.name]
        calls = [row["calls it makes for one at the top"] for row in rows]
        assert calls == [format_number(number) for number in item.result.calls_per_top_call]
        drawn_calls = [bar["calls"] for bar in bars if bar["stack"] == item.name]
        assert not drawn_calls or drawn_calls == pytest.approx(list(item.result.calls_per_top_call), abs=1e-6)
        assert f"{format_number(item.result.multiplier)} call" in shown(name)["retries_answer"].text
    points = [row for row in rows_of(shown(name)["multiplier"].chart, "p") if row["stack"] in stacks]
    for item in stacks.values():
        mine = [row["multiplier"] for row in points if row["stack"] == item.name and row["p"] == 1]
        most = np.prod([float(layer.tries) for layer in item.stack.layers])
        assert not mine or mine[0] == pytest.approx(most, rel=1e-6)


def test_launches_agree(shown: Shown, workbook: Books, name: str) -> None:
    figure = shown(name)["launches"]
    if not isinstance(figure, Figure):
        return
    table = cells(figure, "fleet")
    for item in workbook(name).estimates.fleets.values():
        if not item.missing:
            assert item.name not in table
            continue
        row = table[item.name]
        assert row["missing"] == format_count(item.missing)
        assert row["all in service after"] == format_minutes(item.in_service_min)
        assert row["all in service after"] in shown(name)["launches_answer"].text
        points = [point for point in rows_of(figure.chart, "serving") if point["fleet"] == item.name]
        if points:
            assert points[0]["serving"] == item.fleet.running or points[0]["minutes"] == 0
            assert points[-1]["serving"] == item.fleet.needed
            reached = min(point["minutes"] for point in points if point["serving"] == item.fleet.needed)
            assert reached == pytest.approx(item.in_service_min, abs=1e-3)


def test_worth_bars_are_those_of_the_plan(shown: Shown, workbook: Books, name: str) -> None:
    figure = shown(name)["worth"]
    if not isinstance(figure, Figure):
        return
    bars = rows_of(figure.chart, "when")
    by_label = {(bar["change"], bar["when"]): bar["drain"] for bar in bars}
    for item in workbook(name).plan.open:
        label = f"{item.change} on {item.target.removeprefix('queues.')}"
        if item.today_min is None or item.planned_min is None or (label, "today") not in by_label:
            continue
        assert by_label[label, "today"] == pytest.approx(item.today_min, abs=1e-4)
        assert by_label[label, "with this change"] == pytest.approx(item.planned_min, abs=1e-4)


def test_impact_bars_end_at_the_restore_and_add_up(shown: Shown, workbook: Books) -> None:
    figure = shown("orders")["impact_windows"]
    bars = rows_of(figure.chart, "part")
    restore = Clock.of(workbook("orders").loaded).at(workbook("orders").loaded.scenario.incident.restored_at)
    table = cells(figure, "service")
    for service, row in table.items():
        mine = {bar["part"]: bar for bar in bars if bar["service"] == service}
        before = mine.get("before the restore", {"minutes": 0, "end": restore})
        after = mine.get("after the restore", {"minutes": 0, "start": restore})
        assert (format_count(before["minutes"]), format_count(after["minutes"])) == (
            row["before, min"],
            row["after, min"],
        )
        assert before["end"] <= restore <= after["start"]
        for bar in mine.values():
            assert (bar["end"] - bar["start"]) / 60_000 == bar["minutes"]


@pytest.mark.parametrize(
    ("example", "trigger", "restored"),
    [
        ("orders", (2025, 10, 19, 23, 48), (2025, 10, 20, 2, 40)),
        ("render-fleet", (2026, 5, 14, 6, 40), (2026, 5, 14, 9, 10)),
    ],
)
def test_times_in_charts_are_wall_clock_as_utc(
    shown: Shown, example: str, trigger: tuple[int, ...], restored: tuple[int, ...]
) -> None:
    """Milliseconds that a viewer in UTC reads as what the team's clock showed."""

    def ms(clock: tuple[int, ...]) -> float:
        return datetime(*clock, tzinfo=UTC).timestamp() * 1000  # type: ignore[misc]

    chart = shown(example)["backlog"].chart
    marks = {row["label"]: row["at"] for row in rows_of(chart, "label")}
    assert marks == {"trigger": ms(trigger), "restored": ms(restored)}
    points = rows_of(chart, "from_restore")
    assert all(
        point["at"] == ms(trigger) + round(point["minutes"] * 60_000)
        for point in points
        if point["minutes"] == round(point["minutes"])
    )
    assert min(point["at"] for point in points) == ms(trigger)


def test_one_offset_holds_through_a_change_of_clocks(tmp_path: Any) -> None:
    """An hour stays an hour in a chart: the offset is that of the trigger."""
    (tmp_path / "t.yaml").write_text(
        "team: T\ntime_zone: Europe/Berlin\nrecovery_objective: 1 h\n"
        "incident: {name: E, trigger: 2025-10-26T02:30+02:00, restored_at: 2025-10-26T02:30+01:00}\n"
        "queues: {q: {arrival_rate: 10/min, service_rate: 20/min}}\n",
        encoding="utf-8",
    )
    loaded = load_scenario(tmp_path / "t.yaml")
    clock = Clock.of(loaded)
    incident = loaded.scenario.incident
    assert clock.at(incident.restored_at) - clock.at(incident.trigger) == 3_600_000
    assert datetime.fromtimestamp(clock.at(incident.trigger) / 1000, UTC).hour == 2
    assert clock.after(60) == clock.at(incident.restored_at)
    assert "UTC+02:00" in clock.title


def test_thin_keeps_ends_and_peaks() -> None:
    times = np.arange(5000.0)
    curve = np.zeros(5000)
    curve[1234] = 7
    kept = thin(times, curve, limit=50)
    assert len(kept) <= 50
    assert {0, 1234, 4999} <= set(kept.tolist())
    assert thin(times[:10], curve[:10]).tolist() == list(range(10))


def test_what_a_chart_leaves_out_weighs_least() -> None:
    kept, notes = drawn([3, 1, 4, 1, 5], float, most=3)
    assert kept == [3, 4, 5]
    assert "3 that matter most of 5" in notes[0]
    assert drawn([3, 1], float) == ([3, 1], ())
    big, _ = drawn(["aaaa", "b"], lambda text: -len(text), len, most=3)
    assert big == ["b"]
    only, _ = drawn(["aaaa"], len, len, most=3)
    assert only == ["aaaa"]
    assert evenly(list(range(10)), 4)[0] == [0, 3, 6, 9]
    assert evenly([1, 2], 4) == ([1, 2], ())


# One changed number, where it shows, and what it must become; the closed form where there is one.
# fmt: off
OVERRIDES = [
    # example, override, get, expected, direction
    ("orders", "queues.orders.arrival_rate=1,500/min", "drain", 172 * 1_500 / 300, 1),
    ("orders", "queues.orders.arrival_rate=900/min", "drain", 172 * 900 / 900, -1),
    ("orders", "queues.orders.service_rate=2,400/min", "drain", 172, -1),
    ("orders", "queues.orders.service_rate=1,000/min", "drain", None, 1),
    ("orders", "incident.restored_at=2025-10-20T00:48-07:00", "drain", 120, -1),
    ("orders", "incident.trigger=2025-10-19T22:40-07:00", "drain", 480, 1),
    ("orders", "queues.orders.served_in_outage=600/min", "drain", 172, -1),
    ("orders", "queues.orders.backlog_before=60,000", "drain", 444, 1),
    ("orders", "queues.orders.age_limit=15 min", "drain", 30, -1),
    ("orders", "queues.orders.drain_cap.concurrency=50", "drain", 688, 1),
    ("orders", "queues.orders.superseded_share=0.5", "drain", 172, -1),
    ("orders", "queues.orders.deadline=30 min", "drain", 60, -1),
    ("orders", "queues.orders.goes_stale_after=30 min", "bought age-limit:queues.orders", 344 - 60, -1),
    ("orders", "queues.orders.item_time=4 s", "safe", 160, 1),
    ("orders", "dependencies.orders-table.tested_rate=2,400/min", "safe", 60, -1),
    ("orders", "dependencies.orders-table.direct_rate=0/min", "safe", 100, 1),
    ("orders", "recovery_objective=120 min", "catch up", 1_200 + 206_400 / 120, 1),
    ("orders", "call_stacks.checkout.failure_probability=0.5", "multiplier", (1 - 0.5**243) / 0.5, -1),
    ("orders", "call_stacks.checkout.layers.0.tries=1", "multiplier", 81, -1),
    ("orders", "call_stacks.checkout.layers.browser.tries=4", "multiplier", 324, 1),
    ("orders", "fleets.checkout-api.running=1,600", "in service", (1_000 / 2 + 150) / 60, -1),
    ("orders", "fleets.checkout-api.needed=4,600", "in service", (3_000 / 2 + 150) / 60, 1),
    ("checkout-api", "call_stacks.pay.failure_probability=1", "multiplier", 144, 1),
    ("checkout-api", "call_stacks.pay.failure_probability=0", "multiplier of pay", 1, -1),
    ("checkout-api", "call_stacks.pay.failure_probability=0.9", "multiplier", (1 - 0.9**144) / 0.1, 1),
    ("checkout-api", "call_stacks.quote.layers.ledger client.tries=2", "multiplier of quote", 1.4, -1),
    ("checkout-api", "call_stacks.pay.request_rate=48,000/min", "calls a minute", 48_000 / 0.6, 1),
    # Within the 3,500/min that the store has left, more drains sooner; 5,200/min bring it down for good.
    ("render-fleet", "queues.thumbnails.service_rate=3,000/min", "drain of thumbnails", None, -1),
    ("render-fleet", "queues.thumbnails.service_rate=5,200/min", "drain of thumbnails", None, 1),
    ("render-fleet", "queues.frame-events.stream.hottest_share=5 %", "drain", None, -1),
    ("render-fleet", "fleets.renderers.launch.instances_per_request=4", "in service", None, -1),
    ("render-fleet", "fleets.renderers.launch.throttle_factor=1", "in service", ((2_100 - 5) / 2 + 285) / 60, -1),
    ("render-fleet", "fleets.renderers.launch.boot_time=10 min", "in service", (2_097.5 + 645) / 60, 1),
    ("render-fleet", "fleets.renderers.running=3,000", "in service", ((1_000 - 2.5) / 1 + 285) / 60, -1),
]
# fmt: on


def seen(book: Workbook, what: str) -> float | None:
    """One headline number of a workbook; None for never."""
    found = book.estimates
    kind, _, name = what.partition(" of ")
    if kind == "drain":
        queue: QueueEstimate | None = found.queues[name] if name else found.worst_queue
        assert queue is not None
        return queue.drain_min
    if kind.startswith("bought "):
        line = kind.removeprefix("bought ")
        return next(item for item in book.plan.items if item.id == line).bought_min
    if kind == "safe":
        cap = next(item.cap for item in found.queues.values() if item.cap)
        return cap.safe_concurrency
    if kind == "catch up":
        assert found.worst_queue is not None
        return found.worst_queue.catch_up_rate_per_min
    if kind == "multiplier":
        stack = found.stacks[name] if name else found.worst_stack
        assert stack is not None
        return stack.result.multiplier
    if kind == "calls a minute":
        stack = found.worst_stack
        assert stack is not None
        return (stack.stack.request_rate_per_min or 0) * stack.result.multiplier
    assert found.slowest_fleet is not None
    return found.slowest_fleet.in_service_min


# The section with the sentence, the figure, and how its number is written.
PLACES: dict[str, tuple[str, str, Callable[[float], str]]] = {
    "drain": ("backlog_answer", "backlog", format_minutes),
    "bought": ("plan_details", "worth", format_minutes),
    "safe": ("plan_details", "dependency_load", lambda number: f"{number:,.0f}"),
    "catch": ("catch_up", "catch_up", format_rate),
    "multiplier": ("retries_answer", "calls_by_layer", format_number),
    "calls": ("retries_answer", "multiplier", format_number),
    "in": ("launches_answer", "launches", format_minutes),
}


@pytest.mark.parametrize(("example", "override", "what", "expected", "direction"), OVERRIDES)
def test_one_changed_number_changes_everything_that_follows_from_it(
    workbook: Books, shown: Shown, example: str, override: str, what: str, expected: float | None, direction: int
) -> None:
    before, after = workbook(example), Workbook(load_scenario(f"builtin:scenarios/{example}.yaml", [override]))
    old, new = seen(before, what), seen(after, what)
    assert old is not None
    if new is None:
        assert (direction, expected) == (1, None)
    else:
        assert (new - old) * direction > 0
        if expected is not None:
            assert new == pytest.approx(expected, rel=1e-9)
    section, place, write = PLACES[re.split(r"\W", what)[0]]
    answer, figure = getattr(after, section)(), getattr(after, place)()
    text = answer.text if hasattr(answer, "text") else f"{answer.to_text()} {answer.alt}"
    said = "never" if new is None else write(new)
    assert said in text
    assert isinstance(figure, Figure)
    if what != "calls a minute":
        assert said in figure.to_text()
        # The dependency's chart shows rates, which seconds an item do not change.
        if "item_time" not in override:
            assert json.dumps(figure.chart) != json.dumps(shown(example)[place].chart)
    # The terminal's summary and the plan come from the same numbers, under another digest.
    assert after.loaded.digest != before.loaded.digest
    assert f"--set {override.partition('=')[0]}" in str(after.loaded.overridden)
    assert override.partition("=")[0] in after.answer().text
    assert plan_json(after.plan, after.estimates) != plan_json(before.plan, before.estimates)
    if what.split(" of ")[0] in ("drain", "multiplier", "in service"):
        assert summary(after.estimates) != summary(before.estimates)
        assert said in "\n".join(summary(after.estimates))
        if " of " not in what and new is not None:
            assert said in after.answer().text


@pytest.mark.parametrize(("example", "override", "what", "expected", "direction"), OVERRIDES)
def test_the_plan_follows_too(
    workbook: Books, example: str, override: str, what: str, expected: float | None, direction: int
) -> None:
    """Ids stay; the line that the number is about has other evidence, worth or price."""
    before, after = (
        workbook(example).plan,
        Workbook(load_scenario(f"builtin:scenarios/{example}.yaml", [override])).plan,
    )
    assert {item.id for item in before.items} == {item.id for item in after.items}
    part = override.split(".")[0] if "." in override.partition("=")[0] else ""
    about = {
        "queues": "queues", "dependencies": "queues", "incident": "queues", "call_stacks": "call_stacks",
        "fleets": "fleets",
    }.get(part)  # fmt: skip
    old = {item.id: item for item in before.items}
    changed = [item.id for item in after.items if item != old[item.id] or worth(item) != worth(old[item.id])]
    if about is None:
        # Only what is measured against the objective follows from it: the interval, and consumers that catch up within it.
        assert set(changed) <= {
            "measure-recovery:team",
            *(line for line in changed if line.startswith("more-consumers:")),
        }
        assert "measure-recovery:team" in changed
    elif what == "calls a minute":
        return
    elif "launch." in override or "stream." in override:
        # No line of the plan is about these alone, but the interval to measure and the relaunch are.
        assert changed
    else:
        assert any(about in line for line in changed), changed


def test_a_profile_is_drawn_through_its_peak(shown: Shown, workbook: Books) -> None:
    item = workbook("render-fleet").estimates.queues["thumbnails"]
    # From 09:10 the quiet morning turns into the peak: more waits for a while only where arrivals pass the service.
    origin = workbook("render-fleet").loaded.scenario.incident.trigger
    assert item.load.arrivals.rate_at((timedelta(hours=4, minutes=20)) / timedelta(minutes=1)) == 2_200
    assert origin.utcoffset() == timedelta(hours=9, minutes=30)
    # Counted minute by minute: 06:40 to 09:10 waits, then 2,600/min are served.
    hours = workbook("render-fleet").loaded.scenario.queues["thumbnails"].arrival_rate.hour_of_day_per_min
    assert hours is not None
    waiting, minute = 0.0, 400
    while minute < 550 or waiting > 0:
        waiting += hours[minute // 60 % 24] - (2_600 if minute >= 550 else 0)
        minute += 1
    assert item.recovery.backlog_at_restore == sum(hours[m // 60] for m in range(400, 550))
    assert item.drain_min is not None
    assert minute - 1 <= 550 + item.drain_min <= minute


@pytest.mark.parametrize(
    ("objective", "verdict"),
    [("240 min", "missed by 104 min"), ("343 min", "missed by 1 min"), ("344 min", "met"), ("6 h", "met")],
)
def test_the_verdict_on_the_objective(objective: str, verdict: str) -> None:
    book = Workbook(load_scenario("builtin:scenarios/orders.yaml", [f"recovery_objective={objective}"]))
    assert (
        f"the objective of {minutes(book.loaded.scenario.recovery_objective_min)} is {verdict}." in book.answer().text
    )
