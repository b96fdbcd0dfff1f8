"""The command, in this process where that is enough and in one of its own where it is not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from afterload import cli

COMMAND = [sys.executable, "-c", "from afterload.cli import main; main()"]


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


@pytest.fixture
def afterload(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """``afterload("check", path)``: exit code, standard output and standard error."""

    def run(*arguments: object) -> Result:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["afterload", *map(str, arguments)])
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        return Result(code, *capsys.readouterr())

    return run


@pytest.fixture
def process() -> Callable[..., subprocess.CompletedProcess[str]]:
    """The same in a process of its own: ``process("report", ..., cwd=folder, env={...}, before=function)``."""

    def run(
        *arguments: object, env: dict[str, str] | None = None, before: Callable[[], None] | None = None, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        return subprocess.run(
            [*COMMAND, *map(str, arguments)],
            env={**os.environ, **(env or {})},
            preexec_fn=before,
            text=True,
            check=False,
            timeout=120,
            **options,
        )

    return run


@pytest.fixture
def no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs a chapter fails the test."""
    from afterload.report import packet

    def refuse(*_: Any, **__: Any) -> None:
        pytest.fail("chapters were run")

    monkeypatch.setattr(packet, "run_tasks", refuse)


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A valid scenario of a team of its own."""
    from afterload.scenario.starter import starter

    path = tmp_path / "team.yaml"
    path.write_text(starter("Team A"), encoding="utf-8")
    return path
