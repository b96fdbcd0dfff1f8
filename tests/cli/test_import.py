"""Import as a person calls it: what it prints, what it writes, how it ends."""

from __future__ import annotations

import json

import pytest

from afterload.resources import resource
from afterload.scenario import load_scenario
from afterload.scenario.evidence import standing

MAPPING = {
    "EventSourceMappings": [
        {
            "UUID": "7b1f9bd8-2c39-4bd4-9d55-0e1e5b0f2a11",
            "EventSourceArn": "arn:aws:sqs:us-east-1:111122223333:orders",
            "FunctionArn": "arn:aws:lambda:us-east-1:111122223333:function:order-worker",
            "LastModified": "2025-10-01T12:00:00+00:00",
            "State": "Enabled",
            "ScalingConfig": {"MaximumConcurrency": 20},
        }
    ]
}


@pytest.fixture
def files(tmp_path):
    (tmp_path / "mappings.json").write_text(json.dumps(MAPPING))
    (tmp_path / "t.yaml").write_text(resource("data", "scenarios", "orders.yaml").read_text(encoding="utf-8"))
    return tmp_path


def test_an_import_prints_its_account_and_writes_the_scenario(afterload, files):
    done = afterload("import", files / "mappings.json", "-o", files / "t.yaml")
    assert (done.code, done.err) == (0, f"{files / 't.yaml'}\n")
    assert "queues.orders.drain_cap" in done.out
    assert "aws lambda get-function-concurrency --function-name order-worker --output json" in done.out
    assert afterload("check", files / "t.yaml").code == 0
    assert "concurrency: 20" in (files / "t.yaml").read_text()
    again = afterload("import", files / "mappings.json", "-o", files / "t.yaml")
    assert again.err == f"{files / 't.yaml'}: nothing changed\n"


def test_a_dry_run_writes_nothing(afterload, files):
    before = (files / "t.yaml").read_text()
    assert afterload("import", files / "mappings.json", "-o", files / "t.yaml", "--dry-run").code == 0
    assert (files / "t.yaml").read_text() == before


def test_what_was_undone_since_is_said(afterload, files):
    afterload("import", files / "mappings.json", "-o", files / "t.yaml")
    changed = json.loads(json.dumps(MAPPING))
    del changed["EventSourceMappings"][0]["ScalingConfig"]
    changed["EventSourceMappings"][0]["BatchSize"] = 10
    (files / "mappings.json").write_text(json.dumps(changed))
    done = afterload("import", files / "mappings.json", "-o", files / "t.yaml")
    assert "Drifted since the last import: queues.orders.drain_cap." in done.out
    assert "Undone since: drain-cap:queues.orders" in done.out


def test_a_new_scenario_needs_a_team_and_a_zone(afterload, files):
    done = afterload("import", files / "mappings.json", "-o", files / "n.yaml")
    assert done.code == 3
    assert "needs --team NAME and --zone ZONE" in done.err
    done = afterload("import", files / "mappings.json", "-o", files / "n.yaml", "--team", "N", "--zone", "UTC")
    assert done.code == 3
    assert "queues.orders also needs arrival_rate, service_rate" in done.out
    assert "Give what is missing with --set" in done.err
    assert not (files / "n.yaml").exists()
    rates = ("--set", "queues.orders.arrival_rate=1200/min", "--set", "queues.orders.service_rate=1800/min")
    done = afterload("import", files / "mappings.json", "-o", files / "n.yaml", "--team", "N", "--zone", "UTC", *rates)
    assert done.code == 0
    assert "drain 344 min" in afterload("check", files / "n.yaml").out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--zone", "Mars"), "'Mars' is not a time zone"),
        (("--subject", "order-worker"), "is not of the form FILE=NAME"),
        (("--subject", "other.json=f"), "'other.json' is not one of the files given"),
        (("--series", "a=arrivals"), "no file of metrics is given"),
        (("--team", "T"), "exists, so it has a team already"),
        (("--set", "queues.orders.nothing=1"), "queues.orders.nothing"),
    ],
)
def test_wrong_options_end_with_3_and_write_nothing(afterload, files, arguments, words):
    before = (files / "t.yaml").read_text()
    done = afterload("import", files / "mappings.json", "-o", files / "t.yaml", *arguments)
    assert done.code == 3
    assert words in done.err
    assert (files / "t.yaml").read_text() == before


CLIENT = "clients.order-worker"


@pytest.mark.parametrize(
    ("path", "typed", "held"),
    [
        (f"{CLIENT}.version", "1.40", "1.40"),
        (f"{CLIENT}.version", "'1.50'", "1.50"),
        ("clients.new-worker.version", "1.10", "1.10"),
        ("shared.account", "012345678901", "012345678901"),
        ("shared.account", "123456789012", "123456789012"),
        ("owner", "true", "true"),
        ("owner", "1e3", "1e3"),
        ("incident.name", "2025.10", "2025.10"),
    ],
)
def test_a_value_for_text_is_written_as_it_was_typed(afterload, files, path, typed, held):
    """A version of 1.40 is not 1.4, and a name may read as a number or a truth value."""
    beside = ("--set", "clients.new-worker.sdk=boto3", "--set", "clients.new-worker.number=2") if "new" in path else ()
    arguments = ("import", files / "mappings.json", "-o", files / "t.yaml", "--set", f"{path}={typed}", *beside)
    done = afterload(*arguments)
    assert done.code == 0, done.err
    row = next(line for line in done.out.splitlines() if line.startswith(f"{path} "))
    assert held in row
    loaded = load_scenario(files / "t.yaml")
    found = loaded.scenario
    for part in path.split("."):
        found = found[part] if isinstance(found, dict) else getattr(found, part)
    assert found == held
    assert standing(loaded, path).basis == "guessed"
    # The same again changes nothing.
    text = (files / "t.yaml").read_text()
    assert afterload(*arguments).err == f"{files / 't.yaml'}: nothing changed\n"
    assert (files / "t.yaml").read_text() == text


