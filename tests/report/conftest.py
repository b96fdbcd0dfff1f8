"""Small chapters to bind and run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook


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
