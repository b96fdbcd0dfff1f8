"""Whole imports: files of every kind into a new and into an existing scenario, and back through the report."""

from __future__ import annotations

import datetime as dt
import json
import re
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from tests.findings.incident import incident, made

from afterload.chapters import Workbook
from afterload.errors import InputError, NotFoundError
from afterload.figures.account import account_held, account_text
from afterload.findings.drain import throughput
from afterload.findings.rates import to_rates
from afterload.intake.base import base_scenario
from afterload.intake.importing import ACCEPTED, Wishes, import_again, import_files, read_any
from afterload.intake.metrics import Assigned, metric_proposals
from afterload.resources import resource
from afterload.scenario import load_scenario, load_scenario_text
from afterload.scenario.evidence import standing
from afterload.yamledit import YamlText

ORDERS = resource("data", "scenarios", "orders.yaml").read_text(encoding="utf-8")
MAPPING = {
    "EventSourceMappings": [
        {
            "UUID": "7b1f9bd8-2c39-4bd4-9d55-0e1e5b0f2a11",
            "BatchSize": 10,
            "EventSourceArn": "arn:aws:sqs:us-east-1:111122223333:orders",
            "FunctionArn": "arn:aws:lambda:us-east-1:111122223333:function:order-worker",
            "LastModified": "2025-10-01T12:00:00+00:00",
            "State": "Enabled",
            "ScalingConfig": {"MaximumConcurrency": 20},
        }
    ]
}


@pytest.fixture(scope="module")
def truth():
    return incident(before_min=400, seed=11)


def metrics(folder, truth):
    """The incident as three answers of get-metric-statistics, newest first."""
    columns = {"NumberOfMessagesSent": truth.arrived, "NumberOfMessagesDeleted": truth.served}
    paths = []
    for name, values in {**columns, "ApproximateNumberOfMessagesVisible": truth.waiting}.items():
        statistic = "Average" if "Visible" in name else "Sum"
        points = [
            {
                "Timestamp": (truth.start + dt.timedelta(minutes=minute)).isoformat(),
                statistic: float(value),
                "Unit": "Count",
            }
            for minute, value in enumerate(values)
        ]
        path = folder / f"{name}.json"
        path.write_text(json.dumps({"Label": name, "Datapoints": points[::-1]}))
        paths.append(path)
    return paths


def new_scenario(truth):
    text = base_scenario("Orders", "America/Los_Angeles")
    assert load_zone(text) == "America/Los_Angeles"
    return text.replace("2025-10-19T23:48-07:00", truth.trigger.isoformat()).replace(
        "2025-10-20T02:40-07:00", truth.restore.isoformat()
    )


def load_zone(text):
    return YamlText(text, "base.yaml").get(("time_zone",))


def test_a_scenario_from_nothing_but_exports(tmp_path, truth):
    (tmp_path / "mappings.json").write_text(json.dumps(MAPPING))
    target = tmp_path / "t.yaml"
    files = [tmp_path / "mappings.json", *metrics(tmp_path, truth)]
    imported = import_files(files, new_scenario(truth), target)
    assert imported.problem == ""
    assert not target.exists()
    target.write_text(imported.account.text)
    loaded = load_scenario(target)
    queue = loaded.scenario.queues["orders"]
    # Known truth: 1,200/min arrive, 1,800/min are served while the backlog drains.
    assert queue.arrival_rate.constant_per_min == pytest.approx(1200, rel=0.05)
    assert queue.service_rate_per_min == pytest.approx(1800, rel=0.05)
    assert queue.resources.function == "order-worker"
    assert standing(loaded, "queues.orders.arrival_rate").basis == "measured"
    assert {item.signal for item in loaded.scenario.telemetry} == {"arrivals", "served", "backlog"}
    # 20 at once are a cap that needs the time of an item, which no export tells.
    refused = list(imported.account.of("refused"))
    assert [outcome.proposal.name for outcome in refused] == ["queues.orders.drain_cap"]
    workbook = Workbook(loaded)
    assert workbook.estimates.queues["orders"].drain_min == pytest.approx(truth.drained_min, rel=0.1)
    test = workbook.measurements.queues[0].test
    assert abs(test.error_share) < 0.05
    # Read once more, the same files say the same.
    fates = {outcome.proposal.name: outcome.fate for outcome in workbook.imported.account.outcomes}
    assert fates["queues.orders.arrival_rate"] == "same"
    assert set(fates.values()) == {"same", "refused"}
    assert "Drifted" not in workbook.inputs_answer().text


