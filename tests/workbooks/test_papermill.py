"""Workbooks under the tools that people have: plain papermill and plain nbconvert."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
Papermill = Callable[..., "subprocess.CompletedProcess[str]"]
OWN = "../a team's files/own.yaml"


@pytest.mark.parametrize(
    ("workbook", "overrides"),
    [
        ("20-backlog.ipynb", ("-y", "overrides: {queues.orders.arrival_rate: 1500/min}")),
        ("00-answer.ipynb", ("-p", "overrides", "queues.orders.arrival_rate=1500/min")),
    ],
)
def test_a_file_elsewhere_and_one_value_changed(
    papermill: Papermill,
    texts: Callable[[Path], str],
    team_folder: Path,
    workbook: str,
    overrides: tuple[str, ...],
) -> None:
    done = papermill(team_folder, workbook, "-p", "scenario", OWN, *overrides)
    assert done.returncode == 0, done.stderr
    text = texts(team_folder / "out.ipynb")
    # 172 min at 1,500/min, then 900/min to spare.
    assert "258,000" in text
    assert "287 min" in text
    assert "206,400" not in text
    assert "344 min" not in text


@pytest.mark.parametrize(
    ("arguments", "kind", "parts"),
    [
        (("-p", "scenari", OWN), "ParameterError", ("'scenari' is not a parameter", "nearest: scenario", "overrides")),
        (
            ("-y", "overrides: {queues.orders.arrival_rat: 1500/min}"),
            "OverrideError",
            ("arrival_rat", "nearest: queues.orders.arrival_rate"),
        ),
        (("-p", "overrides", "queues.orders.arrival_rate=fast"), "ScenarioError", ("arrival_rate", "fast", "accepted")),
        (("-p", "scenario", "2025_10"), "ParameterError", ("202510", "not a path", "-r scenario")),
    ],
    ids=["unknown parameter", "unknown path", "wrong value", "a path made a number"],
)
def test_the_first_cell_refuses(
    papermill: Papermill, team_folder: Path, arguments: tuple[str, ...], kind: str, parts: tuple[str, ...]
) -> None:
    done = papermill(team_folder, "90-provenance.ipynb", *arguments)
    assert done.returncode != 0
    nb = nbformat.read(team_folder / "out.ipynb", as_version=4)
    failed = [cell for cell in nb.cells if any(o.output_type == "error" for o in cell.get("outputs", []))]
    assert [cell.source.splitlines()[-1] for cell in failed] == ["workbook = open_workbook(scenario, overrides)"]
    [error] = failed[0].outputs
    assert error.ename == kind
    message = "\n".join(error.traceback)
    for part in parts:
        assert part in message
        assert part in error.evalue
    # The message, and not a frame of Python around it.
    assert message == error.evalue
    assert "Traceback" not in message
    assert "File " not in message
    assert "---->" not in message
    after = [cell for cell in nb.cells if cell.source == "workbook.provenance()"]
    assert [cell.outputs for cell in after] == [[]]


def test_an_injected_cell_mended_by_hand_is_accepted_in_the_same_kernel() -> None:
    code = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        "run = lambda source: shell.run_cell(source, store_history=True).success\n"
        "opening = 'from afterload.chapters import open_workbook\\n"
        'w = open_workbook("builtin:scenarios/orders.yaml", {})\'\n'
        "print(run('# Parameters\\nscenari = 1'), run(opening))\n"
        "print(run('# Parameters\\nscenario = 1'), run(opening))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert "'scenari' is not a parameter" in done.stdout
    assert [line for line in done.stdout.splitlines() if line.startswith("True")] == ["True False", "True True"]


def test_plain_nbconvert_runs_a_workbook(tmp_path: Path, texts: Callable[[Path], str]) -> None:
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--output-dir", str(tmp_path)]
    source = ROOT / "workbooks" / "20-backlog.ipynb"
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    text = texts(tmp_path / "20-backlog.ipynb")
    assert "206,400" in text
    assert "344 min" in text
