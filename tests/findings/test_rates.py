"""Counts to rates, baselines, profiles of a day, throughput, an outage that shows itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from tests.findings.incident import TRIGGER, incident, made

from afterload.errors import InputError
from afterload.findings.drain import throughput
from afterload.findings.rates import baseline_rate, hour_profile, to_rates

T = TRIGGER.timestamp()
BERLIN = ZoneInfo("Europe/Berlin")


def minutes(values, start=T, period=60.0, **more):
    return made(start + period * np.arange(len(values)), values, period=period, **more)


@pytest.mark.parametrize(
    ("meaning", "unit", "want"),
    [("sum", None, 20), ("per_s", None, 6000), ("per_min", None, 100), (None, "Count/Second", 6000)],
)
def test_meanings_of_a_value(meaning, unit, want):
    rates = to_rates(minutes([100, 100, 100], period=300.0, unit=unit, statistic="unknown"), meaning)
    assert rates.per_min.tolist() == [want] * 3


def test_a_series_that_does_not_say_what_it_is_needs_a_person():
    with pytest.raises(InputError, match="its statistic is average"):
        to_rates(minutes([1, 2, 3], statistic="average"))
    with pytest.raises(InputError, match="share no period"):
        to_rates(replace(minutes([1, 2, 3]), period_s=None))
    with pytest.raises(InputError, match=r"is -2 at 2025-10-20T06:49:00Z"):
        to_rates(minutes([1, -2, 3]))


def test_a_counter_with_a_restart():
    rates = to_rates(minutes([100, 160, 220, 30, 90], statistic="unknown"), "counter")
    assert rates.per_min.tolist() == [60, 60, 30, 60]
    assert any("falls 1 times" in doubt.text for doubt in rates.doubts)


def test_an_end_stamp_moves_a_value_to_its_period():
    assert to_rates(minutes([5, 6], stamp="end")).starts.tolist() == [T - 60, T]
    assert any("start or the end" in doubt.text for doubt in to_rates(minutes([5, 6], stamp="unknown")).doubts)


def test_gaps_are_left_out_and_said():
    rates = to_rates(made([T, T + 60, T + 300, T + 360], [60, 60, 60, 60]))
    assert rates.gaps == ((T + 120, T + 300),)
    assert any("3 min" in doubt.text and "not taken as zero" in doubt.text for doubt in rates.doubts)
    assert rates.items(T, T + 120) == 120
    assert rates.items(T, T + 420) is None


@pytest.mark.parametrize("seed", range(4))
def test_the_baseline_of_poisson_arrivals_is_within_1_percent(seed):
    event = incident(seed=seed)
    normal = baseline_rate(to_rates(event.series(event.arrived, "sent")), event.trigger)
    assert normal.median == pytest.approx(1_200, rel=0.01)
    # 10 % and 90 % points of a Poisson distribution of mean 1,200: 1,200 -+ 1.2816 sqrt(1,200).
    assert normal.low == pytest.approx(1_155.6, rel=0.01)
    assert normal.high == pytest.approx(1_244.4, rel=0.01)
    assert normal.points == 180


def test_a_period_that_the_trigger_cuts_is_not_in_the_baseline():
    rates = to_rates(minutes([100] * 10 + [0], start=T - 600 - 30))
    assert baseline_rate(rates, TRIGGER).low == 100


def test_too_little_before_the_trigger_is_an_error_with_what_to_do():
    with pytest.raises(InputError, match="only 3 points lie in the 180 min before the trigger"):
        baseline_rate(to_rates(minutes([1] * 30, start=T - 180)), TRIGGER)


def hourly(start: datetime, days: int, zone: ZoneInfo):
    """Counts a minute that are 100 plus the wall-clock hour, worked out minute by minute with the standard library."""
    times = [start + timedelta(minutes=i) for i in range(days * 1440)]
    return made([t.timestamp() for t in times], [100 + t.astimezone(zone).hour for t in times])


@pytest.mark.parametrize("day", [datetime(2025, 10, 24), datetime(2025, 3, 28), datetime(2025, 7, 1)])  # noqa: DTZ001
def test_a_profile_goes_by_the_wall_clock_through_changes_of_clocks(day):
    profile = hour_profile(to_rates(hourly(day.replace(tzinfo=UTC), 5, BERLIN)), BERLIN)
    assert profile.per_min == tuple(100.0 + hour for hour in range(24))
    assert profile.is_whole


def test_days_of_a_profile_on_changes_of_clocks():
    spring = hour_profile(to_rates(hourly(datetime(2025, 3, 28, 23, tzinfo=UTC), 3, BERLIN)), BERLIN)
    # The three local days from 29 March; 02:00 does not exist on the 30th, so one more hour of 1 April is in.
    assert spring.days[2] == 2
    assert spring.days[3] == 3


def test_one_odd_day_does_not_bend_a_profile():
    series = hourly(datetime(2025, 7, 1, tzinfo=UTC), 5, ZoneInfo("UTC"))
    values = series.values.copy()
    values[1440:2880] = 0
    profile = hour_profile(to_rates(made(series.times, values)), ZoneInfo("UTC"))
    assert profile.per_min[12] == 112
    until = hour_profile(to_rates(series), ZoneInfo("UTC"), until=datetime(2025, 7, 1, 12, tzinfo=UTC))
    assert until.per_min[11] == 111
    assert until.per_min[12] is None
    assert not until.is_whole


def test_a_zone_of_half_an_hour():
    kolkata = ZoneInfo("Asia/Kolkata")
    profile = hour_profile(to_rates(hourly(datetime(2025, 7, 1, 18, 30, tzinfo=UTC), 2, kolkata)), kolkata)
    assert profile.per_min == tuple(100.0 + hour for hour in range(24))


def test_an_hour_that_was_hardly_measured_has_no_rate():
    profile = hour_profile(
        to_rates(minutes([7] * 20, start=datetime(2025, 7, 1, tzinfo=UTC).timestamp())), ZoneInfo("UTC")
    )
    assert profile.per_min == (None,) * 24


@pytest.mark.parametrize("seed", range(4))
def test_what_consumers_sustain_is_within_1_percent(seed):
    event = incident(seed=seed)
    end = event.restore + timedelta(minutes=event.drained_min)
    seen = throughput(to_rates(event.series(event.served, "served")), event.restore.timestamp(), end.timestamp())
    assert seen.median == pytest.approx(1_800, rel=0.01)
    assert seen.mean == pytest.approx(1_800, rel=0.01)
    assert seen.low < seen.median < seen.high
