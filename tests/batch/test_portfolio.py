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


def last(records: list[dict[str, Any]], failures: tuple[tuple[str, str, str, str, str], ...] = ()) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(index_json(build_portfolio(records, failures)))
    return found


def test_totals_are_sums_of_what_has_an_end(bare: Make) -> None:
    records = [
        bare("A", met=True, results={"fresh_min": 100.0, "planned_fresh_min": 20.0}),
        bare("B", met=False, results={"fresh_min": 250.5, "planned_fresh_min": None}),
        bare("C", met=False, results={"fresh_min": None, "planned_fresh_min": 40.0}, hypothetical=True),
        bare("D", met=None, results={"couples": False, "fresh_min": None, "planned_fresh_min": None}),
    ]
    totals = build_portfolio(records, [("e", "E", "e.yaml", "bad input", "no")]).totals
    assert (totals.teams, totals.met, totals.missed, totals.not_judged, totals.failed) == (5, 1, 2, 1, 1)
    assert (totals.stale_min, totals.never) == (350.5, 1)
    assert (totals.planned_stale_min, totals.planned_never) == (60, 1)
    assert totals.hypothetical == 1


def test_changes_that_buy_most_over_all_teams(bare: Make, line: Make) -> None:
    costs = {"stale_minute": 100.0, "person_day": 800.0, "currency": "EUR"}
    records = [
        bare(
            "A", plan=[line(stale_bought_min=50.0, saves=5000.0), line("age-limit", stale_bought_min=70.0)], costs=costs
        ),
        bare("B", plan=[line(stale_bought_min=40.0), line(stale_bought_min=5.0, id="drain-cap:queues.b")]),
        bare("C", plan=[line("retry-budget", bought_min=None, ends_never=True), line("pause-list", bought_min=0.0)]),
        bare("D", plan=[line("pause-list", bought_min=0.0), line("more-consumers", bought_min=400.0)]),
    ]
    portfolio = build_portfolio(records)
    seen = portfolio.changes
    # What ends a never comes before minutes; these are ranked by minutes stale, then of drain.
    assert [item.id for item in seen] == ["retry-budget", "drain-cap", "age-limit", "more-consumers", "pause-list"]
    ending, *seen = seen
    top = seen[0]
    assert (top.teams, top.lines, top.stale_bought_min, top.effort_days, top.top_team) == (2, 3, 95, 6, "a")
    # Only the team that gives costs counts: the plan's own 5,000 EUR, and its 2 days of 800 EUR.
    assert (top.saves, top.costs_effort) == ({"EUR": 5_000}, {"EUR": 1_600})
    assert (seen[2].stale_bought_min, seen[2].bought_min, seen[2].top_min) == (0, 400, 400)
    assert (ending.ends_never, ending.ends_stale, ending.ends_drain) == (1, 0, 1)
    assert (ending.bought_min, ending.top_team, ending.top_min) == (0, "c", None)
    assert (seen[3].top_team, seen[3].buys) == (None, False)
    assert [None if row.top_change is None else row.top_change["change"] for row in portfolio.rows] == [
        "age-limit", "drain-cap", "retry-budget", "more-consumers",
    ]  # fmt: skip


def test_a_change_buys_most_for_a_team_at_which_it_buys(bare: Make, line: Make) -> None:
    """Told of a row of 0 min at the team that it named: the measure of the row counts, not an end of the drain."""
    records = [
        bare("Ledger", plan=[line(bought_min=None, ends_never=True)]),
        bare(
            "Orders",
            plan=[line(bought_min=900.0, stale_bought_min=334.0), line(id="drain-cap:b", stale_bought_min=20.0)],
        ),
        bare("Pay", plan=[line(bought_min=0.0)]),
        bare(
            "Stock",
            plan=[
                line(bought_min=0.0, stale_cost_min=7.0, cost_min=9.0),
                line(id="x", bought_min=0.0, makes_never=True),
            ],
        ),
    ]
    (seen,) = build_portfolio(records).changes
    assert (seen.top_team, seen.top_min, seen.stale_bought_min) == ("orders", 354, 354)
    # Open at four teams in six lines; it buys minutes at one and ends a never at another.
    assert (seen.teams, seen.lines, seen.buying_teams, seen.buying_lines) == (4, 6, 2, 3)
    assert (seen.ends_never, seen.makes_never, seen.stale_cost_min, seen.cost_min) == (1, 1, 7, 9)
    # Two days each: what is paid for the minutes is the work of the three lines that buy some.
    assert (seen.effort_days, seen.buying_effort_days) == (12, 6)


