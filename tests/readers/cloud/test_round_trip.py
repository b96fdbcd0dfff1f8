"""An inventory written as an export, by the columns of the table, and read back: the same inventory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.readers.cloud.exports import LAMBDA, MODIFIED, SQS
from tests.readers.cloud.tables import values
from tests.readers.cloud.terraform_files import resource, state

from afterload import limits
from afterload.readers.cloud import ATTRIBUTES, read_cloud_file

NAMES = st.text("abcxyzABC019-_", min_size=1, max_size=12)
ARNS = NAMES.map(lambda name: f"{SQS}:{name}")
WHOLE = st.integers(0, 1_000_000)
FORMS: dict[str, st.SearchStrategy[Any]] = {
    "whole": WHOLE,
    "number": st.integers(10, 100).map(lambda tenths: tenths / 10),
    "flag": st.booleans(),
    "text": ARNS,
    "list": st.lists(NAMES, max_size=3).map(tuple),
    "set": st.sets(NAMES, max_size=3).map(lambda found: tuple(sorted(found))),
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("round") / "export.json"


def settings_of(kind: str, column: str, source: str = "") -> st.SearchStrategy[dict[str, Any]]:
    """Values for the attributes of a kind that a column shows; None where an export may show it unset."""
    found = {}
    for name, row in ATTRIBUTES[kind].items():
        shown = row.cli if column == "cli" else row.terraform
        if not shown or row.form == "computed" or (source and row.sources and source not in row.sources):
            continue
        strategy = FORMS[row.form].filter(lambda value, row=row: value not in row.none)
        always = row.form in ("list", "set") or name in ("arn", "url")
        found[name] = strategy if always else st.none() | strategy
    return st.fixed_dictionaries(found)


def written(kind: str, chosen: dict[str, Any], column: str) -> dict[str, Any]:
    """The object of one resource with these values; blocks of Terraform are lists of one."""
    made: dict[str, Any] = {}
    for name, value in chosen.items():
        row = ATTRIBUTES[kind][name]
        *above, last = (row.cli if column == "cli" else row.terraform).split("/")
        if value is None:
            continue
        node = made
        for step in above:
            node = node.setdefault(step, {}) if column == "cli" else node.setdefault(step, [{}])[0]
        node[last] = list(value) if isinstance(value, tuple) else value
    return made


def expected(kind: str, chosen: dict[str, Any], source: str = "") -> dict[str, Any]:
    """What is read back: the same, and the service's own value for what is unset."""
    found = {}
    for name, value in chosen.items():
        key = ATTRIBUTES[kind][name].default.format(source="sqs" if source == "sqs" else "stream")
        found[name] = limits.value(key) if value is None and key else value
    return found


def read_back(path: Path, document: Any, kind: str, name: str) -> dict[str, Any]:
    path.write_text(json.dumps(document))
    return values(read_cloud_file(path), kind, name)


SOURCES = {
    "sqs": f"{SQS}:q",
    "kinesis": "arn:aws:kinesis:eu-west-1:1:stream/s",
    "kafka": "arn:aws:kafka:eu-west-1:1:cluster/c/1",
}


@settings(max_examples=30, deadline=None)
@given(st.data())
@pytest.mark.parametrize("column", ["cli", "terraform"])
@pytest.mark.parametrize("source", SOURCES)
def test_mappings(path: Path, source: str, column: str, data: st.DataObject) -> None:
    uuid = "14e0db71-5d35-4eb5-b481-8945cf9d10c2"
    chosen = {**data.draw(settings_of("lambda.mapping", column, source)), "event_source": SOURCES[source]}
    made = written("lambda.mapping", chosen, column)
    if column == "cli":
        made |= {"UUID": uuid, "FunctionArn": f"{LAMBDA}:f:live", "LastModified": MODIFIED}
        document: Any = {"EventSourceMappings": [{"State": "Enabled", **made}]}
        chosen["state"] = chosen["state"] or "Enabled"
    else:
        made |= {"uuid": uuid, "function_name": f"{LAMBDA}:f:live", "enabled": True}
        document = state([resource("aws_lambda_event_source_mapping.m", made)])
        chosen["state"] = "Enabled"
    found = read_back(path, document, "lambda.mapping", uuid)
    for name, value in expected("lambda.mapping", chosen, source).items():
        assert found[name] == value, name
    assert (found["function"], found["qualifier"], found["source_kind"]) == ("f", "live", source)


