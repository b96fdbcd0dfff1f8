"""What the audit looks at: every backlog and fleet of a team beside the exported settings that belong to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

from afterload import limits
from afterload.estimates import Estimates, FleetEstimate, QueueEstimate, estimate_queue
from afterload.findings.audit.links import (
    Ambiguous,
    function_of,
    group_key,
    group_of,
    invoke_of,
    mapping_of,
    queue_of,
    source_of,
    tail,
)
from afterload.findings.phrases import where
from afterload.readers.reading import Inventory, Origin, Resource, Value
from afterload.scenario import Queue
from afterload.scenario.schema import DrainCap

__all__ = ["Backlog", "Facts", "Group", "Setting", "is_configured", "number"]

Kind: TypeAlias = Literal["sqs", "async", "stream", "other"]
_KINDS: dict[str, Kind] = {"sqs-lambda": "sqs", "lambda-async": "async", "stream-lambda": "stream"}


def number(value: Value) -> float | None:
    """A value as a number; None for anything that is none."""
    return None if isinstance(value, bool) or not isinstance(value, int | float) else float(value)


@dataclass(frozen=True)
class Setting:
    """One setting as an export or the scenario shows it.

    Attributes:
        value: in the unit that the attribute's name ends with; None: unset.
        where: file, place and date, or the line of the scenario.
        origin: where in an export; None for a setting of the scenario.
    """

    value: Value
    where: str
    origin: Origin | None = None

    @property
    def number(self) -> float | None:
        """The value as a number."""
        return number(self.value)


@dataclass(frozen=True)
class Backlog:
    """Work that waits, with its consumer: a queue of the scenario, exported resources, or both.

    Attributes:
        name: name of the queue in the scenario; empty for resources that no queue of it names.
        target: what findings about it name.
        kind: what delivers its work.
        stated: its recovery as the scenario states it; None without a queue of the scenario.
        today: the same with what exports show in place of what the scenario states.
        mapping, queue, function, invoke: its exported event source mapping, queue, function and asynchronous
            configuration; None where no export shows it.
        function_name: name of its function; empty if not known.
        rivals: mappings that fit the queue equally, so that none was taken.
    """

    name: str
    target: str
    kind: Kind
    stated: QueueEstimate | None = None
    today: QueueEstimate | None = None
    mapping: Resource | None = None
    queue: Resource | None = None
    function: Resource | None = None
    invoke: Resource | None = None
    function_name: str = ""
    rivals: tuple[str, ...] = ()

    @property
    def uuid(self) -> str | None:
        """UUID of its mapping, exported or as the scenario names it."""
        if self.mapping is not None:
            return self.mapping.name
        return self.stated.queue.resources.event_source_mapping if self.stated else None

    @property
    def is_stopped(self) -> bool:
        """True if an export shows that nothing works it off: its mapping is disabled."""
        state = self.mapping.get("state") if self.mapping else None
        return isinstance(state, str) and state.startswith("Disab")

    @property
    def is_fifo(self) -> bool:
        """True if it is a FIFO queue."""
        return bool(self.queue and self.queue.get("fifo")) or bool(
            self.mapping and source_of(self.mapping).endswith(".fifo")
        )

    @property
    def ask_for_queue(self) -> str:
        """What joins these resources to a queue of the scenario, for what cannot be computed without it."""
        if self.mapping is not None:
            return f"a queue of the scenario with resources.event_source_mapping: {self.mapping.name}"
        if self.function_name:
            return f"a queue of the scenario with resources.function: {self.function_name}"
        return f"a queue of the scenario with the resources of {self.target}"


@dataclass(frozen=True)
class Group:
    """An Auto Scaling group and the fleet of the scenario that it is; either may be missing.

    Attributes:
        target: what findings about it name.
        fleet: the fleet with its estimates; None if the scenario names none.
        group: the exported group; None if no export shows it.
        name: name of the group; empty if not known.
    """

    target: str
    fleet: FleetEstimate | None
    group: Resource | None
    name: str

    def names(self, attribute: str) -> frozenset[str]:
        """The names in an attribute that holds several; empty where it is unset or not exported."""
        value = self.group.get(attribute) if self.group else None
        return frozenset(value) if isinstance(value, tuple) else frozenset()

    @property
    def paused_in_plan(self) -> frozenset[str]:
        """Automation that a recovery already starts with paused, as the scenario states."""
        automation = self.fleet.fleet.removal_automation if self.fleet else None
        return frozenset(entry.name for entry in automation or () if entry.paused)

    @property
    def ask_for_fleet(self) -> str:
        """What joins the group to a fleet of the scenario."""
        return f"a fleet of the scenario with resources.auto_scaling_group: {self.name}"


@dataclass(frozen=True)
class Facts:
    """The estimates of a team beside an inventory of its exported settings."""

    estimates: Estimates
    inventory: Inventory

    def setting(self, resource: Resource | None, attribute: str) -> Setting | None:
        """An exported setting with its place and date; None if no export shows it."""
        seen = resource.seen(attribute) if resource is not None else None
        return None if seen is None else Setting(seen.value, self.place(seen.origin), seen.origin)

    def place(self, origin: Origin) -> str:
        """File, place and date of an export: ``mappings.json EventSourceMappings[0], 2026-08-01``."""
        zone = self.estimates.loaded.scenario.time_zone
        unset = ", unset: the service's own" if origin.basis == "default" else ""
        return f"{origin}, {origin.exported_at.astimezone(zone):%Y-%m-%d}{unset}"

    def origin(self, resource: Resource | None) -> Origin | None:
        """Where the newest of a resource's settings stood: who manages it."""
        if resource is None:
            return None
        return max((item.origin for item in resource.observations), key=lambda origin: origin.exported_at, default=None)

    def stated(self, *path: str | int) -> str:
        """Where the scenario states a value: ``orders.yaml line 14``, or that it does not and no export was given."""
        found = where(self.estimates.loaded, *path)
        return "not exported, and not in the scenario" if found == "default" else f"{found}; not exported"

    @cached_property
    def backlogs(self) -> tuple[Backlog, ...]:
        """Queues of the scenario in their order, then exported resources that none of them names, by name."""
        named = self._today([self._of_scenario(name) for name in self.estimates.queues])
        taken = {(each.kind, each.name) for item in named for each in (item.mapping, item.invoke, item.queue) if each}
        unnamed = [item for item in self.inventory.of("lambda.mapping") if (item.kind, item.name) not in taken]
        rest = [self._of_mapping(item) for item in unnamed]
        taken |= {(item.queue.kind, item.queue.name) for item in rest if item.queue is not None}
        rest += [
            self._of_invoke(item)
            for item in self.inventory.of("lambda.async")
            if (item.kind, item.name) not in taken and is_configured(item)
        ]
        rest += [
            Backlog("", f"queue {item.name}", "sqs", queue=item)
            for item in self.inventory.of("sqs.queue")
            if (item.kind, item.name) not in taken and item.name not in self.dead_letter_queues
        ]
        return (*named, *rest)

    @cached_property
    def dead_letter_queues(self) -> frozenset[str]:
        """Names of queues that another exported queue sends its failures to."""
        targets = (queue.get("redrive_target") for queue in self.inventory.of("sqs.queue"))
        return frozenset(tail(str(target)) for target in targets if target)

    def _of_scenario(self, name: str) -> Backlog:
        stated = self.estimates.queues[name]
        queue, names = stated.queue, stated.queue.resources
        found = mapping_of(self.inventory, queue)
        mapping = found if isinstance(found, Resource) else None
        function = tail(names.function) or tail(str(mapping.get("function") or "") if mapping else "")
        kind = _KINDS.get(queue.service, "other")
        exported = queue_of(self.inventory, names.queue_url, source_of(mapping) if mapping else None)
        return Backlog(
            name=name,
            target=f"queues.{name}",
            kind=kind,
            stated=stated,
            today=stated,
            mapping=mapping,
            queue=exported if kind in ("sqs", "other") else None,
            function=function_of(self.inventory, function) if function else None,
            invoke=invoke_of(self.inventory, function) if kind == "async" and function else None,
            function_name=function,
            rivals=found.names if isinstance(found, Ambiguous) else (),
        )

    def _today(self, named: list[Backlog]) -> list[Backlog]:
        """The queues of the scenario with what exports show: each alone, and of the others on its dependency."""
        changes = {item.name: _exported(item.stated.queue, item) for item in named if item.stated is not None}
        queues = {
            item.name: item.stated.queue.model_copy(update=changes[item.name])
            for item in named
            if item.stated is not None
        }
        called = {name: {call.dependency for call in queue.all_calls} for name, queue in queues.items()}
        shared = {each for name, changed in changes.items() if changed for each in called[name]}
        return [
            replace(item, today=estimate_queue(self.estimates.loaded, item.name, queues[item.name], queues))
            if changes[item.name] or called[item.name] & shared
            else item
            for item in named
        ]

    def _of_mapping(self, mapping: Resource) -> Backlog:
        source = mapping.get("source_kind")
        function = tail(str(mapping.get("function") or ""))
        return Backlog(
            name="",
            target=f"mapping {mapping.name}",
            kind="sqs" if source == "sqs" else "stream" if source in ("kinesis", "dynamodb", "kafka") else "other",
            mapping=mapping,
            queue=queue_of(self.inventory, source_of(mapping)) if source == "sqs" else None,
            function=function_of(self.inventory, function) if function else None,
            function_name=function,
        )

    def _of_invoke(self, invoke: Resource) -> Backlog:
        name = tail(invoke.name).partition(":")[0]
        function = function_of(self.inventory, name)
        target = f"function {invoke.name}"
        return Backlog("", target, "async", function=function, invoke=invoke, function_name=name)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Fleets of the scenario in their order, then exported groups that none of them names, by name."""
        named = []
        for name, item in self.estimates.fleets.items():
            given = item.fleet.resources.auto_scaling_group
            named.append(Group(f"fleets.{name}", item, group_of(self.inventory, given), group_key(given)))
        taken = {item.group.name for item in named if item.group is not None}
        rest = (
            Group(f"group {group.name}", None, group, group.name)
            for group in self.inventory.of("autoscaling.group")
            if group.name not in taken
        )
        return (*named, *rest)

    @cached_property
    def account_concurrency(self) -> tuple[int, str]:
        """Concurrency of all functions together, and where it is from; the least of several exported ones."""
        seen = [self.setting(item, "concurrency") for item in self.inventory.of("lambda.account")]
        known = [(int(item.number), item.where) for item in seen if item is not None and item.number]
        if not known:
            return limits.whole("lambda.account_concurrency.default"), "the service's default, not exported"
        return min(known)

    @cached_property
    def reserved(self) -> dict[str, int]:
        """Reserved concurrency of each exported function that has one, by name."""
        found: dict[str, int] = {}
        for item in self.inventory.of("lambda.function"):
            value = number(item.get("reserved_concurrency"))
            if value is not None:
                found[item.name.partition(":")[0]] = int(value)
        return found

    def of_kind(self, *kinds: Kind) -> Iterator[Backlog]:
        """Backlogs of some kinds."""
        return (item for item in self.backlogs if item.kind in kinds)

    def queue_url(self, backlog: Backlog) -> str | None:
        """URL of a backlog's queue: exported, or as the scenario names it."""
        url = backlog.queue.get("url") if backlog.queue else None
        if isinstance(url, str):
            return url
        return backlog.stated.queue.resources.queue_url if backlog.stated else None


