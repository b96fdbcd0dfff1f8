"""The queue with timeouts, send by send, with all of its chance: after a spike, or after a crowd that sends at once."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from afterload.model.checks import number, whole
from afterload.model.curves import FloatArray
from afterload.model.timeouts import TimeoutQueue

__all__ = ["QueueRun", "bound_length", "compare_remedies", "simulate"]

Verdict: TypeAlias = Literal["heals", "stays down", "not decided"]


@dataclass(frozen=True, eq=False)
class QueueRun:
    """One simulated run.

    Attributes:
        verdict: "heals", "stays down", or "not decided" where neither was certain.
        recovery_s: seconds from the end of the trigger to the last send that fails, 0 if there is none after it;
            ``None`` unless it heals.
        sends, in_time, late, refused: sends; work served in time, served for nobody, and never admitted, dropped,
            cleared or discarded.
        given_up: requests that failed for good.
        escape_odds: where it stays down, :meth:`TimeoutQueue.escape_odds`; the verdict is as safe as these are small.
        times_s: starts of the windows below, shape (windows,).
        offered_per_s, goodput_per_s: sends, and work served in time, a second, shape (windows,).
        queue_length: items waiting at the end of each window, shape (windows,).
    """

    verdict: Verdict
    recovery_s: float | None
    sends: int
    in_time: int
    late: int
    refused: int
    given_up: int
    escape_odds: float | None
    times_s: FloatArray
    offered_per_s: FloatArray
    goodput_per_s: FloatArray
    queue_length: FloatArray


def simulate(
    queue: TimeoutQueue,
    rng: np.random.Generator,
    *,
    load_per_s: float = 0.0,
    spike_per_s: float = 0.0,
    spike_s: float = 0.0,
    waiting_at_start: int = 0,
    clear_at_s: float | None = None,
    window_s: float = 10.0,
    most_sends: int = 2_000_000,
) -> QueueRun:
    """Follow every send until the queue has healed, or can be said to stay down.

    The trigger is a spike of load, a crowd that sends at second 0 (leases that have all run out), or both. Arrivals are
    Poisson. A refused send counts as failed at its timeout, like one that is too late.

    "Heals" is certain when, the trigger past, nothing waits, nothing is served and nothing is due to be sent again.
    "Stays down" is said when no send of ``retries + 2`` timeouts (of 20 where retries never end) since the last
    interference was in time, while :meth:`TimeoutQueue.can_stay_down` holds and the queue is longer than useful;
    :meth:`TimeoutQueue.escape_odds` gives the chance of an escape.

    Parameters:
        queue: the queue, its callers and its guards.
        rng: the source of all chance.
        load_per_s: requests a second, 0 or more, outside the spike.
        spike_per_s, spike_s: requests a second during the spike, and its length in seconds.
        waiting_at_start: requests that all send at second 0.
        clear_at_s: second at which the queue is emptied once; callers of what was in it send again at their timeout.
        window_s: width of the windows of the result, above 0.
        most_sends: sends after which the run ends with "not decided".

    Raises:
        ModelError: a value out of its range.

    Source: HotOS 2025: 10/s, timeout 5 s, 5 retries, 5/s with 15/s for 10 min: a queue of 35 recovers, one of 150 never.
    """
    number("load_per_s", load_per_s)
    number("spike_per_s", spike_per_s)
    number("window_s", window_s, above=0.0)
    if clear_at_s is not None:
        number("clear_at_s", clear_at_s)
    whole("waiting_at_start", waiting_at_start, least=0)
    run = _Simulation(queue, rng, load_per_s, spike_per_s, number("spike_s", spike_s), clear_at_s, window_s)
    return run.run(waiting_at_start, whole("most_sends", most_sends))


def bound_length(queue: TimeoutQueue) -> int:
    """A bound of the queue that keeps what waits useful: the useful length less the grain of chance (three roots).

    At least 1, and no more than the bound that the queue has already.
    """
    bound = max(1, int(queue.useful_length - 3.0 * math.sqrt(queue.useful_length)))
    return bound if queue.queue_cap is None else min(bound, queue.queue_cap)


def compare_remedies(
    queue: TimeoutQueue,
    rng: np.random.Generator,
    *,
    load_per_s: float = 0.0,
    spike_per_s: float = 0.0,
    spike_s: float = 0.0,
    waiting_at_start: int = 0,
    clear_at_s: float,
    window_s: float = 10.0,
    most_sends: int = 2_000_000,
) -> Mapping[str, QueueRun]:
    """The same trigger on the queue as it is, and with each remedy alone.

    Remedies: "clear once" at ``clear_at_s``; "bound" at :func:`bound_length`; "newest first"; "admit by size" from half
    that length to it; "discard expired". Every run gets a
    generator of its own, spawned in this order.

    Parameters:
        queue, rng, load_per_s, spike_per_s, spike_s, waiting_at_start, window_s, most_sends: as in :func:`simulate`.
        clear_at_s: second at which "clear once" empties the queue.

    Raises:
        ModelError: a value out of its range.

    Source: HotOS 2021 on remedies: LIFO, small queues, shedding; the event summary: rate limiting by the size of the
    waiting queue.
    """
    bound = bound_length(queue)
    remedies: dict[str, tuple[TimeoutQueue, float | None]] = {
        "as it is": (queue, None),
        "clear once": (queue, clear_at_s),
        "bound": (replace(queue, queue_cap=bound), None),
        "newest first": (replace(queue, discipline="lifo"), None),
        "admit by size": (replace(queue, admit_all_below=max(1, bound // 2), admit_none_from=bound), None),
        "discard expired": (replace(queue, discards_expired=True), None),
    }
    return {
        name: simulate(
            guarded,
            own,
            load_per_s=load_per_s,
            spike_per_s=spike_per_s,
            spike_s=spike_s,
            waiting_at_start=waiting_at_start,
            clear_at_s=clear_s,
            window_s=window_s,
            most_sends=most_sends,
        )
        for (name, (guarded, clear_s)), own in zip(remedies.items(), rng.spawn(len(remedies)), strict=True)
    }


class _Send:
    """One send; ``is_done`` once it was served in time."""

    __slots__ = ("at_s", "is_done", "round_")

    def __init__(self, at_s: float, round_: int) -> None:
        self.at_s, self.round_, self.is_done = at_s, round_, False


class _Simulation:
    def __init__(
        self,
        queue: TimeoutQueue,
        rng: np.random.Generator,
        load_per_s: float,
        spike_per_s: float,
        spike_s: float,
        clear_at_s: float | None,
        window_s: float,
    ) -> None:
        self._queue, self._rng = queue, rng
        self._load, self._spike, self._spike_s = load_per_s, spike_per_s, spike_s
        self._clear_at_s, self._window_s = clear_at_s, window_s
        self._waiting: deque[_Send] = deque()
        self._open: deque[_Send] = deque()
        self._in_service: _Send | None = None
        self._served_at_s = math.inf
        self._uniforms: Iterator[float] = iter(())
        self._sends = self._in_time = self._late = self._refused = self._given_up = 0
        self._last_failed_s: float | None = None
        self._offered: list[int] = []
        self._good: list[int] = []
        self._lengths: list[int] = []

    def run(self, waiting_at_start: int, most_sends: int) -> QueueRun:
        queue, timeout_s = self._queue, self._queue.timeout_s
        patience_s = timeout_s * (20 if queue.retries is None else queue.retries + 2)
        can_stay_down = queue.can_stay_down(self._load)
        over_s = self._spike_s if self._clear_at_s is None else max(self._spike_s, self._clear_at_s)
        good_until_s = over_s
        self._mark(0.0)
        for _ in range(waiting_at_start):
            self._send(0.0, 0)
        next_s = self._next_arrival_s(0.0)
        clear_s = math.inf if self._clear_at_s is None else self._clear_at_s
        verdict: Verdict = "not decided"
        while self._sends < most_sends:
            gives_up_s = self._open[0].at_s + timeout_s if self._open else math.inf
            now_s = min(next_s, gives_up_s, self._served_at_s, clear_s)
            if not math.isfinite(now_s):
                verdict = "heals"
                break
            self._mark(now_s)
            if now_s == clear_s:
                self._refused += len(self._waiting)
                self._waiting.clear()
                clear_s = math.inf
            elif now_s == self._served_at_s:
                if self._serve(now_s):
                    good_until_s = max(good_until_s, now_s)
            elif now_s == gives_up_s:
                self._give_up(now_s)
            else:
                self._send(now_s, 0)
                next_s = self._next_arrival_s(now_s)
            if now_s <= over_s:
                continue
            if self._in_service is None and not self._open:
                verdict = "heals"
                break
            if can_stay_down and now_s > good_until_s + patience_s and len(self._waiting) > queue.useful_length:
                verdict = "stays down"
                break
        return self._result(verdict)

    def _send(self, now_s: float, round_: int) -> None:
        queue = self._queue
        send = _Send(now_s, round_)
        self._sends += 1
        self._offered[-1] += 1
        self._open.append(send)
        if self._in_service is None:
            self._start(send, now_s)
            return
        if not self._is_admitted():
            self._refused += 1
        elif queue.queue_cap is not None and len(self._waiting) >= queue.queue_cap:
            self._refused += 1
            if queue.discipline == "lifo":
                self._waiting.popleft()
                self._waiting.append(send)
        else:
            self._waiting.append(send)

    def _is_admitted(self) -> bool:
        all_below, none_from = self._queue.admit_all_below, self._queue.admit_none_from
        length = len(self._waiting)
        if all_below is None or none_from is None or length < all_below:
            return True
        return length < none_from and self._uniform() >= (length - all_below) / (none_from - all_below)

    def _start(self, send: _Send, now_s: float) -> None:
        self._in_service = send
        self._served_at_s = now_s - math.log1p(-self._uniform()) / self._queue.service_rate_per_s

    def _serve(self, now_s: float) -> bool:
        """End the service that is due, and start the next; whether it was in time."""
        queue, send = self._queue, self._in_service
        self._in_service, self._served_at_s = None, math.inf
        is_in_time = send is not None and now_s <= send.at_s + queue.timeout_s
        if send is not None and is_in_time:
            send.is_done = True
            self._in_time += 1
            self._good[-1] += 1
            while self._open and self._open[0].is_done:
                self._open.popleft()
        else:
            self._late += 1
        while self._waiting:
            following = self._waiting.popleft() if queue.discipline == "fifo" else self._waiting.pop()
            if queue.discards_expired and now_s > following.at_s + queue.timeout_s:
                self._refused += 1
                continue
            self._start(following, now_s)
            break
        return is_in_time

    def _give_up(self, now_s: float) -> None:
        send = self._open.popleft()
        if send.is_done:
            return
        self._last_failed_s = send.at_s
        if self._queue.retries is None or send.round_ < self._queue.retries:
            self._send(now_s, send.round_ + 1)
        else:
            self._given_up += 1

    def _next_arrival_s(self, now_s: float) -> float:
        """Time of the next request after ``now_s``; the rate changes at the end of the spike."""
        if now_s < self._spike_s:
            if self._spike > 0.0:
                at_s = now_s - math.log1p(-self._uniform()) / self._spike
                if at_s < self._spike_s:
                    return at_s
            now_s = self._spike_s
        return now_s - math.log1p(-self._uniform()) / self._load if self._load > 0.0 else math.inf

    def _uniform(self) -> float:
        for value in self._uniforms:
            return value
        self._uniforms = iter(self._rng.random(4096).tolist())
        return next(self._uniforms)

    def _mark(self, now_s: float) -> None:
        """Open the windows up to this time, and note the queue at the end of those that are past."""
        windows = int(now_s / self._window_s) + 1
        while len(self._offered) < windows:
            if self._lengths:
                self._lengths[-1] = len(self._waiting)
            self._offered.append(0)
            self._good.append(0)
            self._lengths.append(0)

    def _result(self, verdict: Verdict) -> QueueRun:
        self._lengths[-1] = len(self._waiting)
        count = len(self._offered)
        failed_s = self._spike_s if self._last_failed_s is None else self._last_failed_s
        return QueueRun(
            verdict=verdict,
            recovery_s=max(0.0, failed_s - self._spike_s) if verdict == "heals" else None,
            sends=self._sends,
            in_time=self._in_time,
            late=self._late,
            refused=self._refused,
            given_up=self._given_up,
            escape_odds=self._queue.escape_odds(self._load) if verdict == "stays down" else None,
            times_s=self._window_s * np.arange(count, dtype=np.float64),
            offered_per_s=np.array(self._offered, dtype=np.float64) / self._window_s,
            goodput_per_s=np.array(self._good, dtype=np.float64) / self._window_s,
            queue_length=np.array(self._lengths, dtype=np.float64),
        )
