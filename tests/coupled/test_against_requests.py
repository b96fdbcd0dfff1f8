"""The coupled model against a simulation of every item and request, within 2 %."""

from dataclasses import replace

import numpy as np
import pytest
from tests.oracles import requests

from afterload.model.coupled import (
    Autoscaler,
    Call,
    CoupledDependency,
    CoupledFleet,
    CoupledQueue,
    CoupledSystem,
    Course,
    Partitions,
    RetryPool,
    simulate,
)
from afterload.model.curves import RateProfile
from afterload.model.queues import QueueLoad, Ramp

# Items that consumers hold, which count as waiting in one and not in the other.
FEW = 40.0
# It sees a load in a window, and looks around in ticks.
SEEN_LATE_MIN = requests.TICK * (requests.WINDOW_TICKS + 2)
# Where a load falls slowly past the capacity, a few requests more or less decide when all are worked off.
SEEN_HEALED_MIN = 0.6


def load(arrivals, service, outage=60.0, **more):
    return QueueLoad(RateProfile.constant(arrivals), service, outage, **more)


def system(queues, dependencies=(), fleets=()):
    outage = queues[0].load.outage_min
    return CoupledSystem(outage, outage, tuple(queues), tuple(dependencies), tuple(fleets))


REJECTS = CoupledDependency(1000, collapses=False, attempts_failing=3)
WORKERS = CoupledQueue(load(600, 1200, item_time_s=2), dependency=0, attempts_failing=3)
WAITS = replace(WORKERS, timeout_s=4)
SKEW = (0.15, 0.13, 0.12, 0.1, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05)
SCALED = load(1000, 10_000, item_time_s=3)
CLOSED = CoupledQueue(
    load(1200, 1800, 172, item_time_s=2), dependency=0, attempts_failing=10, timeout_s=1, backoff_s=12.6
)
DOWN = CoupledDependency(2000, collapsed_at_restore=True, timeout_min=1 / 60)
USERS = CoupledDependency(
    2000, fresh_per_min=400, attempts_failing=2, surge_per_min=1500, surge_decay_min=20, timeout_min=4 / 60
)

