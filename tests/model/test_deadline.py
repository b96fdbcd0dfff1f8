"""Retries until a deadline, against the loop of google-api-core followed call by call."""

import numpy as np
import pytest

from afterload.errors import ModelError
from afterload.model.deadline import DeadlineAttempts
from afterload.model.jitter import Backoff
from afterload.model.policies import ClientLoad, fleet_view

GOOGLE = DeadlineAttempts(Backoff("full", 1.0, 60.0), 120.0)
SOON = 1e-6


def follow(calls, p, attempt_s, rng, *, initial=1.0, most=60.0, deadline=120.0):
    """Mean tries of ``retry_target`` with ``exponential_sleep_generator`` (google/api_core/retry, release 2.19)."""
    tries = 0
    for _ in range(calls):
        now_s, delay = 0.0, min(initial, most)
        while True:
            tries += 1
            now_s += attempt_s
            if rng.random() >= p:
                break
            sleep = rng.uniform(0.0, delay)
            delay = min(delay * 2.0, most)
            if now_s + sleep > deadline:
                break
            now_s += sleep
    return tries / calls


@pytest.mark.parametrize(("p", "attempt_s"), [(1.0, SOON), (0.8, SOON), (0.3, 1.0), (1.0, 5.0)])
def test_tries_against_the_librarys_loop(p, attempt_s):
    seen = follow(20_000, p, attempt_s, np.random.default_rng(3))
    assert GOOGLE.open_loop(ClientLoad(p, attempt_s=attempt_s)) == pytest.approx(seen, rel=0.01)


def test_without_jitter_by_hand():
    """Waits 1, 2, 4, 8, 16, 32 end at 63 s; one of 60 s more would end at 123 s."""
    policy = DeadlineAttempts(Backoff("none", 1.0, 60.0), 120.0)
    assert policy.open_loop(ClientLoad(1.0, attempt_s=SOON)) == pytest.approx(7)
    assert policy.open_loop(ClientLoad(0.5, attempt_s=SOON)) == pytest.approx(sum(0.5**k for k in range(7)))
    assert DeadlineAttempts(Backoff("none", 1.0), 0.5).open_loop(ClientLoad(1.0)) == 1
    assert policy.open_loop(ClientLoad(0.0)) == 1


def test_nothing_else_limits_it():
    view = fleet_view(GOOGLE, 100, ClientLoad(1.0))
    assert (view.burst_retries, view.binds_above, view.time_to_bind_s) == (None, None, None)
    assert (view.successes_to_refill, view.time_to_refill_s) == (0, 0)
    assert view.sustained == view.open_loop


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: DeadlineAttempts(Backoff(), 0.0), "deadline_s is 0"),
        (lambda: DeadlineAttempts(Backoff(base_s=0.0), 10.0), "base_s is 0"),
        (lambda: DeadlineAttempts(Backoff("decorrelated"), 10.0), "decorrelated"),
    ],
)
def test_what_has_no_meaning_is_refused(make, says):
    with pytest.raises(ModelError, match=says):
        make()
