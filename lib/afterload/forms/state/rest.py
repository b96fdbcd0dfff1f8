"""Work that waits until nothing moves any more: only the newest request counts, so that no stale work is ever queued."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

__all__ = ["Every", "Rest"]


class Handle(Protocol):
    """Something that was scheduled and can be taken back."""

    def cancel(self) -> None:
        """Do not run it."""


# Between two slices: whatever has arrived meanwhile takes more than one turn of the loop to be dealt with.
BREATH_S = 0.005

# A work may come in slices, between which a touch may begin anew; it returns these then.
Work = Callable[[], Iterator[None] | None]
Later = Callable[[float, Callable[[], None]], Handle | None]


def _on_loop(delay_s: float, work: Callable[[], None]) -> Handle | None:
    """Schedule on the running event loop, as a kernel has one; without a loop nothing is scheduled."""
    try:
        return asyncio.get_running_loop().call_later(delay_s, work)
    except RuntimeError:
        return None


class Rest:
    """Does works one after the other once nothing moves: each a time after the one before, the first after the last touch.

    A touch between two of them, or between two slices of one, begins anew: so whoever moves something waits for one work or slice
    at most, never for a queue. What a work itself moves is no touch.
    ``later`` schedules. Where nothing can be scheduled, the works wait for :meth:`now`.
    """

    _END = object()

    def __init__(self, works: Sequence[tuple[float, Work]], later: Later = _on_loop) -> None:
        self._works = tuple(works)
        self._later = later
        self._handle: Handle | None = None
        self._next = 0
        self._slices: Iterator[None] | None = None
        self._is_working = False

    def touch(self) -> None:
        """Something moved: whatever waits begins to wait anew."""
        if self._is_working:
            return
        self.cancel()
        self._schedule()

    def now(self) -> None:
        """Do at once all that still waits, or all where nothing does; nothing more where a work asks for it itself."""
        if self._is_working:
            return
        slices, left = self._slices, self._works[self._next :]
        self.cancel()
        self._finish(slices)
        for _, work in left:
            self._finish(self._do(work))

    def cancel(self) -> None:
        """Forget what waits."""
        self._next, self._slices = 0, None
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _schedule(self) -> None:
        self._handle = self._later(self._works[self._next][0], self._step)

    def _step(self) -> None:
        self._handle = None
        if self._slices is None:
            work = self._works[self._next][1]
            self._next += 1
            self._slices = self._do(work)
        elif not self._goes_on(self._slices):
            self._slices = None
        if self._slices is not None:
            self._handle = self._later(BREATH_S, self._step)
        elif self._next < len(self._works):
            self._schedule()
        else:
            self._next = 0

    def _finish(self, slices: Iterator[None] | None) -> None:
        while slices is not None and self._goes_on(slices):
            pass

    def _goes_on(self, slices: Iterator[None]) -> bool:
        """Do one more slice; False where there is none."""
        return self._do(lambda: next(slices, self._END)) is not self._END

    def _do(self, work: Callable[[], Any]) -> Any:
        self._is_working = True
        try:
            return work()
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
