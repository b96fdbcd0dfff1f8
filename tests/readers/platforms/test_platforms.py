"""What is read of other platforms' exports: each value as the file has it, in the unit of its attribute."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from afterload.errors import InputError
from afterload.readers.cloud import is_cloud_file, read_cloud_file
from afterload.scenario.attachments import read_offsets

FIXTURES = Path(__file__).parent / "fixtures"
TABLES = """\
Tue Mar  3 10:00:00 UTC 2026

GROUP  TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST  CLIENT-ID
mail   outbox  0          1000            1600            600  c-1          /h    c
mail   outbox  1          500             900             400  c-2          /h    c
mail   -       -          -               -               -    c-3          /h    c

2026-03-03T10:05Z
GROUP  TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST  CLIENT-ID
mail   outbox  0          1000            2500            1500 c-1          /h    c
mail   outbox  1          1100            1200            100  c-2          /h    c
mail   -       -          -               -               -    c-3          /h    c
"""


def table(inventory):
    return {f"{item.resource} {item.attribute}": item.value for item in inventory.observations}


def test_consumer_groups():
    path = FIXTURES / "kafka-groups.txt"
    found = table(read_cloud_file(path))
    name = "playback/playback-events/"
    assert is_cloud_file(path)
    assert [found.get(f"{name}{part} waiting") for part in range(4)] == [76_000, 76_500, 460_000, None]
    assert [found.get(f"{name}{part} end") for part in range(4)] == [8_256_081, 8_283_311, 5_424_200, 8_119_000]
    assert [found.get(f"{name}{part} committed") for part in range(4)] == [8_180_081, 8_206_811, 4_964_200, None]
    assert [found[f"{name}{part} consumer"] for part in range(4)] == ["c-1-1a2b", "c-1-1a2b", "c-2-9f8e", ""]


def test_a_scenario_reads_the_same_table_as_its_offsets(tmp_path):
    """A partition without a committed offset counts as empty there; a member without a partition is no topic of its own."""
    found, problems = read_offsets(FIXTURES / "kafka-groups.txt", None)
    assert (found.rows.values, problems) == (pytest.approx((76 / 612.5, 76.5 / 612.5, 460 / 612.5, 0)), [])
    path = tmp_path / "lag.txt"
    path.write_text(TABLES.split("2026-03-03T10:05Z")[0])
    found, problems = read_offsets(path, None)
    assert (found.rows.values, problems) == ((0.6, 0.4), [])


def test_a_partition_without_a_consumer_may_have_blank_columns(tmp_path):
    path = tmp_path / "lag.txt"
    told = "Consumer group 'mail' has no active members.\n\n"
    path.write_text(told + TABLES.split("\n\n")[1].replace("c-2          /h    c", "") + "\nwarning of another kind\n")
    inventory = read_cloud_file(path)
    assert table(inventory)["mail/outbox/1 waiting"] == 400
    assert table(inventory)["mail/outbox/1 consumer"] == ""
    assert [remark.text for remark in inventory.remarks] == ["is no row of the table above it and no time with a zone"]


def test_two_tables_keep_their_times(tmp_path):
    path = tmp_path / "lag.txt"
    path.write_text(TABLES)
    inventory = read_cloud_file(path)
    seen = [
        item for item in inventory.observations if (item.resource, item.attribute) == ("mail/outbox/0", "committed")
    ]
    times = [datetime(2026, 3, 3, 10, minute, tzinfo=UTC) for minute in (0, 5)]
    assert sorted((item.value, item.origin.exported_at) for item in seen) == [(1000, times[0]), (1000, times[1])]
    assert (inventory.remarks, inventory.conflicts()) == ((), ())
    path.write_text("".join(line for line in TABLES.splitlines(keepends=True) if "2026" not in line))
    (asked,) = read_cloud_file(path).remarks
    assert (asked.kind, asked.text.split(":")[0]) == ("ask", "two tables of one group hold no time")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("rabbitmq-queues.json",
         {"mail waiting": 39_900, "mail consumers": 4, "mail arrivals_per_s": 7.0, "mail served_per_s": 10.0,
          "mail max_receives": 5, "mail expires_after_s": 86_400.0, "mail expired_to": "mail.dlx"}),
        ("pubsub.json", {"orders redelivery_s": 10.0, "orders retention_s": 604_800.0, "orders max_receives": 5}),
        ("servicebus.json",
         {"orders waiting": 39_900, "orders redelivery_s": 60.0, "orders max_receives": 10,
          "orders expires_after_s": 1_209_600.0, "orders keeps_expired": False}),
        ("hpa.json",
         {"playback scales": "playback", "playback least": 6, "playback most": 24, "playback running": 6,
          "playback metric": "depth", "playback target": 1000.0, "playback up_window_s": 0, "playback up_percent": 100,
          "playback up_replicas": 4, "playback up_period_s": 15, "playback down_window_s": 300,
          "playback down_percent": 100, "playback down_period_s": 15}),
    ],
)  # fmt: skip
def test_objects_of_json(name, expected):
    assert is_cloud_file(FIXTURES / name)
    assert table(read_cloud_file(FIXTURES / name)) == expected


def test_what_a_file_leaves_out_or_cannot_mean(tmp_path):
    """An idle RabbitMQ queue has no rates; the longest duration of .NET is for ever; what is of another form is refused."""
    rabbit = {"name": "a", "messages": "many", "consumers": 0, "messages_ready": 0}
    bus = {
        "name": "b",
        "lockDuration": "1 moon",
        "maxDeliveryCount": 3,
        "defaultMessageTimeToLive": "P10675199DT2H48M5.4775807S",
    }
    scaler = {
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "c"},
        "spec": {"maxReplicas": 4, "metrics": "none"},
    }
    path = tmp_path / "x.json"
    path.write_text(json.dumps([rabbit, bus, scaler]))
    inventory = read_cloud_file(path)
    assert table(inventory) == {"a consumers": 0, "b max_receives": 3, "b expires_after_s": None, "c most": 4}
    assert [remark.text for remark in inventory.remarks] == [
        "a: messages is a text of 4 characters, not a whole number: not read", "b: lockDuration is not a duration: not read"
    ]  # fmt: skip
    path.write_text('{"kind": "HorizontalPodAutoscaler", "metadata": {}, "spec": {}}')
    with pytest.raises(InputError, match="has no name"):
        read_cloud_file(path)
