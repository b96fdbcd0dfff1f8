"""The runbook as Markdown: a file that people follow in a recovery, without the packet around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from afterload import __version__
from afterload.estimates import Estimates
from afterload.plan.exercises import REFERENCE_LIFT_MIN
from afterload.plan.exports import fenced, plain_markdown
from afterload.plan.runbook import Pause, Runbook, RunbookStep
from afterload.units import format_minutes

__all__ = ["runbook_markdown"]


def runbook_markdown(runbook: Runbook, estimates: Estimates) -> str:
    """The seven steps with boxes to tick, then the automation to pause; all of it with this team's names and commands."""
    loaded = estimates.loaded
    scenario = loaded.scenario
    made_up = " The numbers are hypothetical." if scenario.hypothetical else ""
    lines = [
        f"# Recovery runbook: {plain_markdown(scenario.team)}",
        "",
        f"For an event such as: {plain_markdown(scenario.incident.name)}. Objective: first-attempt age back at baseline "
        f"within {format_minutes(scenario.recovery_objective_min)}.{made_up}",
        "",
        "A step is left when its signals have held for its hold, not when its time has come. Times are those of the "
        "simulation; words in capitals in a command stand for your own names.",
        *_times(runbook),
    ]
    for step in runbook.steps:
        lines += ["", f"## {step.number}. {plain_markdown(step.name.capitalize())}", *_step(step)]
    lines += ["", "## Automation that removes capacity: pause it in step 1, resume it in step 7"]
    if not runbook.pauses:
        lines += ["", "The scenario has no fleet, so there is no automation to pause."]
    for item in runbook.pauses:
        lines += ["", f"### Fleet {plain_markdown(item.fleet)}", *_pause(item)]
    lines += ["", f"Input SHA-256 {loaded.digest}, Afterload {__version__}."]
    return "\n".join(lines) + "\n"


def _times(runbook: Runbook) -> Iterator[str]:
    yield ""
    if not runbook.case:
        yield "No recovery by these steps was simulated, since the scenario has no dependency: no step has a time."
    elif runbook.ends_min is None:
        yield f"In the simulation, with {runbook.case}, the steps are never all over: see which one does not end."
    else:
        yield f"In the simulation, with {runbook.case}, all steps are over {format_minutes(runbook.ends_min)} after the restore."
    if runbook.verdict:
        yield runbook.verdict
    if runbook.caps:
        yield (
            f"{runbook.lift_words}; in the reference event the "
            f"provider lifted its throttles over {format_minutes(REFERENCE_LIFT_MIN)}."
        )


def _step(step: RunbookStep) -> Iterator[str]:
    yield from ("", f"Owner: {plain_markdown(', '.join(step.owners))}.")
    if step.begins_min is not None:
        yield from ("", f"Begins {format_minutes(step.begins_min)} after the restore.")
    if step.nothing:
        yield from ("", plain_markdown(step.nothing))
    yield from _listed("Admit", step.admit)
    yield from _listed("Hold back", step.hold)
    yield from _block("Apply", step.commands)
    yield from _listed("Advance when", step.advance, box=True)
    if step.advance or not step.nothing:
        yield from ("", f"Hold: {format_minutes(step.hold_min)} of that before the next step.")
    if step.abort:
        yield from ("", f"Abort: {plain_markdown(step.abort)}")


def _pause(item: Pause) -> Iterator[str]:
    yield from ("", f"Status: {item.status}. Owner: {plain_markdown(item.owner)}. {plain_markdown(item.evidence)}")
    yield from _block("Pause", item.apply)
    yield from _block("Resume", item.undo)
    yield from _listed("Mind", item.traps)


def _listed(word: str, texts: Sequence[str], box: bool = False) -> Iterator[str]:
    if texts:
        yield from ("", f"{word}:", "", *(f"- {'[ ] ' if box else ''}{plain_markdown(text)}" for text in texts))


def _block(word: str, commands: Sequence[str]) -> Iterator[str]:
    if commands:
        yield from ("", f"{word}:", "", *fenced(tuple(commands), "sh"))
