"""A queue with timeouts: work done for callers who have left, and what gets the queue out of it.

Callers give up after a timeout and send again; what they left behind still waits in the queue and is still served. Once
the queue is longer than the service does in one timeout, everything served is too late. The same happens to lease
renewals that all come due together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from afterload.errors import ModelError
from afterload.model.checks import number, whole
from afterload.model.curves import FloatArray

__all__ = ["TimeoutQueue", "goodput_by_length"]

Discipline: TypeAlias = Literal["fifo", "lifo"]


@dataclass(frozen=True)
class TimeoutQueue:
    """A single queue, its service, its callers and what guards it.

    Attributes:
        service_rate_per_s: work served a second, above 0; single services are exponential.
        timeout_s: seconds after which a caller gives up a send, above 0.
        retries: most further sends of a request, one timeout after the other; ``None`` for without end.
        queue_cap: most items waiting; ``None`` for no bound. A full "fifo" refuses the new item, a full "lifo"
            drops the oldest.
        discipline: "fifo" or "lifo".
        admit_all_below, admit_none_from: admission by queue size: everything below the first length, nothing
            from the second on, a falling share between them; ``None`` for no such rule.
        discards_expired: whether an item whose caller has left is dropped when its turn comes.

    Raises:
        ModelError: a value out of its range, one of the two lengths of the rule alone, or in the wrong order.

    Source: "Analyzing Metastable Failures", HotOS 2025; the event summary on lease renewals.
    """

    service_rate_per_s: float
    timeout_s: float
    retries: int | None
    queue_cap: int | None = None
    discipline: Discipline = "fifo"
    admit_all_below: int | None = None
    admit_none_from: int | None = None
    discards_expired: bool = False

    def __post_init__(self) -> None:
        number("service_rate_per_s", self.service_rate_per_s, above=0.0)
        number("timeout_s", self.timeout_s, above=0.0)
        if self.retries is not None:
            whole("retries", self.retries, least=0)
        if self.queue_cap is not None:
            whole("queue_cap", self.queue_cap)
        if self.discipline not in ("fifo", "lifo"):
            raise ModelError(f"discipline is {self.discipline!r}; give 'fifo' or 'lifo'")
        if (self.admit_all_below is None) != (self.admit_none_from is None):
            raise ModelError("give both admit_all_below and admit_none_from, or neither")
        if self.admit_all_below is not None and self.admit_none_from is not None:
            below = whole("admit_all_below", self.admit_all_below)
            if whole("admit_none_from", self.admit_none_from) < below:
                raise ModelError(
                    f"admit_none_from is {self.admit_none_from}, less than admit_all_below {below}; give them in order"
                )

    @property
    def useful_length(self) -> float:
        """Items that the service does in one timeout: whoever waits behind more than these is served too late."""
        return self.service_rate_per_s * self.timeout_s

    @property
    def longest(self) -> float | None:
        """The longest that the queue can become, by its cap or by admission; ``None`` for no bound."""
        bounds = [bound for bound in (self.queue_cap, self.admit_none_from) if bound is not None]
        return float(min(bounds)) if bounds else None

    def offered_when_failing_per_s(self, load_per_s: float) -> float | None:
        """Sends a second when every send fails; ``None`` where retries never end, so that it has no bound."""
        load = number("load_per_s", load_per_s)
        return None if self.retries is None else load * (1 + self.retries)

    def can_stay_down(self, load_per_s: float) -> bool:
        """Whether a state exists at this load in which nothing is served in time and which keeps itself up.

        It does in order of arrival, where ``longest / service rate > timeout`` and ``load (1 + retries) > service rate``.
        LIFO serves the newest first, and a queue that discards expired work does not work for nobody.

        Source: HotOS 2025, its example.
        """
        if self.discipline == "lifo" or self.discards_expired:
            return False
        offered = self.offered_when_failing_per_s(load_per_s)
        is_too_long = self.longest is None or self.longest > self.useful_length
        return is_too_long and (offered is None or offered > self.service_rate_per_s)

    def escape_odds(self, load_per_s: float) -> float | None:
        """Chance, 0 to 1, that a full queue falls to its useful length before it is full again.

        A random walk with the sends of the failing state against the service; small odds make "stays down" safe.
        ``None`` where the queue cannot stay down, or has no bound.
        """
        offered = self.offered_when_failing_per_s(load_per_s)
        if offered is None or self.longest is None or not self.can_stay_down(load_per_s):
            return None
        return float((self.service_rate_per_s / offered) ** (self.longest - self.useful_length))


def goodput_by_length(queue: TimeoutQueue, lengths: Sequence[int]) -> FloatArray:
    """Work a second that is served in time when each new send finds so many items ahead, in order of arrival.

    Parameters:
        queue: service rate and timeout; its guards are not looked at.
        lengths: items ahead, shape (lengths,), from 0 on.

    Returns:
        Service rate times the chance that ``length + 1`` exponential services end within the timeout, shape (lengths,).

    Raises:
        ModelError: a length is negative or not whole.

    Source: docs/model.md section 3; the chance is a Poisson tail.
    """
    asked = [whole(f"lengths[{i}]", length, least=0) for i, length in enumerate(lengths)]
    if not asked:
        return np.zeros(0)
    mean = queue.useful_length
    counts = np.arange(max(asked) + 1, dtype=np.float64)
    logs = -mean + counts * math.log(mean) - np.array([math.lgamma(count + 1.0) for count in counts])
    # At most ``length`` services within the timeout is too few.
    too_few = np.cumsum(np.exp(logs))
    goodput = queue.service_rate_per_s * np.clip(1.0 - too_few, 0.0, 1.0)
    return np.asarray(goodput[np.array(asked)], dtype=np.float64)