def test_newer_exports_show_the_drift(tmp_path):
    (tmp_path / "mappings.json").write_text(json.dumps(MAPPING))
    target = tmp_path / "t.yaml"
    target.write_text(import_files([tmp_path / "mappings.json"], ORDERS, target).account.text)
    assert load_scenario(target).scenario.queues["orders"].drain_cap.concurrency == 20
    del MAPPING["EventSourceMappings"][0]["ScalingConfig"]
    (tmp_path / "mappings.json").write_text(json.dumps(MAPPING))
    workbook = Workbook(load_scenario(target))
    assert "Drifted since the last import: queues.orders.drain_cap." in workbook.inputs_answer().text


def test_a_timeline_becomes_a_file_beside_the_scenario(tmp_path):
    (tmp_path / "team.md").write_text("- 2025-10-19 23:52 PDT: latency up\n- 2025-10-20 02:45 PDT: back\n")
    target = tmp_path / "t.yaml"
    imported = import_files([tmp_path / "team.md"], ORDERS, target)
    # The example has the provider's timeline, and one of its own that was made by hand.
    assert imported.account.of("kept")[0].proposal.name == "postmortem.timeline"
    own = ORDERS.replace("  timeline: builtin:scenarios/orders-timeline.csv\n", "")
    imported = import_files([tmp_path / "team.md"], own, target)
    assert [item.proposal.name for item in imported.account.of("new")] == ["postmortem.timeline"]
    text = ORDERS.replace("  timeline: builtin:incidents/us-east-1-2025-10-20/timeline.csv\n", "")
    imported = import_files([tmp_path / "team.md"], text, target)
    (path,) = imported.beside
    assert path == tmp_path / "t-timeline.csv"
    assert not path.exists()
    path.write_text(imported.beside[path])
    assert [event.event for event in load_scenario_text(imported.account.text, target).timeline] == [
        "latency up",
        "back",
    ]


def test_values_by_hand_are_guessed_and_wishes_are_kept(tmp_path):
    (tmp_path / "mappings.json").write_text(json.dumps(MAPPING))
    wishes = Wishes(
        values={"queues.orders.max_receives": "3"}, rejected={"queues.orders.resources.event_source_mapping"}
    )
    imported = import_files([tmp_path / "mappings.json"], ORDERS, tmp_path / "t.yaml", wishes)
    loaded = load_scenario_text(imported.account.text, tmp_path / "t.yaml")
    assert loaded.scenario.queues["orders"].max_receives == 3
    assert standing(loaded, "queues.orders.max_receives").basis == "guessed"
    assert loaded.scenario.queues["orders"].resources.event_source_mapping is None


def test_what_is_given_by_hand_is_not_asked_for_again(tmp_path):
    groups = tmp_path / "groups.json"
    group = {"AutoScalingGroupName": "workers", "MinSize": 1, "MaxSize": 9, "DesiredCapacity": 6}
    groups.write_text(json.dumps({"AutoScalingGroups": [group]}))
    text = base_scenario("Orders", "Europe/Berlin")
    asked = import_files([groups], text, tmp_path / "t.yaml").account
    wishes = Wishes(values={"fleets.workers.running": 4, "fleets.workers.launch.boot_time": "90 s"})
    account = import_files([groups], text, tmp_path / "t.yaml", wishes).account
    told = {item.name for item in asked.missing} - {item.name for item in account.missing}
    assert told == {
        "fleet workers: instances in service at the restore",
        "fleet workers: launch.boot_time, from launch to a running process",
    }
    assert {"fleets.workers.running", "fleets.workers.launch.boot_time"} <= {
        item.proposal.name for item in account.of("new")
    }


def test_what_a_file_is_its_content_tells(tmp_path, truth):
    (tmp_path / "a.txt").write_text(json.dumps(MAPPING))
    (tmp_path / "b.txt").write_text("at,event\n2025-10-20T01:00Z,latency up\n")
    (tmp_path / "c.txt").write_text("time,sent\n1760943600,5\n1760943660,6\n1760943720,7\n")
    kinds = [read_any(tmp_path / f"{name}.txt", Wishes(zone=ZoneInfo("UTC"))).kind for name in "abc"]
    assert kinds == ["cloud settings (lambda.mapping)", "timeline (1 events)", "metrics (1 series)"]


@pytest.mark.parametrize("content", ["hello world\n", '{"a": 1}', "[]", "a,b\n1,2\n"])
def test_a_file_of_no_kind_says_what_it_holds_and_what_is_accepted(tmp_path, content):
    (tmp_path / "x").write_text(content)
    with pytest.raises(InputError) as caught:
        import_files([tmp_path / "x"], ORDERS, tmp_path / "t.yaml")
    first, said, *accepted = str(caught.value).splitlines()
    assert first.startswith(f"{tmp_path / 'x'}: unsupported file: holds ")
    assert len(first.split()) <= 30
    assert (said, tuple(line.removeprefix("- ") for line in accepted)) == ("Accepted:", ACCEPTED)


