"""How uncertain the course of a backlog is: P10 to P90 of what waits, over draws of the uncertain inputs of a scenario."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from afterload.model.coupled import Input, backlogs
from afterload.model.curves import FloatArray
from afterload.recovery.result import CoupledEstimate, drawn_inputs

__all__ = ["BacklogBand", "backlog_bands"]

# Courses that are followed: all draws from which the other percentiles are taken would take a second.
COURSES = 200
POINTS = 60
# How far beyond the latest end a band goes, and how far where there is none.
BEYOND, NO_END_MIN = 1.1, 720.0
# Steps of a course; a longer one takes longer steps.
MOST_STEPS = 2_000


@dataclass(frozen=True, eq=False)
class BacklogBand:
    """What waits in one queue, with queues, retries and dependencies acting on each other. Shapes: (points,).

    Attributes:
        minutes: after the trigger, rising from 0.
        low, middle, high: items that lie above a tenth, a half and nine tenths of the draws.
        draws: how many.
    """

    queue: str
    minutes: FloatArray
    low: FloatArray
    middle: FloatArray
    high: FloatArray
    draws: int


def backlog_bands(recovery: CoupledEstimate | None) -> tuple[BacklogBand, ...]:
    """The band of every queue; none without uncertain inputs, and none of a stream, whose curve is that of one shard.

    Over every fifth draw of the estimate, in the order in which the last backlog is gone: so a band ends where the
    percentiles of that time are.
    """
    if recovery is None or recovery.drawn is None or not recovery.coupling.ranges:
        return ()
    coupling, system = recovery.coupling, recovery.coupling.system
    names = [name for name in coupling.queues if coupling.loaded.scenario.queues[name].stream is None]
    if not names:
        return ()
    ends = [spread.p90 for spread in recovery.drain.values()]
    horizon = max([BEYOND * end if end is not None else NO_END_MIN for end in ends])
    inputs = drawn_inputs(coupling, recovery.draws)
    # Not a number, for never, comes last.
    by_end = np.argsort(np.max(recovery.drawn.drain_min, axis=1), kind="stable")
    every = max(1, recovery.draws // COURSES)
    chosen = by_end[every // 2 :: every]
    some = {key: values[chosen] for key, values in inputs.items()}
    step = max(1.0, (system.lead_min + horizon) / MOST_STEPS)
    times, waiting = backlogs(system, some, horizon, step_min=step)
    outages = some.get(Input("outage", 0, "outage_min"), np.full(len(waiting), system.outage_min))
    # However long the outage was, the trigger is the same.
    minutes = np.union1d(np.linspace(0.0, system.outage_min + horizon, POINTS), [system.outage_min])
    found = []
    for name in names:
        place = coupling.queues.index(name)
        courses = np.array(
            [np.interp(minutes - outage, times, each[:, place]) for outage, each in zip(outages, waiting, strict=True)]
        )
        courses[:, 0] = waiting[:, 0, place]
        low, middle, high = np.quantile(courses, (0.1, 0.5, 0.9), axis=0, method="inverted_cdf")
        found.append(BacklogBand(name, minutes, low, middle, high, len(courses)))
    return tuple(found)
