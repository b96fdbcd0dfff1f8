"""What people enter beside the plan: owner agreed, due date, progress and a note, kept over reruns by the line's stable name."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path

from afterload.errors import InputError

__all__ = ["COLUMNS", "GONE", "Kept", "read_kept"]

COLUMNS = ("agreed_owner", "due", "progress", "note")
GONE = "no longer in the plan"
Kept = Mapping[str, Mapping[str, str]]


def read_kept(path: str | Path) -> dict[str, dict[str, str]]:
    """What people entered into a plan's CSV file, by the line's name; nothing where there is no such file.

    A spreadsheet may have saved it with semicolons or tabs, and with a byte order mark.
    Raises :class:`InputError` where the file is none of ours any more: it is then not overwritten.
    """
    file = Path(path)
    if not file.exists():
        return {}
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError(
            f"{path}: what people entered cannot be read: {problem}; move the file away to start anew"
        ) from None
    header = text.split("\n", 1)[0]
    delimiter = max((",", ";", "\t"), key=header.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        rows = list(reader)
    except csv.Error as problem:
        raise InputError(
            f"{path} line {reader.line_num}: is not CSV: {problem}; move the file away to start anew"
        ) from None
    if "id" not in (reader.fieldnames or ()):
        raise InputError(
            f"{path}: has no column id, so what people entered cannot be told; move the file away to start anew"
        )
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        entered = {name: _plain(row.get(name) or "") for name in COLUMNS}
        name = _plain(row.get("id") or "")
        if name and any(entered.values()):
            found[name] = entered
    return found


def _plain(text: str) -> str:
    """A cell without the apostrophe that keeps a spreadsheet from reading it as a formula."""
    return (text[1:] if text.startswith("'") else text).strip()
