"""What people enter is kept over reruns, and trackers get each line once."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
import subprocess

import pytest

from afterload.chapters import open_workbook
from afterload.errors import InputError
from afterload.figures.plan import plan_answer, plan_details, plan_table
from afterload.plan import plan_csv, plan_json, plan_markdown
from afterload.plan.kept import (
    COLUMNS,
    GONE,
    NOTHING_ENTERED,
    PLAN_COLUMNS,
    VARIABLE,
    Entered,
    entered_beside,
    kept_at,
    read_kept,
)
from afterload.plan.trackers import github_json, github_script, jira_csv

LINE = "age-limit:queues.q"


@pytest.fixture
def made(queue):
    return queue(goes_stale_after="15 min")


def edited(text, delimiter=",", mark="", **entries):
    """The file as a person saves it, with entries of one line changed."""
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    for row in rows:
        if row["id"] == LINE:
            row.update(entries)
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), delimiter=delimiter, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    return mark + out.getvalue()


def test_a_file_in_another_encoding_is_read_or_its_remedy_is_said(made, tmp_path):
    """A spreadsheet's plain CSV on a Western machine is cp1252; its Unicode text is UTF-16 with a mark."""
    path = tmp_path / "t-plan.csv"
    entries = {"agreed_owner": "Jörg Müller", "due": "2026-01-15", "progress": "", "note": ""}
    path.write_text(edited(plan_csv(made.plan), "\t", **entries), encoding="utf-16")
    assert read_kept(path) == {LINE: entries}
    before = edited(plan_csv(made.plan), ";", **entries).encode("cp1252")
    path.write_bytes(before)
    with pytest.raises(InputError, match=r"line \d+: is not UTF-8 text .*save it as CSV UTF-8") as caught:
        read_kept(path)
    assert "away" not in str(caught.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize(("delimiter", "mark"), [(",", ""), (";", "\ufeff"), ("\t", "")])
def test_entries_are_kept_whatever_spreadsheet_saved_them(made, tmp_path, delimiter, mark):
    path = tmp_path / "t-plan.csv"
    entries = {"agreed_owner": "Ana's team", "due": "2026-01-15", "progress": "half", "note": "=not a formula"}
    path.write_text(edited(plan_csv(made.plan), delimiter, mark, **entries), encoding="utf-8")
    kept = read_kept(path)
    assert kept == {LINE: entries}
    again = plan_csv(made.plan, kept)
    path.write_text(again, encoding="utf-8")
    assert read_kept(path) == kept
    assert plan_csv(made.plan, read_kept(path)) == again


@pytest.mark.parametrize("note", ["'tis Ana's", "'", "''twice'", "'=1+1", "-5 days", "@ana", "'@ana"])
def test_an_apostrophe_that_a_person_typed_stays(made, tmp_path, note):
    path = tmp_path / "t-plan.csv"
    path.write_text(plan_csv(made.plan, {LINE: {"note": note}}), encoding="utf-8")
    # What reads as a formula behind an apostrophe is told from one only by whoever wrote it: both come to the same cell.
    expected = note.removeprefix("'") if note in ("'=1+1", "'@ana") else note
    assert read_kept(path)[LINE]["note"] == expected
    path.write_text(plan_csv(made.plan, read_kept(path)), encoding="utf-8")
    assert read_kept(path)[LINE]["note"] == expected


def test_entries_are_found_under_a_heading_that_was_made_nicer(tmp_path):
    path = tmp_path / "t-plan.csv"
    path.write_text(f"ID, Agreed Owner ,due,Progress\n{LINE},Ana,today,half\n,Bo,,\n", encoding="utf-8")
    assert read_kept(path) == {LINE: {"agreed_owner": "Ana", "due": "today", "progress": "half", "note": ""}}


def widened(text, delimiter=","):
    """The file as it is after somebody has put columns into it, in the middle and at the end."""
    rows = list(csv.reader(io.StringIO(text, newline="")))
    place = rows[0].index("id")
    for row in rows:
        mine = row[place] == LINE
        head = row is rows[0]
        row.insert(2, "Cost centre" if head else "4711" if mine else "")
        row += ["=ticket", "empty", "note"] if head else ["=HYPERLINK(1)" if mine else "", "", "second"]
        row += ["", "unheaded" if mine else ""] if not head else []
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_columns_that_people_added_are_kept_after_ours(made, tmp_path, delimiter):
    path = tmp_path / "t-plan.csv"
    path.write_text(widened(plan_csv(made.plan), delimiter), encoding="utf-8")
    kept = read_kept(path)
    last = f"column {len(PLAN_COLUMNS) + 6}"
    cells = {"Cost centre": "4711", "=ticket": "=HYPERLINK(1)", "empty": "", "note 2": "second", last: "unheaded"}
    assert kept[LINE] == {**dict.fromkeys(COLUMNS, ""), **cells}
    again = plan_csv(made.plan, kept)
    rows = list(csv.reader(io.StringIO(again, newline="")))
    assert rows[0] == [*PLAN_COLUMNS, "Cost centre", "'=ticket", "empty", "note 2", last]
    [line] = [row for row in rows if row[0] == LINE]
    assert line[len(PLAN_COLUMNS) :] == ["4711", "'=HYPERLINK(1)", "", "second", "unheaded"]
    # The same from then on, in whatever order the lines stand.
    path.write_text(again, encoding="utf-8")
    assert read_kept(path) == kept
    assert plan_csv(made.plan, read_kept(path)) == again


def test_what_stands_in_them_is_in_the_other_files_and_on_the_page(made, tmp_path):
    path = tmp_path / "t-plan.csv"
    path.write_text(edited(plan_csv(made.plan)).replace("reference\r\n", "reference,<b>jira*\r\n", 1), encoding="utf-8")
    text = path.read_text(encoding="utf-8")
    path.write_text(
        f"{text}age-limit:queues.other{',' * len(PLAN_COLUMNS)}T-9\r\nx{',' * len(PLAN_COLUMNS)}\r\n", encoding="utf-8"
    )
    kept = read_kept(path)
    kept[LINE]["<b>jira*"] = "T-1"
    records = {item["id"]: item for item in json.loads(plan_json(made.plan, made.estimates, kept))["changes"]}
    assert records[LINE]["added"] == {"<b>jira*": "T-1"}
    assert records["age-limit:queues.other"]["added"] == {"<b>jira*": "T-9"}
    assert "x" not in records, "nothing is entered for it"
    assert r"Entered: \<b\>jira\* T-1." in plan_markdown(made.plan, made.estimates, kept)
    issue = next(issue for issue in json.loads(github_json(made.plan, kept, "T")) if issue["id"] == LINE)
    assert r"Entered: \<b\>jira\* T-1." in issue["body"]
    details = plan_details(made.plan, Entered(kept))
    assert "<dt>&lt;b&gt;jira*</dt><dd>T-1</dd>" in details.html
    assert "&lt;b&gt;jira* T-9" in details.html
    words = "an owner, a due date, progress, a note or something in a column of their own for 2 lines, of which 1 is no longer"
    assert words in plan_answer(made.plan, Entered(kept)).text


def test_a_column_that_nobody_filled_is_kept_and_nothing_is_told_of_it(made, tmp_path):
    path = tmp_path / "t-plan.csv"
    path.write_text(plan_csv(made.plan).replace("reference\r\n", "reference,ticket,\r\n", 1), encoding="utf-8")
    kept = read_kept(path)
    rows = list(csv.reader(io.StringIO(plan_csv(made.plan, kept), newline="")))
    assert rows[0] == [*PLAN_COLUMNS, "ticket"]
    assert "People" not in plan_answer(made.plan, Entered(kept)).text


def test_the_plans_own_columns_are_known(made):
    [header, *_] = csv.reader(io.StringIO(plan_csv(made.plan), newline=""))
    assert tuple(header) == PLAN_COLUMNS


def test_entries_of_a_line_that_is_gone_are_not_lost(made, queue, tmp_path):
    other = queue(goes_stale_after="none", arrival_rate="1,100/min")
    kept = {"age-limit:queues.other": dict.fromkeys(COLUMNS, "x")}
    rows = list(csv.DictReader(io.StringIO(plan_csv(other.plan, kept), newline="")))
    assert (rows[-1]["id"], rows[-1]["status"], rows[-1]["note"]) == ("age-limit:queues.other", GONE, "x")


def test_what_was_entered_stands_in_the_markdown_too(made):
    entries = {"agreed_owner": "Ana's | team", "due": "2026-01-15", "progress": "half", "note": "see\n[wiki]"}
    gone = {"agreed_owner": "Bo", "due": "", "progress": "", "note": "moved"}
    text = plan_markdown(made.plan, made.estimates, {LINE: entries, "age-limit:queues.other": gone})
    plain = plan_markdown(made.plan, made.estimates)
    words = r"Entered: agreed owner Ana's \| team; due 2026-01-15; progress half; note see \[wiki\]."
    assert text.count(words) == 1
    section = text[text.index("## ", text.index(words) - 400) :].split("\n## ")[0]
    assert words in section
    rows = [row for row in text.splitlines() if row.startswith("| ")]
    [line] = [row for row in rows if row not in plain.splitlines()]
    assert line.endswith(r"| Ana's \| team |")
    assert f"## Entered for lines that are {GONE}\n\n- age-limit:queues.other: agreed owner Bo; note moved\n" in text
    assert "Entered" not in plain


def test_no_file_keeps_nothing_and_an_untouched_one_neither(made, tmp_path):
    assert read_kept(tmp_path / "none.csv") == {}
    (tmp_path / "t.csv").write_text(plan_csv(made.plan), encoding="utf-8")
    assert read_kept(tmp_path / "t.csv") == {}


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"a,b\n1,2\n", "has no column id"), (b"\xff\xfe\x00", "cannot be read"), (b'id,due\n"x,y\n', "is not CSV")],
)
def test_a_file_that_is_not_ours_is_not_taken_for_empty(tmp_path, data, words):
    (tmp_path / "t.csv").write_bytes(data)
    with pytest.raises(InputError, match=words):
        read_kept(tmp_path / "t.csv")


