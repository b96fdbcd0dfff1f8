"""Provisioned mode and MaximumConcurrency on one mapping, which exclude each other."""

from __future__ import annotations

from collections.abc import Iterator

from afterload import limits
from afterload.findings.audit.concurrency import poller_steps, quota
from afterload.findings.audit.facts import Facts
from afterload.findings.audit.finding import Cost, Finding, Rule

ID = "provisioned-with-cap"


def _find(facts: Facts) -> Iterator[Finding]:
    each = limits.whole("lambda.sqs.poller.concurrency")
    for backlog in facts.of_kind("sqs"):
        pollers = facts.setting(backlog.mapping, "provisioned_maximum")
        cap = facts.setting(backlog.mapping, "maximum_concurrency")
        if backlog.mapping is None or pollers is None or cap is None or not pollers.number or not cap.number:
            continue
        most, wanted = round(pollers.number), round(cap.number)
        yield Finding(
            ID, backlog.target, "medium",
            f"MaximumConcurrency is {wanted:,} and provisioned mode has up to {most:,} pollers", cap.where,
            Cost(
                f"{most:,} pollers x {each} = {most * each:,} at once, where {wanted:,} were meant: "
                f"{max(0, most * each - wanted):,} that no cap holds.",
                float(max(0, most * each - wanted)), "concurrent",
            ),
            poller_steps(facts, backlog, wanted, has_cap=True),
            quota=quota(facts, backlog.function_name),
            note="The service takes only one of the two, so the other one stands in the configuration without acting.",
        )  # fmt: skip


RULE = Rule(
    ID,
    "Provisioned mode beside MaximumConcurrency",
    "The cap that a drain relies on does not act: in provisioned mode the number of pollers is the cap.",
    "AWS Lambda Developer Guide, provisioned mode of SQS event source mappings",
    _find,
)
