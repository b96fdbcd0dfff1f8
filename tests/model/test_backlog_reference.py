"""Rows of the tables of docs/model.md section 1 and worked cases with a closed form."""

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.oracles.backlog import recover
from tests.oracles.random_drain import random_drains_min

from afterload.errors import ModelError
from afterload.model.caps import cap_rate_per_min, highest_safe_cap, implied_headroom, ramp_passes_after_s
from afterload.model.curves import RateProfile
from afterload.model.queues import QueueLoad, Ramp
from afterload.recovery.catch_up import catch_up_rate_per_min

FIRST = QueueLoad(RateProfile.constant(1200), service_rate_per_min=1800, outage_min=172)
HOURS = [60.0 * hour for hour in range(25)]


def day(low, high, first_hour, last_hour):
    """A day from the trigger on, high in some hours."""
    return RateProfile(HOURS, [high if first_hour <= h < last_hour else low for h in range(24)], cycle_min=1440)


def test_first_case_model_md_section_1():
    seen = recover(FIRST)
    assert seen.backlog_at_restore == 206_400
    assert seen.drain_min == 344
    assert seen.stale_min == 516
    assert seen.fresh_age_back_min == 344
    assert seen.empty_at_min == 516
    assert (seen.peak_backlog, seen.peak_at_min) == (206_400, 172)
    assert seen.max_age_min == 172
    assert seen.spare_capacity_per_min == 600


# Queueing theory, M/M/1, of the same rates: the fluid lies within the spread of random drains.
def test_first_case_against_random_drains():
    drains = random_drains_min(20, 30, 172, 2000, np.random.default_rng(1))
    assert recover(FIRST).drain_min == pytest.approx(float(np.mean(drains)), abs=0.2)
    # The variance of the busy period: backlog / spare^2 + backlog x (arrivals + service) / spare^3.
    assert float(np.std(drains)) == pytest.approx(1.86, abs=0.1)


@pytest.mark.parametrize("rate", [0.01, 1, 1200, 1e7])
def test_an_hour_with_twice_the_capacity_takes_an_hour_model_md_section_1(rate):
    assert recover(QueueLoad(RateProfile.constant(rate), 2 * rate, 60)).drain_min == pytest.approx(60, rel=1e-12)


def test_burst_of_ten_times_capacity_model_md_section_1():
    burst = RateProfile([0, 30, 31], [1000, 0])
    seen = recover(QueueLoad(burst, 100, outage_min=30, served_in_outage_per_min=100))
    assert seen.drain_min == 270
    assert seen.empty_at_min == 300
    assert seen.stale_min == 300


def test_age_limit_of_a_quarter_hour_model_md_section_1():
    seen = recover(replace(FIRST, max_age_min=15))
    assert seen.backlog_at_restore == 18_000
    assert seen.expired == 188_400
    assert seen.expired_in_drain == 0
    assert seen.drain_min == 30
    assert seen.max_age_min == 15
    assert seen.peak_backlog == 18_000


@pytest.mark.parametrize("service", [0, 600, 1199.999, 1200])
def test_no_spare_capacity_is_never_model_md_section_1(service):
    load = replace(FIRST, service_rate_per_min=service)
    seen = recover(load)
    assert seen.never
    assert (seen.drain_min, seen.empty_at_min, seen.fresh_age_back_min, seen.stale_min) == (None,) * 4
    assert seen.spare_capacity_per_min == 0
    assert (seen.peak_backlog is None) == (service < 1200)
    for within in (60, 344, 1440):
        assert catch_up_rate_per_min(load, within) == pytest.approx(1200 + 206_400 / within, rel=1e-12)


def test_drain_cap_beside_direct_traffic_model_md_section_1():
    cap = highest_safe_cap(3000, 600, 2)
    assert cap == 80
    assert cap_rate_per_min(cap, 2) == 2400
    assert ramp_passes_after_s(Ramp(5, 300, 1250), 2, 2400) == 15
    able = replace(FIRST, service_rate_per_min=9000, cap_concurrency=cap, item_time_s=2)
    assert recover(able).drain_min == 172
    slower = replace(able, service_rate_per_min=1800)
    assert recover(slower).drain_min == 344


