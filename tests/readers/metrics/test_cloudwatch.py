"""CloudWatch output: names against botocore's service model, pages, partial data, leftovers, wrapping, oddities."""

from __future__ import annotations

import json
from functools import cache

import botocore.session
import pytest
from tests.readers.metrics.writers import save

from afterload.errors import InputError
from afterload.readers.cloudwatch import METRIC_DATA, METRIC_STATISTICS
from afterload.readers.metrics import read_metrics_file

T = 1_760_943_000


@cache
def model():
    return botocore.session.get_session().get_service_model("cloudwatch")


def page(times, values, status="Complete", ident="m1", label="Sent", **more):
    result = {"Id": ident, "Label": label, "Timestamps": times, "Values": values, "StatusCode": status}
    return {"MetricDataResults": [result], **more}


def read(folder, *documents):
    return read_metrics_file(save(folder, "\n".join(json.dumps(document) for document in documents)))


def kinds(file):
    return [remark.kind for remark in file.remarks]


@pytest.mark.parametrize(("shape", "members"), [*METRIC_DATA.items(), *METRIC_STATISTICS.items()])
def test_fields_are_those_of_the_service_model_of_botocore(shape, members):
    assert set(members) <= set(model().shape_for(shape).members)


def test_status_codes_and_statistics_are_those_of_the_service_model():
    assert set(model().shape_for("StatusCode").enum) == {"Complete", "InternalError", "PartialData", "Forbidden"}
    known = {"SampleCount", "Average", "Sum", "Minimum", "Maximum"}
    assert set(model().shape_for("Statistic").enum) == known
    assert known < set(METRIC_STATISTICS["Datapoint"])


def test_newest_first_epoch_floats_and_iso_are_one_series(tmp_path):
    file = read(
        tmp_path,
        page([T + 120.0, T + 60.0, float(T)], [3, 2, 1]),
        page(["2025-10-20T06:53:00Z", "2025-10-20T06:54:00+00:00"], [4, 5]),
        page(["2025-10-20T06:55:00.000Z", "2025-10-19T23:56:00-07:00"], [6, 7]),
    )
    (series,) = file.series
    assert series.times.tolist() == [T + 60.0 * i for i in range(7)]
    assert series.values.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert series.stamp == "start"
    assert file.remarks == ()


def test_partial_data_then_complete_with_the_same_points(tmp_path):
    file = read(tmp_path, page([T, T + 60], [1, 2], "PartialData", NextToken="x"), page([T + 60, T + 120], [2, 3]))
    assert file.series[0].values.tolist() == [1, 2, 3]
    assert file.remarks == ()


def test_complete_wins_over_partial_data_in_either_order(tmp_path):
    partial, whole = page([T, T + 60], [1, 2], "PartialData"), page([T + 60, T + 120], [2.5, 3])
    for documents in ((partial, whole), (whole, partial)):
        assert read(tmp_path, *documents).series[0].values.tolist() == [1, 2.5, 3]


def test_newest_complete_wins_and_both_values_are_named(tmp_path):
    file = read(tmp_path, page([T, T + 60], [1, 2]), page([T + 60, T + 120], [7, 3]))
    assert file.series[0].values.tolist() == [1, 7, 3]
    assert kinds(file) == ["doubt"]
    assert "2, then 7" in file.remarks[0].text


def test_conflicting_partial_data_is_left_out_and_both_values_are_named(tmp_path):
    file = read(tmp_path, page([T, T + 60], [1, 2], "PartialData"), page([T + 60, T + 120], [7, 3], "PartialData"))
    assert file.series[0].values.tolist() == [1, 3]
    assert "2 and 7" in next(remark.text for remark in file.remarks if remark.kind == "doubt")
    assert "partial" in kinds(file)


def test_an_id_of_two_labels_is_two_series(tmp_path):
    file = read(tmp_path, page([T], [1], label="a"), page([T], [2], label="b"))
    assert [series.values.tolist() for series in file.series] == [[1], [2]]


def test_a_token_left_over_is_said(tmp_path):
    file = read(tmp_path, page([T], [1], NextToken="more"))
    assert kinds(file) == ["partial"]
    assert "NextToken" in file.remarks[0].text


@pytest.mark.parametrize("status", ["PartialData", "InternalError", "Forbidden"])
def test_a_last_status_that_is_not_complete_is_said(tmp_path, status):
    file = read(tmp_path, page([T], [1], status))
    assert kinds(file) == ["partial"]
    assert status in file.remarks[0].text


