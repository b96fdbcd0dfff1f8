"""``afterload report``: the packet's files, whole or not at all, whatever happens meanwhile."""

from __future__ import annotations

import errno
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

Run = Callable[..., Any]
ENDINGS = (".html", ".ipynb", "-plan.csv", "-plan.json", "-plan.md", "-runbook.md")
# The chapter that costs least, where any would do.
LEAST = ("--chapters", "provenance")
PARAMETERS = 'scenario = "builtin:scenarios/orders.yaml"\noverrides = {}'


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def expected(name: str) -> set[str]:
    return {f"{name}{ending}" for ending in ENDINGS}


def own_chapter(folder: Path, name: str, *sources: str) -> None:
    cells = [new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]}), *map(new_code_cell, sources)]
    folder.mkdir(exist_ok=True)
    nbformat.write(new_notebook(cells=cells), folder / f"{name}.ipynb")


def make_team(folder: Path, text: str, name: str = "team.yaml") -> Path:
    """A scenario that also names a file beside it."""
    folder.mkdir(parents=True)
    (folder / "events.csv").write_text(
        "at,end,subsystem,kind,event\n2025-10-20T00:30-07:00,,Own,note,something of our own\n", "utf-8"
    )
    target = folder / name
    target.write_text(re.sub(r"timeline: \S+", "timeline: events.csv", text), "utf-8")
    return target


def test_the_same_inputs_give_the_same_bytes_anywhere(process: Run, scenario: Path, tmp_path: Path) -> None:
    text = scenario.read_text("utf-8")
    places = [tmp_path / "one", tmp_path / "two" / "much deeper"]
    settings = [
        {"TZ": "UTC", "PYTHONHASHSEED": "1"},
        {"TZ": "Asia/Tokyo", "PYTHONHASHSEED": "2", "LC_ALL": "C", "HOME": str(tmp_path), "COLUMNS": "40"},
    ]
    for place, env in zip(places, settings, strict=True):
        make_team(place / "team", text)
        # What was there before does not matter.
        (place / "out").mkdir()
        (place / "out" / "team-a.html").write_text("old", "utf-8")
        arguments = ("team/team.yaml", "-o", "out", "--set", "queues.jobs.arrival_rate=1500/min")
        done = process("report", *arguments, cwd=place, env=env)
        assert (done.returncode, done.stdout) == (0, f"{Path('out', 'team-a.html')}\n"), done.stderr
        assert "258,000" in done.stderr
    first, second = ({name: (place / "out" / name).read_bytes() for name in expected("team-a")} for place in places)
    assert files(places[0] / "out") == files(places[1] / "out") == expected("team-a")
    assert [name for name in first if first[name] != second[name]] == []
    for name, content in first.items():
        for machine in (tmp_path, Path.home(), Path(sys.prefix), Path(__file__).resolve().parents[2]):
            assert str(machine).encode() not in content, name
    # Opened where it stands, the notebook finds the scenario again.
    nb = nbformat.reads(first["team-a.ipynb"].decode("utf-8"), as_version=4)
    [given] = [cell.source for cell in nb.cells if "injected-parameters" in cell.metadata.get("tags", [])]
    assert 'scenario = "../team/team.yaml"' in given
    assert '"queues.jobs.arrival_rate": "1500/min"' in given
    assert (places[0] / "out" / "../team/team.yaml").is_file()


