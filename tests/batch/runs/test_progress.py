"""What is seen while a batch runs: a bar on a terminal, plain lines elsewhere, JSON lines in a file."""

from __future__ import annotations

import json
import os
import pty
import select
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path

import pytest

from afterload.batch.progress import JsonLog, Progress, first_line
from afterload.batch.run import usable_cores


def test_lines_without_control_characters_where_there_is_no_terminal() -> None:
    stream = StringIO()
    progress = Progress(12, stream)
    progress.say("nothing yet")
    progress.ended("Orders\x1b[31m", "made in 2.1 s", False)
    progress.ended("Payments", "FAILED", True)
    progress.close()
    assert stream.getvalue().splitlines() == [
        "nothing yet",
        "[ 1/12] Orders\\x1b[31m: made in 2.1 s",
        "[ 2/12] Payments: FAILED",
    ]


def shown_on(terminal: int) -> str:
    """All that has arrived: one read may give a part of it."""
    found = b""
    while select.select([terminal], [], [], 0.5)[0]:
        found += os.read(terminal, 1 << 16)
    return found.decode()


def test_one_bar_with_rate_and_time_left_on_a_terminal() -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as stream:
        progress = Progress(3, stream)
        progress.say("not beside a bar")
        progress.ended("a", "made", False)
        progress.ended("b", "FAILED", True)
        progress.ended("c", "made", False)
        progress.close()
        stream.flush()
        shown = shown_on(ours)
    os.close(ours)
    assert "not beside" not in shown
    assert "3/3" in shown
    assert "teams/min, 1 failed" in shown
    assert "Teams" in shown


def test_a_note_stands_above_the_bar() -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as stream:
        progress = Progress(2, stream)
        progress.note("a worker\x1b[31m has gone")
        progress.ended("a", "made", False)
        progress.close()
        stream.flush()
        shown = shown_on(ours)
    os.close(ours)
    assert "\r\x1b[Ka worker\\x1b[31m has gone\r\n" in shown
    assert shown.rindex("Teams") > shown.index("has gone")


def test_nothing_where_quiet_was_asked_for() -> None:
    stream = StringIO()
    progress = Progress(1, stream, quiet=True)
    progress.ended("a", "made", False)
    progress.close()
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("one\ntwo", "one"),
        ("\n\none", "one"),
        ("a.yaml: 2 problems\n  a.yaml:1: x\n  a.yaml:2: y", "a.yaml:1: x (and 1 more)"),
        ("a.yaml: 1 problem\n  a.yaml:1: x", "a.yaml:1: x"),
        ("\x1b[2Jx", "\\x1b[2Jx"),
        ("", ""),
        ("x" * 400, "x" * 300 + "..."),
    ],
)
def test_the_first_line_of_a_message(text: str, line: str) -> None:
    assert first_line(text) == line


def test_the_log_is_one_object_a_line_with_zoned_times(tmp_path: Path) -> None:
    log = JsonLog(tmp_path / "log.jsonl")
    log.write("made", team="Zeilen\numbruch", seconds=1.5, problem=None)
    log.write("failed", team="B", problem={"kind": "time", "text": "x"})
    log.close()
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text("utf-8").splitlines()]
    assert [{key: item[key] for key in item if key != "time"} for item in lines] == [
        {"event": "made", "team": "Zeilen\numbruch", "seconds": 1.5},
        {"event": "failed", "team": "B", "problem": {"kind": "time", "text": "x"}},
    ]
    assert all(datetime.fromisoformat(item["time"]).utcoffset() == timedelta(0) for item in lines)


def test_what_is_no_text_is_spelled_out_in_the_log(tmp_path: Path) -> None:
    log = JsonLog(tmp_path / "log.jsonl")
    log.write("cluster", text="caf\udce9.yaml")
    log.close()
    assert log.problem == ""
    assert json.loads((tmp_path / "log.jsonl").read_text("utf-8"))["text"] == "caf\udce9.yaml"


def test_a_log_that_cannot_be_written_says_so_once_and_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    log = JsonLog(tmp_path / "file" / "log.jsonl")
    log.write("made")
    assert "cannot write the log" in log.problem
    full = JsonLog("/dev/full")
    full.write("made", team="a")
    full.write("made", team="b")
    assert "No space left on device" in full.problem


@pytest.mark.parametrize(
    ("file", "content", "cores"),
    [
        ("cpu.max", "150000 100000\n", 1),
        ("cpu.max", "50000 100000\n", 1),
        ("cpu.max", "300000 100000\n", 3),
        ("cpu.max", "max 100000\n", 4),
        ("cpu.max", "damaged", 4),
        ("cpu/cpu.cfs_quota_us", "200000", 2),
        ("cpu/cpu.cfs_quota_us", "-1", 4),
    ],
)
def test_the_cores_are_those_that_may_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, content: str, cores: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    assert usable_cores(tmp_path) == 4
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000", "ascii")
    (tmp_path / file).write_text(content, "ascii")
    assert usable_cores(tmp_path) == cores
