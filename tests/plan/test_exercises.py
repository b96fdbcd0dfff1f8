"""The exercises: figures against the guide and closed forms, exports against the tools that read them."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator
from chaoslib.exceptions import InvalidExperiment
from chaoslib.experiment import ensure_experiment_is_valid
from tests.plan.conftest import HEAD

from afterload.errors import NotFoundError
from afterload.estimates import estimate
from afterload.limits import fault_action
from afterload.plan.exercise_exports import exercise_chaostoolkit, exercise_fis
from afterload.plan.exercises import REFERENCE_LIFT_MIN, Exercise, Fault, build_exercises
from afterload.plan.runbook import build_runbook
from afterload.recovery.build import couple
from afterload.recovery.result import estimate_recovery
from afterload.scenario import LoadedScenario, load_scenario

FIS = botocore.session.get_session().get_service_model("fis")
TEMPLATE = FIS.operation_model("CreateExperimentTemplate").input_shape
EXAMPLES = ("orders", "checkout-api", "render-fleet")
CLIENT = {"c": {"sdk": "boto3", "number": 1}}


def exercises_of(loaded: LoadedScenario) -> tuple[Exercise, ...]:
    coupling, estimates = couple(loaded), estimate(loaded)
    recovery = None if coupling is None else estimate_recovery(coupling, draws=10)
    return build_exercises(estimates, build_runbook(estimates, recovery), coupling)


@pytest.fixture(scope="module")
def examples() -> dict[str, tuple[Exercise, ...]]:
    return {name: exercises_of(load_scenario(f"builtin:scenarios/{name}.yaml")) for name in EXAMPLES}


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., tuple[Exercise, ...]]:
    """The exercises of a scenario of these parts."""

    def made(**parts: Any) -> tuple[Exercise, ...]:
        path = tmp_path / "t.yaml"
        path.write_text(json.dumps({**HEAD, **parts}, ensure_ascii=False), encoding="utf-8")
        return exercises_of(load_scenario(path))

    return made


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ``aws`` that Chaos Toolkit finds: it looks for the programme of every activity, and runs none here."""
    path = tmp_path / "bin" / "aws"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}:/usr/bin:/bin")


def accepted(template: dict[str, Any]) -> None:
    """Raise AssertionError where the service's model refuses a template, lengths and patterns of names included."""
    report = ParamValidator().validate({"clientToken": "t", **template}, TEMPLATE)
    assert not report.has_errors(), report.generate_report()
    within(template, TEMPLATE, "template")
    for action in template["actions"].values():
        assert set(action["targets"].values()) <= set(template["targets"])
        known(action, template["targets"])


def within(value: Any, shape: Any, place: str) -> None:
    """Lengths, patterns and values of the service's model, which botocore's own validator does not look at."""
    limits = shape.metadata
    if shape.type_name == "structure":
        for name, member in value.items():
            within(member, shape.members[name], f"{place}.{name}")
    elif shape.type_name == "map":
        assert len(value) <= limits.get("max", len(value)), place
        for key, member in value.items():
            within(key, shape.key, f"{place}: {key}")
            within(member, shape.value, f"{place}.{key}")
    elif shape.type_name == "list":
        assert limits.get("min", 0) <= len(value) <= limits.get("max", len(value)), place
        for number, member in enumerate(value):
            within(member, shape.member, f"{place}[{number}]")
    elif shape.type_name == "string":
        assert limits.get("min", 0) <= len(value) <= limits.get("max", len(value)), (place, value)
        assert value in (shape.enum or [value]), (place, value)
        assert re.fullmatch(limits.get("pattern", ".*"), value, re.DOTALL), (place, value)


