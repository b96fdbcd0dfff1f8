"""Every command is one that the service takes, and every argument of Terraform one that its resource has.

Commands are checked by the service models of the installed botocore. ``terraform_arguments.json`` is a copy, made by
hand, of the arguments that the AWS provider's documentation gives for the resources used.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from botocore import xform_name
from botocore.session import get_session
from botocore.validate import ParamValidator

from afterload.findings.audit import Finding
from afterload.readers.reading import Inventory, Observation

Make = Callable[..., Any]
ARGUMENTS: dict[str, list[str]] = json.loads((Path(__file__).parent / "terraform_arguments.json").read_text("utf-8"))
# What people fill in, with a value of its form.
PLACEHOLDERS = {"CAP": "2", "SECONDS": "60", "MAPPING_UUID": "0" * 36}
# Attributes of a queue that commands set, with the range of each (API reference of SetQueueAttributes).
QUEUE_RANGES = {"VisibilityTimeout": (0, 43_200), "MessageRetentionPeriod": (60, 1_209_600)}
SESSION = get_session()


def lines(item: Finding) -> Iterator[str]:
    yield from (*item.steps.apply, *item.steps.undo)


def aws_lines(item: Finding) -> Iterator[list[str]]:
    """Commands to run, and those that a comment offers."""
    for line in lines(item):
        if line.startswith("aws "):
            yield shlex.split(line, comments=True)
        elif item.steps.language == "sh" and ": aws " in line:
            yield shlex.split(line[line.index("aws ") :])


def value(shape: Any, words: list[str]) -> Any:
    """Words of an option as its shape takes them: JSON, Key=Value shorthand, or plain."""
    words = [PLACEHOLDERS.get(word, word) for word in words]
    if shape.type_name == "boolean":
        assert words == []
        return True
    if shape.type_name == "list" and shape.member.type_name == "string":
        return words
    if shape.type_name == "list":
        return [shorthand(shape.member, word) for word in words]
    [word] = words
    if shape.type_name in ("structure", "map"):
        return json.loads(word) if word.startswith("{") else shorthand(shape, word)
    return int(word) if shape.type_name in ("integer", "long") else word


def shorthand(shape: Any, word: str) -> dict[str, Any]:
    pairs = dict(part.split("=", 1) for part in word.split(","))
    return {key: int(given) if shape.members[key].type_name == "integer" else given for key, given in pairs.items()}


def check(words: list[str]) -> str:
    """Ask the service model about one command; give its operation."""
    service, operation, *rest = words[1:]
    model = SESSION.get_service_model(service)
    wire = next(name for name in model.operation_names if xform_name(name, "-") == operation)
    shape = model.operation_model(wire).input_shape
    members = {f"--{xform_name(name, '-')}": (name, member) for name, member in shape.members.items()}
    flags = {f"--no-{option[2:]}": found for option, found in members.items() if found[1].type_name == "boolean"}
    given: dict[str, list[str]] = {}
    for word in rest:
        if word in members or word in flags:
            assert word not in given, words
            given[word] = []
        else:
            list(given.values())[-1].append(word)
    params = {
        (members | flags)[option][0]: value((members | flags)[option][1], found) for option, found in given.items()
    }
    report = ParamValidator().validate(params, shape)
    assert not report.has_errors(), (words, report.generate_report())
    for name, found in params.items():
        bounded(shape.members[name], found, name)
    if operation == "set-queue-attributes":
        attributes(params["Attributes"], model.shape_for("QueueAttributeName").enum)
    return f"{service} {operation}"


def bounded(shape: Any, found: Any, name: str) -> None:
    """botocore checks the least only, and no choices."""
    if shape.type_name == "structure":
        for key, part in found.items():
            bounded(shape.members[key], part, key)
        return
    most = shape.metadata.get("max")
    if most is not None and isinstance(found, int | str):
        assert (found if isinstance(found, int) else len(found)) <= most, (name, found)
    if shape.metadata.get("enum"):
        assert found in shape.metadata["enum"], (name, found)


def attributes(given: dict[str, str], known: list[str]) -> None:
    for name, text in given.items():
        assert name in known
        assert isinstance(text, str)
        if name == "RedrivePolicy":
            policy = json.loads(text)
            assert set(policy) == {"deadLetterTargetArn", "maxReceiveCount"}
            assert 1 <= policy["maxReceiveCount"] <= 1_000
        else:
            least, most = QUEUE_RANGES[name]
            assert least <= int(text) <= most


def test_commands_fit_the_services(make: Make, cases: dict[str, Any], rule: str) -> None:
    made = make(*cases[rule].fires)
    for item in made.audit.findings:
        assert item.steps.language == "sh"
        for words in aws_lines(item):
            check(words)
        for line in lines(item):
            assert "\n" not in line
            if not line.startswith(("aws ", "export ", "unset ")):
                assert line.startswith("# "), line
    for gap in made.audit.gaps:
        if gap.command:
            check(shlex.split(gap.command))


def test_the_golden_commands(make: Make, cases: dict[str, Any], rows: Any) -> None:
    """Those of the service documentation, word for word."""
    cap = make(*cases["no-drain-cap"].fires).one("no-drain-cap").steps
    command = f"aws lambda update-event-source-mapping --uuid {rows.UUID} --scaling-config"
    assert cap.apply == (f"{command} MaximumConcurrency=80",)
    assert cap.undo == (f"{command} '{{}}'",)
    age = make(*cases["async-age-default"].fires).one("async-age-default").steps
    verb = "aws lambda update-function-event-invoke-config --function-name worker --maximum-event-age-in-seconds"
    assert (age.apply, age.undo) == ((f"{verb} 900",), (f"{verb} 21600",))
    # Without a configuration there is nothing to update, and undoing takes away what was put.
    bare = make(rows.ASYNC, ()).one("async-age-default").steps
    assert bare.apply == (verb.replace("update-", "put-") + " 900",)
    assert bare.undo == ("aws lambda delete-function-event-invoke-config --function-name worker",)
    pause = make(*cases["removal-active"].fires).one("removal-active").steps
    names = "ReplaceUnhealthy AZRebalance Terminate AlarmNotification ScheduledActions HealthCheck"
    options = f"--auto-scaling-group-name web --scaling-processes {names}"
    assert pause.apply == (f"aws autoscaling suspend-processes {options}",)
    assert pause.undo[1] == f"aws autoscaling resume-processes {options}"
    assert "set-instance-health" in pause.undo[0]


ADDRESSES = {
    "lambda.mapping": "module.q[\"a.b\"].aws_lambda_event_source_mapping.orders[0]",
    "lambda.function": "aws_lambda_function.worker",
    "lambda.async": "aws_lambda_function_event_invoke_config.worker",
    "sqs.queue": "aws_sqs_queue.orders",
    "autoscaling.group": "aws_autoscaling_group.web",
    "elb.target_group": "aws_lb_target_group.web",
    "states.retry": "aws_sfn_state_machine.billing",
}  # fmt: skip
# Steps of these are no setting that Terraform holds: a task, instances, groups of messages, a second export.
NOT_A_SETTING = {
    "redrive-rate",
    "resume-replaces",
    "fifo-groups",
    "mapping-state",
    "scenario-differs",
    "key-life-short",
}


def by_terraform(rows: Any, exported: Any) -> Inventory:
    """The same rows as a reader of Terraform gives them."""

    def moved(item: Observation) -> Observation:
        address = ADDRESSES.get(item.kind)
        if address is None:
            return item
        return replace(item, origin=replace(item.origin, file="plan.json", place=f"{address}.{item.attribute}"))

    return Inventory(tuple(moved(item) for item in rows.observations(exported)))


def test_what_terraform_manages_is_changed_there(make: Make, cases: dict[str, Any], rows: Any, rule: str) -> None:
    parts, exported = cases[rule].fires
    if not exported or rule in NOT_A_SETTING:
        return
    item = make(parts, by_terraform(rows, exported)).one(rule)
    assert item.cost.amount == (None if cases[rule].amount is None else pytest.approx(cases[rule].amount))
    assert item.steps.language == "hcl"
    for block in (item.steps.apply, item.steps.undo):
        address = next(part for part in ADDRESSES.values() if f"# in {part}, then" in block[0])
        kind = re.search(r"aws_\w+", address.rpartition("].")[2])
        assert kind is not None
        arguments(kind[0], [line for line in block if not line.startswith("#")])
        assert not any(line.startswith("aws ") for line in block)


def arguments(resource: str, body: list[str]) -> None:
    """Braces match, strings are closed, and every argument is one of the resource."""
    text = "\n".join(body)
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", text)
    for opening, closing in ("{}", "()", "[]"):
        assert bare.count(opening) == bare.count(closing)
    assert '"' not in bare
    for name in re.findall(r"^\s*(?:\w+ \{ )?(\w+) (?:=|\{)", text, re.MULTILINE):
        assert name in ARGUMENTS[resource], (resource, name)


def test_terraform_names_the_dead_letter_queue_by_reference(make: Make, rows: Any) -> None:
    """A plan knows a queue that is not made yet by its address, which is no text in Terraform's language."""
    made = make(rows.queue(), by_terraform(rows, (
        rows.mapping(), rows.sqs(redrive_target="aws_sqs_queue.dead", max_receive_count=5, visibility_timeout_s=30),
    )))  # fmt: skip
    item = made.one("receives-low")
    assert "  deadLetterTargetArn = aws_sqs_queue.dead.arn" in item.steps.apply
    known = make(rows.queue(), by_terraform(rows, (
        rows.mapping(), rows.sqs(**rows.SOURCE, max_receive_count=5, visibility_timeout_s=30),
    ))).one("receives-low")  # fmt: skip
    assert f'  deadLetterTargetArn = "{rows.DEAD_ARN}"' in known.steps.apply


