"""The second queue of "fresh first": what fresh work leaves behind, served by the capacity that it leaves over."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tests.oracles.fluid import Barrier, Curve, Leaving, Piece, Queue, Steps, head_ages

from afterload.model.curves import FloatArray

__all__ = ["Sideline"]


class Sideline:
    """Sidelined work in order of arrival, numbered from 0 in that order.

    Each knot of its curve has the time when the work crossed over, the time when it arrived, and its number. Where a
    course skips periods (see :class:`tests.oracles.backlog_course.Course`) a second pair of arrival and number stays true for
    ages, beside the pair that the simulation uses.
    """

    def __init__(self, after_min: float, restore_min: float) -> None:
        self.after_min = after_min
        self.restore_min = restore_min
        self.known = 0.0
        self.queue = Queue(0.0, 0.0)
        self._crossed: list[float] = []
        self._arrived: list[float] = []
        self._arrived_truly: list[float] = []
        self._numbers_truly: list[float] = []
        self._numbers: list[float] = []

    @property
    def waiting(self) -> float:
        """Items in it."""
        return 0.0 if self.queue.is_empty else max(0.0, self.known - self.queue.gone)

    def take(self, live: Sequence[Piece], numbering: Curve, skipped_min: float) -> None:
        """Append what crossed over during a course of the live queue, numbered by ``numbering``."""
        for piece in live:
            sidelined = piece.left if piece.kind == Leaving.SIDELINED else 0.0
            if piece.end > piece.start:
                self._knot(piece.start, piece.start - self.after_min, 0.0, skipped_min)
                self._knot(piece.end, piece.end - self.after_min, sidelined, skipped_min)
            elif sidelined > 0.0:
                first = self.known
                for number, arrived in _arrivals_between(numbering, piece.gone_start, piece.gone_end):
                    gained = first + (number - piece.gone_start) - self.known
                    self._knot(piece.start, arrived, gained, skipped_min)

    def advance(
        self, start: float, end: float, live: Sequence[Piece], limits: Sequence[tuple[float, Leaving, bool]]
    ) -> list[Piece]:
        """Serve with what the live queue left over between two times; see :meth:`Queue.advance`."""
        crossed, numbers = np.array(self._crossed), np.array(self._numbers)
        arrived = Curve.through(np.array(self._arrived), numbers)
        barriers = [Barrier(arrived.delayed(limit, not_before=crossed), kind, lazy) for limit, kind, lazy in limits]
        spans = [piece for piece in live if piece.end > piece.start]
        steps = Steps(np.array([piece.start for piece in spans]), np.array([piece.spare for piece in spans]))
        return self.queue.advance(start, end, Curve.through(crossed, numbers), barriers, steps)

    def ages(self, pieces: Sequence[Piece], skipped_min: float) -> FloatArray:
        """Ages of the item next in turn over a course."""
        numbering = Curve.through(np.array(self._arrived_truly), np.array(self._numbers_truly))
        return head_ages(pieces, numbering, skipped_min)[2]

    def skip(self, drained: float, gained: float, clock_min: float, tail_from_min: float) -> None:
        """Count periods that only repeat.

        Parameters:
            drained: items by which less waits after them.
            gained: items that crossed over in them.
            clock_min: minutes that they take.
            tail_from_min: arrivals after this repeat with the periods.
        """
        place = int(np.searchsorted(np.array(self._numbers), self.queue.gone, side="right"))
        self.queue.gone += drained
        if gained == 0.0:
            return
        if self._arrived[max(0, place - 1)] >= tail_from_min:
            self._arrived_truly = [arrived + clock_min for arrived in self._arrived_truly]
        else:
            # The oldest work stays as old as it is; what crossed over meanwhile queues behind it.
            self._numbers_truly = [number - gained for number in self._numbers_truly]

    def _knot(self, crossed: float, arrived: float, gained: float, skipped_min: float) -> None:
        arrived = max(arrived, self._arrived[-1]) if self._arrived else arrived
        self.known += gained
        if self._crossed and (self._crossed[-1], self._arrived[-1], self._numbers[-1]) == (
            crossed, arrived, self.known,
        ):  # fmt: skip
            return
        self._crossed.append(crossed)
        self._arrived.append(arrived)
        self._arrived_truly.append(arrived + skipped_min)
        self._numbers.append(self.known)
        self._numbers_truly.append(self.known)


def _arrivals_between(numbering: Curve, first: float, last: float) -> list[tuple[float, float]]:
    """Points ``(number, time of arrival)`` from one number to another, every bend included."""
    rises = np.flatnonzero((numbering.values[1:] > numbering.values[:-1]) & (numbering.values[1:] > first))
    points: list[tuple[float, float]] = []
    for i in rises.tolist():
        low, high = float(numbering.values[i]), float(numbering.values[i + 1])
        if low >= last:
            break
        low_at, high_at = float(numbering.times[i]), float(numbering.times[i + 1])
        pace = (high_at - low_at) / (high - low)
        points += [(number, low_at + (number - low) * pace) for number in (max(low, first), min(high, last))]
    return points
