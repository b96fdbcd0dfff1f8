"""A real JupyterLab on this machine, and the form chapter open in it."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect
from tests.browser.conftest import browser, chromium, playwright
from tests.browser.servers import ROOT, Server

__all__ = ["FormPage", "browser", "chromium", "playwright"]

STEP_LIMIT_MS = 90_000
READY = """() => {
    const panel = window.jupyterapp && window.jupyterapp.shell.currentWidget;
    if (!panel || !panel.context || !panel.context.isReady || !panel.sessionContext.isReady) return false;
    const session = panel.sessionContext.session;
    return Boolean(session && session.kernel && session.kernel.status === "idle");
}"""
DRAWN = "Array.from(document.querySelectorAll('.af-live-chart')).some(chart => Number(chart.dataset.drawn) > 0)"
PICTURES = ROOT / "artifacts" / "interactive"


@dataclass
class FormPage:
    """The form chapter in a browser, and what a person does in it."""

    page: Page
    folder: Path
    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def form(self) -> Locator:
        """The form itself: the first of the chapter's widgets."""
        return self.page.locator(".af-form").first

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def field(self, label: str) -> Locator:
        """A field of the part that is shown, by its label."""
        return self.form.get_by_label(label, exact=True)

    def tab(self, name: str) -> None:
        self.form.get_by_role("tab", name=name, exact=True).click()

    def part(self, title: str) -> None:
        """Choose a part in the list, whatever number of problems stands behind its title."""
        parts = self.form.get_by_label("Parts", exact=True)
        # The list writes spaces that do not break.
        wanted = parts.locator("option").filter(has_text=re.compile(rf"^{re.escape(title)}( |$)".replace("\\ ", r"\s")))
        expect(wanted).to_have_count(1)
        parts.select_option(value=wanted.get_attribute("value") or wanted.inner_text())

    def add(self, kind: str, name: str) -> None:
        self.form.get_by_label("Add", exact=True).select_option(label=kind)
        named = self.form.get_by_label("named", exact=True)
        named.fill(name)
        named.press("Tab")
        self.button("Add").click()
        expect(self.form.get_by_label("Parts", exact=True).locator("option:checked")).to_contain_text(name)

    def slider(self, label: str) -> Locator:
        """The handle of a slider, by the beginning of its label."""
        return self.form.locator(".af-slider").filter(has=self.page.locator(".widget-label", has_text=label)).locator(
            ".noUi-handle"
        )  # fmt: skip

    def big_numbers(self) -> list[str]:
        return [text.strip() for text in self.form.locator(".af-now .af-big").all_inner_texts()]

    def drawn(self) -> list[int]:
        """How often each chart on the page was drawn."""
        return [int(n) for n in self.page.evaluate(
            "Array.from(document.querySelectorAll('.af-live-chart')).map(chart => Number(chart.dataset.drawn || 0))"
        )]  # fmt: skip

    def picture(self, name: str) -> None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("interactive"))
    try:
        server.start()
        yield server
    finally:
        server.stop()


def chapter_for(scenario: str, chapter: str) -> str:
    """A chapter as a person would have it who named a file in its parameters."""
    nb = json.loads((ROOT / "workbooks" / f"{chapter}.ipynb").read_text("utf-8"))
    [cell] = [cell for cell in nb["cells"] if "parameters" in cell["metadata"].get("tags", [])]
    cell["source"] = [f"scenario = {scenario!r}\n", "overrides = {}"]
    return json.dumps(nb)


@pytest.fixture
def open_form(lab: Server, browser: Browser) -> Iterator[Callable[..., FormPage]]:
    """Open a chapter on a scenario in a kernel of its own and run it, up to its last button; other machines are blocked."""
    contexts = []

    def open_one(scenario: str, chapter: str = "02-fill-in", last: str = "Run report") -> FormPage:
        name = f"{chapter}-{secrets.token_hex(3)}.ipynb"
        (lab.notebooks / name).write_text(chapter_for(scenario, chapter), "utf-8")
        context = browser.new_context(viewport={"width": 1360, "height": 1000})
        contexts.append(context)
        context.set_default_timeout(STEP_LIMIT_MS)
        opened = FormPage(context.new_page(), lab.notebooks)

        def gate(route: Route) -> None:
            if urlsplit(route.request.url).hostname == "127.0.0.1":
                route.continue_()
            else:
                opened.outside.append(route.request.url)
                route.abort()

        opened.page.route("**/*", gate)
        opened.page.on("pageerror", lambda error: opened.errors.append(str(error)))
        workspace = secrets.token_hex(4)
        opened.page.goto(f"{lab.address}/lab/workspaces/{workspace}/tree/{name}?token={lab.token}", wait_until="commit")
        opened.page.wait_for_function(READY, timeout=STEP_LIMIT_MS)
        opened.page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
        expect(opened.button(last)).to_be_visible(timeout=STEP_LIMIT_MS)
        return opened

    expect.set_options(timeout=45_000)
    yield open_one
    for context in contexts:
        context.close()
