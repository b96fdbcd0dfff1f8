"""Packets with a chapter of a team's own among the shipped ones."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from afterload import cli

ROOT = Path(__file__).resolve().parents[2]
PARAMETERS = 'scenario = "builtin:scenarios/orders.yaml"\noverrides = {}'


@dataclass(frozen=True)
class Made:
    """What a run of ``afterload report`` left."""

    code: int
    out: str
    err: str
    folder: Path

    @property
    def files(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()} if self.folder.exists() else set()

    @property
    def page(self) -> BeautifulSoup:
        return BeautifulSoup((self.folder / "orders.html").read_text("utf-8"), "html.parser")

    @property
    def nb(self) -> NotebookNode:
        nb = nbformat.read(self.folder / "orders.ipynb", as_version=4)
        nbformat.validate(nb)
        return nb


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Made]:
    """``report("--set", ...)`` runs the example's report into a folder of its own."""

    def run(*arguments: object) -> Made:
        capsys.readouterr()
        folder = tmp_path / "out"
        monkeypatch.setattr(sys, "argv", ["afterload", "report", "--example", "-o", str(folder), *map(str, arguments)])
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        return Made(code, *capsys.readouterr(), folder)

    return run


@pytest.fixture
def own_workbooks(tmp_path: Path) -> Callable[..., Path]:
    """A folder with the first and the last chapter and, between them, one with these cells."""

    def write(*sources: str) -> Path:
        folder = tmp_path / "own"
        folder.mkdir()
        for name in ("00-answer", "90-provenance"):
            shutil.copy(ROOT / "workbooks" / f"{name}.ipynb", folder)
        cells = [
            new_markdown_cell("# Our own"),
            new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]}),
            *map(new_code_cell, sources),
        ]
        nbformat.write(new_notebook(cells=cells), folder / "45-own.ipynb")
        return folder

    return write
