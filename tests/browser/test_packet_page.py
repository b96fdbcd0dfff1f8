"""The page as a reader has it: drawn without a network, readable, and deaf to markup in data."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from afterload.report.exporter import CHART_TYPE, PacketExporter

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
HOSTILE = "</script><script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'><!--<script>"


def line_chart() -> dict[str, Any]:
    values = [
        {"minute": m, "backlog": max(0, 60 - abs(m - 60) * slope) * 1000, "case": case}
        for m in range(0, 180, 5)
        for case, slope in (("as it was", 1), ("with the plan", 2))
    ]
    return {
        "$schema": SCHEMA,
        "width": "container",
        "height": 260,
        "data": {"values": values},
        "mark": "line",
        "encoding": {
            "x": {"field": "minute", "type": "quantitative", "title": "Minutes after recovery"},
            "y": {"field": "backlog", "type": "quantitative", "title": "Backlog, messages"},
            "color": {"field": "case", "type": "nominal", "title": "Case", "legend": {"orient": "top"}},
        },
    }


def bar_chart(names: tuple[str, ...] = ("Raise the drain cap", "Sideline old work", "Retry budget")) -> Any:
    return {
        "$schema": SCHEMA,
        "width": "container",
        "height": {"step": 36},
        "data": {"values": [{"change": name, "minutes": 50 - 12 * n} for n, name in enumerate(names)]},
        "mark": {"type": "bar", "tooltip": True},
        "encoding": {
            "y": {"field": "change", "type": "nominal", "sort": "-x", "title": None},
            "x": {"field": "minutes", "type": "quantitative", "title": "Minutes saved"},
            "tooltip": [{"field": "change", "title": "Change"}, {"field": "minutes", "title": "Minutes saved"}],
        },
    }


def time_chart() -> dict[str, Any]:
    return {
        "$schema": SCHEMA,
        "width": 900,
        "height": 200,
        "data": {"values": [{"t": f"2025-10-20T{h:02d}:00:00Z", "rate": 1200 + 90 * h} for h in range(6, 16)]},
        "mark": {"type": "area", "opacity": 0.5},
        "encoding": {
            "x": {"field": "t", "type": "temporal", "scale": {"type": "utc"}, "title": "Time, UTC"},
            "y": {"field": "rate", "type": "quantitative", "title": "Arrivals per minute"},
        },
    }


def chart_cell(spec: Any, alt: str) -> NotebookNode:
    output = new_output("display_data", data={CHART_TYPE: spec, "text/plain": alt})
    return new_code_cell("chart()", outputs=[output])


def html_cell(markup: str) -> NotebookNode:
    return new_code_cell("table()", outputs=[new_output("display_data", data={"text/html": markup})])


TABLE = """<table><caption>What each change is worth</caption>
<thead><tr><th>Change</th><th class="num">Minutes saved</th><th>Status</th><th>Owner</th></tr></thead><tbody>
<tr><td>Raise the drain cap</td><td class="num">50</td><td class="af-status-ok">ready</td><td>Orders</td></tr>
<tr><td>Sideline old work</td><td class="num">38</td><td class="af-status-warn">needs a test</td><td>Orders</td></tr>
<tr><td>Retry budget</td><td class="num">1,126</td><td class="af-status-bad">blocked</td><td>Platform</td></tr>
</tbody></table><p class="af-figure-notes">Source: the team's scenario. Method: fluid model, one queue.</p>"""
ANSWER = """<div class="af-answer"><span class="af-big">2 h 05 min</span>
<p>until the backlog is gone, counted from the moment the dependency is back. With the three changes below:
45 min.</p></div><p class="af-warning">The retry rate is a default: the scenario does not say it.</p>"""


def packet() -> NotebookNode:
    error = new_output("error", ename="ScenarioError", evalue="line 3: \x1b[31mrate\x1b[0m is -4", traceback=[])
    cells = [
        new_markdown_cell("# The answer\n\nHow long the load lasts after the dependency is back, and what helps."),
        html_cell(ANSWER),
        chart_cell(line_chart(), "Backlog over time, with and without the plan"),
        new_markdown_cell("## Method\n\nOne queue, drained at spare capacity."),
        html_cell(TABLE),
        new_markdown_cell("# The plan\n\nWhat each change saves."),
        chart_cell(bar_chart(), "Minutes saved by each change"),
        new_markdown_cell("## Method\n\nEach change alone, then all together."),
        chart_cell(time_chart(), "Arrivals per minute on the day"),
        new_code_cell("broken()", outputs=[error]),
    ]
    return new_notebook(cells=cells, metadata={"title": "Recovery load: orders service"})


