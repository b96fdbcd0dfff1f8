"""Answers do not depend on the step or on where the simulation ends, and say so where they are not certain."""

import math
from dataclasses import replace

import numpy as np
import pytest

from afterload.model.coupled import (
    Admission,
    CoupledDependency,
    CoupledFleet,
    CoupledQueue,
    CoupledSystem,
    Input,
    certainty,
    simulate,
)
from afterload.model.curves import RateProfile
from afterload.model.queues import QueueLoad, Ramp

FIRST = QueueLoad(RateProfile.constant(1200), service_rate_per_min=1800, outage_min=172)
DAY = RateProfile([60.0 * h for h in range(25)], [600 + 100 * abs(12 - h) for h in range(24)], cycle_min=1440)
PLAN = Admission(hold_min=(5, 5.3, 5, 5, 5, 15, 5))


def alone(load, **more):
    return CoupledSystem(load.outage_min, load.outage_min, (CoupledQueue(load, **more),))


def behind(item, *loads, attempts=3.0, admission=None, fleets=(), outage=172.0):
    places = tuple(CoupledQueue(load, 0, attempts, fleet=0 if fleets else None) for load in loads)
    return CoupledSystem(outage, outage, places, (item,), fleets, admission)


COLD = CoupledDependency(
    3000, fresh_per_min=400, attempts_failing=3, hit_at_rest=0.8, hit_at_restore=0.5, cache_fill_min=30
)
QUOTA = CoupledDependency(2500, attempts_failing=3, collapsed_at_restore=True, retry_tokens=123_456)
FLEET = CoupledFleet(37, 100, 10, 1.7, 4.4, 33.3, removal_per_min=0.7, automation_active=True, removal_floor=20)
GRID = {
    "alone": alone(FIRST),
    "age limit between points": alone(replace(FIRST, order="fresh_first", sideline_after_min=17.3, max_age_min=90.4)),
    "daily profile": alone(replace(FIRST, arrivals=DAY, service_rate_per_min=1300)),
    "slow ramp": alone(replace(FIRST, item_time_s=60, ramp=Ramp(5, 7, 1800))),
    "quotas run empty": behind(QUOTA, FIRST),
    "quotas run empty, two queues": behind(QUOTA, replace(FIRST, arrivals=DAY), replace(FIRST, order="lifo")),
    "some calls succeed": behind(CoupledDependency(1700, attempts_failing=3, goodput_share=0.8), FIRST, outage=172.0),
    "cold cache": behind(COLD, FIRST),
    "fleet that recovers": behind(CoupledDependency(5000), FIRST, fleets=(FLEET,)),
    "seven steps": behind(replace(QUOTA, fresh_per_min=300), replace(FIRST, max_age_min=60), admission=PLAN),
    "seven steps, cold cache": behind(
        replace(COLD, collapsed_at_restore=True), replace(FIRST, max_age_min=90), admission=PLAN
    ),
    "seven steps, sideline": behind(
        QUOTA, replace(FIRST, order="fresh_first", sideline_after_min=15, max_age_min=300), admission=PLAN
    ),
    "seven steps, fleet": behind(QUOTA, FIRST, admission=PLAN, fleets=(FLEET,)),
    "outage that is no whole step": behind(QUOTA, replace(FIRST, outage_min=171.37), outage=171.37),
}


@pytest.mark.parametrize("name", GRID)
def test_halving_the_step_moves_no_headline_result_by_one_percent(name):
    seen = certainty(GRID[name])
    assert seen.moved_share[0] < 0.01
    again = certainty(GRID[name], step_min=0.5)
    assert again.moved_share[0] < 0.01
    finest = simulate(GRID[name], step_min=0.125)
    for field in ("drain_min", "fresh_age_back_min", "time_collapsed_min"):
        coarse = getattr(simulate(GRID[name]), field)
        np.testing.assert_allclose(coarse, getattr(finest, field), rtol=0.01, atol=1e-6, err_msg=field)


def test_a_grid_of_capacities_converges_away_from_the_boundary_and_is_flagged_near_it():
    capacities = np.linspace(1000, 6000, 201)
    system = behind(CoupledDependency(2500, attempts_failing=2, goodput_share=0.5), FIRST)
    seen = certainty(system, {Input("dependency", 0, "capacity_per_min"): capacities})
    assert seen.values.step_min == 0.5
    assert (seen.moved_share[~seen.near_boundary] < 0.01).all()
    near = capacities[seen.near_boundary]
    # Full drains are 1,800/min and settle at 1,200/min: the boundaries are the capacities at which they collapse
    # (1,800), and at which what is left heals (2 x 1,200 for a drain that has ended).
    assert 1800 in near.round()
    assert (
        (np.abs(near / 1800 - 1) < 0.021)
        | (np.abs(near / 2400 - 1) < 0.021)
        | (np.abs(near / 1200 - 1) < 0.021)
        | (np.abs(near / 3600 - 1) < 0.021)
    ).all()
    assert seen.certain.mean() > 0.9
    assert (seen.certain == ((seen.moved_share < 0.01) & ~seen.near_boundary)).all()


@pytest.mark.parametrize(("capacity", "near"), [(1700, False), (1790, True), (1830, True), (1900, False)])
def test_a_load_within_two_percent_of_capacity_is_too_close_to_call(capacity, near):
    assert certainty(behind(CoupledDependency(capacity, attempts_failing=3), FIRST)).near_boundary[0] == near


