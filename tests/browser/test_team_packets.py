"""Packets of whole teams as a reader has them: every shipped example, and one team with names that attack a page."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbformat
import pytest
from ruamel.yaml import YAML

from afterload.figures.figure import CHART_MIME

Open = Callable[..., Any]
SCENARIOS = Path(__file__).resolve().parents[2] / "data" / "scenarios"
HOSTILE = "hostile"
TEAMS = [*sorted(path.stem for path in SCENARIOS.glob("*.yaml")), HOSTILE]
WIDTHS = (1280, 390)

BREAK_OUT = "</script><img src=x onerror=window.pwned=1>"
TEMPLATE = "{{7*7}} ${7*7} {% raw %}"
QUOTES = """'"' onmouseover="window.pwned=2" `x` &lt;b&gt;"""
ARABIC = "فريق الطلبات"
FIRE = "\U0001f525\U0001f692"
LONG = "a-name-without-a-place-to-break-" * 6 + "12345678"

# What a reader must never be shown as a value.
NO_VALUE = re.compile(r"\b(?:NaN|Infinity|undefined|None(?! of)|null|inf)\b|[-−]\s?\d[\d,.]* (?:min|items)")
each_team = pytest.mark.parametrize("team", TEAMS)


def rows_of(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of data of a chart, those of its layers and panels included."""
    found = list(spec.get("data", {}).get("values", ()))
    for part in (*spec.get("layer", ()), *spec.get("vconcat", ())):
        found += rows_of(part)
    return found


@dataclass(frozen=True)
class Chart:
    chapter: str
    spec: dict[str, Any]

    @property
    def rows(self) -> list[dict[str, Any]]:
        return rows_of(self.spec)


@dataclass(frozen=True)
class Made:
    page: Path
    charts: tuple[Chart, ...]


def hostile_scenario() -> dict[str, Any]:
    """The example of the queue team with every name replaced."""
    data: dict[str, Any] = YAML(typ="safe").load((SCENARIOS / "orders.yaml").read_text("utf-8"))
    data = json.loads(json.dumps(data, default=str))

    def rename(part: str, *names: str) -> None:
        data[part] = dict(zip(names, data[part].values(), strict=True))

    assert len(LONG) == 200
    data["team"] = (BREAK_OUT + QUOTES + ARABIC + FIRE + TEMPLATE)[:200]
    data["owner"] = f"{ARABIC} {FIRE} {BREAK_OUT}"
    data["incident"]["name"] = f"{QUOTES} {ARABIC}"
    data["incident"]["timeline"] = "events.csv"
    data["incident"]["impacts"] = "impacts.csv"
    rename("dependencies", BREAK_OUT)
    rename("queues", LONG)
    rename("call_stacks", TEMPLATE)
    rename("clients", QUOTES, "=cmd|' /C calc'!A0")
    rename("fleets", f"{ARABIC} {FIRE}")
    account = data["postmortem"]
    account["timeline"] = "own.csv"
    account |= {"summary": f"{BREAK_OUT}\n\n{TEMPLATE}", "impact": QUOTES, "detected_by": ARABIC}
    account["impact_numbers"] = [{"what": LONG, "value": 1, "unit": FIRE, "source": QUOTES}]
    account["roles"] = [{"role": TEMPLATE, "held_by": BREAK_OUT}]
    account["interactions"] = [{"controller": LONG, "action": BREAK_OUT, "feedback": QUOTES, "missing": TEMPLATE}]
    account["actions"] = [{"text": BREAK_OUT, "owner": ARABIC, "change": QUOTES}, {"text": LONG, "due": "2025-12-01"}]
    for part in ("queues", "call_stacks", "clients"):
        for item in data[part].values():
            item["dependency"] = BREAK_OUT
            if "source" in item:
                item["source"] = BREAK_OUT
    names = (BREAK_OUT, TEMPLATE, QUOTES, ARABIC, FIRE)
    for layer, name in zip(data["call_stacks"][TEMPLATE]["layers"], names, strict=True):
        layer["name"] = name
    return data


def write_hostile(folder: Path) -> Path:
    quoted = '"' + (BREAK_OUT + QUOTES).replace('"', '""') + '"'
    (folder / "events.csv").write_text(
        "at,end,subsystem,kind,event\n"
        f"2025-10-20T00:30-07:00,,{quoted},{quoted},{quoted}\n"
        f"2025-10-20T04:30-07:00,,{ARABIC},{FIRE},{LONG}\n",
        "utf-8",
    )
    (folder / "own.csv").write_text(
        "at,subsystem,kind,event,source,status,note\n"
        f"2025-10-20T00:35-07:00,{quoted},{quoted},{quoted},{quoted},disputed,{quoted}\n"
        f"2025-10-20T04:35-07:00,{ARABIC},{FIRE},{LONG},{LONG},confirmed,{TEMPLATE}\n",
        "utf-8",
    )
    (folder / "impacts.csv").write_text(
        f"service,start,end\n{quoted},2025-10-20T00:00-07:00,2025-10-20T05:00-07:00\n"
        f"{LONG},2025-10-20T01:00-07:00,2025-10-20T02:00-07:00\n",
        "utf-8",
    )
    # JSON is YAML.
    target = folder / "hostile.yaml"
    target.write_text(json.dumps(hostile_scenario(), ensure_ascii=False), "utf-8")
    return target


