"""Messages that fail so often in the outage that they leave the queue: shared by the rules about dead-letter queues."""

from __future__ import annotations

import math
from dataclasses import dataclass

from afterload import limits
from afterload.findings.audit.facts import Backlog, Facts

__all__ = ["Receives", "enough_receives", "receives_of"]


@dataclass(frozen=True)
class Receives:
    """How long the receives of a message last while every one of them fails.

    Attributes:
        count: receives that a message has.
        visibility_s: seconds from one receive to the next.
        outage_min: minutes in which work waits.
        items: messages that use up all their receives before the restore; None without a queue of the scenario.
        where: places of both settings.
    """

    count: int
    visibility_s: float
    outage_min: float
    items: float | None
    where: str

    @property
    def last_min(self) -> float:
        """Minutes until a message that always fails is moved."""
        return self.count * self.visibility_s / 60


def enough_receives(outage_s: float, visibility_s: float) -> tuple[int, int]:
    """Receives, and whole seconds between them, with which no message is moved before or at the end of an outage.

    The fewest receives that the present time-out allows; where the most that the service counts do not last, they come
    further apart.
    """
    most = limits.whole("sqs.max_receive_count.maximum")
    count = min(most, math.floor(outage_s / visibility_s + 1e-9) + 1)
    apart = max(math.ceil(visibility_s), math.floor(outage_s / count + 1e-9) + 1 if count == most else 0)
    return count, min(apart, limits.whole("sqs.visibility_timeout_s.maximum"))


def receives_of(facts: Facts, backlog: Backlog) -> Receives | None:
    """Receives of a queue with a redrive policy; None where exports do not show both settings, or nothing is moved.

    A message comes back after its visibility timeout, so it is moved that long times its receives after its first one.
    Messages that arrive so early that this falls into the outage are moved in it.
    """
    visibility = facts.setting(backlog.queue, "visibility_timeout_s")
    count = facts.setting(backlog.queue, "max_receive_count")
    if visibility is None or count is None or not visibility.number or not count.number:
        return None
    places = dict.fromkeys((count.where, visibility.where))
    found = Receives(round(count.number), visibility.number, 0.0, None, "; ".join(places))
    today = backlog.today
    if today is None:
        return found
    load = today.load
    until = max(0.0, load.outage_min - found.last_min)
    waiting = load.backlog_before if until > 0 else 0.0
    items = waiting + float(load.arrivals.cumulative(until)) - load.served_in_outage_per_min * until
    return Receives(found.count, found.visibility_s, load.outage_min, max(0.0, items), found.where)
