"""How one queue recovers in a coupled course: its times, what it loses, and its curves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from afterload.model.coupled import Trace
from afterload.model.curves import FloatArray
from afterload.model.queues import QueueLoad

__all__ = ["QueueRecovery", "queue_recovery", "reached"]

# A backlog that ends within this share of its peak still grows; counts closer than this are the same.
SAME_SHARE = 1e-6
# An oldest age that grows by less than this share in the second half of a course is one that has settled.
SETTLED_SHARE = 0.02


@dataclass(frozen=True, eq=False)
class QueueRecovery:
    """One queue with everything acting on it. Times are minutes from the restore, of the curves from the origin of its load.

    Attributes:
        backlog_at_restore: items waiting at the restore, before the superseded ones are dropped.
        peak_backlog: most items waiting at once; None where the backlog grows without end.
        drain_min: until nothing waits and capacity covers arrivals; None: never at these rates.
        fresh_age_back_min: until first-attempt age is back at baseline; None: never.
        stale_min: from the first moment when work waited until first-attempt age is back; None: never.
        served, expired, lost_to_retention, discarded_past_deadline, superseded, dead_lettered: items since the trigger.
        max_age_min: age of the oldest item that waits or is set aside, at most, as far as the recovery is followed.
        outgrows: it never drains, and its oldest work gets older as long as it is followed.
        lost_per_min, holds_from_min: what is lost a minute where that has no end, and from when on; 0 and None where it has.
        times_min: rising times of the curves, shape (points,); a time given twice is a jump.
        backlog: everything that waits; ``sidelined`` the part set aside; ``first_attempt_age_min`` the age of what is next in
            turn for its first attempt; shapes (points,).
    """

    backlog_at_restore: float
    peak_backlog: float | None
    drain_min: float | None
    fresh_age_back_min: float | None
    stale_min: float | None
    served: float
    expired: float
    lost_to_retention: float
    discarded_past_deadline: float
    superseded: float
    dead_lettered: float
    max_age_min: float
    outgrows: bool
    lost_per_min: float
    holds_from_min: float | None
    times_min: FloatArray
    backlog: FloatArray
    sidelined: FloatArray
    first_attempt_age_min: FloatArray

    @property
    def sidelined_peak(self) -> float:
        """Most items set aside."""
        return float(self.sidelined.max(initial=0.0))


def reached(minutes: float) -> float | None:
    """A time of a result; None where it is not reached."""
    return None if np.isnan(minutes) else float(minutes)


def queue_recovery(course: Trace, place: int, load: QueueLoad) -> QueueRecovery:
    """The recovery of the queue at a place of a course; ``load`` is the queue by itself, whose outage ends at the restore."""
    result, restore = course.result, load.outage_min
    counts = {
        name: float(getattr(result, name)[0, place])
        for name in (
            "backlog_at_restore", "served", "expired", "lost_to_retention", "discarded_past_deadline", "superseded",
            "dead_lettered",
        )
    }  # fmt: skip
    drain, fresh = reached(result.drain_min[0, place]), reached(result.fresh_age_back_min[0, place])
    times, waiting, sidelined, age = _curves(course, place, restore, drain, load.backlog_before, counts["superseded"])
    peak: float | None = float(result.peak_backlog[0, place])
    if drain is None and _grows(course, place, waiting):
        peak = None
    oldest = float(age.max(initial=0.0))
    if load.order != "fifo":
        oldest = max(oldest, _oldest_aside(course, place, load, drain))
    return QueueRecovery(
        peak_backlog=peak,
        drain_min=drain,
        fresh_age_back_min=fresh,
        stale_min=_stale(load, fresh, times, waiting),
        max_age_min=oldest,
        outgrows=drain is None and counts["dead_lettered"] <= 0 and _ages(age[times >= restore]),
        lost_per_min=float(result.lost_per_min[0, place]) if drain is None else 0.0,
        holds_from_min=reached(result.lost_from_min[0, place]) if drain is None else None,
        times_min=times,
        backlog=waiting,
        sidelined=sidelined,
        first_attempt_age_min=age,
        **counts,
    )


def _grows(course: Trace, place: int, waiting: FloatArray) -> bool:
    """Whether a backlog that never ends is at its highest at the end, and nothing takes from it."""
    half = len(course.times_min) // 2
    gone = (course.expired, course.lost_to_retention, course.discarded_past_deadline, course.dead_lettered)
    removed = sum(float(each[-1, place] - each[half, place]) for each in gone)
    # A backlog that stays as it is does not grow.
    more = waiting[-1] > waiting[len(waiting) // 2] * (1 + SAME_SHARE)
    return bool(more and waiting[-1] >= waiting.max() * (1 - SAME_SHARE) and removed <= SAME_SHARE * waiting[-1])


def _curves(
    course: Trace, place: int, restore: float, drain: float | None, before: float, superseded: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Times, items waiting, those set aside and ages: from the trigger on, with the drop at the restore, up to the end."""
    end = np.inf if drain is None else drain
    kept = (course.times_min > -restore + SAME_SHARE) & (course.times_min < end - SAME_SHARE)
    times = course.times_min[kept]
    live, aside = course.live[kept, place], course.sidelined[kept, place]
    age = course.first_attempt_age_min[kept, place]
    at = int(np.searchsorted(times, 0.0, side="right"))
    columns = [times, live + aside, aside, age]
    if superseded > 0 and at > 0:
        after = [0.0, live[at - 1] + aside[at - 1] - superseded, aside[at - 1], age[at - 1]]
        columns = [np.insert(column, at, value) for column, value in zip(columns, after, strict=True)]
    first = [-restore, before if restore > 0 else float(columns[1][0]) if len(times) else 0.0, 0.0, 0.0]
    columns = [np.insert(column, 0, value) for column, value in zip(columns, first, strict=True)]
    if drain is not None:
        last = [drain, 0.0, 0.0, 0.0]
        columns = [np.append(column, value) for column, value in zip(columns, last, strict=True)]
    times, waiting, sidelined, age = columns
    return times + restore, np.maximum(0.0, waiting), sidelined, age


