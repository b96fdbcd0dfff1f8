"""Every entry of the catalogue has a scenario in which it is first of the whole plan, and one in which it buys nothing.

An entry is first in one of three ways, and each case says which:

- ``minutes``: it buys the most minutes, or ends a drain that never ended, in the order given (minutes, or minutes a
  person-day, or cost: where a dearer change buys the same, the price decides);
- ``measure``: no line buys minutes, and it makes another measure better: fresh age, work lost;
- ``left``: it moves no measure by its nature (it bounds a risk, or shows one), and is the only line that is left to do.

It buys nothing in one of two ways: it is to do, makes no measure better and says so, or it is not to do and its
evidence says why. A new entry needs its two cases here.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.plan.conftest import HEAD, QUEUE
from tests.plan.test_catalogue import (
    BESIDE,
    BORNE,
    BUDGET,
    COLD,
    FAST,
    HASTY,
    KEYS,
    LASTING,
    MISSING,
    REMOVED,
    STAYS,
    STREAM,
    TABLE,
    called,
    client,
    fleet,
    loop,
    one,
    pool,
)

from afterload.estimates import estimate
from afterload.plan import DO, IN_PLACE, NOT_HERE, Plan, build_plan
from afterload.plan.build import Order, catalogue
from afterload.plan.wording import worth
from afterload.scenario import load_scenario

MEASURED = {"recovery_measured": "3 h"}
# Probed, and with room for no more consumers than there are.
NARROW = {
    "dependencies": {
        "table": {**TABLE, "tested_rate": "2,659/min", "capacity": "9,000/min", "attempts_while_failing": 1}
    }
}
PROBED = {"dependencies": {"table": {**TABLE, "capacity": "3,000/min", "attempts_while_failing": 3}}}
# A queue for which nothing else is left to do.
QUIET = {**LASTING, "order": "fresh_first", "sideline_after": "5 min", "drain_cap": {"concurrency": 60}}
OLD = {"sdk": "boto3", "version": "1.43.0", "number": 100}


@dataclass(frozen=True)
class First:
    """A scenario in which a line is first of the whole plan."""

    line: str
    parts: dict[str, Any]
    way: str = "minutes"
    order: Order = "minutes"
    head: dict[str, Any] = field(default_factory=lambda: MEASURED)


@dataclass(frozen=True)
class Nothing:
    """A scenario in which a line buys nothing: its status then, and what it says."""

    line: str
    parts: dict[str, Any]
    status: str
    words: str
    head: dict[str, Any] = field(default_factory=dict)


FIRST = {
    "full-jitter": First("clients.c", {**client(sdk="step-functions", retry_limit="token-bucket"), **PROBED}, "left"),
    "retry-budget": First("clients.c", BUDGET, order="effort"),
    "stagger-restarts": First("clients.c", {**client(sdk="go-v2"), **PROBED}, "left"),
    "standard-retries": First("clients.c", {**BUDGET, "clients": {"c": {**OLD, "dependency": "table"}}}, order="effort"),
    "age-limit": First("queues.q", one(**{**QUEUE, "goes_stale_after": "15 min"})),
    "dlq-receives": First("queues.q", one(**QUIET, max_receives=3), "measure"),
    "failure-destination": First("queues.q", {**one(**QUIET, age_limit="9 h"), **NARROW}, "left"),
    "retention": First("queues.q", {**one(**LASTING, retention="2 h"), **NARROW}, "measure"),
    "stream-retry-end": First("queues.q", {**one(**STREAM, drain_cap={"concurrency": 60}), **NARROW}, "left"),
    "bounded-pool": First("worker_pools.p", pool(queue=100), "left"),
    "bounded-replay": First("queues.q", {**one(**QUIET, max_receives=400), **NARROW}, "left"),
    "deadline-discard": First("queues.q", one(**HASTY, goes_stale_after="30 s")),
    "drain-cap": First("queues.q", one(**FAST)),
    "fresh-first": First("queues.q", {**one(**LASTING), **NARROW}, "measure"),
    "idempotency-keys": First(
        "queues.q", {**one(**QUIET, idempotency={**KEYS, "key_life": "1 h"}), **NARROW}, "left"),
    "ramp-limit": First("queues.q", {"queues": {"q": FAST}, "dependencies": {"table": COLD}}),
    "superseded": First("queues.q", one(**LASTING, supersedable_share=0.5)),
    "pause-list": First("fleets.f", {**one(**LASTING, fleet="f"), **fleet(**REMOVED), **NARROW}),
    "target-group-thresholds": First(
        "fleets.f", fleet(target_group={"targets": [300, 300, 300]}, launch={"instances_per_request": 600}), "left"),
    "measure-recovery": First("team", BESIDE, "left", head={}),
    "probe-hidden-capacity": First("dependencies.table", {**BESIDE, "dependencies": {"table": TABLE}}, "left"),
    # Capacity buys more minutes and costs money for ever: at a price of it the steps are first.
    "admission-steps": First(
        "admission", STAYS, order="cost", head={**MEASURED, "costs": {"stale_minute": 1, "capacity_hour": 1}}),
    "control-loop-bound": First("control_loops.l", loop(), "left"),
    "dependency-headroom": First("dependencies.table", STAYS),
    "launch-batch": First(
        "fleets.f", {**one(**LASTING, fleet="f"), **fleet(running=100, needed=1000), **NARROW}, order="effort"),
    "more-consumers": First("queues.q", one(**LASTING)),
    "provisioned-capacity": First("fleets.f", {**one(**LASTING, fleet="f"), **fleet(**MISSING), **NARROW}),
    "version-guard": First("plan_automation", {**BESIDE, "plan_automation": "published"}, "left"),
    "warm-cache": First(
        "dependencies.table", {"queues": {"q": LASTING}, "dependencies": {"table": {**COLD, "direct_rate": "1,100/min"}}}),
}  # fmt: skip
# Entries that cannot be first, with the reason; shown below.
NEVER_FIRST = {
    "velocity-limit": "Wherever removals matter and are not paused, the pause list stops all of them: it keeps at least as "
    "many instances, for the same effort.",
}
CALM = {**one(**LASTING), "dependencies": {"table": {**TABLE, "tested_rate": "90,000/min"}}}
NOTHING = {
    "full-jitter": Nothing("clients.c", client(sdk="step-functions", number=1), NOT_HERE, "One client alone makes no wave"),
    "retry-budget": Nothing(
        "clients.c", {**one(**LASTING), "clients": {"c": {"sdk": "other", "max_attempts": 3, "number": 9}}}, DO,
        "Buys no minutes here: the drain stays at 344 min."),
    "stagger-restarts": Nothing("clients.c", client(sdk="go-v2", number=24), NOT_HERE, "all of them at once fit"),
    "standard-retries": Nothing(
        "clients.c", {**one(**LASTING), "clients": {"c": OLD}}, DO, "Buys no minutes here: the drain stays at 344 min."),
    "age-limit": Nothing(
        "queues.q", {**one(**{**QUEUE, "goes_stale_after": "9 h"}), **NARROW}, DO, "Expires nothing in this outage."),
    "dlq-receives": Nothing(
        "queues.q", one(**LASTING, max_receives=9, visibility_timeout="1 h"), IN_PLACE, "dead-letters nothing"),
    "failure-destination": Nothing("queues.q", one(**LASTING, age_limit="9 h"), DO, "In this one nothing expires"),
    "retention": Nothing("queues.q", one(**LASTING, retention="4 days"), IN_PLACE, "2 h 52 min old at most"),
    "stream-retry-end": Nothing("queues.q", one(**STREAM, retention="1 h"), NOT_HERE, "would block it for longer"),
    "bounded-pool": Nothing("worker_pools.p", pool(burst=1), NOT_HERE, "Nothing is ever worked on side by side"),
    "bounded-replay": Nothing(
        "queues.q", {**CALM, "queues": {
            "q": {**LASTING, "service_rate": "31,200/min", "service": "sqs-lambda", "max_receives": 400}}}, NOT_HERE,
        "a redrive moves 30,000/min at most"),
    "deadline-discard": Nothing(
        "queues.q", one(**HASTY, goes_stale_after="30 s", during_outage="reject"), DO, "Discards nothing in this outage."),
    "drain-cap": Nothing("queues.q", one(**LASTING), DO, "Buys no minutes here: the drain stays at 344 min."),
    "fresh-first": Nothing("queues.q", BORNE, NOT_HERE, "43 min, within the objective"),
    "idempotency-keys": Nothing(
        "queues.q", one(**LASTING, idempotency={"failure_share": 0, "effect_despite_failure": 0}), NOT_HERE,
        "no try or delivery takes effect twice"),
    "ramp-limit": Nothing("queues.q", one(**LASTING), NOT_HERE, "no ramp can pass that"),
    "superseded": Nothing("queues.q", one(**LASTING, supersedable_share=0), NOT_HERE, "No work makes earlier work unnecessary"),
    "pause-list": Nothing(
        "fleets.f", {**one(**LASTING), **fleet(removal_automation=["Terminate"])}, DO,
        "Buys no minutes here: the drain stays at 344 min."),
    "target-group-thresholds": Nothing(
        "fleets.f", fleet(target_group={"targets": [300, 300, 300], "routing_count": 200, "dns_count": 200}), IN_PLACE,
        "can still bear the load"),
    "velocity-limit": Nothing(
        "fleets.f", fleet(**{**REMOVED, "launches_from": "10 min"}, needed=500), NOT_HERE, "500 instances are left"),
    "measure-recovery": Nothing("team", BESIDE, IN_PLACE, "Last measured at 180 min", MEASURED),
    "probe-hidden-capacity": Nothing(
        "dependencies.table", called(capacity="3,000/min"), IN_PLACE, "hidden capacity of 1,000/min"),
    "admission-steps": Nothing("admission", called(), NOT_HERE, "it heals by itself"),
    "control-loop-bound": Nothing("control_loops.l", loop(retries=1), IN_PLACE, "no more than it serves"),
    "dependency-headroom": Nothing("dependencies.table", called(direct_rate="1,000/min"), IN_PLACE, "fit into it"),
    "launch-batch": Nothing(
        "fleets.f", {**one(**LASTING), **fleet()}, DO, "Buys no minutes here: the drain stays at 344 min."),
    "more-consumers": Nothing("queues.q", BORNE, IN_PLACE, "43 min; the objective is 4 h"),
    "provisioned-capacity": Nothing("fleets.f", fleet(running=597), IN_PLACE, "are launched at once"),
    "version-guard": Nothing(
        "plan_automation", {**BESIDE, "plan_automation": {"version_guard": True}}, IN_PLACE, "no states of 288"),
    "warm-cache": Nothing("dependencies.table", called(cache={"hit_rate": 0.5}), NOT_HERE, "which fit into 3,000/min"),
}  # fmt: skip


def planned(folder: Path, parts: dict[str, Any], head: dict[str, Any], order: Order) -> Plan:
    path = folder / "t.yaml"
    path.write_text(json.dumps({**copy.deepcopy(HEAD), **head, **parts}), encoding="utf-8")
    return build_plan(estimate(load_scenario(path)), order)


def test_every_entry_has_both_cases() -> None:
    known = {change.id for change in catalogue()}
    assert len(known) >= 30
    assert set(FIRST) | set(NEVER_FIRST) == known
    assert set(NOTHING) == known
    assert not set(FIRST) & set(NEVER_FIRST)
    assert len(NEVER_FIRST) <= 2


@pytest.mark.parametrize("entry", FIRST)
def test_it_is_first_of_the_whole_plan(tmp_path: Path, entry: str) -> None:
    case = FIRST[entry]
    plan = planned(tmp_path, case.parts, case.head, case.order)
    first = plan.items[0]
    assert first.id == f"{entry}:{case.line}", [item.id for item in plan.open]
    assert first.status == DO
    if case.way == "left":
        assert [item.id for item in plan.open] == [first.id]
        assert first.bounds
        assert not first.buys
        return
    assert first.buys
    assert first.drain is not None
    others = [item for item in plan.open[1:] if item.drain is not None]
    assert others, "first of one is no order"
    if case.way == "measure":
        assert not any(item.shortens for item in plan.open)
        return
    assert first.drain.ended or (first.bought_min or 0) > 0
    if case.order == "minutes" and not first.drain.ended:
        assert (first.bought_min or 0) > max(item.bought_min or 0 for item in others if item.change != "velocity-limit")
    elif case.order == "minutes":
        ends = [item.planned_min for item in others if item.drain and item.drain.ended]
        assert all(end is not None and first.planned_min is not None and first.planned_min < end for end in ends)
    elif case.order == "effort":
        # Something buys as much and costs more days.
        assert any(item.shortens and plan.effort_days(item) > plan.effort_days(first) for item in others)


@pytest.mark.parametrize("entry", NOTHING)
def test_where_it_buys_nothing_it_says_so(tmp_path: Path, entry: str) -> None:
    case = NOTHING[entry]
    plan = planned(tmp_path, case.parts, case.head, "minutes")
    item = next(line for line in plan.items if line.id == f"{entry}:{case.line}")
    assert item.status == case.status
    if case.status != DO:
        assert case.words in item.evidence
        assert worth(item) == ""
        return
    assert not item.buys
    assert item.worths is not None
    assert "Buys no minutes here" in worth(item)
    assert case.words in worth(item)
    after = plan.open[plan.open.index(item) :]
    assert not any(line.buys for line in after)


def test_a_floor_keeps_no_more_than_a_pause_does(tmp_path: Path) -> None:
    """What :data:`NEVER_FIRST` says of it, shown where both are to do: as many minutes, for as many days."""
    plan = planned(tmp_path, {**one(**LASTING, fleet="f"), **fleet(**REMOVED), **NARROW}, MEASURED, "effort")
    first, second = plan.open[:2]
    assert (first.change, second.change) == ("pause-list", "velocity-limit")
    assert second.buys
    assert first.bought_min == pytest.approx(second.bought_min)
    assert plan.effort_days(first) == plan.effort_days(second)
    paused = planned(
        tmp_path,
        fleet(**{**REMOVED, "removal_automation": [{"name": "ReplaceUnhealthy", "paused": True}]}),
        MEASURED,
        "minutes",
    )
    assert next(item for item in paused.items if item.change == "velocity-limit").status == NOT_HERE