def is_configured(invoke: Resource) -> bool:
    """True if an export shows an asynchronous configuration that somebody made, and not the service's defaults alone."""
    return any(item.origin.basis == "measured" and item.value is not None for item in invoke.observations)


def _exported(queue: Queue, backlog: Backlog) -> dict[str, Any]:
    """Fields of a scenario's queue that exports show to be otherwise."""
    changes: dict[str, Any] = {}

    def take(resource: Resource | None, attribute: str, field: str, factor: float = 1.0) -> None:
        seen = resource.seen(attribute) if resource is not None else None
        if seen is None:
            return
        value = number(seen.value)
        given = None if value is None or value < 0 else value * factor
        if given != getattr(queue, field):
            changes[field] = given

    if backlog.kind == "sqs":
        seen = backlog.mapping.seen("maximum_concurrency") if backlog.mapping else None
        if seen is not None and queue.item_time_s is not None:
            value = number(seen.value)
            cap = None if not value else DrainCap(concurrency=int(value))
            if cap != queue.drain_cap:
                changes["drain_cap"] = cap
    if backlog.kind in ("sqs", "other"):
        take(backlog.queue, "retention_s", "retention_min", 1 / 60)
        seen = backlog.queue.seen("max_receive_count") if backlog.queue else None
        if seen is not None:
            value = number(seen.value)
            changes["max_receives"] = None if not value else int(value)
    if backlog.kind == "async":
        take(backlog.invoke, "max_event_age_s", "age_limit_min", 1 / 60)
        _destination(changes, queue, backlog.invoke, backlog.function)
    if backlog.kind == "stream":
        take(backlog.mapping, "max_record_age_s", "age_limit_min", 1 / 60)
        _destination(changes, queue, backlog.mapping, None)
        seen = backlog.mapping.seen("max_retry_attempts") if backlog.mapping else None
        if seen is not None and queue.stream is not None:
            value = number(seen.value)
            retries = None if value is None or value < 0 else int(value)
            if retries != queue.stream.retries:
                changes["stream"] = queue.stream.model_copy(update={"retries": retries})
    return {key: value for key, value in changes.items() if value != getattr(queue, key)}


def _destination(changes: dict[str, Any], queue: Queue, resource: Resource | None, function: Resource | None) -> None:
    """Where expired work is recorded: a destination, or for asynchronous events the function's dead-letter target."""
    seen = resource.seen("on_failure") if resource is not None else None
    target = function.get("dead_letter_target") if function is not None else None
    if seen is not None or target:
        changes["on_failure_destination"] = str((seen.value if seen else None) or target or "") or None
