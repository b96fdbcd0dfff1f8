"""A queue with timeouts against published results and closed forms."""

import math

import numpy as np
import pytest

from afterload.errors import ModelError
from afterload.model.timeout_events import bound_length, compare_remedies, simulate
from afterload.model.timeouts import TimeoutQueue, goodput_by_length


def hotos_25(cap):
    return TimeoutQueue(service_rate_per_s=10, timeout_s=5, retries=5, queue_cap=cap)


# "Analyzing Metastable Failures", HotOS 2025: its example of 10/s.
@pytest.mark.parametrize("seed", range(4))
def test_hotos_25_small_queue_recovers(seed):
    run = simulate(hotos_25(35), np.random.default_rng(seed), load_per_s=5, spike_per_s=15, spike_s=600)
    assert run.verdict == "heals"
    assert 0 < run.recovery_s < 120
    assert not hotos_25(35).can_stay_down(5)


@pytest.mark.parametrize("seed", range(4))
def test_hotos_25_large_queue_never_recovers(seed):
    run = simulate(hotos_25(150), np.random.default_rng(seed), load_per_s=5, spike_per_s=15, spike_s=600)
    assert run.verdict == "stays down"
    assert run.recovery_s is None
    assert hotos_25(150).can_stay_down(5)
    assert hotos_25(150).offered_when_failing_per_s(5) == 30
    assert np.all(run.goodput_per_s[-2:] == 0)
    assert run.escape_odds < 1e-40


def test_hotos_25_offers_about_thirty_while_down():
    """Followed for longer: a load of 5/s keeps offering 30/s, and nothing is served in time."""
    queue = TimeoutQueue(10, 5, 5, 150)
    run = simulate(
        queue,
        np.random.default_rng(1),
        load_per_s=5,
        spike_per_s=15,
        spike_s=600,
        clear_at_s=3000,
        most_sends=2_000_000,
    )
    late = (run.times_s >= 700) & (run.times_s < 2990)
    assert float(np.mean(run.offered_per_s[late])) == pytest.approx(30, rel=0.03)
    assert float(np.sum(run.goodput_per_s[late])) == 0


# HotOS 2025: stuck when cap / service rate > timeout and load (1 + retries) > service rate.
@pytest.mark.parametrize(
    ("cap", "load", "retries", "stuck"),
    [
        (50, 5, 5, False),
        (51, 5, 5, True),
        (None, 5, 5, True),
        (150, 1.6, 5, False),
        (150, 1.7, 5, True),
        (150, 5, 0, False),
        (150, 0.1, None, True),
    ],
)
def test_the_closed_condition(cap, load, retries, stuck):
    assert TimeoutQueue(10, 5, retries, cap).can_stay_down(load) is stuck


def test_low_offered_load_heals_even_with_a_long_queue():
    run = simulate(TimeoutQueue(10, 5, 5, 150), np.random.default_rng(2), load_per_s=1.2, spike_per_s=15, spike_s=600)
    assert run.verdict == "heals"


def test_every_send_is_accounted_for():
    run = simulate(hotos_25(35), np.random.default_rng(7), load_per_s=5, spike_per_s=15, spike_s=600)
    assert run.sends == run.in_time + run.late + run.refused
    assert float(np.sum(run.offered_per_s)) * 10 == pytest.approx(run.sends)
    assert float(np.sum(run.goodput_per_s)) * 10 == pytest.approx(run.in_time)


def test_same_seed_same_run():
    runs = [simulate(hotos_25(35), np.random.default_rng(3), load_per_s=5, spike_per_s=15, spike_s=100) for _ in "ab"]
    assert (runs[0].sends, runs[0].recovery_s) == (runs[1].sends, runs[1].recovery_s)


# HotOS 2021 on remedies; clearing once does not help, since retries of what was cleared fill the queue again.
def test_remedies_of_the_hotos_25_queue():
    runs = compare_remedies(
        hotos_25(150), np.random.default_rng(1), load_per_s=5, spike_per_s=15, spike_s=600, clear_at_s=700
    )
    verdicts = {name: run.verdict for name, run in runs.items()}
    assert verdicts == {
        "as it is": "stays down",
        "clear once": "stays down",
        "bound": "heals",
        "newest first": "heals",
        "admit by size": "heals",
        "discard expired": "heals",
    }


