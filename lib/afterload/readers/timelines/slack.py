"""Slack: one day of a channel's export, or what the API gives of its history. A folder of days is read as one timeline."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

from afterload.readers.entries import Entry, JsonFormat, Node, Notes, text_of
from afterload.readers.times import read_cell

__all__ = ["FORMAT"]

_TS = re.compile(r"[0-9]{9,10}\.[0-9]{6}")
# Messages that Slack itself writes about the channel, not about what happened.
_ABOUT_CHANNEL = re.compile(
    r"(?:channel|group)_(?:join|leave|topic|purpose|name|archive|unarchive)|bot_(?:add|remove)|tombstone"
)
_ESCAPED = re.compile("&(?:amp|lt|gt);")


def _is_message(value: Any) -> bool:
    stamp = value.get("ts") if isinstance(value, dict) else None
    return (
        isinstance(stamp, str)
        and _TS.fullmatch(stamp) is not None
        and ("text" in value or value.get("type") == "message")
    )


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and any(map(_is_message, value))


def _fits(value: Any) -> bool:
    return _is_list(value) or (isinstance(value, dict) and (_is_list(value.get("messages")) or _is_message(value)))


def _entries(node: Node, notes: Notes) -> Iterator[Entry]:
    if isinstance(node.value, dict) and node.value.get("has_more") is True:
        notes.add("partial", "says that there is more: export the following pages too")
    if isinstance(node.value, list):
        items = list(node.items())
    else:
        items = [node] if _is_message(node.value) else list(node.child("messages").items())
    left_out = 0
    for item in items:
        record = item.value
        if _ABOUT_CHANNEL.fullmatch(text_of(record, "subtype")):
            left_out += 1
            continue
        inner = record.get("message")
        if record.get("subtype") == "message_changed" and isinstance(inner, dict):
            record = inner
        yield Entry(
            read_cell(record.get("ts")),
            _text(record),
            item.line,
            item.pointer,
            kind=_kind(record),
            source=text_of(
                record,
                "user_profile.real_name",
                "user_profile.display_name",
                "username",
                "bot_profile.name",
                "user",
                "bot_id",
            ),
        )
    if left_out:
        notes.add("refused", f"messages about the channel itself, such as joins, are left out: {left_out:,}")


def _kind(record: dict[str, Any]) -> str:
    if record.get("subtype") == "bot_message" or record.get("bot_id"):
        return "bot message"
    thread = record.get("thread_ts")
    return "reply" if thread and thread != record.get("ts") else "message"


def _text(record: dict[str, Any]) -> str:
    """The words of a message; a bot's may stand in its attachments or blocks. Slack writes &, < and > as HTML does."""
    text = text_of(record, "text")
    if not text:
        parts = [_attached(item) for item in _list(record, "attachments")]
        parts += [text_of(item, "text.text", "text") for item in _list(record, "blocks")]
        parts += [text_of(item, "title", "name") for item in _list(record, "files")]
        text = "\n".join(part for part in parts if part)
    return _ESCAPED.sub(lambda match: unescape(match[0]), text)


def _attached(item: dict[str, Any]) -> str:
    title, text = text_of(item, "title"), text_of(item, "text")
    return f"{title}: {text}" if title and text else title or text or text_of(item, "fallback", "pretext")


def _list(record: dict[str, Any], name: str) -> list[dict[str, Any]]:
    value = record.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


FORMAT = JsonFormat("Slack messages", 13, _fits, _entries)
