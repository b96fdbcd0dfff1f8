"""Read the CSV files that a scenario names: incident timeline, impact windows, arrival series, courses, offsets.

These are Afterload's own plain forms. Every row that cannot be read becomes a problem with file and row; order of
rows never matters; a time without a zone is refused.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from hashlib import file_digest, sha256
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TypeVar
from zoneinfo import ZoneInfo

from afterload.errors import UnitError
from afterload.reads import note_read, open_input
from afterload.scenario.problems import Problem, nearest
from afterload.units import read_count, read_instant, read_number, read_share

__all__ = [
    "STATUSES",
    "ArrivalSeries",
    "Attachment",
    "ImpactWindow",
    "Reading",
    "TimelineEvent",
    "consumer_group_rows",
    "note_digest",
    "read_course",
    "read_impacts",
    "read_offsets",
    "read_series",
    "read_timeline",
]

MAX_BYTES = 20_000_000
# Seen in a log, a metric or a record; said by somebody; said otherwise by somebody else.
STATUSES = ("confirmed", "reported", "disputed")
_NO_IMPACT = frozenset(
    "none; no impact; maintenance; planned; scheduled; planned work; planned maintenance; scheduled maintenance".split(
        "; "
    )
)
T = TypeVar("T")


@dataclass(frozen=True)
class TimelineEvent:
    """One line of an incident timeline.

    Attributes:
        end: None for an instant.
        source: who says so; empty where the file does not say.
        status: one of :data:`STATUSES`, or empty where the file does not say.
        note: what to know about it, such as what another source says.
    """

    at: datetime
    end: datetime | None
    subsystem: str
    kind: str
    event: str
    source: str = ""
    status: str = ""
    note: str = ""


@dataclass(frozen=True)
class ImpactWindow:
    """One published window of impact. ``start_is_lower_bound`` tells that it may have begun earlier, ``impact`` its kind."""

    service: str
    start: datetime
    end: datetime
    start_is_lower_bound: bool = False
    note: str = ""
    impact: str = ""

    @property
    def is_planned(self) -> bool:
        """True for planned work and for what is said to have no impact, in its kind or as its whole note."""
        return (self.impact or self.note).strip().lower() in _NO_IMPACT


@dataclass(frozen=True)
class Reading:
    """What a console shows of one queue at one moment of a recovery; None where it was not looked at.

    Attributes:
        at: when, with a zone.
        depth: items waiting.
        age_min: age of the oldest of them in minutes.
        arrival_per_min, service_per_min: items a minute in and out.
        in_flight: items that consumers hold.
        error_share: share of attempts at the dependency that fail or are throttled.
        attempts_per_min: attempts a minute at the dependency, retries included.
    """

    at: datetime
    queue: str
    depth: float
    age_min: float | None = None
    arrival_per_min: float | None = None
    service_per_min: float | None = None
    in_flight: float | None = None
    error_share: float | None = None
    attempts_per_min: float | None = None


@dataclass(frozen=True)
class ArrivalSeries:
    """Measured arrival rate: ``rates_per_min[i]`` holds from ``times[i]`` to the next, the last for ``step_min``."""

    times: tuple[datetime, ...]
    rates_per_min: tuple[float, ...]
    step_min: float


@dataclass(frozen=True)
class Shares:
    """Shares of a course from ``times`` on, or, without times, of the partitions of a stream."""

    values: tuple[float, ...]
    times: tuple[datetime, ...] = ()


@dataclass(frozen=True)
class Attachment:
    """What was read from one file, and its SHA-256."""

    rows: tuple[TimelineEvent, ...] | tuple[ImpactWindow, ...] | tuple[Reading, ...] | ArrivalSeries | Shares | None
    digest: str


@dataclass
class _Table:
    path: str
    rows: list[tuple[int, dict[str, str]]]
    problems: list[Problem]
    digest: str
    zone: ZoneInfo | None

    def refuse(self, line: int, field: str, message: str, accepted: str = "") -> None:
        self.problems.append(Problem(self.path, line, field, message, accepted))

    def cell(self, line: int, row: dict[str, str], field: str, read: Callable[[str], T]) -> T | None:
        try:
            return read(row[field])
        except UnitError as problem:
            self.refuse(line, field, problem.message, problem.accepted)
            return None

    def instant(self, line: int, row: dict[str, str], field: str) -> datetime | None:
        return self.cell(line, row, field, lambda text: read_instant(text, self.zone))


def _text(path: Path, zone: ZoneInfo | None) -> tuple[_Table, str]:
    """A table without rows yet, and the text of the file; problems and empty text where it cannot be read."""
    table = _Table(str(path), [], [], "", zone)
    try:
        with open_input(path) as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as problem:
        reason = "no such file" if isinstance(problem, FileNotFoundError) else (problem.strerror or str(problem))
        table.refuse(0, "", reason)
        return table, ""
    table.digest = sha256(raw).hexdigest()
    note_read(path, table.digest)
    if len(raw) > MAX_BYTES:
        table.refuse(0, "", "is too large", f"at most {MAX_BYTES:,} bytes")
        return table, ""
    try:
        return table, raw.decode("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError as problem:
        table.refuse(raw[: problem.start].count(b"\n") + 1, "", "is not UTF-8 text", "a CSV file saved as UTF-8")
        return table, ""


def _open(
    path: Path, required: tuple[str, ...], optional: tuple[str, ...], zone: ZoneInfo | None, may_be_empty: bool = False
) -> _Table:
    table, text = _text(path, zone)
    if table.problems:
        return table
    if may_be_empty and not text.strip():
        return table
    for line, row in _rows(table, text, required, optional):
        table.rows.append((line, row))
    if not table.rows and not table.problems and not may_be_empty:
        table.refuse(1, "", "holds no rows below its header", "at least one row")
    return table


def _rows(
    table: _Table, text: str, required: tuple[str, ...], optional: tuple[str, ...]
) -> Iterator[tuple[int, dict[str, str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    wanted = f"a header with {', '.join(required)}" + (f" and perhaps {', '.join(optional)}" if optional else "")
    try:
        header = [name.strip() for name in next(reader, [])]
        missing = [name for name in required if name not in header]
        if missing:
            table.refuse(
                1,
                "",
                f"has no column {', '.join(missing)}; its header is {', '.join(header) or 'empty'}",
                wanted,
            )
            return
        for name in header:
            if name not in (*required, *optional):
                near = nearest(name, (*required, *optional))
                table.refuse(1, name, f"unknown column{f'; nearest: {near}' if near else ''}", wanted)
        if len(set(header)) != len(header):
            table.refuse(1, "", f"names a column twice: {', '.join(header)}", wanted)
            return
        before = reader.line_num
        for cells in reader:
            line, before = before + 1, reader.line_num
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                table.refuse(
                    line,
                    "",
                    f"has {len(cells)} cells where the header has {len(header)}",
                    "quotes around text with commas",
                )
                continue
            yield (
                line,
                {**dict.fromkeys(optional, ""), **dict(zip(header, (c.strip() for c in cells), strict=True))},
            )
    except csv.Error as problem:
        table.refuse(reader.line_num, "", f"is not CSV: {problem}")


def read_timeline(path: Path, zone: ZoneInfo | None) -> tuple[Attachment, list[Problem]]:
    """Read a timeline: ``at, end, subsystem, kind, event, source, status, note``, sorted by time; with every problem."""
    table = _open(path, ("at", "event"), ("end", "subsystem", "kind", "source", "status", "note"), zone)
    events = []
    for line, row in table.rows:
        at = table.instant(line, row, "at")
        end = table.instant(line, row, "end") if row["end"] else None
        status = table.cell(line, row, "status", _status)
        if at is not None and end is not None and end < at:
            table.refuse(line, "end", f"{row['end']} is before at, {row['at']}", "a later time, or none")
        if at is not None:
            who, note = row["source"], row["note"]
            events.append(TimelineEvent(at, end, row["subsystem"], row["kind"], row["event"], who, status or "", note))
    ordered = tuple(sorted(events, key=lambda event: event.at))
    return Attachment(ordered, table.digest), table.problems


def _status(text: str) -> str:
    status = text.lower()
    if status and status not in STATUSES:
        near = nearest(status, STATUSES)
        raise UnitError(
            f"{text!r} is not a status{f'; nearest: {near}' if near else ''}", f"{', '.join(STATUSES)}, or nothing"
        )
    return status


def note_digest(path: Path, _zone: ZoneInfo | None) -> tuple[Attachment, list[Problem]]:
    """The SHA-256 of a file that is read later, by whom it concerns; or the problem of opening it."""
    try:
        with open_input(path) as file:
            digest = file_digest(file, "sha256").hexdigest()
    except OSError as problem:
        return Attachment(None, ""), [Problem(str(path), 0, "", problem.strerror or str(problem))]
    note_read(path, digest)
    return Attachment(None, digest), []


def _points(table: _Table, field: str, read: Callable[[str], float]) -> dict[datetime, tuple[int, float]]:
    """Line and value of each row by its time."""
    points: dict[datetime, tuple[int, float]] = {}
    for line, row in table.rows:
        at, number = table.instant(line, row, "at"), table.cell(line, row, field, read)
        if at is None or number is None:
            continue
        if at in points:
            table.refuse(line, "at", f"{row['at']} stands on line {points[at][0]} too", "one row for each time")
        points[at] = (line, number)
    return points


def read_course(path: Path, zone: ZoneInfo | None) -> tuple[Attachment, list[Problem]]:
    """Read a course of capacity or of consumers: ``at`` and ``share``, each share from its time on; 100 % before the first."""
    table = _open(path, ("at", "share"), (), zone)
    points = _points(table, "share", read_share)
    times = tuple(sorted(points))
    return Attachment(Shares(tuple(points[at][1] for at in times), times), table.digest), table.problems


def consumer_group_rows(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Each line of a text with its cells if it is a row of a table that ``kafka-consumer-groups --describe`` shows, else none.

    Of a partition without a consumer the last three columns may be blank.
    """
    names: list[str] = []
    for line, cells in enumerate((row.split() for row in text.split("\n")), 1):
        is_header = {"PARTITION", "LAG"} <= set(cells)
        names = cells if is_header else names
        is_row = bool(names) and not is_header and len(names) - 3 <= len(cells) <= len(names)
        yield line, dict(zip(names, cells, strict=False)) if is_row else {}


