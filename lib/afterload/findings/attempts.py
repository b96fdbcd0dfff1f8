"""Attempts per logical request, layer by layer, as the metrics of each layer count them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from afterload.errors import InputError
from afterload.findings.rates import RateSeries, resampled

__all__ = ["AttemptRatio", "LayerAttempts", "attempts_by_layer"]

# Layers whose periods differ are compared over the longest of them; a span with less than this share measured says nothing.
LEAST_SHARE = 0.5
# So long before the trigger and after the restore is looked at.
AROUND_S = 180.0 * 60


@dataclass(frozen=True)
class AttemptRatio:
    """Attempts for each logical request in one span of time.

    Attributes:
        per_request: attempts of the layer over logical requests, both in the span; None without requests or without data.
        most: the highest ratio to logical requests in any one period; None as above.
    """

    per_request: float | None
    most: float | None


@dataclass(frozen=True)
class LayerAttempts:
    """One layer before the trigger, in the outage, and after the restore."""

    name: str
    before: AttemptRatio
    outage: AttemptRatio
    after: AttemptRatio


def attempts_by_layer(
    layers: Sequence[tuple[str, RateSeries]], trigger: datetime, restore: datetime
) -> tuple[LayerAttempts, ...]:
    """Attempts per logical request of each layer.

    Parameters:
        layers: name and rate of each, from the logical requests at the top (counted once however often they are tried) to the
            attempts that reach the dependency.
        trigger, restore: the incident.

    Returns:
        One entry for each layer below the first.

    Raises:
        InputError: fewer than two layers.
    """
    if len(layers) < 2:
        raise InputError("attempts by layer need the logical requests and at least one layer of attempts below them")
    period = max(rates.period_s for _, rates in layers)
    even = [(name, resampled(rates, period)) for name, rates in layers]
    t, r = trigger.timestamp(), restore.timestamp()
    spans = ((t - AROUND_S, t), (t, r), (r, r + AROUND_S))
    found = []
    for (_, above), (name, rates) in itertools.pairwise(even):
        before, outage, after = (_ratio(even[0][1], above, rates, *span) for span in spans)
        found.append(LayerAttempts(name, before, outage, after))
    return tuple(found)


def _ratio(top: RateSeries, above: RateSeries, rates: RateSeries, start: float, end: float) -> AttemptRatio:
    common, (a, _, c) = _common((top, above, rates), start, end)
    span = max(end - start, 1e-9)
    share = min(1.0, common * rates.period_s / span)
    if not common or share < LEAST_SHARE or float(a.sum()) <= 0:
        return AttemptRatio(None, None)
    some = a > 0
    return AttemptRatio(float(c.sum() / a.sum()), float((c[some] / a[some]).max()))


def _common(
    several: tuple[RateSeries, ...], start: float, end: float
) -> tuple[int, tuple[np.ndarray[tuple[int], np.dtype[np.float64]], ...]]:
    """The rates of the periods in a span that all of several have, matched to the nearest period."""
    period = several[0].period_s
    slots = [np.round(rates.starts / period).astype(np.int64) for rates in several]
    shared = slots[0]
    for other in slots[1:]:
        shared = np.intersect1d(shared, other)
    shared = shared[(shared * period >= start - 0.5 * period) & ((shared + 1) * period <= end + 0.5 * period)]
    picked = []
    for rates, slot in zip(several, slots, strict=True):
        keys, first = np.unique(slot, return_index=True)
        picked.append(rates.per_min[first[np.searchsorted(keys, shared)]])
    return len(shared), tuple(picked)
