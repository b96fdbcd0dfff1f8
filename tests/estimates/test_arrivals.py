"""Arrival profiles against a count that goes through every minute, and against the edges of the team's clock."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from afterload.arrivals import arrival_profile
from afterload.model.coupled import simulate
from afterload.recovery.build import couple
from afterload.scenario import LoadedScenario

Load = Callable[..., LoadedScenario]
HOURLY = [100 + 7 * hour for hour in range(24)]
DAILY = f"""\
queues:
  q:
    arrival_rate: {{hour_of_day_per_min: {HOURLY}}}
    service_rate: 900/min
"""
SERIES = """\
queues:
  q:
    arrival_rate: {series: arrivals.csv}
    service_rate: 100000/min
"""
START = datetime(2025, 10, 20, tzinfo=UTC)


def profile(loaded: LoadedScenario, origin: datetime):  # type: ignore[no-untyped-def]
    return arrival_profile(loaded, "q", origin)


def csv(
    step: int, count: int, rate: Callable[[int], float], start: datetime = START, column: str = "rate_per_min"
) -> str:
    rows = [f"{(start + timedelta(minutes=step * i)).isoformat()},{rate(i)}" for i in range(count)]
    return "\n".join([f"at,{column}", *rows]) + "\n"


def minute_rates(
    origin: datetime, minutes: int, times: list[datetime], rates: list[float], end: datetime, cycle: int
) -> np.ndarray:
    """Rate in each minute from the origin on, looked up one by one: inside the series as measured, else its cycle."""
    found = []
    for minute in range(minutes):
        at = origin + timedelta(minutes=minute)
        while at >= end:
            at -= timedelta(minutes=cycle)
        # Before the start the last cycle stands for any earlier one.
        while at < times[0]:
            at += timedelta(minutes=cycle)
            if at >= end - timedelta(minutes=cycle):
                break
        found.append(rates[bisect_right(times, at) - 1])
    return np.array(found)


def test_a_constant_holds(load: Load) -> None:
    made, assumed = profile(load("queues: {q: {arrival_rate: 2/s, service_rate: 1/min}}\n"), START)
    assert made.rate_at([0, 1e6]).tolist() == [120, 120]
    assert assumed == ()


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "Australia/Adelaide", "Asia/Kathmandu", "America/Los_Angeles"])
@pytest.mark.parametrize("clock", ["00:00", "00:01", "13:47", "23:59"])
def test_hours_go_by_the_teams_clock(load: Load, zone: str, clock: str) -> None:
    hour, minute = map(int, clock.split(":"))
    origin = datetime(2025, 6, 11, hour, minute, tzinfo=ZoneInfo(zone))
    made, assumed = profile(load(DAILY, zone=zone), origin.astimezone(UTC))
    expected = [HOURLY[(hour + (minute + passed) // 60) % 24] for passed in range(3 * 1440)]
    assert made.rate_at(np.arange(3 * 1440) + 0.5).tolist() == expected
    assert made.cumulative(3 * 1440) == pytest.approx(sum(expected), rel=1e-12)
    assert made.mean_tail_per_min == pytest.approx(np.mean(HOURLY), rel=1e-12)
    assert assumed == ()


def test_the_first_edge_is_the_next_full_hour_of_the_clock(load: Load) -> None:
    origin = datetime(2025, 10, 19, 23, 48, 30, tzinfo=ZoneInfo("America/Los_Angeles"))
    made, _ = profile(load(DAILY, zone="America/Los_Angeles"), origin)
    assert made.edges_min[:3] == (0, 11.5, 71.5)
    assert made.rates_per_min[:3] == (HOURLY[23], HOURLY[0], HOURLY[1])
    # Half an hour off UTC: the edge still is the team's full hour, not that of UTC.
    made, _ = profile(load(DAILY, zone="Asia/Kolkata"), datetime(2025, 10, 20, 0, 0, tzinfo=UTC))
    assert made.edges_min[:2] == (0, 30)
    assert made.rates_per_min[:2] == (HOURLY[5], HOURLY[6])


@pytest.mark.parametrize("count", [1441, 2000, 3 * 1440 + 77, 8 * 1440, 15 * 1440])
@pytest.mark.parametrize("offset", [0, 1, 61, 1000])
def test_a_series_that_covers_the_trigger_is_used_as_measured_then_repeats(load: Load, count: int, offset: int) -> None:
    step, number = 20, count // 20
    rates = [100 + (i * 37) % 211 for i in range(number)]
    loaded = load(SERIES, arrivals=csv(step, number, lambda i: rates[i]))
    origin = START + timedelta(minutes=offset)
    made, assumed = profile(loaded, origin)
    span = step * number
    times = [START + timedelta(minutes=step * i) for i in range(number)]
    end = START + timedelta(minutes=span)
    if span < 1440:
        assert "less than a day" in assumed[0]
        return
    cycle = 10_080 * (span // 10_080) or 1440 * (span // 1440)
    look = span - offset + 2 * cycle + 123
    expected = minute_rates(origin, look, times, [float(r) for r in rates], end, cycle)
    seen = made.rate_at(np.arange(look) + 0.5)
    assert np.array_equal(seen, expected)
    assert made.cumulative(look) == pytest.approx(expected.sum(), rel=1e-12)
    days = cycle // 1440
    assert assumed == (
        f"where the arrival series does not reach, its last {days} {'day repeats' if days == 1 else 'days repeat'}",
    )


@pytest.mark.parametrize("days", [1, 3, 7, 9, 14])
@pytest.mark.parametrize("gap", [0, 5, 1439, 1440, 30_011, -40_007, -1])
def test_a_series_elsewhere_in_time_is_aligned_by_whole_days_or_weeks(load: Load, days: int, gap: int) -> None:
    step, number = 30, days * 48
    rates = [float(50 + (i * 53) % 307) for i in range(number)]
    loaded = load(SERIES, arrivals=csv(step, number, lambda i: rates[i]))
    end = START + timedelta(days=days)
    origin = end + timedelta(minutes=gap) if gap >= 0 else START + timedelta(minutes=gap)
    made, assumed = profile(loaded, origin)
    cycle = 10_080 * (days // 7) if days >= 7 else 1440 * days
    expected = []
    for minute in range(cycle + 200):
        at = origin + timedelta(minutes=minute)
        # Whole cycles to the last cycle of the series: the hour of the day stays, and of weeks the day of the week.
        into = ((at - end) / timedelta(minutes=1)) % cycle
        expected.append(rates[int((span_of(days) - cycle + into) // step)])
    assert np.array_equal(made.rate_at(np.arange(cycle + 200) + 0.5), np.array(expected))
    assert made.cycle_min == cycle
    assert len(assumed) == 1


def span_of(days: int) -> int:
    return 1440 * days


@pytest.mark.parametrize("offset", [-600, 0, 45, 299, 300, 5000])
def test_a_series_shorter_than_a_day_holds_its_mean_outside_itself(load: Load, offset: int) -> None:
    rates = [120.0, 240.0, 60.0, 300.0, 180.0]
    loaded = load(SERIES, arrivals=csv(60, 5, lambda i: rates[i]))
    made, assumed = profile(loaded, START + timedelta(minutes=offset))
    for minute in range(700):
        at = offset + minute
        expected = rates[at // 60] if 0 <= offset < 300 and at < 300 else 180.0
        assert made.rate_at(minute + 0.5) == expected, minute
    assert assumed == ("the arrival series covers 300 min, less than a day: its mean of 180/min holds outside it",)


def test_counts_belong_to_the_period_that_begins_at_their_time(load: Load) -> None:
    counts = [3000 + 11 * i for i in range(300)]
    loaded = load(SERIES, arrivals=csv(5, 300, lambda i: counts[i], column="count"))
    made, _ = profile(loaded, START)
    assert made.cumulative([5, 10, 1500]).tolist() == pytest.approx([3000, 6011, sum(counts)])


@pytest.mark.parametrize(("column", "factor"), [("rate_per_s", 60), ("rate_per_h", 1 / 60), ("rate_per_min", 1)])
def test_every_rate_column_comes_out_as_items_a_minute(load: Load, column: str, factor: float) -> None:
    loaded = load(SERIES, arrivals=csv(60, 24, lambda i: 6 + i, column=column))
    made, _ = profile(loaded, START)
    assert made.rate_at([0, 61, 1439]).tolist() == pytest.approx([6 * factor, 7 * factor, 29 * factor])


def test_uneven_rows_weigh_by_how_long_they_hold(load: Load) -> None:
    rows = "at,rate_per_min\n2025-10-20T00:00Z,100\n2025-10-20T00:10Z,400\n2025-10-20T00:30Z,700\n"
    made, _ = profile(load(SERIES, arrivals=rows), START)
    # The last row holds for the usual step, 15 min.
    assert made.cumulative(45) == 1000 + 8000 + 15 * 700
    assert made.mean_tail_per_min == pytest.approx((1000 + 8000 + 15 * 700) / 45)


ZONES = ["America/New_York", "Europe/Berlin", "Australia/Adelaide", "Australia/Lord_Howe", "Pacific/Apia"]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(
    "day", ["2025-10-25T13:10", "2025-11-01T22:10", "2026-03-07T22:10", "2026-03-28T23:30", "2026-06-11T05:45"]
)
def test_hours_follow_the_clock_through_every_change_of_a_year(load: Load, zone: str, day: str) -> None:
    origin = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    made, _ = profile(load(DAILY, zone=zone), origin)
    minutes = np.arange(0, 380 * 1440, 7) + 0.5
    local = (origin + timedelta(minutes=float(minute)) for minute in minutes)
    expected = [HOURLY[at.astimezone(ZoneInfo(zone)).hour] for at in local]
    assert made.rate_at(minutes).tolist() == expected
    assert made.cycle_min == 1440
    assert made.mean_tail_per_min == pytest.approx(np.mean(HOURLY), rel=1e-12)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("days", [1, 3, 14])
@pytest.mark.parametrize("start", ["2025-10-20", "2025-11-01", "2026-03-05"])
def test_a_series_goes_on_by_the_clock_through_its_changes(load: Load, zone: str, days: int, start: str) -> None:
    """Also where the clock changes within the series: an hour that is missing there is that of the time before it."""
    begin = datetime.fromisoformat(start).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    end = (datetime.fromisoformat(start) + timedelta(days=days)).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    count = round((end - begin) / timedelta(minutes=30))
    rates = [float(50 + (i * 53) % 307) for i in range(count)]
    made, _ = profile(load(SERIES, zone=zone, arrivals=csv(30, count, lambda i: rates[i], start=begin)), end)
    span = 30 * count
    cycle = timedelta(minutes=10_080 * (span // 10_080) if span >= 10_080 else 1440 * (span // 1440))
    if not cycle:
        assert made.cycle_min is None
        return
    last = end.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    for minute in range(5, 200 * 1440, 601):
        wall = (end + timedelta(minutes=minute)).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        while wall >= last:
            wall -= cycle
        instant = wall.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
        expected = rates[max(0, int((instant - begin) / timedelta(minutes=30)))]
        assert made.rate_at(minute) == expected, (minute, wall)


DRAINS = """\
queues:
  q: {{arrival_rate: {rate}, service_rate: 720/min}}
