"""Fields are the schema's: all of them, with its help, and what is typed is what would stand in the file."""

from __future__ import annotations

from typing import Any

import pytest

from afterload.forms.state.fields import FormField, field_of, fields_of, shown, skeleton, typed
from afterload.forms.state.places import PARTS, Entry
from afterload.forms.views.texts import beside
from afterload.scenario.fields import Inside, Section, section_in
from afterload.scenario.schema import CallStack, Client, Dependency, Fleet, Queue, Scenario
from afterload.yamledit import dump
from afterload.yamltree import read_text


def sections(section: type[Section], seen: set[type[Section]]) -> set[type[Section]]:
    """A section and all below it."""
    if section not in seen:
        seen.add(section)
        for field in fields_of(section):
            if field.section is not None:
                sections(field.section, seen)
    return seen


ALL = sorted(sections(Scenario, set()), key=lambda section: section.__name__)


def test_every_section_of_the_schema_has_its_form() -> None:
    below = [section_in(info.annotation) for section in ALL for info in section.model_fields.values()]
    named = {item.section if isinstance(item, Inside) else item for item in below if item is not None}
    assert named <= set(ALL)
    assert len(ALL) > 25


@pytest.mark.parametrize("section", ALL, ids=lambda section: section.__name__)
def test_every_field_is_there_with_the_schemas_help(section: type[Section]) -> None:
    fields = fields_of(section)
    assert [field.name for field in fields] == list(section.model_fields)
    for field in fields:
        info = section.model_fields[field.name]
        assert field.help == info.description
        assert field.required == info.is_required()
        assert field.key in section.keys()
        assert (field.unit != "") == (field.name in section.quantities())
        if field.kind in ("section", "rows", "items"):
            assert field.section in ALL


def test_every_part_that_holds_sections_has_a_place() -> None:
    assert {field.key for field in fields_of(Scenario) if field.section is not None} == set(PARTS)


@pytest.mark.parametrize(
    ("section", "key", "kind", "default", "choices"),
    [
        (Queue, "age_limit", "text", "none", ()),
        (Queue, "order", "choice", "fifo", ("fifo", "lifo", "fresh_first")),
        (Queue, "arrival_rate", "section", "", ()),
        (Queue, "drain_cap", "section", "none", ()),
        (Dependency, "timeout", "text", "1 s", ()),
        (Dependency, "direct_rate", "section", "", ()),
        (Scenario, "hypothetical", "truth", "false", ("true", "false")),
        (Scenario, "evidence_limit", "text", "90 days", ()),
        (Scenario, "queues", "items", "", ()),
        (CallStack, "layers", "rows", "", ()),
        (Client, "jitter", "choice", "none", ("none", "equal", "full", "decorrelated")),
        (Fleet, "running", "text", "", ()),
    ],
)
def test_kinds_and_defaults(
    section: type[Section], key: str, kind: str, default: str, choices: tuple[str, ...]
) -> None:
    field = field_of(section, key)
    assert (field.kind, field.default, field.choices) == (kind, default, choices)


LABEL = FormField("version", "version", "text", "", is_text=True)
NUMBER = FormField("number", "number", "text", "")
MANY = FormField("targets", "targets", "list", "")
TRUTH = FormField("paused", "paused", "truth", "")


@pytest.mark.parametrize(
    ("field", "text", "written"),
    [
        (NUMBER, " 40 ", "a: 40"),
        (NUMBER, "3,600", "a: 3,600"),
        (NUMBER, "0.30", "a: 0.30"),
        (NUMBER, "1,200/min", "a: 1,200/min"),
        (NUMBER, "30 %", "a: 30 %"),
        (NUMBER, "1.", "a: '1.'"),
        (LABEL, "1.40", "a: '1.40'"),
        (LABEL, "true", "a: 'true'"),
        (MANY, "40, 40, 3.50", "a:\n- 40\n- 40\n- 3.50"),
        (MANY, "[400/min, 300/min]", "a:\n- 400/min\n- 300/min"),
        (TRUTH, "true", "a: true"),
        (NUMBER, "  ", "a: null"),
    ],
)
def test_what_is_typed_stands_in_the_file_as_it_was_typed(field: FormField, text: str, written: str) -> None:
    value = typed(text, field)
    assert dump({"a": value}) == written
    again = read_text(written, "t").data["a"]
    # And it is shown again as it was typed.
    assert typed(shown(again), field) == value


def test_a_new_item_holds_what_it_cannot_do_without() -> None:
    assert skeleton(Queue) == {"arrival_rate": None, "service_rate": None}
    assert skeleton(CallStack) == {"layers": [{"name": None, "tries": None}]}
    for section in ALL:
        required = {field.key for field in fields_of(section) if field.required}
        made: dict[str, Any] = skeleton(section)
        assert required <= set(made)
        assert made


@pytest.mark.parametrize("section", ALL, ids=lambda section: section.__name__)
def test_help_of_a_quantity_says_how_it_is_typed(section: type[Section]) -> None:
    """A bare number is refused where the unit is not in the name, so no help may call for "seconds"."""
    for field in fields_of(section):
        assert not field.help.startswith(("Seconds", "Minutes", "Hours", "Days"))
        entry = Entry(("queues", field.key), field, "", False)
        assert (f"With its unit, as in {field.example}." in beside(entry)) == bool(field.unit)
        by_unit = Entry(("queues", f"{field.key}_s"), field, "", False)
        assert "With its unit" not in beside(by_unit)
