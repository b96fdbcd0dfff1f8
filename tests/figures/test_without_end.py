"""What never ends is told as a rate or with the time up to which it was counted, not as a number of its own."""

from __future__ import annotations

import re

import pytest

from afterload.chapters import Workbook
from afterload.scenario import load_scenario_text

TEXT = """
team: Media
time_zone: UTC
recovery_objective: 120 min
incident: {name: outage, trigger: 2026-09-14T09:10Z, restored_at: 2026-09-14T10:45Z}
dependencies:
  db: {tested_rate: 58/s, direct_rate: 5/s, attempts_while_failing: 24, state_at_restore: collapsed}
"""
QUEUE = """
queues:
  ingest: {arrival_rate: 40/s, service_rate: 55/s, attempts_while_failing: 3, dependency: db}
"""


def book(text: str, *changes: str) -> Workbook:
    return Workbook(load_scenario_text(text, "media.yaml", changes))


def end(found: Workbook) -> float:
    assert found.recovery is not None
    return float(found.recovery.today.result.end_min[0])


@pytest.mark.parametrize("age", ["30 min", "60 min"])
def test_a_collapse_that_never_ends_has_no_length(age):
    """All of 300/min fail, however long the queue's age limit makes the simulation."""
    found = book(TEXT + QUEUE, f"queues.ingest.age_limit={age}")
    text = found.recovery_answer().text
    words = (
        "db: at most 17,100/min of attempts, and it stays down without end; direct requests that fail: 300/min from "
    )
    assert words in text
    # What comes, 40 a second, expires.
    assert "Queue ingest: items lost without an end: 2,400/min from " in text
    assert f"{end(found):.0f} min" not in text
    cases = found.recovery_cases().table.frame
    assert cases["time collapsed"].iloc[0] == "without end"
    course = found.recovery_course()
    [row] = course.table.frame.to_dict("records")
    assert re.fullmatch(r"2,400/min from (the restore|\d\d:\d\d) on", row["expired"])
    assert any(f"up to {end(found):.0f} min" in note and "has not ended there" in note for note in course.notes)


def test_direct_traffic_alone_has_a_rate_too():
    found = book(TEXT)
    [row] = found.recovery_course().table.frame.to_dict("records")
    assert row["time collapsed"] == "without end"
    assert re.fullmatch(r"300/min from (the restore|\d\d:\d\d) on", row["direct requests that fail"])
    [held] = found.recovery_steps().table.frame.to_dict("records")
    # Held back for the 5 min of each of the first two steps, and for the second in which attempts in flight are worked off.
    assert (held["time collapsed"], held["direct requests that fail"]) == ("0.0167 min", "3,005")


def test_what_ends_keeps_its_minutes_and_its_counts():
    found = book(TEXT + QUEUE, "dependencies.db.tested_rate=500/s", "queues.ingest.age_limit=30min")
    course = found.recovery_course()
    [row] = course.table.frame.to_dict("records")
    # 2,400/min for 95 min, less those of the last 30 min, and of the seconds until attempts in flight are worked off.
    assert 156_000 <= int(row["expired"].replace(",", "")) <= 156_000 + 2_400 * 3 / 60
    assert not any("has not ended" in note for note in course.notes)
    assert "min collapsed" in found.recovery_answer().text