"""
BUSY = [2000 if 9 <= hour < 17 else 600 for hour in range(24)]


@pytest.mark.parametrize(
    ("zone", "trigger", "restored_at", "minutes"),
    [
        ("America/New_York", "2025-11-01T22:10-04:00", "2025-11-02T00:00-04:00", 550),
        ("Europe/Berlin", "2025-10-25T22:10+02:00", "2025-10-26T00:00+02:00", 550),
        # An hour less until nine: what 66,000 / 120 would take is not there, and 08:59 leaves 8,400.
        ("America/New_York", "2026-03-07T22:10-05:00", "2026-03-08T00:00-05:00", None),
        ("Europe/Berlin", "2026-03-28T22:23+01:00", "2026-03-29T00:00+01:00", None),
        # 57,000 are worked off within the eight hours, 57,600 are not.
        ("Europe/Berlin", "2026-03-28T22:25+01:00", "2026-03-29T00:00+01:00", 475),
    ],
)
@pytest.mark.parametrize("is_series", [False, True])
def test_a_drain_over_a_change_of_the_clock_ends_by_it(
    load: Load, zone: str, trigger: str, restored_at: str, minutes: float | None, is_series: bool
) -> None:
    begin = (datetime.fromisoformat(trigger) - timedelta(days=8)).replace(hour=0, minute=0)
    rows = csv(60, 7 * 24, lambda i: BUSY[i % 24], start=begin)
    rate = "{series: arrivals.csv}" if is_series else f"{{hour_of_day_per_min: {BUSY}}}"
    head = {"zone": zone, "trigger": trigger, "restored_at": restored_at}
    coupling = couple(load(DRAINS.format(rate=rate), **head, arrivals=rows))
    assert coupling is not None
    result = simulate(coupling.system)
    expected = np.nan if minutes is None else minutes
    assert result.drain_min[0, 0] == pytest.approx(expected, nan_ok=True)
    assert bool(result.never[0]) == (minutes is None)
