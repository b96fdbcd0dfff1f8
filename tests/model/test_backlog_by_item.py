"""The fluid queue against an independent simulation of single items, written with SimPy.

Nothing of the model is used here but its inputs: items arrive one by one, one consumer takes them one by one, and each
item has its own timers.
"""

from __future__ import annotations

import bisect
from collections import deque
from dataclasses import dataclass, field

import pytest
import simpy
from tests.oracles.backlog import recover

from afterload.model.curves import RateProfile
from afterload.model.queues import QueueLoad, Ramp


@dataclass
class Item:
    arrived: float
    place: str = "live"


@dataclass
class Seen:
    counts: dict = field(default_factory=lambda: dict.fromkeys(["served", "expired", "lost", "late", "dropped"], 0))
    expired_before: int = 0
    drained: float | None = None
    fresh_back: float | None = None
    oldest: float = 0.0
    peak: int = 0
    at_restore: int = 0


def rate_of(load: QueueLoad, t: float) -> float:
    edges, rates, cycle = load.arrivals.edges_min, load.arrivals.rates_per_min, load.arrivals.cycle_min
    while cycle is not None and t >= edges[-1]:
        t -= cycle
    return next((r for low, high, r in zip(edges, edges[1:], rates, strict=False) if low <= t < high), rates[-1])


def capacity_of(load: QueueLoad, t: float) -> float:
    if t < load.outage_min:
        return load.served_in_outage_per_min
    rate = load.service_rate_per_min
    if load.cap_concurrency is not None:
        rate = min(rate, load.cap_concurrency * 60 / load.item_time_s)
    if load.ramp is not None:
        ramp = load.ramp
        running = min(ramp.ceiling, ramp.start + ramp.per_min * (t - load.outage_min))
        rate = min(rate, running * 60 / load.item_time_s)
    return rate


def simulate(load: QueueLoad, horizon: float) -> Seen:
    env, seen = simpy.Environment(), Seen()
    live: deque[Item] = deque()
    side: deque[Item] = deque()
    restore = load.outage_min
    # One consumer is busy for 1 / rate: what comes meanwhile must be able to wait for it, even under "lifo".
    threshold = {"fifo": None, "lifo": 0.2, "fresh_first": load.sideline_after_min}[load.order]
    work = simpy.Store(env)

    def waiting():
        return sum(item.place == "live" for item in live) + sum(item.place == "side" for item in side)

    def come(item):
        live.append(item)
        work.put(1)
        limits = {"expired": load.max_age_min, "lost": load.retention_min}
        for name, limit in limits.items():
            if limit is not None:
                env.process(expire(item, name, item.arrived + limit))
        if threshold is not None:
            env.process(set_aside(item, max(restore, item.arrived + threshold)))

    def expire(item, name, at):
        yield env.timeout(max(0.0, at - env.now))
        if item.place in ("live", "side"):
            item.place = "gone"
            seen.counts[name] += 1
            seen.expired_before += env.now < restore
            seen.oldest = max(seen.oldest, env.now - item.arrived)

    def set_aside(item, at):
        # A moment later, so that a consumer that is free now gets it first.
        yield env.timeout(max(0.0, at - env.now) + 1e-3)
        if item.place == "live":
            item.place = "side"
            # Timers set long ago for one moment fire in the order of their rounding.
            bisect.insort(side, item, key=lambda other: other.arrived)
            work.put(1)

    def arrive():
        rate = rate_of(load, 0.0)
        for number in range(int(load.backlog_before), 0, -1):
            come(Item(-(number - 0.5) / rate if rate else 0.0))
        passed, step = 0.5, 0.01
        while env.now < horizon and seen.drained is None:
            yield env.timeout(step)
            passed += rate_of(load, env.now - step / 2) * step
            while passed >= 1.0:
                passed -= 1.0
                come(Item(env.now))

    def supersede():
        yield env.timeout(restore - 1e-6)
        backlog = [item for item in live if item.place == "live"]
        seen.at_restore = len(backlog)
        carried = 0.0
        for item in backlog:
            carried += load.superseded_share
            if carried >= 1.0:
                carried -= 1.0
                item.place = "gone"
                seen.counts["dropped"] += 1
        seen.peak = max(seen.peak, len(backlog))

    def head(queue):
        while queue and queue[0].place != ("live" if queue is live else "side"):
            queue.popleft()
        return queue[0] if queue else None

    def consume():
        while env.now < horizon:
            capacity = capacity_of(load, env.now)
            if capacity <= 0.0:
                yield env.timeout(0.01 if env.now >= restore else restore - env.now)
                continue
            item = head(live)
            if item is None and env.now >= restore:
                if seen.fresh_back is None and rate_of(load, env.now) <= capacity:
                    seen.fresh_back = env.now - restore
                item = head(side)
                if item is None and rate_of(load, env.now) <= capacity:
                    seen.drained = env.now - restore
                    return
            if item is None:
                while work.items:
                    yield work.get()
                yield work.get()
                continue
            item.place, age = "gone", env.now - item.arrived
            seen.oldest = max(seen.oldest, age)
            if load.deadline_min is not None and env.now >= restore and age > load.deadline_min:
                seen.counts["late"] += 1
                continue
            # A slot of service that the restore or the ramp shortens ends when its area of capacity is one item.
            done = 0.0
            while done < 1.0:
                capacity = capacity_of(load, env.now)
                step = min(0.02, (1.0 - done) / capacity) if capacity > 0 else 0.02
                done += capacity * step
                yield env.timeout(step)
                done = 1.0 if done > 1.0 - 1e-9 else done
            seen.counts["served"] += 1

    env.process(arrive())
    env.process(supersede())
    env.process(consume())

    def watch():
        while seen.drained is None:
            seen.peak = max(seen.peak, waiting())
            yield env.timeout(1.0)

    env.process(watch())
    while seen.drained is None and env.peek() < horizon:
        env.step()
    return seen


