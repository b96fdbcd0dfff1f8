"""One metric over time as plain arrays, made from points in any order, with every point that was left out counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

import numpy as np
import numpy.typing as npt

from afterload.errors import ModelError
from afterload.model.curves import FloatArray
from afterload.model.spacing import missing_spans, period_of
from afterload.readers.reading import Origin, Remark

__all__ = ["MetricFile", "MetricSeries", "Points", "clock", "statistic_of"]

# Words by which exports name a statistic.
STATISTICS = {
    "sum": "sum", "total": "sum", "average": "average", "avg": "average", "mean": "average", "max": "max",
    "maximum": "max", "min": "min", "minimum": "min", "samplecount": "count", "count": "count",
}  # fmt: skip
Stamp = Literal["start", "end", "unknown"]


@dataclass(frozen=True, eq=False)
class MetricSeries:
    """One metric over time.

    Attributes:
        name: what the export calls it.
        labels: further names and values that tell it from others, sorted.
        statistic: what a value is of the points in its period: sum, average, max, min, count, a percentile such as p99, or
            unknown.
        unit: as the export states it; None where it does not.
        times: seconds since 1970 in UTC, rising, no two equal, shape (n,).
        values: in ``unit``, finite, shape (n,).
        period_s: seconds between points, found from their times; None where they share no period.
        gaps: (start, end) of spans without points, in seconds since 1970. What happened there is not known; it is not zero.
        origin: file and place.
        rows_dropped: points of the file that were not used; the file's remarks say why.
        stamp: whether a time is the start or the end of the period that its value covers.
    """

    name: str
    labels: tuple[tuple[str, str], ...]
    statistic: str
    unit: str | None
    times: FloatArray
    values: FloatArray
    period_s: float | None
    gaps: tuple[tuple[float, float], ...]
    origin: Origin
    rows_dropped: int = 0
    stamp: Stamp = "unknown"

    def __post_init__(self) -> None:
        if self.times.shape != self.values.shape or self.times.ndim != 1:
            raise ModelError(f"{self.name}: {self.times.shape} times for {self.values.shape} values")
        if not (np.isfinite(self.times).all() and np.isfinite(self.values).all() and (np.diff(self.times) > 0).all()):
            raise ModelError(f"{self.name}: times must rise, and times and values must be finite")
        self.times.setflags(write=False)
        self.values.setflags(write=False)

    @property
    def title(self) -> str:
        """Name and labels, as people write them."""
        labels = ", ".join(f"{name}={value}" for name, value in self.labels)
        return f"{self.name} ({labels})" if self.name and labels else self.name or labels or "unnamed"

    @property
    def starts(self) -> FloatArray:
        """Start of the period of each value, in seconds since 1970. A stamp that is not known is taken as a start."""
        return self.times - (self.period_s or 0.0) if self.stamp == "end" else self.times


@dataclass(frozen=True)
class MetricFile:
    """The series of one file, in its order, and what a person should know about them."""

    series: tuple[MetricSeries, ...]
    remarks: tuple[Remark, ...] = ()

    def named(self, name: str) -> tuple[MetricSeries, ...]:
        """The series of a name."""
        return tuple(item for item in self.series if item.name == name)


def clock(seconds: float) -> str:
    """A time of a series for a message, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def statistic_of(text: str) -> str:
    """The statistic that a name or label ends with or states, such as ``Latency p99`` or ``Errors (Sum)``, else unknown."""
    words = "".join(char.lower() if char.isalnum() or char == "." else " " for char in text).split()
    for word in reversed(words):
        if word in STATISTICS and word != "total":
            return STATISTICS[word]
        if word[0] == "p" and word[1:].replace(".", "", 1).isdigit() and 0 < float(word[1:]) <= 100:
            return word
    return "unknown"