def read_offsets(path: Path, zone: ZoneInfo | None) -> tuple[Attachment, list[Problem]]:
    """Read how records are spread over partitions: what ``kafka-consumer-groups --describe`` shows of one topic, or a CSV file
    with ``partition`` and ``lag`` or ``share``. A partition whose lag is ``-`` counts as empty.
    """
    table, text = _text(path, zone)
    rows = [(line, row) for line, row in consumer_group_rows(text) if row.get("PARTITION", "-") != "-"]
    if rows:
        table.rows = [
            (line, {"partition": row["PARTITION"], "lag": row["LAG"].replace("-", "0")}) for line, row in rows
        ]
        topics = sorted({row.get("TOPIC", "") for _, row in rows})
        if len(topics) > 1:
            table.refuse(rows[0][0] - 1, "TOPIC", f"holds {len(topics)} topics: {', '.join(topics)}", "the rows of one")
    elif not table.problems:
        table = _open(path, ("partition",), ("lag", "share"), zone)
    used = [name for name in ("lag", "share") if any(row.get(name) for _, row in table.rows)]
    if len(used) != 1 and not table.problems:
        table.refuse(1, "", f"has {len(used)} columns of values", "partition, and one of lag and share")
    found: dict[int, float] = {}
    for line, row in table.rows if not table.problems else ():
        number = table.cell(line, row, "partition", read_count)
        value = table.cell(line, row, used[0], read_share if used[0] == "share" else read_number)
        if number is not None and value is not None:
            if number in found:
                table.refuse(line, "partition", f"{number} stands there twice", "one row for each partition")
            found[number] = value
    total = sum(found.values())
    if not total and not table.problems:
        table.refuse(1, "", "shows no lag at all", "a table from the incident, with some lag")
    spread = tuple(found[number] / total for number in sorted(found)) if total else ()
    return Attachment(Shares(spread), table.digest), table.problems


