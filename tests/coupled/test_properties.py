"""What must hold for every coupled recovery, drawn at random."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from afterload.errors import ModelError
from afterload.model.coupled import (
    Admission,
    CoupledDependency,
    CoupledFleet,
    CoupledQueue,
    CoupledSystem,
    Input,
    backlogs,
    simulate,
    trace,
)
from afterload.model.curves import RateProfile
from afterload.model.queues import QueueLoad, Ramp

QUICK = settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
GONE = ("served", "expired", "lost_to_retention", "discarded_past_deadline", "superseded", "dead_lettered")
TIMES = ("unserved_from_min", "lost_from_min", "drain_min", "fresh_age_back_min", "healed_at_min", "step_begun_min")
LIMITS = st.one_of(st.none(), st.integers(5, 300).map(float))
RATES = st.integers(0, 600).map(lambda tenths: tenths / 10)


@st.composite
def loads(draw, outage, limits=LIMITS, rates=RATES):
    order = draw(st.sampled_from(["fifo", "lifo", "fresh_first"]))
    has_ramp = draw(st.booleans())
    day = draw(st.booleans())
    arrivals = RateProfile([0, 100, 300, 480], draw(st.lists(rates, min_size=3, max_size=3)), 480)
    return QueueLoad(
        arrivals=arrivals if day else RateProfile.constant(draw(rates)),
        service_rate_per_min=draw(rates),
        outage_min=outage,
        backlog_before=draw(st.sampled_from([0.0, 0.0, 300.0])),
        served_in_outage_per_min=draw(st.sampled_from([0.0, 3.0])),
        max_age_min=draw(limits),
        retention_min=draw(limits),
        deadline_min=draw(limits),
        superseded_share=draw(st.sampled_from([0.0, 0.0, 0.25, 1.0])),
        item_time_s=2.0 if has_ramp else None,
        ramp=Ramp(0, draw(st.sampled_from([0.5, 3.0])), 4.0) if has_ramp else None,
        order=order,
        sideline_after_min=draw(st.integers(0, 100).map(float)) if order == "fresh_first" else None,
    )


@st.composite
def systems(draw):
    outage = draw(st.sampled_from([0.0, 30.0, 61.3, 172.0]))
    queues = draw(st.integers(1, 3))
    dependency = st.builds(
        CoupledDependency,
        capacity_per_min=st.integers(10, 200).map(float),
        control_per_min=st.sampled_from([0.0, 2.0]),
        fresh_per_min=st.sampled_from([0.0, 10.0, 40.0]),
        attempts_failing=st.sampled_from([1.0, 1.5, 3.0]),
        goodput_share=st.sampled_from([0.0, 0.3, 0.9]),
        collapsed_at_restore=st.booleans(),
        retry_tokens=st.sampled_from([0.0, 500.0, 5000.0, np.inf]),
        sustained_attempts=st.sampled_from([1.0, 1.2]),
        refill_per_success=st.sampled_from([0.0, 0.1]),
        hit_at_rest=st.sampled_from([0.0, 0.8]),
        hit_at_restore=st.sampled_from([0.0, 0.3]),
        cache_fill_min=st.sampled_from([0.0, 20.0]),
    )
    fleet = st.builds(
        CoupledFleet,
        running=st.sampled_from([0.0, 40.0, 100.0]),
        needed=st.just(100.0),
        launch_burst=st.sampled_from([0.0, 10.0]),
        launch_per_min=st.sampled_from([0.0, 1.0, 30.0]),
        start_delay_min=st.sampled_from([0.0, 3.5]),
        launches_from_min=st.sampled_from([0.0, 45.0]),
        removal_per_min=st.sampled_from([0.0, 1.0]),
        automation_active=st.booleans(),
        removal_floor=st.sampled_from([0.0, 30.0]),
    )
    plan = st.builds(
        Admission,
        floor_share=st.sampled_from([0.0, 0.1]),
        drain_share=st.sampled_from([0.5, 0.8, 1.0]),
        replay_share=st.sampled_from([0.3, 1.0]),
        lifts=st.integers(1, 3),
        hold_min=st.sampled_from(
            [(5.0, 5.0, 5.0, 5.0, 5.0, 15.0, 5.0), (0.0,) * 7, (0.3, 7.7, 1.0, 2.5, 1.0, 4.0, 9.0)]
        ),
        objective_share=st.sampled_from([0.9, 1.0]),
        notice_min=st.sampled_from([0.0, 1.0, 2.3]),
    )
    dependencies = tuple(draw(st.lists(dependency, max_size=2)))
    fleets = tuple(draw(st.lists(fleet, max_size=1)))
    return CoupledSystem(
        outage,
        outage + draw(st.sampled_from([0.0, 20.5])),
        tuple(
            CoupledQueue(
                draw(loads(outage)),
                draw(st.sampled_from([None, *range(len(dependencies))])),
                draw(st.sampled_from([1.0, 2.0, 4.0])),
                draw(st.sampled_from([None, None, 4.0])),
                draw(st.sampled_from([None, *range(len(fleets))])),
            )
            for _ in range(queues)
        ),
        dependencies,
        fleets,
        draw(st.one_of(st.none(), plan)),
    )


@settings(QUICK, max_examples=250)
@given(systems(), st.sampled_from([1.0, 0.5]))
def test_work_is_conserved_at_the_end_and_at_every_point(system, step):
    course = trace(system, step_min=step, horizon_min=900)
    seen = course.result
    came = seen.initial + seen.arrived
    gone = sum(getattr(seen, name) for name in GONE) + seen.live_at_end + seen.sidelined_at_end
    np.testing.assert_allclose(gone, came, rtol=1e-9, atol=1e-6)
    gone = sum(getattr(course, name) for name in GONE) + course.live + course.sidelined
    after = course.times_min > -system.outage_min
    np.testing.assert_allclose(gone[after], (seen.initial + course.arrived)[after], rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(seen.direct, seen.direct_served + seen.failed_direct + seen.shed, rtol=1e-9, atol=1e-6)
    for name in (*GONE, "arrived"):
        assert (np.diff(getattr(course, name)[after], axis=0) >= -1e-6).all(), name
        np.testing.assert_allclose(getattr(course, name)[-1], getattr(seen, name)[0], rtol=1e-9, atol=1e-6)


@settings(QUICK, max_examples=400)
@given(systems(), st.sampled_from([1.0, 0.5]), st.sampled_from([900.0, 3_000.0]))
def test_steps_taken_as_one_give_what_they_give_one_by_one(system, step, horizon):
    """A course is simulated step by step; without one, steps in which nothing new happens are taken together."""
    whole = arrays(simulate(system, step_min=step, horizon_min=horizon))
    course = trace(system, step_min=step, horizon_min=horizon)
    single = arrays(course.result)
    for name, value in whole.items():
        np.testing.assert_allclose(value, single[name], rtol=1e-8, atol=1e-6, err_msg=name)
    times, waiting = backlogs(system, {}, horizon, step_min=step)
    rows = len(course.times_min) - 1
    assert times[:rows].tobytes() == course.times_min[:rows].tobytes()
    after = course.times_min[:rows] > -system.outage_min
    found = (course.live + course.sidelined)[:rows]
    np.testing.assert_allclose(waiting[0, :rows][after], found[after], rtol=1e-8, atol=1e-4)


@settings(QUICK, max_examples=250)
@given(systems())
def test_no_value_is_negative_and_nan_only_stands_for_what_was_not_reached(system):
    course = trace(system, horizon_min=900)
    seen = course.result
    for part in (seen, course):
        for entry in fields(part):
            value = getattr(part, entry.name)
            if entry.name in ("result", "step_min", "never", "times_min"):
                continue
            value = np.where(np.isnan(value), 0.0, value) if entry.name in TIMES else value
            if entry.name == "margin_share":
                continue
            assert np.isfinite(value).all(), entry.name
            assert (value >= 0.0).all(), entry.name
    assert (np.nan_to_num(seen.drain_min) <= seen.end_min[:, None] + 1e-9).all()
    fresh, drain = seen.fresh_age_back_min, seen.drain_min
    assert (np.isnan(drain) | (fresh <= drain + 1e-9)).all()
    assert (seen.time_collapsed_min <= seen.end_min[:, None] + 1e-6).all()
    begun = seen.step_begun_min[0, 1:]
    reached = begun[~np.isnan(begun)]
    assert (np.diff(reached) >= 0.0).all()


def drain_of(load):
    seen = simulate(CoupledSystem(load.outage_min, load.outage_min, (CoupledQueue(load),)))
    # Not reached within 14 days is longer than all that was.
    return np.nan_to_num(seen.drain_min[0, 0], nan=np.inf), seen


@settings(QUICK)
@given(loads(172.0), st.sampled_from([1.01, 1.5, 4.0]))
def test_more_capacity_never_drains_later_for_a_queue_alone(load, factor):
    more = replace(load, service_rate_per_min=load.service_rate_per_min * factor)
    assert drain_of(more)[0] <= drain_of(load)[0] + 1e-6


@settings(QUICK)
@given(loads(172.0, limits=st.none()), st.integers(5, 300), st.sampled_from([0.3, 0.7, 0.95]))
def test_a_shorter_age_limit_never_leaves_more_and_never_drains_later(load, limit, factor):
    long, short = replace(load, max_age_min=limit), replace(load, max_age_min=limit * factor)
    (late, more), (soon, less) = drain_of(long), drain_of(short)
    # A limit between two points of the grid acts at the end of its step.
    assert soon <= late + 1.0
    assert less.backlog_at_restore[0, 0] <= more.backlog_at_restore[0, 0] + 1e-6
    # A peak is looked for where a step ends or is cut.
    assert less.peak_backlog[0, 0] <= more.peak_backlog[0, 0] + max(load.arrivals.rates_per_min)


def test_consumers_without_a_cap_collapse_their_dependency_and_drain_later():
    """Coupled, more capacity can be worse: this is what a drain cap is for."""
    item = CoupledDependency(2_000, attempts_failing=3)
    load = QueueLoad(RateProfile.constant(600), 2_400, 172)

    def drain(cap, quota=np.inf):
        capped = load if cap is None else replace(load, item_time_s=60, cap_concurrency=cap)
        queue = CoupledQueue(capped, dependency=0, attempts_failing=3)
        return simulate(CoupledSystem(172, 172, (queue,), (replace(item, retry_tokens=quota),)))

    capped, free = drain(1_900), drain(None)
    assert capped.drain_min[0, 0] == pytest.approx(600 * 172 / 1_300)
    assert capped.time_collapsed_min[0, 0] == 0
    assert np.isnan(free.drain_min[0, 0])
    assert free.never[0]
    partly = simulate(CoupledSystem(172, 172, (CoupledQueue(load, 0, 3),), (replace(item, goodput_share=0.5),)))
    # Half of the capacity still works: it drains, but 103,200 / (1,000 - 600) takes three times as long.
    assert partly.drain_min[0, 0] == pytest.approx(258)


def coupled_example():
    item = CoupledDependency(2_000, fresh_per_min=300, attempts_failing=3, goodput_share=0.2, retry_tokens=90_000)
    queues = tuple(
        CoupledQueue(QueueLoad(RateProfile.constant(rate), 3 * rate, 172, max_age_min=age), 0, 3)
        for rate, age in ((300, None), (200, 60.0), (100, 172.0))
    )
    return CoupledSystem(172, 180, queues, (item,), (), Admission())


def spread_inputs(count, seed=7):
    generator = np.random.default_rng(seed)
    return {
        Input("queue", 0, "service_rate_per_min"): generator.uniform(300, 2_000, count),
        Input("queue", 1, "max_age_min"): generator.uniform(10, 200, count),
        Input("queue", 2, "arrivals"): generator.uniform(0.5, 2.0, count),
        Input("dependency", 0, "capacity_per_min"): generator.uniform(900, 3_000, count),
        Input("outage", 0, "outage_min"): generator.uniform(100, 180, count),
    }


def arrays(result):
    return {entry.name: getattr(result, entry.name) for entry in fields(result) if entry.name != "step_min"}


def test_a_batch_is_its_single_runs():
    inputs = spread_inputs(20)
    batch = arrays(simulate(coupled_example(), inputs))
    for place in range(20):
        single = arrays(simulate(coupled_example(), {key: value[place : place + 1] for key, value in inputs.items()}))
        for name, value in batch.items():
            assert value[place].tobytes() == single[name][0].tobytes(), name


def test_the_order_of_draws_does_not_matter_and_a_batch_on_threads_is_one_on_a_single_thread():
    inputs = spread_inputs(700)
    order = np.random.default_rng(1).permutation(700)
    plain = arrays(simulate(coupled_example(), inputs))
    mixed = arrays(simulate(coupled_example(), {key: value[order] for key, value in inputs.items()}))
    again = arrays(simulate(coupled_example(), inputs))
    for name, value in plain.items():
        assert value[order].tobytes() == mixed[name].tobytes(), name
        assert value.tobytes() == again[name].tobytes(), name


def test_a_varied_input_gives_what_the_changed_system_gives():
    system = coupled_example()
    inputs = {Input("queue", 0, "service_rate_per_min"): [900.0, 1_234.0]}
    load = replace(system.queues[0].load, service_rate_per_min=1_234.0)
    changed = replace(system, queues=(replace(system.queues[0], load=load), *system.queues[1:]))
    assert simulate(system, inputs).drain_min[1].tobytes() == simulate(changed).drain_min[0].tobytes()


def test_whole_numbers_are_not_compiled_once_more():
    from afterload.model import coupled_kernel as kernel

    simulate(coupled_example())
    load = QueueLoad(RateProfile.constant(1), 2, 3)
    fleet = CoupledFleet(1, 2)
    plan = Admission(hold_min=(1,) * 7, lifts=2)
    whole = CoupledSystem(3, 4, (CoupledQueue(load, 0, 2, 3, 0),), (CoupledDependency(9),), (fleet,), plan)
    simulate(whole, {Input("queue", 0, "max_age_min"): [1, 2]}, step_min=1, horizon_min=60)
    trace(whole, step_min=1, horizon_min=60)
    assert len(kernel.simulate.signatures) == 1


def scaled(system, factor):
    queues = tuple(
        replace(
            queue,
            load=replace(
                queue.load,
                arrivals=queue.load.arrivals.scaled(factor),
                service_rate_per_min=queue.load.service_rate_per_min * factor,
                backlog_before=queue.load.backlog_before * factor,
                served_in_outage_per_min=queue.load.served_in_outage_per_min * factor,
                item_time_s=None if queue.load.item_time_s is None else queue.load.item_time_s / factor,
            ),
        )
        for queue in system.queues
    )
    dependencies = tuple(
        replace(
            item,
            capacity_per_min=item.capacity_per_min * factor,
            control_per_min=item.control_per_min * factor,
            fresh_per_min=item.fresh_per_min * factor,
            retry_tokens=item.retry_tokens * factor,
        )
        for item in system.dependencies
    )
    return replace(system, queues=queues, dependencies=dependencies)


# Powers of two scale without rounding, so that a system on the border of two classes stays there.
@settings(QUICK)
@given(systems(), st.sampled_from([2.0**-6, 2.0**10, 2.0**20]))
def test_the_answer_does_not_depend_on_the_scale_of_the_rates(system, factor):
    one, other = simulate(system, horizon_min=900), simulate(scaled(system, factor), horizon_min=900)
    for name in ("drain_min", "fresh_age_back_min", "time_collapsed_min", "healed_at_min", "end_min"):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-6, atol=1e-6, err_msg=name)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({Input("queue", 9, "max_age_min"): [1.0]}, "not an input"),
        ({Input("queue", 0, "colour"): [1.0]}, "not an input"),
        ({Input("queue", 0, "max_age_min"): [1.0, np.nan]}, "negative or not numbers"),
        ({Input("queue", 0, "max_age_min"): [-1.0]}, "negative or not numbers"),
        ({Input("queue", 0, "max_age_min"): []}, "negative or not numbers"),
        ({Input("queue", 0, "max_age_min"): [[1.0]]}, "one dimension"),
        ({Input("queue", 0, "max_age_min"): [1.0], Input("queue", 1, "max_age_min"): [1.0, 2.0]}, "as many draws"),
        ({Input("dependency", 0, "capacity_per_min"): [0.0]}, "capacity_per_min"),
        ({Input("queue", 0, "superseded_share"): [1.5]}, "superseded_share"),
        ({Input("dependency", 0, "attempts_failing"): [0.5]}, "attempts_failing"),
        ({Input("queue", 0, "service_rate_per_min"): [np.inf]}, "service_rate_per_min"),
    ],
)
def test_inputs_that_make_no_sense_are_explained(inputs, words):
    with pytest.raises(ModelError, match=words):
        simulate(coupled_example(), inputs)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Admission(hold_min=(1.0,) * 6), "seven"),
        (lambda: Admission(lifts=1.5), "whole"),
        (lambda: CoupledDependency(0), "capacity_per_min"),
        (lambda: CoupledDependency(1, hit_at_rest=1.0), "hit_at_rest"),
        (lambda: CoupledDependency(1, retry_tokens=np.nan), "retry_tokens"),
        (lambda: CoupledQueue(coupled_example().queues[0].load, attempts_failing=0.5), "attempts_failing"),
        (lambda: replace(coupled_example(), lead_min=100), "shorter than the outage"),
        (lambda: replace(coupled_example(), outage_min=100), "outage of 172"),
        (lambda: replace(coupled_example(), dependencies=()), "names dependency 0"),
        (lambda: simulate(coupled_example(), step_min=0), "step_min"),
        (lambda: simulate(coupled_example(), horizon_min=-1), "horizon_min"),
        (lambda: trace(coupled_example(), horizon_min=0), "horizon_min"),
    ],
)
def test_systems_that_make_no_sense_are_explained(build, words):
    with pytest.raises(ModelError, match=words):
        build()


def test_what_still_works_goes_to_control_traffic_then_direct_then_all_queues_alike():
    load = QueueLoad(RateProfile.constant(100), 500, 172, order="fresh_first", sideline_after_min=10)
    queues = (CoupledQueue(load, 0, 3), CoupledQueue(load, 0, 3))

    def served(goodput):
        item = CoupledDependency(2_000, 300, 600, 3, goodput, collapsed_at_restore=True)
        seen = simulate(CoupledSystem(172, 172, queues, (item,)), horizon_min=1)
        assert seen.time_collapsed_min[0, 0] == 1
        return [float(value) for value in (seen.direct_served[0, 0], *seen.served[0])]

    np.testing.assert_allclose(served(0.1), [0, 0, 0])
    np.testing.assert_allclose(served(0.25), [200, 0, 0])
    np.testing.assert_allclose(served(0.5), [600, 50, 50])
    np.testing.assert_allclose(served(0.75), [600, 300, 300])


def test_failing_deliveries_end_in_the_dead_letter_queue():
    load = QueueLoad(RateProfile.constant(100), 500, 172)
    item = CoupledDependency(1_000, attempts_failing=3, collapsed_at_restore=True)
    seen = simulate(CoupledSystem(172, 172, (CoupledQueue(load, 0, 3, max_receives=5),), (item,)), horizon_min=100)
    # 500 deliveries a minute fail, and each item is given up at its fifth.
    assert seen.dead_lettered[0, 0] == pytest.approx(100 * 500 / 5)


@settings(QUICK, max_examples=150)
@given(systems(), st.sampled_from([0.5, 0.9, 1.3]), st.sampled_from([0.4, 1.0, 2.0]))
def test_a_draw_knows_nothing_of_the_draws_before_it(system, service, arrivals):
    first = system.queues[0].load.service_rate_per_min
    inputs = {
        Input("queue", 0, "service_rate_per_min"): [first, first * service, first],
        Input("queue", 0, "arrivals"): [1.0, arrivals, 1.0],
    }
    for name, value in arrays(simulate(system, inputs, horizon_min=900)).items():
        assert value[0].tobytes() == value[2].tobytes(), name
    _, waiting = backlogs(system, inputs, 900)
    assert waiting[0].tobytes() == waiting[2].tobytes()


def test_work_set_aside_later_than_its_deadline_is_discarded_when_its_turn_comes():
    """Step 5 begins 20 min after the restore at the soonest: all 206,400 items that waited then are older than 15 min."""
    load = QueueLoad(
        RateProfile.constant(1_200), 1_800, 172, deadline_min=15, order="fresh_first", sideline_after_min=30
    )
    dependency = CoupledDependency(3_000, fresh_per_min=600, attempts_failing=3)
    system = CoupledSystem(172, 172, (CoupledQueue(load, 0, 3),), (dependency,), (), Admission())
    seen = simulate(system)
    assert seen.step_begun_min[0, 5] >= 20
    assert seen.discarded_past_deadline[0, 0] >= 206_400 - 1e-6
    assert seen.served[0, 0] + seen.discarded_past_deadline[0, 0] == pytest.approx(seen.arrived[0, 0])
    # Neither is what a draw before it has set aside.
    inputs = {
        Input("queue", 0, "service_rate_per_min"): [1_800, 2_100, 1_800],
        Input("queue", 0, "arrivals"): [1.0, 0.6, 1.0],
    }
    found = simulate(system, inputs)
    for place in (0, 2):
        assert found.drain_min[place].tobytes() == seen.drain_min[0].tobytes()
        assert found.discarded_past_deadline[place].tobytes() == seen.discarded_past_deadline[0].tobytes()
