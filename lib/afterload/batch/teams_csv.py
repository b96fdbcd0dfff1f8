"""A table with one team a row over a base scenario: columns are paths as ``--set`` takes them, and ``team``.

Read as spreadsheets save it: a byte order mark, semicolons or tabs, any line ends, quotes, a line ``sep=;``. An empty cell
leaves the base's value. A row that cannot be used is a problem of that row; a table that cannot is one of the whole.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

from afterload.errors import InputError
from afterload.reads import decoded, note_read, read_given

__all__ = ["Row", "TeamsTable", "read_teams"]

MAX_BYTES = 20_000_000
TEAM = "team"
# A comma that parts no thousands: 1,5 or 0,25/min or 1.200,5.
_DECIMAL_COMMA = re.compile(r"[0-9][0-9.]*,(?![0-9]{3}(?![0-9]))[0-9]+(?![0-9,])")


@dataclass(frozen=True)
class Row:
    """One team's row; ``problem`` says why it cannot be used, and then ``cells`` has what could be read of it."""

    line: int
    team: str
    cells: tuple[tuple[str, str], ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class TeamsTable:
    """The table's columns, without ``team``, and its rows.

    ``european`` tells of semicolons between the cells, or of decimal commas in them: then ``1.200`` and ``1,200`` may each
    be a thousand and more, or less than two.
    """

    name: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    header_line: int = 1
    european: bool = False


def read_teams(path: str | Path) -> TeamsTable:
    """Read the table.

    Raises :class:`NotFoundError` where there is no such file and :class:`InputError`, with file and line, where it is no
    text or no CSV, has no column ``team``, names a column twice or not at all, or holds no row.
    """
    name = str(path)
    delimiter = _delimiter(text := _text(Path(path), name))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[Row] = []
    header: list[str] = []
    header_line = before = 0
    try:
        for cells in reader:
            line, before = before + 1, reader.line_num
            stripped = [cell.strip() for cell in cells]
            if not any(stripped) or (not header and stripped[0].lower().startswith("sep=")):
                continue
            if not header:
                header, header_line = _header(stripped, f"{name} line {line}"), line
                continue
            rows.append(_row(header, stripped, line, name))
    except csv.Error as problem:
        raise InputError(
            f"{name} line {before + 1}: is not CSV: {problem}; a quote in a cell is written twice, and a cell with one "
            "stands in quotes"
        ) from None
    if not header:
        raise InputError(
            f"{name} line 1: is empty; accepted: a header with team and paths such as queues.orders.arrival_rate"
        )
    if not rows:
        raise InputError(f"{name} line {header_line}: has no rows below its header; accepted: one row a team")
    columns = tuple(column for column in header if column != TEAM)
    european = delimiter == ";" or any(_DECIMAL_COMMA.match(cell) for row in rows for _, cell in row.cells)
    return TeamsTable(name, columns, tuple(rows), header_line, european)


def _text(path: Path, name: str) -> str:
    raw = read_given(name, MAX_BYTES)
    note_read(path, raw)
    if len(raw) > MAX_BYTES:
        raise InputError(f"{name}: is larger than {MAX_BYTES:,} bytes")
    return decoded(raw, lambda line: f"{name} line {line}", ": save it as CSV UTF-8")


def _delimiter(text: str) -> str:
    """What parts the cells: of the first line that is not empty, as the line ``sep=`` says or as occurs most."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    if first.strip().lower().startswith("sep=") and len(first.strip()) == 5:
        return first.strip()[4]
    return max((",", ";", "\t"), key=first.count)


def _header(cells: list[str], place: str) -> list[str]:
    while cells and not cells[-1]:
        cells.pop()
    if TEAM not in cells:
        shown = ", ".join(cells[:8]) + (", ..." if len(cells) > 8 else "")
        raise InputError(f"{place}: has no column team; its header is {shown}")
    for number, cell in enumerate(cells, start=1):
        if not cell:
            raise InputError(f"{place}: column {number} has no name; accepted: the path of a value, or no such column")
        if cells.index(cell) != number - 1:
            raise InputError(f"{place}: names the column {cell} twice (columns {cells.index(cell) + 1} and {number})")
    return cells


def _row(header: list[str], cells: list[str], line: int, name: str) -> Row:
    while len(cells) > len(header) and not cells[-1]:
        cells.pop()
    team = cells[header.index(TEAM)] if header.index(TEAM) < len(cells) else ""
    if len(cells) != len(header):
        fault = f"has {len(cells)} cells where the header has {len(header)}; quotes go around text with the delimiter"
        return Row(line, team, problem=f"{name} line {line}: {fault}")
    if not team:
        return Row(line, "", problem=f"{name} line {line} column team: is empty; accepted: the team's name")
    given = [(column, cell) for column, cell in zip(header, cells, strict=True) if column != TEAM and cell]
    return Row(line, team, tuple(given))
