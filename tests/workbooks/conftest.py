"""The workbooks and their executed references, and a team's own file beside them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[2]
Papermill = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture
def team_folder(tmp_path: Path) -> Path:
    """A folder to work in, beside another one with a team's scenario: the example at a service rate of 2,400/min."""
    text = (ROOT / "data" / "scenarios" / "orders.yaml").read_text(encoding="utf-8")
    assert text.count("service_rate: 1,800/min") == 1
    other = tmp_path / "a team's files"
    other.mkdir()
    (other / "own.yaml").write_text(text.replace("service_rate: 1,800/min", "service_rate: 2,400/min"), "utf-8")
    work = tmp_path / "work"
    work.mkdir()
    return work


@pytest.fixture
def papermill() -> Papermill:
    """Plain papermill with its own engine: ``papermill(folder, workbook name, *arguments)`` writes ``out.ipynb``."""

    def run(folder: Path, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "papermill", "--no-progress-bar", str(ROOT / "workbooks" / name), "out.ipynb"]
        return subprocess.run(
            [*command, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=120
        )

    return run


@pytest.fixture(scope="session")
def texts() -> Callable[[Path], str]:
    """All text of a notebook's outputs."""

    def read(path: Path) -> str:
        nb: NotebookNode = nbformat.read(path, as_version=4)
        found = []
        for cell in nb.cells:
            for output in cell.get("outputs", []):
                found.append(output.get("text", ""))
                found.append(output.get("data", {}).get("text/plain", ""))
        return "\n".join(found)

    return read
