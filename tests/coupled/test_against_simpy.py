"""The coupled model against a simulation of every request, within 2 %."""

import math
from dataclasses import replace

import pytest
from tests.coupled.simulation import WINDOW_MIN, Consumers, Target, run

from afterload.model.coupled import CoupledDependency, CoupledQueue, CoupledSystem, simulate
from afterload.model.curves import RateProfile
from afterload.model.queues import QueueLoad, Ramp

OUTAGE = 60.0


def load(arrivals, service, **more):
    return QueueLoad(RateProfile.constant(arrivals), service, OUTAGE, **more)


class Setting:
    """The same recovery for both sides."""

    def __init__(self, queues, dependency=None):
        self.queues, self.dependency = queues, dependency

    def coupled(self):
        queues = tuple(
            CoupledQueue(item, dependency=0 if self.dependency else None, attempts_failing=attempts)
            for item, attempts in self.queues
        )
        return simulate(CoupledSystem(OUTAGE, OUTAGE, queues, (self.dependency,) if self.dependency else ()))

    def by_request(self, until):
        target = None
        if self.dependency is not None:
            item = self.dependency
            target = Target(
                item.capacity_per_min, item.collapsed_at_restore, item.goodput_share, item.retry_tokens,
                item.sustained_attempts, item.fresh_per_min, item.attempts_failing,
            )  # fmt: skip
        consumers = [consumers_of(f"queue {i}", item, target, each) for i, (item, each) in enumerate(self.queues)]
        run(OUTAGE, consumers, [target] if target else [], until)
        return consumers, target


def consumers_of(name, item, target, attempts):
    def rate(t):
        rates = [item.service_rate_per_min]
        if item.cap_concurrency is not None:
            rates.append(60 * item.cap_concurrency / item.item_time_s)
        if item.ramp is not None:
            rates.append(60 / item.item_time_s * min(item.ramp.ceiling, item.ramp.start + item.ramp.per_min * t))
        return min(rates)

    return Consumers(
        name, float(item.arrivals.rates_per_min[0]), rate, item.max_age_min or math.inf,
        {"fifo": math.inf, "lifo": 0.0}.get(item.order, item.sideline_after_min), target, attempts,
    )  # fmt: skip


PLAIN = load(30, 50)
BUSY = load(15, 60)
SETTINGS = {
    "in order of arrival": Setting([(PLAIN, 1)]),
    "expiry in the outage": Setting([(load(30, 45, max_age_min=35), 1)]),
    "fresh first": Setting([(load(30, 50, order="fresh_first", sideline_after_min=20), 1)]),
    "fresh first, expiry while it drains": Setting(
        [(load(30, 42, order="fresh_first", sideline_after_min=20, max_age_min=90), 1)]
    ),
    "cap": Setting([(replace(PLAIN, item_time_s=60, cap_concurrency=42), 1)]),
    "slow ramp": Setting([(replace(PLAIN, item_time_s=60, ramp=Ramp(5, 0.5, 500)), 1)]),
    "drain below the capacity of its dependency": Setting([(PLAIN, 3)], CoupledDependency(60)),
    "collapse that ends with the quotas": Setting(
        [(load(30, 60), 3)], CoupledDependency(80, collapsed_at_restore=True, retry_tokens=4800)
    ),
    "collapse that a capped drain heals": Setting(
        [(replace(load(12, 60), item_time_s=60, cap_concurrency=22), 3)],
        CoupledDependency(80, collapsed_at_restore=True),
    ),
    "some calls still succeed": Setting(
        [(BUSY, 3)], CoupledDependency(80, collapsed_at_restore=True, goodput_share=0.4)
    ),
    "two queues push their dependency over": Setting(
        [(load(10, 60), 2), (load(12, 40), 2)], CoupledDependency(80, goodput_share=0.6)
    ),
    "direct traffic and two queues, quotas run out": Setting(
        [(load(10, 30), 3), (load(12, 25), 3)],
        CoupledDependency(90, fresh_per_min=20, attempts_failing=4, collapsed_at_restore=True, retry_tokens=6000),
    ),
    "ramp that passes the capacity": Setting(
        [(replace(load(10, 200), item_time_s=60, ramp=Ramp(5, 4, 500)), 2)],
        CoupledDependency(45, goodput_share=0.5),
    ),
}


def near(minutes, wanted, late=0.0):
    """Within 2 %; ``late`` for what the simulation by requests notices late."""
    assert minutes == pytest.approx(wanted, rel=0.02, abs=0.25 + late)


@pytest.mark.parametrize("name", SETTINGS)
def test_drains_by_request_take_as_long(name):
    setting = SETTINGS[name]
    seen = setting.coupled()
    consumers, target = setting.by_request(float(seen.end_min[0]) * 1.05 + 5)
    late = 0.0 if target is None else 2 * WINDOW_MIN
    for place, item in enumerate(consumers):
        assert item.drained is not None
        near(item.drained, seen.drain_min[0, place], late)
        near(item.fresh_back, seen.fresh_age_back_min[0, place], late)
        assert item.expired == pytest.approx(seen.expired[0, place], rel=0.02, abs=5)
    if target is not None:
        near(target.collapsed_min, seen.time_collapsed_min[0, 0], late)


@pytest.mark.parametrize("attempts", [2, 3])
def test_a_collapse_that_stays_stays_request_by_request(attempts):
    setting = Setting([(BUSY, attempts)], CoupledDependency(80, collapsed_at_restore=True))
    assert setting.coupled().never[0]
    consumers, target = setting.by_request(600)
    assert consumers[0].served == 0
    assert target.collapsed
    assert target.most_attempts == pytest.approx(60 * attempts, rel=0.05)
    assert setting.coupled().peak_attempts_per_min[0, 0] == pytest.approx(60 * attempts)
