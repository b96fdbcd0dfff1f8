"""A deadline in the consumer where the service cannot expire work as soon as it is worthless."""

from __future__ import annotations

from collections.abc import Iterator

from afterload.estimates import Estimates, QueueEstimate, estimate_queue
from afterload.plan.change import DO, IN_PLACE, Change, PlanItem, counted, owner_of, seconds_text, where
from afterload.plan.changes.age_limit import accepted
from afterload.units import format_duration

ID = "deadline-discard"


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    for item in estimates.queues.values():
        useful = item.queue.goes_stale_after_min
        if useful is None:
            continue
        if item.queue.deadline_min is not None and item.queue.deadline_min <= useful * (1 + 1e-9):
            line = where(estimates.loaded, "queues", item.name, "deadline")
            words = f"Consumers discard what is older than {format_duration(item.queue.deadline_min)} ({line})."
            owner = owner_of(estimates, item.queue)
            yield PlanItem(ID, f"queues.{item.name}", IN_PLACE, words, owner=owner)
        elif accepted(item.queue.service, useful) > useful * (1 + 1e-9):
            yield _item(estimates, item, useful)


def _item(estimates: Estimates, item: QueueEstimate, useful: float) -> PlanItem:
    loaded, queue, target = estimates.loaded, item.queue, f"queues.{item.name}"
    line = where(loaded, "queues", item.name, "goes_stale_after")
    least = format_duration(accepted(queue.service, useful))
    planned = estimate_queue(loaded, item.name, queue.model_copy(update={"deadline_min": useful}))
    dropped = planned.recovery.discarded_past_deadline
    return PlanItem(
        ID, target, DO,
        f"Its work is worth nothing after {format_duration(useful)} ({line}), and the service takes no age limit below {least}.",
        bounds=f"No item older than {format_duration(useful)} is worked on.",
        price=f"Discards {counted(dropped, 'item')} in this outage." if dropped > 0 else "Discards nothing in this outage.",
        owner=owner_of(estimates, queue),
        apply=(
            f"# first thing in the handler: when an item is older than {round(useful * 60, 3):.15g} s, record it and return",
        ),
        undo=("# take the check out of the handler",),
        edit={f"{target}.deadline": seconds_text(useful)},
    )  # fmt: skip


CHANGE = Change(
    id=ID,
    order=3,
    title="A deadline in the consumer where no age limit reaches",
    why="Work for a caller who has left is load without use.",
    exercise="In a test account let work wait past its deadline and see the consumer record it without calling anything.",
    reference="recovery planning guide, order of admission; Builders' Library, using load shedding to avoid overload",
    items=_items,
    effort_days=1,
    risk="Clocks that differ discard work that is still wanted: take the time from the queue, not from the sender.",
)
