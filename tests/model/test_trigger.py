"""The map of triggers: against closed forms, against the event model cell by cell, and against a published order."""

import time

import numpy as np
import pytest
from tests.oracles.overload_events import closed_recovery_s, event_recovery, fatal_outage

from afterload.errors import ModelError
from afterload.model.overload import RetryingService
from afterload.model.trigger import Trigger, trigger_map

HOTOS_21 = RetryingService(300)


# HotOS 2021, its example: the fluid gives the closed form.
def test_the_fluid_gives_the_closed_times():
    found = trigger_map(HOTOS_21, (100, 120, 140, 145, 149, 150, 200), lengths_s=(10,))
    times = [found.recovery_s(0, load) for load in range(7)]
    assert times[:5] == pytest.approx([16, 33, 118, 245.5, 1265.5], rel=1e-6)
    assert times[5:] == [None, None]
    assert found.is_uncertain[0].tolist() == [False, False, False, False, True, True, False]
    for limit in (5, 10):
        service = RetryingService(300, retry_limit_per_s=limit)
        assert trigger_map(service, (280,), lengths_s=(10,)).recovery_s(0, 0) == pytest.approx(
            closed_recovery_s(service, 280, 10), rel=1e-6
        )
    assert trigger_map(RetryingService(300, retry_limit_per_s=20), (280,), lengths_s=(10,)).recovery_s(0, 0) is None


@pytest.mark.parametrize(
    ("service", "kind", "loads", "depths", "length"),
    [
        (RetryingService(300), "capacity cut", (130, 170, 210, 250, 285), (0.2, 0.5, 0.8, 1.0), 4.0),
        (RetryingService(300), "load spike", (130, 170, 210, 250, 285), (0.5, 1.5, 3.0, 6.0), 4.0),
        (RetryingService(400, 0.5, 3), "capacity cut", (80, 120, 200, 300, 390), (0.3, 0.6, 0.9, 1.0), 1.7),
        (RetryingService(400, 2.0, 2, 60), "capacity cut", (120, 250, 330, 380), (0.3, 0.6, 1.0), 6.0),
    ],
)
def test_every_cell_agrees_with_the_event_model(service, kind, loads, depths, length):
    """Verdicts alike, and times alike, where a trigger 3 % larger and 3 % smaller agree with each other."""
    found = trigger_map(service, loads, depths=depths, length_s=length, kind=kind)
    compared = 0
    for row, depth in enumerate(depths):
        for column, load in enumerate(loads):
            if found.is_uncertain[row, column]:
                continue
            events = [event_recovery(service, load, Trigger(length * by, depth, kind)) for by in (0.97, 1.0, 1.03)]
            if len({event.heals for event in events}) > 1:
                continue
            compared += 1
            assert found.heals[row, column] == events[1].heals, (load, depth)
            if events[1].heals:
                assert found.recovery_s(row, column) == pytest.approx(
                    events[1].recovery_s, rel=0.03, abs=0.1 * service.timeout_s
                ), (load, depth)
    assert compared >= 0.7 * len(depths) * len(loads)


def test_a_map_of_forty_by_forty_takes_seconds_and_keeps_its_order():
    started = time.process_time()
    loads, lengths = np.linspace(100, 299, 40), np.linspace(0.25, 10, 40)
    found = trigger_map(HOTOS_21, loads, lengths_s=lengths)
    assert time.process_time() - started < 6
    assert found.heals.shape == (40, 40)
    # More load, or a longer trigger, never heals what less did not.
    assert not np.any(found.heals[:, 1:] & ~found.heals[:, :-1])
    assert not np.any(found.heals[1:] & ~found.heals[:-1])
    assert np.all(found.heals[:, loads < 150])
    assert {found.verdict(0, 0), found.verdict(39, 39)} == {"heals itself", "stays down"}
    times = [found.recovery_s(row, column) for row in range(40) for column in range(40)]
    assert all(value is None or (np.isfinite(value) and value >= 0) for value in times)
    # The verdict changes between a length that heals and the shortest outage that the event model finds fatal.
    for column in range(14, 40, 8):
        fatal_s = fatal_outage(HOTOS_21, loads[column]).outage_s
        assert found.heals[lengths < 0.97 * fatal_s, column].all()
        assert not found.heals[lengths > 1.03 * fatal_s, column].any()


def test_halving_the_step_moves_times_by_less_than_a_percent():
    loads, depths = (120, 145, 200, 260), (0.3, 0.6, 0.9)
    coarse = trigger_map(HOTOS_21, loads, depths=depths, steps_per_timeout=40)
    fine = trigger_map(HOTOS_21, loads, depths=depths, steps_per_timeout=80)
    assert fine.step_share == coarse.step_share / 2
    for row in range(3):
        for column in range(4):
            moved = (coarse.recovery_s(row, column), fine.recovery_s(row, column))
            assert (moved[0] is None) == (moved[1] is None)
            assert moved[0] is None or moved[0] == pytest.approx(moved[1], rel=0.01, abs=0.02)


# "Metastable Failures in the Wild", OSDI 2022, replicated store: order of four triggers; the capacity, not published, fits.
@pytest.mark.parametrize(
    ("load", "trigger", "heals"),
    [
        (6200, Trigger(10, 0.78), True),
        (6200, Trigger(10, 0.80), False),
        (6200, Trigger(9, 0.80), True),
        (4200, Trigger(10, 0.80), True),
    ],
)
def test_osdi_22_order_of_four_triggers_at_one_capacity(load, trigger, heals):
    service = RetryingService(16_500, 3, 4)
    found = trigger_map(service, (load,), depths=(trigger.depth,), length_s=trigger.length_s)
    assert found.heals.item() is heals
    assert event_recovery(service, load, trigger).heals is heals
    assert service.classify(4200) == "vulnerable"


def test_what_has_no_meaning_is_refused():
    with pytest.raises(ModelError, match="either lengths_s or depths"):
        trigger_map(HOTOS_21, (100,))
    with pytest.raises(ModelError, match="either lengths_s or depths"):
        trigger_map(HOTOS_21, (100,), lengths_s=(1,), depths=(1,))
    with pytest.raises(ModelError, match="empty"):
        trigger_map(HOTOS_21, (), lengths_s=(1,))
    with pytest.raises(ModelError, match="at most 1"):
        trigger_map(HOTOS_21, (100,), depths=(1.5,))