def test_an_empty_file_is_called_empty(tmp_path):
    (tmp_path / "x").write_text("")
    with pytest.raises(InputError, match=r"x: is empty: export "):
        read_any(tmp_path / "x")


def test_a_timeline_without_an_entry_is_refused_with_each_line_and_its_reason(tmp_path):
    rows = [f"| 20262-01-16 12:0{minute} | a year with a digit too many |" for minute in range(8)]
    text = "\n".join(("All times in CET.", "", "| Time | Event |", "| --- | --- |", *rows, "| yesterday | no time |"))
    (tmp_path / "x.md").write_text(text + "\n")
    with pytest.raises(InputError) as caught:
        read_any(tmp_path / "x.md")
    lines = str(caught.value).splitlines()
    assert lines[0] == f"{tmp_path / 'x.md'}: nothing of it can be read."
    assert [line.split(":")[0] for line in lines[1:6]] == [f"- line {line}" for line in (5, 6, 7, 8, 9)]
    assert lines[6].startswith("- 4 more like this: '20262-01-16 12:00' is not a time")
    assert lines[6].endswith("(lines 10 to 13)")


def test_every_file_that_cannot_be_read_is_named(tmp_path, truth):
    good = metrics(tmp_path, truth)
    (tmp_path / "unknown.json").write_text('{"foo": 1}')
    (tmp_path / "cut.json").write_text('{"AutoScalingGroups": [{"AutoScalingGroupName": "a"')
    files = [
        *([good] if not isinstance(good, list | tuple) else good),
        *(tmp_path / name for name in ("unknown.json", "cut.json", "no.json")),
    ]
    with pytest.raises(InputError) as problem:
        import_files(files, new_scenario(truth), tmp_path / "t.yaml")
    lines = str(problem.value).splitlines()
    assert [name in line for name, line in zip(("unknown.json", "cut.json", "no.json"), lines, strict=False)] == [
        True
    ] * 3
    assert lines[3] == "Accepted:"


def test_a_new_scenario_calls_its_incident_the_reference_event_only_while_it_is(tmp_path):
    groups = tmp_path / "groups.json"
    groups.write_text(json.dumps({"AutoScalingGroups": [{"AutoScalingGroupName": "workers", "DesiredCapacity": 6}]}))
    text = base_scenario("Orders", "Europe/Berlin")
    values = {"fleets.workers.running": 4}
    assert (
        "# the reference event" in import_files([groups], text, tmp_path / "t.yaml", Wishes(values=values)).account.text
    )
    values |= {"incident.trigger": "2026-09-14T09:10+02:00", "incident.restored_at": "2026-09-14T10:45+02:00"}
    assert (
        "the reference event"
        not in import_files([groups], text, tmp_path / "t.yaml", Wishes(values=values)).account.text
    )


def test_no_such_file(tmp_path):
    with pytest.raises(NotFoundError, match="no such file"):
        read_any(tmp_path / "x")


@pytest.mark.parametrize(
    ("series", "words"),
    [
        ("sent=arrivals", "--series sent=arrivals: names no series"),
        ("NumberOfMessagesSent=arivals", "'arivals' is not a signal; nearest: arrivals"),
        ("NumberOfMessagesSent", "is not of the form NAME=SIGNAL"),
        ("NumberOfMessagesSent=arrivals:orders:bananas", "'bananas' is not a unit"),
    ],
)
def test_wrong_assignments_are_explained(tmp_path, truth, series, words):
    with pytest.raises(InputError, match=words):
        import_files(metrics(tmp_path, truth), ORDERS, tmp_path / "t.yaml", Wishes(series=(series,)))


def test_a_series_of_no_known_name_is_asked_about(tmp_path):
    (tmp_path / "c.csv").write_text("time,sent\n1760943600,5\n1760943660,6\n1760943720,7\n")
    imported = import_files([tmp_path / "c.csv"], ORDERS, tmp_path / "t.yaml")
    asked = [str(remark) for remark in imported.account.remarks if remark.kind == "ask"]
    assert any("--series 'sent'=SIGNAL:QUEUE" in text for text in asked)
    assert imported.account.text == ORDERS


