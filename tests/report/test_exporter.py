"""The page as text; tests/browser has it as a reader sees it."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import nbconvert
import pytest
from bs4 import BeautifulSoup
from nbconvert.exporters.html import HTMLExporter
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from afterload.report.exporter import CHART_TYPE, PacketExporter
from afterload.resources import resource

HOSTILE = "</script><script>alert(1)</script>\"'<!--<script>"
EXPORTER = PacketExporter()


def chart(value: str = "v", alt: str = "Alternative text") -> NotebookNode:
    spec = {"mark": "bar", "data": {"values": [{"a": value}]}, "encoding": {"y": {"field": "a"}}}
    return new_code_cell(
        "secret_code()", outputs=[new_output("display_data", data={CHART_TYPE: spec, "text/plain": alt})]
    )


def soup(nb: NotebookNode, title: str = "", **options: Any) -> BeautifulSoup:
    return BeautifulSoup(EXPORTER.to_html(nb, title, **options), "html.parser")


def vendor_tool() -> Any:
    path = Path(__file__).resolve().parents[2] / "tools" / "vendor_js.py"
    spec = importlib.util.spec_from_file_location("vendor_js", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_vendored_scripts_and_policy_are_whole() -> None:
    assert vendor_tool().check() == []


def test_nbconvert_knows_the_exporter() -> None:
    assert nbconvert.get_exporter("afterload") is PacketExporter


def test_code_and_prompts_are_left_out() -> None:
    nb = new_notebook(cells=[new_code_cell("secret_code()"), chart(), new_markdown_cell("# Title")])
    page = EXPORTER.to_html(nb)
    assert "secret_code" not in page
    assert "Prompt" not in page


def test_chart_type_wins_over_plain_text() -> None:
    page = soup(new_notebook(cells=[chart()]))
    assert page.find("figure", class_="af-chart")["aria-label"] == "Alternative text"
    assert page.find("pre") is None


def test_the_template_alone_draws_charts_under_plain_html() -> None:
    folder = str(resource("templates", "nbconvert"))
    plain = HTMLExporter(template_name="afterload", extra_template_basedirs=[folder], extra_template_paths=[folder])
    page, _ = plain.from_notebook_node(new_notebook(cells=[chart()]))
    assert 'class="af-chart"' in page
    assert "secret_code" not in page


def test_hostile_text_is_data_and_never_markup() -> None:
    error = new_output("error", ename=HOSTILE, evalue=HOSTILE, traceback=[HOSTILE])
    stream = new_output("stream", name="stdout", text=HOSTILE)
    result = new_output("execute_result", data={"text/plain": HOSTILE}, execution_count=1)
    nb = new_notebook(cells=[chart(HOSTILE, HOSTILE), new_code_cell("x", outputs=[error, stream, result])])
    html = EXPORTER.to_html(nb, HOSTILE)
    assert "<script>alert(1)" not in html
    page = BeautifulSoup(html, "html.parser")
    assert page.title is not None
    assert page.title.string == HOSTILE
    assert page.h1 is not None
    assert page.h1.string == HOSTILE
    figure = page.find("figure")
    assert figure["aria-label"] == HOSTILE
    data = figure.find("script").string
    assert "<" not in data
    assert json.loads(data)["data"]["values"] == [{"a": HOSTILE}]


def test_tables_come_out_as_the_library_wrote_them() -> None:
    table = '<table><tr><td class="num">1 &lt; 2</td></tr></table>'
    cell = new_code_cell("x", outputs=[new_output("display_data", data={"text/html": table})])
    assert table in EXPORTER.to_html(new_notebook(cells=[cell]))


def test_errors_stand_in_place_without_colour_codes() -> None:
    error = new_output("error", ename="UnitError", evalue="\x1b[31mrate\x1b[0m", traceback=["/home/me/x.py"])
    page = EXPORTER.to_html(new_notebook(cells=[new_code_cell("x", outputs=[error])]))
    assert ">rate<" in page
    assert "/home/me" not in page
    assert "\x1b" not in page


def test_a_policy_shuts_out_everything_else() -> None:
    page = soup(new_notebook(cells=[chart()]))
    policy = page.find("meta", attrs={"http-equiv": "Content-Security-Policy"})["content"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe-eval" not in policy
    assert "'unsafe-inline'" not in policy.split("style-src")[0]
    assert not page.find_all(["script", "img", "iframe"], src=True)
    links = [link for link in page.find_all("link") if not link["href"].startswith("data:")]
    assert links == []


def test_size_and_no_charts_no_library() -> None:
    assert len(EXPORTER.to_html(new_notebook(cells=[chart()]))) < 900_000
    assert len(EXPORTER.to_html(new_notebook(cells=[new_markdown_cell("# Text")]))) < 30_000


def test_an_exporter_serves_again_and_gives_the_same_bytes() -> None:
    nb = new_notebook(cells=[chart()])
    first = EXPORTER.to_html(nb, "One", "en")
    german = EXPORTER.to_html(nb, "Zwei", "de")
    assert re.search(r'<html lang="de">', german)
    assert EXPORTER.to_html(nb, "One", "en") == first
    assert "title" not in nb.metadata


def odd_notebooks() -> list[NotebookNode]:
    """Cells and outputs of every kind, and prose that is no whole HTML."""
    outputs = [
        new_output("stream", name="stdout", text="a <b> & c\n"),
        new_output("stream", name="stdout", text="goes on"),
        new_output("stream", name="stderr", text="careful"),
        new_output("error", ename="E", evalue=HOSTILE, traceback=["x"]),
        new_output("display_data", data={"text/markdown": "## M\n\n- *a*\n- `<b>`\n", "text/plain": "M"}),
        new_output("display_data", data={"image/png": "iVBORw0KGgo=", "text/plain": "picture"}),
        new_output("display_data", data={"text/latex": "$x < y$"}),
        new_output(
            "display_data",
            data={"application/vnd.jupyter.widget-view+json": {"model_id": "m"}, "text/plain": "a form"},
        ),
        new_output(
            "execute_result", data={"text/html": "<table><tr><td>a &amp; b<br></td></tr></table>"}, execution_count=1
        ),
    ]
    prose = [
        "# A\n\nb & c < d\n\n```python\nx = 1\n```",
        "![](data:,) and <div><b>never closed",
        "&nbsp;<!-- said --> $x$ &copy;",
    ]
    texts = [new_markdown_cell(text) for text in prose]
    return [
        new_notebook(cells=[new_code_cell("x", outputs=outputs), chart(HOSTILE, HOSTILE)]),
        *(new_notebook(cells=[text, chart()]) for text in texts),
        new_notebook(cells=[]),
    ]


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("title", ["", "A / B"])
def test_a_page_is_what_nbconvert_makes_of_it(place: int, title: str) -> None:
    """The way that ``jupyter nbconvert --to afterload`` goes, with its copies and its pass through Beautiful Soup."""
    nb = odd_notebooks()[place]
    before = json.dumps(nb)
    page = PacketExporter.shared().to_html(nb, title)
    assert json.dumps(nb) == before
    if title:
        nb.metadata["title"] = title
    plain, _ = PacketExporter().from_notebook_node(nb, {"metadata": {"name": title or "Packet"}})
    assert str(BeautifulSoup(page, "html.parser")) == plain


def test_a_folder_of_the_same_name_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("afterload", "lab"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html.j2").write_text("wrong template")
    monkeypatch.chdir(tmp_path)
    assert "wrong template" not in PacketExporter().to_html(new_notebook(cells=[chart()]))


def test_the_failures_of_a_packet_head_it() -> None:
    nb = new_notebook(cells=[new_markdown_cell("# A")])
    nb.metadata["afterload"] = {"failures": [{"chapter": "02-b", "evalue": "rate is -4"}]}
    text = soup(nb).find("section", class_="af-failures").get_text()
    assert "not complete" in text
    assert "02-b" in text
    assert "rate is -4" in text
