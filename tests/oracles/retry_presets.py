"""Policies of well-known clients by name, each with its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from afterload.model.budgets import AdaptiveThrottling, ConcurrencyBudget, RateBudget
from afterload.model.policies import FixedAttempts, RetryPolicy, RetryQuota, RetryThrottling, TokenBucketRetry

__all__ = ["PRESETS", "PolicyPreset"]


@dataclass(frozen=True)
class PolicyPreset:
    """A policy with the figures of one client, and where they are from."""

    policy: RetryPolicy
    source: str


_STANDARD = RetryQuota()
_STANDARD_BEFORE = RetryQuota(transient_cost=5, throttling_cost=5, timeout_cost=10)
_BOTOCORE = "botocore 1.44, retries/standard.py"
_BOTOCORE_BEFORE = "botocore 1.43, retries/standard.py"
_LEGACY = "botocore, data/_retry.json"

PRESETS: Mapping[str, PolicyPreset] = MappingProxyType(
    {
        "none": PolicyPreset(FixedAttempts(1), "one try"),
        "botocore legacy": PolicyPreset(FixedAttempts(5), _LEGACY),
        "botocore legacy dynamodb": PolicyPreset(FixedAttempts(10), _LEGACY),
        "botocore standard before 1.44": PolicyPreset(_STANDARD_BEFORE, _BOTOCORE_BEFORE),
        "botocore standard": PolicyPreset(_STANDARD, _BOTOCORE),
        "botocore standard dynamodb": PolicyPreset(RetryQuota(attempts=4), _BOTOCORE),
        "botocore adaptive": PolicyPreset(_STANDARD, _BOTOCORE + " and retries/adaptive.py; without its rate limiter"),
        "botocore adaptive dynamodb": PolicyPreset(RetryQuota(attempts=4), _BOTOCORE + " and retries/adaptive.py"),
        "grpc throttling": PolicyPreset(RetryThrottling(), "gRFC A6, example configuration; off unless configured"),
        "envoy budget": PolicyPreset(ConcurrencyBudget(), "Envoy, RetryBudget of the circuit breakers"),
        "finagle budget": PolicyPreset(RateBudget(), "Finagle, RetryBudget"),
        "linkerd budget": PolicyPreset(RateBudget(earned_by="outcome"), "Linkerd, service profiles; linkerd2-proxy"),
        "google adaptive throttling": PolicyPreset(
            AdaptiveThrottling(), "Site Reliability Engineering, chapter Handling Overload"
        ),
        "token bucket": PolicyPreset(
            TokenBucketRetry(), "Timeouts, retries, and backoff with jitter, AWS Builders' Library; one in ten"
        ),
    }
)
