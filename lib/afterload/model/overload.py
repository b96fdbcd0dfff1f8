"""A dependency under overload: hidden capacity, classes of load, and the recovery of retrying clients in closed form.

Two time scales meet here. :class:`Dependency` counts in minutes and only knows whether the dependency is collapsed.
:class:`RetryingService` counts in seconds and knows the timeout; its event model is in ``overload_events`` and its
map of triggers in ``trigger``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from afterload.errors import ModelError
from afterload.model.checks import number, whole
from afterload.model.curves import FloatArray

__all__ = [
    "NEAR_SHARE",
    "Dependency",
    "LoadClass",
    "RetryingService",
    "classify",
    "closed_recovery_s",
    "fluid_fatal_outage_s",
    "hidden_capacity",
    "is_near",
    "retry_allowance",
]

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
class Dependency:
    """A dependency at the scale of minutes, healthy or collapsed; which of the two a case starts in is part of it.

    Attributes:
        capacity_per_min: attempts a minute that it bears while healthy, above 0.
        attempts_per_request: mean attempts of one request while it is collapsed, at least 1.
        goodput_share: share of the capacity, 0 to 1, that still serves somebody while collapsed; 0 when every
            call times out.

    Raises:
        ModelError: a value out of its range.

    Source: HotOS 2021; docs/model.md section 3.
    """

    capacity_per_min: float
    attempts_per_request: float
    goodput_share: float = 0.0

    def __post_init__(self) -> None:
        number("capacity_per_min", self.capacity_per_min, above=0.0)
        number("attempts_per_request", self.attempts_per_request, least=1.0)
        number("goodput_share", self.goodput_share, most=1.0)

    @property
    def hidden_capacity_per_min(self) -> float:
        """The highest load that lets a collapsed dependency heal."""
        return hidden_capacity(self.capacity_per_min, self.attempts_per_request)

    def classify(self, load_per_min: float) -> LoadClass:
        """Class of a load; see :func:`classify`."""
        return classify(load_per_min, self.capacity_per_min, self.attempts_per_request)

    def retry_allowance_per_min(self, load_per_min: float) -> float:
        """Retries a minute that fit beside a load; see :func:`retry_allowance`."""
        return retry_allowance(self.capacity_per_min, load_per_min)

    def is_near_boundary(self, load_per_min: float) -> bool:
        """Whether a load is within 2 % of the hidden or of the advertised capacity."""
        load = number("load_per_min", load_per_min)
        return is_near(load, self.hidden_capacity_per_min) or is_near(load, self.capacity_per_min)

    def is_collapsed_next(self, load_per_min: npt.ArrayLike, is_collapsed: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether it is collapsed after a step under this load; ``load_per_min`` and ``is_collapsed`` broadcast.

        Healthy stays healthy while the load fits; collapsed heals when the load with its retries fits.

        Raises:
            ModelError: a load is negative, NaN or infinite.
        """
        load = _loads(load_per_min)
        # A hair of slack: a drain held at exactly the hidden capacity must not fail on a rounding of the product.
        bearable = np.where(np.asarray(is_collapsed, dtype=bool), self.hidden_capacity_per_min, self.capacity_per_min)
        return np.asarray(load > bearable * (1.0 + 1e-12))

    def attempts_at(self, load_per_min: npt.ArrayLike, is_collapsed: npt.ArrayLike) -> FloatArray:
        """Attempts a minute that reach it under this load and in this state; shapes broadcast.

        Raises:
            ModelError: a load is negative, NaN or infinite.
        """
        factor = np.where(np.asarray(is_collapsed, dtype=bool), self.attempts_per_request, 1.0)
        return np.asarray(_loads(load_per_min) * factor, dtype=np.float64)

    def goodput_at(self, load_per_min: npt.ArrayLike, is_collapsed: npt.ArrayLike) -> FloatArray:
        """Requests a minute that are served in time under this load and in this state; shapes broadcast.

        Raises:
            ModelError: a load is negative, NaN or infinite.
        """
        share = np.where(np.asarray(is_collapsed, dtype=bool), self.goodput_share, 1.0)
        return np.asarray(np.minimum(_loads(load_per_min), share * self.capacity_per_min), dtype=np.float64)

    def held_drain_min(self, backlog: float, fresh_per_min: float) -> float | None:
        """Minutes to drain a backlog when fresh work and drain together are held at the hidden capacity.

        Returns:
            ``None`` when fresh work alone leaves nothing for the backlog, or keeps the dependency down.

        Raises:
            ModelError: a value out of its range.
        """
        items, fresh = number("backlog", backlog), number("fresh_per_min", fresh_per_min)
        if fresh > self.hidden_capacity_per_min:
            return None
        if items == 0.0:
            return 0.0
        spare = self.hidden_capacity_per_min - fresh
        # Next to nothing spare is nothing: the quotient would be a rounding error, or infinite.
        return items / spare if spare > 1e-9 * self.hidden_capacity_per_min else None


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

    def failing_attempts_per_s(self, load_per_s: float) -> float:
        """Attempts a second while every attempt times out."""
        retries = self.retries * number("load_per_s", load_per_s)
        return load_per_s + (retries if self.retry_limit_per_s is None else min(retries, self.retry_limit_per_s))

    def classify(self, load_per_s: float) -> LoadClass:
        """Class of a load, with the limit on retries counted; see :func:`classify`."""
        return classify(load_per_s, self.capacity_per_s, self.capacity_per_s / self.hidden_capacity_per_s)

    def is_near_boundary(self, load_per_s: float) -> bool:
        """Whether a load is within 2 % of the hidden or of the advertised capacity."""
        load = number("load_per_s", load_per_s)
        return is_near(load, self.hidden_capacity_per_s) or is_near(load, self.capacity_per_s)


