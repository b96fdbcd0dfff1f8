"""Arrival rates over time: piecewise constant, exact to accumulate, with a tail that repeats for ever."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from afterload.errors import ModelError
from afterload.model.checks import number

__all__ = ["FloatArray", "RateProfile"]

FloatArray: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RateProfile:
    """A rate that is constant between edges, from the trigger (``t = 0``) on.

    Attributes:
        edges_min: n + 1 rising times in minutes after the trigger; the first is 0.
        rates_per_min: n rates, each holding from its edge to the next.
        cycle_min: after the last edge the last ``cycle_min`` minutes repeat for ever; ``None`` lets the last
            rate hold. A day's profile from the trigger on has ``cycle_min=1440``. At least 1 minute.
        settled_min: from here on all repeats but for an hour more or less where a clock changes; ``None``: where the cycle
            begins.

    Sequences and one-dimensional arrays are both taken, and kept as tuples of floats.

    Raises:
        ModelError: a value negative, NaN or infinite, edges that do not rise from 0, lengths that do not match,
            or a cycle longer than the profile.

    Source: docs/model.md section 1: arrivals are a constant, an hour-of-day profile or a measured series.
    """

    edges_min: Sequence[float]
    rates_per_min: Sequence[float]
    cycle_min: float | None = None
    settled_min: float | None = None
    _edges: FloatArray = field(init=False, repr=False, compare=False)
    _rates: FloatArray = field(init=False, repr=False, compare=False)
    _sums: FloatArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        edges, rates = _numbers("edges_min", self.edges_min), _numbers("rates_per_min", self.rates_per_min)
        if not rates:
            raise ModelError("rates_per_min is empty; give at least one rate")
        if len(edges) != len(rates) + 1:
            raise ModelError(f"edges_min has {len(edges)} values for {len(rates)} rates; give one edge more than rates")
        if edges[0] != 0.0:
            raise ModelError(f"edges_min[0] is {edges[0]:g}; a profile starts at the trigger, 0")
        falls = np.flatnonzero(np.diff(edges) <= 0.0)
        if len(falls):
            i = int(falls[0]) + 1
            raise ModelError(
                f"edges_min[{i}] is {edges[i]:g}, not more than {edges[i - 1]:g} before it; edges must rise"
            )
        if self.cycle_min is not None:
            cycle = number("cycle_min", self.cycle_min, least=1.0)
            if cycle > edges[-1]:
                raise ModelError(f"cycle_min is {cycle:g}, longer than the profile of {edges[-1]:g} min")
            object.__setattr__(self, "cycle_min", cycle)
        if self.settled_min is not None:
            number("settled_min", self.settled_min)
        object.__setattr__(self, "edges_min", edges)
        object.__setattr__(self, "rates_per_min", rates)
        object.__setattr__(self, "_edges", np.array(edges))
        object.__setattr__(self, "_rates", np.array(rates))
        sums = np.concatenate(([0.0], np.cumsum(np.diff(self._edges) * self._rates)))
        if not np.isfinite(sums[-1]):
            raise ModelError(f"rates_per_min add up to more than a number can hold, up to {max(rates):g}")
        object.__setattr__(self, "_sums", sums)

    @classmethod
    def constant(cls, rate_per_min: float) -> RateProfile:
        """One rate for ever."""
        return cls((0.0, 1.0), (rate_per_min,))

    @property
    def cycle_start_min(self) -> float:
        """From here on, in minutes after the trigger, the profile repeats or keeps its last rate."""
        if self.cycle_min is None:
            return float(self._edges[-2])
        return float(self._edges[-1]) - self.cycle_min

    @property
    def settled_from_min(self) -> float:
        """``settled_min`` or where the cycle begins, whichever comes first."""
        start = self.cycle_start_min
        return start if self.settled_min is None else min(start, self.settled_min)

    @property
    def repeats(self) -> bool:
        """The tail is a cycle of different rates."""
        return self.cycle_min is not None and len(set(self._tail_rates())) > 1

    @property
    def mean_tail_per_min(self) -> float:
        """Mean rate of the cycle, or the last rate where nothing repeats."""
        if self.cycle_min is None or not self.repeats:
            return float(self._rates[-1])
        return self._cycle_sum() / self.cycle_min

    def rate_at(self, t_min: npt.ArrayLike) -> FloatArray:
        """Rate just after each time.

        Parameters:
            t_min: times in minutes after the trigger, any shape, not negative.

        Returns:
            Rates per minute, of the same shape.

        Raises:
            ModelError: a time is negative, NaN or infinite.
        """
        t, _ = self._folded(_times(t_min))
        place = np.searchsorted(self._edges, t, side="right") - 1
        return self._rates[np.clip(place, 0, len(self._rates) - 1)]

    def cumulative(self, t_min: npt.ArrayLike) -> FloatArray:
        """Arrivals from the trigger to each time, exact.

        Parameters:
            t_min: times in minutes after the trigger, any shape, not negative.

        Returns:
            Counts, of the same shape.

        Raises:
            ModelError: a time is negative, NaN or infinite.
        """
        t, whole_cycles = self._folded(_times(t_min))
        counted = np.interp(t, self._edges, self._sums) + whole_cycles * self._cycle_sum()
        if self.cycle_min is None:
            counted = counted + self._rates[-1] * np.maximum(0.0, t - self._edges[-1])
        return np.asarray(counted, dtype=np.float64)

    def breakpoints(self, t_from: float, t_to: float) -> FloatArray:
        """Times after 0 and strictly between ``t_from`` and ``t_to``, in minutes, at which the rate changes."""
        last = float(self._edges[-1])
        times: list[FloatArray] = [self._edges]
        if self.cycle_min is not None and self.repeats and t_to > last:
            inner = self._edges[self._edges > self.cycle_start_min] - self.cycle_start_min
            first = max(0, int((t_from - last) // self.cycle_min) - 1)
            count = int((t_to - last) // self.cycle_min) + 2
            starts: FloatArray = last + self.cycle_min * np.arange(first, max(first, count), dtype=np.float64)
            times.append((starts[:, None] + inner[None, :]).ravel())
            if first > 0:
                times.append(starts[:1])
        every = np.unique(np.concatenate(times))
        every = every[(every > max(0.0, t_from)) & (every < t_to)]
        if not len(every):
            return every
        middles = np.concatenate(([max(0.0, t_from)], every, [t_to]))
        rates = self.rate_at((middles[:-1] + middles[1:]) / 2)
        changing: FloatArray = every[rates[1:] != rates[:-1]]
        return changing

    def scaled(self, factor: float) -> RateProfile:
        """The same profile with every rate times ``factor`` (not negative)."""
        by = number("factor", factor)
        return RateProfile(
            self.edges_min, tuple(rate * by for rate in self.rates_per_min), self.cycle_min, self.settled_min
        )

    def _folded(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Times brought back into the profile, and how many whole cycles each had passed."""
        if self.cycle_min is None:
            return t, np.zeros_like(t)
        beyond = np.maximum(0.0, t - self._edges[-1])
        passed = np.floor(beyond / self.cycle_min)
        into = np.clip(beyond - passed * self.cycle_min, 0.0, self.cycle_min)
        is_beyond = t >= self._edges[-1]
        return np.where(is_beyond, self.cycle_start_min + into, t), np.where(is_beyond, passed + 1.0, 0.0)

    def _tail_rates(self) -> list[float]:
        tail: list[float] = self._rates[self._edges[1:] > self.cycle_start_min].tolist()
        return tail

    def _cycle_sum(self) -> float:
        if self.cycle_min is None:
            return 0.0
        return float(self._sums[-1] - np.interp(self.cycle_start_min, self._edges, self._sums))


def _numbers(name: str, values: Sequence[float]) -> tuple[float, ...]:
    if all(isinstance(value, float | int) and not isinstance(value, bool) for value in values):
        found = np.array(values, dtype=np.float64)
        if np.isfinite(found).all() and (found >= 0.0).all():
            return tuple(found.tolist())
    return tuple(number(f"{name}[{i}]", value) for i, value in enumerate(values))


def _times(t_min: npt.ArrayLike) -> FloatArray:
    t = np.asarray(t_min, dtype=np.float64)
    if not bool(np.all(np.isfinite(t))) or bool(np.any(t < 0.0)):
        bad = t[~(np.isfinite(t) & (t >= 0.0))]
        raise ModelError(f"t_min holds {bad.flat[0]:g}; times are finite minutes after the trigger, from 0 on")
    return t
