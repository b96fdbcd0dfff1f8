"""The course of one queue from the trigger to an empty backlog, or to the proof that it never empties."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from tests.oracles.fluid import Arrivals, Barrier, Curve, Leaving, Piece, Queue, Steps, head_ages
from tests.oracles.sideline import Sideline

from afterload.errors import ModelError
from afterload.model.caps import cap_rate_per_min
from afterload.model.curves import FloatArray
from afterload.model.queues import QueueLoad

__all__ = ["Course"]

# Rates closer than this are equal: their difference is rounding, and a drain would take longer than any outage.
SAME_RATE = 1e-12
# A drain of more than these minutes, two million years, is never.
LONGEST_MIN = 1e12
# Periods that are simulated one by one although each only repeats the one before; more than these are counted.
PLAIN_PERIODS = 60
# Far more than any course needs; see Course.run.
MOST_PERIODS = 5_000
# A ramp is cut into straight parts of one second in its first hour, then of a thousandth of the time gone.
SECONDS_APART = 3600
LATER_PARTS = 1.001

Limit = tuple[float, Leaving, bool]
"""An age limit: minutes, what becomes of older work, and whether that is looked at only when its turn comes."""


@dataclass
class Tally:
    """Items gone, by how: ``left`` is indexed by :class:`Leaving`, shape (5,)."""

    served: float = 0.0
    left: FloatArray = field(default_factory=lambda: np.zeros(len(Leaving)))

    def add(self, pieces: Sequence[Piece]) -> None:
        """Count a course."""
        for piece in pieces:
            self.served += piece.served
            self.left[piece.kind] += piece.left

    def add_times(self, other: Tally, times: int) -> None:
        """Count another tally ``times`` over."""
        self.served += times * other.served
        self.left = self.left + times * other.left

    def is_like(self, other: Tally) -> bool:
        """Equal but for rounding."""
        slack = 1e-9 * (1.0 + self.served + float(self.left.sum()))
        return abs(self.served - other.served) <= slack and bool(np.all(np.abs(self.left - other.left) <= slack))

    @property
    def removed(self) -> float:
        """Items that left the backlog unserved; sidelined ones still wait."""
        return float(self.left.sum() - self.left[Leaving.SIDELINED])


@dataclass(frozen=True)
class Stretch:
    """What a stretch of the drain did, to see whether it only repeats the one before."""

    tally: Tally
    live_change: float
    live_least: float
    side_change: float
    side_least: float
    side_gain: float


class Course:
    """Runs one :class:`QueueLoad`; the public face is :func:`tests.oracles.backlog.recover`.

    Times are minutes after the trigger. ``skipped_min`` is by how much the simulation's clock is behind, once periods
    that only repeat have been counted instead of simulated.
    """

    def __init__(self, load: QueueLoad) -> None:
        self.load = load
        self.restore = load.outage_min
        self.capacity = capacity_after_restore(load)
        self.outage_tally, self.drain_tally = Tally(), Tally()
        self.live_points: list[tuple[FloatArray, FloatArray, FloatArray]] = []
        self.side_points: list[tuple[FloatArray, FloatArray]] = []
        self.oldest = 0.0
        self.skipped_min = 0.0
        self.stale_from: float | None = None
        self.stale_until = 0.0
        self.fresh_back: float | None = None
        self.empty_at: float | None = None
        self.end = self.restore
        self.still_grows = False
        self.backlog_at_restore = self.superseded = 0.0
        self._arrivals = Arrivals(load.arrivals, _history(load), 0.0)
        self._live = Queue(-load.backlog_before, 0.0)
        self._live_waiting = load.backlog_before
        self._head_arrived = -math.inf
        self._side: Sideline | None = None

    @property
    def waiting(self) -> float:
        """Items in both queues."""
        return self._live_waiting + (self._side.waiting if self._side else 0.0)

    def run(self, stop_at_min: float = math.inf) -> Course:
        """Run until the backlog is empty, or for as long as it takes to know that it never is.

        Whoever only asks whether it is empty by ``stop_at_min`` saves what comes later.

        Once arrivals, capacity and ages have settled into the profile's tail, the backlog falls by
        ``(mean service - mean arrivals) x period`` in a period, expiry aside. Above 0 it empties within a number of
        periods that follows by division. At or below 0 every period repeats the one before or ends with more, so what
        has not emptied in two settled periods never does (four with a sideline: two for fresh work, two for the rest).

        Raises:
            ModelError: the two mean rates are so close that the course takes more than 5,000 distinct periods.
        """
        self.start_drain()
        profile = self.load.arrivals
        period = profile.cycle_min or max(60.0, self.restore)
        arrivals, service = profile.mean_tail_per_min, float(self.capacity.rates[-1])
        spare = service - arrivals if service - arrivals > SAME_RATE * max(service, arrivals) else 0.0
        now = self._settle(period, stop_at_min)
        if self.waiting > spare * LONGEST_MIN:
            spare = 0.0
        previous: Stretch | None = None
        for count in range(MOST_PERIODS):
            if self.empty_at is not None or now + self.skipped_min >= stop_at_min:
                return self
            if spare == 0.0 and count >= (4 if self._side else 2):
                self.still_grows = arrivals > service and previous is not None and previous.tally.removed == 0.0
                return self
            until = now + period + (0.0 if profile.repeats or spare == 0.0 else 1.01 * self.waiting / spare)
            this = self._advance(now, until)
            now = until
            if spare > 0.0 and profile.repeats and previous is not None and self.empty_at is None:
                previous = None if self._skip(this, previous, spare * period, period) else this
            else:
                previous = this
        raise ModelError(
            f"service of {service:g}/min is too close to mean arrivals of {arrivals:g}/min to follow the drain;"
            " try a service rate that is a little higher or lower"
        )

    def start_drain(self) -> None:
        """Run the outage up to the restore, superseded work dropped."""
        self._outage()
        self._at_restore()

    def _outage(self) -> None:
        if self.restore == 0.0:
            return
        curve = self._arrivals.curve(-math.inf, self.restore)
        steps = Steps(np.array([0.0]), np.array([self.load.served_in_outage_per_min]))
        pieces = self._live.advance(0.0, self.restore, curve, _barriers(curve, self._age_limits()), steps)
        self.outage_tally.add(pieces)
        self._note_stale(pieces)
        self._draw_live(pieces, curve, [limit for limit, _, _ in self._age_limits()])

    def _at_restore(self) -> None:
        """Drop the superseded share, evenly over ages, and open the second queue."""
        arrived = float(self.load.arrivals.cumulative(self.restore))
        waiting = 0.0 if self._live.is_empty else max(0.0, arrived - self._live.gone)
        kept = 1.0 - self.load.superseded_share
        self.backlog_at_restore, self.superseded = waiting, waiting - kept * waiting
        before = self._arrivals.curve(-math.inf, self.restore)
        thinned = Curve(before.times, arrived - kept * (arrived - before.values), kept * before.slopes)
        self._arrivals = Arrivals(self.load.arrivals, thinned, self.restore)
        self._live = Queue(arrived - kept * waiting, arrived)
        self._live_waiting = kept * waiting
        if self.load.order != "fifo":
            self._side = Sideline(self.load.sideline_after_min or 0.0, self.restore)

    def _settle(self, period: float, stop_at_min: float) -> float:
        """Run until nothing of the time before the profile's tail acts any more, in longer and longer stretches."""
        settled = max(float(self.capacity.starts[-1]), self.load.arrivals.cycle_start_min, self.restore)
        settled += max((limit for limit, _, _ in self._drain_limits()), default=0.0)
        settled += self._side.after_min if self._side else 0.0
        now, length = self.restore, period
        while self.empty_at is None and now < min(settled, stop_at_min):
            until = settled if settled - now < 1.5 * length else now + length
            self._advance(now, until)
            now, length = until, 2.0 * length
        return now

    def _advance(self, start: float, end: float) -> Stretch:
        """Run both queues, stop where nothing waits any more, and keep what was seen."""
        side, limits = self._side, self._drain_limits()
        live_before, side_before = self._live_waiting, side.waiting if side else 0.0
        caps = [limit for limit, _, lazy in limits if not lazy]
        if side is not None:
            caps.append(side.after_min)
            limits = sorted([*limits, (side.after_min, Leaving.SIDELINED, False)], key=lambda limit: limit[0])
        reach = max((limit for limit, _, _ in limits), default=0.0)
        curve = self._arrivals.curve(min(self._head_arrived, start - reach) - 1.0, end)
        pieces = self._live.advance(start, end, curve, _barriers(curve, limits), self.capacity)
        side_pieces: list[Piece] = []
        side_gain = 0.0
        if side is not None:
            known = side.known
            side.take(pieces, curve, self.skipped_min)
            side_gain = side.known - known
            side_pieces = side.advance(start, end, pieces, self._drain_limits())
        fresh = _first_caught_up(pieces)
        empty = fresh if side is None else _first_both_caught_up(pieces, side_pieces)
        if self.fresh_back is None:
            self._note_stale(pieces)
            self.fresh_back = None if fresh is None else fresh + self.skipped_min
        if empty is not None:
            pieces, side_pieces = _until(pieces, empty), _until(side_pieces, empty)
            self.empty_at = empty + self.skipped_min
        self.end = (end if empty is None else empty) + self.skipped_min
        tally = Tally()
        tally.add(pieces)
        tally.add(side_pieces)
        self.drain_tally.add_times(tally, 1)
        self._draw_live(pieces, curve, caps)
        if side is not None:
            self._draw_side(side_pieces, side, [limit for limit, _, lazy in self._drain_limits() if not lazy])
        last = 0.0 if self._live.is_empty else float(curve.left(np.array([end]))[0]) - self._live.gone
        self._live_waiting = 0.0 if empty is not None else max(0.0, last)
        return Stretch(
            tally,
            self._live_waiting - live_before,
            _least(pieces),
            (side.waiting - side_before) if side else 0.0,
            _least(side_pieces),
            side_gain,
        )

    def _skip(self, this: Stretch, previous: Stretch, falls_by: float, period: float) -> bool:
        """Count, rather than simulate, periods that only take ``falls_by`` from one of the queues."""
        changes = (this.live_change, this.side_change)
        falling = [change < -0.5 * falls_by for change in changes]
        steady = [abs(change) < 0.5 * falls_by for change in changes]
        repeats = this.tally.is_like(previous.tally) and this.tally.removed == 0.0
        if not repeats or sum(falling) != 1 or sum(steady) != 1:
            return False
        tail_from = max(self.restore, self.load.arrivals.cycle_start_min)
        times = int((this.live_least if falling[0] else this.side_least) / falls_by) - 2
        is_old = falling[0] and self._head_arrived < tail_from
        if is_old:
            # Up to where the work that came before the tail has been served, its ages do not repeat.
            old = float(self.load.arrivals.cumulative(tail_from)) - self._live.gone
            times = min(times, int(old / this.tally.served) - 2) if this.tally.served > 0.0 else 0
        if times < PLAIN_PERIODS:
            return False
        if is_old:
            comes = self.load.arrivals.mean_tail_per_min * period
            self._arrivals = self._arrivals.aged(times * period, times * comes, tail_from)
        self.drain_tally.add_times(this.tally, times)
        self.skipped_min += times * period
        if falling[0]:
            self._live.gone += times * falls_by
            self._live_waiting -= times * falls_by
        if self._side is not None:
            drained = times * falls_by if falling[1] else 0.0
            self._side.skip(drained, times * this.side_gain, times * period, tail_from)
        return True

    def _age_limits(self) -> list[Limit]:
        age, retention = self.load.max_age_min, self.load.retention_min
        if age is not None and (retention is None or age <= retention):
            return [(age, Leaving.EXPIRED, False)]
        return [] if retention is None else [(retention, Leaving.RETENTION, False)]

    def _drain_limits(self) -> list[Limit]:
        limits = self._age_limits()
        if self.load.deadline_min is not None:
            limits.append((self.load.deadline_min, Leaving.DISCARDED, True))
        return sorted(limits, key=lambda limit: limit[0])

    def _note_stale(self, pieces: Sequence[Piece]) -> None:
        for piece in pieces:
            if piece.end > piece.start and not piece.keeps_up:
                if self.stale_from is None:
                    self.stale_from = piece.start
                self.stale_until = piece.end
            elif piece.end > piece.start and piece.start >= self.restore:
                return

    def _draw_live(self, pieces: Sequence[Piece], numbering: Curve, caps: Sequence[float]) -> None:
        t, waiting, age = head_ages(pieces, numbering)
        if len(t):
            age = np.minimum(age, min(caps, default=math.inf))
            self._head_arrived = float(t[-1] - age[-1])
            self.oldest = max(self.oldest, float(age.max()))
            self.live_points.append((t + self.skipped_min, waiting, age))

    def _draw_side(self, pieces: Sequence[Piece], side: Sideline, caps: Sequence[float]) -> None:
        spans = [piece for piece in pieces if piece.end > piece.start]
        if spans:
            ages = np.minimum(side.ages(spans, self.skipped_min), min(caps, default=math.inf))
            self.oldest = max(self.oldest, float(ages.max()))
            t = np.array([[piece.start, piece.end] for piece in spans]).ravel()
            waiting = np.array([[piece.waiting_start, piece.waiting_end] for piece in spans]).ravel()
            self.side_points.append((t + self.skipped_min, waiting))


