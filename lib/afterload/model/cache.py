"""A cache in front of a dependency: what is left of the capacity once its content is lost, and how it comes back."""

from __future__ import annotations

import math
from dataclasses import dataclass

from afterload.model.checks import number, whole

__all__ = ["CacheRefill", "cache_hidden_capacity", "cache_refill"]

_EULER = 0.5772156649015329


def cache_hidden_capacity(advertised_per_s: float, hit_rate: float) -> float:
    """What is left of an advertised capacity when the cache in front is empty, in requests a second.

    Parameters:
        advertised_per_s: what cache and dependency serve together at rest, above 0.
        hit_rate: share of requests that the cache answers at rest, 0 to below 1.

    Raises:
        ModelError: a value out of its range.

    Source: "Metastable Failures in the Wild", OSDI 2022, look-aside cache: 3,000/s at 90 % hits hide 300/s.
    """
    return number("advertised_per_s", advertised_per_s, above=0.0) * (1.0 - number("hit_rate", hit_rate, below=1.0))


@dataclass(frozen=True)
class CacheRefill:
    """How a cache that has lost its content comes back.

    Attributes:
        warm_s: seconds until the cache has its hit rate back, in the mean where clients fill it; ``None`` for never.
        clients_fit_s: seconds until all clients fit without harm; ``None`` for never.
        clients_first_per_s: requests a second that can be admitted at the start, beside the refill.
    """

    warm_s: float | None
    clients_fit_s: float | None
    clients_first_per_s: float


def cache_refill(
    load_per_s: float,
    capacity_per_s: float,
    hit_rate: float,
    keys: int,
    *,
    refill_per_s: float = 0.0,
    attempts_per_request: float = 1.0,
) -> CacheRefill:
    """Refill of an empty cache, ahead of the clients or by them.

    It starts empty, with reads timing out. Keys are equally popular, so the hit rate is ``hit_rate`` times the share of keys
    that are back. With a refill,
    ``refill_per_s`` of the capacity is its own and clients are admitted to the rest. Without one, only client reads that
    are answered fill the cache: more misses than the dependency bears all time out, and nothing is ever filled.

    Parameters:
        load_per_s: requests of clients, above 0.
        capacity_per_s: reads a second that the dependency behind the cache bears, above 0.
        hit_rate: share of requests that the full cache answers, above 0 to below 1.
        keys: entries of the full cache.
        refill_per_s: capacity kept for refill ahead of clients; 0 for none.
        attempts_per_request: attempts of a request while reads time out, at least 1.

    Raises:
        ModelError: a value out of its range, or a refill above the capacity.

    Source: OSDI 2022, look-aside cache; docs/model.md section 3: refill outranks clients.
    """
    load = number("load_per_s", load_per_s, above=0.0)
    capacity = number("capacity_per_s", capacity_per_s, above=0.0)
    hits = number("hit_rate", hit_rate, above=0.0, below=1.0)
    entries = whole("keys", keys)
    refill = number("refill_per_s", refill_per_s, most=capacity)
    attempts = number("attempts_per_request", attempts_per_request, least=1.0)
    misses_at_rest = load * (1.0 - hits)
    rest = capacity - refill
    if refill > 0.0:
        warm = entries / refill
        if misses_at_rest <= rest:
            fits: float | None = warm * max(0.0, 1.0 - rest / load) / hits
        else:
            # Only once the refill has given its share back.
            fits = warm if misses_at_rest <= capacity else None
        return CacheRefill(warm, fits, min(load, rest))
    if load * attempts > capacity:
        return CacheRefill(None, None, min(load, capacity / attempts))
    # The last missing key is read after keys x (1 + 1/2 + ... + 1/keys) reads of cacheable keys, in the mean.
    reads = entries * (math.log(entries) + _EULER + 0.5 / entries - 1.0 / (12.0 * entries**2))
    return CacheRefill(reads / (load * hits), 0.0, load)
