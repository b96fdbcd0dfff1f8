"""A visibility timeout that ends before the function's own time-out, or leaves no room for throttled batches."""

from __future__ import annotations

import math
from collections.abc import Iterator

from afterload import limits
from afterload.findings.audit.facts import Facts
from afterload.findings.audit.finding import Cost, Finding, Gap, Rule
from afterload.findings.audit.steps import choose, queue_attributes
from afterload.findings.phrases import counted, quoted
from afterload.units import format_number

ID = "visibility-short"


def _find(facts: Facts) -> Iterator[Finding | Gap]:
    factor = limits.whole("lambda.sqs.visibility_factor")
    for backlog in facts.of_kind("sqs"):
        visibility = facts.setting(backlog.queue, "visibility_timeout_s")
        timeout = facts.setting(backlog.function, "timeout_s")
        if visibility is None or visibility.number is None:
            continue
        if timeout is None or not timeout.number:
            if backlog.function_name:
                name = quoted(backlog.function_name, "FUNCTION_NAME")
                command = f"aws lambda get-function-configuration --function-name {name}"
                yield Gap(ID, backlog.target, "time-out of its function", command)
            continue
        shown, runs = visibility.number, timeout.number
        if shown >= factor * runs:
            continue
        seconds = f"{format_number(shown)} s"
        words = f"The advice is {factor} x {format_number(runs)} s = {format_number(factor * runs)} s. "
        items = today.recovery.backlog_at_restore if (today := backlog.today) else None
        again = max(0, math.ceil(runs / shown - 1e-9) - 1) if shown > 0 else 0
        if shown >= runs:
            whole = int(shown // runs)
            times = "once" if whole == 1 else f"{whole} times"
            cost = Cost(
                f"{words}A batch fits in {times} before it is shown again: no message is shown twice by a call that hangs, but "
                "one that is throttled longer comes back and has used up a receive.",
                0.0, "deliveries",
            )  # fmt: skip
        elif shown == 0:
            cost = Cost(
                f"{words}A message is shown again at once, to every poller.", missing="a visibility timeout above 0"
            )
        elif items is None:
            cost = Cost(
                f"{words}A call that hangs until its time-out has its message shown {again} more times.",
                missing=backlog.ask_for_queue,
            )
        else:
            cost = Cost(
                f"{words}A call that hangs for {format_number(runs)} s has its message shown {again} more times, every "
                f"{seconds}: {counted(items, 'item')} at the restore x {again} = up to {counted(items * again, 'item')} "
                "delivered again while they are worked on.",
                items * again, "deliveries",
            )  # fmt: skip
        url = facts.queue_url(backlog)
        wanted = min(math.ceil(factor * runs), limits.whole("sqs.visibility_timeout_s.maximum"))
        yield Finding(
            ID, backlog.target, "high" if shown < runs else "low",
            f"visibility timeout {seconds}, time-out of {backlog.function_name} {format_number(runs)} s",
            f"{visibility.where}; {timeout.where}", cost,
            choose(
                visibility.origin,
                (queue_attributes(url, {"VisibilityTimeout": str(wanted)}),),
                (queue_attributes(url, {"VisibilityTimeout": str(round(shown))}),),
                (f"visibility_timeout_seconds = {wanted}",),
                (f"visibility_timeout_seconds = {round(shown)}",),
            ),
            note=(
                "Six times is the provider's advice, not a limit; the service itself only refuses a visibility timeout below the "
                "function's time-out, and only while the mapping is made or changed. A longer one makes a message that failed "
                "wait longer for its next try."
            ),
        )  # fmt: skip


RULE = Rule(
    ID,
    "A visibility timeout too short for its function",
    "While a dependency hangs, calls last until their time-out, and messages that are shown again meanwhile are worked on twice.",
    "AWS Lambda Developer Guide, creating and configuring an Amazon SQS event source mapping",
    _find,
)
