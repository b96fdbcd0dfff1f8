"""Commands about objectives and plans: gate, compare, plan, runbook, exercises."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import click

from afterload.commands.shared import KEPT, SET, echo, give, read_entered
from afterload.errors import InputError, ObjectiveError
from afterload.files import write_all, write_whole

__all__ = ["compare", "exercises", "gate", "plan", "runbook"]

OUTPUT = click.option(
    "-o", "--output", "target", type=click.Path(dir_okay=False, path_type=Path),
    help="File to write; printed by default.",
)  # fmt: skip


@click.command()
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--objective", "objectives", multiple=True, metavar="[NAME=]LIMIT",
    help="As in 240min (first-attempt age), drain=6h, lost=0, multiplier=10, attempts=3000/min, launch=30min. Can be given "
    "again; the scenario's own recovery objective if none is.",
)  # fmt: skip
@SET
@click.option("--junit", "report", type=click.Path(dir_okay=False), help="Write JUnit XML to this file too.")
def gate(files: tuple[str, ...], objectives: tuple[str, ...], overrides: tuple[str, ...], report: str | None) -> None:
    """Check objectives of scenarios FILES for CI: a line for each; exit code 6 if any is broken.

    Where inputs are uncertain, nine of ten draws must meet an objective.
    """
    from afterload.estimates import estimate
    from afterload.plan.objectives import Verdict, junit, read_objective, verdicts
    from afterload.scenario import load_scenario

    wanted: dict[str, float] = {}
    for text in objectives:
        name, limit = read_objective(text)
        if name in wanted:
            raise InputError(f"--objective {text}: {name} is given twice")
        wanted[name] = limit
    found: dict[str, tuple[Verdict, ...]] = {}
    for file in files:
        estimates = estimate(load_scenario(file, overrides))
        found[file] = verdicts(estimates, wanted)
        for item in found[file]:
            echo(f"{file}: {item.words}")
        if not found[file] and not wanted:
            echo(f"{file}: not checked: it has nothing that an objective is about")
        for name in wanted:
            if not any(item.name == name for item in found[file]):
                echo(f"{file}: not checked: it has nothing that the objective {name} is about")
    missing = [name for name in wanted if not any(item.name == name for items in found.values() for item in items)]
    if missing:
        raise InputError(f"no scenario has anything that the objective {', '.join(missing)} is about")
    if report is not None:
        write_whole(report, junit(found))
    broken = sum(not item.met for items in found.values() for item in items)
    if broken:
        raise ObjectiveError(f"{broken} of {sum(map(len, found.values()))} objectives broken")


@click.command()
@click.argument("before")
@click.argument("after")
@click.option("--markdown", is_flag=True, help="Print Markdown tables, for a pull request.")
@OUTPUT
def compare(before: str, after: str, markdown: bool, target: Path | None) -> None:
    """Show what differs between BEFORE and AFTER: scenario files, or plan files (NAME-plan.json) of earlier runs.

    Inputs, results and lines of the plan that differ; what was done since, and what was undone.
    """
    from afterload.figures.compare import compare_markdown, compare_text
    from afterload.plan.compare import compare as compare_snapshots
    from afterload.plan.snapshots import open_snapshot

    comparison = compare_snapshots(open_snapshot(before), open_snapshot(after))
    text = compare_markdown(comparison) if markdown else compare_text(comparison)
    give(text + "\n", target)


FORMATS = ("markdown", "csv", "json", "jira", "github", "github-json")


@click.command()
@click.argument("file")
@SET
@click.option("--order", type=click.Choice(["guide", "minutes", "effort", "cost"]), default="guide", show_default=True)
@click.option("--format", "form", type=click.Choice(FORMATS), default="markdown", show_default=True)
@click.option(
    "--kept",
    metavar="CSV",
    help="A plan's CSV of an earlier run: owner, due date, progress, note and added columns are taken from it. With --format csv "
    "that is the file to write, if there is one.",
)
@OUTPUT
def plan(file: str, overrides: tuple[str, ...], order: str, form: str, kept: str | None, target: Path | None) -> None:
    """Print the change plan of FILE: as Markdown, CSV, JSON, or for Jira and GitHub.

    Lines keep their names over reruns, so that trackers update an issue instead of making a second one.
    """
    from afterload.estimates import estimate
    from afterload.plan import build_plan, plan_csv, plan_json, plan_markdown
    from afterload.plan.kept import read_kept
    from afterload.plan.trackers import github_json, github_script, jira_csv
    from afterload.scenario import load_scenario

    # A file that is written anew may hold what people entered, too.
    entered = read_kept(target) if kept is None and target is not None and form == "csv" else read_entered(kept)
    estimates = estimate(load_scenario(file, overrides))
    built = build_plan(estimates, order)  # type: ignore[arg-type]
    team = estimates.loaded.scenario.team
    writers: dict[str, Callable[[], str]] = {
        "markdown": lambda: plan_markdown(built, estimates, entered),
        "csv": lambda: plan_csv(built, entered),
        "json": lambda: plan_json(built, estimates, entered),
        "jira": lambda: jira_csv(built, entered, team),
        "github": lambda: github_script(built, entered, team),
        "github-json": lambda: github_json(built, entered, team),
    }
    text = writers[form]()
    give(text, target)


@click.command()
@click.argument("file")
@SET
@KEPT
@OUTPUT
def runbook(file: str, overrides: tuple[str, ...], kept: str | None, target: Path | None) -> None:
    """Print the recovery runbook of FILE as Markdown: seven steps with this team's names, numbers and commands."""
    from afterload.estimates import estimate
    from afterload.findings.telemetry import measure
    from afterload.plan.runbook import agreed, build_runbook
    from afterload.plan.runbook_export import runbook_markdown
    from afterload.recovery.result import estimate_recovery
    from afterload.scenario import load_scenario

    entered = read_entered(kept)
    estimates = estimate(load_scenario(file, overrides))
    recovery = None if estimates.coupling is None else estimate_recovery(estimates.coupling)
    built = build_runbook(estimates, recovery, measure(estimates.loaded))
    text = runbook_markdown(agreed(built, entered), estimates)
    give(text, target)


