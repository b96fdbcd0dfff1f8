"""Write one timeline in the form of each tool, for the round trips and as sound files to spoil."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from afterload.readers.timeline import Event, to_csv


def iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def as_table(events: Sequence[Event], delimiter: str = ";") -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\r\n")
    writer.writerow(("Start", "End", "Component", "Type", "Author", "Status", "Description"))
    writer.writerows((iso(e.at), iso(e.end) or "", e.service, e.kind, e.source, e.status, e.text) for e in events)
    return out.getvalue()


def as_json_lines(events: Sequence[Event]) -> str:
    fields = ("service", "kind", "source", "status", "text")
    rows = ({"start": iso(e.at), "end": iso(e.end), **{name: getattr(e, name) for name in fields}} for e in events)
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def as_markdown_table(events: Sequence[Event]) -> str:
    rows = [("Start", "End", "Service", "Kind", "Author", "Status", "Event"), ("-",) * 7]
    rows += [(str(iso(e.at)), iso(e.end) or "-", e.service, e.kind, e.source, e.status, e.text) for e in events]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in rows)


def as_markdown_list(events: Sequence[Event]) -> str:
    lines = (f"- **{iso(e.at)}**{f' – {iso(e.end)}' if e.end else ''}: {e.text}" for e in events)
    return "# What happened\n\n" + "\n".join(lines) + "\n"


def as_statuspage(events: Sequence[Event]) -> str:
    incidents = [
        {
            "name": e.text, "status": e.status, "started_at": iso(e.at), "resolved_at": iso(e.end),
            "components": [{"name": e.service}] if e.service else [], "incident_updates": [],
        }
        for e in events
    ]  # fmt: skip
    return json.dumps({"page": {"name": "Page"}, "incidents": incidents}, indent=1)


def as_pagerduty(events: Sequence[Event]) -> str:
    entries = [
        {
            "type": "notify_log_entry", "created_at": iso(e.at.astimezone(UTC)), "summary": e.text,
            "service": {"summary": e.service}, "agent": {"summary": e.source}, "channel": {"type": "auto"},
        }
        for e in events
    ]  # fmt: skip
    return json.dumps({"log_entries": entries, "more": False}, indent=1)


def as_opsgenie(events: Sequence[Event]) -> str:
    data = [{"log": e.text, "type": e.kind, "owner": e.source, "createdAt": iso(e.at)} for e in events]
    return json.dumps({"data": data, "took": 0.1}, indent=1)


def as_slack(events: Sequence[Event]) -> str:
    def escaped(text: str) -> str:
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    def stamp(at: datetime) -> str:
        micro = (at - datetime(1970, 1, 1, tzinfo=UTC)) // (at.resolution)
        return f"{micro // 1_000_000}.{micro % 1_000_000:06}"

    return json.dumps(
        [{"type": "message", "user": e.source, "text": escaped(e.text), "ts": stamp(e.at)} for e in events], indent=1
    )


# Name of the file, the writer, and the fields that the form has a place for, with what it always says.
FORMS: dict[str, tuple[str, Callable[[Sequence[Event]], str], tuple[str, ...], dict[str, str]]] = {
    "own CSV": ("a.csv", to_csv, ("end", "service", "kind", "source", "note"), {}),
    "CSV": ("a.csv", as_table, ("end", "service", "kind", "source", "status"), {}),
    "TSV": ("a.tsv", lambda events: as_table(events, "\t"), ("end", "service", "kind", "source", "status"), {}),
    "JSON Lines": ("a.jsonl", as_json_lines, ("end", "service", "kind", "source", "status"), {}),
    "Markdown table": ("a.md", as_markdown_table, ("end", "service", "kind", "source", "status"), {}),
    "Markdown list": ("a.md", as_markdown_list, ("end",), {}),
    "Statuspage": ("a.json", as_statuspage, ("end", "service", "status"), {"kind": "incident", "source": "Page"}),
    "PagerDuty": ("a.json", as_pagerduty, ("service", "source"), {"kind": "notify"}),
    "Opsgenie": ("a.json", as_opsgenie, ("kind", "source"), {}),
    "Slack": ("a.json", as_slack, ("source",), {"kind": "message"}),
}


def kept(event: Event, form: str) -> Event:
    """The event as far as a form has places for it."""
    _, _, fields, always = FORMS[form]
    values = {name: getattr(event, name) for name in fields}
    return Event(event.at, values.pop("end", None), event.text, **{**values, **always})