def _history(load: QueueLoad) -> Curve:
    """Arrivals before the trigger: the backlog of then, numbered below 0."""
    before, rate = load.backlog_before, float(load.arrivals.rate_at(0.0))
    if before == 0.0:
        return Curve.through(np.array([0.0]), np.array([0.0]))
    began = -before / rate if rate > 0.0 else 0.0
    if not math.isfinite(began):
        began = 0.0
    return Curve.through(np.array([began, 0.0]), np.array([-before, 0.0]))


def _barriers(curve: Curve, limits: Sequence[Limit]) -> list[Barrier]:
    return [Barrier(curve.delayed(limit), kind, lazy) for limit, kind, lazy in limits]


def _first_caught_up(pieces: Sequence[Piece]) -> float | None:
    """When a queue is first empty: it runs empty, or nothing waits and capacity covers what arrives."""
    for piece in pieces:
        if piece.end > piece.start:
            if piece.keeps_up:
                return piece.start
            if piece.runs_empty:
                return piece.end
    return None


def _first_both_caught_up(live: Sequence[Piece], side: Sequence[Piece]) -> float | None:
    """The same for both queues at once; no piece of ``side`` reaches over a border of ``live``."""
    spans = [piece for piece in live if piece.end > piece.start]
    place = 0
    for piece in side:
        if piece.end > piece.start:
            middle = (piece.start + piece.end) / 2
            while place < len(spans) - 1 and spans[place].end <= middle:
                place += 1
            fresh = spans[place]
            if piece.is_empty and fresh.keeps_up:
                return piece.start
            ends_together = fresh.runs_empty and fresh.end == piece.end
            if piece.waiting_end == 0.0 and (fresh.keeps_up or ends_together):
                return piece.end
    return None


