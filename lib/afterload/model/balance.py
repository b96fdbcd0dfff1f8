"""A retry bucket as a chain of levels: what it earns, what it pays, when it is empty, what it lets through for ever.

A call is tried up to a number of attempts. Failures are independent with probability ``p``. The bucket holds a whole
number of levels; a caller with fractions of tokens chooses its unit so that they become whole. Calls of one client
are taken one after the other: calls that overlap share the same bucket, and only the order of its changes differs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from afterload.errors import ModelError
from afterload.model.checks import number, whole
from afterload.model.curves import FloatArray
from afterload.model.retries import tries_per_call

__all__ = ["MOST_LEVELS", "BalanceRule"]

# A chain of so many levels is solved in about a tenth of a second; see `sustained` for larger buckets.
MOST_LEVELS = 1500


@dataclass(frozen=True)
class BalanceRule:
    """What calls do to a bucket of tokens that retries are paid from.

    Attributes:
        size: levels in a full bucket; a new client starts full.
        retry_needs: least level at which a retry is sent.
        max_attempts: most tries of a call, the first one included; ``None`` for as many as the bucket pays.
        cost_per_retry: levels that a retry takes.
        per_failure: levels that every failed try takes, down to 0, whether or not it is retried.
        per_call: levels that every call earns before its first try.
        per_first_try_success: levels earned by a call whose first try succeeds.
        per_retried_success: levels earned by a call that succeeds after a retry.

    Raises:
        ModelError: a value that is not a whole number in its range, a bucket that nothing takes from, or one that
            earns nothing, which would be empty for good.
    """

    size: int
    retry_needs: int
    max_attempts: int | None
    cost_per_retry: int = 0
    per_failure: int = 0
    per_call: int = 0
    per_first_try_success: int = 0
    per_retried_success: int = 0

    def __post_init__(self) -> None:
        whole("size", self.size)
        if self.max_attempts is not None:
            whole("max_attempts", self.max_attempts)
        for name in ("cost_per_retry", "per_failure", "per_call", "per_first_try_success", "per_retried_success"):
            whole(name, getattr(self, name), least=0)
        if self.cost_per_retry + self.per_failure == 0:
            raise ModelError("cost_per_retry and per_failure are both 0; a bucket that nothing takes from is no limit")
        if self.per_call + self.per_first_try_success == 0:
            raise ModelError("per_call and per_first_try_success are both 0; such a bucket would stay empty for good")
        if whole("retry_needs", self.retry_needs) < self.cost_per_retry:
            raise ModelError(f"retry_needs is {self.retry_needs}, less than cost_per_retry {self.cost_per_retry}")

    def open_loop(self, failure_probability: float) -> float | None:
        """Mean tries of a call while the bucket lets every retry through; ``None`` without an end.

        Raises:
            ModelError: the probability is not within 0 to 1.
        """
        p = number("failure_probability", failure_probability, most=1.0)
        if self.max_attempts is not None:
            return tries_per_call(p, self.max_attempts)
        return None if p == 1.0 else 1.0 / (1.0 - p)

    def drift(self, failure_probability: float) -> float:
        """Levels that a call adds (negative: takes) on average, away from both ends of the bucket.

        For three attempts, a gain of 1 and a refund of the last retry's cost ``c`` this is
        ``(1 - p) - c p^2 (1 - p) - 2 c p^3``. Minus infinity if calls are tried without end.

        Raises:
            ModelError: the probability is not within 0 to 1.
        """
        p = number("failure_probability", failure_probability, most=1.0)
        tries = self.open_loop(p)
        if tries is None:
            return -math.inf
        after_retry = p - (p**self.max_attempts if self.max_attempts is not None else 0.0)
        return (
            self.per_call
            + (1.0 - p) * self.per_first_try_success
            + after_retry * self.per_retried_success
            - (tries - 1.0) * self.cost_per_retry
            - p * tries * self.per_failure
        )

    def empties_above(self) -> float | None:
        """Failure probability above which a bucket loses more than it earns; ``None`` if it never does."""
        if self.drift(1.0) >= 0.0:
            return None
        low, high = 0.0, 1.0
        for _ in range(80):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self.drift(middle) >= 0.0 else (low, middle)
        return (low + high) / 2.0

    def burst(self) -> tuple[int, int, int]:
        """Retries that a full bucket pays if every try fails, the calls that this takes, and the level it leaves.

        Counted until a call ends below ``retry_needs``.

        Raises:
            ModelError: the bucket does not empty even if every try fails.
        """
        if self.drift(1.0) >= 0.0:
            raise ModelError("this bucket earns as much as it pays even when every try fails, so it never empties")
        level, retries, calls = self.size, 0, 0
        while level >= self.retry_needs:
            level, tries = self._call_when_all_fails(level)
            retries += tries - 1
            calls += 1
        return retries, calls, level

    def calls_to_empty(self, failure_probability: float) -> float | None:
        """Mean calls from a full bucket until one ends below ``retry_needs``; ``None`` unless it loses on average.

        Exact up to ``MOST_LEVELS`` levels, from the drift above. Chance can empty a bucket that earns more than it
        loses, but only after times without meaning for a recovery.

        Raises:
            ModelError: the probability is not within 0 to 1.
        """
        p = number("failure_probability", failure_probability, most=1.0)
        loss = -self.drift(p)
        if loss <= 0.0:
            return None
        if self.size < self.retry_needs:
            return 0.0
        if self.size > MOST_LEVELS:
            return (self.size - self.retry_needs) / loss
        moves, _ = _moves(self, p)
        inside = moves[self.retry_needs :, self.retry_needs :]
        steps = np.linalg.solve(np.eye(len(inside)) - inside, np.ones(len(inside)))
        return float(steps[-1])

    def sustained(self, failure_probability: float) -> float:
        """Mean tries of a call in the long run, with the bucket at its own balance.

        Exact from the stationary distribution of the levels; buckets of more than ``MOST_LEVELS`` levels use
        :meth:`sustained_fluid`, which is what the chain tends to.

        Raises:
            ModelError: the probability is not within 0 to 1.
        """
        p = number("failure_probability", failure_probability, most=1.0)
        if self.size > MOST_LEVELS:
            return float(self.sustained_fluid(p))
        return _sustained(self, p)

    def sustained_fluid(self, failure_probability: npt.ArrayLike) -> FloatArray:
        """Mean tries of a call in the long run as token rates alone give them, for many probabilities at once.

        Every retry that a bucket at its bottom pays costs ``cost_per_retry`` less the refund in case it succeeds, so
        what is earned, divided by that, is the share of calls that can be retried: for a gain of 1 and a refund of
        the last cost ``c`` it is ``(1 - p) / (c p)``, whatever the number of attempts. Against :meth:`sustained` a
        quota of 500 is 0.5 % too high at :meth:`empties_above` itself and the same to six digits at a distance of
        0.1; a small bucket whose failures alone take tokens switches off more gradually than this step.

        Parameters:
            failure_probability: chances, 0 to 1, any shape.

        Returns:
            Tries per call, of the same shape.

        Raises:
            ModelError: a probability is not within 0 to 1.
        """
        p = np.asarray(failure_probability, dtype=np.float64)
        if not bool(np.all((p >= 0.0) & (p <= 1.0))):
            bad = p[~((p >= 0.0) & (p <= 1.0))]
            raise ModelError(f"failure_probability holds {bad.flat[0]:g}; chances are 0 to 1")
        fails = np.where(p == 1.0, 0.5, p)
        n = np.inf if self.max_attempts is None else float(self.max_attempts)
        more = np.where(p == 1.0, n - 1.0, (fails - fails**n) / (1.0 - fails))
        if self.per_failure:
            earned = self.per_call + (1.0 - p) * self.per_first_try_success
            after_retry = (p - np.where(p == 1.0, 1.0, fails**n)) * self.per_retried_success
            retried = more * self.cost_per_retry if self.cost_per_retry else np.zeros_like(p)
            holds = earned + after_retry >= retried + p * (1.0 + more) * self.per_failure
            return np.asarray(1.0 + np.where(holds, more, 0.0), dtype=np.float64)
        earned = self.per_call + (1.0 - p) * self.per_first_try_success
        paid = self.cost_per_retry - (1.0 - p) * self.per_retried_success
        bound = np.divide(earned, paid, out=np.full_like(p, np.inf), where=paid > 0.0)
        return np.asarray(1.0 + np.minimum(more, bound), dtype=np.float64)

    def _call_when_all_fails(self, level: int) -> tuple[int, int]:
        """Level after one call of which every try fails, and the tries it made."""
        level = min(level + self.per_call, self.size)
        tries = 1
        while True:
            level = max(0, level - self.per_failure)
            if level < self.retry_needs or tries == self.max_attempts:
                return level, tries
            level -= self.cost_per_retry
            tries += 1


def _ends(rule: BalanceRule, p: float) -> Iterator[tuple[npt.NDArray[np.int64], FloatArray, FloatArray]]:
    """For every start level: a level at which a call may end, its chance, and the chance that one more try was made."""
    level = np.minimum(np.arange(rule.size + 1) + rule.per_call, rule.size)
    chance: FloatArray = np.ones(rule.size + 1)
    tried = 1
    while bool(np.any(chance > 0.0)):
        gain = rule.per_first_try_success if tried == 1 else rule.per_retried_success
        yield np.minimum(level + gain, rule.size), chance * (1.0 - p), chance
        chance = chance * p
        level = np.maximum(level - rule.per_failure, 0)
        again = level >= rule.retry_needs
        if tried == rule.max_attempts:
            again = np.zeros_like(again)
        yield level, np.where(again, 0.0, chance), np.zeros_like(chance)
        level = np.where(again, level - rule.cost_per_retry, level)
        chance = np.where(again, chance, 0.0)
        tried += 1


@lru_cache(maxsize=8)
def _moves(rule: BalanceRule, p: float) -> tuple[FloatArray, FloatArray]:
    """Chance of each end level from each start level, shape (levels, levels), and mean tries, shape (levels,)."""
    levels = rule.size + 1
    moves: FloatArray = np.zeros((levels, levels))
    tries: FloatArray = np.zeros(levels)
    starts = np.arange(levels)
    for end, chance, tried in _ends(rule, p):
        moves[starts, end] += chance
        tries += tried
    moves.setflags(write=False)
    tries.setflags(write=False)
    return moves, tries


@lru_cache(maxsize=4096)
def _sustained(rule: BalanceRule, p: float) -> float:
    if p == 1.0:
        return _sustained_when_all_fails(rule)
    moves, tries = _moves(rule, p)
    # Any run of first-try successes fills the bucket, so one distribution exists; one equation is redundant.
    system = moves.T - np.eye(len(moves))
    system[-1] = 1.0
    right = np.zeros(len(moves))
    right[-1] = 1.0
    share = np.maximum(np.linalg.solve(system, right), 0.0)
    return float(share @ tries / share.sum())


def _sustained_when_all_fails(rule: BalanceRule) -> float:
    """Tries of a call once the levels repeat themselves, which they must, being finite."""
    seen: dict[int, int] = {}
    made: list[int] = []
    level = rule.size
    while level not in seen:
        seen[level] = len(made)
        level, tries = rule._call_when_all_fails(level)
        made.append(tries)
    return float(np.mean(made[seen[level] :]))
