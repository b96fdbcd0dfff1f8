"""What bounds queues and dependencies over time: every field read, refused, overridden and written back."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from afterload.errors import ScenarioError
from afterload.scenario import LoadedScenario, Scenario, load_scenario
from afterload.scenario.load import with_files
from afterload.yamledit import YamlText
from afterload.yamltree import plain, read_text

Write = Callable[..., Path]
HOURS = ", ".join(f"{100 + hour}/min" for hour in range(24))
FULL = f"""\
team: T
time_zone: Europe/Berlin
recovery_objective: 240 min
incident: {{name: E}}
dependencies:
  table:
    tested_rate: 3000/min
    operate_up_to: 3500/min
    direct_rate: {{hour_of_day: [{HOURS}]}}
    returning_users: {{extra_rate: 200/min, decay: 10 min}}
    capacity: 4000/min
    above_capacity: throttle
    throttles_at: 60/s
    capacity_course:
      steps:
      - {{at: 2026-06-01T10:00Z, share: 40 %}}
      - {{at: 2026-06-01T11:00Z, share: 0.7}}
      - {{at: 2026-06-01T12:00Z, share: 100 %}}
      - {{at: 2026-06-01T14:00Z, share: 60 %}}
      - {{at: 2026-06-01T14:20Z, share: 1}}
    control_backlog: 1,200
    control_catch_up_rate: 10/s
  labels: {{tested_rate: 9000/min}}
control_loops:
  leases: {{load: 5/s, capacity: 10/s, timeout: 2 s, waiting_at_restore: 300, dependency: table}}
queues:
  jobs:
    arrival_rate: 600/min
    service_rate: 1200/min
    item_time: 1 s
    during_outage: receive
    calls: [table, {{dependency: labels, per_item: 2.5}}]
    fan_out: true
    stream: {{shares: [0.4, 0.3, 0.2, 10 %]}}
    consumers: {{number: 6, at_once: 2}}
    connection_pool: {{connections: 20, hold_time: 100 ms}}
    start_spread: 90 s
    consumer_course:
      steps: [{{at: 0 min, share: 20 %}}, {{at: 3 h, share: 100 %}}]
    autoscaler:
      metric: depth
      target: "1,000"
      least: 2
      most: 24
      at_restore: 6
      rate_each: 1/s
      sync: 30 s
      tolerance: 5 %
      up: {{replicas: 4, percent: 100, period: 15 s, window: 0 s}}
      down: {{percent: 10, period: 1 min, window: 300 s}}
      start_time: 40 s
      fits_on_nodes: 12
      node_time: 3 min
call_stacks:
  page: {{layers: [{{name: page, tries: 2}}], dependency: table}}
clients:
  worker: {{sdk: boto3, version: 1.43.11, number: 6, queue: jobs}}
  front: {{sdk: boto3, version: 1.43.11, number: 60, call_stack: page}}
uncertain:
  queues.jobs.arrival_rate: {{low: 500/min, high: 700/min, moves_with: demand}}
  dependencies.table.direct_rate: {{low: 90 %, high: 130 %, moves_with: demand}}
  queues.jobs.consumers.number: {{low: 5, high: 6}}