def _until(pieces: Sequence[Piece], end: float) -> list[Piece]:
    kept = [piece for piece in pieces if piece.start < end or piece.end == end]
    return [piece.cut(end) if piece.end > end else piece for piece in kept]


def _least(pieces: Sequence[Piece]) -> float:
    return min((min(piece.waiting_start, piece.waiting_end) for piece in pieces), default=0.0)


def capacity_after_restore(load: QueueLoad) -> Steps:
    """Items a minute from the restore on: the lowest of the consumers' rate, the cap and the ramp.

    A ramp rises in a straight line; each part of it has its mean rate, so what has been served is exact at the
    borders of the parts.
    """
    limit = load.service_rate_per_min
    per_concurrency = 0.0 if load.item_time_s is None else 60.0 / load.item_time_s
    if load.cap_concurrency is not None and load.item_time_s is not None:
        limit = min(limit, cap_rate_per_min(load.cap_concurrency, load.item_time_s))
    ramp, restore = load.ramp, load.outage_min
    if ramp is None:
        return Steps(np.array([restore]), np.array([limit]))
    limit = min(limit, ramp.ceiling * per_concurrency)
    first, slope = ramp.start * per_concurrency, ramp.per_min * per_concurrency
    if first >= limit or slope == 0.0:
        return Steps(np.array([restore]), np.array([min(first, limit)]))
    takes = (limit - first) / slope
    since = np.arange(min(SECONDS_APART, math.ceil(takes * 60.0)) + 1) / 60.0
    if takes > since[-1]:
        later = math.ceil(math.log(takes / since[-1]) / math.log(LATER_PARTS))
        since = np.concatenate((since, since[-1] * LATER_PARTS ** np.arange(1, later + 1)))
    since[-1] = takes
    edges = restore + since
    rates = first + slope * (since[:-1] + since[1:]) / 2
    return Steps(edges, np.append(rates, limit))
