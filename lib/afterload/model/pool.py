"""A bounded queue in front of a pool of workers, request by request.

The bound of the queue limits what waits; only the number of workers limits what is in flight.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from afterload.errors import ModelError
from afterload.model.checks import number, whole
from afterload.model.curves import FloatArray

__all__ = ["PoolRun", "paced", "run_pool"]


def paced(requests: int, *, over_s: float = 0.0) -> FloatArray:
    """Arrival times of a burst: all at 0, or evenly spread over ``over_s`` seconds from 0 on.

    Returns:
        Seconds, shape (requests,).

    Raises:
        ModelError: a value out of its range.
    """
    count = whole("requests", requests)
    return number("over_s", over_s) * np.arange(count) / count


@dataclass(frozen=True, eq=False)
class PoolRun:
    """What became of each request; ``nan`` stands for the times of a rejected one.

    Attributes:
        arrivals_s: arrival times in seconds, rising, shape (requests,).
        starts_s: times at which a worker took each request, shape (requests,).
        finishes_s: times at which it was done, shape (requests,).
        peak_waiting: most requests waiting at once.
    """

    arrivals_s: FloatArray
    starts_s: FloatArray
    finishes_s: FloatArray
    peak_waiting: int

    @property
    def is_accepted(self) -> npt.NDArray[np.bool_]:
        """Whether each request was accepted, shape (requests,)."""
        return ~np.isnan(self.starts_s)

    @property
    def accepted(self) -> int:
        """Requests accepted."""
        return int(np.count_nonzero(self.is_accepted))

    @property
    def rejected(self) -> int:
        """Requests rejected because the queue was full."""
        return len(self.starts_s) - self.accepted

    @property
    def finish_s(self) -> float:
        """Time at which the last accepted request was done, in seconds."""
        return float(np.nanmax(self.finishes_s))

    @property
    def peak_in_flight(self) -> int:
        """Most requests in service at once."""
        moments = np.unique(self.starts_s[self.is_accepted])
        return int(self.in_flight_at(moments).max())

    @property
    def longest_wait_s(self) -> float:
        """Longest time in the queue of an accepted request, in seconds."""
        return float(np.nanmax(self.starts_s - self.arrivals_s))

    def in_flight_at(self, t_s: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Requests in service just after each time in seconds, of the same shape."""
        return self._between(self.starts_s, self.finishes_s, t_s)

    def waiting_at(self, t_s: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Requests in the queue just after each time in seconds, of the same shape."""
        return self._between(self.arrivals_s, self.starts_s, t_s)

    def _between(self, begins: FloatArray, ends: FloatArray, t_s: npt.ArrayLike) -> npt.NDArray[np.int64]:
        t = np.asarray(t_s, dtype=np.float64)
        begun = np.searchsorted(np.sort(begins[self.is_accepted]), t, side="right")
        ended = np.searchsorted(np.sort(ends[self.is_accepted]), t, side="right")
        return np.asarray(begun - ended, dtype=np.int64)


def run_pool(arrivals_s: npt.ArrayLike, service_s: npt.ArrayLike, *, queue: int | None, workers: int | None) -> PoolRun:
    """Follow requests through a bounded queue and a pool of workers, first in, first out.

    A worker that is done takes the next request before one that arrives at the same moment is looked at.

    Parameters:
        arrivals_s: arrival times in seconds, from 0 on, not falling, shape (requests,).
        service_s: seconds that each request takes, one for all or shape (requests,), not negative.
        queue: most requests that wait, besides those in service; 0 lets none wait, ``None`` any number.
        workers: requests served at once, at least 1; ``None`` for no pool: each is served as it comes.

    Raises:
        ModelError: no request, a value out of its range, times that fall, or shapes that do not match.

    Source: "Using load shedding to avoid overload", AWS Builders' Library.
    """
    arrivals = np.atleast_1d(np.asarray(arrivals_s, dtype=np.float64))
    if arrivals.ndim != 1 or arrivals.size == 0:
        raise ModelError(f"arrivals_s has shape {arrivals.shape}; give one time for each of at least one request")
    if not bool(np.all(np.isfinite(arrivals))) or bool(np.any(np.diff(arrivals, prepend=0.0) < 0.0)):
        raise ModelError("arrivals_s falls, begins before 0 or is not finite; give rising times in seconds")
    service = np.asarray(service_s, dtype=np.float64)
    if service.shape not in ((), arrivals.shape):
        raise ModelError(f"service_s has shape {service.shape}; give one time, or one for each of {len(arrivals)}")
    if not bool(np.all(np.isfinite(service) & (service >= 0.0))):
        raise ModelError("service_s is negative or not finite; give seconds")
    room = len(arrivals) if queue is None else whole("queue", queue, least=0)
    pool = len(arrivals) if workers is None else whole("workers", workers)
    return _follow(arrivals, np.broadcast_to(service, arrivals.shape), room, pool)


def _follow(arrivals: FloatArray, service: FloatArray, room: int, pool: int) -> PoolRun:
    starts: FloatArray = np.full(len(arrivals), np.nan)
    # Times from which on each busy worker is free, and the starts to come of requests in the queue.
    free_s: list[float] = []
    to_start: deque[float] = deque()
    peak = 0
    for place, (now_s, takes_s) in enumerate(zip(arrivals.tolist(), service.tolist(), strict=True)):
        while to_start and to_start[0] <= now_s:
            to_start.popleft()
        if len(free_s) < pool or free_s[0] <= now_s:
            start_s = now_s
        elif len(to_start) < room:
            start_s = free_s[0]
            to_start.append(start_s)
            peak = max(peak, len(to_start))
        else:
            continue
        # First in, first out: who comes now starts when the worker that is free next is free.
        (heapq.heappush if len(free_s) < pool else heapq.heapreplace)(free_s, start_s + takes_s)
        starts[place] = start_s
    return PoolRun(arrivals, starts, starts + service, peak)
