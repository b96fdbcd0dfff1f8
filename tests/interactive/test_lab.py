"""The meeting: a team fills in its numbers in JupyterLab, sees every answer move, and saves the file that CI runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.browser.servers import ROOT, Server
from tests.forms.odd import ODD, ODD_LABELS
from tests.interactive.conftest import DRAWN, FormPage

from afterload.estimates import estimate
from afterload.figures import Figure
from afterload.figures.answer import headline
from afterload.figures.backlog import age_figure, backlog_answer, backlog_figure
from afterload.scenario import load_scenario

Open = Callable[[str], FormPage]


def test_a_new_team_from_empty_to_its_packet(open_form: Open) -> None:
    shown = open_form("payments.yaml")
    file = shown.folder / "payments.yaml"
    # Empty: what is missing is said at its field, and there is no file yet.
    expect(shown.form).to_contain_text("4 problems")
    shown.picture("1-empty")
    for label, text in (("team", "Payments"), ("time zone", "Europe/Berlin"), ("recovery objective", "4 h")):
        shown.field(label).fill(text)
    expect(shown.form).to_contain_text("holds nothing to compute")
    shown.add("Queue", "jobs")
    shown.field("arrival rate").fill("1,200/min")
    shown.field("service rate").fill("1,800/min")
    expect(shown.form.locator(".af-now .af-big")).to_have_text(["516 min"])
    shown.page.wait_for_function(DRAWN)
    assert not file.exists()

    # Broken and mended: the message stands beside the field, the last good result stays.
    shown.field("service rate").fill("1,800/mi")
    message = "'1,800/mi' has the unknown unit 'mi'; accepted: ms, s, min, h, days or weeks"
    row = shown.form.locator(".af-field").filter(has=shown.page.get_by_label("service rate", exact=True))
    expect(row.locator(".af-problem")).to_have_text(message)
    expect(shown.form.locator(".af-now .af-headline.af-stale .af-big")).to_have_text(["516 min"])
    shown.picture("2-broken")
    shown.field("service rate").fill("1,800/min")
    expect(shown.form.locator(".af-problem")).to_have_count(0)
    expect(shown.form.locator(".af-now .af-headline.af-stale")).to_have_count(0)

    # A slider by the keyboard: number, sentence and chart follow.
    shown.tab("Sliders")
    drawn = shown.drawn()
    shown.slider("jobs: arrival rate").focus()
    shown.page.keyboard.press("ArrowRight")
    expect(shown.form.get_by_text("jobs: arrival rate: 1,250/min")).to_be_visible()
    # 172 min x 1,250/min = 215,000, drained at 550/min in 391 min.
    expect(shown.form).to_contain_text("jobs: 215,000 items wait at the restore and take 391 min")
    expect(shown.form.locator(".af-now .af-big")).to_have_text(["563 min"])
    shown.page.wait_for_function(
        "before => Number(document.querySelector('.af-live-chart').dataset.drawn) > before", arg=drawn[0]
    )
    # Back in the form it stands where it was moved to.
    shown.tab("Form")
    expect(shown.field("arrival rate")).to_have_value("1,250/min")

    # Saved by the keyboard alone: the file holds it, and a batch run has the same numbers.
    shown.button("Save").focus()
    shown.page.keyboard.press("Enter")
    expect(shown.form).to_contain_text("saved payments.yaml")
    text = file.read_text("utf-8")
    assert "    arrival_rate: 1,250/min\n    service_rate: 1,800/min\n" in text
    assert text.startswith("# One team's recovery load.")
    estimates = estimate(load_scenario(file))
    assert shown.big_numbers() == [number for number, _ in headline(estimates)]
    assert backlog_answer(estimates).text in re.sub(r"\s+", " ", shown.form.inner_text())
    shown.form.get_by_role("button", name="Tables").press("Enter")
    # Tables follow when nothing moves.
    expect(shown.form.locator(".af-stale")).to_have_count(0)
    for figure in (backlog_figure(estimates), age_figure(estimates)):
        assert isinstance(figure, Figure)
        table = shown.form.locator("table.af-table", has=shown.page.get_by_text(figure.table.caption, exact=True))
        assert table.locator("tbody td").all_inner_texts() == [cell for line in figure.table.rows for cell in line]
    checked = subprocess.run(
        [sys.executable, "-m", "afterload.cli", "check", str(file)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert "391 min" in checked.stdout
    shown.picture("3-saved")

    # Opened again, in another session: what was saved.
    again = open_form("payments.yaml")
    expect(again.form.locator(".af-now .af-big")).to_have_text(["563 min"])
    again.tab("Form")
    again.part("Queue: jobs")
    expect(again.field("arrival rate")).to_have_value("1,250/min")
    assert file.read_text("utf-8") == text

    # Two sessions on one file lose nothing silently.
    again.field("service rate").fill("2,000/min")
    again.button("Save").click()
    expect(again.form).to_contain_text("saved payments.yaml")
    shown.field("service rate").fill("2,400/min")
    shown.button("Save").click()
    expect(shown.form).to_contain_text("was changed by somebody else")
    expect(shown.form.locator("pre")).to_contain_text("-    service_rate: 2,000/min")
    shown.picture("4-conflict")
    assert "2,000/min" in file.read_text("utf-8")
    shown.button("Read theirs").click()
    expect(shown.field("service rate")).to_have_value("2,000/min")

    # The packet of the saved file, with a bar that says how far it is.
    shown.button("Run report").click()
    report = shown.page.locator(".af-form").last
    expect(report).to_contain_text("packet: payments.html", timeout=120_000)
    shown.picture("5-report")
    packet = shown.folder / "packets" / "payments.html"
    # 215,000 items at 750/min to spare.
    assert "287 min" in packet.read_text("utf-8")
    plan = json.loads(packet.with_name("payments-plan.json").read_text("utf-8"))
    assert plan["input_sha256"] == load_scenario(file).digest
    for page in (shown, again):
        assert page.outside == []
        assert page.errors == []


@pytest.fixture
def export(tmp_path: Path) -> Path:
    path = tmp_path / "function.json"
    path.write_text(
        json.dumps(
            {
                "EventSourceMappings": [
                    {
                        "UUID": "11111111-2222-3333-4444-555555555555",
                        "EventSourceArn": "arn:aws:sqs:us-east-1:111122223333:orders",
                        "FunctionArn": "arn:aws:lambda:us-east-1:111122223333:function:order-worker",
                        "State": "Enabled",
                        "ScalingConfig": {"MaximumConcurrency": 50},
                    }
                ]
            }
        )
    )
    return path


def test_an_export_is_dropped_in_and_taken_value_by_value(open_form: Open, lab: object, export: Path) -> None:
    shown = open_form("builtin:scenarios/orders.yaml")
    expect(shown.form.locator(".af-now .af-big")).to_have_text(["516 min", "243 times", "19.2 min"])
    files = shown.page.locator(".af-form").nth(1)
    with shown.page.expect_file_chooser() as chooser:
        files.get_by_role("button", name=re.compile("Upload")).click()
    chooser.value.set_files(export)
    expect(files).to_contain_text("2 values to accept or reject")
    mapping = files.get_by_label("queues.orders.resources.event_source_mapping", exact=False)
    mapping.uncheck()
    expect(files.locator("td", has_text="not wanted")).to_have_count(1)
    shown.picture("6-files")
    shown.button("Take what is accepted").click()
    expect(files).to_contain_text("1 value written into the form")
    shown.tab("Sliders")
    # 50 at once at 2 s an item are 1,500/min: 300/min to spare for 206,400 items.
    expect(shown.form.get_by_text("orders: drain cap: 50 at once")).to_be_visible()
    expect(shown.form).to_contain_text("take 688 min")

    # A variant beside the file, and back by undo.
    shown.tab("Variants")
    shown.button("Compare").click()
    expect(shown.form.locator("td", has_text="queues.orders.drain_cap.concurrency")).to_have_count(1)
    shown.picture("7-variants")
    shown.button("Undo").click()
    expect(shown.form).to_contain_text("take 344 min")
    shown.page.locator(".af-form").first.scroll_into_view_if_needed()
    shown.tab("Sliders")
    shown.picture("8-sliders")
    assert not (shown.folder / "orders.yaml").exists()
    assert shown.outside == []
    assert shown.errors == []


WATCH_BAND = """() => {
    const chart = document.querySelector(".af-live-chart");
    window.bands = [chart.dataset.band];
    new MutationObserver(() => {
        if (window.bands.at(-1) !== chart.dataset.band) window.bands.push(chart.dataset.band);
    }).observe(chart, { attributes: true, attributeFilter: ["data-band"] });
}"""


def test_the_band_of_the_backlog_is_stale_until_it_follows(open_form: Open, lab: Server) -> None:
    text = (ROOT / "data" / "scenarios" / "orders.yaml").read_text("utf-8")
    ranges = "uncertain: {queues.orders.service_rate: {low: '1,600/min', high: '2,000/min'}}\n"
    (lab.notebooks / "ranged.yaml").write_text(f"{text}{ranges}", "utf-8")
    shown = open_form("ranged.yaml")
    shown.page.wait_for_function("document.querySelector('.af-live-chart')?.dataset.band === 'current'")
    shown.page.evaluate(WATCH_BAND)
    shown.picture("14-band")
    for _ in range(3):
        shown.slider("orders: arrival rate").press("ArrowRight")
    shown.page.wait_for_function("window.bands.length > 2 && window.bands.at(-1) === 'current'")
    seen = shown.page.evaluate("window.bands")
    assert seen == ["current", "stale"] * (len(seen) // 2) + ["current"]
    expect(shown.form.locator(".af-stale")).to_have_count(0)
    expect(shown.form).to_contain_text("over 200 draws of the uncertain values")
    shown.picture("15-band-moved")
    assert (shown.outside, shown.errors) == ([], [])


def test_values_between_the_steps_of_sliders_stay_as_they_are(open_form: Open, lab: Server) -> None:
    file = lab.notebooks / "odd.yaml"
    file.write_text(ODD, "utf-8")
    shown = open_form("odd.yaml")
    labels = shown.form.locator(".af-slider > .widget-label")
    state = shown.form.locator(".af-file + .af-soft")

    def seen_in(groups: tuple[str, ...] = ("Queues", "Retries", "Launches")) -> list[str]:
        found = []
        for group in groups:
            shown.button(group).click()
            expect(labels.first).to_be_visible()
            # A front end that sends other values does so as soon as it has drawn them.
            shown.page.wait_for_timeout(2_000 // len(groups))
            found += labels.all_inner_texts()
        return found

    assert seen_in() == ODD_LABELS
    shown.page.wait_for_timeout(2_000)
    expect(state).to_have_text("saved")
    expect(shown.button("Undo")).to_be_disabled()
    shown.button("Queues").click()
    service = shown.slider("labels: service rate")
    expect(service).to_have_attribute("aria-valuetext", "labels: service rate: 3,500/min")

    # One other field is saved, and it alone.
    shown.tab("Form")
    shown.part("Team and objective")
    shown.field("recovery objective").fill("45 min")
    expect(state).to_have_text("changes not saved")
    shown.button("Save").press("Enter")
    expect(state).to_have_text("saved")
    lines = [
        (old, new)
        for old, new in zip(ODD.splitlines(), file.read_text("utf-8").splitlines(), strict=True)
        if old != new
    ]
    assert lines == [("recovery_objective: 60 min", "recovery_objective: 45 min")]

    # A person moves one by a step, takes it back, and moves it again and back: the value is there, then as before.
    shown.tab("Sliders")
    assert seen_in(("Queues",)) == ODD_LABELS[:9]
    service.press("ArrowRight")
    expect(state).to_have_text("changes not saved")
    expect(labels.nth(2)).to_have_text("labels: service rate: 3,600/min")
    expect(service).to_have_attribute("aria-valuetext", "labels: service rate: 3,600/min")
    expect(service).to_be_focused()
    for button in ("Undo", "Redo", "Reset to file"):
        shown.button(button).click()
        expect(state).to_have_text("changes not saved" if button == "Redo" else "saved")
        shown.page.wait_for_timeout(1_000)
        expect(labels.nth(2)).to_have_text(f"labels: service rate: {'3,600' if button == 'Redo' else '3,500'}/min")
        expect(state).to_have_text("changes not saved" if button == "Redo" else "saved")
    shown.picture("16-between-steps")
    assert (shown.outside, shown.errors) == ([], [])


def test_a_handle_stays_under_the_pointer_that_holds_it(open_form: Open, lab: Server) -> None:
    (lab.notebooks / "held.yaml").write_text((ROOT / "data" / "scenarios" / "orders.yaml").read_text("utf-8"), "utf-8")
    shown = open_form("held.yaml")
    handle = shown.slider("orders: service rate")
    state = shown.form.locator(".af-file + .af-soft")
    handle.scroll_into_view_if_needed()
    most = handle.get_attribute("aria-valuemax")
    box = handle.bounding_box()
    assert box is not None
    shown.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    shown.page.mouse.down()
    shown.page.mouse.move(box["x"] + 2_000, box["y"], steps=8)
    expect(state).to_have_text("changes not saved")
    expect(shown.button("Undo")).to_be_enabled()
    shown.page.wait_for_timeout(1_500)
    held = handle.bounding_box()
    assert handle.get_attribute("aria-valuemax") == most == handle.get_attribute("aria-valuenow")
    shown.page.mouse.up()
    expect(handle).not_to_have_attribute("aria-valuemax", most or "")
    let_go = handle.bounding_box()
    assert held is not None
    assert let_go is not None
    assert let_go["x"] < held["x"]
    assert (shown.outside, shown.errors) == ([], [])


def test_pictures_are_not_committed() -> None:
    ignored = subprocess.run(
        ["git", "check-ignore", "-q", "artifacts/interactive/1-empty.png"], cwd=ROOT, check=False, timeout=30
    )
    assert ignored.returncode == 0
