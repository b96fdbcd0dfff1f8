"""botocore's modes send by send: published observations, the rules of waiting, and what is refused as input."""

import numpy as np
import pytest
from tests.oracles.limiter import RateLimiter, recovery_s
from tests.oracles.quota import Call, ClientState, call_once, run_calls
from tests.oracles.quota_rules import Answer, attempts_from_settings, botocore_rules

from afterload.errors import ModelError

RNG = np.random.default_rng


def seen_after(rules, outcome, counts):
    trace = run_calls(rules, [Call([Answer(outcome)])] * max(counts), RNG(1))
    sends = np.cumsum(trace.sends)
    return {n: (int(trace.balances[n - 1]), int(sends[n - 1])) for n in counts}


def test_all_calls_answered_503_as_observed_on_botocore_1_44_8():
    expected = {1: (472, 3), 17: (24, 51), 18: (10, 53), 50: (10, 85), 100: (10, 135)}
    assert seen_after(botocore_rules(), "transient", expected) == expected


def test_all_calls_throttled_as_observed_on_botocore_1_44_8():
    expected = {1: (490, 3), 17: (330, 51), 18: (320, 54), 50: (0, 150), 100: (0, 200)}
    assert seen_after(botocore_rules(), "throttling", expected) == expected


def test_all_calls_of_dynamodb_answered_500_as_observed_on_botocore_1_44_8():
    expected = {1: (458, 4), 17: (10, 52), 18: (10, 53)}
    assert seen_after(botocore_rules(service="dynamodb"), "transient", expected) == expected


def test_legacy_mode_has_no_quota_as_observed():
    assert seen_after(botocore_rules("legacy", service="sqs"), "transient", [40]) == {40: (-1, 200)}
    assert seen_after(botocore_rules("legacy", service="dynamodb"), "transient", [40]) == {40: (-1, 400)}


def test_timeouts_cost_ten_before_1_44_and_fourteen_since():
    assert seen_after(botocore_rules(since_1_44=False), "timeout", [1, 25, 26]) == {
        1: (480, 3),
        25: (0, 75),
        26: (0, 76),
    }
    assert seen_after(botocore_rules(since_1_44=False), "transient", [1]) == {1: (490, 3)}
    assert seen_after(botocore_rules(), "timeout", [1]) == {1: (472, 3)}


def test_a_success_after_two_retries_gives_back_the_last_cost_only():
    call = Call([Answer("transient"), Answer("transient"), Answer("success")])
    trace = run_calls(botocore_rules(), [call], RNG(1))
    assert (trace.balances[0], trace.sends[0], trace.succeeded[0]) == (486, 3, True)
    mixed = Call([Answer("transient"), Answer("throttling"), Answer("success")])
    assert run_calls(botocore_rules(), [mixed], RNG(1)).balances[0] == 500 - 14


def test_a_first_success_gives_one_token_and_never_more_than_a_full_quota():
    ok = Call([Answer("success")])
    assert run_calls(botocore_rules(), [ok], RNG(1)).balances[0] == 500
    trace = run_calls(botocore_rules(), [ok] * 490, RNG(1), start=ClientState(10))
    assert (trace.balances[0], trace.balances[-2], trace.balances[-1]) == (11, 499, 500)


def test_an_error_that_is_not_retried_takes_and_gives_nothing():
    trace = run_calls(botocore_rules(), [Call([Answer("rejected")])], RNG(1), start=ClientState(100))
    assert (trace.balances[0], trace.sends[0], trace.succeeded[0]) == (100, 1, False)


@pytest.mark.parametrize(
    ("header_ms", "wait_s"), [(None, 0.025), (0, 0.025), (10, 0.025), (400, 0.4), (5025, 5.025), (60_000, 5.025)]
)
def test_a_retry_after_header_prolongs_the_wait_by_five_seconds_at_most(header_ms, wait_s):
    call = Call([Answer("transient", header_ms), Answer("success")])
    done = call_once(botocore_rules(), ClientState(500), call, lambda: 0.5)
    assert done.waits_s == pytest.approx((wait_s,))
    before = call_once(botocore_rules(since_1_44=False), ClientState(500), call, lambda: 0.5)
    assert before.waits_s == (0.5,)