def _truth(text: str) -> bool:
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False, "": False}
    if text.lower() not in words:
        raise UnitError(f"{text!r} is not a truth value", "true or false")
    return words[text.lower()]


def read_impacts(path: Path, zone: ZoneInfo | None) -> tuple[Attachment, list[Problem]]:
    """Read impact windows: ``service, start, end, start_is_lower_bound, note, impact``, in the order of the file."""
    table = _open(path, ("service", "start", "end"), ("start_is_lower_bound", "note", "impact"), zone)
    windows = []
    for line, row in table.rows:
        start, end = table.instant(line, row, "start"), table.instant(line, row, "end")
        bound = table.cell(line, row, "start_is_lower_bound", _truth)
        if not row["service"]:
            table.refuse(line, "service", "is empty", "a name")
        if start is None or end is None:
            continue
        if end < start:
            table.refuse(line, "end", f"{row['end']} is before start, {row['start']}", "a later time")
            continue
        windows.append(ImpactWindow(row["service"], start, end, bool(bound), row["note"], row["impact"]))
    return Attachment(tuple(windows), table.digest), table.problems


_SERIES_COLUMNS = {"rate_per_min": 1.0, "rate_per_s": 60.0, "rate_per_h": 1 / 60, "count": None}


def read_series(path: Path, zone: ZoneInfo | None) -> tuple[Attachment, list[Problem]]:
    """Read an arrival series: ``at`` and one of ``rate_per_min``, ``rate_per_s``, ``rate_per_h`` or ``count``.

    Each value holds from its time until the next. A count belongs to the period that begins at its time; the
    period is the spacing of the rows, which must then be even. Gaps of more than three periods are refused.
    """
    table = _open(path, ("at",), tuple(_SERIES_COLUMNS), zone)
    used = [name for name in _SERIES_COLUMNS if any(row[name] for _, row in table.rows)]
    if len(used) != 1 and table.rows:
        table.refuse(1, "", f"has {len(used)} columns of values", f"exactly one of {', '.join(_SERIES_COLUMNS)}")
    if table.problems or not used:
        return Attachment(None, table.digest), table.problems
    name = used[0]
    points = _points(table, name, read_number)
    if table.problems:
        return Attachment(None, table.digest), table.problems
    return Attachment(_series(table, points, _SERIES_COLUMNS[name]), table.digest), table.problems


def _series(table: _Table, points: dict[datetime, tuple[int, float]], factor: float | None) -> ArrivalSeries | None:
    times = sorted(points)
    if len(times) < 2:
        table.refuse(points[times[0]][0], "at", "is the only row", "at least two rows")
        return None
    steps = [(b - a).total_seconds() / 60 for a, b in pairwise(times)]
    step = median(steps)
    for at, following, length in zip(times, times[1:], steps, strict=False):
        if length > 3 * step:
            table.refuse(
                points[following][0], "at", f"comes {length:g} min after the row before it ({at.isoformat()}): a gap",
                f"rows about every {step:g} min; fill the gap or cut the file",
            )  # fmt: skip
        elif factor is None and abs(length - step) > 1e-6:
            table.refuse(
                points[following][0], "at", f"comes {length:g} min after the row before it, the others {step:g} min",
                "evenly spaced rows for counts, or a rate column",
            )  # fmt: skip
    return ArrivalSeries(
        tuple(times), tuple(points[at][1] * (1 / step if factor is None else factor) for at in times), step
    )