CLI = {
    "lambda.function": (
        "Functions",
        {"FunctionName": "n", "LastModified": MODIFIED, "Version": "$LATEST", "CodeSize": 1},
    ),
    "lambda.async": ("FunctionEventInvokeConfigs", {"FunctionArn": f"{LAMBDA}:n", "LastModified": MODIFIED}),
    "autoscaling.group": (
        "AutoScalingGroups",
        {"AutoScalingGroupName": "n", "HealthCheckType": "EC2", "CreatedTime": MODIFIED},
    ),
    "elb.target_group": ("TargetGroups", {"TargetGroupName": "n"}),
}
# Members that the service always gives, and that show that nothing was filtered out.
ALWAYS = {
    "autoscaling.group": {"minimum": 0, "arn": "arn:g"},
    "elb.target_group": {"arn": "arn:t", "target_type": "ip", "health_check_enabled": True},
    "lambda.function": {"arn": f"{LAMBDA}:n"},
}


@settings(max_examples=30, deadline=None)
@given(st.data())
@pytest.mark.parametrize("kind", CLI)
def test_lists_of_the_cli(path: Path, kind: str, data: st.DataObject) -> None:
    key, head = CLI[kind]
    chosen = data.draw(settings_of(kind, "cli")) | ALWAYS.get(kind, {})
    found = read_back(path, {key: [{**written(kind, chosen, "cli"), **head}]}, kind, "n")
    for name, value in expected(kind, chosen).items():
        assert found[name] == value, name


TERRAFORM = {
    "lambda.function": ("aws_lambda_function", "function_name"),
    "lambda.async": ("aws_lambda_function_event_invoke_config", "function_name"),
    "sqs.queue": ("aws_sqs_queue", "name"),
    "autoscaling.group": ("aws_autoscaling_group", "name"),
    "elb.target_group": ("aws_lb_target_group", "name"),
}


@settings(max_examples=30, deadline=None)
@given(st.data())
@pytest.mark.parametrize("kind", TERRAFORM)
def test_states_of_terraform(path: Path, kind: str, data: st.DataObject) -> None:
    type_name, member = TERRAFORM[kind]
    chosen = data.draw(settings_of(kind, "terraform").filter(lambda found: found.get("max_event_age_s") != 0))
    document = state([resource(f"{type_name}.r", {member: "n", **written(kind, chosen, "terraform")})])
    found = read_back(path, document, kind, "n")
    for name, value in expected(kind, chosen).items():
        assert found[name] == value, name


@settings(max_examples=30, deadline=None)
@given(st.data(), st.none() | st.tuples(ARNS, WHOLE))
def test_queues_of_the_cli(path: Path, data: st.DataObject, redrive: tuple[str, int] | None) -> None:
    chosen = data.draw(settings_of("sqs.queue", "cli")) | {"arn": f"{SQS}:n"}
    chosen = {name: value or 0 for name, value in chosen.items()}
    strings = {name: str(value) for name, value in written("sqs.queue", chosen, "cli").items()} | {
        "CreatedTimestamp": "1"
    }
    if redrive:
        strings["RedrivePolicy"] = json.dumps({"deadLetterTargetArn": redrive[0], "maxReceiveCount": redrive[1]})
    found = read_back(path, {"Attributes": strings}, "sqs.queue", "n")
    assert {name: found[name] for name in chosen} == chosen
    assert (found["redrive_target"], found["max_receive_count"]) == (redrive or (None, None))


@settings(max_examples=30, deadline=None)
@given(st.lists(settings_of("states.retry", "cli"), min_size=1, max_size=4))
def test_retries_of_a_state_machine(path: Path, entries: list[dict[str, Any]]) -> None:
    retries = [written("states.retry", entry, "cli") for entry in entries]
    definition = {"StartAt": "S", "States": {"S": {"Type": "Task", "Resource": "r", "Retry": retries, "End": True}}}
    machine = {"stateMachineArn": "arn:aws:states:eu-west-1:1:stateMachine:m", "definition": json.dumps(definition)}
    for number, entry in enumerate(entries):
        assert read_back(path, machine, "states.retry", f"m/S[{number}]") == expected("states.retry", entry)