# Of the vendor's reference of actions, which no model holds: what each parameter takes; here written out a second time.
ACTIONS = {
    "aws:network:disrupt-connectivity": ("Subnets", "aws:ec2:subnet", {
        "duration": r"PT([1-9]|[1-9]\d|[1-6]\d\d|7[01]\d|720)M",
        "scope": "all|availability-zone|dynamodb|prefix-list|s3|s3express|vpc",
        "prefixListIdentifier": r"\S+",
    }),
    "aws:ec2:asg-insufficient-instance-capacity-error": ("AutoScalingGroups", "aws:ec2:autoscaling-group", {
        "duration": r"PT([1-9]|[1-9]\d|[1-6]\d\d|7[01]\d|720)M",
        "availabilityZoneIdentifiers": r"\S+",
        "percentage": r"[1-9]|[1-9]\d|100",
    }),
}  # fmt: skip


def known(action: dict[str, Any], targets: dict[str, Any]) -> None:
    """Raise AssertionError where the reference does not know an action, its target or a parameter."""
    key, resource_type, parameters = ACTIONS[action["actionId"]]
    assert list(action["targets"]) == [key]
    assert targets[action["targets"][key]]["resourceType"] == resource_type
    for name, value in action["parameters"].items():
        assert re.fullmatch(parameters[name], value), (name, value)
    assert "duration" in action["parameters"]
    assert (action["parameters"].get("scope") == "prefix-list") == ("prefixListIdentifier" in action["parameters"])


def test_there_are_seven_and_each_says_what_it_measures(examples: dict[str, tuple[Exercise, ...]]) -> None:
    for found in examples.values():
        assert [item.number for item in found] == list(range(1, 8))
        assert len({item.id for item in found}) == 7
        for item in found:
            parts = (item.steps, item.expected, item.passes, item.measured)
            assert all(parts) if not item.nothing else not any(parts)


def test_the_guides_numbers(examples: dict[str, tuple[Exercise, ...]]) -> None:
    """Of the planning guide: 206,400 queued, 344 min of drain, five layers of three tries, 3,000 a minute over attempts."""
    away, attempts, launches, leases, order, lifts, trigger = examples["orders"]
    assert "queue orders: 206,400 items at the restore, drained 344 min after it." in away.expected
    assert any("not passed by orders" in line for line in away.passes)
    assert away.faults == (Fault("dependency away", "orders-table", 172.0, "dynamodb"),)
    assert any(
        line.endswith("browser 3, gateway 9, checkout service 27, order service 81, database client 243.")
        for line in attempts.expected
    )
    assert "call stack checkout: at most 3 at the bottom, those of one layer that retries." in attempts.passes
    # 100 retries a client: 500 tokens of the earlier standard mode, 5 for each.
    assert "client checkout: 6,000 retries over 60 clients, then few." in attempts.expected
    assert any("3,000 missing instances in service within" in line for line in launches.passes)
    assert launches.commands
    assert leases.nothing
    assert any("step 4, drain recent backlog: 15 min" in line for line in order.expected)
    assert any(f"the provider took {REFERENCE_LIFT_MIN:g} min" in line for line in lifts.expected)
    assert trigger.faults[0].minutes == 1


def test_the_reference_lift_is_the_providers() -> None:
    """From 11:23 to 13:50 in the published summary."""
    assert REFERENCE_LIFT_MIN == (13 * 60 + 50) - (11 * 60 + 23)


def test_hidden_capacity_by_hand(write: Callable[..., tuple[Exercise, ...]]) -> None:
    """Of the metastable model (HotOS 2021): 300 over 2 attempts is 150."""
    dependencies = {"d": {"tested_rate": "300/min", "direct_rate": "280/min", "attempts_while_failing": 2}}
    trigger = write(clients=CLIENT, dependencies=dependencies)[6]
    assert trigger.expected[0].startswith("dependency d: hidden capacity 150/min, that is 300/min over 2 attempts")
    assert any("after a trigger at 135/min" in line for line in trigger.passes)
    assert any("280/min, does not pass this today" in line for line in trigger.passes)
    calm = write(clients=CLIENT, dependencies={"d": {**dependencies["d"], "direct_rate": "100/min"}})[6]
    assert not any("does not pass" in line for line in calm.passes)


