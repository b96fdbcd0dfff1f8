"""Retry policies with a bucket: the table of section 2, and every mean against a simulation of its own."""

from dataclasses import replace

import numpy as np
import pytest
from tests.oracles.quota import Call, ClientState, run_calls
from tests.oracles.quota_rules import Answer, botocore_rules
from tests.oracles.retry_presets import PRESETS

from afterload.errors import ModelError
from afterload.model.balance import MOST_LEVELS, BalanceRule
from afterload.model.policies import (
    ClientLoad,
    FixedAttempts,
    RetryQuota,
    RetryThrottling,
    TokenBucketRetry,
    fleet_view,
)

STANDARD, BEFORE = PRESETS["botocore standard"].policy, PRESETS["botocore standard before 1.44"].policy
PERSISTENT = [
    ("transient", 14, 0.2149, 1.261),
    ("throttling", 5, 0.3207, 1.424),
]


@pytest.mark.parametrize(("error", "cost", "threshold", "multiplier"), PERSISTENT)
def test_a_quota_empties_only_above_a_failure_probability_planning_guide(error, cost, threshold, multiplier):
    load = ClientLoad(0.5, error=error)
    p = STANDARD.binds_above(load)
    assert p == pytest.approx(threshold, abs=5e-5)
    assert STANDARD.open_loop(replace(load, failure_probability=p)) == pytest.approx(multiplier, abs=5e-4)
    rule = STANDARD.rule(load)
    for q in (0.05, 0.2, 0.5, 0.9, 1.0):
        assert rule.drift(q) == pytest.approx((1 - q) - cost * q**2 * (1 - q) - 2 * cost * q**3)


@pytest.mark.parametrize(("error", "held"), [("transient", 35_000), ("throttling", 100_000)])
def test_a_thousand_clients_hold_a_burst_planning_guide(error, held):
    view = fleet_view(STANDARD, 1000, ClientLoad(1.0, calls_per_s=2.0, error=error))
    assert view.burst_retries == held
    assert view.open_loop == 3
    assert view.sustained == 1
    # 18 calls spend 35 retries of two a call, 50 calls 100.
    assert view.time_to_bind_s == (18 if error == "transient" else 50) / 2.0
    assert view.successes_to_refill == (490 if error == "transient" else 500)
    assert view.time_to_refill_s == view.successes_to_refill / 2.0


@pytest.mark.parametrize(
    ("attempts", "error"), [(2, "transient"), (3, "transient"), (4, "throttling"), (6, "transient")]
)
@pytest.mark.parametrize("p", [0.15, 0.3, 0.5, 0.8])
def test_drift_of_any_number_of_attempts_against_the_followed_quota(attempts, error, p):
    """Mean change of the balance in the middle of a quota far from both ends, over simulated calls."""
    rng = np.random.default_rng(attempts)
    rules = replace(botocore_rules(max_attempts=attempts), capacity=10**7)
    calls = [Call([Answer(error if bad else "success") for bad in rng.random(attempts) < p]) for _ in range(6000)]
    trace = run_calls(rules, calls, rng, start=ClientState(10**6))
    change = np.diff(trace.balances, prepend=10**6)
    rule = RetryQuota(attempts).rule(ClientLoad(p, error=error))
    assert rule.drift(p) == pytest.approx(change.mean(), abs=4 * change.std() / np.sqrt(len(change)))
    assert rule.open_loop(p) == pytest.approx(trace.tries_per_call, abs=4 * trace.sends.std() / np.sqrt(len(change)))


@pytest.mark.parametrize("policy", [STANDARD, BEFORE, RetryQuota(4)])
@pytest.mark.parametrize("p", [0.1, 0.25, 0.5, 0.9])
def test_sustained_tries_against_the_followed_quota(policy, p):
    rng = np.random.default_rng(7)
    rules = replace(
        botocore_rules(max_attempts=policy.attempts),
        transient_cost=policy.transient_cost,
        throttling_cost=policy.throttling_cost,
    )
    start = ClientState(policy.capacity if p < policy.binds_above(ClientLoad(p)) else 0)
    failures = rng.random((12_000, policy.attempts)) < p
    calls = [Call([Answer("transient" if bad else "success") for bad in row]) for row in failures]
    trace = run_calls(rules, calls, rng, start=start)
    error = 5 * trace.sends.std() / np.sqrt(len(calls))
    assert policy.sustained(ClientLoad(p)) == pytest.approx(trace.tries_per_call, abs=error)


