"""PagerDuty: log entries of incidents, as the REST API and its command-line tools export them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from afterload.readers.entries import Entry, JsonFormat, Node, Notes, text_of
from afterload.readers.times import read_cell

__all__ = ["FORMAT"]

_STATUS = {"trigger": "triggered", "acknowledge": "acknowledged", "resolve": "resolved", "unacknowledge": "triggered"}


def _is_entry(value: Any) -> bool:
    kind = value.get("type") if isinstance(value, dict) else None
    return isinstance(kind, str) and kind.removesuffix("_reference").endswith("_log_entry") and "created_at" in value


def _fits(value: Any) -> bool:
    if isinstance(value, dict):
        listed = value.get("log_entries")
        return (isinstance(listed, list) and any(map(_is_entry, listed))) or _is_entry(value)
    return isinstance(value, list) and any(map(_is_entry, value))


def _entries(node: Node, notes: Notes) -> Iterator[Entry]:
    if isinstance(node.value, dict) and node.value.get("more") is True:
        notes.add("partial", "says that there is more: export the following pages too")
    if _is_entry(node.value):
        items = [node]
    else:
        items = list((node.child("log_entries") if isinstance(node.value, dict) else node).items())
    for item in items:
        record = item.value
        kind = text_of(record, "type").removesuffix("_reference").removesuffix("_log_entry")
        yield Entry(
            read_cell(record.get("created_at")),
            _text(record, kind),
            item.line,
            item.pointer,
            service=text_of(record, "service.summary", "incident.service.summary"),
            kind=kind,
            source=text_of(record, "agent.summary"),
            status=_STATUS.get(kind, ""),
        )


def _text(record: dict[str, Any], kind: str) -> str:
    """What happened; a note's own words, and at the trigger what it was about."""
    parts = [text_of(record, "summary")]
    if kind in ("annotate", "trigger"):
        parts.append(text_of(record, "channel.summary", "channel.subject"))
    if kind == "trigger":
        parts.append(text_of(record, "incident.summary"))
    said: list[str] = []
    for part in parts:
        if part and part not in said:
            said.append(part)
    return ": ".join([part.rstrip(".") for part in said[:-1]] + said[-1:])


FORMAT = JsonFormat("PagerDuty log entries", 11, _fits, _entries)
