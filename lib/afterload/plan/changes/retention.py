"""A retention that outlasts the outage and the drain after it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

from afterload import limits
from afterload.estimates import Estimates, QueueEstimate, estimate_queue
from afterload.findings.phrases import without_end
from afterload.plan.change import Change, Place, PlanItem, counted, quoted, seconds_text
from afterload.plan.terraform import resource
from afterload.scenario import Queue
from afterload.units import format_duration

ID = "retention"
# What the next outage may last longer than this one.
SPARE = 1.25
# Items below this are those of the simulation's steps.
ROUNDING_ITEMS = 0.5
MAXIMUM = {"sqs-lambda": "sqs.retention_s.maximum", "stream-lambda": "kinesis.retention_s.maximum"}


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    for item in estimates.queues.values():
        if item.load.retention_min is not None and item.queue.service != "lambda-async":
            yield _item(estimates, item, item.load.retention_min)


def _item(estimates: Estimates, item: QueueEstimate, kept_min: float) -> PlanItem:
    queue, target = item.queue, f"queues.{item.name}"
    at = Place(ID, estimates, "queues", item.name, queue)
    line = at.where("service" if queue.retention_min is None else "retention")
    whose = "" if queue.retention_min is not None else " by the service's default"
    evidence = f"It keeps work for {format_duration(kept_min)}{whose}"
    lost = item.recovery.lost_to_retention if item.recovery.lost_to_retention >= ROUNDING_ITEMS else 0.0
    if item.drain_min is None and (lost > 0 or item.recovery.outgrows):
        return at.not_here(f"{evidence} ({line}). {_never_drains(item)}")
    if lost <= 0:
        until = "as far as the recovery is followed" if item.drain_min is None else "in this event"
        oldest = format_duration(item.recovery.max_age_min)
        return at.in_place(f"{evidence}, and its oldest work is {oldest} old at most {until} ({line}).")
    evidence = f"{evidence} and loses {counted(lost, 'item')} ({line})."
    useful = queue.goes_stale_after_min
    if useful is not None and useful <= kept_min:
        return at.not_here(
            f"{evidence} That work was worth nothing after {format_duration(useful)}: an age limit records it."
        )
    most = limits.value(MAXIMUM[queue.service]) / 60 if queue.service in MAXIMUM else None
    if most is not None and kept_min >= most:
        return at.not_here(f"{evidence} The service keeps nothing longer: serve it faster, or store it elsewhere.")
    needed = _needed_min(estimates, item)
    if needed is None:
        return at.not_here(
            f"{evidence} With all of it kept the backlog never drains, so that a longer retention alone cannot help."
        )
    planned = _spare(needed) if most is None else min(_spare(needed), most)
    if queue.service == "stream-lambda":
        planned = max(planned, limits.value("kinesis.retention_s.minimum") / 60)
    apply, undo = _commands(queue, planned, kept_min)
    return at.do(
        evidence,
        bounds=_bounds(needed, planned),
        price="What is kept has to be served: the drain takes as much longer." + _storage(queue),
        apply=apply, undo=undo, terraform=_terraform(queue, planned),
        edit={f"{target}.retention": seconds_text(planned)},
    )  # fmt: skip


def _never_drains(item: QueueEstimate) -> str:
    """Why no retention is long enough."""
    gone = f": {without_end(item.recovery)}" if item.recovery.lost_per_min > 0 else ""
    return (
        f"The backlog never drains, so that its oldest work outgrows any retention and is deleted{gone}. A longer retention "
        "alone cannot help: first make the backlog drain."
    )


def _longest_min() -> float:
    """Longer than any work waits here."""
    return limits.value("kinesis.retention_s.maximum") / 60


def _needed_min(estimates: Estimates, item: QueueEstimate) -> float | None:
    """Age of the oldest work if nothing were removed by retention; None: it never drains."""
    changed = item.queue.model_copy(update={"retention_min": _longest_min()})
    planned = estimate_queue(estimates.loaded, item.name, changed)
    return None if planned.drain_min is None else planned.recovery.max_age_min


def _spare(needed_min: float) -> float:
    """A quarter more than needed, in whole hours."""
    return 60.0 * math.ceil(SPARE * needed_min / 60 - 1e-9)


def _bounds(needed: float, planned: float) -> str:
    kept = format_duration(planned)
    if planned >= needed:
        return f"The oldest work is {format_duration(needed)} old when it is served: {kept} keep it, with a quarter to spare."
    return f"The oldest work is {format_duration(needed)} old when it is served: {kept}, the most there is, keep part of it."


def _storage(queue: Queue) -> str:
    return " Streams cost more for every hour kept beyond 24." if queue.service == "stream-lambda" else ""


def _commands(queue: Queue, planned_min: float, before_min: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if queue.service == "sqs-lambda":
        url = quoted(queue.resources.queue_url, "QUEUE_URL")

        def command(minutes: float) -> str:
            attributes = quoted(json.dumps({"MessageRetentionPeriod": f"{round(minutes * 60)}"}), "")
            return f"aws sqs set-queue-attributes --queue-url {url} --attributes {attributes}"

        note = "# a shorter retention deletes at once what is older: only with an empty queue"
        return (command(planned_min),), (note, command(before_min))
    if queue.service == "stream-lambda":
        hours = "retention-period --stream-name STREAM_NAME --retention-period-hours"
        before = max(24, round(before_min / 60))
        return (
            ("# DynamoDB streams keep 24 h and no more; Kinesis:",
             f"aws kinesis increase-stream-{hours} {round(planned_min / 60)}"),
            (f"aws kinesis decrease-stream-{hours} {before}",),
        )  # fmt: skip
    return (
        (f"# keep items in the queue for {format_duration(planned_min)}",),
        (f"# keep items in the queue for {format_duration(before_min)} again, once it is empty",),
    )


def _terraform(queue: Queue, planned_min: float) -> tuple[str, ...]:
    if queue.service == "sqs-lambda":
        values = {"message_retention_seconds": round(planned_min * 60)}
        return (resource("aws_sqs_queue", queue.resources.function or "queue", values),)
    if queue.service == "stream-lambda":
        values = {"retention_period": round(planned_min / 60)}
        return (resource("aws_kinesis_stream", queue.resources.function or "stream", values),)
    return ()


CHANGE = Change(
    id=ID,
    order=2,
    title="A retention longer than the outage and its drain",
    why="Retention is an expiry that nobody chose: it deletes without a record.",
    exercise="In a test account leave an item waiting for as long as the oldest in this event and see it served.",
    reference="service documentation of message retention",
    items=_items,
    effort_days=0.2,
    risk="Work that nobody wants any more is kept too: give it an age limit.",
)
