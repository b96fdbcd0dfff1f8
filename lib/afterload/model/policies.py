"""How clients retry, as data with one interface, and what a fleet of them does to a dependency.

Each policy answers the same questions (:class:`RetryPolicy`): tries a call while nothing limits it, from which
failure probability on its limit binds, the retries that it holds in reserve, how soon these are spent, tries a call
after that, and how soon the reserve is back. Failures are independent with probability ``p`` a try; in an outage they
are not, and ``p`` is 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, Protocol, TypeAlias, get_args

from afterload.errors import ModelError
from afterload.model.balance import BalanceRule
from afterload.model.checks import number, whole
from afterload.model.retries import tries_per_call

__all__ = [
    "ClientLoad",
    "ErrorKind",
    "FixedAttempts",
    "FleetView",
    "RetryPolicy",
    "RetryQuota",
    "RetryThrottling",
    "TokenBucketRetry",
    "fleet_view",
]

ErrorKind: TypeAlias = Literal["transient", "throttling", "timeout"]


@dataclass(frozen=True)
class ClientLoad:
    """What one client asks for, and how that fails.

    Attributes:
        failure_probability: chance, 0 to 1, that one try fails.
        calls_per_s: calls a second that the client's users make, retries not counted, more than 0.
        error: kind of the failures; quotas charge by it.
        attempt_s: seconds that one try is in flight, more than 0; only budgets of concurrent retries use it.

    Raises:
        ModelError: a value out of its range, or an unknown kind of error.
    """

    failure_probability: float
    calls_per_s: float = 1.0
    error: ErrorKind = "transient"
    attempt_s: float = 0.1

    def __post_init__(self) -> None:
        number("failure_probability", self.failure_probability, most=1.0)
        number("calls_per_s", self.calls_per_s, above=0.0)
        number("attempt_s", self.attempt_s, above=0.0)
        if self.error not in get_args(ErrorKind):
            raise ModelError(f"error is {self.error!r}; give one of {', '.join(get_args(ErrorKind))}")


class RetryPolicy(Protocol):
    """What every policy answers, for one client. ``None`` stands for no end, no limit or never."""

    def __hash__(self) -> int:
        """Policies are values: equal ones give equal answers, which are kept."""

    def open_loop(self, load: ClientLoad) -> float | None:
        """Mean tries a call while no limit binds."""

    def binds_above(self, load: ClientLoad) -> float | None:
        """Failure probability above which the limit binds in the long run (the one in ``load`` is not used)."""

    def burst(self, load: ClientLoad) -> float | None:
        """Retries sent before the limit binds if every call fails from now on; ``None``: there is no limit."""

    def time_to_bind_s(self, load: ClientLoad) -> float | None:
        """Mean seconds from a full reserve until the limit binds."""

    def sustained(self, load: ClientLoad) -> float | None:
        """Mean tries a call in the long run, with the limit."""

    def successes_to_refill(self, load: ClientLoad) -> float | None:
        """Calls that must succeed at once until the reserve is full; ``None`` where time refills it, not calls."""

    def time_to_refill_s(self, load: ClientLoad) -> float | None:
        """Seconds from an outage's end until the reserve is full, at the failure probability in ``load``."""


class Unlimited:
    """Answers of the policies that no reserve limits."""

    def open_loop(self, load: ClientLoad) -> float:
        """Mean tries a call."""
        raise NotImplementedError

    def binds_above(self, load: ClientLoad) -> None:
        """Never: there is no limit."""

    def time_to_bind_s(self, load: ClientLoad) -> None:
        """Never: there is no limit."""

    def sustained(self, load: ClientLoad) -> float:
        """The same as :meth:`open_loop`."""
        return self.open_loop(load)

    def successes_to_refill(self, load: ClientLoad) -> float:
        """0: there is no reserve."""
        return 0.0

    def time_to_refill_s(self, load: ClientLoad) -> float:
        """0: there is no reserve."""
        return 0.0


@dataclass(frozen=True)
class FixedAttempts(Unlimited):
    """A count of tries and no other limit: botocore's legacy mode, loops written by hand; 1 is no retry at all.

    Attributes:
        attempts: most tries of a call, the first one included.

    Raises:
        ModelError: not a whole number of at least 1.

    Source: botocore, ``retryhandler.py`` and ``data/_retry.json``: 5 tries, DynamoDB 10, no quota.
    """

    attempts: int

    def __post_init__(self) -> None:
        whole("attempts", self.attempts)

    def open_loop(self, load: ClientLoad) -> float:
        """Mean tries a call: ``(1 - p^n) / (1 - p)``."""
        return tries_per_call(load.failure_probability, self.attempts)

    def burst(self, load: ClientLoad) -> float | None:
        """No limit, so ``None``; 0 for a client that never retries."""
        return 0.0 if self.attempts == 1 else None


