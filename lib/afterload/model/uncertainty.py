"""Uncertain inputs as low, likely and high; answers as P10, P50 and P90, and which input moves the answer most."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from afterload.errors import ModelError
from afterload.model.checks import number
from afterload.model.curves import FloatArray

__all__ = ["Mover", "Range", "Spread", "draw", "movers", "spread"]

Key = TypeVar("Key")
# Weight of the likely value in a PERT distribution, as project planning has used it since 1959.
PERT_WEIGHT = 4.0
# Points at which a distribution is tabulated for its quantiles: they are right to 1e-6 of the width.
POINTS = 4_097


@dataclass(frozen=True)
class Range:
    """One uncertain number: it lies between ``low`` and ``high``, most often near ``likely``.

    Drawn from a PERT distribution: a beta distribution on the interval with its mode at ``likely`` and its mean at
    (low + 4 likely + high) / 6. All that name the same ``moves_with`` are drawn at the same percentile.

    Raises:
        ModelError: a value negative or not finite, or not in order.

    Source: Malcolm, Roseboom, Clark, Fazar, Operations Research 7, 1959.
    """

    low: float
    likely: float
    high: float
    moves_with: str = ""

    def __post_init__(self) -> None:
        for name in ("low", "likely", "high"):
            number(name, getattr(self, name))
        if not self.low <= self.likely <= self.high:
            raise ModelError(f"low {self.low:g}, likely {self.likely:g} and high {self.high:g} are not in order")

    def sample(self, draws: int, generator: np.random.Generator) -> FloatArray:
        """``draws`` values, shape (draws,)."""
        if self.high == self.low:
            return np.full(draws, float(self.likely))
        return self.low + (self.high - self.low) * generator.beta(*self._shape(), draws)

    def quantiles(self, ranks: FloatArray) -> FloatArray:
        """The values below which these shares of all draws lie, of the same shape."""
        if self.high == self.low:
            return np.full(ranks.shape, float(self.likely))
        first, second = self._shape()
        # Points lie denser at both ends, where a tail is thin.
        place = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, POINTS))
        density = place ** (first - 1.0) * (1.0 - place) ** (second - 1.0)
        below = np.concatenate(([0.0], np.cumsum(np.diff(place) * (density[1:] + density[:-1]))))
        return self.low + (self.high - self.low) * np.interp(ranks, below / below[-1], place)

    def _shape(self) -> tuple[float, float]:
        width = self.high - self.low
        return 1.0 + PERT_WEIGHT * (self.likely - self.low) / width, 1.0 + PERT_WEIGHT * (
            self.high - self.likely
        ) / width


@dataclass(frozen=True)
class Spread:
    """P10, P50 and P90 of an answer; None is "never". ``never`` is the share of draws that never get there."""

    p10: float | None
    p50: float | None
    p90: float | None
    never: float


@dataclass(frozen=True)
class Mover(Generic[Key]):
    """How far one input moves the answer, from its own P10 to its own P90 with all others at their likely value.

    ``swing`` is the distance of the two answers; None where one of them is never.
    """

    key: Key
    at_low: float | None
    at_high: float | None
    swing: float | None


def draw(ranges: Mapping[Key, Range], draws: int, generator: np.random.Generator) -> dict[Key, FloatArray]:
    """Values of every input, each of shape (draws,). The order of ``ranges`` counts.

    Inputs with one name in ``moves_with`` move together: in a draw each takes its own quantile of the same rank. All others
    are independent of each other.
    """
    if draws < 1:
        raise ModelError(f"draws is {draws}; give at least 1")
    ranks: dict[str, FloatArray] = {}
    found = {}
    for key, item in ranges.items():
        name = item.moves_with
        if not name:
            found[key] = item.sample(draws, generator)
            continue
        if name not in ranks:
            ranks[name] = generator.random(draws)
        found[key] = item.quantiles(ranks[name])
    return found


def spread(answers: FloatArray) -> Spread:
    """P10, P50 and P90 of answers in which NaN stands for never, which is longer than any time. Shape (draws,)."""
    if answers.size == 0:
        raise ModelError("there are no answers to spread")
    ordered = np.sort(np.where(np.isnan(answers), np.inf, answers))
    levels: list[float | None] = []
    for share in (0.1, 0.5, 0.9):
        # The smallest answer that at least this share of draws stays within: no mixing of a time with never.
        value = float(ordered[min(ordered.size - 1, max(0, int(np.ceil(share * ordered.size)) - 1))])
        levels.append(value if np.isfinite(value) else None)
    return Spread(levels[0], levels[1], levels[2], never=float(np.mean(np.isinf(ordered))))


def movers(
    ranges: Mapping[Key, Range],
    evaluate: Callable[[dict[Key, FloatArray]], FloatArray],
    generator: np.random.Generator,
    samples: int = 2_000,
) -> list[Mover[Key]]:
    """Inputs by how far they move the answer, the farthest first; those that bring "never" before all others. Of inputs that
    move together the first stands for all.

    ``evaluate`` takes values of all inputs, each of shape (n,), and gives n answers with NaN for never. It is called once.
    """
    if not ranges:
        return []
    first = {item.moves_with: key for key, item in reversed(list(ranges.items()))}
    keys = [key for key, item in ranges.items() if not item.moves_with or first[item.moves_with] == key]
    ends = {key: np.percentile(item.sample(samples, generator), [10, 90]) for key, item in ranges.items()}
    values = {key: np.full(2 * len(keys), float(item.likely)) for key, item in ranges.items()}
    for place, key in enumerate(keys):
        name = ranges[key].moves_with
        for other in ranges:
            if other == key or (name and ranges[other].moves_with == name):
                values[other][2 * place : 2 * place + 2] = ends[other]
    answers = evaluate(values)
    found = []
    for place, key in enumerate(keys):
        low, high = (float(value) for value in answers[2 * place : 2 * place + 2])
        swing = None if np.isnan(low) or np.isnan(high) else abs(high - low)
        found.append(Mover(key, None if np.isnan(low) else low, None if np.isnan(high) else high, swing))
    both_never = {item.key for item in found if item.at_low is None and item.at_high is None}
    order = {key: place for place, key in enumerate(keys)}

    def rank(item: Mover[Key]) -> tuple[float, int]:
        if item.key in both_never:
            return 0.0, order[item.key]
        return (-np.inf if item.swing is None else -item.swing), order[item.key]

    return sorted(found, key=rank)
