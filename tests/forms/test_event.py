"""The reference event of a new file goes once the incident has times of another, so that no record mixes the two."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from afterload.forms.state import FormState
from afterload.forms.views.editor import Editor
from afterload.intake.base import base_scenario
from afterload.scenario import load_scenario

TRIGGER, RESTORED = ("incident", "trigger"), ("incident", "restored_at")
QUEUE = "queues: {q: {arrival_rate: 1200/min, service_rate: 1800/min}}\n"


def filled(form: FormState) -> FormState:
    for field, text in (("team", "New team"), ("time_zone", "Europe/Berlin"), ("recovery_objective", "2 h")):
        form.set((field,), text)
    jobs = form.add(("queues",), "jobs")
    form.set((*jobs, "arrival_rate"), "1,200/min")
    form.set((*jobs, "service_rate"), "1,800/min")
    return form


def test_times_of_another_event_take_the_reference_event_out(blank: Callable[[], FormState]) -> None:
    form = filled(blank())
    form.set(TRIGGER, "2026-09-14T09:10+02:00")
    assert form.data["incident"].keys() == {"name", "trigger", "restored_at"}
    assert form.data["incident"]["name"] == "incident of 2026-09-14"
    assert "name, timeline and impacts of the reference event are taken out" in form.notice
    assert "'incident of 2026-09-14'" in form.notice
    form.set(RESTORED, "2026-09-14T10:45+02:00")
    assert form.problems == {}
    # It is still told beside the second time.
    assert "the reference event are taken out" in form.notice
    form.save()
    assert "October 2025" not in form.path.read_text("utf-8")
    assert load_scenario(form.path).impacts == ()


def test_it_is_one_step_of_undo(blank: Callable[[], FormState]) -> None:
    form = filled(blank())
    before = form.text
    form.set(RESTORED, "2026-09-14T10:45+02:00")
    assert "timeline" not in form.data["incident"]
    form.undo()
    assert form.text == before
    form.redo()
    assert form.data["incident"].keys() == {"name", "trigger", "restored_at"}


def test_the_name_follows_a_day_that_is_typed_key_by_key(blank: Callable[[], FormState]) -> None:
    form = filled(blank())
    before, told = form.text, []
    for text in ("202-10-19T23:48-07:00", "2026-10-19T23:48-07:00", "2026-10-1", "2026-09-14T09:10+02:00"):
        form.set(TRIGGER, text)
        told.append("reference event" in form.notice)
    assert told == [False, True, True, True]
    assert form.data["incident"]["name"] == "incident of 2026-09-14"
    form.undo()
    assert form.text == before
    assert form.notice == "taken back"


def test_a_name_of_ones_own_and_own_files_stay(blank: Callable[[], FormState]) -> None:
    form = filled(blank())
    Path(form.path.parent, "own.csv").write_text("at,event\n2026-09-14T09:12+02:00,pages\n", "utf-8")
    form.set(("incident", "name"), "storage outage")
    form.set(("incident", "timeline"), "own.csv")
    form.set(TRIGGER, "2026-09-14T09:10+02:00")
    assert form.data["incident"]["name"] == "storage outage"
    assert form.data["incident"]["timeline"] == "own.csv"
    assert "impacts" not in form.data["incident"]


@pytest.mark.parametrize("text", ["2025-10-20T00:10-07:00", "2025-10-20T00:10", "soon", ""])
def test_own_times_of_the_reference_event_leave_its_account(blank: Callable[[], FormState], text: str) -> None:
    form = filled(blank())
    form.set(TRIGGER, text)
    assert form.data["incident"].keys() == {"name", "trigger", "restored_at", "timeline", "impacts"}
    assert form.notice == ""


def test_the_source_and_evidence_of_the_reference_event_go_too(form: FormState, tmp_path: Path) -> None:
    assert "source" in form.data["incident"]
    form.set(TRIGGER, "2025-09-14T09:10+02:00")
    assert "source" not in form.data["incident"]
    path = tmp_path / "imported.yaml"
    path.write_text(base_scenario("T", "UTC") + QUEUE, "utf-8")
    imported = FormState(str(path))
    imported.set(TRIGGER, "2025-09-14T09:10+02:00")
    assert imported.problems == {}
    assert "incident.name" not in imported.data["evidence"]


def test_the_view_says_so_and_empties_its_fields(blank: Callable[[], FormState]) -> None:
    form = filled(blank())
    editor = Editor(form)
    editor.outline.choice.value = ("incident",)
    rows = {row.entry.field.key: row.control for row in editor.outline.section.rows}
    assert rows["timeline"].value.startswith("builtin:")
    rows["trigger"].value = "2026-09-14T09:10+02:00"
    assert (rows["timeline"].value, rows["impacts"].value) == ("", "")
    assert rows["name"].value == "incident of 2026-09-14"
    assert "taken out" in editor.notice.value