def closed_recovery_s(service: RetryingService, load_per_s: float, outage_s: float) -> float | None:
    """Seconds from the restore until sends stop timing out, after an outage in which nothing was served.

    A fluid: at the restore the queue holds everything sent in the outage, first tries and retries; it falls to the
    length that takes one timeout to serve. For one retry this is ``(load (2 outage - timeout) - capacity timeout) /
    (capacity - 2 load)``. Where retries alone can keep the queue up, the fluid decides by the queue at its shortest, and
    :func:`fluid_fatal_outage_s` is up to 6 % off; the event model decides such cases.

    Returns:
        ``None`` for never.

    Raises:
        ModelError: a value out of its range.

    Source: HotOS 2021, its example; the form is docs/model.md section 3.
    """
    load, outage = number("load_per_s", load_per_s, above=0.0), number("outage_s", outage_s)
    capacity, timeout = service.capacity_per_s, service.timeout_s
    if load >= capacity:
        return None
    limit = service.retry_limit_per_s
    # Retries of the k-th round start k timeouts after the trigger; each round adds the load again, up to the limit.
    rounds = [load * k if limit is None else min(load * k, limit) for k in range(service.retries + 1)]
    queue = 0.0
    for k, retries_per_s in enumerate(rounds):
        ends_s = (k + 1) * timeout if k < service.retries else outage
        queue += (load + retries_per_s) * max(0.0, min(ends_s, outage) - k * timeout)
    at_s, patience = outage, capacity * timeout
    for k, retries_per_s in enumerate(rounds):
        ends_s = (k + 1) * timeout
        is_last = k == service.retries
        if ends_s <= at_s and not is_last:
            continue
        falls_by = capacity - load - retries_per_s
        if queue <= patience:
            return at_s - outage
        if is_last:
            return at_s - outage + (queue - patience) / falls_by if falls_by > 1e-12 * capacity else None
        reached_s = at_s + (queue - patience) / falls_by if falls_by > 0.0 else None
        if reached_s is not None and reached_s <= ends_s:
            return reached_s - outage
        queue -= falls_by * (ends_s - at_s)
        at_s = ends_s
    raise AssertionError("the last round always returns")


def fluid_fatal_outage_s(service: RetryingService, load_per_s: float) -> float | None:
    """A first estimate of the shortest outage after which the service stays down, in seconds.

    For one retry ``timeout (1 + capacity / load) / 2``: the outage whose first tries and retries fill one timeout of
    service. It ignores what the retries of the outage do after it, and is up to 6 % off.

    Returns:
        ``None`` where no outage is fatal; 0 where the load is too much without one.

    Raises:
        ModelError: a value out of its range.

    Source: HotOS 2021, its example, as a fluid.
    """
    load = number("load_per_s", load_per_s, above=0.0)
    if load >= service.capacity_per_s:
        return 0.0
    if service.failing_attempts_per_s(load) < service.capacity_per_s:
        return None
    queue, limit = 0.0, service.retry_limit_per_s
    needed = service.capacity_per_s * service.timeout_s
    for k in range(service.retries + 1):
        grows_by = load + (load * k if limit is None else min(load * k, limit))
        if k == service.retries or queue + grows_by * service.timeout_s >= needed:
            return k * service.timeout_s + (needed - queue) / grows_by
        queue += grows_by * service.timeout_s
    raise AssertionError("the last round always returns")


def _loads(load_per_min: npt.ArrayLike) -> FloatArray:
    load = np.asarray(load_per_min, dtype=np.float64)
    is_bad = ~(np.isfinite(load) & (load >= 0.0))
    if bool(np.any(is_bad)):
        raise ModelError(f"load_per_min holds {load[is_bad].flat[0]:g}; give finite loads from 0 on")
    return load
