"""Backlog after an outage: how long it takes to drain, how old work gets, and what is lost on the way.

An exact fluid queue in events, not in time steps; see :mod:`afterload.model.fluid` for the engine and
:mod:`afterload.model.course` for how "never" is decided.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from afterload.model.caps import cap_rate_per_min, highest_safe_cap, implied_headroom, ramp_passes_after_s
from afterload.model.checks import number
from afterload.model.course import Course
from afterload.model.curves import FloatArray, RateProfile
from afterload.model.fluid import Curve, Leaving
from afterload.model.queues import BacklogRecovery, QueueLoad, Ramp, Stream, slowest_shard

__all__ = [
    "BacklogRecovery",
    "QueueLoad",
    "Ramp",
    "RateProfile",
    "Stream",
    "cap_rate_per_min",
    "catch_up_rate_per_min",
    "highest_safe_cap",
    "implied_headroom",
    "ramp_passes_after_s",
    "recover",
    "slowest_shard",
]


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


def catch_up_rate_per_min(load: QueueLoad, within_min: float) -> float:
    """The constant service rate from the restore on that empties the backlog within a given time.

    Parameters:
        load: the queue; its own service rate, cap and ramp are left aside.
        within_min: minutes after the restore, more than 0.

    Returns:
        Items a minute: the least over ``0 < t <= within_min`` of (backlog + arrivals until ``t``) / ``t``, which is
        ``lambda + B / within_min`` for constant arrivals. Where an age limit or a deadline takes a part of the
        work in the drain, the lower rate at which :func:`recover` is just done in time, to one part in 10^9; next to 0
        where a deadline discards everything.

    Raises:
        ModelError: ``within_min`` is not a finite number above 0.

    Source: docs/model.md section 1.
    """
    within = number("within_min", within_min, above=0.0)
    plain = replace(load, cap_concurrency=None, ramp=None)
    stopped = Course(plain)
    stopped.start_drain()
    waiting, restore, profile = stopped.waiting, load.outage_min, load.arrivals
    ends = np.append(profile.breakpoints(restore, restore + within), restore + within)
    work = waiting + profile.cumulative(ends) - float(profile.cumulative(restore))
    rate = float(np.min(work / (ends - restore)))
    if waiting == 0.0:
        rate = min(rate, float(profile.rate_at(restore)))
    if load.max_age_min is None and load.retention_min is None and load.deadline_min is None:
        return rate

    def is_enough(service: float) -> bool:
        course = Course(replace(plain, service_rate_per_min=service)).run(stop_at_min=restore + within)
        return course.empty_at is not None and course.empty_at - restore <= within * (1.0 + 1e-12)

    if rate == 0.0 or not is_enough(rate * (1.0 - 1e-9)):
        return rate
    too_low, enough = 0.0, rate
    if is_enough(0.0):
        return 0.0
    while enough - too_low > max(1e-9 * enough, 1e-12 * rate):
        middle = (too_low + enough) / 2
        too_low, enough = (too_low, middle) if is_enough(middle) else (middle, enough)
    return enough


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