PEAK = RateProfile([0, 40, 100, 240], [20, 44, 8], cycle_min=240)
BASE = QueueLoad(RateProfile.constant(20), service_rate_per_min=30, outage_min=60)
CASES = {
    "plain": BASE,
    "twice the capacity": QueueLoad(RateProfile.constant(20), 40, 60),
    "profile with a peak": QueueLoad(PEAK, 30, 60),
    "partial service": QueueLoad(RateProfile.constant(20), 30, 60, served_in_outage_per_min=8),
    "partial service through a peak, backlog before": QueueLoad(
        PEAK, 30, 80, served_in_outage_per_min=15, backlog_before=150
    ),
    "age limit": QueueLoad(RateProfile.constant(20), 30, 60, max_age_min=25),
    "age limit in the drain": QueueLoad(PEAK, 22, 100, max_age_min=60),
    "retention": QueueLoad(RateProfile.constant(20), 30, 60, max_age_min=45, retention_min=30),
    "cap": QueueLoad(RateProfile.constant(20), 60, 60, item_time_s=6, cap_concurrency=3),
    "ramp": QueueLoad(RateProfile.constant(20), 40, 60, item_time_s=6, ramp=Ramp(0.5, 0.1, 50)),
    "deadline": QueueLoad(RateProfile.constant(20), 30, 60, deadline_min=35),
    "deadline under a ramp": QueueLoad(
        PEAK, 35, 90, deadline_min=50, item_time_s=6, ramp=Ramp(1, 0.05, 50), backlog_before=40
    ),
    "superseded": QueueLoad(RateProfile.constant(20), 30, 60, superseded_share=0.4),
    "fresh first": QueueLoad(RateProfile.constant(20), 30, 60, order="fresh_first", sideline_after_min=10),
    "fresh first through a peak": QueueLoad(PEAK, 32, 60, order="fresh_first", sideline_after_min=15),
    "fresh first with age limit": QueueLoad(
        PEAK, 30, 60, order="fresh_first", sideline_after_min=10, max_age_min=90
    ),
    "fresh first with deadline": QueueLoad(
        PEAK, 32, 60, order="fresh_first", sideline_after_min=10, deadline_min=70
    ),
    "last in first out": QueueLoad(RateProfile.constant(20), 30, 60, order="lifo"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_fluid_agrees_with_single_items_within_two_percent(name):
    load = CASES[name]
    model = recover(load)
    assert model.drain_min is not None
    items = simulate(load, horizon=load.outage_min + 2 * model.drain_min + 100)
    assert items.drained == pytest.approx(model.drain_min, rel=0.02, abs=0.2)
    assert items.fresh_back == pytest.approx(model.fresh_age_back_min, rel=0.02, abs=0.5)
    assert items.at_restore == pytest.approx(model.backlog_at_restore, rel=0.02, abs=2)
    assert items.oldest == pytest.approx(model.max_age_min, rel=0.02, abs=0.2)
    assert items.counts["served"] == pytest.approx(model.served, rel=0.02, abs=2)
    assert items.counts["expired"] == pytest.approx(model.expired, rel=0.02, abs=3)
    assert items.counts["lost"] == pytest.approx(model.lost_to_retention, rel=0.02, abs=3)
    assert items.counts["late"] == pytest.approx(model.discarded_past_deadline, rel=0.02, abs=3)
    assert items.counts["dropped"] == pytest.approx(model.superseded, rel=0.02, abs=2)
    before = model.expired_in_outage if load.retention_min is None else None
    if before is not None:
        assert items.expired_before == pytest.approx(before, rel=0.02, abs=3)
    assert items.peak == pytest.approx(model.peak_backlog, rel=0.02, abs=3)


def test_the_cases_exercise_what_they_name():
    drains = {name: recover(load) for name, load in CASES.items()}
    assert drains["age limit in the drain"].expired_in_drain > 50
    assert drains["retention"].lost_to_retention > 50
    assert drains["deadline"].discarded_past_deadline > 50
    assert drains["deadline under a ramp"].discarded_past_deadline > 50
    assert drains["fresh first through a peak"].sidelined_peak > 50
    assert drains["fresh first with age limit"].expired_in_drain > 50
    assert drains["fresh first with deadline"].discarded_past_deadline > 50
    assert drains["cap"].drain_min == pytest.approx(1200 / 10)
