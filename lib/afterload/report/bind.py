"""Bind chapter notebooks into one notebook that runs with one kernel."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from afterload.errors import InputError, ParameterError
from afterload.report.nodes import make_node, read_notebook

__all__ = ["PARAMETERS_TAG", "bind", "parameter_defaults"]

PARAMETERS_TAG = "parameters"
# nbformat allows 64 characters in a cell id; the number behind the name needs some of them.
_ID_NAME_LENGTH = 56


def bind(chapter_paths: Sequence[str | Path], title: str) -> NotebookNode:
    """One notebook of all chapters, in the order given.

    It holds one cell tagged ``parameters``, the first chapter's. Every cell says its chapter, the
    file's stem, in ``metadata.afterload.chapter``. Outputs are left out, and cell ids follow from the
    names and the order.

    Raises :class:`InputError` where no chapter is given, two share a name or one is not a notebook,
    :class:`NotFoundError` where a file is missing, :class:`ParameterError` where a chapter has no single
    ``parameters`` cell or declares other names or defaults than the first.
    """
    paths = [Path(path) for path in chapter_paths]
    if not paths:
        raise InputError("no chapter was given: name at least one")
    _refuse_twins(paths)
    chapters = [(path, read_notebook(path)) for path in paths]
    _check_parameters(chapters)

    cells: list[NotebookNode] = []
    names: set[str] = set()
    for position, (path, chapter) in enumerate(chapters):
        name = _id_name(path.stem, names)
        kept = [cell for cell in chapter.cells if position == 0 or not _is_parameters(cell)]
        cells.extend(_clean(cell, path.stem, f"{name}-{n}") for n, cell in enumerate(kept, start=1))
    return _notebook(cells, title)


def parameter_defaults(nb: NotebookNode, where: str = "the notebook") -> dict[str, str]:
    """Names and defaults, as Python text, that the ``parameters`` cell declares.

    Raises :class:`ParameterError` where there is no single such cell, or it does more than declare.
    """
    found = [cell for cell in nb.cells if _is_parameters(cell)]
    if len(found) != 1:
        raise ParameterError(f"{where} has {len(found)} cells tagged 'parameters'; exactly one is needed")
    return dict(_declarations(str(found[0].source), where))


def _notebook(cells: list[NotebookNode], title: str) -> NotebookNode:
    return make_node(
        {
            "cells": cells,
            "metadata": {
                "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
                "language_info": {"name": "python"},
                "title": title,
            },
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    )


def _refuse_twins(paths: Iterable[Path]) -> None:
    seen: dict[str, Path] = {}
    for path in paths:
        if path.stem in seen:
            raise InputError(f"chapters {seen[path.stem]} and {path} share the name {path.stem!r}")
        seen[path.stem] = path


def _check_parameters(chapters: list[tuple[Path, NotebookNode]]) -> None:
    first_path, first = chapters[0]
    expected = parameter_defaults(first, f"chapter {first_path}")
    for path, chapter in chapters[1:]:
        seen = parameter_defaults(chapter, f"chapter {path}")
        problems = [
            *(f"{name} is missing" for name in expected if name not in seen),
            *(f"{name} is not declared there" for name in seen if name not in expected),
            *(
                f"{name} is {seen[name]}, not {expected[name]}"
                for name in expected
                if name in seen and seen[name] != expected[name]
            ),
        ]
        if problems:
            raise ParameterError(f"chapter {path} declares other parameters than {first_path}: {'; '.join(problems)}")


def _declarations(source: str, where: str) -> Iterable[tuple[str, str]]:
    try:
        body = ast.parse(source).body
    except SyntaxError as error:
        raise ParameterError(
            f"{where}: the parameters cell is not plain Python, line {error.lineno}: {error.msg}"
        ) from error
    for statement in body:
        match statement:
            case ast.Expr(value=ast.Constant()):
                continue
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if _is_literal(value):
                yield name, ast.unparse(value)
            case _:
                raise ParameterError(
                    f"{where}: line {statement.lineno} of the parameters cell, "
                    f"{ast.unparse(statement)!r}, is not NAME = VALUE with a plain value"
                )


def _is_literal(value: ast.expr) -> bool:
    try:
        ast.literal_eval(value)
    except (ValueError, TypeError):
        return False
    return True


def _is_parameters(cell: NotebookNode) -> bool:
    return cell.cell_type == "code" and PARAMETERS_TAG in cell.metadata.get("tags", [])


def _id_name(stem: str, taken: set[str]) -> str:
    """A stem as a cell id allows it, told apart from the others."""
    base = re.sub(r"[^A-Za-z0-9_-]+", "-", stem)[:_ID_NAME_LENGTH] or "chapter"
    name, number = base, 2
    while name in taken:
        name, number = f"{base}_{number}", number + 1
    taken.add(name)
    return name


def _clean(cell: NotebookNode, chapter: str, cell_id: str) -> NotebookNode:
    """The cell without outputs, counts and foreign metadata."""
    metadata: dict[str, Any] = {"afterload": {"chapter": chapter}}
    if cell.metadata.get("tags"):
        metadata["tags"] = list(cell.metadata.tags)
    fields: dict[str, Any] = {
        "cell_type": cell.cell_type,
        "id": cell_id,
        "metadata": metadata,
        "source": cell.source,
    }
    if cell.cell_type == "code":
        fields |= {"execution_count": None, "outputs": []}
    elif cell.get("attachments"):
        fields["attachments"] = cell.attachments
    return make_node(fields)
