"""New work over time for one queue, as the model wants it: minutes from an origin, items a minute."""

from __future__ import annotations

from bisect import bisect_right
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from afterload.model.curves import RateProfile
from afterload.scenario import ArrivalSeries, LoadedScenario

__all__ = ["arrival_profile"]

DAY_MIN = 1_440.0
WEEK_MIN = 10_080.0


def arrival_profile(loaded: LoadedScenario, queue: str, origin: datetime) -> tuple[RateProfile, tuple[str, ...]]:
    """Arrival rate of a queue from ``origin`` on, and what was assumed to get it.

    A constant holds. Hours of the day go by the team's wall clock at the origin and repeat daily. A series is used
    as measured while it lasts; before its start and after its end its last whole week, else its last whole day,
    repeats; a series shorter than a day holds its mean.
    """
    rate = loaded.scenario.queues[queue].arrival_rate
    if rate.constant_per_min is not None:
        return RateProfile.constant(rate.constant_per_min), ()
    if rate.hour_of_day_per_min is not None:
        return _daily(rate.hour_of_day_per_min, origin, loaded.scenario.time_zone), ()
    return _measured(loaded.series[queue], origin)


def _daily(hourly: tuple[float, ...], origin: datetime, zone: ZoneInfo) -> RateProfile:
    local = origin.astimezone(zone)
    into_hour = local.minute + local.second / 60 + local.microsecond / 60_000_000
    edges = [0.0] + [60.0 * hour - into_hour for hour in range(1, 26)]
    rates = [hourly[(local.hour + hour) % 24] for hour in range(25)]
    return RateProfile(tuple(edges), tuple(rates), cycle_min=DAY_MIN)


def _measured(series: ArrivalSeries, origin: datetime) -> tuple[RateProfile, tuple[str, ...]]:
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
    if not covers:
        behind = (origin - end).total_seconds() / 60
        shift = timedelta(minutes=cycle * (behind // cycle + 1))
        edges, rates = _cycle(series, origin - shift, end, cycle)
        return RateProfile(tuple(edges), tuple(rates), cycle_min=cycle), (words,)
    edges, rates = _slice(series, origin, end)
    more_edges, more_rates = _cycle(series, end - timedelta(minutes=cycle), end, cycle)
    last = edges[-1]
    edges += [last + edge for edge in more_edges[1:]]
    return RateProfile(tuple(edges), (*rates, *more_rates), cycle_min=cycle), (words,)


def _cycle(series: ArrivalSeries, phase: datetime, end: datetime, cycle: float) -> tuple[list[float], list[float]]:
    """One whole cycle that begins at ``phase``, which lies within the last cycle of the series."""
    edges, rates = _slice(series, phase, end)
    rest = cycle - edges[-1]
    if rest > 1e-9:
        begin = end - timedelta(minutes=cycle)
        more_edges, more_rates = _slice(series, begin, begin + timedelta(minutes=rest))
        last = edges[-1]
        edges, rates = edges + [last + edge for edge in more_edges[1:]], rates + more_rates
    return edges, rates


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
