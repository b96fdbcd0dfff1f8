"""Uncertain inputs: their distribution, percentiles with "never" among them, and which input moves the answer."""

from dataclasses import replace

import numpy as np
import pytest

from afterload.errors import ModelError
from afterload.model.coupled import CoupledDependency, CoupledQueue, CoupledSystem, Input, simulate
from afterload.model.curves import RateProfile
from afterload.model.queues import QueueLoad
from afterload.model.uncertainty import Range, draw, movers, spread


def generator(seed=20_251_020):
    return np.random.default_rng(seed)


@pytest.mark.parametrize(("low", "likely", "high"), [(10, 20, 60), (0, 0, 1), (5, 9, 9), (1_000, 1_200, 1_300)])
def test_a_range_is_a_pert_distribution(low, likely, high):
    # Malcolm et al. 1959; variance of a beta distribution with shapes 1 + 4 (m - a)/(b - a) and 1 + 4 (b - m)/(b - a).
    values = Range(low, likely, high).sample(200_000, generator())
    mean = (low + 4 * likely + high) / 6
    variance = (mean - low) * (high - mean) / 7
    error = np.sqrt(variance / len(values))
    assert abs(values.mean() - mean) < 5 * error
    assert values.var() == pytest.approx(variance, rel=0.03)
    assert values.min() >= low
    assert values.max() <= high
    first, second = 1 + 4 * (likely - low) / (high - low), 1 + 4 * (high - likely) / (high - low)
    skew = ((values - values.mean()) ** 3).mean() / values.std() ** 3
    assert skew == pytest.approx(2 * (second - first) * np.sqrt(7) / (8 * np.sqrt(first * second)), abs=0.05)


def test_a_range_without_width_is_its_value():
    assert (Range(3, 3, 3).sample(5, generator()) == 3).all()


@pytest.mark.parametrize("values", [(2, 1, 3), (1, 4, 3), (-1, 0, 1), (0, 1, np.inf), (0, np.nan, 1)])
def test_ranges_that_make_no_sense_are_refused(values):
    with pytest.raises(ModelError):
        Range(*values)


def test_percentiles_by_hand():
    seen = spread(np.array([3.0, 1, 2, 10, 9, 8, 7, 6, 5, 4]))
    assert (seen.p10, seen.p50, seen.p90, seen.never) == (1, 5, 9, 0)
    assert spread(np.array([7.0])) == type(seen)(7, 7, 7, 0)


def test_never_is_longer_than_any_time():
    nan = np.nan
    seen = spread(np.array([5.0, nan, 1, 2, nan, 3, 4, nan, 6, 7]))
    assert (seen.p10, seen.p50, seen.p90, seen.never) == (1, 5, None, 0.3)
    seen = spread(np.array([nan] * 9 + [4.0]))
    assert (seen.p10, seen.p50, seen.p90, seen.never) == (4, None, None, 0.9)
    seen = spread(np.array([nan, nan]))
    assert (seen.p10, seen.p50, seen.p90, seen.never) == (None, None, None, 1)


def test_no_answers_and_no_draws_are_refused():
    with pytest.raises(ModelError):
        spread(np.array([]))
    with pytest.raises(ModelError):
        draw({"a": Range(0, 1, 2)}, 0, generator())


def test_the_same_seed_gives_the_same_bytes_and_inputs_are_independent():
    ranges = {"a": Range(0, 1, 2), "b": Range(0, 1, 2)}
    one, two = draw(ranges, 20_000, generator(1)), draw(ranges, 20_000, generator(1))
    assert all(one[key].tobytes() == two[key].tobytes() for key in ranges)
    assert draw(ranges, 10, generator(2))["a"].tobytes() != one["a"][:10].tobytes()
    assert abs(np.corrcoef(one["a"], one["b"])[0, 1]) < 0.03


@pytest.mark.parametrize(
    ("shape", "below"),
    [
        # The integrals of x^(a-1) (1-x)^(b-1) for PERT shapes (1, 5), (5, 1) and (3, 3).
        ((0, 0, 1), lambda x: 1 - (1 - x) ** 5),
        ((0, 1, 1), lambda x: x**5),
        ((0, 0.5, 1), lambda x: 10 * x**3 - 15 * x**4 + 6 * x**5),
    ],
)
def test_quantiles_are_those_of_the_distribution(shape, below):
    ranks = np.linspace(0.0005, 0.9995, 1_000)
    assert np.abs(below(Range(*shape).quantiles(ranks)) - ranks).max() < 1e-6


