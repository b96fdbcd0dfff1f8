"""What the columns of a table and the fields of a record mean, by the names that tools and people give them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from afterload.readers.entries import Entry, Notes, text_of
from afterload.readers.times import Span, Trouble, Written, read_cell
from afterload.readers.zones import ABBREVIATIONS, is_offset, named_zone

__all__ = ["Columns", "plain_name", "stated_zone"]

# The first name that a table has is used.
_NAMES: dict[str, tuple[str, ...]] = {
    role: tuple(name.strip() for name in names.split(","))
    for role, names in {
        "at": "at, start, start time, started, started at, start date, begin, begin time, begins, from, occurred at, occurred, "
        "event time, timestamp, time stamp, date time, datetime, date and time, time, when, ts, created at, created, opened at, "
        "opened, logged at, posted at, published at, first seen, clock",
        "date": "date, day",
        "end": "end, end time, ended, ended at, end date, ends, until, till, to, finish, finished, finished at, resolved at, "
        "closed at, stop, stopped at",
        "text": "event, description, text, message, summary, what happened, what, details, detail, note, notes, entry, update, "
        "comment, body, log, title, action, activity, name, subject",
        # Only beside a text: where there is no other, a note is the text.
        "note": "note, notes",
        "service": "subsystem, service, services, component, components, system, affected service, affected component, "
        "affected services, affected components, application, app, product, resource",
        "kind": "kind, type, category, event type, phase",
        "source": "source, author, user, who, by, owner, actor, reporter, posted by, person, responder",
        "status": "status, state",
        "zone": "zone, timezone, time zone, tz",
    }.items()
}
_PARENTHESES = re.compile(r"[(\[]([^()\[\]]*)[)\]]")


def stated_zone(text: str) -> str:
    """The zone in a column's name or a sentence such as "all times are PDT"; empty where it names none."""
    for match in re.finditer(r"[A-Za-z]+/[A-Za-z0-9_+\-/]+|(?:UTC|GMT)[+-][0-9:]+|[A-Za-z]+", text):
        word = match.group()
        known = word in ABBREVIATIONS or word.upper() in ("UTC", "GMT")
        if known or (("/" in word) and named_zone(word) is not None) or (len(word) > 3 and is_offset(word)):
            return word
    return ""


@lru_cache(maxsize=2_000)
def plain_name(name: str) -> tuple[str, str]:
    """A column's name without case, signs and the zone that it states; and that zone."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.strip())
    stated = " ".join(_PARENTHESES.findall(spaced))
    rest = _PARENTHESES.sub(" ", spaced)
    words = re.sub(r"[^0-9a-z/]+", " ", rest.lower()).strip()
    zone = stated_zone(stated)
    last = words.rpartition(" ")
    if not zone and last[0] and stated_zone(last[2].upper()):
        words, zone = last[0].removesuffix(" in"), last[2].upper()
    return words.replace("/", " ").strip(), zone


@dataclass(frozen=True)
class Columns:
    """Which column has which meaning.

    Attributes:
        roles: column by meaning: at, date, end, text, note, service, kind, source, status, zone.
        zones: the zone that the name of a column of times states.
        unused: columns that are not read.
    """

    roles: dict[str, str]
    zones: dict[str, str] = field(default_factory=dict)
    unused: tuple[str, ...] = ()

    @classmethod
    def of(cls, names: Sequence[str]) -> Columns | None:
        """The meaning of some column names; None unless there is a time and a text."""
        plain = {name: plain_name(name) for name in reversed(names)}
        roles: dict[str, str] = {}
        for role, known in _NAMES.items():
            for word in known:
                hit = next((name for name in names if plain[name][0] == word and name not in roles.values()), None)
                if hit is not None:
                    roles[role] = hit
                    break
        if "at" not in roles and "date" in roles:
            roles["at"] = roles.pop("date")
        if "at" not in roles or "text" not in roles:
            return None
        times: tuple[str, ...] = ("at", "date", "end")
        zones = {role: plain[roles[role]][1] for role in times if role in roles}
        return cls(roles, zones, tuple(name for name in names if name.strip() and name not in roles.values()))

    def note_unused(self, notes: Notes) -> None:
        """Say which columns are not read."""
        if self.unused:
            listed = ", ".join(repr(name[:40]) for name in self.unused[:12])
            notes.add("doubt", f"columns that are not read: {listed}; the time is {self.roles['at'][:40]!r}")

    def entry(
        self, row: Mapping[str, Any], line: int, place: str, day: Written | None = None, series: int = 0, zone: str = ""
    ) -> Entry:
        """One row as an entry. ``zone`` is what the file states for all of it."""
        when, until = self._time(row, "at"), self._end(row)
        parts = {role: text_of(row, self.roles[role]) if role in self.roles else "" for role in _TEXTS}
        own = text_of(row, self.roles["zone"]) if "zone" in self.roles else ""
        if own and not (own in ABBREVIATIONS or is_offset(own) or named_zone(own)):
            when = Trouble("refused", "zone", f"{own[:40]!r} is no zone that is known: write an offset such as -07:00")
        return Entry(
            when, parts["text"], line, place, until, parts["service"], parts["kind"], parts["source"], parts["status"],
            own or self.zones["at"] or self.zones.get("date", "") or self.zones.get("end", "") or zone, day, series,
            note=parts["note"],
        )  # fmt: skip

    def _time(self, row: Mapping[str, Any], role: str) -> Span | Trouble | None:
        value = row.get(self.roles[role])
        if "date" in self.roles:
            day = text_of(row, self.roles["date"])
            text = text_of(row, self.roles[role])
            if day and text:
                both = read_cell(f"{day} {text}")
                # A time that has its own date needs no other.
                return read_cell(text) if isinstance(both, Trouble) else both
            value = text or day
        return read_cell(value)

    def _end(self, row: Mapping[str, Any]) -> Span | Trouble | None:
        return read_cell(row.get(self.roles["end"])) if "end" in self.roles else None


_TEXTS = ("text", "note", "service", "kind", "source", "status")