"""

# Path, the attribute of the scenario that it fills, its value, another text for it, and the value of that.
FIELDS: list[tuple[str, str, Any, str, Any]] = [
    ("dependencies.table.operate_up_to", "operate_up_to_per_min", 3500, "70/s", 4200),
    (
        "dependencies.table.direct_rate",
        "direct_rate_per_min",
        123,
        "{hour_of_day: [" + ", ".join(24 * ["50/min"]) + "]}",
        50,
    ),
    ("dependencies.table.returning_users.extra_rate", "returning_users.extra_rate_per_min", 200, "5/s", 300),
    ("dependencies.table.returning_users.decay", "returning_users.decay_min", 10, "30 s", 0.5),
    ("dependencies.table.above_capacity", "above_capacity", "throttle", "collapse", "collapse"),
    ("dependencies.table.throttles_at", "throttles_at_per_min", 3600, "none", None),
    ("dependencies.table.capacity_course.steps.3.share", "capacity_course.steps.3.share", 0.6, "10 %", 0.1),
    ("dependencies.table.control_backlog", "control_backlog", 1200, "0", 0),
    ("dependencies.table.control_catch_up_rate", "control_catch_up_rate_per_min", 600, "90/min", 90),
    ("queues.jobs.during_outage", "during_outage", "receive", "defer", "defer"),
    ("queues.jobs.calls.1.per_item", "calls.1.per_item", 2.5, "1", 1),
    ("queues.jobs.calls.0", "calls.0.dependency", "table", "{dependency: table}", "table"),
    ("queues.jobs.fan_out", "fan_out", True, "false", False),
    ("queues.jobs.stream.shares", "stream.shards", 4, "[50 %, 0.5]", 2),
    ("queues.jobs.consumers.number", "consumers.number", 6, "5", 5),
    ("queues.jobs.consumers.at_once", "consumers.at_once", 2, "3", 3),
    ("queues.jobs.connection_pool.connections", "connection_pool.connections", 20, "30", 30),
    ("queues.jobs.connection_pool.hold_time", "connection_pool.hold_time_s", 0.1, "2 s", 2),
    ("queues.jobs.start_spread", "start_spread_min", 1.5, "none", None),
    ("queues.jobs.consumer_course.steps.1.at", "consumer_course.steps.1.at", 180, "4 h", 240),
    ("queues.jobs.autoscaler.metric", "autoscaler.metric", "depth", "depth", "depth"),
    ("queues.jobs.autoscaler.target", "autoscaler.target", 1000, "2,000", 2000),
    ("queues.jobs.autoscaler.least", "autoscaler.least", 2, "1", 1),
    ("queues.jobs.autoscaler.most", "autoscaler.most", 24, "48", 48),
    ("queues.jobs.autoscaler.at_restore", "autoscaler.at_restore", 6, "none", None),
    ("queues.jobs.autoscaler.rate_each", "autoscaler.rate_each_per_min", 60, "none", None),
    ("queues.jobs.autoscaler.sync", "autoscaler.sync_s", 30, "1 min", 60),
    ("queues.jobs.autoscaler.tolerance", "autoscaler.tolerance", 0.05, "0.2", 0.2),
    ("queues.jobs.autoscaler.up.replicas", "autoscaler.up.replicas", 4, "8", 8),
    ("queues.jobs.autoscaler.up.window", "autoscaler.up.window_s", 0, "1 min", 60),
    ("queues.jobs.autoscaler.down.percent", "autoscaler.down.percent", 10, "50", 50),
    ("queues.jobs.autoscaler.down.period", "autoscaler.down.period_s", 60, "15 s", 15),
    ("queues.jobs.autoscaler.start_time", "autoscaler.start_time_s", 40, "2 min", 120),
    ("queues.jobs.autoscaler.fits_on_nodes", "autoscaler.fits_on_nodes", 12, "none", None),
    ("queues.jobs.autoscaler.node_time", "autoscaler.node_time_s", 180, "10 s", 10),
    ("control_loops.leases.dependency", "dependency", "table", "labels", "labels"),
    ("clients.worker.queue", "queue", "jobs", "jobs", "jobs"),
    ("clients.front.call_stack", "call_stack", "page", "page", "page"),
    ("uncertain.queues.jobs.arrival_rate.moves_with", "moves_with", "demand", "other", "other"),
]


def seen(loaded: LoadedScenario, path: str, attribute: str) -> Any:
    part, rest = path.split(".", 1)
    items = getattr(loaded.scenario, part)
    here = items[next(name for name in items if rest.startswith(f"{name}.") or rest == name)]
    for key in attribute.split("."):
        here = here[int(key)] if key.isdigit() else getattr(here, key)
    return here


@pytest.mark.parametrize(("path", "attribute", "value", "text", "other"), FIELDS, ids=lambda item: str(item)[:50])
def test_a_field_is_read_overridden_and_written_back(
    write: Write, path: str, attribute: str, value: Any, text: str, other: Any
) -> None:
    file = write(FULL)
    loaded = load_scenario(file)
    assert seen(loaded, path, attribute) == value
    assert " line " in loaded.where(*read_keys(path))
    assert seen(load_scenario(file, [f"{path}={text}"]), path, attribute) == other
    edit = YamlText(FULL, "team.yaml")
    edit.set(read_keys(path), plain(read_text(text, "t").data))
    assert seen(load_scenario(write(edit.text, "edited.yaml")), path, attribute) == other


def read_keys(path: str) -> tuple[str | int, ...]:
    if path.startswith("uncertain."):
        head, _, last = path.rpartition(".")
        return ("uncertain", head.removeprefix("uncertain."), last)
    return tuple(int(key) if key.isdigit() else key for key in path.split("."))


def test_the_json_schema_takes_what_is_read(write: Write) -> None:
    schema = Scenario.model_json_schema()
    jsonschema.Draft202012Validator(schema).validate(json.loads(json.dumps(plain(read_text(FULL, "t").data))))
    assert load_scenario(write(FULL)).scenario.queues["jobs"].calls_of("labels") == 2.5


# What is replaced in the text, by what, the field that is named, and what is said of it.
REFUSED = [
    ("operate_up_to: 3500/min", "operate_up_to: 0/min", "dependencies.table.operate_up_to", "out of range"),
    ("operate_up_to: 3500/min", "operate_up_to: 3500", "dependencies.table.operate_up_to", "has no unit"),
    (f"{{hour_of_day: [{HOURS}]}}", "{hour_of_day: [5/min]}", "dependencies.table.direct_rate.hour_of_day", "has 1 values"),
    ("decay: 10 min", "decay: 0 s", "dependencies.table.returning_users.decay", "more than 0"),
    ("above_capacity: throttle", "above_capacity: throtle", "dependencies.table.above_capacity", "nearest: throttle"),
    ("throttles_at: 60/s", "throttles_at: fast", "dependencies.table.throttles_at", "is not a rate"),
    ("share: 40 %", "share: 140 %", "dependencies.table.capacity_course.steps.0.share", "more than the whole"),
    ("at: 2026-06-01T11:00Z", "at: 2026-06-01T11:00", "dependencies.table.capacity_course.steps.1.at", "or a duration from"),
    ("at: 2026-06-01T11:00Z", "at: 60 min", "dependencies.table.capacity_course", "both times and durations"),
    ("at: 2026-06-01T11:00Z", "at: 2026-06-01T09:00Z", "dependencies.table.capacity_course", "not in the order of time"),
    ("control_backlog: 1,200", "control_backlog: many", "dependencies.table.control_backlog", "is not a number"),
    ("during_outage: receive", "during_outage: recieve", "queues.jobs.during_outage", "nearest: receive"),
    ("calls: [table,", "calls: [tabel,", "queues.jobs.calls.0", "is not one of the dependencies; nearest: table"),
    ("dependency: labels, per", "dependency: table, per", "queues.jobs.calls", "names a dependency twice"),
    ("    fan_out: true", "    dependency: table", "queues.jobs.calls", "stands beside dependency"),
    ("per_item: 2.5", "per_item: 0", "queues.jobs.calls.1.per_item", "more than 0"),
    ("[0.4, 0.3, 0.2, 10 %]", "[0.4, 0.3]", "queues.jobs.stream.shares", "adds up to 70 %"),
    ("{shares: [0.4", "{shards: 3, shares: [0.4", "queues.jobs.stream.shares", "has 4 values for 3 shards"),
    ("10 %]}", "10 %], hottest_share: 0.5}", "queues.jobs.stream", "gives the spread of records twice"),
    ("10 %]}", "10 %], batch_size: 10}", "queues.jobs.stream", "has no batch_time"),
    ("10 %]}", "10 %], offsets: lags.csv}", "queues.jobs.stream.shares", "stands beside offsets"),
    ("    item_time: 1 s\n", "", "queues.jobs.consumers", "so item_time is needed too"),
    ("number: 6, at_once", "number: 0, at_once", "queues.jobs.consumers.number", "at least 1"),
    ("hold_time: 100 ms", "hold_time: 0 s", "queues.jobs.connection_pool.hold_time", "more than 0"),
    ("start_spread: 90 s", "start_spread: 0 s", "queues.jobs.start_spread", "more than 0"),
    ("target: \"1,000\"", "target: 0", "queues.jobs.autoscaler.target", "is zero"),
    ("metric: depth", "metric: age", "queues.jobs.autoscaler.target", "has no unit"),
    ("metric: depth", "metric: utilisation", "queues.jobs.autoscaler.target", "more than the whole"),
    ("most: 24", "most: 1", "queues.jobs.autoscaler", "most 1 is below least 2"),
    ("period: 15 s", "period: 0 s", "queues.jobs.autoscaler.up.period", "more than 0"),
    ("300, dependency: table", "300, dependency: tables", "control_loops.leases.dependency", "nearest: table"),
    ("number: 6, queue: jobs", "number: 6, queue: job", "clients.worker.queue", "is not one of the queues; nearest: jobs"),
    ("call_stack: page", "call_stack: pages", "clients.front.call_stack", "is not one of the call stacks; nearest: page"),
    ("call_stack: page", "call_stack: page, queue: jobs", "clients.front.call_stack", "stands beside queue"),
    ("call_stack: page", "call_stack: page, dependency: labels", "clients.front.dependency", "is not called by page"),
    ("low: 5, high: 6}", "low: 7, high: 8}", "uncertain.queues.jobs.consumers.number", "value 6 and high 8 are not in order"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "field", "words"), REFUSED, ids=lambda item: str(item)[:40])
def test_what_cannot_be_is_refused_with_its_field(write: Write, old: str, new: str, field: str, words: str) -> None:
    assert FULL.count(old) == 1
    (file := write(FULL.replace(old, new))).with_name("lags.csv").write_text("partition,lag\n0,5\n")
    with pytest.raises(ScenarioError) as caught:
        load_scenario(file)
    assert [problem.field for problem in caught.value.problems] == [field]
    assert words in str(caught.value)


TIMES = (datetime(2026, 6, 1, 10, tzinfo=UTC), datetime(2026, 6, 1, 12, tzinfo=UTC))


def test_trigger_and_restore_follow_from_a_course_and_have_its_line(write: Write) -> None:
    """The second dip after the restore changes neither."""
    loaded = load_scenario(write(FULL))
    incident = loaded.scenario.incident
    assert (incident.trigger, incident.restored_at) == TIMES
    line = FULL.splitlines().index("    capacity_course:") + 1
    assert loaded.where("incident", "restored_at") == f"team.yaml line {line}"
    assert loaded.scenario.dependencies["table"].capacity_course is not None
    starts, shares = loaded.scenario.dependencies["table"].capacity_course.minutes(*TIMES)
    assert starts == (-120, -60, 0, 120, 140)
    assert shares == (0.4, 0.7, 1, 0.6, 1)


def test_what_the_incident_gives_goes_before_a_course(write: Write) -> None:
    text = FULL.replace("{name: E}", "{name: E, trigger: 2026-06-01T11:00+02:00}")
    incident = load_scenario(write(text)).scenario.incident
    assert (incident.trigger.hour, incident.restored_at) == (11, TIMES[1])
    given = load_scenario(write(FULL), {"incident.restored_at": "2026-06-01T13:00Z"}).scenario.incident
    assert (given.trigger, given.restored_at.hour) == (TIMES[0], 13)


def test_the_restore_is_when_every_course_is_back(write: Write) -> None:
    other = (
        "labels: {tested_rate: 9000/min, capacity_course: {steps: [{at: 30 min, share: 0}, {at: 150 min, share: 1}]}}"
    )
    text = FULL.replace("labels: {tested_rate: 9000/min}", other)
    incident = load_scenario(write(text), {"incident.trigger": "2026-06-01T10:00Z"}).scenario.incident
    assert incident.restored_at == datetime(2026, 6, 1, 12, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("old", "new", "fields"),
    [
        ("share: 40 %", "share: 100 %", []),
        ("      - {at: 2026-06-01T12:00Z, share: 100 %}\n", "", []),
        ("share: 100 %}\n      - {at: 2026-06-01T14:00Z, share: 60 %}\n      - {at: 2026-06-01T14:20Z, share: 1}",
         "share: 90 %}", ["incident.restored_at"]),
    ],
)  # fmt: skip
def test_a_course_that_does_not_return_gives_no_restore(write: Write, old: str, new: str, fields: list[str]) -> None:
    assert FULL.count(old) == 1
    file = write(FULL.replace(old, new))
    if not fields:
        assert load_scenario(file).scenario.incident.outage_min > 0
        return
    with pytest.raises(ScenarioError) as caught:
        load_scenario(file)
    assert [problem.field for problem in caught.value.problems] == fields
    assert "where capacity courses are at 100 % again" in str(caught.value)


COURSE = "at,share\n2026-06-01T12:00Z,100 %\n2026-06-01T10:00Z,40 %\n"
SERIES = "at,rate_per_min\n2026-06-01T10:00Z,50\n2026-06-01T10:10Z,90\n2026-06-01T10:20Z,70\n"
STEPS = FULL[FULL.index("      steps:\n") : FULL.index("    control_backlog")]


def with_attached(write: Write, offsets: str = "partition,lag\n1,300\n0,100\n", course: str = COURSE) -> Path:
    text = FULL.replace(STEPS, "      series: course.csv\n").replace(
        "{shares: [0.4, 0.3, 0.2, 10 %]}", "{offsets: lags.txt}"
    )
    file = write(text.replace(f"{{hour_of_day: [{HOURS}]}}", "{series: direct.csv}"))
    for name, rows in (("course.csv", course), ("direct.csv", SERIES), ("lags.txt", offsets)):
        file.with_name(name).write_text(rows, encoding="utf-8")
    return file


def test_files_fill_what_a_person_could_have_typed(write: Write) -> None:
    file = with_attached(write)
    loaded = load_scenario(file)
    table, stream = loaded.scenario.dependencies["table"], loaded.scenario.queues["jobs"].stream
    assert (loaded.scenario.incident.trigger, loaded.scenario.incident.restored_at) == TIMES
    assert table.direct_rate_per_min == 90
    assert loaded.direct["table"].rates_per_min == (50, 90, 70)
    assert stream is not None
    assert (stream.shards, stream.spread) == (2, (0.25, 0.75))
    assert {"course.csv", "direct.csv", "lags.txt"} < set(loaded.files)
    assert load_scenario(file, {"dependencies.table.direct_rate.highest": "2/s"}).scenario.dependencies[
        "table"
    ].direct_rate_per_min == 120  # fmt: skip
    before = loaded.digest
    file.with_name("lags.txt").write_text("partition,lag\n1,301\n0,100\n")
    assert load_scenario(file).digest != before
    incident = with_files(read_text(file.read_text(), "t").data, file)["incident"]
    assert incident["restored_at"] == "2026-06-01T12:00:00+00:00"


GROUPS = """\

