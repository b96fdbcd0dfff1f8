"""A trigger and retrying clients, send by send: whether the service heals, when, and the shortest outage that is fatal.

Nothing is drawn: first tries come at equal distances and every attempt takes the same service time. A run ends when its
verdict is certain, never at a horizon.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from afterload.errors import ModelError
from afterload.model.checks import number, whole
from afterload.model.overload import RetryingService
from afterload.model.trigger import Trigger

__all__ = ["EventRecovery", "FatalOutage", "event_recovery", "fatal_outage"]


@dataclass(frozen=True)
class EventRecovery:
    """The end of one run.

    Attributes:
        recovery_s: seconds from the end of the trigger to the last send that times out, 0 if there is none after
            it; ``None`` for never.
        sends: attempts made until the verdict.
        timed_out: attempts among them that nobody waited for.
        peak_attempts_per_s: most attempts in one whole second.
    """

    recovery_s: float | None
    sends: int
    timed_out: int
    peak_attempts_per_s: int

    @property
    def heals(self) -> bool:
        """Whether it heals by itself."""
        return self.recovery_s is not None


def event_recovery(
    service: RetryingService, load_per_s: float, trigger: Trigger, *, most_sends: int = 20_000_000
) -> EventRecovery:
    """Follow every send from the trigger to a certain verdict.

    Requests of an outage are held and reach the service at the restore, in order of sending; abandoned work is still
    served; a retry follows one timeout after its send. A limit on retries lets one retry pass in each slot of
    ``1 / limit`` seconds.

    "Never" is certain when, with the trigger over, every send of all rounds of retries has timed out for one timeout more,
    attempts do not fall short of the capacity, and the wait exceeds the timeout by more than the grain of the arrivals; or
    when a state repeats, in which some sends time out and others do not. "Healed" is certain when a send finds the service
    idle.

    Raises:
        ModelError: a value out of its range, or no verdict within ``most_sends``, which a load next to a boundary causes.

    Source: HotOS 2021, its example, as a discrete first-in-first-out queue.
    """
    load = number("load_per_s", load_per_s, above=0.0)
    most = whole("most_sends", most_sends)
    capacity, timeout, retries = service.capacity_per_s, service.timeout_s, service.retries
    if load >= capacity:
        return EventRecovery(None, 0, 0, math.ceil(load))
    served_by = _served_by(capacity, trigger)
    first_try_s = _first_tries(load, trigger)
    failing = failing_attempts_per_s(service, load)
    cannot_fall = failing >= capacity * (1.0 - 1e-12)
    # The number of arrivals of a steady stream in any window is within one of rate x window.
    grain = float(1 + retries) if failing > capacity * (1.0 + 1e-12) else 0.0
    slots_per_s = service.retry_limit_per_s
    due: deque[tuple[float, int]] = deque()
    firsts = timed_out = 0
    done, last_timed_out_s, slot = 0.0, 0.0, -1
    streak_s: float | None = None
    least_excess = math.inf
    second, in_second, peak = -1, 0, 0
    watch = _Repeats(timeout, trigger.length_s)
    for sends in range(1, most + 1):
        while True:
            first_s = first_try_s(firsts)
            if not due or first_s <= due[0][0]:
                at_s, round_ = first_s, 0
                firsts += 1
                break
            at_s, round_ = due.popleft()
            if slots_per_s is None:
                break
            if slots_per_s > 0.0 and math.floor(slots_per_s * at_s) > slot:
                slot = math.floor(slots_per_s * at_s)
                break
        if int(at_s) != second:
            second, in_second = int(at_s), 0
        in_second += 1
        peak = max(peak, in_second)
        served = served_by(at_s)
        if done <= served:
            # A send that times out keeps the service busy beyond its timeout, so an idle service has no retry due.
            if at_s > trigger.length_s:
                return EventRecovery(max(0.0, last_timed_out_s - trigger.length_s), sends, timed_out, peak)
            done = served
        if cannot_fall and at_s >= watch.next_s:
            state = (
                round_,
                done - served,
                first_try_s(firsts) - at_s,
                slots_per_s * at_s % 1.0 if slots_per_s else 0.0,
            )
            if watch.is_repeated(at_s, state, due):
                return EventRecovery(None, sends, timed_out, peak)
        done += 1.0
        if done <= served_by(at_s + timeout) + 1e-9:
            streak_s = None
            continue
        timed_out += 1
        last_timed_out_s = at_s
        if round_ < retries:
            due.append((at_s + timeout, round_ + 1))
        if at_s <= trigger.length_s:
            continue
        if streak_s is None:
            streak_s, least_excess = at_s, math.inf
        rounds_s = (1 + retries) * timeout
        if cannot_fall and at_s > streak_s + rounds_s:
            least_excess = min(least_excess, done - served - capacity * timeout)
            if at_s > streak_s + rounds_s + timeout:
                if least_excess > grain:
                    return EventRecovery(None, sends, timed_out, peak)
                streak_s, least_excess = at_s - rounds_s, math.inf
    raise ModelError(
        f"load_per_s is {load:g}, so near a boundary of {service} that {most:,} sends give no verdict; move the load or"
        " the trigger by 1 %"
    )


@dataclass(frozen=True)
class FatalOutage:
    """The shortest outage after which a service stays down.

    Attributes:
        outage_s: by bisection on the event model; ``None`` where no outage is fatal.
        fluid_s: the fluid estimate, up to 6 % off.
        heals_at_s: the longest outage tried that heals; the answer lies between the two.
    """

    outage_s: float | None
    fluid_s: float | None
    heals_at_s: float | None


def fatal_outage(service: RetryingService, load_per_s: float, *, tolerance_s: float = 1e-3) -> FatalOutage:
    """The shortest complete outage that is fatal at a load, by bisection on :func:`event_recovery`.

    Raises:
        ModelError: a value out of its range.

    Source: HotOS 2021, its example.
    """
    load = number("load_per_s", load_per_s, above=0.0)
    within_s = number("tolerance_s", tolerance_s, above=0.0)
    fluid_s = fluid_fatal_outage_s(service, load)
    if fluid_s is None:
        return FatalOutage(None, None, None)
    if load >= service.capacity_per_s:
        return FatalOutage(0.0, fluid_s, None)
    heals_s, stays_s = 0.0, fluid_s
    while event_recovery(service, load, Trigger(stays_s)).heals:
        heals_s, stays_s = stays_s, 1.1 * stays_s
    while stays_s - heals_s > within_s:
        middle_s = (heals_s + stays_s) / 2.0
        if event_recovery(service, load, Trigger(middle_s)).heals:
            heals_s = middle_s
        else:
            stays_s = middle_s
    return FatalOutage(stays_s, fluid_s, heals_s)


class _Repeats:
    """Looks once a timeout for a state seen before; which one it compares with doubles its distance (Brent's way)."""

    def __init__(self, timeout_s: float, from_s: float) -> None:
        self.next_s = from_s + timeout_s
        self._timeout_s = timeout_s
        self._state: tuple[object, ...] = ()
        self._age, self._keep = 0, 1

    def is_repeated(self, at_s: float, state: tuple[float, ...], due: deque[tuple[float, int]]) -> bool:
        """Whether the state at this send, with the retries due after it, is the one that was kept."""
        self.next_s = at_s + self._timeout_s * (1.0 - 1e-6)
        head = (*(round(value, 6) for value in state), len(due))
        self._age += 1
        is_to_be_kept = self._age == self._keep
        if not is_to_be_kept and head != self._state[: len(head)]:
            return False
        seen = (*head, *((round(due_s - at_s, 6), round_) for due_s, round_ in due))
        if seen == self._state:
            return True
        if is_to_be_kept:
            self._state, self._age, self._keep = seen, 0, 2 * self._keep
        return False


def _served_by(capacity_per_s: float, trigger: Trigger) -> Callable[[float], float]:
    """Attempts that the service could have served by a time, from second 0 on."""
    if trigger.kind == "load spike":
        return lambda t_s: t_s * capacity_per_s
    low, ends_s = capacity_per_s * (1.0 - trigger.depth), trigger.length_s
    return lambda t_s: t_s * low if t_s <= ends_s else ends_s * low + (t_s - ends_s) * capacity_per_s


def _first_tries(load_per_s: float, trigger: Trigger) -> Callable[[int], float]:
    """Time of the n-th first try, in seconds."""
    if trigger.kind == "capacity cut":
        return lambda n: n / load_per_s
    high, ends_s = load_per_s * (1.0 + trigger.depth), trigger.length_s
    in_spike = high * ends_s
    return lambda n: n / high if n <= in_spike else ends_s + (n - in_spike) / load_per_s


def closed_recovery_s(service: RetryingService, load_per_s: float, outage_s: float) -> float | None:
    """Seconds from the restore until sends stop timing out, after an outage in which nothing was served.

    A fluid: at the restore the queue holds everything sent in the outage, first tries and retries; it falls to the
    length that takes one timeout to serve. For one retry this is ``(load (2 outage - timeout) - capacity timeout) /
    (capacity - 2 load)``. Where retries alone can keep the queue up, the fluid decides by the queue at its shortest, and
    :func:`fluid_fatal_outage_s` is up to 6 % off; the event model decides such cases.

    Returns:
        ``None`` for never.

    Raises:
        ModelError: a value out of its range.

    Source: HotOS 2021, its example; the form is docs/model.md section 3.
    """
    load, outage = number("load_per_s", load_per_s, above=0.0), number("outage_s", outage_s)
    capacity, timeout = service.capacity_per_s, service.timeout_s
    if load >= capacity:
        return None
    limit = service.retry_limit_per_s
    # Retries of the k-th round start k timeouts after the trigger; each round adds the load again, up to the limit.
    rounds = [load * k if limit is None else min(load * k, limit) for k in range(service.retries + 1)]
    queue = 0.0
    for k, retries_per_s in enumerate(rounds):
        ends_s = (k + 1) * timeout if k < service.retries else outage
        queue += (load + retries_per_s) * max(0.0, min(ends_s, outage) - k * timeout)
    at_s, patience = outage, capacity * timeout
    for k, retries_per_s in enumerate(rounds):
        ends_s = (k + 1) * timeout
        is_last = k == service.retries
        if ends_s <= at_s and not is_last:
            continue
        falls_by = capacity - load - retries_per_s
        if queue <= patience:
            return at_s - outage
        if is_last:
            return at_s - outage + (queue - patience) / falls_by if falls_by > 1e-12 * capacity else None
        reached_s = at_s + (queue - patience) / falls_by if falls_by > 0.0 else None
        if reached_s is not None and reached_s <= ends_s:
            return reached_s - outage
        queue -= falls_by * (ends_s - at_s)
        at_s = ends_s
    raise AssertionError("the last round always returns")


def fluid_fatal_outage_s(service: RetryingService, load_per_s: float) -> float | None:
    """A first estimate of the shortest outage after which the service stays down, in seconds.

    For one retry ``timeout (1 + capacity / load) / 2``: the outage whose first tries and retries fill one timeout of
    service. It ignores what the retries of the outage do after it, and is up to 6 % off.

    Returns:
        ``None`` where no outage is fatal; 0 where the load is too much without one.

    Raises:
        ModelError: a value out of its range.

    Source: HotOS 2021, its example, as a fluid.
    """
    load = number("load_per_s", load_per_s, above=0.0)
    if load >= service.capacity_per_s:
        return 0.0
    if failing_attempts_per_s(service, load) < service.capacity_per_s:
        return None
    queue, limit = 0.0, service.retry_limit_per_s
    needed = service.capacity_per_s * service.timeout_s
    for k in range(service.retries + 1):
        grows_by = load + (load * k if limit is None else min(load * k, limit))
        if k == service.retries or queue + grows_by * service.timeout_s >= needed:
            return k * service.timeout_s + (needed - queue) / grows_by
        queue += grows_by * service.timeout_s
    raise AssertionError("the last round always returns")


def failing_attempts_per_s(service: RetryingService, load_per_s: float) -> float:
    """Attempts a second while every attempt times out."""
    retries, limit = service.retries * number("load_per_s", load_per_s), service.retry_limit_per_s
    return load_per_s + (retries if limit is None else min(retries, limit))
