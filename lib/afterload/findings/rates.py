"""Rates from metrics: arrivals before the trigger, a day's profile, what consumers sustained, an outage that shows itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

import numpy as np

from afterload.errors import ApproximationWarning, InputError, MissingEvidenceWarning, ModelError
from afterload.model.baseline import Baseline, baseline
from afterload.model.curves import FloatArray
from afterload.model.spacing import GAP, missing_spans
from afterload.readers.series import MetricSeries, clock
from afterload.recovery.doubts import Doubt

__all__ = ["Meaning", "RateSeries", "baseline_rate", "hour_profile", "to_rates"]

Meaning = Literal["sum", "per_s", "per_min", "counter"]
BASELINE_SPAN_MIN = 180.0
# An hour of a day counts once so much of it was measured.
LEAST_OF_HOUR = 0.5
_UNIT_MEANINGS: dict[str, Meaning] = {"count/second": "per_s", "1/s": "per_s", "reqps": "per_s", "cps": "per_s"}


@dataclass(frozen=True, eq=False)
class RateSeries:
    """A rate over time.

    Attributes:
        series: what it was made from.
        starts: start of each period in seconds since 1970, rising, shape (n,).
        per_min: items a minute in each period, not negative, shape (n,).
        period_s: seconds of a period.
        gaps: (start, end) of spans without data, in seconds since 1970.
        doubts: what to know of it.
    """

    series: MetricSeries
    starts: FloatArray
    per_min: FloatArray
    period_s: float
    gaps: tuple[tuple[float, float], ...]
    doubts: tuple[Doubt, ...] = ()

    @property
    def ends(self) -> FloatArray:
        """End of each period, in seconds since 1970."""
        return self.starts + self.period_s

    def within(self, start_s: float, end_s: float) -> FloatArray:
        """The rates of the periods that lie wholly in a span."""
        slack = 1e-6 * self.period_s
        return self.per_min[(self.starts >= start_s - slack) & (self.ends <= end_s + slack)]

    def items(self, start_s: float, end_s: float) -> float | None:
        """Items in a span, periods that it cuts counted in part; None where more than a period of it was not measured."""
        overlap = np.minimum(self.ends, end_s) - np.maximum(self.starts, start_s)
        seen = np.maximum(0.0, overlap)
        if end_s - start_s - float(seen.sum()) > self.period_s * 1.01:
            return None
        return float(np.sum(seen * self.per_min) / 60)


@dataclass(frozen=True)
class HourProfile:
    """Rates by hour of the day.

    Attributes:
        per_min: 24 rates in items a minute, for the hours 0 to 23 of the zone's wall clock; None for an hour never measured.
        days: how many days each rate rests on.
        zone: the zone.
    """

    per_min: tuple[float | None, ...]
    days: tuple[int, ...]
    zone: ZoneInfo

    @property
    def is_whole(self) -> bool:
        """True where every hour was measured, as a scenario's hour_of_day needs it."""
        return all(rate is not None for rate in self.per_min)


def to_rates(series: MetricSeries, meaning: Meaning | None = None, period_s: float | None = None) -> RateSeries:
    """A series as a rate in items a minute.

    Parameters:
        series: counts in each period, a rate, or a counter that only rises.
        meaning: what a value is: ``sum`` of its period, ``per_s``, ``per_min``, or ``counter``. None to take it from the
            series' statistic and unit.
        period_s: seconds of a period, where the times do not show it.

    Raises:
        InputError: neither the series nor the caller says what a value is, its period is not known, or a value is negative.
    """
    kind = meaning or _meaning(series)
    period = period_s or series.period_s
    if period is None:
        raise InputError(f"{series.title} ({series.origin}): its times share no period; give the period in seconds")
    doubts = [*_stamp_doubt(series, period)]
    starts, values = series.starts, series.values
    if kind == "counter":
        starts, values, period, resets = _increases(series, period)
        if resets:
            words = f"{series.title} falls {resets:,} times, read as restarts from zero"
            doubts.append(Doubt(ApproximationWarning, words))
    if len(values) and float(values.min()) < 0:
        place = int(np.argmin(values))
        at = clock(float(starts[place]))
        raise InputError(f"{series.title} ({series.origin}): is {values[place]:g} at {at}; a rate cannot be negative")
    factor = {"sum": 60.0 / period, "counter": 60.0 / period, "per_s": 60.0, "per_min": 1.0}[kind]
    gaps = missing_spans(starts, period)
    if gaps:
        missing = sum(end - start for start, end in gaps) / 60
        words = f"{series.title} has no data for {missing:,.4g} min in all; that time is left out, not taken as zero"
        doubts.append(Doubt(MissingEvidenceWarning, words))
    return RateSeries(series, starts, values * factor, period, gaps, tuple(doubts))