@click.command()
@click.argument("file")
@SET
@click.option("-o", "--output", "folder", default="exercises", show_default=True, help="Folder for the files.")
def exercises(file: str, overrides: tuple[str, ...], folder: str) -> None:
    """Write the exercises of FILE with this team's numbers: Chaos Toolkit experiments and AWS FIS templates.

    Words in capitals in them stand for your own names. Use a test account.
    """
    from afterload.estimates import estimate
    from afterload.plan.exercise_exports import exercise_chaostoolkit, exercise_fis
    from afterload.plan.exercises import build_exercises
    from afterload.plan.runbook import build_runbook
    from afterload.recovery.result import estimate_recovery
    from afterload.report.earlier import left_words
    from afterload.scenario import load_scenario

    estimates = estimate(load_scenario(file, overrides))
    coupling = estimates.coupling
    steps = build_runbook(estimates, None if coupling is None else estimate_recovery(coupling), None)
    written: dict[Path, str] = {}
    built = build_exercises(estimates, steps, coupling)
    for exercise in built:
        if exercise.nothing:
            echo(f"{exercise.number} {exercise.title}: {exercise.nothing}", err=True)
            continue
        name = f"{exercise.number}-{exercise.id}"
        written[Path(folder) / f"{name}.chaos.json"] = json.dumps(exercise_chaostoolkit(exercise), indent=2) + "\n"
        template = exercise_fis(exercise)
        if template is not None:
            written[Path(folder) / f"{name}.fis.json"] = json.dumps(template, indent=2) + "\n"
    write_all(written)
    # Somebody may have put names in, or runs them: what an earlier run left is told, and stays.
    names = (f"{exercise.number}-{exercise.id}.{kind}.json" for exercise in built for kind in ("chaos", "fis"))
    left = [path for path in (Path(folder) / name for name in names) if path not in written and path.exists()]
    if left:
        echo(f"warning: {left_words(left)}", err=True)
    for path in written:
        echo(path)
