"""The form chapter where nobody sits at it: complete as text, and no part of a packet."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

import afterload.forms.views
from afterload.errors import NotFoundError
from afterload.report.packet import chapter_paths
from afterload.resources import resource

CHAPTER = resource("workbooks", "02-fill-in.ipynb")
VIEWS = sorted(Path(afterload.forms.views.__file__).parent.glob("*.py"))


def test_a_packet_does_not_hold_it() -> None:
    assert CHAPTER not in chapter_paths()
    assert chapter_paths(names=["answer"]) != ()
    with pytest.raises(NotFoundError, match="fill-in"):
        chapter_paths(names=["fill-in"])


def test_plain_nbconvert_gives_a_page_without_widgets(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--execute", "--output-dir", str(tmp_path)]
    done = subprocess.run([*command, str(CHAPTER)], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "02-fill-in.html").read_text("utf-8")
    assert "widget-view" not in page
    assert "Loading widget" not in page
    for words in ("344 min", "206,400", "243 calls", "19.2 min", "First changes", "queues.orders.arrival_rate"):
        assert words in page


def test_plain_papermill_tells_what_an_empty_file_lacks(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "papermill", "--no-progress-bar", str(CHAPTER), "out.ipynb"]
    done = subprocess.run(
        [*command, "-r", "scenario", "new.yaml"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    nb = nbformat.read(tmp_path / "out.ipynb", as_version=4)
    outputs = [output for cell in nb.cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if "application/vnd.jupyter.widget-view+json" in output.get("data", {})]
    text = "\n".join(output.data["text/plain"] for output in outputs)
    assert "new.yaml: team: is missing" in text
    assert "incident.trigger" in text
    assert not (tmp_path / "new.yaml").exists()


@pytest.mark.parametrize("path", VIEWS, ids=lambda path: path.stem)
def test_views_do_not_compute(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    computing = [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.BinOp)
        and not isinstance(node.op, ast.BitOr)
        # A path below a folder.
        and not ((isinstance(node.op, ast.Div) and "HERE" in ast.unparse(node)) or ".css" in ast.unparse(node))
    ]
    assert computing == []
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    # papermill can hang on an Output that is used as a context.
    assert names & {"Output", "interactive_output", "interact", "clear_output"} == set()
