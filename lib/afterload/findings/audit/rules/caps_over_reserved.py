"""Caps of the mappings of one function that add up to more than is reserved for it."""

from __future__ import annotations

from collections.abc import Iterator

from afterload import limits
from afterload.findings.audit.concurrency import Reach, cap_steps, joined, quota, reach, shares
from afterload.findings.audit.facts import Backlog, Facts
from afterload.findings.audit.finding import Cost, Finding, Rule
from afterload.findings.audit.steps import Steps, choose
from afterload.findings.phrases import quoted
from afterload.readers.reading import Resource

ID = "caps-over-reserved"


def _find(facts: Facts) -> Iterator[Finding]:
    for function, reserved in sorted(facts.reserved.items()):
        if reserved == 0:
            continue
        found = [(item, reach(facts, item)) for item in facts.of_kind("sqs") if item.function_name == function]
        running = [(item, each) for item, each in found if each is not None and not item.is_stopped]
        total = sum(each.concurrency for _, each in running)
        if total > reserved:
            yield _finding(facts, function, reserved, running)


def _finding(facts: Facts, function: str, reserved: int, running: list[tuple[Backlog, Reach]]) -> Finding:
    total = sum(each.concurrency for _, each in running)
    parts = " + ".join(f"{each.concurrency:,}" for _, each in running)
    seen = facts.setting(_function(running), "reserved_concurrency")
    return Finding(
        ID, f"function {function}", "medium",
        f"reserved concurrency is {reserved:,}; {'; '.join(f'{item.target}: {each.words}' for item, each in running)}",
        "; ".join([seen.where if seen else "", *(each.where for _, each in running)]).strip("; "),
        Cost(
            f"Its mappings can have {parts} = {total:,} at once, {total - reserved:,} more than the {reserved:,} reserved. "
            f"{_batches(facts, running)}",
            total - reserved, "concurrent",
        ),
        _steps(facts, function, reserved, running),
        quota=quota(facts, function),
        note="A mapping without a cap counts with what the service ramps up to.",
    )  # fmt: skip


def _function(running: list[tuple[Backlog, Reach]]) -> Resource | None:
    return next((item.function for item, _ in running if item.function is not None), None)


def _batches(facts: Facts, running: list[tuple[Backlog, Reach]]) -> str:
    """What happens to a batch that is throttled: it costs a receive, of which some queues give few."""
    words = "Each throttled batch waits for the visibility timeout and has used up one receive"
    counts = [facts.setting(item.queue, "max_receive_count") for item, _ in running]
    known = [round(count.number) for count in counts if count is not None and count.number]
    return f"{words}; {min(known):,} receives send it to the dead-letter queue." if known else f"{words}."


def _steps(facts: Facts, function: str, reserved: int, running: list[tuple[Backlog, Reach]]) -> Steps:
    most = limits.whole("lambda.sqs.max_concurrency.maximum")
    parts = shares(reserved, [min(each.concurrency, most) for _, each in running])
    steps = [] if parts is None else [
        cap_steps(facts, item, part) for (item, _), part in zip(running, parts, strict=True)
    ]  # fmt: skip
    together = joined(steps)
    if together is not None:
        return together
    total = sum(each.concurrency for _, each in running)
    seen = facts.setting(_function(running), "reserved_concurrency")
    command = f"aws lambda put-function-concurrency --function-name {quoted(function, 'FUNCTION_NAME')}"
    command += " --reserved-concurrent-executions"
    return choose(
        seen.origin if seen else None,
        (f"{command} {total}",),
        (f"{command} {reserved}",),
        (f"reserved_concurrent_executions = {total}",),
        (f"reserved_concurrent_executions = {reserved}",),
    )


RULE = Rule(
    ID,
    "Caps of one function above its reserved concurrency",
    "Pollers take more messages than the function may run; the rest is throttled, comes back late, and counts as received.",
    "AWS Lambda Developer Guide, maximum concurrency and reserved concurrency of SQS event source mappings",
    _find,
)
