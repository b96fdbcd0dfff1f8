"""A destination for what an age limit expires, where the limit is there already."""

from __future__ import annotations

import json
from collections.abc import Iterator

from afterload.estimates import Estimates, QueueEstimate
from afterload.findings.phrases import without_end
from afterload.plan.change import NOT_HERE, Change, Place, PlanItem, counted, owner_of, quoted, where
from afterload.plan.changes.age_limit import needs_limit
from afterload.plan.terraform import resource
from afterload.scenario import Queue
from afterload.units import format_duration

ID = "failure-destination"


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    for item in estimates.queues.values():
        queue = item.queue
        if needs_limit(queue):
            line = where(estimates.loaded, "queues", item.name, "goes_stale_after")
            words = f"Its work goes stale ({line}), and the age limit that it needs brings its destination with it."
            yield PlanItem(ID, f"queues.{item.name}", NOT_HERE, words, owner=owner_of(estimates, queue))
        elif item.load.max_age_min is not None or _gives_up(queue):
            yield _item(estimates, item, item.load.max_age_min)


def _gives_up(queue: Queue) -> bool:
    """Whether a stream's mapping stops to retry a batch and then drops it."""
    return queue.stream is not None and queue.stream.retries is not None


def _item(estimates: Estimates, item: QueueEstimate, limit_min: float | None) -> PlanItem:
    queue, target = item.queue, f"queues.{item.name}"
    at = Place(ID, estimates, "queues", item.name, queue)
    if limit_min is None:
        retries = queue.stream.retries if queue.stream else 0
        acting = f"A batch is dropped after {counted(retries or 0, 'failed retry')}"
        line = at.where("stream")
    else:
        whose = "the service's own age limit" if queue.age_limit_min is None else "an age limit"
        acting = f"Work expires by {whose} of {format_duration(limit_min)}"
        line = at.where("service" if queue.age_limit_min is None else "age_limit")
    if queue.on_failure_destination is not None:
        return at.in_place(f"{acting} and goes to {queue.on_failure_destination} ({line}).")
    apply, undo = _commands(queue)
    return at.do(
        f"{acting} and goes nowhere ({line}).",
        bounds=_bounds(item, limit_min),
        price="What arrives at the destination has to be looked at, or replayed.",
        apply=apply, undo=undo, terraform=_terraform(queue),
        edit={f"{target}.on_failure_destination": "destination"},
    )  # fmt: skip


def _bounds(item: QueueEstimate, limit_min: float | None) -> str:
    expired = item.recovery.expired
    if expired > 0 and item.drain_min is not None:
        return f"Bounds what is gone without a record: {counted(expired, 'item')} in this outage, nothing with it."
    if limit_min is None:
        return "Bounds what is gone without a record: every batch whose retries end, nothing with it."
    if item.recovery.lost_per_min > 0:
        return f"Bounds what is gone without a record: {without_end(item.recovery)}, nothing with it."
    if item.recovery.outgrows:
        return (
            "Bounds what is gone without a record: the backlog never drains, and its work reaches the limit of "
            f"{format_duration(limit_min)}."
        )
    oldest = format_duration(item.recovery.max_age_min)
    return (
        "Bounds what is gone without a record in a longer outage. In this one nothing expires: the oldest work is "
        f"{oldest} old at most, and the limit is {format_duration(limit_min)}."
    )


def _commands(queue: Queue) -> tuple[tuple[str, ...], tuple[str, ...]]:
    sink = quoted('{"OnFailure":{"Destination":"DESTINATION_ARN"}}', "")
    function = quoted(queue.resources.function, "FUNCTION_NAME")
    if queue.service == "lambda-async":
        base = f"aws lambda %s-function-event-invoke-config --function-name {function}"
        if queue.age_limit_min is None:
            # Nothing is configured, so that there is nothing to update.
            return (f"{base % 'put'} --destination-config {sink}",), (base % "delete",)
        empty = quoted('{"OnFailure":{}}', "")
        return (f"{base % 'update'} --destination-config {sink}",), (f"{base % 'update'} --destination-config {empty}",)
    if queue.service == "stream-lambda":
        mapping = quoted(queue.resources.event_source_mapping, "MAPPING_UUID")
        command = f"aws lambda update-event-source-mapping --uuid {mapping} --destination-config"
        return (f"{command} {sink}",), (f"{command} {quoted(json.dumps({'OnFailure': {}}), '')}",)
    return ("# in the consumer: write what has expired to the destination before it is deleted",), (
        "# take that out of the consumer",
    )


def _terraform(queue: Queue) -> tuple[str, ...]:
    name = queue.resources.function or "function"
    if queue.service == "lambda-async":
        sink = {"destination_config": {"on_failure": {"destination": "DESTINATION_ARN"}}}
        return (resource("aws_lambda_function_event_invoke_config", name, sink),)
    if queue.service == "stream-lambda":
        sink = {"destination_config": {"on_failure": {"destination_arn": "DESTINATION_ARN"}}}
        return (resource("aws_lambda_event_source_mapping", name, sink),)
    return ()


CHANGE = Change(
    id=ID,
    order=2,
    title="An on-failure destination where a limit drops work",
    why="What expires without a record cannot be counted, explained or replayed.",
    exercise=(
        "In a test account hold the dependency away for longer than the limit and count what arrives in the destination: "
        "as much as expired."
    ),
    reference="recovery planning guide, order of change; service documentation of destinations",
    items=_items,
    effort_days=0.5,
    risk="A destination that nobody reads only moves the loss: give it an alarm and its own retention.",
)
