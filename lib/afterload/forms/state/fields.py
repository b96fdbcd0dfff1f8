"""Fields of a form, made from the schema of a scenario: what each is called, what it takes, and its help."""

from __future__ import annotations

import types
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import WithJsonSchema
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from afterload.scenario.fields import Inside, Quantity, Section, quantity_of, section_in
from afterload.units import format_duration, format_rate
from afterload.yamledit import inline
from afterload.yamltree import WrittenFloat, WrittenInt, read_text

__all__ = ["FormField", "field_of", "fields_of", "same_text", "shown", "skeleton", "typed"]

FieldKind = Literal["text", "long text", "choice", "truth", "list", "section", "rows", "items"]
# Text longer than this is written in a box of several lines.
ONE_LINE = 200


@dataclass(frozen=True)
class FormField:
    """One field of a section.

    Attributes:
        name: the field in Python; ``key``: the key under which a form writes it.
        kind: what its value is: one value, a list of values, one section, rows (a list of sections) or items (sections
            by name).
        help: one sentence from the schema.
        unit: "rate", "duration" or empty text; ``example`` is a value that would be accepted.
        section: for section, rows and items: what is in it.
        choices: for choice: every value that is known; for list: those of its items, if only some are known.
        required: True where a scenario is wrong without it; ``default`` is what acts otherwise, as people type it.
        is_text: True where whatever is typed is text, even if it looks like a number.
        short: True for a section that can be written as one value, such as a preset's name.
    """

    name: str
    key: str
    kind: FieldKind
    help: str
    unit: str = ""
    example: str = ""
    section: type[Section] | None = None
    choices: tuple[str, ...] = ()
    required: bool = False
    default: str = ""
    is_text: bool = False
    short: bool = False

    @property
    def label(self) -> str:
        """The name of the field for people."""
        return self.key.replace("_", " ")


@cache
def fields_of(section: type[Section]) -> tuple[FormField, ...]:
    """All fields of a section, in the order of the schema."""
    return tuple(_field(section, name, info) for name, info in section.model_fields.items())


@cache
def field_of(section: type[Section], key: str) -> FormField:
    """The field that a key fills, under whichever of its names."""
    name = section.keys()[key]
    return next(field for field in fields_of(section) if field.name == name)


def _field(section: type[Section], name: str, info: FieldInfo) -> FormField:
    quantity = quantity_of(info.metadata)
    kind, inner, choices = _kind(info)
    return FormField(
        name=name,
        key=section.base(name),
        kind=kind,
        help=info.description or "",
        unit=quantity.kind if quantity else "",
        example=quantity.example.strip('"') if quantity else "",
        section=inner,
        choices=choices,
        required=info.is_required(),
        default=_default(info, quantity),
        is_text=_is_text(info.annotation) and quantity is None,
        short=kind == "section" and ((inner is not None and inner.short_form is not None) or quantity is not None),
    )


def _kind(info: FieldInfo) -> tuple[FieldKind, type[Section] | None, tuple[str, ...]]:
    inside = section_in(info.annotation)
    base = _base(info.annotation)
    if isinstance(inside, Inside):
        return ("items" if get_origin(base) is dict else "rows"), inside.section, ()
    if inside is not None:
        return "section", inside, ()
    if get_origin(base) is Literal:
        return "choice", None, tuple(map(str, get_args(base)))
    if base is bool:
        return "truth", None, ("true", "false")
    if get_origin(base) in (tuple, list):
        first = _base(get_args(base)[0])
        return "list", None, tuple(map(str, get_args(first))) if get_origin(first) is Literal else ()
    return ("long text" if _most(info) > ONE_LINE else "text"), None, ()


def _base(annotation: Any) -> Any:
    """What an annotation is about, without None and without metadata."""
    while True:
        if get_origin(annotation) in (Union, types.UnionType):
            annotation = next(part for part in get_args(annotation) if part is not type(None))
        elif hasattr(annotation, "__metadata__"):
            annotation = annotation.__origin__
        else:
            return annotation


def _metadata(info: FieldInfo) -> Iterable[Any]:
    yield from info.metadata
    for part in (info.annotation, *get_args(info.annotation)):
        yield from getattr(part, "__metadata__", ())


def _most(info: FieldInfo) -> int:
    """The most characters that a text may have; 0 where nothing is said."""
    schemas = (item.json_schema for item in _metadata(info) if isinstance(item, WithJsonSchema))
    return max((int((schema or {}).get("maxLength", 0)) for schema in schemas), default=0)


def _is_text(annotation: Any) -> bool:
    base = _base(annotation)
    return base not in (int, float, bool, Any) and get_origin(base) is None


def _default(info: FieldInfo, quantity: Quantity | None) -> str:
    value = info.default
    if value is PydanticUndefined or value is None or isinstance(value, Section | dict | tuple):
        return "" if info.is_required() or isinstance(value, Section | dict | tuple) else "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if quantity is not None and quantity.kind == "duration":
        return format_duration(value * quantity.suffixes["min"] ** -1)
    if quantity is not None:
        return format_rate(value / quantity.suffixes["per_min"])
    return f"{value:g}" if isinstance(value, float) else str(value)


def shown(value: Any) -> str:
    """A value of the file as a person sees and types it."""
    if value is None:
        return ""
    if isinstance(value, WrittenInt | WrittenFloat):
        return value.text
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list) and not any(isinstance(item, dict | list) for item in value):
        return ", ".join(map(shown, value))
    return value if isinstance(value, str) else inline(value)


def typed(text: str, field: FormField) -> Any:
    """What a person typed as a value of the file, its digits as they were typed; None for nothing."""
    text = text.strip()
    if not text:
        return None
    if field.kind == "list":
        parts = text.strip("[]").replace(";", ", ").replace("\n", ", ").split(", ")
        return [_number_or_text(part.strip(), field.is_text) for part in parts if part.strip()]
    if field.kind == "truth":
        return {"true": True, "false": False}.get(text, text)
    return _number_or_text(text, field.is_text or field.kind == "choice")


def same_text(one: str, other: str, field: FormField) -> bool:
    """True if two texts of a field mean the same value, as they do while a person is still typing a list."""
    return bool(one.strip() == other.strip() or typed(one, field) == typed(other, field))


def _number_or_text(text: str, is_text: bool) -> Any:
    if is_text or not text.isascii() or not all(char.isdigit() or char in "+-.eE" for char in text):
        return text
    value = read_text(text, "what was typed").data
    return value if isinstance(value, WrittenInt | WrittenFloat) else text


def skeleton(section: type[Section]) -> dict[str, Any]:
    """What a new item of a section holds: every field that it cannot do without, empty."""
    found: dict[str, Any] = {}
    for field in fields_of(section):
        if not field.required:
            continue
        if field.kind == "rows" and field.section is not None:
            found[field.key] = [skeleton(field.section)]
        elif field.kind == "section" and field.section is not None and not field.short:
            found[field.key] = skeleton(field.section)
        else:
            found[field.key] = None
    return found or {fields_of(section)[0].key: None}
