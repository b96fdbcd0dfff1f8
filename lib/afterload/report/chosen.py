"""Which chapters a packet is made of and whether its folder can be written into; told before anything heavy is loaded."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

from afterload.errors import NotFoundError, OutputError
from afterload.reads import read_input
from afterload.resources import resource

__all__ = ["chapter_paths", "check_folder"]


def check_folder(folder: str | Path) -> None:
    """Raise :class:`OutputError` where it is clear before any work that nothing can be written into ``folder``."""
    path = Path(folder).absolute()
    try:
        nearest = next(each for each in (path, *path.parents) if each.exists())
        is_folder = nearest.is_dir()
    except (OSError, ValueError) as problem:
        raise OutputError(f"cannot write into {folder}: {getattr(problem, 'strerror', None) or problem}") from problem
    if not is_folder:
        raise OutputError(f"cannot write into {folder}: {nearest} is a file, not a folder")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise OutputError(f"cannot write into {folder}: permission denied")


def chapter_paths(folder: str | Path | None = None, names: Sequence[str] = ()) -> tuple[Path, ...]:
    """The chapters of a folder in reading order, or those named, by their name with or without its number.

    Chapters to work in, which say ``interactive`` in their metadata, are no part of a packet and left out.
    Raises :class:`NotFoundError` for a folder without notebooks or a chapter that it does not have.
    """
    root = Path(folder) if folder is not None else resource("workbooks")
    found = sorted(path for path in root.glob("*.ipynb") if not path.name.startswith(".") and not _is_interactive(path))
    if not found:
        raise NotFoundError(f"{root}: holds no notebooks (*.ipynb)")
    if not names:
        return tuple(found)
    known = {key: path for path in found for key in (path.stem, re.sub(r"^\d+-", "", path.stem))}
    unknown = [name for name in names if name not in known]
    if unknown:
        have = ", ".join(re.sub(r"^\d+-", "", path.stem) for path in found)
        raise NotFoundError(f"there is no chapter {', '.join(map(repr, unknown))}; known: {have}")
    wanted = {known[name] for name in names}
    return tuple(path for path in found if path in wanted)


def _is_interactive(path: Path) -> bool:
    try:
        metadata = json.loads(read_input(path))["metadata"]
        return bool(metadata.get("afterload", {}).get("interactive"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # Whoever binds it says what is wrong with it.
        return False
