"""JSON documents as exports have them: whole, one record a line, wrapped in responses, or as text inside text."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from typing import Any

from afterload.errors import InputError
from afterload.readers.entries import JsonFormat, Node, Notes
from afterload.readers.source import SourceFile

__all__ = ["matching", "read_document"]

MOST_DEPTH = 6
MOST_NODES = 20_000


def read_document(source: SourceFile, notes: Notes) -> Node | None:
    """The document of a JSON or JSON Lines file; None where it does not begin like one.

    Raises :class:`InputError` with the line where it is broken.
    """
    text = source.text.strip()
    if not text.startswith(("{", "[", '"')):
        return None
    try:
        return _unpacked(Node(_parse(text)))
    except (ValueError, RecursionError) as problem:
        lines = _lines(source, notes)
        if lines is not None:
            return lines
        if text.startswith('"'):
            return None  # a CSV file whose first name is in quotes
        raise InputError(f"{source.name}{_where(source, problem)}: export it again, whole") from None


def _parse(text: str) -> Any:
    return json.loads(text, parse_constant=_no_number)


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _where(source: SourceFile, problem: Exception) -> str:
    if isinstance(problem, json.JSONDecodeError):
        lead = len(source.text) - len(source.text.lstrip())
        return f" line {source.line(lead + problem.pos)}: is not whole JSON ({problem.msg})"
    reason = "nested too deeply" if isinstance(problem, RecursionError) else str(problem)[:80]
    return f": is not JSON that can be read ({reason})"


def _lines(source: SourceFile, notes: Notes) -> Node | None:
    """One record a line; None unless most of the lines are records."""
    values: list[Any] = []
    places: list[int] = []
    broken: list[int] = []
    for number, line in enumerate(source.text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = _parse(line)
        except (ValueError, RecursionError):
            broken.append(number)
            continue
        values.append(value)
        places.append(number)
    if 2 * sum(isinstance(value, dict | list) for value in values) <= len(values) + len(broken):
        return None
    last = source.text.rstrip().count("\n") + 1
    for number in broken:
        if number == last:
            notes.add("partial", "the last line is not whole JSON: the file is cut off; export it again", number)
        else:
            notes.add("refused", "is not whole JSON: correct the line or export it again", number, "broken line")
    return Node(values, "", tuple(places))


def _unpacked(node: Node) -> Node:
    """A text that holds a JSON document, as that document."""
    for _ in range(3):
        value = node.value
        if not isinstance(value, str) or not value.lstrip().startswith(("{", "[", '"')):
            break
        try:
            node = Node(_parse(value), f"{node.pointer} (JSON in text)".strip())
        except (ValueError, RecursionError):
            break
    return node


def matching(root: Node, formats: Sequence[JsonFormat]) -> list[tuple[JsonFormat, Node]]:
    """Every value in a document that one of some formats fits, the outermost ones, in the order of the document."""
    found: list[tuple[JsonFormat, Node]] = []
    queue = deque([(root, 0)])
    seen = 0
    while queue and seen < MOST_NODES:
        node, depth = queue.popleft()
        seen += 1
        node = _unpacked(node)
        fitting = next((each for each in formats if each.fits(node.value)), None)
        if fitting is not None:
            found.append((fitting, node))
        elif depth < MOST_DEPTH and isinstance(node.value, dict):
            queue.extend((node.child(key), depth + 1) for key in node.value)
        elif depth < MOST_DEPTH and isinstance(node.value, list):
            queue.extend((node.child(place), depth + 1) for place in range(min(len(node.value), MOST_NODES)))
    return found
