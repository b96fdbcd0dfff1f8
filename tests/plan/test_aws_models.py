"""Every emitted AWS command against the service models of the installed botocore: operation, parameters, ranges, values.

botocore's own validator looks at names, types and the least of a range; here the most, patterns and lists of values count
too. Words in capitals, which stand for a team's own names, are put in first.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator
from typing import Any

import botocore.session
import pytest
from botocore import xform_name
from botocore.validate import ParamValidator
from tests.plan.conftest import HEAD, everything

from afterload.estimates import Estimates, estimate
from afterload.plan import Plan, build_plan
from afterload.plan.exercises import build_exercises
from afterload.plan.runbook import build_runbook
from afterload.recovery.build import couple
from afterload.scenario import load_scenario

SESSION = botocore.session.get_session()
ARN = "arn:aws:sqs:us-east-1:111122223333:dead"
NAMES = {
    "MAPPING_UUID": "00000000-1111-2222-3333-444444444444", "DESTINATION_ARN": ARN, "DEAD_LETTER_QUEUE_ARN": ARN,
    "AGE": "12", "STATE_MACHINE_ARN": "arn:aws:states:us-east-1:111122223333:stateMachine:s",
}  # fmt: skip
# The command line's own: one reads a file of the user's machine, the other makes a list of its single options.
NOT_OF_A_SERVICE = ("configure get",)
METRIC = {"--metric-name": "MetricName", "--unit": "Unit", "--value": "Value"}
GOLDEN = [
    "aws lambda update-event-source-mapping --uuid MAPPING_UUID --scaling-config MaximumConcurrency=20",
    "aws lambda put-function-event-invoke-config --function-name F --maximum-event-age-in-seconds 900 "
    """--maximum-retry-attempts 1 --destination-config '{"OnFailure":{"Destination":"DESTINATION_ARN"}}'""",
    "aws autoscaling suspend-processes --auto-scaling-group-name G --scaling-processes ReplaceUnhealthy AZRebalance",
    "aws autoscaling resume-processes --auto-scaling-group-name G --scaling-processes ReplaceUnhealthy AZRebalance",
]


def aws_commands(lines: Iterable[str]) -> Iterator[str]:
    """Commands, and those that a comment tells of."""
    for line in lines:
        if shlex.split(line, comments=True)[:1] == ["aws"]:
            yield line
        elif line.startswith("#") and (found := re.search(r"aws [a-z0-9-]+ [a-z-]+ --[^):;]+", line)):
            yield found.group()


def refuse(command: str) -> str:
    """Raise AssertionError, KeyError or StopIteration where a service would refuse a command; its operation."""
    words = [_named(word) for word in shlex.split(command, comments=True)]
    operation = " ".join(words[1:3])
    if operation in NOT_OF_A_SERVICE:
        return operation
    shape = _input(words[1], words[2])
    members = {xform_name(name, "-"): (name, item) for name, item in shape.members.items()}
    parameters: dict[str, Any] = {}
    for option, values in _options(words[3:]):
        if operation == "cloudwatch put-metric-data" and option in METRIC:
            value: Any = float(values[0]) if option == "--value" else values[0]
            parameters.setdefault("MetricData", [{}])[0][METRIC[option]] = value
            continue
        off = option.removeprefix("--") not in members
        name, member = members[option.removeprefix("--no-" if off else "--")]
        assert name not in parameters, command
        parameters[name] = _typed(member, values, not off)
    report = ParamValidator().validate(parameters, shape)
    assert not report.has_errors(), (command, report.generate_report())
    _within(parameters, shape, operation)
    return operation


def _named(word: str) -> str:
    for name, value in NAMES.items():
        word = re.sub(rf"\b{name}\b", value, word)
    return word


def _input(service: str, operation: str) -> Any:
    model = SESSION.get_service_model(service)
    wire = next(name for name in model.operation_names if xform_name(name, "-") == operation)
    return model.operation_model(wire).input_shape


def _options(words: list[str]) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    for word in words:
        if word.startswith("--"):
            found.append((word, []))
        else:
            found[-1][1].append(word)
    return found


def _typed(shape: Any, values: list[str], switch: bool) -> Any:
    if shape.type_name == "boolean":
        assert values == []
        return switch
    assert values, shape
    if shape.type_name == "list":
        return [_one(shape.member, value) for value in values]
    (value,) = values
    return _one(shape, value)


def _one(shape: Any, text: str) -> Any:
    """A value as the command line reads it: JSON, or Key=Value,Key=Value."""
    if shape.type_name in ("structure", "map"):
        if text.startswith("{"):
            return json.loads(text)
        pairs = dict(part.split("=", 1) for part in text.split(","))
        members = shape.members if shape.type_name == "structure" else dict.fromkeys(pairs, shape.value)
        return {name: _one(members[name], value) for name, value in pairs.items()}
    if shape.type_name in ("integer", "long"):
        return int(text)
    if shape.type_name == "boolean":
        return {"true": True, "false": False}[text]
    return float(text) if shape.type_name in ("double", "float") else text


def _within(value: Any, shape: Any, place: str) -> None:
    limits, kind = shape.metadata, shape.type_name
    if kind == "structure":
        for name, member in value.items():
            _within(member, shape.members[name], f"{place}.{name}")
    elif kind == "map":
        for name, member in value.items():
            _within(name, shape.key, f"{place}: {name}")
            _within(member, shape.value, f"{place}.{name}")
    elif kind == "list":
        assert limits.get("min", 0) <= len(value) <= limits.get("max", len(value)), (place, value)
        for member in value:
            _within(member, shape.member, place)
    elif kind in ("integer", "long"):
        assert limits.get("min", value) <= value <= limits.get("max", value), (place, value)
    elif kind == "string":
        assert limits.get("min", 0) <= len(value) <= limits.get("max", len(value)), (place, value)
        assert value in (shape.enum or [value]), (place, value)
        # Java's classes and pairs of surrogates are not Python's; such patterns only leave out control characters.
        if not re.search(r"\\p\{|\\uD8", pattern := limits.get("pattern", "")):
            assert re.fullmatch(pattern or ".*", value, re.DOTALL), (place, value)


def plan_lines(plan: Plan) -> Iterator[str]:
    for item in plan.items:
        yield from (*item.apply, *item.undo)


def other_lines(estimates: Estimates) -> Iterator[str]:
    """Commands of the runbook and of the exercises."""
    runbook = build_runbook(estimates)
    for step in runbook.steps:
        yield from step.commands
    for pause in runbook.pauses:
        yield from (*pause.apply, *pause.undo)
    for exercise in build_exercises(estimates, runbook, couple(estimates.loaded)):
        yield from (command for command, _ in exercise.commands)


@pytest.mark.parametrize("command", GOLDEN)
def test_the_golden_commands(command: str) -> None:
    assert refuse(command)


@pytest.mark.parametrize("example", ["orders", "checkout-api", "render-fleet", "payments"])
def test_of_the_examples(example: str) -> None:
    estimates = estimate(load_scenario(f"builtin:scenarios/{example}.yaml"))
    lines = [*plan_lines(build_plan(estimates, draws=2)), *other_lines(estimates)]
    assert len({refuse(command) for command in aws_commands(lines)}) >= 2


def test_of_every_branch(whole: Any, tmp_path: Any) -> None:
    found = {refuse(command) for command in aws_commands(plan_lines(whole.plan))}
    assert len(found) >= 15, found
    path = tmp_path / "t.yaml"
    path.write_text(json.dumps({**HEAD, **everything(), "admission": {"floor_share": 0.4}}), encoding="utf-8")
    assert len(list(map(refuse, aws_commands(other_lines(estimate(load_scenario(path))))))) > 40


@pytest.mark.parametrize(
    "command",
    [
        "aws lambda update-event-source-mappings --uuid MAPPING_UUID",
        "aws lambda update-event-source-mapping --uuid MAPPING_UUID --pause",
        "aws lambda update-event-source-mapping --scaling-config MaximumConcurrency=20",
        "aws lambda update-event-source-mapping --uuid MAPPING_UUID --scaling-config MaximumConcurrency=1",
        "aws lambda update-event-source-mapping --uuid MAPPING_UUID --scaling-config MaximumConcurrency=1001",
        "aws lambda update-event-source-mapping --uuid MAPPING_UUID --maximum-record-age-in-seconds 604801",
        "aws lambda put-function-event-invoke-config --function-name F --maximum-event-age-in-seconds 21601",
        "aws lambda put-function-event-invoke-config --function-name F --maximum-event-age-in-seconds fast",
        "aws lambda put-function-event-invoke-config --function-name 'two words' --maximum-retry-attempts 1",
        'aws sqs set-queue-attributes --queue-url u --attributes \'{"Retention": "60"}\'',
        "aws autoscaling suspend-processes --scaling-processes ReplaceUnhealthy",
    ],
)
def test_what_a_service_refuses_is_found(command: str) -> None:
    with pytest.raises((AssertionError, KeyError, ValueError, StopIteration)):
        refuse(command)