def test_implied_headroom_model_md_section_1():
    assert implied_headroom(289, 80) == 4.6125


def test_ages_that_last_in_first_out_and_fresh_first_give_model_md_section_1():
    lifo = recover(replace(FIRST, order="lifo"))
    assert lifo.fresh_age_back_min == 0
    assert lifo.stale_min == 172
    assert lifo.drain_min == 344
    assert lifo.sidelined_peak == 206_400
    fresh = recover(replace(FIRST, order="fresh_first", sideline_after_min=20))
    assert fresh.fresh_age_back_min == pytest.approx(1200 * 20 / 600)
    assert fresh.drain_min == pytest.approx(344)
    assert fresh.sidelined_peak == 206_400 - 20 * 1200
    assert fresh.max_age_min == pytest.approx(172 + 40 + 152)


def test_outage_before_the_daily_peak_drains_through_it_model_md_section_1():
    # 1,000/min, 1,700/min from 4 h to 10 h after the trigger, 1,400/min of service; outage of 3 h.
    seen = recover(QueueLoad(day(1000, 1700, 4, 10), 1400, outage_min=180))
    # 180,000 - 60 x 400 = 156,000 at 4 h, + 360 x 300 = 264,000 at 10 h, then 400/min: 660 min more.
    assert seen.backlog_at_restore == 180_000
    assert (seen.peak_backlog, seen.peak_at_min) == (264_000, 600)
    assert seen.empty_at_min == pytest.approx(600 + 660)
    assert seen.drain_min == pytest.approx(1080)


def test_a_backlog_may_empty_before_a_tail_that_would_never_let_it():
    seen = recover(QueueLoad(RateProfile([0, 200, 260], [100, 5000]), 1000, outage_min=60))
    assert seen.drain_min == pytest.approx(6000 / 900)


def test_never_needs_the_mean_of_the_cycle_not_its_peak():
    profile = day(1000, 2000, 0, 12)
    assert recover(QueueLoad(profile, 1501, outage_min=60)).drain_min is not None
    assert recover(QueueLoad(profile, 1500, outage_min=60)).never
    assert recover(QueueLoad(profile, 1499, outage_min=60)).never


@pytest.mark.parametrize("spare", [1, 0.1, 1e-3, 1e-6])
@pytest.mark.parametrize("order", [{}, {"order": "fresh_first", "sideline_after_min": 30.0}, {"order": "lifo"}])
def test_a_drain_of_very_many_days_is_found_whatever_its_length(spare, order):
    profile = day(1000, 1300, 9, 24)
    service = profile.mean_tail_per_min + spare
    seen = recover(QueueLoad(profile, service, outage_min=172, **order))
    assert seen.drain_min > 90_000 / spare
    # Empty where cumulative service meets backlog and cumulative arrivals.
    served = service * seen.drain_min
    assert served == pytest.approx(float(profile.cumulative(seen.empty_at_min)), rel=1e-9)
    assert seen.served == pytest.approx(seen.arrived, rel=1e-9)
    # The last day before it is short: the fall of one day is all that a day takes.
    waiting = 172_000 + profile.cumulative(172 + np.arange(0.0, 1440.0)) - profile.cumulative(172.0)
    spare = service - profile.mean_tail_per_min
    lowest = float(np.min(waiting - service * np.arange(0.0, 1440.0)))
    assert seen.drain_min / 1440 == pytest.approx(lowest / (spare * 1440), abs=2)


def test_partial_service_is_kept_model_md_section_1():
    seen = recover(replace(FIRST, served_in_outage_per_min=200, backlog_before=5000))
    assert seen.backlog_at_restore == pytest.approx(5000 + 172 * 1000)
    assert seen.drain_min == pytest.approx((5000 + 172_000) / 600)


