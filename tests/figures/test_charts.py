"""Charts put together without copies, against altair's own way with the same rows."""

from __future__ import annotations

import json
from typing import Any

import altair as alt
import numpy as np
import pytest

from afterload.figures.charts import CONFIG, chart_of, finish

ROWS = [
    {"at": 1, "value": np.float64(2.5), "name": "a", "flag": True, "none": None},
    {"at": np.int64(2), "value": 0.0, "name": "<b>", "flag": False, "none": None},
]


def plain_chart(rows: list[dict[str, Any]], **options: Any) -> Any:
    return alt.Chart(alt.Data(values=rows), **options)


def plainly_finished(chart: Any, height: int = 260) -> dict[str, Any]:
    """The same size and theme by altair's own methods, each part and the whole checked against its schema."""
    several = isinstance(chart, alt.VConcatChart)
    sized = chart if several else chart.properties(width="container", height=height)
    for part, values in CONFIG.items():
        sized = getattr(sized, f"configure_{part}")(**values)
    spec: dict[str, Any] = sized.to_dict(validate=True)
    spec["$schema"] = "https://vega.github.io/schema/vega-lite/v5.json"
    if not several:
        spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return spec


def points(made: Any) -> Any:
    return made(ROWS).mark_point().encode(x=alt.X("at", type="quantitative"), y=alt.Y("value", type="quantitative"))


def layers(made: Any) -> Any:
    base = points(made)
    other = made([{"at": 1}]).mark_rule().encode(x=alt.X("at", type="quantitative"))
    text = base.mark_text().encode(text=alt.Text("name", type="nominal"))
    return base + text.transform_calculate(twice="datum.at * 2") + other


def stacked(made: Any) -> Any:
    panels = [points(made).properties(width=100, height=50), layers(made).resolve_scale(color="independent")]
    return alt.vconcat(*panels, made(ROWS, title="T").mark_bar().encode(y=alt.Y("name", type="nominal"))).resolve_scale(
        x="shared"
    )


@pytest.mark.parametrize("drawing", [points, layers, stacked])
def test_a_chart_is_what_altair_makes_of_its_rows(drawing: Any) -> None:
    """Down to the order of keys: packets are compared by their bytes."""
    assert json.dumps(finish(drawing(chart_of))) == json.dumps(plainly_finished(drawing(plain_chart)))


def test_numbers_of_numpy_are_plain_ones_in_a_chart() -> None:
    rows = finish(points(chart_of))["data"]["values"]
    assert json.loads(json.dumps(rows))[1]["at"] == 2.0
    assert type(rows[0]["value"]) is float


def test_a_chart_does_not_change_with_the_rows_that_it_was_made_of() -> None:
    rows = [{"at": 1, "value": 2}]
    chart = chart_of(rows).mark_point()
    rows[0]["at"] = 7
    assert finish(chart)["data"]["values"] == [{"at": 1, "value": 2}]
