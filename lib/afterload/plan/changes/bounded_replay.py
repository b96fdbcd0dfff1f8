"""A rate for the replay of dead-lettered and set-aside work, within the room at its dependency."""

from __future__ import annotations

from collections.abc import Iterator

from afterload import limits
from afterload.estimates import Estimates, QueueEstimate
from afterload.plan.change import (
    DO,
    IN_PLACE,
    NEEDS_EVIDENCE,
    NOT_HERE,
    Change,
    PlanItem,
    counted,
    owner_of,
    per_min_text,
    quoted,
    where,
)
from afterload.plan.changes.dlq_receives import dead_letter_arn, dead_lettered
from afterload.scenario import Queue
from afterload.units import format_duration, format_rate

__all__ = ["CHANGE"]

ID = "bounded-replay"


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    for item in estimates.queues.values():
        if item.queue.max_receives is not None or item.queue.on_failure_destination is not None:
            yield _item(estimates, item)


def _item(estimates: Estimates, item: QueueEstimate) -> PlanItem:
    loaded, queue, target = estimates.loaded, item.queue, f"queues.{item.name}"
    owner = owner_of(estimates, queue)
    shown = "max_receives" if queue.max_receives is not None else "on_failure_destination"
    line = where(loaded, "queues", item.name, shown)
    waits = "Work that fails goes to a dead-letter queue" if queue.max_receives else "Expired work is recorded"
    evidence = f"{waits} ({line}), from where it can be replayed."
    cap = item.cap
    if cap is None:
        ask = f"{evidence} A safe rate needs {target}.dependency and its tested rate."
        return PlanItem(ID, target, NEEDS_EVIDENCE, ask, owner=owner)
    arrives = item.load.arrivals.mean_tail_per_min
    room = cap.room_per_min - arrives
    per_s = min(limits.whole("sqs.redrive_per_s.maximum"), int(room / 60 + 1e-9)) if room > 0 else 0
    beside = (
        f"There is room for {format_rate(max(0.0, room))} at {cap.dependency} beside direct traffic and "
        f"{format_rate(arrives)} of new work"
    )
    if per_s < 1:
        ask = f"{evidence} {beside}: too little for any replay. Test it to a higher rate, or replay at a quiet hour."
        return PlanItem(ID, target, NEEDS_EVIDENCE, ask, owner=owner)
    given = queue.replay_rate_per_min
    most = 60 * limits.value("sqs.redrive_per_s.maximum")
    if given is None and queue.service == "sqs-lambda" and room >= most:
        words = f"{evidence} {beside}: a redrive moves {format_rate(most)} at most."
        return PlanItem(ID, target, NOT_HERE, words, owner=owner)
    if given is not None and given <= room * (1 + 1e-9):
        words = f"{evidence} It is replayed at {format_rate(given)}. {beside}."
        return PlanItem(ID, target, IN_PLACE, words, owner=owner)
    today = "as fast as it goes"
    if given is not None:
        today = format_rate(given)
    elif queue.service == "sqs-lambda":
        today = f"up to {format_rate(most)}, as fast as a redrive goes"
    apply, undo = _commands(queue, per_s)
    return PlanItem(
        ID, target, DO, f"{evidence} {beside}.",
        bounds=(
            f"Bounds the replay at {format_rate(60.0 * per_s)}, so that {cap.dependency} stays within its tested rate; "
            f"today it is {today}."
        ),
        price=_price(item, loaded.scenario.incident.outage_min, per_s),
        owner=owner, apply=apply, undo=undo,
        edit={f"{target}.replay_rate": per_min_text(60.0 * per_s)},
    )  # fmt: skip


def _price(item: QueueEstimate, outage_min: float, per_s: int) -> str:
    waiting = dead_lettered(item, outage_min) if item.queue.max_receives else item.expired_recorded
    if waiting <= 0:
        return "Nothing waits to be replayed after this outage."
    return f"The replay of {counted(waiting, 'item')} takes {format_duration(waiting / per_s / 60)}."


def _commands(queue: Queue, per_s: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if queue.service == "sqs-lambda":
        source = quoted(dead_letter_arn(queue), "")
        return (
            ("# once the backlog is gone and handlers are idempotent:",
             f"aws sqs start-message-move-task --source-arn {source} --max-number-of-messages-per-second {per_s}"),
            ("aws sqs cancel-message-move-task --task-handle TASK_HANDLE",),
        )  # fmt: skip
    return (
        (f"# once the backlog is gone and handlers are idempotent: put back at most {per_s} items a second",),
        ("# stop putting items back",),
    )


CHANGE = Change(
    id=ID,
    order=3,
    title="A bounded rate for replays",
    why="A redrive moves as fast as the service can, which is a second backlog on a dependency that has just come back.",
    exercise=(
        "In a test account redrive a full dead-letter queue at this rate and watch errors and latency of the dependency "
        "stay flat, and no item take effect twice."
    ),
    reference="recovery planning guide, order of admission; service documentation of redrive",
    items=_items,
    applies_when="dead-lettered or expired work can be replayed, and nothing bounds how fast",
    effort_days=0.5,
    risk="Work that failed for a reason of its own fails again: look at a sample before the redrive.",
)
