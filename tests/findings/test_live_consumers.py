"""What is served while a recovery goes on: caps, ramps and shards, and a drain above the safe cap.

Against ``estimate()`` of the same scenario, whose own tests hold it to closed forms and a count item by item, and against
the closed form D / (s - a) of docs/model.md section 1.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from afterload.estimates import QueueEstimate, estimate
from afterload.findings.live import Live, live, live_answer
from afterload.findings.live_known import Known, Side, StatedRate, known_of
from afterload.findings.live_words import MOST_LINES, live_json, live_lines
from afterload.recovery.sustained import Sustained
from afterload.scenario import LoadedScenario, Reading, load_scenario

ORDERS = "builtin:scenarios/orders.yaml"
JOBS = "queues.orders"
RAMP = (f"{JOBS}.ramp.start=5", f"{JOBS}.ramp.per_min=1", f"{JOBS}.ramp.ceiling=60")
BOUNDS: dict[str, tuple[str, ...]] = {
    "nothing": (),
    "a cap": (f"{JOBS}.drain_cap.concurrency=50",),
    "a reserved concurrency": (f"{JOBS}.reserved_concurrency=45",),
    "pollers": (f"{JOBS}.provisioned_pollers.minimum=2", f"{JOBS}.provisioned_pollers.maximum=5"),
    "a slow ramp": RAMP,
    "a preset ramp": (f"{JOBS}.ramp=lambda-sqs",),
    "a ramp to less than is planned": (*RAMP[:2], f"{JOBS}.ramp.ceiling=50"),
    "a ramp below a cap": (*RAMP, f"{JOBS}.drain_cap.concurrency=48"),
}


def at_restore(
    loaded: LoadedScenario, found: QueueEstimate, after_min: float = 0.0, depth: float | None = None
) -> Live:
    """The answer to one reading of what the estimate has waiting at the restore, or so long after it."""
    incident = loaded.scenario.incident
    waiting = found.recovery.backlog_at_restore if depth is None else depth
    at = incident.restored_at + timedelta(minutes=after_min)
    arrival = found.load.arrivals.mean_tail_per_min
    return live([Reading(at, found.name, waiting, arrival_per_min=arrival)], known_of(loaded, found.name))


@pytest.mark.parametrize("name", BOUNDS)
def test_the_end_is_that_of_the_estimate_under_every_bound(name: str) -> None:
    loaded = load_scenario(ORDERS, BOUNDS[name])
    found = estimate(loaded).queues["orders"]
    assert found.drain_min is not None
    answer = at_restore(loaded, found)
    assert answer.empty.p50 == pytest.approx(found.drain_min, rel=1e-3)
    assert answer.cap is not None
    assert answer.cap.served_per_min == pytest.approx(found.service_rate_now_per_min)
    assert len(live_lines(answer)) <= MOST_LINES


def test_later_on_a_ramp_the_rest_of_it_counts() -> None:
    """Ninety minutes after the restore the estimate's own backlog is read off; the end stays where it was."""
    loaded = load_scenario(ORDERS, RAMP)
    found = estimate(loaded).queues["orders"]
    assert found.drain_min is not None
    at = found.load.outage_min + 90
    depth = float(np.interp(at, found.recovery.times_min, found.recovery.backlog))
    answer = at_restore(loaded, found, 90, depth)
    assert answer.empty.p50 == pytest.approx(found.drain_min - 90, rel=1e-3)
    early = at_restore(loaded, found)
    assert early.kind == "growing"
    line = live_lines(early)[0]
    assert "not draining now: grows by 885/" in line
    assert "; by the ramp of its consumers empty in" in line


@pytest.mark.parametrize("share", ["none", "9 %", "30 %"])
@pytest.mark.parametrize("bounds", [(), ("item_time=100 ms", "drain_cap.concurrency=60")])
def test_the_busiest_shard_of_a_stream_decides(share: str, bounds: tuple[str, ...]) -> None:
    """With the scenario's hours of the day: what is to come at the busiest shard counts."""
    queue = "queues.frame-events"
    changes = (f"{queue}.stream.hottest_share={share}", *(f"{queue}.{bound}" for bound in bounds))
    loaded = load_scenario("builtin:scenarios/render-fleet.yaml", changes)
    found = estimate(loaded).queues["frame-events"]
    reading = Reading(loaded.scenario.incident.restored_at, "frame-events", found.recovery.backlog_at_restore)
    answer = live_answer([reading], loaded, "frame-events")
    if found.drain_min is None:
        assert answer.empty.p50 is None
    else:
        assert answer.empty.p50 == pytest.approx(found.drain_min, rel=1e-3)
    assert known_of(loaded, "frame-events").drain_per_min == pytest.approx(found.service_rate_now_per_min)


