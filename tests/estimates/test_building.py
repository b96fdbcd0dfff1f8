"""From a scenario to the coupled model: every field of the face is filled from what the team gives."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from afterload.errors import MissingEvidenceWarning
from afterload.findings.backtest import predicts
from afterload.model.coupled import Autoscaler, Call, Course, Input, simulate
from afterload.model.curves import RateProfile
from afterload.model.queues import QueueLoad
from afterload.model.uncertainty import draw
from afterload.recovery.build import Coupling, couple
from afterload.recovery.rates import (
    consumers,
    estimate_cap,
    mean_attempts,
    mean_backoff_s,
    narrowest,
    part_of_room,
    room_at,
)
from afterload.scenario import LoadedScenario

Load = Callable[..., LoadedScenario]
QUEUE = "queues:\n  q: {{arrival_rate: 600/min, service_rate: 1200/min, item_time: 1 s{more}}}\n"
TABLE = "dependencies:\n  d: {{tested_rate: 3000/min, timeout: 2 s{more}}}\n"


def built(load: Load, body: str, *overrides: str, **more: str) -> Coupling:
    coupling = couple(load(body, *overrides, **more))
    assert coupling is not None
    return coupling


def queue(load: Load, more: str, body: str = ""):  # type: ignore[no-untyped-def]
    return built(load, body + QUEUE.format(more=f", {more}")).system.queues[0]


def dependency(load: Load, more: str, body: str = "", **head: str):  # type: ignore[no-untyped-def]
    return built(load, TABLE.format(more=f", {more}") + body, **head).system.dependencies[0]


def test_partitions_have_their_own_share_and_batches(load: Load) -> None:
    found = queue(load, "stream: {shards: 4, batch_size: 100, batch_time: 30 s, hottest_share: 0.4}").partitions
    assert found.arrival_shares == pytest.approx((0.4, 0.2, 0.2, 0.2))
    assert (found.rate_each_per_min, found.consumers) == (200, None)
    found = queue(load, "stream: {shares: [0.1, 0.6, 0.3]}, consumers: {number: 2, at_once: 5}")
    assert found.partitions.arrival_shares == pytest.approx((0.1, 0.6, 0.3))
    assert (found.partitions.rate_each_per_min, found.partitions.consumers) == (math.inf, 2)
    assert found.consumers_per_min == 2 * 5 * 60


def test_consumers_beyond_the_partitions_are_idle(load: Load) -> None:
    found = queue(load, "stream: {shards: 3}, consumers: {number: 12, at_once: 2}")
    assert found.consumers_per_min == 3 * 2 * 60


def test_an_empty_partition_of_a_table_is_said(load: Load) -> None:
    coupling = built(load, QUEUE.format(more=", stream: {offsets: lags.csv}"), lags="partition,lag\n0,5\n1,0\n")
    assert coupling.system.queues[0].partitions is not None
    assert coupling.system.queues[0].partitions.arrival_shares == (1, 0)
    [doubt] = coupling.doubts
    assert doubt.kind is MissingEvidenceWarning
    assert "1 of 2 partitions in lags.csv have no lag there" in doubt.text


def test_limits_on_what_is_in_work_are_bounds_of_their_own(load: Load) -> None:
    found = queue(
        load,
        "drain_cap: {concurrency: 9}, reserved_concurrency: 10, connection_pool: {connections: 4, hold_time: 500 ms}",
    )
    assert found.load.cap_concurrency == 9
    assert found.reserved_per_min == 600
    assert found.pool_per_min == 480
    assert found.own_rate_per_min == 480
    assert queue(load, "reserved_concurrency: 10").load.cap_concurrency is None
    known = load(QUEUE.format(more=", connection_pool: {connections: 4, hold_time: 500 ms}")).scenario.queues["q"]
    assert consumers(known).bounds == {"service rate": 1200, "connection pool": 480}


def test_deliveries_in_the_outage_and_the_start(load: Load) -> None:
    found = queue(load, "during_outage: receive, max_receives: 4, visibility_timeout: 3 min, start_spread: 45 s")
    assert (found.receives_in_outage, found.rejects_in_outage) == (True, False)
    assert (found.redelivery_min, found.start_spread_min, found.max_receives) == (3, 0.75, 4)
    found = queue(load, "during_outage: reject")
    assert (found.receives_in_outage, found.rejects_in_outage, found.redelivery_min) == (False, True, 0.5)


def test_deliveries_that_fail_in_the_outage_are_dead_lettered_and_nothing_says_they_are_not_counted(load: Load) -> None:
    """20 consumers whose items take 1 s and three attempts of 2 s make 171 deliveries a minute, every fourth of which is the
    last of its item, from three redeliveries of 3 min on.
    """
    more = ", dependency: d, during_outage: receive, max_receives: 4, visibility_timeout: 3 min"
    coupling = built(load, TABLE.format(more="") + QUEUE.format(more=more))
    assert not [doubt for doubt in coupling.doubts if "not counted" in doubt.text]
    result = simulate(coupling.system)
    assert result.dead_lettered[0, 0] == pytest.approx(20 * 60 / (1 + 3 * 2) / 4 * (172 - 9))


def test_an_autoscaler_keeps_the_defaults_of_kubernetes(load: Load) -> None:
    more = (
        "autoscaler: {metric: utilisation, target: 70 %, most: 24, up: {replicas: 2, period: 1 min}, start_time: 30 s}"
    )
    found = queue(load, more)
    assert found.autoscaler == Autoscaler(
        "utilisation", 0.7, 1200 / 24, least=1, most=24, at_restore=1, up_replicas=2, up_period_min=1, start_min=0.5
    )


def test_courses_count_from_the_restore(load: Load) -> None:
    more = "consumer_course: {steps: [{at: 0 min, share: 30 %}, {at: 200 min, share: 1}]}"
    assert queue(load, more).course == Course((-172, 28), (0.3, 1))
    steps = "[{at: 2025-10-20T00:00Z, share: 40 %}, {at: 2025-10-20T02:52Z, share: 1}, {at: 2025-10-20T03:00Z, share: 60 %}]"
    assert dependency(load, f"capacity_course: {{steps: {steps}}}").course == Course((-172, 0, 8), (0.4, 1, 0.6))


def test_a_dependency_throttles_and_has_its_own_room(load: Load) -> None:
    found = dependency(
        load, "above_capacity: throttle, capacity: 4000/min, operate_up_to: 3500/min, throttles_at: 60/s"
    )
    assert (found.collapses, found.capacity_per_min, found.throttle_per_min, found.room_per_min) == (
        False,
        4000,
        3600,
        3500,
    )
    found = dependency(load, "source: x")
    assert (found.collapses, found.throttle_per_min, found.room_per_min) == (True, math.inf, 3000)
    assert found.timeout_min == pytest.approx(2 / 60)


def test_direct_traffic_follows_its_profile_and_its_highest_leaves_the_room(load: Load) -> None:
    hours = ", ".join(f"{100 + 10 * hour}/min" for hour in range(24))
    users = "returning_users: {extra_rate: 50/min, decay: 20 min}"
    loaded = load(TABLE.format(more=f", control_rate: 70/min, direct_rate: {{hour_of_day: [{hours}]}}, {users}"))
    coupling = couple(loaded)
    assert coupling is not None
    found = coupling.system.dependencies[0]
    assert found.direct is not None
    assert found.direct.rate_at([0, 61, 23 * 60 + 1]).tolist() == [100, 110, 330]
    assert found.fresh_per_min == pytest.approx(215)
    assert (found.surge_per_min, found.surge_decay_min) == (50, 20)
    assert room_at(loaded.scenario, "d").free_per_min == 3000 - 70 - 330 - 50


def test_leases_that_lapsed_are_control_backlog(load: Load) -> None:
    loops = (
        "control_loops:\n  leases: {load: 5/s, capacity: 10/s, timeout: 2 s, waiting_at_restore: 300, dependency: d}\n"
    )
    loops += "  others: {load: 5/s, capacity: 10/s, timeout: 2 s, waiting_at_restore: 900}\n"
    found = dependency(load, "control_backlog: 40, control_catch_up_rate: 10/s", loops)
    assert (found.control_backlog, found.control_catch_up_per_min) == (340, 600)
    assert dependency(load, "control_backlog: 40").control_catch_up_per_min == 3000


TWO = """\
dependencies:
  d: {tested_rate: 3000/min, direct_rate: 100/min}
  e: {tested_rate: 2000/min, direct_rate: 200/min, timeout: 4 s}
