"""Waits before retries and the load of clients that failed together."""

import numpy as np
import pytest
from tests.oracles.contention import contend

from afterload.errors import ModelError
from afterload.model.jitter import Backoff, retry_wave

RNG = np.random.default_rng


def test_without_jitter_retries_come_in_waves_at_1_3_and_7_s_planning_guide():
    wave = retry_wave(Backoff("none", 1.0), 1000, 3, RNG(1))
    assert np.flatnonzero(wave.sends).tolist() == [1, 3, 7]
    assert wave.sends[[1, 3, 7]].tolist() == [1000, 1000, 1000]
    assert sorted(set(wave.times_s)) == [1, 3, 7]
    assert (wave.peak_per_s, wave.mean_per_s) == (1000, 3000 / 8)


def test_the_exponent_of_the_first_failure_is_a_choice():
    assert [Backoff("none", 1.0, first_exponent=e).longest_s(1) for e in (0, 1)] == [1, 2]
    # botocore counts from 0: random() * min(scale * 2 ** (attempt - 1), 20).
    assert [Backoff("full", 0.05, 20.0).longest_s(k) for k in (1, 2, 3, 12)] == [0.05, 0.1, 0.2, 20.0]


@pytest.mark.parametrize("jitter", ["none", "equal", "full", "decorrelated"])
@pytest.mark.parametrize("retry", [1, 2, 5])
def test_samples_have_the_distribution_that_is_stated(jitter, retry):
    backoff = Backoff(jitter, 0.2, 3.0)
    waits = backoff.sample_s(RNG(2), 40_000, 5)[:, retry - 1]
    times = np.linspace(0.0, 3.2, 9)
    within = (waits[:, None] <= times).mean(axis=0)
    assert backoff.share_within(retry, times) == pytest.approx(within, abs=0.01)
    assert waits.max() <= backoff.longest_s(retry)


def test_decorrelated_waits_in_closed_form():
    backoff = Backoff("decorrelated", 1.0)
    # E[next] = (base + 3 E[before]) / 2 while no cap acts.
    assert backoff.sample_s(RNG(2), 200_000, 3).mean(axis=0) == pytest.approx([2.0, 3.5, 5.75], rel=1e-2)
    assert backoff.share_within(1, [1.0, 2.0, 3.0]) == pytest.approx([0.0, 0.5, 1.0], abs=1e-3)


def test_full_jitter_against_the_convolution_of_uniform_waits():
    """Second retries: the sum of waits of at most 1 s and 2 s has a trapezium as its density."""
    wave = retry_wave(Backoff("full", 1.0), 200_000, 2, RNG(3), step_s=0.5)
    first = np.array([0.5, 0.5, 0, 0, 0, 0])
    corners = np.array([0, 0.5, 1, 1.5, 2, 2.5, 3])
    cumulative = np.select(
        [corners <= 1, corners <= 2], [corners**2 / 4, (corners - 0.5) / 2], 1 - (3 - corners) ** 2 / 4
    )
    assert wave.sends / 200_000 == pytest.approx(first + np.diff(cumulative), abs=0.005)


def test_jitter_lowers_the_peak_over_the_same_span():
    peaks = {}
    for jitter in ("none", "equal", "full", "decorrelated"):
        wave = retry_wave(Backoff(jitter, 1.0, 20.0), 20_000, 3, RNG(4), step_s=0.1, span_s=8.0)
        peaks[jitter] = wave.peak_to_mean
        assert wave.edges_s[-1] == pytest.approx(8.0)
    assert peaks["none"] == pytest.approx(80 / 3)
    assert peaks["none"] > 3 * peaks["equal"]
    assert max(peaks["full"], peaks["decorrelated"]) < peaks["equal"]


def test_clients_stop_once_the_dependency_is_back():
    wave = retry_wave(Backoff("none", 1.0), 10, 5, RNG(1), restore_s=3.5)
    assert sorted(set(wave.times_s)) == [1, 3, 7]
    slow = retry_wave(Backoff("none", 1.0), 10, 3, RNG(1), attempt_s=0.5)
    assert sorted(set(slow.times_s)) == [1, 3.5, 8]


