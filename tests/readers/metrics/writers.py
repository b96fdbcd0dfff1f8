"""Write a series in every form that the reader knows, independent of it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

Point = tuple[float, float]


def iso(seconds: float, zone: str = "Z") -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", zone)


def metric_data(points: list[Point], name: str = "orders") -> str:
    """As the AWS CLI prints it: newest first."""
    newest_first = sorted(points, reverse=True)
    result = {
        "Id": "m1", "Label": name, "Timestamps": [iso(t, "+00:00") for t, _ in newest_first],
        "Values": [v for _, v in newest_first], "StatusCode": "Complete",
    }  # fmt: skip
    return json.dumps({"MetricDataResults": [result], "Messages": []}, indent=4) + "\n"


def metric_data_epoch(points: list[Point], name: str = "orders") -> str:
    result = {"Id": "m1", "Label": name, "Timestamps": [t for t, _ in points], "Values": [v for _, v in points]}
    return json.dumps({"MetricDataResults": [{**result, "StatusCode": "Complete"}]}) + "\n"


def metric_statistics(points: list[Point], name: str = "orders") -> str:
    rows = [{"Timestamp": iso(t), "Sum": v, "Unit": "Count"} for t, v in points]
    return json.dumps({"Label": name, "Datapoints": rows[1::2] + rows[::2]}) + "\n"


def query_range(points: list[Point], name: str = "orders") -> str:
    values = [[t, repr(v)] for t, v in points]
    result = [{"metric": {"__name__": name, "job": "j"}, "values": values}]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}) + "\n"


def table(rows: list[list[str]], separator: str = ",", end: str = "\n") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator=end).writerows(rows)
    return text.getvalue()


def wide(points: list[Point], name: str = "orders") -> str:
    return table([["time", name, "other"], *([iso(t), repr(v), "1"] for t, v in points)])


def long(points: list[Point], name: str = "orders") -> str:
    rows = [row for t, v in points for row in ([iso(t), name, "eu", repr(v)], [iso(t), "other", "eu", "1"])]
    return table([["time", "name", "region", "value"], *rows])


def epoch_ms_tabs(points: list[Point], name: str = "orders") -> str:
    return table([["Time", name], *([str(round(t * 1000)), repr(v)] for t, v in points)], "\t", "\r\n")


def decimal_commas(points: list[Point], name: str = "orders") -> str:
    rows = [[iso(t, "+00:00"), repr(v).replace(".", ",")] for t, v in points]
    return table([["time", name], *rows, [iso(points[-1][0] + 60), "0,5"]], ";")


FORMS: dict[str, Callable[[list[Point]], str]] = {
    "get-metric-data": metric_data,
    "get-metric-data, epoch": metric_data_epoch,
    "get-metric-statistics": metric_statistics,
    "query_range": query_range,
    "wide": wide,
    "long": long,
    "epoch milliseconds, tabs": epoch_ms_tabs,
    "decimal commas": decimal_commas,
}


def save(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "metrics.txt"
    path.write_bytes(text.encode(encoding))
    return path
