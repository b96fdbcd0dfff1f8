"""What must hold for every queue, drawn at random."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.oracles.backlog import recover

from afterload.model.curves import RateProfile
from afterload.model.queues import QueueLoad, Ramp
from afterload.recovery.catch_up import catch_up_rate_per_min

RATES = st.one_of(st.integers(0, 60).map(float), st.floats(0.001, 60.0))
MINUTES = st.one_of(st.integers(1, 300).map(float), st.floats(0.5, 300.0))
settings.register_profile("model", deadline=None, suppress_health_check=[HealthCheck.too_slow])
QUICK = settings(settings.get_profile("model"), max_examples=40)


@st.composite
def profiles(draw):
    widths = draw(st.lists(st.one_of(st.integers(5, 120).map(float), st.floats(5.0, 120.0)), min_size=1, max_size=5))
    edges = [0.0, *np.cumsum(widths).tolist()]
    rates = draw(st.lists(RATES, min_size=len(widths), max_size=len(widths)))
    cycle = draw(st.sampled_from([None, edges[-1], edges[-1] - edges[-2], 0.7 * edges[-1]]))
    return RateProfile(edges, rates, cycle)


@st.composite
def loads(draw, limits=True):
    order = draw(st.sampled_from(["fifo", "lifo", "fresh_first"]))
    cap = draw(st.one_of(st.none(), st.integers(1, 100)))
    ramp = draw(
        st.one_of(
            st.none(),
            st.builds(
                Ramp,
                start=st.integers(0, 5),
                per_min=st.one_of(st.just(0.0), st.floats(0.01, 5.0)),
                ceiling=st.integers(5, 60).map(float),
            ),
        )
    )
    limit = st.one_of(st.none(), MINUTES) if limits else st.none()
    return QueueLoad(
        arrivals=draw(profiles()),
        service_rate_per_min=draw(RATES),
        outage_min=draw(st.one_of(st.just(0.0), MINUTES)),
        backlog_before=draw(st.sampled_from([0.0, 0.0, 7.0, 500.0])),
        served_in_outage_per_min=draw(st.one_of(st.just(0.0), RATES)),
        max_age_min=draw(limit),
        retention_min=draw(limit),
        deadline_min=draw(limit),
        superseded_share=draw(st.sampled_from([0.0, 0.0, 0.25, 1.0])) if limits else 0.0,
        item_time_s=draw(st.sampled_from([1.0, 2.0, 60.0])) if cap or ramp else None,
        cap_concurrency=cap,
        ramp=ramp,
        order=order,
        sideline_after_min=draw(st.one_of(st.just(0.0), MINUTES)) if order == "fresh_first" else None,
    )


def gone(seen):
    return seen.served + seen.expired + seen.lost_to_retention + seen.discarded_past_deadline + seen.superseded


@QUICK
@given(loads())
def test_work_is_conserved_and_no_value_is_negative_or_not_finite(load):
    seen = recover(load)
    came = seen.initial + seen.arrived
    assert gone(seen) + seen.waiting_at_end == pytest.approx(came, rel=1e-9, abs=1e-6)
    for field in fields(seen):
        value = getattr(seen, field.name)
        if value is not None:
            assert np.all(np.isfinite(value)), field.name
            assert np.all(np.asarray(value) >= 0.0), field.name
    count = len(seen.times_min)
    assert all(len(curve) == count for curve in (seen.backlog, seen.sidelined, seen.first_attempt_age_min))
    assert np.all(np.diff(seen.times_min) >= 0.0)
    assert np.all(seen.sidelined <= seen.backlog + 1e-9)
    assert seen.times_min[-1] == seen.end_min
    assert seen.backlog[-1] == pytest.approx(seen.waiting_at_end, rel=1e-9, abs=1e-6)


@QUICK
@given(loads())
def test_the_parts_of_a_result_agree(load):
    seen = recover(load)
    assert (seen.drain_min is None) == (seen.empty_at_min is None)
    if seen.drain_min is not None:
        assert seen.waiting_at_end == 0.0
        assert seen.fresh_age_back_min is not None
        assert seen.fresh_age_back_min <= seen.drain_min + 1e-9
        if load.order == "fifo":
            assert seen.fresh_age_back_min == seen.drain_min
    if load.order == "fifo":
        assert seen.sidelined_peak == 0.0
    limits = [limit for limit in (load.max_age_min, load.retention_min) if limit is not None]
    if limits:
        assert seen.max_age_min <= min(limits) + 1e-9
    if seen.peak_backlog is not None:
        assert seen.peak_backlog >= seen.backlog_at_restore - 1e-6


@QUICK
@given(loads(limits=False), st.floats(0.01, 30.0))
def test_more_capacity_never_drains_later_without_limits(load, more):
    # docs/model.md section 5: for a queue alone.
    slow = recover(load)
    fast = recover(replace(load, service_rate_per_min=load.service_rate_per_min + more))
    if slow.drain_min is not None:
        assert fast.drain_min is not None
        assert fast.drain_min <= slow.drain_min * (1 + 1e-9) + 1e-6


@QUICK
@given(loads(), st.floats(0.01, 30.0))
def test_more_capacity_never_drains_a_first_in_first_out_queue_later(load, more):
    load = replace(load, order="fifo", sideline_after_min=None)
    slow = recover(load)
    fast = recover(replace(load, service_rate_per_min=load.service_rate_per_min + more))
    if slow.drain_min is not None:
        assert fast.drain_min is not None
        assert fast.drain_min <= slow.drain_min * (1 + 1e-9) + 1e-6


@QUICK
@given(loads(limits=False))
def test_order_does_not_change_the_drain_without_limits(load):
    plain = recover(replace(load, order="fifo", sideline_after_min=None))
    fresh = recover(load)
    assert (plain.drain_min is None) == (fresh.drain_min is None)
    if plain.drain_min is not None:
        assert fresh.drain_min == pytest.approx(plain.drain_min, rel=1e-7, abs=1e-6)


@QUICK
@given(loads(limits=False))
def test_the_drain_is_the_first_time_that_service_meets_work(load):
    # Cumulative service >= backlog + cumulative arrivals, on a fine grid and without cap or ramp.
    load = replace(load, order="fifo", sideline_after_min=None, ramp=None, cap_concurrency=None)
    seen = recover(load)
    assume(seen.backlog_at_restore > 1e-6)
    length = 3000.0 if seen.drain_min is None else seen.drain_min
    t = np.linspace(0.0, length, 4001)
    work = seen.backlog_at_restore + load.arrivals.cumulative(load.outage_min + t)
    work = work - float(load.arrivals.cumulative(load.outage_min)) - load.service_rate_per_min * t
    assert np.all(work[:-1] > -1e-6)
    if seen.drain_min is not None:
        assert work[-1] == pytest.approx(0.0, abs=1e-6 * (1.0 + load.service_rate_per_min * length))


@QUICK
@given(
    st.floats(0.1, 5000.0), st.floats(1.0001, 50.0), st.floats(0.1, 2000.0), st.floats(0.0, 1.0), st.floats(0.0, 1e5)
)
def test_closed_form_of_constants(rate, ratio, outage, part, before):
    # B = B0 + (lambda - served) T; drain = B / (mu - lambda).
    load = QueueLoad(
        RateProfile.constant(rate), rate * ratio, outage, backlog_before=before, served_in_outage_per_min=rate * part
    )
    backlog = before + (rate - rate * part) * outage
    seen = recover(load)
    assert seen.backlog_at_restore == pytest.approx(backlog, rel=1e-9, abs=1e-6)
    assert seen.drain_min == pytest.approx(backlog / (rate * ratio - rate), rel=1e-6, abs=1e-6)


@QUICK
@given(loads(limits=False), st.floats(1.0, 600.0))
def test_catch_up_rate_is_just_enough(load, within):
    # What waits at the restore comes from a model in steps of a minute, which is exact where rates change at whole minutes.
    profile = load.arrivals
    cycle = None if profile.cycle_min is None else max(1.0, round(profile.cycle_min))
    load = replace(
        load, ramp=None, cap_concurrency=None, outage_min=float(round(load.outage_min)),
        arrivals=RateProfile([float(round(edge)) for edge in profile.edges_min], profile.rates_per_min, cycle),
    )  # fmt: skip
    rate = catch_up_rate_per_min(load, within)
    assert rate >= 0.0
    enough = recover(replace(load, service_rate_per_min=rate * (1 + 1e-7) + 1e-7))
    assert enough.drain_min is not None
    assert enough.drain_min <= within * (1 + 1e-6)
    if rate > 1e-3 and load.order == "fifo":
        less = recover(replace(load, service_rate_per_min=rate * (1 - 1e-5)))
        assert less.drain_min is None or less.drain_min > within * (1 - 1e-6)


@QUICK
@given(
    st.floats(1.0, 60.0), st.floats(20.0, 300.0), st.floats(1.0, 600.0), st.floats(0.1, 2.0),
    st.sampled_from(["max_age_min", "retention_min", "deadline_min"]),
)  # fmt: skip
def test_catch_up_rate_is_just_enough_where_a_limit_takes_work(rate, outage, within, share, limit):
    load = QueueLoad(RateProfile.constant(rate), 0.0, outage, **{limit: share * (outage + within)})
    found = catch_up_rate_per_min(load, within)
    assert found <= rate + rate * outage / within * (1 + 1e-9)
    enough = recover(replace(load, service_rate_per_min=found * (1 + 1e-6)))
    assert enough.drain_min is not None
    assert enough.drain_min <= within * (1 + 1e-4)
    less = recover(replace(load, service_rate_per_min=found * (1 - 1e-4)))
    assert less.drain_min is None or less.drain_min > within * (1 - 1e-3)


@QUICK
@given(loads())
def test_units_of_work_do_not_matter(load):
    # Ten times everything that counts items changes no time.
    arrivals = load.arrivals.scaled(10)
    ten = replace(
        load,
        arrivals=arrivals,
        service_rate_per_min=10 * load.service_rate_per_min,
        backlog_before=10 * load.backlog_before,
        served_in_outage_per_min=10 * load.served_in_outage_per_min,
        item_time_s=None if load.item_time_s is None else load.item_time_s / 10,
    )
    one, many = recover(load), recover(ten)
    mean, service = load.arrivals.mean_tail_per_min, one.service_rate_per_min
    assume(abs(mean - service) > 1e-6 * (mean + service))
    assert (one.drain_min is None) == (many.drain_min is None)
    if one.drain_min is not None:
        assert many.drain_min == pytest.approx(one.drain_min, rel=1e-6, abs=1e-6)
    assert many.expired == pytest.approx(10 * one.expired, rel=1e-6, abs=1e-4)
