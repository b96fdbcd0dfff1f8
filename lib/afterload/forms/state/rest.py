"""Work that waits until nothing moves any more: only the newest request counts, so that no stale work is ever queued."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

__all__ = ["Handle", "Rest"]


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
    """Runs ``work`` once, ``delay_s`` seconds after the last :meth:`touch`.

    ``later`` schedules it. Where nothing can be scheduled, the work waits for :meth:`now`.
    """

    def __init__(self, work: Callable[[], None], delay_s: float, later: Later = _on_loop) -> None:
        self._work = work
        self._delay_s = delay_s
        self._later = later
        self._handle: Handle | None = None

    def touch(self) -> None:
        """Something moved: whatever waits begins to wait anew."""
        self.cancel()
        self._handle = self._later(self._delay_s, self.now)

    def now(self) -> None:
        """Do the work at once, and not again later."""
        self.cancel()
        self._work()

    def cancel(self) -> None:
        """Forget what waits."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
