"""What commands share: printing, and the option that overrides single values."""

from __future__ import annotations

import errno

import click

from afterload.errors import OutputError

__all__ = ["SET", "ReaderGoneError", "echo"]


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


SET = click.option(
    "--set", "overrides", multiple=True, metavar="PATH=VALUE",
    help="Override one value, as in queues.orders.arrival_rate=1500/min. Can be given again.",
)  # fmt: skip
