"""What commands share: printing, and the option that overrides single values."""

from __future__ import annotations

import errno
import math
from pathlib import Path

import click

from afterload.errors import NotFoundError, OutputError
from afterload.files import write_whole

__all__ = ["CELL_TIMEOUT", "KEPT", "SET", "ReaderGoneError", "echo", "finite", "give", "read_entered"]


class ReaderGoneError(Exception):
    """Nobody reads what is printed. Click would end with code 1 for that, and say nothing else."""


def echo(text: object, err: bool = False, end: str = "\n") -> None:
    """Print; :class:`ReaderGoneError` where nobody reads, :class:`OutputError` where it cannot be written."""
    try:
        click.echo(f"{text}{end}", err=err, nl=False)
    except OSError as problem:
        stream = "standard error" if err else "standard output"
        if problem.errno == errno.EPIPE:
            raise ReaderGoneError(stream) from None
        raise OutputError(f"cannot write to {stream}: {problem.strerror or problem}") from problem


def finite(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    """Refuse a number of seconds that has no end, or is none."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is not a number of seconds.")
    return value


def give(text: str, target: str | Path | None) -> None:
    """Print a whole text, or write it to a file and print the file's path."""
    if target is None:
        echo(text, end="")
    else:
        write_whole(target, text)
        echo(target)


SET = click.option(
    "--set", "overrides", multiple=True, metavar="PATH=VALUE",
    help="Override one value, as in queues.orders.arrival_rate=1500/min. Can be given again.",
)  # fmt: skip

CELL_TIMEOUT = click.option(
    "--cell-timeout", type=click.FloatRange(min=1), default=300, show_default=True, callback=finite,
    help="Seconds for a cell.",
)  # fmt: skip

KEPT = click.option(
    "--kept", metavar="CSV",
    help="A plan's CSV of an earlier run: the owners that were agreed on are taken from it.",
)  # fmt: skip


def read_entered(path: str | None) -> dict[str, dict[str, str]]:
    """What people entered into a plan's CSV that was named; nothing where none was.

    Raises :class:`NotFoundError` where it is not there, and what :func:`afterload.plan.kept.read_kept` raises.
    """
    if path is None:
        return {}
    from afterload.plan.kept import read_kept

    if not Path(path).exists():
        raise NotFoundError(f"{path}: no such file")
    return read_kept(path)