def test_a_cap_given_goes_over_the_scenario_s() -> None:
    """60 c / d: one at a time at 2 s is 30/min, so 1,170 of 1,200 a minute are left waiting."""
    loaded = load_scenario(ORDERS, BOUNDS["a cap"])
    restored = loaded.scenario.incident.restored_at
    reading = Reading(restored, "orders", 206_400, 172)
    one = live([reading], known_of(loaded, "orders", 1, 2.0))
    assert (one.kind, one.empty.p50) == ("growing", None)
    assert one.net == pytest.approx(30 - 1_200)
    # 55 at 2 s are 1,650/min; at 1 s they would be above the service rate, which then is the least.
    assert live([reading], known_of(loaded, "orders", 55, 2.0)).empty.p50 == pytest.approx(206_400 / 450, rel=1e-3)
    assert live([reading], known_of(loaded, "orders", 55, 1.0)).empty.p50 == pytest.approx(344, rel=1e-3)


def test_a_rate_that_is_read_above_its_cap_is_kept_and_doubted() -> None:
    loaded = load_scenario(ORDERS, BOUNDS["a cap"])
    reading = Reading(loaded.scenario.incident.restored_at, "orders", 206_400, 172, service_per_min=1_800)
    answer = live_answer([reading], loaded)
    assert answer.empty.p50 == pytest.approx(344, rel=1e-3)
    assert "1,800/min served as read is above the 1,500/min of the cap of 50 at once" in answer.doubts[0].text
    within = live_answer([replace(reading, service_per_min=1_500.0)], loaded)
    assert not any("is above the" in doubt.text for doubt in within.doubts)


def test_a_cap_without_a_time_of_an_item_is_said_not_to_count() -> None:
    reading = Reading(load_scenario(ORDERS).scenario.incident.restored_at, "orders", 206_400, 172)
    answer = live([reading], Known(service=StatedRate(1_800, 90, "as read"), cap=3))
    assert "the cap of 3 at once is not counted" in answer.doubts[0].text


def test_an_age_limit_and_a_deadline_are_said_where_they_act() -> None:
    loaded = load_scenario(
        ORDERS, ("queues.orders.service=lambda-async", f"{JOBS}.retention=none", f"{JOBS}.deadline=1 h")
    )
    reading = Reading(loaded.scenario.incident.restored_at, "orders", 206_400, 172, service_per_min=600)
    texts = [doubt.text for doubt in live_answer([reading], loaded).doubts]
    # The default of the service, 6 h, is what the estimate takes too.
    assert any("grows until its oldest work reaches 6 h" in text for text in texts)
    assert any("work older than 6 h expires" in text for text in texts)
    assert any("discard work older than 1 h" in text for text in texts)


def test_what_a_ramp_serves_is_the_area_below_it() -> None:
    """10/min in the first two minutes, 20 in the next three, then 40: 20 + 60, and 40 each minute from there on."""
    consumers = Sustained(np.array([0.0, 2.0, 5.0]), np.array([10.0, 20.0, 40.0]))
    assert consumers.served(0, 7) == pytest.approx(160)
    assert consumers.served(1, 3) == pytest.approx(30)
    assert consumers.served(100, 101) == pytest.approx(40)
    assert (consumers.rises_after(4.9), consumers.rises_after(5)) == (True, False)


# A drain above the safe cap

# It bears more than it was tested to, so that a drain above the cap does not push it down.
BORNE = "dependencies.orders-table.capacity=10000/min"


