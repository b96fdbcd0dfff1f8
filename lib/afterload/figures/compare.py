"""Two scenarios side by side, for a chapter and for a terminal."""

from __future__ import annotations

from typing import Literal

from afterload.figures.figure import Prose, Table
from afterload.figures.words import paragraph, sentence_list
from afterload.plan.change import counted
from afterload.plan.compare import Comparison, Differing
from afterload.plan.exports import plain_markdown

__all__ = ["compare_answer", "compare_markdown", "compare_table", "compare_text"]


def compare_answer(comparison: Comparison | None) -> Prose:
    """How much differs, in words."""
    if comparison is None:
        return paragraph("This scenario names no other one under compare_with, so there is nothing to compare.")
    if comparison.same:
        return paragraph(f"{comparison.before} and {comparison.after} give the same inputs, results and plan.")
    done = [item.name for item in comparison.lines if item.note == "done"]
    undone = [item.name for item in comparison.lines if item.note == "undone"]
    lines = [
        f"{comparison.before} before, {comparison.after} after: {counted(len(comparison.inputs), 'input')}, "
        f"{counted(len(comparison.results), 'result')} and {counted(len(comparison.lines), 'line')} of the plan differ."
    ]
    if comparison.quiet:
        many = len(comparison.quiet) > 1
        lines.append(
            f"{counted(len(comparison.quiet), 'more line')} of the plan {'buy' if many else 'buys'} no drain in either, and "
            f"{'read' if many else 'reads'} otherwise only because the drain ends in one and never in the other."
        )
    if done:
        lines.append(f"Done since: {', '.join(done)}.")
    if undone:
        lines.append(f"Undone since: {', '.join(undone)}.")
    return sentence_list(lines)


_NAMES: tuple[Literal["inputs", "results", "lines"], ...] = ("inputs", "results", "lines")
_PARTS: dict[str, tuple[str, str]] = {
    "inputs": ("input", "Inputs that differ"),
    "results": ("result", "Results that differ"),
    "lines": ("line of the plan", "Lines of the plan that differ"),
}


def compare_table(comparison: Comparison | None, part: Literal["inputs", "results", "lines"]) -> Table | Prose:
    """One part of what differs."""
    word, caption = _PARTS[part]
    items: tuple[Differing, ...] = () if comparison is None else getattr(comparison, part)
    if not items:
        return paragraph(f"{caption}: none.")
    rows = tuple((item.name, item.before, item.after, item.note) for item in items)
    return Table((word, "before", "after", "note"), rows, caption=caption)


def compare_text(comparison: Comparison) -> str:
    """The whole comparison for a terminal."""
    parts = [compare_answer(comparison).text]
    for part in _NAMES:
        shown = compare_table(comparison, part)
        parts.append(f"{shown.caption}\n{shown.to_text()}" if isinstance(shown, Table) else shown.text)
    return "\n\n".join(parts)


def compare_markdown(comparison: Comparison) -> str:
    """The whole comparison as Markdown."""
    parts = [plain_markdown(compare_answer(comparison).text)]
    for part in _NAMES:
        shown = compare_table(comparison, part)
        if not isinstance(shown, Table):
            parts.append(plain_markdown(shown.text))
            continue
        rows = [shown.columns, ("---",) * len(shown.columns), *shown.rows]
        lines = [
            f"| {' | '.join(cell if place == 1 else plain_markdown(cell) for cell in row)} |"
            for place, row in enumerate(rows)
        ]
        parts.append("\n".join([f"**{shown.caption}**", "", *lines]))
    return "\n\n".join(parts)
