"""A table of teams as spreadsheets save it, and what is said of each mistake in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from afterload.batch.inputs import collect_table, refuse_unknown_columns
from afterload.batch.jobs import Job, make_team
from afterload.batch.teams_csv import read_teams
from afterload.errors import InputError, NotFoundError

from .conftest import BASE, QUEUE

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


def test_two_rows_of_one_name_are_refused_naming_both(tmp_path: Path, base: Path) -> None:
    with pytest.raises(InputError) as caught:
        collect_table(str(base), table(tmp_path, "team,owner\nÄrger,x\nB,x\nArger,y\n"))
    message = str(caught.value)
    assert "line 2 (team 'Ärger')" in message
    assert "line 4 (team 'Arger')" in message
    assert "arger.html" in message


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
