"""An end to the retries of a stream: without one, a single bad record blocks its shard."""

from __future__ import annotations

import math
from collections.abc import Iterator

from afterload import limits
from afterload.estimates import Estimates, QueueEstimate
from afterload.plan.change import Change, Place, PlanItem, counted, quoted
from afterload.plan.terraform import resource
from afterload.scenario import Queue
from afterload.scenario.schema import StreamShards
from afterload.units import format_duration, format_rate

ID = "stream-retry-end"
MOST = "lambda.stream.retries.maximum"
NOWHERE_YET = quoted('{"OnFailure":{"Destination":"DESTINATION_ARN"}}', "")


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    for item in estimates.queues.values():
        stream = item.queue.stream
        if stream is not None and stream.batch_time_s is not None:
            yield _item(estimates, item, stream, stream.batch_time_s)


def _item(estimates: Estimates, item: QueueEstimate, stream: StreamShards, batch_s: float) -> PlanItem:
    loaded, queue, target = estimates.loaded, item.queue, f"queues.{item.name}"
    at = Place(ID, estimates, "queues", item.name, queue)
    if stream.retries is not None:
        line = at.where("stream", "retries")
        blocked = format_duration(_blocked_min(batch_s, stream.retries))
        return at.in_place(
            f"Retries of a failing batch end after {stream.retries:,}, at least {blocked} at its batch time ({line})."
        )
    if queue.age_limit_min is not None:
        line = at.where("age_limit")
        words = (
            f"A record that always fails blocks its shard until the age limit of {format_duration(queue.age_limit_min)}"
        )
        return at.in_place(f"{words} ({line}).")
    line = at.where("stream")
    outage_s = loaded.scenario.incident.outage_min * 60
    planned = max(1, min(limits.whole(MOST), math.ceil(outage_s / batch_s - 1e-9)))
    until = item.load.retention_min
    if until is not None and until <= _blocked_min(batch_s, planned):
        words = f"A record that always fails blocks its shard until the retention of {format_duration(until)} ({line})."
        sooner = "Retries that last through this outage would block it for longer."
        return at.not_here(f"{words} {sooner}")
    edit: dict[str, object] = {f"{target}.stream.retries": planned}
    if queue.on_failure_destination is None:
        edit[f"{target}.on_failure_destination"] = "destination"
    apply, undo = _commands(queue, planned)
    return at.do(
        f"Retries of a failing batch have neither a number nor an age at which they end ({line}).",
        bounds=_bounds(item, max(stream.spread), batch_s, planned),
        price=_price(batch_s, planned, outage_s),
        apply=apply, undo=undo, terraform=_terraform(queue, planned),
        edit=edit,
    )  # fmt: skip


def _blocked_min(batch_s: float, retries: int) -> float:
    """Minutes for which a batch that always fails holds its shard, if it fails no sooner than a good one is done."""
    return (retries + 1) * batch_s / 60


def _bounds(item: QueueEstimate, share: float, batch_s: float, planned: int) -> str:
    rate = share * item.load.arrivals.mean_tail_per_min
    blocked = _blocked_min(batch_s, planned)
    until = item.load.retention_min
    today = "without end" if until is None else f"for the {format_duration(until)} of retention"
    piled = "" if until is None else f", {counted(rate * until, 'record')}"
    return (
        f"Bounds what one record that always fails holds up: its shard gets {format_rate(rate)} and is blocked {today}"
        f"{piled} today, for {format_duration(blocked)} and {counted(rate * blocked, 'record')} with {planned:,} retries."
    )


def _price(batch_s: float, planned: int, outage_s: float) -> str:
    if planned * batch_s < outage_s * (1 - 1e-9):
        return (
            f"{planned:,} retries are the most that the service takes and end before this outage does: what fails then "
            "goes to the destination, and is replayed from there."
        )
    return (
        "Retries last through this outage if they fail no faster than a batch takes; else work goes to the destination."
    )


def _commands(queue: Queue, planned: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if queue.service != "stream-lambda":
        return (
            (f"# in the consumer: after {planned:,} retries write the record to a destination and go on",),
            ("# take the end of retries out of the consumer",),
        )
    mapping = quoted(queue.resources.event_source_mapping, "MAPPING_UUID")
    command = f"aws lambda update-event-source-mapping --uuid {mapping} --maximum-retry-attempts"
    sink = "" if queue.on_failure_destination else f" --destination-config {NOWHERE_YET}"
    return (
        (f"{command} {planned} --bisect-batch-on-function-error{sink}",),
        (f"{command} -1 --no-bisect-batch-on-function-error",),
    )


def _terraform(queue: Queue, planned: int) -> tuple[str, ...]:
    if queue.service != "stream-lambda":
        return ()
    values: dict[str, object] = {"maximum_retry_attempts": planned, "bisect_batch_on_function_error": True}
    if queue.on_failure_destination is None:
        values["destination_config"] = {"on_failure": {"destination_arn": "DESTINATION_ARN"}}
    return (resource("aws_lambda_event_source_mapping", queue.resources.function or "mapping", values),)


CHANGE = Change(
    id=ID,
    order=2,
    title="An end to the retries of a stream",
    why="A shard is read in order: a record that always fails holds up everything behind it.",
    exercise="Put a record that always fails into a test stream and see the shard go on once its retries have ended.",
    reference="service documentation of stream event source mappings",
    items=_items,
    effort_days=0.5,
    risk="Fewer retries than an outage takes turn the outage into records at the destination.",
)
