"""The rates of a recovery: room at a dependency, caps, what consumers do, attempts while calls fail."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from afterload import limits
from afterload.clients import ClientKind
from afterload.errors import MissingEvidenceWarning
from afterload.model.backlog import (
    Ramp,
    Stream,
    cap_rate_per_min,
    highest_safe_cap,
    ramp_passes_after_s,
)
from afterload.model.coupled import (
    CapSteps,
)
from afterload.recovery.doubts import Doubt
from afterload.scenario import Dependency, LoadedScenario, Queue
from afterload.scenario.schema import StreamShards
from afterload.units import format_rate

__all__ = [
    "USUAL_ATTEMPTS",
    "CapEstimate",
    "ClientRetries",
    "cap_steps",
    "consumers_rate",
    "estimate_cap",
    "own_ramp",
    "room_beside",
    "sharing_queues",
    "stream_of",
]

# Attempts of a client that the scenario does not describe: the standard mode of the common SDKs.
USUAL_ATTEMPTS = 3.0


@dataclass(frozen=True)
class ClientRetries:
    """All clients of one dependency while every call fails.

    Attributes:
        attempts: attempts a call of the most eager kind; None: no client is described.
        held: retries that the limits of all clients let through before they bind; infinite without a limit.
        sustained: attempts a call of the most eager kind after that.
        successes: first-try successes that bring ``held`` back; 0 where none do.
    """

    attempts: float | None = None
    held: float = 0.0
    sustained: float = 1.0
    successes: float = 0.0

    @property
    def refill_per_success(self) -> float:
        """Retries that one success brings back."""
        return self.held / self.successes if self.successes > 0 and math.isfinite(self.held) else 0.0

    def with_kind(self, kind: ClientKind, doubts: list[Doubt]) -> ClientRetries:
        """These clients and one more kind; what had to be assumed of it is added to the doubts."""
        view = kind.view(1.0)
        number = kind.client.number
        if kind.policy is None:
            attempts = sustained = USUAL_ATTEMPTS
            held, successes = math.inf, 0.0
            words = f"how often it tries a call is not known: {attempts:g} attempts without a limit assumed"
            doubts.append(Doubt(MissingEvidenceWarning, f"clients.{kind.name}: {words}"))
        elif view is None:
            # At a very high call rate only the share of the traffic counts, which every rate allows.
            attempts = sustained = max(1.0, kind.policy.sustained(replace(kind.load(1.0), calls_per_s=1e9)) or 1.0)
            held, successes = 0.0, 0.0
            words = f"no calls are given, so its limit is taken at {attempts:.3g} attempts a call from the start"
            doubts.append(Doubt(MissingEvidenceWarning, f"clients.{kind.name}: {words}"))
        else:
            held = math.inf if view.burst_retries is None else view.burst_retries
            # Without a count one failing call can use up all that a client holds.
            attempts = 1.0 + held / number if view.open_loop is None else view.open_loop
            sustained = max(1.0, view.sustained or 1.0)
            successes = number * (view.successes_to_refill or 0.0)
        return ClientRetries(
            max(self.attempts or 0.0, attempts),
            self.held + held,
            max(self.sustained, sustained),
            self.successes + successes,
        )


def room_beside(loaded: LoadedScenario, dependency: str) -> float:
    """Items a minute that a dependency bears beside its control and direct traffic."""
    item = loaded.scenario.dependencies[dependency]
    bears = item.capacity_per_min or item.tested_rate_per_min
    return max(0.0, bears - item.control_rate_per_min - item.direct_rate_per_min)


def cap_steps(queue: Queue) -> CapSteps | None:
    """What a cap on the consumers of a queue can be: whole items at once, or pollers, within the bounds of the service.

    None where the scenario has no ``item_time``, and for a stream's mapping: that takes no concurrency, so a rate holds it.
    """
    if queue.item_time_s is None or queue.service == "stream-lambda":
        return None
    each = cap_rate_per_min(1.0, queue.item_time_s)
    if queue.service != "sqs-lambda":
        return CapSteps(each)
    if queue.provisioned_pollers is not None:
        pollers = limits.whole("lambda.sqs.pollers.minimum"), limits.whole("lambda.sqs.pollers.maximum")
        return CapSteps(limits.whole("lambda.sqs.poller.concurrency") * each, *pollers)
    bounds = (limits.whole(f"lambda.sqs.max_concurrency.{end}") for end in ("minimum", "maximum"))
    return CapSteps(each, *bounds)


def consumers_rate(queue: Queue) -> float:
    """What the consumers of a queue do at most without a cap of the recovery: by their rate, their limits and their ramp."""
    rate = queue.service_rate_per_min
    if queue.item_time_s is not None:
        for most in (queue.concurrency_limit, queue.ramp.ceiling if queue.ramp is not None else None):
            if most is not None:
                rate = min(rate, cap_rate_per_min(float(most), queue.item_time_s))
    return rate


@dataclass(frozen=True)
class CapEstimate:
    """What a queue may send to its dependency, and what a concurrency cap makes of it. Rates in items a minute.

    Attributes:
        dependency, tested_rate_per_min, direct_rate_per_min: the dependency, what it was tested to, its direct traffic.
        room_per_min: what direct and control traffic leave of the tested rate, for all queues that drain into it.
        part_per_min: this queue's part of the room, by what each of these queues can drain.
        safe_concurrency, safe_rate_per_min: the highest cap within that part; None without ``item_time``.
        ramp_passes_room_after_s: seconds until an uncapped ramp passes that part; None if it never does.
        drain_rate_per_min: what its consumers can drain today, cap and ramp included.
        others: the other queues that drain into the dependency.
        control_rate_per_min: control-loop traffic of the dependency, which goes first.
    """

    dependency: str
    tested_rate_per_min: float
    direct_rate_per_min: float
    room_per_min: float
    part_per_min: float
    safe_concurrency: int | None
    safe_rate_per_min: float | None
    ramp_passes_room_after_s: float | None
    drain_rate_per_min: float
    others: tuple[str, ...] = ()
    control_rate_per_min: float = 0.0

    @property
    def beside_words(self) -> str:
        """What reaches the dependency beside the queues, in words."""
        words = f"{format_rate(self.direct_rate_per_min)} of direct traffic"
        control = f" and {format_rate(self.control_rate_per_min)} of control traffic"
        return words + control if self.control_rate_per_min > 0 else words

    @property
    def overloads(self) -> bool:
        """True if all drains and direct traffic together are above what the dependency was tested to bear."""
        return self.drain_rate_per_min > self.part_per_min * (1 + 1e-9)

    @property
    def part_words(self) -> str:
        """The queue's part of the room, beside whom: ", of which its part beside labels is 3,462/min"; empty if alone."""
        if not self.others:
            return ""
        return f", of which its part beside {', '.join(self.others)} is {format_rate(self.part_per_min)}"