def _oldest_aside(course: Trace, place: int, load: QueueLoad, drain: float | None) -> float:
    """Age of the oldest item that is set aside: what was at the restore leaves in the order in which it came, or last of all."""
    after = course.times_min >= 0
    times, aside = course.times_min[after], course.sidelined[after, place]
    if load.order == "lifo":
        waits = course.result.backlog_at_restore[0, place] > 0
        return 0.0 if not waits else load.outage_min + (float(times[-1]) if drain is None else drain)
    held = aside > 0
    if not held.any():
        return 0.0
    young = load.sideline_after_min or 0.0
    came = load.backlog_before + course.arrived[:, place]
    # What was older than that at the restore, less what is left of it.
    heads = np.interp(np.interp(-young, course.times_min, came) - aside[held], came, course.times_min)
    return max(float(np.max(times[held] - heads)), 0.0 if drain is None else drain + young)


def _ages(age: FloatArray) -> bool:
    """Whether the oldest age is larger in the second half of a course, by more than what has settled."""
    early, late = np.array_split(age, 2)
    return bool(late.max(initial=0.0) > (1 + SETTLED_SHARE) * early.max(initial=0.0))


def _stale(load: QueueLoad, fresh: float | None, times: FloatArray, waiting: FloatArray) -> float | None:
    """From the first moment when work waited until first-attempt age is back."""
    restore = load.outage_min
    if fresh is None:
        return None
    since = _waits_from(load)
    if fresh > 0:
        return restore - min(since, restore) + fresh
    # Fresh work may have been back before the restore: then nothing waited at it.
    held = np.flatnonzero((waiting > 0) & (times < restore))
    if not len(held) or since >= restore:
        return 0.0
    last = int(held[-1])
    until = float(times[min(last + 1, len(times) - 1)]) if waiting[-1] <= 0 else restore
    return max(0.0, min(until, restore) - since)


def _waits_from(load: QueueLoad) -> float:
    """When work first waits, after the trigger; infinite if not in the outage."""
    if load.backlog_before > 0:
        return 0.0
    edges = np.concatenate(([0.0], load.arrivals.breakpoints(0.0, load.outage_min), [load.outage_min]))
    rates = load.arrivals.rate_at((edges[:-1] + edges[1:]) / 2)
    above = np.flatnonzero((rates > load.served_in_outage_per_min) & (np.diff(edges) > 0))
    return float(edges[above[0]]) if len(above) else np.inf