def test_waits_double_up_to_twenty_seconds():
    call = Call([Answer("throttling")])
    done = call_once(botocore_rules(max_attempts=8), ClientState(500), call, lambda: 0.5)
    assert done.waits_s == (0.5, 1, 2, 4, 8, 10, 10)
    dynamodb = call_once(botocore_rules(service="dynamodb"), ClientState(500), Call([Answer("transient")]), lambda: 1.0)
    assert dynamodb.waits_s == (0.025, 0.05, 0.1)


def test_legacy_waits_are_random_without_a_cap_and_fixed_for_dynamodb():
    failing = Call([Answer("transient")])
    legacy = call_once(botocore_rules("legacy", max_attempts=7), ClientState(None), failing, lambda: 0.5)
    assert legacy.waits_s == (0.5, 1, 2, 4, 8, 16)
    dynamodb = call_once(botocore_rules("legacy", service="dynamodb"), ClientState(None), failing, lambda: 0.5)
    assert dynamodb.waits_s == pytest.approx([0.05 * 2**k for k in range(9)])


def test_a_long_poll_without_quota_waits_before_it_fails():
    failing = [Answer("transient")]
    poll = call_once(botocore_rules(), ClientState(13), Call(failing, long_poll=True), lambda: 0.5)
    assert (poll.sends, poll.refused, poll.waits_s, poll.state.balance) == (1, True, (0.025,), 13)
    assert poll.state.now_s == 0.025
    other = call_once(botocore_rules(), ClientState(13), Call(failing), lambda: 0.5)
    assert (other.sends, other.refused, other.waits_s) == (1, True, ())
    before = botocore_rules(since_1_44=False)
    assert call_once(before, ClientState(3), Call(failing, long_poll=True), lambda: 0.5).waits_s == ()


def test_the_limiter_is_off_until_the_first_throttling_error_and_then_holds_sends():
    rules = botocore_rules("adaptive")
    quick = [Call([Answer("success")])] * 200
    free = run_calls(rules, quick, RNG(1), send_s=0.01)
    assert free.limited_s.sum() == 0
    assert not free.state.limiter.enabled
    throttled = run_calls(
        rules, [Call([Answer("throttling"), Answer("success")])] * 5 + quick, RNG(1), start=free.state, send_s=0.01
    )
    assert throttled.state.limiter.enabled
    assert throttled.limited_s.sum() > 0
    plain = run_calls(botocore_rules(), [Call([Answer("throttling")])] * 50, RNG(1))
    assert plain.limited_s.sum() == 0


def test_the_allowed_rate_is_back_after_the_cube_root_of_what_was_lost():
    assert recovery_s(100.0) == pytest.approx((100 * 0.3 / 0.4) ** (1 / 3))
    limiter = RateLimiter(True, 70.0, 70.0, 0.0, 50.0, 1000.0, 0, 50.0, 100.0, recovery_s(100.0), 50.0)
    back = limiter.received(50.0 + recovery_s(100.0), throttled=False)
    assert back.rate_per_s == pytest.approx(100.0)


def test_settings_count_sends_or_retries():
    assert attempts_from_settings() is None
    assert attempts_from_settings(environment_max_attempts=4) == 4
    assert attempts_from_settings(config_max_attempts=4) == 5
    assert attempts_from_settings(config_max_attempts=0) == 1
    assert attempts_from_settings(total_max_attempts=4, config_max_attempts=9, environment_max_attempts=2) == 4


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Answer("slow"), "'slow'"),
        (lambda: Answer("timeout", 5), "no header"),
        (lambda: Answer("transient", -1), "-1"),
        (lambda: Call([]), "empty"),
        (lambda: botocore_rules("quick"), "'quick'"),
        (lambda: botocore_rules(max_attempts=0), "0"),
        (lambda: attempts_from_settings(environment_max_attempts=0), "environment_max_attempts is 0"),
        (lambda: run_calls(botocore_rules(), [], RNG(1), gap_s=-1.0), "gap_s is -1"),
    ],
)
def test_what_has_no_meaning_is_refused_with_the_value(make, says):
    with pytest.raises(ModelError, match=says):
        make()