def test_trackers_get_the_open_lines_with_the_agreed_owner(made):
    kept = {LINE: {"agreed_owner": "Ana", "due": "2026-01-15"}}
    issues = json.loads(github_json(made.plan, kept, "T"))
    assert [issue["id"] for issue in issues] == [item.id for item in made.plan.open]
    issue = next(issue for issue in issues if issue["id"] == LINE)
    assert (issue["owner"], issue["due"]) == ("Ana", "2026-01-15")
    assert f"({issue['marker']})" in issue["body"]
    assert "\n\nTeam: T. Owner: Ana.\n" in issue["body"]
    assert "\n\nEntered: agreed owner Ana; due 2026-01-15.\n" in issue["body"]
    assert sum("Entered:" in each["body"] for each in issues) == 1
    assert len({issue["marker"] for issue in issues}) == len(issues)
    rows = list(csv.DictReader(io.StringIO(jira_csv(made.plan, kept, "T"), newline="")))
    assert [row["External ID"] for row in rows] == [issue["marker"] for issue in issues]
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row.values())


def markers(plan, team):
    return {issue["id"]: issue["marker"] for issue in json.loads(github_json(plan, {}, team))}


def test_a_marker_finds_no_other_line_and_no_other_team(make):
    """A search of a tracker takes a marker word by word, wherever a dash stands: each must have a word of its own."""
    fields = {"arrival_rate": "5/min", "service_rate": "6/min", "goes_stale_after": "15 min"}
    names = ("a", "a-b", "a.b", "a b", "注文", "支払", "n" * 150)
    plan = make(queues=dict.fromkeys(names, fields)).plan
    found = markers(plan, "T")
    assert len(found) > 2 * len(names)
    for other in (plan, make(queues={"a": fields}).plan):
        theirs = markers(other, "U")
        assert not set(found.values()) & set(theirs.values())
    words = {name: set(marker.split("-")) for name, marker in found.items()}
    for name, own in words.items():
        assert not any(own <= others for other, others in words.items() if other != name), name
    # GitHub refuses a search of over 256 signs, and the script says "in:body" behind the marker.
    assert max(map(len, found.values())) + len(" in:body") <= 256
    assert markers(plan, "T") == found


