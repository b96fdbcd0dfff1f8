"""Find the files that travel with Afterload: workbooks, data and templates.

A wheel carries them beside the module, in ``afterload/share``; a checkout has them at its top level.
"""

from __future__ import annotations

from pathlib import Path

from afterload.errors import NotFoundError

__all__ = ["builtin_path", "inputs_below", "resource"]

_HERE = Path(__file__).resolve().parent
_ROOTS = (_HERE / "share", _HERE.parents[1])
BUILTIN = "builtin:"
_below = ""


def resource(*parts: str) -> Path:
    """Path of a shipped file or folder, such as ``resource("data", "limits.yaml")``.

    Raises :class:`NotFoundError` where neither the wheel nor the checkout has it.
    """
    for root in _ROOTS:
        path = root.joinpath(*parts)
        if path.exists():
            return path
    raise NotFoundError(f"Afterload's own file {'/'.join(parts)} is missing: install the package again")


def builtin_path(text: str, base: Path) -> Path:
    """Resolve a path in a scenario: ``builtin:NAME`` below the shipped ``data``, else relative to ``base``."""
    if text.startswith(BUILTIN):
        parts = text.removeprefix(BUILTIN).split("/")
        if ".." in parts:
            raise NotFoundError(f"{text!r} leaves the shipped data folder")
        try:
            return resource("data", *parts)
        except NotFoundError:
            raise NotFoundError(f"{text[:60]!r} names no file that Afterload ships") from None
    path = Path(text).expanduser()
    if _below and path.is_absolute() and not path.is_relative_to(_below):
        path = Path(f"{_below}{path}")
    return (base / path).resolve()


def inputs_below(folder: str) -> None:
    """From now on, in this process, absolute paths in a scenario lead below this folder.

    That is for a job that is a guest on another machine, where its files are laid out in a folder.
    """
    global _below
    _below = folder
