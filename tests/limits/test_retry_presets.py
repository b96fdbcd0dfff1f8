"""Every preset leads to a policy, with the figures that its source gives."""

from __future__ import annotations

import pytest
from tests.oracles.quota_rules import botocore_rules
from tests.oracles.retry_presets import PRESETS

from afterload import limits
from afterload.errors import UnitError
from afterload.model.budgets import RateBudget
from afterload.model.deadline import DeadlineAttempts
from afterload.model.jitter import Backoff
from afterload.model.policies import ClientLoad, FixedAttempts, RetryQuota, TokenBucketRetry, fleet_view
from afterload.resources import resource
from afterload.yamltree import read_file

NEW = RetryQuota(3, 500, 14, 5, 14)
OLD = RetryQuota(3, 500, 5, 5, 10)
SECOND = Backoff("full", 1.0, 20.0)
# SDK, version, mode, service: the policy against transient errors, and the waits after them.
# fmt: off
POLICIES = [
    # botocore/retries/standard.py, quota.py, data/_retry.json of releases 1.43.11 and 1.44.8
    ("boto3", "1.43.11", "legacy", "other", FixedAttempts(5), Backoff("full", 1.0)),
    ("boto3", "1.43.11", "legacy", "dynamodb", FixedAttempts(10), Backoff("none", 0.05)),
    ("boto3", "1.44.8", "legacy", "dynamodb-streams", FixedAttempts(5), Backoff("full", 1.0)),
    ("botocore", "1.43.11", "standard", "other", OLD, SECOND),
    ("botocore", "1.43.11", "standard", "dynamodb", OLD, SECOND),
    ("botocore", "1.43.11", "adaptive", "dynamodb-streams", OLD, SECOND),
    ("boto3", "1.44.8", "standard", "other", NEW, Backoff("full", 0.05, 20.0)),
    ("boto3", "1.44.8", "adaptive", "dynamodb", RetryQuota(4, 500, 14, 5, 14), Backoff("full", 0.025, 20.0)),
    ("boto3", "1.44.8", "standard", "dynamodb-streams", RetryQuota(4, 500, 14, 5, 14), Backoff("full", 0.025, 20.0)),
    # awscli/botocore/retries/standard.py of aws/aws-cli
    ("aws-cli-v2", None, "standard", "dynamodb", OLD, SECOND),
    ("aws-cli-v2", None, "adaptive", "other", OLD, SECOND),
    ("aws-cli-v2", None, "legacy", "dynamodb", FixedAttempts(10), Backoff("none", 0.05)),
    # DefaultRetryStrategy and DynamoDbRetryPolicy of aws/aws-sdk-java-v2
    ("java-v2", None, "legacy", "other", RetryQuota(4, 500, 5, 5, 5), Backoff("full", 0.1, 20.0)),
    ("java-v2", None, "legacy", "dynamodb", RetryQuota(9, 500, 5, 5, 5), Backoff("full", 0.025, 20.0)),
    ("java-v2", None, "standard", "other", RetryQuota(3, 500, 5, 5, 5), Backoff("full", 0.1, 20.0)),
    ("java-v2", None, "adaptive", "dynamodb", RetryQuota(9, 500, 5, 5, 5), Backoff("full", 0.025, 20.0)),
    # util-retry/src/constants.ts of smithy-typescript; aws/retry/standard.go; StandardRetryPolicy.cs
    ("js-v3", None, "standard", "other", OLD, Backoff("full", 0.1, 20.0)),
    ("js-v3", None, "adaptive", "other", OLD, Backoff("full", 0.1, 20.0)),
    ("go-v2", None, "standard", "dynamodb", OLD, SECOND),
    ("go-v2", None, "adaptive", "other", OLD, SECOND),
    ("dotnet", None, "standard", "other", OLD, SECOND),
    ("dotnet", None, "adaptive", "other", OLD, SECOND),
    # DefaultRetryStrategy and StandardRetryStrategy of aws-sdk-cpp
    ("cpp", None, "legacy", "other", FixedAttempts(11), Backoff("none", 0.025, first_at_once=True)),
    ("cpp", None, "standard", "other", OLD, SECOND),
    # azure/core/pipeline/policies/_retry.py; google/api_core/retry/retry_base.py; gRPC proposal A6
    ("azure-python", None, "legacy", "other", FixedAttempts(11), Backoff("none", 0.8, 120.0, first_at_once=True)),
    ("google-api-core", None, "legacy", "other", DeadlineAttempts(Backoff("full", 1.0, 60.0), 120.0),
     Backoff("full", 1.0, 60.0)),
    # IntervalSeconds 1, BackoffRate 2, no MaxDelaySeconds and no JitterStrategy in AWS Step Functions
    ("step-functions", None, "legacy", "other", FixedAttempts(4), Backoff("none", 1.0)),
    ("grpc", None, "legacy", "other", FixedAttempts(1), None),
    # Nothing is known of it: no policy is made up.
    ("other", None, "legacy", "other", None, None),
]
# fmt: on