SETTINGS = {
    "partitions with skew": system([CoupledQueue(load(1000, 1900), partitions=Partitions(SKEW, 200))]),
    "fewer consumers than partitions": system(
        [CoupledQueue(load(1000, 1800, item_time_s=1), partitions=Partitions(SKEW, consumers=4))]
    ),
    "ramp with partitions": system(
        [CoupledQueue(load(1000, 3000, item_time_s=6, ramp=Ramp(20, 4, 400)), partitions=Partitions(SKEW))]
    ),
    "autoscaler on depth": system(
        [CoupledQueue(SCALED, autoscaler=Autoscaler("depth", 500, 50, 30, 60, 30, start_min=2, fits_on_nodes=40, node_min=6))]
    ),
    "autoscaler on depth, four replicas a minute": system(
        [
            CoupledQueue(
                SCALED, autoscaler=Autoscaler("depth", 100, 50, 30, 90, 30, up_percent=0, up_period_min=1)
            )
        ]
    ),
    "autoscaler on utilisation": system(
        [CoupledQueue(SCALED, autoscaler=Autoscaler("utilisation", 0.7, 50, 10, 50, 22, start_min=1))]
    ),
    "autoscaler on age": system([CoupledQueue(SCALED, autoscaler=Autoscaler("age", 10, 50, 25, 60, 25, start_min=3))]),
    "partial outage that rejects above 40 %": system(
        [WORKERS], [replace(REJECTS, course=Course((-60.0, 30.0), (0.4, 1.0)))]
    ),
    "second dip after the restore": system(
        [WORKERS], [replace(REJECTS, course=Course((-60.0, 0.0, 20.0, 35.0, 50.0), (0.4, 1.0, 0.3, 0.7, 1.0)))]
    ),
    "second dip that collapses": system(
        [WAITS], [CoupledDependency(1500, timeout_min=4 / 60, course=Course((-60.0, 0.0, 20.0, 35.0), (0.2, 1.0, 0.1, 1.0)))]
    ),
    "throttle": system([WORKERS], [REJECTS]),
    "throttle below the capacity": system(
        [replace(WORKERS, attempts_failing=2)], [CoupledDependency(9000, throttle_per_min=900)]
    ),
    "throttle and collapse": system(
        [replace(WAITS, load=load(500, 800, item_time_s=2))], [replace(USERS, throttle_per_min=1900)]
    ),
    "surge of returning users": system(
        [replace(WAITS, load=load(500, 900, item_time_s=2))], [replace(USERS, surge_decay_min=10)]
    ),
    "surge at a dependency that rejects": system(
        [WORKERS], [replace(USERS, capacity_per_min=1800, surge_per_min=800, collapses=False, attempts_failing=3)]
    ),
    "closed loop, tested to 2,000/min": system([CLOSED], [DOWN]),
    "closed loop, tested to 3,000/min": system([CLOSED], [replace(DOWN, capacity_per_min=3000)]),
    "attempts in flight are worked off": system(
        [CoupledQueue(load(500, 1000), dependency=0, attempts_failing=3)],
        [CoupledDependency(1250, collapsed_at_restore=True, retry_tokens=6000, timeout_min=1)],
    ),
    "quotas of two clients": system(
        [
            CoupledQueue(load(500, 800), dependency=0, attempts_failing=3, retries=RetryPool(4000, 1.2)),
            CoupledQueue(load(300, 500), dependency=0, attempts_failing=4, retries=RetryPool(9000, 1.1)),
        ],
        [CoupledDependency(1700, collapsed_at_restore=True)],
    ),
    "pool": system([CoupledQueue(load(600, 1800, item_time_s=3), dependency=0, pool_per_min=1200)], [CoupledDependency(1500)]),
    "fleet with a cap": system(
        [CoupledQueue(load(600, 1800, item_time_s=2, cap_concurrency=45), fleet=0)], (), [CoupledFleet(50, 100, 10, 1, 5, 10)]
    ),
    "newest first under an age limit": system([CoupledQueue(load(1200, 1800, 172, order="lifo", max_age_min=60))]),
    "age limit in the drain": system([CoupledQueue(load(1000, 1200, max_age_min=50, item_time_s=3))]),
    "behind each other": system(
        [replace(WORKERS, dependency=None, calls=(Call(0), Call(1)))], [REJECTS, replace(REJECTS, capacity_per_min=800)]
    ),
    "called at once": system(
        [replace(WORKERS, dependency=None, calls=(Call(0), Call(1)), fan_out=True)],
        [CoupledDependency(5000), replace(REJECTS, capacity_per_min=800)],
    ),
    "one of two behind each other is down": system(
        [
            replace(WAITS, dependency=None, calls=(Call(0), Call(1))),
            CoupledQueue(load(200, 400), dependency=1, attempts_failing=2),
        ],
        [CoupledDependency(1500), CoupledDependency(1900, collapsed_at_restore=True, retry_tokens=8000, timeout_min=4 / 60)],
    ),
    "starts within a minute": system(
        [CoupledQueue(load(500, 1000, item_time_s=120), dependency=0, attempts_failing=2, timeout_s=60, start_spread_min=1)],
        [CoupledDependency(2300, timeout_min=1)],
    ),
    "dead letters in the outage": system(
        [
            CoupledQueue(
                load(1000, 2000, item_time_s=0.6), max_receives=4, receives_in_outage=True, redelivery_min=0.25
            )
        ]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SETTINGS)
def test_recoveries_by_request_take_as_long(name):
    item = SETTINGS[name]
    wanted = simulate(item)
    seen = requests.simulate(item, float(wanted.end_min[0]) * 1.1 + 10)
    assert np.isfinite(wanted.drain_min).all()
    assert seen.drained == pytest.approx(wanted.drain_min[0], rel=0.02, abs=SEEN_LATE_MIN)
    assert seen.at_restore == pytest.approx(wanted.backlog_at_restore[0], rel=0.02, abs=FEW)
    assert seen.expired == pytest.approx(wanted.expired[0], rel=0.02, abs=FEW)
    assert seen.dead == pytest.approx(wanted.dead_lettered[0], rel=0.02, abs=FEW)
    if item.dependencies:
        assert seen.down_min == pytest.approx(wanted.time_collapsed_min[0], rel=0.02, abs=SEEN_HEALED_MIN)
