"""Input files that are no files: a named pipe into which nobody writes holds nobody up; what is piped in is read."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
ORDERS = "builtin:scenarios/orders.yaml"
WORDS = "it is a pipe or a device, not a plain file"
WAIT_S = 60

pytestmark = pytest.mark.usefixtures("no_kernel")


@pytest.fixture
def pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Path]]:
    """``pipe("x.csv")`` makes a named pipe in the folder that is the current one; whoever waits for it fails the test."""

    def waited(*_: object) -> None:
        pytest.fail("it waits for somebody to write")

    def make(name: str) -> Path:
        os.mkfifo(tmp_path / name)
        return tmp_path / name

    monkeypatch.chdir(tmp_path)
    before = signal.signal(signal.SIGALRM, waited)
    signal.alarm(WAIT_S)
    yield make
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("check x.yaml", "x.yaml"),
        ("gate x.yaml", "x.yaml"),
        ("report x.yaml", "x.yaml"),
        (f"report {ORDERS} --workbooks .", "x.ipynb"),
        (f"compare {ORDERS} x.json", "x.json"),
        (f"plan {ORDERS} --kept x.csv", "x.csv"),
        (f"plan {ORDERS} --format csv -o x.csv", "x.csv"),
        (f"batch --base {ORDERS} --teams x.csv", "x.csv"),
        (f"batch {ORDERS} --overrides x.yaml", "x.yaml"),
        (f"batch {ORDERS} --previous x.json", "x.json"),
        ("import x.json -o new.yaml --team T --zone UTC", "x.json"),
        ("eta --depth 5 --age 1min --queue q --log x.csv", "x.csv"),
        (f"check {ORDERS} --set incident.timeline=x.csv", "x.csv"),
    ],
)
def test_a_named_pipe_is_refused(afterload: Run, pipe: Callable[[str], Path], words: str, name: str) -> None:
    pipe(name)
    done = afterload(*words.split())
    assert done.code == 3
    assert (WORDS if "--set" not in words else "names no file") in done.err
    assert name in done.err


def test_a_named_pipe_among_the_scenarios_of_a_batch_fails_alone(
    afterload: Run, pipe: Callable[[str], Path], tmp_path: Path
) -> None:
    (tmp_path / "teams").mkdir()
    pipe("teams/x.yaml")
    done = afterload("batch", "teams", "-o", "site", "--quiet")
    assert done.code == 3
    assert WORDS in (tmp_path / "site" / "index.json").read_text("utf-8")


def in_bash(scenario: Path, words: str, command: str) -> subprocess.CompletedProcess[str]:
    """What a shell makes of some words in the scenario's folder, a command of Afterload's among them."""
    whole = words.replace(command, f"{sys.executable} -m afterload {command}")
    return subprocess.run(
        ["bash", "-c", whole], cwd=scenario.parent, capture_output=True, text=True, check=False, timeout=WAIT_S
    )


@pytest.mark.parametrize(
    "words", ["check <(cat team.yaml)", "check /dev/stdin < team.yaml", "cat team.yaml | check /dev/stdin"]
)
def test_what_is_piped_in_is_read(scenario: Path, words: str) -> None:
    done = in_bash(scenario, words, "check")
    assert (done.returncode, done.stderr) == (0, "")
    assert "valid. Team Team A," in done.stdout


@pytest.mark.parametrize("words", ["report <(cat team.yaml)", "cat team.yaml | report /dev/stdin"])
def test_a_packet_of_what_is_piped_in_is_refused_before_anything_runs(scenario: Path, words: str) -> None:
    done = in_bash(scenario, words, "report")
    assert (done.returncode, done.stdout) == (3, "")
    assert "is read once, and every chapter of a packet reads the scenario: save it as a file first" in done.stderr
    assert not (scenario.parent / "packets").exists()
