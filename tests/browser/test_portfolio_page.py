"""The page over all teams as a reader has it: sorted, searched, filtered, by keyboard, without a network or a script."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from afterload.batch.index import index_html, index_json
from afterload.batch.portfolio import build_portfolio

TEAMS, MANY = 120, 1_000
Opened = Callable[..., Any]


def team(number: int) -> dict[str, Any]:
    """One of many teams; every fifth is never done, every seventh has nothing queued, every third shares an account."""
    couples, never = number % 7 != 0, number % 5 == 0
    fresh = None if never or not couples else float(10 + number * 37 % 900)
    lines = [
        {"id": f"{change}:queues.jobs", "change": change, "title": title, "target": "queues.jobs",
         "bought_min": bought, "cost_min": 0.0, "stale_bought_min": bought, "stale_cost_min": 0.0,
         "ends_never": False, "stale_ends_never": False, "makes_never": False, "lost_more": 10 * bought,
         "effort_days": 2.0, "saves": None}
        for change, title, bought in (
            ("drain-cap", "A drain cap between each backlog and its dependency", float(number % 90)),
            ("age-limit", "An age limit where work goes stale", float(number % 60)),
        )
    ]  # fmt: skip
    queue = {
        "name": "jobs", "dependency": None, "runs_on_lambda": True, "function": None, "reserved_concurrency": None,
        "cap_concurrency": 40, "drain_concurrency": 40.0, "drain_rate_per_min": 1200.0, "backlog": 9000.0,
        "arrivals_from_min": [0.0], "arrivals_per_min": [800.0], "drain_min": 22.5, "fresh_min": 22.5,
    }  # fmt: skip
    return {
        "record": 1, "id": f"team-{number}", "team": f"Team {number}", "owner": None, "services": ["sqs-lambda"],
        "incident": "loss", "outage_min": 172.0, "hypothetical": True, "input_sha256": "0" * 64, "objective_min": 240.0,
        "met": None if not couples else fresh is not None and fresh <= 240, "plan": lines,
        "verdicts": [] if not couples else [
            {"name": "fresh", "subject": "team", "limit": 240.0, "value": fresh, "level": "likely",
             "met": fresh is not None and fresh <= 240, "words": "fresh of team"}
        ],
        "together": None, "costs": None,
        "results": {
            "couples": couples, "fresh_min": fresh, "fresh_p10_min": None, "fresh_p90_min": None, "draws": 0,
            "drain_min": fresh, "planned_fresh_min": fresh and fresh / 2, "planned_drain_min": fresh and fresh / 2,
            "lost": 0.0, "peak_attempts_per_min": 2400.0,
            "worst_queue": "jobs" if couples else None, "multiplier": float(1 + number % 81), "worst_stack": "api",
            "launch_min": float(number % 40), "slowest_fleet": "api", "certain": True,
        },
        "shares": {
            "account": f"account {number % 30}" if number % 3 == 0 else None, "region": "us-east-1", "concurrency": 100,
            "concurrency_source": "scenario", "reserved_elsewhere": 0, "dependencies": [],
            "queues": [queue] if couples else [], "fleets": [],
        },
        "links": {"packet": f"team-{number}.html", "plan_md": f"team-{number}-plan.md"},
    }  # fmt: skip


NAMES = ("Größe", "Broken 1", "Broken 2")
FAILURES = [
    (f"broken-{n}", NAMES[n], f"broken-{n}.yaml", "bad input", f"broken-{n}.yaml:{n}: rate is -4") for n in range(3)
]


@pytest.fixture(scope="module")
def index_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    records = [team(number) for number in range(1, TEAMS + 1)]
    earlier = [team(number) for number in range(1, TEAMS)]
    earlier[4 - 1]["results"]["fresh_min"] = 1.0
    previous = json.loads(index_json(build_portfolio(earlier)))
    path = tmp_path_factory.mktemp("site") / "index.html"
    path.write_text(index_html(build_portfolio(records, FAILURES, previous)), encoding="utf-8")
    return path


def column(page: Page, number: int) -> list[str]:
    """Cells of a column, shown rows alone, from top to bottom."""
    found: list[str] = page.evaluate(
        """number => Array.from(document.querySelectorAll("#portfolio tbody tr:not([hidden])"),
            row => row.cells[number].firstChild.textContent)""",
        number,
    )
    return found


def minutes(cells: list[str]) -> list[float]:
    """Minutes of cells with a number; never is infinite, a dash is left out."""
    return [
        float("inf") if cell == "never" else float(cell.split()[0].replace(",", "")) for cell in cells if cell != "–"
    ]


def test_it_asks_for_nothing_and_draws_its_charts(index_path: Path, open_packet: Opened) -> None:
    opened = open_packet(index_path)
    assert (opened.charts_drawn, opened.charts_failed) == (2, 0)
    opened.assert_quiet()
    assert opened.page.locator("#portfolio tbody tr").count() == TEAMS + len(FAILURES)
    assert opened.page.locator(".af-count").inner_text() == "123 teams"


def test_every_column_sorts_both_ways(index_path: Path, open_packet: Opened) -> None:
    page = open_packet(index_path).page
    heads = page.locator("#portfolio thead th")
    assert heads.count() == 11
    assert heads.nth(2).get_attribute("aria-sort") == "descending"
    for place in range(heads.count()):
        button = heads.nth(place).locator("button")
        seen = []
        for _ in range(2):
            button.click()
            seen.append(heads.nth(place).get_attribute("aria-sort"))
            assert page.locator("#portfolio thead [aria-sort]").count() == 1
        assert set(seen) == {"ascending", "descending"}, place
    for place in (2, 4):
        heads.nth(place).locator("button").click()
        falling = minutes(column(page, place))
        assert falling == sorted(falling, reverse=True)
        heads.nth(place).locator("button").click()
        rising = minutes(column(page, place))
        assert rising == sorted(rising)
        # What has no number comes last, whichever way.
        assert column(page, place)[-1] == "–"
    heads.nth(0).locator("button").click()
    assert column(page, 0)[:4] == ["Broken 1", "Broken 2", "Größe", "Team 1"]
    heads.nth(0).locator("button").click()
    assert column(page, 0)[0] == "Team 120"


def test_a_thousand_teams(tmp_path: Path, open_packet: Opened) -> None:
    path = tmp_path / "index.html"
    path.write_text(index_html(build_portfolio([team(n) for n in range(1, MANY + 1)], FAILURES)), encoding="utf-8")
    # Vega takes 0.8 MB of it.
    assert path.stat().st_size < 3_000_000
    page = open_packet(path).page
    assert page.locator(".af-count").inner_text() == "1,003 teams"
    page.locator("#portfolio thead button").nth(5).click()
    rising = minutes(column(page, 5))
    assert len(rising) == MANY
    assert rising == sorted(rising, reverse=True)
    # A press lays out what a screen shows; the rest follows, and whoever has scrolled down stays there.
    expect(page.locator(".af-later")).to_have_count(0)
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    place = page.evaluate("window.scrollY")
    laid_out = page.evaluate(
        """() => { document.querySelectorAll("#portfolio thead button")[2].click();
            return document.querySelectorAll("#portfolio tbody tr:not(.af-later)").length; }"""
    )
    assert 0 < laid_out < 200
    expect(page.locator(".af-later")).to_have_count(0)
    assert page.locator("#portfolio tbody tr:visible").count() == MANY + len(FAILURES)
    assert page.evaluate("window.scrollY") == pytest.approx(place, abs=2)
    assert page.evaluate("document.querySelector('.af-wide').style.minHeight") == ""
    # What is asked for next ends what still follows, and paper waits for nothing.
    shown = page.evaluate(
        """() => { document.querySelectorAll("#portfolio thead button")[2].click();
            window.dispatchEvent(new Event("beforeprint"));
            return document.querySelectorAll("#portfolio tbody tr:not(.af-later)").length; }"""
    )
    assert shown == MANY + len(FAILURES)
    page.get_by_label("Search").fill("team 77")
    assert page.locator("#portfolio tbody tr:visible").count() == sum("77" in str(n) for n in range(MANY + 1))
    page.get_by_label("Search").fill("")
    expect(page.locator(".af-later")).to_have_count(0)
    assert page.locator("#portfolio tbody tr:visible").count() == MANY + len(FAILURES)


def test_search_and_filters_go_together(index_path: Path, open_packet: Opened) -> None:
    page = open_packet(index_path).page
    page.get_by_label("Search").fill("team 9")
    # Every word must be in the names of a row, wherever; numbers of its results do not count.
    named = {f"Team {n}" for n in range(1, TEAMS + 1) if "9" in str(n)}
    assert set(column(page, 0)) == named
    assert page.locator(".af-count").inner_text() == f"{len(named)} of 123 teams"
    # Nor does what a change buys.
    page.get_by_label("Search").fill("min stale")
    assert page.locator(".af-count").inner_text() == "0 of 123 teams"
    page.get_by_label("Search").fill("team 9")
    page.get_by_label("objective missed").check()
    assert set(column(page, 1)) == {"missed", "met alone, missed together"}
    page.get_by_label("Search").fill("")
    missed = sum(team(n)["met"] is False for n in range(1, TEAMS + 1))
    assert column(page, 1).count("missed") == missed
    # Every third team shares an account of 100 at once with others. Four that drain have 25 each: 750 a minute where 800
    # come, which never ends; three have 1,000 a minute, and are done in 45 min.
    account = {n: [m for m in range(3, TEAMS + 1, 3) if m % 30 == n % 30 and m % 7] for n in range(3, TEAMS + 1, 3)}
    alone = {f"Team {n}" for n, sharing in account.items() if team(n)["met"] and len(sharing) == 4}
    assert alone
    together = {name for name, state in zip(column(page, 0), column(page, 1), strict=True) if state != "missed"}
    assert together == alone
    page.get_by_label("failed", exact=True).check()
    assert column(page, 0) == ["Größe", "Broken 1", "Broken 2"]
    page.get_by_label("shared limit broken").check()
    shared = column(page, 0)
    assert shared
    assert {int(name.split()[1]) % 3 for name in shared} == {0}
    page.get_by_label("worse than last run").check()
    assert column(page, 0) == ["Team 4"]
    page.get_by_label("all", exact=True).check()
    # Numbers of accounts, and names as they are typed without their marks.
    page.get_by_label("Search").fill("account 27")
    assert set(column(page, 0)) == {f"Team {n}" for n in (27, 57, 87, 117)}
    for typed in ("grosse", "Größe", "GROSSE"):
        page.get_by_label("Search").fill(typed)
        assert column(page, 0) == ["Größe"], typed
    page.get_by_label("Search").fill("nobody at all")
    assert page.locator(".af-count").inner_text() == "0 of 123 teams"


def test_the_keyboard_alone_does_it(index_path: Path, open_packet: Opened) -> None:
    page = open_packet(index_path).page
    page.get_by_label("Search").focus()
    page.keyboard.type("Team 7")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.name") == "show"
    page.keyboard.press("ArrowRight")
    assert set(column(page, 1)) <= {"missed", "met alone, missed together"}
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('th').textContent").startswith("Team")
    page.keyboard.press("Enter")
    named = [f"Team {n}" for n in range(1, TEAMS + 1) if "7" in str(n)]
    assert column(page, 0) == named
    page.keyboard.press("Space")
    assert column(page, 0) == named[::-1]
    for _ in range(11):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "team-117.html"


def test_without_a_script_it_is_a_plain_table(index_path: Path, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(index_path.as_uri())
        assert page.locator("#portfolio tbody tr:visible").count() == TEAMS + len(FAILURES)
        assert not page.locator(".af-tools").is_visible()
        assert page.locator("#portfolio thead button").count() == 0
        assert page.locator("noscript p.af-note").count() == 2
    finally:
        context.close()


@pytest.mark.parametrize("width", [1440, 1100, 420])
def test_nothing_sticks_out(index_path: Path, open_packet: Opened, width: int) -> None:
    opened = open_packet(index_path, width=width)
    assert opened.too_wide() == []
    pictures = os.environ.get("AFTERLOAD_PICTURES")
    if pictures:
        opened.page.screenshot(path=f"{pictures}/portfolio-{width}.png")


def test_one_team_is_one_team(tmp_path: Path, open_packet: Opened) -> None:
    path = tmp_path / "index.html"
    path.write_text(index_html(build_portfolio([team(1)])), encoding="utf-8")
    page = open_packet(path).page
    assert page.locator(".af-count").inner_text() == "1 team"
    page.get_by_label("Search").fill("nobody")
    assert page.locator(".af-count").inner_text() == "0 of 1 team"


def test_paper_shows_what_is_folded(index_path: Path, open_packet: Opened) -> None:
    page = open_packet(index_path).page
    assert page.locator("details:not([open])").count() > 0
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    page.emulate_media(media="print")
    assert not page.locator(".af-tools").is_visible()
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == 0


def test_every_control_and_table_has_a_name(index_path: Path, open_packet: Opened) -> None:
    page = open_packet(index_path).page
    unnamed = page.evaluate(
        """() => Array.from(document.querySelectorAll("input, button, a, figure, table, th"))
            .filter(e => e.offsetParent && !e.classList.contains("af-skip"))
            .filter(e => !(e.textContent.trim() || e.getAttribute("aria-label") || (e.labels || []).length))
            .map(e => e.outerHTML.slice(0, 80))"""
    )
    assert unnamed == []
    assert page.locator("h1").count() == 1
    assert page.locator("table:not(:has(caption))").count() == page.locator(".af-data .af-figure-table table").count()
    ids = page.evaluate("Array.from(document.querySelectorAll('[id]'), e => e.id)")
    assert len(ids) == len(set(ids))
