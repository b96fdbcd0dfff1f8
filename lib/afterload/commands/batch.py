"""The command batch: packets for many teams, with an index."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from afterload.commands.shared import CELL_TIMEOUT, SET, echo, finite
from afterload.errors import InputError, OutputError
from afterload.files import refuse_without_folder

if TYPE_CHECKING:
    from afterload.batch.inputs import Given
    from afterload.batch.results import State
    from afterload.batch.run import Done, Plan
    from afterload.batch.teams_csv import TeamsTable

__all__ = ["batch"]

_BYTES = re.compile(r"(\d+(?:\.\d+)?)\s*([kMGT]?)(i?)B?", re.IGNORECASE)
_LEAST_MEMORY = 64 * 1024 * 1024


def _memory(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    if value is None:
        return None
    found = _BYTES.fullmatch(value.strip())
    if found is None:
        raise click.BadParameter(f"{value!r} is no amount of memory; accepted: as in 2GiB, 1500MB")
    power = "kmgt".index(found[2].lower()) + 1 if found[2] else 0
    amount = int(float(found[1]) * (1024 if found[3] else 1000) ** power)
    if amount < _LEAST_MEMORY:
        raise click.BadParameter(f"{value}: a packet needs more than that; accepted: from 64MiB, such as 2GiB")
    return amount


@click.command()
@click.argument("inputs", nargs=-1, metavar="[FILES]...")
@click.option("-o", "--output", "folder", default="site", show_default=True, help="Folder for packets and index.")
@click.option("--base", help="Scenario that the rows of --teams are laid over.")
@click.option("--teams", help="CSV with one team a row: a column team, the others paths as --set takes them.")
@click.option("--overrides", "by_team", help="YAML with values by team: TEAM: {PATH: VALUE}.")
@SET
@click.option("--resume", is_flag=True, help="Make only what is missing, not whole, or of changed inputs.")
@click.option("--workers", type=click.IntRange(1, 1024), help="Teams at a time; the cores that may be used by default.")
@CELL_TIMEOUT
@click.option(
    "--team-timeout", type=click.FloatRange(min=1), callback=finite, help="Seconds for a team; no limit by default."
)
@click.option(
    "--memory-limit", callback=_memory, metavar="SIZE", help="Memory for a team, as in 2GiB; no limit by default."
)
@click.option(
    "--scheduler", metavar="ADDRESS", help="Run on the Dask cluster with this scheduler, such as tcp://127.0.0.1:8786."
)
@click.option(
    "--scheduler-timeout",
    type=click.FloatRange(min=0),
    default=60,
    show_default=True,
    callback=finite,
    help="Seconds to wait for a worker of the cluster.",
)
@click.option("--chapters", metavar="NAME,NAME", help="Only these chapters, by name.")
@click.option("--workbooks", type=click.Path(file_okay=False), help="Folder of chapters; the shipped ones by default.")
@click.option("--gate", is_flag=True, help="End with exit code 6 where an objective of a team is broken.")
@click.option(
    "--objective",
    "objectives",
    multiple=True,
    metavar="[NAME=]LIMIT",
    help="Check this for every team instead of its own objective, as gate does; implies --gate.",
)
@click.option(
    "--previous", type=click.Path(dir_okay=False), help="index.json to compare with; this folder's last one by default."
)
@click.option("--log-json", type=click.Path(dir_okay=False), help="Write one JSON object a line to this file.")
@click.option("--quiet", is_flag=True, help="No progress and no summary; only the path of the index.")
def batch(
    inputs: tuple[str, ...],
    folder: str,
    base: str | None,
    teams: str | None,
    by_team: str | None,
    overrides: tuple[str, ...],
    resume: bool,
    workers: int | None,
    cell_timeout: float,
    team_timeout: float | None,
    memory_limit: int | None,
    scheduler: str | None,
    scheduler_timeout: float,
    chapters: str | None,
    workbooks: str | None,
    gate: bool,
    objectives: tuple[str, ...],
    previous: str | None,
    log_json: str | None,
    quiet: bool,
) -> None:
    """Make the packets of many teams, with an index over all of them, and print the index's path.

    FILES are scenario files, patterns, folders or builtin:scenarios/NAME.yaml; --base and --teams give one team a row.
    Both together make one index. One team's failure stops no other.
    """  # fmt: skip
    if (base is None) != (teams is None):
        raise click.UsageError("--base and --teams go together")
    if not inputs and teams is None:
        raise click.UsageError("give scenario FILES, or --base with --teams, or both")
    if log_json is not None:
        refuse_without_folder(log_json)
    from afterload.batch.progress import JsonLog
    from afterload.batch.run import Plan, run_batch, usable_cores

    given, notes, table = _given(inputs, Path(folder), base, teams, by_team, overrides)
    names = [name.strip() for name in chapters.split(",") if name.strip()] if chapters is not None else []
    if chapters is not None and not names:
        raise click.UsageError("--chapters names no chapter")
    from afterload.report.chosen import chapter_paths, check_folder

    check_folder(folder)
    plan = Plan(
        folder=Path(folder),
        chapters=tuple(path.absolute() for path in chapter_paths(workbooks, names)),
        by_need=not names,
        cell_timeout_s=cell_timeout,
        objectives=_objectives(objectives),
        resume=resume,
        workers=workers or usable_cores(),
        team_timeout_s=team_timeout,
        memory_bytes=memory_limit,
        previous=None if previous is None else Path(previous),
        table=table,
        base=base or "",
        scheduler=scheduler or "",
        scheduler_timeout_s=scheduler_timeout,
    )
    if not quiet:
        for note in notes:
            echo(note, err=True)
    log = JsonLog(log_json)
    try:
        done = run_batch(plan, given, quiet, log)
    finally:
        log.close()
    _finish(plan, done, gate or bool(objectives), quiet, log.problem)


def _given(
    inputs: Sequence[str],
    folder: Path,
    base: str | None,
    teams: str | None,
    by_team: str | None,
    overrides: Sequence[str],
) -> tuple[list[Given], list[str], TeamsTable | None]:
    from afterload.batch.inputs import collect_all, expand, read_team_overrides
    from afterload.batch.jobs import Override
    from afterload.batch.teams_csv import read_teams

    common: list[Override] = []
    for text in overrides:
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            raise InputError(f"--set {text}: is not of the form path=value, as in queues.orders.arrival_rate=1500/min")
        if any(item.path == path.strip() for item in common):
            raise InputError(f"--set {text}: {path.strip()} is set twice")
        common.append(Override(path.strip(), value.strip()))
    own = ("", {}) if by_team is None else (by_team, read_team_overrides(by_team))
    table = None if teams is None else read_teams(teams)
    names, others = expand(inputs, folder)
    notes = []
    if others:
        shown = ", ".join(others[:3]) + (", ..." if len(others) > 3 else "")
        count = (
            "1 YAML file without team at its top is"
            if len(others) == 1
            else f"{len(others)} YAML files without team at their top are"
        )
        notes.append(f"{count} left out: {shown}")
    return collect_all(names, base or "", table, common, own), notes, table


def _objectives(texts: Sequence[str]) -> dict[str, float]:
    if not texts:
        return {}
    from afterload.plan.objectives import read_objective

    wanted: dict[str, float] = {}
    for text in texts:
        name, limit = read_objective(text)
        if name in wanted:
            raise InputError(f"--objective {text}: {name} is given twice")
        wanted[name] = limit
    return wanted


def _finish(plan: Plan, done: Done, gate: bool, quiet: bool, log_problem: str) -> None:
    from afterload.batch.results import INDEX, ending, index_problem

    counts = [f"{done.count(state)} {words}" for state, words in _WORDS.items() if done.count(state)]
    if not quiet:
        teams = "1 team" if len(done.results) == 1 else f"{len(done.results)} teams"
        echo(f"{teams}: {', '.join(counts)}", err=True)
    if done.index_error is None:
        echo(plan.folder / INDEX[0])
    if done.signal:
        raise KeyboardInterrupt
    if done.index_error is not None:
        raise index_problem(done.index_error)
    if log_problem:
        raise OutputError(log_problem)
    problem = ending(done.results, gate)
    if done.cluster_error is not None:
        # What could not be written comes first.
        raise (
            OutputError(f"{problem}\n{done.cluster_error}") if isinstance(problem, OutputError) else done.cluster_error
        )
    if problem is not None:
        raise problem


_WORDS: dict[State, str] = {"made": "made", "kept": "up to date", "failed": "failed", "cancelled": "not done"}
