"""An exact fluid queue: arrivals, service and barriers are piecewise linear, and so is what leaves.

Work is numbered in order of arrival. The queue holds the numbers between what has left and what is ``available``; a
barrier is a number up to which everything has to be gone (it is too old). Between two events all rates are constant,
so the next event (the queue is empty, it meets its barrier, a rate changes) follows by division: no time step, and
no answer that depends on one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from afterload.model.curves import FloatArray, RateProfile

__all__ = ["Arrivals", "Barrier", "Curve", "Leaving", "Piece", "Queue", "Steps", "head_ages"]


class Leaving(IntEnum):
    """Why work leaves a queue without being served."""

    NONE = 0
    EXPIRED = 1
    RETENTION = 2
    DISCARDED = 3
    SIDELINED = 4


@dataclass(frozen=True, eq=False)
class Curve:
    """A piecewise linear curve that may jump: times never fall, and a time given twice is a jump.

    Attributes:
        times: knots in minutes, shape (knots,).
        values: value from each knot on, shape (knots,); before the first knot the first value holds.
        slopes: slope after each knot, per minute, shape (knots,).
    """

    times: FloatArray
    values: FloatArray
    slopes: FloatArray

    @classmethod
    def through(cls, times: FloatArray, values: FloatArray) -> Curve:
        """The curve through points; flat after the last."""
        widths = np.diff(times)
        rises = np.diff(values)
        slopes = np.divide(rises, widths, out=np.zeros_like(rises), where=widths > 0)
        return cls(times, values, np.append(slopes, 0.0))

    def delayed(self, by_min: float, not_before: FloatArray | None = None) -> Curve:
        """The same values later, and none earlier than ``not_before``, which has a time for each knot.

        Between two knots both times are straight lines in the value, so the later of them bends where they cross.
        """
        times = self.times + by_min
        if not_before is None:
            return Curve(times, self.values, self.slopes)
        early = times - not_before
        place = np.flatnonzero(early[:-1] * early[1:] < 0.0)
        part = early[place] / (early[place] - early[place + 1])
        bends = times[place] + part * np.diff(times)[place], self.values[place] + part * np.diff(self.values)[place]
        return Curve.through(
            np.insert(np.maximum(times, not_before), place + 1, bends[0]),
            np.insert(self.values, place + 1, bends[1]),
        )

    def right(self, t: FloatArray) -> FloatArray:
        """Values just after each time."""
        place = np.searchsorted(self.times, t, side="right") - 1
        known = np.maximum(place, 0)
        value = self.values[known] + self.slopes[known] * (t - self.times[known])
        return np.where(place < 0, self.values[0], value)

    def left(self, t: FloatArray) -> FloatArray:
        """Values just before each time."""
        after = np.searchsorted(self.times, t, side="left")
        known = np.maximum(after - 1, 0)
        value = self.values[known] + self.slopes[known] * (t - self.times[known])
        value = np.where(after < 1, self.values[0], value)
        capped = np.minimum(after, len(self.times) - 1)
        return np.where((after < len(self.times)) & (self.times[capped] == t), self.values[capped], value)

    def slope(self, t: FloatArray) -> FloatArray:
        """Slopes at each time, none of which is a knot."""
        place = np.searchsorted(self.times, t, side="right") - 1
        return np.where(place < 0, 0.0, self.slopes[np.maximum(place, 0)])

    def knots_within(self, start: float, end: float) -> FloatArray:
        """Knot times strictly between two times."""
        return self.times[(self.times > start) & (self.times < end)]


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Numbers given to arrivals, over time: a curve known up to ``from_min``, and a profile from there on."""

    profile: RateProfile
    head: Curve
    from_min: float

    def aged(self, clock_min: float, count: float, from_min: float) -> Arrivals:
        """The same with everything before ``from_min`` earlier by ``clock_min`` and ``count`` arrivals.

        What came between is drawn as a straight line.
        """
        known = self.curve(-np.inf, from_min)
        times, values = known.times - clock_min, known.values - count
        here = self.profile.cumulative(np.array([from_min]))
        return Arrivals(self.profile, Curve.through(np.append(times, from_min), np.append(values, here)), from_min)

    def curve(self, since_min: float, until_min: float) -> Curve:
        """The cumulative curve with every knot between two times."""
        start = max(self.from_min, since_min)
        knots = np.concatenate(([start], self.profile.breakpoints(start, until_min), [until_min]))
        values = self.profile.cumulative(knots)
        # Rates are read between knots: a difference of large sums would blur "capacity equals arrivals".
        slopes = self.profile.rate_at(np.append((knots[:-1] + knots[1:]) / 2, until_min))
        if since_min >= self.from_min:
            return Curve(knots, values, slopes)
        kept = self.head.times <= self.from_min
        return Curve(
            np.concatenate((self.head.times[kept], knots)),
            np.concatenate((self.head.values[kept], values)),
            np.concatenate((self.head.slopes[kept], slopes)),
        )


