"""Idempotency keys that outlive the oldest work that may be replayed."""

from __future__ import annotations

import math
from collections.abc import Iterator

from afterload.estimates import Estimates
from afterload.plan.change import NEEDS_EVIDENCE, Change, Place, PlanItem, counted, owner_of, seconds_text, share, where
from afterload.plan.terraform import resource
from afterload.replays import ReplayEstimate, estimate_replays
from afterload.units import format_duration, format_number

ID = "idempotency-keys"
# Queues that deliver at least once.
REDELIVERING = ("sqs-lambda", "lambda-async", "stream-lambda")
USUAL_MIN = 24 * 60.0


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    known = {item.name: item for item in estimate_replays(estimates)}
    for name, queue in estimates.loaded.scenario.queues.items():
        if name in known:
            yield _item(estimates, known[name])
        elif queue.service in REDELIVERING:
            line = where(estimates.loaded, "queues", name, "service")
            words = f"Its service delivers at least once ({line}). Does work done twice take effect twice?"
            yield PlanItem(
                ID, f"queues.{name}", NEEDS_EVIDENCE, f"{words} Give queues.{name}.idempotency.",
                owner=owner_of(estimates, queue),
            )  # fmt: skip


def _item(estimates: Estimates, item: ReplayEstimate) -> PlanItem:
    loaded, target = estimates.loaded, f"queues.{item.name}"
    at = Place(ID, estimates, "queues", item.name, loaded.scenario.queues[item.name])
    line = at.where("idempotency")
    oldest_min, oldest = _oldest(estimates, item)
    life = item.given.key_life_min
    if life is not None and oldest_min is None:
        return at.not_here(
            f"Keys live {format_duration(life)}, and {oldest} ({line}). No key lives long enough: first make it drain."
        )
    oldest_min = item.oldest_min if oldest_min is None else oldest_min
    if life is not None and oldest_min <= life:
        return at.in_place(f"Keys live {format_duration(life)}, and {oldest} ({line}).")
    if life is None and item.duplicates.duplicates <= 0:
        return at.not_here(
            f"There are no keys, and no try or delivery takes effect twice at the shares given ({line})."
        )
    planned = max(USUAL_MIN, 60.0 * math.ceil(oldest_min / 60 - 1e-9))
    have = "There are no keys" if life is None else f"Keys live {format_duration(life)}"
    return at.do(
        f"{have}, and {oldest} ({line}).",
        bounds=_bounds(item, planned),
        price=f"Every key is kept for {format_duration(planned)}{'' if life is None else f', not {format_duration(life)}'}.",
        apply=(
            "# write the key before the effect, and only if it is not there; set expires to the time of writing "
            f"+ {round(planned * 60)} s",
            "aws dynamodb update-time-to-live --table-name KEY_TABLE --time-to-live-specification "
            "Enabled=true,AttributeName=expires",
        ),
        undo=(
            "# take the keys out of the handler" if life is None
            else f"# set expires to the time of writing + {round(life * 60)} s again",
        ),
        terraform=(
            resource("aws_dynamodb_table", "idempotency_keys", {"ttl": {"attribute_name": "expires", "enabled": True}}),
        ),
        edit={f"{target}.idempotency.key_life": seconds_text(planned)},
        effort_days=5.0 if life is None else 0.5,
    )  # fmt: skip


def _oldest(estimates: Estimates, item: ReplayEstimate) -> tuple[float | None, str]:
    """Age of the oldest work that may be done again, and its words; None where it grows without end.

    A backlog that never drains is done again when somebody has mended that: as old as its queue keeps it.
    """
    kept = estimates.queues[item.name].load.retention_min
    if estimates.queues[item.name].recovery.outgrows and not item.is_given:
        never = "the backlog never drains, so that its oldest work"
        if kept is None:
            return None, f"{never} gets older without end"
        if kept > item.oldest_min:
            return kept, f"{never} gets as old as the retention, {format_duration(kept)}, before it is done again"
    oldest = item.oldest_min
    return oldest, f"the oldest work is {format_duration(oldest)} old when it is done again"


def _bounds(item: ReplayEstimate, planned_min: float) -> str:
    kept = format_duration(planned_min)
    if item.given.key_life_min is None:
        rate = f"{format_number(1000 * item.duplicates.duplicates)} in 1,000 items"
        many = (
            ""
            if item.expected_duplicates is None
            else f", {counted(item.expected_duplicates, 'side effect')} in this event"
        )
        return f"Bounds side effects that happen twice: {rate}{many} today, nothing within {kept}."
    part = None if item.is_covered else item.unprotected_share
    late = "Part of what" if part is None else f"{share(part)} of what"
    return f"{late} is done again comes after its key has expired today, nothing with {kept}."


CHANGE = Change(
    id=ID,
    order=3,
    title="Idempotency keys that outlive the oldest replay",
    why="A recovery does work again: without a key that is still there, orders are placed and money is taken twice.",
    exercise="In a test account replay work as old as the oldest here and count side effects: one for each item.",
    reference="Builders' Library, making retries safe with idempotent APIs",
    items=_items,
    effort_days=5,
    risk="A key written after the effect, or one that marks a failure as done, protects from nothing.",
)
