"""Metrics as teams export them: CloudWatch, Prometheus, Cloud and Azure Monitor, CSV files, told apart by their content.

What a metric cannot tell, however well it was read, is said in a remark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from afterload.errors import InputError, UnsupportedError
from afterload.readers.caveats import caveats
from afterload.readers.cloudwatch import is_cloudwatch, read_cloudwatch
from afterload.readers.json_documents import documents, found_in
from afterload.readers.metric_times import TimeReader
from afterload.readers.metrics_csv import read_csv_metrics
from afterload.readers.monitors import is_monitor, read_monitors
from afterload.readers.numbers import Decimal
from afterload.readers.prometheus import is_prometheus, read_prometheus
from afterload.readers.reading import Remark
from afterload.readers.series import MetricFile, MetricSeries, Points
from afterload.readers.source import SourceFile, open_source

# Prometheus' own answer has no query; what a script or a proxy wraps it in may have.
_QUERY_KEYS = ("query", "expr", "promql")
__all__ = ["MetricFile", "MetricSeries", "read_metrics_file"]


def read_metrics_file(path: str | Path, *, zone: ZoneInfo | None = None, decimal: Decimal | None = None) -> MetricFile:
    """Read a file of metrics.

    Parameters:
        path: the file; its content tells its kind.
        zone: the zone of times that state none, as a person gave it; without it such a file is refused.
        decimal: the decimal sign of a CSV file whose numbers do not show it; a remark of kind ``ask`` tells when it is needed.

    Returns:
        Every series with at least one point, in the order of the file, and remarks on what was left out, what is doubtful, and
        what a person must say.

    Raises:
        NotFoundError: there is no such file.
        InputError: it is damaged, is no export of metrics, or holds no point that can be read.
    """
    source = open_source(path)
    remarks: list[Remark] = []
    times = TimeReader(source.name, zone)
    start = source.text[:1_000].lstrip()[:1]
    if not start and not source.text.strip():
        raise InputError(f"{source.name}: is empty: export it again")
    is_json = start in ("{", "[")
    points = _from_json(source, times, remarks) if is_json else read_csv_metrics(source, times, remarks, decimal)
    made = [item.series(source.name, source.modified_at, remarks) for item in points]
    remarks += [
        Remark("refused", f"{item.title}: has no point that could be read", source.name)
        for item in made
        if not len(item.times)
    ]
    series = tuple(item for item in made if len(item.times))
    if not series and not any(remark.kind == "ask" for remark in remarks):
        why = "; ".join(remark.text for remark in remarks[:3])
        raise InputError(f"{source.name}: holds no point that can be read: {why}")
    remarks += [Remark("doubt", text, source.name) for text in caveats(series)]
    return MetricFile(series, tuple(remarks))


def _from_json(source: SourceFile, times: TimeReader, remarks: list[Remark]) -> list[Points]:
    found = documents(source, remarks)
    kinds = (is_cloudwatch, is_prometheus, is_monitor)
    both = [
        item
        for place, document in found
        for item in found_in(document, lambda value: any(test(value) for test in kinds), place)
    ]
    clouds, others, monitors = ([item for item in both if _first(kinds, item[1]) is test] for test in kinds)
    if not both:
        keys = next((", ".join(list(value)[:6]) for _, value in found if isinstance(value, dict)), "a list")
        raise UnsupportedError(source.name, f"JSON with {keys[:80]}, which is no export of metrics")
    points = read_cloudwatch(clouds, times, remarks) if clouds else []
    if others:
        warnings = [text for _, document in found for text in _warnings(document)]
        points += read_prometheus(others, warnings, times, remarks, _queries(found))
    if monitors:
        points += read_monitors(monitors, times, remarks)
    if times.twice_count:
        words = (
            f"{times.twice_count:,} timestamps like {times.twice[0][1]!r} occur twice in {times.zone} and were left out"
        )
        remarks.append(Remark("ask", f"{words}: export in UTC or with offsets", source.name))
    return points


def _first(kinds: Iterable[Callable[[dict[str, Any]], bool]], value: dict[str, Any]) -> object:
    return next(test for test in kinds if test(value))


def _queries(found: list[tuple[str, Any]]) -> dict[str, str]:
    """The query of each answer whose export holds it, by the place of what holds both."""
    return {
        place: " ".join(next(value[key] for key in _QUERY_KEYS if isinstance(value.get(key), str)).split())
        for at, document in found
        for place, value in found_in(
            document, lambda value: any(isinstance(value.get(key), str) for key in _QUERY_KEYS), at
        )
    }


def _warnings(document: Any) -> Iterator[str]:
    for _, answer in found_in(document, lambda value: "data" in value and "status" in value):
        for key in ("warnings", "infos"):
            texts = answer.get(key)
            yield from (str(text) for text in texts) if isinstance(texts, list) else ()
