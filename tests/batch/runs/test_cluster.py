"""The same jobs on a real Dask cluster on loopback: equal bytes, and nothing lost when a part of the cluster ends."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import nbformat
import pytest
from distributed import Client
from nbformat.v4 import new_code_cell, new_notebook

from afterload.batch import cluster, remote, run

from .conftest import BASE, PARAMETERS, QUEUE, counted, events, teams_of

Batch = Callable[..., Any]
DATA = Path(__file__).resolve().parents[3] / "data" / "scenarios"
# As often as this may a task lose its worker before Dask calls it off.
ALLOWED = 1


class Dask:
    """A scheduler of our own and its workers, each a process as the command ``dask`` starts it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
        self.processes: list[subprocess.Popen[bytes]] = []
        host, port = self.address.removeprefix("tcp://").split(":")
        self.scheduler = self._start("scheduler", "--host", host, "--port", port, "--no-dashboard")

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        place = str(Path(cluster.__file__).resolve().parents[2])
        env = {**os.environ, "PYTHONPATH": place, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": str(ALLOWED)}
        with (self.folder / f"dask-{len(self.processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *words],
                cwd=self.folder,
                env=env,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def worker(self, *words: str) -> subprocess.Popen[bytes]:
        return self._start("worker", self.address, "--no-dashboard", "--local-directory", str(self.folder), *words)

    def close(self) -> None:
        for process in self.processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dask]:
    """Two workers that nannies start again when they are killed; one of them has two threads."""
    found = Dask(tmp_path_factory.mktemp("dask"))
    found.worker("--nthreads", "1")
    found.worker("--nthreads", "2")
    with Client(found.address, timeout=60) as client:
        client.wait_for_workers(2, timeout=60)
    yield found
    found.close()


@pytest.fixture
def chapter(workbooks: Path, tmp_path: Path) -> Path:
    """A chapter that holds, or kills the Dask worker above it, where the owner says so."""
    code = f"""
import os, pathlib, subprocess, sys, time
folder = pathlib.Path({str(tmp_path)!r})
def above(process):
    return int(subprocess.run(["ps", "-o", "ppid=", "-p", str(process)], capture_output=True, text=True).stdout)
owner, team = workbook.loaded.scenario.owner, workbook.loaded.scenario.team
if owner != "works":
    if "afterload.report.rehearsal" in sys.modules:
        (folder / f"rehearsed-{{team}}").touch()
    # This process was forked from a warm one, which the worker has started.
    dask = above(os.getppid())
    (folder / f"begun-{{team}}-{{dask}}-{{os.getpid()}}").touch()
    while owner == "held" and (folder / "hold").exists():
        time.sleep(0.05)
    if owner == "deadly":
        os.kill(dask, 9)
"""
    cells = [
        new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]}),
        new_code_cell("from afterload.chapters import open_workbook\nworkbook = open_workbook(scenario, overrides)"),
        new_code_cell(code),
    ]
    for number, cell in enumerate(cells):
        cell["id"] = f"own-{number}"
    nbformat.write(new_notebook(cells=cells), workbooks / "10-own.ipynb")
    return workbooks


def until(holds: Callable[[], Any], what: str) -> None:
    end = time.monotonic() + 90
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def tree_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def told(err: str) -> list[str]:
    """What is said of each team, without order and seconds."""
    return sorted(
        re.sub(r"in [\d.]+ s", "", line.partition("] ")[2]) for line in err.splitlines() if line.startswith("[")
    )


def runs(process: int) -> bool:
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False
    ).stdout
    return bool(state.strip()) and not state.startswith("Z")