@pytest.fixture(scope="module")
def packets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Made]:
    """One packet for each team, made by the command in processes of its own, two at a time."""
    folder = tmp_path_factory.mktemp("teams")
    command = [sys.executable, "-m", "afterload.cli", "report", "--quiet"]
    running: dict[str, subprocess.Popen[str]] = {}
    made = {}
    waiting = list(TEAMS)
    while waiting or running:
        while waiting and len(running) < 2:
            team = waiting.pop(0)
            what = [str(write_hostile(folder))] if team == HOSTILE else ["--example", team]
            running[team] = subprocess.Popen(
                [*command, *what, "-o", str(folder / team)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        team = next(iter(running))
        out, err = running.pop(team).communicate(timeout=120)
        assert err == ""
        page = Path(out.strip())
        nb = nbformat.read(page.with_suffix(".ipynb"), as_version=4)
        charts = [
            Chart(cell.metadata.afterload.chapter, output.data[CHART_MIME])
            for cell in nb.cells
            for output in cell.get("outputs", [])
            if CHART_MIME in output.get("data", {})
        ]
        made[team] = Made(page, tuple(charts))
    return made


def shown_text(page: Any) -> str:
    """What is seen: the page's text with the text inside charts."""
    text = page.evaluate("document.body.innerText")
    inside = page.evaluate("Array.from(document.querySelectorAll('.af-chart svg text'), t => t.textContent)")
    return "\n".join([text, *inside])


def keep_picture(opened: Any, name: str) -> None:
    pictures = os.environ.get("AFTERLOAD_PICTURES")
    if pictures:
        opened.page.screenshot(path=f"{pictures}/{name}.png", full_page=True)


@each_team
def test_every_chart_is_drawn_and_nothing_is_asked_for(packets: dict[str, Made], open_packet: Open, team: str) -> None:
    made = packets[team]
    opened = open_packet(made.page)
    assert made.charts
    assert (opened.charts_drawn, opened.charts_failed) == (len(made.charts), 0)
    opened.assert_quiet()
    charts = opened.page.locator(".af-chart")
    assert charts.count() == len(made.charts)
    marks = charts.evaluate_all(
        """all => all.map(figure => Array.from(figure.querySelectorAll(
        "svg.marks .role-mark path, svg.marks .role-mark line, svg.marks .role-mark text"))
        .filter(mark => mark.getAttribute("d") !== "" && mark.getBoundingClientRect().width
            + mark.getBoundingClientRect().height > 0).length)"""
    )
    assert len(marks) == len(made.charts)
    assert min(marks) >= 1
    # Drawn from every row of its data, a bar each.
    for place, chart in enumerate(made.charts):
        if isinstance(chart.spec.get("mark"), dict) and chart.spec["mark"]["type"] == "bar":
            assert charts.nth(place).locator(".mark-rect.role-mark path").count() == len(chart.rows)
    assert opened.page.evaluate("window.pwned") is None
    assert opened.page.locator("main img, main iframe, main object, main embed").count() == 0
    assert opened.page.locator("[onerror], [onmouseover], [onload], [onclick]").count() == 0


@each_team
def test_charts_have_words_and_headings_an_order(packets: dict[str, Made], open_packet: Open, team: str) -> None:
    page = open_packet(packets[team].page).page
    labels = page.locator(".af-chart").evaluate_all(
        "all => all.map(f => [f.getAttribute('role'), f.getAttribute('aria-label')])"
    )
    assert len(labels) == len(packets[team].charts)
    for role, words in labels:
        assert role == "img"
        assert len(words) > 40
        assert not NO_VALUE.search(words)
    levels = page.evaluate("Array.from(document.querySelectorAll('h1, h2, h3, h4, h5, h6'), h => Number(h.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert [pair for pair in pairwise(levels) if pair[1] > pair[0] + 1] == []
    assert page.locator(".af-contents a").count() >= 7
    tables = page.locator("main table").evaluate_all("all => all.map(t => t.querySelectorAll('th[scope=col]').length)")
    assert min(tables) > 1


@each_team
@pytest.mark.parametrize("width", WIDTHS)
def test_it_reads_well_at_any_width(packets: dict[str, Made], open_packet: Open, team: str, width: int) -> None:
    opened = open_packet(packets[team].page, width=width)
    keep_picture(opened, f"{team}-{width}")
    assert opened.too_wide() == []
    text = shown_text(opened.page)
    assert NO_VALUE.findall(text) == []
    # Nothing that is drawn sticks out of its chart, where it would be cut off.
    cut = opened.page.evaluate(
        """Array.from(document.querySelectorAll(".af-chart svg text"))
        .filter(t => t.textContent.trim() && getComputedStyle(t).opacity !== "0")
        .filter(t => t.getBoundingClientRect().right > t.closest("svg").getBoundingClientRect().right + 2
            || t.getBoundingClientRect().left < t.closest("svg").getBoundingClientRect().left - 2)
        .map(t => t.textContent)"""
    )
    assert cut == []
    # A table may be wider than the page; then its frame scrolls, and the keyboard reaches it.
    frames = opened.page.locator(".af-html").evaluate_all(
        "all => all.filter(f => f.scrollWidth > f.clientWidth).map(f => f.tabIndex)"
    )
    assert set(frames) <= {0}
    # And it says so, since a column that is cut at the edge may look like the last one.
    cues = opened.page.locator(".af-html").evaluate_all(
        """all => all.map(f => [
            f.scrollWidth > f.clientWidth, getComputedStyle(f, "::before").content.includes("scroll sideways"),
        ])"""
    )
    assert all(wider == told for wider, told in cues)


def test_the_numbers_of_the_example_are_there(packets: dict[str, Made], open_packet: Open) -> None:
    page = open_packet(packets["orders"].page).page
    text = shown_text(page)
    for number in ("206,400", "344 min", "243"):
        assert number in text
    first = page.locator(".af-answer").inner_text()
    for number in ("206,400", "344 min", "243 times", "516 min"):
        assert number in first


def test_names_are_shown_and_never_run(packets: dict[str, Made], open_packet: Open) -> None:
    opened = open_packet(packets[HOSTILE].page)
    text = shown_text(opened.page)
    for name in (BREAK_OUT, TEMPLATE, QUOTES, ARABIC, FIRE, LONG):
        assert name in text
    assert hostile_scenario()["team"] in opened.page.title()
    # Over the marks of every chart, where tooltips are made of the same names.
    for chart in opened.page.locator(".af-chart").all():
        mark = chart.locator(".role-mark path").first
        mark.scroll_into_view_if_needed()
        mark.hover(force=True)
    assert opened.page.evaluate("window.pwned") is None
    opened.assert_quiet()


# Tooltips


def hover_over_marks(opened: Any, place: int) -> dict[str, str]:
    """The tooltip of the first mark of a chart that gives one: what it names, and the text beside it."""
    marks = (
        opened.page.locator(".af-chart").nth(place).locator(".mark-rect.role-mark path, .mark-symbol.role-mark path")
    )
    count = marks.count()
    assert count
    tooltip = opened.page.locator("#vg-tooltip-element.visible")
    # Some marks lie below a line or another mark, so a few are tried.
    for number in dict.fromkeys([count - 1, count // 3, count // 2, 0]):
        marks.nth(number).scroll_into_view_if_needed()
        box = marks.nth(number).bounding_box()
        assert box is not None
        opened.page.mouse.move(0, 0)
        opened.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=2)
        try:
            tooltip.wait_for(timeout=1500)
        except Exception:  # noqa: BLE001 - Playwright's own kind of time-out
            continue
        rows = tooltip.locator("tr").evaluate_all("all => all.map(r => Array.from(r.children, c => c.textContent))")
        return {key.strip().removesuffix(":"): value for key, value in rows}
    pytest.fail("no mark shows a tooltip")


def fields_of(spec: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The fields of every tooltip of a chart: each of its layers and panels may have its own."""
    own = spec.get("encoding", {}).get("tooltip")
    found = [list(own)] if own else []
    for part in (*spec.get("layer", ()), *spec.get("vconcat", ())):
        found += fields_of(part)
    return found


def matches(shown: dict[str, str], row: dict[str, Any], fields: list[dict[str, Any]]) -> bool:
    """Whether a row of data is what the tooltip shows, within the last digit shown."""
    for field in fields:
        text, value = shown.get(field.get("title", field["field"])), row.get(field["field"])
        if text is None or value is None:
            return False
        if field.get("type") == "temporal":
            # Written by the page in the incident's zone; the milliseconds behind it are in UTC of that wall clock.
            pattern = field["format"].replace("%-d", "%d")
            if datetime.fromtimestamp(value / 1000, UTC).strftime(pattern) != text:
                return False
            continue
        if isinstance(value, str):
            if text != value:
                return False
            continue
        percent = text.endswith("%")
        number = float(text.rstrip("%").replace(",", "").replace("−", "-")) / (100 if percent else 1)
        digits = len(text.rstrip("%").partition(".")[2]) + (2 if percent else 0)
        if abs(number - value) > max(0.51 * 10**-digits, 1e-4 * abs(value)):
            return False
    return True


@each_team
def test_tooltips_show_the_row_below_the_pointer(packets: dict[str, Made], open_packet: Open, team: str) -> None:
    made = packets[team]
    opened = open_packet(made.page)
    first_of: dict[str, int] = {}
    for place, chart in enumerate(made.charts):
        first_of.setdefault(chart.chapter, place)
    if team == "orders":
        assert len(first_of) == 10
    for chapter, place in first_of.items():
        shown = hover_over_marks(opened, place)
        fitting = [
            fields
            for fields in fields_of(made.charts[place].spec)
            if [field.get("title", field["field"]) for field in fields] == list(shown)
        ]
        assert fitting, (chapter, shown)
        rows = made.charts[place].rows
        assert any(matches(shown, row, fields) for fields in fitting for row in rows), (chapter, shown)
        assert not NO_VALUE.search(" ".join(shown.values()))
    opened.assert_quiet()


def test_the_tooltip_of_the_lowest_layer_says_243(packets: dict[str, Made], open_packet: Open) -> None:
    opened = open_packet(packets["orders"].page)
    place = next(n for n, chart in enumerate(packets["orders"].charts) if chart.chapter == "30-retries")
    shown = hover_over_marks(opened, place)
    assert (shown["layer"], shown["calls"]) == ("5 database client", "243")


# The clock


def time_axes(page: Any) -> list[list[str]]:
    return list(
        page.evaluate(
            """Array.from(document.querySelectorAll(".af-chart svg"))
            .map(svg => Array.from(svg.querySelectorAll(".role-axis-label text"), t => t.textContent))
            .filter(texts => texts.some(t => /\\d\\d:\\d\\d/.test(t)))"""
        )
    )


@each_team
def test_the_time_axis_does_not_follow_the_reader(packets: dict[str, Made], open_packet: Open, team: str) -> None:
    tokyo, new_york = (
        open_packet(packets[team].page, timezone_id=zone).page for zone in ("Asia/Tokyo", "America/New_York")
    )
    assert tokyo.evaluate("new Date(0).getHours()") != new_york.evaluate("new Date(0).getHours()")
    assert time_axes(tokyo) == time_axes(new_york)
    assert shown_text(tokyo) == shown_text(new_york)
    if team == "orders":
        assert len(time_axes(tokyo)) == 10


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York"])
def test_the_restore_stands_at_its_wall_clock(packets: dict[str, Made], open_packet: Open, zone: str) -> None:
    """02:40 in the incident's zone, measured between the labels of the axis."""
    page = open_packet(packets["orders"].page, timezone_id=zone).page
    place = next(n for n, chart in enumerate(packets["orders"].charts) if chart.chapter == "20-backlog")
    chart = page.locator(".af-chart").nth(place)
    middles = chart.locator(".role-axis-label text").evaluate_all(
        """all => all.filter(t => t.getAttribute("text-anchor") === "middle" && t.style.opacity !== "0"
            && getComputedStyle(t).opacity !== "0")
        .map(t => [t.textContent, (t.getBoundingClientRect().left + t.getBoundingClientRect().right) / 2])"""
    )
    at = {int(text[:2]) * 60 + int(text[3:]): x for text, x in middles if re.fullmatch(r"0\d:\d\d", text)}
    (early, x_early), (late, x_late) = min(at.items()), max(at.items())
    rules = chart.locator(".mark-rule.role-mark line, .mark-rule.role-mark path").evaluate_all(
        "all => all.map(r => (r.getBoundingClientRect().left + r.getBoundingClientRect().right) / 2)"
    )
    minutes = sorted(early + (late - early) * (x - x_early) / (x_late - x_early) for x in rules)
    # The trigger at 23:48 the day before, and the restore.
    assert minutes == pytest.approx([-12, 160], abs=1.5)


# Paper


@each_team
def test_it_prints(packets: dict[str, Made], open_packet: Open, team: str) -> None:
    opened = open_packet(packets[team].page)
    document = opened.page.pdf(format="A4")
    assert document.startswith(b"%PDF-")
    assert document.rstrip().endswith(b"%%EOF")
    pages = len(re.findall(rb"/Type\s*/Page\b", document))
    assert 5 <= pages <= 70
    assert len(document) > 50_000
    opened.assert_quiet()
    pictures = os.environ.get("AFTERLOAD_PICTURES")
    if pictures:
        Path(pictures, f"{team}.pdf").write_bytes(document)
