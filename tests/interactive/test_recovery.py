"""The hour after a restore, in JupyterLab: type depth and age, read the answer of the terminal, add to one log."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from click.testing import CliRunner
from playwright.sync_api import expect
from tests.browser.servers import ROOT
from tests.interactive.conftest import DRAWN, FormPage
from tests.interactive.test_app import serious

from afterload.commands.live import eta


def first_line(*arguments: str) -> str:
    """What the terminal answers."""
    done = CliRunner().invoke(eta, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output.splitlines()[0]


def test_the_form_answers_as_the_terminal_and_they_share_a_log(
    open_form: Callable[..., FormPage], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = open_form("recovering.yaml", "03-live", "Open")
    monkeypatch.chdir(shown.folder)
    # There is no such scenario yet: it says so, and another is opened in the form.
    expect(shown.form).to_contain_text("recovering.yaml: no such file")
    text = (ROOT / "data" / "scenarios" / "orders.yaml").read_text("utf-8")
    (shown.folder / "recovering.yaml").write_text(f"{text}\nlive: {{ queue: orders, log: seen.csv }}\n", "utf-8")
    shown.field("scenario").fill("recovering.yaml")
    shown.button("Open").press("Enter")
    expect(shown.form).to_contain_text("There is no reading of orders yet")
    log = shown.folder / "seen.csv"
    assert not log.exists()

    # The keyboard alone, from the depth on.
    keys = shown.page.keyboard
    shown.field("items waiting").focus()
    keys.type("206,400x")
    expect(shown.form.locator(".af-problem")).to_contain_text("is not a number")
    keys.press("Backspace")
    expect(shown.form.locator(".af-problem")).to_have_count(0)
    keys.press("Tab")
    keys.type("172 min")
    shown.form.get_by_role("button", name="More that you see").press("Enter")
    shown.field("seen at").fill("2025-10-20T02:40-07:00")
    shown.button("Add reading").press("Enter")
    answer = shown.form.locator(".af-answer p").first
    expect(answer).to_contain_text("orders: empty in 5 h 44 min")
    assert answer.inner_text() == first_line("recovering.yaml")
    shown.page.wait_for_function(DRAWN)
    expect(shown.field("items waiting")).to_have_value("")

    # A second reading, from the terminal, is taken in; the third is typed again.
    first_line("recovering.yaml", "--log", "seen.csv", "--depth", "203300", "--at", "2025-10-20T02:45-07:00")
    expect(shown.form).to_contain_text("; 2 readings.")
    shown.field("items waiting").fill("194,600")
    shown.field("seen at").fill("2025-10-20T03:00-07:00")
    shown.button("Add reading").press("Enter")
    expect(shown.form).to_contain_text("; 3 readings.")
    assert answer.inner_text() == first_line("recovering.yaml")
    assert [line.split(",")[1:3] for line in log.read_text().splitlines()[1:]] == [
        ["orders", "206400"], ["orders", "203300"], ["orders", "194600"],
    ]  # fmt: skip
    # What the scenario says is gone over at once, by the keyboard too, and metrics can be given.
    shown.form.get_by_role("button", name="Over what the scenario says").press("Enter")
    shown.field("tested to").fill("1,800/min")
    expect(shown.form.locator(".af-answer")).to_contain_text("Safe cap: 40 at once, 1,200/min")
    shown.form.get_by_role("button", name="Readings from metrics").press("Enter")
    metrics = "".join(f"2025-10-20T10:{minute}:00Z,{194_600 - 600 * (minute - 5)}\n" for minute in range(10, 30))
    with shown.page.expect_file_chooser() as chooser:
        shown.form.get_by_role("button", name="Upload metrics").click()
    chooser.value.set_files({"name": "m.csv", "mimeType": "text/csv", "buffer": f"time,waiting\n{metrics}".encode()})
    expect(shown.form).to_contain_text("m.csv: no series is the backlog of orders")
    shown.field("series measure").fill("waiting=backlog:orders:items")
    shown.field("series measure").press("Enter")
    expect(shown.form).to_contain_text("; 23 readings.")
    assert len(log.read_text().splitlines()) == 4
    assert serious_in_form(shown) == []
    shown.picture("12-recovery")
    shown.button("Take back").press("Enter")
    expect(shown.form).to_contain_text("; 22 readings.")
    assert len(log.read_text().splitlines()) == 3
    assert (shown.outside, shown.errors) == ([], [])


def serious_in_form(shown: FormPage) -> list[tuple[str, str]]:
    """What axe finds in the form itself; the rest of the page is JupyterLab's own."""
    return [item for item in serious(shown.page) if "af-" in item[1]]
