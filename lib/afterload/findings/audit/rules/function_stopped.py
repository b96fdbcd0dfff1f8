"""A function with a reserved concurrency of zero, which never runs."""

from __future__ import annotations

from collections.abc import Iterator

from afterload.findings.audit.concurrency import function_key, quota
from afterload.findings.audit.facts import Facts
from afterload.findings.audit.finding import Finding, Rule
from afterload.findings.audit.standstill import piles_up
from afterload.findings.audit.steps import choose, comments

ID = "function-stopped"


def _find(facts: Facts) -> Iterator[Finding]:
    for backlog in facts.backlogs:
        if facts.reserved.get(backlog.function_name) != 0 or backlog.is_stopped:
            continue
        seen = facts.setting(backlog.function, "reserved_concurrency")
        cost = piles_up(facts, backlog)
        command = f"aws lambda delete-function-concurrency --function-name {function_key(backlog)}"
        undo = f"aws lambda put-function-concurrency --function-name {function_key(backlog)} --reserved-concurrent-executions 0"
        yield Finding(
            ID, backlog.target, "medium" if cost.amount is None else "high",
            f"reserved concurrency of {backlog.function_name} is 0", seen.where if seen else "",
            cost,
            choose(
                seen.origin if seen else None, (command,), (undo,),
                comments("take reserved_concurrent_executions out, or give it a number above 0"),
                ("reserved_concurrent_executions = 0",),
            ),
            quota=quota(facts, backlog.function_name),
            note="Give its mapping a cap first: without one it drains all that has piled up, as fast as it can.",
        )  # fmt: skip


RULE = Rule(
    ID,
    "A function that is reserved to zero",
    "Every invocation is throttled: messages use up their receives and asynchronous events their age, and nothing is done.",
    "AWS Lambda Developer Guide, reserved concurrency",
    _find,
)
