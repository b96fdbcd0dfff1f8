"""Readings of one queue from metrics that hold several queues: never those of another one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from afterload.errors import InputError
from afterload.intake.live import metric_readings, names_elsewhere, names_of, uploaded_readings
from afterload.resources import resource
from afterload.scenario import load_scenario

VISIBLE, AGE = "ApproximateNumberOfMessagesVisible", "ApproximateAgeOfOldestMessage"
DEPTHS = {"refunds": [500, 400, 300], "orders": [90_000, 89_000, 88_000]}


def cloudwatch(*series: tuple[str, list[int]]) -> bytes:
    """The output of ``aws cloudwatch get-metric-data`` with a label and values for each series."""
    times = [f"2025-10-20T10:0{minute}:00+00:00" for minute in range(3)]
    results = [
        {"Id": f"m{place}", "Label": label, "Timestamps": times, "Values": values, "StatusCode": "Complete"}
        for place, (label, values) in enumerate(series)
    ]
    return json.dumps({"MetricDataResults": results}).encode()


def depths(content: bytes, queue: str = "orders", **more: Any) -> list[float]:
    readings, _ = uploaded_readings({"m.json": content}, queue, **more)
    return [item.depth for item in readings]


@pytest.mark.parametrize("queue", DEPTHS)
@pytest.mark.parametrize("order", [1, -1])
def test_of_two_queues_in_one_file_the_one_that_is_named_is_read(queue: str, order: int) -> None:
    series = [(f"{name} {VISIBLE}", values) for name, values in DEPTHS.items()][::order]
    assert depths(cloudwatch(*series), queue) == DEPTHS[queue]


def test_a_name_that_only_begins_the_same_is_another_queue() -> None:
    series = [(f"orders-dlq {VISIBLE}", [7, 7, 7]), (f"orders {VISIBLE}", DEPTHS["orders"])]
    assert depths(cloudwatch(*series)) == DEPTHS["orders"]


def test_a_queue_is_known_by_its_url_and_others_of_the_scenario_are_left_out(tmp_path: Path) -> None:
    url = "https://sqs.us-east-1.amazonaws.com/1/order-queue"
    text = resource("data", "scenarios", "orders.yaml").read_text("utf-8")
    refunds = "queues:\n  refunds: {arrival_rate: 5/min, service_rate: 9/min, resources: {function: give-back}}\n"
    (tmp_path / "own.yaml").write_text(text.replace("\nqueues:\n", f"\n{refunds}"), "utf-8")
    loaded = load_scenario(tmp_path / "own.yaml", {"queues.orders.resources.queue_url": url})
    assert names_of(loaded, "orders") >= {"order-queue", url}
    assert names_elsewhere(loaded, "orders") == {"refunds", "give-back"}
    both = {"names": names_of(loaded, "orders"), "others": names_elsewhere(loaded, "orders")}
    series = [(f"give-back {VISIBLE}", DEPTHS["refunds"]), (f"order-queue {VISIBLE}", DEPTHS["orders"])]
    assert depths(cloudwatch(*series), **both) == DEPTHS["orders"]
    with pytest.raises(InputError, match=r"m\.json: no series is the backlog of orders"):
        depths(cloudwatch(series[0]), **both)
    # Somebody who says so knows better.
    assert depths(cloudwatch(series[0]), series=[f"give-back {VISIBLE}=backlog"], **both) == DEPTHS["refunds"]


def test_what_does_not_tell_its_queue_is_asked_for() -> None:
    series = [(f"a {VISIBLE}", DEPTHS["refunds"]), (f"b {VISIBLE}", DEPTHS["orders"])]
    with pytest.raises(InputError, match=r"m\.json: 2 series could be the backlog of orders: say which with --series"):
        depths(cloudwatch(*series))
    assert depths(cloudwatch(*series), series=[f"b {VISIBLE}=backlog:orders"]) == DEPTHS["orders"]
    # One alone is taken.
    assert depths(cloudwatch(series[1])) == DEPTHS["orders"]
    ages = [(f"a {AGE}", [60, 60, 60]), (f"b {AGE}", [6_000, 6_000, 6_000])]
    readings, remarks = uploaded_readings({"m.json": cloudwatch(series[1], *ages)}, "orders")
    assert [item.age_min for item in readings] == [None, None, None]
    [asked] = [remark for remark in remarks if remark.kind == "ask"]
    assert asked.text == (
        f"a {AGE} (id=m1), b {AGE} (id=m2): which is of orders is not told: say --series NAME=first_attempt_age:orders"
    )


def test_an_upload_leaves_no_file_and_is_called_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    content = cloudwatch((f"orders {VISIBLE}", DEPTHS["orders"]))
    readings, remarks = uploaded_readings({"../up/m.json": content}, "orders")
    assert {remark.file for remark in remarks} == {"m.json"}
    with pytest.raises(InputError) as caught:
        uploaded_readings({"m.json": b"{"}, "orders")
    assert str(caught.value).startswith("m.json")
    assert list(tmp_path.iterdir()) == []
    path = tmp_path / "m.json"
    path.write_bytes(content)
    assert metric_readings([path], "orders")[0] == readings