def _meaning(series: MetricSeries) -> Meaning:
    unit = (series.unit or "").lower()
    if unit in _UNIT_MEANINGS:
        return _UNIT_MEANINGS[unit]
    if series.statistic == "sum":
        return "sum"
    raise InputError(
        f"{series.title} ({series.origin}): its statistic is {series.statistic}, so a value may be a sum, a rate or a counter: "
        "say which (sum, per_s, per_min or counter)"
    )


def _stamp_doubt(series: MetricSeries, period: float) -> list[Doubt]:
    if series.stamp != "unknown":
        return []
    words = (
        f"{series.title}: the file does not say whether a time is the start or the end of its period; it is taken as the start, "
        f"so times may be {period / 60:g} min late"
    )
    return [Doubt(ApproximationWarning, words)]


def _increases(series: MetricSeries, period: float) -> tuple[FloatArray, FloatArray, float, int]:
    """What a counter gained from point to point: starts, gains, the period, and how often it fell."""
    gains, steps = np.diff(series.values), np.diff(series.times)
    falls = gains < 0
    gains = np.where(falls, series.values[1:], gains)
    # A gain over a gap belongs to no period of its own.
    kept = steps <= GAP * period
    return series.times[:-1][kept], gains[kept], period, int(falls.sum())


def baseline_rate(rates: RateSeries, trigger: datetime, span_min: float = BASELINE_SPAN_MIN) -> Baseline:
    """The rate before the trigger: median and quantiles of the periods that ended by then, in items a minute.

    Raises:
        InputError: fewer than five periods lie in the span.
    """
    at = trigger.timestamp()
    whole = rates.ends <= at + 1e-6 * rates.period_s
    try:
        return baseline(rates.starts[whole], rates.per_min[whole], at, span_min * 60)
    except ModelError as problem:
        raise InputError(f"{rates.series.title} ({rates.series.origin}): {problem}") from None


def hour_profile(rates: RateSeries, zone: ZoneInfo, until: datetime | None = None) -> HourProfile:
    """Rates by hour of the day on the zone's wall clock.

    Each hour of each day gives the mean of what was measured in it, if that is at least half of it; the profile takes the
    median over days, so that one odd day does not bend it. An hour that occurs twice on a day when clocks go back counts as
    one of that day; one that is skipped has no value on that day.

    Parameters:
        rates: the rate.
        zone: the team's zone.
        until: leave out periods that end later, such as the trigger of the incident; None for all.
    """
    kept = np.ones(len(rates.starts), dtype=bool) if until is None else rates.ends <= until.timestamp()
    middles, values = rates.starts[kept] + rates.period_s / 2, rates.per_min[kept]
    if not len(middles):
        return HourProfile((None,) * 24, (0,) * 24, zone)
    hours = np.floor((middles + _offsets(middles, zone)) / 3600).astype(np.int64)
    keys, place = np.unique(hours, return_inverse=True)
    sums, counts = np.bincount(place, weights=values), np.bincount(place)
    enough = counts * min(rates.period_s, 3600.0) >= LEAST_OF_HOUR * 3600.0
    means, of_day = (sums / counts)[enough], (keys % 24)[enough]
    found = [means[of_day == hour] for hour in range(24)]
    return HourProfile(
        tuple(float(np.median(part)) if len(part) else None for part in found), tuple(len(part) for part in found), zone
    )


def _offsets(times_s: FloatArray, zone: ZoneInfo) -> FloatArray:
    """Seconds that the zone's clock is ahead of UTC at each time. Zones change at whole quarters of an hour."""
    quarters, place = np.unique(np.floor(times_s / 900), return_inverse=True)
    ahead = [
        (datetime.fromtimestamp(float(quarter) * 900, UTC).astimezone(zone).utcoffset() or timedelta()).total_seconds()
        for quarter in quarters
    ]
    return np.array(ahead)[place]


def resampled(rates: RateSeries, period_s: float) -> RateSeries:
    """The same rate over longer periods: the mean of the periods in each that was measured whole."""
    if period_s <= rates.period_s * 1.01:
        return rates
    slots = np.floor((rates.starts + rates.period_s / 2) / period_s).astype(np.int64)
    keys, place = np.unique(slots, return_inverse=True)
    counts = np.bincount(place)
    whole = counts * rates.period_s >= period_s * 0.99
    starts = (keys * period_s).astype(np.float64)[whole]
    means = (np.bincount(place, weights=rates.per_min) / counts)[whole]
    return replace(rates, starts=starts, per_min=means, period_s=period_s, gaps=missing_spans(starts, period_s))