def test_what_a_change_drops_is_summed_apart_from_what_it_keeps(bare: Make, line: Make) -> None:
    records = [
        bare("A", plan=[line("age-limit", bought_min=300.0, lost_more=188_400.0)]),
        bare("B", plan=[line("age-limit", bought_min=10.0, lost_more=-400.0)]),
        bare("C", plan=[line("fresh-first", bought_min=0.0, stale_bought_min=300.0)]),
    ]
    first, second = build_portfolio(records).changes
    # What loses nothing and buys minutes stale stands before what shortens drains by dropping work.
    assert (first.id, first.stale_bought_min, first.lost_more) == ("fresh-first", 300, 0)
    assert (second.id, second.bought_min, second.lost_more, second.lost_fewer) == ("age-limit", 310, 188_400, 400)


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
    portfolio = build_portfolio(after, previous=last(before, (("broke", "Broke", "broke.yaml", "x", "y"),)))
    words = {row.record["team"]: row.trends["fresh_min"].word for row in portfolio.rows}
    assert words == {
        "Better": "better", "Worse": "worse", "Same": "same", "Ended": "better", "Endless": "worse", "Still": "same",
        "New": "new",
    }  # fmt: skip
    better = next(row for row in portfolio.rows if row.id == "better")
    assert (better.trends["fresh_min"].before, better.trends["fresh_min"].moved) == (400, -56)
    assert better.trends["multiplier"].word == "worse"
    assert portfolio.gone == (("broke", "Broke"), ("gone", "Gone"))
    # Six teams are in both runs, and of these three have an end in both.
    stale = portfolio.trends["stale_min"]
    assert (stale.word, stale.before, stale.teams) == ("better", 400 + 300 + 344, 3)
    assert stale.after == pytest.approx(3 * 344)
    assert (portfolio.trends["never"].word, portfolio.trends["never"].before) == ("same", 2)
    assert (portfolio.compared, portfolio.compared_teams, portfolio.last_teams) == (True, 6, 7)


def test_a_team_that_fails_makes_no_sum_better(bare: Make, line: Make, queue: Make) -> None:
    def teams(names: str) -> list[dict[str, Any]]:
        shares = {"account": "1", "region": "r", "queues": [queue(cap_concurrency=600, drain_concurrency=600.0)]}
        return [
            bare(name, shares=shares, plan=[line(stale_bought_min=97.0)], results={"fresh_min": 97.0}) for name in names
        ]

    before = last(teams("ABCD"))
    portfolio = build_portfolio(teams("ABC"), [("d", "D", "d.yaml", "input", "broken")], before)
    assert portfolio.totals.stale_min == 291
    assert {name: trend.word for name, trend in portfolio.trends.items()} == dict.fromkeys(portfolio.trends, "same")
    assert (portfolio.trends["stale_min"].before, portfolio.trends["stale_min"].teams) == (291, 3)
    assert portfolio.trends["broken_limits"].teams == 3
    assert portfolio.changes[0].trends["stale_bought_min"].word == "same"
    # What the failed team asked for is not known, so the limit that it shares is not compared.
    assert portfolio.limit_trends == {}
    again = build_portfolio(teams("ABCD"), previous=last(teams("ABC"), (("d", "D", "d.yaml", "input", "broken"),)))
    assert {trend.word for trend in again.trends.values()} == {"same"}
    assert again.limit_trends == {}


def test_an_interrupted_run_compares_no_sum(bare: Make, line: Make) -> None:
    before = last([bare(name, plan=[line()]) for name in "ABCD"])
    cut = [(name.lower(), name, f"{name}.yaml", "cancelled", "not done: the batch was interrupted") for name in "CD"]
    portfolio = build_portfolio([bare("A", plan=[line()], results={"fresh_min": 300.0}), bare("B")], cut, before)
    totals = portfolio.totals
    assert (totals.teams, totals.failed, totals.not_done, len(portfolio.failures), len(portfolio.not_done)) == (
        4,
        0,
        2,
        0,
        2,
    )
    assert (portfolio.trends, portfolio.limit_trends, portfolio.changes[0].trends, portfolio.gone) == ({}, {}, {}, ())
    # A team's own numbers are whole.
    assert portfolio.rows[0].trends["fresh_min"].word == "better"
    index = json.loads(index_json(portfolio))
    assert (index["failures"], [item["team"] for item in index["not_done"]]) == ([], ["C", "D"])
    # As the last run it counts for the teams that it has.
    after = build_portfolio([bare(name) for name in "ABCD"], previous=index)
    assert (after.compared_teams, after.trends["stale_min"].teams, after.trends["stale_min"].before) == (2, 2, 644)
    assert after.gone == ()


