"""A dependency under overload: hidden capacity, classes of load, and clients that retry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from afterload.model.checks import number, whole

__all__ = ["LoadClass", "RetryingService", "classify", "hidden_capacity", "is_near", "retry_allowance"]

LoadClass: TypeAlias = Literal["stable", "vulnerable", "overloaded"]

# Within this share of a class boundary a verdict is not certain.
NEAR_SHARE = 0.02


def hidden_capacity(capacity: float, attempts_per_request: float) -> float:
    """The highest load at which a collapsed dependency still heals by itself, in the unit of ``capacity``.

    Parameters:
        capacity: requests that the healthy dependency serves in a unit of time, above 0.
        attempts_per_request: mean attempts that one request makes while everything fails, at least 1.

    Raises:
        ModelError: a value out of its range.

    Source: "Metastable Failures in Distributed Systems", HotOS 2021: 300/s and one retry hide 150/s.
    """
    return number("capacity", capacity, above=0.0) / number("attempts_per_request", attempts_per_request, least=1.0)


def retry_allowance(capacity: float, load: float) -> float:
    """Retries that fit beside ``load``, in the unit of both; 0 where the load alone is too much.

    A recovery needs fewer retries than this: with exactly this many the queue neither grows nor shrinks.

    Raises:
        ModelError: a value out of its range.

    Source: HotOS 2021: at 280/s of 300/s retries must stay under 20/s.
    """
    return max(0.0, number("capacity", capacity, above=0.0) - number("load", load))


def is_near(load: float, boundary: float) -> bool:
    """Whether ``load`` lies within 2 % of ``boundary``, so that a verdict that depends on the side is not certain."""
    return abs(load - boundary) <= NEAR_SHARE * boundary * (1.0 + 1e-12)


def classify(load: float, capacity: float, attempts_per_request: float) -> LoadClass:
    """The class of a load; all rates in one unit.

    Returns:
        "stable" up to the hidden capacity, "vulnerable" up to the capacity, "overloaded" above it.

    Raises:
        ModelError: a value out of its range.

    Source: HotOS 2021, its three states of a system.
    """
    hidden = hidden_capacity(capacity, attempts_per_request)
    if number("load", load) <= hidden:
        return "stable"
    return "vulnerable" if load <= capacity else "overloaded"


@dataclass(frozen=True)
class RetryingService:
    """A service that answers in order of arrival, and clients that give up and try again.

    Work whose caller has left is still done. One retry follows the send that timed out after exactly one timeout.

    Attributes:
        capacity_per_s: attempts a second that it serves, above 0.
        timeout_s: seconds after which a caller gives up an attempt, above 0.
        retries: most retries of one request.
        retry_limit_per_s: most retries a second of all clients together; ``None`` for no limit.

    Raises:
        ModelError: a value out of its range.

    Source: HotOS 2021, section 2.1: 300/s, one retry after a timeout of 1 s.
    """

    capacity_per_s: float
    timeout_s: float = 1.0
    retries: int = 1
    retry_limit_per_s: float | None = None

    def __post_init__(self) -> None:
        number("capacity_per_s", self.capacity_per_s, above=0.0)
        number("timeout_s", self.timeout_s, above=0.0)
        object.__setattr__(self, "retries", whole("retries", self.retries, least=0))
        if self.retry_limit_per_s is not None:
            number("retry_limit_per_s", self.retry_limit_per_s)

    @property
    def attempts_per_request(self) -> int:
        """Attempts of a request that never succeeds, where no limit holds retries back."""
        return 1 + self.retries

    @property
    def hidden_capacity_per_s(self) -> float:
        """The load below which it heals from any trigger, with the limit on retries counted."""
        hidden = self.capacity_per_s / self.attempts_per_request
        if self.retry_limit_per_s is None:
            return hidden
        return max(hidden, self.capacity_per_s - self.retry_limit_per_s)

    def classify(self, load_per_s: float) -> LoadClass:
        """Class of a load, with the limit on retries counted; see :func:`classify`."""
        return classify(load_per_s, self.capacity_per_s, self.capacity_per_s / self.hidden_capacity_per_s)

    def is_near_boundary(self, load_per_s: float) -> bool:
        """Whether a load is within 2 % of the hidden or of the advertised capacity."""
        load = number("load_per_s", load_per_s)
        return is_near(load, self.hidden_capacity_per_s) or is_near(load, self.capacity_per_s)
