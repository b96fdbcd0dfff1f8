"""A rate for the replay of dead-lettered and set-aside work, within what its dependency and its consumers have to spare."""

from __future__ import annotations

from collections.abc import Iterator

from afterload import limits
from afterload.estimates import Estimates, QueueEstimate
from afterload.plan.change import Change, Place, PlanItem, counted, per_min_text, quoted
from afterload.plan.changes.dlq_receives import dead_letter_arn, dead_lettered
from afterload.recovery.rates import CapEstimate
from afterload.scenario import Queue
from afterload.units import format_duration, format_rate

__all__ = ["CHANGE", "replay_commands", "replay_per_s", "replay_room"]

ID = "bounded-replay"


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    for item in estimates.queues.values():
        if item.queue.max_receives is not None or item.queue.on_failure_destination is not None:
            yield _item(estimates, item)


def _item(estimates: Estimates, item: QueueEstimate) -> PlanItem:
    loaded, queue, target = estimates.loaded, item.queue, f"queues.{item.name}"
    at = Place(ID, estimates, "queues", item.name, queue)
    shown = "max_receives" if queue.max_receives is not None else "on_failure_destination"
    line = at.where(shown)
    waits = "Work that fails goes to a dead-letter queue" if queue.max_receives else "Expired work is recorded"
    evidence = f"{waits} ({line}), from where it can be replayed."
    cap = item.cap
    if cap is None:
        return at.asks(f"{evidence} A safe rate needs {target}.dependency and its tested rate.")
    arrives = item.load.arrivals.mean_tail_per_min
    room, bound = replay_room(item, cap)
    per_s = replay_per_s(room)
    most = 60 * limits.value("sqs.redrive_per_s.maximum")
    beside = f"There is room for {format_rate(room)} beside {format_rate(arrives)} of new work, by {bound}"
    if per_s < 1:
        return at.asks(
            f"{evidence} {beside}: too little for any replay. Test {cap.dependency} to a higher rate, run more "
            "consumers, or replay at a quiet hour."
        )
    given = queue.replay_rate_per_min
    if given is None and queue.service == "sqs-lambda" and room >= most:
        return at.not_here(f"{evidence} {beside}: a redrive moves {format_rate(most)} at most.")
    if given is not None and given <= room * (1 + 1e-9):
        return at.in_place(f"{evidence} It is replayed at {format_rate(given)}. {beside}.")
    today = "as fast as it goes"
    if given is not None:
        today = format_rate(given)
    elif queue.service == "sqs-lambda":
        today = f"up to {format_rate(most)}, as fast as a redrive goes"
    apply, undo = _commands(queue, per_s)
    return at.do(
        f"{evidence} {beside}.",
        bounds=(
            f"Bounds the replay at {format_rate(60.0 * per_s)}, so that {cap.dependency} stays within its tested rate and new "
            f"work does not wait for old; today it is {today}."
        ),
        price=_price(item, loaded.scenario.incident.outage_min, per_s),
        apply=apply, undo=undo,
        edit={f"{target}.replay_rate": per_min_text(60.0 * per_s)},
    )  # fmt: skip


def replay_room(item: QueueEstimate, cap: CapEstimate, most_per_min: float | None = None) -> tuple[float, str]:
    """What may be replayed beside new work, in items a minute, and what bounds it, in words.

    The least of the queue's part of the room at its dependency and of what its own consumers do, less what arrives.

    Parameters:
        item, cap: the queue, and what its dependency leaves it.
        most_per_min: a cap that is in force during the replay.
    """
    bounds = [
        (cap.part_per_min, _part_words(cap)),
        (cap.drain_rate_per_min, f"its consumers, which do {format_rate(cap.drain_rate_per_min)}"),
    ]
    if most_per_min is not None:
        bounds.insert(0, (most_per_min, f"its cap of {format_rate(most_per_min)}"))
    least, words = min(bounds, key=lambda bound: bound[0])
    return max(0.0, least - item.load.arrivals.mean_tail_per_min), words


def _part_words(cap: CapEstimate) -> str:
    if not cap.others:
        return f"the {format_rate(cap.room_per_min)} that direct traffic leaves at {cap.dependency}"
    return f"its part beside {', '.join(cap.others)} of the room at {cap.dependency}, {format_rate(cap.part_per_min)}"


def replay_per_s(room_per_min: float) -> int:
    """The rate of a redrive for a room: whole items a second, and no more than the service moves."""
    return min(limits.whole("sqs.redrive_per_s.maximum"), int(room_per_min / 60 + 1e-9))


def replay_commands(queue: Queue, per_s: int) -> tuple[str, ...]:
    """What begins the replay of a queue's dead-lettered work at so many items a second."""
    return _commands(queue, per_s)[0]


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
    effort_days=0.5,
    risk="Work that failed for a reason of its own fails again: look at a sample before the redrive.",
)
