"""A drain as it is seen from a few readings of a backlog: its net rate, how sure that is, and when the backlog is empty.

The true backlog is taken as a random walk with a steady drift: items that come and go by chance move it by
``dispersion x flow`` a minute in variance, and every reading errs by its rounding and a share of the backlog. How large
dispersion and error are is not known: a grid of both is weighed by how well each explains the readings, and by what is usual.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from afterload.errors import ModelError
from afterload.model.checks import number
from afterload.model.curves import FloatArray

__all__ = ["MOST_READINGS", "Change", "Projection", "find_change", "fit_readings", "from_rates", "rounding_of"]

# Beyond this nobody waits: an end later than that is told as none.
HORIZON_MIN = 1_000 * 1_440.0
# Variance of what comes and goes over that of independent items, and the error of a reading as a share of the backlog,
# each with how usual it is. Weights are of our own choosing: they decide where there are two or three readings only.
DISPERSIONS = ((1.0, 0.5), (4.0, 0.25), (16.0, 0.17), (64.0, 0.08))
ERRORS = ((0.0, 0.5), (0.002, 0.25), (0.01, 0.2), (0.03, 0.05))
# The last so many readings count: more say little more.
MOST_READINGS = 200
# A drain has changed if its net rate is below three quarters, or above four thirds, of the one before, this surely.
CHANGE_SHARE, CHANGE_SURE = 0.75, 0.99
# Where arrivals change ahead, the answer is looked for step by step; where they do not, it lies between few points.
_FINE = (*(0.5 * step for step in range(121)), *np.geomspace(60.5, HORIZON_MIN, 400).tolist())
_COARSE = (0.0, *np.geomspace(0.25, HORIZON_MIN, 40).tolist())
Ahead = Callable[[float], float]


def _normal(value: float) -> float:
    return 0.5 * math.erfc(-value / math.sqrt(2.0))


def rounding_of(depth: float) -> float:
    """The step to which a depth is rounded, as its trailing zeros show it: 206,400 to 100, 207 to 1.

    Raises:
        ModelError: a value out of its range.
    """
    value = number("depth", depth)
    step = 1.0
    while value >= 10 * step and value % (10 * step) == 0:
        step *= 10
    return step


@dataclass(frozen=True, eq=False)
class Projection:
    """The backlog from the last reading on: a weighted mixture of Gaussian courses.

    Course k has the mean ``level[k] - drain[k] t`` and the variance ``spread[k] . (1, t, t^2)`` at t minutes.

    Attributes:
        weights: of the courses, together 1, shape (k,).
        level: items now, shape (k,).
        drain: net drain in items a minute, negative where the backlog grows, shape (k,).
        drain_sd: its standard deviation, shape (k,).
        spread: coefficients of the variance, shape (k, 3).
    """

    weights: FloatArray
    level: FloatArray
    drain: FloatArray
    drain_sd: FloatArray
    spread: FloatArray

    @property
    def net_per_min(self) -> float:
        """Mean net drain in items a minute; negative where the backlog grows."""
        return float(self.weights @ self.drain)

    def drains_surely(self) -> float:
        """Probability that the backlog is shrinking at all."""
        return self._mixed(lambda k: _ratio(self.drain[k], self.drain_sd[k]))

    def net_quantile(self, share: float) -> float:
        """The net drain in items a minute that lies above a share of what is likely."""
        low = float(np.min(self.drain - 9 * self.drain_sd)) - 1e-9
        high = float(np.max(self.drain + 9 * self.drain_sd)) + 1e-9
        return _bisected(
            lambda value: self._mixed(lambda k: _ratio(value - self.drain[k], self.drain_sd[k])), share, low, high
        )

    def empty_by(self, minutes: float, ahead: Ahead | None = None) -> float:
        """Probability that the backlog is gone after so many minutes.

        ``ahead`` tells the items that will have come by then beyond what the present rate brings.
        """
        more = ahead(minutes) if ahead is not None else 0.0
        powers = np.array([1.0, minutes, minutes * minutes])
        means, variances = self.level - self.drain * minutes + more, self.spread @ powers
        return self._mixed(lambda k: _ratio(-means[k], math.sqrt(max(0.0, float(variances[k])))))

    def empty_min(self, share: float, ahead: Ahead | None = None) -> float | None:
        """Minutes by which the backlog is gone with this probability; None where that never comes within 1,000 days."""
        before = 0.0
        for minutes in _COARSE if ahead is None else _FINE:
            if self.empty_by(minutes, ahead) >= share:
                return _bisected(lambda value: self.empty_by(value, ahead), share, before, minutes)
            before = minutes
        return None

    def depth(self, minutes: float, share: float, ahead: Ahead | None = None) -> float:
        """Items after so many minutes that lie above a share of what is likely; never below 0."""
        more = ahead(minutes) if ahead is not None else 0.0
        means = self.level - self.drain * minutes + more
        deviations = np.sqrt(np.maximum(0.0, self.spread @ np.array([1.0, minutes, minutes * minutes])))
        low, high = float(np.min(means - 9 * deviations)) - 1e-9, float(np.max(means + 9 * deviations)) + 1e-9
        found = _bisected(
            lambda value: self._mixed(lambda k: _ratio(value - means[k], float(deviations[k]))), share, low, high
        )
        return max(0.0, found)

    def _mixed(self, score: Callable[[int], float]) -> float:
        return sum(float(weight) * _normal(score(k)) for k, weight in enumerate(self.weights))


def _ratio(value: float, deviation: float) -> float:
    if deviation > 0:
        return float(value) / deviation
    return math.inf if value > 0 else -math.inf if value < 0 else 0.0


def _bisected(rising: Callable[[float], float], wanted: float, low: float, high: float) -> float:
    for _ in range(48):
        middle = (low + high) / 2
        if rising(middle) >= wanted:
            high = middle
        else:
            low = middle
    return high


def from_rates(
    depth: float, net_per_min: float, net_sd_per_min: float, flow_per_min: float, reading_sd: float = 0.0
) -> Projection:
    """The projection from one reading and rates that somebody states.

    Parameters:
        depth: items waiting.
        net_per_min: service rate less arrival rate; negative where the backlog grows.
        net_sd_per_min: how sure that difference is, as a standard deviation.
        flow_per_min: arrivals and services together, for the play of chance.
        reading_sd: standard deviation of the reading.

    Raises:
        ModelError: a value out of its range.

    Source: the median is D / (s - a), docs/model.md section 1.
    """
    waiting = number("depth", depth)
    net, deviation = number("net_per_min", net_per_min, least=None), number("net_sd_per_min", net_sd_per_min)
    flow = number("flow_per_min", flow_per_min)
    one = np.ones(1)
    return Projection(
        one, waiting * one, net * one, deviation * one,
        np.array([[number("reading_sd", reading_sd) ** 2, flow, deviation**2]]),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Chance:
    """One combination of dispersion and error: how readings err together, whatever their course is.

    To invert its covariance takes longer than all else, so it is done once for the whole search for a change.
    """

    prior: float
    flow: float
    inverse: FloatArray
    log_det: float


@dataclass(frozen=True, eq=False)
class _Cell:
    """One combination of dispersion and error with the regression that it gives."""

    prior: float
    flow: float
    log_likelihood: float
    coefficients: FloatArray
    covariance: FloatArray
    inverse: FloatArray
    residual: FloatArray


def _checked(times_min: Sequence[float], depths: Sequence[float]) -> tuple[FloatArray, FloatArray]:
    if len(times_min) != len(depths):
        raise ModelError(f"there are {len(times_min)} times for {len(depths)} depths")
    if len(times_min) < 2:
        raise ModelError(f"there are {len(times_min)} readings; a net rate needs at least 2")
    times = np.array([number(f"times_min[{i}]", value, least=None) for i, value in enumerate(times_min)])
    if not (np.diff(times) > 0).all():
        raise ModelError("times_min do not rise, or two are equal")
    return times, np.array([number(f"depths[{i}]", value) for i, value in enumerate(depths)])


def _chances(times: FloatArray, depths: FloatArray, flow: float) -> list[_Chance]:
    """Every dispersion and error."""
    walk = np.minimum.outer(times - times[0], times - times[0])
    rounding = np.array([rounding_of(float(depth)) ** 2 / 12 for depth in depths])
    found = []
    for dispersion, usual in DISPERSIONS:
        for error, often in ERRORS:
            covariance = dispersion * flow * walk + np.diag(rounding + (error * depths) ** 2)
            _, log_det = np.linalg.slogdet(covariance)
            inverse = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
            found.append(_Chance(usual * often, dispersion * flow, inverse, float(log_det)))
    return found


def _cells(chances: Sequence[_Chance], depths: FloatArray, columns: FloatArray) -> list[_Cell]:
    """Generalised least squares for every dispersion and error, with the restricted likelihood of each."""
    found = []
    for chance in chances:
        weighted = columns.T @ chance.inverse
        normal = np.asarray(weighted @ columns)
        spread = np.asarray(np.linalg.inv(normal), dtype=np.float64)
        coefficients = spread @ (weighted @ depths)
        residual = depths - columns @ coefficients
        _, log_normal = np.linalg.slogdet(normal)
        likelihood = -0.5 * float(chance.log_det + log_normal + residual @ chance.inverse @ residual)
        found.append(_Cell(chance.prior, chance.flow, likelihood, coefficients, spread, chance.inverse, residual))
    return found


def _weights(cells: Sequence[_Cell]) -> FloatArray:
    best = max(cell.log_likelihood for cell in cells)
    raw = np.array([cell.prior * math.exp(cell.log_likelihood - best) for cell in cells])
    return np.asarray(raw / raw.sum(), dtype=np.float64)


def fit_readings(times_min: Sequence[float], depths: Sequence[float], flow_per_min: float | None = None) -> Projection:
    """The projection from two or more readings of a backlog whose rates do not change.

    Parameters:
        times_min: minutes on any clock, rising.
        depths: items waiting at each.
        flow_per_min: arrivals and services together, for the play of chance; without it five times the change of the backlog,
            as it is where consumers do one and a half times what arrives.

    Raises:
        ModelError: fewer than two readings, times that do not rise, a value out of its range.

    Source: generalised least squares of a random walk with drift; prediction of its level as in kriging (Goldberger, Journal
    of the American Statistical Association 57, 1962).
    """
    times, values = _checked(times_min[-MOST_READINGS:], depths[-MOST_READINGS:])
    since = times - times[-1]
    flow = _flow(flow_per_min, times, values)
    columns = np.column_stack((np.ones(len(times)), -since))
    cells = _cells(_chances(times, values, flow), values, columns)
    kept = _weights(cells)
    level, drain, deviation, spread = [], [], [], []
    for cell in cells:
        shared = cell.flow * (times - times[0])
        solved = cell.inverse @ shared
        # Level now = the line there and what the walk has left it by; both are known only so well. The line's second
        # column is -t, so its value at t minutes from now is (1, -t).
        gain = columns.T @ solved
        base = cell.flow * (times[-1] - times[0]) - float(shared @ solved)
        u0, ut = np.array([1.0, 0.0]) - gain, np.array([0.0, -1.0])
        p = cell.covariance
        level.append(float(cell.coefficients[0] + solved @ cell.residual))
        drain.append(float(cell.coefficients[1]))
        deviation.append(math.sqrt(float(p[1, 1])))
        spread.append(
            (max(0.0, base) + float(u0 @ p @ u0), cell.flow + 2 * float(u0 @ p @ ut), float(ut @ p @ ut))
        )  # fmt: skip
    return Projection(kept, np.array(level), np.array(drain), np.array(deviation), np.array(spread))


def _flow(given: float | None, times: FloatArray, depths: FloatArray) -> float:
    if given is not None:
        return max(1.0, number("flow_per_min", given))
    return max(1.0, 5 * abs(float(depths[-1] - depths[0])) / float(times[-1] - times[0]))


@dataclass(frozen=True)
class Change:
    """A net drain that is no longer what it was. Rates in items a minute, negative where the backlog grew.

    Attributes:
        place: the reading at which the new rate begins.
        before_per_min, after_per_min: net drain before and since.
    """

    place: int
    before_per_min: float
    after_per_min: float

    @property
    def slower(self) -> bool:
        """True if the drain slowed, or turned into growth."""
        return self.after_per_min < self.before_per_min


def find_change(
    times_min: Sequence[float], depths: Sequence[float], flow_per_min: float | None = None
) -> Change | None:
    """The last place at which the net rate became clearly another one: by a quarter or more, and not by chance.

    At least two readings lie before the place and one after it. Where several places would do, that which explains the
    readings best is taken; the certainty asked for is shared among all of them, so that many readings raise no more false alarms.

    Raises:
        ModelError: as :func:`fit_readings`.
    """
    times, values = _checked(times_min[-MOST_READINGS:], depths[-MOST_READINGS:])
    skipped = len(times_min) - len(times)
    count = len(times)
    if count < 4:
        return None
    flow = _flow(flow_per_min, times, values)
    since = times - times[-1]
    best: Change | None = None
    best_likelihood = -math.inf
    places = range(1, count - 1)
    chances = _chances(times, values, flow)
    for place in places:
        bend = np.maximum(0.0, times - times[place])
        columns = np.column_stack((np.ones(count), -since, -bend))
        cells = _cells(chances, values, columns)
        kept = _weights(cells)
        slower = faster = 0.0
        for weight, cell in zip(kept, cells, strict=True):
            b, p = cell.coefficients, cell.covariance
            for share, is_slower in ((CHANGE_SHARE, True), (1 / CHANGE_SHARE, False)):
                # after - share x before, with after = before + bend
                row = np.array([0.0, 1.0 - share, 1.0])
                score = _ratio(float(row @ b), math.sqrt(float(row @ p @ row)))
                if is_slower:
                    slower += float(weight) * _normal(-score)
                else:
                    faster += float(weight) * _normal(score)
        before = float(sum(w * cell.coefficients[1] for w, cell in zip(kept, cells, strict=True)))
        after = before + float(sum(w * cell.coefficients[2] for w, cell in zip(kept, cells, strict=True)))
        sure = 1 - (1 - CHANGE_SURE) / len(places)
        if before <= 0:
            # A backlog that grew has no drain of which to take a share: only a turn to a drain counts.
            slower, faster = 0.0, faster if after > 0 else 0.0
        likelihood = max(cell.log_likelihood + math.log(cell.prior) for cell in cells)
        if max(slower, faster) >= sure and likelihood > best_likelihood:
            best, best_likelihood = Change(place + skipped, before, after), likelihood
    return best
