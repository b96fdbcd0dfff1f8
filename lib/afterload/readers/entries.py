"""What the reader of a format hands on: entries whose times are written but not settled yet, and notes for people."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from afterload.errors import InputError
from afterload.readers.reading import Remark
from afterload.readers.source import SourceFile
from afterload.readers.times import Span, Trouble, Written

__all__ = ["Entry", "JsonFormat", "Node", "Notes", "TextFormat", "text_of"]

Kind = Literal["refused", "partial", "doubt", "ask"]
# Remarks that are alike beyond these are counted, not listed.
MOST_ALIKE = 5
MAX_TEXT = 100_000
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line, row or record of a timeline as it stands.

    Attributes:
        when: its time or range, or why there is none.
        until: the time in a column of its own at which it ended.
        text, service, kind, source, status: as written.
        line: line of the file, 0 where a format has none.
        place: where it stands, for people.
        zone: the zone that the file states for this column or list; empty where it states none.
        day: the date in the heading above it.
        series: entries of one list or table, where a clock alone may run past midnight; 0: stands for itself.
        maintenance: planned work, which is kept apart.
        note: what to know about it, as written.
    """

    when: Span | Trouble | None
    text: str
    line: int
    place: str
    until: Span | Trouble | None = None
    service: str = ""
    kind: str = ""
    source: str = ""
    status: str = ""
    zone: str = ""
    day: Written | None = None
    series: int = 0
    maintenance: bool = False
    note: str = ""


@dataclass
class Notes:
    """Remarks about one file, in the order in which they come up; many that are alike become one."""

    file: str
    found: list[tuple[str, Remark]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    unlisted: dict[str, list[int]] = field(default_factory=dict)

    def add(self, kind: Kind, text: str, line: int = 0, topic: str = "") -> None:
        """Note one thing; ``topic`` says what it is like."""
        key = f"{kind} {topic or text}"
        self.counts[key] += 1
        if self.counts[key] <= MOST_ALIKE:
            self.found.append((key, Remark(kind, text, self.file, line)))
        elif line:
            self.unlisted.setdefault(key, []).append(line)

    def take(self, other: Notes) -> None:
        """The notes of a reader that fitted."""
        self.found += other.found
        self.counts += other.counts
        self.unlisted |= other.unlisted

    def trouble(self, entry: Entry, trouble: Trouble) -> None:
        """Note why an entry is not in the result."""
        place = "" if entry.line else f"{entry.place}: "
        self.add("ask" if trouble.kind == "ask" else "refused", f"{place}{trouble.text}", entry.line, trouble.topic)

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """All of them, with the number of those that are not listed."""
        more = []
        for key, count in self.counts.items():
            if count > MOST_ALIKE:
                like = next(remark for name, remark in self.found if name == key)
                lines = f" (lines {_spans(self.unlisted[key])})" if key in self.unlisted else ""
                more.append(Remark(like.kind, f"{count - MOST_ALIKE:,} more like this: {like.text}{lines}", self.file))
        return (*(remark for _, remark in self.found), *more)


def _spans(lines: list[int]) -> str:
    """Line numbers in their order, those that follow each other as one span."""
    spans: list[list[int]] = []
    for line in sorted(lines):
        if spans and line <= spans[-1][1] + 1:
            spans[-1][1] = line
        else:
            spans.append([line, line])
    return ", ".join(f"{first}" if first == last else f"{first} to {last}" for first, last in spans)


@dataclass(frozen=True)
class Node:
    """A value inside a JSON document, and where it stands; ``lines`` has the line of each item of a JSON Lines file."""

    value: Any
    pointer: str = ""
    lines: tuple[int, ...] = ()

    def child(self, key: str | int) -> Node:
        """A value of an object, or an item of a list."""
        if isinstance(key, int):
            place = f"line {self.lines[key]}" if self.lines else f"{self.pointer}[{key}]"
            return Node(self.value[key], place)
        return Node(self.value[key], f"{self.pointer}.{key}".lstrip("."))

    def items(self) -> Iterator[Node]:
        """The items of a list that are objects."""
        if isinstance(self.value, list):
            yield from (self.child(place) for place, item in enumerate(self.value) if isinstance(item, dict))

    @property
    def line(self) -> int:
        """Line of the file, for an item of a JSON Lines file; else 0."""
        return int(self.pointer[5:]) if re.fullmatch("line [0-9]+", self.pointer) else 0


@dataclass(frozen=True)
class TextFormat:
    """A format of lines. One module of :mod:`afterload.readers.timelines` has one as ``FORMAT``; it is found by itself.

    Attributes:
        name: for people.
        order: those with a smaller one are tried first.
        entries: reads a file; None where the file is none of this format.
    """

    name: str
    order: int
    entries: Callable[[SourceFile, Notes], list[Entry] | None]


@dataclass(frozen=True)
class JsonFormat:
    """A format inside JSON, found wherever it stands in the document.

    Attributes:
        name: for people.
        order: those with a smaller one are tried first; from 100 on they are tried only where nothing else fits.
        fits: whether a value is of this format, told from its form alone.
        entries: reads such a value.
    """

    name: str
    order: int
    fits: Callable[[Any], bool]
    entries: Callable[[Node, Notes], Iterable[Entry]]


def text_of(record: Mapping[str, Any], *names: str) -> str:
    """The first of some fields that holds text or a number; a reference to something else gives that one's name."""
    for name in names:
        value: Any = record
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if isinstance(value, str) and value.strip():
            return value.strip()
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value) if abs(value) < 1e18 else ""
    return ""


def clean(text: str, notes: Notes, line: int) -> str:
    """Text without what no file can hold, and of bounded length; markup stays as it is."""
    text = text.strip()
    if not text.isprintable():
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if _UNPRINTABLE.search(text):
            text = _UNPRINTABLE.sub("\ufffd", text)
            notes.add("doubt", "holds control characters, which are shown as \ufffd", line, "control characters")
    if len(text) > MAX_TEXT:
        notes.add("doubt", f"a text of {len(text):,} characters is cut at {MAX_TEXT:,}", line, "long text")
        text = text[:MAX_TEXT].rstrip()
    return text


def whole_text(source: SourceFile) -> str:
    """The text of a file. Raises :class:`InputError` where it is empty or holds a zero byte."""
    if not source.text.strip():
        raise InputError(f"{source.name}: is empty: export the timeline again")
    place = source.text.find("\0")
    if place >= 0:
        raise InputError(f"{source.name} line {source.line(place)}: holds a zero byte: save it as UTF-8 text")
    return source.text
