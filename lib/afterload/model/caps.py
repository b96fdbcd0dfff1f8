"""Arithmetic of caps and ramps: what concurrency means in items a minute, and how much a dependency bears."""

from __future__ import annotations

import math
from fractions import Fraction

from afterload.model.checks import number
from afterload.model.queues import Ramp

__all__ = ["cap_rate_per_min", "highest_safe_cap", "implied_headroom", "ramp_passes_after_s"]


def cap_rate_per_min(concurrency: float, item_time_s: float) -> float:
    """Items a minute that ``concurrency`` items at once make, each taking ``item_time_s`` seconds.

    Raises:
        ModelError: a value out of its range.

    Source: docs/model.md section 1, ``60 c / d``.
    """
    return 60.0 * number("concurrency", concurrency) / number("item_time_s", item_time_s, above=0.0)


def highest_safe_cap(dependency_rate_per_min: float, direct_per_min: float, item_time_s: float) -> int:
    """The highest concurrency that keeps consumers and direct traffic within a dependency's tested rate.

    Parameters:
        dependency_rate_per_min: calls a minute to which the dependency is tested.
        direct_per_min: calls a minute that reach it beside the consumers.
        item_time_s: seconds that an item, with its one call, takes.

    Returns:
        ``floor((dependency - direct) x d / 60)``; 0 where direct traffic leaves nothing.

    Raises:
        ModelError: a value out of its range.

    Source: docs/model.md section 1.
    """
    bears = _decimal(number("dependency_rate_per_min", dependency_rate_per_min))
    direct = _decimal(number("direct_per_min", direct_per_min))
    exact = (bears - direct) * _decimal(number("item_time_s", item_time_s, above=0.0)) / 60
    # A rate worked out elsewhere may miss a whole number by its last digit; that must not cost a whole step.
    nearest = round(exact)
    if abs(exact - nearest) <= Fraction(1, 10**9) * max(1, abs(nearest)):
        return max(0, nearest)
    return max(0, math.floor(exact))


def implied_headroom(outage_min: float, drain_min: float) -> float:
    """Service rate over arrival rate that a past event implies: ``1 + outage / drain``.

    Parameters:
        outage_min: minutes at a standstill.
        drain_min: minutes from the restore to an empty queue, more than 0.

    Raises:
        ModelError: a value out of its range.

    Source: docs/model.md section 1; 289 min and 80 min imply 4.6125.
    """
    return 1.0 + number("outage_min", outage_min) / number("drain_min", drain_min, above=0.0)


def ramp_passes_after_s(ramp: Ramp, item_time_s: float, rate_per_min: float) -> float | None:
    """Seconds from the start of a ramp until its drain reaches a rate on its way beyond it.

    Parameters:
        ramp: the consumers' concurrency.
        item_time_s: seconds that an item takes.
        rate_per_min: the rate to watch, such as the one a dependency is tested to less direct traffic.

    Returns:
        Seconds, 0 if the ramp starts at or above the rate; ``None`` if it never gets beyond it.

    Raises:
        ModelError: a value out of its range.

    Source: docs/model.md section 1.
    """
    seconds = number("item_time_s", item_time_s, above=0.0)
    concurrency = number("rate_per_min", rate_per_min) * seconds / 60.0
    if ramp.ceiling <= concurrency:
        return None
    if ramp.start >= concurrency:
        return 0.0 if ramp.start > concurrency or ramp.per_min > 0.0 else None
    if ramp.per_min == 0.0:
        return None
    return 60.0 * (concurrency - ramp.start) / ramp.per_min


def _decimal(value: float) -> Fraction:
    """The decimal number that a person reads, not the binary one next to it."""
    return Fraction(repr(value))
