"""Batches of small teams, with a chapter of their own that does what a team's owner says: work, fail, or be killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from afterload import cli
from afterload.report import workers
from afterload.report.workers import Launcher, new_launcher

COMMAND = [sys.executable, "-c", "from afterload.cli import main; main()"]
PARAMETERS = 'scenario = "builtin:scenarios/orders.yaml"\noverrides = {}'
# No queue and no fleet: the cheapest team that there is.
BASE = """\
team: Base
owner: works
time_zone: UTC
recovery_objective: 60 min
incident:
  name: outage
  trigger: 2026-03-01T10:00Z
  restored_at: 2026-03-01T12:00Z
call_stacks:
  api:
    failure_probability: 1
    layers:
      - { name: caller, tries: 2 }
      - { name: client, tries: 3 }
"""
QUEUE = """\
queues:
  jobs:
    service: sqs-lambda
    arrival_rate: 100/min
    service_rate: 150/min
"""
# What the chapter does for each owner; the rest of the packet is the team's in any case.
HARMS = {
    "fails": "raise ValueError('this team fails')",
    "leaves": "raise SystemExit(3)",
    "slow": "import time; time.sleep(600)",
    "deaf": (
        "import time\nuntil = time.monotonic() + 600\nwhile time.monotonic() < until:\n    try:\n        time.sleep(600)\n"
        "    except BaseException:\n        pass"
    ),
    "killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "gone": "import os; os._exit(7)",
    "greedy": "held = bytearray(3_000_000_000)",
    "large": "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))",
    "full": (
        "import errno, os\ndef fsync(_):\n    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))\nos.fsync = fsync"
    ),
    "held": "import pathlib, time\nwhile (pathlib.Path(scenario).parent / 'hold').exists():\n    time.sleep(0.05)",
}


@dataclass(frozen=True)
class Result:
    """What a batch left: its exit code, what it printed, and its folder."""

    code: int
    out: str
    err: str
    site: Path

    @property
    def index(self) -> Any:
        return json.loads((self.site / "index.json").read_text("utf-8"))

    @property
    def failures(self) -> dict[str, tuple[str, str]]:
        """Kind and words of teams without a record, by id."""
        return {item["id"]: (item["kind"], item["text"]) for item in self.index["failures"]}

    @property
    def made(self) -> set[str]:
        return {item["id"] for item in self.index["teams"]}

    def files(self, team: str) -> set[str]:
        folder = self.site / "teams" / team
        return {path.name for path in folder.iterdir()} if folder.is_dir() else set()

    @property
    def half_files(self) -> list[Path]:
        return list(self.site.rglob(".afterload-*"))


def events(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()]


def counted(log: Path) -> Counter[str]:
    return Counter(item["event"] for item in events(log))


def teams_of(log: Path, event: str) -> set[str]:
    return {item["team"] for item in events(log) if item["event"] == event}


@pytest.fixture
def workbooks(tmp_path: Path) -> Path:
    """A folder with one chapter, which does what the owner says."""
    folder = tmp_path / "workbooks"
    folder.mkdir()
    cases = "\n".join(f"if owner == {owner!r}:\n    exec({code!r})" for owner, code in HARMS.items())
    cells = [
        new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]}),
        new_markdown_cell("# Own"),
        new_code_cell(
            "from afterload.chapters import open_workbook\nworkbook = open_workbook(scenario, overrides)\n"
            "owner = workbook.loaded.scenario.owner"
        ),
        new_code_cell(cases),
        new_code_cell("workbook.loaded.scenario.team"),
    ]
    for number, cell in enumerate(cells):
        cell["id"] = f"own-{number}"
    nbformat.write(new_notebook(cells=cells), folder / "10-own.ipynb")
    return folder


@pytest.fixture
def scenarios(tmp_path: Path) -> Callable[..., Path]:
    """``scenarios(a="works", b="fails")`` writes a file a team, named and owned so; ``text`` goes below each."""

    def write(text: str = "", **owners: str) -> Path:
        folder = tmp_path / "scenarios"
        folder.mkdir(exist_ok=True)
        for team, owner in owners.items():
            own = BASE.replace("team: Base", f"team: {team}").replace("owner: works", f"owner: {owner}")
            (folder / f"{team}.yaml").write_text(own + text, "utf-8")
        return folder

    return write


@pytest.fixture(scope="session")
def launcher() -> Iterator[Launcher]:
    """One warm process from which the workers of all batches in this process are forked."""
    launcher = new_launcher()
    yield launcher
    launcher.close()


@pytest.fixture
def batch(
    launcher: Launcher,
    tmp_path: Path,
    workbooks: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Any:
    """``batch("scenarios", ...)`` in this process, from ``tmp_path`` and with the chapter of our own."""

    monkeypatch.setattr(workers, "run_tasks", partial(workers.run_tasks, launcher=launcher))

    def run(*arguments: object, site: str = "site") -> Result:
        capsys.readouterr()
        monkeypatch.chdir(tmp_path)
        words = ["batch", *map(str, arguments), "-o", site]
        if "--workbooks" not in words and "--chapters" not in words:
            words += ["--workbooks", str(workbooks)]
        monkeypatch.setattr(sys, "argv", ["afterload", *words])
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        return Result(code, *capsys.readouterr(), tmp_path / site)

    return run


@pytest.fixture
def started(tmp_path: Path, workbooks: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """``started("scenarios", ...)`` begins a batch in a process of its own; whatever is left of it ends with the test."""
    processes = []

    def start(*arguments: object, **options: Any) -> subprocess.Popen[str]:
        words = ["batch", *map(str, arguments), "-o", "site", "--workbooks", str(workbooks)]
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        process = subprocess.Popen(
            [*COMMAND, *words], cwd=tmp_path, text=True, env={**os.environ, "BATCH_OF": str(tmp_path)}, **options
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()
