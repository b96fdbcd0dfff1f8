"""Budgets and local rejection against simulations of their published rules, request by request."""

import heapq
from collections import deque
from dataclasses import replace

import numpy as np
import pytest

from afterload.errors import ModelError
from afterload.model.budgets import AdaptiveThrottling, ConcurrencyBudget, RateBudget
from afterload.model.policies import ClientLoad, fleet_view


def follow_window(policy, load, seconds, rng, *, warm_s=0.0):
    """A budget whose deposits and withdrawals are forgotten after the window; gives mean tries and first refusal."""
    p, rate, cost = load.failure_probability, load.calls_per_s, 1 / policy.share
    reserve = policy.least_per_s * policy.window_s * cost
    held, balance = deque(), 0.0
    sends, calls, refused_s = 0, 0, None

    def book(now_s, amount):
        nonlocal balance
        held.append((now_s, amount))
        balance += amount

    for number in range(int((warm_s + seconds) * rate)):
        now_s = number / rate - warm_s
        while held and held[0][0] <= now_s - policy.window_s:
            balance -= held.popleft()[1]
        if policy.earned_by == "call":
            book(now_s, 1.0)
        tried = 0
        while True:
            tried += 1
            if rng.random() >= (p if now_s >= 0 else 0.0):
                if policy.earned_by == "outcome":
                    book(now_s, 1.0)
                break
            if tried == policy.attempts:
                break
            if balance + reserve < cost:
                refused_s = now_s if refused_s is None else refused_s
                break
            book(now_s, -cost)
        if now_s > seconds / 2:
            sends, calls = sends + tried, calls + 1
    return sends / calls, refused_s


@pytest.mark.parametrize("earned_by", ["call", "outcome"])
@pytest.mark.parametrize("p", [0.05, 0.3, 0.5, 1.0])
def test_a_budget_of_a_window_against_its_rule(earned_by, p):
    policy, load = RateBudget(earned_by=earned_by), ClientLoad(p, calls_per_s=200.0)
    tries, refused_s = follow_window(policy, load, 80.0, np.random.default_rng(1), warm_s=12.0)
    assert policy.sustained(load) == pytest.approx(tries, rel=0.012)
    bound_s = policy.time_to_bind_s(load)
    assert (bound_s is None) == (refused_s is None)
    if bound_s is not None:
        assert bound_s == pytest.approx(refused_s, rel=0.12)


def test_finagle_and_linkerd_differ_in_a_full_outage():
    outage = ClientLoad(1.0, calls_per_s=1000.0)
    assert RateBudget().sustained(outage) == pytest.approx(1.21)
    assert RateBudget(earned_by="outcome").sustained(outage) == pytest.approx(1.01)
    # A window of calls earns 2,000 retries and the least rate 100; two retries a call spend them in about a second.
    assert RateBudget().time_to_bind_s(outage) == pytest.approx(1.05)
    assert RateBudget().burst(outage) == pytest.approx(2100)
    assert RateBudget().time_to_refill_s(replace(outage, failure_probability=0.0)) == 10


def test_a_slow_client_is_never_limited_by_a_budget_with_a_least_rate():
    slow = ClientLoad(1.0, calls_per_s=2.0)
    assert RateBudget().time_to_bind_s(slow) is None
    assert RateBudget().sustained(slow) == 3
    assert RateBudget().burst(slow) is None


def follow_concurrency(policy, load, seconds, rng):
    """Retries in flight against a share of all in flight, as Envoy counts; gives mean sends a call."""
    retries_now, active, calls, sends = 0, 0, 0, 0
    events = [(number / load.calls_per_s, 0, number, 1) for number in range(int(seconds * load.calls_per_s))]
    while events:
        now_s, ends, number, tried = heapq.heappop(events)
        if not ends:
            active, calls, sends = active + 1, calls + 1, sends + 1
            heapq.heappush(events, (now_s + load.attempt_s, 1, number, 1))
            continue
        active -= 1
        retries_now -= tried > 1
        if rng.random() >= load.failure_probability or tried == policy.attempts:
            continue
        if retries_now < max(int(policy.share * (active + 1)), policy.least):
            retries_now, active, sends = retries_now + 1, active + 1, sends + 1
            heapq.heappush(events, (now_s + load.attempt_s, 1, number, tried + 1))
    return sends / calls


