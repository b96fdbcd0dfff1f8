"""Every command of the plan is one that the service takes, whatever a scenario's names hold.

``aws_shapes.json`` is a small copy, made by hand, of the argument shapes of the operations used. Where botocore is
installed, its own service models are asked as well.
"""

from __future__ import annotations

import importlib.util
import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from afterload.errors import ScenarioError
from afterload.estimates import estimate
from afterload.plan import Plan, build_plan
from afterload.scenario import load_scenario

SHAPES: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "aws_shapes.json").read_text(encoding="utf-8"))
# Words in capitals stand for what a scenario does not name; a UUID of the right length stands for the mapping's.
PLACEHOLDERS = {"MAPPING_UUID": "0" * 36}
EXAMPLES = ("orders", "checkout-api", "render-fleet")
HOSTILE = [
    "two words", "it's", 'say "no"', "$(touch /tmp/owned)", "`id`", "a; reboot", "a && b", "a | b", "> out", "*?[x]",
    "~", "!history", "a\\b", "#comment", "{a,b}", "-n", "--endpoint-url=x", "日本 🙂", "%PATH%",
]  # fmt: skip


def commands(plan: Plan) -> Iterator[str]:
    for item in plan.items:
        yield from (*item.apply, *item.undo)


def aws_words(plan: Plan) -> Iterator[list[str]]:
    for command in commands(plan):
        words = shlex.split(command, comments=True)
        if words[:1] == ["aws"]:
            yield words


def check(words: list[str]) -> str:
    """Raise AssertionError where a command does not fit the shapes; give its operation."""
    operation = " ".join(words[1:3])
    assert operation in SHAPES, operation
    if operation == "configure get":
        assert words[3:] == ["retry_mode"]
        return operation
    options = SHAPES[operation]
    given: dict[str, list[str]] = {}
    name = ""
    for word in words[3:]:
        if word in options:
            name = word
            assert name not in given, words
            given[name] = []
        else:
            assert name, words
            given[name].append(word)
    for name, shape in options.items():
        assert name in given or not shape.get("required"), (operation, name)
    for name, values in given.items():
        fits(values, options[name], name)
    return operation


def fits(values: list[str], shape: dict[str, Any], name: str) -> None:
    if shape["type"] == "boolean":
        assert values == [], (name, values)
        return
    if shape["type"] == "list":
        assert values, name
        assert set(values) <= set(shape.get("choices", values)), values
        for value in values if "member" in shape else ():
            # A value of the list is text whatever it looks like.
            pairs = dict(part.split("=", 1) for part in value.split(","))
            fits_structure(pairs, shape["member"], name)
        return
    assert len(values) == 1, (name, values)
    value = PLACEHOLDERS.get(values[0], values[0])
    if shape["type"] == "structure":
        fits_structure(structure(value), shape, name)
    elif shape["type"] == "map":
        found = json.loads(value)
        assert set(found) <= set(shape["keys"]), (name, found)
        assert all(isinstance(item, str) for item in found.values()), found
    elif shape["type"] == "integer":
        assert shape["min"] <= int(value) <= shape["max"], (name, value)
    else:
        assert value in shape.get("choices", [value]), value
        assert shape.get("min", 0) <= len(value) <= shape.get("max", 10_000), (name, value)


def structure(text: str) -> dict[str, Any]:
    """A structure as the AWS CLI reads it: JSON, or Key=Value."""
    if text.startswith("{"):
        found = json.loads(text)
        assert isinstance(found, dict)
        return found
    pairs = dict(part.split("=", 1) for part in text.split(","))
    return {
        key: int(value) if value.removeprefix("-").isdigit() else {"true": True}.get(value, value)
        for key, value in pairs.items()
    }


def fits_structure(found: dict[str, Any], shape: dict[str, Any], name: str) -> None:
    for key, value in found.items():
        member = shape["members"][key]
        if member["type"] == "structure":
            fits_structure(value, member, f"{name}.{key}")
        else:
            assert isinstance(value, {"integer": int, "boolean": bool}.get(member["type"], str))
            fits([] if member["type"] == "boolean" else [str(value)], member, f"{name}.{key}")


@pytest.mark.parametrize("example", EXAMPLES)
def test_commands_of_the_examples_fit_the_services(example: str) -> None:
    plan = build_plan(estimate(load_scenario(f"builtin:scenarios/{example}.yaml")))
    found = [check(words) for words in aws_words(plan)]
    assert found


def test_commands_of_every_branch_fit_the_services(whole) -> None:  # type: ignore[no-untyped-def]
    found = [check(words) for words in aws_words(whole.plan)]
    # Every operation of the table is used, but the one that only a comment names.
    assert set(found) == set(SHAPES) - {"about", "lambda get-function-event-invoke-config"}
    noted = [command for command in commands(whole.plan) if "get-function-event-invoke-config" in command]
    assert noted
    for command in noted:
        assert command.startswith("# ")
        check(shlex.split(command[command.index("aws ") :]))


