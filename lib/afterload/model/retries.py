"""Calls made by retries: one layer, and layers stacked on each other.

Failures are independent with probability ``p`` per call at the bottom. That is the friendly case: in an outage they
are not independent, and ``p`` is 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from afterload.errors import ModelError
from afterload.model.checks import number, whole

__all__ = ["RetryStack", "stack", "tries_per_call"]


def tries_per_call(failure_probability: float, max_tries: int) -> float:
    """Mean tries made for one call, the first one included.

    Parameters:
        failure_probability: chance that one try fails, 0 to 1, independent of the others.
        max_tries: most tries made (retries + 1), at least 1.

    Returns:
        ``(1 - p^n) / (1 - p)``, between 1 and ``max_tries``; ``p = 1`` gives ``max_tries``.

    Raises:
        ModelError: a value out of its range.

    Source: docs/model.md section 2.
    """
    p = number("failure_probability", failure_probability, most=1.0)
    n = whole("max_tries", max_tries)
    if p == 0.0:
        return 1.0
    if p == 1.0:
        return float(n)
    # 1 - p^n loses every digit near p = 1; expm1 of the logarithm keeps them.
    log_p = math.log(p)
    return min(float(n), math.expm1(n * log_p) / math.expm1(log_p))


@dataclass(frozen=True)
class RetryStack:
    """What layers of retries do to the dependency below them; all tuples run from the top layer to the bottom.

    Attributes:
        max_tries: most tries of each layer for one call of its own.
        tries: mean calls that each layer makes to the layer below for one call of its own.
        failure_seen: chance that one try of each layer fails.
        failure_after: chance that each layer still fails after its last try.
        calls_per_top_call: mean calls that leave each layer for one call at the top.
    """

    max_tries: tuple[int, ...]
    tries: tuple[float, ...]
    failure_seen: tuple[float, ...]
    failure_after: tuple[float, ...]
    calls_per_top_call: tuple[float, ...]

    @property
    def multiplier(self) -> float:
        """Mean calls at the dependency for one call at the top."""
        return self.calls_per_top_call[-1]

    @property
    def success_probability(self) -> float:
        """Chance, 0 to 1, that a call at the top succeeds in the end."""
        return 1.0 - self.failure_after[0]


def stack(max_tries: Sequence[int], failure_probability: float) -> RetryStack:
    """Calls made down a stack of layers that each retry.

    Parameters:
        max_tries: most tries of each layer, from the top to the bottom; 1 is a layer that does not retry.
        failure_probability: chance, 0 to 1, that one call of the dependency below the stack fails.

    Returns:
        The figures of every layer. From the bottom up a layer that sees failure ``q`` makes
        ``(1 - q^n) / (1 - q)`` calls and fails with ``q^n``.

    Raises:
        ModelError: no layer, or a value out of its range.

    Source: docs/model.md section 2; five layers of three tries at ``p = 1`` make 3, 9, 27, 81 and 243 calls.
    """
    if len(max_tries) == 0:
        raise ModelError("max_tries is empty; give the tries of at least one layer")
    layers = tuple(whole(f"max_tries[{place}]", n) for place, n in enumerate(max_tries))
    seen_below = number("failure_probability", failure_probability, most=1.0)
    tries: list[float] = []
    seen: list[float] = []
    after: list[float] = []
    for n in reversed(layers):
        seen.append(seen_below)
        tries.append(tries_per_call(seen_below, n))
        seen_below = seen_below**n
        after.append(seen_below)
    tries.reverse()
    calls: list[float] = []
    product = 1.0
    for made in tries:
        product *= made
        calls.append(product)
    return RetryStack(layers, tuple(tries), tuple(reversed(seen)), tuple(reversed(after)), tuple(calls))
