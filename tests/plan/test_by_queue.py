"""Worth of a change in each queue and dependency, first changes by what is missed, what has no end, and what gets worse."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from afterload.estimates import estimate
from afterload.figures.answer import answer
from afterload.figures.plan import plan_answer
from afterload.figures.recovery import dependency_sentences, losing_sentences
from afterload.model.coupled import simulate
from afterload.plan import Plan, build_plan, plan_json, plan_markdown
from afterload.plan.first import first_changes, misses
from afterload.plan.measures import measure_lines
from afterload.plan.objectives import verdicts
from afterload.plan.whole import worsened
from afterload.plan.wording import short_worth, worth
from afterload.plan.worth import CASES, HOLDS, WHOLE, Appraiser, Measured, appraise
from afterload.recovery.build import couple
from afterload.recovery.result import DRAWS, drawn_inputs, estimate_recovery
from afterload.scenario import LoadedScenario, load_scenario, load_scenario_text

FIRST, COLLAPSED = CASES
TWO = """
team: Two queues
time_zone: UTC
hypothetical: true
recovery_objective: 120 min
incident: { name: made up, trigger: "2026-01-10T00:00Z", restored_at: "2026-01-10T01:35Z" }
queues:
  playback:
    service: other
    arrival_rate: 9,600/min
    service_rate: 12,600/min
    age_limit: none
    goes_stale_after: 30 min
  mail:
    service: other
    arrival_rate: 420/min
    service_rate: 600/min
    goes_stale_after: 1 h
"""
ENDLESS = """
team: Endless
time_zone: UTC
hypothetical: true
recovery_objective: 240 min
incident: { name: made up, trigger: "2026-01-10T00:00Z", restored_at: "2026-01-10T02:00Z" }
dependencies:
  db: { tested_rate: "3,000/min", direct_rate: "1,200/min", state_at_restore: collapsed, attempts_while_failing: 4 }
queues:
  a: { service: other, arrival_rate: "1,000/min", service_rate: "1,500/min", dependency: db }
