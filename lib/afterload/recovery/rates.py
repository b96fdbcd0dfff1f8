"""The rates of a recovery: room at a dependency, caps, what consumers do, attempts while calls fail."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from afterload import limits
from afterload.clients import ClientKind, client_kinds
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
from afterload.scenario import Dependency, Queue, Scenario
from afterload.scenario.schema import StreamShards
from afterload.units import format_rate

__all__ = [
    "USUAL_ATTEMPTS",
    "CapEstimate",
    "ClientRetries",
    "Consumers",
    "Room",
    "beside",
    "cap_steps",
    "client_retries",
    "consumers",
    "consumers_rate",
    "direct_attempts",
    "estimate_cap",
    "highest_cap",
    "mean_attempts",
    "operated_rate",
    "own_ramp",
    "part_of_room",
    "queue_attempts",
    "room_at",
    "stack_attempts",
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


def client_retries(scenario: Scenario, dependency: str, doubts: list[Doubt] | None = None) -> ClientRetries:
    """How all clients of a dependency retry while every call fails: each kind by its own policy."""
    found = ClientRetries()
    for kind in client_kinds(scenario):
        if kind.client.dependency == dependency:
            found = found.with_kind(kind, [] if doubts is None else doubts)
    return found


def stack_attempts(scenario: Scenario, dependency: str) -> float | None:
    """Attempts that one call at the top of a call stack costs its dependency; of several stacks the most, None without one."""
    products = (
        float(math.prod(layer.tries for layer in stack.layers))
        for stack in scenario.call_stacks.values()
        if stack.dependency == dependency
    )
    return max(products, default=None)


def direct_attempts(scenario: Scenario, dependency: str, doubts: list[Doubt] | None = None) -> float:
    """Attempts that one direct request costs while its dependency fails."""
    given = scenario.dependencies[dependency].attempts_while_failing
    if given is not None:
        return max(1.0, given)
    known = (client_retries(scenario, dependency).attempts, stack_attempts(scenario, dependency))
    found = max((value for value in known if value is not None), default=None)
    if found is None and doubts is not None:
        words = f"no client or call stack says how often a failing call is tried: {USUAL_ATTEMPTS:g} attempts assumed"
        doubts.append(Doubt(MissingEvidenceWarning, f"{dependency}: {words}"))
    return max(1.0, USUAL_ATTEMPTS if found is None else found)


def queue_attempts(scenario: Scenario, name: str) -> float:
    """Attempts that one item of a queue costs while its dependency fails: as given, else as the clients there try."""
    queue = scenario.queues[name]
    given = queue.attempts_while_failing
    if given is None and queue.dependency is not None:
        given = client_retries(scenario, queue.dependency).attempts
    return max(1.0, USUAL_ATTEMPTS if given is None else given)


def mean_attempts(scenario: Scenario, dependency: str) -> float:
    """Attempts of one request while a dependency fails, the mean over direct traffic and all drains at their rates."""
    room, direct = room_at(scenario, dependency), direct_attempts(scenario, dependency)
    costs = [(room.direct_per_min + room.control_per_min, direct)]
    costs += [
        (consumers_rate(queue), queue_attempts(scenario, name))
        for name, queue in scenario.queues.items()
        if queue.dependency == dependency
    ]
    total = sum(rate for rate, _ in costs)
    return sum(rate * each for rate, each in costs) / total if total > 0 else direct


@dataclass(frozen=True)
class Room:
    """What operators may use of a dependency beside its other traffic. Rates a minute.

    Attributes:
        dependency: its name.
        tested_per_min: what it was tested to bear, whatever its capacity is believed to be.
        direct_per_min, control_per_min: direct and control-loop traffic, which come before any drain.
        drain_share: share of the rest that drains get.
    """

    dependency: str
    tested_per_min: float
    direct_per_min: float = 0.0
    control_per_min: float = 0.0
    drain_share: float = 1.0

    @property
    def free_per_min(self) -> float:
        """What other traffic leaves."""
        return max(0.0, self.tested_per_min - self.direct_per_min - self.control_per_min)

    @property
    def room_per_min(self) -> float:
        """What all drains may have together."""
        return self.drain_share * self.free_per_min


def operated_rate(item: Dependency) -> float:
    """Requests a minute up to which operators may load a dependency: what it was tested to bear."""
    return item.tested_rate_per_min


def room_at(scenario: Scenario, name: str) -> Room:
    """The room at a dependency."""
    item = scenario.dependencies[name]
    share = scenario.admission.drain_share
    return Room(name, operated_rate(item), item.direct_rate_per_min, item.control_rate_per_min, share)


def beside(scenario: Scenario, name: str) -> tuple[str, ...]:
    """The other queues that drain into the dependency of a queue."""
    dependency = scenario.queues[name].dependency
    return tuple(
        other
        for other, each in scenario.queues.items()
        if other != name and dependency is not None and each.dependency == dependency
    )


def part_of_room(scenario: Scenario, name: str) -> float:
    """What a queue may send to its dependency while it and all others there drain: by what the consumers of each do.

    Infinite for a queue that calls none.
    """
    queue = scenario.queues[name]
    if queue.dependency not in scenario.dependencies:
        return math.inf
    room, mine = room_at(scenario, queue.dependency).room_per_min, consumers_rate(queue)
    total = mine + sum(consumers_rate(scenario.queues[other]) for other in beside(scenario, name))
    return room * mine / total if total > 0 else room


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


@dataclass(frozen=True)
class Consumers:
    """What the consumers of a queue do at most while every part of it has a backlog, and what binds them.

    ``bounds`` holds items a minute by what allows no more: ``service rate``, and as far as the scenario has them ``cap``,
    ``reserved concurrency``, ``pollers``, ``ramp`` (its end) and ``batches``.
    """

    bounds: Mapping[str, float]

    @property
    def rate_per_min(self) -> float:
        """The least of all bounds."""
        return min(self.bounds.values())

    @property
    def bound_by(self) -> str:
        """Which bound that is."""
        return min(self.bounds, key=lambda name: self.bounds[name])


def consumers(queue: Queue) -> Consumers:
    """What the consumers of a queue do without a cap of the recovery."""
    bounds = {"service rate": queue.service_rate_per_min}
    if queue.item_time_s is not None:
        pollers = queue.provisioned_pollers
        at_once: dict[str, float | None] = {
            "cap": queue.drain_cap.concurrency if queue.drain_cap else None,
            "reserved concurrency": queue.reserved_concurrency,
            "pollers": pollers.concurrency if pollers else None,
            "ramp": None,
        }
        if queue.ramp is not None:
            at_once["ramp"] = queue.ramp.ceiling if queue.ramp.per_min > 0 else queue.ramp.start
        bounds |= {
            name: cap_rate_per_min(most, queue.item_time_s) for name, most in at_once.items() if most is not None
        }
    if queue.stream is not None:
        bounds["batches"] = stream_of(queue.stream).service_rate_per_min
    return Consumers(bounds)


def consumers_rate(queue: Queue) -> float:
    """Items a minute that the consumers of a queue do without a cap of the recovery."""
    return consumers(queue).rate_per_min


def highest_cap(room_per_min: float, item_time_s: float, steps: CapSteps | None) -> int:
    """The highest number of items at once that can be set and stays within a room; 0 where none does.

    ``steps`` are what a cap can be; None for any whole number.
    """
    if steps is None:
        return highest_safe_cap(room_per_min, 0.0, item_time_s)
    at_once = round(steps.each_per_min * item_time_s / 60)
    number = min(highest_safe_cap(room_per_min, 0.0, item_time_s) // at_once, steps.highest)
    return int(number) * at_once if number >= steps.least else 0


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


def estimate_cap(scenario: Scenario, name: str) -> CapEstimate | None:
    """What a queue's dependency leaves for its drain; None where the scenario does not say."""
    queue = scenario.queues[name]
    if queue.dependency not in scenario.dependencies:
        return None
    room, part = room_at(scenario, queue.dependency), part_of_room(scenario, name)
    safe = safe_rate = passes = None
    if queue.item_time_s is not None:
        safe = highest_cap(part, queue.item_time_s, cap_steps(queue))
        safe_rate = cap_rate_per_min(safe, queue.item_time_s)
        ramp = _ramp(queue)
        if ramp is not None:
            passes = ramp_passes_after_s(ramp, queue.item_time_s, part)
    return CapEstimate(
        room.dependency, room.tested_per_min, room.direct_per_min, room.room_per_min, part, safe, safe_rate, passes,
        consumers_rate(queue), beside(scenario, name), room.control_per_min,
    )  # fmt: skip


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


def stream_of(shape: StreamShards) -> Stream:
    """A stream as the model takes it."""
    return Stream(
        shape.shards, shape.parallelisation, shape.batch_size, shape.batch_time_s, hottest_share=max(shape.spread)
    )
