"""When a packet counts as made of today's inputs: the recorder, the manifest, and everything that makes it stale."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from afterload import reads
from afterload.batch import digest
from afterload.batch.digest import MANIFEST, Basis, Checker, manifest_text
from afterload.chapters import open_workbook
from afterload.reads import note_read, recorded_reads
from afterload.resources import resource
from afterload.scenario import load_scenario

from .conftest import BASE, QUEUE

BASIS = Basis("library", (("10-own.ipynb", "aa"),), "../../../scenarios/a.yaml", (("owner", '"x"'),))


@pytest.fixture
def packet(tmp_path: Path) -> Callable[..., Path]:
    """A team's folder with one file, made of one input."""

    def make(dated: bool = False, failures: tuple[str, ...] = ()) -> Path:
        folder = tmp_path / "site" / "teams" / "a"
        folder.mkdir(parents=True)
        (tmp_path / "a.yaml").write_text("team: a\n", "utf-8")
        contents = {folder / "a.html": "<p>é</p>"}
        told = {"record": {"team": "a"}, "failures": list(failures), "warnings": [], "files": ["a.html"]}
        inputs = {str(tmp_path / "a.yaml"): sha256(b"team: a\n").hexdigest()}
        text = manifest_text(BASIS, inputs, contents, told, folder, dated)
        for path, content in {**contents, folder / MANIFEST: text}.items():
            path.write_text(content, "utf-8")
        return folder

    return make


def test_it_is_current_while_nothing_changes_wherever_it_lies(packet: Callable[..., Path], tmp_path: Path) -> None:
    folder = packet()
    assert Checker().current(folder, BASIS) is not None
    assert str(tmp_path) not in (folder / MANIFEST).read_text("utf-8")
    other = tmp_path / "elsewhere"
    other.mkdir()
    for name in ("site", "a.yaml"):
        (tmp_path / name).rename(other / name)
    assert Checker().current(other / "site" / "teams" / "a", BASIS) is not None


@pytest.mark.parametrize(
    "harm",
    [
        lambda folder: (folder / "a.html").write_text("<p>e</p>"),
        lambda folder: (folder / "a.html").unlink(),
        lambda folder: (folder / MANIFEST).unlink(),
        lambda folder: (folder / MANIFEST).write_text("{"),
        lambda folder: (folder / MANIFEST).write_text("[]"),
        lambda folder: (folder / MANIFEST).write_text(
            (folder / MANIFEST).read_text().replace('"format": 1', '"format": 0')
        ),
        lambda folder: (folder.parents[2] / "a.yaml").write_text("team: b\n"),
        lambda folder: (folder.parents[2] / "a.yaml").unlink(),
    ],
    ids="changed gone unvouched cut other-json other-form input input-gone".split(),
)
def test_it_is_stale(packet: Callable[..., Path], harm: Callable[[Path], object]) -> None:
    folder = packet()
    harm(folder)
    assert Checker().current(folder, BASIS) is None


@pytest.mark.parametrize(
    "basis",
    [
        Basis("other", BASIS.chapters, BASIS.scenario, BASIS.overrides),
        Basis("library", (("10-own.ipynb", "ab"),), BASIS.scenario, BASIS.overrides),
        Basis("library", BASIS.chapters, "../a.yaml", BASIS.overrides),
        Basis("library", BASIS.chapters, BASIS.scenario, (("owner", '"y"'),)),
        Basis("library", BASIS.chapters, BASIS.scenario, BASIS.overrides, (("lost", 0.0),)),
        Basis("library", BASIS.chapters, BASIS.scenario, BASIS.overrides, by_need=False),
    ],
    ids="library chapter place override objective all-chapters".split(),
)
def test_it_is_stale_for_another_basis(packet: Callable[..., Path], basis: Basis) -> None:
    assert Checker().current(packet(), basis) is None


def test_one_with_a_failed_part_is_made_again(packet: Callable[..., Path]) -> None:
    assert Checker().current(packet(failures=("chapter 10-own: ValueError: x",)), BASIS) is None


