"""Settle written times by what the whole file shows and what a person says; what stays open is asked, never guessed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import pairwise

from afterload.readers.entries import Entry, Notes
from afterload.readers.times import DAY_FIRST, MONTH_FIRST, Day, Span, Trouble, Written, scan, shown
from afterload.readers.zones import named_zone, readings_in
from afterload.units import MAX_YEAR, MIN_YEAR, local_readings

__all__ = ["Settled", "settle"]

# A date that can be read in two ways is the one this near to the day that a person gave; two readings of numbers lie
# four weeks apart or more, unless they are the same.
NEAR = timedelta(days=7)
_HALF_DAY, _QUARTER = timedelta(hours=12), timedelta(hours=6)
_DAY = timedelta(days=1)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True)
class Settled:
    """An entry whose times are known."""

    entry: Entry
    at: datetime
    end: datetime | None


@dataclass(frozen=True)
class _Context:
    """What the file and the person say about times in general."""

    zone: tzinfo | None
    date: date | None
    order: str
    has_halves: bool
    overruled: dict[str, str] = field(default_factory=dict)


def settle(entries: Sequence[Entry], zone: tzinfo | None, day: date | None, notes: Notes) -> list[Settled]:
    """Give every entry its instants, in the order of the file; the others are noted as refused or to be asked."""
    written = [part for entry in entries for part in _written(entry)]
    context = _Context(zone, day, _order(written, notes), any(part.half for part in written))
    found: list[Settled] = []
    run: list[Entry] = []
    anchor: datetime | None = None
    series = 0
    for entry in entries:
        if entry.series != series or not entry.series:
            found += _run(run, anchor, context, notes)
            run, anchor, series = [], None, entry.series
        if not isinstance(entry.when, Span):
            notes.trouble(entry, entry.when or Trouble("refused", "no time", "has no time"))
        elif entry.when.start.days or entry.when.start.instant:
            found += _run(run, anchor, context, notes)
            run = []
            settled = _settled(entry, None, _with_year(entry, anchor, context), notes)
            if settled is not None:
                anchor = settled.at
                found.append(settled)
        else:
            if run and entry.day != run[-1].day:
                found += _run(run, anchor, context, notes)
                run, anchor = [], None
            run.append(entry)
    found += _run(run, anchor, context, notes)
    for text, words in context.overruled.items():
        notes.add("doubt", f"the text says {text}: {words}")
    stated = sorted({entry.zone for entry in entries if entry.zone} - {str(zone)} - context.overruled.keys())
    if zone is not None and stated:
        notes.add("doubt", f"states the zone of its times itself ({', '.join(stated)[:80]}): that is used, not {zone}")
    return found


def _with_year(entry: Entry, anchor: datetime | None, context: _Context) -> _Context:
    """A date without a year is of the one nearest to the dated entry, or else the heading, above it."""
    days = entry.when.start.days if isinstance(entry.when, Span) else ()
    if context.date is not None or any(day.year is not None for day in days):
        return context
    above = anchor.date() if anchor is not None else None if entry.day is None else _date_of(entry.day, context)
    return context if isinstance(above, Trouble) else replace(context, date=above)


def _written(entry: Entry) -> list[Written]:
    spans = [span for span in (entry.when, entry.until) if isinstance(span, Span)]
    return [part for span in spans for part in (span.start, span.end) if part is not None]


def _order(written: Sequence[Written], notes: Notes) -> str:
    """Whether numbers such as 20/10/2025 put the day or the month first: told by those that can only be one of them."""
    seen = {part.days[0].order for part in written if len(part.days) == 1 and part.days[0].on(2024) is not None}
    told = seen & {DAY_FIRST, MONTH_FIRST}
    if len(told) == 2:
        notes.add(
            "doubt", "some dates put the day first and some the month: those that could be either are asked about"
        )
        return ""
    return next(iter(told), "")


def _run(run: Sequence[Entry], anchor: datetime | None, context: _Context, notes: Notes) -> list[Settled]:
    """Entries of one list with a clock alone: each on the day of the one before it, or the next where midnight passed.

    ``anchor`` is a dated entry above them in the same list.
    """
    if not run:
        return []
    newest_first = anchor is None and _is_newest_first(run)
    if newest_first:
        notes.add("doubt", "the newest entry stands first: read from the bottom up", run[0].line)
    found: list[Settled] = []
    last = anchor
    for entry in reversed(run) if newest_first else run:
        base = last.date() if last is not None else _heading(entry, context)
        if isinstance(base, Trouble):
            notes.trouble(entry, base)
            continue
        settled = _settled(entry, base, context, notes)
        if settled is not None and last is not None:
            settled = _after(settled, last, context, notes)
        if settled is not None:
            found.append(settled)
            last = settled.at if last is None else max(last, settled.at, key=lambda at: at.astimezone(UTC))
    return found


def _is_newest_first(run: Sequence[Entry]) -> bool:
    """Whether a list makes sense from the bottom up only: three entries or more, and none out of order that way."""
    clocks = [_clock(entry.when.start) for entry in run if isinstance(entry.when, Span)]
    return len(clocks) > 2 and _out_of_order(clocks) > 0 and _out_of_order(clocks[::-1]) == 0


def _out_of_order(clocks: Sequence[timedelta]) -> int:
    """Clocks that fit neither the day of the one before nor the day after it."""
    steps = (after - before for before, after in pairwise(clocks))
    return sum(step > _DAY - _QUARTER or -_HALF_DAY < step < timedelta(0) for step in steps)


def _heading(entry: Entry, context: _Context) -> date | Trouble:
    if entry.day is not None:
        return _date_of(entry.day, context)
    if context.date is not None:
        return context.date
    text = entry.when.start.text if isinstance(entry.when, Span) else ""
    return Trouble("ask", "date", f"{shown(text)} has no date: give the day of the first such entry (--date)")


def _after(settled: Settled, last: datetime, context: _Context, notes: Notes) -> Settled | None:
    """An entry of a list on the day that fits the one before it; None where two days fit alike."""
    entry = settled.entry
    local = last.astimezone(settled.at.tzinfo).date()
    if local != settled.at.date():
        again = _settled(entry, local, context, notes)
        if again is None:
            return None
        settled = again
    step = settled.at - last
    text = shown(_text(entry))
    if step > _DAY - _QUARTER or -_HALF_DAY < step <= -_QUARTER:
        other = (settled.at.date() + (_DAY if step < timedelta(0) else -_DAY)).isoformat()
        notes.trouble(
            entry,
            Trouble(
                "ask",
                "midnight",
                f"{text} may be {settled.at.date()} or {other}, as it stands in the list: write its date",
            ),
        )
        return None
    if step >= timedelta(0):
        return settled
    if step > -_QUARTER:
        notes.add(
            "doubt",
            f"{text} is earlier than the entry before it and read as the same day, out of order",
            entry.line,
            "order",
        )
        return settled
    following = _settled(entry, settled.at.date() + _DAY, context, notes)
    if following is not None:
        notes.add(
            "doubt",
            f"{text} comes after a later clock: midnight has passed, and it is read as {following.at.date()}",
            entry.line,
            "past midnight",
        )
    return following


def _text(entry: Entry) -> str:
    return entry.when.start.text if isinstance(entry.when, Span) else ""


def _settled(entry: Entry, day: date | None, context: _Context, notes: Notes) -> Settled | None:
    """Both instants of one entry; None, and a note, where there is a doubt."""
    result = _instants(entry, day, context)
    if isinstance(result, Trouble):
        notes.trouble(entry, result)
        return None
    if isinstance(entry.when, Span) and entry.when.start.about:
        notes.add("doubt", f"{shown(_text(entry))} is marked as approximate", entry.line, "approximate")
    return result


def _instants(entry: Entry, day: date | None, context: _Context) -> Settled | Trouble:
    span = entry.when
    if not isinstance(span, Span):
        return span or Trouble("refused", "no time", "has no time")
    if isinstance(entry.until, Trouble):
        return entry.until
    start, end, own_end = span.start, span.end, None
    if entry.until is not None:
        if end is not None or entry.until.end is not None:
            return Trouble(
                "refused", "two ends", f"{shown(_text(entry))} is a range and has an end of its own: keep one"
            )
        own_end = end = entry.until.start
    if start.doubtful and end is None and entry.zone and (second := scan(start.zone[1:])) is not None:
        # The file states the zone of its times: what stands behind the dash is no offset.
        start, end = replace(start, zone="", doubtful=False), second[0].start
    if start.doubtful and end is None:
        return Trouble(
            "ask", "range or offset",
            f"{shown(start.text)} may be a range, or a time with the offset {start.zone}: write a space around the dash of "
            "a range, and a date before a time with an offset",
        )  # fmt: skip
    # A zone behind a range is meant for both its times.
    zone = start.zone or ("" if own_end or end is None else end.zone) or entry.zone
    at = _instant(start if start.zone == zone else replace(start, zone=zone), day, context)
    if isinstance(at, Trouble) or end is None:
        return at if isinstance(at, Trouble) else Settled(entry, at, None)
    until = _end(replace(end, zone=end.zone or zone), at, context)
    if isinstance(until, Trouble):
        return until
    if until < at:
        return Trouble(
            "refused",
            "end before start",
            f"{shown(end.text)}, its end, is before {shown(start.text)}: correct one of them",
        )
    return Settled(entry, at, until)


def _end(end: Written, at: datetime, context: _Context) -> datetime | Trouble:
    if end.days or end.instant:
        return _instant(end, None, context)
    until = _instant(end, at.date(), context)
    if isinstance(until, Trouble) or until >= at:
        return until
    # From 23:48 to 00:38: past midnight.
    return _instant(end, at.date() + _DAY, context)


def _clock(written: Written) -> timedelta:
    clock = written.clock or timedelta()
    if not written.half:
        return clock
    hours = clock % _HALF_DAY
    return hours + (_HALF_DAY if written.half == "p" else timedelta())


def _instant(written: Written, day: date | None, context: _Context) -> datetime | Trouble:
    """The one instant that a written time is, on a day where it has none of its own."""
    if written.instant is not None:
        return written.instant
    if written.clock is None:
        return Trouble("refused", "date only", f"{shown(written.text)} is a date without a time of day: write the time")
    if written.days or day is None:
        found = _date_of(written, context)
        if isinstance(found, Trouble):
            return found
        day = found
    hour = written.clock.seconds // 3600
    of_24_hours = written.zone.upper() == "Z" or re.search("[0-9]T[0-9]", written.text)
    if context.has_halves and not written.half and not of_24_hours and 1 <= hour <= 12:
        other = written.clock % _HALF_DAY
        return Trouble(
            "ask", "half of the day",
            f"{shown(written.text)} may be {_hm(other)} or {_hm(other + _HALF_DAY)}, as the file writes AM and PM elsewhere: "
            "write which, or write all times with 24 hours",
        )  # fmt: skip
    try:
        local = datetime.combine(day, time()) + _clock(written)
    except OverflowError:
        local = datetime.max  # noqa: DTZ901 - a local time
    if not MIN_YEAR <= local.year <= MAX_YEAR:
        return Trouble(
            "refused",
            "year",
            f"{shown(written.text)} is in the year {local.year}: write one from {MIN_YEAR} to {MAX_YEAR}",
        )
    return _in_zone(written, local, context)


def _hm(clock: timedelta) -> str:
    minutes = int(clock.total_seconds() // 60)
    return f"{minutes // 60:02}:{minutes % 60:02}"


def _in_zone(written: Written, local: datetime, context: _Context) -> datetime | Trouble:
    text = shown(written.text)
    if written.zone:
        readings = readings_in(local, written.zone, context.zone)
        if readings is None:
            return Trouble(
                "refused", "zone", f"{shown(written.zone)} is no zone that is known: write an offset such as -07:00"
            )
        where = written.zone
    elif context.zone is None:
        return Trouble(
            "ask", "zone",
            f"{text} has no zone: give its zone (--zone), such as America/Los_Angeles, or write an offset behind it, such as "
            f"{local.isoformat(timespec='minutes')}-07:00",
        )  # fmt: skip
    else:
        where = str(context.zone)
        at = local_readings(local, context.zone)
        if len(at) == 1:
            return at[0]
        readings = ()
        if at:
            both = " or ".join(reading.isoformat(timespec="minutes") for reading in at)
            return Trouble("ask", "twice", f"{text} occurs twice in {where}: {both}: write which, with its offset")
    if not readings:
        return Trouble("refused", "skipped hour", f"{text} does not exist: clocks in {where} skip it: correct it")
    if len(readings) == 1:
        return _at_place(written, readings[0].at)
    mine = (
        set() if context.zone is None else {reading.at for reading in readings} & {*local_readings(local, context.zone)}
    )
    if len(mine) == 1 and written.zone:
        chosen = mine.pop().astimezone(context.zone)
        context.overruled[written.zone] = f"its times are read in {context.zone}, {chosen.isoformat()[-6:]} then"
        return chosen
    every = " or ".join(f"{reading.at.isoformat(timespec='minutes')} ({reading.why})" for reading in readings)
    remedy = (
        "give its zone (--zone)"
        if context.zone is None
        else f"give a zone that keeps one of them, which {context.zone} does not"
    )
    return Trouble("ask", f"zone {where}", f"{text} may be {every}: write the offset, or {remedy}")


def _at_place(written: Written, at: datetime) -> datetime | Trouble:
    """The instant, unless the zone in brackets behind its offset keeps another one then."""
    if not written.place:
        return at
    zone = named_zone(written.place)
    if zone is not None and at.astimezone(zone).utcoffset() == at.utcoffset():
        return at
    return Trouble(
        "refused", "offset and zone",
        f"{shown(written.text)}: {written.zone} is not the offset of {written.place} then: correct one of them",
    )  # fmt: skip


def _date_of(written: Written, context: _Context) -> date | Trouble:
    """The one day that written numbers mean, by the file's order and the day that a person gave."""
    text, days = shown(written.text), written.days
    if not days:
        return Trouble("ask", "date", f"{text} has no date: give the day of the incident (--date)")
    if len(days) > 1 and context.order and all(day.year is not None or day.order for day in days):
        days = tuple(day for day in days if day.order == context.order) or days
    if len(days) > 1 and len({day.on(2024) for day in days}) == 1:
        days = days[:1]
    if len(days) == 1 and days[0].year is not None and not days[0].short:
        found = days[0].on()
        if found is None:
            return Trouble("refused", "no such day", f"{text}: there is no such day: correct it")
        return _on_weekday(written, found)
    return _by_hint(text, days, written, context)


