"""New work and direct traffic over time, as the model wants it: minutes from an origin, items a minute.

Hours of the day and whole days of a series go by the clock of the team's zone: where it changes, so do they.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from afterload.model.curves import RateProfile
from afterload.scenario import ArrivalSeries, LoadedScenario
from afterload.scenario.schema import ArrivalRate

__all__ = ["arrival_profile", "rate_profile"]

DAY_MIN = 1_440.0
WEEK_MIN = 10_080.0
# Changes of the clock are followed for so long, and over so many edges; then the last day or weeks repeat.
FOLLOWED = timedelta(days=400)
MOST_EDGES = 50_000
# A recovery that repeats itself before a change of the clock farther away than this repeats itself after it too.
SETTLED = timedelta(days=8)

Profile = tuple[RateProfile, tuple[str, ...]]


@dataclass(frozen=True)
class _Cycle:
    """Rates that repeat by the clock on the wall: ``edges`` in minutes after ``begin``, the last one the length."""

    begin: datetime
    edges: tuple[float, ...]
    rates: tuple[float, ...]

    @property
    def length(self) -> float:
        return self.edges[-1]


def arrival_profile(loaded: LoadedScenario, queue: str, origin: datetime) -> Profile:
    """Arrival rate of a queue from ``origin`` on, and what was assumed to get it."""
    scenario = loaded.scenario
    return rate_profile(scenario.queues[queue].arrival_rate, loaded.series.get(queue), origin, scenario.time_zone)


def rate_profile(rate: ArrivalRate, series: ArrivalSeries | None, origin: datetime, zone: ZoneInfo) -> Profile:
    """A rate of a scenario from ``origin`` on, and what was assumed to get it.

    A constant holds. Hours of the day go by the team's wall clock and repeat daily. A series is used as measured while it
    lasts; before its start and after its end its last whole weeks, else its last whole days, repeat by that clock; a series
    shorter than a day holds its mean.
    """
    if rate.constant_per_min is not None:
        return RateProfile.constant(rate.constant_per_min), ()
    if rate.hour_of_day_per_min is not None:
        return _daily(rate.hour_of_day_per_min, origin, zone), ()
    if series is None:
        raise ValueError("a rate by a series needs the series")
    return _measured(series, origin, zone)


@lru_cache(maxsize=64)
def _daily(hourly: tuple[float, ...], origin: datetime, zone: ZoneInfo) -> RateProfile:
    midnight = _wall(origin, zone).replace(hour=0, minute=0, second=0, microsecond=0)
    edges, rates, settled = _unrolled(_Cycle(midnight, tuple(60.0 * hour for hour in range(25)), hourly), origin, zone)
    return RateProfile(tuple(edges), tuple(rates), DAY_MIN, settled)


@lru_cache(maxsize=16)
def _measured(series: ArrivalSeries, origin: datetime, zone: ZoneInfo) -> Profile:
    start, end = series.times[0], series.times[-1] + timedelta(minutes=series.step_min)
    span = (end - start).total_seconds() / 60
    covers = start <= origin < end
    if span < DAY_MIN - 1e-6:
        widths = [(b - a).total_seconds() for a, b in zip(series.times, (*series.times[1:], end), strict=True)]
        mean = sum(r * w for r, w in zip(series.rates_per_min, widths, strict=True)) / sum(widths)
        words = f"the arrival series covers {span:g} min, less than a day: its mean of {mean:,.4g}/min holds outside it"
        edges, rates = _slice(series, origin, end) if covers else ([0.0], [])
        return RateProfile((*edges, edges[-1] + 1.0), (*rates, mean)), (words,)
    cycle = WEEK_MIN * (span // WEEK_MIN) if span >= WEEK_MIN else DAY_MIN * (span // DAY_MIN)
    days = round(cycle / DAY_MIN)
    words = f"where the arrival series does not reach, its last {days} {'day repeats' if days == 1 else 'days repeat'}"
    edges, rates = _slice(series, origin, end) if covers else ([0.0], [])
    last = edges[-1]
    more_edges, more_rates, settled = _unrolled(
        _last_days(series, end, cycle, zone), max(origin, end) if covers else origin, zone
    )
    edges += [last + edge for edge in more_edges[1:]]
    return RateProfile(tuple(edges), (*rates, *more_rates), cycle, last + settled), (words,)


def _last_days(series: ArrivalSeries, end: datetime, cycle: float, zone: ZoneInfo) -> _Cycle:
    """The last whole days of a series by the clock on the wall; of an hour that comes twice its first time."""
    until = _wall(end, zone)
    begin = until - timedelta(minutes=cycle)
    inside = {at for at in (_wall(time, zone) for time in series.times) if begin < at < until}
    walls = [begin, *sorted(inside)]
    first = series.times[0]
    instants = (max(first, at.replace(tzinfo=zone).astimezone(UTC)) for at in walls)
    rates = tuple(series.rates_per_min[bisect_right(series.times, at) - 1] for at in instants)
    return _Cycle(begin, (*((at - begin).total_seconds() / 60 for at in walls), cycle), rates)


def _unrolled(cycle: _Cycle, origin: datetime, zone: ZoneInfo) -> tuple[list[float], list[float], float]:
    """Edges in minutes from ``origin`` and rates through every change of the clock that is followed, and one whole cycle after
    the last; and from when on all repeats but for changes farther away.
    """
    most = timedelta(minutes=cycle.length * MOST_EDGES / len(cycle.rates))
    changes = _changes(zone, origin.astimezone(UTC).date().toordinal())
    bounds = [origin, *(at for at in changes if origin < at <= origin + min(FOLLOWED, most))]
    edges, rates = [0.0], list[float]()
    for place, begin in enumerate(bounds):
        is_last = place + 1 == len(bounds)
        length = cycle.length if is_last else (bounds[place + 1] - begin).total_seconds() / 60
        into = ((_wall(begin, zone) - cycle.begin).total_seconds() / 60) % cycle.length
        at, done = bisect_right(cycle.edges, into) - 1, 0.0
        while done < length - 1e-9:
            step = min(cycle.edges[at + 1] - into, length - done)
            if rates and rates[-1] == cycle.rates[at] and not is_last:
                edges[-1] += step
            else:
                edges.append(edges[-1] + step)
                rates.append(cycle.rates[at])
            done, at = done + step, (at + 1) % len(cycle.rates)
            into = cycle.edges[at]
    near = [at for at in bounds if at <= origin + SETTLED]
    return edges, rates, (near[-1] - origin).total_seconds() / 60


def _wall(at: datetime, zone: ZoneInfo) -> datetime:
    return at.astimezone(zone).replace(tzinfo=None)


@lru_cache(maxsize=64)
def _changes(zone: ZoneInfo, day: int) -> tuple[datetime, ...]:
    """When the clock of a zone changes, from a day on for as long as that is followed."""
    found = []
    at = datetime.fromordinal(day).replace(tzinfo=UTC)
    for _ in range(FOLLOWED.days + 1):
        following = at + timedelta(days=1)
        low, high = at, following
        if low.astimezone(zone).utcoffset() != high.astimezone(zone).utcoffset():
            while high - low > timedelta(seconds=1):
                middle = low + (high - low) / 2
                same = middle.astimezone(zone).utcoffset() == at.astimezone(zone).utcoffset()
                low, high = (middle, high) if same else (low, middle)
            found.append(high.replace(microsecond=0))
        at = following
    return tuple(found)


def _slice(series: ArrivalSeries, start: datetime, end: datetime) -> tuple[list[float], list[float]]:
    """Edges in minutes from ``start``, and the rates between them, up to ``end``."""
    first = max(0, bisect_right(series.times, start) - 1)
    edges, rates = [0.0], []
    for index in range(first, len(series.times)):
        at = series.times[index]
        if at >= end:
            break
        if at > start:
            edges.append((at - start).total_seconds() / 60)
        rates.append(series.rates_per_min[index])
    edges.append((end - start).total_seconds() / 60)
    return edges, rates
