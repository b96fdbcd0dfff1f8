"""Every measure of a line in words: without and with the change, and P10 to P90 of the difference over the draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from afterload.plan.change import PlanItem
from afterload.plan.worth import CASES, HOLDS, OF_PART, RATES, ROUNDING, WHOLE, Difference, Worth
from afterload.units import format_count, format_minutes, format_rate, format_share

__all__ = [
    "COLUMNS",
    "HARMS",
    "NAMES",
    "NEVER",
    "WITHOUT_END",
    "MeasureLines",
    "amount",
    "before_and_after",
    "endless",
    "measure_lines",
    "part_name",
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
    first = item.worths[CASES[0]]
    for place, case in enumerate(CASES):
        for name, (words, _) in NAMES.items():
            worth = item.worths[case]
            told = {
                part: each
                for part, each in {**worth.where(name, item.target), WHOLE: worth}.items()
                if _moved(each, name)
            }
            for part, each in told.items():
                moved.add(name)
                before = first if part == WHOLE else first.parts.get(part)
                if place and before is not None and _ways(each, name) == _ways(before, name):
                    continue
                whose = part_name(part) or (f"all {OF_PART[name]}" if len(told) > 1 else "")
                where = f"{f', {case}' if place else ''}{f' ({whose})' if whose else ''}"
                rows.append((f"{words}{where}", *(_cell(way, name) for way in each.ways)))
    return MeasureLines(tuple(rows), tuple(words for name, (words, _) in NAMES.items() if name not in moved))


def _moved(worth: Worth, name: str) -> bool:
    return any(_moves(way, name) for way in worth.ways)


def _moves(way: Mapping[str, Difference], name: str) -> bool:
    return way[name].moves or (name in RATES and way[RATES[name]].moves)


def _ways(worth: Worth, name: str) -> list[tuple[Difference, Difference]]:
    return [(way[name], way[RATES.get(name, name)]) for way in worth.ways]


def still_words(lines: MeasureLines) -> str:
    """What stays as it is, in words: "Moves no measure of the recovery, in any draw."."""
    if not lines.rows:
        return "Moves no measure of the recovery, in any draw."
    return f"Not moved in any draw: {'; '.join(lines.still)}." if lines.still else "Every measure moves."


def part_name(part: str) -> str:
    """The name of a part as its team calls it: ``orders`` of ``queues.orders``."""
    return part.partition(".")[2]


def endless(name: str) -> str:
    """The word for infinite minutes of a measure."""
    return WITHOUT_END if name in HARMS else NEVER


def written(name: str, value: float | None) -> str:
    """A value of a measure as people read it."""
    return endless(name) if value is None else NAMES[name][1](value)


def amount(name: str, values: Callable[[str], float | None]) -> str:
    """A measure as people read it, given the values of all; a count without an end as a rate.

    Such as "7,200/min from 5 min after the restore on".
    """
    value = values(name)
    if value is not None or name not in RATES:
        return written(name, value)
    since = values(HOLDS)
    when = f"{format_minutes(since)} after the restore" if since else "the restore"
    return f"{format_rate(values(RATES[name]) or 0.0)} from {when} on"


def before_and_after(name: str, way: Mapping[str, Difference]) -> tuple[str, str]:
    """The same without and with a change."""
    return amount(name, lambda key: way[key].before), amount(name, lambda key: way[key].after)


def _cell(way: Mapping[str, Difference], name: str) -> str:
    before, after = before_and_after(name, way)
    if not _moves(way, name):
        return f"stays {before}"
    item = way[name]
    if item.ended or item.endless:
        return f"{before} to {after}"
    # Of two counts without an end the rates differ.
    rate = name in RATES and item.before is None
    write = format_rate if rate else NAMES[name][1]
    return f"{before} to {after} ({_range(way[RATES[name]] if rate else item, write, endless(name))})"


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
    if abs(value) <= ROUNDING * max(1.0, abs(item.before or 0.0), abs(item.after or 0.0)):
        return "no change"
    return f"{write(abs(value))} {'less' if value > 0 else 'more'}"