@pytest.mark.parametrize("p", [0.4, 0.7, 1.0])
def test_time_until_a_quota_is_empty_against_the_followed_quota(p):
    took = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        length = 500 if p < 0.5 else 120
        calls = [
            Call([Answer("transient" if bad else "success") for bad in row]) for row in rng.random((length, 3)) < p
        ]
        balances = run_calls(botocore_rules(), calls, rng).balances
        took.append(1 + int(np.argmax(balances < 14)))
    error = 4 * np.std(took) / np.sqrt(len(took))
    assert STANDARD.time_to_bind_s(ClientLoad(p, calls_per_s=10)) == pytest.approx(np.mean(took) / 10, abs=error / 10)


def test_below_the_threshold_the_quota_does_not_limit():
    load = ClientLoad(0.2)
    assert STANDARD.time_to_bind_s(load) is None
    assert STANDARD.sustained(load) == pytest.approx(STANDARD.open_loop(load), rel=2e-3)


@pytest.mark.parametrize("error", ["transient", "throttling"])
def test_token_rates_alone_give_the_same_sustained_tries(error):
    rule = STANDARD.rule(ClientLoad(0.5, error=error))
    p = np.array([0.0, 0.05, 0.1, 0.5, 0.75, 1.0])
    assert rule.sustained_fluid(p) == pytest.approx([rule.sustained(q) for q in p], rel=1e-6)
    edge = rule.empties_above()
    assert rule.sustained_fluid(edge) == pytest.approx(rule.sustained(edge), rel=6e-3)
    assert rule.sustained_fluid(edge) == pytest.approx(rule.open_loop(edge))


def test_refilling_under_failures_takes_longer_and_may_never_end():
    view = fleet_view(STANDARD, 1, ClientLoad(1.0), failure_probability_after=0.1)
    assert view.time_to_refill_s == pytest.approx(490 / (0.9 - 14 * 0.01 * 0.9 - 28 * 0.001))
    assert fleet_view(STANDARD, 1, ClientLoad(1.0), failure_probability_after=0.3).time_to_refill_s is None


def follow_grpc(p, attempts, size, ratio, calls, rng):
    """gRFC A6 as it reads, in whole thousandths of a token."""
    tokens, made = size * 1000, []
    for _ in range(calls):
        sent = 0
        while True:
            sent += 1
            if rng.random() >= p:
                tokens = min(size * 1000, tokens + round(ratio * 1000))
                break
            tokens = max(0, tokens - 1000)
            if tokens <= size * 500 or sent == attempts:
                break
        made.append(sent)
    return np.array(made)


@pytest.mark.parametrize(("p", "ratio"), [(0.05, 0.1), (0.09, 0.1), (0.12, 0.1), (0.3, 0.25), (0.6, 0.5)])
def test_grpc_throttling_against_its_text(p, ratio):
    seen = follow_grpc(p, 4, 10, ratio, 60_000, np.random.default_rng(3))
    policy = RetryThrottling(token_ratio=ratio)
    blocks = seen.reshape(60, -1).mean(axis=1)
    assert policy.sustained(ClientLoad(p)) == pytest.approx(seen.mean(), abs=5 * blocks.std() / np.sqrt(60))


def test_grpc_throttling_by_hand():
    policy = RetryThrottling()
    assert policy.binds_above(ClientLoad(1.0)) == pytest.approx(0.1 / 1.1)
    # 10 tokens: four failures leave 6, above half; the next one leaves 5, and no retry is sent.
    assert policy.burst(ClientLoad(1.0)) == 3
    assert policy.time_to_bind_s(ClientLoad(1.0, calls_per_s=1.0)) == 2
    assert policy.successes_to_refill(ClientLoad(1.0)) == 100
    assert policy.sustained(ClientLoad(1.0)) == 1
    # Decimals beyond the third are dropped.
    assert RetryThrottling(token_ratio=0.1009).rule(ClientLoad(1.0)) == policy.rule(ClientLoad(1.0))


def test_a_large_grpc_bucket_is_on_or_off():
    policy = RetryThrottling(max_tokens=1000, token_ratio=0.007)
    assert policy.rule(ClientLoad(0.5)).size > MOST_LEVELS
    assert policy.sustained(ClientLoad(0.004)) == pytest.approx(policy.open_loop(ClientLoad(0.004)))
    assert policy.sustained(ClientLoad(0.02)) == 1


