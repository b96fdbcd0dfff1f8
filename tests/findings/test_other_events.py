"""Records of another event than the incident: check and page 1 say so, and the timeline draws nothing from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from afterload.estimates import estimate
from afterload.figures.evidence import evidence_doubts
from afterload.figures.figure import Figure
from afterload.figures.summary import summary
from afterload.figures.timeline import timeline_answer, windows_figure
from afterload.findings.windows import left_out, other_events, split_windows
from afterload.scenario import LoadedScenario, load_scenario
from afterload.scenario.starter import starter

REFERENCE = ("2025-10-19T23:48-07:00", "2025-10-20T02:40-07:00")
FIXTURES = Path(__file__).parent / "fixtures"
OWN = ("2026-09-14T09:10+02:00", "2026-09-14T10:45+02:00")


def scenario(folder: Path, times: tuple[str, str] = OWN, **files: str) -> LoadedScenario:
    """A starter with other times, as a person edits it, and other files where they are given."""
    text = starter("Media")
    for before, after in zip(REFERENCE, times, strict=True):
        text = text.replace(before, after)
    for field, content in files.items():
        (folder / f"{field}.csv").write_text(content, "utf-8")
        name = "impact_windows" if field == "impacts" else field
        text = text.replace(f"builtin:incidents/us-east-1-2025-10-20/{name}.csv", f"{field}.csv")
    path = folder / "media.yaml"
    path.write_text(text, "utf-8")
    return load_scenario(path)


def test_the_reference_event_under_other_dates_is_told(tmp_path: Path) -> None:
    loaded = scenario(tmp_path)
    found = dict(other_events(loaded))
    assert list(found) == ["incident.name", "incident.impacts", "incident.timeline"]
    assert found["incident.impacts"].startswith("all 12 impact windows lie outside the incident, from 2025-10-19 23:45")
    for lines in (summary(estimate(loaded)), evidence_doubts(loaded)):
        assert [line.startswith("Of another event") for line in lines].count(True) == 3
    words = timeline_answer(loaded, split_windows(loaded)).html
    assert "past the restore" not in words
    assert "all 12 impact windows lie outside" in words


@pytest.mark.parametrize("example", ["orders", "checkout-api", "orders-live", "payments", "render-fleet"])
def test_the_examples_are_of_one_event_each(example: str) -> None:
    assert other_events(load_scenario(f"builtin:scenarios/{example}.yaml")) == ()


# Trigger 09:10, restored 10:45: a window counts from 09:10 to seven days after, an event from a day before.
@pytest.mark.parametrize(
    ("window", "event", "fields"),
    [
        ("2026-09-14T08:00+02:00,2026-09-14T09:09+02:00", "2026-09-13T09:11+02:00", ["incident.impacts"]),
        ("2026-09-14T08:00+02:00,2026-09-14T09:10+02:00", "2026-09-13T09:09+02:00", ["incident.timeline"]),
        ("2026-09-21T10:45+02:00,2026-09-22T09:00+02:00", "2026-09-21T10:46+02:00", ["incident.timeline"]),
        ("2026-09-21T10:46+02:00,2026-09-22T09:00+02:00", "2026-09-21T10:45+02:00", ["incident.impacts"]),
    ],
)
def test_where_a_record_begins_to_be_of_another_event(
    window: str, event: str, fields: list[str], tmp_path: Path
) -> None:
    loaded = scenario(tmp_path, impacts=f"service,start,end\nuploads,{window}\n", timeline=f"at,event\n{event},pages\n")
    found = dict(other_events(loaded))
    assert [field for field in found if field != "incident.name"] == fields
    assert "its only" in found[fields[0]]


def test_one_record_of_the_event_is_enough(tmp_path: Path) -> None:
    rows = "uploads,2026-09-14T09:20+02:00,2026-09-14T11:00+02:00\nother,2025-01-01T00:00Z,2025-01-01T01:00Z\n"
    loaded = scenario(
        tmp_path, impacts=f"service,start,end\n{rows}",
        timeline="at,event\n2025-01-01T00:00Z,older\n2026-09-14T09:20+02:00,pages\n",
    )  # fmt: skip
    assert [field for field, _ in other_events(loaded)] == ["incident.name"]
    told = timeline_answer(loaded, split_windows(loaded)).text
    assert "1 of 1 impact window reaches past the restore" in told
    assert "Not counted, not of this incident: other (2024-12-31 16:00" in told


def test_windows_that_are_no_impact_of_the_incident_are_listed_and_count_nowhere(tmp_path: Path) -> None:
    """Of 07:00 to 10:10 with the restore at 09:40, 160 min lie before it and 30 after it; nothing else counts."""
    impacts = (FIXTURES / "windows-other-years.csv").read_text()
    times = ("2025-10-20T06:48Z", "2025-10-20T09:40Z")
    loaded = scenario(tmp_path, times, impacts=impacts, timeline="at,event\n2025-10-20T07:00Z,pages\n")
    counted = [(item.window.service, item.before_min, item.after_min) for item in split_windows(loaded)]
    assert counted == [("beta", 160, 30)]
    assert [(window.service, why) for window, why in left_out(loaded)] == [
        ("alpha", "not of this incident"), ("gamma", "not of this incident"), ("delta", "no length"),
        ("epsilon", "no impact"),
    ]  # fmt: skip
    told = timeline_answer(loaded, split_windows(loaded)).text
    assert "The longest, beta, lasted 30 min after it and 160 min before it." in told
    assert "Not counted, no impact: epsilon (" in told
    shown = windows_figure(loaded, split_windows(loaded))
    assert isinstance(shown, Figure)
    assert [row[0] for row in shown.table.rows] == ["beta"]
