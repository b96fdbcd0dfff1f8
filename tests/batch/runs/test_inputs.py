"""What words of the command line stand for: files, patterns, folders, shipped examples; and whose files they are."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from afterload.batch.inputs import collect, collect_all, expand, read_team_overrides
from afterload.batch.jobs import Override, merged_overrides
from afterload.batch.teams_csv import read_teams
from afterload.errors import InputError, NotFoundError
from afterload.yamltree import WrittenFloat

from .conftest import BASE, QUEUE


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with scenarios, what only looks like one, and an earlier site in it."""
    for name in ("a.yaml", "b.yml", "deep/er/c.YAML", ".hidden.yaml", ".git/d.yaml", "site/teams/x/e.yaml"):
        path = tmp_path / "all" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(BASE.replace("Base", name), "utf-8")
    (tmp_path / "all" / "compose.yaml").write_text("services: {}\nnested:\n  team: x\n", "utf-8")
    (tmp_path / "all" / "notes.txt").write_text("team: no\n", "utf-8")
    (tmp_path / "all" / "damaged.yaml").write_text("team: Damaged\nqueues: [\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_folder_is_all_scenarios_below_it(tree: Path) -> None:
    found, others = expand(["all"], tree / "all" / "site")
    assert found == ["all/a.yaml", "all/b.yml", "all/damaged.yaml", "all/deep/er/c.YAML"]
    assert others == ["all/compose.yaml"]


def test_patterns_are_expanded_here_too_and_each_file_counts_once(tree: Path) -> None:
    (tree / "link.yaml").symlink_to(tree / "all" / "a.yaml")
    found, _ = expand(["all/*.yaml", "./all/a.yaml", "all/**/*.YAML", str(tree / "link.yaml")])
    assert found == ["all/a.yaml", "all/compose.yaml", "all/damaged.yaml", "all/deep/er/c.YAML"]


def test_a_file_whose_name_looks_like_a_pattern(tree: Path) -> None:
    (tree / "[x].yaml").write_text(BASE, "utf-8")
    assert expand(["[x].yaml"]) == (["[x].yaml"], [])


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("none/*.yaml", "no file fits this pattern"),
        ("empty", "the folder has no scenario"),
        ("builtin:../pyproject.toml", "leaves the shipped data folder"),
        ("builtin:scenarios/z*.yaml", "no file fits"),
    ],
)
def test_a_word_that_stands_for_nothing_is_refused(tree: Path, word: str, reason: str) -> None:
    (tree / "empty").mkdir()
    with pytest.raises(NotFoundError, match=reason):
        expand([word])


def test_shipped_examples_go_by_their_names() -> None:
    one, _ = expand(["builtin:scenarios/orders.yaml"])
    all_of_them, _ = expand(["builtin:scenarios"])
    some, _ = expand(["builtin:scenarios/*-*.yaml"])
    assert one == ["builtin:scenarios/orders.yaml"]
    assert {*one, *some} < set(all_of_them)
    assert {item.id for item in collect(all_of_them)} >= {"orders", "render-farm"}


def test_a_missing_file_is_that_teams_problem(tree: Path) -> None:
    given = collect(["all/a.yaml", "all/none.yaml"])
    assert [(item.id, "no such file" in item.problem) for item in given] == [("a-yaml", False), ("none", True)]


@pytest.mark.parametrize(
    ("line", "team"),
    [
        ("team: Plain name # and a comment", "Plain name"),
        ("team:   'Quoted: it''s'", "Quoted: it's"),
        ('"team": "Café"', "Café"),
        ('team: "Caf\\u00e9 # no comment"', "Café # no comment"),
        ("team: 1.40", "1.40"),
        ("team: &name Anchored", "Anchored"),
        ("team: >\n  Folded\n  over lines", "Folded over lines"),
        ("team: Plain\n  over lines", "Plain over lines"),
        ("team: 'Quoted\n  over lines'", "Quoted over lines"),
        ("team: *other", "x"),
        ("? team\n: Spelled out", "Spelled out"),
    ],
)
def test_the_name_is_the_one_that_yaml_gives(tmp_path: Path, line: str, team: str) -> None:
    path = tmp_path / "team.yaml"
    path.write_text(BASE.replace("owner: works", "owner: &other x").replace("team: Base\n", "") + f"{line}\n", "utf-8")
    [given] = collect([str(path)])
    assert (given.team, given.problem) == (team, "")


@pytest.mark.parametrize("line", ["", "team:", "team: [a]", "team: true", "team: ' '", "team: {"])
def test_without_a_name_the_file_gives_one_and_its_problem(tmp_path: Path, line: str) -> None:
    path = tmp_path / "Some file.yaml"
    path.write_text(BASE.replace("team: Base", line), "utf-8")
    [given] = collect([str(path)])
    assert (given.id, given.team) == ("some-file", "Some file")
    assert str(path) in given.problem


def test_two_teams_that_would_write_the_same_files_fail_naming_both_and_the_others_go_on(
    scenarios: Callable[..., Path],
) -> None:
    folder = scenarios(one="works", two="works", three="works")
    (folder / "two.yaml").write_text(BASE.replace("Base", "ONE!"), "utf-8")
    names, _ = expand([str(folder)])
    given = {item.id: item for item in collect(names)}
    assert set(given) == {"one", "one-2", "three"}
    assert given["three"].problem == ""
    for item in (given["one"], given["one-2"]):
        assert "one.yaml (team 'one')" in item.problem
        assert "two.yaml (team 'ONE!')" in item.problem
        assert "one.html" in item.problem
    # A name set for all of them is one name for all of them.
    same = collect(names, [Override("team", "Same")])
    assert [item.id for item in same] == ["same", "same-2", "same-3"]
    assert all("would write the same files" in item.problem for item in same)


