"""Cut off, damaged and random files: an error that a person understands, or a reading that says it is partial."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.readers.metrics.writers import FORMS, save

from afterload.errors import InputError
from afterload.readers.metrics import MetricFile, read_metrics_file

POINTS = [(1_760_943_000.0 + 60 * i, 100 + i * 1.25) for i in range(40)]
QUIET = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def read(path) -> MetricFile | InputError:
    try:
        return read_metrics_file(path)
    except InputError as problem:
        return problem


def is_sound(found: MetricFile | InputError, path) -> None:
    if isinstance(found, InputError):
        assert str(path) in str(found)
        return
    for series in found.series:
        assert np.isfinite(series.values).all()
        assert (np.diff(series.times) > 0).all()
        assert series.rows_dropped >= 0
        assert len(series.times) > 0


@pytest.mark.parametrize("form", FORMS)
def test_cut_off_at_random_places(tmp_path, form):
    text = FORMS[form](POINTS)
    rng = random.Random(f"metrics {form}")
    last_good = len(text.rstrip())
    for _ in range(20):
        place = rng.randrange(1, last_good)
        # A CSV file that ends with a line end looks whole; a cut there cannot be seen.
        while text[place - 1] in "\r\n":
            place -= 1
        path = save(tmp_path, text[:place])
        found = read(path)
        is_sound(found, path)
        if isinstance(found, MetricFile):
            assert "partial" in [remark.kind for remark in found.remarks], (place, text[:place][-40:])
            whole = dict(POINTS) | {POINTS[-1][0] + 60: 0.5}
            orders = [series for series in found.series if series.name == "orders"]
            # What was read is what was written: never a number cut short.
            assert all(whole[t] == v for series in orders for t, v in zip(series.times, series.values, strict=True))


@pytest.mark.parametrize("form", ["get-metric-data", "query_range"])
def test_a_cut_document_after_a_whole_one_is_partial(tmp_path, form):
    text = FORMS[form](POINTS)
    rng = random.Random(form)
    for _ in range(20):
        found = read_metrics_file(save(tmp_path, text + text[: rng.randrange(1, len(text.rstrip()))]))
        assert "partial" in [remark.kind for remark in found.remarks]
        assert len(found.series[0].times) == len(POINTS)


@pytest.mark.parametrize("form", FORMS)
@QUIET
@given(st.data())
def test_bytes_changed_at_random(tmp_path, form, data):
    raw = bytearray(FORMS[form](POINTS[:6]).encode())
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(raw) - 1))
        raw[place : place + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
        if not raw:
            break
    path = tmp_path / "metrics.txt"
    path.write_bytes(bytes(raw))
    is_sound(read(path), path)


@QUIET
@given(st.text(alphabet='0123456789-:TZ,;."\n\t {}[]aN+', max_size=200))
def test_text_of_the_right_letters(tmp_path, text):
    path = save(tmp_path, "time,a\n" + text)
    is_sound(read(path), path)


CELL = st.one_of(
    st.sampled_from(["2025-10-20T06:50Z", "2025-10-20 06:51", "1760943000", "1760943000000", "", "NaN", "1,5", "1.234",
                     "x", '"']),
    st.floats().map(repr), st.integers().map(str), st.text(max_size=8),
)  # fmt: skip


@QUIET
@given(st.lists(st.lists(CELL, min_size=1, max_size=4), min_size=1, max_size=12), st.sampled_from(",;\t"))
def test_tables_of_odd_cells(tmp_path, rows, separator):
    text = "time" + separator + "a\n" + "\n".join(separator.join(row) for row in rows) + "\n"
    path = tmp_path / "metrics.txt"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    is_sound(read(path), path)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(["MetricDataResults", "Timestamps", "Values", "Id", "Label", "StatusCode", "Datapoints", "Timestamp",
                         "Sum", "Unit", "ExtendedStatistics", "NextToken", "Messages", "status", "error", "data", "resultType",
                         "result", "metric", "values", "warnings"]),
        inner, max_size=5,
    ),
    max_leaves=25,
)  # fmt: skip


@settings(QUIET, max_examples=200)
@given(JSON)
def test_json_of_the_right_names(tmp_path, value):
    path = save(tmp_path, json.dumps(value), "utf-8")
    is_sound(read(path), path)
    path = save(tmp_path, json.dumps({"data": {"resultType": "matrix", "result": [{"metric": {}, "values": value}]}}))
    is_sound(read(path), path)
    path = save(tmp_path, json.dumps({"MetricDataResults": [{"Timestamps": [value], "Values": [value]}, value]}))
    is_sound(read(path), path)
