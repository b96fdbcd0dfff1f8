"""The ``afterload`` command.

Exit codes: 0 done; 2 wrong command line; 3 wrong input; 4 a chapter failed, the packet of the others is written;
5 a result could not be written; 70 a fault of Afterload itself; 130 interrupted.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import click

from afterload import __version__
from afterload.errors import AfterloadError, NotFoundError, OutputError
from afterload.files import write_whole
from afterload.resources import BUILTIN, resource
from afterload.scenario import LoadedScenario, Scenario, load_scenario

__all__ = ["main"]

EXAMPLE = "orders"
_SET = click.option(
    "--set", "overrides", multiple=True, metavar="PATH=VALUE",
    help="Override one value, as in queues.orders.arrival_rate=1500/min. Can be given again.",
)  # fmt: skip


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(version)s")
def cli() -> None:
    """Recovery load after a dependency failure: one team's scenario file to a review packet."""


@cli.command()
@click.argument("file", required=False)
@click.option("-o", "--output", "folder", default="packets", show_default=True, help="Folder for the packet.")
@click.option("--example", is_flag=False, flag_value=EXAMPLE, metavar="[NAME]", help="Run a shipped example instead.")
@_SET
@click.option("--chapters", metavar="NAME,NAME", help="Only these chapters, by name.")
@click.option("--workbooks", type=click.Path(file_okay=False), help="Folder of chapters; the shipped ones by default.")
@click.option(
    "--cell-timeout", type=click.FloatRange(min=1), default=300, show_default=True, help="Seconds for a cell."
)
@click.option("--quiet", is_flag=True, help="No progress bar and no summary; only the path.")
def report(
    file: str | None,
    folder: str,
    example: str | None,
    overrides: tuple[str, ...],
    chapters: str | None,
    workbooks: str | None,
    cell_timeout: float,
    quiet: bool,
) -> None:
    """Make the packet of FILE and print its path.

    Everything is checked before anything runs. Beside the packet stand the executed notebook and the plan as CSV,
    Markdown and JSON.
    """
    if (file is None) == (example is None):
        raise click.UsageError("give a scenario FILE, or --example for a shipped one")
    path = _example_path(example) if example is not None else str(Path(str(file)).expanduser().absolute())
    loaded = load_scenario(path, overrides)
    # Imported late: check, new and schema stay quick.
    from afterload.chapters import Workbook
    from afterload.report.packet import chapter_paths, make_packet

    names = [name.strip() for name in chapters.split(",") if name.strip()] if chapters else []
    paths = chapter_paths(workbooks, names)
    workbook = Workbook(loaded)
    summary = workbook.answer().text
    packet = make_packet(
        loaded, path, folder, paths, progress=not quiet and sys.stderr.isatty(), cell_timeout_s=cell_timeout
    )
    if not quiet:
        click.echo(summary, err=True)
        for warning in packet.warnings:
            click.echo(f"warning: {warning}", err=True)
    click.echo(packet.html)
    packet.check()


def _example_path(name: str) -> str:
    known = _examples()
    if name not in known:
        raise NotFoundError(f"there is no example {name!r}; known: {', '.join(known)}")
    return f"{BUILTIN}scenarios/{name}.yaml"


def _examples() -> list[str]:
    return sorted(path.stem for path in resource("data", "scenarios").glob("*.yaml"))


@cli.command()
@click.argument("file")
@_SET
def check(file: str, overrides: tuple[str, ...]) -> None:
    """Validate FILE and print a short summary."""
    loaded = load_scenario(file, overrides)
    from afterload.estimates import estimate
    from afterload.figures.summary import summary

    estimates = estimate(loaded)
    click.echo("\n".join(summary(estimates)))


@cli.command()
@click.argument("name")
@click.option("-o", "--output", "file", type=click.Path(dir_okay=False), help="File to write; NAME.yaml by default.")
@click.option("--force", is_flag=True, help="Overwrite a file that exists.")
def new(name: str, file: str | None, force: bool) -> None:
    """Write a commented scenario for team NAME that passes validation."""
    from afterload.scenario.starter import starter

    text = starter(name)
    target = Path(file) if file else Path(f"{_file_name(name)}.yaml")
    if target.exists() and not force:
        raise OutputError(f"{target} exists: choose another name with -o, or give --force to overwrite it")
    write_whole(target, text)
    click.echo(target)


def _file_name(name: str) -> str:
    kept = "".join(char if char.isalnum() or char in "-_" else "-" for char in name.strip()).strip("-")
    return kept or "team"


@cli.command()
@click.option("-o", "--output", "file", type=click.Path(dir_okay=False), help="File to write; printed by default.")
def schema(file: str | None) -> None:
    """Print the JSON Schema of a scenario, for editors."""
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Scenario.model_json_schema()}
    text = json.dumps(document, indent=2) + "\n"
    if file is None:
        click.echo(text, nl=False)
    else:
        write_whole(file, text)
        click.echo(file)


@cli.command()
def examples() -> None:
    """List the shipped examples, for report --example NAME."""
    for name in _examples():
        loaded: LoadedScenario = load_scenario(f"{BUILTIN}scenarios/{name}.yaml")
        click.echo(f"{name}\t{loaded.scenario.team}")


def main() -> None:
    """Run the command; a user's mistake ends with a message and its exit code, never with a traceback."""
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as problem:
        problem.show()
        sys.exit(problem.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted: nothing half-written is left", err=True)
        sys.exit(130)
    except AfterloadError as problem:
        click.echo(f"error: {problem}", err=True)
        sys.exit(problem.exit_code)
    except BrokenPipeError:
        # The reader of our output has gone; what was to be written to files is written.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


if __name__ == "__main__":
    main()
