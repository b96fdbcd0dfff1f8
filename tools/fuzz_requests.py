"""Random systems of three queues: the coupled recovery against one that follows every item and request.

Every difference over 3 % is printed with the system as Python that builds it. Where a load comes within 5 % of what a dependency
bears, a few requests decide whether it collapses: these are only counted, unless --close is given.

    python tools/fuzz_requests.py --systems 200 --seed 1
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.oracles import requests

from afterload.model.coupled import (
    Autoscaler,
    Call,
    CoupledDependency,
    CoupledFleet,
    CoupledQueue,
    CoupledResult,
    CoupledSystem,
    Course,
    Partitions,
    RetryPool,
    simulate,
)
from afterload.model.curves import RateProfile
from afterload.model.queues import QueueLoad, Ramp

TOO_MUCH = 0.03
CLOSE = 0.05
LONGEST_MIN = 600.0
MOST_ITEMS = 600_000


def shares(chance: random.Random) -> tuple[float, ...]:
    weights = [chance.uniform(0.7, 1.3) for _ in range(chance.choice([4, 6, 8, 12]))]
    weights[chance.randrange(len(weights))] *= chance.choice([1, 1, 1.5])
    rounded = [round(weight / sum(weights), 3) for weight in weights[1:]]
    return (round(1.0 - sum(rounded), 3), *rounded)


def course(chance: random.Random, outage: float) -> Course:
    share = chance.choice([0.2, 0.4, 0.6])
    if chance.random() < 0.5:
        return Course((-outage, float(chance.choice([0, 10, 30]))), (share, 1.0))
    first = float(chance.choice([10, 30]))
    return Course((first, first + chance.choice([5, 20])), (share, 1.0))


def autoscaler(chance: random.Random, arrivals: float, service: float) -> Autoscaler:
    each = round(service / chance.choice([20, 40, 80]), 1)
    least = math.ceil(arrivals * chance.choice([0.5, 1.1, 1.3]) / each)
    metric = chance.choice(["depth", "age", "utilisation"])
    if metric != "depth":
        least = max(least, math.ceil(arrivals * 1.2 / each))
    target = {"depth": round(arrivals * chance.choice([0.2, 0.5, 1.0])), "age": 5.0, "utilisation": 0.7}[metric]
    return Autoscaler(
        metric, target, each, least, math.ceil(service / each) + least, least,
        start_min=chance.choice([0.0, 1.0, 3.0]), fits_on_nodes=chance.choice([None, least + 5]), node_min=4.0,
        up_percent=chance.choice([100.0, 20.0]), up_window_min=chance.choice([0.0, 0.0, 2.0]),
    )  # fmt: skip


def queue(chance: random.Random, outage: float, dependencies: int, fleets: int) -> CoupledQueue:
    arrivals = float(chance.randrange(100, 1000, 50))
    service = round(arrivals * chance.choice([1.3, 1.5, 2.0, 3.0]))
    item_s = chance.choice([None, 2.0, 5.0, 10.0])
    load: dict = {"item_time_s": item_s}
    more: dict = {}
    if item_s is not None and chance.random() < 0.2:
        load["cap_concurrency"] = round(arrivals * chance.choice([1.2, 1.6]) * item_s / 60)
    elif item_s is not None and chance.random() < 0.2:
        load["ramp"] = Ramp(round(arrivals * item_s / 120), chance.choice([2.0, 10.0]), round(service * item_s / 30))
    if chance.random() < 0.25:
        load["max_age_min"] = round(outage * chance.choice([0.5, 0.9, 1.3]))
        load["order"] = chance.choice(["fifo", "lifo"])
    if chance.random() < 0.3:
        limit = chance.choice([math.inf, 1.25])
        more["partitions"] = Partitions(parts := shares(chance), math.inf, None)
        if limit < math.inf:
            more["partitions"] = Partitions(parts, round(max(parts) * arrivals * limit, 1), None)
        elif chance.random() < 0.5:
            more["partitions"] = Partitions(parts, math.inf, chance.choice([3, 5]))
    elif chance.random() < 0.25:
        more["autoscaler"] = autoscaler(chance, arrivals, service)
    if chance.random() < 0.15:
        more["pool_per_min"] = round(arrivals * chance.choice([1.2, 1.8]))
    if chance.random() < 0.1:
        more["reserved_per_min"] = round(arrivals * 1.4)
    if fleets and chance.random() < 0.3:
        more["fleet"] = 0
    if dependencies and chance.random() < 0.85:
        called = chance.sample(range(dependencies), chance.choice([1, 1, 2]) if dependencies > 1 else 1)
        more["calls"] = tuple(Call(place) for place in called)
        more["fan_out"] = len(called) > 1 and chance.random() < 0.5
        more["attempts_failing"] = chance.choice([1.0, 2.0, 3.0, 4.0])
        if item_s is not None:
            more["timeout_s"] = chance.choice([0.0, 1.0, 5.0])
            more["backoff_s"] = chance.choice([0.0, 0.0, 4.0]) if more["attempts_failing"] > 1 else 0.0
        if chance.random() < 0.2:
            more["retries"] = RetryPool(round(arrivals * chance.choice([2, 10])), chance.choice([1.0, 1.2]))
    if chance.random() < 0.15:
        more.update(max_receives=chance.choice([3.0, 5.0]), redelivery_min=chance.choice([0.5, 2.0]))
        more["receives_in_outage"] = chance.random() < 0.6
    made = CoupledQueue(QueueLoad(RateProfile.constant(arrivals), service, outage, **load), **more)
    # A lane with next to nothing to spare drains by chance, not by rates.
    busiest = max(lane.arrival_share / lane.service_share for lane in made.lanes) * arrivals
    return made if made.own_rate_per_min > 1.08 * busiest else queue(chance, outage, dependencies, fleets)


def dependency(chance: random.Random, outage: float, wanted: float, arriving: float) -> CoupledDependency:
    fresh = round(arriving * chance.choice([0.0, 0.3, 1.0]))
    kind = chance.choice(["collapses", "rejects", "both"])
    surge = round(arriving * chance.choice([0.0, 0.0, 1.0]))
    capacity = round(max(1.15 * (arriving + fresh), (wanted + fresh) * chance.choice([0.6, 0.9, 1.3, 2.0])))
    return CoupledDependency(
        max(capacity, 50), fresh_per_min=fresh, attempts_failing=chance.choice([1.0, 2.0, 3.0]),
        control_per_min=chance.choice([0.0, 20.0]), goodput_share=chance.choice([0.0, 0.0, 0.3, 0.7]),
        collapsed_at_restore=kind != "rejects" and chance.random() < 0.4, collapses=kind != "rejects",
        throttle_per_min=round(capacity * 0.85) if kind == "both" else math.inf,
        retry_tokens=chance.choice([math.inf, round(capacity * 5.0)]), surge_per_min=surge, surge_decay_min=20.0,
        timeout_min=chance.choice([0.0, 0.05, 0.5]), course=course(chance, outage) if chance.random() < 0.25 else None,
    )  # fmt: skip


def system(seed: int) -> CoupledSystem:
    chance = random.Random(seed)
    outage = float(chance.choice([20, 40, 60, 120]))
    count, fleets = chance.choice([0, 1, 1, 2, 2]), chance.choice([0, 1])
    queues = tuple(queue(chance, outage, count, fleets) for _ in range(3))
    dependencies = []
    for place in range(count):
        callers = [item for item in queues if any(call.dependency == place for call in item.calls)]
        wanted = sum(item.own_rate_per_min for item in callers)
        arriving = sum(item.load.arrivals.rates_per_min[0] for item in callers)
        dependencies.append(dependency(chance, outage, wanted, arriving) if callers else CoupledDependency(50.0))
    running = chance.choice([30, 50, 80])
    fleet = CoupledFleet(
        float(running), 100.0, float(chance.choice([0, 10])), chance.choice([0.5, 2.0]), chance.choice([0.0, 5.0]),
        float(chance.choice([0, 15])),
    )  # fmt: skip
    return CoupledSystem(outage, outage, queues, tuple(dependencies), (fleet,) if fleets else ())


def differences(item: CoupledSystem, seed: int) -> tuple[list[str], CoupledResult]:
    """Every result that differs by more than 3 %, as text."""
    whole = simulate(item, horizon_min=LONGEST_MIN)
    until = LONGEST_MIN
    if np.isfinite(whole.drain_min).all():
        until = min(until, float(whole.end_min[0]) * 1.1 + 15)
    arriving = sum(float(queue.load.arrivals.rates_per_min[0]) for queue in item.queues)
    # Not below one tenth: with too few items each of them counts.
    scale = max(0.1, min(1.0, MOST_ITEMS / (arriving * (until + item.outage_min))))
    seen = requests.simulate(item, until, scale=scale, seed=seed, quiet_min=10.0)
    wanted, drained = simulate(item, horizon_min=seen.end), seen.drained
    if wanted.never[0]:
        # The model stops where it only repeats itself; counts are compared there.
        seen = requests.simulate(item, float(wanted.end_min[0]), scale=scale, seed=seed, quiet_min=math.inf)
    found = []

    def compare(name: str, got: float, want: float, few: float) -> None:
        if math.isnan(got) != math.isnan(want) or abs(got - want) > max(TOO_MUCH * abs(want), few):
            found.append(f"{name}: model {want:.6g}, by request {got:.6g}")

    for place, each in enumerate(item.queues):
        rate = float(each.load.arrivals.rates_per_min[0])
        drain = float(whole.drain_min[0, place])
        if not drain < until * 0.97:
            drain = math.nan
        compare(f"drain of queue {place}", float(drained[place]), drain, 0.5)
        few = 0.003 * rate * (item.outage_min + seen.end) + 20 / scale
        for name, got, want in (
            ("expired", seen.expired, wanted.expired + wanted.lost_to_retention),
            ("dead", seen.dead, wanted.dead_lettered),
            ("at_restore", seen.at_restore, wanted.backlog_at_restore),
        ):
            compare(f"{name} of queue {place}", float(got[place]), float(want[0, place]), few)
    for place in range(len(item.dependencies)):
        compare(
            f"collapsed minutes of dependency {place}",
            float(seen.down_min[place]),
            float(wanted.time_collapsed_min[0, place]),
            1.0,
        )
    return found, whole


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1, help="of the first system; each takes the next")
    parser.add_argument("--close", action="store_true", help="print those near a boundary as well")
    given = parser.parse_args()
    started, differing, close = time.perf_counter(), 0, 0
    for seed in range(given.seed, given.seed + given.systems):
        item = system(seed)
        found, result = differences(item, seed)
        if not found:
            continue
        if float(np.min(result.margin_share, initial=np.inf)) <= CLOSE and not given.close:
            close += 1
            continue
        differing += 1
        print(f"seed {seed}: {'; '.join(found)}\n  {item!r}", flush=True)
    print(
        f"{given.systems} systems, {differing} differ, {close} more within {CLOSE:.0%} of a boundary; "
        f"{time.perf_counter() - started:.0f} s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