def test_backlog_of_before_has_the_age_of_its_arrivals():
    seen = recover(replace(FIRST, backlog_before=12_000))
    assert seen.max_age_min == pytest.approx(172 + 10)
    assert seen.first_attempt_age_min[0] == pytest.approx(10)
    quiet = recover(QueueLoad(RateProfile.constant(0), 100, outage_min=10, backlog_before=500))
    assert quiet.max_age_min == pytest.approx(15)
    assert quiet.drain_min == pytest.approx(5)
    expired = recover(QueueLoad(RateProfile.constant(0), 100, outage_min=10, backlog_before=500, max_age_min=4))
    assert (expired.expired_in_outage, expired.drain_min, expired.stale_min) == (500, 0, 4)


def test_retention_counts_apart_and_the_smaller_limit_acts_model_md_section_1():
    kept = recover(replace(FIRST, retention_min=15))
    assert (kept.lost_to_retention, kept.expired, kept.drain_min) == (188_400, 0, 30)
    both = recover(replace(FIRST, retention_min=60, max_age_min=15))
    assert (both.lost_to_retention, both.expired) == (0, 188_400)
    lower = recover(replace(FIRST, retention_min=15, max_age_min=60))
    assert (lower.lost_to_retention, lower.expired) == (188_400, 0)


def test_expiry_in_the_drain_when_arrivals_were_higher_before():
    # 600/min for 60 min, then 10/min; 20/min of service; limit 70 min: at t the barrier is 600 (t - 70) from 70 on.
    seen = recover(QueueLoad(RateProfile([0, 60, 61], [600, 10]), 20, outage_min=60, max_age_min=70))
    # Up to the meeting 600 (t - 70) = 20 (t - 60) nothing expires, from there all of the hour but what is served.
    meets = (600 * 70 - 20 * 60) / 580
    served = 20 * (130 - 60)
    assert seen.expired_in_outage == 0
    assert seen.expired_in_drain == pytest.approx(36_000 - served)
    assert meets < 130
    # At 130 the backlog holds what came after the hour: 10 x 70, and falls by 10 a minute.
    assert seen.empty_at_min == pytest.approx(130 + 70)
    assert seen.max_age_min == 70


def test_deadline_discards_at_the_restore_and_takes_no_time_model_md_section_1():
    seen = recover(replace(FIRST, deadline_min=15))
    assert seen.backlog_at_restore == 206_400
    assert seen.discarded_past_deadline == 188_400
    assert seen.drain_min == 30
    assert seen.expired == 0
    assert seen.max_age_min == 172


def test_deadline_waits_for_a_consumer():
    ramp = Ramp(start=0, per_min=0, ceiling=0)
    seen = recover(replace(FIRST, deadline_min=15, ramp=ramp, item_time_s=2))
    assert seen.never
    assert seen.discarded_past_deadline == 0


def test_superseded_share_is_dropped_evenly_over_ages_model_md_section_1():
    seen = recover(replace(FIRST, superseded_share=0.5))
    assert seen.superseded == 103_200
    assert seen.backlog_at_restore == 206_400
    assert seen.drain_min == 172
    after = seen.times_min >= 172
    assert seen.backlog[after][1] == 103_200
    assert seen.first_attempt_age_min[after][0] == 172
    # 1,800/min against 600/min of what is left: after 57.33 min the outage's work is done, the head came at 172.
    at = np.searchsorted(seen.times_min, 172 + 103_200 / 1800 - 1e-6)
    assert seen.first_attempt_age_min[at] == pytest.approx(103_200 / 1800)
    assert recover(replace(FIRST, superseded_share=1)).drain_min == 0


def test_ramp_costs_the_area_that_it_misses_model_md_section_1():
    seen = recover(replace(FIRST, ramp=Ramp(5, 300, 1250), item_time_s=2))
    # From 150/min to 1,800/min in 11 s at 9,000/min a minute: half of 1,650 x 0.18333 items are missed.
    missed = (1650 / 9000) * 1650 / 2
    assert seen.drain_min == pytest.approx(344 + missed / 600, rel=1e-12)
    slow = recover(replace(FIRST, ramp=Ramp(5, 0.5, 1250), item_time_s=2))
    takes = (1800 - 150) / 15
    assert slow.drain_min == pytest.approx(344 + takes * 1650 / 2 / 600, rel=1e-6)


