"""Commands about objectives and plans: gate, compare."""

from __future__ import annotations

from pathlib import Path

import click

from afterload.commands.shared import SET, echo
from afterload.errors import InputError, ObjectiveError
from afterload.files import write_whole

__all__ = ["compare", "gate"]


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
        missing = [name for name in wanted if not any(item.name == name for item in found[file])]
        if missing:
            raise InputError(f"{file}: has nothing that the objective {', '.join(missing)} is about")
        for item in found[file]:
            echo(f"{file}: {item.words}")
    if report is not None:
        write_whole(report, junit(found))
    broken = sum(not item.met for items in found.values() for item in items)
    if broken:
        raise ObjectiveError(f"{broken} of {sum(map(len, found.values()))} objectives broken")


@click.command()
@click.argument("before")
@click.argument("after")
@click.option("--markdown", is_flag=True, help="Print Markdown tables, for a pull request.")
@click.option("-o", "--output", "file", type=click.Path(dir_okay=False), help="File to write; printed by default.")
def compare(before: str, after: str, markdown: bool, file: str | None) -> None:
    """Show what differs between BEFORE and AFTER: scenario files, or plan files (NAME-plan.json) of earlier runs.

    Inputs, results and lines of the plan that differ; what was done since, and what was undone.
    """
    from afterload.figures.compare import compare_markdown, compare_text
    from afterload.plan.compare import compare as compare_snapshots
    from afterload.plan.snapshots import open_snapshot

    comparison = compare_snapshots(open_snapshot(before), open_snapshot(after))
    text = compare_markdown(comparison) if markdown else compare_text(comparison)
    if file is None:
        echo(text)
    else:
        write_whole(file, text + "\n")
        echo(Path(file))