queues:
  q: {arrival_rate: 600/min, service_rate: 1200/min, item_time: 1 s, calls: [d, {dependency: e, per_item: 2}], fan_out: true}
  r: {arrival_rate: 100/min, service_rate: 300/min, item_time: 1 s, dependency: d}
"""


def test_several_calls_an_item_share_each_room(load: Load) -> None:
    """e leaves 1,800 calls, so 900 items; d leaves 2,900 for 1,500 of both queues, more than they can do."""
    loaded = load(TWO)
    coupling = couple(loaded)
    assert coupling is not None
    q, r = coupling.system.queues
    assert (q.all_calls, q.fan_out) == ((Call(0), Call(1, 2)), True)
    assert (r.all_calls, r.fan_out) == ((Call(0),), False)
    assert (q.timeout_s, r.timeout_s) == (4, 1)
    assert narrowest(loaded.scenario, "q") == "e"
    assert part_of_room(loaded.scenario, "q") == pytest.approx(900)
    assert part_of_room(loaded.scenario, "r") == pytest.approx(2900 * 300 / 1500)
    cap = estimate_cap(loaded.scenario, "q")
    assert cap is not None
    assert (cap.dependency, cap.safe_concurrency) == ("e", 15)


CLIENTS = """\
dependencies:
  d: {tested_rate: 3000/min, direct_rate: 1000/min}