def test_files_and_rows_make_one_batch(tmp_path: Path, scenarios: Callable[..., Path]) -> None:
    folder = scenarios(one="works", two="works")
    table = tmp_path / "teams.csv"
    table.write_text("team,owner\nRow,x\nTwo,y\n", "utf-8")
    names, _ = expand([str(folder)])
    overrides = ("o.yaml", {"Row": {"owner": "12"}, "one": {"owner": "13"}})
    given = {item.id: item for item in collect_all(names, names[0], read_teams(table), (), overrides)}
    assert {name: bool(item.problem) for name, item in given.items()} == {
        "one": False, "row": False, "two": True, "two-2": True,
    }  # fmt: skip
    assert [item.value for item in given["row"].overrides] == ["Row", "x", "12"]
    assert "teams.csv line 3 (team 'Two')" in given["two"].problem
    with pytest.raises(InputError, match="has overrides for 'Nobody'"):
        collect_all(names, names[0], read_teams(table), (), ("o.yaml", {"Nobody": {}}))


def test_a_damaged_file_takes_no_name_from_another(tmp_path: Path) -> None:
    (tmp_path / "jobs.yaml").write_text("team: [", "utf-8")
    (tmp_path / "other.yaml").write_text(BASE.replace("Base", "Jobs"), "utf-8")
    given = {item.id: item for item in collect([str(tmp_path / "jobs.yaml"), str(tmp_path / "other.yaml")])}
    assert set(given) == {"jobs", "jobs-2"}
    assert given["jobs"].problem == ""


def test_a_teams_own_values_count_more_than_those_for_all(tmp_path: Path, scenarios: Callable[..., Path]) -> None:
    folder = scenarios(QUEUE, a="works", b="works")
    own = tmp_path / "own.yaml"
    own.write_text("a:\n  queues.jobs.arrival_rate: 7/min\n  clients: {x: {sdk: boto3, version: 1.40}}\n", "utf-8")
    names, _ = expand([str(folder)])
    common = [Override("queues.jobs.arrival_rate", "5/min"), Override("queues.jobs.item_time", "2 s")]
    a, b = collect(names, common, (str(own), read_team_overrides(own)))
    merged: dict[str, Any] = merged_overrides(a.overrides)
    assert merged["queues.jobs.arrival_rate"] == "7/min"
    assert merged["queues.jobs.item_time"] == "2 s"
    version = merged["clients"]["x"]["version"]
    assert isinstance(version, WrittenFloat)
    assert version.text == "1.40"
    assert merged_overrides(b.overrides) == {"queues.jobs.arrival_rate": "5/min", "queues.jobs.item_time": "2 s"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- a\n", "own.yaml:1: is not a mapping of teams"),
        ("a:\n  owner: x\nb: 5\n", "own.yaml:3: b: 5 is no mapping"),
        ("a: {owner: x}\nnobody: {owner: x}\n", "'nobody', which is none of the 1 teams"),
    ],
)
def test_overrides_by_team_that_cannot_be_used(
    tmp_path: Path, scenarios: Callable[..., Path], text: str, words: str
) -> None:
    folder = scenarios(a="works")
    own = tmp_path / "own.yaml"
    own.write_text(text, "utf-8")
    with pytest.raises(InputError) as caught:
        collect([str(folder / "a.yaml")], (), (str(own), read_team_overrides(own)))
    assert words in str(caught.value)


def test_what_cannot_be_read_is_told_and_spoils_nothing(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "all" / "loop").symlink_to(tree / "all", target_is_directory=True)
    (tree / "all" / "dangling.yaml").symlink_to(tree / "nowhere.yaml")
    (tree / "all" / "shut").mkdir()
    scandir = os.scandir

    def guarded(path: str) -> Any:
        if Path(path).name == "shut":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    found, others = expand(["all"], tree / "all" / "site")
    # Whether a team stands in it cannot be told, and nobody may take it for none.
    assert {*found} - {f"all/{name}" for name in ("a.yaml", "b.yml", "damaged.yaml", "deep/er/c.YAML")} == {
        "all/dangling.yaml", "all/shut",
    }  # fmt: skip
    assert others == ["all/compose.yaml"]
    told = {item.id: item.problem for item in collect(found)}
    assert "dangling.yaml: no such file" in told["dangling"]
    assert "shut: cannot be read" in told["shut"]


def test_a_file_whose_name_is_no_text_is_that_teams_problem(tree: Path) -> None:
    with open(b"all/caf\xe9.yaml", "w", encoding="utf-8") as file:  # noqa: PTH123 - a name of bytes
        file.write(BASE.replace("Base", "Cafe"))
    found, _ = expand(["all/*.yaml"])
    given = {item.team: item for item in collect(found)}
    assert "its name is not UTF-8 text" in given["Cafe"].problem
    assert given["a.yaml"].problem == ""


def test_a_pattern_longer_than_any_name_fits_nothing(tree: Path) -> None:
    with pytest.raises(NotFoundError, match="no file fits this pattern"):
        expand(["a" * 300 + "*"])


def test_a_pipe_or_device_among_the_scenarios_is_told_and_waited_for_by_nobody(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    os.mkfifo(tmp_path / "s" / "x.yaml")
    (tmp_path / "s" / "y.yml").symlink_to("/dev/zero")
    names, others = expand([str(tmp_path / "s")])
    assert [Path(name).name for name in names] == ["x.yaml", "y.yml"]
    assert others == []
    words = "cannot be read: it is a pipe or a device, not a plain file"
    assert {item.problem for item in collect(names)} == {f"{name}: {words}" for name in names}
    patterns, _ = expand([str(tmp_path / "s" / "*.y*ml")])
    assert sorted(patterns) == sorted(names)
