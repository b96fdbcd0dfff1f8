"""Measured recoveries against incidents whose course is known, and the cases that a sceptic would try."""

from __future__ import annotations

from datetime import timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from tests.findings.incident import TRIGGER, incident, made

from afterload.errors import InputError
from afterload.findings.attempts import attempts_by_layer
from afterload.findings.drain import observe_drain
from afterload.findings.measured import measure_recovery, measure_signal
from afterload.findings.rates import to_rates

T = TRIGGER.timestamp()
RESTORE = TRIGGER + timedelta(minutes=60)
UTC_ZONE = ZoneInfo("UTC")


def signal(after, during=900.0, before=10.0, keep=None, **more):
    """Three hours before, an hour of outage, then what is given, a value a minute."""
    values = np.array([*np.tile([before, before + 1], 90), *[during] * 60, *after], dtype=float)
    times = T - 180 * 60 + 60.0 * np.arange(len(values))
    kept = np.ones(len(values), dtype=bool) if keep is None else keep(times)
    return made(times[kept], values[kept], "age", "max", **more)


def measured(series, **more):
    return measure_signal(series, "first-attempt age", TRIGGER, RESTORE, **more)


@pytest.mark.parametrize("seed", range(5))
def test_a_known_recovery_within_5_percent(seed):
    event = incident(seed=seed)
    found = measure_recovery(
        {
            "first-attempt age": event.series(event.age_s, "age", "max"),
            "error rate": event.series(event.error_rate, "errors", "average"),
            "backlog": event.series(event.waiting, "depth", "average"),
        },
        event.trigger,
        event.restore,
        UTC_ZONE,
    )
    assert found.of("first-attempt age").back_min == pytest.approx(event.drained_min, rel=0.05)
    assert found.of("backlog").back_min == pytest.approx(event.drained_min, rel=0.05)
    # The fluid drain of 172 min at 1,200 in and 1,800 out is 344 min.
    assert found.of("first-attempt age").back_min == pytest.approx(344, rel=0.05)
    assert found.of("error rate").back_min == pytest.approx(25, abs=1)
    assert all(item.left for item in found.signals)


@pytest.mark.parametrize("seed", range(5))
def test_known_rates_and_headroom_within_5_percent(seed):
    event = incident(seed=seed)
    found = observe_drain(
        to_rates(event.series(event.arrived, "sent")),
        to_rates(event.series(event.served, "deleted")),
        event.series(event.waiting, "depth", "average"),
        event.trigger,
        event.restore,
    )
    assert found.backlog_at_restore == pytest.approx(1_200 * 172, rel=0.05)
    assert found.drain_min == pytest.approx(344, rel=0.05)
    assert found.arrival.mean == pytest.approx(1_200, rel=0.05)
    assert found.service.mean == pytest.approx(1_800, rel=0.05)
    assert found.headroom_of_rates == pytest.approx(1.5, rel=0.05)
    assert found.headroom_of_times == pytest.approx(1.5, rel=0.05)
    assert found.balance == pytest.approx(found.backlog_at_restore, rel=0.01)


def test_headroom_of_the_reference_incident():
    """289 min at a standstill and 80 min of drain imply 4.6125 times the arrivals (facts: the published summary)."""
    event = incident(capacity=4.6125 * 1_200, outage_min=289)
    found = observe_drain(
        to_rates(event.series(event.arrived, "sent")), to_rates(event.series(event.served, "deleted")),
        event.series(event.waiting, "depth", "average"), event.trigger, event.restore,
    )  # fmt: skip
    assert found.drain_min == pytest.approx(80, rel=0.05)
    assert found.headroom_of_times == pytest.approx(4.6125, rel=0.05)


def test_back_is_the_start_of_the_stretch_that_stays():
    found = measured(signal([900] * 20 + [10] * 5 + [900] * 5 + [10] * 60), dwell_min=15)
    assert found.back_min == 30
    assert found.relapse_min is None
    assert found.resolution_min == 1
    assert measured(signal([900] * 20 + [10] * 5 + [900] * 5 + [10] * 60), dwell_min=5).back_min == 20


def test_a_relapse_after_the_dwell_is_said():
    found = measured(signal([900] * 20 + [10] * 30 + [900] * 5 + [10] * 60))
    assert (found.back_min, found.relapse_min) == (20, 50)
    assert any("above its edge again" in doubt.text for doubt in found.doubts)


