"""The same timeline written in each form reads back equal, whatever the order of its rows."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.readers.timelines.writers import FORMS, kept

from afterload.readers.timeline import Event, Timeline, read_timeline_file, to_csv
from afterload.scenario.attachments import STATUSES, read_timeline

PACIFIC = timezone(timedelta(hours=-7))
EVENTS = (
    Event(datetime(2025, 10, 19, 23, 48, tzinfo=PACIFIC), None, "Errors begin", "DynamoDB", "trigger", "status", "open"),
    Event(datetime(2025, 10, 20, 7, 5, 12, 250, tzinfo=UTC), datetime(2025, 10, 20, 0, 40, tzinfo=PACIFIC),
          'Retries <b>saturate</b> "the" pool; 5 > 3 & more, | pipe', "checkout", "impact", "Ana", "investigating"),
    Event(datetime(2025, 10, 20, 9, 25, tzinfo=UTC), datetime(2025, 10, 20, 9, 40, tzinfo=UTC), "Drain", "orders", "step",
          "Bo", "resolved"),
    Event(datetime(2025, 10, 20, 9, 25, tzinfo=UTC), None, "Größe 注文 🛒", "Küche", "step", "Bo", "resolved"),
)  # fmt: skip


def ordered(events):
    return Timeline.joined([Timeline(tuple(events))]).events


@pytest.mark.parametrize("form", FORMS)
def test_round_trip(tmp_path, form):
    name, write, _, _ = FORMS[form]
    expected = ordered(kept(event, form) for event in EVENTS)
    for seed in range(5):
        rows = list(EVENTS)
        random.Random(seed).shuffle(rows)
        path = tmp_path / name
        path.write_text(write(rows), encoding="utf-8", newline="")
        timeline = read_timeline_file(path)
        assert timeline.events == expected
        assert timeline.remarks == ()


def test_own_form_is_what_a_scenario_reads(tmp_path):
    path = tmp_path / "timeline.csv"
    path.write_text(to_csv(Timeline(EVENTS)), encoding="utf-8", newline="")
    attachment, problems = read_timeline(path, ZoneInfo("UTC"))
    assert problems == []
    assert list(attachment.rows) == [event.row for event in EVENTS]


def test_of_other_tools_statuses_none_says_how_sure_an_entry_is():
    assert [event.row.status for event in EVENTS] == [""] * len(EVENTS)
    assert Event(EVENTS[0].at, None, "x", status="Disputed").row.status == "disputed"


# No control characters, which are replaced, and no surrogates, which no file can hold.
TEXTS = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=60).map(str.strip).filter(bool)
INSTANTS = st.integers(31_536_000, 7_200_000_000).map(lambda second: datetime.fromtimestamp(second, UTC))


@st.composite
def events(draw):
    at = (draw(INSTANTS) + timedelta(microseconds=draw(st.integers(0, 999_999)))).astimezone(
        timezone(timedelta(minutes=15 * draw(st.integers(-48, 56))))
    )
    end = draw(st.none() | st.timedeltas(timedelta(), timedelta(days=3)).map(lambda span: at + span))
    status = draw(st.sampled_from(["", *STATUSES]))
    return Event(at, end, draw(TEXTS), draw(TEXTS), draw(TEXTS), draw(TEXTS), status, draw(TEXTS))


def usual_offset(at):
    minutes = at.utcoffset().total_seconds() / 60
    return minutes % 60 == 0


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(events().filter(lambda event: usual_offset(event.at)), min_size=1, max_size=6),
    st.randoms(use_true_random=False),
)
def test_any_text_and_time_survives_our_own_form(tmp_path, rows, chance):
    """Also for the reader of scenarios, and in any order."""
    path = tmp_path / "timeline.csv"
    path.write_text(to_csv(rows), encoding="utf-8", newline="")
    timeline = read_timeline_file(path)
    assert timeline.events == ordered(rows)
    chance.shuffle(rows)
    path.write_text(to_csv(rows), encoding="utf-8", newline="")
    assert read_timeline_file(path).events == timeline.events
    attachment, problems = read_timeline(path, None)
    assert problems == []
    assert sorted(attachment.rows, key=str) == sorted((event.row for event in rows), key=str)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chance=st.randoms(use_true_random=False))
def test_order_of_dated_rows_never_changes_the_result(tmp_path, fixtures, chance):
    """Also of what is asked, of the order of dates that the file shows, and of duplicates."""
    head, *rows = (fixtures / "team.csv").read_text(encoding="utf-8").splitlines()[2:]
    records = (fixtures / "events.jsonl").read_text(encoding="utf-8").splitlines()
    incidents = json.loads((fixtures / "incidents.json").read_text(encoding="utf-8"))
    expected = [
        read_timeline_file(fixtures / name, zone=ZoneInfo("UTC"))
        for name in ("team.csv", "events.jsonl", "incidents.json")
    ]
    chance.shuffle(rows)
    chance.shuffle(records)
    chance.shuffle(incidents["incidents"])
    for each in incidents["incidents"]:
        chance.shuffle(each["incident_updates"])
    written = ("\n".join([head, *rows]) + "\n", "\n".join(records) + "\n", json.dumps(incidents))
    for text, suffix, before in zip(written, ("csv", "jsonl", "json"), expected, strict=True):
        path = Path(tmp_path) / f"shuffled.{suffix}"
        path.write_text(text, encoding="utf-8")
        after = read_timeline_file(path, zone=ZoneInfo("UTC"))
        assert after.events == before.events
        assert after.maintenance == before.maintenance
        assert sorted(remark.kind for remark in after.remarks) == sorted(remark.kind for remark in before.remarks)
