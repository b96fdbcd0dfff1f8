"""A table of teams as spreadsheets save it, and what is said of each mistake in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from afterload.batch.inputs import collect_table, refuse_unknown_columns
from afterload.batch.jobs import Job, make_team, merged_overrides, refuse_ambiguous
from afterload.batch.teams_csv import read_teams
from afterload.errors import InputError, NotFoundError, ScenarioError
from afterload.scenario import load_scenario

from .conftest import BASE, QUEUE, Result

PATH = "queues.jobs.arrival_rate"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    path = tmp_path / "base.yaml"
    path.write_text(BASE + QUEUE, "utf-8")
    return path


def table(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "teams.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


PLAIN = f"team,{PATH},owner\nA,100/min,x\nB,200/min,\n"


@pytest.mark.parametrize(
    "content",
    [
        PLAIN,
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\r"),
        b"\xef\xbb\xbf" + PLAIN.encode(),
        PLAIN.encode("utf-16"),
        PLAIN.replace(",", ";"),
        PLAIN.replace(",", "\t"),
        "sep=;\r\n" + PLAIN.replace(",", ";").replace("\n", "\r\n"),
        f'"team","{PATH}","owner"\n"A","100/min","x"\n"B","200/min",""\n',
        f"team,{PATH},owner,\nA,100/min,x,\nB,200/min,,,,\n",
        f"\n\n team , {PATH} , owner \n A , 100/min , x \n,,\n B , 200/min , \n",
    ],
    ids="plain crlf cr bom utf-16 semicolons tabs sep quoted empty-columns spaces".split(),
)
def test_every_way_to_save_it_reads_the_same(tmp_path: Path, content: str | bytes) -> None:
    read = read_teams(table(tmp_path, content))
    assert read.columns == (PATH, "owner")
    assert [(row.team, row.cells, row.problem) for row in read.rows] == [
        ("A", ((PATH, "100/min"), ("owner", "x")), ""),
        ("B", ((PATH, "200/min"),), ""),
    ]


def test_lines_count_as_an_editor_counts_them(tmp_path: Path) -> None:
    read = read_teams(table(tmp_path, 'team,owner\n"A","two\nlines"\n\nB,x,too many\n,x\n'))
    assert [(row.line, row.team) for row in read.rows] == [(2, "A"), (5, "B"), (6, "")]
    assert "teams.csv line 5: has 3 cells where the header has 2" in read.rows[1].problem
    assert "teams.csv line 6 column team: is empty" in read.rows[2].problem


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "line 1: is empty; accepted: a header with team"),
        (f"name,{PATH}\nA,1/min\n", f"line 1: has no column team; its header is name, {PATH}"),
        ("team,owner,owner\nA,x,y\n", "line 1: names the column owner twice (columns 2 and 3)"),
        ("team,,owner\nA,x,y\n", "line 1: column 2 has no name"),
        ("\nteam,owner\n", "line 2: has no rows below its header"),
        ('team,owner\nA,"x"y\n', "line 2: is not CSV"),
        ('team,owner\nA,x\nB,"never closed\nC,z\n', "line 3: is not CSV"),
        (b"team,owner\nA,\xff\n", "line 2: is not UTF-8 text"),
    ],
)
def test_a_table_that_cannot_be_used_says_where(tmp_path: Path, content: str | bytes, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read_teams(table(tmp_path, content))
    assert str(caught.value).startswith(f"{tmp_path / 'teams.csv'} ")
    assert words in str(caught.value)


def test_no_table(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no such file"):
        read_teams(tmp_path / "none.csv")


def test_two_rows_of_one_name_fail_naming_both(tmp_path: Path, base: Path) -> None:
    given, _ = collect_table(str(base), table(tmp_path, "team,owner\nÄrger,x\nB,x\nArger,y\n"))
    assert {item.id: bool(item.problem) for item in given} == {"arger": True, "arger-2": True, "b": False}
    for item in given:
        if item.problem:
            assert "line 2 (team 'Ärger')" in item.problem
            assert "line 4 (team 'Arger')" in item.problem
            assert "arger.html" in item.problem


def told_of(tmp_path: Path, base: Path, content: str, team: str) -> dict[str, Any]:
    """What a child says of one row, without chapters."""
    given, _ = collect_table(str(base), table(tmp_path, content))
    [item] = [each for each in given if each.team == team]
    return make_team(Job(item.id, item.team, item.scenario, tmp_path / "out", item.origin, item.overrides))


@pytest.mark.parametrize(
    ("content", "plain", "small"),
    [
        (f"team;{PATH}\nA;1.200/min\n", "1200/min", "1.2/min"),
        (f"team;{PATH}_per_min\nA;1.250\n", "1250", "1.25"),
        (f'team,{PATH},queues.jobs.age_limit\nA,1.200/min,\nB,2/min,"1,5 h"\n', "1200/min", "1.2/min"),
        (f'team;{PATH}\nA;"1,200/min"\n', "1200/min", "1.2/min"),
        (f"team;{PATH}\nA;1,250/s\n", "1250/s", "1.25/s"),
        (f'team\t{PATH}\nA\t1.000/min\nB\t"1.200,5/min"\n', "1000/min", "1.0/min"),
    ],
)
def test_a_sign_that_may_part_thousands_is_refused_naming_both_readings(
    tmp_path: Path, base: Path, content: str, plain: str, small: str
) -> None:
    problem = told_of(tmp_path, base, content, "A")["problem"]
    assert problem["kind"] == "input"
    assert "teams.csv line 2 column queues.jobs.arrival_rate" in problem["text"]
    assert f"can be read as {plain} or as {small}, since" in problem["text"]


@pytest.mark.parametrize(
    "content",
    [
        f"team,{PATH}\nA,1.200/min\n",
        f"team;{PATH}\nA;1.20/min\n",
        f"team;{PATH}\nA;0.250/s\n",
        f'team,{PATH}\nA,"1,200/min"\n',
        f'team;{PATH}\nA;"1,200,000/min"\n',
        "team;owner;shared.account\nA;1.200;123.456\n",
    ],
)
def test_what_reads_in_one_way_or_is_text_is_taken(tmp_path: Path, base: Path, content: str) -> None:
    given, _ = collect_table(str(base), table(tmp_path, content))
    refuse_ambiguous(given[0].overrides, load_scenario(base, merged_overrides(given[0].overrides)))


def test_cells_for_text_are_text_in_the_packet_too(batch: Callable[..., Result], base: Path, tmp_path: Path) -> None:
    """An account number is a name: what the packet's process gets is what was checked."""
    table(tmp_path, "team,shared.region,owner\n007,us-east-1,12\nB,us-west-2,works\n")
    (tmp_path / "o.yaml").write_text("B: { owner: '12' }\n", "utf-8")
    arguments = (
        "--base",
        base,
        "--teams",
        "teams.csv",
        "--overrides",
        "o.yaml",
        "--set",
        "shared.account=111122223333",
    )
    done = batch(*arguments)
    assert done.code == 0, done.err
    assert [(item["team"], item["owner"]) for item in done.index["teams"]] == [("007", "12"), ("B", "12")]
    for team in ("007", "b"):
        notebook = (done.site / "teams" / team / f"{team}.ipynb").read_text("utf-8")
        assert r"\"shared.account\": \"111122223333\"" in notebook
        assert r"\"owner\": \"12\"" in notebook