def test_ramp_that_ends_below_arrivals_is_never():
    assert recover(replace(FIRST, ramp=Ramp(5, 300, 39), item_time_s=2)).never


def test_without_outage_or_backlog_nothing_is_stale():
    seen = recover(replace(FIRST, outage_min=0))
    assert (seen.drain_min, seen.stale_min, seen.peak_backlog, seen.max_age_min) == (0, 0, 0, 0)
    served = recover(replace(FIRST, served_in_outage_per_min=1200))
    assert (served.drain_min, served.stale_min) == (0, 0)
    none = recover(QueueLoad(RateProfile.constant(0), 0, outage_min=30))
    assert (none.drain_min, none.stale_min) == (0, 0)


def test_stale_from_the_first_moment_that_work_waits():
    profile = RateProfile([0, 60, 120], [100, 300])
    seen = recover(QueueLoad(profile, 600, outage_min=120, served_in_outage_per_min=200))
    assert seen.backlog_at_restore == 6000
    assert seen.stale_min == pytest.approx(60 + 6000 / 300)


def test_a_queue_that_grows_again_behind_a_slow_ramp_is_not_back():
    load = QueueLoad(
        RateProfile.constant(100), 200, 10, served_in_outage_per_min=100, ramp=Ramp(1, 1, 10), item_time_s=6
    )  # fmt: skip
    seen = recover(load)
    # 10/min a unit: 10/min at the restore, 100/min after 9 min at the ceiling, so the backlog stays.
    assert seen.never
    assert seen.waiting_at_end == pytest.approx(9 * 90 / 2, rel=1e-6)


def test_curves_of_the_first_case():
    seen = recover(FIRST)
    assert np.interp([86, 172, 344], seen.times_min, seen.backlog).tolist() == pytest.approx(
        [103_200, 206_400, 103_200]
    )
    # FIFO: at 344 the consumers have served 309,600: the head came at 258.
    assert np.interp(344, seen.times_min, seen.first_attempt_age_min) == pytest.approx(86)


def test_age_jumps_over_a_gap_in_arrivals():
    seen = recover(QueueLoad(RateProfile([0, 10, 50, 51], [100, 0, 100]), 200, outage_min=60))
    # 1,000 items came by 10 and are served by 65; the next head came at 50.
    at = np.flatnonzero(seen.times_min == 65)
    assert seen.first_attempt_age_min[at].tolist() == pytest.approx([55, 15])


def test_catch_up_uses_the_quiet_hours_of_a_profile():
    load = QueueLoad(day(1000, 1700, 4, 10), 1400, outage_min=180)
    rate = catch_up_rate_per_min(load, 1080)
    assert rate == pytest.approx(1400)
    assert recover(replace(load, service_rate_per_min=rate * (1 + 1e-9))).drain_min <= 1080 * (1 + 1e-9)
    assert catch_up_rate_per_min(load, 60) == pytest.approx(1000 + 180_000 / 60)


def test_catch_up_counts_expiry_in_the_drain():
    load = QueueLoad(RateProfile([0, 60, 61], [600, 10]), 20, outage_min=60, max_age_min=70)
    rate = catch_up_rate_per_min(load, 140)
    assert rate == pytest.approx(20, rel=1e-6)
    assert catch_up_rate_per_min(replace(load, max_age_min=None), 140) == pytest.approx(10 + 36_000 / 140)
    assert catch_up_rate_per_min(replace(FIRST, max_age_min=15), 30) == pytest.approx(1800)


@pytest.mark.parametrize("within", [0, -5, math.nan, math.inf])
def test_catch_up_needs_a_time(within):
    with pytest.raises(ModelError, match="within_min"):
        catch_up_rate_per_min(FIRST, within)


@pytest.mark.parametrize(
    ("bears", "direct", "seconds", "cap"),
    [
        (2400, 0, 2, 80),
        (3000, 600, 2, 80),
        (100, 90, 0.6, 0),
        (700, 100, 0.1, 1),
        (0.3, 0.1, 300, 1),
        (1000, 1000, 1, 0),
        (1000, 2000, 1, 0),
        (2399.99, 0, 2, 79),
        (60 * 29 / 0.29, 0, 0.29, 29),
    ],
)
def test_safe_cap_is_not_lost_to_binary_fractions(bears, direct, seconds, cap):
    assert highest_safe_cap(bears, direct, seconds) == cap


