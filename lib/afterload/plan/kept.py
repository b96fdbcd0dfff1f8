"""What people enter beside the plan: owner agreed, due date, progress and a note, kept over reruns by the line's stable name.

They enter it in the plan's CSV. A later run into the same folder reads that file: what it says stands in the files beside the
packet and on its pages. Columns that people add, such as one for a ticket, are kept too, in their order.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from afterload.errors import InputError
from afterload.files import slug
from afterload.reads import decoded, read_input

__all__ = [
    "COLUMNS",
    "FORMULA",
    "GONE",
    "NOTHING_ENTERED",
    "PLAN_COLUMNS",
    "VARIABLE",
    "Entered",
    "Kept",
    "added",
    "added_columns",
    "entered_beside",
    "entries",
    "gone",
    "kept_at",
    "owner_agreed",
    "read_kept",
]

COLUMNS = ("agreed_owner", "due", "progress", "note")
# All columns of the plan's CSV as it is written: every other one there is people's own. One that is written no more must
# stay here, or a file of an earlier version would keep it for ever.
PLAN_COLUMNS = (
    "id", "place", "change", "target", "status", "owner", *COLUMNS, "evidence", "worth", "mind", "drain_today_min",
    "drain_planned_min", "bought_min", "cost_min", "apply", "undo", "terraform", "edit", "effort_days", "headroom_unit",
    "headroom_units", "headroom_unit_hours_month", "headroom_cost_month", "effort_cost", "stale_bought_min", "net_year",
    "currency", "risk", "why", "exercise", "reference",
)  # fmt: skip
GONE = "no longer in the plan"
# What people entered by the line's name: each of COLUMNS, then the columns that they added, under the heading that they gave.
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

    A spreadsheet may have saved it with semicolons or tabs, with a byte order mark, or as UTF-16. Where people added columns,
    every line of the file has them, so that a column that nobody has filled yet is kept too.
    Raises :class:`InputError` where the file is none of ours any more: it is then not overwritten.
    """
    file = Path(path)
    if not file.exists():
        return {}
    try:
        raw = read_input(file)
    except OSError as problem:
        raise InputError(f"{path}: what people entered cannot be read: {problem.strerror or problem}") from None
    advice = ", so what people entered cannot be read; nothing of it is lost: open it in the spreadsheet and save it as CSV UTF-8"
    text = decoded(raw, lambda line: f"{path} line {line}", advice)
    header = text.split("\n", 1)[0]
    delimiter = max((",", ";", "\t"), key=header.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        rows = [row for row in reader if row]
    except csv.Error as problem:
        raise InputError(
            f"{path} line {reader.line_num}: is not CSV: {problem}; move the file away to start anew"
        ) from None
    places, own = _columns(rows)
    if "id" not in places:
        raise InputError(
            f"{path}: has no column id, so what people entered cannot be told; move the file away to start anew"
        )
    found: dict[str, dict[str, str]] = {}
    for row in rows[1:]:
        entered = {name: _cell(row, places.get(name)) for name in COLUMNS}
        entered |= {name: _cell(row, place) for name, place in own.items()}
        name = _cell(row, places["id"])
        if name and (own or any(entered.values())):
            found[name] = entered
    return found


def _columns(rows: Sequence[Sequence[str]]) -> tuple[dict[str, int], dict[str, int]]:
    """Where our columns stand, and those that people added by their headings, in their order.

    A second column of one name gets a number. One without a heading in which something stands is named after its place.
    """
    places: dict[str, int] = {}
    own: dict[str, int] = {}
    for place in range(max(map(len, rows), default=0)):
        heading = " ".join(_cell(rows[0], place).split())
        if heading and _name(heading) in PLAN_COLUMNS and _name(heading) not in places:
            places[_name(heading)] = place
            continue
        if not heading and not any(_cell(row, place) for row in rows[1:]):
            continue
        base, number = heading or f"column {place + 1}", 2
        name = base
        while name in own or _name(name) in PLAN_COLUMNS:
            name, number = f"{base} {number}", number + 1
        own[name] = place
    return places, own


def _cell(row: Sequence[str], place: int | None) -> str:
    return "" if place is None or place >= len(row) else _plain(row[place])


def _name(column: str) -> str:
    """A column's name as it was written, whatever a spreadsheet or a person made of it: ``Agreed owner`` is ``agreed_owner``."""
    return "_".join(column.lower().replace("-", " ").replace("_", " ").split())


def _plain(text: str) -> str:
    """A cell without the apostrophe that keeps a spreadsheet from reading it as a formula; any other one is a person's."""
    return (text[1:] if text.startswith("'") and text[1:].startswith(FORMULA) else text).strip()


def entries(entry: Mapping[str, str]) -> list[tuple[str, str]]:
    """What people entered for one line, each in one line of text, with what it is: ``("agreed owner", "Ana")``."""
    named = {name.replace("_", " "): entry.get(name, "") for name in COLUMNS} | added(entry)
    return [(name, " ".join(text.split())) for name, text in named.items() if text.strip()]


def added(entry: Mapping[str, str]) -> dict[str, str]:
    """What stands for one line in the columns that people added, by their headings."""
    return {name: text for name, text in entry.items() if name not in COLUMNS}


def added_columns(kept: Kept) -> tuple[str, ...]:
    """The headings of the columns that people added, in their order."""
    return tuple(dict.fromkeys(name for entry in kept.values() for name in added(entry)))


def owner_agreed(kept: Kept, name: str, owner: str) -> str:
    """Who carries out the line of this name: who was agreed on, else ``owner``, whom the scenario names."""
    return " ".join(kept.get(name, {}).get("agreed_owner", "").split()) or owner


def gone(kept: Kept, known: Iterable[str]) -> dict[str, Mapping[str, str]]:
    """Entries of lines that are not among those known, and for which anything is entered."""
    names = set(known)
    return {name: entry for name, entry in kept.items() if name not in names and any(entry.values())}


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
