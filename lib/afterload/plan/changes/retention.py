"""A retention that outlasts the outage and the drain after it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

from afterload import limits
from afterload.estimates import Estimates, QueueEstimate, estimate_queue
from afterload.plan.change import Change, Place, PlanItem, counted, quoted, seconds_text
from afterload.plan.coupled_ends import NO_END, Ends, coupled_ends, ends_of
from afterload.plan.terraform import resource
from afterload.scenario import Queue
from afterload.units import format_duration

ID = "retention"
# What the next outage may last longer than this one.
SPARE = 1.25
# Items and shares of an age below these are those of the simulation's steps.
ROUNDING_ITEMS, ROUNDING_SHARE = 0.5, 0.02
MAXIMUM = {"sqs-lambda": "sqs.retention_s.maximum", "stream-lambda": "kinesis.retention_s.maximum"}


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    ends = ends_of(estimates)
    for item in estimates.queues.values():
        if item.load.retention_min is not None and item.queue.service != "lambda-async":
            yield _item(estimates, item, item.load.retention_min, ends)


def _item(estimates: Estimates, item: QueueEstimate, kept_min: float, ends: Ends) -> PlanItem:
    queue, target = item.queue, f"queues.{item.name}"
    at = Place(ID, estimates, "queues", item.name, queue)
    line = at.where("service" if queue.retention_min is None else "retention")
    whose = "" if queue.retention_min is not None else " by the service's default"
    evidence = f"It keeps work for {format_duration(kept_min)}{whose}"
    lost, end = item.recovery.lost_to_retention, ends().get(item.name, NO_END)
    if lost <= 0:
        lost = end.lost if end.lost >= ROUNDING_ITEMS else 0.0
        if not end.drains and (lost > 0 or end.grows):
            return at.not_here(f"{evidence} ({line}). {_never_drains(item, lost)}")
        if lost <= 0:
            until = "in this event" if end.drains else "as far as the recovery is followed"
            return at.in_place(
                f"{evidence}, and its oldest work is {_oldest(item, end.oldest_min)} old at most {until} ({line})."
            )
        evidence = f"{evidence} and loses {counted(lost, 'item')} with everything acting on each other ({line})."
    else:
        more = ""
        if end.lost > (1 + ROUNDING_SHARE) * lost:
            more = f", {counted(end.lost, 'item')} with everything acting on each other"
        evidence = f"{evidence} and loses {counted(lost, 'item')}{more} ({line})."
    useful = queue.goes_stale_after_min
    if useful is not None and useful <= kept_min:
        return at.not_here(
            f"{evidence} That work was worth nothing after {format_duration(useful)}: an age limit records it."
        )
    most = limits.value(MAXIMUM[queue.service]) / 60 if queue.service in MAXIMUM else None
    if most is not None and kept_min >= most:
        return at.not_here(f"{evidence} The service keeps nothing longer: serve it faster, or store it elsewhere.")
    needed, drains = _needed_min(estimates, item), True
    if needed is not None:
        together = coupled_ends(estimates, {f"{target}.retention": seconds_text(_longest_min())}).get(item.name, NO_END)
        needed, drains = _larger(needed, together.oldest_min) if together.drains else needed, together.drains
    if not drains and item.recovery.lost_to_retention <= 0:
        return at.not_here(
            f"{evidence} With all of it kept the backlog never drains, so that a longer retention alone cannot help."
        )
    if needed is None and most is None:
        return at.not_here(f"{evidence} The backlog never drains at these rates, so that no retention is long enough.")
    planned = min(value for value in (None if needed is None else _spare(needed), most) if value is not None)
    if queue.service == "stream-lambda":
        planned = max(planned, limits.value("kinesis.retention_s.minimum") / 60)
    apply, undo = _commands(queue, planned, kept_min)
    return at.do(
        evidence,
        bounds=f"{_bounds(needed, planned)}{'' if drains else STILL_NEVER}",
        price="What is kept has to be served: the drain takes as much longer." + _storage(queue),
        apply=apply, undo=undo, terraform=_terraform(queue, planned),
        edit={f"{target}.retention": seconds_text(planned)},
    )  # fmt: skip


STILL_NEVER = (
    " That is for the queue alone: with everything acting on each other its backlog never drains, and no retention is long "
    "enough before another change makes it drain."
)


def _never_drains(item: QueueEstimate, lost: float) -> str:
    """Why no retention is long enough with everything acting on each other, and what is enough once that has ended."""
    gone = f": {counted(lost, 'item')} as far as the recovery is followed" if lost > 0 else ""
    words = (
        "With everything acting on each other the backlog never drains, so that its oldest work outgrows any retention and "
        f"is deleted{gone}. A longer retention alone cannot help: first make the backlog drain."
    )
    if item.drain_min is None:
        return words
    return f"{words} Alone the queue drains, with work {format_duration(item.decisive.max_age_min)} old at most."


def _oldest(item: QueueEstimate, coupled_min: float) -> str:
    return format_duration(_larger(item.decisive.max_age_min, coupled_min))


def _larger(alone_min: float, coupled_min: float) -> float:
    """The age of the queue alone, or the coupled one where that is larger by more than the steps of the simulation."""
    return coupled_min if coupled_min > (1 + ROUNDING_SHARE) * alone_min else alone_min


def _longest_min() -> float:
    """Longer than any work waits here."""
    return limits.value("kinesis.retention_s.maximum") / 60


def _needed_min(estimates: Estimates, item: QueueEstimate) -> float | None:
    """Age of the oldest work if nothing were removed by retention; None: it never drains."""
    changed = item.queue.model_copy(update={"retention_min": _longest_min()})
    planned = estimate_queue(estimates.loaded, item.name, changed)
    return None if planned.drain_min is None else planned.decisive.max_age_min


def _spare(needed_min: float) -> float:
    """A quarter more than needed, in whole hours."""
    return 60.0 * math.ceil(SPARE * needed_min / 60 - 1e-9)


def _bounds(needed: float | None, planned: float) -> str:
    kept = format_duration(planned)
    if needed is None:
        return f"The backlog never drains at these rates: with the longest retention, {kept}, work is lost later."
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
