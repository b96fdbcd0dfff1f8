"""Retry limits that follow the traffic: budgets of proxies, and the local rejection of the SRE book.

They answer the questions of :class:`afterload.model.policies.RetryPolicy`. All are fluid: rates and means, no chance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from afterload.errors import ModelError
from afterload.model.checks import number, whole
from afterload.model.policies import ClientLoad
from afterload.model.retries import tries_per_call

__all__ = ["AdaptiveThrottling", "ConcurrencyBudget", "RateBudget"]

EarnedBy: TypeAlias = Literal["call", "outcome"]


class _FromTraffic:
    """What the budgets of a share of the traffic have in common."""

    attempts: int

    def open_loop(self, load: ClientLoad) -> float:
        """Mean tries a call while the limit does not bind: ``(1 - p^n) / (1 - p)``."""
        return tries_per_call(load.failure_probability, self.attempts)

    def retries_allowed(self, load: ClientLoad) -> float:
        """Most retries a call that the limit lets through in the long run."""
        raise NotImplementedError

    def binds_above(self, load: ClientLoad) -> float | None:
        """Failure probability above which retries ask for more than the limit; ``None`` if they never do."""

        def asks_too_much(p: float) -> bool:
            at = replace(load, failure_probability=p)
            return self.open_loop(at) - 1.0 > self.retries_allowed(at)

        if not asks_too_much(1.0):
            return None
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2.0
            low, high = (low, middle) if asks_too_much(middle) else (middle, high)
        return (low + high) / 2.0

    def sustained(self, load: ClientLoad) -> float:
        """Mean tries a call in the long run: a limit that binds is used up, since refused retries ask again."""
        return 1.0 + min(self.open_loop(load) - 1.0, self.retries_allowed(load))

    def successes_to_refill(self, load: ClientLoad) -> None:
        """``None``: time and traffic bring the allowance back, not a count of successes."""


@dataclass(frozen=True)
class ConcurrencyBudget(_FromTraffic):
    """A budget of concurrent retries: a share of what is active, with a least number.

    Envoy counts retries in flight among the active requests, so that a share of 20 % allows one retry for every four
    first tries: at most 1.25 tries a call, not 1.2. First tries and retries are taken to last alike, and the wait
    before a retry as short; the whole-number limit is not rounded. With few requests in flight chance leaves part of
    the budget unused, and the figures are upper bounds.

    Attributes:
        attempts: most tries of a call, the first one included.
        share: share of active requests that may be retries, above 0 to below 1.
        least: concurrent retries allowed in any case.

    Raises:
        ModelError: a value out of its range.

    Source: Envoy, ``RetryBudget`` of the circuit breakers (``budget_percent`` 20, ``min_retry_concurrency`` 3) and
    ``resource_manager_impl.h``.
    """

    attempts: int = 2
    share: float = 0.2
    least: float = 3.0

    def __post_init__(self) -> None:
        whole("attempts", self.attempts)
        number("share", self.share, above=0.0, below=1.0)
        number("least", self.least)

    def retries_allowed(self, load: ClientLoad) -> float:
        """The larger of ``share / (1 - share)`` and ``least`` over the first tries in flight."""
        return max(self.share / (1.0 - self.share), self.least / (load.calls_per_s * load.attempt_s))

    def burst(self, load: ClientLoad) -> float:
        """Retries in flight at once; nothing is saved up for an outage."""
        return self.retries_allowed(load) * load.calls_per_s * load.attempt_s

    def time_to_bind_s(self, load: ClientLoad) -> float | None:
        """0, as nothing is saved up; ``None`` if retries never ask for more than the limit."""
        return 0.0 if self.open_loop(load) - 1.0 > self.retries_allowed(load) else None

    def time_to_refill_s(self, load: ClientLoad) -> float | None:
        """0, or ``None`` while the limit still binds."""
        return None if self.time_to_bind_s(load) == 0.0 else 0.0


@dataclass(frozen=True)
class RateBudget(_FromTraffic):
    """A budget of retries over a sliding window: a share of what was earned in it, and a least rate.

    Attributes:
        attempts: most tries of a call, the first one included.
        share: retries allowed for each call that earns, more than 0.
        least_per_s: retries a second allowed in any case.
        window_s: seconds after which what was earned, and what was spent, is forgotten; more than 0.
        earned_by: "call" earns at every call; "outcome" only at results that are not retried, so that a full outage
            leaves the least rate alone.

    Raises:
        ModelError: a value out of its range.

    Source: Finagle, ``RetryBudget`` (0.2 of calls, 10 a second, 10 s, earned by every call); Linkerd, service
    profiles and ``linkerd2-proxy`` (the same figures, earned by every response that is no failure).
    """

    attempts: int = 3
    share: float = 0.2
    least_per_s: float = 10.0
    window_s: float = 10.0
    earned_by: EarnedBy = "call"

    def __post_init__(self) -> None:
        whole("attempts", self.attempts)
        number("share", self.share, above=0.0)
        number("least_per_s", self.least_per_s)
        number("window_s", self.window_s, above=0.0)
        if self.earned_by not in get_args(EarnedBy):
            raise ModelError(f"earned_by is {self.earned_by!r}; give one of {', '.join(get_args(EarnedBy))}")

    def retries_allowed(self, load: ClientLoad) -> float:
        """``share + least / rate`` a call; of outcomes, what the tries that succeed earn."""
        least = self.least_per_s / load.calls_per_s
        if self.earned_by == "call":
            return self.share + least
        earning = self.share * (1.0 - load.failure_probability)
        # Retries that succeed earn as well; a share of 1 and more then feeds itself.
        return (earning + least) / (1.0 - earning) if earning < 1.0 else float(self.attempts)

    def burst(self, load: ClientLoad) -> float | None:
        """Retries sent until the window is used up if every try fails; ``None`` if that never happens."""
        failing = replace(load, failure_probability=1.0)
        bound_s = self.time_to_bind_s(failing)
        return None if bound_s is None else bound_s * load.calls_per_s * (self.attempts - 1)

    def time_to_bind_s(self, load: ClientLoad) -> float | None:
        """Seconds until retries have spent what a window of untroubled traffic had earned."""
        p, rate = load.failure_probability, load.calls_per_s
        asked = self.open_loop(load) - 1.0
        if asked <= self.retries_allowed(load):
            return None
        saved = self.window_s * (self.share + self.least_per_s / rate)
        earned = 1.0 if self.earned_by == "call" else (1.0 - p) * self.open_loop(load)
        return saved / (asked + self.share * (1.0 - earned))

    def time_to_refill_s(self, load: ClientLoad) -> float | None:
        """The window, after which all that was spent is forgotten; ``None`` while the limit still binds."""
        return self.window_s if self.time_to_bind_s(load) is None else None


@dataclass(frozen=True)
class AdaptiveThrottling:
    """Requests rejected in the client itself, with a chance that grows with its rejections by the server.

    A client counts, over a window, the requests that its users make (retries and local rejections included) and those
    that the server accepts, and rejects a request with the chance ``max(0, (requests - K accepts) / (requests + 1))``.
    A request rejected locally fails at once and is not retried. First tries are rejected too, so that
    :meth:`sustained` may be less than 1.

    Attributes:
        attempts: most tries of a call, the first one included.
        multiplier: K, at least 1; 2 lets about as many failing requests through as accepted ones.
        window_s: seconds of history, more than 0.

    Raises:
        ModelError: a value out of its range.

    Source: Site Reliability Engineering, chapter "Handling Overload": two minutes of history, K = 2, three attempts.
    """

    attempts: int = 3
    multiplier: float = 2.0
    window_s: float = 120.0

    def __post_init__(self) -> None:
        whole("attempts", self.attempts)
        number("multiplier", self.multiplier, least=1.0)
        number("window_s", self.window_s, above=0.0)

    def rejection_probability(self, requests: float, accepts: float) -> float:
        """Chance that a request is rejected in the client.

        Parameters:
            requests: requests in the window, local rejections included.
            accepts: of these, requests that the server accepted.

        Raises:
            ModelError: a value out of its range, or more accepts than requests.
        """
        asked = number("requests", requests)
        return max(0.0, (asked - self.multiplier * number("accepts", accepts, most=asked)) / (asked + 1.0))

    def open_loop(self, load: ClientLoad) -> float:
        """Mean tries a call while nothing is rejected locally: ``(1 - p^n) / (1 - p)``."""
        return tries_per_call(load.failure_probability, self.attempts)

    def binds_above(self, load: ClientLoad) -> float:
        """``1 - 1 / K``: above it the server accepts less than one in K."""
        return 1.0 - 1.0 / self.multiplier

    def sustained(self, load: ClientLoad) -> float:
        """Mean tries a call that are sent, in the long run.

        Solves for the share sent, at which the rejection chance that follows from the window leads to that share.
        With a long window it is next to nothing above :meth:`binds_above`: only probes are sent.
        """
        p = load.failure_probability
        calls = load.calls_per_s * self.window_s

        def asked(sent: float) -> float:
            return tries_per_call(sent * p, self.attempts)

        def surplus(sent: float) -> float:
            requests = calls * asked(sent)
            accepts = requests * sent * (1.0 - p)
            return 1.0 - sent - self.rejection_probability(requests, accepts)

        # What is sent falls short of what is let through below the answer, and exceeds it above.
        low, high = 0.0, 1.0
        if surplus(1.0) >= 0.0:
            return self.open_loop(load)
        for _ in range(60):
            middle = (low + high) / 2.0
            low, high = (middle, high) if surplus(middle) > 0.0 else (low, middle)
        return high * asked(high)

    def burst(self, load: ClientLoad) -> float:
        """Retries sent until local rejection begins if every try fails."""
        bound_s = self.time_to_bind_s(replace(load, failure_probability=1.0))
        return 0.0 if bound_s is None else bound_s * load.calls_per_s * (self.attempts - 1)

    def time_to_bind_s(self, load: ClientLoad) -> float | None:
        """Seconds until requests exceed K times the accepts of the window; K = 2 without retries: half a window."""
        tries, k = self.open_loop(load), self.multiplier
        beyond = tries - k * tries * (1.0 - load.failure_probability)
        return None if beyond <= 0.0 else self.window_s * (k - 1.0) / (k - 1.0 + beyond)

    def successes_to_refill(self, load: ClientLoad) -> None:
        """``None``: the window forgets by time."""

    def time_to_refill_s(self, load: ClientLoad) -> float | None:
        """At most the window, counted from the first probe that is accepted; ``None`` while it still rejects."""
        return self.window_s if self.time_to_bind_s(load) is None else None
