"""A dependency under overload against the published example, second by second and in closed form."""

import pytest
from tests.oracles.overload_events import (
    closed_recovery_s,
    event_recovery,
    failing_attempts_per_s,
    fatal_outage,
    fluid_fatal_outage_s,
)

from afterload.errors import ModelError
from afterload.model.overload import RetryingService, classify, hidden_capacity, retry_allowance
from afterload.model.trigger import Trigger

HOTOS_21 = RetryingService(capacity_per_s=300, timeout_s=1, retries=1)


# "Metastable Failures in Distributed Systems", HotOS 2021: its example of 300/s.
def test_hotos_21_example_is_vulnerable_at_280():
    assert hidden_capacity(300, 2) == HOTOS_21.hidden_capacity_per_s == 150
    assert HOTOS_21.classify(280) == classify(280, 300, 2) == "vulnerable"
    assert failing_attempts_per_s(HOTOS_21, 280) == 560
    assert event_recovery(HOTOS_21, 280, Trigger(10)).peak_attempts_per_s == 560
    assert retry_allowance(300, 280) == 20
    assert HOTOS_21.classify(149) == "stable"
    assert HOTOS_21.classify(301) == "overloaded"


# HotOS 2021, its example: time to recover from an outage of 10 s.
@pytest.mark.parametrize(
    ("load", "expected"),
    [(100, 16), (120, 33), (140, 118), (145, 245.5), (149, 1265.5), (150, None), (155, None), (200, None), (280, None)],
)
def test_hotos_21_time_to_recover(load, expected):
    event = event_recovery(HOTOS_21, load, Trigger(10))
    closed = closed_recovery_s(HOTOS_21, load, 10)
    assert event.heals is (expected is not None)
    if expected is None:
        assert closed is None
        assert event.recovery_s is None
    else:
        assert closed == pytest.approx(expected, rel=1e-9)
        assert closed == pytest.approx((load * 19 - 300) / (300 - 2 * load))
        assert event.recovery_s == pytest.approx(expected, abs=1.5)


# HotOS 2021, its example at 280/s: retries held to so many a second.
@pytest.mark.parametrize(("limit", "expected"), [(5, 169.7), (10, 259), (20, None), (21, None), (100, None)])
def test_hotos_21_with_held_retries(limit, expected):
    service = RetryingService(300, retry_limit_per_s=limit)
    event = event_recovery(service, 280, Trigger(10)).recovery_s
    closed = closed_recovery_s(service, 280, 10)
    if expected is None:
        assert event is closed is None
    else:
        assert closed == pytest.approx((2500 + 9 * limit) / (20 - limit))
        assert event == pytest.approx(expected, abs=1.5)
        assert service.classify(280) == "stable"


# HotOS 2021, its example: the shortest outage that is fatal.
@pytest.mark.parametrize(("load", "expected"), [(155, 1.475), (180, 1.338), (200, 1.224), (240, 1.063), (280, 1.002)])
def test_hotos_21_shortest_fatal_outage(load, expected):
    found = fatal_outage(HOTOS_21, load)
    assert found.outage_s == pytest.approx(expected, abs=0.05)
    assert found.heals_at_s < found.outage_s <= found.heals_at_s + 1e-3
    assert found.fluid_s == pytest.approx((1 + 300 / load) / 2)
    assert abs(found.fluid_s / found.outage_s - 1) < 0.065
    assert event_recovery(HOTOS_21, load, Trigger(found.heals_at_s)).heals
    assert not event_recovery(HOTOS_21, load, Trigger(1.02 * found.outage_s)).heals


def test_no_outage_is_fatal_below_the_hidden_capacity():
    assert fatal_outage(HOTOS_21, 149).outage_s is None
    assert fluid_fatal_outage_s(HOTOS_21, 149) is None
    assert fatal_outage(HOTOS_21, 300).outage_s == 0


def test_some_sends_may_time_out_for_ever():
    """Between healing and collapse lies a wave of retries that repeats: it is found, not cut off."""
    found = event_recovery(HOTOS_21, 240, Trigger(1.058))
    assert found.recovery_s is None
    assert found.timed_out < 0.5 * found.sends


def test_a_verdict_needs_no_horizon():
    """The verdict may use any number of sends, and too few of them are refused rather than read as 'never'."""
    settled = event_recovery(HOTOS_21, 145, Trigger(10))
    assert event_recovery(HOTOS_21, 145, Trigger(10), most_sends=settled.sends) == settled
    with pytest.raises(ModelError, match="give no verdict"):
        event_recovery(HOTOS_21, 145, Trigger(10), most_sends=settled.sends // 2)


@pytest.mark.parametrize("retries", [0, 1, 2, 4])
@pytest.mark.parametrize("outage", [0.4, 2.5, 7.0])
def test_closed_form_and_events_agree_below_the_hidden_capacity(retries, outage):
    service = RetryingService(500, 1.5, retries)
    load = 0.9 * service.hidden_capacity_per_s
    closed = closed_recovery_s(service, load, outage)
    event = event_recovery(service, load, Trigger(outage)).recovery_s
    # The closed form ends at the crossing; before it, nothing times out and 0 is exact.
    assert event == pytest.approx(closed, rel=0.01, abs=max(0.05, 1.5 if closed == 0 else 0.0))


def test_near_a_boundary_is_said():
    service = RetryingService(2000, retries=1)
    near = [load for load in (970, 980, 1000, 1020, 1030, 1950, 1960, 2040, 2050) if service.is_near_boundary(load)]
    assert near == [980, 1000, 1020, 1960, 2040]
    assert [load for load in (146, 147, 149, 153, 154, 280) if HOTOS_21.is_near_boundary(load)] == [147, 149, 153]


def test_nothing_negative_or_infinite():
    assert retry_allowance(300, 400) == 0
    assert closed_recovery_s(HOTOS_21, 149, 0.1) == 0
    assert closed_recovery_s(HOTOS_21, 300, 10) is None


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf")])
def test_bad_numbers_are_refused(bad):
    with pytest.raises(ModelError):
        hidden_capacity(bad, 2)
    with pytest.raises(ModelError):
        Trigger(bad)
    with pytest.raises(ModelError):
        event_recovery(HOTOS_21, bad, Trigger(10))