def write(nb: NotebookNode, path: Path, title: str = "") -> Path:
    path.write_text(PacketExporter().to_html(nb, title, "en"), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def packet_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(packet(), tmp_path_factory.mktemp("packet") / "packet.html")


def test_all_charts_draw_without_a_request(packet_path: Path, open_packet: Callable[..., Any]) -> None:
    opened = open_packet(packet_path)
    assert (opened.charts_drawn, opened.charts_failed) == (3, 0)
    opened.assert_quiet()
    svgs = opened.page.locator(".af-chart svg.marks")
    assert svgs.count() == 3
    marks = svgs.evaluate_all(
        "all => all.map(svg => svg.querySelectorAll('.mark-line path, .mark-rect path, .mark-area path').length)"
    )
    assert marks[0] >= 2
    assert marks[1] >= 3
    assert marks[2] >= 1


def test_charts_tell_what_they_show(packet_path: Path, open_packet: Callable[..., Any]) -> None:
    page = open_packet(packet_path).page
    labels = page.locator("figure[role=img]").evaluate_all("all => all.map(f => f.getAttribute('aria-label'))")
    assert labels[0] == "Backlog over time, with and without the plan"


def test_tooltip_shows_the_bar(packet_path: Path, open_packet: Callable[..., Any]) -> None:
    opened = open_packet(packet_path)
    bar = opened.page.locator(".af-chart").nth(1).locator(".mark-rect.role-mark path").first
    bar.scroll_into_view_if_needed()
    bar.hover()
    tooltip = opened.page.locator("#vg-tooltip-element.visible")
    tooltip.wait_for(timeout=5000)
    assert "Raise the drain cap" in tooltip.inner_text()
    assert "50" in tooltip.inner_text()
    opened.assert_quiet()


def test_text_search_finds_prose_and_chart_text(packet_path: Path, open_packet: Callable[..., Any]) -> None:
    page = open_packet(packet_path).page
    for text in ("How long the load lasts", "Minutes after recovery", "1,126", "Sideline old work"):
        assert page.evaluate("text => window.find(text, false, false, true)", text), text


@pytest.mark.parametrize("width", [1280, 420])
def test_nothing_sticks_out(packet_path: Path, open_packet: Callable[..., Any], width: int) -> None:
    opened = open_packet(packet_path, width=width)
    assert opened.too_wide() == []
    pictures = os.environ.get("AFTERLOAD_PICTURES")
    if pictures:
        opened.page.screenshot(path=f"{pictures}/packet-{width}.png", full_page=True)


def test_time_axis_keeps_its_zone(packet_path: Path, open_packet: Callable[..., Any]) -> None:
    labels = []
    for zone in ("UTC", "Asia/Tokyo"):
        page = open_packet(packet_path, timezone_id=zone).page
        labels.append(page.locator(".af-chart").nth(2).locator(".role-axis-label").first.inner_html())
    assert labels[0] == labels[1]


def test_contents_lead_to_every_heading(packet_path: Path, open_packet: Callable[..., Any]) -> None:
    page = open_packet(packet_path).page
    links = page.locator(".af-contents a")
    assert links.all_inner_texts() == ["The answer", "Method", "The plan", "Method"]
    targets = links.evaluate_all("all => all.map(a => decodeURIComponent(a.hash.slice(1)))")
    assert len(set(targets)) == 4
    assert page.evaluate("ids => ids.every(id => document.getElementById(id))", targets)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.af-contents') !== null")
    page.keyboard.press("Enter")
    assert page.url.endswith("#The-answer")


def test_an_error_stands_in_place(packet_path: Path, open_packet: Callable[..., Any]) -> None:
    box = open_packet(packet_path).page.locator(".af-output .af-error")
    assert box.count() == 1
    assert "line 3: rate is -4" in box.inner_text()


def test_a_chart_that_cannot_draw_says_so(tmp_path: Path, open_packet: Callable[..., Any]) -> None:
    broken = {"$schema": SCHEMA, "mark": "nothing", "data": {"values": []}, "encoding": {"x": 7}}
    nb = new_notebook(cells=[chart_cell(broken, "Broken"), chart_cell(bar_chart(), "Whole")])
    opened = open_packet(write(nb, tmp_path / "broken.html"))
    assert (opened.charts_drawn, opened.charts_failed) == (1, 1)
    assert "could not be drawn" in opened.page.locator(".af-chart-error").inner_text()
    assert opened.page_errors == []


def test_markup_in_data_stays_text(tmp_path: Path, open_packet: Callable[..., Any]) -> None:
    spec = bar_chart((HOSTILE, "plain"))
    spec["title"] = HOSTILE
    spec["usermeta"] = {"embedOptions": {"actions": True}}
    error = new_output("error", ename=HOSTILE, evalue=HOSTILE, traceback=[HOSTILE])
    cells = [
        new_markdown_cell("# One"),
        chart_cell(spec, HOSTILE),
        new_code_cell("x", outputs=[error, new_output("stream", name="stdout", text=HOSTILE)]),
        html_cell("<p>" + HOSTILE.replace("<!--<script>", "") + "</p>"),
        new_code_cell("x", outputs=[new_output("display_data", data={"application/javascript": "window.pwned = 3"})]),
        new_markdown_cell("# Two"),
    ]
    nb = new_notebook(cells=cells)
    nb.metadata["afterload"] = {"failures": [{"chapter": HOSTILE, "evalue": HOSTILE}]}
    opened = open_packet(write(nb, tmp_path / "hostile.html", title=HOSTILE))
    page = opened.page
    assert page.evaluate("window.pwned") is None
    assert opened.charts_drawn == 1
    assert page.title() == HOSTILE
    assert page.locator("h1.af-title").inner_text() == HOSTILE
    assert page.locator("figure").get_attribute("aria-label") == HOSTILE
    assert page.locator(".vega-actions").count() == 0
    assert page.locator("#Two").count() == 1
    bar = page.locator(".mark-rect.role-mark path").first
    bar.scroll_into_view_if_needed()
    bar.hover()
    page.locator("#vg-tooltip-element.visible").wait_for(timeout=5000)
    assert page.evaluate("window.pwned") is None
    assert [r for r in opened.requests if not r.endswith("/x")] == []


def test_nothing_is_cut_in_print(packet_path: Path, open_packet: Callable[..., Any], tmp_path: Path) -> None:
    opened = open_packet(packet_path)
    target = tmp_path / "packet.pdf"
    opened.page.pdf(path=str(target), format="A4")
    assert target.stat().st_size > 10_000
    pictures = os.environ.get("AFTERLOAD_PICTURES")
    if pictures:
        shutil.copy(target, Path(pictures) / "packet.pdf")
