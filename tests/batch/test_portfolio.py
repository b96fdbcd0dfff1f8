"""The portfolio: totals, the changes that buy most, trends against the last run, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from afterload.batch.index import index_json
from afterload.batch.portfolio import build_portfolio
from afterload.errors import InputError, ModelError

Make = Callable[..., dict[str, Any]]


def last(records: list[dict[str, Any]], failures: tuple[tuple[str, str, str, str], ...] = ()) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(index_json(build_portfolio(records, failures)))
    return found


def test_totals_are_sums_of_what_has_an_end(bare: Make) -> None:
    records = [
        bare("A", met=True, results={"fresh_min": 100.0, "planned_fresh_min": 20.0}),
        bare("B", met=False, results={"fresh_min": 250.5, "planned_fresh_min": None}),
        bare("C", met=False, results={"fresh_min": None, "planned_fresh_min": 40.0}, hypothetical=True),
        bare("D", met=None, results={"couples": False, "fresh_min": None, "planned_fresh_min": None}),
    ]
    totals = build_portfolio(records, [("e", "e.yaml", "bad input", "no")]).totals
    assert (totals.teams, totals.met, totals.missed, totals.not_judged, totals.failed) == (5, 1, 2, 1, 1)
    assert (totals.stale_min, totals.never) == (350.5, 1)
    assert (totals.planned_stale_min, totals.planned_never) == (60, 1)
    assert totals.hypothetical == 1


def test_changes_that_buy_most_over_all_teams(bare: Make, line: Make) -> None:
    costs = {"stale_minute": 100.0, "person_day": 800.0, "currency": "EUR"}
    records = [
        bare("A", plan=[line(bought_min=50.0, saves=5000.0), line("age-limit", bought_min=70.0)], costs=costs),
        bare("B", plan=[line(bought_min=40.0), line(bought_min=5.0, id="drain-cap:queues.b")]),
        bare("C", plan=[line("retry-budget", bought_min=None, ends_never=True), line("pause-list", bought_min=0.0)]),
        bare("D", plan=[line("pause-list", bought_min=0.0), line("fresh-first", bought_min=0.0, stale_bought_min=9.0)]),
    ]
    portfolio = build_portfolio(records)
    seen = portfolio.changes
    assert [item.id for item in seen] == ["drain-cap", "age-limit", "fresh-first", "retry-budget", "pause-list"]
    top = seen[0]
    assert (top.teams, top.lines, top.bought_min, top.effort_days, top.top_team) == (2, 3, 95, 6, "a")
    # Only the team that gives costs counts: 50 min of 100 EUR, and its 2 days of 800 EUR.
    assert (top.saves, top.costs_effort) == ({"EUR": 5_000}, {"EUR": 1_600})
    assert (seen[2].stale_bought_min, seen[2].bought_min) == (9, 0)
    assert (seen[3].ends_never, seen[3].bought_min) == (1, 0)
    assert [None if row.top_change is None else row.top_change["change"] for row in portfolio.rows] == [
        "age-limit", "drain-cap", "retry-budget", "fresh-first",
    ]  # fmt: skip


def test_rows_say_which_shared_limits_are_broken(bare: Make, queue: Make) -> None:
    here = {"account": "1", "region": "r", "queues": [queue(cap_concurrency=600)]}
    portfolio = build_portfolio([bare("A", shares=here), bare("B", shares=here), bare("C")])
    assert [[limit.kind for limit in row.broken] for row in portfolio.rows] == [["concurrency"], ["concurrency"], []]
    assert portfolio.totals.broken_limits == 1


def test_trends_against_the_last_run(bare: Make, line: Make) -> None:
    before = [
        bare("Better", results={"fresh_min": 400.0, "multiplier": 27.0}),
        bare("Worse", results={"fresh_min": 300.0}),
        bare("Same", results={"fresh_min": 344.0}),
        bare("Ended", results={"fresh_min": None}),
        bare("Endless", results={"fresh_min": 10.0}),
        bare("Still", results={"fresh_min": None}),
        bare("Gone", plan=[line(bought_min=10.0)]),
    ]
    after = [
        bare("Better", results={"fresh_min": 344.0, "multiplier": 81.0}),
        bare("Worse", results={"fresh_min": 344.0}),
        bare("Same", results={"fresh_min": 344.0 * (1 + 1e-9)}),
        bare("Ended", results={"fresh_min": 500.0}),
        bare("Endless", results={"fresh_min": None}),
        bare("Still", results={"fresh_min": None}),
        bare("New"),
    ]
    portfolio = build_portfolio(after, previous=last(before, (("broke", "broke.yaml", "x", "y"),)))
    words = {row.record["team"]: row.trends["fresh_min"].word for row in portfolio.rows}
    assert words == {
        "Better": "better", "Worse": "worse", "Same": "same", "Ended": "better", "Endless": "worse", "Still": "same",
        "New": "new",
    }  # fmt: skip
    better = next(row for row in portfolio.rows if row.id == "better")
    assert (better.trends["fresh_min"].before, better.trends["fresh_min"].moved) == (400, -56)
    assert better.trends["multiplier"].word == "worse"
    assert portfolio.gone == (("broke", "broke.yaml"), ("gone", "Gone"))
    assert portfolio.trends["failed"].word == "better"
    assert portfolio.trends["stale_min"].before == pytest.approx(400 + 300 + 344 + 10 + 344)
    assert portfolio.compared


def test_more_teams_that_meet_their_objective_are_better(bare: Make, line: Make) -> None:
    before = [bare("A", plan=[line(bought_min=10.0)]), bare("B")]
    after = [bare("A", met=True, plan=[line(bought_min=20.0)]), bare("B")]
    portfolio = build_portfolio(after, previous=last(before))
    assert (portfolio.trends["met"].word, portfolio.trends["missed"].word) == ("better", "better")
    # What an open change would buy is neither good nor bad.
    assert portfolio.changes[0].trends["bought_min"].word == "changed"


def test_trends_of_shared_limits(bare: Make, queue: Make) -> None:
    def teams(number: int) -> list[dict[str, Any]]:
        shares = {"account": "1", "region": "r", "queues": [queue(cap_concurrency=600, drain_concurrency=600.0)]}
        return [bare(f"T{n}", shares=shares) for n in range(number)]

    portfolio = build_portfolio(teams(4), previous=last(teams(3)))
    (trends,) = portfolio.limit_trends.values()
    assert (trends["asked"].word, trends["asked"].before, trends["asked"].after) == ("worse", 1_800, 2_400)
    assert trends["limit"].word == "same"


def test_an_index_compares_with_itself_as_the_same(records: list[dict[str, Any]]) -> None:
    portfolio = build_portfolio(records, previous=last(records))
    words = {trend.word for row in portfolio.rows for trend in row.trends.values()}
    words |= {trend.word for trend in portfolio.trends.values()}
    words |= {trend.word for trends in portfolio.limit_trends.values() for trend in trends.values()}
    words |= {trend.word for item in portfolio.changes for trend in item.trends.values()}
    assert words == {"same"}
    assert portfolio.gone == ()


@pytest.mark.parametrize("previous", [{}, {"index": 1}, {"index": 1, "teams": 3}, {"index": 99, "teams": []}, []])
def test_what_is_no_index_is_refused(bare: Make, previous: Any) -> None:
    with pytest.raises(InputError, match=r"index\.json"):
        build_portfolio([bare("A")], previous=previous)


def test_two_teams_of_one_id_and_other_forms_are_refused(bare: Make) -> None:
    with pytest.raises(ModelError, match="share the id 'a'"):
        build_portfolio([bare("A"), bare("a")])
    with pytest.raises(ModelError, match="form 2"):
        build_portfolio([bare("A", record=2)])


def test_two_teams_of_one_name_are_told_apart(bare: Make) -> None:
    portfolio = build_portfolio([bare("A", id="one"), bare("A", id="two"), bare("B")])
    assert set(portfolio.names.values()) == {"A (one)", "A (two)", "B"}
