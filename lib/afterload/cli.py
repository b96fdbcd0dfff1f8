"""The ``afterload`` command.

Exit codes: 0 done; 2 wrong command line; 3 wrong input; 4 a chapter failed, the packet of the others is written;
5 a result could not be written; 6 an objective is broken; 7 a cluster cannot be used; 70 a fault of Afterload itself;
130 interrupted; 141 nobody read the output.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path

import click

from afterload import __version__
from afterload.commands.batch import batch
from afterload.commands.inputs import import_
from afterload.commands.live import eta
from afterload.commands.plans import compare, exercises, gate, plan, runbook
from afterload.commands.postmortem import postmortem
from afterload.commands.shared import CELL_TIMEOUT, SET, ReaderGoneError, echo, give
from afterload.errors import AfterloadError, InputError, NotFoundError, OutputError, UnitError
from afterload.files import write_whole
from afterload.resources import BUILTIN, resource

# Everything that takes long to import is imported by the command that needs it: an interrupt soon after the start
# then ends as quietly as a later one, and `afterload --help` is quick.

__all__ = ["main"]

EXAMPLE = "orders"


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(version)s")
def cli() -> None:
    """Recovery load after a dependency failure: one team's scenario file to a review packet."""


@cli.command()
@click.argument("file", required=False)
@click.option("-o", "--output", "folder", default="packets", show_default=True, help="Folder for the packet.")
@click.option("--example", is_flag=False, flag_value=EXAMPLE, metavar="[NAME]", help="Run a shipped example instead.")
@SET
@click.option("--chapters", metavar="NAME,NAME", help="Only these chapters, by name.")
@click.option("--workbooks", type=click.Path(file_okay=False), help="Folder of chapters; the shipped ones by default.")
@CELL_TIMEOUT
@click.option(
    "--engine", type=click.Choice(["process", "kernel"]), default="process", show_default=True,
    help="Run the chapters in a process of their own, or over a Jupyter kernel.",
)  # fmt: skip
@click.option("--quiet", is_flag=True, help="No progress bar and no summary; only the path.")
def report(
    file: str | None,
    folder: str,
    example: str | None,
    overrides: tuple[str, ...],
    chapters: str | None,
    workbooks: str | None,
    cell_timeout: float,
    engine: str,
    quiet: bool,
) -> None:
    """Make the packet of FILE and print its path.

    Everything is checked before anything runs. Beside the packet stand the executed notebook, the plan as CSV,
    Markdown and JSON, the runbook as Markdown, and the postmortem as Markdown where FILE has one.
    """
    if (file is None) == (example is None):
        raise click.UsageError("give a scenario FILE, or --example for a shipped one")
    names = [name.strip() for name in chapters.split(",") if name.strip()] if chapters is not None else []
    if chapters is not None and not names:
        raise click.UsageError("--chapters names no chapter")
    from afterload.scenario import load_scenario

    path = _example_path(example) if example is not None else _whole_path(str(file))
    loaded = load_scenario(path, overrides)
    # Imported late: what is wrong with the input is said at once.
    from afterload.report.chosen import chapter_paths, check_folder
    from afterload.report.packet import make_packet, relevant

    paths = chapter_paths(workbooks, names)
    if not names:
        paths = relevant(paths, loaded)
    check_folder(folder)
    packet = make_packet(
        loaded,
        path,
        folder,
        paths,
        progress=not quiet and sys.stderr.isatty(),
        cell_timeout_s=cell_timeout,
        kernel=engine == "kernel",
    )
    try:
        if not quiet:
            for line in (*packet.summary, *(f"warning: {warning}" for warning in packet.warnings)):
                echo(line, err=True)
        echo(packet.html)
    finally:
        packet.check()


def _whole_path(text: str) -> str:
    """The path of a scenario as the kernel, which may run in another folder, finds it too."""
    return text if text.startswith(BUILTIN) else str(Path(text).expanduser().absolute())


def _example_path(name: str) -> str:
    known = _examples()
    if name not in known:
        raise NotFoundError(f"there is no example {name!r}; known: {', '.join(known)}")
    return f"{BUILTIN}scenarios/{name}.yaml"


def _examples() -> list[str]:
    return sorted(path.stem for path in resource("data", "scenarios").glob("*.yaml"))


