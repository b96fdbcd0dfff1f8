"""From a scenario's clients to retry policies: what each fleet of them holds, and what it asks of a dependency."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from afterload import limits
from afterload.model.budgets import AdaptiveThrottling, ConcurrencyBudget, RateBudget
from afterload.model.curves import FloatArray
from afterload.model.jitter import Backoff
from afterload.model.policies import (
    ClientLoad,
    FleetView,
    RetryPolicy,
    RetryQuota,
    RetryThrottling,
    TokenBucketRetry,
    fleet_view,
)
from afterload.scenario import Client, Scenario

__all__ = ["ClientKind", "client_kinds"]

# Buckets of so many levels are solved exactly for every point of a chart.
FEW_LEVELS = 200
# Limits that follow the traffic: nothing of them is known without a client's call rate.
FOLLOW_TRAFFIC = (AdaptiveThrottling, ConcurrencyBudget, RateBudget)


@dataclass(frozen=True)
class ClientKind:
    """One kind of client of a scenario.

    Attributes:
        name, client: its name and inputs.
        preset: what its SDK, version and mode tell.
        failing: shares of attempts that fail in the event at its dependency, rising, the last one 1.
    """

    name: str
    client: Client
    preset: limits.RetryPreset
    failing: tuple[float, ...]

    @cached_property
    def limit(self) -> limits.RetryLimitPreset | None:
        """What holds its retries back beside its SDK; None: nothing does."""
        given = self.client.retry_limit
        return None if given is None else given.preset(self.client.max_attempts)

    @cached_property
    def policy(self) -> RetryPolicy | None:
        """How each of them retries; None: not known, as it has neither a count of attempts nor a limit."""
        if self.limit is not None:
            return self.limit.policy()
        return self.preset.policy(self.client.errors, self.client.max_attempts)

    @property
    def attempts(self) -> int | None:
        """Most tries of a call, the first one included; None: no count."""
        own = self.preset.attempts if self.limit is None else self.limit.attempts
        return self.client.max_attempts or own

    @property
    def backoff(self) -> Backoff | None:
        """How each of them waits; None: not known."""
        own = self.preset.backoff(self.client.errors)
        if own is None or self.client.jitter is None:
            return own
        return replace(own, jitter=self.client.jitter, first_at_once=False)

    @property
    def needs_calls(self) -> bool:
        """True if nothing can be said of its limit because the scenario does not give its call rate."""
        return self.client.calls_per_min is None and isinstance(self.policy, FOLLOW_TRAFFIC)

    def load(self, failure_probability: float) -> ClientLoad:
        """What one of them asks for; one call a second where the scenario gives no rate, which no count depends on."""
        limit = self.client.retry_limit
        return ClientLoad(
            failure_probability,
            calls_per_s=1.0 if self.client.calls_per_min is None else self.client.calls_per_min / 60,
            error=self.client.errors,
            attempt_s=ClientLoad(1.0).attempt_s if limit is None else limit.attempt_time_s,
        )

    def view(self, failure_probability: float = 1.0) -> FleetView | None:
        """What the fleet does; None where its policy, or a call rate that it depends on, is not known.

        Times are those of one call a second and client where the scenario gives no rate: do not show them.
        """
        if self.policy is None or self.needs_calls:
            return None
        return _view(self.policy, self.client.number, self.load(failure_probability))

    def long_run(self, failure_probabilities: FloatArray) -> FloatArray:
        """Mean tries a call with the limit, for a chart: of the same shape, ``nan`` where nothing is known.

        Large buckets by token rates alone, which are within 0.5 % of the exact figure and a thousand times as fast.
        """
        policy = self.policy
        if policy is None or self.needs_calls:
            return np.full(len(failure_probabilities), np.nan)
        if isinstance(policy, RetryQuota | RetryThrottling | TokenBucketRetry):
            rule = policy.rule(self.load(1.0))
            if rule.size > FEW_LEVELS:
                return rule.sustained_fluid(failure_probabilities)
        tries = [policy.sustained(self.load(float(p))) for p in failure_probabilities]
        return np.array([np.nan if value is None else value for value in tries], dtype=np.float64)


@lru_cache(maxsize=1_024)
def _view(policy: RetryPolicy, number: int, load: ClientLoad) -> FleetView:
    return fleet_view(policy, number, load)


def client_kinds(scenario: Scenario) -> Iterator[ClientKind]:
    """Every kind of client, in the order of the scenario."""
    for name, client in scenario.clients.items():
        seen = {
            stack.failure_probability
            for stack in scenario.call_stacks.values()
            if stack.dependency is not None and stack.dependency == client.dependency
        }
        # Of several stacks the worst one below a full failure speaks for the event.
        own = max((share for share in seen if 0 < share < 1), default=None)
        preset = limits.client_preset(client.sdk, client.version, client.mode, client.service)
        yield ClientKind(name, client, preset, (1.0,) if own is None else (own, 1.0))
