"""Backlog after an outage: how long it takes to drain, how old work gets, and what is lost on the way.

An exact fluid queue in events, not in time steps; see :mod:`tests.oracles.fluid` for the engine and
:mod:`tests.oracles.backlog_course` for how "never" is decided.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tests.oracles.backlog_course import Course
from tests.oracles.fluid import Curve, Leaving

from afterload.model.curves import FloatArray
from afterload.model.queues import QueueLoad

__all__ = ["BacklogRecovery", "recover"]


@dataclass(frozen=True, eq=False)
class BacklogRecovery:
    """How one queue recovers. Minutes are counted from the trigger unless a line says otherwise.

    Counts cover the time from the trigger to ``end_min``, and
    ``initial + arrived`` is the sum of ``served``, ``waiting_at_end``, ``expired``, ``lost_to_retention``,
    ``discarded_past_deadline`` and ``superseded``.

    Attributes:
        backlog_at_restore: items waiting at the restore, before the superseded ones are dropped.
        peak_backlog: most items waiting at once; ``None`` when the backlog still grows at ``end_min`` and nothing
            will stop it.
        peak_at_min: when the peak is first reached; ``None`` with the peak.
        drain_min: from the restore until nothing waits and capacity covers arrivals; ``None`` is "never at
            these rates", decided from the mean rates and not by a horizon.
        empty_at_min: the same counted from the trigger; ``None`` for never.
        fresh_age_back_min: from the restore until first-attempt age is back at baseline (0); ``None`` for never.
            Under ``"fifo"`` equal to ``drain_min``.
        stale_min: from the first moment when work waited until first-attempt age is back; 0 if nothing ever
            waited, ``None`` for never.
        initial: items waiting at the trigger.
        arrived: items that arrived from the trigger to ``end_min``.
        served: items served.
        waiting_at_end: items still waiting at ``end_min``; 0 unless never.
        expired: items removed by the age limit, in the outage and in the drain.
        expired_in_outage, expired_in_drain: the two parts of it, split at the restore.
        lost_to_retention: items removed by retention: an expiry that nobody chose.
        discarded_past_deadline: items discarded when their turn came.
        superseded: items dropped at the restore.
        sidelined_peak: most items in the second queue.
        max_age_min: age of the oldest item seen waiting from the trigger on.
        service_rate_per_min: what consumers reach in the end: the lowest of their rate, the cap and the ceiling.
        spare_capacity_per_min: that rate less the mean arrivals of the profile's tail, or 0.
        end_min: end of the curves: ``empty_at_min``, or for a backlog that never empties two periods of its
            settled course.
        times_min: rising times of the curves, shape (points,); a time given twice is a jump.
        backlog: everything that waits, sidelined work included, shape (points,).
        sidelined: the part in the second queue, shape (points,).
        first_attempt_age_min: age of the item next in turn for its first attempt, 0 if none waits, shape (points,).
    """

    backlog_at_restore: float
    peak_backlog: float | None
    peak_at_min: float | None
    drain_min: float | None
    empty_at_min: float | None
    fresh_age_back_min: float | None
    stale_min: float | None
    initial: float
    arrived: float
    served: float
    waiting_at_end: float
    expired_in_outage: float
    expired_in_drain: float
    lost_to_retention: float
    discarded_past_deadline: float
    superseded: float
    sidelined_peak: float
    max_age_min: float
    service_rate_per_min: float
    spare_capacity_per_min: float
    end_min: float
    times_min: FloatArray
    backlog: FloatArray
    sidelined: FloatArray
    first_attempt_age_min: FloatArray

    @property
    def expired(self) -> float:
        """Items removed by the age limit, before and after the restore."""
        return self.expired_in_outage + self.expired_in_drain

    @property
    def never(self) -> bool:
        """The backlog never empties at these rates."""
        return self.drain_min is None


def recover(load: QueueLoad) -> BacklogRecovery:
    """How a queue recovers from an outage: drain, ages, losses, and the curves of all three.

    Parameters:
        load: arrivals, service, limits and order of the queue.

    Returns:
        The recovery; ``drain_min`` is ``None`` where the backlog never empties at these rates. No value is negative,
        NaN or infinite, and none depends on a step or a horizon.

    Raises:
        ModelError: mean service exceeds mean arrivals by so little that the drain cannot be followed.

    Source: docs/model.md section 1.
    """
    course = Course(load).run()
    times, backlog, sidelined, age = _curves(course)
    service = float(course.capacity.rates[-1])
    left = course.outage_tally.left + course.drain_tally.left
    top = int(np.argmax(backlog))
    peak, peak_at = float(backlog[top]), float(times[top])
    if peak < course.backlog_at_restore:
        # An outage of no length, with superseded work: the curve only has what is left.
        peak, peak_at = course.backlog_at_restore, course.restore
    fresh = None if course.fresh_back is None else course.fresh_back - course.restore
    drain = None if course.empty_at is None else course.empty_at - course.restore
    return BacklogRecovery(
        backlog_at_restore=course.backlog_at_restore,
        peak_backlog=None if course.still_grows else peak,
        peak_at_min=None if course.still_grows else peak_at,
        drain_min=drain,
        empty_at_min=course.empty_at,
        fresh_age_back_min=fresh,
        stale_min=_stale_min(course),
        initial=float(load.backlog_before),
        arrived=float(load.arrivals.cumulative(course.end)),
        served=course.outage_tally.served + course.drain_tally.served,
        waiting_at_end=course.waiting if drain is None else 0.0,
        expired_in_outage=float(course.outage_tally.left[Leaving.EXPIRED]),
        expired_in_drain=float(course.drain_tally.left[Leaving.EXPIRED]),
        lost_to_retention=float(left[Leaving.RETENTION]),
        discarded_past_deadline=float(left[Leaving.DISCARDED]),
        superseded=course.superseded,
        sidelined_peak=float(sidelined.max()),
        max_age_min=course.oldest,
        service_rate_per_min=service,
        spare_capacity_per_min=max(0.0, service - load.arrivals.mean_tail_per_min),
        end_min=course.end,
        times_min=times,
        backlog=backlog,
        sidelined=sidelined,
        first_attempt_age_min=age,
    )


def _stale_min(course: Course) -> float | None:
    if course.stale_from is None:
        return 0.0
    if course.fresh_back is None:
        return None
    # Fresh work may have been back before the restore: then nothing waited at it.
    back = course.stale_until if course.fresh_back == course.restore else course.fresh_back
    return max(0.0, back - course.stale_from)


def _curves(course: Course) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Times, backlog, sidelined and age as the union of both queues' points, without points that repeat."""
    live = [np.concatenate(column) for column in zip(*course.live_points, strict=True)]
    side = [np.concatenate(column) for column in zip(*course.side_points, strict=True)]
    end = np.array([course.end])
    nothing = np.zeros(1)
    is_empty = course.empty_at is not None
    if not live:
        live = [end, nothing, nothing]
    elif is_empty:
        live = [np.append(live[0], end), np.append(live[1], 0.0), np.append(live[2], 0.0)]
    if not side:
        side = [live[0][:1], nothing]
    else:
        side = [np.append(side[0][:1], side[0]), np.append(0.0, side[1])]
        if is_empty:
            side = [np.append(side[0], end), np.append(side[1], 0.0)]
    at = np.unique(np.concatenate((live[0], side[0])))
    curves = [Curve.through(live[0], live[1]), Curve.through(*side), Curve.through(live[0], live[2])]
    before = np.stack([curve.left(at) for curve in curves])
    after = np.stack([curve.right(at) for curve in curves])
    before[:, 0] = after[:, 0]
    times = np.repeat(at, 2)
    points = np.stack((before, after), axis=2).reshape(3, -1)
    kept = np.append(True, np.any(np.diff(points, axis=1) != 0.0, axis=0) | (np.diff(times) > 0.0))
    waiting, sidelined, age = np.maximum(0.0, points[:, kept])
    return times[kept], waiting + sidelined, sidelined, age
