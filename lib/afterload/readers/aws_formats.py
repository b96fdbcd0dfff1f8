"""What a text without JSON is (another format of the AWS CLI, its error, Terraform's text), and what to run instead."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from afterload.readers.cloud_table import commands_for

__all__ = ["TERRAFORM_COMMAND", "aws_errors", "unconfigured", "why_no_json"]

TERRAFORM_COMMAND = (
    "terraform show -json PLANFILE > plan.json (or terraform show -json > state.json; tofu takes the same)"
)

_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_ERROR = re.compile(r"An error occurred \((\w{1,80})\)[^\n]{0,60}? when calling the (\w{1,80}) operation")
_UNCONFIGURED = re.compile(r"The function (\S{1,300}) doesn't have an EventInvokeConfig")
_TERRAFORM = re.compile(
    r"^Terraform (?:used the selected|will perform)|^OpenTofu (?:used the selected|will perform)"
    r"|^[ \t]*(?:[-+~]+/?[-+]*[ \t]+)?resource \"\w+\" \"|^[ \t]*# \S+ (?:will be|must be|is tainted)",
    re.MULTILINE,
)
_TABLE = re.compile(r"^-{5,}\s*$\n\|", re.MULTILINE)
_YAML = re.compile(r"^(?:- )?[A-Za-z]\w*:(?:[ \t].*)?$")
# Member or operation in another format, without signs: the command that gives it as JSON.
_MEMBERS = {
    "eventsourcemapping": commands_for("lambda.mapping")[0],
    "eventinvokeconfig": commands_for("lambda.async")[0],
    "functionconcurrency": commands_for("lambda.function")[1],
    "functions": commands_for("lambda.function")[0],
    "accountlimit": commands_for("lambda.account")[0],
    "queueurls": commands_for("sqs.queue")[0],
    "queuearn": commands_for("sqs.queue")[1],
    "autoscalinggroup": commands_for("autoscaling.group")[0],
    "targetgrouphealth": commands_for("elb.target_group")[1],
    "targetgroup": commands_for("elb.target_group")[0],
}
_HEAD = 200_000


@dataclass(frozen=True)
class AwsError:
    """An error that the AWS CLI printed: its code and the operation."""

    code: str
    operation: str


def aws_errors(text: str) -> Iterator[AwsError]:
    """Errors of the AWS CLI in a text, without their messages, which may name users."""
    for match in _ERROR.finditer(text):
        yield AwsError(match.group(1), match.group(2))


def unconfigured(text: str) -> tuple[str, ...]:
    """Functions of which the AWS CLI said that they have no asynchronous configuration of their own."""
    return tuple(match.group(1) for match in _UNCONFIGURED.finditer(text))


def why_no_json(text: str) -> str:
    """Why a text holds no JSON to read, and what to run instead."""
    head = _COLOUR.sub("", text[:_HEAD])
    if _TERRAFORM.search(head):
        return f"is Terraform text for people, not its JSON: run {TERRAFORM_COMMAND}"
    error = next(aws_errors(head), None)
    if error:
        where = f"holds an AWS error ({error.code} of {error.operation}), and no export"
        return f"{where}: run the command with the rights that it needs"
    first = next((line for line in head.splitlines() if line.strip()), "")
    form = "table" if _TABLE.search(head) else "yaml" if _YAML.match(first) else "text" if "\t" in first else ""
    plain = re.sub(r"[^a-z]", "", head.lower())
    command = next(
        (command for member, command in _MEMBERS.items() if member in plain), "the command with --output json"
    )
    if form:
        return f"is AWS CLI output in the format {form}, which is not read: run {command}"
    return "holds no JSON: expected an export of the AWS CLI with --output json, or of terraform show -json"