queues:
  mine: {arrival_rate: 600/min, service_rate: 1200/min, item_time: 1 s, dependency: d}
  other: {arrival_rate: 600/min, service_rate: 800/min, item_time: 1 s, dependency: d}
call_stacks:
  page: {layers: [{name: page, tries: 1}], dependency: d}
clients:
  legacy: {sdk: boto3, version: 1.43.11, number: 100, service: dynamodb, %s}
  quota: {sdk: go-v2, number: 10, %s}
"""


def retried(load: Load, legacy: str, quota: str) -> tuple[list[float], list[float | None], float, float]:
    """Attempts and retries held of both queues, and of the direct traffic."""
    coupling = built(load, CLIENTS % (legacy, quota))
    queues, [found] = coupling.system.queues, coupling.system.dependencies
    pools = [None if each.retries is None else each.retries.tokens for each in queues]
    return [each.attempts_failing for each in queues], pools, found.attempts_failing, found.retry_tokens


def test_clients_of_one_stack_do_not_raise_the_attempts_of_a_queue(load: Load) -> None:
    assert retried(load, "call_stack: page", "dependency: d") == ([3, 3], [None, None], 10, math.inf)
    # No client is known for the queues: the usual attempts, held by nothing.
    assert retried(load, "call_stack: page", "call_stack: page") == ([3, 3], [math.inf, math.inf], 10, math.inf)


def test_a_queue_has_the_attempts_and_the_retries_of_its_own_clients(load: Load) -> None:
    assert retried(load, "queue: mine", "dependency: d") == ([10, 3], [math.inf, None], 3, 1_000)
    assert retried(load, "queue: mine", "queue: other") == ([10, 3], [math.inf, 1_000], 1, math.inf)
    assert retried(load, "dependency: d", "queue: other") == ([10, 3], [None, 1_000], 10, math.inf)


def test_the_mix_of_a_dependency_is_the_sum_of_what_calls_it(load: Load) -> None:
    scenario = load(CLIENTS % ("queue: mine", "dependency: d")).scenario
    assert mean_attempts(scenario, "d") == pytest.approx((1000 * 3 + 1200 * 10 + 800 * 3) / 3000)


def test_what_an_item_waits_is_the_mean_of_its_clients(load: Load) -> None:
    """boto3 in standard mode waits 0 to 1 s and 0 to 2 s: 1.5 s in all. Half of the clients try once and wait for nothing."""
    one = "sdk: boto3, version: 1.43.11, mode: standard, number: 10, queue: mine"
    text = CLIENTS[: CLIENTS.index("clients:")] + f"clients:\n  a: {{{one}}}\n"
    assert mean_backoff_s(load(text).scenario, "mine") == pytest.approx(1.5)
    text += f"  b: {{{one}, max_attempts: 1}}\n"
    assert mean_backoff_s(load(text).scenario, "mine") == pytest.approx(0.75)
    assert mean_backoff_s(load(text).scenario, "other") == 0
    found = built(load, text).system.queues[0]
    assert (found.timeout_s, found.backoff_s) == (1, pytest.approx(0.75))


TIED = """\
queues:
  a: {arrival_rate: 600/min, service_rate: 1200/min}
  b: {arrival_rate: 60/min, service_rate: 1200/min}
  c: {arrival_rate: 6/min, service_rate: 1200/min}
