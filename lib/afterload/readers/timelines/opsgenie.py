"""Opsgenie: the log of an alert, and the timeline of an incident, as its API exports them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from afterload.readers.entries import Entry, JsonFormat, Node, Notes, text_of
from afterload.readers.times import read_cell

__all__ = ["FORMAT"]


def _is_log(value: Any) -> bool:
    return isinstance(value, dict) and "log" in value and "createdAt" in value


def _is_timeline(value: Any) -> bool:
    return isinstance(value, dict) and "eventTime" in value and ("description" in value or "title" in value)


def _is_entry(value: Any) -> bool:
    return _is_log(value) or _is_timeline(value)


def _list_of(value: Any) -> str | None:
    """The field that has the entries."""
    if not isinstance(value, dict):
        return None
    return next((name for name in ("data", "entries", "logs") if _is_list(value.get(name))), None)


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and any(map(_is_entry, value))


def _fits(value: Any) -> bool:
    return _is_list(value) or _list_of(value) is not None


def _entries(node: Node, notes: Notes) -> Iterator[Entry]:
    name = _list_of(node.value)
    if isinstance(node.value, dict):
        paging = node.value.get("paging")
        if (isinstance(paging, dict) and paging.get("next")) or node.value.get("nextOffset"):
            notes.add("partial", "names a next page: export the following pages too")
    for item in (node if name is None else node.child(name)).items():
        record = item.value
        is_log = _is_log(record)
        yield Entry(
            read_cell(record.get("createdAt" if is_log else "eventTime")),
            text_of(
                record, *(("log",) if is_log else ("description.content", "title.content", "description", "title"))
            ),
            item.line,
            item.pointer,
            kind=text_of(record, "type"),
            source=text_of(record, *(("owner",) if is_log else ("actor.name", "actor"))),
            status=text_of(record, "status"),
        )


FORMAT = JsonFormat("Opsgenie alert log or incident timeline", 12, _fits, _entries)