def test_a_signal_that_is_not_back_in_the_data_is_open_ended():
    found = measured(signal([900] * 50))
    assert found.is_open
    assert found.back_min is None
    assert found.seen_until_min == 50
    assert any("where the data end" in doubt.text for doubt in found.doubts)


def test_normal_at_the_end_but_too_short_is_not_back():
    found = measured(signal([900] * 50 + [10] * 14))
    assert found.is_open
    assert any("for less than 15 min" in doubt.text for doubt in found.doubts)
    assert measured(signal([900] * 50 + [10] * 15)).back_min == 50


def test_missing_data_are_not_back():
    """Five normal minutes, a hole, ten normal minutes, a hole: no stretch of 15 min without one."""
    hole = lambda t: ~(((t >= T + 65 * 60) & (t < T + 70 * 60)) | ((t >= T + 80 * 60) & (t < T + 90 * 60)))  # noqa: E731
    found = measured(signal([10] * 60, keep=hole))
    assert found.back_min == 30
    assert any(
        "no data for 15 min" in doubt.text and "may have been back earlier" in doubt.text for doubt in found.doubts
    )


def test_a_queue_that_goes_silent_is_not_back():
    found = measured(signal([900] * 20 + [10] * 5))
    assert found.is_open


def test_a_signal_that_never_left_says_nothing():
    found = measured(signal([10] * 60, during=10))
    assert found.back_min == 0
    assert not found.left
    assert any("says nothing about this recovery" in doubt.text for doubt in found.doubts)


def test_a_point_that_covers_the_restore_counts():
    series = signal([10] * 60)
    early = measure_signal(series, "latency", TRIGGER, RESTORE - timedelta(seconds=30))
    assert early.back_min == 0.5
    late = measure_signal(series, "latency", TRIGGER, RESTORE + timedelta(seconds=30))
    assert late.back_min == 0


def test_end_stamps_are_a_period_earlier():
    start, end = signal([900] * 20 + [10] * 60, stamp="start"), signal([900] * 20 + [10] * 60, stamp="end")
    assert (measured(start).back_min, measured(end).back_min) == (20, 19)


def test_a_tolerance_that_is_given_decides():
    ramp = [900 - 10 * i for i in range(90)]
    assert measured(signal([*ramp, *[10] * 60]), tolerance=100).back_min == next(
        i for i, v in enumerate(ramp) if v <= 110.5
    )
    assert measured(signal([*ramp, *[10] * 60])).back_min > 85


def test_a_noisy_baseline_widens_the_band():
    """Noise alone must not hold a recovery open: 500 draws of the noise before the trigger stay within the band."""
    rng = np.random.default_rng(3)
    values = np.concatenate([rng.normal(100, 8, 180), np.full(60, 900.0), rng.normal(100, 8, 500)])
    series = made(T - 180 * 60 + 60.0 * np.arange(len(values)), values)
    found = measured(series)
    assert found.back_min == 0
    assert found.relapse_min is None


def test_errors_that_are_mostly_zero():
    values = np.zeros(180 + 60 + 100)
    values[[5, 60, 120]] = 0.01
    values[180:240] = 0.9
    values[240:250] = 0.3
    values[300] = 0.01
    found = measure_signal(made(T - 180 * 60 + 60.0 * np.arange(len(values)), values), "error rate", TRIGGER, RESTORE)
    assert found.back_min == 10
    assert found.relapse_min is None


@pytest.mark.parametrize(
    ("trigger", "restore", "words"),
    [
        (TRIGGER.replace(tzinfo=None), RESTORE, "the trigger, .* has no zone"),
        (TRIGGER, RESTORE.replace(tzinfo=None), "the restore, .* has no zone"),
        (RESTORE, TRIGGER, "is not after the trigger"),
        (TRIGGER, TRIGGER, "is not after the trigger"),
        (TRIGGER - timedelta(days=9), RESTORE, "only 0 points lie"),
        (TRIGGER, RESTORE + timedelta(days=9), "before the restore: export a later end"),
    ],
)
def test_times_that_cannot_be(trigger, restore, words):
    with pytest.raises(InputError, match=words):
        measure_signal(signal([10] * 30), "latency", trigger, restore)


def test_no_signal_and_an_unknown_signal():
    with pytest.raises(InputError, match="no signal is given"):
        measure_recovery({}, TRIGGER, RESTORE, UTC_ZONE)
    with pytest.raises(InputError, match="'speed' is no signal"):
        measure_signal(signal([10]), "speed", TRIGGER, RESTORE)


