"""The coupled model where a part stands alone: it equals the exact model of that part."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.oracles.backlog import recover
from tests.oracles.launches import in_service_by

from afterload.model.coupled import (
    HORIZONS_MIN,
    CoupledDependency,
    CoupledFleet,
    CoupledQueue,
    CoupledSystem,
    simulate,
    trace,
)
from afterload.model.curves import RateProfile
from afterload.model.launches import launch
from afterload.model.queues import QueueLoad, Ramp

FIRST = QueueLoad(RateProfile.constant(1200), service_rate_per_min=1800, outage_min=172)
DAY = RateProfile([60.0 * h for h in range(25)], [600 + 100 * abs(12 - h) for h in range(24)], cycle_min=1440)
QUICK = settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.too_slow])
STEPS = st.sampled_from([1.0, 0.5, 0.25])
COUNTS = ("served", "expired", "lost_to_retention", "discarded_past_deadline", "superseded")


def alone(load):
    return CoupledSystem(load.outage_min, load.outage_min, (CoupledQueue(load),))


def same(load, step=1.0, tolerance=1e-6, within_min=0.0):
    """Compare every result; times may differ by ``within_min`` and counts by the arrivals of so many minutes."""
    exact = recover(load)
    seen = simulate(alone(load), step_min=step)
    items = tolerance * (1.0 + exact.initial + exact.arrived)
    items += within_min * (max(load.arrivals.rates_per_min) + load.service_rate_per_min)
    assert seen.backlog_at_restore[0, 0] == pytest.approx(exact.backlog_at_restore, abs=items)
    for ours, theirs in ((seen.drain_min, exact.drain_min), (seen.fresh_age_back_min, exact.fresh_age_back_min)):
        if theirs is None:
            assert math.isnan(ours[0, 0])
            assert seen.never[0] or seen.end_min[0] >= 14 * 1440
        elif theirs > HORIZONS_MIN[-1]:
            assert math.isnan(ours[0, 0])
            assert not seen.never[0]
        else:
            assert ours[0, 0] == pytest.approx(theirs, rel=tolerance, abs=1e-6 + within_min)
    if exact.drain_min is not None and exact.drain_min < 14 * 1440:
        for name in COUNTS:
            assert getattr(seen, name)[0, 0] == pytest.approx(getattr(exact, name), abs=items), name
        assert seen.arrived[0, 0] == pytest.approx(exact.arrived, abs=items)
    return seen


@pytest.mark.parametrize("step", [1.0, 0.5, 0.25])
@pytest.mark.parametrize(
    "load",
    [
        FIRST,
        replace(FIRST, max_age_min=15),
        replace(FIRST, retention_min=60),
        replace(FIRST, deadline_min=30),
        replace(FIRST, superseded_share=0.4),
        replace(FIRST, order="fresh_first", sideline_after_min=15),
        replace(FIRST, order="fresh_first", sideline_after_min=15, max_age_min=90),
        replace(FIRST, order="fresh_first", sideline_after_min=15, deadline_min=90, superseded_share=0.25),
        replace(FIRST, order="lifo"),
        replace(FIRST, order="fresh_first", sideline_after_min=0, max_age_min=100),
        replace(FIRST, order="lifo", item_time_s=2, ramp=Ramp()),
        replace(FIRST, item_time_s=2, ramp=Ramp(5, 3, 1250)),
        replace(FIRST, item_time_s=2, cap_concurrency=45),
        replace(FIRST, served_in_outage_per_min=700, max_age_min=20),
        replace(FIRST, backlog_before=5_000),
        replace(FIRST, backlog_before=50_000, max_age_min=190),
        replace(FIRST, outage_min=0),
        replace(FIRST, outage_min=171.7),
        replace(FIRST, outage_min=171.7, max_age_min=30, served_in_outage_per_min=100),
        replace(FIRST, service_rate_per_min=1200),
        replace(FIRST, arrivals=DAY, service_rate_per_min=1300),
        replace(FIRST, arrivals=DAY, service_rate_per_min=1300, order="fresh_first", sideline_after_min=60),
        replace(FIRST, arrivals=DAY, service_rate_per_min=1300, max_age_min=240),
        replace(FIRST, arrivals=DAY, service_rate_per_min=1100),
        replace(FIRST, arrivals=DAY, service_rate_per_min=1230, order="lifo"),
    ],
    ids=str,
)
def test_a_queue_alone_is_the_exact_backlog_model(load, step):
    same(load, step)


RATES = st.integers(0, 800).map(lambda tenths: tenths / 10)
EVEN = st.integers(1, 150).map(lambda number: 2.0 * number)
ODD = st.integers(0, 199).map(lambda number: 2.0 * number + 1.0)
LIMITS = st.one_of(st.none(), ODD)


@st.composite
def loads(draw):
    """Queues whose edges lie on even minutes and whose limits on odd ones; the outage of a constant rate need not.

    So the last work never becomes too old at the very moment when more begins to arrive than is served: whether nothing
    waited then has no answer.
    """
    if draw(st.booleans()):
        arrivals = RateProfile.constant(draw(RATES))
        outage = draw(st.one_of(EVEN, st.floats(1.0, 300.0)))
    else:
        widths = draw(st.lists(st.integers(3, 100).map(lambda half: 2 * half), min_size=1, max_size=5))
        rates = draw(st.lists(RATES, min_size=len(widths), max_size=len(widths)))
        edges = np.concatenate(([0], np.cumsum(widths)))
        arrivals = RateProfile(edges.tolist(), rates, draw(st.sampled_from([None, int(edges[-1])])))
        outage = draw(EVEN)
    order = draw(st.sampled_from(["fifo", "lifo", "fresh_first"]))
    # The exact model takes what waits behind fresh work oldest first, which only an age limit tells from newest first.
    ages = {
        name: None if order == "lifo" else draw(LIMITS) for name in ("max_age_min", "retention_min", "deadline_min")
    }
    has_ramp = draw(st.booleans())
    return QueueLoad(
        arrivals=arrivals,
        service_rate_per_min=draw(RATES),
        outage_min=outage,
        backlog_before=draw(st.sampled_from([0.0, 0.0, 7.0, 500.0])),
        served_in_outage_per_min=draw(st.sampled_from([0.0, 0.0, 3.0, 20.0])),
        **ages,
        superseded_share=draw(st.sampled_from([0.0, 0.0, 0.25, 1.0])),
        item_time_s=2.0 if has_ramp else None,
        ramp=Ramp(draw(st.integers(0, 2)), draw(st.sampled_from([0.5, 3.0, 300.0])), 4.0) if has_ramp else None,
        order=order,
        sideline_after_min=draw(st.one_of(st.just(0.0), ODD)) if order == "fresh_first" else None,
    )


@settings(QUICK, max_examples=400)
@given(loads(), STEPS)
def test_queues_at_random_are_the_exact_backlog_model(load, step):
    # Work that waited at the trigger of a queue without arrivals has one age, so all of it expires at one moment. Within
    # a step that is seen at its end, and at the restore it is a matter of rounding.
    has_one_age = load.backlog_before > 0.0 and load.arrivals.rates_per_min[0] == 0.0
    assume(not has_one_age or (load.outage_min % 1 == 0.0 and load.outage_min not in limits(load)))
    # The exact model takes a ramp in parts of a second, each at its mean rate; this one follows the straight line.
    # Work that the ramp sets aside within a step expires within a step, which is seen at the end of it.
    slack = 0.0
    if load.ramp is not None:
        slack = 1 / 60 if load.order == "fifo" or limits(load)[:3] == (None, None, None) else step
    same(load, step, within_min=slack)


def limits(load):
    return (load.max_age_min, load.retention_min, load.deadline_min, load.sideline_after_min)


@pytest.mark.parametrize(
    ("order", "sideline", "discarded", "drain"),
    [("fifo", None, 1, 0.5), ("fresh_first", 0.5, 1.25, 0.375)],
)
def test_work_past_its_deadline_at_the_restore_is_discarded_at_once(order, sideline, discarded, drain):
    # Closed form: of 2 min of arrivals at 1/min the older half is discarded and the rest drains at 3 - 1 a minute. Fresh
    # first serves the last half minute of it within 0.25 min, in which another quarter is late.
    load = QueueLoad(RateProfile.constant(1), 3, 2, deadline_min=1, order=order, sideline_after_min=sideline)
    seen, exact = simulate(alone(load)), recover(load)
    assert seen.discarded_past_deadline[0, 0] == pytest.approx(discarded)
    assert exact.discarded_past_deadline == pytest.approx(discarded)
    assert seen.drain_min[0, 0] == pytest.approx(drain)
    assert exact.drain_min == pytest.approx(drain)


def test_newest_first_discards_from_the_old_end_while_it_serves_from_the_new_one():
    # The newer minute of arrivals is served at 2/min from one end and passes its deadline at 1/min at the other.
    seen = simulate(alone(QueueLoad(RateProfile.constant(1), 3, 2, deadline_min=1, order="lifo")))
    assert seen.drain_min[0, 0] == pytest.approx(1 / 3)
    assert seen.discarded_past_deadline[0, 0] == pytest.approx(4 / 3)


@pytest.mark.parametrize("rate", [0.1, 0.101, 3.0])
def test_a_ramp_from_nothing_leaves_capacity_for_old_work_at_once(rate):
    # 10 items wait, nothing more arrives, all are past their deadline: they take no time, whatever comes up how slowly.
    load = QueueLoad(
        RateProfile([0, 100, 480], [0.1, 0.0]), rate, 172, deadline_min=5, order="lifo",
        item_time_s=2, ramp=Ramp(0, 0.5, 4),
    )  # fmt: skip
    for seen in (simulate(alone(load)), recover(load)):
        assert np.ravel(seen.discarded_past_deadline)[0] == pytest.approx(10)
        assert np.ravel(seen.drain_min)[0] == 0.0


@pytest.mark.parametrize("step", [1.0, 0.5, 0.25])
def test_work_set_aside_is_not_discarded_before_its_turn(step):
    # By hand: 0.2/min come for 6 min, 0.1/min are served from minute 2 on, newest first, so nothing set aside has its turn
    # before minute 6. What came before minute 2 (0.4) is lost to retention by minute 5, and of the 0.1/min set aside after
    # that another 0.1 by minute 6. Oldest first, the 0.2 that came from minute 3 to 5 are past their deadline then. Newest
    # first, that is found half a minute later, when what came from 5:30 on is served; half a minute more is lost meanwhile.
    load = QueueLoad(
        RateProfile([0, 6, 12], [0.2, 0.0]), 0.1, 2, retention_min=3, deadline_min=1,
        order="fresh_first", sideline_after_min=0,
    )  # fmt: skip
    for seen in (simulate(alone(load), step_min=step), recover(load)):
        assert np.ravel(seen.lost_to_retention)[0] == pytest.approx(0.5)
        assert np.ravel(seen.discarded_past_deadline)[0] == pytest.approx(0.2)
    seen = simulate(alone(replace(load, order="lifo", sideline_after_min=None)), step_min=step)
    assert seen.lost_to_retention[0, 0] == pytest.approx(0.55)
    assert seen.discarded_past_deadline[0, 0] == pytest.approx(0.2)
    assert seen.drain_min[0, 0] == pytest.approx(4.5)


@pytest.mark.parametrize("step", [1.0, 0.5, 0.25])
@pytest.mark.parametrize("limit", [{"max_age_min": 90.37}, {"retention_min": 61.9}, {"deadline_min": 200.21}])
@pytest.mark.parametrize(
    "order",
    [{"order": "fresh_first", "sideline_after_min": 0}, {"order": "fresh_first", "sideline_after_min": 17.3}, {}],
)
def test_limits_between_points_of_the_grid_act_within_a_step(order, limit, step):
    # Inside a step the age of work set aside is known up to the straight line through its ends.
    same(replace(FIRST, **order, **limit), step, within_min=step)


def test_edges_of_a_profile_between_points_of_the_grid_are_seen_within_a_step():
    load = replace(FIRST, arrivals=DAY, outage_min=171.7, service_rate_per_min=1300)
    same(load, within_min=1.0)
    same(replace(load, order="fresh_first", sideline_after_min=33.3, max_age_min=500), within_min=1.0)


def test_queues_that_only_share_a_table_do_not_touch_each_other():
    aside = replace(FIRST, order="fresh_first", sideline_after_min=0, max_age_min=100)
    chosen = [FIRST, aside, replace(FIRST, arrivals=DAY)]
    together = simulate(CoupledSystem(172, 172, tuple(CoupledQueue(load) for load in chosen)))
    for place, load in enumerate(chosen):
        apart = recover(load)
        assert together.drain_min[0, place] == pytest.approx(apart.drain_min, rel=1e-6)
        assert together.fresh_age_back_min[0, place] == pytest.approx(apart.fresh_age_back_min, rel=1e-6, abs=1e-6)


def test_arrivals_may_begin_before_the_trigger():
    shifted = RateProfile([0, 28, 29], [50_000, 1200])
    load = replace(FIRST, arrivals=shifted)
    assert simulate(CoupledSystem(172, 200, (CoupledQueue(load),))).drain_min[0, 0] == pytest.approx(344)


def test_the_course_has_the_backlog_and_the_age_of_the_exact_model():
    for load in (FIRST, replace(FIRST, max_age_min=60), replace(FIRST, order="fresh_first", sideline_after_min=15)):
        exact, course = recover(load), trace(alone(load))
        inner = course.times_min[1:-1]
        for ours, theirs in (
            (course.live + course.sidelined, exact.backlog),
            (course.sidelined, exact.sidelined),
            (course.first_attempt_age_min, exact.first_attempt_age_min),
        ):
            # The exact curves jump at the restore; there and at the very end either side is right.
            wanted = np.interp(inner + load.outage_min, exact.times_min, theirs)
            smooth = (np.abs(inner) > 0.5) & (inner < course.times_min[-1] - 0.5)
            np.testing.assert_allclose(ours[1:-1, 0][smooth], wanted[smooth], rtol=1e-6, atol=1e-3)
        assert course.times_min[-1] == course.result.end_min[0] == pytest.approx(exact.drain_min)


# Rows of docs/model.md, section 3: a dependency of 2,000/min, 1,200/min in, 1,800/min out.
def behind_dependency(attempts, cap=None):
    load = FIRST if cap is None else replace(FIRST, item_time_s=60, cap_concurrency=cap)
    item = CoupledDependency(2000, attempts_failing=attempts, collapsed_at_restore=True)
    return CoupledSystem(172, 172, (CoupledQueue(load, dependency=0, attempts_failing=attempts),), (item,))


def test_three_attempts_keep_the_dependency_down_for_good():
    seen = simulate(behind_dependency(3))
    assert np.isnan([seen.drain_min[0, 0], seen.fresh_age_back_min[0, 0], seen.healed_at_min[0, 0]]).all()
    assert seen.never[0]
    assert seen.peak_attempts_per_min[0, 0] == 5400
    # Hidden capacity 2,000 / 3: held to it the dependency heals, but even fresh work alone is more than that.
    hidden = 2000 / 3
    assert hidden == pytest.approx(666.7, abs=0.05)
    assert simulate(behind_dependency(3, 666.6)).healed_at_min[0, 0] == 0.0
    assert simulate(behind_dependency(3, 666.6)).never[0]
    assert np.isnan(simulate(behind_dependency(3, 666.8)).healed_at_min[0, 0])


def test_what_fails_without_end_is_a_rate_that_no_horizon_changes():
    """300/min at 24 attempts are more than 3,480/min: all of them fail, or all beyond the goodput of 5 %, 174/min."""
    part = CoupledDependency(3_480, fresh_per_min=300, attempts_failing=24, collapsed_at_restore=True)
    ends = set()
    for age in (None, 30.0, 60.0):
        load = QueueLoad(RateProfile.constant(2_400), 3_300, 95, max_age_min=age)
        system = CoupledSystem(95, 95, (CoupledQueue(load, dependency=0, attempts_failing=3),), (part,))
        seen = simulate(system)
        ends.add(float(seen.end_min[0]))
        assert seen.never[0]
        assert seen.unserved_per_min[0, 0] == pytest.approx(300)
        assert seen.failed_direct[0, 0] == pytest.approx(300 * seen.end_min[0])
    # The counts are of three lengths; the rate is one.
    assert len(ends) == 3
    some = simulate(CoupledSystem(95, 95, (), (replace(part, goodput_share=0.05),)))
    assert some.unserved_per_min[0, 0] == pytest.approx(300 - 174)
    # Three attempts at 900/min are within 3,480/min: it heals, and the count is whole.
    healed = simulate(CoupledSystem(95, 95, (), (replace(part, attempts_failing=3),)))
    assert not healed.never[0]
    assert healed.unserved_per_min[0, 0] == 0.0


def test_a_drain_held_at_hidden_capacity_heals_and_full_speed_does_not():
    hidden = 2000 / 1.26
    assert hidden == pytest.approx(1587, abs=0.5)
    held = simulate(behind_dependency(1.26, hidden))
    assert held.healed_at_min[0, 0] == 0.0
    assert held.drain_min[0, 0] == pytest.approx(206_400 / (hidden - 1200))
    assert held.drain_min[0, 0] == pytest.approx(533, abs=0.5)
    free = simulate(behind_dependency(1.26))
    assert np.isnan(free.drain_min[0, 0])
    assert free.never[0]
    fresh = simulate(behind_dependency(1.26, 1200))
    assert fresh.healed_at_min[0, 0] == 0.0


def fleet_of(instances, a_request, delay):
    item = CoupledFleet(0, instances, 1000, 120, delay, request_burst=5 * a_request, request_per_min=120 * a_request)
    queue = CoupledQueue(QueueLoad(RateProfile.constant(1), 2, 30), fleet=0)
    return CoupledSystem(30, 30, (queue,), fleets=(item,))


# Rows of docs/model.md, section 4.
@pytest.mark.parametrize(
    ("instances", "a_request"), [(1000, 1000), (3000, 100), (3000, 1), (500, 1), (3000, 2)], ids=str
)
@pytest.mark.parametrize("delay_s", [0.0, 90.0])
def test_launches_are_those_of_the_two_buckets_within_a_step(instances, a_request, delay_s):
    exact = launch(instances, instances_per_request=a_request, boot_s=delay_s)
    system = fleet_of(instances, a_request, delay_s / 60)
    for step in (1.0, 0.5):
        course = trace(system, step_min=step, horizon_min=60)
        for t, serving in zip(course.times_min, course.in_service[:, 0], strict=True):
            if t < step:
                continue
            early = in_service_by(exact, max(0.0, t - step) * 60)
            late = in_service_by(exact, (t + step) * 60)
            assert early - a_request - 1e-6 <= serving <= late + a_request + 1e-6
        full = course.times_min[np.argmax(course.in_service[:, 0] >= instances - 0.5)]
        assert abs(full - exact.in_service_s / 60) <= 2 * step


def test_capacity_is_removed_while_launches_fail_and_never_below_the_velocity_limit():
    item = CoupledFleet(100, 100, 0, 10, 0, 30, removal_per_min=2, automation_active=True, removal_floor=55)
    queue = CoupledQueue(QueueLoad(RateProfile.constant(10), 20, 10), fleet=0)
    system = CoupledSystem(10, 10, (queue,), fleets=(item,))
    assert simulate(system).lowest_in_service[0, 0] == 55
    assert simulate(replace(system, fleets=(replace(item, removal_floor=0),))).lowest_in_service[0, 0] == 40
    assert simulate(replace(system, fleets=(replace(item, automation_active=False),))).lowest_in_service[0, 0] == 100
    course = trace(system, horizon_min=60)
    at = dict(zip(course.times_min.tolist(), course.in_service[:, 0].tolist(), strict=True))
    assert (at[10.0], at[30.0], at[32.0]) == (80, 55, 75)


def test_what_is_asked_of_a_dependency_is_known_where_nothing_has_to_recover():
    """12,000 requests a minute and 300 of control traffic, healthy at the restore: that is what it gets, and not nothing."""
    part = CoupledDependency(90_000, control_per_min=300, fresh_per_min=12_000, attempts_failing=3)
    assert simulate(CoupledSystem(26, 26, (), (part,))).peak_attempts_per_min.tolist() == [[12_300]]
    # Behind a cache that answers nothing at first and four in five later, it is five times as much, for as long as there is.
    cold = replace(part, hit_at_rest=0.8, hit_at_restore=0.0, cache_fill_min=5)
    assert simulate(CoupledSystem(26, 26, (), (cold,))).peak_attempts_per_min[0, 0] == pytest.approx(60_300)
