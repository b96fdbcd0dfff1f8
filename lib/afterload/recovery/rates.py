"""The rates of a recovery: room at a dependency, caps, what consumers do, attempts while calls fail."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from afterload import limits
from afterload.clients import ClientKind, client_kinds
from afterload.errors import MissingEvidenceWarning
from afterload.model.caps import cap_rate_per_min, highest_safe_cap, ramp_passes_after_s
from afterload.model.coupled import (
    CapSteps,
)
from afterload.model.queues import Ramp
from afterload.recovery.doubts import Doubt
from afterload.scenario import Dependency, Queue, Scenario
from afterload.scenario.bounds_schema import QueueCall, Scaling, StreamShards
from afterload.units import format_rate

__all__ = [
    "USUAL_ATTEMPTS",
    "CapEstimate",
    "ClientRetries",
    "Consumers",
    "Room",
    "batches_per_min",
    "beside",
    "cap_steps",
    "client_retries",
    "consumers",
    "consumers_rate",
    "direct_attempts",
    "estimate_cap",
    "highest_cap",
    "mean_attempts",
    "mean_backoff_s",
    "narrowest",
    "operated_rate",
    "own_ramp",
    "part_of_room",
    "queue_attempts",
    "queue_clients",
    "queue_retries",
    "replica_rate",
    "room_at",
    "stack_attempts",
]

# Attempts of a client that the scenario does not describe: the standard mode of the common SDKs.
USUAL_ATTEMPTS = 3.0
# Waits of one call that are added up: what comes after them is of another hour.
MOST_WAITS = 20


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


def _retries(kinds: Iterable[ClientKind], doubts: list[Doubt] | None = None) -> ClientRetries:
    found = ClientRetries()
    for kind in kinds:
        found = found.with_kind(kind, [] if doubts is None else doubts)
    return found


def client_retries(scenario: Scenario, dependency: str, doubts: list[Doubt] | None = None) -> ClientRetries:
    """How the clients of a dependency that are of no queue retry while every call fails: each kind by its own policy."""
    kinds = (kind for kind in client_kinds(scenario) if kind.client.dependency == dependency)
    return _retries((kind for kind in kinds if kind.client.queue is None), doubts)


def queue_clients(scenario: Scenario, name: str) -> tuple[ClientKind, ...]:
    """The clients that serve a queue: its own, else those that stand for all callers of what it calls."""
    kinds = tuple(client_kinds(scenario))
    own = tuple(kind for kind in kinds if kind.client.queue == name)
    queue = scenario.queues[name]
    return own or tuple(
        kind
        for kind in kinds
        if kind.client.queue is None and kind.client.call_stack is None and queue.calls_of(kind.client.dependency or "")
    )


def queue_retries(scenario: Scenario, name: str, doubts: list[Doubt] | None = None) -> ClientRetries:
    """How those clients retry while every call fails."""
    return _retries(queue_clients(scenario, name), doubts)


def mean_backoff_s(scenario: Scenario, name: str) -> float:
    """Seconds that one item of a queue waits between all its attempts while calls fail, the mean over its clients; 0 where their
    waits are not known.
    """
    total = waited = 0.0
    for kind in queue_clients(scenario, name):
        backoff, attempts = kind.backoff, min(kind.attempts or 1, MOST_WAITS)
        total += kind.client.number
        if backoff is not None:
            waited += kind.client.number * sum(backoff.mean_s(retry) for retry in range(1, attempts))
    return waited / total if total else 0.0


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
    given = queue.attempts_while_failing or queue_retries(scenario, name).attempts
    return max(1.0, USUAL_ATTEMPTS if given is None else given)


def mean_attempts(scenario: Scenario, dependency: str) -> float:
    """Attempts of one request while a dependency fails, the mean over direct traffic and all drains at their rates."""
    room, direct = room_at(scenario, dependency), direct_attempts(scenario, dependency)
    costs = [(room.direct_per_min + room.control_per_min, direct)]
    costs += [
        (calls * consumers_rate(queue), queue_attempts(scenario, name))
        for name, queue in scenario.queues.items()
        if (calls := queue.calls_of(dependency))
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
    """Requests a minute up to which operators may load a dependency: what it was tested to bear, or what the team gives."""
    return item.operate_up_to_per_min or item.tested_rate_per_min


def room_at(scenario: Scenario, name: str) -> Room:
    """The room at a dependency."""
    item = scenario.dependencies[name]
    share = scenario.admission.drain_share
    direct = item.direct_rate_per_min
    if item.returning_users is not None:
        direct += item.returning_users.extra_rate_per_min
    return Room(name, operated_rate(item), direct, item.control_rate_per_min, share)


def beside(scenario: Scenario, name: str) -> tuple[str, ...]:
    """The other queues that drain into a dependency of a queue."""
    called = scenario.queues[name].all_calls
    return tuple(
        other
        for other, each in scenario.queues.items()
        if other != name and any(each.calls_of(call.dependency) for call in called)
    )


def part_of_room(scenario: Scenario, name: str) -> float:
    """What a queue may do while it and all others at its dependencies drain: by what the consumers of each do, at the dependency
    that leaves it least. Items a minute; infinite for a queue that calls none.
    """
    found = [_part_at(scenario, name, call) for call in scenario.queues[name].all_calls]
    return min((part for _, part in found), default=math.inf)


def _part_at(scenario: Scenario, name: str, call: QueueCall) -> tuple[str, float]:
    room = room_at(scenario, call.dependency).room_per_min
    total = sum(each.calls_of(call.dependency) * consumers_rate(each) for each in scenario.queues.values())
    mine = consumers_rate(scenario.queues[name])
    return call.dependency, room * mine / total if total > 0 else room / call.per_item


def narrowest(scenario: Scenario, name: str) -> str | None:
    """The dependency that leaves a queue the least part of its room; None for a queue that calls none."""
    found = [_part_at(scenario, name, call) for call in scenario.queues[name].all_calls]
    return min(found, key=lambda each: each[1])[0] if found else None


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
    ``reserved concurrency``, ``pollers``, ``ramp`` (its end), ``consumers``, ``batches``, ``connection pool`` and ``autoscaler``
    (its most replicas).
    """

    bounds: Mapping[str, float]

    @property
    def rate_per_min(self) -> float:
        """The least of all bounds."""
        return min(self.bounds.values())


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
            "consumers": _busy_at_once(queue),
        }
        if queue.ramp is not None:
            at_once["ramp"] = queue.ramp.ceiling if queue.ramp.per_min > 0 else queue.ramp.start
        bounds |= {
            name: cap_rate_per_min(most, queue.item_time_s) for name, most in at_once.items() if most is not None
        }
    if queue.stream is not None and queue.stream.batch_size is not None:
        bounds["batches"] = queue.stream.shards * batches_per_min(queue.stream)
    if queue.connection_pool is not None:
        bounds["connection pool"] = cap_rate_per_min(
            queue.connection_pool.connections, queue.connection_pool.hold_time_s
        )
    if queue.autoscaler is not None:
        bounds["autoscaler"] = queue.autoscaler.most * replica_rate(queue, queue.autoscaler)
    return Consumers(bounds)


def _busy_at_once(queue: Queue) -> float | None:
    """Items in work at once at all consumers; those beyond the partitions of a stream are idle."""
    if queue.consumers is None:
        return None
    number = queue.consumers.number
    if queue.stream is not None:
        number = min(number, queue.stream.shards)
    return number * queue.consumers.at_once


def replica_rate(queue: Queue, scaler: Scaling) -> float:
    """Items a minute of one replica of an autoscaler's."""
    return scaler.rate_each_per_min or queue.service_rate_per_min / scaler.most


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
    queue, dependency = scenario.queues[name], narrowest(scenario, name)
    if dependency not in scenario.dependencies:
        return None
    room, part = room_at(scenario, dependency), part_of_room(scenario, name)
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


def batches_per_min(shape: StreamShards) -> float:
    """Items a minute that the batches of one shard let through; infinite without batches."""
    if shape.batch_size is None or shape.batch_time_s is None:
        return math.inf
    return 60.0 * shape.parallelisation * shape.batch_size / shape.batch_time_s