@cli.command()
@click.argument("file", required=False)
@click.option("--example", is_flag=False, flag_value=EXAMPLE, metavar="[NAME]", help="Check a shipped example instead.")
@SET
def check(file: str | None, example: str | None, overrides: tuple[str, ...]) -> None:
    """Validate FILE and print a short summary."""
    if (file is None) == (example is None):
        raise click.UsageError("give a scenario FILE, or --example for a shipped one")
    from afterload.scenario import load_scenario

    loaded = load_scenario(_example_path(example) if example is not None else str(file), overrides)
    from afterload.estimates import estimate
    from afterload.figures.answer import spread_sentences
    from afterload.figures.recovery import dependency_sentences, losing_sentences
    from afterload.figures.summary import summary
    from afterload.recovery.result import estimate_recovery

    estimates = estimate(loaded)
    recovery = None if estimates.coupling is None else estimate_recovery(estimates.coupling)
    lines = (
        *summary(estimates),
        *dependency_sentences(recovery),
        *losing_sentences(recovery),
        *spread_sentences(estimates, recovery),
    )
    for line in lines:
        echo(line)


@cli.command()
@click.argument("name")
@click.option("-o", "--output", "file", type=click.Path(dir_okay=False), help="File to write; NAME.yaml by default.")
@click.option("--force", is_flag=True, help="Overwrite a file that exists.")
def new(name: str, file: str | None, force: bool) -> None:
    """Write a commented scenario for team NAME that passes validation.

    A NAME that ends in .yaml is taken as the file, and the team is named after it.
    """
    from afterload.scenario.starter import starter

    is_file = Path(name).suffix.lower() in (".yaml", ".yml") and bool(Path(name).stem.strip())
    if not is_file and _is_path(name):
        raise InputError(
            f"the team's name {name!r} is a path: give the name alone, and the file with -o, or a path that ends in .yaml"
        )
    try:
        text = starter(Path(name).stem if is_file else name)
    except UnitError as problem:
        raise InputError(f"the team's name {problem}") from problem
    target = Path(file) if file else Path(name) if is_file else Path(f"{_file_name(name)}.yaml")
    if target.exists() and not force:
        raise OutputError(f"{target} exists: choose another name with -o, or give --force to overwrite it")
    write_whole(target, text)
    if file is None and not is_file and _parts(name)[1:]:
        echo(f"the team is named {name.strip()!r}, and its file {target}, in this folder", err=True)
    echo(target)


def _parts(name: str) -> list[str]:
    return name.strip().replace("\\", "/").split("/")


def _is_path(name: str) -> bool:
    """Whether a team's name can only be meant as a path; "Search/Ads" may be a team."""
    parts = _parts(name)
    from_a_root = len(parts) > 1 and (not parts[0] or not parts[-1] or (len(parts[0]) == 2 and parts[0][1] == ":"))
    return from_a_root or any(part in (".", "..", "~") for part in parts)


def _file_name(name: str) -> str:
    kept = "".join(char if char.isalnum() or char in "-_" else "-" for char in name.strip()).strip("-")
    return kept or "team"


@cli.command()
@click.option("-o", "--output", "file", type=click.Path(dir_okay=False), help="File to write; printed by default.")
@click.option("--plan", "of_plan", is_flag=True, help="That of a plan's JSON instead.")
def schema(file: str | None, of_plan: bool) -> None:
    """Print the JSON Schema of a scenario, for editors."""
    from afterload.scenario import Scenario

    if of_plan:
        text = resource("data", "plan.schema.json").read_text(encoding="utf-8")
    else:
        document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Scenario.model_json_schema()}
        text = json.dumps(document, indent=2) + "\n"
    give(text, file)


@cli.command()
def examples() -> None:
    """List the shipped examples, for report --example NAME."""
    from afterload.scenario import load_scenario

    for name in _examples():
        loaded = load_scenario(f"{BUILTIN}scenarios/{name}.yaml")
        echo(f"{name}\t{loaded.scenario.team}")


cli.add_command(batch)
cli.add_command(compare)
cli.add_command(eta)
cli.add_command(gate)
cli.add_command(plan)
cli.add_command(runbook)
cli.add_command(exercises)
cli.add_command(import_)
cli.add_command(postmortem)


def main() -> None:
    """Run the command; a user's mistake ends with a message and its exit code, never with a traceback."""
    try:
        cli.main(prog_name="afterload", standalone_mode=False)
    except click.ClickException as problem:
        problem.show()
        sys.exit(problem.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _last_word("interrupted: nothing half-written is left")
        sys.exit(130)
    except AfterloadError as problem:
        _last_word(f"error: {problem}")
        sys.exit(problem.exit_code)
    except (ReaderGoneError, BrokenPipeError):
        # What was to be written to files is written. Python would complain when it empties the stream at its end.
        _silence()
        sys.exit(141)
    except Exception:  # noqa: BLE001 - the last place where a fault of our own can be named as such
        _last_word(f"{traceback.format_exc()}error: this is a fault of Afterload itself, not of your input: report it")
        sys.exit(70)


def _last_word(text: str) -> None:
    try:
        click.echo(text, err=True)
    except OSError:
        _silence()


def _silence() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())


if __name__ == "__main__":
    main()
