"""Running chapters: what fails stays where it failed, and the rest is there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from afterload.errors import ChapterError, ParameterError
from afterload.report import kernel
from afterload.report.engine import failures_of
from afterload.report.run import PacketRun, run_packet

Chapter = Callable[..., Path]


def printed(run: PacketRun) -> str:
    return "".join(
        output.text for cell in run.nb.cells for output in cell.get("outputs", []) if output.output_type == "stream"
    )


def notes(run: PacketRun) -> dict[str, str]:
    found = {}
    for cell in run.nb.cells:
        marks = cell.metadata.get("afterload", {})
        if "note" in marks:
            found[marks.chapter] = marks.note
    return found


def names(run: PacketRun) -> dict[str, str]:
    return {failure.chapter: failure.ename for failure in run.failures}


def test_every_kind_of_failure_leaves_the_other_chapters_alone(
    chapter: Chapter, capfd: pytest.CaptureFixture[str]
) -> None:
    paths = [
        chapter("01-good", "import warnings\nwarnings.warn('careful')\nprint('good', x)"),
        chapter("02-error", "1 / 0", "print('never')"),
        chapter("03-exit", "raise SystemExit(0)", "print('never')"),
        chapter("04-magic", "%nosuchmagic", "print('never')"),
        chapter("05-caught", "try:\n    1/0\nexcept Exception:\n    get_ipython().showtraceback()", "print('never')"),
        chapter("06-loop", "while True: pass", "print('never')"),
        chapter("07-flood", "while True: print('y' * 100)", "print('never')"),
        chapter("08-good", "print('still here')"),
    ]
    run = run_packet(paths, {"x": 5}, "T", cell_timeout_s=1.5)
    assert names(run) == {
        "02-error": "ZeroDivisionError",
        "03-exit": "SystemExit",
        "04-magic": "UsageError",
        "05-caught": "ZeroDivisionError",
        "06-loop": "TimeLimit",
        "07-flood": "TimeLimit",
    }
    text = printed(run)
    assert "good 5" in text
    assert "still here" in text
    assert "never" not in text
    assert len(text) < 100_000
    assert set(notes(run)) == set(names(run))
    assert run.warnings == ("01-good: UserWarning: careful",)
    for failure in run.failures:
        cell = run.nb.cells[failure.cell_index]
        assert cell.metadata.afterload.chapter == failure.chapter
        assert [o.evalue for o in cell.outputs if o.output_type == "error"] == [failure.evalue]
        assert failure.traceback
    assert "limit of 1.5 s" in run.failures[4].evalue
    nbformat.validate(run.nb)
    assert capfd.readouterr() == ("", "")


def test_a_dead_kernel_costs_only_what_comes_after(chapter: Chapter) -> None:
    paths = [
        chapter("01-good", "print('kept')"),
        chapter("02-dies", "import os\nos._exit(3)", "print('never')"),
        chapter("03-later", "print('never')", "print('never')"),
    ]
    run = run_packet(paths, {}, "T", cell_timeout_s=30)
    assert names(run) == {"02-dies": "KernelDied", "03-later": "NotRun"}
    assert "exit code 3" in run.failures[0].evalue
    assert printed(run) == "kept\n"
    assert "had ended in an earlier chapter" in notes(run)["03-later"]


def test_a_cell_that_swallows_the_interrupt_is_ended(chapter: Chapter, monkeypatch: pytest.MonkeyPatch) -> None:
    from afterload.report import client

    monkeypatch.setattr(client, "INTERRUPT_GRACE_S", 0.5)
    stubborn = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"
    run = run_packet([chapter("01-good", "print('kept')"), chapter("02-stubborn", stubborn)], {}, "T", False, 0.5)
    assert names(run) == {"02-stubborn": "TimeLimit"}
    assert "did not stop when asked" in run.failures[0].evalue
    assert printed(run) == "kept\n"


def test_quit_counts_as_a_failure(chapter: Chapter) -> None:
    run = run_packet([chapter("01-quits", "quit()"), chapter("02-later", "print('never')")], {}, "T")
    assert names(run) == {"01-quits": "SystemExit", "02-later": "NotRun"}


def test_the_same_inputs_give_the_same_bytes(chapter: Chapter) -> None:
    source = (
        "import sys\nfor n in range(50):\n    print(n)\n    print('w', n, file=sys.stderr)\n"
        "print({'a', 'b', 'c', 'd'})\nimport ipywidgets\ndisplay(ipywidgets.IntSlider())"
    )
    paths = [chapter("01-a", source), chapter("02-b", "1 / 0")]
    first, second = (run_packet(paths, {"x": 2}, "T") for _ in range(2))
    assert nbformat.writes(first.nb) == nbformat.writes(second.nb)
    assert first.warnings == second.warnings
    text = nbformat.writes(first.nb)
    assert str(paths[0].parent) not in text
    assert "duration" not in text
    assert "widget-view" not in text


def test_unknown_parameters_are_refused_before_anything_runs(chapter: Chapter) -> None:
    with pytest.raises(ParameterError, match=r"unknown parameter 'y'.*declare x"):
        run_packet([chapter("01-a", "1")], {"y": 2}, "T")


def test_the_kernel_is_this_python_whatever_a_home_says(
    chapter: Chapter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = tmp_path / "jupyter" / "kernels" / "python3"
    spec.mkdir(parents=True)
    (spec / "kernel.json").write_text('{"argv": ["false"], "display_name": "Wrong", "language": "python"}')
    startup = tmp_path / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "00.py").write_text("leaked = True")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    run = run_packet([chapter("01-a", "import sys\nprint(sys.executable, 'leaked' in globals())")], {}, "T")
    assert printed(run).split() == [sys.executable, "False"]


def test_only_the_start_of_a_kernel_is_tried_again(chapter: Chapter, monkeypatch: pytest.MonkeyPatch) -> None:
    from afterload.report.client import KernelClient

    attempts: list[int] = []
    start = KernelClient.start_new_kernel

    def flaky(self: Any, **options: Any) -> None:
        attempts.append(1)
        if len(attempts) < kernel.START_ATTEMPTS:
            raise OSError("Address already in use")
        start(self, **options)

    monkeypatch.setattr(KernelClient, "start_new_kernel", flaky)
    run = run_packet([chapter("01-a", "print('ran')")], {}, "T")
    assert (len(attempts), printed(run)) == (3, "ran\n")

    def broken(self: Any, **options: Any) -> None:
        attempts.append(1)
        raise OSError("Address already in use")

    attempts.clear()
    monkeypatch.setattr(KernelClient, "start_new_kernel", broken)
    with pytest.raises(ChapterError, match="3 attempts: Address already in use"):
        run_packet([chapter("01-a", "1")], {}, "T")
    assert len(attempts) == 3


def test_progress_goes_to_standard_error_when_asked(chapter: Chapter) -> None:
    # In a process of its own: where an IPython shell is there first, tqdm draws a widget.
    code = f"from afterload.report.run import run_packet; run_packet([{str(chapter('01-a', '1'))!r}], {{}}, 'T', progress=True)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert "Chapters" in done.stderr


def test_papermill_alone_stops_at_a_failure_and_keeps_the_rest(chapter: Chapter, tmp_path: Path) -> None:
    source = chapter("01-a", "print('before')", "raise SystemExit(0)", "print('after')")
    target = tmp_path / "out.ipynb"
    command = [sys.executable, "-m", "papermill", "--engine", "afterload", "--no-progress-bar"]
    done = subprocess.run([*command, source, target], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    nb = nbformat.read(target, as_version=4)
    outputs = [output for cell in nb.cells for output in cell.get("outputs", [])]
    # IPython adds its advice on exits to standard error.
    kinds = [output.output_type for output in outputs if output.get("name") != "stderr"]
    assert kinds == ["stream", "error"]
    assert outputs[0].text == "before\n"
    assert [failure.ename for failure in failures_of(nb)] == ["SystemExit"]
