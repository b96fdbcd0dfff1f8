"""Entries of the catalogue: the scenario in which each matters, the one in which it buys nothing, and what it is worth.

Sums are written out here; the model is asked through the plan alone. Unless a line says otherwise, a queue gets 1,200
items a minute, its consumers do 1,800, and the outage takes 172 min: 206,400 items wait, and 600 a minute drain.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.plan.conftest import HEAD, QUEUE, everything

from afterload.estimates import estimate
from afterload.model.policies import RetryQuota
from afterload.plan import DO, IN_PLACE, NEEDS_EVIDENCE, NOT_HERE, PlanItem, build_plan
from afterload.plan.build import catalogue
from afterload.plan.wording import worth
from afterload.plan.worth import CASES
from afterload.scenario import Scenario, load_scenario
from afterload.scenario.overrides import apply_edits

Make = Callable[..., Any]
TABLE = {"tested_rate": "3,000/min", "direct_rate": "600/min"}
LASTING = {**QUEUE, "goes_stale_after": "none"}
FAST = {**LASTING, "service_rate": "6,000/min"}
# Its drain is above the tested rate, and does not push the dependency down.
BORNE = {"queues": {"q": FAST}, "dependencies": {"table": {**TABLE, "capacity": "10,000/min"}}}
SHARDS = {"shards": 4, "batch_size": 100, "batch_time": "2 s"}
STREAM = {**LASTING, "service": "stream-lambda", "stream": SHARDS}
COLD = {**TABLE, "cache": {"hit_rate": 0.5, "hit_rate_at_restore": 0, "fill_time": "20 min"}}
KEYS = {"failure_share": 0.02, "effect_despite_failure": 0.2}
POOL = {"burst": 200, "burst_over": "1 s", "item_time": "1.5 s"}
# The dependency is down at the restore, and three attempts a request keep it down: 3 x 1,400 is more than 3,000.
DOWN = {"tested_rate": "3,000/min", "direct_rate": "1,200/min", "state_at_restore": "collapsed"}
SLOW = {**LASTING, "arrival_rate": "100/min", "service_rate": "200/min"}


def one(**fields: Any) -> dict[str, Any]:
    """A scenario of one queue."""
    return {"queues": {"q": fields}, "dependencies": {"table": TABLE}}


def client(**fields: Any) -> dict[str, Any]:
    """A scenario of one kind of client of a dependency with room for 2,400/min."""
    return {"clients": {"c": {"number": 400, "dependency": "table", **fields}}, "dependencies": {"table": TABLE}}


def pool(**fields: Any) -> dict[str, Any]:
    """A scenario of one worker pool."""
    return {"worker_pools": {"p": {**POOL, **fields}}}


def fleet(**fields: Any) -> dict[str, Any]:
    """A scenario of one fleet."""
    return {"fleets": {"f": {"running": 600, "needed": 600, **fields}}}


# A scenario holds at least one queue, stack, client, fleet or pool.
BESIDE: dict[str, Any] = {"call_stacks": {"beside": {"layers": [{"name": "a", "tries": 1}]}}}


def called(**fields: Any) -> dict[str, Any]:
    """A scenario of one dependency, at which a failing request costs three attempts."""
    return {**BESIDE, "dependencies": {"table": {**TABLE, "attempts_while_failing": 3, **fields}}}


def loop(**fields: Any) -> dict[str, Any]:
    """A scenario of a control loop that serves 200 requests within a time-out."""
    return {
        **BESIDE,
        "control_loops": {"l": {"load": "40/s", "capacity": "100/s", "timeout": "2 s", "retries": 3, **fields}},
    }


# 600 instances, of which automation removes 10 a minute for half an hour.
REMOVED = {"removal_automation": ["ReplaceUnhealthy"], "launches_from": "30 min", "removal_rate": "10/min"}
MISSING = {"running": 600, "needed": 3600}
BUDGET = {
    "clients": {"c": {"sdk": "other", "max_attempts": 3, "number": 100, "dependency": "table"}},
    "dependencies": {"table": DOWN}, "queues": {"q": SLOW},
}  # fmt: skip
STAYS = {
    "dependencies": {"table": {**DOWN, "attempts_while_failing": 3}},
    "queues": {"q": {**SLOW, "attempts_while_failing": 3}},
}
HASTY = {**QUEUE, "service": "lambda-async", "age_limit": "1 min", "on_failure_destination": "arn:x"}
# By id of a line: a scenario in which it is to do, and the same without the reason.
REASONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "full-jitter:clients.c": (client(sdk="step-functions"), client(sdk="step-functions", jitter="full")),
    "retry-budget:clients.c": (
        client(sdk="other", max_attempts=3), client(sdk="other", max_attempts=3, retry_limit="token-bucket")),
    "stagger-restarts:clients.c": (client(sdk="go-v2"), client(sdk="go-v2", restarts="24/min")),
    "failure-destination:queues.q": (
        one(**LASTING, age_limit="1 h"), one(**LASTING, age_limit="1 h", on_failure_destination="d")),
    "stream-retry-end:queues.q": (one(**STREAM), one(**{**STREAM, "stream": {**SHARDS, "retries": 9}})),
    "retention:queues.q": (one(**LASTING, retention="2 h"), one(**LASTING, retention="3 h")),
    "dlq-receives:queues.q": (one(**LASTING, max_receives=3), one(**LASTING, max_receives=344)),
    "fresh-first:queues.q": (one(**LASTING), one(**LASTING, order="fresh_first", sideline_after="5 min")),
    "deadline-discard:queues.q": (
        one(**HASTY, goes_stale_after="30 s"), one(**HASTY, goes_stale_after="30 s", deadline="30 s")),
    "superseded:queues.q": (
        one(**LASTING, supersedable_share=0.5), one(**LASTING, supersedable_share=0.5, superseded_share=0.5)),
    "ramp-limit:queues.q": (BORNE, one(**FAST, ramp={"start": 16, "per_min": 6, "ceiling": 80})),
    "bounded-pool:worker_pools.p": (pool(queue=100), pool(queue=100, workers=100)),
    "idempotency-keys:queues.q": (
        one(**LASTING, idempotency={**KEYS, "key_life": "1 h"}), one(**LASTING, idempotency={**KEYS, "key_life": "3 h"})),
    "bounded-replay:queues.q": (one(**LASTING, max_receives=400), one(**LASTING, max_receives=400, replay_rate="10/s")),
    "velocity-limit:fleets.f": (fleet(**REMOVED), fleet(**REMOVED, removal_floor=600)),
    "provisioned-capacity:fleets.f": (fleet(**MISSING), fleet(running=3600, needed=3600)),
    "launch-batch:fleets.f": (fleet(**MISSING), fleet(**MISSING, launch={"instances_per_request": 2})),
    "target-group-thresholds:fleets.f": (
        fleet(target_group={"targets": [300, 300, 300]}),
        fleet(target_group={"targets": [300, 300, 300], "routing_count": 200, "dns_count": 200})),
    "admission-steps:admission": (called(direct_rate="1,200/min"), {**called(direct_rate="1,200/min"),
                                                                   "admission": {"in_place": True}}),
    "more-consumers:queues.q": (one(**LASTING), one(**{**LASTING, "service_rate": "2,100/min"})),
    "dependency-headroom:dependencies.table": (
        called(direct_rate="1,200/min"), called(direct_rate="1,000/min")),
    "warm-cache:dependencies.table": (
        called(cache={"hit_rate": 0.9}), called(cache={"hit_rate": 0.9, "hit_rate_at_restore": 0.9})),
    "version-guard:plan_automation": (
        {**BESIDE, "plan_automation": "published"},
        {**BESIDE, "plan_automation": {"clean_up": "never the active"}}),
    "control-loop-bound:control_loops.l": (loop(), loop(queue_cap=200)),
}  # fmt: skip


def lines(loaded: Any) -> dict[str, PlanItem]:
    """Every line by its id, without computing what it is worth."""
    results = estimate(loaded)
    return {item.id: item for change in catalogue() for item in change.items(results)}


def load(path: Path, data: dict[str, Any]) -> Any:
    path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    return load_scenario(path)


def scenario(tmp_path: Path, parts: dict[str, Any]) -> Any:
    return load(tmp_path / "t.yaml", {**copy.deepcopy(HEAD), **parts})


@pytest.mark.parametrize("line", REASONS)
def test_a_line_stands_for_its_reason_and_goes_with_it(tmp_path: Path, line: str) -> None:
    there, gone = (lines(scenario(tmp_path, parts)).get(line) for parts in REASONS[line])
    assert there is not None
    assert (there.status, bool(there.apply), bool(there.undo)) == (DO, True, True)
    assert there.edit or there.bounds
    assert gone is None or gone.status == IN_PLACE, gone


@pytest.mark.parametrize("line", REASONS)
def test_its_own_edit_puts_a_line_in_place(tmp_path: Path, line: str) -> None:
    data = {**copy.deepcopy(HEAD), **REASONS[line][0]}
    item = lines(load(tmp_path / "t.yaml", data))[line]
    after = lines(load(tmp_path / "after.yaml", apply_edits(data, [item.edit], Scenario)[0]))
    assert after[line].status == IN_PLACE


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("retry-budget:clients.c", BUDGET),
        ("deadline-discard:queues.q", one(**HASTY, goes_stale_after="30 s")),
        ("superseded:queues.q", one(**LASTING, supersedable_share=0.5)),
        ("ramp-limit:queues.q", {"queues": {"q": FAST}, "dependencies": {"table": COLD}}),
    ],
)
def test_what_buys_most_minutes_is_first_of_the_plan(tmp_path: Path, line: str, parts: dict[str, Any]) -> None:
    plan = build_plan(estimate(scenario(tmp_path, parts)), order="minutes")
    # More capacity at a dependency, or another way to recover, buys more wherever it ends a collapse.
    first = next(item for item in plan.items if plan.change(item).order < 6)
    assert first.id == line
    assert first.buys


@pytest.mark.parametrize("line", REASONS)
def test_what_is_to_do_is_first_of_its_change(make: Make, line: str) -> None:
    plan = make(**REASONS[line][0]).plan
    of_change = [item.id for item in plan.items if item.change == line.split(":")[0]]
    assert of_change[0] == line
    assert plan.open


@pytest.mark.parametrize(
    ("parts", "line", "status", "words"),
    [
        (client(sdk="step-functions", number=1), "full-jitter:clients.c", NOT_HERE, "One client alone makes no wave"),
        (client(sdk="google-api-core"), "full-jitter:clients.c", IN_PLACE, "wait with full jitter"),
        (client(sdk="go-v2", number=24), "stagger-restarts:clients.c", NOT_HERE, "all of them at once fit into one minute"),
        (one(**QUEUE, goes_stale_after="5 min"), "failure-destination:queues.q", NOT_HERE, "brings its destination with it"),
        (one(**STREAM, age_limit="1 h"), "stream-retry-end:queues.q", IN_PLACE, "until the age limit of 1 h"),
        (one(**STREAM, retention="1 h"), "stream-retry-end:queues.q", NOT_HERE, "would block it for longer"),
        (one(**LASTING, retention="4 days"), "retention:queues.q", IN_PLACE, "2 h 52 min old at most"),
        (one(**{**LASTING, "goes_stale_after": "1 h"}, retention="2 h"), "retention:queues.q", NOT_HERE, "worth nothing"),
        (one(**LASTING, max_receives="none"), "dlq-receives:queues.q", None, ""),
        (one(**LASTING, max_receives=9, visibility_timeout="1 h"), "dlq-receives:queues.q", IN_PLACE, "dead-letters nothing"),
        (BORNE, "fresh-first:queues.q", NOT_HERE, "43 min, within the objective"),
        (one(**STREAM), "fresh-first:queues.q", NOT_HERE, "read in order"),
        (one(**{**LASTING, "service_rate": "1,000/min"}), "fresh-first:queues.q", NOT_HERE, "does not help either"),
        (one(**QUEUE, goes_stale_after="5 s"), "deadline-discard:queues.q", None, ""),
        (one(**LASTING, supersedable_share=0), "superseded:queues.q", NOT_HERE, "No work makes earlier work unnecessary"),
        (one(**LASTING), "ramp-limit:queues.q", NOT_HERE, "no ramp can pass that"),
        (pool(burst=1), "bounded-pool:worker_pools.p", NOT_HERE, "Nothing is ever worked on side by side"),
        (one(**LASTING, idempotency={"failure_share": 0, "effect_despite_failure": 0}), "idempotency-keys:queues.q",
         NOT_HERE, "no try or delivery takes effect twice"),
        ({**one(**{**LASTING, "service_rate": "31,200/min"}, service="sqs-lambda", max_receives=400),
          "dependencies": {"table": {"tested_rate": "31,200/min"}}},
         "bounded-replay:queues.q", NOT_HERE, "a redrive moves 30,000/min at most"),
        (fleet(**{**REMOVED, "launches_from": "10 min"}, needed=500), "velocity-limit:fleets.f", NOT_HERE,
         "500 instances are left, and 500 are needed"),
        (fleet(**{**REMOVED, "removal_automation": [{"name": "Terminate", "paused": True}]}), "velocity-limit:fleets.f",
         NOT_HERE, "starts with everything paused"),
        (fleet(running=597), "provisioned-capacity:fleets.f", IN_PLACE, "are launched at once"),
        (fleet(running=0, launch={"instances_per_request": 200}), "launch-batch:fleets.f", NOT_HERE,
         "600 missing instances can be launched at once"),
        (fleet(**MISSING, launch={"instances_per_request": 5}), "launch-batch:fleets.f", IN_PLACE, "is what binds"),
        (fleet(running=0, launch={"instances_per_request": 5, "instance_burst": 5, "instance_refill": "90/s"}),
         "launch-batch:fleets.f", NOT_HERE, "holds no larger request"),
        (fleet(target_group={"targets": [6, 0]}), "target-group-thresholds:fleets.f", NOT_HERE, "nothing to fail open to"),
        (called(), "admission-steps:admission", NOT_HERE, "heals by itself"),
        ({**BESIDE, "dependencies": {"table": {"tested_rate": "9/min"}}}, "admission-steps:admission", NOT_HERE, "Nothing"),
        (BORNE, "more-consumers:queues.q", IN_PLACE, "43 min; the objective is 4 h"),
        (one(**STREAM), "more-consumers:queues.q", NOT_HERE, "Shards and their batches decide"),
        (one(**LASTING, drain_cap={"concurrency": 50}), "more-consumers:queues.q", NOT_HERE, "keeps them at 1,500/min"),
        (one(**LASTING, drain_cap={"concurrency": 65}), "more-consumers:queues.q", NOT_HERE, "lift that first"),
        ({**one(**LASTING), "dependencies": {"table": {**TABLE, "tested_rate": "2,659/min"}}}, "more-consumers:queues.q",
         NOT_HERE, "takes 2,060/min, and table has room for 2,059/min"),
        (called(direct_rate="0/min"), "dependency-headroom:dependencies.table", NOT_HERE, "Nothing in the scenario calls it"),
        (called(cache={"hit_rate": 0.5}), "warm-cache:dependencies.table", NOT_HERE, "which fit into 3,000/min"),
        ({**BESIDE, "plan_automation": {"version_guard": True}}, "version-guard:plan_automation", IN_PLACE, "no states of 288"),
        (loop(order="lifo"), "control-loop-bound:control_loops.l", IN_PLACE, "newest is served first"),
        (loop(discards_expired=True), "control-loop-bound:control_loops.l", IN_PLACE, "waits for any more is dropped"),
        (loop(retries=1), "control-loop-bound:control_loops.l", IN_PLACE, "no more than it serves"),
        (called(capacity="3,000/min"), "probe-hidden-capacity:dependencies.table", IN_PLACE, "hidden capacity of 1,000/min"),
    ],
)  # fmt: skip
def test_where_it_buys_nothing_it_says_so(
    tmp_path: Path, parts: dict[str, Any], line: str, status: str | None, words: str
) -> None:
    item = lines(scenario(tmp_path, parts)).get(line)
    if status is None:
        assert item is None or item.status != DO
        return
    assert item is not None
    assert item.status == status
    assert words in item.evidence


@pytest.mark.parametrize(
    ("parts", "line", "field"),
    [
        (client(sdk="other", max_attempts=3), "full-jitter:clients.c", "clients.c.jitter"),
        (client(sdk="other"), "retry-budget:clients.c", "clients.c.max_attempts"),
        ({"clients": {"c": {"sdk": "go-v2", "number": 9}}}, "stagger-restarts:clients.c", "clients.c.dependency"),
        (one(**LASTING, service="sqs-lambda"), "dlq-receives:queues.q", "queues.q.max_receives"),
        (one(**LASTING), "superseded:queues.q", "queues.q.supersedable_share"),
        (pool(), "bounded-pool:worker_pools.p", "worker_pools.p.workers"),
        (one(**LASTING, service="sqs-lambda"), "idempotency-keys:queues.q", "queues.q.idempotency"),
        ({"queues": {"q": {**LASTING, "dependency": "none", "max_receives": 9}}}, "bounded-replay:queues.q",
         "queues.q.dependency"),
        (fleet(removal_automation=["Terminate"]), "velocity-limit:fleets.f",
         "fleets.f.removal_rate and fleets.f.launches_from"),
        (one(**LASTING), "admission-steps:admission", "dependencies.table.attempts_while_failing"),
        ({"queues": {"q": {**LASTING, "dependency": "none"}}}, "more-consumers:queues.q", "queues.q.dependency"),
        (one(**LASTING), "dependency-headroom:dependencies.table", "dependencies.table.attempts_while_failing"),
        ({**one(**LASTING), **called()}, "dependency-headroom:dependencies.table", "queues.q.attempts_while_failing"),
    ],
)  # fmt: skip
def test_missing_evidence_names_the_field(tmp_path: Path, parts: dict[str, Any], line: str, field: str) -> None:
    item = lines(scenario(tmp_path, parts))[line]
    assert item.status == NEEDS_EVIDENCE
    assert field in item.evidence


class TestMinutes:
    """What the coupled recovery gives is what the closed form gives."""

    def test_a_budget_ends_a_collapse_once_its_tokens_are_spent(self, make: Make) -> None:
        item = make(**BUDGET).line("retry-budget:clients.c")
        # 100 buckets of 5 tokens. 1,400 requests a minute cost 4,200 attempts: 2,800 retries a minute.
        down = 500 / (3 * 1_400 - 1_400)
        assert item.worths is not None
        collapse = item.worths[CASES[0]].alone["collapsed_min"]
        # Then what is in flight, a second of 4,200 attempts a minute at the most, is worked off beside what comes.
        assert collapse.before is None
        assert down <= collapse.after <= down + 4_200 / 60 / (3_000 - 1_400) * 1.5
        down = collapse.after
        # 17,200 items wait; what arrives while the dependency is down waits too.
        assert (item.today_min, item.planned_min) == (None, pytest.approx(down + (17_200 + 100 * down) / 100))
        assert "Brings the drain from never to 172 min." in worth(item)
        assert "500 retries until the buckets are empty, then 1 attempt a call. Today it is 3 attempts" in item.bounds

    def test_a_deadline_keeps_what_is_younger(self, make: Make) -> None:
        item = make(**one(**HASTY, goes_stale_after="30 s")).line("deadline-discard:queues.q")
        # Of the last minute before the restore, half is left to serve: 600 of 1,200 items at 600 a minute.
        assert (item.today_min, item.planned_min) == (pytest.approx(2), pytest.approx(1))
        assert "Discards 600 items in this outage." in item.price

    @pytest.mark.parametrize("share", [0.1, 0.5, 1])
    def test_superseded_work_takes_its_share_of_the_drain(self, make: Make, share: float) -> None:
        item = make(**one(**LASTING, supersedable_share=share)).line("superseded:queues.q")
        assert item.bought_min == pytest.approx(344 * share)
        asked = make(**one(**LASTING)).line("superseded:queues.q")
        assert "Every 10 % that could be dropped takes 34.4 min off the drain." in asked.evidence

    def test_a_ramp_gives_a_cold_cache_time(self, make: Make) -> None:
        made = make(queues={"q": FAST}, dependencies={"table": COLD})
        item = made.line("ramp-limit:queues.q")
        # Direct traffic is 1,200 a minute at first and 600 later. From 19 at once, or 570 a minute, one more each
        # minute, up to 79, or 2,370, after 60 min.
        assert item.edit == {"queues.q.ramp": {"start": 19, "per_min": 1, "ceiling": 79}}
        for minute in range(61):
            assert 570 + 30 * minute + 600 + 600 * math.exp(-minute / 20) <= 3_000
        by_then = 570 * 60 + 30 * 60**2 / 2 - 1_200 * 60
        drain = 60 + (206_400 - by_then) / (2_370 - 1_200)
        assert (item.today_min, item.planned_min) == (None, pytest.approx(drain, rel=1e-3))
        # A cap for the warm cache alone is too much for the cold one: 2,400 + 1,200 a minute.
        assert made.line("drain-cap:queues.q").planned_min is None

    def test_a_ramp_without_a_cache_reaches_the_safe_cap_in_ten_minutes(self, make: Make) -> None:
        item = make(**BORNE).line("ramp-limit:queues.q")
        # From 16 at once, or 480 a minute, 180 a minute more each minute, to 2,400 after 10.67 min.
        assert item.edit == {"queues.q.ramp": {"start": 16, "per_min": 6, "ceiling": 80}}
        end = 64 / 6
        by_then = 480 * end + 180 * end**2 / 2 - 1_200 * end
        assert item.planned_min == pytest.approx(end + (206_400 - by_then) / 1_200, rel=1e-3)
        assert "from 480/min to 2,400/min in 10.7 min" in item.bounds

    @pytest.mark.parametrize(("useful", "sideline"), [("none", 5), ("2 min", 2)])
    def test_fresh_first_buys_fresh_age_and_no_drain(self, make: Make, useful: str, sideline: float) -> None:
        item = make(**one(**{**QUEUE, "goes_stale_after": useful})).line("fresh-first:queues.q")
        assert item.worths is not None
        fresh = item.worths[CASES[0]].alone["fresh_min"]
        # What is younger than the threshold at the restore drains first: 1,200 S at 600 a minute.
        assert (fresh.before, fresh.after) == (pytest.approx(344), pytest.approx(1_200 * sideline / 600))
        assert item.bought_min == pytest.approx(0)
        assert item.buys
        assert "Buys no minutes here: the drain stays at 344 min." in worth(item)

    def test_retention_keeps_what_it_lost_and_costs_its_drain(self, make: Make) -> None:
        item = make(**one(**LASTING, retention="2 h")).line("retention:queues.q")
        assert item.worths is not None
        lost = item.worths[CASES[0]].alone["lost"]
        assert (lost.before, lost.after) == (pytest.approx(1_200 * (172 - 120)), pytest.approx(0))
        assert item.cost_min == pytest.approx(1_200 * 172 / 600 - 1_200 * 120 / 600)
        # The oldest work waits for as long as the outage, and a quarter more is 3 h 35 min: 4 h.
        assert item.edit == {"queues.q.retention": "14400 s"}

    def test_a_floor_keeps_what_half_an_hour_of_removals_would_take(self, make: Make) -> None:
        item = make(**one(**LASTING, fleet="f"), **fleet(**REMOVED)).line("velocity-limit:fleets.f")
        assert item.worths is not None
        # 10 a minute for 30 min, of 600.
        lowest = item.worths[CASES[0]].alone["lowest_share"]
        assert (lowest.before, lowest.after) == (pytest.approx(0.5), pytest.approx(1))
        assert "300 instances left of 600 before launches succeed today, 600 with it" in item.bounds
        # Until launches succeed the share falls evenly from 1 to 1/2, and the burst brings all of it back within seconds.
        assert item.bought_min == pytest.approx(30 / 4 * 1_800 / 600, abs=2.5)
        assert "at most 120/min, which launches can replace" in item.apply[1]

    def test_provisioned_instances_wait_for_no_launch(self, make: Make) -> None:
        item = make(**one(**LASTING, fleet="f"), **fleet(**MISSING)).line("provisioned-capacity:fleets.f")
        assert item.worths is not None
        lowest = item.worths[CASES[0]].alone["lowest_share"]
        assert (lowest.before, lowest.after) == (pytest.approx(1 / 6), pytest.approx(1))
        # 3,000 launches, the first 5 at once and 2 a second after that: meanwhile 5/12 of the work is left undone.
        assert item.bought_min == pytest.approx((3_000 - 5) / 2 / 60 * 5 / 12 * 1_800 / 600, rel=0.01)
        assert item.planned_min == pytest.approx(344)
        assert "3,000 instances more" in item.price

    def test_two_instances_a_request_leave_the_limit_on_instances(self, make: Make) -> None:
        item = make(**one(**LASTING, fleet="f"), **fleet(**MISSING)).line("launch-batch:fleets.f")
        # (3,000 - 5) / 2 = 1,497.5 s against (3,000 - 1,000) / 2 = 1,000 s.
        assert "takes 25 min for 3,000 missing instances; that on instances 16.7 min" in item.evidence
        assert item.edit == {"fleets.f.launch.instances_per_request": 2}
        # 10 at once and 4 a second, until that is the burst of 1,000 and 2 a second; the work left undone meanwhile is the
        # area above what is launched.
        first = (1_000 - 10) / (4 - 2)
        left = 2_990 - 4 * first
        undone = (2_990 + left) / 2 * first + left / 2 * (1_000 - first)
        assert item.planned_min == pytest.approx(344 + undone / 3_600 / 60 * 1_800 / 600, rel=0.01)

    def test_the_seven_steps_end_a_collapse_and_hold_traffic_back_for_two_holds(self, make: Make) -> None:
        item = make(**STAYS).line("admission-steps:admission")
        assert item.worths is not None
        alone = item.worths[CASES[0]].alone
        # What is in flight is worked off within its time-out of a second.
        assert alone["collapsed_min"].before is None
        assert alone["collapsed_min"].after == pytest.approx(0, abs=1 / 60 + 1e-9)
        # 1,200 a minute for two holds of 5 min; three holds of 5 min in which 100 a minute arrive and nothing drains
        # are 30 min of draining at 100 a minute, of which the last 172 are those of 17,200 items.
        assert alone["failed_direct"].after == pytest.approx(1_200 * 10, abs=1_200 / 60)
        assert item.planned_min == pytest.approx(15 + (17_200 + 15 * 100) / 100, abs=0.1)
        # 5 holds of 5 min, one of 15 min, since the cap is all that the consumers do, and one of 5 min.
        assert "take 45 min at least" in item.bounds

    def test_headroom_is_load_times_attempts(self, make: Make) -> None:
        item = make(**STAYS).line("dependency-headroom:dependencies.table")
        # (1,200 + 200) x 3.
        assert item.edit == {"dependencies.table.capacity": "4200/min"}
        assert item.worths is not None
        collapse = item.worths[CASES[0]].alone["collapsed_min"]
        assert collapse.before is None
        assert collapse.after < 0.5
        assert item.planned_min == pytest.approx(172, abs=0.5)
        less = copy.deepcopy(STAYS)
        less["dependencies"]["table"]["capacity"] = "3,599/min"
        # Direct traffic alone, 1,200 x 3, is above that, and the model's own recovery stays down for ever.
        worths = make(**less).line("dependency-headroom:dependencies.table").worths
        assert worths is not None
        assert worths[CASES[0]].alone["collapsed_min"].before is None
        assert "1,200/min of capacity more" in item.price
        assert "What there is would do at one attempt a request." in item.price
        # Or 1,200 attempts a minute fewer, 400 requests.
        assert "400/min of direct traffic have to be held back" in item.bounds
        less["dependencies"]["table"] |= {"capacity": "3,000/min", "direct_rate": "800/min"}
        assert make(**less).line("dependency-headroom:dependencies.table").status == IN_PLACE

    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            # 3 x 300 of control loops leave 300 attempts, a tenth of the drain's.
            ({"tested_rate": "1,200/min", "control_rate": "300/min"}, "all direct traffic has to be held back until it is up, "
             "and drains to 100/min"),
            ({"tested_rate": "1,200/min", "control_rate": "500/min"}, "control loops alone keep it down"),
        ],
    )  # fmt: skip
    def test_what_has_to_be_shed_without_headroom(self, tmp_path: Path, fields: dict[str, Any], words: str) -> None:
        parts = called(direct_rate="100/min", **fields)
        queues = {"q": {**LASTING, "service_rate": "1,000/min", "attempts_while_failing": 3}}
        item = lines(scenario(tmp_path, {**parts, "queues": queues}))["dependency-headroom:dependencies.table"]
        assert words in item.bounds

    def test_consumers_for_the_objective(self, make: Make) -> None:
        item = make(**one(**LASTING, fleet="f"), **fleet(running=90, needed=90)).line("more-consumers:queues.q")
        # 1,200 + 206,400 / 240 a minute.
        assert item.edit == {"queues.q.service_rate": "2060/min"}
        assert (item.today_min, item.planned_min) == (pytest.approx(344), pytest.approx(240))
        # 2,060 x 2 s are 68.7 at once; 90 instances for 1,800 are 103 for 2,060.
        assert "69 items at once" in item.apply[0]
        assert "13 instances more" in item.price

    def test_a_warm_cache_ends_what_a_cold_one_begins(self, make: Make) -> None:
        table = {**COLD, "direct_rate": "1,100/min"}
        item = make(queues={"q": LASTING}, dependencies={"table": table}).line("warm-cache:dependencies.table")
        # 1,100 / 0.5 = 2,200 a minute and 1,800 of drain on 3,000; warm they are 2,900.
        assert (item.today_min, item.planned_min) == (None, pytest.approx(344))
        # 1,100 (1 - h) / 0.5 = 1,200.
        assert f"From {100 * (1 - 1_200 * 0.5 / 1_100):.1f} % on everything fits." in item.bounds

    def test_changes_of_no_number_buy_no_minutes_and_cost_none(self, make: Make) -> None:
        for line, (parts, _) in REASONS.items():
            if line.split(":")[0] in ("full-jitter", "stagger-restarts", "idempotency-keys", "bounded-replay"):
                item = make(**{**one(**LASTING), **parts}).line(line)
                assert item.worths is not None
                moved = {name for case in CASES for name, one_of in item.worths[case].alone.items() if one_of.bought}
                # Shorter waits between attempts make more of them in a minute.
                assert moved <= ({"peak_attempts_per_min"} if line.startswith("full-jitter") else set()), line


class TestBounds:
    """What no measure of the recovery shows is a computed figure too."""

    def test_jitter_spreads_the_first_wave(self, tmp_path: Path) -> None:
        item = lines(scenario(tmp_path, client(sdk="step-functions", number=20_000)))["full-jitter:clients.c"]
        # Retries after 1, 3 and 7 s, 7.1 s in tenths: 20,000 in one of them against 60,000 / 71 on average.
        assert "20,000 retry within the same 100 ms" in item.bounds
        assert "Peak over mean goes from 23.7 " in item.bounds
        peak = int(item.bounds.split("at most ")[1].split(" do.")[0].replace(",", ""))
        # With full jitter the first retry is spread over one second, so 2,000 in each tenth, and the second, over two
        # seconds after that, adds t^2/4 of them in the first: at most 2,000 + 20,000 x 0.095/2, and few thirds.
        assert 2_000 < peak < 2_000 + 20_000 * (1 - 0.9**2) / 4 + 300

    @pytest.mark.parametrize(("errors", "each"), [("transient", 35), ("throttling", 100)])
    def test_restarts_renew_the_burst(self, tmp_path: Path, errors: str, each: int) -> None:
        parts = client(sdk="boto3", version="1.44.8", errors=errors)
        item = lines(scenario(tmp_path, parts))["stagger-restarts:clients.c"]
        assert RetryQuota().capacity // RetryQuota().cost(errors) == each  # type: ignore[arg-type]
        assert f"hold {400 * each:,} retries, {each} retries each" in item.evidence
        # 2,400 a minute of room.
        assert item.edit == {"clients.c.restarts": f"{2_400 // each}/min"}

    def test_a_burst_larger_than_the_room_of_a_minute_takes_minutes_for_each_client(self, tmp_path: Path) -> None:
        parts = client(sdk="go-v2")
        parts["dependencies"] = {"table": {"tested_rate": "70/min", "direct_rate": "30/min"}}
        item = lines(scenario(tmp_path, parts))["stagger-restarts:clients.c"]
        # 100 retries at 40 a minute: one client every 3 min.
        assert "restart 1 client every 3 min" in item.apply[0]
        assert "A restart of the whole fleet takes 1,200 min." in item.price

    @pytest.mark.parametrize(
        ("receives", "visibility", "gone", "edit"),
        [
            (3, None, 1_200 * (172 - 1.5), {"max_receives": 345}),
            (5, "60 s", 1_200 * (172 - 5), {"max_receives": 173}),
            # 2,064 deliveries 5 s apart are more than the service counts: 11 s apart, 1,000 of them last 183 min.
            (5, "5 s", 1_200 * (172 - 25 / 60), {"max_receives": 1000, "visibility_timeout": "11 s"}),
        ],
    )
    def test_deliveries_of_an_outage(
        self, tmp_path: Path, receives: int, visibility: str | None, gone: float, edit: dict[str, Any]
    ) -> None:
        fields = {**LASTING, "max_receives": receives, "visibility_timeout": visibility or "none"}
        item = lines(scenario(tmp_path, one(**fields)))["dlq-receives:queues.q"]
        assert f"dead-letters: {gone:,.0f} items today, nothing with it" in item.bounds
        assert item.edit == {f"queues.q.{name}": value for name, value in edit.items()}

    @pytest.mark.parametrize(
        ("service", "words"),
        [
            # 204,600 items: 30,000 a minute are moved; 1,800 - 1,200 a minute are done.
            ("1,800/min", "in 6.82 min at the 500 a second that the service does at most, and consumers need 5 h 41 min"),
            ("1,100/min", "at most, and consumers have nothing to spare for them beside what arrives."),
            ("40,000/min", "in 6.82 min at the 500 a second that the service does at most."),
        ],
    )  # fmt: skip
    def test_a_redrive_takes_as_long_as_consumers_need(self, tmp_path: Path, service: str, words: str) -> None:
        fields = {**LASTING, "service": "sqs-lambda", "service_rate": service, "max_receives": 3}
        assert words in lines(scenario(tmp_path, one(**fields)))["dlq-receives:queues.q"].bounds

    def test_a_replay_gets_what_new_work_leaves(self, tmp_path: Path) -> None:
        item = lines(scenario(tmp_path, one(**LASTING, service="sqs-lambda", max_receives=3)))[
            "bounded-replay:queues.q"
        ]
        # Consumers of 1,800 - 1,200 a minute do 10 a second beside new work; 204,600 dead letters at that rate.
        assert item.apply[-1].endswith("--max-number-of-messages-per-second 10")
        assert "The replay of 204,600 items takes 5 h 41 min" in item.price
        assert "today it is up to 30,000/min" in item.bounds

    @pytest.mark.parametrize("service", ["3,500/min", "9,000/min"])
    def test_a_replay_is_within_what_consumers_and_the_shared_room_leave(self, tmp_path: Path, service: str) -> None:
        """By hand: 3,500 - 2,000 are 25/s; of 7,500/min by 9,000 and 3,000 the part is 5,625/min, less 2,000 are 60/s."""
        labels = {**LASTING, "arrival_rate": "2,000/min", "service_rate": service, "service": "sqs-lambda", "max_receives": 5,
                  "visibility_timeout": "3 min"}  # fmt: skip
        tracking = {**LASTING, "arrival_rate": "40/s", "service_rate": "50/s"}
        parts = {"queues": {"q": labels, "tracking": tracking},
                 "dependencies": {"table": {"tested_rate": "9,000/min", "direct_rate": "1,500/min"}}}  # fmt: skip
        item = lines(scenario(tmp_path, parts))["bounded-replay:queues.q"]
        per_s = 25 if service == "3,500/min" else 60
        assert item.edit == {"queues.q.replay_rate": f"{60 * per_s}/min"}
        assert item.apply[-1].endswith(f"per-second {per_s}")

    def test_a_bad_record_blocks_its_shard(self, tmp_path: Path) -> None:
        item = lines(scenario(tmp_path, one(**STREAM)))["stream-retry-end:queues.q"]
        # 172 min of batches of 2 s are 5,160 tries; 1,200 / 4 records a minute wait meanwhile.
        assert item.edit == {"queues.q.stream.retries": 5160, "queues.q.on_failure_destination": "destination"}
        assert f"{300 * 5_161 * 2 / 60:,.0f} records" in item.bounds
        assert "blocked without end today" in item.bounds

    def test_what_expires_without_a_record(self, tmp_path: Path) -> None:
        item = lines(scenario(tmp_path, one(**LASTING, age_limit="15 min")))["failure-destination:queues.q"]
        assert "188,400 items in this outage, nothing with it" in item.bounds
        calm = lines(scenario(tmp_path, one(**LASTING, age_limit="4 h")))["failure-destination:queues.q"]
        assert "In this one nothing expires: the oldest work is 2 h 52 min old at most" in calm.bounds

    def test_the_services_own_limit_needs_a_destination_too(self, tmp_path: Path) -> None:
        item = lines(scenario(tmp_path, one(**LASTING, service="lambda-async")))["failure-destination:queues.q"]
        assert "the service's own age limit of 6 h and goes nowhere" in item.evidence

    def test_a_version_guard_leaves_no_empty_record(self, tmp_path: Path) -> None:
        item = lines(scenario(tmp_path, {**BESIDE, "plan_automation": "published"}))["version-guard:plan_automation"]
        # By hand: two of three appliers of 40, 41 and 43 are enough; one is late, the other cleans up after itself.
        assert "the nearest after 5 steps" in item.evidence
        assert "49 states with an empty record today, no states of 288 with it" in item.bounds

    @pytest.mark.parametrize(
        ("fields", "edit", "words"),
        [
            # 100 a second x 2 s are 200 in time; 900 - 200 are not.
            ({"waiting_at_restore": 900}, {"queue_cap": 200}, "700 callers would be served too late"),
            ({"queue_cap": 1_000}, {"queue_cap": 200}, "10 s today, 2 s with it"),
            ({"load": "0.3/s", "capacity": "0.4/s"}, {"discards_expired": True}, "2.5 s for a single one"),
        ],
    )
    def test_a_queue_no_longer_than_a_time_out(
        self, tmp_path: Path, fields: dict[str, Any], edit: dict[str, Any], words: str
    ) -> None:
        item = lines(scenario(tmp_path, loop(**fields)))["control-loop-bound:control_loops.l"]
        assert item.edit == {f"control_loops.l.{name}": value for name, value in edit.items()}
        assert words in item.bounds

    def test_a_zone_fails_open_before_one_target_gets_everything(self, tmp_path: Path) -> None:
        parts = fleet(needed=9, target_group={"targets": [6, 6, 6], "routing_count": 2, "dns_count": 4})
        item = lines(scenario(tmp_path, parts))["target-group-thresholds:fleets.f"]
        # 3 of 6 targets bear a zone's load: with 2 each has 3/2 of its share. Never under what DNS has already.
        assert item.edit["fleets.f.target_group.routing_count"] == item.edit["fleets.f.target_group.dns_count"] == 4
        assert "up to 1.5 times its share today, when 2 of them are left, 0.75 with it" in item.bounds

    def test_the_exercise_looks_for_capacity_over_attempts(self, tmp_path: Path) -> None:
        item = lines(scenario(tmp_path, called()))["probe-hidden-capacity:dependencies.table"]
        assert (item.status, item.edit) == (DO, {})
        assert "Not measured: dependencies.table.capacity." in item.evidence
        assert "a hidden capacity of 1,000/min: 3,000/min at 3 attempts a request" in item.bounds
        quotas = client(sdk="boto3", version="1.44.8")
        # Two retries a call at first, and none once the quota of 500 tokens is spent: then every attempt is a request.
        item = lines(scenario(tmp_path, quotas))["probe-hidden-capacity:dependencies.table"]
        assert "a hidden capacity of 3,000/min: 3,000/min at 1 attempt a request" in item.bounds

    def test_the_fewest_workers_that_reject_nothing(self, tmp_path: Path) -> None:
        item = lines(scenario(tmp_path, pool(queue=100)))["bounded-pool:worker_pools.p"]
        # All 200 come within 1 s and nothing is done before 1.5 s: 100 in the queue, so 100 at work.
        assert item.edit == {"worker_pools.p.workers": 100}
        assert "from 200 to 100" in item.bounds
        waits = lines(scenario(tmp_path, pool(workers=10)))["bounded-pool:worker_pools.p"]
        assert waits.edit == {"worker_pools.p.queue": 190}

    @pytest.mark.parametrize(
        ("given", "planned_h", "words"),
        [
            # Replays of every age up to 4 days: all but the first of them are too late.
            ({"key_life": "24 h", "oldest_replay": "4 days"}, 96, "75 % of what is done again"),
            ({"oldest_replay": "30 min"}, 24, "in 1,000 items"),
        ],
    )
    def test_keys_outlive_the_oldest_replay(
        self, tmp_path: Path, given: dict[str, Any], planned_h: int, words: str
    ) -> None:
        item = lines(scenario(tmp_path, one(**LASTING, idempotency={**KEYS, "redelivery_share": 0.01, **given})))
        line = item["idempotency-keys:queues.q"]
        assert line.edit == {"queues.q.idempotency.key_life": f"{planned_h * 3600} s"}
        assert words in line.bounds


def test_the_whole_plan_of_a_team_puts_itself_in_place(tmp_path: Path) -> None:
    data = {
        **copy.deepcopy(HEAD),
        "dependencies": {"table": TABLE},
        "queues": {
            "q": {**FAST, "service": "sqs-lambda", "goes_stale_after": "15 min", "max_receives": 3, "retention": "14 days",
                  "supersedable_share": 0.2, "idempotency": {**KEYS, "key_life": "1 h"}},
            "s": {**STREAM, "supersedable_share": 0, "idempotency": {**KEYS, "key_life": "1 day"},
                  "on_failure_destination": "arn:x"},
        },
        "clients": {
            "c": {"sdk": "boto3", "version": "1.43.0", "number": 2, "dependency": "table"},
            "d": {"sdk": "step-functions", "number": 20, "dependency": "table"},
            "e": {"sdk": "go-v2", "number": 200, "dependency": "table"},
        },
        "call_stacks": {"k": {"layers": [{"name": "a", "tries": 3}, {"name": "b", "tries": 3}]}},
        "fleets": {"f": {**MISSING, **REMOVED, "target_group": {"targets": [200, 200, 200]}}},
        "control_loops": {"l": {"load": "40/s", "capacity": "100/s", "timeout": "2 s"}},
        "plan_automation": "published",
        "worker_pools": {"p": {**POOL, "queue": 100}},
    }  # fmt: skip
    before = lines(load(tmp_path / "before.yaml", data))
    todo = [item for item in before.values() if item.status == DO]
    assert len(todo) > 25
    after = lines(load(tmp_path / "after.yaml", apply_edits(data, [item.edit for item in todo], Scenario)[0]))
    # What only an exercise or a metric can put in place has no edit.
    exercises = ["measure-recovery:team", "probe-hidden-capacity:dependencies.table"]
    assert [item.id for item in after.values() if item.status == DO] == exercises
    assert [item for item in todo if item.id not in after] == []
    assert all(worth(item) == "" for item in after.values() if item.status == IN_PLACE)


def test_ids_are_unique_and_follow_names_and_not_places(tmp_path: Path) -> None:
    results = estimate(scenario(tmp_path, everything()))
    there = [item.id for change in catalogue() for item in change.items(results)]
    assert len(there) == len(set(there))
    moved = {part: dict(reversed(list(items.items()))) for part, items in reversed(list(everything().items()))}
    moved["queues"] = {f"x-{name}": item for name, item in moved["queues"].items()}
    assert set(lines(scenario(tmp_path, moved))) == {line.replace(":queues.", ":queues.x-") for line in there}