@dataclass(frozen=True, eq=False)
class Barrier:
    """Everything up to ``curve`` has to be gone.

    Attributes:
        curve: the number up to which work is too old, over time.
        kind: what becomes of it.
        lazy: acts only while there is capacity, since age is looked at when an item's turn comes.
    """

    curve: Curve
    kind: Leaving
    lazy: bool = False


@dataclass(frozen=True, eq=False)
class Steps:
    """Capacity per minute, constant from each start to the next, shape (steps,) each."""

    starts: FloatArray
    rates: FloatArray

    def at(self, t: FloatArray) -> FloatArray:
        """Capacity at each time."""
        place = np.searchsorted(self.starts, t, side="right") - 1
        return self.rates[np.maximum(place, 0)]

    def starts_within(self, start: float, end: float) -> FloatArray:
        """Starts strictly between two times."""
        return self.starts[(self.starts > start) & (self.starts < end)]


class Piece(NamedTuple):
    """One stretch of a queue's course in which every rate is constant; no time at all for a jump.

    Attributes:
        start, end: minutes.
        gone_start, gone_end: the number up to which work has gone.
        waiting_start, waiting_end: items waiting.
        spare: capacity left over, items a minute.
        served: items served in it.
        left: items that left in it unserved, and ``kind`` why (a :class:`Leaving`).
        is_empty: nothing waits in it.
        keeps_up: nothing waits, and capacity covers what arrives.
    """

    start: float
    end: float
    gone_start: float
    gone_end: float
    waiting_start: float
    waiting_end: float
    spare: float
    served: float
    left: float
    kind: int
    is_empty: bool
    keeps_up: bool

    @property
    def runs_empty(self) -> bool:
        """The last item that waits goes at the end of it."""
        return self.waiting_end == 0.0 and self.waiting_start > 0.0

    def cut(self, at: float) -> Piece:
        """The part up to ``at``, which lies within."""
        part = (at - self.start) / (self.end - self.start)
        return self._replace(
            end=at,
            gone_end=self.gone_start + part * (self.gone_end - self.gone_start),
            waiting_end=self.waiting_start + part * (self.waiting_end - self.waiting_start),
            served=part * self.served,
            left=part * self.left,
        )


class Queue:
    """The state of a fluid queue: how much has gone, and whether it has caught up with what is available."""

    def __init__(self, gone: float, available: float) -> None:
        self.gone = gone
        self.is_empty = gone >= available

    def advance(
        self, start: float, end: float, available: Curve, barriers: Sequence[Barrier], capacity: Steps
    ) -> list[Piece]:
        """Run from ``start`` to ``end`` and return the course.

        Parameters:
            start, end: minutes, ``start < end``.
            available: what may be served, numbered from the same 0 as what has gone.
            barriers: by rising age limit, since only the lowest active one is ever met.
            capacity: items a minute.
        """
        inner = [available.knots_within(start, end), capacity.starts_within(start, end)]
        inner += [barrier.curve.knots_within(start, end) for barrier in barriers]
        edges = np.unique(np.concatenate([np.array([start, end]), *inner]))
        u, v = edges[:-1], edges[1:]
        middle = (u + v) / 2
        columns = [u, v, available.right(u), available.left(v), available.slope(middle), capacity.at(middle)]
        for barrier in barriers:
            columns += [barrier.curve.right(u), barrier.curve.left(v), barrier.curve.slope(middle)]
        pieces: list[Piece] = []
        for row in np.stack(columns, axis=1).tolist():
            self._stretch(row, barriers, pieces)
        return pieces

    def _stretch(self, row: list[float], barriers: Sequence[Barrier], pieces: list[Piece]) -> None:
        """One stretch without a change of rates from outside; contacts with empty and barrier happen within."""
        t, end, top, top_end, rise, rate = row[:6]
        low, low_end, low_rise, kind = -np.inf, -np.inf, 0.0, Leaving.NONE
        for place, barrier in enumerate(barriers):
            if rate > 0.0 or not barrier.lazy:
                low, low_end, low_rise = row[6 + 3 * place : 9 + 3 * place]
                low, low_end, kind = min(low, top), min(low_end, top_end), barrier.kind
                break
        start, start_top, start_low = t, top, low
        # A queue that was empty stays so across a border, whatever the last digit of the two sums.
        is_empty = self.gone >= top or (self.is_empty and top - self.gone <= 1e-9 * (1.0 + abs(top)))
        gone = self.gone
        if low - gone > 1e-9 * (1.0 + abs(low)):
            pieces.append(Piece(t, t, gone, low, top - gone, top - low, 0.0, 0.0, low - gone, kind, False, False))
            gone, is_empty = low, low >= top
        on_barrier = gone <= low or (is_empty and low >= top)
        while t < end:
            flow = min(rate, rise) if is_empty else rate
            pushed = max(0.0, low_rise - flow) if on_barrier else 0.0
            pace = low_rise if pushed > 0.0 else flow
            if is_empty and pace < rise:
                is_empty = False
            if on_barrier and pace > low_rise:
                on_barrier = False
            top = start_top + rise * (t - start)
            low = start_low + low_rise * (t - start)
            to_empty = (top - gone) / (pace - rise) if not is_empty and pace > rise else np.inf
            to_barrier = (gone - low) / (low_rise - pace) if not on_barrier and low_rise > pace else np.inf
            dt = max(0.0, min(to_empty, to_barrier, end - t))
            until = end if dt == end - t else t + dt
            waiting = 0.0 if is_empty else max(0.0, top - gone)
            keeps_up = is_empty and flow >= rise
            if dt == to_empty and to_empty <= to_barrier:
                is_empty, after = True, start_top + rise * (until - start)
            elif dt == to_barrier:
                on_barrier, after = True, start_low + low_rise * (until - start)
            elif until == end:
                after = top_end if is_empty else low_end if on_barrier else min(gone + pace * dt, top_end)
            else:
                after = gone + pace * dt
            after = max(gone, after)
            waiting_after = 0.0 if is_empty else max(0.0, start_top + rise * (until - start) - after)
            left = min(max(0.0, after - gone - flow * dt), after - gone) if pushed > 0.0 else 0.0
            if until > t or after > gone:
                pieces.append(
                    Piece(
                        t, until, gone, after, waiting, waiting_after, rate - flow, after - gone - left, left,
                        kind if left > 0.0 else Leaving.NONE, waiting == 0.0 and waiting_after == 0.0, keeps_up,
                    )
                )  # fmt: skip
            t, gone = until, after
        self.gone, self.is_empty = gone, is_empty


