"""Metrics as CSV: wide (a column for each series) or long (names and labels in columns), from any tool.

Rows are read in parts by pandas' C reader, so that a file of a million rows costs little memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from afterload.errors import InputError
from afterload.model.curves import FloatArray
from afterload.readers.csv_layout import Column, Layout, layout_of, selector, too_many_cells
from afterload.readers.metric_times import ACCEPTED, TimeReader
from afterload.readers.numbers import EMPTY, NUMBER, ODD, Decimal, NumberReader
from afterload.readers.reading import Remark
from afterload.readers.series import Points, statistic_of
from afterload.readers.source import SourceFile

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_csv_metrics"]

ROWS_AT_ONCE = 100_000
MOST_SERIES = 5_000
Kind = Literal["refused", "partial", "doubt", "ask"]
Say = Callable[[Kind, str, int], None]
_NOT_LABELS = frozenset({"period", "full label", "label", "id"})
_UNIT_NAMES, _STATISTIC_NAMES = (
    frozenset({"unit", "units"}),
    frozenset({"stat", "statistic", "statistics", "aggregation"}),
)


class _Text:
    """A part of a long text as a file, without a copy of it."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text, self.at, self.end = text, start, end

    def read(self, size: int = -1) -> str:
        """The next characters."""
        stop = self.end if size is None or size < 0 else min(self.end, self.at + size)
        part = self.text[self.at : stop]
        self.at = stop
        return part

    def __iter__(self) -> Iterator[str]:
        return iter(self.read, "")


@dataclass
class _Cells:
    """All rows of a file as arrays, part by part: time, which labels, and each value column with its states.

    A row that is blank, or the header again, has ``used`` False; a time that was not read is NaN.
    """

    used: list[npt.NDArray[np.bool_]] = field(default_factory=list)
    times: list[FloatArray] = field(default_factory=list)
    groups: list[npt.NDArray[np.int32]] = field(default_factory=list)
    values: list[list[FloatArray]] = field(default_factory=list)
    states: list[list[npt.NDArray[np.uint8]]] = field(default_factory=list)
    names: dict[tuple[str, ...], int] = field(default_factory=dict)
    odd: dict[int, tuple[int, int, str]] = field(default_factory=dict)


def read_csv_metrics(
    source: SourceFile, times: TimeReader, remarks: list[Remark], decimal: Decimal | None = None
) -> list[Points]:
    """The points of a CSV file, series by series.

    Raises:
        InputError: the file is no table of times and numbers, a row has too many cells, times need a zone that was not
            given, or numbers are written in two ways.
    """
    layout = layout_of(source)

    def say(kind: Kind, text: str, row: int) -> None:
        remarks.append(Remark(kind, text, source.name, row))

    for line in layout.ignored:
        say("doubt", f"the line {line[:80]!r} above the header was not read", 0)
    end = _whole_rows(source.text, layout.starts_at)
    numbers = NumberReader(decimal, points_are_sure=layout.separator == ",")
    cells = _Cells(values=[[] for _ in layout.values], states=[[] for _ in layout.values])
    row = layout.first_row
    for part in _parts(source, layout, end):
        row = _take(part, row, layout, cells, times, numbers, source.name)
    if end < len(source.text):
        say(
            "partial",
            f"row {row} is the last and has no line end, as in a file that was cut off (some tools also leave it out): it was "
            "not read",
            row,
        )
    if not any(used.any() for used in cells.used):
        raise InputError(f"{source.name}: has no whole row below its header")
    _decide(numbers, say, source.name)
    _tell(times, cells, layout, say)
    return _points(layout, cells)


def _whole_rows(text: str, start: int) -> int:
    """Where the last row that has a line end ends."""
    return max(text.rfind("\n"), text.rfind("\r"), start - 1) + 1