def test_leases_by_hand(write: Callable[..., tuple[Exercise, ...]]) -> None:
    """2,400 over 60/s - 25/s of room: 68.6 s; without room they never catch up."""
    loop = {"load": "25/s", "capacity": "60/s", "timeout": "4 s", "waiting_at_restore": 2_400}
    made = write(
        clients=CLIENT,
        control_loops={"l": loop, "full": {**loop, "load": "60/s"}, "idle": {**loop, "waiting_at_restore": 0}},
    )[3]
    assert "take 68.6 s at the least" in made.expected[0]
    assert "does not catch up" in made.expected[1]
    assert "no caller waits" in made.expected[2]


def test_removals_by_hand(examples: dict[str, tuple[Exercise, ...]]) -> None:
    """Three a minute for the 75 min in which launches fail: 225."""
    assert any("about 225 instances removed in 1 h 15 min" in line for line in examples["render-fleet"][2].expected)


@pytest.mark.parametrize("example", EXAMPLES)
def test_fault_injection_templates_fit_the_service(examples: dict[str, tuple[Exercise, ...]], example: str) -> None:
    templates = [exercise_fis(item) for item in examples[example]]
    assert any(templates)
    for item, template in zip(examples[example], templates, strict=True):
        assert (template is None) == (not item.faults)
        if template is not None:
            accepted(template)
            json.dumps(template, allow_nan=False)


def test_durations_stay_within_those_of_the_service() -> None:
    def template(minutes: float) -> dict[str, Any]:
        made = exercise_fis(Exercise(1, "x", "X", (), (), (), "", (), (Fault("dependency away", "d" * 600, minutes),)))
        assert made is not None
        accepted(made)
        return made

    found = [template(m)["actions"]["fault-1"]["parameters"]["duration"] for m in (0.2, 1, 171.5, 720, 5_000)]
    assert found == ["PT1M", "PT1M", "PT172M", "PT720M", "PT720M"]
    assert template(5)["actions"]["fault-1"]["parameters"]["scope"] == "prefix-list"


def test_the_model_would_refuse_a_wrong_template(examples: dict[str, tuple[Exercise, ...]]) -> None:
    template = exercise_fis(examples["orders"][0])
    assert template is not None
    with pytest.raises(AssertionError):
        accepted({**template, "stopConditions": "none"})
    with pytest.raises(AssertionError):
        accepted({**template, "faults": {}})
    with pytest.raises(AssertionError, match="roleArn"):
        accepted({**template, "roleArn": "arn:short"})
    with pytest.raises(AssertionError, match="roleArn"):
        accepted({**template, "roleArn": "arn:aws:iam::1:role/with a blank"})
    with pytest.raises(AssertionError, match="description"):
        accepted({**template, "description": "x" * 513})
    with pytest.raises(AssertionError, match="tags"):
        accepted({**template, "tags": {"x" * 129: "y"}})
    for name, value in (("scope", "dynamo"), ("duration", "PT0M"), ("duration", "PT721M")):
        wrong = copy.deepcopy(template)
        wrong["actions"]["fault-1"]["parameters"][name] = value
        with pytest.raises(AssertionError, match=name):
            accepted(wrong)
    wrong = copy.deepcopy(template)
    wrong["actions"]["fault-1"]["actionId"] = "aws:network:disrupt"
    with pytest.raises(KeyError):
        accepted(wrong)


def test_the_shipped_actions_are_those_of_the_reference() -> None:
    for kind in ("dependency away", "launches denied"):
        action = fault_action(kind)
        key, resource_type, parameters = ACTIONS[action.action]
        assert (action.target, action.resource_type) == (key, resource_type)
        assert set(action.parameters) == set(parameters)
        assert action.parameters["duration"] == "duration"
    assert "|".join(fault_action("dependency away").parameters["scope"]) == ACTIONS[
        "aws:network:disrupt-connectivity"][2]["scope"]  # fmt: skip
    with pytest.raises(NotFoundError, match="no action for the fault 'flood'"):
        fault_action("flood")


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize("example", EXAMPLES)
def test_experiments_are_valid_for_chaos_toolkit(examples: dict[str, tuple[Exercise, ...]], example: str) -> None:
    for item in examples[example]:
        experiment = exercise_chaostoolkit(item)
        ensure_experiment_is_valid(json.loads(json.dumps(experiment, allow_nan=False)))
    with pytest.raises(InvalidExperiment):
        ensure_experiment_is_valid({**experiment, "title": ""})


