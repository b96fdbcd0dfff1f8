"""What exports of other platforms offer for a scenario, with its values, and what nothing takes."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.readers.platforms.test_platforms import FIXTURES, TABLES

from afterload.intake.importing import Wishes, import_again, import_files
from afterload.intake.platforms import Outage, platform_proposals
from afterload.readers.cloud import read_cloud_file
from afterload.readers.reading import Inventory
from afterload.scenario import load_scenario

LATER = (datetime(2100, 1, 1, tzinfo=UTC), datetime(2100, 1, 2, tzinfo=UTC))
SCENARIO = """\
team: T
time_zone: UTC
recovery_objective: 240 min
incident: {name: x, trigger: 2026-03-03T11:00Z, restored_at: 2026-03-03T12:00Z}
queues:
  other: {arrival_rate: 100/min, service_rate: 200/min}
"""


def offered(*paths: Path, outage: Outage = LATER) -> dict[str, object]:
    inventory = Inventory.joined(read_cloud_file(path) for path in paths)
    found, _ = platform_proposals(inventory, {}, outage)
    return {item.name.removeprefix("queues."): item.value for item in found}


def test_a_consumer_group_offers_its_lag_and_how_uneven_it_is() -> None:
    """Of 612,500 waiting, 460,000 wait in one partition."""
    found = offered(FIXTURES / "kafka-groups.txt")
    assert found["playback-events.backlog_before"] == 612_500
    assert found["playback-events.stream.shards"] == 4
    assert found["playback-events.stream.hottest_share"] == round(460_000 / 612_500, 4) == 0.751


def test_two_tables_of_a_group_give_rates_and_shares_of_the_arrivals(tmp_path: Path) -> None:
    """In 5 min 900 and 300 arrive, 0 and 600 are committed: 240 in and 120 out a minute, three quarters in one partition."""
    path = tmp_path / "lag.txt"
    path.write_text(TABLES)
    found = offered(path)
    by_hottest = {"queues": {"outbox": {"stream": {"hottest_share": 0.6}}}}
    again, _ = platform_proposals(read_cloud_file(path), by_hottest, LATER)
    assert [item.value for item in again if item.path[-1] in ("shares", "hottest_share")] == [0.75]
    assert found["outbox.arrival_rate"] == "240/min"
    assert found["outbox.service_rate"] == "120/min"
    assert found["outbox.stream.shares"] == [0.75, 0.25]
    assert found["outbox.backlog_before"] == 1600
    inventory = read_cloud_file(path)
    _, remarks = platform_proposals(inventory, {}, (None, None))
    assert remarks[0].text.partition(":")[2].partition(":")[0] == " 1 consumer is idle"
    earlier, later = TABLES.split("2026-03-03T10:05Z\n")
    files = [tmp_path / "one.txt", tmp_path / "two.txt"]
    for file, text, minute in zip(files, (earlier, later), (0, 5), strict=True):
        file.write_text(text.removeprefix("Tue Mar  3 10:00:00 UTC 2026\n"))
        at = datetime(2026, 3, 3, 10, minute, tzinfo=UTC).timestamp()
        os.utime(file, (at, at))
    assert offered(*files) == found


def test_the_same_export_again_changes_nothing(tmp_path: Path) -> None:
    path, target = tmp_path / "lag.txt", tmp_path / "t.yaml"
    path.write_text(TABLES)
    imported = import_files([path], SCENARIO, target)
    assert imported.problem == ""
    target.write_text(imported.account.text)
    loaded = load_scenario(target)
    assert loaded.scenario.queues["outbox"].arrival_rate.constant_per_min == 240
    assert loaded.scenario.queues["outbox"].backlog_before == 1600
    assert loaded.scenario.queues["outbox"].stream.spread == (0.75, 0.25)
    assert not import_again(loaded).account.changes
    assert set(loaded.scenario.queues) == {"other", "outbox"}


def test_what_waits_after_the_trigger_is_no_backlog_before_it(tmp_path: Path) -> None:
    path = tmp_path / "lag.txt"
    path.write_text(TABLES)
    inventory = read_cloud_file(path)
    at = datetime(2026, 3, 3, 10, 5, tzinfo=UTC)
    found, remarks = platform_proposals(inventory, {}, (at - timedelta(minutes=1), at + timedelta(hours=1)))
    assert {item.path[-1] for item in found} & {"backlog_before", "service_rate", "arrival_rate"} == {"arrival_rate"}
    assert remarks[-1].text == (
        "outbox: 1,600 waited at 2026-03-03T10:05+00:00, after the trigger: afterload eta takes it with --depth 1600 --at "
        "2026-03-03T10:05+00:00"
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("rabbitmq-queues.json",
         {"mail.backlog_before": 39_900, "mail.arrival_rate": "420/min", "mail.service_rate": "600/min",
          "mail.age_limit": "1 day", "mail.on_failure_destination": "mail.dlx", "mail.max_receives": 5}),
        ("pubsub.json", {"orders.visibility_timeout": "10 s", "orders.retention": "7 days", "orders.max_receives": 5}),
        ("servicebus.json",
         {"orders.backlog_before": 39_900, "orders.visibility_timeout": "1 min", "orders.retention": "14 days",
          "orders.max_receives": 10}),
    ],
)  # fmt: skip
def test_queues_offer_what_their_platform_shows(name: str, expected: dict[str, object]) -> None:
    found = offered(FIXTURES / name)
    assert {key: value for key, value in found.items() if ".consumers." not in key} == expected


def test_consumers_that_keep_up_do_not_show_what_they_could_serve(tmp_path: Path) -> None:
    path = tmp_path / "q.json"
    path.write_text((FIXTURES / "rabbitmq-queues.json").read_text().replace('"messages":39900', '"messages":0'))
    found = offered(path)
    assert found["mail.arrival_rate"] == "420/min"
    assert "mail.service_rate" not in found


def test_an_import_names_what_each_file_is(tmp_path: Path) -> None:
    target = tmp_path / "t.yaml"
    files = [FIXTURES / name for name in ("kafka-groups.txt", "hpa.json", "servicebus.json")]
    imported = import_files(files, SCENARIO, target, Wishes())
    assert list(imported.kinds.values()) == [
        "settings (kafka.partition)", "settings (kubernetes.hpa)", "settings (servicebus.queue)"
    ]  # fmt: skip
    assert any("counts of 0 while it is throttled" in remark.text for remark in imported.account.remarks)
    assert {item.proposal.path[1] for item in imported.account.of("held")} == {"playback-events", "orders"}


@pytest.mark.parametrize(("queues", "expected"), [((), "outbox"), (("mail",), "mail"), (("mail", "outbox"), "outbox")])
def test_a_group_is_the_queue_of_its_topic_unless_only_the_group_is_known(tmp_path: Path, queues, expected) -> None:
    path = tmp_path / "lag.txt"
    path.write_text(TABLES)
    scenario = {"queues": {name: {} for name in queues}}
    found, _ = platform_proposals(read_cloud_file(path), scenario, LATER)
    assert {item.path[1] for item in found} == {expected}


def test_an_autoscaler_belongs_to_the_queue_of_the_group_that_it_scales(tmp_path: Path) -> None:
    names = ("hpa.json", "kafka-groups.txt")
    found = offered(*(FIXTURES / name for name in names))
    head = "playback-events.autoscaler."
    assert {key.removeprefix(head): value for key, value in found.items() if key.startswith(head)} == {
        "metric": "depth", "target": 1000.0, "least": 6, "most": 24, "at_restore": 6,
        "up.replicas": 4, "up.percent": 100, "up.period": "15 s", "up.window": "0 s",
        "down.percent": 100, "down.period": "15 s", "down.window": "5 min",
    }  # fmt: skip
    assert found["playback-events.consumers.number"] == 2
    target = tmp_path / "t.yaml"
    given = {"arrival_rate": "9600/min", "service_rate": "12000/min", "item_time": "10 ms"}
    wishes = Wishes(values={f"queues.playback-events.{key}": value for key, value in given.items()})
    imported = import_files([FIXTURES / name for name in names], SCENARIO, target, wishes)
    assert imported.problem == ""
    target.write_text(imported.account.text)
    queue = load_scenario(target).scenario.queues["playback-events"]
    assert (queue.autoscaler.most, queue.autoscaler.up.replicas, queue.autoscaler.down.window_s) == (24, 4, 300)
    assert (queue.consumers.number, queue.stream.shards, queue.stream.hottest_share) == (2, 4, 0.751)