@pytest.mark.skipif(importlib.util.find_spec("botocore") is None, reason="botocore is not installed")
def test_the_shapes_are_those_of_botocore() -> None:
    session = importlib.import_module("botocore.session").get_session()
    xform_name = importlib.import_module("botocore").xform_name
    for operation, options in SHAPES.items():
        service, _, name = operation.partition(" ")
        if operation in ("about", "configure get", "cloudwatch put-metric-data"):
            continue
        model = session.get_service_model(service)
        wire = next(known for known in model.operation_names if xform_name(known, "-") == name)
        shape = model.operation_model(wire).input_shape
        members = {f"--{xform_name(member, '-')}": (member, form) for member, form in shape.members.items()}
        required = {f"--{xform_name(member, '-')}" for member in shape.required_members}
        assert required == {option for option, form in options.items() if form.get("required")}, operation
        for option, form in options.items():
            member = members[option.replace("--no-", "--")][1]
            assert member.type_name == form["type"], (operation, option)
            if form["type"] in ("integer", "string"):
                assert member.metadata.get("min", form["min"]) == form["min"], (operation, option)
                assert member.metadata.get("max", form["max"]) == form["max"], (operation, option)
            if "member" in form:
                assert set(form["member"]["members"]) <= set(member.member.members), (operation, option)
            if form["type"] == "structure":
                assert set(form["members"]) <= set(member.members), (operation, option)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_come_back_whole(make: Callable[..., Any], name: str) -> None:
    base = {"arrival_rate": "10/min", "service_rate": "20/min", "item_time": "2 s", "dependency": "d",
            "goes_stale_after": "5 min", "resources": {"function": name, "event_source_mapping": name}}  # fmt: skip
    made = make(
        dependencies={"d": {"tested_rate": "900/min"}},
        queues={
            "a": {**base, "service": "lambda-async", "on_failure_destination": name},
            "b": {**base, "service": "sqs-lambda"},
            "c": {**base, "service": "stream-lambda"},
        },
        fleets={
            "f": {"running": 1, "needed": 2, "removal_automation": ["Terminate", name],
                  "resources": {"auto_scaling_group": name}},
            "g": {"running": 1, "needed": 2, "resources": {"auto_scaling_group": name}},
        },
        call_stacks={"s": {"layers": [{"name": name, "tries": 2}, {"name": name, "tries": 2}]}},
    )  # fmt: skip
    expected = {"--function-name", "--uuid", "--auto-scaling-group-name", "--auto-scaling-group-names"}
    seen = set()
    for words in aws_words(made.plan):
        for option in expected & set(words):
            assert words[words.index(option) + 1] == name
            seen.add(option)
        if "--destination-config" in words:
            sink = json.loads(words[words.index("--destination-config") + 1])["OnFailure"]["Destination"]
            assert sink in (name, "DESTINATION_ARN")
    assert seen == expected
    for command in commands(made.plan):
        assert "\n" not in command
        # What is not a command of the service is a comment, whole.
        if not command.startswith("aws "):
            assert shlex.split(command, comments=True) == [], command


@pytest.mark.parametrize("name", ["two\nlines", "a\rb", "a\u2028b", "a\x00b", "a\x1bb", "tab\tbed", "", "x" * 201])
def test_names_that_would_break_a_line_are_refused(make: Callable[..., Any], name: str) -> None:
    fleet = {"running": 1, "needed": 2, "removal_automation": ["Terminate"], "resources": {"auto_scaling_group": name}}
    with pytest.raises(ScenarioError):
        make(fleets={"f": fleet})
    with pytest.raises(ScenarioError):
        make(fleets={"f": {**fleet, "resources": {}, "removal_automation": [{"name": "x", "pause": name}]}})


def test_the_golden_commands(whole) -> None:  # type: ignore[no-untyped-def]
    """Those of the service documentation, word for word."""
    uuid = "00000000-1111-2222-3333-444444444444"
    cap = whole.line("drain-cap:queues.sqs-capped-high")
    mapping = f"aws lambda update-event-source-mapping --uuid {uuid} --scaling-config"
    assert cap.apply == (f"{mapping} MaximumConcurrency=80",)
    assert cap.undo == (f"{mapping} MaximumConcurrency=200",)
    assert whole.line("drain-cap:queues.sqs").undo == (f"{mapping} '{{}}'",)
    age = whole.line("age-limit:queues.async")
    assert age.apply[-1] == (
        "aws lambda put-function-event-invoke-config --function-name worker --maximum-event-age-in-seconds 900 "
        """--maximum-retry-attempts 1 --destination-config '{"OnFailure":{"Destination":"DESTINATION_ARN"}}'"""
    )
    assert age.undo == ("aws lambda delete-function-event-invoke-config --function-name worker",)
    pause = whole.line("pause-list:fleets.fleet")
    processes = "--auto-scaling-group-name asg --scaling-processes ReplaceUnhealthy Terminate HealthCheck"
    # The scenario does not name HealthCheck, so a line says why it is suspended.
    assert pause.apply[0].startswith("# HealthCheck, which the scenario does not name,")
    assert pause.apply[1:3] == (f"aws autoscaling suspend-processes {processes}", "reaperctl off")
    assert pause.undo[1:3] == (f"aws autoscaling resume-processes {processes}", "reaperctl on")
    assert "Healthy" in pause.undo[0]


def test_limits_that_the_service_would_refuse_are_never_asked_for(whole) -> None:  # type: ignore[no-untyped-def]
    def asked(line: str) -> str:
        words = next(w for w in map(shlex.split, whole.line(line).apply) if w[0] == "aws")
        place = next(place for place, word in enumerate(words) if word.endswith("age-in-seconds"))
        return words[place + 1]

    assert asked("age-limit:queues.async-patient") == "21600"
    assert asked("age-limit:queues.async-hasty") == "60"
    assert asked("age-limit:queues.stream-patient") == "604800"
    wide = whole.line("drain-cap:queues.sqs-wide")
    assert "MaximumConcurrency=1000" in wide.apply[0]
    # 1,000 at once of 2 s each: 30,000/min, whatever more the dependency could bear.
    assert "A cap of 1,000 at once bounds the drain at 30,000/min" in wide.bounds
