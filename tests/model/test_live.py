"""The projection of a live drain: closed forms, and how often what happened lies between P10 and P90.

The drains that are followed come from two simulations that share nothing with the model: arrivals and services drawn from
Poisson distributions a quarter of a minute at a time, and customers one by one in SimPy.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
import simpy

from afterload.errors import ModelError
from afterload.model.coupled import GUIDE_STEPS
from afterload.model.live import find_change, fit_readings, from_rates, rounding_of

# Arrivals, services and backlog of the reference case, docs/model.md section 1; 137 so that it does not look rounded.
ARRIVE, SERVE, WAITING = 1_200.0, 1_800.0, 60_137.0


@pytest.mark.parametrize(
    ("depth", "arrive", "serve"), [(206_400, 1_200, 1_800), (18_000, 1_200, 1_800), (7, 1, 1.5), (1, 0, 60)]
)
def test_with_exact_rates_the_median_is_the_closed_form(depth: float, arrive: float, serve: float) -> None:
    exact = from_rates(depth, serve - arrive, 0.0, 0.0)
    for share in (0.1, 0.5, 0.9):
        assert exact.empty_min(share) == pytest.approx(depth / (serve - arrive), rel=1e-6)
    uncertain = from_rates(depth, serve - arrive, 0.1 * (serve - arrive), serve + arrive)
    assert uncertain.empty_min(0.5) == pytest.approx(depth / (serve - arrive), rel=1e-6)


def test_chance_alone_spreads_the_end_as_the_busy_period_does() -> None:
    """M/M/1 from n customers: the variance of the time to empty is n (a + s) / (s - a)^3 (Cohen, The Single Server Queue)."""
    depth, arrive, serve = 206_400.0, 1_200.0, 1_800.0
    projected = from_rates(depth, serve - arrive, 0.0, arrive + serve)
    deviation = math.sqrt(depth * (arrive + serve) / (serve - arrive) ** 3)
    low, high = projected.empty_min(0.1), projected.empty_min(0.9)
    assert low is not None
    assert high is not None
    assert (high - low) / 2 == pytest.approx(1.2816 * deviation, rel=0.01)


def test_uncertain_rates_spread_it_as_their_difference_does() -> None:
    """Depth over a normal net rate: its quantiles are depth over the quantiles of the rate."""
    projected = from_rates(206_400, 600, 60, 0.0)
    assert projected.empty_min(0.1) == pytest.approx(206_400 / (600 + 1.2815516 * 60), rel=1e-4)
    assert projected.empty_min(0.9) == pytest.approx(206_400 / (600 - 1.2815516 * 60), rel=1e-4)
    assert projected.net_quantile(0.1) == pytest.approx(600 - 1.2815516 * 60, rel=1e-4)


def test_an_end_that_is_not_sure_is_none() -> None:
    projected = from_rates(10_000, 50, 100, 500)
    assert projected.drains_surely() == pytest.approx(0.6915, abs=1e-3)
    assert projected.empty_min(0.5) is not None
    assert projected.empty_min(0.9) is None
    growing = from_rates(10_000, -300, 30, 2_000)
    assert growing.empty_min(0.1) is None
    assert growing.drains_surely() < 1e-9


def test_readings_on_a_line_give_the_line() -> None:
    times = [0.0, 7.0, 11.0, 30.0]
    depths = [206_413.0 - 600 * t for t in times]
    projected = fit_readings(times, depths, 3_000)
    assert projected.net_per_min == pytest.approx(600, rel=1e-6)
    assert projected.empty_min(0.5) == pytest.approx(depths[-1] / 600, rel=1e-3)
    assert projected.depth(0.0, 0.5) == pytest.approx(depths[-1], abs=1)
    assert projected.depth(60.0, 0.5) == pytest.approx(depths[-1] - 36_000, rel=1e-3)
    assert projected.depth(1e5, 0.9) == 0.0


def test_two_readings_are_the_difference_over_the_time() -> None:
    """Without a third reading the regression has nothing left over: the slope is that of the two points."""
    assert fit_readings([0.0, 10.0], [206_413.0, 200_413.0], 3_000).net_per_min == pytest.approx(600)
    assert fit_readings([0.0, 10.0], [200_413.0, 206_413.0], 3_000).net_per_min == pytest.approx(-600)


def test_the_regression_is_that_of_a_random_walk_where_readings_are_exact() -> None:
    """With exact counts the last and the first reading hold all that is known of the drift (Karlin and Taylor)."""
    generator = np.random.default_rng(5)
    times = np.arange(0.0, 41.0, 4.0)
    depths = 500_003.0 - np.concatenate(([0.0], np.cumsum(generator.normal(2_400, 110, 10)))).round()
    ends = (depths[0] - depths[-1]) / 40
    projected = fit_readings(times.tolist(), depths.tolist(), 3_000)
    exact = projected.weights.reshape(4, 4)[:, 0]
    assert projected.drain.reshape(4, 4)[0, 0] == pytest.approx(ends, rel=1e-4)
    assert exact.sum() > 0.5


def test_more_arrivals_ahead_put_the_end_off() -> None:
    projected = from_rates(6_000, 600, 0.0, 0.0)
    assert projected.empty_min(0.5) == pytest.approx(10)
    # From the fifth minute on 300 more arrive: 3,000 are left then, which go at 300 a minute.
    assert projected.empty_min(0.5, lambda t: 300 * max(0.0, t - 5)) == pytest.approx(15, abs=0.01)
    # 900 more never leave room.
    assert projected.empty_min(0.5, lambda t: 900 * max(0.0, t - 5)) is None


@pytest.mark.parametrize(("depth", "step"), [(206_400, 100), (207, 1), (0, 1), (60_000, 10_000), (120, 10), (1, 1)])
def test_the_rounding_of_a_count_shows_in_its_zeros(depth: float, step: float) -> None:
    assert rounding_of(depth) == step


@pytest.mark.parametrize(
    ("times", "depths"),
    [([0.0], [5.0]), ([], []), ([0.0, 0.0], [5.0, 4.0]), ([1.0, 0.0], [5.0, 4.0]), ([0.0, 1.0], [5.0]),
     ([0.0, 1.0], [5.0, -1.0]), ([0.0, math.nan], [5.0, 4.0]), ([0.0, 1.0], [5.0, math.inf])],
)  # fmt: skip
def test_what_is_no_series_of_readings_is_refused(times: list[float], depths: list[float]) -> None:
    with pytest.raises(ModelError):
        fit_readings(times, depths)
    with pytest.raises(ModelError):
        find_change(times, depths)


# How often the truth lies in the span


def drains(
    times: Sequence[float], seeds: int, batch: int = 1, error: float = 0.0, step: float = 0.25
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Readings, shape (seeds, times), and minutes from the last of them until the backlog is gone, by Poisson draws."""
    generator = np.random.default_rng(11)
    left, emptied, seen, now = np.full(seeds, WAITING), np.full(seeds, np.nan), [], 0.0
    while np.isnan(emptied).any():
        if len(seen) < len(times) and abs(now - times[len(seen)]) < 1e-9:
            seen.append(np.round(left * (1 + error * generator.standard_normal(seeds))))
        left = left + batch * (
            generator.poisson(ARRIVE * step / batch, seeds) - generator.poisson(SERVE * step / batch, seeds)
        )
        now += step
        emptied[np.isnan(emptied) & (left <= 0)] = now
    return np.array(seen).T, emptied - times[-1]