def test_a_range_may_stand_in_columns(tmp_path: Path, base: Path) -> None:
    content = f"team,{PATH},uncertain.{PATH}.low,uncertain.{PATH}.high\nA,100/min,90/min,120/min\nB,,200/min,120/min\n"
    given, read = collect_table(str(base), table(tmp_path, content))
    refuse_unknown_columns(str(base), read)
    loaded = load_scenario(base, merged_overrides(given[0].overrides))
    # A value and its range, both given for this run.
    assert loaded.ranges == {PATH: (90, 100, 120)}
    whole = load_scenario(base, [f"uncertain.{PATH}={{low: 90/min, high: 120/min}}"])
    assert whole.ranges == {PATH: (90, 100, 120)}
    with pytest.raises(ScenarioError, match="not in order"):
        load_scenario(base, merged_overrides(given[1].overrides))


def test_a_column_that_names_nothing_is_refused_once_with_the_nearest(tmp_path: Path, base: Path) -> None:
    _, read = collect_table(str(base), table(tmp_path, "\nteam,queues.job.arrival_rate\nA,1/min\n"))
    with pytest.raises(
        InputError, match=r"teams\.csv line 2 column queues\.job\.arrival_rate: .*nearest: queues\.jobs"
    ):
        refuse_unknown_columns(str(base), read)


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        (PATH, "many", "is not a rate"),
        ("queues.jobs.service", "sqs", "sqs"),
        ("recovery_objective", "-5 min", "-5 min"),
        ("time_zone", "Mars/Olympus", "Mars/Olympus"),
        ("incident.restored_at", "2026-03-01 12:00", ""),
    ],
)
def test_a_cell_that_does_not_fit_is_told_with_file_line_column_and_value(
    tmp_path: Path, base: Path, column: str, value: str, words: str
) -> None:
    given, _ = collect_table(str(base), table(tmp_path, f"team,{column}\nGood,\nBad,{value}\n"))
    [bad] = [item for item in given if item.team == "Bad"]
    told = make_team(Job(bad.id, bad.team, bad.scenario, tmp_path / "out", bad.origin, bad.overrides))
    assert told["problem"]["kind"] == "input"
    assert f"{tmp_path / 'teams.csv'} line 3 column {column} ({value!r})" in told["problem"]["text"]
    assert words in told["problem"]["text"]
    assert "--set" not in told["problem"]["text"]
    assert not (tmp_path / "out").exists()
