"""Side effects that happen twice: redelivered work, retried calls, and keys that expire before the work is replayed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from afterload.errors import ModelError
from afterload.model.checks import number, whole
from afterload.model.curves import FloatArray
from afterload.model.retries import tries_per_call

__all__ = ["Duplicates", "KeyCover", "duplicates_without_keys", "key_cover_from_pieces"]


@dataclass(frozen=True)
class Duplicates:
    """Side effects of one item without an idempotency key.

    Attributes:
        deliveries: mean deliveries of an item.
        calls: mean calls made for an item.
        effects: mean times that the side effect takes place.
        done_probability: chance that it takes place at all.
    """

    deliveries: float
    calls: float
    effects: float
    done_probability: float

    @property
    def duplicates(self) -> float:
        """Mean side effects beyond the first; times the number of items, those to expect in all."""
        return max(0.0, self.effects - self.done_probability)


def duplicates_without_keys(
    failure_probability: float,
    max_tries: int,
    *,
    effect_despite_failure: float,
    redelivery_probability: float = 0.0,
    max_deliveries: int = 1,
) -> Duplicates:
    """Side effects of an item whose handler calls a service without an idempotency key.

    A delivery whose tries all fail comes again; one that succeeded comes again with ``redelivery_probability``, as
    queues deliver at least once. Chances are independent.

    Parameters:
        failure_probability: chance, 0 to 1, that one try is seen to fail.
        max_tries: most tries in one delivery, at least 1.
        effect_despite_failure: share, 0 to 1, of failed tries that had taken effect, such as a time-out after the
            work was done.
        redelivery_probability: chance, 0 to 1, that an item comes again although it was done.
        max_deliveries: most deliveries of an item, at least 1.

    Returns:
        Means for one item.

    Raises:
        ModelError: a value out of its range.

    Source: "Making retries safe with idempotent APIs", AWS Builders' Library; the sums are exact.
    """
    p = number("failure_probability", failure_probability, most=1.0)
    hidden = number("effect_despite_failure", effect_despite_failure, most=1.0)
    again = number("redelivery_probability", redelivery_probability, most=1.0)
    tries, most = whole("max_tries", max_tries), whole("max_deliveries", max_deliveries)
    failed = p**tries
    comes_again = failed + (1.0 - failed) * again
    # Deliveries stop at random times that depend on the past only, so mean effects are mean tries times one's effect.
    deliveries = tries_per_call(min(1.0, comes_again), most)
    calls = deliveries * tries_per_call(p, tries)
    effects = calls * ((1.0 - p) + p * hidden)
    # Nothing at all happens only if every try of every delivery fails without effect.
    return Duplicates(deliveries, calls, effects, 1.0 - (p * (1.0 - hidden)) ** (tries * most))


@dataclass(frozen=True)
class KeyCover:
    """Replayed work with idempotency keys of a limited life.

    Attributes:
        replayed: items replayed.
        unprotected: of these, items whose key had expired.
        unprotected_share: the same as a share, 0 to 1; 0 if nothing is replayed.
        oldest_h: largest age at replay in hours: the key life that would cover every item.
    """

    replayed: float
    unprotected: float
    unprotected_share: float
    oldest_h: float


def key_cover_from_pieces(
    first_h: npt.ArrayLike, last_h: npt.ArrayLike, items: npt.ArrayLike, key_life_h: float
) -> KeyCover:
    """Replays that come after their key has expired, from pieces in which the age changes evenly.

    Parameters:
        first_h, last_h: age at replay in hours of the first and of the last item of each piece, shape (pieces,).
        items: items of each piece, shape (pieces,).
        key_life_h: hours that a key is kept, more than 0.

    Raises:
        ModelError: a value out of its range, or shapes that do not match.
    """
    life_h = number("key_life_h", key_life_h, above=0.0)
    first, last, counts = _amounts("first_h", first_h), _amounts("last_h", last_h), _amounts("items", items)
    if not len(first) == len(last) == len(counts):
        raise ModelError(f"first_h, last_h and items have {len(first)}, {len(last)} and {len(counts)} values")
    rise = last - first
    crossing = np.divide(life_h - first, rise, out=np.zeros_like(rise), where=np.abs(rise) > 1e-12)
    share = np.where(
        np.abs(rise) > 1e-12,
        np.where(rise > 0.0, 1.0 - np.clip(crossing, 0.0, 1.0), np.clip(crossing, 0.0, 1.0)),
        first > life_h * (1.0 + 1e-9),
    )
    late, replays = float(share @ counts), float(counts.sum())
    full = counts > 0.0
    oldest_h = float(np.maximum(first, last)[full].max(initial=0.0))
    return KeyCover(replays, late, late / replays if replays else 0.0, oldest_h)


def _amounts(name: str, values: npt.ArrayLike) -> FloatArray:
    seen = np.asarray(values, dtype=np.float64)
    if seen.ndim != 1:
        raise ModelError(f"{name} has shape {seen.shape}; give a one-dimensional array")
    if not bool(np.all(np.isfinite(seen) & (seen >= 0.0))):
        raise ModelError(f"{name} holds a value that is negative or not finite")
    return seen
