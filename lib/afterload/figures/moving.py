"""Charts whose data change while their form stays: the form is made once, the data alone for each step of a slider.

To make a whole figure takes longer than a person waits while a hand moves; its data take no time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from afterload.estimates import Estimates
from afterload.figures.backlog import age_figure, backlog_answer, backlog_figure, curve_data, shown_queues
from afterload.figures.charts import GREY, Clock
from afterload.figures.figure import Figure, Prose, Table
from afterload.figures.launches import launch_data, launch_figure, launches_answer
from afterload.figures.retries import layers_data, layers_figure, retries_answer
from afterload.figures.words import minutes_or_never, paragraph
from afterload.findings.backlog_bands import BacklogBand
from afterload.recovery.result import CoupledEstimate

__all__ = ["BAND", "GROUPS", "LIVE", "band_rows", "band_words", "banded", "bands_table", "narrow", "parted"]

Rows = list[dict[str, Any]]
LABELS_APART_PX = 10
# What a chart calls the rows of its band.
BAND = "band"


@dataclass(frozen=True)
class LiveChart:
    """One chart: ``figure`` makes it whole, ``data`` only what it draws, in the order of :func:`parted`.

    ``has_band`` says that the band of the backlog lies below its lines.
    """

    figure: Callable[[Estimates], Figure | Prose | Table]
    data: Callable[[Estimates], list[Rows]]
    has_band: bool = False


@dataclass(frozen=True)
class LiveGroup:
    """Charts that are looked at together, by name, and the sentences about them."""

    answer: Callable[[Estimates], Prose]
    charts: tuple[str, ...]


LIVE: Mapping[str, LiveChart] = {
    "backlog": LiveChart(backlog_figure, lambda estimates: _curve(estimates, "backlog"), has_band=True),
    "age": LiveChart(age_figure, lambda estimates: _curve(estimates, "first_attempt_age_min")),
    "layers": LiveChart(layers_figure, layers_data),
    "launches": LiveChart(launch_figure, launch_data),
}
GROUPS: Mapping[str, LiveGroup] = {
    "Queues": LiveGroup(backlog_answer, ("backlog", "age")),
    "Retries": LiveGroup(retries_answer, ("layers",)),
    "Launches": LiveGroup(launches_answer, ("launches",)),
}


def _curve(estimates: Estimates, field: str) -> list[Rows]:
    return curve_data(estimates, field) if estimates.queues else []


def parted(chart: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Rows]]:
    """A chart's specification with names in place of its data, and the data by these names, in the order of the chart."""
    data: dict[str, Rows] = {}

    def walk(node: Any) -> Any:
        if isinstance(node, list):
            return [walk(item) for item in node]
        if not isinstance(node, dict):
            return node
        if (
            set(node) == {"values"}
            and isinstance(node["values"], list)
            and all(isinstance(r, dict) for r in node["values"])
        ):
            name = f"data-{len(data)}"
            data[name] = node["values"]
            return {"name": name}
        return {key: walk(item) for key, item in node.items()}

    return walk(dict(chart)), data


def narrow(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The same for a chart of half a page: where labels of an axis would nearly touch, every second one is left out."""
    config = spec.get("config", {})
    return {**spec, "config": {**config, "axis": {**config.get("axis", {}), "labelSeparation": LABELS_APART_PX}}}


def banded(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A chart's specification from :func:`parted` with a band below its lines.

    Its rows are those of the name :data:`BAND`; while the parameter ``stale`` is true it is pale, and says so.
    """
    lines = next(layer for layer in spec["layer"] if "color" in layer.get("encoding", {}))
    found = lines["encoding"]

    def titled(field: str, title: str) -> dict[str, Any]:
        return {"field": field, "type": "quantitative", "title": title, "format": ",.0f"}

    band = {
        "data": {"name": BAND},
        "mark": {"type": "area", "opacity": {"expr": "stale ? 0.06 : 0.2"}},
        "encoding": {
            "x": found["x"],
            "y": {**found["y"], "field": "low"},
            "y2": {"field": "high"},
            "color": found["color"],
            "tooltip": [
                {"field": "queue", "type": "nominal"},
                titled("low", "P10"),
                titled("middle", "P50"),
                titled("high", "P90"),
                titled("minutes", "minutes after the trigger"),
            ],
        },
    }
    # One row as long as there is a band: its last.
    note = {
        "data": {"name": BAND},
        "transform": [{"window": [{"op": "row_number", "as": "place"}]}, {"filter": "datum.place === 1"}],
        "mark": {
            "type": "text", "align": "right", "baseline": "top", "x": {"expr": "width"}, "y": 0, "color": GREY,
            "text": {"expr": "stale ? 'P10 to P90: stale' : 'P10 to P90'"},
        },
    }  # fmt: skip
    return {**spec, "params": [{"name": "stale", "value": False}], "layer": [band, *spec["layer"], note]}


def band_rows(estimates: Estimates, bands: Sequence[BacklogBand]) -> Rows:
    """The rows of the bands of the backlog, for the queues that the chart shows."""
    clock, shown = Clock.of(estimates.loaded), shown_queues(estimates)
    return [
        {
            "queue": band.queue, "at": clock.after(minutes), "minutes": round(minutes, 1), "low": round(low, 1),
            "middle": round(middle, 1), "high": round(high, 1),
        }
        for band in bands
        if band.queue in shown
        for minutes, low, middle, high in zip(
            *(part.tolist() for part in (band.minutes, band.low, band.middle, band.high)), strict=True
        )
    ]  # fmt: skip


def band_words(bands: Sequence[BacklogBand]) -> str:
    """What a band is; empty text where there is none."""
    if not bands:
        return ""
    return (
        f"The band is P10 to P90 of what waits over {bands[0].draws:,} draws of the uncertain values; the line is at the likely "
        "ones."
    )


def bands_table(recovery: CoupledEstimate | None) -> Table | Prose:
    """How uncertain each queue's recovery is: P10, P50 and P90 over the ranges of the scenario."""
    if recovery is None or not recovery.drain:
        return paragraph(
            "No ranges are given, so there is one answer for each question. Give low and high of a value under uncertain to "
            "see how much the answers could vary."
        )
    rows = [
        (name, what, *(minutes_or_never(value) for value in (spread.p10, spread.p50, spread.p90)))
        for what, spreads in (("backlog empty", recovery.drain), ("fresh work on time", recovery.fresh))
        for name, spread in spreads.items()
    ]
    columns = ("queue", "after the restore", "P10", "P50", "P90")
    return Table(columns, tuple(rows), frozenset(columns[2:]), f"Over {recovery.draws:,} draws of the uncertain values")
