"""Retries until a deadline instead of a count of attempts, as some libraries have them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from afterload.errors import ModelError
from afterload.model.checks import number
from afterload.model.curves import FloatArray
from afterload.model.jitter import Backoff
from afterload.model.policies import ClientLoad, Unlimited

__all__ = ["DeadlineAttempts"]

# Cells into which the time until the deadline is divided.
_CELLS = 4000
# Chances of a retry below this are left out; together they are less than a thousandth of a try.
_LEAST = 1e-6
_MOST_RETRIES = 1000


@dataclass(frozen=True)
class DeadlineAttempts(Unlimited):
    """No count of tries: a retry is sent as long as its wait ends before the deadline. There is no other limit.

    Attributes:
        backoff: how the client waits; not decorrelated, whose waits depend on each other.
        deadline_s: seconds from the first try, more than 0.

    Raises:
        ModelError: a deadline that is not more than 0, a base of 0, which would retry without a pause, or decorrelated
            jitter.

    Source: google-api-core, ``google/api_core/retry``: a wait that would end past the deadline is not begun; 1 s, x 2,
    up to 60 s, each wait evenly from 0, deadline 120 s.
    """

    backoff: Backoff
    deadline_s: float

    def __post_init__(self) -> None:
        number("deadline_s", self.deadline_s, above=0.0)
        number("base_s", self.backoff.base_s, above=0.0)
        if self.backoff.jitter == "decorrelated":
            raise ModelError("jitter is 'decorrelated'; a deadline can be followed for none, equal and full jitter")

    def open_loop(self, load: ClientLoad) -> float:
        """Mean tries a call: one, and each retry with the chance that all tries before it fail in time."""
        p = load.failure_probability
        return 1.0 + sum(p**k * chance for k, chance in enumerate(_in_time(self, load.attempt_s), start=1))

    def burst(self, load: ClientLoad) -> None:
        """No limit."""


@lru_cache(maxsize=256)
def _in_time(policy: DeadlineAttempts, attempt_s: float) -> tuple[float, ...]:
    """Chance of the first, second and so on retry that the waits and tries before it end by the deadline."""
    step = policy.deadline_s / _CELLS
    edges = step * (np.arange(_CELLS + 1) + 0.5)
    total: FloatArray = np.zeros(_CELLS + 1)
    total[0] = 1.0
    chances: list[float] = []
    for retry in range(1, _MOST_RETRIES + 1):
        # A share of waits stands at the middle of its cell, so that waits without jitter add up exactly.
        wait = np.diff(policy.backoff.share_within(retry, edges), prepend=0.0)
        total = np.convolve(total, wait)[: _CELLS + 1]
        latest = math.floor((policy.deadline_s - attempt_s * retry) / step + 1e-9)
        chance = float(total[: latest + 1].sum()) if latest >= 0 else 0.0
        if chance < _LEAST:
            break
        chances.append(min(1.0, chance))
    return tuple(chances)