def test_objectives_that_are_missed_together(bare: Make, queue: Make, fleet: Make) -> None:
    """Sums by hand: 51,600 items, 1,800/min out and 1,200 in are 86 min; on 1,260/min each it is 860 min together."""
    verdict = {"subject": "queues.jobs", "value": 86.0, "level": "likely", "met": True, "words": "met"}
    short = queue(backlog=51_600.0, dependency="db", drain_min=86.0, fresh_min=86.0)

    def team(name: str, limit: float, rate: float = 2_520.0, objective: str = "fresh", **given: Any) -> dict[str, Any]:
        item = {
            "name": "db",
            "shared_as": "db",
            "tested_rate_per_min": rate,
            "direct_rate_per_min": 0.0,
            "control_rate_per_min": 0.0,
        }
        shares = {"dependencies": [item], "queues": [{**short, **given}]}
        return bare(name, met=True, verdicts=[{**verdict, "name": objective, "limit": limit}], shares=shares)

    portfolio = build_portfolio([team("A", 240), team("B", 900)])
    ((missed,), none) = (row.missed_together for row in portfolio.rows)
    assert (missed.objective, missed.limit_min, missed.key, missed.part) == ("fresh", 240, "dependency db", "jobs")
    assert (missed.alone_min, missed.together_min) == (86, pytest.approx(860))
    assert none == ()
    assert (portfolio.totals.met, portfolio.totals.met_together, portfolio.totals.missed_together) == (2, 1, 1)
    index = json.loads(index_json(portfolio))
    assert [len(item["missed_together"]) for item in index["teams"]] == [1, 0]
    # On 2,400/min for both, no drain ever ends.
    assert build_portfolio([team(n, 240, 2_400) for n in "AB"]).rows[0].missed_together[0].together_min is None
    # Work that is fresh after 5 min, while the drain takes 86, is stretched as the drain is: 50 min.
    assert build_portfolio([team(n, 60, fresh_min=5.0) for n in "AB"]).totals.missed_together == 0
    assert build_portfolio([team(n, 49, fresh_min=5.0) for n in "AB"]).totals.missed_together == 2
    # Expiry and ramps are in a packet's time alone: it is never told to be later than the joint drain.
    late = build_portfolio([team(n, 240, fresh_min=200.0) for n in "AB"]).rows[0].missed_together[0]
    assert late.together_min == pytest.approx(860)
    # What is asked of items lost says nothing here; nor do verdicts of a team that misses one alone.
    assert build_portfolio([team(n, 0, objective="lost") for n in "AB"]).totals.missed_together == 0
    assert build_portfolio([{**team(n, 240), "met": False} for n in "AB"]).totals.missed_together == 0


def test_a_launch_objective_that_is_missed_together(bare: Make, fleet: Make) -> None:
    # Ten fleets of 300: alone within the burst after 2.5 min; together 1,000 s and 150 s for the last.
    judged = [
        {
            "name": "launch",
            "subject": "fleets.api",
            "limit": 10.0,
            "value": 2.5,
            "level": "likely",
            "met": True,
            "words": "",
        }
    ]
    shares = {"account": "1", "region": "r", "fleets": [fleet()]}
    portfolio = build_portfolio([bare(f"T{n}", met=True, verdicts=judged, shares=shares) for n in range(10)])
    late = [row for row in portfolio.rows if row.missed_together]
    assert portfolio.totals.missed_together == len(late) > 0
    assert max(row.missed_together[0].together_min or 0 for row in late) == pytest.approx(1_150 / 60)


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


@pytest.mark.parametrize("team", [{}, {"results": {}}, {"results": 3}, {"results": {"couples": True}}])
@pytest.mark.parametrize("cut", [False, True])
def test_records_of_the_last_run_that_are_none_are_refused(bare: Make, team: dict[str, Any], cut: bool) -> None:
    previous = {"index": 1, "teams": [{"id": "a", "team": "A", **team}], "failures": [], "shared": []}
    not_done = [("b", "B", "b.yaml", "cancelled", "not done")] if cut else []
    with pytest.raises(InputError, match=r"index\.json holds no portfolio"):
        build_portfolio([bare("A")], not_done, previous)


def test_two_teams_of_one_id_and_other_forms_are_refused(bare: Make) -> None:
    with pytest.raises(ModelError, match="share the id 'a'"):
        build_portfolio([bare("A"), bare("a")])
    with pytest.raises(ModelError, match="form 2"):
        build_portfolio([bare("A", record=2)])


def test_two_teams_of_one_name_are_told_apart(bare: Make) -> None:
    portfolio = build_portfolio([bare("A", id="one"), bare("A", id="two"), bare("B")])
    assert set(portfolio.names.values()) == {"A (one)", "A (two)", "B"}