"""


def loaded(text: str, *changes: str) -> LoadedScenario:
    return load_scenario_text(text, "team.yaml", changes)


@pytest.fixture(scope="module")
def two() -> Plan:
    return build_plan(estimate(loaded(TWO)))


# --- each queue --------------------------------------------------------------------------------------------------------

# Items at the restore, to spare a minute, and what an age limit leaves: closed forms of a queue alone.
PLAYBACK = (9_600 * 95, 3_000, 9_600 * 30)
MAIL = (420 * 95, 180, 420 * 60)


@pytest.mark.parametrize(("name", "queue"), [("playback", PLAYBACK), ("mail", MAIL)])
def test_an_age_limit_is_worth_to_its_queue_what_it_is_there(two: Plan, name: str, queue: tuple[float, ...]) -> None:
    """208 and 82 min; told as the difference of the slowest queue these were 82 and none."""
    backlog, spare, kept = queue
    item = next(item for item in two.open if item.id == f"age-limit:queues.{name}")
    part = f"queues.{name}"
    assert item.worths is not None
    assert set(item.worths[FIRST].parts) == {part}
    told, drain = item.told("empty_min") or ("", None)
    assert told == part
    assert drain is not None
    assert (drain.before, drain.after) == (pytest.approx(backlog / spare), pytest.approx(kept / spare))
    assert item.bought_min == pytest.approx((backlog - kept) / spare)
    assert (drain.p10, drain.p90) == (pytest.approx(drain.bought), pytest.approx(drain.bought))
    # Sixty minutes of what comes are kept: all that is older expires.
    assert item.worths[FIRST].parts[part].alone["lost"].after == pytest.approx(backlog - kept)
    assert f"Buys {(backlog - kept) / spare:.3g} min of drain" in worth(item)


def test_the_whole_is_told_beside_each_queue(two: Plan) -> None:
    """Both need a limit for the whole to be sooner than the other: 304 to 222 min alone, and 140 with both."""
    playback, mail = (
        next(item for item in two.open if item.id == f"age-limit:queues.{name}") for name in ("playback", "mail")
    )
    assert playback.worths is not None
    assert mail.worths is not None
    whole = playback.worths[FIRST].alone["empty_min"]
    assert (whole.before, whole.after) == (pytest.approx(304), pytest.approx(39_900 / 180))
    assert mail.worths[FIRST].alone["empty_min"].bought == pytest.approx(0)
    assert mail.worths[FIRST].cumulative["empty_min"].after == pytest.approx(140)
    rows = {row[0]: row[1] for row in measure_lines(mail).rows}
    assert rows["backlog empty after (mail)"] == "222 min to 140 min (81.7 min less)"
    assert rows["backlog empty after (all queues)"] == "stays 304 min"


def test_what_is_measured_of_a_part_is_its_own_result() -> None:
    """Every measure of every part is that of the simulation; the whole is the last of times and the sum of counts."""
    given = load_scenario("builtin:scenarios/render-fleet.yaml")
    appraiser, coupling = Appraiser.of(given), couple(given)
    assert appraiser is not None
    assert coupling is not None
    measured, drawn = appraiser.measured(), drawn_inputs(coupling)
    result = simulate(coupling.system, drawn)
    for place, name in enumerate(coupling.queues):
        part = f"queues.{name}"
        assert measured.values("empty_min", part)[1:] == pytest.approx(result.drain_min[:, place])
        assert measured.values("fresh_min", part)[1:] == pytest.approx(result.fresh_age_back_min[:, place])
        assert measured.values("lost", part)[1:] == pytest.approx(
            result.expired[:, place] + result.lost_to_retention[:, place] + result.dead_lettered[:, place]
            + result.discarded_past_deadline[:, place] + result.superseded[:, place]
        )  # fmt: skip
    for place, name in enumerate(coupling.dependencies):
        part = f"dependencies.{name}"
        peaks = result.peak_attempts_per_min[:, place]
        assert measured.values("peak_attempts_per_min", part)[1:] == pytest.approx(peaks)
    for name, whole_of in (("empty_min", np.max), ("fresh_min", np.max), ("lost", np.sum)):
        parts = [measured.values(name, part) for part in measured.parts(name)]
        assert len(parts) == len(coupling.queues)
        assert measured.values(name) == pytest.approx(whole_of(parts, axis=0))


def test_the_json_has_every_queue_that_a_line_touches(two: Plan) -> None:
    document = json.loads(plan_json(two, estimate(loaded(TWO))))
    lines = {line["id"]: line for line in document["changes"]}
    drain = lines["age-limit:queues.playback"]["parts"]["queues.playback"][FIRST]["alone"]["empty_min"]
    assert drain == {"before": 304, "after": 96, "p10": 208, "p90": 208}
    assert lines["age-limit:queues.playback"]["bought_min"] == 208
    assert list(lines["age-limit:queues.mail"]["parts"]) == ["queues.mail"]


def test_a_change_of_a_shared_dependency_is_told_of_every_queue(make: Callable[..., Any]) -> None:
    """Both queues of a collapsed table never drain; with capacity for all that is retried each drains in its own time."""
    queue = {"arrival_rate": "600/min", "attempts_while_failing": 3, "dependency": "table"}
    made = make(
        queues={"a": {**queue, "service_rate": "900/min"}, "b": {**queue, "service_rate": "1,200/min"}},
        dependencies={"table": {"tested_rate": "3,000/min", "direct_rate": "300/min", "attempts_while_failing": 3,
                                "state_at_restore": "collapsed"}},
        call_stacks={"s": {"layers": [{"name": "a", "tries": 1}]}},
    )  # fmt: skip
    item = made.line("dependency-headroom:dependencies.table")
    assert set(item.worths[FIRST].parts) == {"queues.a", "queues.b"}
    # 103,200 items at 300 and at 600 to spare a minute.
    for part, minutes in (("queues.a", 344), ("queues.b", 172)):
        drain = item.worths[FIRST].parts[part].alone["empty_min"]
        assert (drain.before, drain.after) == (None, pytest.approx(minutes, rel=0.01))
    assert "Brings the drain of a from never to 344 min" in worth(item)
    assert "Brings the drain of b from never to 172 min" in worth(item)


# --- first changes -----------------------------------------------------------------------------------------------------


def test_first_changes_are_for_the_queue_that_misses(two: Plan) -> None:
    """Mail is within 230 min; playback, which misses it, is the only one whose change comes for that."""
    given = loaded(TWO, "recovery_objective=230 min")
    plan = build_plan(estimate(given))
    found = {first.item.id: first.miss for first in first_changes(plan, {"fresh": 230}) if first.miss is not None}
    assert {name: miss.part for name, miss in found.items()} == {"fresh-first:queues.playback": "queues.playback"}
    [miss] = found.values()
    assert (miss.measure, miss.value, miss.limit) == ("fresh_min", pytest.approx(304), 230)
    both = {first.item.id for first in first_changes(two, {"fresh": 120}) if first.miss is not None}
    assert both == {"fresh-first:queues.playback", "fresh-first:queues.mail"}
    assert not [first for first in first_changes(two, {"fresh": 400}) if first.miss is not None]


def test_first_changes_for_items_that_may_not_be_lost(make: Callable[..., Any]) -> None:
    """Where nothing may be lost, the change that keeps most of what expires comes first, though it buys no minutes."""
    queue = {
        "arrival_rate": "1,200/min",
        "service": "sqs-lambda",
        "service_rate": "1,800/min",
        "goes_stale_after": "none",
    }
    made = make(queues={"kept": queue, "short": {**queue, "retention": "1 h"}})
    today = made.plan.appraisal.today[FIRST]
    [miss] = misses(today, {"lost": 0.0})
    assert (miss.part, miss.measure) == ("queues.short", "lost")
    # The drain is 344 min: of 172 min of arrivals those of the first 112 are over an hour old at the restore.
    assert (miss.value or 0.0) >= 1_200 * 112
    first = next(first for first in first_changes(made.plan, {"lost": 0.0}) if first.miss is not None)
    assert first.item.id == "retention:queues.short"
    told = short_worth(first.item, first)
    assert told == f"Items expired, lost or discarded: 0, {miss.value:,.0f} today."


def test_a_dependency_that_stays_down_is_missed_without_an_objective() -> None:
    plan = build_plan(estimate(loaded(ENDLESS)), draws=1)
    assert plan.appraisal is not None
    found = misses(plan.appraisal.today[FIRST], {})
    assert [(miss.part, miss.measure, miss.limit) for miss in found] == [("dependencies.db", "collapsed_min", None)]


# --- what has no end ---------------------------------------------------------------------------------------------------


def test_direct_requests_that_fail_without_an_end_are_a_rate() -> None:
    """All of 1,200/min fail for ever: no count, in the plan, on the page and in check."""
    given = loaded(ENDLESS)
    appraiser = Appraiser.of(given)
    assert appraiser is not None
    measured = appraiser.measured()
    for part in (WHOLE, "dependencies.db"):
        assert measured.likely("failed_direct", part) is None
        assert measured.likely("failed_direct_per_min", part) == pytest.approx(1_200)
        since = measured.likely(HOLDS, part)
        assert since is not None
        assert since >= 0
    # The queue loses nothing: it grows.
    assert (measured.likely("lost"), measured.likely("lost_per_min"), measured.likely(HOLDS, "queues.a")) == (
        0,
        0,
        None,
    )
    coupling = couple(given)
    assert coupling is not None
    recovery = estimate_recovery(coupling)
    [line] = dependency_sentences(recovery)
    assert "direct requests that fail: 1,200/min from " in line
    assert losing_sentences(recovery) == []


LOSING = ENDLESS.replace("dependency: db }", "dependency: db, age_limit: 1 h, max_receives: none }")


def test_items_that_expire_without_an_end_are_a_rate() -> None:
    """A queue whose table stays down serves nothing: with an age limit it loses what arrives, 1,000/min."""
    given = loaded(LOSING)
    estimates = estimate(given)
    plan = build_plan(estimates, draws=1)
    assert plan.appraisal is not None
    today = plan.appraisal.today[FIRST]
    assert (today.likely("lost"), today.likely("lost_per_min")) == (None, pytest.approx(1_000))
    coupling = couple(given)
    assert coupling is not None
    [line] = losing_sentences(estimate_recovery(coupling))
    assert line.startswith("Queue a: items lost without an end: 1,000/min from ")
    [verdict] = verdicts(estimates, {"lost": 0.0})
    assert (verdict.value, verdict.met) == (None, False)
    assert "1,000/min from " in verdict.words


def test_between_two_cut_offs_as_much_is_lost_as_the_rate_says() -> None:
    """Independent of how the rate is told: what is lost in a later stretch of the simulation, over its length."""
    coupling = couple(loaded(LOSING))
    assert coupling is not None
    # Before the state repeats itself, where the simulation stops.
    short, long = (simulate(coupling.system, horizon_min=minutes) for minutes in (30, 90))
    assert not long.never[0]
    assert (long.expired - short.expired)[0, 0] / 60 == pytest.approx(1_000, rel=1e-6)
    assert simulate(coupling.system).lost_per_min[0, 0] == pytest.approx(1_000, rel=1e-6)


def test_a_change_that_ends_a_loss_goes_from_a_rate_to_a_count() -> None:
    given = loaded(LOSING)
    found = appraise(given, [{"dependencies.db.capacity": "12,000/min"}])
    assert found is not None
    alone = found.worths[0][FIRST].alone
    assert alone["lost"].ended
    assert (alone["lost_per_min"].before, alone["lost_per_min"].after) == (pytest.approx(1_000), 0)
    assert found.worths[0][FIRST].buys


# --- worse than today --------------------------------------------------------------------------------------------------


def test_what_gets_worse_stands_before_everything_else(two: Plan) -> None:
    """Both age limits drop work: 837,000 items of playback and 30,000 of mail, each told of its queue, and first."""
    lost = {item.part: item for item in worsened(two) if item.measure == "lost"}
    assert {part: item.planned for part, item in lost.items()} == {
        "queues.playback": pytest.approx(837_000), "queues.mail": pytest.approx(30_000),
    }  # fmt: skip
    estimates = estimate(loaded(TWO))
    assert "Worse than today" in plan_answer(two).text.split("\n")[0]
    markdown = plan_markdown(two, estimates)
    assert markdown.index("Worse than today") < markdown.index("| # | Change |")
    document = json.loads(plan_json(two, estimates))
    assert {item["part"] for item in document["worse_than_today"]} == set(lost)
    page = answer(estimates, two).text
    assert page.index("The whole plan makes worse than today: ") < page.index("\n1. ")


# --- draws -------------------------------------------------------------------------------------------------------------

RANGED = """
uncertain:
  queues.playback.arrival_rate: { low: "9,000/min", high: "10,200/min"TIED }
  queues.mail.arrival_rate: { low: "394/min", high: "446/min"TIED }
