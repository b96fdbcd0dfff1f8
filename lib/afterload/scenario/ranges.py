"""Ranges of uncertain values: low and high beside the value that stands in the scenario, which is the likely one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from afterload.errors import UnitError
from afterload.scenario.fields import Section
from afterload.scenario.problems import nearest
from afterload.scenario.schema import Scenario
from afterload.units import read_duration_min as read_minutes
from afterload.units import read_number, read_rate_per_min, read_share

__all__ = ["RANGED", "outdated", "read_range"]

# What can have a range, by part of the scenario; incident.outage stands for the time from trigger to restore.
RANGED: Mapping[str, tuple[str, ...]] = {
    "queues": (
        "arrival_rate", "service_rate", "attempts_while_failing", "backlog_before", "age_limit", "superseded_share",
    ),
    "dependencies": ("capacity", "tested_rate", "direct_rate", "attempts_while_failing", "goodput_while_collapsed"),
    "fleets": ("running", "needed", "launches_from"),
}  # fmt: skip
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


def _reader(section: Section, field: str) -> tuple[float | None, Callable[[Any], float]]:
    """The likely value of a field in the unit that it holds, and how its ends are read."""
    name = type(section).keys()[field]
    quantity = type(section).quantities().get(name)
    value = getattr(section, name)
    if field == "arrival_rate":
        return (value.constant_per_min, read_rate_per_min) if value.constant_per_min is not None else (1.0, _factor)
    if quantity is not None:
        return value, lambda text: quantity.read(text, None)
    return value, read_share if "share" in field or "goodput" in field else read_number


def _as_written(end: Any, likely: float, read: Callable[[Any], float]) -> str:
    """The likely value in the unit that an end of its range is written in; as the field holds it where that has none."""
    match = _UNIT.fullmatch(end.strip()) if isinstance(end, str) else None
    try:
        return f"{likely:,g}" if match is None else f"{likely / read(f'1{match[1]}'):,.6g}{match[1]}"
    except (UnitError, ZeroDivisionError):
        return f"{likely:,g}"


def read_range(scenario: Scenario, path: str) -> tuple[float, float, float]:
    """Low, likely and high of one uncertain value. Raises :class:`UnitError` that says what is wrong with it."""
    item = scenario.uncertain[path]
    part, _, rest = path.partition(".")
    name, _, field = rest.rpartition(".")
    if path == "incident.outage":
        likely: float | None = scenario.incident.outage_min
        read: Callable[[Any], float] = read_minutes
    else:
        named = getattr(scenario, part, {}) if part in RANGED else {}
        if part not in RANGED or name not in named or field not in RANGED[part]:
            known = [
                "incident.outage",
                *(f"{p}.{n}.{f}" for p in RANGED for n in getattr(scenario, p) for f in RANGED[p]),
            ]
            near = nearest(path, known)
            raise UnitError(
                f"{path!r} cannot have a range{f'; nearest: {near}' if near else ''}", ", ".join(known[:12])
            )
        likely, read = _reader(named[name], field)
    if likely is None:
        raise UnitError(f"{path} has no value in the scenario", "the likely value there, and its ends here")
    low, high = read(item.low), read(item.high)
    if field == "attempts_while_failing" and low < 1:
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
    part, _, rest = path.partition(".")
    name, _, field = rest.rpartition(".")
    given = item.of if item.of is not None else evidence.value if evidence is not None and evidence.file else None
    likely: float | None
    read: Callable[[Any], float]
    if given is None:
        return ""
    if path == "incident.outage":
        likely, read = scenario.incident.outage_min, read_minutes
    elif part not in RANGED or field not in RANGED[part] or name not in getattr(scenario, part):
        return ""
    elif field == "arrival_rate":
        # A profile or series has no one rate: a range of a rate is not of it.
        likely, read = scenario.queues[name].arrival_rate.constant_per_min, read_rate_per_min
    else:
        likely, read = _reader(getattr(scenario, part)[name], field)
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