def test_what_a_remark_asks_for_is_enough(tmp_path, truth):
    """The remark asked for no unit; with what it asked for the rates were refused, and the queue was left out unsaid."""
    (tmp_path / "mappings.json").write_text(json.dumps(MAPPING))
    files = [tmp_path / "mappings.json", *metrics(tmp_path, truth)]
    results = [json.loads(path.read_text()) for path in files[1:]]
    answer = [
        {
            "Id": f"m{place}", "Label": item["Label"], "Timestamps": [point["Timestamp"] for point in item["Datapoints"]],
            "Values": [point.get("Sum", point.get("Average")) for point in item["Datapoints"]], "StatusCode": "Complete",
        }
        for place, item in enumerate(results)
    ]  # fmt: skip
    (tmp_path / "all.json").write_text(json.dumps({"MetricDataResults": answer}))
    two = json.loads(json.dumps(MAPPING))
    two["EventSourceMappings"].append(
        {
            **two["EventSourceMappings"][0],
            "UUID": "second",
            "EventSourceArn": "arn:aws:sqs:us-east-1:111122223333:mails",
        }
    )
    files[0].write_text(json.dumps(two))
    values = {"queues.mails.arrival_rate": "60/min", "queues.mails.service_rate": "90/min"}
    target = tmp_path / "t.yaml"

    def run(*series):
        return import_files(
            [files[0], tmp_path / "all.json"], new_scenario(truth), target, Wishes(series=series, values=values)
        )

    first = run()
    (held,) = account_held(first)
    assert re.match(
        r"Held back: queues.orders is not in the scenario: \d values found for it, and queues.orders also", held
    )
    assert account_text(first).endswith(held)
    asked = [
        re.search(r"say --series '(.*)'=(\S+)", remark.text) for remark in first.account.remarks if remark.kind == "ask"
    ]
    assert [found[2] for found in asked if found] == [
        "arrivals:QUEUE:count",
        "served:QUEUE:count",
        "backlog:QUEUE:items",
    ]
    told = [f"{found[1]}={found[2]}".replace("QUEUE", "orders") for found in asked if found]
    # What an earlier remark asked for is enough too.
    short = [text.rpartition(":")[0] for text in told]
    for given in (told, short):
        done = run(*given)
        assert account_held(done) == []
        queue = load_scenario_text(done.account.text, target).scenario.queues["orders"]
        assert queue.arrival_rate.constant_per_min == pytest.approx(1200, rel=0.05)
    answer[0]["Label"] = "sent"
    (tmp_path / "all.json").write_text(json.dumps({"MetricDataResults": answer}))
    done = run("sent (id=m0)=arrivals:orders", *told[1:])
    assert any("--series 'sent (id=m0)'=arrivals:orders:count" in str(remark) for remark in done.account.remarks)
    assert len(account_held(done)) == 1


def test_a_range_goes_with_the_value_that_it_was_measured_with(tmp_path, truth):
    """After an import nobody could change an imported rate, in the file or by a later import with --set."""
    (tmp_path / "mappings.json").write_text(json.dumps(MAPPING))
    files = [tmp_path / "mappings.json", *metrics(tmp_path, truth)]
    target = tmp_path / "t.yaml"
    text = import_files(files, new_scenario(truth), target).account.text
    target.write_text(text)
    path = "queues.orders.service_rate"
    rate = YamlText(text, "t").get(("queues", "orders", "service_rate"))
    assert path in load_scenario(target).ranges
    by_hand = text.replace(f"    service_rate: {rate}", "    service_rate: 2,500/min")
    assert by_hand != text
    again = import_files(files, by_hand, target)
    fates = {item.proposal.name: (item.fate, item.reason) for item in again.account.outcomes}
    assert again.problem == ""
    assert fates[path][0] == "kept"
    assert fates[f"uncertain.{path}"] == ("kept", "is of a value that is not taken")
    assert path in load_scenario_text(again.account.text, target).outdated
    # A value given by hand is the one that counts, beside a measurement too.
    given = import_files(files, text, target, Wishes(values={path: "2500/min"}))
    assert given.problem == ""
    loaded = load_scenario_text(given.account.text, target)
    assert loaded.scenario.queues["orders"].service_rate_per_min == 2500
    assert list(loaded.outdated) == [path]
    # A newer export brings its own range with its value.
    newer = incident(before_min=400, seed=11, capacity=2100.0)
    metrics(tmp_path, newer)
    drifted = import_files(files, text, target)
    loaded = load_scenario_text(drifted.account.text, target)
    assert loaded.scenario.queues["orders"].service_rate_per_min == pytest.approx(2100, rel=0.05)
    assert loaded.outdated == {}
    low, likely, high = loaded.ranges[path]
    assert low <= likely <= high
    assert low > 1900