def test_a_drain_above_the_safe_cap_tells_the_time_at_the_cap_beside_it() -> None:
    """6,000/min end it in 206,400 / 4,800 = 43 min; the safe 2,400/min as the estimate at a cap of 80 has it, in 172 min."""
    loaded = load_scenario(ORDERS, (f"{JOBS}.service_rate=6000/min", "recovery_objective=2 h", BORNE))
    found = estimate(loaded).queues["orders"]
    answer = at_restore(loaded, found)
    assert answer.empty.p50 == pytest.approx(43, rel=1e-3)
    held = load_scenario(ORDERS, (f"{JOBS}.service_rate=6000/min", f"{JOBS}.drain_cap.concurrency=80"))
    assert answer.capped is not None
    assert answer.capped.p50 == pytest.approx(estimate(held).queues["orders"].drain_min, rel=1e-3)
    first, second = live_lines(answer)[:2]
    assert first.startswith("orders: at the safe cap of 2,400/min empty in 2 h 52 min (P10 ")
    assert "; at 6,000/min, which is above the safe cap, empty in 43 min (P10 " in first
    assert second.endswith(
        "; at the safe cap the objective of 2 h after the restore is missed by 52 min; at 6,000/min it is met."
    )
    # What waits for the end of the backlog waits for the safe one: 02:40 and 172 min.
    assert answer.steps[4].why == "until the backlog is gone, about 05:32 PDT"
    assert live_json(answer)["empty_at_safe_cap_min"]["p50"] == pytest.approx(172, rel=1e-3)
    within = at_restore(held, estimate(held).queues["orders"])
    assert within.capped is None
    assert "above the safe cap" not in "\n".join(live_lines(within))


def test_a_ramp_is_held_to_the_safe_cap_from_where_it_passes_it() -> None:
    slow = (f"{JOBS}.service_rate=6000/min", *RAMP[:2], f"{JOBS}.ramp.ceiling=200")
    loaded = load_scenario(ORDERS, slow)
    answer = at_restore(loaded, estimate(loaded).queues["orders"])
    held = estimate(load_scenario(ORDERS, (*slow, f"{JOBS}.drain_cap.concurrency=80"))).queues["orders"]
    assert answer.capped is not None
    assert answer.capped.p50 == pytest.approx(held.drain_min, rel=1e-3)
    assert "6,000/min at the end of the ramp is above the safe cap" in answer.steps[3].why


def test_a_safe_cap_below_arrivals_is_never_an_objective_that_is_met() -> None:
    loaded = load_scenario(
        ORDERS, (f"{JOBS}.service_rate=6000/min", BORNE, "dependencies.orders-table.tested_rate=1500/min")
    )
    answer = at_restore(loaded, estimate(loaded).queues["orders"])
    assert answer.capped is not None
    assert answer.capped.p50 is None
    first, second = live_lines(answer)[:2]
    assert first.startswith(
        "orders: at the safe cap of 900/min it does not drain; at 6,000/min, which is above the safe cap, "
    )
    assert second.endswith(
        "at the safe cap the objective of 4 h after the restore is not reached; at 6,000/min it is met."
    )
    assert answer.steps[4].why == "until the backlog is gone"


def test_by_readings_too_the_time_at_the_safe_cap_is_told() -> None:
    """Seen: 3,000 a minute gone with 1,200 arriving. Room for 2,400 leaves 1,200 a minute, so half of what is left each."""
    start = load_scenario(ORDERS).scenario.incident.restored_at
    readings = [Reading(start + timedelta(minutes=5 * n), "orders", 206_437 - 9_000 * n) for n in range(4)]
    known = Known(side=Side("table", 3_000, 600), arrival=StatedRate(1_200, 60, "as read"), restored_at=start)
    answer = live(readings, replace(known, objective_min=150))
    left = readings[-1].depth
    assert answer.empty.p50 == pytest.approx(left / 1_800, rel=0.02)
    assert answer.capped is not None
    assert answer.capped.p50 == pytest.approx(left / 1_200, rel=0.02)
    assert "after the restore is missed by 14.5 min at P50, met at P10; at 3,000/min it is met" in live_lines(answer)[1]


# While it grows


@pytest.mark.parametrize(("after_min", "words"), [
    (0, "is not reached while it grows"), (250, "is missed by 10 min already"),
])  # fmt: skip
def test_while_it_grows_first_attempts_are_not_on_time(after_min: float, words: str) -> None:
    loaded = load_scenario(ORDERS)
    at = loaded.scenario.incident.restored_at + timedelta(minutes=after_min)
    answer = live_answer([Reading(at, "orders", 206_400, arrival_per_min=2_400)], loaded)
    assert answer.kind == "growing"
    second = live_lines(answer)[1]
    assert second.startswith(
        "First attempts: not on time while the backlog grows; the objective of 4 h after the restore "
    )
    assert words in second
