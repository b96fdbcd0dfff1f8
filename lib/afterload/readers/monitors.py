"""Metrics of Cloud Monitoring (``timeSeries.list``) and of Azure Monitor (``az monitor metrics list``), as JSON.

Cloud Monitoring: the point's end is its time; 64-bit integers are text; a DELTA is a count in its interval. Azure: the time is
the start of the interval; of the aggregations that were asked for, the total of a flow or the average of a stock is taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from afterload.errors import InputError
from afterload.readers.metric_times import TimeReader
from afterload.readers.reading import Remark
from afterload.readers.series import STATISTICS, Points

__all__ = ["is_monitor", "read_monitors"]

_AGGREGATIONS = ("total", "average", "maximum", "minimum", "count")
_KINDS = {"DELTA": "sum"}
# What is there at a moment: a total of it adds up samples.
_STOCKS = ("Active", "DeadLettered", "Scheduled", "Size", "Messages")


def is_monitor(value: dict[str, Any]) -> bool:
    """True for one series of Cloud Monitoring or one metric of Azure Monitor."""
    return {"metric", "points"} <= value.keys() or {"name", "timeseries"} <= value.keys()


def read_monitors(
    found: Iterable[tuple[str, dict[str, Any]]], times: TimeReader, remarks: list[Remark]
) -> list[Points]:
    """The points of every series in a file.

    Raises:
        InputError: none of its series has points of the form that is known.
    """
    made: list[Points] = []
    for path, value in found:
        try:
            made += [_google(path, value, times)] if "points" in value else _azure(path, value, times)
        except (KeyError, TypeError, AttributeError, ValueError):
            remarks.append(Remark("refused", f"{path} is not of the form that its service documents", times.file))
    if not made:
        raise InputError(f"{times.file}: holds no series with points: export it again")
    return made


def _google(path: str, value: dict[str, Any], times: TimeReader) -> Points:
    metric, resource = value["metric"], value.get("resource") or {}
    labels = {**(resource.get("labels") or {}), **(metric.get("labels") or {})}
    points = _points(str(metric["type"]), path, {key: str(label) for key, label in labels.items()})
    points.statistic, points.stamp, points.unit = (
        _KINDS.get(value.get("metricKind", ""), "unknown"),
        "end",
        value.get("unit"),
    )
    rows = [(row["interval"]["endTime"], next(iter(row["value"].values()))) for row in value["points"]]
    _add(points, rows, times)
    return points


def _azure(path: str, value: dict[str, Any], times: TimeReader) -> list[Points]:
    made = []
    for place, series in enumerate(value["timeseries"]):
        labels = {str(item["name"]["value"]): str(item["value"]) for item in series.get("metadatavalues") or ()}
        points = _points(str(value["name"]["value"]), f"{path}.timeseries[{place}]", labels)
        order = sorted(_AGGREGATIONS, key=lambda name: name == "total" and points.name.startswith(_STOCKS))
        given = [name for name in order if any(row.get(name) is not None for row in series["data"])]
        if given:
            points.statistic, points.stamp, points.unit = STATISTICS[given[0]], "start", value.get("unit")
            _add(
                points,
                [(row["timeStamp"], row[given[0]]) for row in series["data"] if row.get(given[0]) is not None],
                times,
            )
            made.append(points)
    return made


def _points(name: str, path: str, labels: dict[str, str]) -> Points:
    return Points(name, path, {key: label for key, label in labels.items() if key not in ("project_id", "project")})


def _add(points: Points, rows: list[tuple[Any, Any]], times: TimeReader) -> None:
    at = times.read([str(time) for time, _ in rows], 1)
    values = np.array([float(value) for _, value in rows])
    good = ~np.isnan(at)
    points.dropped += int((~good).sum())
    points.add(at[good], values[good])