# Event summary: leases that ran out together, renewals that time out before they are done (congestive collapse).
def test_lease_renewals_collapse_and_what_helps():
    leases = TimeoutQueue(service_rate_per_s=10, timeout_s=5, retries=None)
    runs = compare_remedies(leases, np.random.default_rng(4), waiting_at_start=1000, clear_at_s=60)
    # Only about those that are served within the first timeout get through.
    assert runs["as it is"].verdict == "stays down"
    assert runs["as it is"].in_time == pytest.approx(50, abs=25)
    # Clearing helps as many again, and no more.
    assert runs["clear once"].in_time == pytest.approx(100, abs=35)
    assert runs["clear once"].verdict == "stays down"
    for name in ("bound", "newest first", "admit by size", "discard expired"):
        assert runs[name].in_time == 1000, name
        assert runs[name].verdict == "heals"
        # 1,000 leases at 10/s take 100 s; a bound leaves the service idle at the end of each timeout.
        assert 80 < runs[name].recovery_s < 200
    few = simulate(leases, np.random.default_rng(4), waiting_at_start=20)
    assert (few.verdict, few.in_time, few.recovery_s) == ("heals", 20, 0)


def test_a_bound_never_lengthens_the_queue():
    assert bound_length(TimeoutQueue(10, 5, 5)) == int(50 - 3 * math.sqrt(50)) == 28
    assert bound_length(TimeoutQueue(10, 5, 5, 20)) == 20
    assert bound_length(TimeoutQueue(0.1, 1, 5)) == 1
    runs = compare_remedies(
        TimeoutQueue(10, 5, 5, 20),
        np.random.default_rng(1),
        load_per_s=5,
        waiting_at_start=300,
        clear_at_s=60,
        window_s=5,
    )
    assert runs["bound"].verdict == "heals"
    assert float(runs["bound"].queue_length.max()) <= 20
    assert runs["bound"].times_s[1] == 5


def test_a_run_ends_with_the_sends_that_it_may_take():
    runs = compare_remedies(
        TimeoutQueue(10, 5, None), np.random.default_rng(1), waiting_at_start=500, clear_at_s=1e6, most_sends=900
    )
    assert {run.verdict for run in runs.values()} == {"not decided"}
    assert all(run.sends <= 901 + 500 and run.recovery_s is None for run in runs.values())


# docs/model.md section 3: goodput against queue length is a Poisson tail.
def test_goodput_falls_off_at_the_useful_length():
    queue = TimeoutQueue(10, 5, 5)
    lengths = [0, 10, 30, 49, 60, 100]
    goodput = goodput_by_length(queue, lengths)
    tail = [
        10 * (1 - math.fsum(math.exp(-50 + k * math.log(50) - math.lgamma(k + 1)) for k in range(length + 1)))
        for length in lengths
    ]
    assert goodput == pytest.approx(tail, abs=1e-9)
    assert goodput[0] == pytest.approx(10, abs=1e-6)
    assert 4 < goodput[3] < 6
    assert goodput[5] < 1e-6
    services = np.random.default_rng(0).exponential(0.1, size=(20_000, 61)).sum(axis=1)
    assert goodput[4] == pytest.approx(10 * np.mean(services <= 5), abs=0.15)
    assert np.all(np.diff(goodput_by_length(queue, range(300))) <= 1e-12)


@pytest.mark.parametrize(
    "wrong",
    [
        {"service_rate_per_s": 0},
        {"timeout_s": -1},
        {"queue_cap": 0},
        {"discipline": "random"},
        {"admit_all_below": 5},
        {"admit_all_below": 5, "admit_none_from": 4},
    ],
)
def test_bad_settings_are_refused(wrong):
    with pytest.raises(ModelError):
        TimeoutQueue(**{"service_rate_per_s": 10, "timeout_s": 5, "retries": 5, **wrong})
