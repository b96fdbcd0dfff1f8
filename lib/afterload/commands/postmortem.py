"""The command that writes a postmortem."""

from __future__ import annotations

import click

from afterload.commands.shared import KEPT, SET, give, read_entered

__all__ = ["postmortem"]


@click.command()
@click.argument("file")
@click.option("-o", "--output", "target", type=click.Path(dir_okay=False), help="File to write; printed by default.")
@KEPT
@SET
def postmortem(file: str, target: str | None, kept: str | None, overrides: tuple[str, ...]) -> None:
    """Write the postmortem of FILE as Markdown.

    It holds what the chapter of the packet holds: the account of the event, and what is computed beside it.
    """
    from afterload.scenario import load_scenario

    entered = read_entered(kept)
    loaded = load_scenario(file, overrides)
    from afterload.estimates import estimate
    from afterload.plan import build_plan
    from afterload.report.markdown import postmortem_markdown

    estimates = estimate(loaded)
    text = postmortem_markdown(estimates, build_plan(estimates), estimates.coupling, entered)
    give(text, target)