@pytest.mark.parametrize(("attempts", "near"), [(1.05, False), (1.1, True), (1.12, True), (1.3, False)])
def test_a_load_within_two_percent_of_hidden_capacity_is_too_close_to_call(attempts, near):
    item = CoupledDependency(2000, collapsed_at_restore=True)
    system = behind(item, FIRST, attempts=attempts)
    assert certainty(system).near_boundary[0] == near


def test_a_result_that_appears_or_vanishes_with_the_step_is_not_certain():
    # Five minutes of direct traffic over a whole step, averaged away by none: the same verdict twice.
    sure = certainty(alone(FIRST))
    assert sure.certain[0]
    assert sure.moved_share[0] == pytest.approx(0, abs=1e-9)
    unsure = replace(sure, moved_share=np.array([np.inf]))
    assert not unsure.certain[0]


def test_results_do_not_depend_on_where_the_horizon_ends():
    for system in GRID.values():
        full = simulate(system)
        for horizon in (1.1 * full.end_min[0], 3 * full.end_min[0], 14 * 1440.0):
            other = simulate(system, horizon_min=horizon)
            for field in ("drain_min", "fresh_age_back_min", "time_collapsed_min", "end_min", "served", "shed"):
                np.testing.assert_array_equal(getattr(other, field), getattr(full, field), err_msg=field)


def test_a_short_horizon_gives_a_lower_bound_and_not_never():
    seen = simulate(alone(FIRST), horizon_min=100)
    assert np.isnan(seen.drain_min[0, 0])
    assert not seen.never[0]
    assert seen.end_min[0] == 100
    assert seen.live_at_end[0, 0] == pytest.approx(206_400 - 600 * 100)


def test_a_drain_of_weeks_is_reached_to_the_minute():
    # 206,400 items at 5 a minute: 41,280 min, or 28.7 days.
    for spare in (5, 11):
        seen = simulate(alone(replace(FIRST, service_rate_per_min=1200 + spare)))
        assert seen.drain_min[0, 0] == pytest.approx(206_400 / spare)
    # An outage of 30 days takes 60 more, whatever the length.
    month = 30 * 1440.0
    assert (
        simulate(CoupledSystem(month, month, (CoupledQueue(replace(FIRST, outage_min=month)),))).drain_min == 2 * month
    )


@pytest.mark.parametrize(
    "system",
    [
        alone(replace(FIRST, service_rate_per_min=1200)),
        alone(replace(FIRST, service_rate_per_min=0)),
        alone(replace(FIRST, arrivals=DAY, service_rate_per_min=850)),
        alone(replace(FIRST, arrivals=DAY, service_rate_per_min=850, order="lifo")),
        alone(replace(FIRST, service_rate_per_min=1100, max_age_min=30)),
        alone(replace(FIRST, service_rate_per_min=1100, retention_min=5760)),
        behind(replace(QUOTA, retry_tokens=np.inf), FIRST),
        behind(replace(QUOTA, sustained_attempts=2.5), FIRST),
        behind(replace(QUOTA, retry_tokens=np.inf), replace(FIRST, arrivals=DAY)),
    ],
    ids=range(9),
)
def test_never_is_found_and_early(system):
    seen = simulate(system)
    assert seen.never[0]
    assert np.isnan(seen.drain_min[0, 0])
    assert seen.end_min[0] < 8 * 1440
    # Followed for all of 14 days, it is still not reached.
    longer = simulate(replace(system, lead_min=system.lead_min), horizon_min=14 * 1440)
    assert np.isnan(longer.drain_min[0, 0])


def test_a_profile_whose_mean_is_below_service_drains_in_its_valley_and_is_not_never():
    assert DAY.mean_tail_per_min == 1200
    seen = simulate(alone(replace(FIRST, arrivals=DAY, service_rate_per_min=1215)))
    assert not seen.never[0]
    assert seen.drain_min[0, 0] > 1440


def test_cycles_that_do_not_fit_into_each_other_are_never_after_their_common_period():
    week = RateProfile([0, 1000, 2300], [1500, 1400], cycle_min=2300)
    queues = tuple(CoupledQueue(replace(FIRST, arrivals=profile, service_rate_per_min=700)) for profile in (DAY, week))
    seen = simulate(CoupledSystem(172, 172, queues))
    assert np.isnan(seen.drain_min).all()
    assert seen.never[0]
    assert seen.end_min[0] > 2 * math.lcm(1440, 2300)
    # Within a time that is too short for that nothing is said.
    assert not simulate(CoupledSystem(172, 172, queues), horizon_min=14 * 1440).never[0]


def test_never_at_one_queue_does_not_hide_that_another_is_reached():
    queues = (CoupledQueue(FIRST), CoupledQueue(replace(FIRST, service_rate_per_min=1100)))
    seen = simulate(CoupledSystem(172, 172, queues))
    assert seen.drain_min[0, 0] == pytest.approx(344)
    assert np.isnan(seen.drain_min[0, 1])
    assert seen.never[0]


def test_steps_much_longer_than_a_minute_still_cut_where_rates_change():
    assert simulate(alone(FIRST), step_min=7).drain_min[0, 0] == pytest.approx(344)
    assert simulate(behind(QUOTA, FIRST), step_min=7).time_collapsed_min[0, 0] == pytest.approx(123_456 / 3600)
