"""Impact windows as status pages and teams list them: a table with a start and an end in each row."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, tzinfo
from pathlib import Path

from afterload.readers.columns import Columns, plain_name
from afterload.readers.entries import Notes
from afterload.readers.reading import Remark
from afterload.readers.resolve import settle
from afterload.readers.source import open_source
from afterload.readers.timelines.csv_table import table_entries
from afterload.readers.times import Span
from afterload.scenario import ImpactWindow

__all__ = ["WindowFile", "read_windows_file", "windows_csv"]

_STARTS = frozenset("start started starts begin began begins from opened created".split())
_ENDS = frozenset("end ended ends finish finished stop stopped to until till resolved closed".split())
_BESIDE = frozenset("at time date on of the utc".split())
_SERVICE = "service services component components system subsystem app application product".split()
_IMPACT = "impact severity impact level impact kind".split()
_NAMES = ("title", "name", "summary", "incident", "incident name")
# What a table of values a period has, and one of events.
_VALUES = frozenset("value values count sum average avg min max minimum maximum rate samplecount total".split())


@dataclass(frozen=True)
class WindowFile:
    """The windows of one file, in its order, and what was not read of it."""

    windows: tuple[ImpactWindow, ...] = ()
    remarks: tuple[Remark, ...] = ()


def _meaning(names: Sequence[str]) -> Columns | None:
    """Columns of impact windows: a start and an end of the same thing, and what tells them from a timeline or from metrics."""
    plain = {plain_name(name)[0]: name for name in reversed(names)}
    ends = {_rest(words, _ENDS): name for words, name in reversed(plain.items())}
    pairs = [(name, ends[rest]) for words, name in plain.items() if (rest := _rest(words, _STARTS)) and rest in ends]
    service, impact, title = (_first(plain, known) for known in (_SERVICE, _IMPACT, _NAMES))
    timeline = Columns.of(names)
    is_timeline = timeline is not None and plain_name(timeline.roles["text"])[0] not in (*_NAMES, "note", "notes")
    is_told = impact or service or any("duration" in words for words in plain)
    if not pairs or not (service or title) or _VALUES & plain.keys() or (not impact and (is_timeline or not is_told)):
        return None
    at, end = pairs[-1]
    roles = {"at": at, "end": end, "text": title or service, "service": service or title, "kind": impact}
    roles["note"] = _first(plain, ["note", "notes"])
    zones = {role: plain_name(roles[role])[1] for role in ("at", "end")}
    return Columns({role: name for role, name in roles.items() if name}, zones)


def _rest(words: str, ends: frozenset[str]) -> tuple[str, ...]:
    """What a name says beside start or end: of downtime, say; empty where it says neither."""
    found = words.split()
    return ("of", *(word for word in found if word not in ends | _BESIDE)) if ends & set(found) else ()


def _first(plain: dict[str, str], known: Iterable[str]) -> str:
    return next((plain[word] for word in known if word in plain), "")


def read_windows_file(path: str | Path, *, zone: tzinfo | None = None, date: date | None = None) -> WindowFile | None:
    """Read a CSV file of impact windows; None where it is none.

    A window without an end, or that ends before it begins, is left out with a remark. One without length and planned work are
    kept, with their kind: nothing counts them. ``zone`` and ``date`` settle times as in a timeline.
    """
    source = open_source(path)
    notes = Notes(source.name)
    entries = table_entries(source, notes, _meaning)
    if entries is None:
        return None
    whole = []
    for entry in entries:
        if isinstance(entry.when, Span) and entry.when.end is None and entry.until is None:
            notes.add(
                "refused", f"{entry.text or entry.service!r} has no end: write when it was over", entry.line, "no end"
            )
        else:
            whole.append(entry)
    windows = []
    for item in settle(whole, zone, date, notes):
        entry = item.entry
        name = entry.service or entry.text
        note = entry.note or (entry.text if entry.text != name else "")
        if item.end is None or not name:
            notes.add("refused", "has no name", entry.line, "no name")
            continue
        if item.end == item.at:
            notes.add("doubt", f"{name!r} has no length: it counts nowhere", entry.line, "no length")
        elif ImpactWindow(name, item.at, item.end, False, note, entry.kind).is_planned:
            notes.add("doubt", f"{name!r} is {entry.kind or note}, no impact: it counts nowhere", entry.line, "planned")
        windows.append(ImpactWindow(name, item.at, item.end, False, note, entry.kind))
    return WindowFile(tuple(windows), notes.remarks)


def windows_csv(windows: Iterable[ImpactWindow]) -> str:
    """Windows in the form that a scenario's ``incident.impacts`` takes."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("service", "start", "end", "impact", "note"))
    for item in windows:
        times = (
            at.isoformat(timespec="auto" if at.second or at.microsecond else "minutes") for at in (item.start, item.end)
        )
        writer.writerow((item.service, *times, item.impact, item.note))
    return out.getvalue()