HOSTILE = [
    "two words",
    "it's",
    'say "no"',
    "$(touch /tmp/owned)",
    "`id`",
    "a; reboot",
    "${path.root}",
    "-n",
    "日本 🙂",
    "#x",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_come_back_whole(make: Make, rows: Any, name: str) -> None:
    queue = rows.queue(service="lambda-async", resources={"function": name})
    fleet = rows.fleet(resources={"auto_scaling_group": name})
    exported = (
        rows.invoke(name, max_event_age_s=21_600, on_failure=None), rows.function(name),
        (*rows.group(suspended_processes=())[:1], name, rows.group(suspended_processes=())[2]),
    )  # fmt: skip
    made = make({**queue, **fleet}, exported)
    seen = set()
    for item in made.audit.findings:
        for words in aws_lines(item):
            for option in {"--function-name", "--auto-scaling-group-name"} & set(words):
                assert words[words.index(option) + 1] == name
                seen.add(option)
    assert seen == {"--function-name", "--auto-scaling-group-name"}


def test_hostile_names_stay_texts_of_terraform(make: Make, rows: Any) -> None:
    arn = 'arn:aws:sqs:x:1:a"b${path.root}%{if true}'
    made = make(rows.queue(), by_terraform(rows, (
        rows.mapping(), rows.sqs(redrive_target=arn, max_receive_count=5, visibility_timeout_s=30),
    )))  # fmt: skip
    text = "\n".join(made.one("receives-low").steps.apply)
    assert r"a\"b$${path.root}%%{if true}" in text