def covered(times: Sequence[float], readings: np.ndarray, ends: np.ndarray, flow: float | None) -> float:
    inside = 0
    for depths, end in zip(readings, ends, strict=True):
        projected = fit_readings(list(times), depths.tolist(), flow)
        low, high = projected.empty_min(0.1), projected.empty_min(0.9)
        inside += low is not None and low <= end and (high is None or end <= high)
    return inside / len(ends)


@pytest.mark.parametrize(
    ("kind", "times", "options", "least", "most"),
    [
        # Exact counts of independent items: what chance does is known, so the span is as wide as it says.
        ("seven readings", range(0, 31, 5), {}, 0.74, 0.92),
        ("twelve readings", range(0, 34, 3), {}, 0.70, 0.90),
        # Items that come and go ten at a time: the readings must show it.
        ("twelve readings, batches of ten", range(0, 34, 3), {"batch": 10}, 0.68, 0.90),
        # Counts that err by 1 %, far more than chance does here.
        ("seven readings that err", range(0, 31, 5), {"error": 0.01}, 0.74, 0.98),
        # From two readings nobody can tell how far counts err: a span that allows for it is too wide where they do not.
        ("two readings", (0, 10), {}, 0.80, 1.0),
        ("two readings, batches of ten", (0, 10), {"batch": 10}, 0.68, 1.0),
    ],
)
def test_about_four_of_five_drains_end_between_p10_and_p90(
    kind: str, times: Sequence[float], options: dict[str, float], least: float, most: float
) -> None:
    readings, ends = drains(list(times), 160, **options)  # type: ignore[arg-type]
    assert least <= covered(list(times), readings, ends, ARRIVE + SERVE) <= most, kind