def test_a_version_is_another_one_than_what_stands_there(afterload, files):
    path = files / "t.yaml"
    text = path.read_text().replace("version: 1.43.11", "version: 1.4")
    path.write_text(text)
    done = afterload("import", files / "mappings.json", "-o", path, "--set", f"{CLIENT}.version=1.40")
    assert done.code == 0, done.err
    assert load_scenario(path).scenario.clients["order-worker"].version == "1.40"


def test_a_field_within_a_part_and_a_name_with_dots_can_be_set(afterload, files):
    path = files / "t.yaml"
    text = path.read_text()
    assert text.count("\n  order-worker:") == 2
    path.write_text(text.replace("\n  order-worker:", "\n  order.worker:", 1))
    values = (
        "--set",
        "queues.orders.resources.queue_url=https://example.org/q",
        "--set",
        "clients.order.worker.number=77",
    )
    done = afterload("import", files / "mappings.json", "-o", path, *values)
    assert done.code == 0, done.err
    found = load_scenario(path).scenario
    assert found.queues["orders"].resources.queue_url == "https://example.org/q"
    assert found.clients["order.worker"].number == 77
    assert list(found.queues) == ["orders"]


def test_the_same_first_import_can_be_run_again(afterload, files):
    """A pipeline gives the same command each time; and values that stood in until then have not drifted."""
    given = [
        "import", files / "mappings.json", "-o", files / "n.yaml", "--team", "N", "--zone", "UTC",
        "--set", "queues.orders.arrival_rate=1200/min", "--set", "queues.orders.service_rate=1800/min",
        "--set", "incident.trigger=2026-03-03T16:00Z", "--set", "incident.restored_at=2026-03-03T17:30Z",
    ]  # fmt: skip
    first = afterload(*given)
    assert first.code == 0, first.err
    assert "Drifted" not in first.out
    assert "2025-10-19" not in first.out
    assert " updated" not in first.out
    again = afterload(*given)
    assert (again.code, again.err) == (0, f"{files / 'n.yaml'}: nothing changed\n")
    other = afterload(*[("M" if item == "N" else item) for item in given])
    assert other.code == 3
    assert "has a team already, N: leave --team out" in other.err
    moved = afterload(*[item.replace("03-03T", "03-04T") if isinstance(item, str) else item for item in given])
    assert moved.code == 0
    assert "Drifted" not in moved.out


@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_a_timeline_goes_into_a_scenario_without_one(afterload, files, options):
    path = files / "t.yaml"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if "timeline:" not in line))
    before = path.read_text()
    (files / "events.csv").write_text("at,event\n2026-03-03T10:00Z,database down\n2026-03-03T11:35Z,database up\n")
    done = afterload("import", files / "events.csv", "-o", path, *options)
    assert done.code == 0, done.err
    assert "incident.timeline  t-timeline.csv" in done.out
    if options:
        assert (path.read_text(), sorted(item.name for item in files.glob("t*"))) == (before, ["t.yaml"])
    else:
        assert [event.event for event in load_scenario(path).timeline] == ["database down", "database up"]


def test_a_timeline_without_entries_is_no_success(afterload, files):
    (files / "t.md").write_text("| Time | Event |\n| --- | --- |\n| 20262-01-16 12:00 | a year too long |\n")
    done = afterload("import", files / "t.md", "-o", files / "t.yaml")
    assert (done.code, done.out) == (3, "")
    assert "t.md: nothing of it can be read.\n- line 3: '20262-01-16 12:00' is not a time" in done.err


def test_impact_windows_become_a_file_beside_the_scenario(afterload, files):
    path = files / "t.yaml"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if "impacts:" not in line))
    rows = "a,2025-10-20T07:00Z,2025-10-20T10:10Z,major\nb,2025-10-20T07:00Z,,minor\n"
    (files / "w.csv").write_text(f"title,downtime_start,downtime_end,impact\n{rows}")
    done = afterload("import", files / "w.csv", "-o", path)
    assert done.code == 0, done.err
    assert "w.csv: impact windows (1)." in done.out
    assert "w.csv line 3: refused: 'b' has no end" in done.out
    assert [(window.service, window.impact) for window in load_scenario(path).impacts] == [("a", "major")]
    (files / "w.csv").write_text("title,downtime_start,downtime_end,impact\nb,2025-10-20T07:00Z,,minor\n")
    refused = afterload("import", files / "w.csv", "-o", path)
    assert (refused.code, refused.out) == (3, "")
    assert "w.csv: nothing of it can be read.\n- line 2: 'b' has no end" in refused.err