def test_metrics_take_an_assignment_and_no_subject(tmp_path, truth):
    files = metrics(tmp_path, truth)
    wishes = Wishes(subjects={files[0].name: "orders"})
    with pytest.raises(
        InputError, match=r"holds metrics \(1 series\), .* --series 'NumberOfMessagesSent'=SIGNAL:orders:UNIT"
    ):
        import_files(files, new_scenario(truth), tmp_path / "t.yaml", wishes)
    (tmp_path / "x.json").write_text('{"a": 1}')
    with pytest.raises(InputError, match="no export known here"):
        read_any(tmp_path / "x.json", Wishes(subjects={"x.json": "orders"}))


@pytest.mark.parametrize("kept", [0.0, 200.0])
@pytest.mark.parametrize("look_back", [0, 1, 5])
def test_points_at_the_edges_of_an_outage_are_not_work_served_in_it(look_back, kept):
    """Prometheus: a sample of a moment, or rate() over minutes that the export does not tell (its times are their ends).

    The known course is evaluated as Prometheus evaluates it: at each minute t the mean over (t - look_back, t], or what
    runs at t. Consumers that stood still were said to serve some of their rate in the outage.
    """
    trigger, restore, end = 400, 490, 1000
    arrived, served, waiting = np.full(end, 1000.0), np.full(end, 1000.0), np.zeros(end)
    served[trigger:restore] = kept
    level = 0.0
    for minute in range(trigger, end):
        if minute >= restore:
            served[minute] = min(1500.0, level + arrived[minute])
        level += arrived[minute] - served[minute]
        waiting[minute] = level
    window = max(look_back, 1)
    at = served if look_back == 0 else np.array([served[max(0, t - window) : max(t, 1)].mean() for t in range(end)])
    start = 1_760_940_000.0
    times = start + 60.0 * np.arange(end)
    series = {"arrivals": arrived, "served": at, "backlog": waiting}
    assigned = [
        Assigned(
            made(times, values, name, "unknown", "end"),
            "p.json",
            name,
            "q",
            unit="per_min" if name != "backlog" else None,
        )
        for name, values in series.items()
    ]
    moments = (dt.datetime.fromtimestamp(start + 60 * minute, dt.UTC) for minute in (trigger, restore))
    found, _, remarks = metric_proposals(assigned, *moments, ZoneInfo("UTC"))
    assert not remarks
    offered = {item.path[-1]: item for item in found if item.path[0] == "queues"}
    assert offered["service_rate"].value == "1,500/min"
    if kept == 0:
        assert "served_in_outage" not in offered
    else:
        assert offered["served_in_outage"].value == "200/min"
        assert "but for 5 min at both ends" in offered["served_in_outage"].note


def test_a_count_of_cloudwatch_covers_the_period_that_begins_at_its_time(truth):
    """The point at the minute of the restore is work of the drain, and that of the minute before is work of the outage."""
    rates = to_rates(truth.series(truth.served, "NumberOfMessagesDeleted"))
    first = throughput(rates, truth.trigger.timestamp(), truth.restore.timestamp())
    assert (first.mean, first.periods) == (0.0, 172)
    last = throughput(rates, truth.restore.timestamp(), truth.restore.timestamp() + 60)
    assert last.mean > 1000


FIXTURES = Path(__file__).parent / "fixtures"


def test_series_of_one_name_are_told_apart_by_their_files(tmp_path):
    text = (FIXTURES / "two-series.json").read_text()
    files = [tmp_path / "arrivals.json", tmp_path / "served.json"]
    for path in files:
        path.write_text(text)
    target = tmp_path / "t.yaml"
    asked = import_files(files, ORDERS, target).account.remarks
    assert [re.search("say --series '(.*?)'=", item.text)[1] for item in asked if item.kind == "ask"] == [
        "arrivals.json", "served.json"
    ]  # fmt: skip
    both = Wishes(series=("arrivals.json=arrivals:orders:per_s", "served:topic=playback-events=served:orders:per_s"))
    account = import_files(files, ORDERS, target, both).account
    telemetry = YamlText(account.text, "t.yaml").data["telemetry"]
    assert [(entry["file"], entry["signal"], entry["unit"]) for entry in telemetry] == [
        ("arrivals.json", "arrivals", "per_s"), ("served.json", "served", "per_s")
    ]  # fmt: skip
    target.write_text(account.text)
    again = import_again(load_scenario(target))
    assert again.problem == ""
    with pytest.raises(InputError, match=r"names 2 series; known: arrivals\.json, served\.json"):
        import_files(files, ORDERS, target, Wishes(series=("topic=playback-events=arrivals:orders:per_s",)))