@pytest.mark.usefixtures("tools")
def test_a_teams_own_command_is_one_line_of_a_shell() -> None:
    line = "reaperctl pause --pool 'a b' && echo \"it's off"
    experiment = exercise_chaostoolkit(Exercise(3, "x", "X", (), ("e.",), (), "", (), commands=((line, 2.0),)))
    ensure_experiment_is_valid(experiment)
    (activity,) = experiment["method"]
    assert activity["provider"] == {"type": "process", "path": "sh", "arguments": ["-c", line]}
    assert activity["pauses"] == {"after": 120}


def test_the_fault_comes_where_it_belongs(examples: dict[str, tuple[Exercise, ...]]) -> None:
    """Automation is paused before launches are denied; the doors are closed after the dependency was away."""
    names = [activity["name"] for activity in exercise_chaostoolkit(examples["orders"][2])["method"]]
    assert names[-1] == "start the fault"
    names = [activity["name"] for activity in exercise_chaostoolkit(examples["orders"][4])["method"]]
    assert names[0] == "start the fault"
    assert len(names) > 1
    assert not exercise_chaostoolkit(examples["orders"][5])["rollbacks"]


def test_a_scenario_with_nothing_says_so(write: Callable[..., tuple[Exercise, ...]]) -> None:
    made = write(worker_pools={"p": {"burst": 1, "item_time": "1 s"}}, clients=CLIENT)
    assert [bool(item.nothing) for item in made] == [True, False, True, True, True, True, True]
    assert all(item.nothing.endswith(".") for item in made if item.nothing)
    assert exercise_fis(made[0]) is None


def test_lines_for_people_stand_in_the_description(write: Callable[..., tuple[Exercise, ...]]) -> None:
    """A consumer that no command of a service holds is held by its people: the experiment says how."""
    queue = {"arrival_rate": "1,200/min", "service_rate": "6,000/min", "item_time": "2 s", "dependency": "table"}
    parts = {"queues": {"q": queue}, "dependencies": {"table": {"tested_rate": "3,000/min", "direct_rate": "500/min"}}}
    found = 0
    for exercise in write(**parts):
        text = exercise_chaostoolkit(exercise)["description"]
        for command, _ in exercise.commands:
            assert command.startswith("# ")
            assert command.removeprefix("# ") in text
            found += 1
    assert found >= 4


def test_a_lift_of_several_queues_is_held_once(write: Callable[..., tuple[Exercise, ...]]) -> None:
    """Three lifts of 15 min are 45 min of pauses, as the text says, and each command names its step, lift and queue."""
    queue = {"arrival_rate": "1,200/min", "service_rate": "6,000/min", "item_time": "2 s", "dependency": "table",
             "service": "sqs-lambda"}  # fmt: skip
    parts = {"queues": {"a": queue, "b": queue}, "dependencies": {"table": {"tested_rate": "6,000/min"}}}
    lifts = write(**parts)[5]
    method = exercise_chaostoolkit(lifts)["method"]
    assert [item["name"] for item in method] == [
        f"runbook {2 * lift + place + 1}: step 6, lift {lift + 1} of 3, queue {name}"
        for lift in range(3)
        for place, name in enumerate("ab")
    ]
    assert [item.get("pauses", {}).get("after", 0) for item in method] == [0, 900, 0, 900, 0, 900]
    assert any(line.startswith("all lifts: 45 min of holds") for line in lifts.expected)
    names = [item["name"] for item in exercise_chaostoolkit(write(**parts)[4])["method"][1:]]
    assert names == ["runbook 1: step 1, queue a", "runbook 2: step 1, queue b"]
