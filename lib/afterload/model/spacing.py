"""The period of a measured series, found from its times, and where it has none of its points."""

from __future__ import annotations

import numpy as np

from afterload.model.curves import FloatArray

__all__ = ["missing_spans", "period_of"]

# A point may come this share of a period early or late and still stand at its place.
JITTER = 0.05
# Shares of the distances: so many must be whole periods, and so many must be one period, for the period to be found.
WHOLE, SINGLE = 0.9, 0.05
FEW = 10
# Distances from here on, in periods, are a gap.
GAP = 1.5


def period_of(times_s: FloatArray) -> float | None:
    """The period in seconds at which a series has its points; None where their distances share none.

    Parameters:
        times_s: rising times in seconds, shape (n,).

    Returns:
        The smallest distance that is seen more than by chance and of which nine in ten distances are a whole multiple,
        within 5 % of it. A single distance, of two points, is taken as the period.
    """
    steps = np.diff(times_s)
    steps = steps[steps > 0]
    if not len(steps):
        return None
    if len(steps) == 1:
        return float(steps[0])
    sizes, counts = np.unique(np.round(steps, 3), return_counts=True)
    usual = float(np.median(steps))
    near = steps[np.abs(steps - usual) <= JITTER * usual]
    # Of a few points each distance counts; of many, one that is seen once may be a stray point's.
    least = 1.0 if len(steps) < FEW else max(2.0, SINGLE * len(steps))
    often = sizes[(counts >= least) & (sizes > 0)]
    for size in [float(size) for size in often] + ([float(np.median(near))] if len(near) > 1 else []):
        multiples = np.maximum(1.0, np.round(steps / size))
        if np.mean(np.abs(steps - multiples * size) <= JITTER * size) >= WHOLE:
            return size
    return None


def missing_spans(times_s: FloatArray, period_s: float) -> tuple[tuple[float, float], ...]:
    """Where a series has no points: from one period after a point to the next point, in seconds.

    Parameters:
        times_s: rising times in seconds, shape (n,).
        period_s: the series' period.
    """
    places = np.flatnonzero(np.diff(times_s) > GAP * period_s)
    return tuple((float(times_s[i]) + period_s, float(times_s[i + 1])) for i in places)
