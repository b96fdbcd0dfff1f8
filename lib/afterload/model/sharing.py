"""Several parties on one limit: fair shares, backlogs that drain through one rate, launches out of one pair of buckets."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from afterload.errors import ModelError
from afterload.model.checks import number, whole
from afterload.model.curves import FloatArray
from afterload.model.launches import RUN_INSTANCES, BucketLimits

__all__ = ["Draining", "LaunchDemand", "drain_together", "launch_together", "max_min_share"]

# A backlog below this share of what a queue ever held is that of rounding.
NOTHING = 1e-12


def max_min_share(total: float, demands: npt.ArrayLike) -> FloatArray:
    """What each party gets of a total by max-min fairness: nobody gets more by taking from one who has less.

    Parameters:
        total: what there is, 0 or more.
        demands: what each party can use, shape (parties,), 0 or more.

    Returns:
        Shares of the same shape: the demand, or for all who want more one and the same level.

    Raises:
        ModelError: a value that is not a finite number of 0 or more.

    Source: Bertsekas and Gallager, Data Networks, section 6.5.2, for one link.
    """
    left = number("total", total)
    wanted = np.asarray(demands, dtype=np.float64)
    if wanted.ndim != 1 or not np.all(np.isfinite(wanted)) or np.any(wanted < 0):
        raise ModelError(f"demands are {demands!r}; give a list of finite numbers of 0 or more")
    if wanted.sum() <= left or not len(wanted):
        return wanted.copy()
    rising = np.sort(wanted)
    before = np.concatenate(([0.0], np.cumsum(rising)[:-1]))
    # The level if all from this place on got the same of what the smaller ones leave.
    levels = (left - before) / np.arange(len(rising), 0, -1)
    place = int(np.argmax(levels <= rising))
    return np.minimum(wanted, max(0.0, float(levels[place])))


@dataclass(frozen=True)
class Draining:
    """One backlog that drains through a shared limit.

    Attributes:
        backlog: items waiting at the restore.
        starts_min, arrivals_per_min: from each minute after the restore on, new items a minute; the first start is 0, and
            the last rate stays.
        rate_per_min: items a minute that its own consumers do at most.
        units: what one item a minute takes of the shared limit; 1 where the limit is a rate of items.

    Raises:
        ModelError: a value out of its range.
    """

    backlog: float
    starts_min: tuple[float, ...]
    arrivals_per_min: tuple[float, ...]
    rate_per_min: float
    units: float = 1.0

    def __post_init__(self) -> None:
        number("backlog", self.backlog)
        number("rate_per_min", self.rate_per_min)
        number("units", self.units, above=0.0)
        if len(self.starts_min) != len(self.arrivals_per_min) or not self.starts_min or self.starts_min[0] != 0.0:
            raise ModelError("starts_min begins with 0 and has one value for each of arrivals_per_min")
        for rate in self.arrivals_per_min:
            number("arrivals_per_min", rate)
        if any(later <= earlier for earlier, later in zip(self.starts_min, self.starts_min[1:], strict=False)):
            raise ModelError("starts_min must rise")


def drain_together(queues: Sequence[Draining], limit: float) -> tuple[float | None, ...]:
    """Minutes from the restore until each backlog is first empty, all draining at once through one limit.

    At every moment each queue gets its max-min fair share of the limit: what it can use (all its consumers while it has a
    backlog, else what arrives), or the level that all share who could use more. An exact fluid in events: from one empty
    queue or change of arrivals to the next, all rates are constant.

    Parameters:
        queues: the backlogs.
        limit: the shared limit, in the unit of ``units``, 0 or more.

    Returns:
        Minutes, 0 for a queue without a backlog; ``None`` where it never empties at these rates.

    Raises:
        ModelError: ``limit`` out of its range.
    """
    there = number("limit", limit)
    count = len(queues)
    backlog = np.array([item.backlog for item in queues], dtype=np.float64)
    least = NOTHING * np.maximum(backlog, 1.0)
    rate = np.array([item.rate_per_min for item in queues])
    units = np.array([item.units for item in queues])
    empty_at: list[float | None] = [0.0 if item.backlog == 0 else None for item in queues]
    changes = sorted({start for item in queues for start in item.starts_min if start > 0})
    places = [0] * count
    arriving = np.array([item.arrivals_per_min[0] for item in queues])
    now = 0.0
    while any(end is None for end in empty_at):
        wanted = np.where(backlog > 0, rate, np.minimum(arriving, rate))
        served = max_min_share(there, wanted * units) / units
        growth = arriving - served
        growth[np.abs(growth) <= NOTHING * np.maximum(arriving, 1.0)] = 0.0
        falling = (backlog > 0) & (growth < 0)
        ends = np.where(falling, backlog / np.where(falling, -growth, 1.0), math.inf)
        step = float(ends.min(initial=math.inf))
        until_change = changes[0] - now if changes else math.inf
        if not math.isfinite(min(step, until_change)):
            break
        step = min(step, until_change)
        backlog = np.maximum(0.0, backlog + growth * step)
        done = falling & ((ends <= step * (1 + 1e-12)) | (backlog <= least))
        backlog[done] = 0.0
        now += step
        for place in map(int, np.flatnonzero(done)):
            if empty_at[place] is None:
                empty_at[place] = now
        if step == until_change:
            now = changes.pop(0)
            for place, item in enumerate(queues):
                while places[place] + 1 < len(item.starts_min) and item.starts_min[places[place] + 1] <= now:
                    places[place] += 1
                arriving[place] = item.arrivals_per_min[places[place]]
    return tuple(empty_at)


@dataclass(frozen=True)
class LaunchDemand:
    """What one fleet asks of shared launch buckets.

    Attributes:
        instances: instances wanted, 0 or more.
        per_request: instances asked for in one request; the last one may ask for fewer.
        start_s: seconds after the restore from which it asks.
    """

    instances: int
    per_request: int = 1
    start_s: float = 0.0

    def __post_init__(self) -> None:
        whole("instances", self.instances, least=0)
        whole("per_request", self.per_request)
        number("start_s", self.start_s)


def launch_together(
    demands: Sequence[LaunchDemand], limits: BucketLimits = RUN_INSTANCES, buckets_full: float = 1.0
) -> tuple[float | None, ...]:
    """Seconds from the restore until the last request of each fleet is admitted, all out of one pair of buckets.

    Fleets take turns: of those that have started, the one with the fewest requests admitted so far asks next (the first
    in the list among equals), and waits at the head of the line until both buckets have enough for it.

    Parameters:
        demands: the fleets.
        limits: what is left of the buckets, throttle and other callers taken off.
        buckets_full: level of both buckets at the restore, 1 full to 0 spent.

    Returns:
        Seconds; 0 for a fleet that wants nothing, ``None`` for one whose requests are larger than the instance bucket.

    Raises:
        ModelError: a value out of its range.

    Source: docs/model.md section 4.
    """
    full = number("buckets_full", buckets_full, most=1.0)
    request_burst_s = limits.request_burst / limits.requests_per_s
    instance_burst_s = limits.instance_burst / limits.instances_per_s
    # Each bucket is held as the time at which it would be full again.
    requests_full_at, instances_full_at = (1.0 - full) * request_burst_s, (1.0 - full) * instance_burst_s
    last: list[float | None] = [0.0] * len(demands)
    left = [item.instances for item in demands]
    asking: list[tuple[int, int]] = []
    waiting: list[tuple[float, int]] = []
    for place, item in enumerate(demands):
        if min(item.per_request, item.instances) > limits.instance_burst:
            last[place] = None
        elif item.instances:
            waiting.append((item.start_s, place))
    heapq.heapify(waiting)
    now = 0.0
    while asking or waiting:
        if not asking:
            now = max(now, waiting[0][0])
        while waiting and waiting[0][0] <= now:
            heapq.heappush(asking, (0, heapq.heappop(waiting)[1]))
        turns, place = heapq.heappop(asking)
        size = min(demands[place].per_request, left[place])
        request_s, instances_s = 1.0 / limits.requests_per_s, size / limits.instances_per_s
        now = max(
            now,
            requests_full_at + request_s - request_burst_s,
            instances_full_at + instances_s - instance_burst_s,
        )
        requests_full_at = max(requests_full_at, now) + request_s
        instances_full_at = max(instances_full_at, now) + instances_s
        left[place] -= size
        last[place] = now
        if left[place]:
            heapq.heappush(asking, (turns + 1, place))
    return tuple(last)
