"""Times as people write them in timelines: dates in any order, 12-hour clocks, zones, ranges, seconds since 1970.

Reading has two steps, since one time alone may not say enough. :func:`scan` and :func:`read_cell` find what is written,
all its possible dates included; :mod:`afterload.readers.resolve` then settles it by what the whole file shows. Nothing is
guessed: dateutil and pandas would fill a missing year or day from today and drop a zone that they do not know.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from afterload.readers.zones import ABBREVIATIONS, is_offset, named_zone
from afterload.units import MAX_YEAR, MIN_YEAR

__all__ = [
    "DAY_FIRST",
    "MONTH_FIRST",
    "Day",
    "Span",
    "Trouble",
    "Written",
    "date_alone",
    "dates_in",
    "read_cell",
    "scan",
    "shown",
]

DAY_FIRST, MONTH_FIRST, YEAR_FIRST = "day first", "month first", "year first"
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_DAYS = "mon tue wed thu fri sat sun".split()
_OPEN = frozenset("ongoing now present open tbd tbc ? - – — n/a na none null nil unresolved".split())

_MONTH = (
    r"(?P<month>Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_WEEKDAY = (
    r"(?:(?P<weekday>Mon(?:day)?|Tue(?:s(?:day)?)?|Wed(?:nesday)?|Thu(?:rs?(?:day)?)?|Fri(?:day)?|Sat(?:urday)?"
    r"|Sun(?:day)?)\.?,?\s+)?"
)
_DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_WEEKDAY}(?P<year>[0-9]{{4}})(?P<sep>[-/.])(?P<m>[0-9]{{1,2}})(?P=sep)(?P<d>[0-9]{{1,2}})(?![0-9])",
        rf"{_WEEKDAY}(?P<a>[0-9]{{1,2}})(?P<sep>[-/.])(?P<b>[0-9]{{1,2}})(?P=sep)(?P<c>[0-9]{{4}}|[0-9]{{2}})(?![0-9])",
        rf"{_WEEKDAY}(?P<d>[0-9]{{1,2}})(?:st|nd|rd|th|\.)?[\s-]+(?:of\s+)?{_MONTH}"
        r"(?:,?[\s-]+(?P<year>[0-9]{4}|'?[0-9]{2}(?!\s?[:ap]))(?![0-9]))?(?![A-Za-z])",
        rf"{_WEEKDAY}{_MONTH}\s+(?P<d>[0-9]{{1,2}})(?:st|nd|rd|th)?(?!:?[0-9])(?:,?\s+(?P<year>[0-9]{{4}}|'[0-9]{{2}})(?![0-9]))?",
        r"(?P<year>[0-9]{4})(?P<m>[0-9]{2})(?P<d>[0-9]{2})(?=T[0-9])",
    )
)
_NO_YEAR = re.compile(r"(?P<a>[0-9]{1,2})/(?P<b>[0-9]{1,2})(?=,?\s+(?:at\s+)?[0-9]{1,2}:)")
_YEAR = re.compile(r"\s+([0-9]{4})(?![0-9:])")
_GAP = re.compile(r"T(?=[0-9])|\s*,?\s+(?:(?:at|@|-|–)\s+)?", re.IGNORECASE)
_BEFORE_DATE = re.compile(r"\s*,?\s+(?:on\s+|(?P<open>\())?", re.IGNORECASE)
_CLOCK = re.compile(
    r"(?P<h>[0-9]{1,2})(?::(?P<m>[0-9]{2})(?::(?P<s>[0-9]{2})(?:[.,](?P<f>[0-9]{1,9}))?)?)?(?!:?[0-9])"
    r"(?:\s?(?P<half>[ap])\.?m\b\.?)?",
    re.IGNORECASE,
)
_COMPACT_CLOCK = re.compile(r"(?P<h>[0-9]{2})(?P<m>[0-9]{2})(?:(?P<s>[0-9]{2})(?:[.,](?P<f>[0-9]{1,9}))?)?(?!:?[0-9])")
_OFFSET = re.compile(
    r"\s?\(?(?P<zone>(?:UTC|GMT)\s?[+\-\u2212][0-9]{1,2}(?::?[0-9]{2})?(?!:?[0-9])|(?:UTC|GMT|UT|Z)(?![A-Za-z0-9])"
    r"|[+\-\u2212][0-9]{2}(?::?[0-9]{2})?(?!:?[0-9]))\)?",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"\s?(?P<open>[(\[]?)(?P<zone>[A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z0-9_+\-]*)+|[A-Z][A-Za-z]{1,4}(?![\w/]))[)\]]?"
)
_PLACE = re.compile(r"\[(?P<zone>[A-Za-z0-9_+\-/]+)\]")
_LEAD = re.compile(
    r"(?P<about>~|≈|∼|approx(?:imately|\.)?\s|about\s|around\s|ca?\.\s?|circa\s)|(?:from|between|since|at)\s",
    re.IGNORECASE,
)
_RANGE = re.compile(
    r"\s*(?:–|—|‒|\u2212|→|->|=>|\.{2,3}|…)\s*|\s+(?:-{1,2}|to|until|till|through|and)\s+|\s*-\s*(?=[0-9])|/(?=[0-9]{4}-)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
# Units of a bare number since 1970, as microseconds.
_UNITS = (("seconds", 1_000_000), ("milliseconds", 1_000), ("microseconds", 1), ("nanoseconds", Decimal("0.001")))
_WHOLE_DAY = timedelta(days=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LIKELY = (datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))


@dataclass(frozen=True)
class Trouble:
    """Why something is not in the result: ``refused`` cannot be read, ``ask`` has several readings.

    ``topic`` groups what is alike: a file with a thousand times without a zone asks once.
    """

    kind: str
    topic: str
    text: str


@dataclass(frozen=True)
class Day:
    """One date that a text may mean; without a year where none is written.

    ``order`` says how its numbers were read, ``short`` that its year has two digits.
    """

    year: int | None
    month: int
    day: int
    order: str = ""
    short: bool = False

    def on(self, year: int | None = None) -> date | None:
        """The date, in a year where it has none; None if there is no such day."""
        try:
            return date(self.year or year or 0, self.month, self.day)
        except ValueError:
            return None


@dataclass(frozen=True)
class Written:
    """One time as it stands: every date it may have, its clock, and the zone as written.

    Attributes:
        text: as written.
        days: the dates that it may mean; empty for a clock alone.
        clock: time since midnight, 24:00 included; None for a date alone.
        half: ``a`` or ``p`` where AM or PM stands behind the clock.
        zone: as written; empty where there is none.
        place: the name of a zone in brackets behind an offset, which must agree with it.
        weekday: 0 for Monday; None where none is written.
        instant: for a number since 1970, the instant.
        doubtful: the zone may as well be the end of a range: ``02:25-07:00``.
        about: marked as approximate.
    """

    text: str
    days: tuple[Day, ...] = ()
    clock: timedelta | None = None
    half: str = ""
    zone: str = ""
    place: str = ""
    weekday: int | None = None
    instant: datetime | None = None
    doubtful: bool = False
    about: bool = False


@dataclass(frozen=True)
class Span:
    """A time, and perhaps the time at which it ended; ``is_open``: written as still going on."""

    start: Written
    end: Written | None = None
    is_open: bool = False


def shown(text: object, most: int = 60) -> str:
    """A value in a message: quoted, printable and short."""
    plain = (
        text
        if isinstance(text, str)
        else str(text)
        if not isinstance(text, int)
        else f"{text:.6g}"
        if abs(text) > 1e30
        else str(text)
    )
    return repr(plain if len(plain) <= most else f"{plain[:most]}...")


def scan(text: str) -> tuple[Span, int] | None:
    """The time or range at the beginning of a text, and where it ends; None where no clock stands there."""
    about, place = _lead(text)
    first = _moment(text, place)
    if first is None or first[0].clock is None:
        return None
    start, place = first
    start = replace(start, about=True) if about else start
    for match in _RANGE.finditer(text, place, place + 12):
        if match.start() != place:
            break
        second = _moment(text, _lead(text, match.end())[1])
        if second is not None and second[0].clock is not None:
            end = second[0]
            if not start.days and end.days and start.half == end.half and _clock_of(start) <= _clock_of(end):
                start = replace(start, days=end.days, weekday=end.weekday)  # from 02:25 to 10:36 on 20 October
            return Span(start, end), second[1]
        word = re.match(r"(?:ongoing|now|present)\b", text[match.end() :], re.IGNORECASE)
        if word is not None:
            return Span(start, None, True), match.end() + word.end()
    return Span(start), place


def read_cell(value: object) -> Span | Trouble | None:
    """The time or range that makes up a whole cell; None for an empty one or one that says that there is no time yet."""
    if value is None or (isinstance(value, str) and value.strip().lower() in ("", *_OPEN)):
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        return Trouble("refused", "not a time", f"{shown(value)} is not a time")
    text = value.strip() if isinstance(value, str) else _number_text(value)
    if _NUMBER.fullmatch(text):
        return _number(text)
    if len(text) > 120:
        return Trouble("refused", "not a time", f"{shown(text)} is too long for a time")
    found = scan(text)
    if found is not None and not text[found[1] :].strip(" .,;"):
        return found[0]
    alone = date_alone(text)
    if alone is not None:
        return Span(alone)
    if found is not None:
        rest = text[found[1] :].strip(" .,;")
        remedy = (
            "write an offset such as -07:00, or a name such as America/Los_Angeles"
            if rest.isalpha()
            else f"write it as {_FORM}"
        )
        return Trouble("refused", "not a time", f"{shown(text)}: {shown(rest)} behind the time is not known: {remedy}")
    return Trouble("refused", "not a time", f"{shown(text)} is not a time that can be read: write it as {_FORM}")


def _clock_of(written: Written) -> timedelta:
    return written.clock or timedelta()


_FORM = "2025-10-20T02:25-07:00"


def date_alone(text: str) -> Written | None:
    """A text that is a date and nothing else, such as a heading above the times of a day."""
    text = text.strip()
    found = _date(text, 0)
    if found is None or text[found.end :].strip(" .:,"):
        return None
    return Written(text[: found.end], found.days, weekday=found.weekday)


def dates_in(text: str) -> list[Written]:
    """Every date with a year in a text, such as a title, in its order."""
    found: list[Written] = []
    place = 0
    for match in re.finditer(r"(?<![\w/.:-])\w", text):
        dated = _date(text, match.start()) if match.start() >= place else None
        if dated is not None and any(day.year for day in dated.days):
            place = dated.end
            found.append(Written(text[match.start() : place], dated.days, weekday=dated.weekday))
    return found


def _lead(text: str, place: int = 0) -> tuple[bool, int]:
    match = _LEAD.match(text, place)
    if match is None:
        return False, place
    end = match.end()
    return match["about"] is not None, end + len(text[end:]) - len(text[end:].lstrip())


class _Date(NamedTuple):
    days: tuple[Day, ...]
    weekday: int | None
    end: int


class _Clock(NamedTuple):
    time: timedelta
    half: str
    end: int


def _moment(text: str, place: int) -> tuple[Written, int] | None:
    """A date, a clock or both in either order, with a zone."""
    dated = _date(text, place)
    end = place
    compact = False
    if dated is not None:
        gap = _GAP.match(text, dated.end)
        end, compact = (dated.end, False) if gap is None else (gap.end(), gap[0].upper() == "T")
    clock = None if dated is not None and end == dated.end else _clock(text, end, compact)
    if clock is None:
        return (
            None if dated is None else (Written(text[place : dated.end], dated.days, weekday=dated.weekday), dated.end)
        )
    zone, end, doubtful = _zone(text, clock.end, dated is not None)
    behind = _PLACE.match(text, end) if zone else None
    end = behind.end() if behind else end
    if dated is None:
        gap = _BEFORE_DATE.match(text, end)
        dated = None if gap is None else _date(text, gap.end())
        if gap is not None and dated is not None:
            # 11:50 PM (March 11)
            closed = gap["open"] is not None and text[dated.end : dated.end + 1] == ")"
            end, doubtful = dated.end + closed, False
    days, weekday = ((), None) if dated is None else (dated.days, dated.weekday)
    year = _YEAR.match(text, end) if days and days[0].year is None else None
    if year is not None:  # Mon Oct 20 06:48:00 UTC 2025, as the command date writes it
        days, end = tuple(replace(day, year=int(year[1])) for day in days), year.end()
    name = behind["zone"] if behind else ""
    return Written(text[place:end], days, clock.time, clock.half, zone, name, weekday, None, doubtful), end


def _date(text: str, place: int) -> _Date | None:
    for pattern in _DATES:
        match = pattern.match(text, place)
        if match is not None:
            break
    else:
        match = _NO_YEAR.match(text, place)
        if match is None:
            return None
    parts = match.groupdict()
    weekday = parts.get("weekday")
    return _Date(tuple(_days_of(parts)), _DAYS.index(weekday[:3].lower()) if weekday else None, match.end())


def _days_of(parts: dict[str, str | None]) -> Iterator[Day]:
    """The dates that written numbers may mean; those that no calendar has are left out, unless there is no other."""
    year = (parts.get("year") or "").lstrip("'")
    if parts.get("month"):
        month, day = _MONTHS.index(str(parts["month"])[:3].lower()) + 1, int(parts["d"] or 0)
        if len(year) == 2:
            yield from _existing(
                (
                    Day(_century(year), month, day, "day, month, year", True),
                    Day(_century(f"{day:02}"), month, int(year), "year, month, day", True),
                )
            )
        else:
            yield Day(int(year) if year else None, month, day)
        return
    if year:
        yield Day(int(year), int(parts["m"] or 0), int(parts["d"] or 0))
        return
    a, b, c = int(parts["a"] or 0), int(parts["b"] or 0), parts.get("c") or ""
    if len(c) == 2:
        numbers = (
            Day(_century(c), b, a, DAY_FIRST, True),
            Day(_century(c), a, b, MONTH_FIRST, True),
            Day(_century(f"{a:02}"), b, int(c), YEAR_FIRST, True),
        )
        yield from _existing(numbers)
        return
    whole = int(c) if c else None
    yield from _existing((Day(whole, b, a, DAY_FIRST), Day(whole, a, b, MONTH_FIRST)))


def _century(year: str) -> int:
    return (2000 if int(year) < 70 else 1900) + int(year)


def _existing(days: tuple[Day, ...]) -> tuple[Day, ...]:
    there = tuple(day for day in days if day.on(2024) is not None)
    return there or days[:1]


def _clock(text: str, place: int, compact: bool = False) -> _Clock | None:
    match = _CLOCK.match(text, place)
    if match is None or (match["m"] is None and match["half"] is None):
        match = _COMPACT_CLOCK.match(text, place) if compact else None
        if match is None:
            return None
    parts = match.groupdict()
    hours, minutes, seconds = int(parts["h"]), int(parts["m"] or 0), int(parts["s"] or 0)
    micro = int(f"{parts['f']:0<6}"[:6]) if parts["f"] else 0
    time = timedelta(0, 3600 * hours + 60 * minutes + seconds, micro)
    half = (parts.get("half") or "").lower()
    if minutes > 59 or seconds > 59 or time > _WHOLE_DAY or (half and not 1 <= hours <= 12):
        return None
    return _Clock(time, half, match.end())


def _zone(text: str, place: int, dated: bool) -> tuple[str, int, bool]:
    """The zone at a place: its text, where it ends, and whether it may be the end of a range instead."""
    match = _OFFSET.match(text, place)
    if match is not None:
        zone = match["zone"]
        clock_like = zone[0] == "-" and ":" in zone
        if not dated and zone[0] == "-" and len(zone) == 3:  # 02:25-07: an hour, or an offset?
            return "", place, False
        if is_offset(zone):
            return zone, match.end(), clock_like and not dated
        return "", place, False
    match = _NAME.match(text, place)
    if match is not None and (match["zone"] in ABBREVIATIONS or named_zone(match["zone"]) is not None):
        return match["zone"], match.end(), False
    return "", place, False


def _number_text(value: int | float | Decimal) -> str:
    try:
        return format(Decimal(str(value)), "f")
    except (InvalidOperation, ValueError):  # not a number, infinite, or an int of thousands of digits
        return shown(value)


def _number(text: str) -> Span | Trouble:
    """A bare number since 1970: the unit is told by its size, or asked for."""
    if len(text) == 14 and text.isdigit():
        try:
            datetime.strptime(text, "%Y%m%d%H%M%S")  # noqa: DTZ007 - only whether it is one
        except ValueError:
            pass
        else:
            found = scan(f"{text[:4]}-{text[4:6]}-{text[6:8]}T{text[8:10]}:{text[10:12]}:{text[12:]}")
            if found is not None:
                return Span(replace(found[0].start, text=text))
    if len(text) > 40:
        return Trouble("refused", "not a time", f"{shown(text)} is too long a number for a time")
    readings = []
    for name, factor in _UNITS:
        micro = Decimal(text) * factor
        if 0 <= micro < Decimal(10) ** 17:
            try:
                readings.append((name, _EPOCH + timedelta(microseconds=int(micro))))
            except OverflowError:
                continue
    likely = [at for _, at in readings if _LIKELY[0] <= at < _LIKELY[1]]
    if len(likely) == 1:
        return Span(Written(text, instant=likely[0]))
    possible = [f"{at.isoformat()} in {name}" for name, at in readings if MIN_YEAR < at.year <= MAX_YEAR]
    if not possible:
        return Trouble(
            "refused", "not a time", f"{shown(text)} is a number that is no time since 1970: write it as {_FORM}"
        )
    return Trouble("ask", "number", f"{shown(text)} may be {' or '.join(possible)}: write the times as {_FORM}")