@pytest.mark.parametrize(
    ("attempts", "p", "rate"), [(2, 1.0, 3000), (3, 1.0, 3000), (2, 0.2, 3000), (3, 0.5, 3000), (2, 1.0, 50)]
)
def test_a_budget_of_concurrent_retries_against_its_rule(attempts, p, rate):
    policy, load = ConcurrencyBudget(attempts), ClientLoad(p, calls_per_s=float(rate))
    seen = follow_concurrency(policy, load, 8.0 if rate > 100 else 60.0, np.random.default_rng(1))
    assert policy.sustained(load) == pytest.approx(seen, rel=0.02 if rate > 100 else 0.04)


def test_envoy_counts_retries_among_what_is_active():
    busy = ClientLoad(1.0, calls_per_s=1000.0)
    assert ConcurrencyBudget().sustained(busy) == pytest.approx(1.25)
    assert ConcurrencyBudget().burst(busy) == pytest.approx(25)
    assert ConcurrencyBudget().time_to_bind_s(busy) == 0
    # One request in flight: three retries are allowed whatever the share.
    assert ConcurrencyBudget().sustained(ClientLoad(1.0, calls_per_s=10.0)) == 2
    assert fleet_view(ConcurrencyBudget(), 100, ClientLoad(1.0, calls_per_s=10.0)).burst_retries == 300


def follow_rejection(policy, rate, accepts, seconds, rng):
    """Local rejection over a sliding window; ``accepts(second)`` says whether a request sent now is accepted."""
    history, requests, accepted, sent, counted = deque(), 0, 0, 0, 0
    for number in range(int(seconds * rate)):
        now_s = number / rate
        while history and history[0][0] <= now_s - policy.window_s:
            accepted -= history.popleft()[1]
            requests -= 1
        is_sent = rng.random() >= policy.rejection_probability(requests, accepted)
        is_accepted = is_sent and accepts(now_s)
        history.append((now_s, is_accepted))
        requests, accepted = requests + 1, accepted + is_accepted
        if now_s > 3 * policy.window_s:
            sent, counted = sent + is_sent, counted + 1
    return sent / counted


def test_local_rejection_lets_twice_the_accepted_rate_through_sre_book():
    policy, taken = AdaptiveThrottling(1, window_s=10.0), {}

    def accepts(now_s):
        taken[int(now_s)] = taken.get(int(now_s), 0) + 1
        return taken[int(now_s)] <= 20

    share = follow_rejection(policy, 100, accepts, 300.0, np.random.default_rng(2))
    # K = 2 times the 20 a second that are accepted.
    assert share * 100 == pytest.approx(40, rel=0.04)


@pytest.mark.parametrize(("p", "error"), [(0.3, 0.01), (0.55, 0.15)])
def test_local_rejection_of_independent_failures_against_its_rule(p, error):
    policy, rng = AdaptiveThrottling(1, window_s=5.0), np.random.default_rng(4)
    share = follow_rejection(policy, 50, lambda _: rng.random() >= p, 4000.0, rng)
    assert policy.sustained(ClientLoad(p, calls_per_s=50.0)) == pytest.approx(share, rel=error)


def test_local_rejection_by_hand_sre_book():
    policy = AdaptiveThrottling(1)
    assert policy.rejection_probability(100, 50) == 0
    assert policy.rejection_probability(100, 20) == pytest.approx(60 / 101)
    assert policy.rejection_probability(0, 0) == 0
    assert policy.binds_above(ClientLoad(1.0)) == 0.5
    assert policy.time_to_bind_s(ClientLoad(1.0)) == 60
    # 1 / (requests + 1) of the requests are probes when nothing is accepted.
    assert policy.sustained(ClientLoad(1.0, calls_per_s=1.0)) == pytest.approx(1 / 121)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ConcurrencyBudget(share=1.0), "share is 1"),
        (lambda: RateBudget(window_s=0.0), "window_s is 0"),
        (lambda: RateBudget(earned_by="luck"), "'luck'"),
        (lambda: AdaptiveThrottling(multiplier=0.5), "multiplier is 0.5"),
        (lambda: AdaptiveThrottling().rejection_probability(5, 6), "accepts is 6"),
    ],
)
def test_what_has_no_meaning_is_refused_with_the_value(make, says):
    with pytest.raises(ModelError, match=says):
        make()