def head_ages(
    pieces: Sequence[Piece], numbering: Curve, clock_ahead_min: float = 0.0
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Items waiting and age of the item next in turn over a queue's course.

    Parameters:
        pieces: the course; jumps in it show as two values at one time.
        numbering: the number of the item that arrives at each time.
        clock_ahead_min: minutes by which the times of ``numbering`` are ahead of those of ``pieces``.

    Returns:
        Times, items waiting and ages (both 0 where nothing waits), shape (points,) each.
    """
    columns = np.array([piece[:6] for piece in pieces if piece.end > piece.start], dtype=np.float64)
    columns = columns.reshape(-1, 6)
    start, end, gone_start, gone_end, waiting_start, waiting_end = columns.T
    rises = np.flatnonzero(numbering.values[1:] > numbering.values[:-1])
    if not len(rises) or not len(start):
        t, waiting = _pairs(start, end), _pairs(waiting_start, waiting_end)
        return t, waiting, np.zeros_like(t)
    low, high = numbering.values[rises], numbering.values[rises + 1]
    low_at, high_at = numbering.times[rises], numbering.times[rises + 1]
    # A piece is cut wherever the number that leaves passes a knot: in each part the age is a straight line.
    first = np.searchsorted(high, gone_start, side="right")
    last = np.maximum(first, np.searchsorted(high, gone_end, side="left"))
    first, last = np.minimum(first, len(high) - 1), np.minimum(last, len(high) - 1)
    parts = last - first + 1
    piece = np.repeat(np.arange(len(start)), parts)
    part = np.arange(len(piece)) - np.repeat(np.cumsum(parts) - parts, parts)
    rise = first[piece] + part
    gone_from = np.where(part == 0, gone_start[piece], low[rise])
    gone_to = np.where(part == parts[piece] - 1, gone_end[piece], high[rise])
    gone_from = np.where(part == 0, gone_from, np.maximum(gone_from, gone_start[piece]))

    span = (gone_end - gone_start)[piece]
    edges = []
    for gone, at_end in ((gone_from, False), (gone_to, True)):
        progress = np.divide(gone - gone_start[piece], span, out=np.full(len(piece), float(at_end)), where=span > 0)
        progress = np.clip(progress, 0.0, 1.0)
        t = start[piece] + progress * (end - start)[piece]
        t = np.where(progress == 1.0, end[piece], t)
        waiting = waiting_start[piece] + progress * (waiting_end - waiting_start)[piece]
        within = np.clip((gone - low[rise]) / (high - low)[rise], 0.0, 1.0)
        arrived_at = low_at[rise] + within * (high_at - low_at)[rise] - clock_ahead_min
        is_empty = (waiting_start == 0.0)[piece] & (waiting_end == 0.0)[piece]
        edges.append((t, waiting, np.where(is_empty, 0.0, np.maximum(0.0, t - arrived_at))))
    (t0, w0, a0), (t1, w1, a1) = edges
    return _pairs(t0, t1), _pairs(w0, w1), _pairs(a0, a1)


def _pairs(first: FloatArray, second: FloatArray) -> FloatArray:
    return np.stack((first, second), axis=1).ravel()
