"""Work that waits until nothing moves any more: only the newest request counts, so that no stale work is ever queued."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

__all__ = ["Every", "Handle", "Rest"]


class Handle(Protocol):
    """Something that was scheduled and can be taken back."""

    def cancel(self) -> None:
        """Do not run it."""


Later = Callable[[float, Callable[[], None]], Handle | None]


def _on_loop(delay_s: float, work: Callable[[], None]) -> Handle | None:
    """Schedule on the running event loop, as a kernel has one; without a loop nothing is scheduled."""
    try:
        return asyncio.get_running_loop().call_later(delay_s, work)
    except RuntimeError:
        return None


class Rest:
    """Does works one after the other once nothing moves: each a time after the one before, the first after the last touch.

    A touch between two of them begins anew, so that whoever moves something waits for one work at most, never for a queue. What
    a work itself moves is no touch.
    ``later`` schedules. Where nothing can be scheduled, the works wait for :meth:`now`.
    """

    def __init__(self, works: Sequence[tuple[float, Callable[[], None]]], later: Later = _on_loop) -> None:
        self._works = tuple(works)
        self._later = later
        self._handle: Handle | None = None
        self._next = 0
        self._is_working = False

    def touch(self) -> None:
        """Something moved: whatever waits begins to wait anew."""
        if self._is_working:
            return
        self.cancel()
        self._schedule()

    def now(self) -> None:
        """Do at once all that still waits, or all where nothing does."""
        left = self._works[self._next :]
        self.cancel()
        for _, work in left:
            self._do(work)

    def cancel(self) -> None:
        """Forget what waits."""
        self._next = 0
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _schedule(self) -> None:
        self._handle = self._later(self._works[self._next][0], self._step)

    def _step(self) -> None:
        work, self._handle = self._works[self._next][1], None
        self._next += 1
        self._do(work)
        if self._next < len(self._works):
            self._schedule()
        else:
            self._next = 0

    def _do(self, work: Callable[[], None]) -> None:
        self._is_working = True
        try:
            work()
        finally:
            self._is_working = False


class Every:
    """Does a work again and again, each time so many seconds after it ended; where nothing can be scheduled, never."""

    def __init__(self, seconds: float, work: Callable[[], object], later: Later = _on_loop) -> None:
        self._seconds = seconds
        self._work = work
        self._later = later
        later(seconds, self._step)

    def _step(self) -> None:
        try:
            self._work()
        finally:
            self._later(self._seconds, self._step)
