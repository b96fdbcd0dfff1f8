"""Steps of the grid in which nothing new happens are taken as one; what happens among them is not missed."""

import pytest

from afterload.model.coupled import CoupledDependency, CoupledQueue, CoupledSystem, simulate
from afterload.model.curves import RateProfile
from afterload.model.queues import QueueLoad


def test_work_that_grows_too_old_for_a_while_is_removed():
    """60/min for 80 min, then 10/min; after 20 more, served at 50/min, so that the oldest grows older by a sixth of a minute.

    It reaches 110 min at minute 60. Up to minute 90, when the last that came at 60/min has left, 10/min are removed: 300 in all.
    The 1,100 that wait then are cleared by 40/min in 27.5 min.
    """
    arrivals = RateProfile([0, 80, 2_000], [60, 10], 2_000)
    load = QueueLoad(arrivals, 50, 100, max_age_min=110)
    seen = simulate(CoupledSystem(100, 100, (CoupledQueue(load),)))
    assert seen.expired[0, 0] == pytest.approx(300, abs=1e-6)
    assert seen.drain_min[0, 0] == pytest.approx(117.5, abs=1e-6)


def test_a_queue_that_dead_letters_empty_heals_its_dependency():
    """1,000 items, taken at 100/min, each of which fails and leaves after 4 receives: empty, and healed, after 40 min."""
    load = QueueLoad(RateProfile([0, 10, 5_000], [100, 0], 5_000), 100, 10)
    queue = CoupledQueue(load, dependency=0, attempts_failing=3, max_receives=4)
    seen = simulate(
        CoupledSystem(10, 10, (queue,), (CoupledDependency(200, attempts_failing=3, collapsed_at_restore=True),))
    )
    assert seen.healed_at_min[0, 0] == pytest.approx(40, abs=1e-6)
    assert seen.dead_lettered[0, 0] == pytest.approx(1_000, abs=1e-6)