uncertain:
  queues.a.arrival_rate: {low: 400/min, high: 700/min, moves_with: demand}
  queues.b.arrival_rate: {low: 50/min, high: 90/min, moves_with: demand}
  queues.c.arrival_rate: {low: 4/min, high: 7/min}
"""


def test_ranges_of_one_name_are_drawn_at_the_same_percentile(load: Load) -> None:
    coupling = built(load, TIED)
    values = draw(coupling.ranges, 500, np.random.default_rng(1))
    a, b, c = (values[Input("queue", place, "arrivals")] for place in range(3))
    assert np.array_equal(np.argsort(a), np.argsort(b))
    assert abs(np.corrcoef(a, c)[0, 1]) < 0.2
    # Each is drawn from the range that it has by itself.
    alone = built(load, TIED.replace(", moves_with: demand", ""))
    single = draw(alone.ranges, 500, np.random.default_rng(1))[Input("queue", 1, "arrivals")]
    levels = [10, 30, 50, 70, 90]
    assert np.percentile(b, levels) == pytest.approx(np.percentile(single, levels), rel=0.03)


DAILY = ", ".join(f"{600 if hour < 12 else 1500}/min" for hour in range(24))


def test_an_uncertain_outage_moves_the_restore_and_not_the_trigger(load: Load) -> None:
    """Trigger at 10:00 with a day profile that rises at noon. Two hours more are two hours at 1,500/min, not at 600/min."""
    body = f"queues:\n  q: {{arrival_rate: {{hour_of_day: [{DAILY}]}}, service_rate: 2000/min}}\n"
    body += "uncertain:\n  incident.outage: {low: 1 h, high: 4 h}\n"
    coupling = built(load, body, trigger="2026-06-01T10:00Z", restored_at="2026-06-01T12:00Z")
    key = Input("outage", 0, "outage_min")
    assert coupling.ranges[key].high == 240
    result = simulate(coupling.system, {key: np.array([60.0, 120.0, 240.0])})
    waiting = [60 * 600, 120 * 600, 120 * 600 + 120 * 1500]
    assert result.backlog_at_restore[:, 0].tolist() == pytest.approx(waiting)
    assert result.drain_min[2, 0] == pytest.approx(waiting[2] / (2000 - 1500))


def test_a_system_from_the_restore_has_what_waits_then(load: Load) -> None:
    coupling = couple(load(TIED), waiting={"a": 30_000, "b": 172 * 60, "c": 0})
    assert coupling is not None
    assert simulate(coupling.system).drain_min[0] == pytest.approx([30_000 / 600, 172 * 60 / 1140, 0])


def test_a_back_test_predicts_with_the_course_of_the_consumers(load: Load) -> None:
    """Half of the consumers for an hour after the restore: 30,000 fall by 0 in it, and then by 600/min."""
    course = "{steps: [{at: 0 min, share: 50 %}, {at: 232 min, share: 100 %}]}"
    loaded = load(QUEUE.format(more=f", consumer_course: {course}"))
    known = QueueLoad(RateProfile.constant(600), 1200, 0.0, backlog_before=30_000)
    found = predicts(loaded, "q")(known)
    assert found.drain_min == pytest.approx(60 + 30_000 / 600)
    assert np.interp(30, found.times_min, found.backlog) == pytest.approx(30_000)
    assert found.service_rate_per_min == 1200