GROUP  TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG   CONSUMER-ID  HOST       CLIENT-ID
g      events  0          8180081         8256081         760   c-1-1a2b     /10.0.0.1  c-1
g      events  1          8206811         8283311         765   c-1-1a2b     /10.0.0.1  c-1
g      events  2          4964200         5424200         4600  c-2-9f8e     /10.0.0.2  c-2
g      events  3          -               8119000         -     -            -          -
"""


def test_what_kafka_shows_gives_the_shares_of_partitions(write: Write) -> None:
    stream = load_scenario(with_attached(write, GROUPS)).scenario.queues["jobs"].stream
    assert stream is not None
    assert stream.spread == pytest.approx((760 / 6125, 765 / 6125, 4600 / 6125, 0))


@pytest.mark.parametrize(
    ("offsets", "words"),
    [
        ("partition,lag\n0,5\n0,6\n", "0 stands there twice"),
        ("partition,lag\n0,0\n", "shows no lag at all"),
        ("partition,lag,share\n0,5,1\n", "has 2 columns of values"),
        ("part,lag\n0,5\n", "has no column partition"),
        ("partition,share\n0,120 %\n", "more than the whole"),
        (GROUPS.replace("events  1", "other   1"), "holds 2 topics: events, other"),
    ],
)
def test_offsets_that_cannot_be_read_are_refused(write: Write, offsets: str, words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        load_scenario(with_attached(write, offsets))


def test_a_row_of_a_course_that_cannot_be_read_is_refused(write: Write) -> None:
    with pytest.raises(ScenarioError, match=r"course.csv:3: share: '400 %' is more than the whole"):
        load_scenario(with_attached(write, course=COURSE.replace("40 %", "400 %")))


def test_a_client_calls_what_its_queue_or_stack_calls(write: Write) -> None:
    loaded = load_scenario(write(FULL))
    assert loaded.scenario.clients["worker"].dependency == "table"
    assert loaded.scenario.clients["front"].dependency == "table"


def test_a_step_counts_from_the_trigger_where_it_is_a_duration(write: Write) -> None:
    course = load_scenario(write(FULL)).scenario.queues["jobs"].consumer_course
    assert course is not None
    assert course.minutes(*TIMES) == ((-120, 60), (0.2, 1))