def test_the_script_makes_an_issue_once_and_then_updates_it(queue, tmp_path):
    made = queue(goes_stale_after="15 min", resources={"function": "it's; rm -rf $(pwd)"})
    # A stand-in for gh that keeps issues as files and finds them by the words of their body.
    gh = tmp_path / "bin" / "gh"
    gh.parent.mkdir()
    gh.write_text(
        "#!/usr/bin/env python3\n"
        "import pathlib, sys\n"
        "folder, words = pathlib.Path('issues'), sys.argv[1:]\n"
        "folder.mkdir(exist_ok=True)\n"
        "get = lambda name: words[words.index(name) + 1]\n"
        "if words[:2] == ['issue', 'list']:\n"
        "    word = get('--search').split()[0]\n"
        "    print(*[p.name for p in sorted(folder.iterdir()) if '(' + word + ')' in p.read_text()][:1])\n"
        "elif words[:2] == ['issue', 'create']:\n"
        "    (folder / str(len(list(folder.iterdir())) + 1)).write_text(get('--title') + '\\n' + get('--body'))\n"
        "elif words[:2] == ['issue', 'edit']:\n"
        "    (folder / words[2]).write_text(get('--title') + '\\n' + get('--body'))\n"
    )
    gh.chmod(gh.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "issues.sh").write_text(github_script(made.plan, {}, "T"), encoding="utf-8")
    env = {**os.environ, "PATH": f"{gh.parent}:{os.environ['PATH']}"}
    for _ in range(2):
        subprocess.run(["sh", "issues.sh"], cwd=tmp_path, env=env, check=True)
        texts = [path.read_text() for path in (tmp_path / "issues").iterdir()]
        assert len(texts) == len(made.plan.open)
    assert {text.split("\n")[0] for text in texts} == {
        f"{made.plan.change(item).title}: {item.target}" for item in made.plan.open
    }
    assert (tmp_path / "issues.sh").exists()