def test_ramp_passes_a_rate_or_never():
    ramp = Ramp(5, 300, 80)
    assert ramp_passes_after_s(ramp, 2, 2400) is None
    assert ramp_passes_after_s(ramp, 2, 2399) == pytest.approx(60 * (2399 / 30 - 5) / 300)
    assert ramp_passes_after_s(ramp, 2, 100) == 0
    assert ramp_passes_after_s(Ramp(5, 0, 80), 2, 2000) is None
    assert ramp_passes_after_s(Ramp(5, 0, 80), 2, 150) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("service_rate_per_min", -1),
        ("service_rate_per_min", math.nan),
        ("service_rate_per_min", "1800"),
        ("outage_min", math.inf),
        ("backlog_before", -3),
        ("served_in_outage_per_min", -3),
        ("max_age_min", 0),
        ("retention_min", -1),
        ("deadline_min", 0),
        ("superseded_share", 1.01),
        ("item_time_s", 0),
        ("cap_concurrency", 80),
        ("ramp", Ramp()),
        ("order", "random"),
        ("order", "fresh_first"),
        ("sideline_after_min", 5),
        ("arrivals", 1200),
    ],
)
def test_loads_without_meaning_are_refused_by_name(field, value):
    with pytest.raises(ModelError, match=field):
        replace(FIRST, **{field: value})


def test_ramps_without_meaning_are_refused():
    with pytest.raises(ModelError, match=r"ramp\.per_min is 1e-09"):
        Ramp(5, 1e-9, 80)
    with pytest.raises(ModelError, match=r"ramp\.ceiling is 4"):
        Ramp(5, 300, 4)


def test_catch_up_may_be_done_before_a_peak_and_not_after_it():
    load = QueueLoad(RateProfile([0, 120, 180], [100, 5000]), 1, outage_min=60)
    assert catch_up_rate_per_min(load, 120) == pytest.approx((6000 + 6000) / 60)
    assert recover(replace(load, service_rate_per_min=200)).drain_min == pytest.approx(60)


def test_never_waits_until_the_age_limit_has_acted():
    # Nothing comes and nothing is served: the last item of the hour expires 5,000 min after it came.
    load = QueueLoad(RateProfile([0, 60, 61], [10, 0]), 0, outage_min=60, max_age_min=5000)
    seen = recover(load)
    assert seen.empty_at_min == pytest.approx(5060)
    assert seen.expired_in_drain == pytest.approx(600)
    assert recover(replace(load, max_age_min=None)).never


def test_superseded_work_leaves_less_to_expire():
    # 600/min for an hour, half of it dropped; at 70 min of age 300 a minute of arrival time are due to expire.
    load = QueueLoad(RateProfile([0, 60, 61], [600, 10]), 20, outage_min=60, max_age_min=70, superseded_share=0.5)
    seen = recover(load)
    assert seen.expired_in_drain == pytest.approx(18_000 - 20 * (130 - 60))
    # 100 min after the trigger: the barrier has passed 30 min of arrivals, so half of the hour still waits.
    assert np.interp(100, seen.times_min, seen.backlog) == pytest.approx(300 * 30 + 10 * 40)


def test_steady_overload_with_a_sideline_and_an_age_limit():
    load = QueueLoad(
        RateProfile.constant(20), 10, outage_min=60, order="fresh_first", sideline_after_min=10, max_age_min=30
    )
    seen = recover(load)
    # Live work waits 10 min; the half of it that is not served waits 20 min more and expires.
    assert seen.never
    assert seen.waiting_at_end == pytest.approx(20 * 10 + 10 * 20)
    assert seen.max_age_min == pytest.approx(30)
    assert seen.peak_backlog == pytest.approx(600)


def test_safe_cap_of_a_rate_that_misses_by_its_last_digit():
    assert highest_safe_cap(2399.9999999999995, 0, 2) == 80