def _parts(source: SourceFile, layout: Layout, end: int) -> Iterator[pd.DataFrame]:
    import pandas as pd

    if end <= layout.starts_at:
        return
    # One column more than there should be: a row with a cell too many shows itself there.
    names = [str(place) for place in range(layout.width + 1)]
    try:
        yield from pd.read_csv(
            _Text(source.text, layout.starts_at, end),  # type: ignore[call-overload]
            sep=layout.separator,
            header=None,
            names=names,
            index_col=False,
            dtype=object,
            na_filter=False,
            skip_blank_lines=False,
            engine="c",
            chunksize=ROWS_AT_ONCE,
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as problem:
        raise InputError(f"{source.name}: {_parser_words(str(problem), layout)}") from None


def _parser_words(problem: str, layout: Layout) -> str:
    too_many = re.search(r"in line ([0-9]+), saw", problem)
    if too_many:
        return too_many_cells(int(too_many[1]) + layout.first_row - 1, layout.width)
    unclosed = re.search(r"inside string starting at row ([0-9]+)", problem)
    if unclosed:
        return f"row {int(unclosed[1]) + layout.first_row} opens a quote that is not closed: export it again if it is cut off"
    return f"is not a whole CSV file: {problem.strip()[:200]}"


def _take(
    part: pd.DataFrame, row: int, layout: Layout, cells: _Cells, times: TimeReader, numbers: NumberReader, file: str
) -> int:
    """Add the rows of a part, of which the first has a row number; the number after its last."""
    columns = [part[str(place)].to_numpy(dtype=object) for place in range(layout.width + 1)]
    extra = np.flatnonzero(columns.pop() != "")
    if len(extra):
        raise InputError(f"{file} {too_many_cells(row + int(extra[0]), layout.width)}")
    stamps = columns[layout.time.place]
    blank = stamps == ""
    if blank.any():
        for cell in columns:
            blank = blank & (cell == "")
    # Where files were put after each other the header comes again.
    used = ~blank & (stamps != layout.header[layout.time.place])
    if not used.all():
        stamps = stamps.copy()
        stamps[~used] = None
    cells.used.append(used)
    cells.times.append(times.read(stamps, row))
    cells.groups.append(_groups(columns, layout, cells, file))
    for place, column in enumerate(layout.values):
        texts = columns[column.place]
        values, states = numbers.read(texts)
        odd = np.flatnonzero((states == ODD) & used)
        if len(odd):
            count, first, text = cells.odd.get(place, (0, row + int(odd[0]), str(texts[odd[0]])))
            cells.odd[place] = (count + len(odd), first, text)
        cells.values[place].append(values)
        cells.states[place].append(states)
    return row + len(part)


def _groups(columns: list[npt.NDArray[np.object_]], layout: Layout, cells: _Cells, file: str) -> npt.NDArray[np.int32]:
    """For each row of a part, the number of its labels among all labels of the file."""
    import pandas as pd

    if not layout.labels:
        cells.names.setdefault((), 0)
        return np.zeros(len(columns[0]), dtype=np.int32)
    combined = np.zeros(len(columns[0]), dtype=np.int64)
    for column in layout.labels:
        codes, found = pd.factorize(columns[column.place])
        combined = combined * len(found) + codes
        # Numbered anew after each column, so that the product stays small.
        combined = pd.factorize(combined)[0].astype(np.int64)
    firsts = np.unique(combined, return_index=True)[1]
    numbers = np.empty(len(firsts), dtype=np.int32)
    for number, first in enumerate(firsts):
        labels = tuple(str(columns[column.place][first]).strip() for column in layout.labels)
        numbers[number] = cells.names.setdefault(labels, len(cells.names))
    if len(cells.names) * len(layout.values) > MOST_SERIES:
        seen = [len({labels[place] for labels in cells.names}) for place in range(len(layout.labels))]
        worst = layout.labels[int(np.argmax(seen))].name
        raise InputError(
            f"{file}: would make more than {MOST_SERIES:,} series, because column {worst!r} has {max(seen):,} different values: "
            "leave out columns that are no names of a metric"
        )
    return numbers[combined]


def _decide(numbers: NumberReader, say: Say, file: str) -> None:
    sign = numbers.finish()
    if numbers.conflict:
        raise InputError(
            f"{file}: {numbers.by_comma!r} has a decimal comma and {numbers.by_point!r} a decimal point: write all numbers "
            "one way"
        )
    if numbers.decimal is not None:
        return
    if sign is None and numbers.unclear_count:
        say(
            "ask",
            f"{numbers.unclear!r} can be {numbers.unclear_as('.')} or {numbers.unclear_as(',')}: {numbers.unclear_count:,} such "
            "values were left out; say which decimal sign the file has",
            0,
        )
    elif sign == ",":
        say("doubt", f"numbers were read with a decimal comma, as {numbers.by_comma!r} shows", 0)
    elif numbers.unclear_count:
        say(
            "doubt",
            f"{numbers.unclear!r} was read as {numbers.unclear_as('.')}, since {numbers.by_point!r} has a point",
            0,
        )


def _tell(times: TimeReader, cells: _Cells, layout: Layout, say: Say) -> None:
    if times.refused_count:
        row, text, reason = times.refused[0]
        say(
            "refused",
            f"the time {text[:40]!r} {reason}; {_rows(times.refused_count)} for that; accepted: {ACCEPTED}",
            row,
        )
    if times.twice_count:
        row, text = times.twice[0]
        say(
            "ask",
            f"the time {text!r} occurs twice in {times.zone}, when its clocks go back; {_rows(times.twice_count)}: "
            "export in UTC or with offsets, which tell the two apart",
            row,
        )
    for place, (count, row, text) in sorted(cells.odd.items()):
        name = layout.values[place].name
        say("refused", f"{text[:40]!r} in column {name!r} is not a number; {count:,} values there were left out", row)


def _rows(count: int) -> str:
    return "1 row was left out" if count == 1 else f"{count:,} rows were left out"


def _points(layout: Layout, cells: _Cells) -> list[Points]:
    used, times, groups = (np.concatenate(part) for part in (cells.used, cells.times, cells.groups))
    order = np.argsort(groups, kind="stable")
    bounds = np.searchsorted(groups[order], np.arange(len(cells.names) + 1))
    found = []
    for place, column in enumerate(layout.values):
        values, states = np.concatenate(cells.values[place]), np.concatenate(cells.states[place])
        for labels, number in cells.names.items():
            rows = order[bounds[number] : bounds[number + 1]]
            rows = rows[used[rows]]
            here = rows[states[rows] != EMPTY]
            if not len(rows):
                continue
            good = here[(states[here] == NUMBER) & ~np.isnan(times[here])]
            points = _named(layout, column, labels)
            points.dropped = len(here) - len(good)
            points.grid = times[rows][~np.isnan(times[rows])]
            points.add(times[good], values[good])
            found.append(points)
    return found


def _named(layout: Layout, column: Column, values: tuple[str, ...]) -> Points:
    """A series without points, named by its heading or by its labels."""
    labels = {label.name: value for label, value in zip(layout.labels, values, strict=True) if value}
    naming = layout.name_column
    heading = column.name
    if naming is not None and len(layout.values) == 1:
        heading = labels.pop(naming.name, "")
    name, more = selector(heading)
    labels |= more | {key: value for key, value in column.notes.items() if key not in _NOT_LABELS}
    notes = {key.lower(): value for key, value in {**labels, **column.notes}.items()}
    statistic = next((notes[key] for key in _STATISTIC_NAMES if key in notes), name.replace("_", " "))
    unit = next((notes[key] for key in _UNIT_NAMES if key in notes), None)
    labels = {key: value for key, value in labels.items() if key.lower() not in _STATISTIC_NAMES | _UNIT_NAMES}
    which = ", ".join(value for value in values if value)
    place = f"column {column.place + 1}, {column.name!r}" + (f" for {which}" if which else "")
    return Points(name, place, labels, statistic_of(statistic), unit)
