"""A recovery as its metrics show it: from the restore until each signal is back at its baseline, and stays there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args
from zoneinfo import ZoneInfo

import numpy as np

from afterload.errors import ApproximationWarning, InputError, LowerBoundWarning, MissingEvidenceWarning, ModelError
from afterload.model.baseline import Baseline, Return, baseline, returns_below, upper_edge
from afterload.readers.series import MetricSeries
from afterload.recovery.doubts import Doubt
from afterload.units import format_instant

__all__ = ["DWELL_MIN", "MeasuredRecovery", "Signal", "SignalRecovery", "measure_recovery", "measure_signal"]

Signal = Literal["first-attempt age", "error rate", "latency", "backlog"]
DWELL_MIN = 15.0
SPAN_MIN = 180.0
UTC_ZONE = ZoneInfo("UTC")


@dataclass(frozen=True, eq=False)
class SignalRecovery:
    """One signal after the restore.

    Attributes:
        signal: what it is.
        series: as it was read.
        normal: its baseline before the trigger, in the series' unit.
        edge: the highest value that counts as normal.
        edge_words: how the edge was found, for people.
        dwell_min: minutes that it had to stay normal, without a gap in the data, to count as back.
        back_min: minutes from the restore until it is back; 0 if it is normal at the restore; None if it is not in the data.
        left: True if a point between trigger and restore was above the edge.
        resolution_min: minutes of one period: ``back_min`` may be off by so much.
        relapse_min: minutes from the restore to the first point above the edge after it was back; None if there is none.
        seen_until_min: minutes from the restore to the end of the data.
        doubts: what to know before trusting it.
    """

    signal: Signal
    series: MetricSeries
    normal: Baseline
    edge: float
    edge_words: str
    dwell_min: float
    back_min: float | None
    left: bool
    resolution_min: float
    relapse_min: float | None
    seen_until_min: float
    doubts: tuple[Doubt, ...]

    @property
    def is_open(self) -> bool:
        """True where the data end before the signal is back: it took longer than ``seen_until_min``, or is not over."""
        return self.back_min is None


@dataclass(frozen=True, eq=False)
class MeasuredRecovery:
    """All signals of one incident, in the order that they were given."""

    trigger: datetime
    restore: datetime
    zone: ZoneInfo
    signals: tuple[SignalRecovery, ...]

    def of(self, signal: Signal) -> SignalRecovery | None:
        """One signal; None if it was not measured."""
        return next((item for item in self.signals if item.signal == signal), None)


def measure_recovery(
    signals: Mapping[Signal, MetricSeries],
    trigger: datetime,
    restore: datetime,
    zone: ZoneInfo,
) -> MeasuredRecovery:
    """Measure every signal of an incident; see :func:`measure_signal`.

    Raises:
        InputError: no signals, or one cannot be measured.
    """
    if not signals:
        raise InputError("no signal is given; measure a recovery by first-attempt age, error rate, latency or backlog")
    found = tuple(measure_signal(series, signal, trigger, restore, zone=zone) for signal, series in signals.items())
    return MeasuredRecovery(trigger, restore, zone, found)


def measure_signal(
    series: MetricSeries,
    signal: Signal,
    trigger: datetime,
    restore: datetime,
    *,
    dwell_min: float = DWELL_MIN,
    span_min: float = SPAN_MIN,
    tolerance: float | None = None,
    zone: ZoneInfo = UTC_ZONE,
) -> SignalRecovery:
    """How long after the restore a signal is back at its baseline for good.

    The baseline is the median of the span before the trigger. The signal is back at the start of the first stretch in which
    every point is at or below the edge for the whole dwell, with no data missing: no data is not back.

    Parameters:
        series: the signal over time.
        signal: what it is.
        trigger, restore: the incident, with zones.
        dwell_min: minutes that it must stay normal.
        span_min: minutes before the trigger that make the baseline.
        tolerance: how far above the median is normal, in the unit of the series; None to take the largest of five robust
            standard deviations, 10 % of the median, and the distance to the point that 99 % stay below.
        zone: in which messages write times.

    Raises:
        InputError: fewer than five points before the trigger, none after the restore, or the restore is not after the trigger.
    """
    where = f"{series.title} ({series.origin})"
    if signal not in get_args(Signal):
        raise InputError(f"{signal!r} is no signal; accepted: {', '.join(get_args(Signal))}")
    t, r = _instants(trigger, restore)
    try:
        normal = baseline(series.starts, series.values, t, span_min * 60)
        edge = upper_edge(normal, tolerance)
        period = series.period_s or float(np.median(np.diff(series.times)))
        seen = returns_below(series.starts, series.values, period, r, edge, dwell_min * 60)
    except ModelError as problem:
        raise InputError(f"{where}: {problem}") from None
    if seen is None:
        raise InputError(
            f"{where}: ends at {_at(float(series.times[-1]), zone)}, before the restore: export a later end"
        )
    during = (series.starts >= t) & (series.starts < r)
    left = bool((series.values[during] > edge).any())
    words = (
        "the median plus the tolerance that was given" if tolerance is not None
        else "the largest of five robust standard deviations or 10 % above the median, and the 99 % point"
    )  # fmt: skip
    return SignalRecovery(
        signal=signal,
        series=series,
        normal=normal,
        edge=edge,
        edge_words=words,
        dwell_min=dwell_min,
        back_min=None if seen.back_s is None else (seen.back_s - r) / 60,
        left=left,
        resolution_min=period / 60,
        relapse_min=None if seen.relapse_s is None else (seen.relapse_s - r) / 60,
        seen_until_min=(seen.seen_until_s - r) / 60,
        doubts=tuple(_doubts(series, signal, seen, left, t, r, period, dwell_min, zone)),
    )


def _instants(trigger: datetime, restore: datetime) -> tuple[float, float]:
    for name, instant in (("trigger", trigger), ("restore", restore)):
        if instant.tzinfo is None:
            raise InputError(
                f"the {name}, {instant}, has no zone: write it with an offset, such as 2025-10-20T02:40-07:00"
            )
    if restore <= trigger:
        raise InputError(f"the restore, {restore.isoformat()}, is not after the trigger, {trigger.isoformat()}")
    return trigger.timestamp(), restore.timestamp()


def _at(seconds: float, zone: ZoneInfo) -> str:
    return format_instant(datetime.fromtimestamp(seconds, zone), zone)


def _doubts(
    series: MetricSeries,
    signal: Signal,
    seen: Return,
    left: bool,
    t: float,
    r: float,
    period: float,
    dwell_min: float,
    zone: ZoneInfo,
) -> list[Doubt]:
    found: list[Doubt] = []

    def say(kind: type[ApproximationWarning | LowerBoundWarning | MissingEvidenceWarning], text: str) -> None:
        found.append(Doubt(kind, f"{signal}: {text}"))

    if seen.back_s is None and seen.pending_s is not None:
        say(
            LowerBoundWarning,
            f"normal from {_at(seen.pending_s, zone)} to the end of the data, but for less than {dwell_min:g} min; "
            "it is not counted as back",
        )
    elif seen.back_s is None:
        say(LowerBoundWarning, f"not back by {_at(seen.seen_until_s, zone)}, where the data end")
    if seen.relapse_s is not None:
        say(ApproximationWarning, f"above its edge again at {_at(seen.relapse_s, zone)}, after it was back")
    if not left:
        say(
            MissingEvidenceWarning,
            "never above its edge between trigger and restore, so that it is normal says nothing about this recovery",
        )
    if series.period_s is None:
        say(ApproximationWarning, f"its points share no period; the usual distance of {period / 60:.3g} min was taken")
    end = seen.back_s if seen.back_s is not None else seen.seen_until_s
    holes = [(max(start, r), min(stop, end)) for start, stop in series.gaps if start < end - 1.0 and stop > r + 1.0]
    if holes:
        missing = sum(stop - start for start, stop in holes) / 60
        say(
            MissingEvidenceWarning,
            f"no data for {missing:,.4g} min between restore and {'its return' if seen.back_s is not None else 'the end'}, which "
            "count as not back; it may have been back earlier",
        )
    if "ApproximateAgeOfOldestMessage" in series.name:
        say(
            ApproximationWarning,
            "the age of the oldest message is not the age on first attempt: it leaves out messages that were received three "
            "times or more, and moves to a dead-letter queue make it smaller",
        )
    return found
