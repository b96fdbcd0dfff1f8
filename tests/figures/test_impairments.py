"""Control loops, removals and flapping targets: sentence, table and chart say what was computed, and say when nothing was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from afterload.chapters import Workbook
from afterload.figures import Figure, Prose
from afterload.impairments import TODAY, estimate_flapping
from afterload.model.timeouts import TimeoutQueue, goodput_by_length
from afterload.scenario import load_scenario
from afterload.units import format_count, format_number

Shown = Callable[[str], dict[str, Any]]
Books = Callable[[str], Workbook]


SECTIONS = (
    "control_loops", "timeout_goodput", "timeout_remedies", "removal_remedies", "removal_traps", "flapping",
)  # fmt: skip


@pytest.fixture(scope="module")
def shown(workbook: Books) -> Shown:
    """These sections alone, by the name of their method: another worker has all of them."""

    @cache
    def sections(name: str) -> dict[str, Any]:
        return {section: getattr(workbook(name), section)() for section in SECTIONS}

    return sections


def values(spec: Any, key: str) -> list[dict[str, Any]]:
    """Rows of a chart that hold a key."""

    def rows(part: Any) -> Iterator[dict[str, Any]]:
        if isinstance(part, dict):
            if isinstance(part.get("data"), dict):
                yield from part["data"].get("values", [])
            for inner in part.values():
                yield from rows(inner)
        elif isinstance(part, list):
            for inner in part:
                yield from rows(inner)

    return [row for row in rows(spec) if key in row]


def records(figure: Figure) -> list[dict[str, str]]:
    return [dict(zip(figure.table.columns, row, strict=True)) for row in figure.table.rows]


def test_control_loops_say_the_same_everywhere(shown: Shown, workbook: Books, name: str) -> None:
    found, sections = workbook(name).control_estimates, shown(name)
    if not found:
        assert "gives no control loops" in sections["control_loops"].text
        assert isinstance(sections["timeout_goodput"], Prose)
        assert isinstance(sections["timeout_remedies"], Prose)
        return
    lines = sections["control_loops"].text.splitlines()
    rows = records(sections["timeout_goodput"])
    for item, line, row in zip(found, lines, rows, strict=True):
        assert line.startswith(f"{item.name} serves ")
        assert row["control loop"] == item.name
        assert (row["can stay down"] == "yes") is item.can_stay_down is ("It can stay down" in line)
        assert row["useful length"] == format_number(item.loop.capacity_per_s * item.loop.timeout_s)
        if item.runs:
            words = {"heals": "it heals", "stays down": "it stays down", "not decided": "neither healed nor sure"}
            assert words[item.runs[TODAY].verdict] in line
        elif item.loop.waiting_at_restore:
            assert "not simulated" in line
    simulated = [item for item in found if item.runs]
    if not simulated:
        assert isinstance(sections["timeout_remedies"], Prose)
        return
    table = records(sections["timeout_remedies"])
    assert [row["control loop"] for row in table] == [item.name for item in simulated for _ in item.runs]
    runs = [(item.scale, run) for item in simulated for run in item.runs.values()]
    for row, (scale, run) in zip(table, runs, strict=True):
        assert row["verdict"] == run.verdict
        assert bool(row["time to recover"]) is (run.verdict == "heals")
        assert row["served in time"] == format_count(scale * run.in_time)
        counts = ("sends", "served in time", "served too late", "refused or dropped")
        assert all(row[column] for column in counts)


def test_the_goodput_curve_is_the_models(shown: Shown, workbook: Books) -> None:
    """docs/model.md section 3: goodput against queue length is a Poisson tail that falls at the useful length."""
    figure = shown("render-fleet")["timeout_goodput"]
    points = values(figure.chart, "value")
    queue = TimeoutQueue(60, 4, 5, 3000)
    expected = goodput_by_length(queue, [point["length"] for point in points])
    assert [point["value"] for point in points] == pytest.approx(expected.tolist(), abs=1e-5)
    assert {mark["label"] for mark in values(figure.chart, "label")} == {"useful length"}
    assert any("longest queue (3,000), waiting at the restore (2,400)" in note for note in figure.notes)
    assert "useful length of 240" in figure.alt


def test_removal_rows_and_lines_are_the_courses(shown: Shown, workbook: Books, name: str) -> None:
    (found, reasons), figure = workbook(name).removal_estimates, shown(name)["removal_remedies"]
    if not found:
        assert isinstance(figure, Prose)
        assert figure.text.startswith("No fleet loses instances while launches fail")
        assert all(reason in figure.text for reason in reasons)
        assert "no traps" in shown(name)["removal_traps"].text
        return
    rows = iter(records(figure))
    for item in found:
        for key, course in item.courses.items():
            row = next(rows)
            assert row["fleet"] == item.name
            assert row["least"] == format_number(course.lowest)
            assert row["removed"] == format_count(course.removed)
            assert (row["below what is needed for"] == "not at all") is (course.below_needed_s == 0)
            assert (row["what is done"] == "as it is") is (key == TODAY)
    assert next(rows, None) is None
    drawn: dict[str, list[float]] = {}
    for point in values(figure.chart, "serving"):
        drawn.setdefault(point["remedy"], []).append(point["serving"])
    item = next(each for each in found if f"Instances of {each.name} while" in figure.title)
    least = {row["what is done"]: row["least"] for row in records(figure) if row["fleet"] == item.name}
    assert "as it is" in drawn
    for label, line in drawn.items():
        assert format_number(min(line)) == least[label], label


def test_the_traps_of_the_example_have_their_figures(shown: Shown) -> None:
    text = shown("render-fleet")["removal_traps"].text
    # 75 min x 3/min = 225, of which the last is marked but not yet gone when the step ends.
    assert "Launch suspended alone leaves terminations running: 22" in text
    assert "replaces all that was marked unhealthy meanwhile at once" in text
    assert "AddToLoadBalancer is suspended is not registered" in text
    assert "count after 5 min, but its network state takes 30 min" in text
    held = Workbook(
        load_scenario("builtin:scenarios/render-fleet.yaml", ["fleets.preview-api.removal.health_check_grace=30 min"])
    )
    assert "replaced in a circle" not in held.removal_traps().text
    days = Workbook(load_scenario("builtin:scenarios/render-fleet.yaml", ["fleets.preview-api.launches_from=2 days"]))
    assert "more than 24 h without a successful launch" in days.removal_traps().text
    assert "more than 24 h" not in text


def test_flapping_rows_and_lines_are_the_courses(shown: Shown, workbook: Books, name: str) -> None:
    figure, (found, reasons) = shown(name)["flapping"], estimate_flapping(workbook(name).loaded)
    if not found:
        assert isinstance(figure, Prose)
        assert all(reason in figure.text for reason in reasons)
        assert reasons or "No fleet gives a target group" in figure.text
        return
    rows = iter(records(figure))
    for item in found:
        for key, runs in item.courses.items():
            row = next(rows)
            assert (row["fleet"], row["what is done"]) == (item.name, key)
            assert row["least that serve"] == format_count(min(float(run.capacity.min()) for run in runs))
            out = sum(bool(np.any(~run.in_dns)) for run in runs)
            assert row["zones leave DNS"] == {0: "in no run", len(runs): "in every run"}.get(
                out, f"in {out} of {len(runs)} runs"
            )
    item = next(each for each in found if f"Targets of {each.name} that" in figure.title)
    for key, runs in item.courses.items():
        line = [point["serving"] for point in values(figure.chart, "serving") if point["remedy"] == key]
        assert min(line) == runs[item.shown].lowest


def test_the_launch_line_waits_until_launches_succeed() -> None:
    late = ["fleets.renderers.launches_from=75 min"]
    book = Workbook(load_scenario("builtin:scenarios/render-fleet.yaml", late))
    plain = Workbook(load_scenario("builtin:scenarios/render-fleet.yaml"))
    first, before = (
        [point for point in values(each.launches().chart, "serving") if point["serving"] > 800]
        for each in (book, plain)
    )
    assert first[0]["minutes"] == pytest.approx(75 + before[0]["minutes"], abs=1e-3)
    assert "launches succeed after 1 h 15 min; then" in book.launches_answer().text
