"""A job with its inputs: what is taken along, how it is laid out elsewhere, and what comes back."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from afterload import resources
from afterload.batch import parcel
from afterload.batch.jobs import Job
from afterload.batch.parcel import Parcel, Stay, collect, entered_since, pack_team, unpack

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


def test_a_plan_that_was_saved_since_is_told(job: Callable[[str], Job]) -> None:
    packed = pack_team(job("events.csv"))
    assert isinstance(packed, Parcel)
    assert entered_since(packed) == ""
    table = packed.job.folder.absolute() / f"{packed.job.id}-plan.csv"
    table.parent.mkdir(parents=True, exist_ok=True)
    table.write_bytes(b"id,due\r\n")
    assert entered_since(packed) == str(table)
    again = pack_team(packed.job)
    assert isinstance(again, Parcel)
    assert entered_since(again) == ""
    table.write_bytes(b"id,due\r\nx,today\r\n")
    assert entered_since(again) == str(table)


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
