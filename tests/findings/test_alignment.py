"""The team's events beside the provider's: by hand, and against a plain search of every pair."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterload.errors import ModelError
from afterload.findings.alignment import align
from afterload.readers.timeline import Event, Timeline, read_timeline_file
from afterload.resources import resource
from afterload.scenario import TimelineEvent

START = datetime(2025, 10, 20, tzinfo=UTC)


def at(minutes, subsystem="", text="x"):
    return TimelineEvent(START + timedelta(minutes=minutes), None, subsystem, "", text)


def test_nearest_one_before_within_the_window():
    theirs = [at(0, text="a"), at(30, text="b"), at(200, text="c")]
    found = align([at(-1), at(0), at(29), at(30), at(90), at(91), at(500)], theirs, window_min=60)
    assert [(item.theirs and item.theirs.event, item.lag_min, item.reason) for item in found.followers] == [
        (None, None, "before any"),
        ("a", 0, ""),
        ("a", 29, ""),
        ("b", 0, ""),
        ("b", 60, ""),
        ("b", 61, "beyond the window"),
        ("c", 300, "beyond the window"),
    ]
    assert found.median_lag_min == 14.5
    assert len(found.explained) == 4
    assert len(found.unexplained) == 3


def test_a_matching_subsystem_goes_before_a_nearer_one():
    theirs = [at(0, "Amazon DynamoDB", "ours"), at(10, "EC2", "other"), at(15, "AWS Lambda", "aws")]
    (item,) = align([at(20, "dynamodb table")], theirs).followers
    assert (item.theirs.event, item.lag_min, item.same_subsystem) == ("ours", 20, True)
    # Beyond the window it does not.
    (item,) = align([at(61, "dynamodb table")], theirs).followers
    assert (item.theirs.event, item.lag_min, item.same_subsystem) == ("aws", 46, False)
    # Words that every name has match nothing.
    (item,) = align([at(20, "AWS Batch")], theirs).followers
    assert (item.theirs.event, item.same_subsystem) == ("aws", False)
    # Unless they are the whole name.
    assert align([at(20, "api")], [at(0, "API"), at(10, "x")]).followers[0].lag_min == 20


def test_what_ours_depends_on_is_said_by_the_team():
    theirs = [at(0, "DynamoDB"), at(10, "EC2")]
    (item,) = align([at(20, "orders")], theirs, depends_on={"orders": ["DynamoDB"]}).followers
    assert (item.lag_min, item.same_subsystem) == (20, True)


def test_zones_do_not_matter():
    pacific = timezone(timedelta(hours=-7))
    theirs = [TimelineEvent(datetime(2025, 10, 19, 23, 48, tzinfo=pacific), None, "", "", "a")]
    (item,) = align([TimelineEvent(datetime(2025, 10, 20, 6, 53, tzinfo=UTC), None, "", "", "b")], theirs).followers
    assert item.lag_min == 5


@pytest.mark.parametrize("window", [0, -1, float("nan"), float("inf")])
def test_a_window_without_meaning(window):
    with pytest.raises(ModelError, match="give minutes above zero"):
        align([], [], window_min=window)


def test_nothing_to_lay_beside():
    assert align([], [at(0)]).median_lag_min is None
    (item,) = align([at(0)], []).followers
    assert (item.theirs, item.reason) == (None, "before any")


def test_beside_the_published_account_of_october_2025():
    theirs = read_timeline_file(resource("data", "incidents", "us-east-1-2025-10-20", "timeline.csv"))
    ours = Timeline(
        (
            # Lags by hand, from the published minutes.
            Event(datetime(2025, 10, 20, 6, 47, tzinfo=UTC), None, "first time-out", "orders"),
            Event(datetime(2025, 10, 20, 6, 53, tzinfo=UTC), None, "queue grows", "dynamodb"),
            Event(datetime(2025, 10, 20, 12, 45, tzinfo=UTC), None, "launches work", "ec2"),
            Event(datetime(2025, 10, 21, 9, 0, tzinfo=UTC), None, "still slow", "orders"),
        )
    )
    found = align(ours.rows, theirs.rows, window_min=60, depends_on={"orders": ["DynamoDB"]})
    assert [(item.lag_min, item.same_subsystem, item.reason) for item in found.followers] == [
        (None, False, "before any"),
        (5, True, ""),
        (17, True, ""),
        (659, False, "beyond the window"),
    ]
    assert found.followers[2].theirs.subsystem == "EC2 DWFM"


NAMES = st.sampled_from(["", "p", "q", "p q", "r"])
EVENTS = st.lists(st.builds(at, st.integers(-50, 200), NAMES, st.sampled_from(["x", "y"])), max_size=12)


@given(EVENTS, EVENTS, st.integers(1, 100), st.randoms(use_true_random=False))
def test_against_a_search_of_every_pair(ours, theirs, window, chance):
    found = align(ours, theirs, window)
    assert len(found.followers) == len(ours)
    for item in found.followers:
        before = [each for each in theirs if each.at <= item.ours.at]
        inside = [each for each in before if item.ours.at - each.at <= timedelta(minutes=window)]
        same = [each for each in inside if set(each.subsystem.split()) & set(item.ours.subsystem.split())]
        assert item.same_subsystem == bool(same)
        assert (item.reason == "before any") == (not before)
        assert (item.reason == "beyond the window") == (bool(before) and not inside)
        if before:
            nearest = max(each.at for each in same or inside or before)
            assert item.theirs.at == nearest
            assert item.lag_min == (item.ours.at - nearest).total_seconds() / 60
            assert item.theirs in (same or inside or before)
    chance.shuffle(ours)
    chance.shuffle(theirs)
    assert align(ours, theirs, window) == found
