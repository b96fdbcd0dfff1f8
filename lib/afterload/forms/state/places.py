"""Where things stand in a form: the parts of a scenario, their items, and the fields of each with what is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from afterload.forms.state.fields import FormField, fields_of, shown
from afterload.scenario.fields import Inside, Section, section_in
from afterload.scenario.problems import dotted
from afterload.scenario.ranges import RANGED
from afterload.scenario.schema import Scenario
from afterload.yamltree import DataPath, value_at

__all__ = ["PARTS", "Entry", "Place", "entries", "outline", "ranged_paths", "section_at"]

# The first place of a form: single values of the scenario itself.
TOP: DataPath = ()
# Parts in the order in which a team fills them in, with what one item is called.
PARTS: Mapping[str, str] = {
    "incident": "Incident and impacts", "dependencies": "Dependency", "queues": "Queue", "call_stacks": "Call stack",
    "clients": "Clients", "fleets": "Fleet", "control_loops": "Control loop", "worker_pools": "Worker pool",
    "admission": "Admission", "plan_automation": "Plan automation", "uncertain": "Range", "costs": "Costs",
    "exports": "Export", "telemetry": "Telemetry", "evidence": "Evidence", "postmortem": "Postmortem",
    "live": "Readings while it recovers", "shared": "Account and region",
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """One field of a form: where its value stands, the value as text, and what is wrong with it.

    ``is_there`` tells whether anything stands there; a section that is written as one value, such as a preset's name, has
    ``is_written_short``, one that is written out ``is_written_out``. ``below`` has the rows or items of a list or mapping.
    """

    path: DataPath
    field: FormField
    text: str
    is_there: bool
    problems: tuple[str, ...] = ()
    is_written_short: bool = False
    is_written_out: bool = False
    below: tuple[DataPath, ...] = ()


@dataclass(frozen=True)
class Place:
    """One page of a form: a part of the scenario, or one item of a part."""

    path: DataPath
    title: str
    problems: int
    can_be_removed: bool


def section_at(path: DataPath) -> type[Section] | None:
    """The section that stands at a path by the schema; None where it is one value, or a list or mapping of sections."""
    kind: Any = Scenario
    for key in path:
        if isinstance(kind, Inside):
            kind = kind.section
        elif isinstance(kind, type) and issubclass(kind, Section):
            name = kind.keys().get(str(key))
            kind = section_in(kind.model_fields[name].annotation) if name is not None else None
        else:
            return None
    return kind if isinstance(kind, type) and issubclass(kind, Section) else None


def entries(data: Any, path: DataPath, problems: Mapping[str, tuple[str, ...]]) -> tuple[Entry, ...]:
    """The fields of the section at a path. Parts of the scenario itself have places of their own and are left out."""
    section = section_at(path)
    if section is None:
        return ()
    here = value_at(data, path)
    held = here if isinstance(here, dict) else {}
    fields = [field for field in fields_of(section) if path or field.key not in PARTS]
    return tuple(_entry(section, field, held, path, problems) for field in fields)


def _entry(
    section: type[Section],
    field: FormField,
    held: Mapping[str, Any],
    above: DataPath,
    problems: Mapping[str, tuple[str, ...]],
) -> Entry:
    quantity = section.quantities().get(field.name)
    keys = quantity.keys(field.name) if quantity else (field.name,)
    key = next((key for key in keys if key in held), field.key)
    path = (*above, key)
    value = held.get(key)
    below: tuple[DataPath, ...] = ()
    if field.kind in ("rows", "items"):
        below = tuple((*path, name) for name in _names(value))
    text = "" if isinstance(value, dict) or below else shown(value)
    return Entry(
        path, field, text, key in held, problems.get(dotted(path), ()),
        is_written_short=field.kind == "section" and value is not None and not isinstance(value, dict),
        is_written_out=isinstance(value, dict), below=below,
    )  # fmt: skip


def _names(value: Any) -> Iterator[str | int]:
    if isinstance(value, dict):
        yield from map(str, value)
    elif isinstance(value, list):
        yield from range(len(value))


def outline(data: Any, problems: Mapping[str, tuple[str, ...]]) -> tuple[Place, ...]:
    """Every place of a form in order, with the number of problems in it. Empty parts are left out: see :data:`PARTS`."""
    taken: set[str] = set()
    places: list[tuple[DataPath, str, bool]] = [(TOP, "Team and objective", False)]
    for part, title in PARTS.items():
        value = value_at(data, (part,))
        field = next(field for field in fields_of(Scenario) if field.key == part)
        if field.kind in ("items", "rows"):
            places += [((part, name), f"{title}: {_title(value, name)}", True) for name in _names(value)]
        elif value is not None or field.required:
            places.append(((part,), title, not field.required))
    found = []
    for path, title, can_be_removed in reversed(places):
        here = [name for name in problems if name not in taken and _is_in(name, path)]
        taken.update(here)
        found.append(Place(path, title, len(here), can_be_removed))
    return tuple(reversed(found))


def _title(value: Any, name: str | int) -> str:
    item = value_at(value, (name,))
    if isinstance(name, int):
        return str(item.get("file") or name) if isinstance(item, dict) else str(item)
    return name


def _is_in(name: str, path: DataPath) -> bool:
    return not path or name == dotted(path) or name.startswith(f"{dotted(path)}.")


def ranged_paths(data: Any) -> tuple[str, ...]:
    """The paths of a scenario that can have a range of uncertainty."""
    found = ["incident.outage"]
    for part, fields in RANGED.items():
        found += [f"{part}.{name}.{field}" for name in _names(value_at(data, (part,))) for field in fields]
    return tuple(found)
