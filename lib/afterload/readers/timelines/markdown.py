"""Timelines in Markdown or plain text: tables, lists, headings and paragraphs whose lines begin with a time.

markdown-it-py finds the blocks and their lines; text inside them is kept as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from markdown_it import MarkdownIt
from markdown_it.token import Token

from afterload.readers.columns import Columns, stated_zone
from afterload.readers.entries import Entry, Notes, TextFormat
from afterload.readers.source import SourceFile
from afterload.readers.timelines.csv_table import note_cut
from afterload.readers.times import Span, Written, date_alone, dates_in, scan, shown

__all__ = ["FORMAT"]

# Where a line's time stands, if it has one.
MOST_LEAD = 200
_RUN = re.compile(r"\*+|~~|`+|(?<!\w)_+|_+(?!\w)")
_MARKUP = re.compile(rf"{_RUN.pattern}|\[|\]\([^)\s]*\)|\]")
_CLOSING = re.compile(r"(?:[*`]+|~~|_+(?!\w)|\]\([^)\s]*\)|\])+")
_LIKE_TIME = re.compile(r"[\W_]{0,4}(?:[0-9]{1,2}:[0-9]{2}|[0-9]{5,}-[0-9]{1,2}-[0-9]{1,2})(?![0-9])")
_TASK = re.compile(r"\[[ xX]\]\s+")
_SEPARATOR = re.compile(r"\s*(?:[:;,|.]|-{1,2}|–|—|=>|->|→)?\s*")
_STATES_ZONE = re.compile(
    r"\btimes?\b[^.\n]{0,40}?\b(?:in|are|is|=|:)\s*[^.\n]{0,40}|\b(?:timeline|times)\s*\([^)\n]*\)", re.IGNORECASE
)


@dataclass
class _Page:
    """What was seen so far, from the top of the page.

    Clocks run on from list to list: a midnight may lie between two lists or headings. A date above a list starts anew.
    What stands below a heading with a time, quotes included, is the text of its entry: ``level`` is that heading's, 0 for none.
    """

    notes: Notes
    entries: list[Entry] = field(default_factory=list)
    timeless: list[tuple[int, int, str]] = field(default_factory=list)
    timed: set[int] = field(default_factory=set)
    day: Written | None = None
    zone: str = ""
    block: int = 0
    series: int = 1
    level: int = 0


def _entries(source: SourceFile, notes: Notes) -> list[Entry] | None:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("inline")
    tokens = parser.parse(source.text)
    page = _Page(notes)
    _walk(tokens, page)
    if not page.entries:
        return None
    for block, line, text in page.timeless:
        if block in page.timed:
            notes.add(
                "refused", f"{shown(text)} has no time and stands in a list of times: write its time", line, "no time"
            )
    note_cut(source.text, notes, source.text.count("\n") + 1)
    return page.entries


def _walk(tokens: Sequence[Token], page: _Page) -> None:
    """Blocks in order: headings set the day, lists and paragraphs and tables give entries."""
    place, depth, heading, quotes = 0, 0, 0, 0
    item_has_entry: list[bool] = []
    while place < len(tokens):
        token = tokens[place]
        if token.type in ("bullet_list_open", "ordered_list_open"):
            page.block += depth == 0
            depth += 1
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            depth -= 1
            page.block += depth == 0
        elif token.type == "list_item_open":
            item_has_entry.append(False)
        elif token.type == "list_item_close" and item_has_entry:
            item_has_entry.pop()
        elif token.type in ("heading_open", "heading_close"):
            heading = int(token.tag[1:]) if token.type == "heading_open" else 0
        elif token.type in ("blockquote_open", "blockquote_close"):
            quotes += 1 if token.type == "blockquote_open" else -1
        elif token.type == "table_open":
            end = next(n for n in range(place, len(tokens)) if tokens[n].type == "table_close")
            _table(tokens[place:end], page)
            place = end
        elif token.type in ("fence", "code_block"):
            _not_read(token, page, "a code block")
        elif token.type == "inline":
            if quotes and not heading:
                _quote(token, page, bool(page.level or any(item_has_entry)))
            else:
                _text(token, page, heading, item_has_entry)
        place += 1


def _quote(token: Token, page: _Page, is_in_entry: bool) -> None:
    """Quoted text is no entry of its own: it belongs to the one in which it stands."""
    if is_in_entry:
        _append(page, "\n".join(f"> {line.strip()}" for line in token.content.split("\n")))
    else:
        _not_read(token, page, "quoted text")


def _text(token: Token, page: _Page, heading: int, item_has_entry: list[bool]) -> None:
    line = (token.map or [0])[0] + 1
    _state(token.content, page)
    bare = token.content.strip().strip("*_`#: ")
    day = _day_of(bare)
    if day is not None:
        page.day = day
        page.series += 1
        page.level = 0 if heading else page.level
        return
    if heading:
        _heading(token, line, heading, page)
        return
    if not item_has_entry:
        _paragraph(token.content, line, page)
    elif item_has_entry[-1]:
        _append(page, token.content)
    else:
        found = _lead(token.content)
        if found is not None:
            item_has_entry[-1] = True
            _add(page, found[0], found[1], line)
        elif any(item_has_entry):
            _append(page, token.content)
        elif page.level:
            _append(page, f"- {token.content}")
        else:
            page.timeless.append((page.block, line, token.content))


def _heading(token: Token, line: int, level: int, page: _Page) -> None:
    """A heading that begins with a time is an entry; one as high as that, or higher, ends it; a title may name the day."""
    found = _lead(token.content)
    if found is not None:
        _add(page, found[0], found[1], line)
        page.level = level
    elif page.level and level > page.level:
        _append(page, token.content)
    else:
        _unread(token.content, line, page)
        page.level = 0
        days = dates_in(token.content) if level == 1 else []
        page.day = days[0] if len(days) == 1 else page.day


def _day_of(text: str) -> Written | None:
    """A date that stands alone, or at the end of a heading such as "Timeline, 20 October 2025"; with a year or a month's name."""
    words = text.split() if scan(text) is None else []
    for first in range(min(len(words), 6)):
        day = date_alone(" ".join(words[first:]).strip("()"))
        if day is not None and re.search(r"[0-9]{4}|[A-Za-z]{3}", day.text):
            alone = first == 0 or len(words) <= 8
            return day if alone else None
    return None


