"""A batch as a whole: hundreds of teams with every damage among them, an end in the middle, and a second run after it."""

from __future__ import annotations

import csv
import errno
import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from afterload import files
from afterload.batch import run
from afterload.batch.inputs import Given
from afterload.batch.leftovers import clear
from afterload.batch.results import TeamResult
from afterload.batch.run import Done, Plan
from afterload.commands.batch import _finish
from afterload.errors import AfterloadError, ClusterError
from afterload.report.earlier import ENDINGS as EVERY

from .conftest import BASE, COMMAND, HARMS, PARAMETERS, QUEUE, counted, events, teams_of

Batch = Callable[..., Any]
ENDINGS = {".html", ".ipynb", "-plan.csv", "-plan.json", "-plan.md", "-runbook.md"}
PATH = "call_stacks.api.failure_probability"


def all_files(team: str) -> set[str]:
    return {"batch.json", *(f"{team}{ending}" for ending in ENDINGS)}


def tree_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def still_running(mark: str) -> list[int]:
    """Processes that were started with ``mark`` in their environment, and all that they have started."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                # A process that has ended and was not waited for has no environment any more.
                found += [int(folder.name)] if mark.encode() in (folder / "environ").read_bytes() else []
    return found


def test_two_hundred_teams_with_every_damage_among_them(batch: Batch, tmp_path: Path) -> None:
    """Of 200 teams, those at every tenth place are damaged, each in its own way; the others are all whole."""
    damages = [*HARMS, "cell", "cells", "occupied", "name"]
    damages.remove("held")
    harmed = {10 * (place + 1): damage for place, damage in enumerate(damages)}
    assert len(damages) >= 10
    rows = [f"team,owner,{PATH}"]
    for number in range(1, 201):
        damage = harmed.get(number, "works")
        row = f"Team {number},{damage},{'often' if damage == 'cell' else number / 200}"
        rows.append({"cells": f"{row},one too many", "name": f",works,{number / 200}"}.get(damage, row))
    (tmp_path / "teams.csv").write_text("\n".join(rows) + "\n", "utf-8")
    (tmp_path / "base.yaml").write_text(BASE, "utf-8")
    occupied = next(number for number, damage in harmed.items() if damage == "occupied")
    (tmp_path / "site" / "teams").mkdir(parents=True)
    (tmp_path / "site" / "teams" / f"team-{occupied}").write_text("in the way", "utf-8")
    arguments = ("--base", "base.yaml", "--teams", "teams.csv", "--log-json", "log.jsonl", "--memory-limit", "2GB")

    done = batch(*arguments, "--cell-timeout", 8, "--team-timeout", 30)

    assert done.code == 5  # a result could not be written: the worst of what happened
    ids = {damage: f"team-{number}" for number, damage in harmed.items()}
    whole = {f"team-{number}" for number in range(1, 201)} - set(ids.values())
    # A packet with the error in place; a child that was killed leaves what it had finished.
    partly = {ids[damage] for damage in ("fails", "leaves", "greedy", "slow", "deaf", "killed", "gone")}
    assert done.made == whole | partly
    assert len(whole) == 200 - len(damages)
    for team in (*whole, *partly):
        assert done.files(team) == all_files(team)
    kinds = {damage: done.failures[ids[damage]][0] for damage in damages if ids[damage] in done.failures}
    no_row = [name for name in done.failures if name not in ids.values()]
    assert kinds == {"large": "output", "full": "output", "cell": "input", "cells": "input", "occupied": "output"}
    assert [done.failures[name][0] for name in no_row] == ["input"]
    words = {damage: done.failures[ids[damage]][1] for damage in kinds}
    assert f"teams.csv line {1 + int(ids['cell'][5:])} column {PATH} ('often')" in words["cell"]
    assert "has 4 cells where the header has 3" in words["cells"]
    assert "the disk is full" in words["full"]
    parts = {item["id"]: " ".join(item.get("failures", ())) for item in done.index["teams"]}
    for damage, reason in (
        ("fails", "this team fails"), ("slow", "limit of 8 s"), ("deaf", "did not stop when asked"),
        ("killed", "SIGKILL"), ("gone", "exit code 7"), ("greedy", "MemoryError"),
    ):  # fmt: skip
        assert parts[ids[damage]].startswith("chapter 10-own: "), damage
        assert reason in parts[ids[damage]], damage
        page = (done.site / "teams" / ids[damage] / f"{ids[damage]}.html").read_text("utf-8")
        assert reason in page
    assert {team for team, text in parts.items() if text} == partly
    assert "did not stop when asked" in (done.site / "index.html").read_text("utf-8")
    for damage in ("large", "full", "cell", "cells"):
        assert done.files(ids[damage]) == set(), damage
    assert done.half_files == []
    assert not [path for path in (tmp_path / "site" / "teams").iterdir() if path.is_dir() and not any(path.iterdir())]

    suites = {suite.get("name"): suite for suite in ET.parse(done.site / "junit.xml").getroot()}
    assert len(suites) == 200
    assert {name for name, suite in suites.items() if int(suite.get("errors", "0"))} >= {
        f"Team {ids[damage][5:]}" for damage in damages if damage != "name"
    }
    logged = events(tmp_path / "log.jsonl")
    assert all(item["time"].endswith("+00:00") for item in logged)
    assert counted(tmp_path / "log.jsonl")["made"] == len(whole) + len(partly)
    assert counted(tmp_path / "log.jsonl")["failed"] == len(kinds) + 1
    assert all(item["seconds"] > 0 for item in logged if item["event"] == "made")
    # What was whole is left alone; what was not is tried again.
    (tmp_path / "site" / "teams" / f"team-{occupied}").unlink()
    mended = "\n".join(
        row.replace("often", "0.5") for row in rows if "one too many" not in row and not row.startswith(",")
    )
    for damage in (*HARMS, "occupied"):
        mended = mended.replace(f",{damage},", ",works,")
    (tmp_path / "teams.csv").write_text(mended + "\n", "utf-8")
    again = batch(*arguments, "--resume")
    assert again.code == 0, again.err
    assert counted(tmp_path / "log.jsonl")["kept"] == len(whole)
    assert counted(tmp_path / "log.jsonl")["made"] == len(damages) - 2
    assert again.failures == {}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_end_in_the_middle(
    batch: Batch,
    started: Callable[..., subprocess.Popen[str]],
    scenarios: Batch,
    tmp_path: Path,
    number: signal.Signals,
) -> None:
    folder = scenarios(a="works", b="works", c="held", d="held", e="works", f="works")
    (folder / "hold").touch()
    process = started("scenarios", "--workers", 2, "--log-json", "log.jsonl", start_new_session=True)
    until = time.monotonic() + 90
    while counted(tmp_path / "log.jsonl")["made"] < 2 if (tmp_path / "log.jsonl").exists() else True:
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.05)
    time.sleep(0.5)
    assert len(still_running(str(tmp_path))) > 1
    if number == signal.SIGINT:
        # As a terminal does: to all of the group.
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert out == f"{Path('site', 'index.html')}\n"
    assert "2 made, 4 not done" in err
    assert still_running(str(tmp_path)) == []
    site = tmp_path / "site"
    assert {path.name for path in (site / "teams").iterdir()} == {"a", "b"}
    assert list(site.rglob(".afterload-*")) == []
    page = (site / "index.html").read_text("utf-8")
    assert "the batch was interrupted" in page
    index = json.loads((site / "index.json").read_text("utf-8"))
    assert ([item["team"] for item in index["not_done"]], index["failures"]) == (["c", "d", "e", "f"], [])
    assert (index["totals"]["failed"], index["totals"]["not_done"]) == (0, 4)
    skipped = [suite.get("name") for suite in ET.parse(site / "junit.xml").getroot() if suite.get("skipped") == "1"]
    assert skipped == ["c", "d", "e", "f"]
    assert teams_of(tmp_path / "log.jsonl", "not done") == {"c", "d", "e", "f"}
    made = tree_of(site / "teams")
    # The rest is done by a second run, and all is as if nothing had happened.
    (folder / "hold").unlink()
    again = batch("scenarios", "--resume", "--log-json", "log.jsonl")
    assert again.code == 0, again.err
    assert teams_of(tmp_path / "log.jsonl", "kept") == {"a", "b"}
    assert teams_of(tmp_path / "log.jsonl", "made") == {"c", "d", "e", "f"}
    fresh = batch("scenarios", site="fresh")
    assert tree_of(fresh.site) == tree_of(again.site)
    assert {name: tree_of(site / "teams")[name] for name in made} == made


def test_a_second_run_does_only_what_changed(batch: Batch, scenarios: Batch, workbooks: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    timeline = "  name: outage\n  timeline: events.csv"
    folder = scenarios(a="works", b="works", c="works", d="works", e="works")
    (folder / "events.csv").write_text("at,event\n2026-03-01T10:00Z,x\n", "utf-8")
    (folder / "c.yaml").write_text((folder / "c.yaml").read_text("utf-8").replace("  name: outage", timeline), "utf-8")
    own = tmp_path / "own.yaml"
    own.write_text("d: {recovery_objective: 90 min}\n", "utf-8")

    def run(*arguments: object) -> tuple[set[str], Any]:
        done = batch("scenarios", "--resume", "--overrides", "own.yaml", "--log-json", "log.jsonl", *arguments)
        assert done.code == 0, done.err
        assert teams_of(log, "made") | teams_of(log, "kept") == set("abcde")
        return teams_of(log, "made"), done

    assert run()[0] == set("abcde")
    made, done = run()
    assert made == set()
    assert "nothing to do" in done.err
    (folder / "a.yaml").write_text((folder / "a.yaml").read_text("utf-8").replace("60 min", "61 min"), "utf-8")
    (done.site / "teams" / "b" / "b.html").write_text("<p>cut", "utf-8")
    (folder / "events.csv").write_text("at,event\n2026-03-01T10:00Z,y\n", "utf-8")
    own.write_text("d: {recovery_objective: 91 min}\n", "utf-8")
    assert run()[0] == set("abcd")
    assert "<p>cut" not in (done.site / "teams" / "b" / "b.html").read_text("utf-8")
    assert run()[0] == set()
    # A touch without another content changes nothing; what people enter beside the plan is taken up, once.
    os.utime(folder / "a.yaml", (1, 1))
    assert run()[0] == set()
    plan = done.site / "teams" / "e" / "e-plan.csv"
    assert len(plan.read_text("utf-8").splitlines()) > 1
    plan.write_text(plan.read_text("utf-8") + "\n", "utf-8")
    assert run()[0] == {"e"}
    assert run()[0] == set()
    assert run("--set", "owner=other")[0] == set("abcde")
    nb = nbformat.read(workbooks / "10-own.ipynb", as_version=4)
    nb.cells[1].source = "# Another"
    nbformat.write(nb, workbooks / "10-own.ipynb")
    assert run("--set", "owner=other")[0] == set("abcde")
    (done.site / "index.html").unlink()
    assert run("--set", "owner=other")[0] == set()
    assert (done.site / "index.html").exists()


def test_what_was_entered_into_the_plan_is_in_its_markdown_and_json_after_a_rerun(
    batch: Batch, scenarios: Batch
) -> None:
    scenarios(QUEUE, a="works")
    done = batch("scenarios")
    folder = done.site / "teams" / "a"
    table = folder / "a-plan.csv"
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if row["id"].startswith("drain-cap:"):
            row |= {"agreed_owner": "Ann", "due": "2026-12-01", "progress": "begun", "note": "soon"}
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert "1 team: 1 made" in batch("scenarios", "--resume").err
    words = "Entered: agreed owner Ann; due 2026-12-01; progress begun; note soon."
    assert words in (folder / "a-plan.md").read_text("utf-8")
    changes = json.loads((folder / "a-plan.json").read_text("utf-8"))["changes"]
    assert [item["agreed_owner"] for item in changes if item["id"].startswith("drain-cap:")] == ["Ann"]
    assert "1 team: 1 up to date" in batch("scenarios", "--resume").err


def test_a_run_with_nothing_to_do_loads_nothing_heavy(
    batch: Batch, scenarios: Batch, workbooks: Path, tmp_path: Path
) -> None:
    scenarios(a="works", b="works")
    assert batch("scenarios").code == 0
    code = (
        "import sys\nfrom afterload.cli import cli\n"
        f"cli(['batch', 'scenarios', '-o', 'site', '--resume', '--workbooks', {str(workbooks)!r}], standalone_mode=False)\n"
        "heavy = {'papermill', 'nbformat', 'nbconvert', 'nbclient', 'altair', 'pandas', 'pydantic', 'numpy', 'numba'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "2 teams: 2 up to date" in done.stderr


def test_the_same_inputs_give_the_same_bytes(tmp_path: Path) -> None:
    """Shipped chapters; other folders, workers, order of completion, clocks and hash seeds."""
    sites = []
    for place, workers, zone in ((tmp_path / "one", "1", "UTC"), (tmp_path / "two" / "deeper", "2", "Asia/Tokyo")):
        (place / "scenarios").mkdir(parents=True)
        for team in ("b", "a", "bad"):
            text = BASE.replace("team: Base", f"team: {team}") + QUEUE
            (place / "scenarios" / f"{team}.yaml").write_text(
                text.replace("UTC", "Mars") if team == "bad" else text, "utf-8"
            )
        (place / "scenarios" / "cut.yaml").write_text("team: [\n", "utf-8")
        words = ["batch", "scenarios", "builtin:scenarios/orders.yaml", "-o", "site", "--workers", workers]
        done = subprocess.run(
            [*COMMAND, *words, "--chapters", "answer,backlog,provenance"], cwd=place, capture_output=True, text=True,
            env={**os.environ, "TZ": zone, "PYTHONHASHSEED": workers}, check=False,
        )  # fmt: skip
        assert done.returncode == 3, done.stderr
        sites.append(tree_of(place / "site"))
    first, second = sites
    assert {"index.html", "index.json", "junit.xml", "teams/orders/orders.html", "teams/a/a.ipynb"} <= set(first)
    assert [name for name in {*first, *second} if first.get(name) != second.get(name)] == []
    for name, content in first.items():
        assert str(tmp_path).encode() not in content, name


def test_a_run_again_without_resume_gives_the_same_index(
    batch: Batch, scenarios: Batch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trend is against the last run with other results, not against the same ones."""
    folder = scenarios(a="works", b="works")
    first = tree_of(batch("scenarios").site)
    assert tree_of(batch("scenarios").site) == first
    (folder / "a.yaml").write_text((folder / "a.yaml").read_text("utf-8").replace("tries: 3", "tries: 1"), "utf-8")
    changed = tree_of(batch("scenarios").site)
    assert changed["previous.json"] == first["index.json"]
    assert changed["index.json"] != first["index.json"]
    assert tree_of(batch("scenarios").site) == changed
    # Nor is a run with the same results another one where it is compared with something else, or by another Afterload.
    (tmp_path / "older.json").write_bytes(changed["index.json"])
    compared = tree_of(batch("scenarios", "--previous", "older.json").site)
    assert compared["index.json"] != changed["index.json"]
    assert compared["previous.json"] == first["index.json"]
    with monkeypatch.context() as patch:
        patch.setattr(run, "library_digest", lambda: "another")
        assert tree_of(batch("scenarios").site)["previous.json"] == first["index.json"]
    assert tree_of(batch("scenarios").site) == changed


