"""Files of an earlier run that still stand in a packet's folder, although the newer run gives none.

People may have edited them, or lean on them: whoever cannot tell only says that they are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

__all__ = ["ENDINGS", "TABLE", "left_behind", "left_words"]

# The plan's CSV, in which people enter something: nothing takes it away.
TABLE = "-plan.csv"
# Every file of a packet, behind the team's name.
ENDINGS = (".html", ".ipynb", TABLE, "-plan.md", "-plan.json", "-runbook.md", "-postmortem.md")


def left_behind(folder: Path, name: str, written: Iterable[str]) -> tuple[str, ...]:
    """Names of a packet's files that stand in the folder and are not among those just ``written`` for the team's ``name``."""
    new = set(written)
    files = (f"{name}{ending}" for ending in ENDINGS)
    return tuple(file for file in files if file not in new and (folder / file).exists())


def left_words(paths: Sequence[object]) -> str:
    """One line about files that were left, by their names."""
    one = len(paths) == 1
    return (
        f"{', '.join(map(str, paths))}: {'was' if one else 'were'} written by an earlier run and not by this one: delete "
        f"{'it' if one else 'them'} if nobody needs {'it' if one else 'them'}"
    )