def follow_bucket(p, calls, attempts, rng, *, per_call, per_success, strict):
    """Sends and successes of one client with the sample's own rule, in floats."""
    bucket, sends, done = 5.0, 0, 0
    for _ in range(calls):
        bucket = min(5.0, bucket + per_call)
        tried = 0
        while True:
            sends, tried = sends + 1, tried + 1
            if rng.random() >= p:
                done += 1
                bucket = min(5.0, bucket + per_success)
                break
            if tried == attempts or bucket < 1.0 - 1e-9 or (strict and bucket <= 1.0 + 1e-9):
                break
            bucket -= 1.0
    return sends, done


@pytest.mark.parametrize("attempts", [None, 4])
def test_token_bucket_of_a_hundred_clients_brooker_2022(attempts):
    policy = TokenBucketRetry(attempts, per_call=0.1, per_success=0.0, needs_more_than_cost=True)
    rng = np.random.default_rng(5)
    runs = [follow_bucket(0.5, 100, attempts, rng, per_call=0.1, per_success=0.0, strict=True) for _ in range(300)]
    sends, done = np.array(runs).T / 100
    assert sends.mean() == pytest.approx(1.14, rel=0.02)
    assert done.mean() == pytest.approx(0.570, rel=0.02)
    # The full bucket of the first calls apart, one retry for ten calls.
    assert policy.sustained(ClientLoad(0.5)) == pytest.approx(1.1, rel=0.005)


def test_a_bucket_of_five_pays_five_retries_or_four_if_it_must_hold_more_than_the_cost():
    assert TokenBucketRetry().burst(ClientLoad(1.0)) == 5
    assert TokenBucketRetry(needs_more_than_cost=True).burst(ClientLoad(1.0)) == 4
    assert TokenBucketRetry().successes_to_refill(ClientLoad(1.0)) == 50


@pytest.mark.parametrize(
    ("per_call", "per_success", "p"), [(0.1, 0.0, 1.0), (0.0, 0.1, 1.0), (0.0, 0.1, 0.4), (0.2, 0.1, 0.6)]
)
def test_what_earns_a_token_decides_what_goes_on_for_ever(per_call, per_success, p):
    policy = TokenBucketRetry(3, per_call=per_call, per_success=per_success)
    sends, _ = follow_bucket(
        p, 40_000, 3, np.random.default_rng(2), per_call=per_call, per_success=per_success, strict=False
    )
    assert policy.sustained(ClientLoad(p)) == pytest.approx(sends / 40_000, rel=0.01)
    if p == 1.0:
        # By call: one retry for ten calls while everything fails. By success: none.
        assert policy.sustained(ClientLoad(p)) == pytest.approx(1.0 + per_call)


def test_retry_load_of_independent_failures_closed_form():
    assert FixedAttempts(4).sustained(ClientLoad(0.5)) == 1.875
    assert FixedAttempts(5).sustained(ClientLoad(1.0)) == 5
    assert FixedAttempts(5).burst(ClientLoad(1.0)) is None
    assert FixedAttempts(1).burst(ClientLoad(1.0)) == 0


@pytest.mark.parametrize("name", sorted(PRESETS))
@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_every_preset_answers_every_question_without_nonsense(name, p):
    view = fleet_view(PRESETS[name].policy, 10, ClientLoad(p, calls_per_s=50.0))
    for value in (view.open_loop, view.binds_above, view.burst_retries, view.time_to_bind_s, view.sustained):
        assert value is None or (np.isfinite(value) and value >= 0)
    if view.open_loop is not None:
        assert view.sustained <= view.open_loop + 1e-9
    assert PRESETS[name].source


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ClientLoad(1.2), "1.2"),
        (lambda: ClientLoad(0.5, calls_per_s=0), "calls_per_s is 0"),
        (lambda: ClientLoad(0.5, error="slow"), "'slow'"),
        (lambda: FixedAttempts(0), "attempts is 0"),
        (lambda: RetryThrottling(max_tokens=1001), "1001"),
        (lambda: RetryThrottling(token_ratio=0.0), "token_ratio"),
        (lambda: TokenBucketRetry(per_success=0.0), "empty for good"),
        (lambda: BalanceRule(10, 1, 3, cost_per_retry=0, per_call=1), "no limit"),
        (lambda: BalanceRule(10, 1, 3, cost_per_retry=1), "empty for good"),
        (lambda: BalanceRule(10, 1, 3, cost_per_retry=2, per_call=1), "retry_needs is 1"),
        (lambda: BalanceRule(10, 1, 2, cost_per_retry=1, per_call=5).burst(), "never empties"),
        (lambda: fleet_view(STANDARD, 0, ClientLoad(1.0)), "clients is 0"),
    ],
)
def test_what_has_no_meaning_is_refused_with_the_value(make, says):
    with pytest.raises(ModelError, match=says):
        make()
