"""Every measure of a line in words: without and with the change, and P10 to P90 of the difference over the draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from afterload.plan.change import PlanItem
from afterload.plan.worth import CASES, Difference, Worth
from afterload.units import format_count, format_minutes, format_rate, format_share

__all__ = [
    "COLUMNS",
    "HARMS",
    "NAMES",
    "NEVER",
    "WITHOUT_END",
    "MeasureLines",
    "endless",
    "measure_lines",
    "still_words",
    "written",
]

# As people read them, in the order of the measures of a worth, with how a value is written.
NAMES: Mapping[str, tuple[str, Callable[[float], str]]] = {
    "fresh_min": ("first-attempt age at baseline after", format_minutes),
    "empty_min": ("backlog empty after", format_minutes),
    "lost": ("items expired, lost or discarded", format_count),
    "failed_direct": ("direct requests failed or held back", format_count),
    "peak_attempts_per_min": ("peak attempts", format_rate),
    "collapsed_min": ("dependency down for", format_minutes),
    "lowest_share": ("lowest capacity, of what is needed", format_share),
}
# Measures that are how long a harm lasts: of these infinite minutes are no "never", which reads as "not at all".
HARMS = frozenset({"collapsed_min"})
NEVER, WITHOUT_END = "never", "without end"
COLUMNS = ("measure", "alone", "in its place", "left out of the whole plan")
# Differences below this share of a value are those of rounding.
ROUNDING = 1e-6


@dataclass(frozen=True)
class MeasureLines:
    """The measures of one line.

    Attributes:
        rows: those that it moves, as cells of :data:`COLUMNS`; each cell "344 min to 30 min (314 min less)".
        still: names of those that it moves in no draw, in no starting state.
    """

    rows: tuple[tuple[str, ...], ...]
    still: tuple[str, ...]


def measure_lines(item: PlanItem) -> MeasureLines:
    """The measures of a line whose worth was computed; none for other lines.

    The second starting state has rows of its own only for what differs from the first. A cell of ``left out`` is the whole
    plan without and with the line.
    """
    if item.worths is None:
        return MeasureLines((), ())
    rows, moved = [], set()
    for place, case in enumerate(CASES):
        for name, (words, write) in NAMES.items():
            parts = _parts(item.worths[case], name)
            if not any(_moves(part) for part in parts):
                continue
            moved.add(name)
            if place and parts == _parts(item.worths[CASES[0]], name):
                continue
            where = f", {case}" if place else ""
            rows.append((f"{words}{where}", *(_cell(part, write, endless(name)) for part in parts)))
    return MeasureLines(tuple(rows), tuple(words for name, (words, _) in NAMES.items() if name not in moved))


def still_words(lines: MeasureLines) -> str:
    """What stays as it is, in words: "Moves no measure of the recovery, in any draw."."""
    if not lines.rows:
        return "Moves no measure of the recovery, in any draw."
    return f"Not moved in any draw: {'; '.join(lines.still)}." if lines.still else "Every measure moves."


def _parts(worth: Worth, name: str) -> tuple[Difference, Difference, Difference]:
    return worth.alone[name], worth.cumulative[name], worth.left_out[name]


def _is_zero(value: float | None, item: Difference) -> bool:
    return value is not None and abs(value) <= ROUNDING * max(1.0, abs(item.before or 0.0), abs(item.after or 0.0))


def _moves(item: Difference) -> bool:
    return not all(_is_zero(value, item) for value in (item.bought, item.p10, item.p90))


def endless(name: str) -> str:
    """The word for infinite minutes of a measure."""
    return WITHOUT_END if name in HARMS else NEVER


def written(name: str, value: float | None) -> str:
    """A value of a measure as people read it."""
    return endless(name) if value is None else NAMES[name][1](value)


def _cell(item: Difference, write: Callable[[float], str], infinite: str) -> str:
    before, after = (infinite if value is None else write(value) for value in (item.before, item.after))
    if not _moves(item):
        return f"stays {before}"
    if item.ended or item.endless:
        return f"{before} to {after}"
    return f"{before} to {after} ({_range(item, write, infinite)})"


def _range(item: Difference, write: Callable[[float], str], infinite: str) -> str:
    if item.p10 is None or item.p90 is None:
        return f"{infinite} in some draws"
    low, high = (_signed(value, item, write) for value in (item.p10, item.p90))
    if low == high:
        return low
    if item.p10 >= 0 or item.p90 <= 0:
        near, far = sorted((abs(item.p10), abs(item.p90)))
        return f"{write(near)} to {write(far)} {'less' if item.p90 > 0 else 'more'}"
    return f"{low} to {high}"


def _signed(value: float, item: Difference, write: Callable[[float], str]) -> str:
    if _is_zero(value, item):
        return "no change"
    return f"{write(abs(value))} {'less' if value > 0 else 'more'}"
