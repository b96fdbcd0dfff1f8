"""Parts of a chapter as Markdown that GitHub and pandoc read alike, and the postmortem in that form.

Every text goes through :func:`plain`: what a team writes is shown as it stands, and is never markup, HTML or the end of a
cell of a table.
"""

from __future__ import annotations

import re

from afterload import __version__
from afterload.errors import InputError
from afterload.estimates import Estimates
from afterload.figures import Figure, Prose, Table
from afterload.figures.postmortem import sections
from afterload.plan import Plan
from afterload.plan.kept import Kept
from afterload.recovery.build import Coupling

__all__ = ["markdown", "plain", "postmortem_markdown"]

# What a reader takes as the beginning of something anywhere in a line: pandoc knows more than CommonMark and joins
# hyphens to a dash, and GitHub makes links of bare addresses, with whatever stands behind them.
_MARKS = re.compile(r"([\\`*_{}\[\]<>|#~&$^@]|-(?=-)|:(?=//)|(?<=www)\.)", re.IGNORECASE)
# What counts at the beginning of a line only: rules, underlined headings, definitions, a title block; lists.
_SIGN = re.compile(r"^([-+=:%])")
_NUMBER = re.compile(r"^(\(?(?:\d{1,9}|[A-Za-z]|[ivxlcdmIVXLCDM]{1,12}))([.)])")


def plain(text: str) -> str:
    """A text on one line with every mark escaped; what cannot be printed, such as a change of direction, is left out."""
    visible = "".join(char if char.isprintable() else " " for char in text)
    return _MARKS.sub(r"\\\1", " ".join(visible.split()))


def _paragraph(text: str) -> str:
    """The same where it stands at the beginning of a line."""
    return _NUMBER.sub(r"\1\\\2", _SIGN.sub(r"\\\1", plain(text)))


def markdown(shown: Figure | Table | Prose, heading: str = "") -> str:
    """One part of a chapter. A figure comes as its alternative text, its table, source, method and notes.

    The ``heading`` above it is not repeated in a caption that begins with it.
    """
    if isinstance(shown, Prose):
        return "\n\n".join(_paragraph(line) for line in shown.text.splitlines() if line.strip())
    if isinstance(shown, Table):
        return _table(shown, heading)
    parts = [
        f"Chart in the packet: {plain(shown.alt)}",
        _table(shown.table),
        f"Source: {plain(shown.source)}",
        f"Method: {plain(shown.method)}",
    ]
    return "\n\n".join([*parts, *(f"Note: {plain(note)}" for note in shown.notes)])


def _table(table: Table, heading: str = "") -> str:
    rules = ["---:" if name in table.numeric else "---" for name in table.columns]
    lines = [_row(table.columns), f"| {' | '.join(rules)} |", *(_row(row) for row in table.rows)]
    caption = table.caption.removeprefix(heading).lstrip(":, ")
    return "\n\n".join([*([_paragraph(f"{caption[0].upper()}{caption[1:]}.")] if caption else []), "\n".join(lines)])


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(plain(cell) for cell in cells)} |"


def postmortem_markdown(estimates: Estimates, plan: Plan, coupling: Coupling | None, kept: Kept | None = None) -> str:
    """The postmortem chapter as Markdown, part by part as the packet has it; ``kept`` is what people entered beside the plan.

    Raises :class:`InputError` where the scenario has no postmortem.
    """
    loaded = estimates.loaded
    scenario = loaded.scenario
    if scenario.postmortem is None:
        raise InputError(
            f"{loaded.name} has no postmortem: write one under postmortem, with at least a summary; "
            "`afterload new NAME` shows its form"
        )
    lines = [f"# Postmortem: {plain(scenario.team)}, {plain(scenario.incident.name)}"]
    for heading, shown in sections(estimates, plan, coupling, kept):
        lines += [f"## {plain(heading)}", markdown(shown, heading)]
    lines.append(f"Input SHA-256 {loaded.digest}, Afterload {plain(__version__)}.")
    return "\n\n".join(lines) + "\n"
