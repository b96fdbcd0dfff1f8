"""Retrying clients as a fluid with the timeout as its memory, for many triggers at once.

In steps of a fraction of the timeout: what was sent one timeout ago and is not served by now is sent again. A cell runs until
its verdict is certain; it has no horizon.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from afterload.model.curves import FloatArray
from afterload.model.overload import RetryingService

__all__ = ["BoolArray", "Cells", "TriggerKind", "solve"]

BoolArray: TypeAlias = npt.NDArray[np.bool_]
TriggerKind: TypeAlias = Literal["capacity cut", "load spike"]

# Waves of retries next to a boundary need many timeouts to grow or to die out; beyond this many a cell is left undecided.
_MOST_TIMEOUTS = 2_000


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells to solve, each of shape (cells,): capacity and load outside the trigger and within it, and its length."""

    capacity: FloatArray
    load: FloatArray
    cut_capacity: FloatArray
    spike_load: FloatArray
    length: FloatArray

    @classmethod
    def of(
        cls, capacity: FloatArray, load: FloatArray, length: FloatArray, depth: FloatArray, kind: TriggerKind
    ) -> Cells:
        """Cells under a trigger from second 0 on; all arrays of shape (cells,), rates a second, lengths in seconds."""
        is_cut = kind == "capacity cut"
        return cls(
            capacity,
            load,
            capacity * (1.0 - depth) if is_cut else capacity,
            load if is_cut else load * (1.0 + depth),
            length,
        )

    def kept(self, places: npt.NDArray[np.intp]) -> Cells:
        """The cells at some places."""
        return Cells(
            self.capacity[places],
            self.load[places],
            self.cut_capacity[places],
            self.spike_load[places],
            self.length[places],
        )


@dataclass(frozen=True, eq=False)
class Solved:
    """Verdicts; all of shape (cells,).

    Attributes:
        heals: whether a cell heals itself.
        is_decided: False where neither verdict was certain within the most timeouts followed.
        last_s: seconds from the end of the trigger to the last send that times out; 0 where it does not heal.
    """

    heals: BoolArray
    is_decided: BoolArray
    last_s: FloatArray


def solve(cells: Cells, service: RetryingService, steps: int) -> Solved:
    """Run every cell to its verdict; see the comments for what makes one certain."""
    count, rounds = len(cells.load), service.retries + 1
    heals, is_decided, last_s = np.zeros(count, bool), np.zeros(count, bool), np.zeros(count)
    # Too much load without any trigger: never.
    is_decided |= cells.load >= cells.capacity
    places = np.flatnonzero(~is_decided)
    now = cells.kept(places)
    step_s = service.timeout_s / steps
    limit = np.inf if service.retry_limit_per_s is None else service.retry_limit_per_s
    run = _Run.start(now, rounds, steps)
    most = int(np.ceil(float(np.max(cells.length, initial=0.0)) / step_s)) + _MOST_TIMEOUTS * steps
    for index in range(most):
        if not len(places):
            break
        run.advance(now, index, step_s, limit)
        # One look in four steps is enough, and compressing costs more than a step.
        if index % 4 != 3:
            continue
        at_s = (index + 1) * step_s
        is_over = at_s > now.length + step_s
        queue = run.arrived - run.served
        failing = now.load + np.minimum((rounds - 1) * now.load, limit)
        # Empty after the trigger: all that was sent in the last timeout is served, so no retry is due.
        is_healed = is_over & (queue <= 1e-9 * now.capacity)
        # All rounds of retries at full for a whole timeout: the queue moves in a straight line until sends succeed.
        is_full = is_over & (run.full_steps >= steps)
        falls_by = now.capacity - failing
        is_falling = falls_by > 1e-12 * now.capacity
        left_s = (queue - now.capacity * service.timeout_s) / np.where(is_falling, falls_by, 1.0)
        is_healing = is_full & is_falling & ~is_healed
        is_never = is_full & ~is_falling & ~is_healed
        done = np.flatnonzero(is_healed | is_healing | is_never)
        if len(done):
            ended = np.where(is_healing, np.maximum(run.last_s, at_s + left_s), run.last_s)
            heals[places[done]] = ~is_never[done]
            last_s[places[done]] = np.maximum(0.0, (ended - now.length)[done])
            is_decided[places[done]] = True
            kept = np.flatnonzero(~(is_healed | is_healing | is_never))
            places, now = places[kept], now.kept(kept)
            run.keep(kept)
    return Solved(heals, is_decided, last_s)


