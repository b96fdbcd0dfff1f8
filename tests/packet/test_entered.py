"""What people enter into the plan's CSV stands on the page and in the notebook of the next run, by either engine."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

from tests.packet.conftest import Made

CHAPTERS = ("--chapters", "50-change-plan", "--quiet")
ENTRIES = {"agreed_owner": "Ana Ortiz", "due": "2026-12-24", "progress": "half done", "note": "see wiki"}


def enter(folder: Path) -> Path:
    """A plan's CSV in which somebody has filled a line's cells, with no column but those that count."""
    out = io.StringIO()
    writer = csv.DictWriter(out, ["id", *ENTRIES])
    writer.writeheader()
    writer.writerow({"id": "age-limit:queues.orders", **ENTRIES})
    folder.mkdir()
    table = folder / "orders-plan.csv"
    table.write_text(out.getvalue(), "utf-8")
    return table


def test_page_notebook_and_files_agree_on_them(report: Callable[..., Made], tmp_path: Path) -> None:
    enter(tmp_path / "out")
    made = report(*CHAPTERS)
    assert made.code == 0, made.err
    for name in ("orders.html", "orders.ipynb", "orders-plan.csv", "orders-plan.md", "orders-plan.json"):
        content = (made.folder / name).read_text("utf-8")
        assert all(text in content for text in ENTRIES.values()), name
    table = next(item for item in made.page.find_all("table") if item.caption and "in order" in item.caption.text)
    names = [cell.text for cell in table.thead.find_all("th")]
    assert names[-3:] == ["owner", "due", "progress"]
    row = next(row for row in table.tbody.find_all("tr") if "Ana Ortiz" in row.text)
    assert [cell.text for cell in row.find_all("td")][-3:] == ["Ana Ortiz", "2026-12-24", "half done"]
    # Over what is there now, and by a kernel, which is another process and has them from there: the same bytes.
    before = {name: (made.folder / name).read_bytes() for name in made.files}
    again = report(*CHAPTERS, "--engine", "kernel")
    assert again.code == 0, again.err
    assert {name: (again.folder / name).read_bytes() for name in again.files} == before


def test_what_is_entered_while_the_packet_is_made_is_kept_and_told(
    report: Callable[..., Made], own_workbooks: Callable[..., Path], tmp_path: Path
) -> None:
    enter(tmp_path / "out")
    saving = (
        "import os, pathlib\n"
        "table = pathlib.Path(os.environ['AFTERLOAD_PLAN_CSV'])\n"
        "table.write_text(table.read_text('utf-8').replace('half done', 'meanwhile done'), 'utf-8')\n"
    )
    made = report("--workbooks", own_workbooks(saving), "--quiet")
    assert made.code == 4
    assert "orders-plan.csv: was changed while the packet was made" in made.err
    for name in ("orders-plan.csv", "orders-plan.md", "orders-plan.json"):
        assert "meanwhile done" in (made.folder / name).read_text("utf-8")


def test_a_file_that_is_not_ours_spoils_no_page(report: Callable[..., Made], tmp_path: Path) -> None:
    table = enter(tmp_path / "out")
    table.write_bytes(b"\xff\xfe\x00")
    made = report(*CHAPTERS)
    assert made.code == 4
    assert "plan files: InputError" in made.err
    assert table.read_bytes() == b"\xff\xfe\x00"
    assert made.page.find(class_="af-error") is None
    assert "What people entered beside an earlier plan cannot be shown: orders-plan.csv" in made.page.text


def test_runbook_and_postmortem_name_the_owner_agreed_on(report: Callable[..., Made], tmp_path: Path) -> None:
    table = enter(tmp_path / "out")
    with table.open("a", encoding="utf-8") as file:
        file.write("drain-cap:queues.orders,Bo Diaz\r\n")
    made = report("--chapters", "runbook,postmortem", "--quiet")
    assert made.code == 0, made.err
    assert "Owner: Bo Diaz." in (made.folder / "orders-runbook.md").read_text("utf-8")
    assert "| Bo Diaz | drain-cap:queues.orders |" in (made.folder / "orders-postmortem.md").read_text("utf-8")
    captions = {table.caption.text: table.text for table in made.page.find_all("table") if table.caption}
    for begin in ("The seven steps", "Proposed from the change plan"):
        assert "Bo Diaz" in next(text for caption, text in captions.items() if caption.startswith(begin))
