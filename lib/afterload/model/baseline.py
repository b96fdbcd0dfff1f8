"""What is normal for a signal, and when it is normal again for good."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from afterload.errors import ModelError
from afterload.model.checks import number
from afterload.model.curves import FloatArray
from afterload.model.spacing import GAP

__all__ = ["Baseline", "Return", "baseline", "returns_below", "upper_edge"]

# Fewer points than these say nothing about what is normal.
LEAST_POINTS = 5
# A normal distribution's standard deviation is 1.4826 median absolute deviations.
MAD_TO_SD = 1.4826
SDS = 5.0
SHARE = 0.10


@dataclass(frozen=True)
class Baseline:
    """A signal before the trigger, in the signal's own unit.

    Attributes:
        median: the middle value.
        low, high: the values that 10 % and 90 % of the points stay at or below.
        most: the value that 99 % stay at or below.
        spread: a robust standard deviation (1.4826 median absolute deviations).
        points: how many points it rests on.
        from_s, until_s: the span that was looked at, in the times of the series.
    """

    median: float
    low: float
    high: float
    most: float
    spread: float
    points: int
    from_s: float
    until_s: float


@dataclass(frozen=True)
class Return:
    """When a signal is back at or below an edge, in the times of the series.

    Attributes:
        back_s: start of the first stretch without a gap that stays at or below the edge for the whole dwell; None if no
            stretch does.
        relapse_s: the first point above the edge after that stretch; None if none.
        pending_s: where the data end within a stretch that is still too short: its start; else None.
        seen_until_s: end of the last point.
    """

    back_s: float | None
    relapse_s: float | None
    pending_s: float | None
    seen_until_s: float


def baseline(times_s: FloatArray, values: FloatArray, until_s: float, span_s: float) -> Baseline:
    """The baseline of a signal in the span before a moment.

    Parameters:
        times_s, values: the series, shape (n,), times rising.
        until_s: the trigger; points from it on are left out.
        span_s: how far back to look, in seconds, more than 0.

    Raises:
        ModelError: the span holds fewer than five points.
    """
    span = number("span_s", span_s, above=0.0)
    seen = values[(times_s >= until_s - span) & (times_s < until_s)]
    if len(seen) < LEAST_POINTS:
        raise ModelError(
            f"only {len(seen)} points lie in the {span / 60:g} min before the trigger; a baseline needs {LEAST_POINTS}: "
            "export an earlier start, or look further back"
        )
    median = float(np.median(seen))
    low, high = (float(value) for value in np.quantile(seen, (0.1, 0.9)))
    # A value that was seen, not one between two: of rare errors each is as high as the next.
    most = float(np.quantile(seen, 0.99, method="higher"))
    spread = MAD_TO_SD * float(np.median(np.abs(seen - median)))
    return Baseline(median, low, high, most, spread, len(seen), until_s - span, until_s)


def upper_edge(normal: Baseline, tolerance: float | None = None) -> float:
    """The highest value that still counts as normal.

    Parameters:
        normal: the baseline.
        tolerance: how far above the median is normal, in the signal's unit; None to take the largest of five robust standard
            deviations, 10 % of the median, and the distance to the 99 % point.
    """
    if tolerance is not None:
        return normal.median + number("tolerance", tolerance)
    return max(normal.median + max(SDS * normal.spread, SHARE * abs(normal.median)), normal.most)


def returns_below(
    starts_s: FloatArray, values: FloatArray, period_s: float, after_s: float, edge: float, dwell_s: float
) -> Return | None:
    """When a signal comes back to an edge after a moment, and stays.

    Parameters:
        starts_s, values: the series, shape (n,); each value holds for ``period_s`` seconds from its start.
        period_s: seconds that a point covers.
        after_s: the restore. A point that covers it counts; the signal is back at the restore at the earliest.
        edge: highest value that is normal.
        dwell_s: seconds that it must stay there without a gap in the data. Missing data are not normal.

    Returns:
        The return; None where the series has no point after the restore.
    """
    kept = starts_s + period_s > after_s
    t, low = starts_s[kept], values[kept] <= edge
    if not len(t):
        return None
    ends = t + period_s
    joined = np.append(False, np.diff(t) <= GAP * period_s)
    # A stretch of normal points begins at a point that is not joined to a normal one before it.
    begins = low & ~(np.append(False, low[:-1]) & joined)
    firsts = np.flatnonzero(begins)
    # It ends at a normal point that the next one does not go on.
    lasts = np.flatnonzero(low & np.append(begins[1:] | ~low[1:], True))
    for first, last in zip(firsts, lasts, strict=True):
        start = max(float(t[first]), after_s)
        if float(ends[last]) - start >= dwell_s - 1e-6 * period_s:
            above_after = np.flatnonzero(~low[last:])
            return Return(
                start,
                float(t[last + above_after[0]]) if len(above_after) else None,
                None,
                float(ends[-1]),
            )
    pending = max(float(t[firsts[-1]]), after_s) if low[-1] else None
    return Return(None, None, pending, float(ends[-1]))