@pytest.mark.parametrize(("sdk", "version", "mode", "service", "policy", "backoff"), POLICIES)
def test_a_preset_leads_to_its_policy(sdk, version, mode, service, policy, backoff):
    found = limits.client_preset(sdk, version, mode, service)
    assert found.policy() == policy
    assert found.backoff() == backoff


def test_every_preset_of_the_data_is_in_the_table():
    table = read_file(resource("data", "clients.yaml"))[0].data
    modes = {(sdk, mode) for sdk, rows in table.items() for mode in rows if mode != "default"}
    boto = {("boto3", mode) for mode in ("legacy", "standard", "adaptive")}
    checked = {(sdk, mode) for sdk, _, mode, *_ in POLICIES}
    assert modes <= checked | boto | {("botocore", mode) for _, mode in boto}
    assert table["botocore"] == table["boto3"]


@pytest.mark.parametrize("mode", ["legacy", "standard", "adaptive"])
@pytest.mark.parametrize("service", ["other", "dynamodb", "dynamodb-streams"])
@pytest.mark.parametrize("version", ["1.43.11", "1.44.8"])
def test_presets_of_botocore_are_the_rules_that_the_model_follows_call_by_call(mode, service, version):
    """The rules are compared with the installed library in tests/peers."""
    found = limits.client_preset("botocore", version, mode, service)
    rules = botocore_rules(mode, service=service, since_1_44=version == "1.44.8")
    assert (found.attempts, found.quota, found.cap_s) == (rules.max_attempts, rules.capacity, rules.cap_s)
    assert found.jitter == ("full" if rules.jittered else "none")
    for error, base_s in (("transient", rules.transient_base_s), ("throttling", rules.throttling_base_s)):
        backoff = found.backoff(error)
        assert backoff is not None
        assert backoff.base_s == base_s
    if rules.capacity is not None:
        for error in ("transient", "throttling", "timeout"):
            policy = found.policy(error)
            assert isinstance(policy, RetryQuota)
            assert policy.cost(error) == rules.cost(error)


# Clients of one kind, all calls failing: retries of the fleet, share above which the quota binds, calls to refill it.
# botocore 1.44: token drift of 14 and 5 (docs/model.md section 2); the older cost of 5 has the same as throttling.
FLEETS = [
    ("boto3", "1.44.8", "transient", 35_000, 0.2149, 490),
    ("boto3", "1.44.8", "throttling", 100_000, 0.3207, 500),
    ("boto3", "1.44.8", "timeout", 35_000, 0.2149, 490),
    ("go-v2", None, "transient", 100_000, 0.3207, 500),
    ("dotnet", None, "transient", 100_000, 0.3207, 500),
    ("java-v2", None, "transient", 100_000, 0.3207, 500),
    ("js-v3", None, "timeout", 50_000, None, 500),
]


@pytest.mark.parametrize(("sdk", "version", "error", "burst", "binds", "refill"), FLEETS)
def test_a_thousand_clients_hold_the_published_burst(sdk, version, error, burst, binds, refill):
    policy = limits.client_preset(sdk, version, "standard").policy(error)
    assert policy is not None
    view = fleet_view(policy, 1000, ClientLoad(1.0, error=error))
    assert (view.burst_retries, view.successes_to_refill) == (burst, refill)
    if binds is not None:
        assert view.binds_above == pytest.approx(binds, abs=5e-5)


