"""Ranges of uncertain values: low and high beside the value that stands in the scenario, which is the likely one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from afterload.errors import UnitError
from afterload.scenario.fields import Inside, Ranged, Section, section_in
from afterload.scenario.problems import nearest
from afterload.scenario.schema import ArrivalRate, Scenario
from afterload.units import read_duration_min as read_minutes
from afterload.units import read_rate_per_min

__all__ = ["RANGED", "outdated", "read_range", "split_range"]


def _ranged(section: type[Section], above: str = "") -> Iterator[tuple[str, Ranged]]:
    for name, field in section.model_fields.items():
        path, below = f"{above}{section.base(name)}", section_in(field.annotation)
        for marker in field.metadata:
            if isinstance(marker, Ranged):
                yield path, marker
        if isinstance(below, type):
            yield from _ranged(below, f"{path}.")


# What can have a range, by part of the scenario; incident.outage stands for the time from trigger to restore.
RANGED: Mapping[str, Mapping[str, Ranged]] = {
    part: found
    for part, field in Scenario.model_fields.items()
    if isinstance(kind := section_in(field.annotation), Inside) and (found := dict(_ranged(kind.section)))
}
# What follows the digits of a quantity.
_UNIT = re.compile(r"[\d.,_]+(\s*[^\d\s.,_].*)")
_FACTOR = re.compile(r"(\d+(?:\.\d+)?)\s*%")


def _factor(value: Any) -> float:
    match = _FACTOR.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise UnitError(
            f"{value!r} is not a percentage", "a percentage of the profile or series, such as 80 % or 125 %"
        )
    return float(match[1]) / 100


def split_range(scenario: Scenario, path: str) -> tuple[str, str, str] | None:
    """Part, name and field of a value that can have a range; None if this scenario has no such value."""
    part, _, rest = path.partition(".")
    for name in getattr(scenario, part) if part in RANGED else ():
        field = rest.removeprefix(f"{name}.")
        if field != rest and field in RANGED[part]:
            return part, name, field
    return None


def _likely(scenario: Scenario, path: str) -> tuple[float | None, Callable[[Any], float], float] | None:
    """The likely value in the unit that its field holds, how its ends are read, and their least; None if there is none."""
    if path == "incident.outage":
        return scenario.incident.outage_min, read_minutes, 0.0
    places = split_range(scenario, path)
    if places is None:
        return None
    part, name, field = places
    marker, section = RANGED[part][field], getattr(scenario, part)[name]
    *above, last = field.split(".")
    for key in above:
        section = getattr(section, key)
        if section is None:
            return None, marker.read, marker.least
    attribute = type(section).keys()[last]
    value, quantity = getattr(section, attribute), type(section).quantities().get(attribute)
    if isinstance(value, ArrivalRate):
        constant = value.constant_per_min
        return (1.0, _factor, 0.0) if constant is None else (constant, read_rate_per_min, 0.0)
    return value, (marker.read if quantity is None else lambda text: quantity.read(text, None)), marker.least


def _as_written(end: Any, likely: float, read: Callable[[Any], float]) -> str:
    """The likely value in the unit that an end of its range is written in; as the field holds it where that has none."""
    match = _UNIT.fullmatch(end.strip()) if isinstance(end, str) else None
    try:
        return f"{likely:,g}" if match is None else f"{likely / read(f'1{match[1]}'):,.6g}{match[1]}"
    except (UnitError, ZeroDivisionError):
        return f"{likely:,g}"


def read_range(scenario: Scenario, path: str) -> tuple[float, float, float]:
    """Low, likely and high of one uncertain value. Raises :class:`UnitError` that says what is wrong with it."""
    item, found = scenario.uncertain[path], _likely(scenario, path)
    if found is None:
        known = ["incident.outage", *(f"{p}.{n}.{f}" for p in RANGED for n in getattr(scenario, p) for f in RANGED[p])]
        near = nearest(path, known)
        raise UnitError(f"{path!r} cannot have a range{f'; nearest: {near}' if near else ''}", ", ".join(known[:12]))
    likely, read, least = found
    if likely is None:
        raise UnitError(f"{path} has no value in the scenario", "the likely value there, and its ends here")
    low, high = read(item.low), read(item.high)
    if low < least:
        raise UnitError(f"low {item.low!s} is less than one attempt a request", "1 or more")
    if not low <= likely <= high:
        value = _as_written(item.low, likely, read)
        raise UnitError(
            f"low {item.low!s}, the scenario's value {value} and high {item.high!s} are not in order",
            "low at or below the value, high at or above it: where the value was changed, give low and high of the new one, or "
            "take the range out",
        )
    return low, float(likely), high


def outdated(scenario: Scenario, path: str) -> str:
    """Why a range is of another value than the one that stands there, in words; empty text if it is not.

    A range says itself what it is ``of``. One without that, from an import, belongs to the value of its evidence: it is
    outdated where that one lies in it and the one that stands there does not. Any other range is a person's, and is not
    judged here. Raises :class:`UnitError` where ``of`` cannot be read.
    """
    item, evidence = scenario.uncertain[path], scenario.evidence.get(path)
    given = item.of if item.of is not None else evidence.value if evidence is not None and evidence.file else None
    found = _likely(scenario, path)
    if given is None or found is None:
        return ""
    likely, read, _ = found
    if read is _factor:
        # A profile or series has no one rate: a range of a rate is not of it.
        likely, read = None, read_rate_per_min
    if item.of is None:
        try:
            low, was, high = read(item.low), read(given), read(item.high)
        except UnitError:
            return ""
        if not low <= was <= high or (likely is not None and low <= likely <= high):
            return ""
    elif read(given) == likely:
        return ""
    return (
        f"its range, {item.low} to {item.high}, is of {given}, which was changed since, so it is left out: give low and high of "
        "the new value, or import again"
    )