def test_standard_output_holds_the_path_alone(
    afterload: Run, scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    loud = afterload("report", scenario, *LEAST)
    assert (loud.code, loud.out) == (0, f"{Path('packets', 'team-a.html')}\n")
    assert "206,400" in loud.err
    assert files(tmp_path / "packets") == expected("team-a")
    quiet = afterload("report", scenario, *LEAST, "--quiet", "-o", tmp_path / "q")
    assert (quiet.code, quiet.err) == (0, "")
    assert quiet.out == f"{tmp_path / 'q' / 'team-a.html'}\n"


def test_a_chapter_can_be_chosen_by_its_name(afterload: Run, scenario: Path, tmp_path: Path) -> None:
    done = afterload("report", scenario, "-o", tmp_path / "o", "--chapters", "90-provenance,answer", "--quiet")
    assert done.code == 0
    nb = nbformat.read(tmp_path / "o" / "team-a.ipynb", as_version=4)
    assert list(
        dict.fromkeys(cell.metadata.afterload.chapter for cell in nb.cells if "afterload" in cell.metadata)
    ) == [
        "00-answer",
        "90-provenance",
    ]


def test_a_path_with_spaces_signs_and_a_link(
    afterload: Run, scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = make_team(tmp_path / "Täm ü 団体 {x} %20 'q'", scenario.read_text("utf-8"), "scé nario #1.yaml")
    here = tmp_path / "here"
    here.mkdir()
    (here / "link.yaml").symlink_to(real)
    monkeypatch.chdir(here)
    for path in (real, "link.yaml", os.path.relpath(real), "./link.yaml"):
        assert afterload("check", path).code == 0
    # The file that it names lies beside the real one.
    done = afterload("report", "link.yaml", "-o", "{out} %d ü", "--chapters", "timeline", "--quiet")
    assert (done.code, done.err) == (0, "")
    page = (here / "{out} %d ü" / "team-a.html").read_text("utf-8")
    assert "something of our own" in page
    assert str(tmp_path) not in page


@pytest.mark.parametrize(
    ("team", "name"), [("../../etc/x", "etc-x"), ("a/b\\c", "a-b-c"), ("\U0001f525", r"team-[0-9a-f]{8}")]
)
def test_the_files_of_odd_teams_stay_in_the_folder(
    afterload: Run, scenario: Path, tmp_path: Path, team: str, name: str
) -> None:
    folder = tmp_path / "inner" / "out"
    done = afterload("report", scenario, "--set", f"team={team}", "-o", folder, *LEAST, "--quiet")
    assert done.code == 0, done.err
    stem = Path(done.out.strip()).stem
    assert re.fullmatch(name, stem)
    assert files(folder) == expected(stem)
    assert files(tmp_path / "inner") == {"out"}
    assert files(tmp_path) == {"inner", "team.yaml"}


def test_two_teams_in_one_folder(afterload: Run, scenario: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    for team in ("注文", "支払い"):
        assert afterload("report", scenario, "--set", f"team={team}", "-o", folder, *LEAST, "--quiet").code == 0
    assert len(files(folder)) == 2 * len(ENDINGS)
    pages = [path.read_text("utf-8") for path in folder.glob("*.html")]
    assert sorted(team for page in pages for team in ("注文", "支払い") if f"<title>{team}:" in page) == [
        "支払い",
        "注文",
    ]


# Where nothing can be written


@pytest.mark.usefixtures("no_kernel")
@pytest.mark.parametrize("below", ["", "deeper/still"])
def test_a_file_in_the_way_is_seen_before_any_work(afterload: Run, scenario: Path, tmp_path: Path, below: str) -> None:
    (tmp_path / "out").write_text("mine", "utf-8")
    done = afterload("report", scenario, "-o", tmp_path / "out" / below)
    assert (done.code, done.out) == (5, "")
    assert "is a file, not a folder" in done.err
    assert (tmp_path / "out").read_text("utf-8") == "mine"


@pytest.mark.usefixtures("no_kernel")
def test_a_forbidden_folder_is_seen_before_any_work(
    afterload: Run, scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # To root nothing is forbidden, so the system's answer is replaced.
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    done = afterload("report", scenario, "-o", tmp_path / "out")
    assert (done.code, done.out) == (5, "")
    assert "permission denied" in done.err
    assert not (tmp_path / "out").exists()


def test_a_disk_that_fills_leaves_the_old_packet(
    afterload: Run, scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    assert afterload("report", scenario, "-o", folder, *LEAST, "--quiet").code == 0
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    flush, calls = os.fsync, []

    def full(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    done = afterload("report", scenario, "--set", "queues.jobs.arrival_rate=1500/min", "-o", folder, *LEAST, "--quiet")
    assert (done.code, done.out) == (5, "")
    assert re.fullmatch(r"error: cannot write .*team-a\S+: the disk is full\n", done.err)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("limit", "engine", "part"),
    [
        (20, "process", "cannot write into the temporary folder"),
        (8_000, "kernel", "team-a.html: File too large"),
        (200_000, "process", "team-a.html: File too large"),
    ],
)
def test_a_real_limit_on_files(
    process: Run, scenario: Path, tmp_path: Path, limit: int, engine: str, part: str
) -> None:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    own = tmp_path / "own"
    own.mkdir()
    source = Path(__file__).resolve().parents[2] / "workbooks" / "40-launches.ipynb"
    shutil.copy(source, own)
    arguments = ("report", scenario, "-o", "out", "--workbooks", own, "--quiet", "--engine", engine)
    done = process(*arguments, cwd=tmp_path, before=limited)
    assert (done.returncode, done.stdout) == (5, "")
    assert part in done.stderr
    assert "Traceback" not in done.stderr
    assert files(tmp_path / "out") == set()


# Where nobody reads


def test_a_reader_that_has_gone(process: Run, scenario: Path, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        for arguments in (("schema",), ("report", scenario, "-o", tmp_path / "out", *LEAST)):
            done = process(*arguments, stdout=writing)
            assert done.returncode == 141
            assert "Traceback" not in done.stderr
            assert "Exception ignored" not in done.stderr
    finally:
        os.close(writing)
    assert files(tmp_path / "out") == expected("team-a")


def test_a_reader_of_one_line(scenario: Path, tmp_path: Path) -> None:
    command = f"{sys.executable} -m afterload.cli report {scenario} -o out {' '.join(LEAST)} 2>&1 | head -1"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith("Team A, ")
    assert done.stderr == ""
    assert files(tmp_path / "out") == expected("team-a")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is of Linux")
def test_a_full_standard_output(process: Run) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123 - a device
        done = process("schema", stdout=full)
    assert done.returncode == 5
    assert done.stderr == "error: cannot write to standard output: No space left on device\n"


# An interrupt


def kernels_of(folder: Path) -> list[int]:
    """Living processes that a chapter has named."""
    found = []
    for path in folder.glob("pid-*"):
        number = int(path.name.removeprefix("pid-"))
        stat = Path(f"/proc/{number}/stat")
        if stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] != "Z":
            found.append(number)
    return found


@pytest.mark.parametrize("engine", ["process", "kernel"])
@pytest.mark.parametrize("where", ["while a cell runs", "while a cell swallows it", "while the process starts"])
def test_an_interrupt_leaves_nothing(scenario: Path, tmp_path: Path, where: str, engine: str) -> None:
    marks, temporary = tmp_path / "marks", tmp_path / "tmp"
    marks.mkdir()
    temporary.mkdir()
    note = f"import os, pathlib, time\npathlib.Path({str(marks)!r}, f'pid-{{os.getpid()}}').touch()"
    sleep = "time.sleep(60)"
    if where == "while a cell swallows it":
        sleep = "while True:\n    try: time.sleep(60)\n    except KeyboardInterrupt: pass"
    own_chapter(tmp_path / "own", "10-slow", note, sleep)
    env = {**os.environ, "TMPDIR": str(temporary)}
    if where == "while the process starts":
        # A module that Python loads at its start says that the kernel's process is there, and keeps it from answering.
        site = tmp_path / "site"
        site.mkdir()
        started = "ipykernel_launcher" if engine == "kernel" else "afterload.report.forked"
        only_kernels = f"import sys, os\nif {started!r} in ' '.join(sys.orig_argv):\n"
        (site / "sitecustomize.py").write_text(only_kernels + "    " + note.replace("\n", "\n    ") + "\n    " + sleep)
        env["PYTHONPATH"] = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", "afterload.cli", "report", str(scenario), "-o", "out", "--workbooks", "own"]
    command += ["--engine", engine]
    running = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Whoever runs the tests in the background has it ignored, and Python takes that over.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    try:
        deadline = time.monotonic() + 60
        while not kernels_of(marks) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(kernels_of(marks)) == 1
        time.sleep(0.3)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=120)
    finally:
        running.kill()
    assert (running.returncode, out) == (130, "")
    assert err.strip() == "interrupted: nothing half-written is left"
    deadline = time.monotonic() + 3
    while kernels_of(marks) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert kernels_of(marks) == []
    assert files(tmp_path / "out") == set()
    assert files(temporary) == set()


def test_an_interrupt_before_anything_is_loaded(scenario: Path, tmp_path: Path) -> None:
    """What takes long to import is imported inside the command, where an interrupt is expected."""
    code = "import sys, afterload.cli; print(sorted({'pydantic', 'numpy', 'ruamel.yaml', 'jsonschema'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"
