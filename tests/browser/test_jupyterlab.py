"""Workbooks in a real JupyterLab on this machine: run by hand, drawn by Lab's own renderer, changed and run again."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nbformat
import pytest
from playwright.sync_api import Browser, Page, Route
from tests.browser.servers import Server

from afterload.figures.figure import CHART_MIME

ROOT = Path(__file__).resolve().parents[2]
STEP_LIMIT_MS = 90_000
PAGE_LIMIT_S = 150
# The notebook that is open, once its kernel can be asked for something. Before that nothing would run.
READY = """() => {
    const panel = window.jupyterapp && window.jupyterapp.shell.currentWidget;
    if (!panel || !panel.context || !panel.context.isReady || !panel.sessionContext.isReady) return false;
    const session = panel.sessionContext.session;
    return Boolean(session && session.kernel && session.kernel.status === "idle");
}"""
CELLS = """() => {
    const cells = Array.from(window.jupyterapp.shell.currentWidget.content.model.cells);
    return cells.filter(cell => cell.type === "code").map(cell =>
        ({source: cell.sharedModel.getSource(), count: cell.executionCount, outputs: cell.outputs.toJSON()}));
}"""
# Every code cell was run after the given count, and the kernel has nothing more to do.
DONE = """(after) => {
    const panel = window.jupyterapp.shell.currentWidget;
    const cells = Array.from(panel.content.model.cells).filter(cell => cell.type === "code");
    return cells.every(cell => cell.executionCount !== null && cell.executionCount > after)
        && panel.sessionContext.session.kernel.status === "idle";
}"""
DRAWN = """() => {
    const shown = window.jupyterapp.shell.currentWidget.node.querySelectorAll(
        ".jp-OutputArea-output svg.marks, .jp-OutputArea-output canvas.marks");
    return Array.from(shown).filter(view => {
        const box = view.getBoundingClientRect();
        if (box.width < 100 || box.height < 30) return false;
        if (view.tagName !== "CANVAS") return view.querySelectorAll(".role-mark path, .role-mark line").length > 0;
        const pixels = view.getContext("2d").getImageData(0, 0, view.width, view.height).data;
        return pixels.some(value => value !== 0 && value !== 255);
    }).length;
}"""


def parent_of(number: int) -> int:
    try:
        return int(Path(f"/proc/{number}/stat").read_text("utf-8").rsplit(")", 1)[1].split()[1])
    except (OSError, IndexError):
        return 0


def end_pages() -> None:
    """Kill the pages of this process's browser. A page that draws without end answers nothing, not even a time limit."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            is_page = b"--type=renderer" in (folder / "cmdline").read_bytes()
        except OSError:
            continue
        above = int(folder.name)
        while is_page and above > 1:
            above = parent_of(above)
            if above == os.getpid():
                with suppress(OSError):
                    os.kill(int(folder.name), signal.SIGKILL)
                break


@pytest.fixture(autouse=True)
def page_limit() -> Iterator[None]:
    """End a page that has frozen, so that its test fails instead of waiting for ever."""
    watch = threading.Timer(PAGE_LIMIT_S, end_pages)
    watch.daemon = True
    watch.start()
    yield
    watch.cancel()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("lab"))
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture
def open_notebook(lab: Server, browser: Browser) -> Iterator[Any]:
    """Open a copy of a workbook; whatever is asked of another machine is blocked and recorded."""
    contexts = []

    def open_one(name: str) -> tuple[Page, list[str]]:
        shutil.copy(ROOT / "workbooks" / name, lab.notebooks / name)
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(STEP_LIMIT_MS)
        outside: list[str] = []

        def gate(route: Route) -> None:
            if urlsplit(route.request.url).hostname == "127.0.0.1":
                route.continue_()
            else:
                outside.append(route.request.url)
                route.abort()

        page.route("**/*", gate)
        # A workspace of its own, so that nothing else is open in it.
        workspace = secrets.token_hex(4)
        page.goto(f"{lab.address}/lab/workspaces/{workspace}/tree/{name}?token={lab.token}", wait_until="commit")
        page.wait_for_function(READY, timeout=STEP_LIMIT_MS)
        return page, outside

    yield open_one
    for context in contexts:
        context.close()


