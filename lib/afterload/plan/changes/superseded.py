"""Dropping what later work makes unnecessary."""

from __future__ import annotations

from collections.abc import Iterator

from afterload.estimates import Estimates, QueueEstimate, estimate_queue
from afterload.plan.change import Change, Place, PlanItem, counted, share
from afterload.units import format_minutes

ID = "superseded"
# What an answer could be worth is told for this share.
ASKED = 0.1


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    for item in estimates.queues.values():
        if item.recovery.backlog_at_restore > 0:
            yield _item(estimates, item)


def _item(estimates: Estimates, item: QueueEstimate) -> PlanItem:
    queue, target = item.queue, f"queues.{item.name}"
    at = Place(ID, estimates, "queues", item.name, queue)
    dropped, could = queue.superseded_share, queue.supersedable_share
    if could is None:
        if dropped > 0:
            line = at.where("superseded_share")
            return at.in_place(
                f"Consumers drop {share(dropped)} of the backlog, which later work makes unnecessary ({line})."
            )
        ask = f"Does later work make part of this backlog unnecessary, as a full synchronisation does? Give {target}."
        return at.asks(f"{ask}supersedable_share.{_value(estimates, item)}")
    line = at.where("supersedable_share")
    if could == 0:
        return at.not_here(f"No work makes earlier work unnecessary ({line}).")
    evidence = f"Later work makes {share(could)} of the backlog unnecessary ({line})"
    if dropped >= could * (1 - 1e-9):
        return at.in_place(f"{evidence}, and consumers drop it.")
    saved = (could - dropped) * item.recovery.backlog_at_restore
    now = f", and consumers drop {share(dropped)}" if dropped else ", and consumers work on it"
    return at.do(
        f"{evidence}{now}.",
        bounds=f"Saves the work on {counted(saved, 'item')}.",
        price="Consumers have to know which work covers which: a version or a time with each item.",
        apply=("# in the consumer: drop an item when a later one that covers it was seen or done",),
        undo=("# take the check out of the consumer",),
        edit={f"{target}.superseded_share": could},
    )  # fmt: skip


def _value(estimates: Estimates, item: QueueEstimate) -> str:
    changed = item.queue.model_copy(update={"superseded_share": ASKED})
    planned = estimate_queue(estimates.loaded, item.name, changed)
    if item.drain_min is None or planned.drain_min is None:
        return ""
    saved = item.drain_min - planned.drain_min
    return (
        f" Every {share(ASKED)} that could be dropped takes {format_minutes(saved)} off the drain." if saved > 0 else ""
    )


CHANGE = Change(
    id=ID,
    order=3,
    title="Dropping work that later work covers",
    why="Much of a backlog may be overtaken by what came after it: the cheapest work is what need not be done.",
    exercise="In a test account queue several versions of the same work and see only the last one worked on.",
    reference="recovery planning guide, order of admission",
    items=_items,
    effort_days=3,
    risk="Work dropped as covered is lost if what covers it fails: drop it only after that is done.",
)
