"""Incident timelines as teams have them, whatever tool wrote them, as one form.

    timeline = read_timeline_file("export.json", zone=ZoneInfo("Europe/Berlin"))
    for remark in timeline.remarks: print(remark)

Each format is one module of :mod:`afterload.readers.timelines`. Times are settled in :mod:`afterload.readers.resolve`: what
can be read in two ways is not in the result, and a remark of the kind ``ask`` gives both readings and what to say.
"""

from __future__ import annotations

import csv
import importlib
import io
import pkgutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, tzinfo
from functools import cache
from pathlib import Path

from afterload.errors import InputError, ModelError, UnsupportedError
from afterload.readers import timelines
from afterload.readers.documents import matching, read_document
from afterload.readers.entries import Entry, JsonFormat, Notes, TextFormat, clean, whole_text
from afterload.readers.reading import Origin, Remark
from afterload.readers.resolve import Settled, settle
from afterload.readers.source import SourceFile, open_source
from afterload.readers.times import shown
from afterload.scenario import TimelineEvent
from afterload.scenario.attachments import STATUSES

__all__ = ["Event", "Timeline", "formats", "read_timeline_file", "to_csv", "without_entries"]


@dataclass(frozen=True)
class Event:
    """One thing that happened, or one message about it.

    Two events are equal where the same thing happened at the same instant, wherever it was written down.

    Attributes:
        at: when, with a zone.
        end: when it ended; None for an instant, and for what had not ended yet.
        text: as written, markup included.
        service: service, subsystem or component; several joined with commas.
        kind: what sort of entry, in the words of the tool: trigger, update, reply.
        source: who or what wrote it.
        status: the status that it reports, such as investigating.
        note: what to know about it.
        origin: where it stood.
    """

    at: datetime
    end: datetime | None
    text: str
    service: str = ""
    kind: str = ""
    source: str = ""
    status: str = ""
    note: str = ""
    origin: Origin | None = field(default=None, compare=False, repr=False)

    @property
    def row(self) -> TimelineEvent:
        """The event as a scenario's timeline has it: of statuses only those that say how sure an entry is."""
        standing = self.status.lower() if self.status.lower() in STATUSES else ""
        return TimelineEvent(self.at, self.end, self.service, self.kind, self.text, self.source, standing, self.note)


@dataclass(frozen=True)
class Timeline:
    """What one or more files tell, sorted by time.

    Attributes:
        events: what happened.
        maintenance: planned work, which is no part of the incident.
        remarks: what was not read, is doubtful or must be asked.
        formats: names of the formats that were recognised.
    """

    events: tuple[Event, ...] = ()
    maintenance: tuple[Event, ...] = ()
    remarks: tuple[Remark, ...] = ()
    formats: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[TimelineEvent, ...]:
        """The events as a scenario's timeline has them."""
        return tuple(event.row for event in self.events)

    @property
    def questions(self) -> tuple[Remark, ...]:
        """The remarks that ask for something."""
        return tuple(remark for remark in self.remarks if remark.kind == "ask")

    @classmethod
    def joined(cls, parts: Iterable[Timeline]) -> Timeline:
        """Several timelines as one. What stands in two of them is kept once, with a remark."""
        parts = tuple(parts)
        notes = Notes("")
        events = _sorted((event for part in parts for event in part.events), notes)
        planned = _sorted((event for part in parts for event in part.maintenance), notes)
        remarks = (*(remark for part in parts for remark in part.remarks), *notes.remarks)
        names = dict.fromkeys(name for part in parts for name in part.formats)
        return cls(events, planned, remarks, tuple(names))


@cache
def formats() -> tuple[TextFormat | JsonFormat, ...]:
    """Every format: one module of :mod:`afterload.readers.timelines` each, in the order in which they are tried."""
    names = sorted(module.name for module in pkgutil.iter_modules(timelines.__path__))
    found = [importlib.import_module(f"{timelines.__name__}.{name}").FORMAT for name in names]
    if len({each.name for each in found}) != len(found):
        raise ModelError(f"two formats share a name: {sorted(each.name for each in found)}")
    return tuple(sorted(found, key=lambda each: (each.order, each.name)))


def read_timeline_file(path: str | Path, *, zone: tzinfo | None = None, date: date | None = None) -> Timeline:
    """Read a timeline, whatever its format; a folder is read as all its files together, such as a channel's days.

    Parameters:
        path: CSV, JSON, JSON Lines, Markdown or text; what it is, is told by its content.
        zone: the zone that local times in it are in. Without it, times without a zone are asked about.
        date: the day of the incident, for times without a date and dates that can be read in two ways.

    Raises :class:`InputError`, or :class:`NotFoundError`, with file and line, where the file is none of the formats or
    broken.
    """
    if Path(path).is_dir():
        files = sorted(file for file in Path(path).iterdir() if file.is_file() and not file.name.startswith("."))
        if not files:
            raise InputError(f"{path}: has no files")
        return _folder(files, zone, date)
    return _read(open_source(path), zone, date)


def _folder(files: Sequence[Path], zone: tzinfo | None, day: date | None) -> Timeline:
    """Several files as one; those that are no timeline are named, unless none is."""
    parts: list[Timeline] = []
    problems: list[tuple[Path, InputError]] = []
    for file in files:
        try:
            parts.append(_read(open_source(file), zone, day))
        except InputError as problem:
            problems.append((file, problem))
    if not parts:
        raise problems[0][1]
    refused = tuple(Remark("refused", str(problem).removeprefix(f"{file}: "), str(file)) for file, problem in problems)
    return Timeline.joined((*parts, Timeline(remarks=refused)))


