"""The same series in every form is the same series, whatever the encoding and the order."""

from __future__ import annotations

import itertools
import json
import random

import numpy as np
import pytest
from tests.readers.metrics.writers import FORMS, long, metric_statistics, query_range, save, wide

from afterload.readers.metrics import MetricSeries, read_metrics_file

START = 1_760_943_000.0
VALUES = [1203.1, 0.1 + 0.2, 0.0, 1e-9, 987654321.123, 17.0, 1 / 3, 5e5, 2.5, 1203.125]
POINTS = [(START + 60 * i, value) for i, value in enumerate(VALUES)]


def orders(path) -> MetricSeries:
    return next(item for item in read_metrics_file(path).series if item.name == "orders")


def same(a: MetricSeries, points=POINTS) -> None:
    assert a.times[: len(points)].tolist() == [t for t, _ in points]
    assert a.values[: len(points)].tolist() == [v for _, v in points]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_written_and_read_back(tmp_path, form, encoding):
    series = orders(save(tmp_path, FORMS[form](POINTS), encoding))
    same(series)
    assert series.period_s == 60.0
    assert series.gaps == ()
    assert series.rows_dropped == 0


@pytest.mark.parametrize("form", FORMS)
def test_a_gap_is_a_gap_in_every_form(tmp_path, form):
    series = orders(save(tmp_path, FORMS[form](POINTS[:4] + POINTS[7:])))
    assert series.period_s == 60.0
    assert series.gaps == ((START + 240, START + 420),)


@pytest.mark.parametrize("seed", range(5))
def test_order_of_rows_never_matters(tmp_path, seed):
    mixed = POINTS.copy()
    random.Random(seed).shuffle(mixed)
    for write in (wide, long, metric_statistics, query_range):
        same(orders(save(tmp_path, write(mixed))))


@pytest.mark.parametrize("seed", range(5))
def test_order_of_rows_never_matters_to_conflicts_and_remarks(tmp_path, seed):
    rows = [
        "2025-10-20T06:48Z,1",
        "2025-10-20T06:49Z,2",
        "2025-10-20T06:49Z,3",
        "2025-10-20T06:50Z,4",
        "2025-10-20T06:50Z,4",
    ]
    seen = set()
    for _ in range(4):
        random.Random(seed).shuffle(rows)
        file = read_metrics_file(save(tmp_path, "time,a\n" + "\n".join(rows) + "\n"))
        seen.add(
            (tuple(file.series[0].times), tuple(file.series[0].values), file.series[0].rows_dropped, str(file.remarks))
        )
    assert len(seen) == 1
    assert file.series[0].values.tolist() == [1, 4]
    assert file.series[0].rows_dropped == 2
    assert "2 and 3" in str(file.remarks[0])
    assert file.remarks[0].kind == "doubt"


def test_forms_agree_with_each_other(tmp_path):
    read = {form: orders(save(tmp_path, write(POINTS))) for form, write in FORMS.items()}
    for a, b in itertools.pairwise(read.values()):
        assert np.array_equal(a.values[:10], b.values[:10])
        assert np.array_equal(a.times[:10], b.times[:10])


def test_arrays_cannot_be_changed(tmp_path):
    series = orders(save(tmp_path, wide(POINTS)))
    with pytest.raises(ValueError, match="read-only"):
        series.values[0] = 5


def test_series_know_file_place_and_date(tmp_path):
    path = save(tmp_path, query_range(POINTS))
    origin = orders(path).origin
    assert origin.file == str(path)
    assert "result[0]" in origin.place
    assert origin.exported_at.tzinfo is not None
    assert json.loads(path.read_text())["data"]["result"][0]["metric"]["__name__"] == "orders"
