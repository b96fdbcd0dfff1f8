"""What cloud settings offer for a scenario: queues from event source mappings and asynchronous functions, fleets from groups."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

from afterload import limits
from afterload.intake.proposal import Missing, Proposal, duration_text
from afterload.readers.cloud import commands_for
from afterload.readers.reading import Inventory, Observation, Remark, Resource
from afterload.scenario.schema import REMOVAL_PROCESSES
from afterload.units import format_instant
from afterload.yamltree import DataPath

__all__ = ["cloud_conflicts", "cloud_missing", "cloud_proposals"]

STREAMS = ("kinesis", "dynamodb", "kafka", "mq")


def cloud_proposals(inventory: Inventory, scenario: Mapping[str, Any]) -> list[Proposal]:
    """What the resources of an inventory say about the fields of a scenario.

    ``scenario`` is the file's raw data: a queue or fleet that names a resource under ``resources`` is matched by that,
    whatever it is called; others are named after the resource.
    """
    found: list[Proposal] = []
    for mapping in inventory.of("lambda.mapping"):
        found += _mapping(mapping, inventory, scenario)
    for function in inventory.of("lambda.async"):
        found += _async(function, inventory, scenario)
    for group in inventory.of("autoscaling.group"):
        found += _fleet(group, scenario)
    lost = {(counts.origin.file, counts.origin.place): others for counts, *others in inventory.conflicts()}
    return [_with_note(item, lost.get((item.file, item.place), [])) for item in found]


def _with_note(proposal: Proposal, others: Sequence[Observation]) -> Proposal:
    """A proposal with what other files say instead."""
    if not others:
        return proposal
    said = ", ".join(f"{item.origin.file} says {_shown(item)}" for item in others)
    return replace(proposal, note="; ".join(filter(None, (said, proposal.note))))


def cloud_conflicts(inventory: Inventory) -> list[Remark]:
    """What files say differently of one setting: each value with its file, which one counts, and why."""
    found = []
    for counts, *others in inventory.conflicts():
        what = f"{counts.kind} {counts.resource}, {counts.attribute}"
        instead = ", ".join(f"{_shown(item)} in {item.origin} ({_date(item)})" for item in others)
        is_later = all(counts.origin.exported_at > item.origin.exported_at for item in others)
        why = "it was exported last" if is_later else "of the same date, its file is given first"
        here = f"{_shown(counts)} here, {counts.origin.place} ({_date(counts)})"
        words = f"{what}: {here}, but {instead}: {_shown(counts)} counts, since {why}"
        found.append(Remark("doubt", words, counts.origin.file))
    return found


def _shown(item: Observation) -> str:
    value = item.value
    if value is None or value == ():
        return "unset"
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _date(item: Observation) -> str:
    return format_instant(item.origin.exported_at, ZoneInfo("UTC"))


def _matched(scenario: Mapping[str, Any], part: str, fallback: str, **resources: str) -> str:
    """Name of the item of a part whose resources say that it is this one; the fallback if none does."""
    items = scenario.get(part)
    for name, item in (items if isinstance(items, dict) else {}).items():
        given = item.get("resources") if isinstance(item, dict) else None
        if isinstance(given, dict) and any(given.get(key) == value for key, value in resources.items() if value):
            return str(name)
    return fallback


def _last(arn: object) -> str:
    """The name at the end of an ARN: of a function without its alias, of a stream without its date."""
    text = str(arn or "")
    if ":function:" in text:
        return text.split(":function:", 1)[1].split(":", 1)[0]
    if ":table/" in text:
        return text.split(":table/", 1)[1].split("/", 1)[0]
    return text.rsplit(":", 1)[-1].rsplit("/", 1)[-1]


def _source_name(mapping: Resource) -> str:
    """Name of the queue or stream that a mapping reads: a plan may know the name before it knows the ARN."""
    return str(mapping.get("queue") or _last(mapping.get("event_source")) or "")


def _mapping(mapping: Resource, inventory: Inventory, scenario: Mapping[str, Any]) -> Iterator[Proposal]:
    kind, source = mapping.get("source_kind"), mapping.seen("event_source")
    function = mapping.seen("function")
    read = _source_name(mapping)
    if source is None or not read or (kind != "sqs" and kind not in STREAMS):
        return
    uuid, called = mapping.name, _last(function.value if function else "")
    name = _matched(scenario, "queues", read, event_source_mapping=uuid)
    head: DataPath = ("queues", name)
    yield Proposal.seen((*head, "service"), "sqs-lambda" if kind == "sqs" else "stream-lambda", source.origin)
    if function is not None and called:
        yield Proposal.seen((*head, "resources", "function"), called, function.origin)
    if "." not in uuid:
        yield Proposal.seen((*head, "resources", "event_source_mapping"), uuid, source.origin)
    if kind == "sqs":
        yield from _sqs(head, mapping, read, inventory)
    else:
        yield from _stream(head, mapping)
    reserved = _seen(inventory, "lambda.function", called, "reserved_concurrency")
    if reserved is not None and reserved.value is not None:
        yield Proposal.seen((*head, "reserved_concurrency"), reserved.value, reserved.origin)


def _sqs(head: DataPath, mapping: Resource, queue: str, inventory: Inventory) -> Iterator[Proposal]:
    cap = mapping.seen("maximum_concurrency")
    if cap is not None and cap.value is None:
        yield Proposal.seen((*head, "drain_cap"), "none", cap.origin, "no MaximumConcurrency: the mapping is uncapped")
    elif cap is not None:
        yield Proposal.seen((*head, "drain_cap"), {"concurrency": cap.value}, cap.origin)
    least, most = (mapping.seen(f"provisioned_{end}") for end in ("minimum", "maximum"))
    if least is not None and most is not None and least.value is not None and most.value is not None:
        pollers = {"minimum": least.value, "maximum": most.value}
        yield Proposal.seen((*head, "provisioned_pollers"), pollers, most.origin)
    retention = _seen(inventory, "sqs.queue", queue, "retention_s")
    if retention is not None and isinstance(retention.value, int | float):
        yield _duration((*head, "retention"), retention, "sqs.retention_s.default")
    visible = _seen(inventory, "sqs.queue", queue, "visibility_timeout_s")
    if visible is not None and isinstance(visible.value, int | float):
        yield _duration((*head, "visibility_timeout"), visible, "sqs.visibility_timeout_s.default")
    url = _seen(inventory, "sqs.queue", queue, "url")
    if url is not None and url.value:
        yield Proposal.seen((*head, "resources", "queue_url"), url.value, url.origin)
    receives = _seen(inventory, "sqs.queue", queue, "max_receive_count")
    if receives is not None:
        yield Proposal.seen(
            (*head, "max_receives"), "none" if receives.value is None else receives.value, receives.origin
        )


def _stream(head: DataPath, mapping: Resource) -> Iterator[Proposal]:
    age = mapping.seen("max_record_age_s")
    if age is not None and isinstance(age.value, int | float):
        if age.value < 0:
            yield Proposal.seen((*head, "age_limit"), "none", age.origin, "record age -1: no limit")
        else:
            yield _duration((*head, "age_limit"), age)
    retries = mapping.seen("max_retry_attempts")
    if retries is not None and isinstance(retries.value, int):
        without_end = retries.value < 0
        value = "none" if without_end else retries.value
        yield Proposal.seen(
            (*head, "stream", "retries"), value, retries.origin, "-1: without end" if without_end else ""
        )
    for attribute, field in (("parallelization_factor", "parallelisation"), ("batch_size", "batch_size")):
        seen = mapping.seen(attribute)
        if seen is not None and seen.value is not None:
            yield Proposal.seen((*head, "stream", field), seen.value, seen.origin)
    yield from _destination(head, mapping)


def _async(function: Resource, inventory: Inventory, scenario: Mapping[str, Any]) -> Iterator[Proposal]:
    queues = scenario.get("queues")
    called = function.name.split(":", 1)[0]
    name = f"{called}-async"
    for queue, item in (queues if isinstance(queues, dict) else {}).items():
        given = item.get("resources") if isinstance(item, dict) else None
        if isinstance(given, dict) and item.get("service") == "lambda-async" and given.get("function") == called:
            name = str(queue)
    head: DataPath = ("queues", name)
    if not function.observations:
        return
    origin = function.observations[0].origin
    yield Proposal.seen((*head, "service"), "lambda-async", origin)
    yield Proposal.seen((*head, "resources", "function"), called, origin)
    age = function.seen("max_event_age_s")
    if age is not None and isinstance(age.value, int | float):
        yield _duration((*head, "age_limit"), age, "lambda.async.max_age_s.default")
    yield from _destination(head, function)


def _destination(head: DataPath, resource: Resource) -> Iterator[Proposal]:
    seen = resource.seen("on_failure")
    if seen is not None:
        yield Proposal.seen((*head, "on_failure_destination"), seen.value or "none", seen.origin)


def _fleet(group: Resource, scenario: Mapping[str, Any]) -> Iterator[Proposal]:
    name = _matched(scenario, "fleets", group.name, auto_scaling_group=group.name)
    head: DataPath = ("fleets", name)
    desired = group.seen("desired")
    if desired is None or desired.value is None:
        return
    note = "the desired capacity of today: the load of a recovery may need more"
    yield Proposal.seen((*head, "needed"), desired.value, desired.origin, note)
    yield Proposal.seen((*head, "resources", "auto_scaling_group"), group.name, desired.origin)
    suspended = group.seen("suspended_processes")
    if suspended is not None and isinstance(suspended.value, tuple):
        active: list[Any] = [
            {"name": process, "paused": True} if process in suspended.value else process
            for process in REMOVAL_PROCESSES
        ]
        yield Proposal.seen((*head, "removal_automation"), active, suspended.origin)


def _seen(inventory: Inventory, kind: str, name: str, attribute: str) -> Observation | None:
    resource = inventory.resource(kind, name)
    return None if resource is None else resource.seen(attribute)


def _duration(path: DataPath, seen: Observation, default: str = "") -> Proposal:
    text = duration_text(float(seen.value))  # type: ignore[arg-type]
    proposal = Proposal.seen(path, text, seen.origin)
    if seen.origin.basis == "default" and default:
        return Proposal(
            path, text, "default", proposal.file, proposal.place, proposal.exported_at, limits.limit(default).source,
            planned=proposal.planned,
        )  # fmt: skip
    return proposal


def cloud_missing(inventory: Inventory, scenario: Mapping[str, Any]) -> list[Missing]:
    """What the queues and fleets of an inventory still need, with the command that would export it."""
    found: list[Missing] = []
    for mapping in inventory.of("lambda.mapping"):
        queue, function = _source_name(mapping), _last(mapping.get("function"))
        if mapping.get("source_kind") == "sqs" and inventory.resource("sqs.queue", queue) is None:
            found.append(
                Missing(
                    f"queue {queue}: retention, visibility timeout, dead-letter queue",
                    "work that waits longer than the retention is lost",
                    _command("sqs.queue", "get-queue-attributes", QUEUE_URL=f"QUEUE_URL_OF_{_capitals(queue)}"),
                )
            )
        if mapping.get("source_kind") == "sqs" and (lacking := _item_time(mapping, queue, function, scenario)):
            found.append(lacking)
        known = inventory.resource("lambda.function", function)
        if function and (known is None or known.seen("reserved_concurrency") is None):
            found.append(
                Missing(
                    f"function {function}: reserved concurrency",
                    "a drain cap above it has no meaning",
                    _command("lambda.function", "get-function-concurrency", FUNCTION=shlex.quote(function)),
                )
            )
        if function and (known is None or known.seen("timeout_s") is None):
            found.append(
                Missing(
                    f"function {function}: timeout",
                    "a visibility timeout below it delivers work twice",
                    _command("lambda.function", "list-functions"),
                )
            )
        if function and inventory.resource("lambda.async", function) is None and _is_async(scenario, function):
            found.append(
                Missing(
                    f"function {function}: age limit and destination of asynchronous invocations",
                    "events older than the limit are lost without a destination",
                    _command("lambda.async", "list-function-event-invoke-configs", FUNCTION=shlex.quote(function)),
                )
            )
    for group in inventory.of("autoscaling.group"):
        fleet = _matched(scenario, "fleets", group.name, auto_scaling_group=group.name)
        if not _given(scenario, "fleets", fleet, "running"):
            found.append(_running(group.name))
        if not _given(scenario, "fleets", fleet, "launch", "boot_time"):
            found.append(_boot_time(group.name))
    return list(dict.fromkeys(found))


def _command(kind: str, operation: str, **names: str) -> str:
    """The checked command of the readers that exports a kind, with names in place of its words in capitals."""
    text = next(command for command in commands_for(kind) if f" {operation} " in command)
    for word, name in names.items():
        text = text.replace(word, name)
    return text


def _running(group: str) -> Missing:
    return Missing(
        f"fleet {group}: instances in service at the restore",
        "an export of today does not show how many ran then",
        f"aws cloudwatch get-metric-statistics --namespace AWS/AutoScaling --metric-name GroupInServiceInstances "
        f"--dimensions Name=AutoScalingGroupName,Value={group} --statistics Minimum --period 60 --start-time TRIGGER "
        "--end-time RESTORE",
    )


def _item_time(mapping: Resource, queue: str, function: str, scenario: Mapping[str, Any]) -> Missing | None:
    """The time of an item, without which a cap in items at once is refused; None where it is given, or there is no cap."""
    cap = mapping.seen("maximum_concurrency")
    name = _matched(scenario, "queues", queue, event_source_mapping=mapping.name)
    if cap is None or cap.value is None or not function or _given(scenario, "queues", name, "item_time"):
        return None
    batch = mapping.get("batch_size")
    shared = f" (an invocation takes up to {batch} items)" if isinstance(batch, int) and batch > 1 else ""
    return Missing(
        f"queue {name}: item_time, the time that one item takes{shared}",
        f"without it the cap of {cap.value} at once cannot be read as a rate, and is refused: give it with --set "
        f"queues.{name}.item_time=TIME",
        f"aws cloudwatch get-metric-statistics --namespace AWS/Lambda --metric-name Duration --dimensions "
        f"Name=FunctionName,Value={shlex.quote(function)} --statistics Average --period 300 --start-time START --end-time END",
    )


def _boot_time(group: str) -> Missing:
    return Missing(
        f"fleet {group}: launch.boot_time, from launch to a running process",
        f"it counts as 0 s, so capacity comes back too early: give it with --set fleets.{group}.launch.boot_time=TIME",
        f"aws autoscaling describe-scaling-activities --auto-scaling-group-name {shlex.quote(group)} --output json",
    )


def _given(scenario: Mapping[str, Any], *path: str) -> bool:
    """True if a value is written there; a duration may be written under a name with its unit."""
    here: Any = scenario
    for key in path[:-1]:
        here = here.get(key) if isinstance(here, Mapping) else None
    return isinstance(here, Mapping) and any(str(key).startswith(path[-1]) for key in here)


def _capitals(name: str) -> str:
    return "".join(char if char.isalnum() else "_" for char in name).upper()


def _is_async(scenario: Mapping[str, Any], function: str) -> bool:
    queues = scenario.get("queues")
    items = queues.values() if isinstance(queues, dict) else ()
    return any(
        isinstance(item, dict)
        and item.get("service") == "lambda-async"
        and (item.get("resources") or {}).get("function") == function
        for item in items
    )