def _state(text: str, page: _Page) -> None:
    match = None if len(text) > 500 else _STATES_ZONE.search(text)
    zone = stated_zone(match[0]) if match is not None else ""
    if zone and scan(text) is None:
        page.zone = zone


def _paragraph(content: str, line: int, page: _Page) -> None:
    """Lines that begin with a time, and the lines that go on with their text."""
    started = page.level > 0
    for number, text in enumerate(content.split("\n")):
        found = _lead(text)
        if found is not None:
            started = True
            _add(page, found[0], found[1], line + number)
        elif started:
            _append(page, text)
        else:
            _unread(text, line + number, page)


def _unread(text: str, line: int, page: _Page) -> None:
    """Name a line that begins like a time and is none."""
    if _LIKE_TIME.match(text):
        page.notes.add("refused", f"{shown(text)} does not begin with a time that can be read", line, "not a time")


def _lead(content: str) -> tuple[Span, str] | None:
    """The time that a text begins with, and the rest without the signs that set it apart."""
    text = content.lstrip()
    task = _TASK.match(text)
    text = text[task.end() :] if task else text
    bare, places = _bare(text)
    found = scan(bare)
    if found is None:
        return None
    end = places[found[1] - 1] + 1
    closing = _CLOSING.match(text, end)
    end = closing.end() if closing else end
    separator = _SEPARATOR.match(text, end)
    rest = text[separator.end() if separator else end :]
    if separator is not None and not separator[0] and rest[:1].isalnum():
        return None  # 10:30am, 14:05h: not the time alone
    for run in _open_runs(text[:end]):
        # **02:25 PDT:** text, or **02:25 all of it bold**
        rest = rest.removeprefix(run).lstrip() if rest.startswith(run) else rest.rstrip().removesuffix(run)
    return found[0], rest.strip()


def _bare(text: str) -> tuple[str, list[int]]:
    """The beginning of a text without its markup, and the place in the text of each character that is left."""
    kept: list[int] = []
    place = 0
    top = text[:MOST_LEAD]
    for match in _MARKUP.finditer(top):
        kept += range(place, match.start())
        place = match.end()
    kept += range(place, len(top))
    return "".join(top[at] for at in kept), kept


def _open_runs(text: str) -> list[str]:
    """Runs of signs that begin bold, italic or code and have not ended."""
    runs: list[str] = []
    for match in _RUN.finditer(text):
        if match[0] in runs:
            runs.remove(match[0])
        else:
            runs.append(match[0])
    return runs[::-1]


def _add(page: _Page, span: Span, text: str, line: int) -> None:
    plain = " ".join(part.strip() for part in text.split("\n"))
    page.timed.add(page.block)
    page.entries.append(Entry(span, plain, line, f"line {line}", zone=page.zone, day=page.day, series=page.series))


def _append(page: _Page, text: str) -> None:
    """More text of the last entry."""
    if page.entries:
        last = page.entries[-1]
        more = " ".join(part.strip() for part in text.split("\n"))
        page.entries[-1] = replace(last, text=f"{last.text}\n{more}" if last.text else more)


def _not_read(token: Token, page: _Page, what: str) -> None:
    count = sum(scan(text.strip()) is not None for text in token.content.split("\n"))
    if count:
        line = (token.map or [0])[0] + 1
        page.notes.add("doubt", f"{what} with {count:,} lines that begin with a time is not read: make it a list", line)


def _table(tokens: Sequence[Token], page: _Page) -> None:
    lines = list(_cells(tokens))
    names = [name.strip("*_` ") for name in lines[0][1]]
    columns = Columns.of(names)
    if columns is None:
        page.notes.add(
            "doubt",
            f"a table with the columns {shown(', '.join(names))} is not read: it names no time and text",
            lines[0][0],
        )
        return
    columns.note_unused(page.notes)
    timed = {columns.roles[role] for role in ("at", "date", "end") if role in columns.roles}
    for line, cells in lines[1:]:
        if not any(cell.strip() for cell in cells):
            continue
        row = dict(zip(reversed(names), reversed(cells), strict=True))
        row |= {name: _MARKUP.sub("", row[name]) for name in timed}
        page.entries.append(columns.entry(row, line, f"line {line}", day=page.day, series=page.series, zone=page.zone))


def _cells(tokens: Sequence[Token]) -> Iterator[tuple[int, list[str]]]:
    line = 0
    cells: list[str] = []
    for token in tokens:
        if token.type == "tr_open":
            line, cells = (token.map or [0])[0] + 1, []
        elif token.type == "inline":
            cells.append(token.content)
        elif token.type == "tr_close":
            yield line, cells


FORMAT = TextFormat("Markdown or plain text with times", 30, _entries)
