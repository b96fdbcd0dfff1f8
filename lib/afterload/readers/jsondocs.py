"""Every JSON document in one text: several after each other, between shell prompts and log lines, or cut off at the end.

Nothing is mended by guessing. Of a document that is cut off, what stands before the last whole element of its outermost
open list is given (where no list is open, before the last whole member), and the document says that it is cut: elements
of its lists are whole, objects that are in no list may not be.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Command", "Document", "Documents", "read_documents"]

Hook = Callable[[list[tuple[str, Any]]], Any]

# A document begins at the beginning of a line; so do prompts in brackets, which then fail at once.
_START = re.compile(r"^[ \t]*(?=[\[{])", re.MULTILINE)
_UNINDENTED = re.compile(r"^(?=[\[{])", re.MULTILINE)
# The end of a text, or a number or word that may have been cut off there.
_LAST_WORD = re.compile(r"[\w.+-]{0,20}\s*\Z")
_HERE = re.compile(r"(?=[\[{])")
# What a list of an export can begin with, unlike a prompt or a date in brackets.
_LIST = re.compile(r'\[\s*(?:["\[{\]]|\Z)')
_BLANK = re.compile(r"[\s,]*")
# A string (closed or not), or one character of structure.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{},]', re.DOTALL)
_CLOSERS = {"[": "]", "{": "}"}
_CONTINUED = re.compile(r"[\\`^][ \t]*\r?\n[ \t>]*")
_COMMAND = re.compile(
    r"\baws[ \t]+((?:--?[\w-]+[ \t=]+\S+[ \t]+)*)([a-z][a-z0-9-]*)[ \t]+([a-z][a-z0-9-]*)\b([^\n\r|;&]*)"
)
# The options of a command that say what its output is about; no other part of a command is kept.
_OPTIONS = ("function-name", "target-group-arn", "queue-url", "state-machine-arn", "table-name")


@dataclass(frozen=True)
class Command:
    """An ``aws`` command that stood in the text before its output: service, operation, and what it asked about."""

    service: str
    operation: str
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Document:
    """One JSON document.

    Attributes:
        value: what it holds; of a document that is cut off, the part that is whole.
        line: its first line in the text, from 1.
        cut: why the rest of it could not be read, with its line; empty for a whole document.
        command: the last ``aws`` command between the document before and this one; None where there is none.
    """

    value: Any
    line: int
    cut: str = ""
    command: Command | None = None


@dataclass(frozen=True)
class Noise:
    """Text around the documents: its first line that is not blank, and all of it."""

    line: int
    text: str


@dataclass(frozen=True)
class Documents:
    """All documents of a text.

    Attributes:
        found: those that could be read, in order.
        problems: line and reason of each part that begins as JSON and is not.
        noise: the text between them.
    """

    found: tuple[Document, ...] = ()
    problems: tuple[tuple[int, str], ...] = ()
    noise: tuple[Noise, ...] = ()


class _Lines:
    """Line numbers of rising offsets, counted once over the text."""

    def __init__(self, text: str) -> None:
        self.text, self.offset, self.line = text, 0, 1

    def at(self, offset: int) -> int:
        if offset < self.offset:
            return self.text.count("\n", 0, offset) + 1
        self.line += self.text.count("\n", self.offset, offset)
        self.offset = offset
        return self.line


def read_documents(text: str, hook: Hook | None = None, constant: Callable[[str], Any] = str) -> Documents:
    """Find and read every JSON document of a text.

    Args:
        text: the whole text.
        hook: called with the members of each object, innermost first; gives what stands for it. By default a dict.
        constant: what stands for NaN and Infinity, which are not JSON; by default their text.
    """
    decoder = json.JSONDecoder(object_pairs_hook=hook, parse_constant=constant)
    lines = _Lines(text)
    found: list[Document] = []
    problems: list[tuple[int, str]] = []
    noise: list[Noise] = []
    position, search, command = 0, _START, None

    def passed(stop: int) -> Command | None:
        """Keep the text up to an offset as noise; give the last command in it."""
        chunk = text[position:stop]
        if not chunk.strip():
            return None
        blank = len(chunk) - len(chunk.lstrip())
        noise.append(Noise(lines.at(position + blank), chunk.strip()))
        return _last_command(chunk)

    scan = 0
    while match := search.search(text, scan):
        start = match.end()
        value, end, problem, cut = _decoded(decoder, text, start)
        if problem == _NOT_JSON:
            scan, search = _next_line(text, start), _START if search is _HERE else search
            continue
        command, line = passed(match.start()), lines.at(start)
        search = _START
        if not problem:
            found.append(Document(value, line, "", command))
        else:
            reason = f"{problem} at line {lines.at(end)}"
            if cut is None:
                problems.append((line, reason))
            else:
                found.append(Document(cut[0], line, reason, command))
            # Lists and objects within the broken document are indented: the next document is not.
            search = _UNINDENTED
        position = scan = end
        following = _BLANK.match(text, end)
        if not problem and following and text[following.end() : following.end() + 1] in ("{", "["):
            # Documents without a line break between them.
            position = scan = following.end()
            search = _HERE
    if position < len(text):
        passed(len(text))
    return Documents(tuple(found), tuple(problems), tuple(noise))


_NOT_JSON = "not JSON"


def _decoded(decoder: json.JSONDecoder, text: str, start: int) -> tuple[Any, int, str, tuple[Any] | None]:
    """Value, end, problem, and the whole part of a document with a problem (None: no part is whole)."""
    try:
        value, end = decoder.raw_decode(text, start)
    except json.JSONDecodeError as error:
        if text[start] == "[" and not _LIST.match(text, start):
            return None, start, _NOT_JSON, None
        at_end = error.msg.startswith("Unterminated string") or _LAST_WORD.match(text, error.pos) is not None
        stop = len(text) if at_end else error.pos
        problem = "is cut off" if at_end else f"is broken ({error.msg[:1].lower()}{error.msg[1:]})"
        return None, stop, problem, _whole_part(decoder, text, start, stop)
    except RecursionError:
        return None, len(text), "is nested too deeply", None
    except ValueError:
        # The one other refusal of the standard library: a number of thousands of digits.
        return None, len(text), "holds a number of too many digits", None
    if value and isinstance(value, list) and not any(isinstance(item, dict | list | str) for item in value):
        # The number of a job in a shell, rather than an export.
        return None, start, _NOT_JSON, None
    return value, end, "", None


def _whole_part(decoder: json.JSONDecoder, text: str, start: int, stop: int) -> tuple[Any] | None:
    """What is whole of a document that breaks off: up to the last element of its outermost open list, else the last member."""
    # Each open list or object: its bracket, and the end of the last thing in it that is whole.
    frames: list[tuple[str, int]] = []
    for token in _TOKEN.finditer(text, start, stop):
        mark = token.group()[0]
        if mark == '"':
            continue
        if mark in _CLOSERS:
            frames.append((mark, token.end()))
            continue
        if mark == ",":
            end = token.start()
        else:
            if not frames or _CLOSERS[frames.pop()[0]] != mark:
                return None
            end = token.end()
        if not frames:
            return None
        frames[-1] = (frames[-1][0], end)
    if not frames:
        return None
    depth = next((place for place, (mark, _) in enumerate(frames) if mark == "["), len(frames) - 1)
    closers = "".join(_CLOSERS[mark] for mark, _ in reversed(frames[: depth + 1]))
    try:
        return (decoder.decode(text[start : frames[depth][1]] + closers),)
    except (ValueError, RecursionError):
        return None


def _next_line(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end + 1


def _last_command(chunk: str) -> Command | None:
    """The last ``aws`` command of a text, continued lines joined."""
    commands = list(_COMMAND.finditer(_CONTINUED.sub(" ", chunk)))
    if not commands:
        return None
    last = commands[-1]
    try:
        words = shlex.split(last.group(4))
    except ValueError:
        words = last.group(4).split()
    options: dict[str, str] = {}
    for place, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name.removeprefix("--") in _OPTIONS and name.startswith("--"):
            value = value if equals else "".join(words[place + 1 : place + 2])
            if value and value.isprintable():
                options[name.removeprefix("--")] = value
    return Command(last.group(2), last.group(3), options)
