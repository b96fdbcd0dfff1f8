"""A FIFO mapping, whose concurrency is bounded by its message groups."""

from __future__ import annotations

import math
from collections.abc import Iterator

from afterload.findings.audit.concurrency import reach
from afterload.findings.audit.facts import Facts
from afterload.findings.audit.finding import Cost, Finding, Gap, Rule
from afterload.findings.audit.steps import Steps, comments
from afterload.findings.phrases import counted
from afterload.units import format_number, format_rate

ID = "fifo-groups"


def _find(facts: Facts) -> Iterator[Finding | Gap]:
    for backlog in facts.of_kind("sqs"):
        today = backlog.today
        if not backlog.is_fifo or today is None:
            continue
        seconds = today.queue.item_time_s
        if seconds is None:
            yield Gap(ID, backlog.target, f"{backlog.target}.item_time")
            continue
        service = today.queue.service_rate_per_min
        needed = math.ceil(service * seconds / 60 - 1e-9)
        if needed <= 1:
            continue
        found = reach(facts, backlog)
        binds = found is not None and found.concurrency < needed
        seen = facts.setting(backlog.queue, "fifo")
        words = f"{format_rate(service)} x {format_number(seconds)} s / 60 = {counted(needed, 'message group')} at work at once"
        if found is not None:
            words += f"; {found.words}, so {'that' if binds else 'fewer groups'} would bind first"
        yield Finding(
            ID, backlog.target, "medium" if binds else "low",
            "a FIFO queue: one batch of a message group at a time",
            seen.where if seen else found.where if found else facts.stated("queues", backlog.name, "service"),
            Cost(f"Its service rate needs {words}.", missing="the number of message groups with work"),
            Steps(
                comments(
                    f"count the message groups of a busy hour: fewer than {needed:,} drain slower than the scenario says",
                    "and write the rate that they allow as service_rate",
                ),
                comments("nothing was changed"),
            ),
            note="A message that always fails holds back its whole group until it is dead-lettered or expires.",
        )  # fmt: skip


RULE = Rule(
    ID,
    "A FIFO queue that drains by its message groups",
    "Concurrency is the lower of message groups and cap, so more consumers do not drain a FIFO queue faster.",
    "AWS Lambda Developer Guide, scaling of SQS event source mappings, FIFO queues",
    _find,
)
