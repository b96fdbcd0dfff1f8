"""Periods and gaps of measured series, baselines, and the return below an edge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterload.errors import ModelError
from afterload.model.baseline import baseline, returns_below, upper_edge
from afterload.model.spacing import missing_spans, period_of


@pytest.mark.parametrize("period", [1.0, 15.0, 60.0, 300.0, 3600.0, 0.5])
def test_a_period_is_found_through_gaps(period):
    rng = np.random.default_rng(int(period))
    slots = np.flatnonzero(rng.random(400) < 0.3)
    assert period_of(1e9 + period * slots) == pytest.approx(period)


def test_a_period_is_found_through_jitter():
    rng = np.random.default_rng(1)
    times = 1e9 + 60.0 * np.arange(300) + rng.uniform(-1, 1, 300)
    assert period_of(times) == pytest.approx(60, rel=0.02)


def test_one_stray_point_does_not_change_the_period():
    times = np.sort(np.append(1e9 + 60.0 * np.arange(200), 1e9 + 60 * 50 + 7))
    assert period_of(times) == 60


def test_no_period_is_assumed():
    assert period_of(np.array([5.0])) is None
    assert period_of(np.array([])) is None
    assert period_of(1e9 + np.cumsum(np.random.default_rng(2).exponential(60, 200))) is None
    assert period_of(np.array([0.0, 3600.0])) == 3600


def test_gaps_begin_a_period_after_a_point_and_end_at_the_next():
    assert missing_spans(np.array([0.0, 60, 240, 300, 390]), 60) == ((120.0, 240.0),)


def test_baseline_by_hand():
    normal = baseline(60.0 * np.arange(10), np.array([1.0, 2, 3, 4, 5, 6, 7, 8, 9, 1000]), 540.0, 540.0)
    assert (normal.median, normal.points) == (5, 9)
    assert normal.spread == pytest.approx(1.4826 * 2)
    assert upper_edge(normal) == pytest.approx(5 + 5 * 1.4826 * 2)
    assert upper_edge(normal, 1.5) == 6.5


def test_a_flat_baseline_still_leaves_10_percent():
    normal = baseline(60.0 * np.arange(20), np.full(20, 100.0), 1200.0, 1200.0)
    assert upper_edge(normal) == 110


def test_too_few_points():
    with pytest.raises(ModelError, match="only 4 points"):
        baseline(60.0 * np.arange(4), np.ones(4), 240.0, 240.0)


def by_minute(low: list[bool | None], after: int, dwell: int) -> int | None:
    """When a signal is back, minute by minute in plain Python; None is no data."""
    for start in range(after, len(low)):
        stretch = low[start : start + dwell]
        if len(stretch) == dwell and all(item is True for item in stretch):
            return start
    return None


@given(
    st.lists(st.sampled_from([True, True, True, False, None]), min_size=1, max_size=60),
    st.integers(1, 6),
    st.integers(0, 10),
)
def test_return_against_a_search_minute_by_minute(low, dwell, after):
    known = [place for place, item in enumerate(low) if item is not None]
    times = 60.0 * np.array(known)
    values = np.array([0.0 if low[place] else 9.0 for place in known])
    found = returns_below(times, values, 60.0, 60.0 * after, 1.0, 60.0 * dwell)
    want = by_minute(low, after, dwell)
    if not any(place >= after for place in known):
        assert found is None
        return
    assert (None if found.back_s is None else found.back_s / 60) == want
    if want is not None:
        later = [place for place in range(want, len(low)) if low[place] is False]
        assert (None if found.relapse_s is None else found.relapse_s / 60) == (later[0] if later else None)
    assert found.seen_until_s == 60.0 * (known[-1] + 1)
