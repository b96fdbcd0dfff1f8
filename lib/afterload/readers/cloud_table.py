"""The kinds of cloud resource that readers know, their attributes with unit and source, and the commands that export them.

They stand in ``data/cloud_attributes.csv``, by sources. ``cli`` names a member of an AWS CLI export, below the object of one
resource, as the service models name it. ``terraform`` names an attribute of the AWS provider's resource, below ``values`` of
``terraform show -json``; blocks are lists there, of which the first element is meant. A slash goes one level down. Where
neither is given, the reader computes the attribute, and its text says from what.

Resources have these names: a mapping its UUID, or its Terraform address before it has one; a function its own, and a
published version or an alias a name of its own after a colon; ``lambda.account``, one for each account and region, "account",
since the export names neither; a retry ``MACHINE/STATE[i]`` for each entry of a Retry list; everything else its own name.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import Literal, cast

from afterload.resources import resource

__all__ = ["ATTRIBUTES", "TERRAFORM_TYPES", "Attribute", "commands_for"]

Form = Literal["whole", "number", "flag", "text", "list", "set", "computed"]


@dataclass(frozen=True)
class Attribute:
    """One attribute of a kind of resource.

    Attributes:
        unit: its unit; empty for names and flags.
        text: what it is, and what None means where that says more than unset.
        form: form of the value: whole, number, flag, text, list (a tuple of texts), set (a sorted one), or computed from
            several members.
        cli: member of the AWS CLI export; empty if it is not shown there.
        terraform: attribute of the Terraform resource; empty if it is not shown there.
        default: key in ``data/limits.yaml`` of the service's own value where it is unset. ``{source}`` stands for ``sqs``
            or ``stream``.
        sources: source kinds of a mapping that have it; empty: all.
        none: numbers that mean "no limit" or "off", given as None.
        least: the least number that has a meaning.
    """

    unit: str
    text: str
    form: Form
    cli: str = ""
    terraform: str = ""
    default: str = ""
    sources: tuple[str, ...] = ()
    none: tuple[int, ...] = ()
    least: int = 0


def _read_table() -> dict[str, dict[str, Attribute]]:
    found: dict[str, dict[str, Attribute]] = {}
    with resource("data", "cloud_attributes.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            kind, name, form = row.pop("kind"), row.pop("attribute"), cast(Form, row.pop("form"))
            sources, none = tuple(row.pop("sources").split()), tuple(map(int, row.pop("none").split()))
            least = int(row.pop("least") or 0)
            found.setdefault(kind, {})[name] = Attribute(**row, form=form, sources=sources, none=none, least=least)
    return found


# By kind and name, in the order of the table.
ATTRIBUTES = _read_table()

# Resource types of the Terraform AWS provider that are read, and what each shows.
TERRAFORM_TYPES: dict[str, str] = {
    "aws_lambda_event_source_mapping": "lambda.mapping",
    "aws_lambda_function": "lambda.function",
    "aws_lambda_function_event_invoke_config": "lambda.async",
    "aws_lambda_provisioned_concurrency_config": "lambda.function",
    "aws_sqs_queue": "sqs.queue",
    "aws_sqs_queue_redrive_policy": "sqs.queue",
    "aws_autoscaling_group": "autoscaling.group",
    "aws_lb_target_group": "elb.target_group",
    "aws_alb_target_group": "elb.target_group",
    "aws_sfn_state_machine": "states.retry",
}

# Words in capitals stand for what the person fills in.
_COMMANDS: dict[str, tuple[str, ...]] = {
    "lambda.mapping": ("aws lambda list-event-source-mappings --output json",),
    "lambda.function": (
        "aws lambda list-functions --output json",
        "aws lambda get-function-concurrency --function-name FUNCTION --output json",
    ),
    "lambda.async": ("aws lambda list-function-event-invoke-configs --function-name FUNCTION --output json",),
    "lambda.account": ("aws lambda get-account-settings --output json",),
    "sqs.queue": (
        "aws sqs list-queues --output json",
        "aws sqs get-queue-attributes --queue-url QUEUE_URL --attribute-names All --output json",
    ),
    "autoscaling.group": ("aws autoscaling describe-auto-scaling-groups --output json",),
    "elb.target_group": (
        "aws elbv2 describe-target-groups --output json",
        "aws elbv2 describe-target-group-attributes --target-group-arn TARGET_GROUP_ARN --output json",
    ),
    "states.retry": ("aws stepfunctions describe-state-machine --state-machine-arn STATE_MACHINE_ARN --output json",),
}


def commands_for(kind: str) -> tuple[str, ...]:
    """The AWS CLI commands that export all attributes of a kind of resource; words in capitals are to be filled in.

    Terraform instead: ``terraform show -json`` exports every kind but ``lambda.account``.
    """
    return _COMMANDS[kind]
