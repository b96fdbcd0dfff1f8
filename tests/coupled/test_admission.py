"""The seven steps of admission, as the planning guide orders them: what each holds, what it waits for, what a collapse undoes."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from afterload.model.coupled import (
    GUIDE_STEPS,
    Admission,
    CapSteps,
    CoupledDependency,
    CoupledFleet,
    CoupledQueue,
    CoupledSystem,
    cap_rate,
    simulate,
    trace,
)
from afterload.model.curves import RateProfile
from afterload.model.queues import QueueLoad

HOLDS = (5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0)
PLAN = Admission(hold_min=HOLDS)
LOAD = QueueLoad(RateProfile.constant(600), 2400, 172, order="fresh_first", sideline_after_min=15)
# 600 queued and 300 direct a minute at rest; consumers can do 2,400, three attempts each while it is down.
DOWN = CoupledDependency(2000, fresh_per_min=300, attempts_failing=3, collapsed_at_restore=True)


def system(plan=PLAN, item=DOWN, load=LOAD, fleets=(), **queue):
    place = CoupledQueue(load, 0, 3, fleet=0 if fleets else None, **queue)
    return CoupledSystem(172, 172, (place,), (item,), fleets, plan)


def begun(recovery):
    """When steps 1 to 7 and the time after them began."""
    return simulate(recovery).step_begun_min[0, 1:9]


def test_with_the_steps_a_system_heals_that_never_does_at_full_speed():
    free = simulate(system(plan=None))
    assert free.never[0]
    assert np.isnan(free.drain_min[0, 0])
    held = simulate(system())
    assert held.drain_min[0, 0] == pytest.approx(176.0, abs=0.1)
    assert held.fresh_age_back_min[0, 0] == pytest.approx(29.8, abs=0.1)
    assert held.healed_at_min[0, 0] == 0
    assert held.fallbacks[0] == 0
    # By hand: held until 18, when live work is what came in the 15 min before; drains get 0.8 x (2,000 - 300) = 1,360.
    fresh = 18 + 15 * 600 / 760
    assert held.step_begun_min[0, 4] == 18
    assert held.step_begun_min[0, 5] == pytest.approx(fresh + 8)
    # From step 5 on 760 a minute are left for what was set aside: all that came up to 3 min after the restore.
    assert held.drain_min[0, 0] == pytest.approx(fresh + 8 + 600 * (172 + 18 - 15) / 760, rel=1e-6)


def two_queues(**more):
    labels = QueueLoad(RateProfile.constant(2000), 3500, 90, **more)
    tracking = QueueLoad(RateProfile.constant(2400), 3000, 90, **more)
    table = CoupledDependency(9000, fresh_per_min=1500, collapsed_at_restore=True)
    return CoupledSystem(90, 90, (CoupledQueue(labels, 0), CoupledQueue(tracking, 0)), (table,), (), Admission())


@pytest.mark.parametrize("more", [{}, {"order": "fresh_first", "sideline_after_min": 15}], ids=["fifo", "fresh first"])
def test_a_queue_at_rest_leaves_its_room_to_the_others(more):
    # By hand: drains get 0.8 x (9,000 - 1,500) = 6,000/min, first by 3,500 to 3,000. They begin after 15 min. When labels is
    # empty it takes its 2,000/min, and tracking all that its consumers do.
    labels = 15 + 2000 * 105 / (6000 * 3500 / 6500 - 2000)
    left = 2400 * 105 - (6000 * 3000 / 6500 - 2400) * (labels - 15)
    seen = simulate(two_queues(**more))
    if not more:
        assert seen.drain_min[0] == pytest.approx([labels, labels + left / 600])
        assert seen.drain_min[0] == pytest.approx([185.625, 500.625])
    else:
        # Set-aside work waits for step 5 meanwhile; together never more than the room of drains and what arrives directly.
        assert (seen.drain_min[0] > [labels, labels + left / 600]).all()
        assert seen.drain_min[0, 1] < 15 + 2400 * 105 / (6000 * 3000 / 6500 - 2400)
    course = trace(two_queues(**more))
    assert course.attempts_per_min[(course.step >= 4) & (course.step < 6), 0].max() == pytest.approx(1500 + 6000)


def test_the_steps_begin_in_order_and_none_before_the_hold_of_the_one_before():
    for plan in (PLAN, replace(PLAN, lifts=1), replace(PLAN, hold_min=(0.0,) * 7), replace(PLAN, hold_min=(0.4,) * 7)):
        times = begun(system(plan))
        assert times[0] == 0
        assert not np.isnan(times).any()
        holds = np.array(plan.hold_min)
        holds[5] *= plan.lifts
        assert (np.diff(times) >= holds - 1e-9).all()
    assert len(GUIDE_STEPS) == 7


def test_holds_are_kept_to_the_minute_whatever_the_step_of_the_simulation():
    for step in (1.0, 0.5, 2.0):
        times = simulate(system(), step_min=step).step_begun_min[0, 1:]
        np.testing.assert_allclose(times[:4], [0, 5, 11, 18])
        assert times[7] - times[6] == pytest.approx(11)
        assert times[6] - times[5] == pytest.approx(3 * 10)


def test_before_its_step_nothing_is_admitted():
    course = trace(system(), step_min=0.5)
    at = course.step
    assert set(at[course.times_min >= 0.5].astype(int)) == set(range(1, 9))
    live, aside, attempts = course.live[:, 0], course.sidelined[:, 0], course.attempts_per_min[:, 0]
    served = np.diff(course.served[:, 0], prepend=0.0)
    # 1 and 2: neither direct traffic nor drains; 3: direct traffic alone; 4: drains too.
    inside = np.append(at[1:] == at[:-1], False) & np.append(False, at[1:] == at[:-1])
    for stage, load in ((1, 0), (2, 0), (3, 300), (4, 300 + 1360)):
        now = inside & (at == stage)
        assert now.any()
        # Step 4 goes on for its hold after the live backlog is gone; then only what arrives is served.
        busy = now & (live > 1400) if stage == 4 else now
        np.testing.assert_allclose(attempts[busy], load)
    assert (served[inside & (at < 4)] == 0).all()
    # Work set aside is only taken from step 5 on.
    falls = np.diff(aside, prepend=aside[0]) < -1e-6
    assert not falls[at < 5].any()
    assert falls[at == 5].any()
    result = course.result
    assert result.shed[0, 0] == pytest.approx(300 * 11)
    assert result.failed_direct[0, 0] == 0


def test_consumers_keep_their_floor_before_the_drain():
    course = trace(system(replace(PLAN, floor_share=0.1)))
    np.testing.assert_allclose(course.attempts_per_min[(course.step == 2), 0], 240)


def test_control_traffic_is_never_held():
    item = replace(DOWN, control_per_min=50)
    course = trace(system(item=item))
    np.testing.assert_allclose(course.attempts_per_min[course.step == 1, 0], 50)


def test_old_work_gets_its_share_of_the_drain():
    half = trace(system(replace(PLAN, replay_share=0.5)))
    inside = half.step == 5
    taken = -np.diff(half.sidelined[:, 0])[inside[1:] & inside[:-1]]
    # 0.5 x 1,360, while 760 would be free.
    assert taken.max() == pytest.approx(680, rel=1e-6)


# One system for each signal in which that signal alone keeps the step waiting.
def test_step_1_waits_until_calls_succeed():
    # Control traffic alone keeps it down: 1,100 x 2 sustained attempts. Its clients' quotas do not help.
    stuck = system(item=replace(DOWN, control_per_min=1_100, attempts_failing=3, sustained_attempts=2))
    assert np.isnan(begun(stuck)[1:]).all()
    assert simulate(stuck).never[0]
    assert begun(system(item=replace(DOWN, control_per_min=900, sustained_attempts=2)))[1] == 5


def test_step_2_waits_for_the_cache():
    item = replace(DOWN, hit_at_rest=0.8, hit_at_restore=0.2, cache_fill_min=30)
    times = begun(system(item=item))
    # 0.8 - 0.6 exp(-t / 30) = 0.72 after 60.4 min in step 2, and then its hold.
    assert times[1] == 5
    assert times[2] == pytest.approx(5 + 30 * np.log(0.6 / 0.08) + 6, rel=1e-6)
    assert begun(system(item=replace(item, hit_at_restore=0.75)))[2] == 11
    assert np.isnan(begun(system(item=replace(item, cache_fill_min=0)))[2])


def test_step_3_waits_until_latency_is_within_its_objective():
    # With nine tenths of its hits the cache lets 420 a minute through, 300 once it is warm. The objective is 310.
    item = replace(DOWN, hit_at_rest=0.8, hit_at_restore=0.72, cache_fill_min=30)
    tight = begun(system(replace(PLAN, objective_share=0.155), item))
    assert tight[2] == 11
    warm = 30 * np.log((300 * 0.08 / 0.2) / 10)
    assert tight[3] == pytest.approx(5 + warm + 7, abs=1.0)
    assert begun(system(item=item))[3] == 18
    assert np.isnan(begun(system(replace(PLAN, objective_share=0.145), item))[3])


def test_step_4_waits_for_the_age_at_the_first_attempt():
    longer = begun(system(load=replace(LOAD, sideline_after_min=60)))
    np.testing.assert_allclose(longer[4] - longer[3], 600 * 60 / 760 + 8)
    # A share of the room below what arrives keeps it there for good.
    low = simulate(system(replace(PLAN, drain_share=0.3)))
    assert np.isnan(low.step_begun_min[0, 5])
    assert low.never[0]


def test_a_signal_that_breaks_off_has_to_hold_anew():
    # First-attempt age is back at 29.8; from 33 to 35 more arrives than the 1,360 a minute that drains get.
    burst = RateProfile([0, 172 + 33, 172 + 35, 172 + 36], [600, 2_000, 600])
    times = begun(system(load=replace(LOAD, arrivals=burst, max_age_min=15)))
    assert times[4] == pytest.approx(35 + 2 * 640 / 760 + 8, rel=1e-6)


def test_step_5_waits_until_nothing_is_left():
    times = begun(system())
    assert times[5] == pytest.approx(simulate(system()).drain_min[0, 0] + 9)
    none_aside = begun(system(load=replace(LOAD, max_age_min=15)))
    assert none_aside[5] - none_aside[4] == pytest.approx(9)


def test_step_6_lifts_the_cap_one_step_at_a_time_and_holds_each():
    # From step 6 on more arrives than consumers can do, so that the caps show: 0.4 x (4,000 - 300), then up to 2,400.
    plan, item = replace(PLAN, drain_share=0.4, lifts=3), replace(DOWN, capacity_per_min=4_000)
    start = 172 + begun(system(plan, item))[5]
    load = replace(
        LOAD, arrivals=RateProfile([0, start + 0.5, start + 40, start + 41], [600, 3_000, 600]), max_age_min=300
    )
    times = begun(system(plan, item, load))
    assert times[6] - times[5] == pytest.approx(30)
    course = trace(system(plan, item, load))
    for place in range(3):
        cap = 1_480 + (2_400 - 1_480) * (place + 1) / 3
        inside = (course.times_min > times[5] + 10 * place + 2) & (course.times_min < times[5] + 10 * place + 9)
        np.testing.assert_allclose(course.attempts_per_min[inside, 0], 300 + cap)


def test_caps_of_whole_steps_are_those_that_consumers_work_under():
    # As above, in steps of 210/min: 1,480 are 7 of them, 1,470; consumers have 11.4, so the lifts go to 8, 10 and 2,400 free.
    plan, item = replace(PLAN, drain_share=0.4, lifts=3), replace(DOWN, capacity_per_min=4_000)
    whole = {"cap_steps": CapSteps(210.0)}
    start = 172 + np.ceil(begun(system(plan, item, **whole))[5])
    load = replace(LOAD, arrivals=RateProfile([0, start, start + 40, start + 41], [600, 3_000, 600]), max_age_min=300)
    times = begun(system(plan, item, load, **whole))
    course = trace(system(plan, item, load, **whole))
    for place, cap in enumerate((8 * 210, 10 * 210, 2_400)):
        inside = (course.times_min > times[5] + 10 * place + 2) & (course.times_min < times[5] + 10 * place + 9)
        np.testing.assert_allclose(course.attempts_per_min[inside, 0], 300 + cap)
    draining = (course.times_min > times[3] + 1) & (course.times_min < times[3] + 5)
    np.testing.assert_allclose(course.attempts_per_min[draining, 0], 300 + 7 * 210)
    # A floor is one too: 10 % of 2,400 are 240, one step.
    floor = trace(system(replace(plan, floor_share=0.1), item, **whole))
    held = (floor.times_min > 1) & (floor.times_min < 4)
    np.testing.assert_allclose(floor.attempts_per_min[held, 0], 210)


@pytest.mark.parametrize(
    ("room", "own", "steps", "lift", "rate"),
    [
        (2_544, 3_300, CapSteps(200), 0, 2_400),
        # A rate worked out elsewhere may miss a whole number by its last digit.
        (0.1 * 3 * 10_000, 3_300, CapSteps(1_000), 0, 3_000),
        (3_000 * (1 - 1e-13), 3_300, CapSteps(1_000), 0, 3_000),
        # Where the room takes all that consumers do no step holds them back.
        (3_310, 3_300, CapSteps(200), 0, 3_300),
        # 12 of 16.5: the second of four lifts is two and a half steps, so 14; the last one is no cap.
        (2_544, 3_300, CapSteps(200), 0.5, 2_800),
        (2_544, 3_300, CapSteps(200), 1, 3_300),
        # One is less than the least, 2; from there on 16 steps up to no cap, so 5 more for a third of them.
        (390, 3_300, CapSteps(200, 2), 0, 0),
        (390, 3_300, CapSteps(200, 2), 1 / 3, 1_200),
        # No more than the highest can be set.
        (3_000, 3_300, CapSteps(100, 2, 20), 0, 2_000),
        (2_544, 3_300, None, 0.5, 2_922),
    ],
)  # fmt: skip
def test_a_cap_is_the_rate_of_its_whole_steps(room, own, steps, lift, rate):
    assert cap_rate(room, own, steps, lift) == pytest.approx(rate)


def test_step_7_waits_for_the_fleet_and_removal_stays_paused_until_it_is_over():
    slow = CoupledFleet(50, 100, 0, 10, 0, launches_from_min=400, removal_per_min=1, automation_active=True)
    held = simulate(system(fleets=(slow,)))
    # From minute 400 on ten a minute come back; half an instance from full is full.
    assert held.step_begun_min[0, 8] == pytest.approx(405 + 11, abs=1.0)
    assert held.step_begun_min[0, 7] < 400
    assert held.lowest_in_service[0, 0] == 50
    without = simulate(system(plan=None, item=replace(DOWN, capacity_per_min=9_000), fleets=(slow,)))
    assert without.lowest_in_service[0, 0] == 0
    # Once all steps are over, automation acts again; launches have long been possible by then.
    assert begun(system(fleets=(replace(slow, launches_from_min=0),)))[7] == pytest.approx(begun(system())[7], abs=40)


def test_a_collapse_in_a_drain_closes_the_doors_and_the_steps_are_taken_anew():
    # Two of these consumers' items cost 3 attempts once down. Room is measured without what a second, uncapped queue sends
    # in steps 4 and 5: its share of the room is what breaks when direct traffic comes back with a cold cache.
    item = replace(DOWN, fresh_per_min=1_900, hit_at_rest=0.5, hit_at_restore=0.44, cache_fill_min=60)
    seen = simulate(system(replace(PLAN, notice_min=2.0), item))
    course = trace(system(replace(PLAN, notice_min=2.0), item))
    # In step 3 direct traffic alone is 1,900 x 0.56 / 0.5 = 2,128 at first: down, noticed after 2 min, doors closed.
    assert seen.fallbacks[0] >= 1
    stages = course.step[course.times_min > 0].astype(int)
    changes = [(a, b) for a, b in itertools.pairwise(stages) if a != b]
    assert (3, 1) in changes
    # It is noticed two minutes after each collapse, and while the doors are closed the dependency is up.
    assert seen.time_collapsed_min[0, 0] == pytest.approx(2.0 * seen.fallbacks[0], abs=1e-6)
    # The cache goes on filling in step 2, so that in the end direct traffic fits.
    assert not np.isnan(seen.step_begun_min[0, 4])
    begun_last = seen.step_begun_min[0, 1:5]
    assert (np.diff(begun_last) >= np.array(HOLDS[:3]) - 1e-9).all()
    assert begun_last[0] > 0


def test_what_a_collapse_undoes_is_no_longer_begun():
    item = replace(DOWN, fresh_per_min=2_100)
    seen = simulate(system(item=item), horizon_min=500)
    assert seen.fallbacks[0] > 5
    assert np.isnan(seen.step_begun_min[0, 4:]).all()
    assert np.isnan(seen.drain_min[0, 0])


def peak_in_the_second_lift(**item):
    """An hour for each of two lifts; ten minutes into the second more arrives than the dependency bears."""
    plan = Admission(drain_share=0.5, lifts=2, hold_min=(5, 5, 5, 5, 5, 60, 5), notice_min=1.0)
    start = begun(system(plan))[5]
    peak = 172 + start + 70
    arrivals = RateProfile([0, peak, peak + 30, peak + 31], [600, 1_900, 600])
    return start, system(plan, replace(DOWN, **item), replace(LOAD, arrivals=arrivals))


def test_a_collapse_in_the_lifts_takes_them_back_and_stays_in_step_6():
    start, recovery = peak_in_the_second_lift()
    seen = simulate(recovery)
    assert seen.fallbacks[0] == 1
    assert seen.time_collapsed_min[0, 0] == pytest.approx(1)
    assert seen.healed_at_min[0, 0] == pytest.approx(start + 71, abs=1)
    assert seen.step_begun_min[0, 6] == pytest.approx(start)
    # Without a lift, the first, the second: each is held for an hour once more.
    assert seen.step_begun_min[0, 7] == pytest.approx(start + 71 + 3 * 60, abs=1)
    assert not np.isnan(seen.drain_min[0, 0])


def test_a_collapse_that_the_lifts_do_not_end_closes_the_doors():
    # Each failing request still makes 1.9 attempts when quotas are empty: 1.9 x (300 + 850) is more than it bears.
    start, recovery = peak_in_the_second_lift(sustained_attempts=1.9)
    seen = simulate(recovery)
    assert seen.fallbacks[0] == 2
    assert seen.step_begun_min[0, 1] == pytest.approx(start + 71, abs=1)
    assert seen.time_collapsed_min[0, 0] == pytest.approx(1)
    assert (np.diff(seen.step_begun_min[0, 1:]) > 0).all()


@pytest.mark.parametrize("step", [1.0, 0.5])
def test_steps_cost_time_where_nothing_is_wrong(step):
    healthy = replace(DOWN, collapsed_at_restore=False, capacity_per_min=9_000)
    with_plan = simulate(system(item=healthy), step_min=step).drain_min[0, 0]
    without = simulate(system(plan=None, item=healthy), step_min=step).drain_min[0, 0]
    assert without == pytest.approx(600 * 172 / 1_800)
    assert with_plan > without