def test_zones_of_the_instants_do_not_matter():
    pacific = ZoneInfo("America/Los_Angeles")
    series = signal([900] * 20 + [10] * 60)
    assert measure_signal(series, "latency", TRIGGER.astimezone(pacific), RESTORE.astimezone(pacific)).back_min == 20


def test_age_of_the_oldest_message_is_not_first_attempt_age():
    series = signal([10] * 60)
    named = made(series.times, series.values, "ApproximateAgeOfOldestMessage", "max")
    assert any("not the age on first attempt" in doubt.text for doubt in measured(named).doubts)


def test_no_backlog_point_at_the_restore_is_an_error():
    event = incident()
    minute = np.arange(len(event.waiting))
    series = event.series(event.waiting, "depth", "average", keep=(minute < 560) | (minute > 590))
    arrivals, served = to_rates(event.series(event.arrived, "sent")), to_rates(event.series(event.served, "deleted"))
    with pytest.raises(InputError, match="no point near the restore"):
        observe_drain(arrivals, served, series, event.trigger, event.restore)


def test_a_drain_that_is_not_over():
    event = incident(after_min=200)
    found = observe_drain(
        to_rates(event.series(event.arrived, "sent")), to_rates(event.series(event.served, "deleted")),
        event.series(event.waiting, "depth", "average"), event.trigger, event.restore,
    )  # fmt: skip
    assert found.drain_min is None
    assert found.headroom_of_times is None
    assert found.service.mean == pytest.approx(1_800, rel=0.05)
    assert any("not over" in doubt.text for doubt in found.doubts)


def test_lost_items_show_in_the_balance():
    """Half an hour into the drain half of the backlog is purged: it is gone, but nobody served it."""
    event = incident()
    back = round((event.restore - event.start).total_seconds() / 60)
    waiting = event.waiting.copy()
    waiting[back + 30 :] = np.maximum(0, waiting[back + 30 :] - waiting[back - 1] // 2)
    waiting[back + event.drained_min // 2 :] = 0
    found = observe_drain(
        to_rates(event.series(event.arrived, "sent")), to_rates(event.series(event.served, "deleted")),
        event.series(waiting, "depth", "average"), event.trigger, event.restore,
    )  # fmt: skip
    assert any("less than the backlog" in doubt.text for doubt in found.doubts)


# Attempts


def layers(tries_before, tries_during, period=60.0):
    count = int(420 * 60 / period)
    minute = period / 60 * np.arange(count)
    top = np.full(count, 300.0 * period / 60)
    during = (minute >= 180) & (minute < 240)
    counts = [top]
    for before, failing in zip(tries_before, tries_during, strict=True):
        counts.append(np.where(during, top * failing, top * before))
    times = T - 180 * 60 + period * np.arange(count)
    return [(f"layer {i}", to_rates(made(times, values, period=period))) for i, values in enumerate(counts)]


def test_attempts_by_layer_multiply_down_the_stack():
    """Three tries at each of three layers: 3, 9, 27 calls while all fail; 1 before."""
    found = attempts_by_layer(layers([1, 1, 1], [3, 9, 27]), TRIGGER, RESTORE)
    assert [item.outage.per_request for item in found] == pytest.approx([3, 9, 27])
    assert [item.before.per_request for item in found] == pytest.approx([1, 1, 1])
    assert [item.outage.most for item in found] == pytest.approx([3, 9, 27])


def test_layers_of_different_periods_meet_at_the_longest():
    mixed = [layers([1], [3])[0], layers([1], [3], period=300.0)[1]]
    (found,) = attempts_by_layer(mixed, TRIGGER, RESTORE)
    assert found.outage.per_request == pytest.approx(3)


def test_no_requests_or_no_data_have_no_ratio():
    quiet = layers([1], [3])
    nothing = to_rates(made(quiet[0][1].starts, np.zeros(420)))
    (found,) = attempts_by_layer([("top", nothing), quiet[1]], TRIGGER, RESTORE)
    assert found.outage.per_request is None
    gone = to_rates(made(quiet[1][1].starts[:150], np.ones(150)))
    (found,) = attempts_by_layer([quiet[0], ("dark", gone)], TRIGGER, RESTORE)
    assert found.outage.per_request is None
    assert found.before.per_request is not None


def test_one_layer_is_no_stack():
    with pytest.raises(InputError, match="at least one layer"):
        attempts_by_layer(layers([], []), TRIGGER, RESTORE)