def test_the_same_against_customers_one_by_one() -> None:
    """SimPy: M/M/1 with 20 a minute in, 30 out, 613 waiting; readings every 4 minutes over 28."""
    times = [4.0 * place for place in range(8)]
    readings, ends = [], []
    for seed in range(80):
        chance = random.Random(seed)
        world = simpy.Environment()
        left, ended = [613], []

        def arrive(world=world, chance=chance, left=left):
            while True:
                yield world.timeout(chance.expovariate(20.0))
                left[0] += 1

        def serve(world=world, chance=chance, left=left, ended=ended):
            while left[0]:
                yield world.timeout(chance.expovariate(30.0))
                left[0] -= 1
            ended.append(world.now)

        seen: list[float] = []

        def look(world=world, left=left, seen=seen):
            for _ in times:
                seen.append(float(left[0]))
                yield world.timeout(4.0)

        world.process(look())
        world.process(arrive())
        world.run(until=world.process(serve()))
        if ended[0] > times[-1]:
            readings.append(seen)
            ends.append(ended[0] - times[-1])
    assert len(ends) > 70
    assert 0.70 <= covered(times, np.array(readings), np.array(ends), 50.0) <= 0.96


# A drain that changes


def test_a_steady_drain_raises_no_alarm() -> None:
    readings, _ = drains([3.0 * place for place in range(10)], 100)
    times = [3.0 * place for place in range(10)]
    alarms = sum(find_change(times, depths.tolist(), ARRIVE + SERVE) is not None for depths in readings)
    assert alarms <= 3


@pytest.mark.parametrize("error", [0.0, 0.003])
def test_a_drain_that_collapses_is_noticed_and_placed(error: float) -> None:
    """600 a minute for half an hour, then 100: what a dependency that stops bearing its load leaves."""
    generator = np.random.default_rng(3)
    times = [5.0 * place for place in range(12)]
    found = []
    for _ in range(40):
        gone = np.cumsum([0.0, *(600.0 * 5 if t < 30 else 100.0 * 5 for t in times[:-1])])
        noise = np.cumsum([0.0, *generator.normal(0, math.sqrt(3_000 * 5), 11)])
        depths = np.round((60_137 - gone + noise) * (1 + error * generator.standard_normal(12)))
        found.append(find_change(times, depths.tolist(), 3_000))
    seen = [change for change in found if change is not None]
    assert len(seen) >= 38
    assert all(change.slower for change in seen)
    assert np.mean([abs(times[change.place] - 30) <= 5 for change in seen]) >= 0.9
    assert np.mean([change.after_per_min for change in seen]) == pytest.approx(100, abs=40)
    assert np.mean([change.before_per_min for change in seen]) == pytest.approx(600, abs=40)


def test_a_growth_that_turns_into_a_drain_is_a_change_for_the_better() -> None:
    times = [5.0 * place for place in range(8)]
    depths = [100_137.0 + 1_000 * min(t, 15) - 700 * max(0.0, t - 15) for t in times]
    change = find_change(times, depths, 3_000)
    assert change is not None
    assert not change.slower
    assert times[change.place] == 15
    assert change.before_per_min == pytest.approx(-1_000, rel=0.01)
    assert change.after_per_min == pytest.approx(700, rel=0.01)


def test_few_readings_show_no_change() -> None:
    assert find_change([0.0, 5.0, 10.0], [60_137.0, 57_137.0, 57_100.0], 3_000) is None


def test_the_steps_are_those_of_the_coupled_recovery() -> None:
    from afterload.findings.admission import STEPS

    assert STEPS == GUIDE_STEPS
