"""What a packet holds: the answer first, provenance last, no code, and the digest of what was read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbformat
import pytest
from bs4 import BeautifulSoup

from afterload.report.packet import Packet, chapter_paths, make_packet, relevant
from afterload.scenario import LoadedScenario, load_scenario

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = "builtin:scenarios/orders.yaml"
PACKAGES = ("afterload", "numpy", "pandas", "altair", "pydantic", "papermill", "nbclient", "nbconvert", "ipykernel")


@contextmanager
def made(folder: Path) -> Iterator[tuple[LoadedScenario, Packet]]:
    loaded = load_scenario(SCENARIO, {"queues.orders.arrival_rate": "1500/min"})
    yield loaded, make_packet(loaded, SCENARIO, folder)


@pytest.fixture(scope="module")
def packet(tmp_path_factory: pytest.TempPathFactory) -> tuple[LoadedScenario, Packet]:
    with made(tmp_path_factory.mktemp("packet")) as result:
        return result


@pytest.fixture(scope="module")
def page(packet: tuple[LoadedScenario, Packet]) -> BeautifulSoup:
    return BeautifulSoup(packet[1].html.read_text("utf-8"), "html.parser")


def rows(table: Any) -> dict[str, str]:
    return {row.find_all("td")[0].get_text(): row.find_all("td")[1].get_text() for row in table.tbody.find_all("tr")}


def heading_text(heading: Any) -> str:
    """Without the mark that links to the heading, which the page's script takes away."""
    return str(heading.get_text()).rstrip("¶")


def test_nothing_failed(packet: tuple[LoadedScenario, Packet], page: BeautifulSoup) -> None:
    assert packet[1].failures == ()
    assert packet[1].warnings == ()
    assert page.find(class_="af-error") is None
    assert page.find(class_="af-failures") is None


def test_the_answer_comes_first_and_provenance_last(page: BeautifulSoup) -> None:
    chapters = [heading_text(heading) for heading in page.main.find_all("h2")]
    paths = relevant(chapter_paths(), load_scenario(SCENARIO))
    titles = [nbformat.read(path, as_version=4).metadata.title for path in paths]
    assert {"Race of plan automation", "Postmortem"} < set(titles)
    assert not {"Inputs from files", "Measured recovery", "Compared with before"} & set(titles)
    assert chapters == titles
    assert (chapters[0], chapters[-1]) == ("The answer", "Provenance")
    answer = page.main.find(class_="af-answer")
    assert heading_text(answer.find_previous("h2")) == "The answer"
    # 172 min at 1,500/min, 300/min to spare.
    assert "258,000" in answer.get_text()
    assert "860 min" in answer.get_text()
    assert "243 times" in answer.get_text()
    assert "queues.orders.arrival_rate=1500/min" in answer.get_text()
    assert len(answer.ol.find_all("li")) == 3


def test_headings_go_down_one_level_at_a_time(page: BeautifulSoup) -> None:
    levels = [int(heading.name[1]) for heading in page.body.find_all(["h1", "h2", "h3", "h4", "h5", "h6"])]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert [pair for pair in pairwise(levels) if pair[1] > pair[0] + 1] == []


def test_provenance_is_that_of_this_run(packet: tuple[LoadedScenario, Packet], page: BeautifulSoup) -> None:
    table = page.main.find_all("table")[-1]
    assert heading_text(table.find_previous("h2")) == "Provenance"
    found = rows(table)
    assert found["scenario"] == "orders.yaml"
    assert found["SHA-256 of the inputs"] == packet[0].digest
    assert found["override queues.orders.arrival_rate"] == "1500/min"
    for package in PACKAGES:
        assert found[package] == version(package)
    plan = json.loads((packet[1].html.parent / "orders-plan.json").read_text("utf-8"))
    assert plan["input_sha256"] == packet[0].digest
    assert plan["afterload"] == version("afterload")
    assert packet[0].digest in (packet[1].html.parent / "orders-plan.md").read_text("utf-8")
    assert packet[0].digest in (packet[1].html.parent / "orders-postmortem.md").read_text("utf-8")
    assert found["own timeline"] == "builtin:scenarios/orders-timeline.csv"
    assert load_scenario(SCENARIO).digest != packet[0].digest


def test_the_postmortem_beside_the_page_says_the_same(
    packet: tuple[LoadedScenario, Packet], page: BeautifulSoup
) -> None:
    """Every cell of the chapter's tables stands in the Markdown; what is computed follows the override in both."""
    text = (packet[1].html.parent / "orders-postmortem.md").read_text("utf-8")
    flat = re.sub(r"\\(?=[\W_])", "", text)
    heading = next(each for each in page.main.find_all("h2") if heading_text(each) == "Postmortem")
    tables = [table for table in heading.find_all_next("table") if table.find_previous("h2") is heading]
    assert len(tables) == 10
    for table in tables:
        for row in table.tbody.find_all("tr"):
            line = " | ".join(cell.get_text() for cell in row.find_all("td"))
            assert f"| {line} |" in flat
    # 172 min at 1,500/min.
    assert "| waiting in orders at the restore | 258,000 items | computed |" in flat
    assert "206,400" not in flat


def test_no_code_is_shown(packet: tuple[LoadedScenario, Packet], page: BeautifulSoup) -> None:
    html = packet[1].html.read_text("utf-8")
    for code in ("open_workbook", "workbook.", "import ", "In\xa0[", "# Parameters"):
        assert code not in page.main.get_text(), code
    for code in ("open_workbook", "# Parameters"):
        assert code not in html
    assert page.find(class_=["jp-InputArea", "jp-InputPrompt", "highlight"]) is None


def test_the_notebook_beside_it_is_the_executed_one(packet: tuple[LoadedScenario, Packet]) -> None:
    nb = nbformat.read(packet[1].html.with_suffix(".ipynb"), as_version=4)
    nbformat.validate(nb)
    assert nb.metadata.title.startswith("Orders: recovery load")
    assert set(nb.metadata) == {"afterload", "kernelspec", "language_info", "title"}
    assert nb.metadata.afterload.failures == []
    code = [cell for cell in nb.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert sum("parameters" in cell.metadata.get("tags", []) for cell in code) == 1
    assert len({cell.id for cell in nb.cells}) == len(nb.cells)
    for cell in code:
        assert set(cell.metadata) <= {"afterload", "tags"}
        assert "OPEN" not in cell.source


def test_every_chart_has_words_and_a_table_beside_it(page: BeautifulSoup) -> None:
    figures = page.find_all("figure", class_="af-chart")
    assert len(figures) >= 8
    for figure in figures:
        assert len(figure["aria-label"]) > 40
        assert any(char.isdigit() for char in figure["aria-label"])
        following = figure.find_next(class_="af-figure-table")
        assert following.find("table") is not None
        notes = following.find_next(class_="af-figure-notes").get_text()
        assert "Source: " in notes
        assert "Method: " in notes