@dataclass
class Points:
    """Points of one series as a file has them: in any order, perhaps twice, perhaps not finite.

    ``ranks`` tells which of two values at one time is the better one: the higher. Equal ranks are equally good. ``grid`` holds
    the times at which the file has a row, with a value or without; it shows the period where values are few.
    """

    name: str
    place: str
    labels: dict[str, str] = field(default_factory=dict)
    statistic: str = "unknown"
    unit: str | None = None
    stamp: Stamp = "unknown"
    times: list[FloatArray] = field(default_factory=list)
    values: list[FloatArray] = field(default_factory=list)
    ranks: list[npt.NDArray[np.int64]] = field(default_factory=list)
    grid: FloatArray | None = None
    dropped: int = 0

    def add(self, times: FloatArray, values: FloatArray, rank: int = 0) -> None:
        """More points, all of one rank."""
        self.times.append(times)
        self.values.append(values)
        self.ranks.append(np.full(len(times), rank, dtype=np.int64))

    def series(self, file: str, exported_at: datetime, remarks: list[Remark]) -> MetricSeries:
        """The series that the points make; what was left out goes to ``remarks``."""
        times, values = _joined(self.times), _joined(self.values)
        ranks = np.concatenate(self.ranks) if self.ranks else np.zeros(0, dtype=np.int64)
        dropped = self.dropped

        def doubt(text: str) -> None:
            remarks.append(Remark("doubt", f"{self.name or self.place}: {text}", file))

        for is_odd, words in (
            (np.isnan(values), "NaN (no data; not taken as zero)"),
            (np.isinf(values), "infinite (such as a division by zero)"),
        ):
            if is_odd.any():
                first = float(times[is_odd].min())
                doubt(f"{_counted(int(is_odd.sum()))} {words} and left out, the first at {clock(first)}")
        rows = np.unique(times if self.grid is None else self.grid)
        finite = np.isfinite(values)
        dropped += int((~finite).sum())
        times, values, ranks = times[finite], values[finite], ranks[finite]
        order = np.lexsort((values, ranks, times))
        times, values, ranks = times[order], values[order], ranks[order]
        if len(times) > 1 and not (np.diff(times) > 0).all():
            times, values, lost = _merged(times, values, ranks, doubt)
            dropped += lost
        period = period_of(rows) or period_of(times)
        gaps = () if period is None else missing_spans(times, period)
        if period is None and len(times) > 2:
            doubt("its points have no common period, so gaps cannot be told")
        origin = Origin(file, self.place, exported_at)
        labels = tuple(sorted(self.labels.items()))
        return MetricSeries(
            self.name, labels, self.statistic, self.unit, times, values, period, gaps, origin, dropped, self.stamp
        )


def _joined(parts: Iterable[FloatArray]) -> FloatArray:
    parts = list(parts)
    return np.concatenate(parts).astype(np.float64) if parts else np.zeros(0)


def _counted(number: int) -> str:
    return "1 value is" if number == 1 else f"{number:,} values are"


def _merged(
    times: FloatArray, values: FloatArray, ranks: npt.NDArray[np.int64], doubt: Callable[[str], None]
) -> tuple[FloatArray, FloatArray, int]:
    """One value for each time. Points come sorted by time, rank and value."""
    last = np.append(np.diff(times) > 0, True)
    first = np.append(True, last[:-1])
    group = np.cumsum(first) - 1
    best = ranks == ranks[last][group]
    # Of the best rank, the lowest and the highest value at each time; sorted, they are its first and last.
    begins = np.flatnonzero(best & ~np.append(False, best[:-1] & ~first[1:]))
    low, high = values[begins], values[last]
    torn = low != high
    older = (ranks > 0) & ~best
    overruled = older & (values != high[group])
    if overruled.any():
        place = int(np.flatnonzero(overruled)[0])
        doubt(
            f"{int(overruled.sum()):,} complete values differ from newer complete ones, the first at "
            f"{clock(float(times[place]))}: {values[place]:.12g}, then {high[group[place]]:.12g}; the newer is kept"
        )
    if torn.any():
        place = int(np.flatnonzero(torn)[0])
        doubt(
            f"{int(torn.sum()):,} times have two different values, the first {clock(float(times[last][place]))}: "
            f"{low[place]:.12g} and {high[place]:.12g}; all of these times are left out: perhaps two series have one name here"
        )
    kept = ~torn
    lost = int(np.isin(group, np.flatnonzero(torn)).sum())
    return times[last][kept], high[kept], lost