ENTRIES = {"agreed_owner": "Ana <b>", "due": "2026-01-15", "progress": "half", "note": "see\n[wiki]"}
LEFT = {"age-limit:queues.other": {"agreed_owner": "", "due": "", "progress": "", "note": "moved"}}


def test_the_page_shows_what_was_entered(made):
    """Owner agreed on, due date and progress in the table, all of it with its line, and what is left of lines that are gone."""
    entered = Entered({LINE: ENTRIES, **LEFT})
    table, plain = plan_table(made.plan, entered), plan_table(made.plan)
    assert table.columns == (*plain.columns, "due", "progress")
    changed = [row for row, before in zip(table.rows, plain.rows, strict=True) if row != (*before, "", "")]
    assert [row[-3:] for row in changed] == [("Ana <b>", "2026-01-15", "half")]
    assert "Ana &lt;b&gt;" in table.to_html()
    details, before = plan_details(made.plan, entered), plan_details(made.plan)
    for name, text in (
        ("Agreed owner", "Ana &lt;b&gt;"),
        ("Due", "2026-01-15"),
        ("Progress", "half"),
        ("Note", "see [wiki]"),
    ):
        assert details.html.count(f"<dt>{name}</dt><dd>{text}</dd>") == 1
        assert f"<dt>{name}</dt>" not in before.html
    place = [item.id for item in made.plan.about].index(LINE) + 1
    section = details.html.split(f'id="plan-line-{place}"')[1].split("</section>")[0]
    assert "<dt>Owner</dt><dd>T on-call</dd><dt>Agreed owner</dt>" in section
    assert f"  Owner: T on-call\n  Agreed owner: {ENTRIES['agreed_owner']}\n  Due: 2026-01-15\n" in details.text
    assert details.text.endswith(f"\n\nEntered for lines that are {GONE}\n  age-limit:queues.other: note moved")
    assert "<dt>age-limit:queues.other</dt><dd>note moved</dd>" in details.html
    words = "an owner, a due date, progress or a note for 2 lines, of which 1 is no longer in the plan."
    assert words in plan_answer(made.plan, entered).text


def test_a_page_without_entries_has_no_room_for_them(made):
    for entered in (NOTHING_ENTERED, Entered({LINE: {"note": "x"}})):
        assert "due" not in plan_table(made.plan, entered).columns
    assert "Entered" not in plan_details(made.plan).text
    assert "People" not in plan_answer(made.plan).text


@pytest.fixture
def opened(queue, tmp_path, monkeypatch):
    """A workbook in a folder where a person runs a notebook, with the plan's CSV as a report left it."""
    monkeypatch.delenv(VARIABLE, raising=False)
    made = queue(goes_stale_after="15 min")
    (tmp_path / "run").mkdir()
    monkeypatch.chdir(tmp_path / "run")
    text = edited(plan_csv(made.plan), **{**ENTRIES, "note": "here"})
    (tmp_path / "run" / "t-plan.csv").write_text(text, encoding="utf-8")
    return open_workbook(str(tmp_path / "t.yaml"))


def test_a_notebook_run_again_in_its_folder_shows_them_too(opened, tmp_path):
    assert opened.entered == Entered({LINE: {**ENTRIES, "note": "here"}})
    assert "Ana <b>" in opened.plan_table().to_text()
    # What is entered afterwards is seen when the scenario is opened again.
    path = tmp_path / "run" / "t-plan.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("2026-01-15", "2026-02-01"), encoding="utf-8")
    again = open_workbook(str(tmp_path / "t.yaml"))
    assert "2026-02-01" in again.plan_details().text


def test_a_report_shows_those_of_its_own_folder_alone(opened, tmp_path):
    other = tmp_path / "else" / "t-plan.csv"
    with kept_at(other):
        assert entered_beside("T") == NOTHING_ENTERED
        other.parent.mkdir()
        other.write_text(f"id,due\n{LINE},tomorrow\n", encoding="utf-8")
        assert entered_beside("T").kept[LINE]["due"] == "tomorrow"
    assert entered_beside("T").kept[LINE]["due"] == "2026-01-15"


def test_a_file_that_is_not_ours_is_told_on_the_page(opened, tmp_path):
    path = tmp_path / "run" / "t-plan.csv"
    with kept_at(path):
        path.write_text("a,b\n1,2\n", encoding="utf-8")
        workbook = open_workbook(str(tmp_path / "t.yaml"))
        text = workbook.plan_answer().text
    assert "What people entered beside an earlier plan cannot be shown: t-plan.csv: has no column id" in text
    assert str(tmp_path) not in text
    assert workbook.plan_table().columns[-1] == "owner"
