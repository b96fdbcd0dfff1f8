"""The simulation by single items against what can be computed by hand."""

import math
from dataclasses import replace

import pytest
from tests.oracles.requests import replicas_of, simulate

from afterload.model.coupled import (
    Autoscaler,
    Call,
    CoupledDependency,
    CoupledFleet,
    CoupledQueue,
    CoupledSystem,
    Course,
    Partitions,
)
from afterload.model.curves import RateProfile
from afterload.model.queues import QueueLoad


def load(arrivals, service, outage=60.0, **more):
    return QueueLoad(RateProfile.constant(arrivals), service, outage, **more)


def system(queues, dependencies=(), fleets=()):
    outage = queues[0].load.outage_min
    return CoupledSystem(outage, outage, tuple(queues), tuple(dependencies), tuple(fleets))


def drained(queues, dependencies=(), fleets=(), until=600.0, **more):
    return simulate(system(queues, dependencies, fleets), until, **more)


REJECTS = CoupledDependency(1000, collapses=False, attempts_failing=3)
CALLS = CoupledQueue(load(600, 1200, item_time_s=2), dependency=0, attempts_failing=3)

DRAINS = {
    # B / (service - arrivals)
    "paced": (120.0, [CoupledQueue(load(1200, 1800))], (), ()),
    "workers": (120.0, [CoupledQueue(load(1200, 1800, item_time_s=2))], (), ()),
    "workers, one of them for half of its time": (120.0, [CoupledQueue(load(100, 150, item_time_s=2.2))], (), ()),
    "what waited at the trigger": (140.0, [CoupledQueue(load(600, 900, backlog_before=6000))], (), ()),
    "cap": (172.0, [CoupledQueue(load(1200, 6000, 172, item_time_s=2, cap_concurrency=80))], (), ()),
    # 36,000 / (1,000 - 600)
    "throttle": (90.0, [CALLS], [REJECTS], ()),
    # The busiest of ten takes 170/min and serves 200: 10,200 / 30.
    "shard": (340.0, [CoupledQueue(load(1000, 2000), partitions=Partitions((0.17,) + (0.83 / 9,) * 9, 200))], (), ()),
    # One consumer of three has two of four partitions, with 0.6 of 900: 32,400 / (600 - 540), served 1,800 / 3.
    "sets of partitions": (
        540.0, [CoupledQueue(load(900, 1800), partitions=Partitions((0.4, 0.2, 0.2, 0.2), consumers=3))], (), (),
    ),
    # min(900, 1,800 / 2) - 600
    "fleet with a cap": (
        120.0, [CoupledQueue(load(600, 1800, item_time_s=2, cap_concurrency=30), fleet=0)], (),
        [CoupledFleet(50, 100, launches_from_min=600)],
    ),
    # 900/min until the 50 that are launched at 10 serve at 15: 49,500 / 1,200.
    "instances at once": (41.25, [CoupledQueue(load(600, 1800), fleet=0)], (), [CoupledFleet(50, 100, 50, 0, 5, 10)]),
    # Instance n serves from 15 + n on: 300 t + 18 (45 (t - 15) - 1,035) = 36,000.
    "instances one by one": (60.16, [CoupledQueue(load(600, 1800), fleet=0)], (), [CoupledFleet(50, 100, 0, 1, 5, 10)]),
    # 90 workers of 3 s, and 60 connections that each holds for as long.
    "pool": (60.0, [CoupledQueue(load(600, 1800, item_time_s=3), pool_per_min=1200)], (), ()),
    # Wanted at 0.25; replica 2 5 min later, replica 3 on a new node after 15: 3,000 + 50 t = 525 + 2,000 + 300 (t - 15.25).
    "replicas that start": (
        20.2,
        [CoupledQueue(load(50, 1e6, 60, served_in_outage_per_min=0), autoscaler=Autoscaler(
            "depth", 1.0, 100, 3, 3, 1, start_min=5, fits_on_nodes=2, node_min=10))], (), (),
    ),
    # 400/min from the trigger until 30 min after the restore: 18,000 / 400 from there.
    "capacity that comes back in two steps": (
        75.0, [CALLS], [replace(REJECTS, course=Course((-60.0, 30.0), (0.4, 1.0)))], (),
    ),
    "behind each other": (
        180.0, [replace(CALLS, dependency=None, calls=(Call(0), Call(1)))], [REJECTS, replace(REJECTS, capacity_per_min=800)], (),
    ),
    "at once": (
        180.0, [replace(CALLS, dependency=None, calls=(Call(0), Call(1)), fan_out=True)],
        [CoupledDependency(5000), replace(REJECTS, capacity_per_min=800)], (),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAINS)
def test_drains_take_as_long_as_by_hand(name):
    wanted, queues, dependencies, fleets = DRAINS[name]
    seen = drained(queues, dependencies, fleets)
    assert seen.drained[0] == pytest.approx(wanted, rel=0.01)
    assert seen.arrived[0] + queues[0].load.backlog_before == pytest.approx(seen.served[0] + seen.waiting[0], abs=100)


def test_newest_first_under_an_age_limit():
    # 600/min from the new end, 1,200/min expire at the old one.
    seen = drained([CoupledQueue(load(1200, 1800, 172, order="lifo", max_age_min=60))])
    assert seen.drained[0] == pytest.approx(40, rel=0.01)
    assert seen.expired[0] == pytest.approx(112 * 1200 + 48_000, rel=0.002)


def test_what_expires_in_order_of_arrival():
    # 60,000 wait at the restore, and nothing that is taken in order is older than the limit for longer.
    seen = drained([CoupledQueue(load(1000, 1500, 100, max_age_min=60))])
    assert seen.expired[0] == pytest.approx(40_000, rel=0.01)
    assert seen.drained[0] == pytest.approx(120, rel=0.01)


def test_dead_letters_in_the_outage():
    # The third delivery of an item is two minutes after its first: of 60 min of arrivals those of the last two are left.
    item = CoupledQueue(load(1000, 4000, item_time_s=0.6), max_receives=3, receives_in_outage=True, redelivery_min=1)
    seen = drained([item])
    assert seen.dead[0] == pytest.approx(58_000, rel=0.002)


def test_a_collapse_that_stays():
    # 60 workers that wait 10 s for three time-outs, after 2 s: 300/min, 3 attempts each; more while all are at their first item.
    item = CoupledQueue(load(600, 1800, item_time_s=2), dependency=0, attempts_failing=3, timeout_s=10 / 3)
    seen = drained([item], [CoupledDependency(800, collapsed_at_restore=True)], until=60)
    assert seen.most_attempts[0] == pytest.approx(1000, rel=0.11)
    assert seen.served[0] == 0
    assert math.isnan(seen.drained[0])


def test_a_collapse_that_workers_who_wait_end():
    # At most 982 attempts a minute, which it bears: 36,000 / 1,200.
    item = CoupledQueue(load(600, 1800, item_time_s=2), dependency=0, attempts_failing=3, timeout_s=3)
    seen = drained([item], [CoupledDependency(2000, collapsed_at_restore=True)])
    assert seen.drained[0] == pytest.approx(36_000 / 1200, rel=0.02)
    assert seen.down_min[0] < 1


def test_attempts_in_flight_are_worked_off_before_it_heals():
    # Quotas of 6,000 retries last 3 min at 1,000 x 2 a minute; then 1,000/min of 1,250, with 3,000 in flight for 1 min.
    item = CoupledQueue(load(500, 1000), dependency=0, attempts_failing=3)
    dependency = CoupledDependency(1250, collapsed_at_restore=True, retry_tokens=6000, timeout_min=1)
    seen = drained([item], [dependency])
    assert seen.down_min[0] == pytest.approx(3 + 3000 / 250, rel=0.05)


def scaler(metric, target, at_restore, most=50, **more):
    return Autoscaler(metric, target, 100.0, 1, most, at_restore, **more)


REPLICAS = {
    "four or double": (scaler("depth", 100, 1), [5000] * 6, [5, 10, 20, 40, 50, 50]),
    "no more than wanted": (scaler("depth", 100, 1), [1000] * 3, [5, 10, 10]),
    "tolerance": (scaler("depth", 100, 10), [1050, 1101, 1101], [10, 12, 12]),
    "half more, rounded up": (
        scaler("depth", 100, 10, up_replicas=0, up_percent=50), [5000] * 5, [15, 23, 35, 50, 50],
    ),
    "four a minute": (
        scaler("depth", 100, 10, up_percent=0, up_period_min=1), [5000] * 9, [14, 14, 14, 14, 18, 18, 18, 18, 22],
    ),
    "the highest wish of a minute holds": (
        scaler("depth", 100, 10, down_window_min=1), [100] * 5, [10, 10, 10, 10, 1],
    ),
    "a tenth a minute less, rounded down": (
        scaler("depth", 100, 100, most=200, down_window_min=0, down_percent=10, down_period_min=1), [0] * 9,
        [90, 90, 90, 90, 81, 81, 81, 81, 72],
    ),
    "the lowest wish of a minute counts": (
        scaler("depth", 100, 10, up_window_min=1), [2000, 2000, 1500, 2000, 2000, 2000], [10, 10, 10, 10, 15, 15],
    ),
    "utilisation": (
        scaler("utilisation", 0.6, 10, down_window_min=0), [0.9, 0.6, 0.3], [15, 15, 8],
    ),
    "those that start count as idle": (
        scaler("utilisation", 0.6, 10, start_min=1), [0.9, 0.9, 1.0], [15, 15, 17],
    ),
    "age": (scaler("age", 10, 4), [30, 30, 10], [8, 16, 16]),
}  # fmt: skip


@pytest.mark.parametrize("name", REPLICAS)
def test_replicas_by_hand(name):
    item, metrics, wanted = REPLICAS[name]
    assert replicas_of(item, metrics) == wanted
