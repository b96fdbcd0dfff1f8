"""From a queue's recovery to its side effects: what happens twice without keys, and what keys do not cover."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from afterload.estimates import Estimates, QueueEstimate
from afterload.model.idempotency import Duplicates, KeyCover, duplicates_without_keys, key_cover_from_pieces
from afterload.recovery.rates import queue_attempts
from afterload.scenario.retry_schema import Idempotency

__all__ = ["ReplayEstimate", "estimate_replays"]

# Deliveries of a queue that sends nothing to a dead-letter queue: retention ends them long before.
MOST_DELIVERIES = 1_000


@dataclass(frozen=True)
class ReplayEstimate:
    """Side effects of one queue's work that is done more than once.

    Attributes:
        name, given: the queue and its inputs.
        tries: most tries in one delivery.
        duplicates: side effects of one item without keys.
        items: items that waited and are served until the backlog is gone; None: it never is at these rates.
        oldest_min: age in minutes of the oldest work at its replay.
        is_given: whether the scenario gives that age, and not the queue's recovery.
        cover: replays whose key has expired; None without keys, or where only the oldest age is known.
    """

    name: str
    given: Idempotency
    tries: int
    duplicates: Duplicates
    items: float | None
    oldest_min: float
    is_given: bool
    cover: KeyCover | None

    @property
    def expected_duplicates(self) -> float | None:
        """Side effects beyond the first that all items together have without keys; None: the backlog never ends."""
        return None if self.items is None else self.items * self.duplicates.duplicates

    @property
    def is_covered(self) -> bool | None:
        """Whether every key outlives its replay; None without keys."""
        return None if self.given.key_life_min is None else self.oldest_min <= self.given.key_life_min

    @property
    def unprotected_share(self) -> float | None:
        """Share of replays whose key has expired; None without keys, or where it is more than 0 and not known."""
        if self.is_covered:
            return 0.0
        return None if self.cover is None else self.cover.unprotected_share


def estimate_replays(estimates: Estimates) -> Iterator[ReplayEstimate]:
    """Every queue that says something about idempotency."""
    for name, item in estimates.queues.items():
        if item.queue.idempotency is not None:
            yield _replay(estimates, name, item, item.queue.idempotency)


def _replay(estimates: Estimates, name: str, item: QueueEstimate, given: Idempotency) -> ReplayEstimate:
    # Work that calls nothing has no call that could fail and be tried again.
    tries = given.tries or (round(queue_attempts(estimates.loaded.scenario, name)) if item.queue.all_calls else 1)
    duplicates = duplicates_without_keys(
        given.failure_share,
        tries,
        effect_despite_failure=given.effect_despite_failure,
        redelivery_probability=given.redelivery_share,
        max_deliveries=item.queue.max_receives or MOST_DELIVERIES,
    )
    first, last, served = _ages(item)
    items = None if item.drain_min is None else float(served.sum())
    in_order = item.load.order == "fifo"
    if given.oldest_replay_min is not None:
        # Work of every age up to the oldest, replayed together.
        first, last, served = np.array([given.oldest_replay_min]), np.zeros(1), np.ones(1)
        oldest, in_order = given.oldest_replay_min, True
    elif in_order and len(served):
        oldest = float(np.maximum(first, last).max())
    elif item.load.order == "lifo" and item.drain_min is not None and item.recovery.backlog_at_restore > 0:
        # The recovery takes the backlog behind fresh work oldest first; strictly last in, first out, its first item
        # comes last.
        oldest = item.load.outage_min + item.drain_min
    else:
        oldest = item.recovery.max_age_min
    life = given.key_life_min
    has_cover = life is not None and in_order and (items is not None or given.oldest_replay_min is not None)
    cover = key_cover_from_pieces(first / 60, last / 60, served, life / 60) if has_cover and life else None
    return ReplayEstimate(name, given, tries, duplicates, items, oldest, given.oldest_replay_min is not None, cover)


def _ages(item: QueueEstimate) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ages in minutes at the ends of each piece of the drain, and the items that leave the queue in it.

    In order of arrival the item in turn is the one served, and between two points of the curves it ages evenly.
    """
    course, load = item.recovery, item.load
    kept = course.times_min >= load.outage_min
    times, ages, waiting = course.times_min[kept], course.first_attempt_age_min[kept], course.backlog[kept]
    arrived = np.asarray(load.arrivals.cumulative(times), dtype=np.float64)
    left = np.maximum(0.0, np.diff(arrived) - np.diff(waiting))
    flows = np.diff(times) > 0.0
    return ages[:-1][flows], ages[1:][flows], left[flows]