def test_throttling_takes_no_tokens_in_legacy_mode_of_java():
    """THROTTLE_EXCEPTION_TOKEN_COST = 0 in its DefaultRetryStrategy: nothing limits those retries."""
    preset = limits.client_preset("java-v2", None, "legacy")
    assert preset.policy("throttling") == FixedAttempts(4)
    assert preset.policy("throttling", 2) == FixedAttempts(2)
    assert preset.backoff("throttling") == Backoff("full", 0.5, 20.0)


def test_a_teams_own_attempts_go_before_the_presets():
    assert limits.client_preset("boto3", "1.44.8", "standard").policy(attempts=7) == RetryQuota(7, 500, 14, 5, 14)
    assert limits.client_preset("boto3", "1.44.8", "standard").policy(attempts=1) == FixedAttempts(1)
    assert limits.client_preset("other", None, "default").policy(attempts=4) == FixedAttempts(4)
    assert limits.client_preset("google-api-core", None, "default").policy(attempts=4) == FixedAttempts(4)


def test_without_a_version_the_older_figures_are_taken_and_doubted():
    found = limits.client_preset("boto3", None, "standard", "dynamodb")
    assert (found.attempts, found.mode_known, found.figures_known) == (3, True, False)
    assert found.policy() == OLD
    assert limits.client_preset("boto3", "1.44.0", "standard").figures_known
    assert limits.client_preset("go-v2", None, "standard").figures_known


# What the model's own presets have, under the names of the data.
LIMITS = {
    "grpc-throttling": "grpc throttling",
    "envoy-budget": "envoy budget",
    "finagle-budget": "finagle budget",
    "linkerd-budget": "linkerd budget",
    "google-adaptive-throttling": "google adaptive throttling",
    "token-bucket": "token bucket",
}


@pytest.mark.parametrize("kind", limits.RETRY_LIMITS)
def test_the_figures_of_a_limit_are_those_of_the_model(kind):
    found = limits.retry_limit_preset(kind)
    assert found.policy() == PRESETS[LIMITS[kind]].policy
    assert found.source in limits.SOURCES.values()
    assert found.note


def test_every_limit_of_the_data_has_a_policy():
    table = read_file(resource("data", "retry_limits.yaml"))[0].data
    assert tuple(table) == limits.RETRY_LIMITS == tuple(LIMITS)
    for kind, row in table.items():
        known = set(limits.RetryLimitPreset.__dataclass_fields__)
        assert set(row) <= known - {"kind"}, kind
        for name in set(row) - {"source", "note", "earned_by", "attempts"}:
            assert isinstance(row[name], int | float), (kind, name)


def test_published_figures_of_the_limits():
    """gRFC A6; Envoy RetryBudget; Finagle RetryBudget; Linkerd ServiceProfile; SRE book, Handling Overload."""
    grpc = limits.retry_limit_preset("grpc-throttling")
    assert (grpc.max_tokens, grpc.token_ratio) == (10, 0.1)
    envoy = limits.retry_limit_preset("envoy-budget")
    assert (envoy.budget_share, envoy.least) == (0.2, 3)
    for kind, earned_by in (("finagle-budget", "call"), ("linkerd-budget", "outcome")):
        budget = limits.retry_limit_preset(kind)
        assert (budget.budget_share, budget.least_per_s, budget.window_s) == (0.2, 10, 10)
        assert budget.policy() == RateBudget(3, 0.2, 10.0, 10.0, earned_by)
    assert limits.retry_limit_preset("google-adaptive-throttling").multiplier == 2


def test_a_bucket_that_calls_fill_and_one_that_successes_fill():
    usual = limits.retry_limit_preset("token-bucket")
    assert usual.policy() == TokenBucketRetry(None, 5.0, 0.0, 0.1, 1.0)
    by_call = limits.RetryLimitPreset(**{**usual.__dict__, "earned_by": "call", "attempts": 3})
    assert by_call.policy() == TokenBucketRetry(3, 5.0, 0.1, 0.0, 1.0)


def test_an_unknown_limit_names_the_nearest_and_all():
    with pytest.raises(UnitError, match="'envoy' is not a known limit; nearest: envoy-budget") as caught:
        limits.retry_limit_preset("envoy")
    assert caught.value.accepted == ", ".join(limits.RETRY_LIMITS)