def run_all(page: Page, charts: int) -> list[dict[str, Any]]:
    """Run all cells through Lab's own command, and wait until every chart is drawn."""
    before = max([cell["count"] or 0 for cell in page.evaluate(CELLS)])
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
    page.wait_for_function(DONE, arg=before, timeout=STEP_LIMIT_MS)
    page.wait_for_function(f"({DRAWN})() === {charts}", timeout=STEP_LIMIT_MS)
    cells: list[dict[str, Any]] = page.evaluate(CELLS)
    assert [output for cell in cells for output in cell["outputs"] if output["output_type"] == "error"] == []
    assert page.locator(".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
    return cells


def shown(page: Page) -> str:
    return str(page.evaluate("() => window.jupyterapp.shell.currentWidget.content.node.innerText"))


def charts_in(name: str) -> int:
    nb = nbformat.read(ROOT / "tests" / "references" / name, as_version=4)
    outputs = [output for cell in nb.cells for output in cell.get("outputs", [])]
    return sum(CHART_MIME in output.get("data", {}) for output in outputs)


@pytest.mark.parametrize(
    ("name", "today", "changed"),
    [
        # 172 min at 1,200/min with 600/min to spare; then at 1,500/min with 300/min to spare.
        ("20-backlog.ipynb", ("206,400", "344 min"), ("258,000", "860 min")),
        ("50-change-plan.ipynb", ("344 min", "188,400"), ("860 min", "235,500")),
    ],
)
def test_a_workbook_runs_is_changed_and_runs_again(
    open_notebook: Any, name: str, today: tuple[str, ...], changed: tuple[str, ...]
) -> None:
    page, outside = open_notebook(name)
    charts = charts_in(name)
    assert charts >= 1
    cells = run_all(page, charts)
    text = shown(page)
    for number in today:
        assert number in text
    for number in changed:
        assert number not in text

    [place] = [n for n, cell in enumerate(cells) if cell["source"].startswith("scenario = ")]
    assert place == 0
    page.evaluate(
        """source => {
        const cells = Array.from(window.jupyterapp.shell.currentWidget.content.model.cells);
        cells.find(cell => cell.type === "code").sharedModel.setSource(source);
    }""",
        'scenario = "builtin:scenarios/orders.yaml"\noverrides = {"queues.orders.arrival_rate": "1500/min"}',
    )
    run_all(page, charts)
    text = shown(page)
    for number in changed:
        assert number in text
    assert today[0] not in text.replace("overrides", "")

    pictures = os.environ.get("AFTERLOAD_PICTURES")
    if pictures:
        page.screenshot(path=f"{pictures}/lab-{name.removesuffix('.ipynb')}.png")
    assert outside == []


def test_a_mistake_in_the_parameters_is_one_message(open_notebook: Any) -> None:
    page, _ = open_notebook("90-provenance.ipynb")
    page.evaluate(
        """() => {
        const cells = Array.from(window.jupyterapp.shell.currentWidget.content.model.cells);
        cells.find(cell => cell.type === "code").sharedModel.setSource(
            'scenario = "builtin:scenarios/orders.yaml"\\noverrides = {"queues.orders.arrival": "1500/min"}');
        window.jupyterapp.commands.execute("notebook:run-all-cells");
    }"""
    )
    page.wait_for_function(f"({CELLS})().some(cell => cell.outputs.some(output => output.output_type === 'error'))")
    message = "'arrival' is not known in queues.orders; nearest: queues.orders.arrival_rate"
    page.wait_for_function("message => document.body.innerText.includes(message)", arg=message)
    text = shown(page)
    assert "Traceback" not in text
    assert "---->" not in text
