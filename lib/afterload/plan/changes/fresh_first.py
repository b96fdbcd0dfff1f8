"""Fresh work first: what has waited too long is set aside and drained on spare capacity."""

from __future__ import annotations

from collections.abc import Iterator

from afterload.estimates import Estimates, QueueEstimate, estimate_queue
from afterload.plan.change import Change, Place, PlanItem, counted, seconds_text
from afterload.plan.terraform import resource
from afterload.scenario import Queue
from afterload.units import format_duration

ID = "fresh-first"
# Work older than this is set aside, if it does not lose its worth sooner.
SIDELINE_MIN = 5.0


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    for item in estimates.queues.values():
        if item.recovery.backlog_at_restore > 0 or item.drain_min is None:
            yield _item(estimates, item)


def _item(estimates: Estimates, item: QueueEstimate) -> PlanItem:
    loaded, queue, target = estimates.loaded, item.queue, f"queues.{item.name}"
    at = Place(ID, estimates, "queues", item.name, queue)
    shown = "order" if queue.order != "fifo" else "arrival_rate"
    line = at.where(shown)
    if queue.order != "fifo":
        return at.in_place(f"It serves fresh work first ({line}).")
    if queue.stream is not None:
        return at.not_here(f"Its shards are read in order, so that nothing in them can be passed by ({line}).")
    fresh, objective = item.fresh_age_back_min, loaded.scenario.recovery_objective_min
    if fresh is not None and fresh <= objective:
        words = f"First-attempt age is back after {format_duration(fresh)}, within the objective of {format_duration(objective)}"
        return at.not_here(f"{words} ({line}).")
    sideline = min(SIDELINE_MIN, queue.goes_stale_after_min or SIDELINE_MIN)
    changed = queue.model_copy(update={"order": "fresh_first", "sideline_after_min": sideline})
    planned = estimate_queue(loaded, item.name, changed)
    back = "is never back" if fresh is None else f"is back after {format_duration(fresh)}"
    evidence = f"It serves the oldest work first, so first-attempt age {back} ({line})."
    if planned.fresh_age_back_min is None and fresh is None:
        return at.not_here(f"{evidence} Fresh first does not help either: less is served than arrives.")
    apply, undo = _commands(queue, sideline)
    return at.do(
        evidence,
        bounds=(
            f"Buys fresh age, not drain: {counted(planned.recovery.sidelined_peak, 'item')} older than "
            f"{format_duration(sideline)} wait aside and are drained on spare capacity."
        ),
        price="Order is lost, and the oldest work waits longest.",
        apply=apply, undo=undo, terraform=_terraform(queue),
        edit={f"{target}.order": "fresh_first", f"{target}.sideline_after": seconds_text(sideline)},
    )  # fmt: skip


def _commands(queue: Queue, sideline_min: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
    age = f"{round(sideline_min * 60, 3):.15g} s"
    check = (
        f"# in the consumer: move what is older than {age} to the second queue, and serve that when nothing fresh waits"
    )
    if queue.service == "sqs-lambda":
        return (
            ("aws sqs create-queue --queue-name SIDELINE_QUEUE", check),
            ("# take the check out of the consumer, and once the second queue is empty:",
             "aws sqs delete-queue --queue-url SIDELINE_QUEUE_URL"),
        )  # fmt: skip
    return (check,), ("# take the check out of the consumer once the second queue is empty",)


def _terraform(queue: Queue) -> tuple[str, ...]:
    if queue.service != "sqs-lambda":
        return ()
    name = queue.resources.function or "queue"
    values = {"name": "SIDELINE_QUEUE", "message_retention_seconds": round((queue.retention_min or 20_160) * 60)}
    return (resource("aws_sqs_queue", f"{name}_sideline", values, "the second queue"),)


CHANGE = Change(
    id=ID,
    order=3,
    title="Fresh work first, with the old backlog set aside",
    why="In order of arrival everybody waits for the whole backlog, also those who have only just asked.",
    exercise=(
        "In a test account restore the dependency with a full backlog queued and watch first-attempt age come back while "
        "the second queue still drains."
    ),
    reference="recovery planning guide, order of admission; Builders' Library, avoiding insurmountable queue backlogs",
    items=_items,
    effort_days=3,
    risk="Work that builds on earlier work breaks when it overtakes it: only where items are independent.",
)
