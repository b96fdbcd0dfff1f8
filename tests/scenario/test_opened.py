"""What was made of the scenario opened last is kept only while nothing that it was read from changes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from afterload.chapters import open_workbook
from afterload.errors import NotFoundError
from afterload.resources import resource
from afterload.scenario import LastOpened, LoadedScenario, load_scenario
from afterload.scenario.load import load_scenario as load_in_module

Open = Callable[..., LoadedScenario]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A scenario that names a timeline beside it."""
    text = (
        "team: T\ntime_zone: UTC\nrecovery_objective: 240 min\n"
        "incident: {name: E, trigger: 2025-10-20T00:00Z, restored_at: 2025-10-20T02:52Z, timeline: events.csv}\n"
        "queues: {q: {arrival_rate: 1200/min, service_rate: 1800/min}}\n"
    )
    (tmp_path / "t.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "events.csv").write_text("at,event\n2025-10-20T00:00Z,began\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def opened() -> Open:
    return LastOpened(lambda loaded: loaded).open


def test_the_same_files_give_the_same_thing(folder: Path, opened: Open) -> None:
    first = opened(folder / "t.yaml")
    assert opened(folder / "t.yaml") is first
    assert opened(str(folder / "t.yaml"), {}) is first
    assert first == load_scenario(folder / "t.yaml")


@pytest.mark.parametrize("name", ["t.yaml", "events.csv"])
def test_a_changed_file_is_read_again(folder: Path, opened: Open, name: str) -> None:
    first = opened(folder / "t.yaml")
    path = folder / name
    old = path.read_text("utf-8")
    before = path.stat().st_mtime_ns
    path.write_text(old.replace("began", "begun").replace("1800", "2400"), encoding="utf-8")
    os.utime(path, ns=(before, before))
    second = opened(folder / "t.yaml")
    assert second is not first
    assert second == load_scenario(folder / "t.yaml")
    assert second.digest != first.digest
    # Back again: what was computed from the file in between must not come back with the first content.
    path.write_text(old, encoding="utf-8")
    assert opened(folder / "t.yaml") == first


def test_a_file_that_was_only_touched_is_read_again(folder: Path, opened: Open) -> None:
    """Exports get their date from the file's."""
    first = opened(folder / "t.yaml")
    os.utime(folder / "events.csv", ns=(1, 1))
    assert opened(folder / "t.yaml") is not first


def test_a_file_that_is_gone_is_missed(folder: Path, opened: Open) -> None:
    opened(folder / "t.yaml")
    (folder / "t.yaml").unlink()
    with pytest.raises(NotFoundError, match="no such file"):
        opened(folder / "t.yaml")


def test_overrides_are_told_apart(folder: Path, opened: Open) -> None:
    path, given = folder / "t.yaml", "queues.q.service_rate"
    first = opened(path, {given: "2400/min"})
    assert opened(path, [f"{given}=2400/min"]) is first
    assert opened(path, f'{{"{given}": "2400/min"}}') is first
    for other in (None, {given: "2500/min"}, [f"{given}=2500/min", "team=U"]):
        assert opened(path, other) == load_scenario(path, other)
        assert opened(path, {given: "2400/min"}) is not first
    assert opened(path, ["team=1.40"]) == load_scenario(path, ["team=1.40"])
    assert opened(path, ["team=1.4"]).scenario.team == "1.4"


def test_the_same_path_in_another_folder_is_another_file(
    folder: Path, opened: Open, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(folder)
    first = opened("t.yaml")
    other = tmp_path_factory.mktemp("other")
    for name in ("t.yaml", "events.csv"):
        (other / name).write_text((folder / name).read_text("utf-8"), encoding="utf-8")
    monkeypatch.chdir(other)
    assert opened("t.yaml").folder == other.resolve()
    assert first.folder == folder.resolve()


def test_a_file_that_changes_while_it_is_read_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*given: object) -> LoadedScenario:
        loaded = load_in_module(*given)  # type: ignore[arg-type]
        with (folder / "events.csv").open("a", encoding="utf-8") as file:
            file.write("2025-10-20T00:10Z,more\n")
        return loaded

    monkeypatch.setattr("afterload.scenario.opened.load_scenario", load)
    opened = LastOpened(lambda loaded: loaded).open
    first = opened(folder / "t.yaml")
    second = opened(folder / "t.yaml")
    assert (len(first.timeline), len(second.timeline)) == (1, 2)


def test_chapters_share_a_workbook_and_its_results(folder: Path) -> None:
    first = open_workbook(str(folder / "t.yaml"))
    plan = first.plan
    assert open_workbook(str(folder / "t.yaml"), {}).plan is plan
    assert open_workbook(str(folder / "t.yaml"), {"team": "U"}).plan is not plan


def test_what_a_compared_scenario_reads_is_read_each_time(folder: Path) -> None:
    """Files that only the other scenario names are not watched."""
    text = (folder / "t.yaml").read_text("utf-8")
    rates = "arrival_rate: {series: rates.csv}"
    (folder / "other.yaml").write_text(text.replace("arrival_rate: 1200/min", rates), encoding="utf-8")
    (folder / "own.yaml").write_text(f"{text}compare_with: other.yaml\n", encoding="utf-8")
    found = []
    for rate in (1200, 900):
        rows = "".join(f"2025-10-20T0{hour}:00Z,{rate}\n" for hour in range(8))
        (folder / "rates.csv").write_text(f"at,rate_per_min\n{rows}", encoding="utf-8")
        workbook = open_workbook(str(folder / "own.yaml"))
        comparison = workbook.comparison
        assert comparison is not None
        found.append(repr(comparison))
    assert found[0] != found[1]


def test_a_shipped_scenario_is_kept_too(opened: Open) -> None:
    first = opened("builtin:scenarios/orders.yaml")
    assert set(first.files) >= {""}
    assert opened("builtin:scenarios/orders.yaml") is first
    assert first.folder == resource("data", "scenarios")
