"""The form chapter as an app without code, in a real Voila, and in Notebook 7: the same form, for everybody."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Route, expect
from tests.browser.servers import ROOT, Server
from tests.interactive.conftest import DRAWN, READY, STEP_LIMIT_MS, FormPage

CHAPTER, RECOVERY = "02-fill-in.ipynb", "03-live.ipynb"


@contextmanager
def running(folder: Path, app: str) -> Iterator[Server]:
    server = Server(folder, app)
    for name in (CHAPTER, RECOVERY):
        shutil.copy(ROOT / "workbooks" / name, server.notebooks / name)
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[[Server, str], FormPage]]:
    """Open an address of a server; whatever asks another machine is blocked and recorded."""
    contexts = []

    def open_one(server: Server, address: str) -> FormPage:
        context = browser.new_context(viewport={"width": 1360, "height": 1000})
        context.set_default_timeout(STEP_LIMIT_MS)
        contexts.append(context)
        shown = FormPage(context.new_page(), server.notebooks)

        def gate(route: Route) -> None:
            if urlsplit(route.request.url).hostname == "127.0.0.1":
                route.continue_()
            else:
                shown.outside.append(route.request.url)
                route.abort()

        shown.page.route("**/*", gate)
        shown.page.goto(f"{server.address}{address}?token={server.token}", wait_until="commit")
        return shown

    expect.set_options(timeout=45_000)
    yield open_one
    for context in contexts:
        context.close()


def serious(page: Page) -> list[tuple[str, str]]:
    """What axe finds that keeps somebody from using the page."""
    found = Axe().run(page).response["violations"]
    return [(item["id"], item["nodes"][0]["html"]) for item in found if item["impact"] in ("serious", "critical")]


def move_and_read(shown: FormPage) -> None:
    """Move the arrival rate by one step of the keyboard, and see the numbers follow."""
    shown.page.wait_for_function(DRAWN, timeout=STEP_LIMIT_MS)
    expect(shown.form.locator(".af-now .af-big")).to_have_text(["516 min", "243 times", "19.2 min"])
    # All cells have run: none takes the focus any more.
    expect(shown.button("Run report")).to_be_visible()
    before = shown.drawn()[0]
    shown.slider("orders: arrival rate").press("ArrowRight")
    # 172 min x 1,250/min = 215,000, drained at 550/min in 391 min.
    expect(shown.form.locator(".af-now .af-big").first).to_have_text("563 min")
    shown.page.wait_for_function(
        "before => Number(document.querySelector('.af-live-chart').dataset.drawn) > before", arg=before
    )


def test_voila_shows_the_form_without_code(tmp_path: Path, open_page: Callable[[Server, str], FormPage]) -> None:
    with running(tmp_path, "voila") as server:
        folder = open_page(server, "/")
        expect(folder.page.get_by_text(CHAPTER)).to_be_visible()
        shown = open_page(server, f"/voila/render/{CHAPTER}")
        move_and_read(shown)
        expect(shown.form.locator(".af-stale")).to_have_count(0)
        assert "edit_workbook" not in shown.page.inner_text("body")
        assert serious(shown.page) == []
        shown.picture("9-app")
        shown.tab("Form")
        shown.part("Queue: orders")
        expect(shown.field("arrival rate")).to_have_value("1,250/min")
        shown.field("service rate").fill("soon")
        expect(shown.form.locator(".af-field .af-problem")).to_have_count(1)
        assert serious(shown.page) == []
        shown.picture("10-app-form")
        shown.field("service rate").fill("2,000/min")
        expect(shown.form.locator(".af-problem")).to_have_count(0)
        shown.button("Save").press("Enter")
        expect(shown.form).to_contain_text("saved orders.yaml")
        assert "    arrival_rate: 1,250/min\n    service_rate: 2,000/min\n" in (
            server.notebooks / "orders.yaml"
        ).read_text("utf-8")
        assert (folder.outside, shown.outside) == ([], [])

        expect(folder.page.get_by_text(RECOVERY)).to_be_visible()
        live = open_page(server, f"/voila/render/{RECOVERY}")
        live.field("items waiting").fill("206,400")
        live.field("age of the oldest").fill("172 min")
        live.button("Add reading").press("Enter")
        expect(live.form.locator(".af-answer p").first).to_contain_text("orders: empty in 5 h 44 min")
        live.page.wait_for_function(DRAWN, timeout=STEP_LIMIT_MS)
        assert serious(live.page) == []
        live.picture("13-app-recovery")
        # A shipped example is not written to.
        assert [path.name for path in server.notebooks.glob("*.csv")] == []
        assert live.outside == []


def test_notebook_7_shows_the_same_form(tmp_path: Path, open_page: Callable[[Server, str], FormPage]) -> None:
    with running(tmp_path, "notebook") as server:
        shown = open_page(server, f"/notebooks/{CHAPTER}")
        shown.page.wait_for_function(READY, timeout=STEP_LIMIT_MS)
        shown.page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
        move_and_read(shown)
        shown.picture("11-notebook")
        assert shown.outside == []
