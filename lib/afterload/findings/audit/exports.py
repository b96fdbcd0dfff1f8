"""Kinds of settings that no export shows at all, with the command that exports each."""

from __future__ import annotations

from collections.abc import Iterator

from afterload.findings.audit.facts import Facts
from afterload.findings.audit.finding import Gap
from afterload.findings.phrases import quoted

__all__ = ["EXPORTS", "unexported"]

# Id of the gaps that are about a whole kind of settings, and not about one rule.
EXPORTS = "exports"


def unexported(facts: Facts) -> Iterator[Gap]:
    """What the scenario has and no export shows: whole kinds of settings that every rule about them had to leave out."""
    queues = [item for item in facts.backlogs if item.stated is not None]
    by_kind = {kind: [item for item in queues if item.kind == kind] for kind in ("sqs", "async", "stream")}
    lambdas = [item for items in by_kind.values() for item in items]
    wanted = [
        ("lambda.mapping", [*by_kind["sqs"], *by_kind["stream"]], "event source mappings",
         "aws lambda list-event-source-mappings"),
        ("lambda.function", lambdas, "functions, with time-out and retry mode", "aws lambda list-functions"),
        ("lambda.account", lambdas, "concurrency of the account", "aws lambda get-account-settings"),
    ]  # fmt: skip
    for kind, items, words, command in wanted:
        if items and not facts.inventory.of(kind):
            yield Gap(EXPORTS, ", ".join(item.target for item in items), words, command)
    if not facts.inventory.of("sqs.queue"):
        for item in by_kind["sqs"]:
            url = quoted(facts.queue_url(item), "QUEUE_URL")
            command = f"aws sqs get-queue-attributes --queue-url {url} --attribute-names All"
            yield Gap(EXPORTS, item.target, "queue, with visibility timeout, retention and redrive policy", command)
    if not facts.inventory.of("lambda.async"):
        for item in by_kind["async"]:
            name = quoted(item.function_name or None, "FUNCTION_NAME")
            command = f"aws lambda get-function-event-invoke-config --function-name {name}"
            yield Gap(EXPORTS, item.target, "asynchronous configuration", command)
    fleets = ", ".join(item.target for item in facts.groups if item.fleet is not None)
    if fleets and not facts.inventory.of("autoscaling.group"):
        yield Gap(EXPORTS, fleets, "Auto Scaling groups", "aws autoscaling describe-auto-scaling-groups")
    if fleets and not facts.inventory.of("elb.target_group"):
        command = "aws elbv2 describe-target-group-attributes --target-group-arn TARGET_GROUP_ARN"
        yield Gap(EXPORTS, fleets, "target groups, if there is a load balancer", command)
