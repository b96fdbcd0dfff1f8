"""Readings of a recovery that is going on: what a console shows of one queue at one moment, kept as lines of a CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from afterload.errors import InputError, UnitError
from afterload.reads import open_input
from afterload.scenario.attachments import Attachment, Reading, _open
from afterload.scenario.problems import Problem
from afterload.units import MAX_DURATION_MIN, read_count, read_number, read_share

__all__ = ["COLUMNS", "Reading", "joined", "log_columns", "of_queue", "read_readings", "reading_line"]

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
    """Read a log of readings, ``at, queue, depth`` and perhaps the other columns, sorted by time; with every problem.

    An empty file, or one that has only its header, is a log without readings.
    """
    table = _open(path, REQUIRED, tuple(OPTIONAL), zone, may_be_empty=True)
    found: dict[tuple[str, datetime], Reading] = {}
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
        reading = Reading(at, row["queue"], float(depth), **values)
        key = (row["queue"], at.astimezone(UTC))
        if key in seen and found[key].depth != reading.depth:
            words = f"{row['at']} stands on line {seen[key]} too, with {found[key].depth:,.0f} waiting"
            table.refuse(line, "at", words, "one reading of a queue at a time: delete the wrong one")
            continue
        # Two people who looked in one second saw the same: the later line counts.
        seen[key], found[key] = line, reading
    ordered = tuple(sorted(found.values(), key=lambda reading: reading.at))
    return Attachment(ordered, table.digest), table.problems


def log_columns(path: Path) -> tuple[str, ...]:
    """The columns of a log in their order; those of a new one where it is not there yet, or empty.

    Raises :class:`InputError` where it is no UTF-8, which is what a line more would be.
    """
    try:
        with io.TextIOWrapper(open_input(path), encoding="utf-8-sig", newline="") as file:
            header = next(csv.reader(file), [])
    except FileNotFoundError:
        header = []
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8, so no line can be added to it: save it as UTF-8 first") from None
    return tuple(name.strip() for name in header) or COLUMNS


def reading_line(reading: Reading, columns: tuple[str, ...] = COLUMNS) -> ReadingLine:
    """The reading as :func:`read_readings` reads it back from a log with these columns.

    Raises :class:`InputError` for a name that is not one line, and where the log has no column for a value.
    """
    name = reading.queue
    if not name.isprintable() or not name.strip() or name != name.strip():
        raise InputError(f"{name[:40]!r} cannot be the name of a queue in a log: give one line of printable characters")
    cells = {"at": reading.at.isoformat(timespec="seconds"), "queue": _quoted(name), "depth": f"{reading.depth:.0f}"}
    for column, (field, _) in OPTIONAL.items():
        value = getattr(reading, field)
        cells[column] = "" if value is None else f"{value:.10g}"
    missing = [column for column, cell in cells.items() if cell and column not in columns]
    if missing:
        raise InputError(f"the log has no column {', '.join(missing)}: add it to its header, or begin a new log")
    return ReadingLine(",".join(columns), ",".join(cells[column] for column in columns))


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(char in text for char in ',"') else text


def of_queue(readings: Iterable[Reading], queue: str) -> tuple[Reading, ...]:
    """The readings of one queue, by time."""
    return tuple(sorted((item for item in readings if item.queue == queue), key=lambda item: item.at))


def joined(kept: Iterable[Reading], measured: Iterable[Reading]) -> tuple[Reading, ...]:
    """Readings that people kept, and those of metrics at other times, by time."""
    held = tuple(kept)
    times = {item.at for item in held}
    return tuple(sorted((*held, *(item for item in measured if item.at not in times)), key=lambda item: item.at))
