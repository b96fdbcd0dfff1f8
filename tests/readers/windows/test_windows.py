"""Impact windows as status pages export them: told from timelines and metrics, and what is left out of them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from afterload.readers.windows import read_windows_file, windows_csv
from afterload.scenario.attachments import read_impacts

FIXTURE = Path(__file__).parent / "windows.csv"


def test_windows_with_their_kind_of_impact(tmp_path):
    found = read_windows_file(FIXTURE)
    assert [(item.service, item.impact, (item.end - item.start).total_seconds() / 60) for item in found.windows] == [
        ("Builds slow", "minor", 112),
        ("Planned work on sync", "maintenance", 4167),
        ("API errors", "major", 30),
        ("False alarm", "none", 0),
    ]
    assert found.windows[0].start == datetime(2026, 3, 26, 1, 43, tzinfo=UTC)
    assert [item.is_planned for item in found.windows] == [False, True, False, True]
    said = {remark.line: remark.text for remark in found.remarks}
    assert said[6] == "'Search, still open' has no end: write when it was over"
    assert "its end, is before" in said[7]
    assert said[5] == "'False alarm' has no length: it counts nowhere"
    assert said[3] == "'Planned work on sync' is maintenance, no impact: it counts nowhere"
    path = tmp_path / "impacts.csv"
    path.write_text(windows_csv(found.windows))
    again, problems = read_impacts(path, None)
    assert (again.rows, problems) == (found.windows, [])


@pytest.mark.parametrize(
    "header",
    ["downtime_start,downtime_end,title,impact", "Start of outage,End of outage,service,severity", "started_at,resolved_at,name,"
     "impact", "service,start,end,note", "component,from,until,duration",
     "name,impact_started_at,impact_ended_at,duration_minutes"],
)  # fmt: skip
def test_any_pair_of_start_and_end(tmp_path, header):
    path = tmp_path / "w.csv"
    cells = {"s": "2026-03-01 10:00", "e": "2026-03-01 11:30"}
    row = [
        cells["s"] if {"start", "started", "from"} & set(name.lower().replace("_", " ").split())
        else cells["e"] if {"end", "ended", "resolved", "until"} & set(name.lower().replace("_", " ").split())
        else "mail"
        for name in header.split(",")
    ]  # fmt: skip
    path.write_text(f"{header}\n{','.join(row)}\n")
    found = read_windows_file(path, zone=ZoneInfo("Europe/Berlin"))
    (window,) = found.windows
    assert (window.service, window.start, window.end) == (
        "mail", datetime(2026, 3, 1, 9, tzinfo=UTC), datetime(2026, 3, 1, 10, 30, tzinfo=UTC)
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    ["start,end,event\n2026-03-01T10:00Z,2026-03-01T11:00Z,disk full\n", "at,service,event\n2026-03-01T10:00Z,a,b\n",
     "start,end,service,count\n2026-03-01T10:00Z,2026-03-01T10:01Z,mail,5\n", "time,sent\n1760943600,5\n", "hello\n",
     "start,end,service,description\n2026-03-01T10:00Z,2026-03-01T10:01Z,mail,slow\n"],
)  # fmt: skip
def test_timelines_and_metrics_are_no_windows(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text)
    assert read_windows_file(path) is None
