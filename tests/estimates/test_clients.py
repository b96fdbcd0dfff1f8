"""Clients of a scenario as policies: which one, at which failure share, and what needs a call rate."""

import numpy as np
import pytest

from afterload.clients import client_kinds
from afterload.errors import ScenarioError
from afterload.model.budgets import ConcurrencyBudget
from afterload.model.policies import ClientLoad, RetryQuota, RetryThrottling, TokenBucketRetry, fleet_view

TABLE = "dependencies: {table: {tested_rate: 3000/min}, other: {tested_rate: 1/min}}\n"


def kind(load, text, more=""):
    scenario = load(f"{TABLE}{more}clients:\n  c: {{{text}}}\n").scenario
    return next(client_kinds(scenario))


def stacks(*shares):
    rows = "".join(
        f"  s{place}: {{dependency: {name}, failure_probability: {p}, layers: [{{name: a, tries: 2}}]}}\n"
        for place, (name, p) in enumerate(shares)
    )
    return f"call_stacks:\n{rows}"


@pytest.mark.parametrize(
    ("more", "failing"),
    [
        ("", (1.0,)),
        (stacks(("table", 0.4)), (0.4, 1.0)),
        (stacks(("table", 1)), (1.0,)),
        (stacks(("table", 0)), (1.0,)),
        (stacks(("other", 0.4)), (1.0,)),
        (stacks(("table", 0.2), ("table", 0.7), ("other", 0.9)), (0.7, 1.0)),
    ],
)
def test_the_failure_share_is_that_of_the_stacks_over_the_same_dependency(load, more, failing):
    assert kind(load, "sdk: go-v2, number: 3, dependency: table", more).failing == failing


def test_counts_do_not_depend_on_a_call_rate_and_times_do(load):
    without = kind(load, "sdk: boto3, version: 1.44.8, number: 1000")
    slow = kind(load, "sdk: boto3, version: 1.44.8, number: 1000, calls: 2/s")
    fast = kind(load, "sdk: boto3, version: 1.44.8, number: 1000, calls: 240/min")
    views = [found.view(1.0) for found in (without, slow, fast)]
    assert [view.burst_retries for view in views] == [35_000] * 3
    assert [view.sustained for view in views] == [1] * 3
    assert [view.successes_to_refill for view in views] == [490] * 3
    # 17 calls of two retries and one of one: 18 calls empty a bucket (docs/model.md section 2).
    assert views[1].time_to_bind_s == pytest.approx(9)
    assert views[2].time_to_bind_s == pytest.approx(4.5)
    assert slow.load(1.0).calls_per_s == 2
    assert not without.needs_calls


@pytest.mark.parametrize("limit", ["envoy-budget", "finagle-budget", "linkerd-budget", "google-adaptive-throttling"])
def test_a_limit_that_follows_the_traffic_needs_a_call_rate(load, limit):
    without = kind(load, f"sdk: other, number: 2, retry_limit: {limit}")
    assert without.needs_calls
    assert without.view(1.0) is None
    assert np.isnan(without.long_run(np.array([0.5]))).all()
    given = kind(load, f"sdk: other, number: 2, calls: 50/s, retry_limit: {limit}")
    assert given.view(1.0) == fleet_view(given.policy, 2, ClientLoad(1.0, calls_per_s=50.0))


