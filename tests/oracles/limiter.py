"""The client rate limiter of adaptive retry mode, step by step: measured rate, cubic growth, token bucket.

Off until the first throttling error. From then on every send takes a token and waits for it. A throttling error
lowers the rate to ``BETA`` of what was measured; after it the rate grows along ``SCALE (t - k)^3 + w_max``.

Source: botocore, ``retries/adaptive.py``, ``retries/throttling.py`` and ``retries/bucket.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from afterload.model.checks import number

__all__ = ["BETA", "SCALE", "RateLimiter", "recovery_s"]

SCALE = 0.4
BETA = 0.7

_MEASURED_OVER_S = 0.5
_SMOOTHING = 0.8
_LEAST_RATE_PER_S = 0.5
_MOST_TIMES_MEASURED = 2.0


def recovery_s(rate_per_s: float) -> float:
    """Seconds after a throttling error until the allowed rate is back at the rate it was measured at.

    Parameters:
        rate_per_s: sends a second when the error came.

    Returns:
        ``(rate (1 - BETA) / SCALE)^(1/3)``: 4.2 s for 100 a second.

    Raises:
        ModelError: a rate negative or not finite.

    Source: botocore, ``CubicCalculator``.
    """
    return float((number("rate_per_s", rate_per_s) * (1.0 - BETA) / SCALE) ** (1 / 3.0))


@dataclass(frozen=True)
class RateLimiter:
    """State of the limiter of one client; :meth:`started`, :meth:`sending` and :meth:`received` give the next one.

    Attributes:
        enabled: whether a throttling error has been seen.
        rate_per_s: sends a second allowed, at least 0.5.
        capacity: tokens in a full bucket.
        tokens: tokens in the bucket at ``filled_at_s``.
        filled_at_s: clock time of the last refill.
        measured_per_s: responses a second as measured, smoothed.
        counted: responses since the last measurement.
        measured_at_s: clock time of the last measurement, a multiple of 0.5 s after the first.
        w_max_per_s: rate at the last throttling error.
        zero_s: seconds from the last throttling error at which the cubic passes ``w_max_per_s``.
        last_error_s: clock time of the last throttling error, or of the start.
    """

    enabled: bool
    rate_per_s: float
    capacity: float
    tokens: float
    filled_at_s: float
    measured_per_s: float
    counted: int
    measured_at_s: float
    w_max_per_s: float
    zero_s: float
    last_error_s: float

    @classmethod
    def started(cls, now_s: float) -> RateLimiter:
        """The limiter of a client made at a clock time in seconds.

        Raises:
            ModelError: a time negative or not finite.
        """
        now = number("now_s", now_s)
        return cls(False, 1.0, 1.0, 0.0, now, 0.0, 0, float(math.floor(now)), 0.0, 0.0, now)

    def sending(self, now_s: float) -> tuple[RateLimiter, float]:
        """The state after a send asked for at ``now_s``, and the clock time at which it leaves."""
        if not self.enabled:
            return self, now_s
        state = self._filled(now_s)
        while state.tokens < 1.0:
            wait_s = (1.0 - state.tokens) / state.rate_per_s
            if wait_s <= 0.0:
                break
            # A wait too short to be seen on the clock would never end.
            now_s = max(now_s + wait_s, math.nextafter(now_s, math.inf))
            state = state._filled(now_s)
        return replace(state, tokens=state.tokens - 1.0), now_s

    def received(self, now_s: float, *, throttled: bool) -> RateLimiter:
        """The state after a response, or an error without one, at ``now_s``."""
        state = self._counted_one(now_s)
        if throttled:
            measured = state.measured_per_s
            reached = min(measured, state.rate_per_s) if state.enabled else measured
            state = replace(state, enabled=True, w_max_per_s=reached, zero_s=recovery_s(reached), last_error_s=now_s)
            new_rate = reached * BETA
        else:
            new_rate = SCALE * (now_s - state.last_error_s - state.zero_s) ** 3 + state.w_max_per_s
        return state._limited_to(min(new_rate, _MOST_TIMES_MEASURED * state.measured_per_s), now_s)

    def _counted_one(self, now_s: float) -> RateLimiter:
        per_s = 1 / _MEASURED_OVER_S
        mark = math.floor(now_s * per_s) / per_s
        counted = self.counted + 1
        if mark <= self.measured_at_s:
            return replace(self, counted=counted)
        current = counted / (mark - self.measured_at_s)
        smoothed = current * _SMOOTHING + self.measured_per_s * (1 - _SMOOTHING)
        return replace(self, measured_per_s=smoothed, counted=0, measured_at_s=mark)

    def _limited_to(self, rate_per_s: float, now_s: float) -> RateLimiter:
        state = self._filled(now_s)
        capacity = max(rate_per_s, 1.0)
        return replace(
            state,
            rate_per_s=max(rate_per_s, _LEAST_RATE_PER_S),
            capacity=capacity,
            tokens=min(state.tokens, capacity),
        )

    def _filled(self, now_s: float) -> RateLimiter:
        gained = (now_s - self.filled_at_s) * self.rate_per_s
        return replace(self, tokens=min(self.capacity, self.tokens + gained), filled_at_s=now_s)
