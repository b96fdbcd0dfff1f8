"""The account of an import: field by field what was found, where, and what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from zoneinfo import ZoneInfo

from afterload.figures.figure import Prose, Table
from afterload.figures.words import paragraph, sentence_list
from afterload.intake.importing import Imported
from afterload.intake.proposal import Fate, Outcome
from afterload.plan.change import counted
from afterload.units import format_instant
from afterload.yamledit import inline

__all__ = ["account_answer", "account_held", "account_missing", "account_remarks", "account_table", "account_text"]

# Words for what became of a value.
FATES: dict[Fate, str] = {
    "new": "written",
    "updated": "updated",
    "same": "stands already",
    "kept": "kept as it is",
    "held": "held back",
    "refused": "refused",
    "rejected": "not wanted",
    "planned": "planned, not applied",
}
MOST_REMARKS = 60


def account_answer(imported: Imported) -> Prose:
    """What the files were and how many values they gave, in words."""
    if not imported.kinds:
        return paragraph("This scenario names no exports, telemetry or timeline of its own to import again.")
    fates = Counter(outcome.fate for outcome in imported.account.outcomes)
    lines = [f"{path}: {kind}." for path, kind in imported.kinds.items()]
    parts = [f"{fates[fate]} {words}" for fate, words in FATES.items() if fates[fate]]
    lines.append(f"{counted(len(imported.account.outcomes), 'value')}: {', '.join(parts) or 'none'}.")
    # What follows from a value that a person gives, as the event's name from its day, has not drifted.
    drifted = [
        item.name
        for item in (outcome.proposal for outcome in imported.account.of("updated"))
        if item.basis != "guessed" and (item.basis is None or item.file)
    ]
    if drifted:
        lines.append(f"Drifted since the last import: {', '.join(drifted)}.")
    return sentence_list(lines)


def account_table(imported: Imported) -> Table | Prose:
    """Every value that the files offer, with where it stood and what became of it."""
    if not imported.account.outcomes:
        return paragraph("The files offer no value for a field of this scenario.")
    rows = tuple(_row(outcome) for outcome in imported.account.outcomes)
    columns = ("field", "found", "before", "what became of it", "note", "basis", "from", "exported")
    return Table(columns, rows, caption="Field by field")


def _row(outcome: Outcome) -> tuple[str, ...]:
    item = outcome.proposal
    when = "" if item.exported_at is None else format_instant(item.exported_at, ZoneInfo("UTC"))
    note = "; ".join(text for text in (outcome.reason, item.note) if text)
    before = "" if outcome.before is None else inline(outcome.before)
    return (item.name, inline(item.value), before, FATES[outcome.fate], note, item.basis or "", item.where, when)


def account_missing(imported: Imported) -> Table | Prose:
    """What the files do not tell, and the command that would export it."""
    if not imported.account.missing:
        return paragraph("Nothing that these files are about is missing.")
    rows = tuple((item.name, item.why, item.command) for item in imported.account.missing)
    return Table(("what", "why it matters", "command that exports it"), rows, caption="Could not be learned")


def account_remarks(imported: Imported) -> Prose:
    """What readers refused, doubted, or must ask."""
    lines = list(_remarks(imported))
    return sentence_list(lines) if lines else paragraph("The readers have nothing to remark.")


def _remarks(imported: Imported) -> Iterator[str]:
    order = {"ask": 0, "refused": 1, "partial": 2, "doubt": 3}
    found = sorted(imported.account.remarks, key=lambda remark: order[remark.kind])
    yield from (str(remark) for remark in found[:MOST_REMARKS])
    if len(found) > MOST_REMARKS:
        yield f"and {len(found) - MOST_REMARKS:,} more remarks"


def account_held(imported: Imported) -> list[str]:
    """A sentence for each part of the scenario that is not in it yet, for want of a value; empty if there is none."""
    held: dict[str, list[Outcome]] = {}
    for outcome in imported.account.of("held"):
        held.setdefault(outcome.reason.partition(" also needs ")[0], []).append(outcome)
    return [
        f"Held back: {part} is not in the scenario: {counted(len(items), 'value')} found for it, and {items[0].reason}."
        for part, items in held.items()
    ]


def account_text(imported: Imported) -> str:
    """The whole account for a terminal."""
    tables = (account_table(imported), account_missing(imported))
    parts = [
        account_answer(imported).text,
        *(f"{shown.caption}\n{shown.to_text()}" if isinstance(shown, Table) else shown.text for shown in tables),
    ]
    remarks = list(_remarks(imported))
    if remarks:
        parts.append("\n".join(["Remarks", *remarks]))
    # Last, where a person looks first: a whole queue may be absent from a file that is valid.
    parts += account_held(imported)
    return "\n\n".join(parts)
