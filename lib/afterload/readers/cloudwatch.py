"""CloudWatch's get-metric-data and get-metric-statistics output, as the CLI or an SDK prints it.

Field names: the service model of botocore (GetMetricDataOutput, GetMetricStatisticsOutput); a test compares them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from afterload.errors import InputError
from afterload.model.curves import FloatArray
from afterload.readers.metric_times import ACCEPTED, TimeReader
from afterload.readers.reading import Remark
from afterload.readers.series import Points, statistic_of

__all__ = ["METRIC_DATA", "METRIC_STATISTICS", "is_cloudwatch", "read_cloudwatch"]

# The members that are read, by the shape that has them.
METRIC_DATA = {
    "GetMetricDataOutput": ("MetricDataResults", "NextToken", "Messages"),
    "MetricDataResult": ("Id", "Label", "Timestamps", "Values", "StatusCode", "Messages"),
    "MessageData": ("Code", "Value"),
}
METRIC_STATISTICS = {
    "GetMetricStatisticsOutput": ("Label", "Datapoints"),
    "Datapoint": ("Timestamp", "SampleCount", "Average", "Sum", "Minimum", "Maximum", "Unit", "ExtendedStatistics"),
}
_STATISTICS = {"Sum": "sum", "Average": "average", "Maximum": "max", "Minimum": "min", "SampleCount": "count"}


def is_cloudwatch(value: dict[str, Any]) -> bool:
    """True for the output of either command, or for one result of the first (as ``--query`` leaves it)."""
    return "MetricDataResults" in value or "Datapoints" in value or {"Timestamps", "Values"} <= value.keys()


class _Reader:
    """Collects the points of all documents of one file; pages and repeated results of a metric become one series."""

    def __init__(self, times: TimeReader, remarks: list[Remark]) -> None:
        self.times, self.remarks = times, remarks
        self.points: dict[tuple[str, ...], Points] = {}
        self.status: dict[tuple[str, ...], str] = {}
        self.token: str | None = None
        self.count = 0

    def say(self, kind: Any, text: str) -> None:
        self.remarks.append(Remark(kind, text, self.times.file))

    def at(self, values: list[Any], where: str) -> FloatArray:
        """Timestamps as seconds since 1970, NaN for what is none."""
        texts = np.array([_text(value) for value in values], dtype=object)
        before = self.times.refused_count
        read = self.times.read(texts, 1)
        if self.times.refused_count > before:
            bad = int(np.flatnonzero(np.isnan(read))[0])
            self.say(
                "refused",
                f"{where}: {self.times.refused_count - before:,} timestamps were not read, the first {texts[bad]!r}; "
                f"accepted: {ACCEPTED}",
            )
        return read

    def numbers(self, values: list[Any], where: str) -> FloatArray:
        """Values as numbers; NaN, with a remark, for what is none."""
        read = np.array([_number(value) for value in values], dtype=np.float64)
        odd = [value for value in values if not _is_number(value)]
        if odd:
            self.say("refused", f"{where}: {len(odd):,} values are not numbers, the first {_shown(odd[0])}")
        return read

    def document(self, path: str, value: dict[str, Any]) -> None:
        self.count += 1
        if "Datapoints" in value:
            self.statistics(path, value)
            return
        results = value.get("MetricDataResults", [value])
        name = f"{path}.MetricDataResults" if "MetricDataResults" in value else path
        if not isinstance(results, list):
            self.say("refused", f"{name} is {_shown(results)}, not a list of results")
            return
        for place, result in enumerate(results):
            where = f"{name}[{place}]" if "MetricDataResults" in value else name
            self.result(where.lstrip("."), result)
        self.messages(value.get("Messages"), "the export")
        if "MetricDataResults" in value:
            # Each page that follows answers the token before it.
            self.token = str(value["NextToken"]) if value.get("NextToken") else None

    def messages(self, messages: Any, where: str) -> None:
        for message in messages if isinstance(messages, list) else ():
            if isinstance(message, dict):
                self.say("doubt", f"{where} says {message.get('Code')}: {message.get('Value')}")

    def result(self, where: str, result: Any) -> None:
        times, values = (
            (result.get(key) for key in ("Timestamps", "Values")) if isinstance(result, dict) else (None, None)
        )
        if not isinstance(times, list) or not isinstance(values, list):
            self.say("refused", f"{where} has no lists of Timestamps and Values")
            return
        if len(times) != len(values):
            self.say(
                "refused", f"{where} has {len(times):,} timestamps for {len(values):,} values, so none can be told"
            )
            return
        ident, label = str(result.get("Id") or ""), str(result.get("Label") or "")
        key = ("data", ident, label)
        status = str(result.get("StatusCode") or "Complete")
        points = self.points.setdefault(
            key, Points(label or ident, where, stamp="start", statistic=statistic_of(label))
        )
        if ident and label:
            points.labels["id"] = ident
        self.status[key] = status
        self.messages(result.get("Messages"), points.name)
        at, read = self.at(times, where), self.numbers(values, where)
        _add(points, at, read, self.count if status == "Complete" else 0)

    def statistics(self, path: str, value: dict[str, Any]) -> None:
        rows = value["Datapoints"]
        where = f"{path}.Datapoints".lstrip(".")
        if not isinstance(rows, list):
            self.say("refused", f"{where} is {_shown(rows)}, not a list of datapoints")
            return
        label = str(value.get("Label") or "")
        good = [row for row in rows if isinstance(row, dict) and "Timestamp" in row]
        if len(good) < len(rows):
            self.say("refused", f"{where}: {len(rows) - len(good):,} datapoints have no Timestamp")
        at = self.at([row["Timestamp"] for row in good], where)
        columns: dict[tuple[str, str], tuple[list[int], list[Any]]] = {}
        for place, row in enumerate(good):
            unit = str(row.get("Unit") or "")
            for statistic, seen in _statistics(row):
                places, seen_values = columns.setdefault((statistic, unit), ([], []))
                places.append(place)
                seen_values.append(seen)
        for (statistic, unit), (places, seen_values) in columns.items():
            key = ("statistics", label, statistic, unit)
            if key in self.points:
                self.say(
                    "doubt",
                    f"{label}: {where} was read as a further page of the same metric: this format does not state dimensions, so "
                    "check that it is not another queue or function",
                )
            points = self.points.setdefault(
                key,
                Points(
                    label, where, statistic=statistic, unit=unit if unit not in ("", "None") else None, stamp="start"
                ),
            )
            _add(points, at[np.array(places, dtype=np.intp)], self.numbers(seen_values, where), 0)

    def finish(self) -> None:
        if self.token is not None:
            self.say("partial", "NextToken is left over, so the service has more: repeat the command for the rest")
        for key, status in self.status.items():
            name = self.points[key].name
            if status == "PartialData":
                self.say(
                    "partial",
                    f"{name}: its last StatusCode is PartialData: some points are missing; repeat the command",
                )
            elif status != "Complete":
                self.say("partial", f"{name}: its StatusCode is {status[:40]}: points are missing or withheld")


def _add(points: Points, at: FloatArray, values: FloatArray, rank: int) -> None:
    kept = ~np.isnan(at)
    points.dropped += int((~kept).sum())
    points.add(at[kept], values[kept], rank)


def _statistics(row: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    for field, statistic in _STATISTICS.items():
        if field in row:
            yield statistic, row[field]
    extended = row.get("ExtendedStatistics")
    for name, value in (extended if isinstance(extended, dict) else {}).items():
        yield str(name), value


def _text(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Any) -> float:
    try:
        return float(value) if _is_number(value) else np.nan
    except OverflowError:
        return np.inf


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def read_cloudwatch(
    found: Iterable[tuple[str, dict[str, Any]]], times: TimeReader, remarks: list[Remark]
) -> list[Points]:
    """The points of every output in a file, metric by metric.

    Raises:
        InputError: there is no metric in it.
    """
    reader = _Reader(times, remarks)
    for path, value in found:
        reader.document(path, value)
    reader.finish()
    if not reader.points:
        why = (
            "; ".join(remark.text for remark in remarks)
            or "the command found no metric: check names, dimensions and times"
        )
        raise InputError(f"{times.file}: holds no metric: {why}")
    return list(reader.points.values())
