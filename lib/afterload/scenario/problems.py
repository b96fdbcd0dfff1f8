"""Turn what is wrong with a scenario into one line a problem: file, line, field, value seen, what is accepted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from afterload.errors import UnitError
from afterload.scenario.fields import QUOTES, Inside, Section, quantity_of, section_in
from afterload.yamltree import DataPath, YamlTree

__all__ = ["Problem", "dotted", "nearest", "problems_of"]


@dataclass(frozen=True, order=True)
class Problem:
    """One thing that is wrong, and where."""

    file: str
    line: int
    field: str
    message: str
    accepted: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        field = f" {_one_line(self.field)}:" if self.field and not self.file.endswith(f" {self.field}") else ""
        accepted = f"; accepted: {self.accepted}" if self.accepted else ""
        return f"{place}:{field} {_one_line(self.message, 600)}{accepted}"


def _one_line(text: str, most: int = 200) -> str:
    """The text without what could break the line or colour a terminal, and of bounded length."""
    shown = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text[:most])
    return shown if len(text) <= most else f"{shown}..."


def dotted(path: Iterable[str | int]) -> str:
    """Write a path as people give it to an override: ``queues.orders.arrival_rate``."""
    return ".".join(str(part) for part in path)


def nearest(word: object, known: Iterable[str]) -> str:
    """The known word nearest to another, or empty text."""
    known = list(known)
    close = get_close_matches(str(word).lower(), known, 1, 0.55)
    return close[0] if close else ""


def problems_of(
    error: ValidationError, tree: YamlTree, root: type[Section], overridden: Mapping[DataPath, str]
) -> list[Problem]:
    """Every problem that validation found, placed in the file or at the override that brought it."""
    found = []
    for detail in error.errors(include_url=False):
        path, section, name = _locate(detail["loc"], tree.data, root)
        if detail["type"] != "missing":
            path = _written(path, tree.data)
        message, accepted = _explain(detail, path, section, name)
        origin = next((given for prefix, given in overridden.items() if path[: len(prefix)] == prefix), None)
        if origin is not None:
            found.append(Problem(origin, 0, dotted(path), message, accepted))
        else:
            found.append(Problem(tree.name, tree.line(path), dotted(path), message, accepted))
    return sorted(set(found))


def _locate(loc: tuple[int | str, ...], data: Any, root: type[Section]) -> tuple[DataPath, type[Section], str]:
    """Translate a location in the model to the keys that a person wrote, with the section and field it is in."""
    path: list[str | int] = []
    kind: Any = root
    section, name = root, ""
    for part in loc:
        if part == "[key]":
            continue
        if isinstance(kind, Inside):
            kind = kind.section
        elif isinstance(kind, type) and issubclass(kind, Section):
            if part not in kind.model_fields and part not in kind.keys():
                path.append(part)
                return tuple(path), kind, str(part)
            section, name = kind, kind.keys().get(str(part), str(part))
            quantity = kind.quantities().get(name)
            if quantity is not None:
                written = [key for key in quantity.keys(name) if isinstance(data, dict) and key in data]
                part = written[0] if written else quantity.base(name)
            kind = section_in(section.model_fields[name].annotation) if name in section.model_fields else None
        path.append(part)
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            data = None
    return tuple(path), section, name


def _written(path: DataPath, data: Any) -> DataPath:
    """The part of a path that a person wrote: a default that does not fit belongs to its section."""
    for place, part in enumerate(path):
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return path[:place]
    return path


# What is left of a number with thousands commas that was not quoted inside { }.
_AFTER_COMMA = re.compile(r"\d{3}\b")
_BOUNDS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}


def _explain(detail: ErrorDetails, path: DataPath, section: type[Section], name: str) -> tuple[str, str]:
    kind, seen, context = detail["type"], detail["input"], detail.get("ctx", {})
    problem = context.get("error")
    if isinstance(problem, UnitError):
        return problem.message, problem.accepted
    if kind == "missing":
        return "is missing", _wanted(section, name)
    if kind == "extra_forbidden":
        if _AFTER_COMMA.match(name):
            return f"{name!r} is what follows a comma inside braces", 'quotes around the whole value, as in "1,200/min"'
        near = nearest(name, section.keys())
        keys = ", ".join(sorted({section.base(field) for field in section.model_fields}))
        return f"unknown key{f'; nearest: {near}' if near else ''}", f"the keys {keys}"
    if kind == "literal_error":
        choices = str(context["expected"]).replace("'", "").replace(" or ", ", ")
        near = nearest(seen, choices.split(", "))
        return f"{_shown(seen)} is not known{f'; nearest: {near}' if near else ''}", f"one of {choices}"
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return f"{_shown(seen)} is out of range", f"{words} {context[key]:,.10g}{_unit(section, name)}"
    if kind in ("too_short", "too_long"):
        bound = context.get("min_length", context.get("max_length"))
        return (
            f"has {context['actual_length']} items",
            f"{'at least' if kind == 'too_short' else 'at most'} {bound}",
        )
    if kind in ("model_type", "dict_type", "model_attributes_type"):
        return f"{_shown(seen)} is not a mapping", "lines of the form key: value, indented below"
    if kind in ("tuple_type", "list_type"):
        return f"{_shown(seen)} is not a list", "a list, one item a line, each after a dash"
    if kind == "bool_type":
        return f"{_shown(seen)} is not a truth value", "true or false"
    if kind == "string_type":
        return f"{_shown(seen)} is not text", f"text{QUOTES}"
    return f"{_shown(seen)}: {detail['msg']}", _wanted(section, name)


def _shown(value: Any) -> str:
    value = getattr(value, "value", value)
    text = repr(value) if isinstance(value, str) else "nothing" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _unit(section: type[Section], name: str) -> str:
    quantity = section.quantities().get(name)
    if quantity is None:
        return ""
    words = {"per_min": "a minute", "per_s": "a second"}
    return f" {words.get(quantity.suffix, quantity.suffix)}"


def _wanted(section: type[Section], name: str) -> str:
    """What a field takes: an example where it is a quantity, and its description."""
    field = section.model_fields.get(name)
    if field is None:
        return ""
    quantity = quantity_of(field.metadata)
    words = (field.description or "").rstrip(".")
    return f"{quantity.example} ({words})" if quantity else words
