"""What the consumers of a queue sustain from the restore on, for whoever knows what waits now and asks when it is gone."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from afterload.model.coupled import Call, CoupledQueue, trace
from afterload.model.curves import FloatArray
from afterload.model.queues import Ramp
from afterload.recovery.build import couple
from afterload.scenario import LoadedScenario

__all__ = ["SAME_SHARE", "Sustained", "sustained"]

# For how long it is followed; what is sustained then stays.
FOLLOWED_MIN = 3 * 1_440.0
# Rates that differ by less than this share are one: the coupled recovery goes in steps.
SAME_SHARE = 1e-4
CHANGED_SHARE = 1e-6


@dataclass(frozen=True, eq=False)
class Sustained:
    """A service rate that is constant from each start to the next.

    Attributes:
        starts_min: minutes after the restore, rising from 0, shape (steps,).
        rates_per_min: items a minute from there on, shape (steps,).
    """

    starts_min: FloatArray
    rates_per_min: FloatArray

    def rate_at(self, minutes: float) -> float:
        """Items a minute at so many minutes after the restore."""
        return float(self.rates_per_min[self._place(minutes)])

    def rises_after(self, minutes: float) -> bool:
        """Whether the rate is still to rise."""
        return self.rate_at(minutes) < float(self.rates_per_min[-1]) * (1 - SAME_SHARE)

    def changes_after(self, minutes: float) -> bool:
        """Whether the rate is still to change."""
        return self._place(minutes) < len(self.rates_per_min) - 1

    def served(self, start: float, end: float) -> float:
        """Items that can be served between two times."""
        lasts = np.diff(np.clip(np.append(self.starts_min, np.inf), start, end))
        return float(lasts @ self.rates_per_min)

    def _place(self, minutes: float) -> int:
        return max(0, int(np.searchsorted(self.starts_min, minutes, side="right")) - 1)


def sustained(
    loaded: LoadedScenario, name: str, most_per_min: float = math.inf, collapsed: bool | None = None
) -> Sustained:
    """Items a minute that leave a queue while it has a backlog, by minutes after the restore, with all that acts on it.

    That is what the coupled recovery serves of a backlog without end, so it counts fleets that launch, ramps and dependencies
    that collapse. Of a stream it is the whole backlog over the time that its busiest partitions take for their share.

    Parameters:
        loaded: the scenario.
        name: the queue.
        most_per_min: a cap on its consumers over all that the scenario has.
        collapsed: whether dependencies are collapsed at the restore; as the scenario says if not given.
    """
    first = couple(loaded)
    assert first is not None
    place, at_restore = first.queues.index(name), first.course.result
    left = np.maximum(0.0, at_restore.backlog_at_restore[0] - at_restore.superseded[0])
    coupling = couple(loaded, waiting=dict(zip(first.queues, left.tolist(), strict=True)))
    assert coupling is not None
    queues, dependencies = list(coupling.system.queues), coupling.system.dependencies
    queues[place] = _endless(queues[place], most_per_min)
    if collapsed is not None:
        dependencies = tuple(replace(item, collapsed_at_restore=collapsed) for item in dependencies)
    course = trace(replace(coupling.system, queues=tuple(queues), dependencies=dependencies), horizon_min=FOLLOWED_MIN)
    after = course.times_min >= 0
    times = course.times_min[after]
    rates = np.diff(course.served[after, place]) / np.diff(times)
    changes = np.append(True, np.abs(np.diff(rates)) > CHANGED_SHARE * np.maximum(rates[1:], rates[:-1]))
    return Sustained(times[:-1][changes], rates[changes])


def _endless(queue: CoupledQueue, most_per_min: float) -> CoupledQueue:
    """A queue whose backlog never ends, as its busiest partitions have it."""
    load, lane, own = queue.load, queue.lanes[0], min(queue.own_rate_per_min, most_per_min)
    # What one item of the busiest partitions stands for.
    part = lane.service_share / lane.arrival_share
    whole = min(part * own, lane.batches_per_min / lane.arrival_share)
    each = own / whole if whole > 0 else 1.0
    ramp = (
        None if load.ramp is None else Ramp(load.ramp.start * part, load.ramp.per_min * part, load.ramp.ceiling * part)
    )
    scaler = queue.autoscaler
    endless = replace(
        load,
        backlog_before=2 * FOLLOWED_MIN * max(own, load.arrivals.mean_tail_per_min, 1.0),
        service_rate_per_min=part * load.service_rate_per_min,
        cap_concurrency=None if load.cap_concurrency is None else part * load.cap_concurrency,
        ramp=ramp,
        max_age_min=None, retention_min=None, deadline_min=None, order="fifo", sideline_after_min=None,
    )  # fmt: skip
    return replace(
        queue,
        load=endless,
        partitions=None,
        dependency=None,
        calls=tuple(Call(call.dependency, call.per_item * each) for call in queue.all_calls),
        consumers_per_min=min(
            part * min(queue.consumers_per_min, most_per_min), lane.batches_per_min / lane.arrival_share
        ),
        reserved_per_min=part * queue.reserved_per_min,
        pool_per_min=part * queue.pool_per_min,
        autoscaler=None if scaler is None else replace(scaler, rate_each_per_min=part * scaler.rate_each_per_min),
        max_receives=None,
    )
