"""Statuspage: ``incidents.json``, ``summary.json`` or one incident, with its updates; planned maintenance apart.

The incident gives one event from its start to its end, each of its updates another. Form: Statuspage's public status API.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from afterload.readers.entries import Entry, JsonFormat, Node, Notes, text_of
from afterload.readers.times import read_cell

__all__ = ["FORMAT"]

_PLANNED = frozenset({"scheduled", "in_progress", "verifying", "completed"})
_OVER = frozenset({"resolved", "postmortem", "completed"})
_LISTS = ("incidents", "scheduled_maintenances")


def _is_incident(value: Any) -> bool:
    return isinstance(value, dict) and "name" in value and isinstance(value.get("incident_updates"), list)


def _fits(value: Any) -> bool:
    if isinstance(value, dict):
        return _is_incident(value) or any(
            isinstance(value.get(name), list) and any(map(_is_incident, value[name])) for name in _LISTS
        )
    return isinstance(value, list) and any(map(_is_incident, value))


def _entries(node: Node, notes: Notes) -> Iterator[Entry]:
    if isinstance(node.value, list):
        incidents = list(node.items())
    elif _is_incident(node.value):
        incidents = [node]
    else:
        incidents = [item for name in _LISTS if name in node.value for item in node.child(name).items()]
    page = text_of(node.value, "page.name") if isinstance(node.value, dict) else ""
    for incident in incidents:
        yield from _incident(incident, page or "Statuspage")


def _incident(node: Node, page: str) -> Iterator[Entry]:
    record = node.value
    status = text_of(record, "status")
    planned = bool(record.get("scheduled_for")) or status in _PLANNED or record.get("impact") == "maintenance"
    services = _names(record.get("components"))
    updates = list(node.child("incident_updates").items()) if isinstance(record.get("incident_updates"), list) else []
    start = text_of(record, "scheduled_for" if planned else "started_at", "started_at", "created_at")
    end = text_of(record, "scheduled_until" if planned else "resolved_at", "resolved_at")
    if not end and status in _OVER:
        # The update that closed it tells when.
        end = next(
            (text_of(each.value, "display_at", "created_at") for each in updates if each.value.get("status") in _OVER),
            "",
        )
    kind = "maintenance" if planned else "incident"
    yield Entry(
        read_cell(start), text_of(record, "name"), node.line, node.pointer, read_cell(end), services, kind, page, status,
        maintenance=planned,
    )  # fmt: skip
    for update in updates:
        yield Entry(
            read_cell(text_of(update.value, "display_at", "created_at")),
            text_of(update.value, "body") or text_of(record, "name"),
            update.line or node.line,
            update.pointer,
            service=_names(update.value.get("affected_components")) or services,
            kind="update",
            source=page,
            status=text_of(update.value, "status"),
            maintenance=planned,
        )


def _names(components: Any) -> str:
    items = components if isinstance(components, list) else []
    return ", ".join(name for item in items if isinstance(item, dict) and (name := text_of(item, "name")))


FORMAT = JsonFormat("Statuspage incidents", 10, _fits, _entries)
