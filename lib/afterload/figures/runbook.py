"""The chapter of the recovery runbook and of the exercises."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from afterload.figures.figure import Prose, Table
from afterload.figures.words import paragraph, sentence_list, span
from afterload.findings.phrases import counted
from afterload.plan.exercises import REFERENCE_LIFT_MIN, Exercise
from afterload.plan.runbook import Runbook, RunbookStep
from afterload.units import format_minutes

__all__ = [
    "exercises_answer",
    "exercises_details",
    "exercises_table",
    "runbook_answer",
    "runbook_details",
    "runbook_pauses",
    "runbook_table",
]

NOT_BEGUN = "not begun"


def runbook_answer(runbook: Runbook) -> Prose:
    """The runbook in words."""
    empty = sum(bool(step.nothing) for step in runbook.steps)
    lines = [
        "The order of admission in a recovery, filled in for this team. A step is left when its signal has held for its hold, "
        "not when its time has come."
    ]
    if empty:
        lines.append(f"The scenario has nothing for {counted(empty, 'step')} of {len(runbook.steps)}.")
    if not runbook.case:
        lines.append(
            "No recovery by these steps was simulated, since the scenario has no dependency: no step has a time."
        )
    elif runbook.ends_min is None:
        lines.append(
            f"In the simulation, with {runbook.case}, the steps are never all over: see which one does not end."
        )
    else:
        lines.append(
            f"In the simulation, with {runbook.case}, all steps are over {span(runbook.ends_min)} after the restore."
        )
    if runbook.verdict:
        lines.append(runbook.verdict)
    if runbook.fallbacks:
        lines.append(f"On the way a collapse takes it back {counted(runbook.fallbacks, 'time')}.")
    if runbook.caps:
        lines.append(
            f"{runbook.lift_words}; in the reference event the "
            f"provider lifted its throttles over {format_minutes(REFERENCE_LIFT_MIN)}."
        )
    lines.append("Words in capitals in a command, such as MAPPING_UUID, stand for your own names.")
    return sentence_list(lines)


def runbook_table(runbook: Runbook) -> Table:
    """The steps, short."""
    records = [
        {
            "#": str(step.number),
            "step": step.name,
            "begins after the restore": _begins(step),
            "hold": format_minutes(step.hold_min),
            "owner": ", ".join(step.owners),
            "here": step.nothing or f"{counted(len(step.admit) + len(step.hold), 'line')} below.",
        }
        for step in runbook.steps
    ]
    formats: dict[str, Any] = dict.fromkeys(records[0], str)
    formats |= {"#": _same, "begins after the restore": _same, "hold": _same}
    return Table.of(records, formats, caption="The seven steps, with the times of the simulation")


def _same(text: str) -> str:
    return text


def _begins(step: RunbookStep) -> str:
    return NOT_BEGUN if step.begins_min is None else format_minutes(step.begins_min)


def runbook_details(runbook: Runbook) -> Prose:
    """Every step whole: what to admit and hold, commands, signal, hold, abort rule."""
    parts = []
    for step in runbook.steps:
        facts: list[tuple[str, Sequence[str]]] = [
            ("Owner", step.owners),
            ("Begins", () if step.begins_min is None else (f"{_begins(step)} after the restore, in the simulation.",)),
            ("Here", (step.nothing,) if step.nothing else ()),
            ("Admit", step.admit),
            ("Hold back", step.hold),
            ("Advance when", step.advance),
            ("Signal holds for", () if step.nothing and not step.advance else (f"{format_minutes(step.hold_min)}.",)),
            ("Abort", (step.abort,)),
        ]
        parts.append(_part(f"{step.number}. {step.name.capitalize()}", facts, {"Apply": step.commands}))
    return _together(parts)


def runbook_pauses(runbook: Runbook) -> Prose:
    """The automation that removes capacity: commands that pause and resume it, and what to mind."""
    if not runbook.pauses:
        return paragraph("The scenario has no fleet, so there is no automation to pause.")
    parts = []
    for item in runbook.pauses:
        facts: list[tuple[str, Sequence[str]]] = [
            ("Status", (f"{item.status}.",)),
            ("Owner", (item.owner,)),
            ("Evidence", (item.evidence,)),
            ("Mind", item.traps),
        ]
        parts.append(_part(f"Fleet {item.fleet}", facts, {"Apply": item.apply, "Undo": item.undo}))
    return _together(parts)


def exercises_answer(exercises: Sequence[Exercise]) -> Prose:
    """The exercises in words."""
    empty = [item for item in exercises if item.nothing]
    lines = [
        "Seven exercises, for a test account, with what this team's numbers let expect. They show mechanisms; a replica "
        "certifies no threshold."
    ]
    if empty:
        lines.append(f"The scenario has nothing for {len(empty)} of {len(exercises)}; each says why.")
    lines.append(
        "An exercise with a fault comes as an experiment template of AWS Fault Injection Service, and each as an experiment of "
        "Chaos Toolkit. Words in capitals stand for your own names."
    )
    return sentence_list(lines)


def exercises_table(exercises: Sequence[Exercise]) -> Table:
    """The exercises, short."""
    records = [
        {
            "#": str(item.number),
            "exercise": item.title,
            "expected first": item.nothing or next(iter(item.expected), ""),
            "passed when": next(iter(item.passes), ""),
            "owner": ", ".join(item.owners),
        }
        for item in exercises
    ]
    formats: dict[str, Any] = dict.fromkeys(records[0], str) | {"#": _same}
    return Table.of(records, formats, caption="The exercises, each with its first figure and pass mark")


def exercises_details(exercises: Sequence[Exercise]) -> Prose:
    """Every exercise whole; ``afterload exercises`` writes their files."""
    parts = []
    for item in exercises:
        facts: list[tuple[str, Sequence[str]]] = [
            ("Owner", item.owners),
            ("Here", (item.nothing,) if item.nothing else ()),
            ("Do", item.steps),
            ("Expected", item.expected),
            ("Passed when", item.passes),
            ("Recovery is measured", (item.measured,) if item.measured else ()),
        ]
        blocks: dict[str, Sequence[str]] = {"Apply": [command for command, _ in item.commands]}
        parts.append(_part(f"{item.number}. {item.title}", facts, blocks))
    return _together(parts)


def _part(title: str, facts: Iterable[tuple[str, Sequence[str]]], blocks: dict[str, Sequence[str]]) -> tuple[str, str]:
    """One section as HTML and as text; facts and blocks without a line are left out."""
    shown = [(name, lines) for name, lines in facts if lines]
    rows = "".join(f"<dt>{name}</dt>{''.join(f'<dd>{escape(line)}</dd>' for line in lines)}" for name, lines in shown)
    text = [title, *(f"  {name}: {line}" for name, lines in shown for line in lines)]
    for name, lines in blocks.items():
        if lines:
            rows += f"<dt>{name}</dt><dd><pre><code>{escape(chr(10).join(lines))}</code></pre></dd>"
            text += [f"  {name}: {' '.join(line.split(chr(10)))}" for line in lines]
    return f'<section class="af-change"><h3>{escape(title)}</h3><dl>{rows}</dl></section>', "\n".join(text)


def _together(parts: Sequence[tuple[str, str]]) -> Prose:
    return Prose("".join(html for html, _ in parts), "\n\n".join(text for _, text in parts))
