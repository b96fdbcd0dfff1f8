"""Work that is given up without a record: no on-failure destination, and no dead-letter queue."""

from __future__ import annotations

from collections.abc import Iterator

from afterload import limits
from afterload.estimates import QueueEstimate
from afterload.findings.audit.facts import Backlog, Facts, Setting, is_configured
from afterload.findings.audit.finding import Cost, Finding, Gap, Rule
from afterload.findings.audit.steps import Steps, choose, compact, update_mapping
from afterload.findings.phrases import counted, quoted
from afterload.units import format_duration

ID = "no-destination"


def _find(facts: Facts) -> Iterator[Finding | Gap]:
    for backlog in facts.of_kind("async"):
        seen = facts.setting(backlog.invoke, "on_failure")
        if backlog.function is not None and backlog.function.get("dead_letter_target"):
            continue
        if seen is None and backlog.stated is None:
            yield Gap(ID, backlog.target, "DestinationConfig of its asynchronous configuration",
                      "aws lambda get-function-event-invoke-config --function-name "
                      f"{quoted(backlog.function_name or None, 'FUNCTION_NAME')}")  # fmt: skip
        elif not _recorded(backlog, seen):
            yield _finding(facts, backlog, seen, _async_cost(facts, backlog), _async_steps(facts, backlog))
    for backlog in facts.of_kind("stream"):
        seen = facts.setting(backlog.mapping, "on_failure")
        if (seen is not None or backlog.stated is not None) and not _recorded(backlog, seen):
            cost = _stream_cost(facts, backlog)
            if cost is not None:
                yield _finding(facts, backlog, seen, cost, _stream_steps(facts, backlog))


def _recorded(backlog: Backlog, seen: Setting | None) -> bool:
    if seen is not None:
        return bool(seen.value)
    return backlog.stated is not None and bool(backlog.stated.queue.on_failure_destination)


def _finding(facts: Facts, backlog: Backlog, seen: Setting | None, cost: Cost, steps: Steps) -> Finding:
    return Finding(
        ID, backlog.target, "low" if not cost.amount else "high", "no on-failure destination",
        seen.where if seen else facts.stated("queues", backlog.name, "on_failure_destination"),
        cost, steps,
        note=(
            "A destination of a stream gets the place of the records, not the records."
            if backlog.kind == "stream"
            else "What a function gives up cannot be redriven by SQS: its events have to be sent again by hand."
        )
        + " The role of the function must be allowed to write to the destination.",
    )  # fmt: skip


def _async_cost(facts: Facts, backlog: Backlog) -> Cost:
    today = backlog.today
    if today is None:
        return Cost("An event whose retries or age run out is gone.", missing=backlog.ask_for_queue)
    seen = facts.setting(backlog.invoke, "max_retry_attempts")
    retries = (
        limits.whole("lambda.async.retries.default") if seen is None or seen.number is None else round(seen.number)
    )
    waits = [limits.value(f"lambda.async.{nth}_retry_wait_s") / 60 for nth in ("first", "second")][:retries]
    failed = _given_up(today, sum(waits))
    expired = today.lost
    return Cost(
        f"Where the function fails in the outage, an event is gone after {retries + 1} tries in {format_duration(sum(waits))}: "
        f"{counted(failed, 'item')}. Where it is throttled instead, the age limit acts: {counted(expired, 'item')}.",
        max(failed, expired), "items",
    )  # fmt: skip


def _stream_cost(facts: Facts, backlog: Backlog) -> Cost | None:
    """None where nothing is ever given up: retries and age without end, which is a fault of its own."""
    today = backlog.today
    if today is None:
        retries, age = (facts.setting(backlog.mapping, name) for name in ("max_retry_attempts", "max_record_age_s"))
        ends = any(item is not None and item.number is not None and item.number >= 0 for item in (retries, age))
        return Cost("A batch whose retries or age run out is gone.", missing=backlog.ask_for_queue) if ends else None
    shape, limit = today.queue.stream, today.queue.age_limit_min
    retries_left = shape.retries if shape is not None else None
    if retries_left is None and limit is None:
        return None
    if retries_left is None or shape is None or shape.batch_time_s is None:
        return Cost(f"Records older than the age limit are gone: {counted(today.lost, 'item')}.", today.lost, "items")
    takes_min = (retries_left + 1) * shape.batch_time_s / 60
    failed = _given_up(today, takes_min)
    return Cost(
        f"Where every try fails in the outage, a batch is given up after {retries_left + 1} tries: up to "
        f"{counted(failed, 'item')}, all that arrive until {format_duration(takes_min)} before the restore.",
        max(failed, today.lost), "items",
    )  # fmt: skip


def _given_up(today: QueueEstimate, tried_for_min: float) -> float:
    """Items that arrive in the outage so early that their last try still falls into it."""
    load = today.load
    until = max(0.0, load.outage_min - tried_for_min)
    served = load.served_in_outage_per_min * until
    waiting = load.backlog_before if until > 0 else 0.0
    return max(0.0, waiting + float(load.arrivals.cumulative(until)) - served)


def _async_steps(facts: Facts, backlog: Backlog) -> Steps:
    function = quoted(backlog.function_name or None, "FUNCTION_NAME")
    configured = backlog.invoke is not None and is_configured(backlog.invoke)
    command = f"aws lambda {'update' if configured else 'put'}-function-event-invoke-config --function-name {function}"
    # The configuration of destinations is replaced whole: one for successes stays.
    success = str((backlog.invoke.get("on_success") if backlog.invoke else None) or "")
    undo = f"{command} --destination-config {_sink('', success)}"
    if not configured:
        undo = f"aws lambda delete-function-event-invoke-config --function-name {function}"
    block = ("destination_config {", "  on_failure {", "    destination = var.destination_arn", "  }", "}")
    return choose(
        facts.origin(backlog.invoke),
        (f"{command} --destination-config {_sink('DESTINATION_ARN', success)}",),
        (undo,),
        block,
        ("# take the block destination_config out again",),
    )


def _stream_steps(facts: Facts, backlog: Backlog) -> Steps:
    block = ("destination_config {", "  on_failure {", "    destination_arn = var.destination_arn", "  }", "}")
    return choose(
        facts.origin(backlog.mapping),
        (update_mapping(backlog.uuid, f"--destination-config {_sink('DESTINATION_ARN')}"),),
        (update_mapping(backlog.uuid, f"--destination-config {_sink('')}"),),
        block,
        ("# take the block destination_config out again",),
    )


def _sink(arn: str, success: str = "") -> str:
    sinks = {"OnFailure": {"Destination": arn}}
    return compact({**sinks, "OnSuccess": {"Destination": success}} if success else sinks)


RULE = Rule(
    ID,
    "Given-up work without a destination",
    "What expires or fails too often in the outage is gone, and nobody can replay it after the restore.",
    "AWS Lambda Developer Guide, records of asynchronous invocations and destinations of event source mappings",
    _find,
)
