"""CSV timelines with any of the usual delimiters and any reasonable header."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence

from afterload.readers.columns import Columns
from afterload.readers.entries import Entry, Notes, TextFormat
from afterload.readers.source import SourceFile

__all__ = ["FORMAT", "rows", "table_entries"]

DELIMITERS = ",;\t|"
# Titles and notes that spreadsheets have above the header.
MOST_LINES_ABOVE = 10
MAX_CELL = 10_000_000
Meaning = Callable[[Sequence[str]], Columns | None]


def rows(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a text with the line on which each begins. Raises :class:`csv.Error` where the quoting is broken."""
    before = csv.field_size_limit(MAX_CELL)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        line = 0
        for cells in reader:
            yield line + 1, cells
            line = reader.line_num
    finally:
        csv.field_size_limit(before)


def _header(text: str, meaning: Meaning) -> tuple[str, int, list[str], Columns] | None:
    """The delimiter, line and names of the first line that has a meaning, as one that names a time and a text."""
    top = "".join(text.splitlines(keepends=True)[: 4 * MOST_LINES_ABOVE])[:200_000]
    best = None
    for delimiter in DELIMITERS:
        try:
            for count, (line, cells) in enumerate(rows(top, delimiter)):
                columns = meaning(cells) if len(cells) > 1 else None
                if columns is not None and (
                    best is None or (line, -len(columns.roles)) < (best[1], -len(best[3].roles))
                ):
                    best = (delimiter, line, cells, columns)
                if columns is not None or count >= MOST_LINES_ABOVE:
                    break
        except csv.Error:
            continue
    return best


def table_entries(source: SourceFile, notes: Notes, meaning: Meaning = Columns.of) -> list[Entry] | None:
    """The rows below a header; None where no line has the meaning of one."""
    text = source.text.removeprefix("\ufeff")
    found = _header(text, meaning)
    if found is None or re.match(r"\s*\|?[\s:|-]*-[\s:|-]*\|?\s*$", _line(text, found[1] + 1)):
        return None  # the line of dashes makes it a Markdown table
    delimiter, header_line, names, columns = found
    names = [name.strip() for name in names]
    columns = meaning(names) or columns
    if len({name for name in names if name}) != len([name for name in names if name]):
        notes.add("doubt", "names a column twice: the first of them is read", header_line)
    columns.note_unused(notes)
    entries: list[Entry] = []
    line = header_line
    try:
        for line, cells in rows(text, delimiter):
            if line <= header_line or not any(cell.strip() for cell in cells):
                continue
            if len(cells) < len(names) or any(cell.strip() for cell in cells[len(names) :]):
                notes.add(
                    "refused", f"has {len(cells)} cells where the header has {len(names)}: put quotes around text with "
                    f"{delimiter!r}, or complete the row", line, "number of cells",
                )  # fmt: skip
                continue
            row = dict(zip(reversed(names), reversed(cells[: len(names)]), strict=True))
            entries.append(columns.entry(row, line, f"line {line}", series=1))
    except csv.Error as problem:
        notes.add(
            "partial",
            f"is not CSV from here on ({problem}): close the quotes, or export it again if it is cut off",
            line,
        )
    else:
        note_cut(text, notes, line)
    return entries


def note_cut(text: str, notes: Notes, line: int) -> None:
    """Say that a file of lines does not end with the end of a line: nothing else shows that it was cut off."""
    if not text.endswith(("\n", "\r")):
        notes.add("partial", "does not end with a line end: if it was cut off, its last entry is not whole", line)


def _line(text: str, number: int) -> str:
    lines = text.splitlines()[:number]
    return lines[-1] if len(lines) == number else ""


FORMAT = TextFormat("CSV with a header", 20, table_entries)