def _read(source: SourceFile, zone: tzinfo | None, day: date | None) -> Timeline:
    whole_text(source)
    notes = Notes(source.name)
    entries, names = _entries(source, notes)
    settled = settle(entries, zone, day, notes)
    events = [(item.entry.maintenance, _event(item, source, notes)) for item in settled]
    happened = _sorted((event for planned, event in events if event is not None and not planned), notes)
    planned_work = _sorted((event for planned, event in events if event is not None and planned), notes)
    if planned_work:
        notes.add("doubt", f"planned maintenance is kept apart: {len(planned_work):,} entries")
    return Timeline(happened, planned_work, notes.remarks, names)


def _entries(source: SourceFile, notes: Notes) -> tuple[list[Entry], tuple[str, ...]]:
    """The entries of a file, by the first format that fits its content."""
    document = read_document(source, notes)
    if document is not None:
        known = [each for each in formats() if isinstance(each, JsonFormat)]
        found = matching(document, [each for each in known if each.order < 100])
        found = found or matching(document, [each for each in known if each.order >= 100])
        if found:
            entries = [entry for each, node in found for entry in each.entries(node, notes)]
            return entries, tuple(dict.fromkeys(each.name for each, _ in found))
        raise UnsupportedError(source.name, f"JSON, {_about(document.value)}")
    texts = [each for each in formats() if isinstance(each, TextFormat)]
    # The content decides, not the file's name: people save CSV as .txt and paste lists into .csv.
    seen: list[Remark] = []
    for each in texts:
        tried = Notes(source.name)
        entries_found = each.entries(source, tried)
        if entries_found is not None:
            notes.take(tried)
            return entries_found, (each.name,)
        seen += tried.remarks
    if seen:
        raise InputError(without_entries(source.name, seen))
    first = next(line for line in source.text.splitlines() if line.strip()).strip()
    raise UnsupportedError(source.name, f"text without times at the start of lines; it begins with {shown(first)}")


def without_entries(name: str, remarks: Iterable[Remark]) -> str:
    """The refusal of a timeline of which no entry could be read, with every line and its reason."""
    told = list(remarks)
    told = [remark for remark in told if remark.kind != "doubt"] or told
    lines = (f"- {f'line {remark.line}: ' if remark.line else ''}{remark.text}" for remark in told)
    return "\n".join((f"{name}: nothing of it can be read.", *lines))


def _about(value: object) -> str:
    if isinstance(value, dict):
        return f"an object with the fields {', '.join(map(str, list(value)[:5])) or 'none'}"
    if isinstance(value, list):
        return f"a list of {len(value):,}" + (f", the first of them {_about(value[0])}" if value else "")
    return "a single value"


def _event(item: Settled, source: SourceFile, notes: Notes) -> Event | None:
    entry = item.entry
    text = clean(entry.text, notes, entry.line) or entry.status or entry.kind
    if not text:
        place = "" if entry.line else f"{entry.place}: "
        notes.add("refused", f"{place}has a time but no text: say what happened", entry.line, "no text")
        return None
    service, kind, author, status, note = (
        clean(part, notes, entry.line) for part in (entry.service, entry.kind, entry.source, entry.status, entry.note)
    )
    end = None if item.end is None else _plain(item.end)
    origin = Origin(source.name, entry.place, source.modified_at)
    return Event(_plain(item.at), end, text, service, kind, author, status, note, origin)


def _plain(at: datetime) -> datetime:
    """The instant, in UTC where its offset has seconds, as some had before 1973."""
    offset = at.utcoffset()
    return at if offset is None or offset.seconds % 60 == 0 else at.astimezone(UTC)


def _sorted(events: Iterable[Event], notes: Notes) -> tuple[Event, ...]:
    """Events by time, each once; their order never depends on the order in the file."""
    kept: dict[Event, Event] = {}
    twice: list[Event] = []
    for event in events:
        if event in kept:
            twice.append(event)
        else:
            kept[event] = event
    if twice:
        places = ", ".join(str(event.origin) for event in twice[:3] if event.origin is not None)
        notes.add(
            "doubt", f"the same entry stands more than once and is kept once: {len(twice):,} left out ({places[:160]})"
        )
    return tuple(sorted(kept, key=_place))


def _place(event: Event) -> tuple[datetime, datetime, str, str, str, str, str, str]:
    end = datetime.max.replace(tzinfo=UTC) if event.end is None else event.end
    return event.at, end, event.text, event.service, event.kind, event.source, event.status, event.note


def to_csv(timeline: Timeline | Sequence[Event]) -> str:
    """The events in the CSV form that a scenario's ``incident.timeline`` takes.

    A status that does not say how sure an entry is, such as investigating, has no place there.
    """
    events = timeline.events if isinstance(timeline, Timeline) else timeline
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("at", "end", "subsystem", "kind", "event", "source", "status", "note"))
    for event in events:
        row = event.row
        end = "" if row.end is None else _iso(row.end)
        writer.writerow((_iso(row.at), end, row.subsystem, row.kind, row.event, row.source, row.status, row.note))
    return out.getvalue()


def _iso(at: datetime) -> str:
    return at.isoformat(timespec="auto" if at.second or at.microsecond else "minutes")