def _on_weekday(written: Written, day: date) -> date | Trouble:
    if written.weekday is None or written.weekday == day.weekday():
        return day
    return Trouble(
        "refused", "weekday",
        f"{shown(written.text)}: {day} is a {_WEEKDAYS[day.weekday()]}, not a {_WEEKDAYS[written.weekday]}: correct one of them",
    )  # fmt: skip


def _by_hint(text: str, days: tuple[Day, ...], written: Written, context: _Context) -> date | Trouble:
    hint = context.date
    possible: dict[date, Day] = {}
    for day in days:
        years = [day.year] if day.year is not None else [hint.year + step for step in (-1, 0, 1)] if hint else []
        possible |= {found: day for year in years if (found := day.on(year)) is not None}
    if hint is not None:
        near = [found for found in possible if abs(found - hint) <= NEAR]
        if len(near) == 1:
            return _on_weekday(written, near[0])
    if not possible:
        return Trouble("ask", "year", f"{text} has no year: give the day of the incident (--date), or write the year")
    every = " or ".join(f"{found}{f' ({day.order})' if day.order else ''}" for found, day in possible.items())
    remedy = "give the day of the incident (--date)" if hint is None else f"it is not within {NEAR.days} days of {hint}"
    return Trouble("ask", "order of the date", f"{text} may be {every}: {remedy}, or write the date as 2025-10-20")