def test_own_figures_of_a_limit_stand_for_the_usual_ones(load):
    found = kind(load, "sdk: other, number: 1, max_attempts: 5, retry_limit: {kind: grpc-throttling, max_tokens: 100}")
    assert found.policy == RetryThrottling(5, 100.0, 0.1)
    assert found.attempts == 5
    found = kind(load, "sdk: grpc, number: 1, retry_limit: grpc-throttling")
    assert (found.policy, found.attempts) == (RetryThrottling(4, 10.0, 0.1), 4)
    found = kind(
        load,
        "sdk: other, number: 1, calls: 100/s, "
        "retry_limit: {kind: envoy-budget, budget_share: 25 %, least: 0, attempt_time: 80 ms}",
    )
    assert found.policy == ConcurrencyBudget(2, 0.25, 0.0)
    assert found.load(1.0).attempt_s == 0.08
    # A quarter of what is in flight: one retry for three first tries.
    assert found.view(1.0).sustained == pytest.approx(4 / 3)
    found = kind(
        load, "sdk: other, number: 1, retry_limit: {kind: token-bucket, max_tokens: 50, earned_by: call, retry_cost: 2}"
    )
    assert found.policy == TokenBucketRetry(None, 50.0, 0.1, 0.0, 2.0)
    found = kind(
        load,
        "sdk: other, number: 1, calls: 1/s, retry_limit: {kind: linkerd-budget, least_rate: 60/min, window: 30 s}",
    )
    assert (found.policy.least_per_s, found.policy.window_s) == (1, 30)
    found = kind(
        load, "sdk: other, number: 1, calls: 1/s, retry_limit: {kind: google-adaptive-throttling, multiplier: 1.1}"
    )
    assert found.view(1.0).binds_above == pytest.approx(1 - 1 / 1.1)


def test_a_quota_of_the_sdk_goes_with_no_other_limit(load):
    with pytest.raises(ScenarioError, match="go-v2 in standard mode holds its retries by a quota of its own"):
        load("clients: {c: {sdk: go-v2, number: 1, retry_limit: envoy-budget}}\n")
    # Legacy mode of botocore has none.
    assert kind(load, "sdk: boto3, version: 1.43.0, number: 1, retry_limit: token-bucket").limit is not None


def test_what_is_not_known_has_no_policy(load):
    found = kind(load, "sdk: other, number: 5, calls: 1/s")
    assert found.policy is None
    assert found.view(1.0) is None
    assert np.isnan(found.long_run(np.array([0.0, 1.0]))).all()
    assert kind(load, "sdk: other, number: 5, max_attempts: 4").view(1.0).sustained == 4


@pytest.mark.parametrize("errors", ["transient", "throttling", "timeout"])
def test_errors_decide_the_cost(load, errors):
    found = kind(load, f"sdk: go-v2, number: 10, errors: {errors}")
    assert isinstance(found.policy, RetryQuota)
    assert found.view(1.0).burst_retries == 10 * 500 // (10 if errors == "timeout" else 5)


@pytest.mark.parametrize("text", ["sdk: boto3, version: 1.44.8", "sdk: go-v2, errors: timeout"])
def test_the_line_of_a_chart_is_next_to_the_exact_figure(load, text):
    found = kind(load, f"{text}, number: 1")
    points = np.array([0.0, 0.1, 0.2, 0.3, 0.5, 0.9, 1.0])
    exact = [found.policy.sustained(found.load(p)) for p in points]
    assert found.long_run(points) == pytest.approx(exact, rel=0.006)
    small = kind(load, "sdk: grpc, number: 1, retry_limit: grpc-throttling")
    assert small.long_run(points) == pytest.approx([small.policy.sustained(small.load(p)) for p in points])


@pytest.mark.parametrize(
    ("text", "jitter", "at_once"),
    [
        ("sdk: step-functions", "none", False),
        ("sdk: step-functions, jitter: full", "full", False),
        # Waits of the team's own replace the SDK's, its first retry without a wait included.
        ("sdk: azure-python", "none", True),
        ("sdk: azure-python, jitter: decorrelated", "decorrelated", False),
    ],
)
def test_the_teams_own_jitter_goes_before_the_sdks(load, text, jitter, at_once):
    backoff = kind(load, f"{text}, number: 3").backoff
    assert (backoff.jitter, backoff.first_at_once) == (jitter, at_once)


def test_jitter_alone_does_not_tell_how_long_the_waits_are(load):
    assert kind(load, "sdk: other, max_attempts: 3, number: 3, jitter: full").backoff is None