def test_the_same_bytes_as_on_this_machine(
    dask: Dask,
    batch: Batch,
    started: Callable[..., subprocess.Popen[str]],
    scenarios: Batch,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Inputs that lie beside, elsewhere, at home and behind links; wrong ones; and processes that end before their time."""
    home, far, near = tmp_path / "home", tmp_path / "far away", tmp_path / "real" / "near"
    for folder in (home, far, near, tmp_path / "real" / "deep"):
        folder.mkdir(parents=True)
        (folder / "events.csv").write_text(f"at,event\n2026-03-01T10:00Z,seen from {folder.name}\n", "utf-8")
    monkeypatch.setenv("HOME", str(home))
    folder = scenarios(QUEUE, plain="works", fails="fails", killed="killed", gone="gone")
    places = {
        "absolute": f"{far}/events.csv", "athome": "~/events.csv", "missing": f"{far}/none.csv", "wrong": f"{far}/wrong.csv",
    }  # fmt: skip
    (far / "wrong.csv").write_text("at,event\nyesterday,x\n", "utf-8")
    for team, path in places.items():
        text = BASE.replace("team: Base", f"team: {team}").replace(
            "  name: outage", f"  name: outage\n  timeline: {path}"
        )
        (folder / f"{team}.yaml").write_text(text, "utf-8")
    linked = BASE.replace("team: Base", "team: linked").replace(
        "  name: outage", "  name: outage\n  timeline: ../near/events.csv"
    )
    (tmp_path / "real" / "deep" / "linked.yaml").write_text(linked, "utf-8")
    (tmp_path / "short").symlink_to(tmp_path / "real" / "deep")
    (folder / "payments.yaml").write_bytes((DATA / "payments.yaml").read_bytes())
    (folder / "payments").mkdir()
    for path in (DATA / "payments").iterdir():
        (folder / "payments" / path.name).write_bytes(path.read_bytes())
    (folder / "cut.yaml").write_text("team: [\n", "utf-8")
    # What people entered beside the plan of an earlier run travels, too.
    kept = b"id,agreed_owner,due,progress,note\r\nsomething,Ann,2026-12-01,begun,soon\r\n"
    for site in ("site", "away"):
        (tmp_path / site / "teams" / "plain").mkdir(parents=True)
        (tmp_path / site / "teams" / "plain" / "plain-plan.csv").write_bytes(kept)
    words = ("scenarios", "short/linked.yaml", "--cell-timeout", 60, "--memory-limit", "2GB")

    process = started(*words, "--workers", 2)
    away = batch(*words, "--scheduler", dask.address, "--log-json", "log.jsonl", site="away")
    _, err = process.communicate(timeout=240)

    first, second = tree_of(tmp_path / "site"), tree_of(away.site)
    assert {
        "index.json",
        "teams/payments/payments.html",
        "teams/linked/batch.json",
        "teams/killed/killed.ipynb",
    } <= set(first)
    assert b"Ann" in first["teams/plain/plain-plan.csv"]
    assert [name for name in sorted({*first, *second}) if first.get(name) != second.get(name)] == []
    assert away.code == process.returncode == 4
    assert set(away.failures) == {"cut", "missing", "wrong"}
    assert "names no file (far away/none.csv)" in away.err
    assert "far away/wrong.csv:2: at: 'yesterday' is not a time" in away.err
    assert told(away.err) == told(err)
    assert "2 workers, 3 threads" in away.err
    # The same again has nothing to do, and asks for no cluster.
    again = batch("scenarios/plain.yaml", "--resume", "--scheduler", "tcp://127.0.0.1:1", site="away")
    assert again.code == 0, again.err


def test_a_worker_is_killed_in_the_middle(
    dask: Dask, started: Callable[..., subprocess.Popen[str]], scenarios: Batch, chapter: Path, tmp_path: Path
) -> None:
    teams = scenarios(a="works", b="held", c="held", d="held", e="works", f="works", g="works")
    (tmp_path / "hold").touch()
    process = started(
        teams.name, "--scheduler", dask.address, "--log-json", "log.jsonl"
    )  # fmt: skip
    until(lambda: len(list(tmp_path.glob("begun-*"))) == 3 or process.poll() is not None, "three teams begin")
    begun = {path.name.split("-")[1]: int(path.name.split("-")[2]) for path in tmp_path.glob("begun-*")}
    assert set(begun) == {"b", "c", "d"}
    hit = max(begun.values(), key=list(begun.values()).count)  # the worker with two threads
    os.kill(hit, signal.SIGKILL)
    lost = {team for team, worker in begun.items() if worker == hit}
    until(lambda: len(list(tmp_path.glob("begun-*"))) == 3 + len(lost), "what was lost begins again")
    # Nothing of the killed worker runs on.
    until(
        lambda: not any(runs(int(path.name.split("-")[3])) for path in tmp_path.glob(f"begun-*-{hit}-*")), "it is gone"
    )
    # What somebody enters beside the plan while the packet is made elsewhere is not lost.
    table = tmp_path / "site" / "teams" / "b" / "b-plan.csv"
    table.parent.mkdir(parents=True)
    table.write_bytes(b"id,agreed_owner,due,progress,note\r\nsomething,Ann,2026-12-01,begun,soon\r\n")
    (tmp_path / "hold").unlink()
    out, err = process.communicate(timeout=90)
    assert process.returncode == 0, err
    assert b"Ann" in table.read_bytes()
    assert out == f"{Path('site', 'index.html')}\n"
    assert "7 teams: 7 made" in err
    assert "has gone; what it was at is run again elsewhere" in err
    for team in "abcdefg":
        assert err.count(f"] {team}: made") == 1
    assert counted(tmp_path / "log.jsonl")["made"] == 7


def test_what_is_entered_while_a_team_is_away_is_in_what_comes_back(
    dask: Dask,
    started: Callable[..., subprocess.Popen[str]],
    scenarios: Batch,
    chapter: Path,
    tmp_path: Path,
) -> None:
    scenarios(a="held", b="works")
    table = tmp_path / "site" / "teams" / "a" / "a-plan.csv"
    table.parent.mkdir(parents=True)
    table.write_bytes(b"id,due\r\nsomething,2026-12-01\r\n")
    (tmp_path / "hold").touch()
    process = started("scenarios", "--scheduler", dask.address)
    until(lambda: list(tmp_path.glob("begun-a-*")) or process.poll() is not None, "the team begins")
    entered = b"id,due\r\nsomething,2027-01-01\r\n"
    table.write_bytes(entered)
    (tmp_path / "hold").unlink()
    _, err = process.communicate(timeout=90)
    assert process.returncode == 0, err
    assert len(list(tmp_path.glob("begun-a-*"))) == 2
    for name in ("a-plan.csv", "a-plan.md", "a-plan.json"):
        text = (table.parent / name).read_text("utf-8")
        assert ("2027-01-01" in text, "2026-12-01" in text) == (True, False), name


def test_a_team_that_kills_its_workers_fails_by_itself(
    dask: Dask, batch: Batch, scenarios: Batch, chapter: Path, tmp_path: Path
) -> None:
    scenarios(a="works", b="deadly", c="works", d="works", e="works")
    done = batch("scenarios", "--scheduler", dask.address, "--log-json", "log.jsonl")
    assert done.code == 4
    assert teams_of(tmp_path / "log.jsonl", "made") == set("acde")
    assert done.failures == {
        "b": (
            "killed",
            "the Dask worker that ran it ended, 4 times in all, and the last 2 times with nothing beside it",
        )
    }
    assert len(list(tmp_path.glob("begun-b-*"))) == 2 * (ALLOWED + 1)
    # Five teams on three threads: each was forked from a process that had made a packet for practice.
    assert (tmp_path / "rehearsed-b").exists()


def test_an_end_from_outside_ends_what_runs_on_the_cluster(
    dask: Dask, started: Callable[..., subprocess.Popen[str]], scenarios: Batch, chapter: Path, tmp_path: Path
) -> None:
    scenarios(a="works", b="held", c="held", d="held", e="held")
    (tmp_path / "hold").touch()
    process = started("scenarios", "--scheduler", dask.address, "--log-json", "log.jsonl")
    until(lambda: len(list(tmp_path.glob("begun-*"))) >= 3 or process.poll() is not None, "three teams begin")
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == f"{Path('site', 'index.html')}\n"
    assert teams_of(tmp_path / "log.jsonl", "not done") >= {"b", "c", "d", "e"}
    assert "Traceback" not in err
    children = [int(path.name.split("-")[3]) for path in tmp_path.glob("begun-*")]
    until(lambda: not any(map(runs, children)), "what ran on the cluster ends")


def test_another_afterload_is_refused(
    dask: Dask, batch: Batch, scenarios: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenarios(a="works")
    version = remote.__version__
    own = {"__version__": "9.9", "library_digest": lambda: "x"}
    for name, words in (("__version__", f"has Afterload {version}, this is 9.9"), ("library_digest", "other sources")):
        with monkeypatch.context() as patch:
            patch.setattr(remote, name, own[name])
            done = batch("scenarios", "--scheduler", dask.address)
        assert done.code == 7
        assert "worker tcp://127.0.0.1:" in done.err
        assert words in done.err
        assert not done.site.exists()
    # One that comes later is found out by its first job.
    monkeypatch.setattr(run, "library_digest", lambda: "another")
    done = batch("scenarios", "--scheduler", dask.address)
    assert done.code == 7
    assert "other sources" in done.err
    assert [item["team"] for item in done.index["not_done"]] == ["a"]
    assert (done.failures, done.made) == ({}, set())


def test_without_workers_and_without_a_scheduler(
    batch: Batch, started: Callable[..., subprocess.Popen[str]], scenarios: Batch, chapter: Path, tmp_path: Path
) -> None:
    scenarios(a="works", b="held", c="works")
    own = Dask(tmp_path)
    try:
        lonely = started("scenarios", "--scheduler", own.address, "--scheduler-timeout", 1)
        (tmp_path / "hold").touch()
        _, err = lonely.communicate(timeout=60)
        assert lonely.returncode == 7, err
        assert "has no worker; waiting 1 s for one" in err
        assert "has had no worker for 1 s" in err
        assert not (tmp_path / "site").exists()
        process = started("scenarios", "--scheduler", own.address, "--log-json", "log.jsonl")
        own.worker("--nthreads", "2", "--no-nanny")
        log = tmp_path / "log.jsonl"
        until(lambda: (log.exists() and counted(log)["made"] == 2) or process.poll() is not None, "the others are made")
        own.scheduler.kill()
        out, err = process.communicate(timeout=60)
        assert process.returncode == 7, err
        assert out == f"{Path('site', 'index.html')}\n"
        assert f"the scheduler {own.address} has gone" in err
        assert teams_of(log, "not done") == {"b"}
        assert {path.name for path in (tmp_path / "site" / "teams").iterdir()} == {"a", "c"}
        assert next(item["problem"] for item in events(log) if item["event"] == "batch ends").startswith(
            "the scheduler"
        )
        # Nor does anything run on where nobody waits for it.
        children = [int(path.name.split("-")[3]) for path in tmp_path.glob("begun-*")]
        until(lambda: not any(map(runs, children)), "what ran on the cluster ends")
    finally:
        own.close()
    refused = batch("scenarios", "--resume", "--scheduler", own.address)
    assert refused.code == 7
    # Refused, or not answered in time: that is for the machine to say.
    assert f"--scheduler {own.address}: no scheduler can be reached: " in refused.err
    (tmp_path / "hold").unlink()
    mended = batch("scenarios", "--resume")
    assert mended.code == 0, mended.err


def test_dask_that_is_not_installed(batch: Batch, scenarios: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    scenarios(a="works")
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = batch("scenarios", "--scheduler", "tcp://127.0.0.1:8786")
    assert done.code == 7
    assert "pip install 'afterload[cluster]'" in done.err
