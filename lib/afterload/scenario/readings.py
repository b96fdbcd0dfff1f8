"""Readings of a recovery that is going on: what a console shows of one queue at one moment, kept as lines of a CSV file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from afterload.errors import InputError, UnitError
from afterload.scenario.attachments import Attachment, Reading, _open
from afterload.scenario.problems import Problem
from afterload.units import MAX_DURATION_MIN, read_count, read_number, read_share

__all__ = ["COLUMNS", "Reading", "ReadingLine", "of_queue", "read_readings", "reading_line"]

REQUIRED = ("at", "queue", "depth")
# Column -> field of a reading, and how a cell is read.
OPTIONAL: dict[str, tuple[str, Callable[[object], float]]] = {
    "age_min": ("age_min", lambda value: _minutes(value)),
    "arrival_per_min": ("arrival_per_min", read_number),
    "service_per_min": ("service_per_min", read_number),
    "in_flight": ("in_flight", lambda value: float(read_count(value))),
    "errors": ("error_share", read_share),
    "attempts_per_min": ("attempts_per_min", read_number),
}
COLUMNS = (*REQUIRED, *OPTIONAL)


@dataclass(frozen=True)
class ReadingLine:
    """A reading as a line of a log."""

    header: str
    line: str


def _minutes(value: object) -> float:
    minutes = read_number(value)
    if minutes > MAX_DURATION_MIN:
        raise UnitError(f"{minutes:g} is too long", "minutes, at most those of 100 years")
    return minutes


def read_readings(path: Path, zone: ZoneInfo | None) -> tuple[Attachment, list[Problem]]:
    """Read a log of readings, ``at, queue, depth`` and perhaps the other columns, sorted by time; with every problem."""
    table = _open(path, REQUIRED, tuple(OPTIONAL), zone)
    found: list[Reading] = []
    seen: dict[tuple[str, datetime], int] = {}
    for line, row in table.rows:
        before = len(table.problems)
        at = table.instant(line, row, "at")
        depth = table.cell(line, row, "depth", read_count)
        if not row["queue"]:
            table.refuse(line, "queue", "is empty", "the name of a queue")
        values: dict[str, float | None] = {}
        for column, (field, read) in OPTIONAL.items():
            values[field] = table.cell(line, row, column, read) if row[column] else None
        if len(table.problems) > before or at is None or depth is None:
            continue
        key = (row["queue"], at.astimezone(UTC))
        if key in seen:
            table.refuse(line, "at", f"{row['at']} stands on line {seen[key]} too", "one reading of a queue at a time")
            continue
        seen[key] = line
        found.append(Reading(at, row["queue"], float(depth), **values))
    ordered = tuple(sorted(found, key=lambda reading: reading.at))
    return Attachment(ordered, table.digest), table.problems


def reading_line(reading: Reading) -> ReadingLine:
    """The reading as :func:`read_readings` reads it back. Raises :class:`InputError` for a name that is not one line."""
    name = reading.queue
    if not name.isprintable() or not name.strip() or name != name.strip():
        raise InputError(f"{name[:40]!r} cannot be the name of a queue in a log: give one line of printable characters")
    cells = [reading.at.isoformat(timespec="seconds"), _quoted(name), f"{reading.depth:.0f}"]
    for field, _ in OPTIONAL.values():
        value = getattr(reading, field)
        cells.append("" if value is None else f"{value:.10g}")
    return ReadingLine(",".join(COLUMNS), ",".join(cells))


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(char in text for char in ',"') else text


def of_queue(readings: Iterable[Reading], queue: str) -> tuple[Reading, ...]:
    """The readings of one queue, by time."""
    return tuple(sorted((item for item in readings if item.queue == queue), key=lambda item: item.at))
