"""Plain JSON records and JSON Lines: each with a time and a text under any reasonable names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from afterload.readers.columns import Columns
from afterload.readers.entries import Entry, Node, Notes
from afterload.readers.entries import JsonFormat as Format

__all__ = ["FORMAT"]


def _fits(value: Any) -> bool:
    if isinstance(value, dict):
        return _columns(value) is not None
    return isinstance(value, list) and any(isinstance(item, dict) and _columns(item) is not None for item in value)


def _columns(record: dict[str, Any]) -> Columns | None:
    return Columns.of([name for name, value in record.items() if not isinstance(value, list)])


def _entries(node: Node, notes: Notes) -> Iterator[Entry]:
    if isinstance(node.value, dict):
        yield from _record(node, notes, {})
        return
    known: dict[tuple[str, ...], Columns | None] = {}
    for place, item in enumerate(node.value):
        child = node.child(place)
        if isinstance(item, dict):
            yield from _record(child, notes, known)
        else:
            notes.add("refused", f"{_place(child)}is no record with a time and a text", child.line, "no record")


def _record(node: Node, notes: Notes, known: dict[tuple[str, ...], Columns | None]) -> Iterator[Entry]:
    names = tuple(node.value)
    if names not in known:
        known[names] = columns = _columns(node.value)
        if columns is not None and len(known) == 1:
            columns.note_unused(notes)
    columns = known[names]
    if columns is None:
        listed = ", ".join(names)[:80]
        notes.add(
            "refused",
            f"{_place(node)}has no time and text: its fields are {listed or 'none'}",
            node.line,
            "no record",
        )
        return
    yield columns.entry(node.value, node.line, node.pointer)


def _place(node: Node) -> str:
    return "" if node.line else f"{node.pointer}: "


FORMAT = Format("JSON records or JSON Lines with a time and a text", 100, _fits, _entries)
