"""What a queue's metrics show of its drain: backlog, arrivals, what consumers sustained, and the headroom that this means."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np

from afterload.errors import ApproximationWarning, InputError, LowerBoundWarning, MissingEvidenceWarning
from afterload.findings.measured import SPAN_MIN, UTC_ZONE, SignalRecovery, measure_signal
from afterload.findings.rates import RateSeries, baseline_rate
from afterload.model.baseline import Baseline
from afterload.model.caps import implied_headroom
from afterload.readers.series import MetricSeries
from afterload.recovery.doubts import Doubt
from afterload.units import format_instant

__all__ = ["ObservedDrain", "observe_drain", "throughput"]

FEW_PERIODS = 5


@dataclass(frozen=True)
class Throughput:
    """Items a minute over a span: median, the rates that 10 % and 90 % of the periods stay below, and the mean."""

    median: float
    low: float
    high: float
    mean: float
    periods: int


@dataclass(frozen=True, eq=False)
class ObservedDrain:
    """One queue's drain. Rates in items a minute, times in minutes after the restore.

    Attributes:
        trigger, restore: the incident.
        backlog: the backlog as a signal: its baseline, edge and return.
        backlog_at_restore: items waiting at the restore, between the two points next to it.
        drain_min: until the backlog is back at its baseline for good; None if not in the data.
        before: arrivals before the trigger.
        arrival: arrivals in the drain; None where they were not measured there.
        service: what was served while the backlog was above its edge: what the consumers sustain; None as above.
        balance: backlog at the restore that the flows imply: served less arrived in the drain; None where they have gaps.
        doubts: what to know.
    """

    trigger: datetime
    restore: datetime
    backlog: SignalRecovery
    backlog_at_restore: float
    drain_min: float | None
    before: Baseline
    arrival: Throughput | None
    service: Throughput | None
    balance: float | None
    doubts: tuple[Doubt, ...]

    @property
    def outage_min(self) -> float:
        """Minutes from trigger to restore."""
        return (self.restore - self.trigger).total_seconds() / 60

    @property
    def headroom_of_rates(self) -> float | None:
        """Service over arrivals, both as measured in the drain."""
        if self.arrival is None or self.service is None or self.arrival.mean <= 0:
            return None
        return self.service.mean / self.arrival.mean

    @property
    def headroom_of_times(self) -> float | None:
        """1 + outage / drain: exact for a standstill and rates that do not change."""
        return implied_headroom(self.outage_min, self.drain_min) if self.drain_min else None


def throughput(rates: RateSeries, start_s: float, end_s: float) -> Throughput | None:
    """A rate over the periods that lie wholly in a span, in seconds since 1970; None if there are none."""
    seen = rates.within(start_s, end_s)
    if not len(seen):
        return None
    low, middle, high = (float(value) for value in np.quantile(seen, (0.1, 0.5, 0.9)))
    return Throughput(middle, low, high, float(seen.mean()), len(seen))


def observe_drain(
    arrivals: RateSeries,
    served: RateSeries,
    backlog: MetricSeries,
    trigger: datetime,
    restore: datetime,
    *,
    zone: ZoneInfo = UTC_ZONE,
) -> ObservedDrain:
    """What the metrics of one queue show of its drain.

    Parameters:
        arrivals, served: items a minute into and out of the queue.
        backlog: items waiting.
        trigger, restore: the incident.
        zone: in which messages write times.

    Raises:
        InputError: a series does not reach the times that are needed.
    """
    signal = measure_signal(backlog, "backlog", trigger, restore, zone=zone)
    start = restore.timestamp()
    at_restore = _value_at(backlog, start, zone)
    doubts = [*signal.doubts, *arrivals.doubts, *served.doubts]
    end = start + 60 * (signal.seen_until_min if signal.back_min is None else signal.back_min)
    until = format_instant(datetime.fromtimestamp(end, zone), zone)
    arrival, service = throughput(arrivals, start, end), throughput(served, start, end)
    for rates, seen in ((arrivals, arrival), (served, service)):
        if seen is None:
            words = f"{rates.series.title} has no whole period between the restore and {until}"
            doubts.append(Doubt(MissingEvidenceWarning, words))
        elif seen.periods < FEW_PERIODS:
            words = f"{rates.series.title}: only {seen.periods} periods lie in the drain"
            doubts.append(Doubt(ApproximationWarning, words))
    came, gone = arrivals.items(start, end), served.items(start, end)
    balance = None if came is None or gone is None else gone - came + _value_at_end(backlog, end)
    if balance is not None and at_restore > 0 and abs(balance - at_restore) > 0.1 * at_restore:
        more = "more" if balance > at_restore else "less"
        words = (
            f"served less arrived in the drain is {max(0.0, balance):,.0f}, {abs(balance - at_restore):,.0f} {more} than the "
            f"backlog of {at_restore:,.0f}: counts are approximate, or items expired, came again or went elsewhere"
        )
        doubts.append(Doubt(ApproximationWarning, words))
    if signal.back_min is None:
        words = f"the drain is not over at {until}, where the data end; rates are those seen until then"
        doubts.append(Doubt(LowerBoundWarning, words))
    return ObservedDrain(
        trigger=trigger,
        restore=restore,
        backlog=signal,
        backlog_at_restore=at_restore,
        drain_min=signal.back_min,
        before=baseline_rate(arrivals, trigger, SPAN_MIN),
        arrival=arrival,
        service=service,
        balance=balance,
        doubts=tuple(doubts),
    )


def _value_at(series: MetricSeries, at_s: float, zone: ZoneInfo) -> float:
    """The value at a moment, between the points next to it."""
    period = series.period_s or float(np.median(np.diff(series.times)))
    after = int(np.searchsorted(series.times, at_s))
    near = [place for place in (after - 1, after) if 0 <= place < len(series.times)]
    if not near or min(abs(float(series.times[place]) - at_s) for place in near) > 1.5 * period:
        at = format_instant(datetime.fromtimestamp(at_s, zone), zone)
        raise InputError(
            f"{series.title} ({series.origin}): has no point near the restore, {at}, so the backlog then is not known"
        )
    return float(np.interp(at_s, series.times, series.values))


def _value_at_end(series: MetricSeries, at_s: float) -> float:
    return float(np.interp(at_s, series.times, series.values))
