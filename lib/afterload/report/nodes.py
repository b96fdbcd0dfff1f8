"""The few calls on notebooks that have types here and none in nbformat."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from afterload.errors import InputError, NotFoundError
from afterload.reads import read_input

__all__ = ["make_node", "notebook_text", "quiet_log", "read_notebook"]

# For libraries that must be given a log and have nothing to say to a user.
quiet_log = logging.getLogger("afterload.report.quiet")
quiet_log.addHandler(logging.NullHandler())
quiet_log.propagate = False

# nbformat is typed in name only: its functions carry no annotations.
_nbformat: Any = nbformat


def make_node(fields: dict[str, Any]) -> NotebookNode:
    """A notebook, a cell or an output from plain dicts and lists."""
    node: NotebookNode = _nbformat.from_dict(fields)
    return node


def notebook_text(nb: NotebookNode) -> str:
    """The notebook as it stands in a file, with a line break at its end."""
    return str(_nbformat.writes(nb)).rstrip("\n") + "\n"


def read_notebook(path: str | Path) -> NotebookNode:
    """Read and check one notebook.

    Raises :class:`NotFoundError` where there is no such file, :class:`InputError` where it is no notebook.
    """
    try:
        text = read_input(path).decode("utf-8")
    except FileNotFoundError as error:
        raise NotFoundError(f"notebook {path} does not exist") from error
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"notebook {path} cannot be read: {reason}") from error
    try:
        nb: NotebookNode = _nbformat.reads(text, as_version=4)
        _nbformat.validate(nb)
    except (ValueError, AttributeError, KeyError, TypeError, nbformat.ValidationError) as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(f"{path} is not a notebook: {reason[0]}") from error
    return nb