def test_messages_of_the_service_are_passed_on(tmp_path):
    file = read(tmp_path, page([T], [1], Messages=[{"Code": "MaxMetricsExceeded", "Value": "500 of 900"}]))
    assert "MaxMetricsExceeded: 500 of 900" in file.remarks[0].text


@pytest.mark.parametrize(
    "wrap",
    [
        lambda item: {"ResponseMetadata": {"HTTPStatusCode": 200}, "response": item},
        lambda item: [{"step": 1}, [item]],
        lambda item: {"body": json.dumps(item)},
        lambda item: item["MetricDataResults"],
        lambda item: item["MetricDataResults"][0],
    ],
)
def test_wrapped_output(tmp_path, wrap):
    file = read(tmp_path, wrap(page([T, T + 60], [1, 2])))
    assert file.series[0].values.tolist() == [1, 2]


def test_more_values_than_timestamps_are_refused_alone(tmp_path):
    file = read(tmp_path, page([T], [1]), page([T, T + 60], [1, 2, 3], ident="m2"))
    assert len(file.series) == 1
    assert "2 timestamps for 3 values" in file.remarks[0].text


def test_odd_values_and_timestamps_are_refused_with_the_value(tmp_path):
    file = read(tmp_path, page([T, "yesterday", T + 120, T + 180], [1, 2, None, True]))
    assert file.series[0].values.tolist() == [1]
    assert file.series[0].rows_dropped == 3
    text = " ".join(str(remark) for remark in file.remarks)
    assert "'yesterday'" in text
    assert "None" in text


def test_nan_literals_are_no_data(tmp_path):
    file = read(tmp_path, page([T, T + 60], [1, float("nan")]))
    assert file.series[0].values.tolist() == [1]
    assert "not taken as zero" in file.remarks[0].text


def test_a_metric_that_was_not_found_is_an_error_that_says_so(tmp_path):
    with pytest.raises(InputError, match="found no metric"):
        read(tmp_path, {"MetricDataResults": [], "Messages": []})
    with pytest.raises(InputError, match="no point"):
        read(tmp_path, page([], []))
    with pytest.raises(InputError, match="found no metric"):
        read(tmp_path, {"Label": "Sent", "Datapoints": []})


def test_statistics_come_apart_by_statistic_and_unit(tmp_path):
    rows = [
        {"Timestamp": T + 60, "Sum": 2.0, "Maximum": 9, "ExtendedStatistics": {"p99": 8.5}, "Unit": "Count"},
        {"Timestamp": T, "Sum": 1.0, "Maximum": 7, "ExtendedStatistics": {"p99": 6.5}, "Unit": "Count"},
        {"Timestamp": T, "Sum": 5.0, "Unit": "None"},
    ]
    file = read(tmp_path, {"Label": "Sent", "Datapoints": rows})
    found = {(series.statistic, series.unit): series.values.tolist() for series in file.series}
    assert found == {
        ("sum", "Count"): [1, 2], ("max", "Count"): [7, 9], ("p99", "Count"): [6.5, 8.5], ("sum", None): [5]
    }  # fmt: skip


def test_statistics_of_one_label_are_pages_with_a_doubt(tmp_path):
    def document(times):
        return {"Label": "Sent", "Datapoints": [{"Timestamp": t, "Sum": 1.0, "Unit": "Count"} for t in times]}

    file = read(tmp_path, document([T, T + 60]), document([T + 120]))
    assert len(file.series[0].times) == 3
    assert "dimensions" in file.remarks[0].text


def test_datapoints_without_timestamp_are_refused(tmp_path):
    file = read(
        tmp_path, {"Label": "Sent", "Datapoints": [{"Sum": 1.0}, {"Timestamp": T, "Sum": 1.0, "Unit": "Count"}]}
    )
    assert kinds(file) == ["refused"]


def test_what_sqs_metrics_cannot_tell_is_said_once(tmp_path):
    names = ("ApproximateAgeOfOldestMessage", "ApproximateNumberOfMessagesVisible", "NumberOfMessagesSent")
    results = [page([T, T + 60, T + 6000], [1, 2, 3], label=name, ident=f"m{i}") for i, name in enumerate(names)]
    text = [remark.text for remark in read(tmp_path, *results).remarks]
    assert sum("poison" in words and "dead-letter" in words for words in text) == 1
    assert sum("approximate" in words and "no data is not zero" in words for words in text) == 1
    assert sum("gap without data" in words for words in text) == 3
