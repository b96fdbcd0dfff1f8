"""Values that are no step of their slider: they show as they are, and only a person's hand changes them."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import pytest
from tests.forms.odd import ODD, ODD_LABELS

from afterload.forms.state import FormState
from afterload.forms.state.sliders import place_in
from afterload.forms.views.editor import Editor


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    path = tmp_path / "odd.yaml"
    path.write_text(ODD, encoding="utf-8")
    return path


def echo(editor: Editor) -> None:
    """What a front end does with each slider that it draws: noUiSlider, which ipywidgets draws sliders with, moves a value to
    the nearest step from the low end, and ipywidgets sends that back where it is another."""
    for row in list(editor.sliders.rows.values()):
        control = row.control
        steps = round((control.value - control.min) / control.step)
        snapped = type(control.value)(control.min + steps * control.step)
        control.set_state({"value": min(max(snapped, control.min), control.max)})
    editor.rest.now()


def labels(editor: Editor) -> list[str]:
    return [row.control.description for row in editor.sliders.rows.values()]


def changed_lines(before: str, after: str) -> list[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return [line for line in lines if line[0] in "+-" and not line.startswith(("---", "+++"))]


def move(editor: Editor, key: str, by: int) -> None:
    """One press of an arrow key or more."""
    control = editor.sliders.rows[key].control
    control.set_state({"value": control.value + by})


def test_the_scenario_has_every_kind_of_slider_between_its_steps(odd: Path) -> None:
    form = FormState(str(odd))
    assert form.problems == {}
    off = [item.key for item in form.sliders() if not ((item.value - item.low) / item.step).is_integer()]
    assert off == ["outage", "labels arrivals", "labels service", "labels age", "tracking arrivals", "tracking service",
                   "tracking age", "api failing", "fleet throttle"]  # fmt: skip


def test_what_a_front_end_makes_of_a_value_is_no_edit(odd: Path, tmp_path: Path) -> None:
    form = FormState(str(odd))
    editor = Editor(form)
    for _ in range(3):
        echo(editor)
        assert (form.text, form.is_saved, form.can_undo) == (ODD, True, False)
        assert labels(editor) == ODD_LABELS
    assert "saved" in editor.file.value
    assert "changes" not in editor.file.value

    # Another field is saved, and nothing else.
    form.set(("recovery_objective",), "45 min")
    echo(editor)
    form.save()
    assert changed_lines(ODD, odd.read_text("utf-8")) == ["-recovery_objective: 60 min", "+recovery_objective: 45 min"]

    # Typed, taken back, made again, reset, pinned and taken, opened: each shows the value, and an echo changes nothing.
    saved = form.text
    form.set(("queues", "labels", "service_rate"), "3,511/min")
    for step in (lambda: None, form.undo, form.redo, form.reset, form.undo):
        step()
        text = form.text
        echo(editor)
        assert form.text == text
        shown = "3,511" if "3,511" in text else "3,500"
        assert f"labels: service rate: {shown}/min" in labels(editor)
    form.pin("one")
    form.reset()
    form.take(form.variants()["one"])
    echo(editor)
    assert form.text == saved.replace("3,500/min", "3,511/min")
    form.reset()
    other = tmp_path / "other.yaml"
    other.write_text(ODD.replace("3,500/min", "3,517/min").replace("17 min", "18 min"), "utf-8")
    form.open(str(other))
    echo(editor)
    assert form.is_saved
    assert "labels: service rate: 3,517/min" in labels(editor)
    assert "labels: age limit: 18 min" in labels(editor)


def test_a_step_away_and_back_leaves_the_text_as_it_was_written(odd: Path) -> None:
    form = FormState(str(odd))
    editor = Editor(form)
    for key in editor.sliders.rows:
        at_the_end = editor.sliders.rows[key].slider.is_no_limit
        move(editor, key, -1 if at_the_end else 1)
        assert form.is_dragging, key
        move(editor, key, 1 if at_the_end else -1)
        assert not form.is_dragging, key
        editor.rest.now()
        assert (form.text, form.is_whole, labels(editor)) == (ODD, True, ODD_LABELS), key
    assert not form.can_undo


def test_one_step_from_a_value_between_two_is_the_next_of_them(odd: Path) -> None:
    form = FormState(str(odd))
    editor = Editor(form)
    control = editor.sliders.rows["labels service"].control
    move(editor, "labels service", 1)
    editor.rest.now()
    assert changed_lines(ODD, form.text) == ["-    service_rate: 3,500/min", "+    service_rate: 3,600/min"]
    # The control that a hand or the keyboard is at stays.
    assert editor.sliders.rows["labels service"].control is control
    move(editor, "labels service", -1)
    editor.rest.now()
    assert form.text == ODD


def test_a_range_grows_under_the_hand_and_no_position_changes_its_meaning(odd: Path) -> None:
    form = FormState(str(odd))
    editor = Editor(form)
    row = editor.sliders.rows["labels service"]
    control, before = row.control, row.scale.positions
    for _ in range(3):
        move(editor, "labels service", control.max - control.value)
        editor.rest.now()
        assert row.control is control
        assert row.scale.positions[: len(before)] == before
        assert len(row.scale.positions) == control.max + 1 > len(before)
        before = row.scale.positions
    assert "service_rate: 500,000/min" in form.text
    form.undo()
    # What is still on its way from the old control is nothing.
    assert row.control is not control
    text = form.text
    control.set_state({"value": 3})
    assert (form.text, form.is_dragging) == (text, False)


def test_an_end_between_minutes_keeps_its_seconds(odd: Path) -> None:
    odd.write_text(ODD.replace("trigger: 2026-11-12T09:10+01:00", "trigger: 2026-11-12T09:10:20+01:00"), "utf-8")
    form = FormState(str(odd))
    outage = form.sliders()[0]
    assert outage.titled(outage.value) == "Outage: 90.16666667 min, until 10:40:30 UTC+01:00"
    form.drag(outage, 100)
    form.settle()
    assert "restored_at: '2026-11-12T10:50:20+01:00'" in form.text
    assert form.sliders()[0].value == 100


@pytest.mark.parametrize(
    ("positions", "number", "place"),
    [((1.0, 2.0, 3.0), 2.0 + 1e-12, 1), ((1.0, 2.0, 3.0), 2.4, None), ((1.0, 2.0), 3, None), ((0.0, 1.0), 0, 0), ((), 1, None)],
)  # fmt: skip
def test_a_number_has_its_place_or_none(positions: tuple[float, ...], number: Any, place: int | None) -> None:
    assert place_in(positions, number) == place