class _Bucket:
    """Answers of the policies whose limit is a bucket of tokens."""

    def rule(self, load: ClientLoad) -> BalanceRule:
        """The bucket as whole levels, for the kind of error in ``load``."""
        raise NotImplementedError

    def open_loop(self, load: ClientLoad) -> float | None:
        """Mean tries a call while the bucket pays; ``None`` if they have no end."""
        return self.rule(load).open_loop(load.failure_probability)

    def binds_above(self, load: ClientLoad) -> float | None:
        """Failure probability above which the bucket loses more than it earns."""
        return self.rule(load).empties_above()

    def burst(self, load: ClientLoad) -> float | None:
        """Retries that a full bucket pays if every try fails; ``None`` if it never empties."""
        rule = self.rule(load)
        return None if rule.drift(1.0) >= 0.0 else float(rule.burst()[0])

    def time_to_bind_s(self, load: ClientLoad) -> float | None:
        """Mean seconds from a full bucket until it cannot pay a retry."""
        calls = self.rule(load).calls_to_empty(load.failure_probability)
        return None if calls is None else calls / load.calls_per_s

    def sustained(self, load: ClientLoad) -> float:
        """Mean tries a call in the long run, with the bucket at its own balance."""
        return self.rule(load).sustained(load.failure_probability)

    def successes_to_refill(self, load: ClientLoad) -> float | None:
        """First-try successes from the level that a total failure leaves to a full bucket."""
        missing = self._missing(load)
        return None if missing is None else float(math.ceil(missing / self.rule(load).drift(0.0)))

    def time_to_refill_s(self, load: ClientLoad) -> float | None:
        """Seconds from the level that a total failure leaves to a full bucket; ``None`` if it does not fill."""
        missing, gained = self._missing(load), self.rule(load).drift(load.failure_probability)
        if missing is None or gained <= 0.0:
            return None
        return missing / gained / load.calls_per_s

    def _missing(self, load: ClientLoad) -> int | None:
        """Levels that a bucket lacks after a long total failure; ``None`` if that never empties it."""
        rule = self.rule(load)
        if rule.drift(1.0) >= 0.0:
            return None
        if rule.per_failure:
            # Failures go on taking tokens when no retry is sent any more.
            return rule.size
        return rule.size - rule.burst()[2]


@dataclass(frozen=True)
class RetryQuota(_Bucket):
    """The retry quota of an AWS SDK: tokens for each retry, given back by success.

    A first try that succeeds gives ``gain``; a call that succeeds after retries gives back the cost of its last retry
    only. Adaptive mode adds a client rate limiter after the first throttling error,
    which waits and never lets more through, so that this is its upper bound.

    Attributes:
        attempts: most tries of a call, the first one included.
        capacity: tokens in a full quota.
        transient_cost, throttling_cost, timeout_cost: tokens for a retry after each kind of error.
        gain: tokens given by a first try that succeeds.

    Raises:
        ModelError: a value that is not a whole number in its range.

    Source: botocore, ``retries/standard.py`` and ``retries/quota.py``: 500 tokens; since 1.44 14 for a transient
    error or timeout and 5 for throttling, 3 tries and DynamoDB 4; before that 5, timeouts 10, 3 tries.
    """

    attempts: int = 3
    capacity: int = 500
    transient_cost: int = 14
    throttling_cost: int = 5
    timeout_cost: int = 14
    gain: int = 1

    def __post_init__(self) -> None:
        for name in ("attempts", "capacity", "transient_cost", "throttling_cost", "timeout_cost", "gain"):
            whole(name, getattr(self, name))

    def cost(self, error: ErrorKind) -> int:
        """Tokens that a retry takes after an error of this kind."""
        return {"transient": self.transient_cost, "throttling": self.throttling_cost}.get(error, self.timeout_cost)

    def rule(self, load: ClientLoad) -> BalanceRule:
        """The quota with one token a level."""
        cost = self.cost(load.error)
        return BalanceRule(
            self.capacity, cost, self.attempts, cost, per_first_try_success=self.gain, per_retried_success=cost
        )


@dataclass(frozen=True)
class RetryThrottling(_Bucket):
    """gRPC retry throttling: failures take a token each, successes give a little, retries stop at half.

    Attributes:
        attempts: most tries of a call, the first one included; gRPC clients allow at most 5 by default.
        max_tokens: tokens of a full bucket, above 0 to 1,000.
        token_ratio: tokens given by a success, at least 0.001; gRPC keeps three decimals and drops the rest.

    Raises:
        ModelError: a value out of its range.

    Source: gRFC A6, "Throttling Retry Attempts and Hedged RPCs" and its validation of the configuration. Off unless
    configured. The defaults are its examples: 10 tokens, ratio 0.1, 4 attempts.
    """

    attempts: int = 4
    max_tokens: float = 10.0
    token_ratio: float = 0.1

    def __post_init__(self) -> None:
        whole("attempts", self.attempts)
        number("max_tokens", self.max_tokens, above=0.0, most=1000.0)
        number("token_ratio", self.token_ratio, least=0.001)

    def rule(self, load: ClientLoad) -> BalanceRule:
        """The bucket in the largest unit that makes a token, the ratio and half of the bucket whole."""
        ratio = Fraction(math.floor(Fraction(repr(float(self.token_ratio))) * 1000), 1000)
        tokens = Fraction(repr(float(self.max_tokens))).limit_denominator(1000)
        unit = _unit(Fraction(1), ratio, tokens / 2)
        earned = int(ratio / unit)
        return BalanceRule(
            size=int(tokens / unit),
            retry_needs=int(tokens / 2 / unit) + 1,
            max_attempts=self.attempts,
            per_failure=int(1 / unit),
            per_first_try_success=earned,
            per_retried_success=earned,
        )


