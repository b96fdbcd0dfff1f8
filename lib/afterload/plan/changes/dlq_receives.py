"""Deliveries before the dead-letter queue: enough of them to outlast an outage."""

from __future__ import annotations

import json
from collections.abc import Iterator

from afterload import limits
from afterload.estimates import Estimates, QueueEstimate
from afterload.findings.audit.receives import enough_receives
from afterload.findings.phrases import without_end
from afterload.plan.change import Change, Place, PlanItem, counted, quoted
from afterload.plan.terraform import function_call, resource
from afterload.scenario import Queue
from afterload.units import format_duration

__all__ = ["CHANGE", "dead_letter_arn", "dead_lettered"]

ID = "dlq-receives"


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    for item in estimates.queues.values():
        if item.queue.max_receives is not None or item.queue.service == "sqs-lambda":
            yield _item(estimates, item)


def _visibility_s(queue: Queue) -> float:
    return queue.visibility_timeout_s or limits.value("sqs.visibility_timeout_s.default")


def dead_lettered(item: QueueEstimate, outage_min: float) -> float:
    """Items that run out of deliveries in the outage itself: those that wait for longer than all of them take."""
    queue = item.queue
    if queue.max_receives is None or queue.during_outage == "reject":
        return 0.0
    lasts = queue.max_receives * _visibility_s(queue) / 60
    if lasts >= outage_min * (1 - 1e-9):
        return 0.0
    waiting = queue.backlog_before + float(item.load.arrivals.cumulative(outage_min - lasts))
    return max(0.0, waiting - queue.served_in_outage_per_min * outage_min)


def dead_letter_arn(queue: Queue) -> str:
    """ARN of the dead-letter queue if the scenario names one, else a placeholder."""
    given = queue.on_failure_destination or ""
    return given if given.startswith("arn:") and ":sqs:" in given else "DEAD_LETTER_QUEUE_ARN"


def _redrive_words(item: QueueEstimate, gone: float) -> str:
    """How long a redrive takes: at the service's rate, or at what consumers do beside arrivals where that is less."""
    most = 60 * limits.value("sqs.redrive_per_s.maximum")
    moved = f"A redrive moves them in {format_duration(gone / most)} at the 500 a second that the service does at most"
    spare = item.service_rate_now_per_min - item.load.arrivals.mean_tail_per_min
    if spare >= most:
        return f"{moved}."
    if spare <= 0:
        return f"{moved}, and consumers have nothing to spare for them beside what arrives."
    return f"{moved}, and consumers need {format_duration(gone / spare)} for them beside what arrives."


def _item(estimates: Estimates, item: QueueEstimate) -> PlanItem:
    loaded, queue, target = estimates.loaded, item.queue, f"queues.{item.name}"
    at = Place(ID, estimates, "queues", item.name, queue)
    line = at.where("max_receives")
    if queue.max_receives is None:
        if line != "default":
            return at.not_here(f"No number of failed deliveries moves its work to a dead-letter queue ({line}).")
        ask = "After how many failed deliveries does work go to a dead-letter queue?"
        return at.asks(f"{ask} Give {target}.max_receives; none says that it never does.")
    outage = loaded.scenario.incident.outage_min
    visibility = _visibility_s(queue)
    assumed = "" if queue.visibility_timeout_s else " (the default)"
    lasts = format_duration(queue.max_receives * visibility / 60)
    evidence = (
        f"{counted(queue.max_receives, 'delivery')} at a visibility timeout of "
        f"{format_duration(visibility / 60)}{assumed} {'lasts' if queue.max_receives == 1 else 'last'} {lasts} ({line})."
    )
    gone = dead_lettered(item, outage)
    if gone <= 0:
        words = f"{evidence} This outage of {format_duration(outage)} dead-letters nothing by itself."
        dead = item.recovery.dead_lettered
        if dead >= 0.5:
            many = without_end(item.recovery) if item.recovery.lost_per_min > 0 else counted(dead, "item")
            words = f"{words} What follows it does: {many}."
        return at.in_place(words)
    planned, every_s = enough_receives(outage * 60, visibility)
    longer = float(every_s) if every_s > visibility else None
    edit: dict[str, object] = {f"{target}.max_receives": planned}
    if longer is not None:
        edit[f"{target}.visibility_timeout"] = f"{longer:.15g} s"
    apply, undo = _commands(queue, planned, longer)
    return at.do(
        evidence,
        bounds=(
            f"Bounds what the outage itself dead-letters: {counted(gone, 'item')} today, nothing with it. "
            f"{_redrive_words(item, gone)}"
        ),
        price=f"A bad item is tried {planned:,} times before it is set aside.",
        apply=apply, undo=undo, terraform=_terraform(queue, planned, longer), edit=edit,
    )  # fmt: skip


def _attributes(queue: Queue, receives: int, visibility_s: float | None) -> dict[str, str]:
    policy = {"deadLetterTargetArn": dead_letter_arn(queue), "maxReceiveCount": str(receives)}
    found = {"RedrivePolicy": json.dumps(policy, ensure_ascii=False)}
    if visibility_s is not None:
        found["VisibilityTimeout"] = str(round(visibility_s))
    return found


def _commands(queue: Queue, planned: int, longer_s: float | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    before = queue.max_receives or 1
    if queue.service != "sqs-lambda":
        return (
            (f"# let an item fail {planned:,} times before it goes to the dead-letter queue",),
            (f"# let an item fail {before:,} times again before it goes to the dead-letter queue",),
        )
    url = quoted(queue.resources.queue_url, "QUEUE_URL")

    def command(receives: int, visibility_s: float | None) -> str:
        attributes = quoted(json.dumps(_attributes(queue, receives, visibility_s), ensure_ascii=False), "")
        return f"aws sqs set-queue-attributes --queue-url {url} --attributes {attributes}"

    return (command(planned, longer_s),), (command(before, None if longer_s is None else _visibility_s(queue)),)


def _terraform(queue: Queue, planned: int, longer_s: float | None) -> tuple[str, ...]:
    if queue.service != "sqs-lambda":
        return ()
    policy = {"deadLetterTargetArn": dead_letter_arn(queue), "maxReceiveCount": planned}
    values: dict[str, object] = {"redrive_policy": function_call("jsonencode", policy)}
    if longer_s is not None:
        values["visibility_timeout_seconds"] = round(longer_s)
    return (resource("aws_sqs_queue", queue.resources.function or "queue", values),)


CHANGE = Change(
    id=ID,
    order=2,
    title="Enough deliveries before the dead-letter queue to outlast an outage",
    why="In an outage every delivery fails: a low count moves good work to the dead-letter queue.",
    exercise=(
        "In a test account hold the dependency away for the outage of this scenario and see the dead-letter queue stay "
        "empty; then send one item that always fails, and see it arrive there."
    ),
    reference="service documentation of dead-letter queues and redrive",
    items=_items,
    effort_days=0.5,
    risk="Items that always fail take capacity for longer: let the handler tell them from a failing dependency.",
)
