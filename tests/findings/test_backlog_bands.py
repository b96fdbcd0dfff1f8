"""Bands of the backlog: the closed form of a queue over its draws, and the percentiles of the end beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from afterload.findings.backlog_bands import BacklogBand, backlog_bands
from afterload.model.coupled import CoupledQueue, CoupledSystem, Input, backlogs, trace
from afterload.model.curves import RateProfile
from afterload.model.queues import QueueLoad
from afterload.model.uncertainty import Range
from afterload.recovery.build import couple
from afterload.recovery.result import CoupledEstimate, estimate_recovery
from afterload.scenario import load_scenario

ORDERS = "builtin:scenarios/orders.yaml"
ARRIVALS, OUTAGE = 1_200.0, 172.0
SERVICE = {"low": "1,600/min", "high": "2,200/min"}


def estimated(**ranges: Any) -> CoupledEstimate:
    named = {
        "service": "queues.orders.service_rate",
        "outage": "incident.outage",
        "arrivals": "queues.orders.arrival_rate",
    }
    coupling = couple(load_scenario(ORDERS, {"uncertain": {named[name]: ends for name, ends in ranges.items()}}))
    assert coupling is not None
    return estimate_recovery(coupling)


def only(recovery: CoupledEstimate) -> BacklogBand:
    [band] = backlog_bands(recovery)
    return band


def at(band: BacklogBand, minutes: float) -> list[float]:
    return [float(np.interp(minutes, band.minutes, part)) for part in (band.low, band.middle, band.high)]


def test_it_is_the_closed_form_at_the_percentiles_of_the_service_rate() -> None:
    """docs/model.md section 1: a T - (s - a) t is left t minutes after the restore, least where s is highest."""
    band = only(estimated(service=SERVICE))
    drawn = Range(1_600, 1_800, 2_200).sample(400_000, np.random.default_rng(1))
    waiting = ARRIVALS * OUTAGE
    assert at(band, 100) == pytest.approx(3 * [ARRIVALS * 100])
    assert at(band, OUTAGE) == pytest.approx(3 * [waiting], rel=0.01)
    for minutes in (60.0, 120.0, 180.0):
        left = [waiting - (rate - ARRIVALS) * minutes for rate in np.quantile(drawn, (0.9, 0.5, 0.1))]
        assert at(band, OUTAGE + minutes) == pytest.approx(left, rel=0.03)


def test_it_ends_where_the_percentiles_of_the_end_are() -> None:
    recovery = estimated(service=SERVICE, arrivals={"low": "1,100/min", "high": "1,350/min"})
    band, spread = only(recovery), recovery.drain["orders"]
    step = float(np.diff(band.minutes).max())
    for part, end in ((band.low, spread.p10), (band.middle, spread.p50), (band.high, spread.p90)):
        assert end is not None
        gone = float(band.minutes[np.argmax((part <= 0) & (band.minutes > OUTAGE))]) - OUTAGE
        assert end - 0.02 * end <= gone <= end + step + 0.02 * end
    assert (band.low <= band.middle).all()
    assert (band.middle <= band.high).all()
    assert float(band.high[-1]) == 0
    assert band.draws == 200


def test_an_outage_of_uncertain_length_begins_at_one_trigger() -> None:
    """An hour after the trigger nobody is back: an hour's arrivals wait. At 172 min some have drained for a while."""
    band = only(estimated(outage={"low": "100 min", "high": "250 min"}))
    assert at(band, 0) == [0, 0, 0]
    assert at(band, 60) == pytest.approx(3 * [60 * ARRIVALS])
    low, _, high = at(band, OUTAGE)
    assert high == pytest.approx(OUTAGE * ARRIVALS, rel=0.001)
    # P10 of the outage, and from there on 600/min less.
    early = float(np.quantile(Range(100, 172, 250).sample(400_000, np.random.default_rng(1)), 0.1))
    assert low == pytest.approx(early * ARRIVALS - 600 * (OUTAGE - early), rel=0.02)


def test_draws_that_never_drain_go_on_growing() -> None:
    """At 1,000/min served 200/min more wait every minute, long after the course repeats itself and is not followed on."""
    band = only(estimated(service={"low": "1,000/min", "high": "1,801/min"}))
    slow = float(np.quantile(Range(1_000, 1_800, 1_801).sample(400_000, np.random.default_rng(1)), 0.1))
    later = OUTAGE + 300
    assert at(band, later)[2] == pytest.approx(ARRIVALS * OUTAGE - (slow - ARRIVALS) * 300, rel=0.05)
    queue = CoupledQueue(QueueLoad(RateProfile((0.0, 60.0), (ARRIVALS,)), 1_000.0, 60.0))
    system = CoupledSystem(60.0, 60.0, (queue,))
    times, waiting = backlogs(system, {Input("queue", 0, "service_rate_per_min"): [1_000.0, 1_500.0]}, 5_000.0)
    assert times[-1] == 5_000
    assert waiting[0, -1, 0] == pytest.approx(60 * ARRIVALS + 200 * 5_000)
    assert waiting[1, -1, 0] == 0


def test_each_course_is_that_of_the_recovery_alone() -> None:
    coupling = couple(load_scenario("builtin:scenarios/render-fleet.yaml"))
    assert coupling is not None
    course = trace(coupling.system)
    fleet = Input("queue", 0, "service_rate_per_min")
    rate = coupling.system.queues[0].load.service_rate_per_min
    times, waiting = backlogs(coupling.system, {fleet: [rate, rate]}, float(course.times_min[-2]))
    both = (course.live + course.sidelined)[: len(times) - 1]
    assert times[: len(both)] == pytest.approx(course.times_min[: len(both)])
    assert waiting[1, : len(both)] == pytest.approx(both)
    assert (waiting[0] == waiting[1]).all()


def test_what_waited_at_the_trigger_waits_before_it() -> None:
    load = QueueLoad(RateProfile((0.0, 60.0), (ARRIVALS,)), 1_800.0, 60.0, backlog_before=5_000.0)
    system = CoupledSystem(60.0, 90.0, (CoupledQueue(load),))
    times, waiting = backlogs(system, {Input("outage", 0, "outage_min"): [60.0]}, 10.0)
    assert set(waiting[0, times <= -60, 0].tolist()) == {5_000.0}
    assert waiting[0, times == 0, 0] == pytest.approx([5_000 + 60 * ARRIVALS])


def test_there_is_none_without_uncertain_inputs_and_none_of_a_stream() -> None:
    assert backlog_bands(None) == ()
    assert backlog_bands(estimated()) == ()
    coupling = couple(load_scenario("builtin:scenarios/render-fleet.yaml"))
    assert coupling is not None
    assert coupling.queues == ("thumbnails", "frame-events")
    assert [band.queue for band in backlog_bands(estimate_recovery(coupling))] == ["thumbnails"]


def test_a_backlog_that_grows_into_its_age_limit_stays_there() -> None:
    """100/min in, 90/min out: 6,000 at the restore grow by 10 a minute to 30,000, which is what comes in 300 min."""
    queue = CoupledQueue(QueueLoad(RateProfile((0.0, 60.0), (100.0,)), 90.0, 60.0, max_age_min=300.0))
    times, waiting = backlogs(CoupledSystem(60.0, 60.0, (queue,)), {}, 8_000.0)
    growing = times <= 2_300
    assert waiting[0, growing & (times >= 0), 0] == pytest.approx(6_000 + 10 * times[growing & (times >= 0)])
    assert waiting[0, times >= 2_500, 0] == pytest.approx(30_000)