@dataclass(frozen=True)
class TokenBucketRetry(_Bucket):
    """A local token bucket in front of retries, with the earning rule spelled out.

    Published rules differ in what earns a token. AWS SDKs and the Builders' Library earn by success; a published
    sample of an adaptive client earns by call, and so lets retries through for ever while everything fails. Say which
    one is meant.

    Attributes:
        attempts: most tries of a call, the first one included; ``None`` for as many as the bucket pays.
        capacity: tokens in a full bucket, more than 0.
        per_call: tokens earned by every call before its first try.
        per_success: tokens earned by every call that succeeds in the end.
        cost: tokens taken by a retry, more than 0.
        needs_more_than_cost: whether a retry needs more than its cost in the bucket, as in the published sample.

    Raises:
        ModelError: a value out of its range, or nothing is earned.

    Source: M. Brooker, "Fixing retries with token buckets and circuit breakers" (2022) and its simulator
    (``retry_sim``); "Timeouts, retries, and backoff with jitter", AWS Builders' Library.
    """

    attempts: int | None = None
    capacity: float = 5.0
    per_call: float = 0.0
    per_success: float = 0.1
    cost: float = 1.0
    needs_more_than_cost: bool = False

    def __post_init__(self) -> None:
        if self.attempts is not None:
            whole("attempts", self.attempts)
        number("capacity", self.capacity, above=0.0)
        number("cost", self.cost, above=0.0)
        if number("per_call", self.per_call) + number("per_success", self.per_success) == 0.0:
            raise ModelError("per_call and per_success are both 0; such a bucket would stay empty for good")

    def rule(self, load: ClientLoad) -> BalanceRule:
        """The bucket in the largest unit that makes all of its amounts whole."""
        amounts = [
            Fraction(repr(float(x))).limit_denominator(1000)
            for x in (self.capacity, self.cost, self.per_call, self.per_success)
        ]
        unit = _unit(*(amount for amount in amounts if amount))
        capacity, cost, per_call, per_success = (int(amount / unit) for amount in amounts)
        if cost < 1:
            raise ModelError(f"cost is {self.cost:g}; give at least 0.001")
        return BalanceRule(
            size=capacity,
            retry_needs=cost + 1 if self.needs_more_than_cost else cost,
            max_attempts=self.attempts,
            cost_per_retry=cost,
            per_call=per_call,
            per_first_try_success=per_success,
            per_retried_success=per_success,
        )


@dataclass(frozen=True)
class FleetView:
    """What a fleet of equal clients does; ``None`` stands for no end, no limit or never.

    Attributes:
        clients: clients in the fleet.
        open_loop: mean tries a call while no limit binds.
        binds_above: failure probability above which the limit binds in the long run.
        burst_retries: retries that the whole fleet sends before its limits bind if every call fails.
        time_to_bind_s: mean seconds until the limit of a client binds.
        sustained: mean tries a call in the long run, with the limit.
        successes_to_refill: first-try successes of one client until its reserve is full again.
        time_to_refill_s: seconds from the end of the outage until the reserve is full again.
    """

    clients: int
    open_loop: float | None
    binds_above: float | None
    burst_retries: float | None
    time_to_bind_s: float | None
    sustained: float | None
    successes_to_refill: float | None
    time_to_refill_s: float | None


@lru_cache(maxsize=1_024)
def fleet_view(
    policy: RetryPolicy, clients: int, load: ClientLoad, *, failure_probability_after: float = 0.0
) -> FleetView:
    """What a fleet holds in reserve, how soon it is spent, and what goes on after that.

    A restarted process starts with a full reserve, so restarts in an outage renew the burst.

    Parameters:
        policy: how each client retries.
        clients: clients in the fleet, each with a reserve of its own, at least 1.
        load: what each client asks for, and how it fails during the outage.
        failure_probability_after: chance, 0 to 1, that a try fails while the reserve fills up again.

    Raises:
        ModelError: a value out of its range.
    """
    fleet = whole("clients", clients)
    after = ClientLoad(failure_probability_after, load.calls_per_s, load.error, load.attempt_s)
    burst = policy.burst(load)
    return FleetView(
        clients=fleet,
        open_loop=policy.open_loop(load),
        binds_above=policy.binds_above(load),
        burst_retries=None if burst is None else fleet * burst,
        time_to_bind_s=policy.time_to_bind_s(load),
        sustained=policy.sustained(load),
        successes_to_refill=policy.successes_to_refill(load),
        time_to_refill_s=policy.time_to_refill_s(after),
    )


def _unit(*amounts: Fraction) -> Fraction:
    """The largest unit of which every amount is a whole multiple."""
    bottom = math.lcm(*(amount.denominator for amount in amounts))
    return Fraction(math.gcd(*(int(amount * bottom) for amount in amounts)), bottom)
