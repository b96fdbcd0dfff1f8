"""Rate profiles against sums made by hand and by brute force."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterload.errors import ModelError
from afterload.model.curves import RateProfile


def brute_rate(edges, rates, cycle, t):
    """The rate at ``t`` by walking back one cycle at a time."""
    if cycle is not None:
        while t >= edges[-1]:
            t -= cycle
    for low, high, rate in zip(edges, edges[1:], rates, strict=False):
        if low <= t < high:
            return rate
    return rates[-1]


@st.composite
def profiles(draw):
    widths = draw(st.lists(st.integers(1, 40), min_size=1, max_size=5))
    edges = [0.0, *np.cumsum(widths).astype(float).tolist()]
    rates = draw(st.lists(st.integers(0, 50).map(float), min_size=len(widths), max_size=len(widths)))
    cycle = draw(st.one_of(st.none(), st.integers(1, int(edges[-1])).map(float)))
    return edges, rates, cycle


@given(profiles(), st.integers(0, 400))
def test_rate_and_sum_agree_with_a_minute_by_minute_walk(drawn, t):
    edges, rates, cycle = drawn
    profile = RateProfile(edges, rates, cycle)
    walked = [brute_rate(edges, rates, cycle, minute) for minute in range(t + 1)]
    assert float(profile.rate_at(t)) == walked[-1]
    assert float(profile.cumulative(t)) == pytest.approx(sum(walked[:-1]), rel=1e-12, abs=1e-9)


@given(profiles(), st.integers(0, 200), st.integers(1, 200))
def test_breakpoints_are_exactly_the_changes_of_rate(drawn, start, length):
    edges, rates, cycle = drawn
    profile = RateProfile(edges, rates, cycle)
    changes = [
        m
        for m in range(start + 1, start + length)
        if m > 0 and brute_rate(edges, rates, cycle, m) != brute_rate(edges, rates, cycle, m - 1)
    ]
    assert profile.breakpoints(start, start + length).tolist() == pytest.approx(changes)


def test_tail_mean_counts_the_cycle_only():
    profile = RateProfile([0, 100, 120, 140], [7, 10, 30], cycle_min=40)
    assert profile.mean_tail_per_min == 20.0
    assert profile.cycle_start_min == 100.0
    assert RateProfile([0, 10, 20], [5, 9]).mean_tail_per_min == 9.0


def test_shapes_are_kept_and_profiles_compare_by_value():
    profile = RateProfile(np.array([0.0, 5.0, 10.0]), np.array([1.0, 3.0]))
    assert profile.cumulative([[0.0, 5.0], [10.0, 20.0]]).tolist() == [[0.0, 5.0], [20.0, 50.0]]
    assert profile == RateProfile((0, 5, 10), (1, 3))
    assert profile.scaled(2).rates_per_min == (2.0, 6.0)


@pytest.mark.parametrize(
    ("edges", "rates", "cycle", "seen"),
    [
        ([0, 10], [-1], None, "-1"),
        ([0, 10], [math.nan], None, "nan"),
        ([0, 10], [math.inf], None, "inf"),
        ([0, 10, 10], [1, 1], None, "edges_min[2] is 10"),
        ([1, 10], [1], None, "edges_min[0] is 1"),
        ([0, 10], [1, 2], None, "2 values for 2 rates"),
        ([0], [], None, "empty"),
        ([0, 10], [1], 11, "11"),
        ([0, 10], [1], 0, "0"),
        ([0, 10], ["5"], None, "'5'"),
        ([0, 10], [True], None, "True"),
    ],
)
def test_profiles_without_meaning_are_refused_with_the_value(edges, rates, cycle, seen):
    with pytest.raises(ModelError) as error:
        RateProfile(edges, rates, cycle)
    assert seen in str(error.value)


@pytest.mark.parametrize("t", [-1.0, math.nan, math.inf])
def test_times_without_meaning_are_refused(t):
    with pytest.raises(ModelError, match=r"t_min holds"):
        RateProfile.constant(1).cumulative([0.0, t])