def estimate_cap(
    queue: Queue, dependencies: Mapping[str, Dependency], others: Mapping[str, Queue] | None = None
) -> CapEstimate | None:
    """What the queue's dependency leaves for its drain; None where the scenario does not say.

    Queues that drain into the same dependency share the room by what each can drain, so that all caps together fit.

    Parameters:
        queue: the queue.
        dependencies: all dependencies.
        others: the other queues that drain into the same one.
    """
    if queue.dependency is None or queue.dependency not in dependencies:
        return None
    dependency = dependencies[queue.dependency]
    tested, direct = dependency.tested_rate_per_min, dependency.direct_rate_per_min
    control = dependency.control_rate_per_min
    room = max(0.0, tested - direct - control)
    drain_rate = _drain_rate(queue)
    sharing = drain_rate + sum(_drain_rate(other) for other in (others or {}).values())
    part = room * drain_rate / sharing if sharing > 0 else room
    safe = safe_rate = passes = None
    if queue.item_time_s is not None:
        alone = part >= room
        safe = (
            highest_safe_cap(tested, direct + control, queue.item_time_s)
            if alone
            else highest_safe_cap(part, 0.0, queue.item_time_s)
        )
        safe_rate = cap_rate_per_min(safe, queue.item_time_s)
        ramp = _ramp(queue)
        if ramp is not None:
            passes = ramp_passes_after_s(ramp, queue.item_time_s, part)
    return CapEstimate(
        queue.dependency, tested, direct, room, part, safe, safe_rate, passes, drain_rate, tuple(others or ()), control
    )


def _drain_rate(queue: Queue) -> float:
    """What the consumers of a queue can drain, stream, cap and the ceiling of a ramp included. Items a minute."""
    rate = queue.service_rate_per_min
    if queue.stream is not None:
        rate = min(rate, stream_of(queue.stream).service_rate_per_min)
    if queue.item_time_s is not None:
        if queue.concurrency_limit is not None:
            rate = min(rate, cap_rate_per_min(queue.concurrency_limit, queue.item_time_s))
        if queue.ramp is not None:
            rate = min(rate, cap_rate_per_min(queue.ramp.ceiling, queue.item_time_s))
    return rate


def own_ramp(queue: Queue) -> Ramp | None:
    """The ramp that a queue gives, or that of its provisioned pollers."""
    if queue.ramp is not None:
        return Ramp(queue.ramp.start, queue.ramp.per_min, queue.ramp.ceiling)
    if queue.provisioned_pollers is None:
        return None
    pollers, each = queue.provisioned_pollers, limits.whole("lambda.sqs.poller.concurrency")
    return Ramp(each * pollers.minimum, limits.whole("lambda.sqs.pollers.ramp.per_min"), pollers.concurrency)


def _ramp(queue: Queue) -> Ramp | None:
    """The ramp that a queue's uncapped consumers follow: its own, or the service's."""
    own = own_ramp(queue)
    if own is not None:
        return own
    return Ramp(**limits.ramp_preset("lambda-sqs")) if queue.service == "sqs-lambda" else None


def sharing_queues(queues: Mapping[str, Queue], name: str, queue: Queue) -> dict[str, Queue]:
    """The other queues that drain into the dependency of a queue."""
    return {other: each for other, each in queues.items() if other != name and each.dependency == queue.dependency}


def stream_of(shape: StreamShards) -> Stream:
    """A stream as the model takes it."""
    return Stream(
        shape.shards, shape.parallelisation, shape.batch_size, shape.batch_time_s, hottest_share=shape.hottest_share
    )
