"""How a CSV file of metrics is laid out: separator, header rows, which column is the time, which hold values or labels."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from afterload.errors import InputError, UnsupportedError
from afterload.readers.metric_times import ACCEPTED, looks_like_time
from afterload.readers.numbers import NOTHING, looks_like_number
from afterload.readers.source import SourceFile

__all__ = ["Column", "Layout", "layout_of", "selector", "too_many_cells"]

# Separators, the less likely within a text first: where two fit equally well the earlier is taken.
_SEPARATORS = ("\t", ";", "|", ",")
_HEAD_CHARS, _HEAD_ROWS, _MOST_HEADER_ROWS = 300_000, 400, 25
_TIME_NAMES = frozenset(
    "time timestamp date datetime at ts _time @timestamp timestamps date/time start starttime period".split()
)
_VALUE_NAMES = frozenset({"value", "_value", "val", "values"})
_NAME_NAMES = frozenset(
    "name metric metric_name metricname series __name__ label measurement _field _measurement id".split()
)
# First cells of the rows that the CloudWatch console puts above the points, in the order in which they name a series.
_NAMING_ROWS = ("label", "full label", "metric", "metricname", "metric name", "id")
_SELECTOR = re.compile(r"(?P<name>[A-Za-z_:][\w:.]*)?\s*\{(?P<labels>.*)\}\s*", re.DOTALL)
_LABEL = re.compile(r'\s*(?P<name>[A-Za-z_][\w.]*)\s*=\s*"(?P<value>(?:[^"\\]|\\.)*)"\s*(?:,|$)')


@dataclass(frozen=True)
class Column:
    """One column: its place from 0, its heading, and what the header rows say of it beside its name."""

    place: int
    name: str
    notes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Layout:
    """Where things stand in a file.

    Attributes:
        separator: between cells.
        width: cells in a row.
        starts_at: character of the text at which the first row of points begins.
        first_row: its row number, from 1; blank lines and header rows count.
        time: the time column.
        labels: columns of names and labels; none for a wide file.
        values: columns of numbers.
        header: cells of the last header row, to know it when it comes again.
        ignored: header rows whose meaning is not known.
    """

    separator: str
    width: int
    starts_at: int
    first_row: int
    time: Column
    labels: tuple[Column, ...]
    values: tuple[Column, ...]
    header: tuple[str, ...]
    ignored: tuple[str, ...] = ()

    @property
    def name_column(self) -> Column | None:
        """The label column that names the metric."""
        return next((column for column in self.labels if column.name.lower() in _NAME_NAMES), None)


def selector(text: str) -> tuple[str, dict[str, str]]:
    """Name and labels of a heading such as ``up{job="x"}`` or ``{__name__="up", job="x"}``; else the text and no labels."""
    match = _SELECTOR.fullmatch(text.strip())
    if match is None:
        return text.strip(), {}
    labels: dict[str, str] = {}
    rest, at = match["labels"], 0
    while at < len(rest):
        found = _LABEL.match(rest, at)
        if found is None:
            return text.strip(), {}
        labels[found["name"]] = re.sub(r"\\(.)", r"\1", found["value"])
        at = found.end()
    return match["name"] or labels.pop("__name__", ""), labels


def layout_of(source: SourceFile) -> Layout:
    """Find the layout of a CSV file of metrics.

    Raises:
        InputError: no separator splits it, or it has no header or no column of times.
    """
    text = source.text
    begin, forced = 0, ""
    first_line = text[: text.find("\n") + 1 or len(text)].strip()
    if re.fullmatch(r'"?sep=(.|\\t)"?', first_line):
        begin = text.find("\n") + 1 or len(text)
        forced = first_line.strip('"')[4:].replace("\\t", "\t")
    head = text[begin : begin + _HEAD_CHARS]
    whole = begin + _HEAD_CHARS >= len(text)
    options = [(separator, _rows(head, separator, whole)) for separator in ([forced] if forced else _SEPARATORS)]
    skipped = 1 if begin else 0
    best: tuple[float, str, list[tuple[int, int, list[str]]], int] | None = None
    for separator, rows in options:
        at = _first_point(rows)
        if at is None:
            continue
        width = len(rows[at][2])
        share = sum(len(cells) == width for _, _, cells in rows[at:]) / len(rows[at:])
        if width >= 2 and (best is None or share > best[0] + 1e-9):
            best = (share, separator, rows, at)
    if best is None:
        raise _why_not(source, options, skipped)
    _, separator, rows, at = best
    if at == 0:
        raise InputError(
            f"{source.name} row {skipped + 1}: has no header: name the columns in the first row, such as time,orders_sent"
        )
    offset, row, _ = rows[at]
    sample = [(number + skipped, cells) for _, number, cells in rows[at : at + _HEAD_ROWS]]
    return _columns(source, separator, [cells for _, _, cells in rows[:at]], sample, begin + offset, row + skipped)


def too_many_cells(row: int, width: int) -> str:
    """What is wrong with a row that is longer than the others."""
    return f"row {row} has more than {width} cells: put quotes around text with separators"


def _rows(head: str, separator: str, whole: bool) -> list[tuple[int, int, list[str]]]:
    """Rows of the head of a file that are not blank, each with its character and its row number from 1."""
    found: list[tuple[int, int, list[str]]] = []
    used = 0

    def feed() -> Iterator[str]:
        nonlocal used
        for line in io.StringIO(head, newline=""):
            used += len(line)
            yield line

    reader = csv.reader(feed(), delimiter=separator)
    row = 0
    try:
        while len(found) < _HEAD_ROWS + _MOST_HEADER_ROWS:
            begins = used
            row += 1
            cells = [cell.strip() for cell in next(reader)]
            if any(cells):
                found.append((begins, row, cells))
    except (StopIteration, csv.Error):
        # The last row of a part of a file may be cut by the part.
        return found if whole or len(found) < 2 else found[:-1]
    return found


def _first_point(rows: list[tuple[int, int, list[str]]]) -> int | None:
    """The first row with a time in it."""
    for place, (_, _, cells) in enumerate(rows[: _MOST_HEADER_ROWS + 1]):
        if any(looks_like_time(cell) for cell in cells):
            return place
    return None


def _why_not(
    source: SourceFile, options: list[tuple[str, list[tuple[int, int, list[str]]]]], skipped: int
) -> InputError:
    _, rows = max(options, key=lambda item: len(item[1][0][2]) if item[1] else 0)
    if not rows:
        return InputError(f"{source.name}: is empty")
    header = rows[0][2]
    if len(header) < 2:
        return UnsupportedError(source.name, f"text that no comma, semicolon, tab or bar splits, as {header[0][:60]!r}")
    shown = ", ".join(header)[:100]
    place = next((place for place, name in enumerate(header) if name.lower() in _TIME_NAMES), None)
    if place is not None and len(rows) > 1 and place < len(rows[1][2]):
        cell = rows[1][2][place]
        return InputError(
            f"{source.name} row {rows[1][1] + skipped}: {cell[:40]!r} in column {header[place]!r} is not a time that can be read "
            f"one way only; accepted: {ACCEPTED}"
        )
    if len(rows) == 1:
        return InputError(f"{source.name}: has a header ({shown}) and no rows")
    return UnsupportedError(source.name, f"CSV without a column of times; its first row is {shown}")


def _columns(
    source: SourceFile,
    separator: str,
    headers: list[list[str]],
    rows: list[tuple[int, list[str]]],
    starts_at: int,
    first_row: int,
) -> Layout:
    usual = Counter(len(cells) for _, cells in rows).most_common(1)[0][0]
    width = max(usual, len(headers[-1]))
    for row, cells in rows:
        if any(cells[width:]) or len(cells) > width + 1:
            raise InputError(f"{source.name} {too_many_cells(row, width)}")
    padded = [(cells + [""] * (width - len(cells)))[:width] for _, cells in rows]
    names, notes, ignored = _headings(headers, width)
    times = [place for place in range(width) if _share(padded, place, looks_like_time) > 0.5]
    by_name = [place for place in times if names[place].lower() in _TIME_NAMES]
    if not times:
        raise InputError(f"{source.name}: no column holds times in most of its rows; accepted: {ACCEPTED}")
    time = (by_name or times)[0]
    others = [place for place in range(width) if place != time and (names[place] or _share(padded, place, bool) > 0)]
    numeric = [place for place in others if _share(padded, place, looks_like_number) >= 0.5]
    words = [place for place in others if place not in numeric]
    named = [place for place in numeric if names[place].lower() in _VALUE_NAMES]
    if named and len(named) < len(others) and (words or any(names[p].lower() in _NAME_NAMES for p in others)):
        # Long: what else looks like a number, such as a status code, is a label.
        values = named
    else:
        values = numeric
    if not values:
        column = names[words[0]] if words else names[time]
        cell = next((cells[words[0]] for cells in padded if words and cells[words[0]]), "")
        raise InputError(
            f"{source.name}: no column holds numbers; {column!r} holds {cell[:40]!r}: export raw values without units (in "
            "Grafana's Inspect, Data, switch 'Formatted data' off)"
        )
    made = [Column(place, names[place] or f"column {place + 1}", notes[place]) for place in range(width)]
    labels = tuple(made[place] for place in others if place not in values)
    header = tuple(headers[-1] + [""] * (width - len(headers[-1])))[:width]
    return Layout(
        separator, width, starts_at, first_row, made[time], labels, tuple(made[p] for p in values), header, ignored
    )


def _share(rows: list[list[str]], place: int, test: Callable[[str], object]) -> float:
    """The share of the cells of a column that are not empty for which a test holds."""
    cells = [cells[place] for cells in rows if cells[place].lower() not in NOTHING]
    return (
        sum(bool(test(cell)) for cell in cells) / len(cells) if cells else (1.0 if test is looks_like_number else 0.0)
    )


def _headings(headers: list[list[str]], width: int) -> tuple[list[str], list[dict[str, str]], tuple[str, ...]]:
    """A name for each column, what further header rows say of it, and the header rows that say nothing known."""
    full = [cells + [""] * (width - len(cells)) for cells in headers]
    keyed = {cells[0].lower().rstrip(":"): cells[:width] for cells in full if len(cells) >= width}
    naming = next((key for key in _NAMING_ROWS if key in keyed), None)
    if len(headers) > 1 and naming is not None:
        notes = [
            {key: cells[place] for key, cells in keyed.items() if key and key != naming and cells[place]}
            for place in range(width)
        ]
        return keyed[naming], notes, ()
    ignored = tuple(" ".join(cell for cell in cells if cell) for cells in headers[:-1])
    return full[-1][:width], [{} for _ in range(width)], ignored