"""


def spreads(measured: Measured, name: str) -> tuple[float, float]:
    low, high = measured.spread(name)
    assert low is not None
    assert high is not None
    return low, high


def test_the_plan_takes_the_draws_of_the_headline() -> None:
    given = loaded(TWO + RANGED.replace("TIED", ""))
    coupling, plan = couple(given), build_plan(estimate(given))
    assert coupling is not None
    assert plan.appraisal is not None
    recovery = estimate_recovery(coupling)
    assert plan.appraisal.draws == recovery.draws == DRAWS == 1_000
    for name, spread in recovery.drain.items():
        assert plan.appraisal.today[FIRST].spread("empty_min", f"queues.{name}") == (spread.p10, spread.p90)


def test_p10_to_p90_of_what_a_change_buys_covers_80_percent() -> None:
    """Against 20,000 draws of another seed: within two points, where a hundred draws were off by four."""
    given = loaded(TWO + RANGED.replace("TIED", ""))
    edit = {"queues.playback.age_limit": "30 min"}
    told = appraise(given, [edit])
    assert told is not None
    drain = told.worths[0][FIRST].parts["queues.playback"].alone["empty_min"]
    rates = np.random.default_rng(99).beta(3, 3, 20_000) * 1_200 + 9_000
    bought = rates * 65 / (12_600 - rates)
    assert drain.p10 is not None
    assert drain.p90 is not None
    assert np.mean((bought >= drain.p10) & (bought <= drain.p90)) == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize("tied", [False, True])
def test_tied_demand_moves_both_queues_in_every_draw(tied: bool) -> None:
    given = loaded(TWO + RANGED.replace("TIED", ", moves_with: demand" if tied else ""))
    coupling = couple(given)
    assert coupling is not None
    one, other = drawn_inputs(coupling).values()
    assert np.corrcoef(one, other)[0, 1] == pytest.approx(1.0 if tied else 0.0, abs=0.001 if tied else 0.1)
    recovery = estimate_recovery(coupling)
    estimates = estimate(given)
    page = answer(estimates, build_plan(estimates, draws=2), recovery).text
    assert ("which are taken as independent of each other" in page) == (not tied)


def test_a_single_range_is_independent_of_nothing() -> None:
    given = loaded(TWO + RANGED.splitlines()[1] + "\n" + RANGED.splitlines()[2].replace("TIED", ""))
    coupling = couple(given)
    assert coupling is not None
    estimates = estimate(given)
    assert "independent" not in answer(estimates, build_plan(estimates, draws=2), estimate_recovery(coupling)).text


# --- sized after -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["guide", "minutes", "effort"])
def test_headroom_is_sized_after_the_retry_changes_above_it(make: Callable[..., Any], order: Any) -> None:
    """Direct traffic of 1,200/min through a stack of 3 x 3 x 3 tries is 32,400/min of attempts today. With one layer that
    retries it is 3,600/min: that is what the table must bear, and the line stands below the one that leaves it at that."""
    made = make(
        dependencies={"table": {"tested_rate": "3,000/min", "direct_rate": "1,200/min"}},
        call_stacks={"s": {"dependency": "table",
                           "layers": [{"name": name, "tries": 3} for name in ("a", "b", "c")]}},
    )  # fmt: skip
    plan = build_plan(made.estimates, order, draws=1)
    ids = [item.id for item in plan.items]
    headroom = next(item for item in plan.open if item.change == "dependency-headroom")
    assert headroom.edit == {"dependencies.table.capacity": "3600/min"}
    assert headroom.evidence.startswith("With the retry changes above in place: ")
    assert ids.index("standard-retries:call_stacks.s") < ids.index(headroom.id)
    # With both the table is up again once the attempts in flight are over, and with the one above alone it stays down.
    appraiser = Appraiser.of(made.estimates.loaded)
    assert appraiser is not None
    retries = next(item.edit for item in plan.open if item.id == "standard-retries:call_stacks.s")
    assert appraiser.measured([retries], COLLAPSED).likely("collapsed_min") is None
    down = appraiser.measured([retries, headroom.edit], COLLAPSED).likely("collapsed_min")
    assert down is not None
    assert down < 0.1