class _Run:
    """The state of the fluid in all cells that are not decided yet."""

    def __init__(self, arrived: FloatArray, sent: FloatArray, past: FloatArray, steps: int) -> None:
        self.arrived = arrived
        self.served = arrived.copy()
        self.last_s = np.zeros_like(arrived)
        self.full_steps = np.zeros(len(arrived), dtype=np.int64)
        self._sent, self._past, self._steps = sent, past, steps

    @classmethod
    def start(cls, cells: Cells, rounds: int, steps: int) -> _Run:
        """At rest before the trigger; what was sent before it is served.

        ``_sent`` holds what was sent in each of the last ``steps`` steps by round of retry, shape (steps, rounds, cells);
        ``_past`` the sum of arrivals at the edges of those steps, shape (steps + 1, cells).
        """
        shape = len(cells.load)
        past = np.full((steps + 1, shape), -1.0)
        past[0] = 0.0
        return cls(np.zeros(shape), np.zeros((steps, rounds, shape)), past, steps)

    def keep(self, kept: npt.NDArray[np.intp]) -> None:
        """Drop the cells that are decided."""
        self.arrived, self.served = self.arrived[kept], self.served[kept]
        self.last_s, self.full_steps = self.last_s[kept], self.full_steps[kept]
        self._sent = np.ascontiguousarray(self._sent[:, :, kept])
        self._past = np.ascontiguousarray(self._past[:, kept])

    def advance(self, cells: Cells, index: int, step_s: float, limit_per_s: float) -> None:
        """One step from ``index * step_s`` on."""
        at_s, steps = index * step_s, self._steps
        in_trigger = np.clip(cells.length - at_s, 0.0, step_s)
        can_serve = cells.cut_capacity * in_trigger + cells.capacity * (step_s - in_trigger)
        fresh = cells.spike_load * in_trigger + cells.load * (step_s - in_trigger)
        slot = index % steps
        sent = self._sent[slot]
        # Of what was sent one timeout ago: how much is still unserved at the two edges of that step, and so has failed.
        # Before the first step everything was served, and -1 in ``_past`` says so.
        first = self._past[(index + 1) % (steps + 1)] - self.served
        second = self._past[(index + 2) % (steps + 1)] - (self.served + can_serve)
        share = _positive_share(first, second)
        retries = sent[:-1] * share
        if np.isfinite(limit_per_s):
            total = np.sum(retries, axis=0)
            retries *= np.minimum(1.0, limit_per_s * step_s / np.maximum(total, 1e-300))
        sent[1:] = retries
        sent[0] = fresh
        inflow = np.sum(sent, axis=0)
        self.arrived = self.arrived + inflow
        self.served = np.minimum(self.arrived, self.served + can_serve)
        self._past[(index + 1) % (steps + 1)] = self.arrived
        ends_s = at_s - steps * step_s + np.where(second > 0.0, step_s, step_s * share)
        self.last_s = np.where(share > 0.0, ends_s, self.last_s)
        rounds = sent.shape[0]
        full = cells.load * step_s + np.minimum((rounds - 1) * cells.load, limit_per_s) * step_s
        is_full = (share >= 1.0) & (in_trigger <= 0.0) & (np.abs(inflow - full) <= 1e-9 * full)
        self.full_steps = np.where(is_full, self.full_steps + 1, 0)


def _positive_share(first: FloatArray, second: FloatArray) -> FloatArray:
    """The share of a step over which a straight line from ``first`` to ``second`` is above zero."""
    high, low = np.maximum(first, second), np.minimum(first, second)
    crossing = high / np.where(high > low, high - low, 1.0)
    return np.where(low > 0.0, 1.0, np.where(high > 0.0, crossing, 0.0))
