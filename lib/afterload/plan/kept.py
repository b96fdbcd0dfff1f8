"""What people enter beside the plan: owner agreed, due date, progress and a note, kept over reruns by the line's stable name.

They enter it in the plan's CSV. A later run into the same folder reads that file: what it says stands in the files beside the
packet and on its pages.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from afterload.errors import InputError
from afterload.files import slug

__all__ = [
    "COLUMNS",
    "FORMULA",
    "GONE",
    "NOTHING_ENTERED",
    "VARIABLE",
    "Entered",
    "Kept",
    "entered_beside",
    "entries",
    "gone",
    "kept_at",
    "owner_agreed",
    "read_kept",
]

COLUMNS = ("agreed_owner", "due", "progress", "note")
GONE = "no longer in the plan"
Kept = Mapping[str, Mapping[str, str]]
# A spreadsheet reads a cell that begins with one of these as a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
# Names the plan's CSV whose entries the chapters show; a report sets it while its chapters run.
VARIABLE = "AFTERLOAD_PLAN_CSV"


@dataclass(frozen=True)
class Entered:
    """What people entered, by the line's name; ``problem`` says why it could not be read, and is empty if it could."""

    kept: Kept = field(default_factory=dict)
    problem: str = ""


NOTHING_ENTERED = Entered()


def read_kept(path: str | Path) -> dict[str, dict[str, str]]:
    """What people entered into a plan's CSV file, by the line's name; nothing where there is no such file.

    A spreadsheet may have saved it with semicolons or tabs, with a byte order mark, and as UTF-16.
    Raises :class:`InputError` where the file is none of ours any more: it is then not overwritten.
    """
    file = Path(path)
    if not file.exists():
        return {}
    try:
        raw = file.read_bytes()
    except OSError as problem:
        raise InputError(f"{path}: what people entered cannot be read: {problem.strerror or problem}") from None
    encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as problem:
        line = raw[: problem.start].count(b"\n") + 1
        raise InputError(
            f"{path} line {line}: is not UTF-8 text (byte {problem.start}), so what people entered cannot be read; nothing of it "
            "is lost: open it in the spreadsheet and save it as CSV UTF-8"
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
    columns = {_name(name): name for name in reader.fieldnames or () if name}
    if "id" not in columns:
        raise InputError(
            f"{path}: has no column id, so what people entered cannot be told; move the file away to start anew"
        )
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        entered = {name: _plain(row.get(columns.get(name, name)) or "") for name in COLUMNS}
        name = _plain(row[columns["id"]] or "")
        if name and any(entered.values()):
            found[name] = entered
    return found


def _name(column: str) -> str:
    """A column's name as it was written, whatever a spreadsheet or a person made of it: ``Agreed owner`` is ``agreed_owner``."""
    return "_".join(column.lower().replace("-", " ").replace("_", " ").split())


def _plain(text: str) -> str:
    """A cell without the apostrophe that keeps a spreadsheet from reading it as a formula; any other one is a person's."""
    return (text[1:] if text.startswith("'") and text[1:].startswith(FORMULA) else text).strip()


def entries(entry: Mapping[str, str]) -> list[tuple[str, str]]:
    """What people entered for one line, each in one line of text, with what it is: ``("agreed owner", "Ana")``."""
    given = ((name.replace("_", " "), " ".join(entry.get(name, "").split())) for name in COLUMNS)
    return [(name, text) for name, text in given if text]


def owner_agreed(kept: Kept, name: str, owner: str) -> str:
    """Who carries out the line of this name: who was agreed on, else ``owner``, whom the scenario names."""
    return " ".join(kept.get(name, {}).get("agreed_owner", "").split()) or owner


def gone(kept: Kept, known: Iterable[str]) -> dict[str, Mapping[str, str]]:
    """Entries of lines that are not among those known."""
    names = set(known)
    return {name: entry for name, entry in kept.items() if name not in names}


def entered_beside(team: str) -> Entered:
    """What people entered for the plan of this team, as the chapters show it.

    Of the file that the environment names under :data:`VARIABLE`; else, where an executed notebook is run again in its
    folder, of the one beside it.
    """
    path = Path(os.environ.get(VARIABLE) or f"{slug(team)}-plan.csv")
    try:
        return Entered(read_kept(path))
    except InputError as problem:
        # A page names no folder of the machine that it was made on.
        return Entered(problem=str(problem).replace(str(path), path.name))


@contextmanager
def kept_at(path: Path) -> Iterator[None]:
    """Let the chapters that run meanwhile, here or in a process that is started, show what people entered in this file."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(path.absolute())
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before
