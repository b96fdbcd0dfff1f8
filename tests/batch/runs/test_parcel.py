"""A job with its inputs: what is taken along, how it is laid out elsewhere, and what comes back."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from afterload import resources
from afterload.batch import parcel
from afterload.batch.jobs import Job
from afterload.batch.parcel import Parcel, Stay, collect, pack_team, unpack, with_newer_plan

from .conftest import BASE


@pytest.fixture
def job(tmp_path: Path) -> Callable[[str], Job]:
    """A job for a scenario in ``real``, which is reached through the link ``short``, with a timeline at the given path."""

    def make(timeline: str) -> Job:
        folder = tmp_path / "real" / "deep"
        folder.mkdir(parents=True)
        (folder / "events.csv").write_text("at,event\n2026-03-01T10:00Z,x\n", "utf-8")
        (folder / "a.yaml").write_text(
            BASE.replace("  name: outage", f"  name: outage\n  timeline: {timeline}"), "utf-8"
        )
        (tmp_path / "middle").symlink_to("real/deep")
        (tmp_path / "short").symlink_to(tmp_path / "middle")
        return Job("base", "Base", str(tmp_path / "short" / "a.yaml"), tmp_path / "site", "a.yaml")

    return make


def test_paths_and_links_lead_to_the_same_content_elsewhere(job: Callable[[str], Job], tmp_path: Path) -> None:
    packed = pack_team(job("events.csv"))
    assert isinstance(packed, Parcel)
    assert {Path(name).name for name, _, _ in packed.files} == {"a.yaml", "events.csv"}
    root = tmp_path / "guest"
    root.mkdir()
    stay = unpack(packed, str(root))
    for path in ("short/a.yaml", "real/deep/events.csv", "middle/events.csv"):
        there, here = Path(f"{root}{tmp_path}", path), Path(tmp_path, path)
        assert there.read_bytes() == here.read_bytes()
        assert there.stat().st_mtime_ns == here.stat().st_mtime_ns
        assert str(there.resolve()) == f"{root}{here.resolve()}"
    assert stay.job.scenario == f"{root}{tmp_path}/short/a.yaml"
    assert Path(stay.cwd).is_dir()


def test_a_link_to_what_lies_behind_another_link(tmp_path: Path) -> None:
    """As where releases are switched: scenarios -> current/scenarios, current -> releases/42."""
    folder = tmp_path / "releases" / "42" / "scenarios"
    folder.mkdir(parents=True)
    (folder / "a.yaml").write_text(BASE, "utf-8")
    (tmp_path / "current").symlink_to("releases/42")
    (tmp_path / "scenarios").symlink_to(tmp_path / "current" / "scenarios")
    (tmp_path / "sites").symlink_to(tmp_path / "current" / "sites" / "new")
    job = Job("base", "Base", str(tmp_path / "scenarios" / "a.yaml"), tmp_path / "sites" / "a", "a.yaml")
    packed = pack_team(job)
    assert isinstance(packed, Parcel)
    root = tmp_path / "guest"
    root.mkdir()
    stay = unpack(packed, str(root))
    assert Path(stay.job.scenario).read_text("utf-8") == BASE
    assert str(stay.job.folder.resolve()) == f"{root}{tmp_path.resolve()}/releases/42/sites/new/a"


def test_what_people_enter_meanwhile_travels_too(job: Callable[[str], Job], tmp_path: Path) -> None:
    packed = pack_team(job("events.csv"))
    assert isinstance(packed, Parcel)
    assert with_newer_plan(packed) is None
    table = tmp_path / "site" / "base-plan.csv"
    table.parent.mkdir()
    for text in ("id,note\nx,soon\n", "id,note\nx,later\n"):
        table.write_text(text, "utf-8")
        newer = with_newer_plan(packed)
        assert newer is not None
        assert [zlib.decompress(content).decode() for name, _, content in newer.files if name == str(table)] == [text]
        assert {Path(name).name for name, _, _ in newer.files} == {"a.yaml", "events.csv", "base-plan.csv"}
        assert with_newer_plan(newer) is None
        packed = newer
    table.unlink()
    assert with_newer_plan(packed) is None


def test_an_absolute_path_in_a_scenario_leads_below_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(resources, "_below", str(tmp_path))
    assert resources.builtin_path("/data/x.csv", Path("/a")) == tmp_path / "data" / "x.csv"
    assert resources.builtin_path("x.csv", tmp_path / "a") == tmp_path / "a" / "x.csv"
    assert resources.builtin_path(f"{tmp_path}/x.csv", Path("/a")) == tmp_path / "x.csv"


def test_inputs_that_are_too_large_do_not_travel(job: Callable[[str], Job], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parcel, "MOST_BYTES", 100)
    told = pack_team(job("events.csv"))
    assert isinstance(told, dict)
    assert told["problem"]["kind"] == "input"
    assert "a.yaml: its input files have more than 0 MiB" in told["problem"]["text"]


def test_what_cannot_be_read_is_told_here(job: Callable[[str], Job]) -> None:
    told = pack_team(job("none.csv"))
    assert isinstance(told, dict)
    assert "'none.csv' names no file" in told["problem"]["text"]


def test_what_comes_back_does_not_name_the_folder(tmp_path: Path) -> None:
    root = str(tmp_path / "guest")
    folder = Path(f"{root}/home/me/site")
    folder.mkdir(parents=True)
    page, plain = f"<p>{root}/home/me/a.yaml: “é”".encode(), b"as it is"
    (folder / "a.html").write_bytes(page)
    (folder / "a.ipynb").write_bytes(plain)
    digests = {"a.html": sha256(page).hexdigest(), "a.ipynb": sha256(plain).hexdigest()}
    told = {"record": None, "failures": [f"cell: {root}/home/me/é"], "warnings": [], "files": ["a.html", "a.ipynb"]}
    manifest = json.dumps({"outputs": digests, **told}, indent=1, ensure_ascii=False) + "\n"
    (folder / "batch.json").write_text(manifest, "utf-8")
    stay = Stay(root, Job("a", "A", "", Path("site"), ""), f"{root}/home/me", root)

    found, files = collect(stay, told)

    assert found == {**told, "failures": ["cell: /home/me/é"]}
    assert list(files) == ["a.html", "a.ipynb", "batch.json"]
    assert files["a.html"].decode() == "<p>/home/me/a.yaml: “é”"
    outputs = {name: sha256(content).hexdigest() for name, content in files.items() if name != "batch.json"}
    assert json.loads(files["batch.json"]) == {"outputs": outputs, **found}
    # Where nothing names the folder, the bytes are as they were written.
    (folder / "a.html").write_bytes(plain)
    clean = {"outputs": {"a.html": digests["a.ipynb"]}, **told, "failures": [], "files": ["a.html"]}
    (folder / "batch.json").write_text(json.dumps(clean, indent=1, ensure_ascii=False) + "\n", "utf-8")
    assert collect(stay, {**told, "failures": [], "files": ["a.html"]})[1] == {
        "a.html": plain, "batch.json": (folder / "batch.json").read_bytes()
    }  # fmt: skip
