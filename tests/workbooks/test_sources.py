"""Workbooks are thin: one call a cell, the same parameters in each, nothing executed in them."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from afterload.chapters import PARAMETERS, Workbook
from afterload.forms.workbook import FormWorkbook

WORKBOOKS = sorted((Path(__file__).resolve().parents[2] / "workbooks").glob("*.ipynb"))
PARAMETERS_CELL = (
    'scenario = "builtin:scenarios/orders.yaml"  # path of a scenario file\n'
    'overrides = {}  # single values, such as {"queues.orders.arrival_rate": "1500/min"}'
)
OPENING_CELL = "from afterload.chapters import open_workbook\n\nworkbook = open_workbook(scenario, overrides)"
FORM_CELL = OPENING_CELL.replace("open_workbook", "edit_workbook")
LONGEST_CELL = 10

each = pytest.mark.parametrize("path", WORKBOOKS, ids=lambda path: path.stem)


def read(path: Path) -> NotebookNode:
    nb = nbformat.read(path, as_version=4)
    nbformat.validate(nb)
    return nb


def code_cells(path: Path) -> list[NotebookNode]:
    return [cell for cell in read(path).cells if cell.cell_type == "code"]


def method_called(source: str) -> str | None:
    """The name in ``workbook.NAME()``, if that is all the cell does."""
    match ast.parse(source).body:
        case [
            ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="workbook"), attr=name), args=[], keywords=[]))
        ]:
            return name
    return None


def test_there_are_workbooks() -> None:
    names = [re.sub(r"^\d+-", "", path.stem) for path in WORKBOOKS]
    assert names[0] == "answer"
    assert names[-1] == "provenance"
    assert {"timeline", "backlog", "retries", "launches", "change-plan"} <= set(names)


@each
def test_the_parameters_are_the_same_everywhere(path: Path) -> None:
    tagged = [cell for cell in code_cells(path) if "parameters" in cell.metadata.get("tags", [])]
    assert [cell.source for cell in tagged] == [PARAMETERS_CELL]
    assert tagged == code_cells(path)[:1]
    assigned = [node.targets[0].id for node in ast.parse(tagged[0].source).body]  # type: ignore[attr-defined]
    assert tuple(assigned) == PARAMETERS


@each
def test_cells_are_one_call_and_prose(path: Path) -> None:
    first, opening, *rest = code_cells(path)
    is_form = bool(read(path).metadata.get("afterload", {}).get("interactive"))
    assert opening.source == (FORM_CELL if is_form else OPENING_CELL)
    assert rest
    for cell in rest:
        name = method_called(cell.source)
        assert name is not None, cell.source
        assert callable(getattr(FormWorkbook if is_form else Workbook, name, None)), name
    for cell in (first, opening, *rest):
        assert len(cell.source.splitlines()) <= LONGEST_CELL
        assert set(cell.metadata) <= {"tags"}
    for cell in read(path).cells:
        assert cell.cell_type in ("markdown", "code")
        if cell.cell_type == "markdown":
            assert not re.search(r"<[a-z/!]|style=|^---", cell.source, re.MULTILINE), cell.source


def test_no_section_is_left_out_or_shown_twice() -> None:
    called = [method_called(cell.source) for path in WORKBOOKS for cell in code_cells(path)[2:]]
    sections = [
        name
        for name, member in [*vars(Workbook).items(), *vars(FormWorkbook).items()]
        if callable(member) and not name.startswith("_") and not isinstance(member, property)
    ]
    assert sorted(filter(None, called)) == sorted(sections)


@each
def test_a_workbook_starts_with_its_title(path: Path) -> None:
    nb = read(path)
    assert nb.cells[0].source.splitlines()[0] == f"# {nb.metadata.title}"
    assert sum(cell.source.startswith("# ") for cell in nb.cells if cell.cell_type == "markdown") == 1


@each
def test_ids_are_stable_and_unique(path: Path) -> None:
    ids = [cell.id for cell in read(path).cells]
    assert ids == [f"{path.stem}-{place}" for place in range(1, len(ids) + 1)]


def test_ids_differ_between_workbooks() -> None:
    ids = [cell.id for path in WORKBOOKS for cell in read(path).cells]
    assert len(ids) == len(set(ids))


@each
def test_nothing_executed_is_committed(path: Path) -> None:
    nb = read(path)
    assert nb.metadata.kernelspec == {"display_name": "Python 3", "language": "python", "name": "python3"}
    assert nb.metadata.language_info == {"name": "python"}
    assert set(nb.metadata) - {"afterload"} == {"kernelspec", "language_info", "title"}
    assert set(nb.metadata.get("afterload", {})) <= {"needs", "interactive"}
    for cell in code_cells(path):
        assert cell.outputs == []
        assert cell.execution_count is None
    # As nbformat would write it, so that opening and saving leaves no difference.
    assert (
        path.read_text("utf-8") == json.dumps(json.loads(path.read_text("utf-8")), indent=1, ensure_ascii=False) + "\n"
    )


def test_nbstripout_has_nothing_to_do() -> None:
    command = [sys.executable, "-m", "nbstripout", "--verify", "--keep-id", *map(str, WORKBOOKS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
