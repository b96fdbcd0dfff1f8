"""Small chapters to bind and run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from afterload.report.launch import ForkServer

# Workers import their tasks by name.
sys.path.insert(0, str(Path(__file__).parent / "jobs"))


@pytest.fixture(scope="session")
def warm_server() -> Iterator[ForkServer]:
    """The process from which reports are forked, with all that it loads."""
    with ForkServer() as server:
        yield server


@pytest.fixture
def chapter(tmp_path: Path) -> Callable[..., Path]:
    """Write a chapter ``chapter("01-name", "code", ...)`` and return its path."""

    def write(name: str, *sources: str, parameters: str | None = "x = 1\n", folder: str = ".") -> Path:
        cells = [new_markdown_cell(f"# {name}")]
        if parameters is not None:
            cells.append(new_code_cell(parameters, metadata={"tags": ["parameters"]}))
        cells += [new_code_cell(source) for source in sources]
        path = tmp_path / folder / f"{name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(new_notebook(cells=cells), path)
        return path

    return write
