"""Cloud Monitoring and Azure Monitor: names, labels, units and values, and what is of another form."""

from __future__ import annotations

import json

import pytest

from afterload.errors import InputError
from afterload.readers.metrics import read_metrics_file

T = 1772532000  # 2026-03-03T10:00:00Z


def read(folder, value):
    path = folder / "metrics.json"
    path.write_text(json.dumps(value))
    return read_metrics_file(path)


def google(kind, *values):
    return {
        "metric": {"type": "pubsub.googleapis.com/subscription/num_undelivered_messages", "labels": {}},
        "resource": {"type": "pubsub_subscription", "labels": {"project_id": "p", "subscription_id": "orders"}},
        "metricKind": kind,
        "points": [
            {"interval": {"startTime": f"2026-03-03T10:0{minute}:00Z", "endTime": f"2026-03-03T10:0{minute}:00Z"}, "value": value}
            for minute, value in values
        ],
    }  # fmt: skip


def test_cloud_monitoring_writes_the_newest_first_and_whole_numbers_as_text(tmp_path):
    file = read(tmp_path, {"timeSeries": [google("GAUGE", (2, {"int64Value": "180"}), (1, {"int64Value": "160"}))]})
    (series,) = file.series
    assert series.title == "pubsub.googleapis.com/subscription/num_undelivered_messages (subscription_id=orders)"
    assert (series.times.tolist(), series.values.tolist()) == ([T + 60, T + 120], [160, 180])
    assert (series.statistic, series.stamp) == ("unknown", "end")
    assert "points come about 2 min late" in file.remarks[-1].text
    (counted,) = read(tmp_path, [google("DELTA", (0, {"doubleValue": 2.5}))]).series
    assert (counted.statistic, counted.values.tolist()) == ("sum", [2.5])


def test_azure_monitor_takes_the_aggregation_that_was_asked_for(tmp_path):
    def metric(name, key, *values):
        data = [{"timeStamp": f"2026-03-03T10:0{n}:00Z", "total": None, key: value} for n, value in enumerate(values)]
        labels = [{"name": {"value": "entityname"}, "value": "orders"}]
        return {"name": {"value": name}, "unit": "Count", "timeseries": [{"metadatavalues": labels, "data": data}]}

    metrics = [metric("IncomingMessages", "total", 60.0, 62.0), metric("ActiveMessages", "average", 5.0, None, 7.0)]
    file = read(tmp_path, {"interval": "PT1M", "value": metrics})
    assert [(item.title, item.statistic, item.stamp) for item in file.series] == [
        ("IncomingMessages (entityname=orders)", "sum", "start"), ("ActiveMessages (entityname=orders)", "average", "start")
    ]  # fmt: skip
    assert file.series[0].values.tolist() == [60, 62]
    assert file.series[1].times.tolist() == [T, T + 120]
    assert any("shows 0 while it is throttled" in remark.text for remark in file.remarks)


def test_what_is_of_another_form_is_refused(tmp_path):
    with pytest.raises(InputError, match="holds no series with points"):
        read(tmp_path, {"metric": "x", "points": [1, 2]})
    file = read(tmp_path, [google("GAUGE", (1, {"int64Value": "1"})), {"metric": {}, "points": []}])
    assert [remark.text for remark in file.remarks if remark.kind == "refused"] == [
        "line 1[1] is not of the form that its service documents"
    ]
