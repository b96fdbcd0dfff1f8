"""The retries chapter, idempotency: side effects that happen twice, and keys that expire before the replay."""

from __future__ import annotations

from collections.abc import Sequence

from afterload.estimates import Estimates
from afterload.figures.figure import Prose, Table
from afterload.figures.words import NEVER, paragraph, sentence_list
from afterload.plan.change import counted, share
from afterload.replays import ReplayEstimate
from afterload.units import format_count, format_duration, format_number

__all__ = ["idempotency_answer", "idempotency_table"]

NOTHING_GIVEN = (
    "No queue of this scenario says whether work done twice takes effect twice, so no duplicates are computed."
)


def idempotency_answer(estimates: Estimates, replays: Sequence[ReplayEstimate]) -> Prose:
    """Each queue in words."""
    return sentence_list([_sentence(estimates, item) for item in replays]) if replays else paragraph(NOTHING_GIVEN)


def _sentence(estimates: Estimates, item: ReplayEstimate) -> str:
    given = item.given
    tries = "1 try" if item.tries == 1 else f"{item.tries} tries"
    why = (
        f"{share(given.failure_share)} of tries fail, {share(given.effect_despite_failure)} of those had taken effect, "
        f"{share(given.redelivery_share)} of items come again although done, up to {tries} in a delivery"
    )
    rate = format_number(1000 * item.duplicates.duplicates)
    if item.items is None or item.expected_duplicates is None:
        text = f"{item.name}: the backlog never drains at these rates"
    elif round(item.items) == 0:
        text = f"{item.name}: nothing waits at the restore, so nothing is served late"
    else:
        twice = counted(item.expected_duplicates, "side effect")
        text = (
            f"{item.name}: {counted(item.items, 'item')} {'is' if round(item.items) == 1 else 'are'} served until the "
            f"backlog is gone, with {twice} beyond the first if there are no keys"
        )
    text = f"{text}. Without keys 1,000 items have {rate} side effects too many: {why}."
    return f"{text} {_keys(estimates, item)}"


def _keys(estimates: Estimates, item: ReplayEstimate) -> str:
    life = item.given.key_life_min
    oldest = f"the oldest work is {format_duration(item.oldest_min)} old at its replay"
    if life is None:
        return f"There are no keys; {oldest}, which a key would have to outlive."
    kept = f"Keys are kept for {format_duration(life)} and {oldest}"
    grows = estimates.queues[item.name].recovery.peak_backlog is None
    if grows and not item.is_given:
        text = f"{kept} so far and grows older, so keys expire before it."
    elif item.is_covered:
        text = f"{kept}, so every key outlives its replay."
    elif item.unprotected_share is None:
        text = f"{kept}, so part of the replays comes after its key has expired: keep keys for longer than that."
    else:
        text = f"{kept}, so {share(item.unprotected_share)} of replays come after their key has expired: keep keys for longer."
    retention = estimates.queues[item.name].load.retention_min
    if retention is not None and retention > life and retention > item.oldest_min:
        text += (
            f" The queue keeps work for {format_duration(retention)}: what is replayed from it at an age of more than "
            f"{format_duration(life)} is unprotected."
        )
    return text


def idempotency_table(replays: Sequence[ReplayEstimate]) -> Table | Prose:
    """Duplicate side effects without keys, and replays after a key's life."""
    if not replays:
        return paragraph(NOTHING_GIVEN)
    records = []
    for item in replays:
        late = item.unprotected_share
        records.append(
            {
                "queue": item.name,
                "items served until the backlog is gone": NEVER if item.items is None else format_count(item.items),
                "duplicates without keys": NEVER
                if item.expected_duplicates is None
                else format_count(item.expected_duplicates),
                "for 1,000 items": format_number(1000 * item.duplicates.duplicates),
                "keys kept for": "no keys"
                if item.given.key_life_min is None
                else format_duration(item.given.key_life_min),
                "oldest at replay": format_duration(item.oldest_min),
                "that age is": "given" if item.is_given else "from the recovery",
                "replayed after the key expired": (
                    "no keys" if item.given.key_life_min is None else "some" if late is None else share(late)
                ),
            }
        )
    caption = "Side effects that happen twice without keys, and keys that expire before the replay"
    return Table.of(records, dict.fromkeys(records[0], str), caption=caption)
