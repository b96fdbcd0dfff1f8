"""The answer of a recovery that is going on: closed forms, what must wait, and how it changes with new readings."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from afterload.errors import InputError
from afterload.findings.admission import SafeCap
from afterload.findings.live import Live, live, live_answer
from afterload.findings.live_known import FleetToLaunch, Known, Side, StatedRate
from afterload.findings.live_words import MOST_LINES, live_json, live_lines
from afterload.model.curves import RateProfile
from afterload.scenario import Reading, load_scenario

START = datetime(2025, 10, 20, 9, 40, tzinfo=UTC)
ORDERS = "builtin:scenarios/orders.yaml"
TABLE = Side("table", 3_000, 600, 0, 3)


def seen(minutes: float, depth: float, age: float | None = None, **more: Any) -> Reading:
    return Reading(START + timedelta(minutes=minutes), "orders", depth, age, **more)


def stated(per_min: float, share: float = 0.05) -> StatedRate:
    return StatedRate(per_min, share * per_min, "as read")


def state(answer: Live, number: int) -> str:
    return answer.steps[number - 1].state


def test_one_reading_of_the_worked_example_is_its_closed_form() -> None:
    """docs/model.md section 1: 206,400 waiting, 1,200/min in, 1,800/min out: 344 min. The age gives the arrivals."""
    answer = live_answer([seen(0, 206_400, 172)], load_scenario(ORDERS))
    assert answer.kind == "draining"
    assert answer.empty.p50 == pytest.approx(344)
    assert answer.fresh == answer.empty
    assert answer.arrival is not None
    assert answer.arrival.per_min == pytest.approx(1_200)
    assert answer.cap is not None
    assert (answer.cap.concurrency, answer.cap.rate_per_min) == (80, 2_400)
    assert answer.empty.p10 is not None
    assert answer.empty.p90 is not None
    assert answer.empty.p10 < 344 < answer.empty.p90
    lines = live_lines(answer)
    assert lines[0].startswith("orders: empty in 5 h 44 min (P10 ")
    assert len(lines) <= MOST_LINES


def test_a_restore_long_before_the_readings_is_not_that_of_this_event() -> None:
    loaded = load_scenario("builtin:scenarios/orders.yaml")
    restored = loaded.scenario.incident.restored_at
    for days, ours in ((13, True), (406, False)):
        answer = live_answer([Reading(restored + timedelta(days=days), "orders", 206_400.0, age_min=172.0)], loaded)
        assert (answer.since_restore_min is not None) == ours
        lines = "\n".join(live_lines(answer))
        assert ("objective" in lines) == ours
        assert ("2025-10-20 02:40 PDT is 406 days before this reading" in lines) != ours


def test_more_readings_narrow_the_span_round_the_same_answer() -> None:
    loaded = load_scenario(ORDERS)
    widths = []
    for count in (2, 4, 8):
        # Not on a line: a small error in every second one.
        readings = [seen(5 * n, 206_437 - 3_000 * n + 40 * (n % 2), 172 - 2.5 * n) for n in range(count)]
        answer = live_answer(readings, loaded)
        left = readings[-1].depth
        assert answer.empty.p50 == pytest.approx(left / 600, rel=0.02)
        assert answer.empty.p10 is not None
        assert answer.empty.p90 is not None
        widths.append((answer.empty.p90 - answer.empty.p10) / left)
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 3 * widths[-1]


def test_followed_from_look_to_look_the_span_holds_the_end_about_four_times_in_five() -> None:
    """Poisson arrivals and services, with the search for a change: what that costs in certainty shows here."""
    generator = np.random.default_rng(8)
    inside = total = 0
    known = Known(arrival=stated(1_200))
    for _ in range(60):
        left, minute, readings, end = 40_137.0, 0, [], None
        while end is None:
            if minute % 5 == 0 and minute <= 30:
                readings.append(seen(minute, round(left)))
            left += generator.poisson(1_200) - generator.poisson(1_800)
            minute += 1
            end = minute - 30 if left <= 0 else None
        answer = live(readings, known)
        total += 1
        low, high = answer.empty.p10, answer.empty.p90
        inside += low is not None and low - 0.5 <= end and (high is None or end <= high + 0.5)
    assert 0.70 <= inside / total <= 0.97


def test_a_growing_backlog_is_told_as_such_and_never_as_a_time() -> None:
    answer = live([seen(0, 206_437, 172), seen(10, 209_437, 175)], Known(arrival=stated(1_200)))
    assert answer.kind == "growing"
    assert answer.empty.p50 is None
    assert live_lines(answer)[0] == "orders: not draining: grows by 300/min."
    one = live([seen(0, 206_400, 172)], Known(service=stated(900)))
    assert one.kind == "growing"
    assert live_lines(one)[0] == "orders: not draining: grows by 300/min."
    assert one.next_min == 5


@pytest.mark.parametrize(
    ("readings", "known", "words"),
    [
        ([seen(0, 206_437)], Known(), "its rates cannot be told from one reading; give a second reading in"),
        ([seen(0, 206_437, 172)], Known(), "its net rate cannot be told from one reading; give a second reading in"),
        (
            [seen(0, 206_437, 172)],
            Known(service=stated(1_210)),
            "whether it drains or grows cannot be told: give a second",
        ),
        ([seen(0, 20_413), seen(1, 20_410)], Known(arrival=stated(1_200)), "cannot be told: give another reading in"),
    ],
)
def test_what_is_not_known_yet_says_when_it_will_be(readings: list[Reading], known: Known, words: str) -> None:
    answer = live(readings, known)
    assert answer.kind == "unknown"
    line = live_lines(answer)[0]
    assert "not known yet" in line
    assert words in line
    assert 5 <= answer.next_min <= 30


def test_an_empty_queue_waits_for_nothing() -> None:
    known = Known(side=TABLE, service=stated(1_800), arrival=stated(1_200), lift_hold_min=15)
    for readings in ([seen(0, 0)], [seen(0, 4_137), seen(10, 0)], [seen(0, 0), seen(10, 0)]):
        answer = live(readings, known)
        assert (answer.kind, answer.empty.p90, answer.change) == ("empty", 0.0, None)
        assert [step.state for step in answer.steps[4:]] == ["may go"] * 3
        assert live_lines(answer)[0] == "orders: nothing waits."


def test_what_was_before_the_queue_was_empty_tells_nothing() -> None:
    readings = [seen(0, 50_137), seen(10, 0), seen(20, 3_137), seen(30, 2_537), seen(40, 1_937)]
    answer = live(readings, Known(arrival=stated(100)))
    assert answer.used == 3
    assert answer.net == pytest.approx(60, rel=0.02)


def test_fresh_work_has_its_own_time_where_it_goes_first() -> None:
    """docs/model.md section 1: fresh age is back after arrivals x threshold / spare: 1,200 x 10 / 600 = 20 min."""
    rates = {"arrival": StatedRate(1_200, 0, "as read"), "service": StatedRate(1_800, 0, "as read")}
    first = live([seen(0, 206_437)], Known(order="fresh_first", sideline_min=10, **rates))
    assert first.fresh.p50 == pytest.approx(20, rel=0.01)
    assert first.empty.p50 == pytest.approx(206_437 / 600, rel=0.01)
    lifo = live([seen(0, 206_437)], Known(order="lifo", **rates))
    assert (lifo.fresh.p50, lifo.fresh.p90) == (0, 0)


def test_a_peak_ahead_puts_the_end_off() -> None:
    """300/min to spare for two hours drain 36,000 of 54,000; then the peak leaves 100/min for the other 18,000: 180 min."""
    profile = RateProfile((0, 120, 10_000), (1_500, 1_700))
    known = Known(
        profile=profile,
        origin=START,
        arrival=StatedRate(1_500, 0, "as planned"),
        service=StatedRate(1_800, 0, "as read"),
    )
    answer = live([seen(0, 54_000)], known)
    assert answer.empty.p50 == pytest.approx(300, rel=0.01)


def test_the_age_speaks_of_past_hours_and_is_brought_to_this_one() -> None:
    profile = RateProfile((0, 120, 10_000), (600, 1_200))
    known = Known(profile=profile, origin=START, arrival=StatedRate(900, 0, "as planned"))
    # Two hours at 630 and one at 1,260: 5 % more than planned in all of them.
    answer = live([seen(180, 120 * 630 + 60 * 1_260, 180)], known)
    assert answer.arrival is not None
    assert answer.arrival.per_min == pytest.approx(1_260)


def test_an_age_that_does_not_fit_is_doubted() -> None:
    answer = live([seen(0, 206_400, 400, arrival_per_min=1_200)], Known(service=stated(1_800)))
    assert answer.arrival is not None
    assert answer.arrival.per_min == 1_200
    assert any("516/min by depth and age" in doubt.text for doubt in answer.doubts)
    expiring = live([seen(0, 18_000, 15)], Known(age_limit_min=15, arrival=stated(1_200), service=stated(1_800)))
    assert any("expires" in doubt.text for doubt in expiring.doubts)


def collapsing() -> list[Reading]:
    """600 a minute for half an hour, then 80: what a dependency that stops bearing its load leaves."""
    return [seen(5 * n, 206_437 - 600 * min(5 * n, 30) - 80 * max(0, 5 * n - 30)) for n in range(11)]


def test_a_drain_that_slows_is_noticed_and_only_what_came_after_counts() -> None:
    readings = collapsing()
    answer = live(readings, Known(arrival=stated(1_200), service=stated(1_800), side=TABLE))
    assert answer.change is not None
    assert answer.change.slower
    assert readings[answer.change.place].at == START + timedelta(minutes=30)
    assert answer.empty.p50 == pytest.approx(readings[-1].depth / 80, rel=0.02)
    text = "\n".join(live_lines(answer))
    assert "The drain slowed at about 10:10 UTC, from 600/min to 80/min: look at the dependency." in text
    assert state(answer, 4) == "do"
    assert any("lets expect a drain of 600/min" in doubt.text for doubt in answer.doubts)


def test_of_a_long_log_the_last_readings_count() -> None:
    """One a minute for four hours, at 600/min to spare all the time."""
    readings = [seen(n, 300_437 - 600 * n) for n in range(240)]
    answer = live(readings, Known(arrival=stated(1_200)))
    assert (answer.used, answer.change) == (200, None)
    assert answer.net == pytest.approx(600, rel=0.001)
    assert "240 readings, the last 200 used" in "\n".join(live_lines(answer))


# What must wait. Reference: docs/model.md sections 1 and 3.

HEALTHY = {"error_share": 0.01}


def at_rates(side: Side | None, reading: Reading | None = None, **known: Any) -> Live:
    return live(
        [reading or seen(0, 206_437, 172, **HEALTHY)],
        Known(side=side, service=known.pop("service", stated(1_800)), item_time_s=2, **known),
    )


def cap_of(answer: Live) -> SafeCap:
    assert answer.cap is not None
    return answer.cap


def test_beside_a_healthy_dependency_only_old_work_limits_and_removal_wait() -> None:
    answer = at_rates(TABLE)
    assert answer.failing is False
    assert [step.state for step in answer.steps] == ["may go"] * 4 + ["wait"] * 3
    assert cap_of(answer).concurrency == 80


def test_while_it_fails_the_cap_comes_from_hidden_capacity_and_drains_wait() -> None:
    """3,000/min at 3 attempts a request bear 1,000/min; 600/min direct leave 400/min: 13 at once at 2 s, which is 390/min."""
    answer = at_rates(TABLE, seen(0, 206_437, 172, error_share=0.4))
    assert answer.failing is True
    cap = cap_of(answer)
    assert (cap.bears_per_min, cap.rate_per_min, cap.concurrency) == (1_000, 390, 13)
    assert [step.state for step in answer.steps[:4]] == ["do", "do", "may go", "wait"]
    assert answer.next_min == 5


def test_direct_traffic_above_hidden_capacity_must_wait_too() -> None:
    """docs/model.md section 3: 2,000/min at 3 attempts bear 666.7/min; 1,200/min of fresh work keep it down."""
    answer = at_rates(Side("table", 2_000, 1_200, 0, 3), seen(0, 206_437, 172, error_share=0.5))
    assert cap_of(answer).bears_per_min == pytest.approx(2_000 / 3)
    assert cap_of(answer).rate_per_min == 0
    assert cap_of(answer).concurrency == 0
    assert state(answer, 3) == "wait"
    assert "1,200/min direct is above the 666.7/min that table bears" in answer.steps[2].why
    assert "Safe cap: nothing: " in "\n".join(live_lines(answer))
    # With 1.26 attempts it bears 1,587/min, and fresh work heals it.
    assert state(at_rates(Side("table", 2_000, 1_200, 0, 1.26), seen(0, 206_437, 172, error_share=0.5)), 3) == "may go"


def test_attempts_that_are_seen_count_more_than_those_that_are_planned() -> None:
    reading = seen(0, 206_437, 172, attempts_per_min=12_000)
    answer = at_rates(replace(TABLE, attempts_failing=None), reading)
    assert answer.failing is True
    # 12,000 attempts for 600 direct and 1,800 drained: 5 each, so 3,000 bear 600, which direct traffic takes.
    assert cap_of(answer).bears_per_min == pytest.approx(600)
    assert cap_of(answer).rate_per_min == pytest.approx(0, abs=1e-9)


def test_consumers_above_the_safe_cap_are_to_be_capped() -> None:
    answer = at_rates(TABLE, service=stated(2_600))
    assert state(answer, 4) == "do"
    assert cap_of(answer).excess_per_min == pytest.approx(200)
    lower = at_rates(TABLE, cap=200)
    assert "200 at once is above the safe one" in lower.steps[3].why


def test_the_safe_cap_is_one_number_wherever_it_stands() -> None:
    """58/s less 5/s leave 3,180/min; 15 at once at 0.3 s are 3,000/min, 16 would be 3,200/min."""
    side = Side("thumbs", 3_480, 300, 0, None)
    answer = live([seen(0, 228_000, 95)], Known(side=side, item_time_s=0.3, service=stated(3_300)))
    assert (cap_of(answer).concurrency, cap_of(answer).rate_per_min) == (15, pytest.approx(3_000))
    text = "\n".join(live_lines(answer))
    assert "at the safe cap of 3,000/min" in text
    assert "Safe cap: 15 at once, 3,000/min" in text
    assert "one more at once would be above the 3,180/min that are left" in text
    # 3,100/min are within what is left, and above what a cap in whole items at once can let through.
    between = live([seen(0, 228_000, 95)], Known(side=side, item_time_s=0.3, service=stated(3_100)))
    assert between.capped is not None
    assert cap_of(between).excess_per_min == pytest.approx(100)


def test_while_nothing_can_be_told_no_line_tells_it() -> None:
    known = Known(
        arrival=stated(2_400), service=stated(3_300), restored_at=START, objective_min=120, side=TABLE, item_time_s=2
    )
    answer = live([seen(0, 180_000), seen(10, 175_000), seen(20, 185_000)], known)
    assert answer.kind == "unknown"
    lines = live_lines(answer)
    assert "whether it drains or grows cannot be told" in lines[0]
    assert lines[1] == "First attempts: not known yet."
    assert lines[2].startswith("Net rate, not sure yet: from a growth of ")
    assert " to a drain of " in lines[2]
    text = "\n".join(lines)
    for words in ("Grows by", "Drains by", "not reached", "readings show a growth", "readings show a drain"):
        assert words not in text
    late = live_lines(live(answer.readings, replace(known, restored_at=START - timedelta(hours=3))))
    assert (
        late[1]
        == "First attempts: not known yet; the objective of 2 h after the restore is missed by 1 h 20 min already."
    )


def test_other_queues_and_control_traffic_take_their_part() -> None:
    answer = at_rates(Side("table", 3_000, 500, 100, None, 0.25))
    assert cap_of(answer).rate_per_min == pytest.approx(600)
    assert any("25 % of the room" in doubt.text for doubt in answer.doubts)


def test_what_waits_for_the_end_says_on_which_day_and_in_which_zone() -> None:
    """206,437 at 30/min to spare: 6,881 min, until 04:21 UTC four days later."""
    answer = at_rates(TABLE, service=stated(1_230.2), zone=UTC)
    assert answer.empty_at is not None
    assert f"{answer.empty_at:%Y-%m-%d %H:%M}" == answer.steps[4].why.partition("about ")[2].removesuffix(" UTC")
    assert answer.steps[4].why.startswith("until the backlog is gone, about 2025-10-25 ")


def test_removal_waits_for_launches_and_says_how_long() -> None:
    fleet = FleetToLaunch("api", 3_000, 19.2)
    answer = at_rates(TABLE, restored_at=START - timedelta(minutes=10), fleets=(fleet,))
    assert answer.steps[6].why == "api launches 3,000 instances, for 9.2 min more at the least"
    late = at_rates(TABLE, restored_at=START - timedelta(minutes=30), fleets=(fleet,))
    assert late.steps[6].why == "last of all"


def test_without_a_dependency_nothing_is_promised() -> None:
    answer = at_rates(None, seen(0, 206_437, 172))
    assert answer.cap is None
    assert [state(answer, number) for number in (1, 3, 4)] == ["not known"] * 3


def test_errors_seen_some_minutes_ago_still_count() -> None:
    known = Known(side=TABLE, arrival=stated(1_200))
    readings = [seen(0, 206_437, error_share=0.3), seen(10, 203_137)]
    assert live(readings, known).failing is True
    assert live([readings[0], seen(45, 190_137)], known).failing is None


def test_the_objective_is_told_with_how_sure_it_is() -> None:
    def line(objective: float) -> str:
        known = Known(service=stated(1_800), restored_at=START, objective_min=objective)
        return live_lines(live([seen(0, 206_400, 172)], known))[1]

    assert line(240).endswith("is missed by 1 h 44 min.")
    assert line(300).endswith("is missed by 44 min at P50, met at P10.")
    assert line(360).endswith("is met at P50, not at P90.")
    assert line(600).endswith("is met.")


# Data, and what is refused


def test_the_data_hold_what_the_lines_say() -> None:
    answer = live_answer([seen(0, 206_400, 172, **HEALTHY)], load_scenario(ORDERS))
    data = live_json(answer)
    assert data["answer"] == live_lines(answer)[0]
    assert data["empty_min"]["p50"] == pytest.approx(344)
    assert data["safe_cap"]["concurrency"] == 80
    assert [step["number"] for step in data["steps"]] == [1, 2, 3, 4, 5, 6, 7]
    assert data["next_reading_at"] == (START + timedelta(minutes=answer.next_min)).astimezone(UTC).isoformat()

    def numbers(value: Any) -> list[float]:
        if isinstance(value, dict | list):
            return [n for part in (value.values() if isinstance(value, dict) else value) for n in numbers(part)]
        return [value] if isinstance(value, float | int) else []

    assert all(math.isfinite(number) and number >= 0 for number in numbers(data))


def test_what_is_not_clear_is_refused() -> None:
    loaded = load_scenario(ORDERS)
    with pytest.raises(InputError, match="there is no reading"):
        live_answer([], loaded)
    with pytest.raises(InputError, match=r"'order' is not a queue of orders\.yaml; nearest: orders"):
        live_answer([seen(0, 5)], loaded, "order")
    with pytest.raises(InputError, match="two readings at"):
        live([seen(0, 5), seen(0, 6)], Known())
    with pytest.raises(InputError, match="of 2 queues, jobs, orders"):
        live([seen(0, 5), replace(seen(1, 6), queue="jobs")], Known())
    with pytest.raises(InputError, match="which queue is meant"):
        live_answer([seen(0, 5), replace(seen(1, 6), queue="jobs")])


def test_in_flight_counts_only_where_every_reading_has_it() -> None:
    assert live([seen(0, 500, in_flight=100)], Known()).left == 600
    assert live([seen(0, 500, in_flight=100), seen(5, 400)], Known()).left == 400