# M. Brooker, "Exponential Backoff And Jitter", 100 clients, averaged there over 100 runs.
PUBLISHED = {
    "no backoff": (Backoff("none", 0.0), 2420),
    "exponential": (Backoff("none", 0.005, 2.0, first_exponent=1), 1865),
    "decorrelated": (Backoff("decorrelated", 0.005, 2.0), 1001),
    "equal": (Backoff("equal", 0.005, 2.0, first_exponent=1), 812),
    "full": (Backoff("full", 0.005, 2.0, first_exponent=1), 796),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_calls_of_a_hundred_clients_that_write_one_row_brooker_2015(name):
    backoff, calls = PUBLISHED[name]
    runs = [contend(100, backoff, RNG(seed)) for seed in range(60)]
    assert np.mean([run.calls for run in runs]) == pytest.approx(calls, rel=0.03)
    assert all(run.calls - run.conflicts == 100 for run in runs)


def test_the_exponent_of_the_first_failure_shows_in_the_published_figures():
    """Counted from 0, full jitter would need more calls than published: the convention is not a matter of taste."""
    runs = [contend(100, Backoff("full", 0.005, 2.0), RNG(seed)).calls for seed in range(60)]
    assert np.mean(runs) > 796 * 1.03


def test_one_client_writes_once_and_the_same_seed_gives_the_same_run():
    assert contend(1, Backoff(), RNG(1)).calls == 1
    assert contend(30, Backoff("full", 0.005), RNG(9)) == contend(30, Backoff("full", 0.005), RNG(9))


def test_two_clients_without_spread_by_hand():
    """Both read at 10 ms and write at 30 ms; the loser reads again at 50 ms and writes at 70 ms, answered at 80 ms."""
    run = contend(2, Backoff("none", 0.0), RNG(1), network_sd_s=0.0)
    assert (run.calls, run.conflicts) == (3, 1)
    assert run.finish_s == pytest.approx(0.08)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Backoff("some"), "'some'"),
        (lambda: Backoff(base_s=2.0, cap_s=1.0), "below base_s 2"),
        (lambda: Backoff(factor=0.5), "factor is 0.5"),
        (lambda: Backoff().longest_s(0), "retry is 0"),
        (lambda: Backoff().longest_s(5000), "finite"),
        (lambda: retry_wave(Backoff(), 0, 3, RNG(1)), "clients is 0"),
        (lambda: retry_wave(Backoff(), 1, 3, RNG(1), step_s=0.0), "step_s is 0"),
        (lambda: contend(0, Backoff(), RNG(1)), "clients is 0"),
    ],
)
def test_what_has_no_meaning_is_refused_with_the_value(make, says):
    with pytest.raises(ModelError, match=says):
        make()


def test_a_first_retry_at_once_as_azure_core_and_the_cpp_sdk_have_it():
    """azure-core 1.30, ``get_backoff_time``: 0, 1.6, 3.2 s; aws-sdk-cpp: 0, 50, 100 ms for a scale of 25 ms."""
    azure = Backoff("none", 0.8, 120.0, first_at_once=True)
    assert [azure.longest_s(k) for k in (1, 2, 3, 9)] == pytest.approx([0.0, 1.6, 3.2, 120.0])
    cpp = Backoff("none", 0.025, first_at_once=True)
    assert [cpp.longest_s(k) for k in (1, 2, 3)] == pytest.approx([0.0, 0.05, 0.1])
    waits = Backoff("full", 1.0, first_at_once=True).sample_s(np.random.default_rng(1), 5, 2)
    assert waits[:, 0].tolist() == [0.0] * 5
    assert (waits[:, 1] > 0).all()
    with pytest.raises(ModelError, match="first_at_once"):
        Backoff("decorrelated", first_at_once=True)
