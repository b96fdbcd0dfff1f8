"""The fixtures, the table of attributes and the export commands against the service models of the installed botocore."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any

import botocore.session
import pytest
from botocore import xform_name
from tests.readers.cloud.exports import EXPORTS, TARGET_GROUP_ATTRIBUTES

from afterload import limits
from afterload.readers.cloud import ATTRIBUTES, TERRAFORM_TYPES, commands_for

SESSION = botocore.session.get_session()
PYTHON_TYPES: dict[str, Any] = {
    "string": str, "integer": int, "long": int, "double": (int, float), "float": (int, float), "boolean": bool,
    "timestamp": (str, int, float),
}  # fmt: skip


def output(service: str, operation: str) -> Any:
    return SESSION.get_service_model(service).operation_model(operation).output_shape


def faults(value: Any, shape: Any, place: str = "") -> Iterator[str]:
    """Members of a fixture that the output shape does not have, or whose type or value it would not give."""
    if shape.type_name == "structure":
        if not isinstance(value, dict):
            yield f"{place} is no object"
            return
        for name, inner in value.items():
            if name in shape.members:
                yield from faults(inner, shape.members[name], f"{place}.{name}")
            else:
                yield f"{place}.{name} is unknown"
    elif shape.type_name == "list":
        for number, item in enumerate(value):
            yield from faults(item, shape.member, f"{place}[{number}]")
    elif shape.type_name == "map":
        known = shape.key.metadata.get("enum")
        for name, item in value.items():
            if known and name not in known:
                yield f"{place}.{name} is unknown"
            yield from faults(item, shape.value, f"{place}.{name}")
    else:
        if not isinstance(value, PYTHON_TYPES[shape.type_name]) or isinstance(value, bool) != (
            shape.type_name == "boolean"
        ):
            yield f"{place} is {value!r}, not {shape.type_name}"
        elif shape.metadata.get("enum") and value not in shape.metadata["enum"]:
            yield f"{place} is {value!r}, not one of {shape.metadata['enum']}"


@pytest.mark.parametrize("name", EXPORTS)
def test_a_fixture_is_what_the_operation_gives(name: str) -> None:
    service, operation, value = EXPORTS[name]
    assert xform_name(operation, "-") == name
    assert list(faults(value, output(service, operation))) == []


def test_the_check_finds_wrong_members() -> None:
    shape = output("lambda", "ListEventSourceMappings")
    wrong = {
        "EventSourceMappings": [{"UUID": 5, "Batchsize": 1, "ScalingConfig": [], "BisectBatchOnFunctionError": "no"}]
    }
    assert len(list(faults(wrong, shape))) == 4


# The object of one resource in the output of an operation, for the members that the table names.
OBJECTS = {
    "lambda.mapping": ("lambda", "ListEventSourceMappings", "EventSourceMappings"),
    "lambda.function": ("lambda", "ListFunctions", "Functions"),
    "lambda.async": ("lambda", "ListFunctionEventInvokeConfigs", "FunctionEventInvokeConfigs"),
    "lambda.account": ("lambda", "GetAccountSettings", ""),
    "sqs.queue": ("sqs", "GetQueueAttributes", "Attributes"),
    "autoscaling.group": ("autoscaling", "DescribeAutoScalingGroups", "AutoScalingGroups"),
    "elb.target_group": ("elbv2", "DescribeTargetGroups", "TargetGroups"),
}
FORMS = {"whole": {"integer", "long"}, "flag": {"boolean"}, "text": {"string"}, "list": {"list"}}
ROWS = [(kind, name) for kind, rows in ATTRIBUTES.items() for name, row in rows.items() if row.cli and kind in OBJECTS]


@pytest.mark.parametrize(("kind", "name"), ROWS)
def test_a_member_of_the_table_is_one_of_the_service(kind: str, name: str) -> None:
    row = ATTRIBUTES[kind][name]
    service, operation, key = OBJECTS[kind]
    shape = output(service, operation)
    shape = shape.members[key] if key else shape
    if name == "provisioned_concurrency":
        shape = output("lambda", "ListProvisionedConcurrencyConfigs").members["ProvisionedConcurrencyConfigs"]
    if row.cli.startswith(("target_group_health.", "deregistration_delay.", "slow_start.")):
        model = SESSION.get_service_model("elbv2")
        assert f"<code>{row.cli}</code>" in model.shape_for("TargetGroupAttribute").members["Key"].documentation
        return
    for step in row.cli.split("/"):
        shape = shape.member if shape.type_name == "list" else shape
        if shape.type_name == "map":
            assert step in shape.key.metadata.get("enum", [step])
            shape = shape.value
        else:
            shape = shape.members[step]
    # Every attribute of a queue is a string on the wire.
    if row.form in FORMS and kind != "sqs.queue":
        assert shape.type_name in FORMS[row.form]


def test_every_row_says_what_it_is() -> None:
    for kind, rows in ATTRIBUTES.items():
        for name, row in rows.items():
            assert row.text, (kind, name)
            # A number has a unit; a name of it ends like the unit where that is seconds.
            assert row.unit or row.form != "whole", (kind, name)
            assert name.endswith("_s") == (row.unit == "s"), (kind, name)
            assert row.cli or row.terraform or row.form == "computed" or name == "url", (kind, name)
            for source in ("sqs", "stream") if row.default else ():
                limits.limit(row.default.format(source=source))


def test_every_type_of_terraform_shows_a_known_kind() -> None:
    assert set(TERRAFORM_TYPES.values()) <= set(ATTRIBUTES)


@pytest.mark.parametrize("kind", ATTRIBUTES)
def test_an_export_command_is_one_that_the_service_takes(kind: str) -> None:
    assert commands_for(kind)
    for command in commands_for(kind):
        words = shlex.split(command)
        assert words[0] == "aws"
        assert words[-2:] == ["--output", "json"]
        model = SESSION.get_service_model(words[1])
        wire = next(name for name in model.operation_names if xform_name(name, "-") == words[2])
        shape = model.operation_model(wire).input_shape
        members = {f"--{xform_name(member, '-')}": form for member, form in (shape.members if shape else {}).items()}
        given = dict(zip(words[3:-2:2], words[4:-2:2], strict=True))
        assert set(given) <= set(members)
        assert {f"--{xform_name(member, '-')}" for member in shape.required_members if shape} <= set(given)
        for option, value in given.items():
            form = members[option]
            enum = (form.member if form.type_name == "list" else form).metadata.get("enum", [])
            assert value.isupper() or value in enum, (option, value)
        # Some fixture is the output of each, so each is read.
        assert words[2] in EXPORTS


def test_values_that_are_strings_on_the_wire_are_strings_here() -> None:
    """Each value of get-queue-attributes is a string, the redrive policy JSON in one."""
    attributes = EXPORTS["get-queue-attributes"][2]["Attributes"]
    assert all(isinstance(value, str) for value in attributes.values())
    assert json.loads(attributes["RedrivePolicy"])["maxReceiveCount"] == 5
    assert all(isinstance(item["Value"], str) for item in TARGET_GROUP_ATTRIBUTES["Attributes"])