def test_one_that_tells_ages_is_of_its_day(packet: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = packet(dated=True)
    assert Checker().current(folder, BASIS) is not None
    monkeypatch.setattr(digest, "_today", lambda: "2031-01-01")
    assert Checker().current(folder, BASIS) is None


def test_every_file_of_a_scenario_is_recorded(tmp_path: Path) -> None:
    """The timelines, the series, exports, telemetry and the scenario to compare with, and what that one reads."""
    header = "at,event\n2026-03-01T10:00Z,x\n"
    (tmp_path / "own").mkdir()
    files = {
        "timeline.csv": header,
        "account.csv": header,
        "impacts.csv": "service,start,end\nx,2026-03-01T10:00Z,2026-03-01T11:00Z\n",
        "series.csv": "at,rate_per_min\n2026-03-01T09:00Z,5\n2026-03-01T10:00Z,6\n2026-03-01T11:00Z,6\n",
        "export.json": "{}",
        "metrics.csv": "Timestamp,ApproximateNumberOfMessagesVisible\n2026-03-01 10:00:00,1\n",
        "own/before.csv": header,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    before = BASE.replace("  name: outage", "  name: outage\n  timeline: before.csv")
    (tmp_path / "own" / "before.yaml").write_text(before, "utf-8")
    text = BASE.replace(
        "  name: outage", "  name: outage\n  timeline: timeline.csv\n  impacts: impacts.csv"
    ) + QUEUE.replace("arrival_rate: 100/min", "arrival_rate: { series: series.csv }")
    text += "compare_with: own/before.yaml\nexports:\n  - file: export.json\n"
    text += "telemetry:\n  - { file: metrics.csv, queue: jobs, signal: backlog }\n"
    text += "postmortem:\n  summary: x\n  timeline: account.csv\n"
    (tmp_path / "a.yaml").write_text(text, "utf-8")
    with recorded_reads() as found:
        load_scenario(tmp_path / "a.yaml")
    expected = {"a.yaml", "own/before.yaml", *files} - {"own/before.csv"}
    assert set(found) == {str(tmp_path / name) for name in expected}
    assert found[str(tmp_path / "a.yaml")] == sha256((tmp_path / "a.yaml").read_bytes()).hexdigest()
    with recorded_reads() as found:
        open_workbook(str(tmp_path / "a.yaml")).comparison_answer()
    assert str(tmp_path / "own" / "before.csv") in found


def test_readings_are_noted_while_somebody_listens(tmp_path: Path) -> None:
    note_read(tmp_path / "before", b"x")
    with recorded_reads() as outer:
        with recorded_reads() as inner:
            note_read(tmp_path / "both", b"x")
            note_read(tmp_path / "both", b"changed meanwhile")
        note_read(tmp_path / "outer", "digest")
    note_read(tmp_path / "after", b"x")
    x = sha256(b"x").hexdigest()
    assert inner == {str(tmp_path / "both"): x}
    assert outer == {str(tmp_path / "both"): x, str(tmp_path / "outer"): "digest"}
    assert reads._listening == []


def test_the_librarys_digest_follows_its_content(monkeypatch: pytest.MonkeyPatch) -> None:
    first = digest.library_digest()
    digest.library_digest.cache_clear()
    assert digest.library_digest() == first
    seen = []
    read = Path.read_bytes

    def changed(path: Path) -> bytes:
        seen.append(path)
        return read(path) + (b" " if path.name == "limits.yaml" else b"")

    monkeypatch.setattr(Path, "read_bytes", changed)
    digest.library_digest.cache_clear()
    assert digest.library_digest() != first
    digest.library_digest.cache_clear()
    package = Path(digest.__file__).parents[1]
    for path in (package / "model" / "launches.py", resource("data", "limits.yaml")):
        assert path in seen
    assert not [path for path in seen if path.suffix in (".pyc", ".ipynb")]


def test_every_package_that_it_needs_is_in_the_librarys_digest() -> None:
    project = tomllib.loads((Path(__file__).resolve().parents[3] / "pyproject.toml").read_text("utf-8"))["project"]
    needed = {re.split(r"[<>=]", text)[0] for text in project["dependencies"]}
    # The command line's own words stand in no packet.
    assert needed - {"click"} <= set(digest._PACKAGES)


def test_numbers_keep_how_they_were_written(tmp_path: Path) -> None:
    from afterload.yamltree import read_text

    texts = ["1.40", "1.4", "'1.4'", "[1, {a: 2}]", "[1, {a: 2.0}]", "null", "x"]
    assert len({digest.value_text(read_text(text, "x").data) for text in texts}) == len(texts)
    json.loads(digest.value_text(read_text("{a: [1, x, null, true]}", "x").data))
