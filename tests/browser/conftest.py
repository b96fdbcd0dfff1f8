"""A browser for packets: it opens one file, and every request beyond that file is blocked and recorded."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, Route, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DRAWN = "document.documentElement.dataset.chartsDrawn !== undefined"
WIDER = """() => Array.from(document.querySelectorAll("body *"))
    .filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
    .filter(e => !e.closest(".af-html, .af-skip"))
    .map(e => e.tagName + "." + (e.className.baseVal ?? e.className))"""


@dataclass
class OpenedPacket:
    """A page and what happened while it was open."""

    page: Page
    requests: list[str] = field(default_factory=list)
    console_errors: list[str] = field(default_factory=list)
    page_errors: list[str] = field(default_factory=list)

    @property
    def charts_drawn(self) -> int:
        return int(self.page.evaluate("document.documentElement.dataset.chartsDrawn"))

    @property
    def charts_failed(self) -> int:
        return int(self.page.evaluate("document.documentElement.dataset.chartsFailed"))

    def too_wide(self) -> list[str]:
        """Elements that stick out of the page to the right; frames that scroll do not count."""
        wider = self.page.evaluate(WIDER)
        if self.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            wider.append("the page itself")
        return list(wider)

    def assert_quiet(self) -> None:
        """No request, no console error, no uncaught exception."""
        assert self.requests == []
        assert self.console_errors == []
        assert self.page_errors == []


def find_chromium() -> str | None:
    """Path of a browser on this machine, or None where only Playwright's own may be there."""
    chosen = os.environ.get("AFTERLOAD_CHROMIUM")
    if chosen:
        return chosen
    return next((path for path in map(shutil.which, NAMES) if path), None)


@pytest.fixture(scope="session")
def chromium() -> str | None:
    return find_chromium()


# One browser a module: while Playwright is on, an event loop runs in this thread, and other tests may mind.
@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="module")
def browser(playwright: Playwright, chromium: str | None) -> Iterator[Browser]:
    """A started browser. A missing one fails the test: a packet nobody has looked at is not tested."""
    try:
        started = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
    except Exception as error:  # noqa: BLE001 - whatever the reason, the message must help
        pytest.fail(f"no browser starts; set AFTERLOAD_CHROMIUM to a Chromium: {error}", pytrace=False)
    yield started
    started.close()


@pytest.fixture
def open_packet(browser: Browser) -> Iterator[Callable[..., OpenedPacket]]:
    """Open an HTML file and wait until its charts are drawn: ``open_packet(path, width=1280, height=900)``."""
    contexts = []

    def open_one(html_path: Path, width: int = 1280, height: int = 900, **options: Any) -> OpenedPacket:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        opened = OpenedPacket(context.new_page())
        address = html_path.resolve().as_uri()

        def gate(route: Route) -> None:
            if route.request.url.partition("#")[0] == address:
                route.continue_()
            else:
                opened.requests.append(route.request.url)
                route.abort()

        def hear(message: ConsoleMessage) -> None:
            if message.type == "error":
                opened.console_errors.append(message.text)

        opened.page.route("**/*", gate)
        opened.page.on("console", hear)
        opened.page.on("pageerror", lambda error: opened.page_errors.append(str(error)))
        opened.page.goto(address)
        opened.page.wait_for_function(DRAWN, timeout=30_000)
        return opened

    yield open_one
    for context in contexts:
        context.close()
