"""Prometheus' query_range output, from Prometheus itself or from what speaks like it (Thanos, Mimir, VictoriaMetrics)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from afterload.errors import InputError
from afterload.readers.metric_times import EARLIEST, LATEST, TimeReader
from afterload.readers.reading import Remark
from afterload.readers.series import Points, statistic_of

__all__ = ["is_prometheus", "read_prometheus"]


def is_prometheus(value: dict[str, Any]) -> bool:
    """True for the ``data`` of an answer, or for an answer that is an error."""
    return "resultType" in value or _is_error(value)


def _is_error(value: dict[str, Any]) -> bool:
    return value.get("status") == "error" and ("error" in value or "errorType" in value)


def read_prometheus(
    found: Iterable[tuple[str, dict[str, Any]]],
    warnings: Iterable[str],
    times: TimeReader,
    remarks: list[Remark],
    queries: Mapping[str, str],
) -> list[Points]:
    """The points of every answer in a file, series by series; one without a name of its own goes by its query, if told.

    Raises:
        InputError: there is no series in it.
    """
    points: dict[tuple[tuple[str, str], ...], Points] = {}

    def refuse(text: str) -> None:
        remarks.append(Remark("refused", text, times.file))

    for path, value in found:
        if _is_error(value):
            refuse(f"the query failed ({value.get('errorType')}): {str(value.get('error'))[:200]}")
            continue
        kind, result = value["resultType"], value.get("result")
        if kind != "matrix" or not isinstance(result, list):
            refuse(
                f"resultType is {kind!r}, not a matrix: export with query_range, which has a start, an end and a step"
            )
            continue
        query = next(
            (query for place, query in queries.items() if path == place or path.startswith((f"{place}.", f"{place}["))),
            "",
        )
        for place, item in enumerate(result):
            where = f"{path}.result[{place}]".lstrip(".")
            _series(item, where, query, points, times, refuse)
    remarks += [Remark("doubt", f"Prometheus warns: {text[:300]}", times.file) for text in warnings]
    if not points:
        why = "; ".join(remark.text for remark in remarks) or "the query matched nothing in that time"
        raise InputError(f"{times.file}: holds no series: {why}")
    return list(points.values())


def _series(
    item: Any,
    where: str,
    query: str,
    points: dict[tuple[tuple[str, str], ...], Points],
    times: TimeReader,
    refuse: Callable[[str], None],
) -> None:
    metric = item.get("metric", {}) if isinstance(item, dict) else None
    rows = item.get("values") if isinstance(item, dict) else None
    if not isinstance(metric, dict) or not isinstance(rows, list):
        histogram = isinstance(item, dict) and "histograms" in item
        words = (
            "holds native histograms: export a quantile or a rate of it" if histogram else "has no metric and values"
        )
        refuse(f"{where} {words}")
        return
    labels = {str(name): str(value) for name, value in metric.items()}
    name = labels.pop("__name__", "")
    key = (("__name__", name or query), *sorted(labels.items()))
    statistic = statistic_of(name.replace("_", " "))
    series = points.setdefault(key, Points(name or query, where, labels, statistic, stamp="end"))
    at, values = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
    bad: list[Any] = []
    for place, row in enumerate(rows):
        seen = _pair(row)
        if seen is None:
            bad.append(row)
        else:
            at[place], values[place] = seen
    if bad:
        refuse(f'{where}: {len(bad):,} points are not [seconds, "number"], the first {str(bad[0])[:60]}')
    kept = (at >= EARLIEST) & (at <= LATEST)
    outside = ~kept & ~np.isnan(at)
    if outside.any():
        words = f"{int(outside.sum()):,} times are not seconds between 1973 and 2199, the first {at[outside][0]:.12g}"
        refuse(f"{where}: {words}")
    series.dropped += int((~kept).sum())
    series.add(at[kept], values[kept])


def _pair(row: Any) -> tuple[float, float] | None:
    if not isinstance(row, list) or len(row) != 2 or isinstance(row[0], bool) or not isinstance(row[0], int | float):
        return None
    if not isinstance(row[1], str) or "_" in row[1]:
        return None
    try:
        return float(row[0]), float(row[1])
    except (ValueError, OverflowError):
        return None
