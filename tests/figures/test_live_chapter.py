"""The live chapter: what it says before the first reading, and which readings are part of the answer."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from afterload.chapters import open_workbook
from afterload.figures import Figure, Prose, Table
from afterload.figures.live import live_figure, live_readings_table
from afterload.findings.live import live
from afterload.findings.live_known import Known, StatedRate
from afterload.resources import resource
from afterload.scenario import Reading, load_scenario

AT = datetime(2025, 10, 20, 9, 40, tzinfo=UTC)


@pytest.mark.parametrize(
    ("content", "words"), [(None, "is not there yet"), ("at,queue,depth\n", "holds no reading yet")]
)
def test_before_the_first_reading_it_says_how_to_begin(tmp_path: Path, content: str | None, words: str) -> None:
    text = resource("data", "scenarios", "orders.yaml").read_text("utf-8")
    (tmp_path / "own.yaml").write_text(f"{text}\nlive: {{queue: orders, log: seen.csv}}\n", "utf-8")
    if content is not None:
        (tmp_path / "seen.csv").write_text(content, "utf-8")
    workbook = open_workbook(str(tmp_path / "own.yaml"))
    assert workbook.live_answer().text == (
        f"seen.csv {words}: the first reading of orders, by afterload eta --log or the form of 03-live, begins it."
    )
    for shown in (workbook.live_course(), workbook.live_steps(), workbook.live_readings()):
        assert isinstance(shown, Prose)
        assert shown.text == "There is no reading yet."


def seen(depths: list[float]) -> list[Reading]:
    return [Reading(AT + timedelta(minutes=5 * place), "orders", depth) for place, depth in enumerate(depths)]


def line(*pieces: tuple[int, float, float]) -> list[float]:
    return [first - each * place for count, first, each in pieces for place in range(count)]


@pytest.mark.parametrize(
    ("depths", "parts"),
    [
        ([9_137.0, 4_137.0], ["yes", "yes"]),
        ([9_137.0, 4_137.0, 0.0], 2 * ["no: nothing waits any more"] + ["yes"]),
        ([137.0, 0.0, 9_137.0, 6_137.0], 2 * ["no: before the queue was empty"] + ["yes", "yes"]),
        (line((6, 206_437, 3_000), (6, 191_037, 400)), 5 * ["no: before the change"] + 7 * ["yes"]),
        (line((203, 906_437, 3_000)), 3 * ["no: only the last 200 count"] + 200 * ["yes"]),
    ],
    ids=["all", "empty now", "empty before", "a change", "many"],
)
def test_a_reading_that_does_not_count_says_why(depths: list[float], parts: list[str]) -> None:
    table = live_readings_table(live(seen(depths), Known(arrival=StatedRate(1_200, 60, "as read"))))
    assert isinstance(table, Table)
    assert [row[-1] for row in table.rows] == parts


def test_the_alternative_text_tells_what_is_drawn() -> None:
    loaded = load_scenario("builtin:scenarios/orders.yaml")
    both = Known(arrival=StatedRate(1_200, 60, "as read"), service=StatedRate(1_800, 90, "as read"))
    for readings, known, words in (
        (seen([9_137]), both, "Point of 1 reading, and a band of the backlog expected from P10 to P90. "),
        (seen([9_137]), Known(), "Point of 1 reading. orders: not known yet"),
        (seen([9_137, 0]), both, "Line of 2 readings. orders: nothing waits."),
    ):
        figure = live_figure(loaded, live(readings, known))
        assert isinstance(figure, Figure)
        assert figure.alt.startswith(words)


def test_labels_get_apart_by_the_axis_that_the_lines_make_as_long() -> None:
    """Empty after 70 min, where 0 and 25 min are apart; the objective makes the axis 240 min long, where they are not."""
    loaded = load_scenario("builtin:scenarios/orders.yaml")
    readings = seen(line((6, 18_437, 3_000), (6, 3_037, 400)))
    known = Known(restored_at=readings[0].at, objective_min=240)
    figure = live_figure(loaded, live(readings, known))
    assert isinstance(figure, Figure)
    labels = [layer for layer in _layers(figure.chart) if layer["mark"].get("type") == "text"]
    rows = {row["label"]: layer["mark"]["dy"] for layer in labels for row in layer["data"]["values"]}
    assert rows == {"restored": -4, "net rate changed": -18, "objective": -4}


def _layers(spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    below = spec.get("layer")
    return (
        [spec] if below is None else [found for item in below for found in _layers({"data": spec.get("data"), **item})]
    )
