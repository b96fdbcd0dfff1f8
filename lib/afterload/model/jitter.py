"""Waits before retries, with and without jitter, and the load that clients which failed together put on a dependency.

The exponent counts from ``first_exponent`` at the first failure: AWS SDKs and gRPC count from 0, so that the first
wait is at most the base; the published contention figures count from 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from afterload.errors import ModelError
from afterload.model.checks import number, whole
from afterload.model.curves import FloatArray

__all__ = ["Backoff", "Jitter", "RetryWave", "retry_wave"]

Jitter: TypeAlias = Literal["none", "equal", "full", "decorrelated"]

# Equal shares by which a distribution that depends on the wait before it is carried on.
_SHARES = 2000


@dataclass(frozen=True)
class Backoff:
    """Waits before retries: with ``v = min(cap, base factor^(first_exponent + k - 1))`` before retry k,

    - none: ``v``; equal: ``v/2`` and up to ``v/2`` more; full: anything from 0 to ``v``, evenly;
    - decorrelated: ``min(cap, w)`` with w evenly from the base to three times the wait before, the base at first.

    Attributes:
        jitter: how chance enters.
        base_s: seconds; 0 for no wait at all.
        cap_s: longest wait in seconds; ``None`` for none.
        factor: growth from one retry to the next, at least 1; not used by decorrelated jitter.
        first_exponent: exponent at the first failure, 0 or more; not used by decorrelated jitter.
        first_at_once: whether the first retry is sent without a wait, as the AWS SDK for C++ and Azure Core do; not
            with decorrelated jitter.

    Raises:
        ModelError: a value out of its range, or an unknown kind of jitter.

    Source: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, and its simulator; "Timeouts, retries,
    and backoff with jitter", AWS Builders' Library.
    """

    jitter: Jitter = "full"
    base_s: float = 1.0
    cap_s: float | None = None
    factor: float = 2.0
    first_exponent: int = 0
    first_at_once: bool = False

    def __post_init__(self) -> None:
        if self.jitter not in get_args(Jitter):
            raise ModelError(f"jitter is {self.jitter!r}; give one of {', '.join(get_args(Jitter))}")
        base_s = number("base_s", self.base_s)
        if self.cap_s is not None and number("cap_s", self.cap_s) < base_s:
            raise ModelError(f"cap_s is {self.cap_s:g}, below base_s {base_s:g}")
        number("factor", self.factor, least=1.0)
        whole("first_exponent", self.first_exponent, least=0)
        if self.first_at_once and self.jitter == "decorrelated":
            raise ModelError("first_at_once is set; each wait of decorrelated jitter grows from the one before")

    def longest_s(self, retry: int) -> float:
        """The longest wait before a retry, in seconds; the first retry is 1.

        Raises:
            ModelError: the retry is no whole number of at least 1, or the wait is beyond all bounds.
        """
        k = whole("retry", retry)
        if k == 1 and self.first_at_once:
            return 0.0
        try:
            if self.jitter == "decorrelated":
                longest_s = self.base_s * 3.0**k
            else:
                longest_s = self.base_s * self.factor ** (self.first_exponent + k - 1)
        except OverflowError:
            longest_s = float("inf") if self.base_s else 0.0
        if self.cap_s is not None:
            return min(self.cap_s, longest_s)
        return number(f"the wait before retry {k}", longest_s)

    def mean_s(self, retry: int) -> float:
        """Mean wait before a retry, in seconds.

        Raises:
            ModelError: as :meth:`longest_s`.
        """
        longest_s = self.longest_s(retry)
        if self.jitter == "decorrelated":
            return float(np.mean(self._decorrelated(retry)))
        return longest_s * {"none": 1.0, "equal": 0.75, "full": 0.5}[self.jitter]

    def share_within(self, retry: int, t_s: npt.ArrayLike) -> FloatArray:
        """Share of waits before a retry that are over within each time.

        Parameters:
            retry: number of the retry; the first is 1.
            t_s: seconds, any shape.

        Returns:
            Shares, 0 to 1, of the same shape. Of decorrelated jitter by steps of 1/2,000 after its first retry.

        Raises:
            ModelError: as :meth:`longest_s`.
        """
        t = np.asarray(t_s, dtype=np.float64)
        longest_s = self.longest_s(retry)
        if self.jitter == "decorrelated":
            waits = self._decorrelated(retry)
            return np.asarray(np.searchsorted(waits, t, side="right") / len(waits), dtype=np.float64)
        least_s = {"none": longest_s, "equal": longest_s / 2.0, "full": 0.0}[self.jitter]
        if longest_s == least_s:
            return np.asarray(t >= longest_s, dtype=np.float64)
        return np.clip((t - least_s) / (longest_s - least_s), 0.0, 1.0)

    def sample_s(self, rng: np.random.Generator, clients: int, retries: int) -> FloatArray:
        """Waits of clients before each of their retries.

        Parameters:
            rng: source of chance.
            clients: clients, at least 1.
            retries: retries of each, at least 1.

        Returns:
            Seconds, shape (clients, retries).

        Raises:
            ModelError: as :meth:`longest_s`.
        """
        uniform = rng.random((whole("clients", clients), whole("retries", retries)))
        if self.jitter == "decorrelated":
            waits = np.empty_like(uniform)
            before: FloatArray = np.full(len(uniform), self.base_s)
            for k in range(uniform.shape[1]):
                before = self.after_s(before, uniform[:, k])
                waits[:, k] = before
            return waits
        longest_s = np.array([self.longest_s(k + 1) for k in range(uniform.shape[1])])
        if self.jitter == "none":
            return np.broadcast_to(longest_s, uniform.shape).copy()
        return longest_s * (0.5 + 0.5 * uniform if self.jitter == "equal" else uniform)

    def after_s(self, before_s: FloatArray, uniform: FloatArray) -> FloatArray:
        """Decorrelated waits that follow waits of ``before_s`` seconds, for random numbers from 0 to below 1."""
        waits = self.base_s + uniform * (3.0 * before_s - self.base_s)
        return np.asarray(waits if self.cap_s is None else np.minimum(waits, self.cap_s), dtype=np.float64)

    def _decorrelated(self, retry: int) -> FloatArray:
        """Waits before a retry at the middles of equal shares, rising, shape (shares,)."""
        middles: FloatArray = (np.arange(_SHARES, dtype=np.float64) + 0.5) / _SHARES
        waits = self.after_s(np.full(_SHARES, self.base_s), middles)
        for _ in range(retry - 1):
            parts: FloatArray = (np.arange(40, dtype=np.float64) + 0.5)[None, :] / 40.0
            fine = self.after_s(waits[:, None], parts)
            waits = np.asarray(np.sort(fine, axis=None).reshape(_SHARES, -1).mean(axis=1), dtype=np.float64)
        return waits


@dataclass(frozen=True, eq=False)
class RetryWave:
    """Retries of clients that failed together, counted in steps from their failure on.

    Waves are compared over the same span: a longer tail lowers the mean, and so raises peak over mean.

    Attributes:
        edges_s: borders of the steps in seconds after the failure, shape (steps + 1,).
        sends: retries sent in each step, shape (steps,).
        times_s: time of every retry in seconds after the failure, in order of time, shape (retries,).
        peak_per_s: most retries a second in a step.
        mean_per_s: retries a second over the span counted.
    """

    edges_s: FloatArray
    sends: npt.NDArray[np.int64]
    times_s: FloatArray
    peak_per_s: float
    mean_per_s: float

    @property
    def peak_to_mean(self) -> float:
        """Peak over mean; 1 if nothing was sent."""
        return self.peak_per_s / self.mean_per_s if self.mean_per_s else 1.0


def retry_wave(
    backoff: Backoff,
    clients: int,
    retries: int,
    rng: np.random.Generator,
    *,
    attempt_s: float = 0.0,
    restore_s: float | None = None,
    step_s: float = 1.0,
    span_s: float | None = None,
) -> RetryWave:
    """Load of clients whose first try failed at the same moment.

    Parameters:
        backoff: how they wait.
        clients: how many failed together, at least 1.
        retries: most retries of each, at least 1.
        rng: source of chance.
        attempt_s: seconds that a try takes to fail.
        restore_s: seconds after the first failure from which on a try succeeds, and its client stops; ``None``: the
            dependency stays away.
        step_s: length of a step in seconds, more than 0.
        span_s: seconds counted, rounded up to whole steps; later retries are left out. ``None``: to the last retry.

    Returns:
        The retries, without the first tries at 0. Without jitter, a base of 1 s and doubling they come at 1, 3, 7 s.

    Raises:
        ModelError: a value out of its range.
    """
    step = number("step_s", step_s, above=0.0)
    waits = backoff.sample_s(rng, clients, retries)
    busy_s = number("attempt_s", attempt_s)
    # The clock starts at the failure of the first try; a later try is sent before it takes its time to fail.
    sent_s = np.cumsum(waits, axis=1) + busy_s * np.arange(waits.shape[1])
    if restore_s is not None:
        restored = number("restore_s", restore_s)
        already = np.concatenate((np.zeros((len(sent_s), 1), dtype=np.bool_), sent_s[:, :-1] >= restored), axis=1)
        sent_s = sent_s[~already]
    times = np.sort(sent_s, axis=None)
    # A sum such as 0.1 + 0.2 must not fall into the step before the one it belongs to.
    place = np.floor(times / step + 1e-9).astype(np.int64)
    steps = int(place[-1]) + 1
    if span_s is not None:
        steps = math.ceil(number("span_s", span_s, least=step) / step - 1e-9)
        times, place = times[place < steps], place[place < steps]
    sends = np.bincount(place, minlength=steps)
    edges = np.asarray(step * np.arange(len(sends) + 1), dtype=np.float64)
    return RetryWave(
        edges_s=edges,
        sends=sends,
        times_s=times,
        peak_per_s=float(sends.max()) / step,
        mean_per_s=float(len(times) / edges[-1]),
    )