def test_tied_inputs_move_together_and_each_keeps_its_distribution():
    ranges = {
        "a": Range(600, 700, 900),
        "b": Range(900, 1_000, 1_050),
        "c": Range(1_200, 1_300, 1_500),
        "d": Range(2, 2, 2),
    }
    apart = draw(ranges, 100_000, generator())
    names = {"a": "demand", "b": "demand", "d": "demand"}
    one = {key: replace(item, moves_with=names.get(key, "")) for key, item in ranges.items()}
    tied = draw(one, 100_000, generator())
    order = np.argsort(tied["a"])
    assert (np.diff(tied["b"][order]) >= 0).all()
    assert abs(np.corrcoef(tied["a"], tied["c"])[0, 1]) < 0.02
    shares = np.linspace(0.01, 0.99, 99)
    for key in "abc":
        width = ranges[key].high - ranges[key].low
        assert np.abs(np.quantile(tied[key], shares) - np.quantile(apart[key], shares)).max() < 0.01 * width
    assert (tied["d"] == 2).all()


def test_losses_of_queues_that_share_their_demand_cover_what_they_should():
    """Three queues under an age limit: P10 to P90 of the sum holds 80 % where they are tied, and far less where they are not."""
    loads = {key: Range(0.8 * rate, rate, 1.25 * rate) for key, rate in (("a", 700), ("b", 1_000), ("c", 1_300))}
    ranks = np.random.default_rng(7).random(20_000)
    truth = sum(item.quantiles(ranks) for item in loads.values())

    def covered(name):
        named = {key: replace(item, moves_with=name) for key, item in loads.items()}
        total = sum(draw(named, 1_000, generator()).values())
        low, high = np.quantile(total, (0.1, 0.9))
        return np.mean((truth >= low) & (truth <= high))

    assert covered("demand") == pytest.approx(0.8, abs=0.02)
    assert covered("") < 0.6


def test_movers_rank_a_constructed_case():
    ranges = {"small": Range(0, 5, 10), "none": Range(1, 2, 3), "large": Range(0, 5, 10), "fixed": Range(4, 4, 4)}
    calls = []

    def answer(values):
        calls.append(values)
        return values["small"] + 10 * values["large"] + 7

    found = movers(ranges, answer, generator())
    assert len(calls) == 1
    assert [item.key for item in found[:2]] == ["large", "small"]
    # The 10th and 90th percentile of a PERT(0, 5, 10), a beta(3, 3) on 0 to 10: 2.466 and 7.534.
    assert found[1].swing == pytest.approx(5.067, rel=0.05)
    assert found[0].swing == pytest.approx(10 * found[1].swing, rel=0.1)
    assert [item.swing for item in found[2:]] == [0, 0]
    assert found[0].at_low < found[0].at_high


def test_an_input_that_brings_never_ranks_before_any_swing():
    ranges = {"swing": Range(0, 500, 1000), "edge": Range(0, 1, 4), "dead": Range(1, 1, 1)}

    def answer(values):
        return np.where(values["edge"] > 2, np.nan, values["swing"])

    found = movers(ranges, answer, generator())
    assert [item.key for item in found] == ["edge", "swing", "dead"]
    assert (found[0].at_low, found[0].at_high, found[0].swing) == (500, None, None)
    always = movers(ranges, lambda values: np.full(len(values["edge"]), np.nan), generator())
    assert [item.key for item in always] == list(ranges)


def test_whole_numbers_are_not_kept_whole():
    found = movers({"a": Range(0, 1, 4)}, lambda values: values["a"], generator())
    assert found[0].at_high == pytest.approx(2.34, abs=0.1)
    assert draw({"a": Range(1, 1, 1)}, 1, generator())["a"].dtype == np.float64


def test_no_ranges_no_movers():
    assert movers({}, lambda values: np.zeros(0), generator()) == []


def test_the_recovery_of_an_uncertain_system_has_a_spread_and_a_first_mover():
    load = QueueLoad(RateProfile.constant(1200), 1800, 172)
    system = CoupledSystem(172, 200, (CoupledQueue(load, 0, 3),), (CoupledDependency(2_000),))
    service = Input("queue", 0, "service_rate_per_min")
    ranges = {
        Input("outage", 0, "outage_min"): Range(160, 172, 200),
        service: Range(1_500, 1_800, 1_900),
        Input("dependency", 0, "capacity_per_min"): Range(1_950, 2_000, 2_100),
    }

    def drain(values):
        return simulate(system, values).drain_min[:, 0]

    answers = drain(draw(ranges, 1_000, generator()))
    seen = spread(answers)
    assert seen.never == 0
    assert seen.p10 < 344 < seen.p90
    assert movers(ranges, drain, generator())[0].key == service
    tight = ranges | {
        service: Range(1_500, 1_790, 1_800),
        Input("dependency", 0, "capacity_per_min"): Range(1_600, 1_810, 2_100),
    }
    assert spread(drain(draw(tight, 1_000, generator()))).never > 0.1
    assert movers(tight, drain, generator())[0].key == Input("dependency", 0, "capacity_per_min")
    assert drain(draw(ranges, 50, generator(3))).tobytes() == drain(draw(ranges, 50, generator(3))).tobytes()
