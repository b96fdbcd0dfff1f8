"""Every Terraform snippet is one that the language's own grammar reads, whatever a scenario's names hold."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import hcl2
import pytest
from tests.plan.test_commands import HOSTILE

from afterload.plan.terraform import function_call, locals_block, resource

NAMES = [*HOSTILE, "${file(\"/etc/passwd\")}", "%{ if true }x%{ endif }", "$${kept}", "100%", "a\"b", "\\${x}"]  # fmt: skip


def parsed(text: str) -> dict[str, Any]:
    found: dict[str, Any] = hcl2.loads(f"{text}\n")
    return found


def string(literal: str) -> str:
    """A string of the parsed file as Terraform would have it: escapes resolved, and no template in it."""
    text: str = json.loads(literal)
    rest = text.replace("$${", "").replace("%%{", "")
    assert "${" not in rest
    assert "%{" not in rest
    return text.replace("$${", "${").replace("%%{", "%{")


def snippets(plan: Any) -> list[tuple[str, str]]:
    return [(item.id, text) for item in plan.items for text in item.terraform]


def test_every_snippet_of_the_plan_parses(whole: Any) -> None:
    found = snippets(whole.plan)
    kinds = set()
    for line, text in found:
        blocks = parsed(text)
        assert set(blocks) in ({"resource"}, {"locals"}), line
        kinds |= {name.strip('"') for block in blocks.get("resource", ()) for name in block}
    assert kinds == {
        "aws_autoscaling_group", "aws_dynamodb_table",
        "aws_kinesis_stream", "aws_lambda_event_source_mapping", "aws_lambda_function", "aws_lb_target_group",
        "aws_lambda_function_event_invoke_config", "aws_sqs_queue",
    }  # fmt: skip


def test_a_snippet_says_what_the_command_does(whole: Any) -> None:
    retention = parsed(whole.line("retention:queues.sqs-short").terraform[0])
    assert retention["resource"][0]['"aws_sqs_queue"']['"worker"']["message_retention_seconds"] == 14_400
    assert '"MessageRetentionPeriod": "14400"' in whole.line("retention:queues.sqs-short").apply[0]
    ended = parsed(whole.line("stream-retry-end:queues.stream").terraform[0])
    mapping = ended["resource"][0]['"aws_lambda_event_source_mapping"']['"worker"']
    assert (mapping["maximum_retry_attempts"], mapping["bisect_batch_on_function_error"]) == (10_000, True)
    policy = whole.line("dlq-receives:queues.sqs-short").terraform[0]
    assert "jsonencode({ deadLetterTargetArn = \"DEAD_LETTER_QUEUE_ARN\", maxReceiveCount = 345 })" in policy  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_stays_a_name(name: str) -> None:
    text = resource("aws_sqs_queue", name, {"name": name, "size": 3, "on": True, "inner": {"deeper": {"name": name}}})
    block = next(iter(parsed(text)["resource"][0]['"aws_sqs_queue"'].values()))
    assert (string(block["name"]), block["size"], block["on"]) == (name, 3, True)
    assert string(block["inner"][0]["deeper"][0]["name"]) == name
    call = resource("aws_sqs_queue", "q", {"redrive_policy": function_call("jsonencode", {"arn": name})})
    assert parsed(call)
    assert parsed(locals_block({"retry": [{"ErrorEquals": [name], "BackoffRate": 2}]}, "for a task"))


@pytest.mark.parametrize("name", HOSTILE)
def test_snippets_of_hostile_names_parse(make: Callable[..., Any], name: str) -> None:
    base = {"arrival_rate": "10/min", "service_rate": "20/min", "item_time": "2 s", "dependency": "d",
            "goes_stale_after": "5 min", "on_failure_destination": name,
            "resources": {"function": name, "queue_url": name}}  # fmt: skip
    made = make(
        dependencies={"d": {"tested_rate": "900/min"}},
        queues={"a": {**base, "service": "lambda-async"}, "b": {**base, "service": "sqs-lambda", "max_receives": 2}},
    )
    found = snippets(made.plan)
    assert len(found) >= 4
    for _, text in found:
        assert parsed(text)
