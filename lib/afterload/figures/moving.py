"""Charts whose data change while their form stays: the form is made once, the data alone for each step of a slider.

To make a whole figure takes longer than a person waits while a hand moves; its data take no time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from afterload.coupling import CoupledEstimate
from afterload.estimates import Estimates
from afterload.figures.backlog import age_figure, backlog_answer, backlog_figure, curve_data
from afterload.figures.figure import Figure, Prose, Table
from afterload.figures.launches import launch_data, launch_figure, launches_answer
from afterload.figures.retries import layers_data, layers_figure, retries_answer
from afterload.figures.words import minutes_or_never, paragraph

__all__ = ["GROUPS", "LIVE", "LiveChart", "LiveGroup", "bands_table", "parted"]

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class LiveChart:
    """One chart: ``figure`` makes it whole, ``data`` only what it draws, in the order of :func:`parted`."""

    figure: Callable[[Estimates], Figure | Prose | Table]
    data: Callable[[Estimates], list[Rows]]


@dataclass(frozen=True)
class LiveGroup:
    """Charts that are looked at together, by name, and the sentences about them."""

    answer: Callable[[Estimates], Prose]
    charts: tuple[str, ...]


LIVE: Mapping[str, LiveChart] = {
    "backlog": LiveChart(backlog_figure, lambda estimates: _curve(estimates, "backlog")),
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