def test_a_full_disk_for_the_index_keeps_the_packets_and_the_old_index(
    batch: Batch, scenarios: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = scenarios(a="works")
    old = tree_of(batch("scenarios").site)
    (folder / "a.yaml").rename(folder / "b.yaml")
    (folder / "b.yaml").write_text((folder / "b.yaml").read_text("utf-8").replace("team: a", "team: b"), "utf-8")

    def fsync(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "fsync", fsync)
        done = batch("scenarios")
    assert done.code == 5
    assert "the disk is full" in done.err
    assert done.out == ""
    assert done.files("b") == all_files("b")
    assert done.half_files == []
    assert {name: content for name, content in tree_of(done.site).items() if not name.startswith("teams/b")} == old
    assert batch("scenarios", "--resume").made == {"b"}


def test_a_gate_ends_with_its_own_code(batch: Batch, scenarios: Batch) -> None:
    scenarios(QUEUE, a="works", b="works")
    assert batch("scenarios").code == 0
    gated = batch("scenarios", "--resume", "--gate")
    assert gated.code == 6
    assert "2 of 2 teams break objectives" in gated.err
    assert "BROKEN: fresh of queues.jobs" in gated.err
    easy = batch("scenarios", "--objective", "fresh=20 days", "--objective", "multiplier=10")
    assert easy.code == 0, easy.err
    suites = list(ET.parse(easy.site / "junit.xml").getroot())
    names = [[case.get("name") for case in suite] for suite in suites]
    assert names == [["packet", "fresh of queues.jobs (likely)", "multiplier of call_stacks.api (likely)"]] * 2
    strict = batch("scenarios", "--objective", "multiplier=2")
    assert strict.code == 6
    failed = [suite.get("failures") for suite in ET.parse(strict.site / "junit.xml").getroot()]
    assert failed == ["1", "1"]


def test_a_gate_names_broken_objectives_beside_what_failed(batch: Batch, scenarios: Batch, tmp_path: Path) -> None:
    folder = scenarios(QUEUE, a="works", same="works")
    (folder / "bad.yaml").write_text("team: [\n", "utf-8")
    (tmp_path / "teams.csv").write_text("team,owner\nSame,works\n,works\n", "utf-8")
    done = batch("scenarios", "--base", "scenarios/a.yaml", "--teams", "teams.csv", "--gate")
    assert done.code == 3
    assert "4 of 5 teams have no whole packet" in done.err
    assert "1 of 5 teams breaks objectives\n  a: BROKEN: fresh of queues.jobs" in done.err
    assert "Same: FAILED (input): teams.csv line 2 (team 'Same') and scenarios/same.yaml (team 'same')" in done.err
    assert "teams.csv line 3: FAILED (input): teams.csv line 3 column team: is empty" in done.err
    assert "5 teams: 1 made, 4 failed" in done.err
    quiet = batch("scenarios/bad.yaml", "scenarios/a.yaml", "--resume")
    assert "BROKEN" not in quiet.err
    assert "1 team: 1 up to date" in batch("scenarios/a.yaml", "--resume").err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "give scenario FILES, or --base with --teams"),
        (("--base", "x.yaml"), 2, "--base and --teams go together"),
        (("x.yaml", "--base", "x.yaml", "--teams", "t.csv"), 3, "t.csv: no such file"),
        (("scenarios", "--previous", "none.json"), 3, "none.json: cannot be read: No such file"),
        (("scenarios", "--previous", "scenarios/a.yaml"), 3, "scenarios/a.yaml: is not JSON"),
        (("scenarios", "--previous", "list.json"), 3, "list.json: is not the index.json of an earlier batch"),
        (("scenarios", "--previous", "other.json"), 3, "other.json: the last run's index.json has form 0, not"),
        (("scenarios", "--previous", "empty.json"), 3, "empty.json: the last run's index.json holds no portfolio"),
        (("none*.yaml",), 3, "none*.yaml: no file fits this pattern"),
        (("scenarios", "--set", "owner"), 3, "--set owner: is not of the form path=value"),
        (("scenarios", "--set", "owner=a", "--set", "owner=b"), 3, "owner is set twice"),
        (("scenarios", "--overrides", "none.yaml"), 3, "none.yaml: no such file"),
        (("scenarios", "--chapters", "nothing"), 3, "there is no chapter 'nothing'"),
        (("scenarios", "--chapters", ","), 2, "--chapters names no chapter"),
        (("scenarios", "--memory-limit", "much"), 2, "is no amount of memory"),
        (("scenarios", "--memory-limit", "1MB"), 2, "from 64MiB"),
        (("scenarios", "--team-timeout", "nan"), 2, "team-timeout"),
        (("scenarios", "--objective", "speed=1"), 3, "'speed' is not an objective"),
        (("scenarios", "--workers", "0"), 2, "--workers"),
        (("scenarios", "--log-json", "typo/log.jsonl"), 5, "there is no folder typo; make it first"),
        (("--base", "scenarios/a.yaml", "--teams", "none.csv"), 3, "none.csv: no such file"),
    ],
)
def test_what_is_wrong_from_the_start_is_said_at_once(
    batch: Batch, scenarios: Batch, tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    scenarios(a="works")
    for name, content in (("list", "[]"), ("other", '{"index": 0}'), ("empty", "{}")):
        (tmp_path / f"{name}.json").write_text(content, "utf-8")
    done = batch(*arguments)
    assert done.code == code, done.err
    assert words in done.err
    assert not done.site.exists()


def test_a_site_that_cannot_be_written_is_refused_at_once(batch: Batch, scenarios: Batch, tmp_path: Path) -> None:
    scenarios(a="works")
    (tmp_path / "file").write_text("x", "utf-8")
    done = batch("scenarios", site="file/site")
    assert done.code == 5
    assert "is a file, not a folder" in done.err


def test_wrong_inputs_spoil_no_other(batch: Batch, scenarios: Batch, tmp_path: Path) -> None:
    folder = scenarios(a="works", b="works")
    (folder / "bad.yaml").write_text(BASE.replace("UTC", "Mars"), "utf-8")
    (folder / "cut.yaml").write_text("team: [\n", "utf-8")
    (tmp_path / "deep").mkdir()
    done = batch("scenarios/*.yaml", "none.yaml", "--log-json", "deep/log.jsonl")
    assert done.code == 3
    assert done.made == {"a", "b"}
    assert set(done.failures) == {"base", "cut", "none"}
    assert done.failures["base"][1].startswith("../scenarios/bad.yaml: 1 problem")
    # Whoever started it reads paths from where that was.
    assert "Base: FAILED" in done.err
    assert "scenarios/bad.yaml:3: time_zone" in done.err
    assert "3 of 5 teams have no whole packet" in done.err
    assert not any(char in done.err for char in "\r\x1b\b")
    assert counted(tmp_path / "deep" / "log.jsonl")["failed"] == 3


def test_a_file_whose_name_is_no_text_fails_alone(batch: Batch, scenarios: Batch, tmp_path: Path) -> None:
    """It ended the whole batch, without an index."""
    folder = scenarios(a="works")
    (folder / os.fsdecode(b"caf\xe9.yaml")).write_text(BASE.replace("Base", "Cafe"), "utf-8")
    # As JSON has it: a character in two halves.
    (folder / "b.yaml").write_text(BASE.replace("team: Base", 'team: "B \\ud83d\\ude00"'), "utf-8")
    done = batch("scenarios", "--log-json", "log.jsonl")
    assert done.code == 3
    assert {item["team"] for item in done.index["teams"]} == {"a", "B \U0001f600"}
    assert done.failures["cafe"] == (
        "input",
        r"scenarios/caf\udce9.yaml: its name is not UTF-8 text, so nothing that is written could name it: rename the file",
    )
    assert teams_of(tmp_path / "log.jsonl", "failed") == {"Cafe"}
    assert "caf" in (done.site / "index.html").read_text("utf-8")


def test_what_needs_nothing_is_counted_without_what_failed(batch: Batch, scenarios: Batch) -> None:
    folder = scenarios(a="works", b="works")
    assert batch("scenarios", "--resume").code == 0
    (folder / "cut.yaml").write_text("team: [\n", "utf-8")
    assert "2 of 3 teams need nothing\n" in batch("scenarios", "--resume").err
    (folder / "cut.yaml").unlink()
    assert "nothing to do\n" in batch("scenarios", "--resume").err


def test_a_message_names_files_as_seen_from_the_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scenario = tmp_path / "scenarios" / "a.yaml"
    text = (
        f"{scenario}:3: '/mnt{scenario.parent}/x.csv' names no file (/mnt{scenario.parent}/x.csv); "
        f"cannot write {tmp_path}/site/teams/a/a.html"
    )
    far = f"/mnt{scenario.parent}/x.csv"
    for given, name in ((str(scenario), "../scenarios/a.yaml"), ("builtin:scenarios/orders.yaml", str(scenario))):
        words = run._failed(Plan(Path("site"), ()), Given("a", "A", given, "a.yaml"), "input", text)
        assert words.text == f"{name}:3: '{far}' names no file ({far}); cannot write teams/a/a.html"
        assert words.seen == f"scenarios/a.yaml:3: '{far}' names no file ({far}); cannot write site/teams/a/a.html"


def test_what_could_not_be_written_comes_before_the_end_of_a_cluster() -> None:
    def ending(*results: TeamResult) -> AfterloadError:
        done = Done(results, cluster_error=ClusterError("the scheduler has gone"))
        with pytest.raises(AfterloadError) as caught:
            _finish(Plan(Path("site"), ()), done, False, True, "")
        return caught.value

    not_done = TeamResult("b", "B", "b.yaml", "cancelled")
    full = TeamResult("a", "A", "a.yaml", "failed", kind="output", text="the disk is full")
    wrong = TeamResult("a", "A", "a.yaml", "failed", kind="input", text="no rate")
    assert ending(wrong, not_done).exit_code == 7
    assert ending(full, not_done).exit_code == 5
    assert "1 of 2 teams has no whole packet" in str(ending(full, not_done))
    assert "the scheduler has gone" in str(ending(full, not_done))


POSTMORTEM = "postmortem:\n  summary: It broke.\n"


def test_what_only_an_earlier_run_wrote_is_taken_away(batch: Batch, scenarios: Batch, tmp_path: Path) -> None:
    """Of five old postmortems: only one that the batch itself wrote goes, and only from beside a whole packet."""
    teams = dict.fromkeys(("gone", "edited", "linked", "strange", "broken"), "works")
    scenarios(POSTMORTEM, **teams)
    done = batch("scenarios")
    assert all(f"{team}-postmortem.md" in done.files(team) for team in teams)
    folders = {team: done.site / "teams" / team for team in teams}
    with (folders["edited"] / "edited-postmortem.md").open("a", encoding="utf-8") as file:
        file.write("We know better.\n")
    linked = folders["linked"] / "linked-postmortem.md"
    linked.rename(tmp_path / "elsewhere.md")
    linked.symlink_to(tmp_path / "elsewhere.md")
    (folders["strange"] / "batch.json").write_text("{}", encoding="utf-8")
    (folders["gone"] / "gone-notes.md").write_text("ours", encoding="utf-8")
    scenarios(**teams | {"broken": "fails"})
    again = batch("scenarios", "--log-json", tmp_path / "log.jsonl")
    assert again.code == 4
    assert {team for team in teams if f"{team}-postmortem.md" not in again.files(team)} == {"gone"}
    assert {"gone.html", "gone-plan.csv", "gone-notes.md"} <= again.files("gone")
    assert "gone: took away gone-postmortem.md, which only an earlier run gives\n" in again.err
    assert teams_of(tmp_path / "log.jsonl", "removed") == {"gone"}
    assert teams_of(tmp_path / "log.jsonl", "left") == set(teams) - {"gone"}
    assert (
        "edited: site/teams/edited/edited-postmortem.md: was written by an earlier run and not by this one: delete it if "
        "nobody needs it\n"
    ) in again.err


def test_the_plan_into_which_people_enter_something_is_never_taken_away(tmp_path: Path) -> None:
    before = {}
    for ending in EVERY:
        path = tmp_path / f"a{ending}"
        path.write_text(ending, encoding="utf-8")
        before[path.name] = sha256(ending.encode()).hexdigest()
    removed, stay = clear(tmp_path, "a", before, ["a.html"], whole=True)
    assert stay == ("a-plan.csv",)
    assert {*removed, *stay, "a.html"} == set(before)
    assert {path.name for path in tmp_path.iterdir()} == {"a.html", "a-plan.csv"}


def test_a_packet_that_fails_today_leaves_the_one_of_yesterday(batch: Batch, scenarios: Batch) -> None:
    folder = scenarios(a="works")
    before = tree_of(batch("scenarios").site / "teams")
    (folder / "a.yaml").write_text((folder / "a.yaml").read_text("utf-8").replace("UTC", "Mars"), "utf-8")
    done = batch("scenarios", "--resume")
    assert done.code == 3
    assert tree_of(done.site / "teams") == before
    assert "the packet of an earlier run is still there: teams/a/a.html" in done.failures["a"][1]


def test_chapters_that_a_team_has_nothing_for_are_left_out(tmp_path: Path, batch: Batch, scenarios: Batch) -> None:
    own = tmp_path / "own"
    own.mkdir()
    for name, needs in (("10-all", None), ("20-queues", "queues")):
        nb = new_notebook(cells=[new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]}), new_code_cell("1 + 1")])
        nb.metadata["afterload"] = {"needs": needs} if needs else {}
        nbformat.write(nb, own / f"{name}.ipynb")
    scenarios(a="works")
    scenarios(QUEUE, b="works")

    def chapters(*arguments: object) -> dict[str, set[str]]:
        done = batch("scenarios", "--workbooks", own, *arguments)
        assert done.code == 0, done.err
        return {
            team: {
                cell.metadata["afterload"]["chapter"]
                for cell in nbformat.read(done.site / "teams" / team / f"{team}.ipynb", as_version=4).cells
                if "afterload" in cell.metadata
            }
            for team in "ab"
        }

    assert chapters() == {"a": {"10-all"}, "b": {"10-all", "20-queues"}}
    # Those that are named are there in any case, also where a packet without them is whole.
    assert chapters("--chapters", "all,queues", "--resume") == {team: {"10-all", "20-queues"} for team in "ab"}
