"""The command that reads files a team already has: import."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from afterload.commands.shared import SET, echo
from afterload.errors import InputError, OutputError, ScenarioError
from afterload.files import write_all
from afterload.reads import read_input

__all__ = ["import_"]


@click.command("import")
@click.argument("files", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    "target",
    required=True,
    metavar="SCENARIO",
    help="Scenario file to fill; made if it is not there.",
)
@click.option("--team", metavar="NAME", help="For a new scenario: the team's name.")
@click.option(
    "--zone", metavar="ZONE", help="Zone of times without one, as in Europe/Berlin; the scenario's own by default."
)
@click.option("--date", "day", type=click.DateTime(["%Y-%m-%d"]), help="Day of the incident, for times without a date.")
@click.option(
    "--subject", "subjects", multiple=True, metavar="FILE=NAME",
    help="Function, queue or target group that an export without a name is about. Can be given again.",
)  # fmt: skip
@click.option(
    "--series", "series", multiple=True, metavar="NAME=SIGNAL[:QUEUE[:UNIT]]",
    help="What a series measures, as in sent=arrivals:orders:count. Can be given again.",
)  # fmt: skip
@SET
@click.option(
    "--reject", "rejected", multiple=True, metavar="PATH", help="A value that is not wanted. Can be given again."
)
@click.option("--dry-run", is_flag=True, help="Print the account and write nothing.")
def import_(
    files: tuple[str, ...],
    target: str,
    team: str | None,
    zone: str | None,
    day: datetime | None,
    subjects: tuple[str, ...],
    series: tuple[str, ...],
    overrides: tuple[str, ...],
    rejected: tuple[str, ...],
    dry_run: bool,
) -> None:
    """Fill a scenario from FILES: AWS CLI output, terraform show -json, CloudWatch, Prometheus, CSV, incident timelines.

    What each file is, its content tells. Comments and values made by hand are kept; --set gives values that no file
    tells, and their evidence says that nobody measured them. The account says field by field where each value came
    from, and what could not be learned with the command that would export it.
    """
    from afterload.figures.account import account_text
    from afterload.intake.importing import Wishes, import_files, standing
    from afterload.plan.snapshots import undone_since
    from afterload.scenario import load_scenario_text
    from afterload.scenario.overrides import gather_overrides
    from afterload.units import read_zone

    path = Path(target)
    text = _existing(path, team, zone)
    wishes = Wishes(
        zone=read_zone(zone) if zone else None,
        date=day.date() if isinstance(day, datetime) else None,
        subjects=_subjects(subjects, files),
        series=series,
        values=gather_overrides(overrides),
        rejected=frozenset(rejected),
    )
    imported = import_files(files, text, path, wishes)
    echo(account_text(imported))
    if imported.problem:
        raise ScenarioError(
            "what was learned does not make a scenario yet, so nothing is written. Give what is missing with --set, or "
            f"export it:\n{imported.problem}"
        )
    if path.exists():
        before = load_scenario_text(text, path)
        with standing(imported.beside):
            undone = undone_since(before, imported.account.text, path)
        for line in undone:
            echo(f"Undone since: {line}")
    if dry_run:
        return
    if imported.account.text == text and path.exists() and not imported.beside:
        echo(f"{path}: nothing changed", err=True)
        return
    write_all({**imported.beside, path: imported.account.text})
    echo(path, err=True)


def _existing(path: Path, team: str | None, zone: str | None) -> str:
    from afterload.intake.base import base_scenario
    from afterload.scenario import load_scenario
    from afterload.scenario.fields import label_in

    if path.exists():
        known = load_scenario(path).scenario.team
        # The same command again, as a pipeline gives it, is no mistake.
        if team is not None and (label_in(team) or team) != known:
            raise InputError(
                f"{path} exists, so it has a team already, {known}: leave --team out, or choose another file"
            )
        try:
            return read_input(path).decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as problem:
            raise OutputError(f"{path}: is not UTF-8, so it cannot be changed in place ({problem})") from None
    if not team or not zone:
        raise InputError(f"{path} is not there yet: a new scenario needs --team NAME and --zone ZONE")
    return base_scenario(team, zone)


def _subjects(given: tuple[str, ...], files: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        file, equals, name = text.rpartition("=")
        if not equals or not name.strip():
            raise InputError(f"--subject {text}: is not of the form FILE=NAME")
        if not any(file in (known, Path(known).name) for known in files):
            raise InputError(f"--subject {text}: {file!r} is not one of the files given")
        found[file] = name.strip()
    return found
