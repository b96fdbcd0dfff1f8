"""A bounded queue with workers: the row of section 2, and every request against SimPy."""

import numpy as np
import pytest
import simpy

from afterload.errors import ModelError
from afterload.model.pool import paced, run_pool


def follow(arrivals, service, queue, workers):
    """Start and finish of each request in SimPy; nan for a rejected one."""
    env = simpy.Environment()
    pool = simpy.Resource(env, capacity=workers)
    times = np.full((2, len(arrivals)), np.nan)

    def request(place):
        yield env.timeout(arrivals[place])
        if len(pool.queue) >= queue and pool.count == workers:
            return
        with pool.request() as turn:
            yield turn
            times[0, place] = env.now
            yield env.timeout(service[place])
            times[1, place] = env.now

    for place in range(len(arrivals)):
        env.process(request(place))
    env.run()
    return times


@pytest.mark.parametrize(
    ("rate", "queue", "workers"), [(8.0, 5, 1), (30.0, 0, 3), (95.0, 20, 10), (140.0, 100, 10), (400.0, 3, 2)]
)
@pytest.mark.parametrize("seed", range(3))
def test_every_request_starts_and_ends_as_in_simpy(rate, queue, workers, seed):
    rng = np.random.default_rng(seed)
    arrivals = np.cumsum(rng.exponential(1 / rate, 1500))
    service = rng.exponential(0.1, 1500)
    run = run_pool(arrivals, service, queue=queue, workers=workers)
    starts, finishes = follow(arrivals, service, queue, workers)
    assert run.starts_s == pytest.approx(starts, nan_ok=True, abs=1e-9)
    assert run.finishes_s == pytest.approx(finishes, nan_ok=True, abs=1e-9)
    assert run.accepted + run.rejected == 1500
    assert run.peak_in_flight <= workers
    assert run.peak_waiting <= queue
    moments = np.linspace(0, run.finish_s, 500)
    assert run.waiting_at(moments).max() <= queue


def test_two_hundred_requests_into_a_queue_of_a_hundred_that_empties_faster_than_it_fills_planning_guide():
    run = run_pool(paced(200, over_s=2.2), 0.1, queue=100, workers=10)
    assert run.rejected == 0
    assert run.peak_in_flight == 10
    # The bound of the queue plays no part in it: without one the same happens.
    assert run_pool(paced(200, over_s=2.2), 0.1, queue=None, workers=10).peak_in_flight == 10


def test_at_the_same_instant_a_queue_of_a_hundred_rejects_ninety():
    run = run_pool(paced(200), 0.1, queue=100, workers=10)
    assert (run.accepted, run.rejected, run.peak_in_flight, run.peak_waiting) == (110, 90, 10, 100)
    assert run.finish_s == pytest.approx(1.1)
    assert run.longest_wait_s == pytest.approx(1.0)


def test_a_bounded_queue_without_a_pool_does_not_bound_what_is_in_flight():
    run = run_pool(paced(200), 0.1, queue=100, workers=None)
    assert (run.rejected, run.peak_in_flight) == (0, 200)


def test_a_burst_twice_as_fast_as_the_pool_fills_half_of_it():
    run = run_pool(paced(200, over_s=1.0), 0.1, queue=100, workers=10)
    assert run.rejected == 0
    assert 80 <= run.peak_waiting <= 100
    assert run.finish_s == pytest.approx(2.0, abs=0.1)
    assert run.in_flight_at([0.0, 0.5, 1.5, 2.5]).tolist() == [1, 10, 10, 0]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: run_pool([], 0.1, queue=1, workers=1), "shape"),
        (lambda: run_pool([1.0, 0.5], 0.1, queue=1, workers=1), "falls"),
        (lambda: run_pool([-1.0], 0.1, queue=1, workers=1), "before 0"),
        (lambda: run_pool([0.0, 1.0], [0.1], queue=1, workers=1), "service_s has shape"),
        (lambda: run_pool([0.0], -0.1, queue=1, workers=1), "negative"),
        (lambda: run_pool([0.0], 0.1, queue=-1, workers=1), "queue is -1"),
        (lambda: run_pool([0.0], 0.1, queue=1, workers=0), "workers is 0"),
        (lambda: paced(0), "requests is 0"),
    ],
)
def test_what_has_no_meaning_is_refused_with_the_value(make, says):
    with pytest.raises(ModelError, match=says):
        make()
