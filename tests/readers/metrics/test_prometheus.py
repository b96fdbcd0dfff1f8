"""Prometheus answers: strings as numbers, NaN and infinity, gaps, errors, wrapping, other kinds of result."""

from __future__ import annotations

import json

import pytest
from tests.readers.metrics.writers import save

from afterload.errors import InputError
from afterload.readers.metrics import read_metrics_file

T = 1_760_943_000


def answer(values, metric=None, **more):
    result = [{"metric": metric if metric is not None else {"__name__": "up", "job": "a"}, "values": values}]
    return {"status": "success", "data": {"resultType": "matrix", "result": result}, **more}


def read(folder, *documents):
    return read_metrics_file(save(folder, "\n".join(json.dumps(document) for document in documents)))


def test_nan_and_infinity_are_no_values_and_leave_gaps(tmp_path):
    values = [[T, "1"], [T + 15, "NaN"], [T + 30.0, "+Inf"], [T + 45, "-Inf"], [T + 60, "4.5e0"], [T + 75, "5"]]
    file = read(tmp_path, answer(values))
    (series,) = file.series
    assert series.values.tolist() == [1, 4.5, 5]
    assert series.period_s == 15
    assert series.gaps == ((T + 15, T + 60),)
    assert series.rows_dropped == 3
    assert sum("is NaN (no data" in remark.text for remark in file.remarks) == 1
    assert sum("infinite" in remark.text for remark in file.remarks) == 1


def test_labels_name_a_series_and_its_stamp_is_the_end(tmp_path):
    file = read(tmp_path, answer([[T, "1"], [T + 60, "2"]], {"queue": "orders", "zone": "b"}))
    (series,) = file.series
    assert series.labels == (("queue", "orders"), ("zone", "b"))
    assert series.title == "queue=orders, zone=b"
    assert series.stamp == "end"
    assert series.starts.tolist() == [T - 60, T]


def test_several_answers_join_by_labels(tmp_path):
    file = read(
        tmp_path, answer([[T, "1"], [T + 15, "2"]]), answer([[T + 15, "2"], [T + 30, "3"]]), answer([[T, "9"]], {})
    )
    assert [series.values.tolist() for series in file.series] == [[1, 2, 3], [9]]


def test_an_error_is_told_in_its_own_words(tmp_path):
    with pytest.raises(InputError, match=r"query failed \(bad_data\): parse error"):
        read(tmp_path, {"status": "error", "errorType": "bad_data", "error": "parse error"})


def test_an_error_beside_an_answer_is_a_remark(tmp_path):
    file = read(tmp_path, answer([[T, "1"]]), {"status": "error", "errorType": "timeout", "error": "too long"})
    assert [remark.kind for remark in file.remarks] == ["refused"]


@pytest.mark.parametrize("kind", ["vector", "scalar", "string", "streams"])
def test_instant_queries_are_refused_with_what_to_do(tmp_path, kind):
    with pytest.raises(InputError, match="query_range"):
        read(tmp_path, {"status": "success", "data": {"resultType": kind, "result": []}})


def test_warnings_are_passed_on(tmp_path):
    file = read(tmp_path, answer([[T, "1"]], warnings=["store gateway is down"], infos=["not a counter"]))
    assert {remark.text.split(": ", 1)[1] for remark in file.remarks} == {"store gateway is down", "not a counter"}


@pytest.mark.parametrize(
    "wrap", [lambda a: {"results": {"A": a}}, lambda a: [a], lambda a: a["data"], lambda a: {"body": json.dumps(a)}]
)
def test_wrapped_answers(tmp_path, wrap):
    assert read(tmp_path, wrap(answer([[T, "1"], [T + 15, "2"]]))).series[0].values.tolist() == [1, 2]


def test_native_histograms_are_refused(tmp_path):
    document = answer([])
    document["data"]["result"] = [{"metric": {}, "histograms": [[T, {}]]}]
    with pytest.raises(InputError, match="native histograms"):
        read(tmp_path, document)


@pytest.mark.parametrize(
    "bad", [[T], [T, 5], [T, "1_000"], ["x", "1"], None, [T, "one"], [True, "1"], [T * 1000, "1"], [1e400, "1"]]
)
def test_odd_points_are_refused_and_counted(tmp_path, bad):
    file = read(tmp_path, answer([[T, "1"], bad, [T + 15, "2"]]))
    assert file.series[0].values.tolist() == [1, 2]
    assert file.series[0].rows_dropped == 1
    assert file.remarks[0].kind == "refused"


def test_a_raw_counter_is_noticed(tmp_path):
    rising = [[T + 15 * i, str(7 * i)] for i in range(20)]
    text = [remark.text for remark in read(tmp_path, answer(rising, {"__name__": "requests_total"})).remarks]
    assert any("looks like a counter" in words for words in text)
    falling = [[T + 15 * i, str(900 - 7 * i)] for i in range(20)]
    assert read(tmp_path, answer(falling, {"__name__": "requests_total"})).remarks == ()


def test_a_series_without_a_name_goes_by_its_query_where_the_export_holds_it(tmp_path):
    labels = {"topic": "playback-events"}
    query = "sum by (topic) (rate(in_total[5m]))"
    inner = answer([[T, "1"], [T + 60, "2"]], labels)
    wrapped = {"query": query, "response": inner}
    assert [item.title for item in read(tmp_path, wrapped).series] == [f"{query} (topic=playback-events)"]
    file = read(tmp_path, [wrapped, {"expr": "rate(out_total[5m])", "answer": inner}])
    assert [item.name for item in file.series] == [query, "rate(out_total[5m])"]
    assert {item.statistic for item in file.series} == {"unknown"}
