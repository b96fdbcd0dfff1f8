"""A dead-letter queue that takes hours to put back, at the service's rate or at what consumers have to spare."""

from __future__ import annotations

from collections.abc import Iterator

from afterload import limits
from afterload.findings.audit.facts import Backlog, Facts
from afterload.findings.audit.finding import Cost, Finding, Rule
from afterload.findings.audit.links import is_address, queue_of
from afterload.findings.audit.receives import receives_of
from afterload.findings.audit.steps import Steps
from afterload.findings.phrases import counted, quoted
from afterload.units import format_count, format_duration, format_rate

ID = "redrive-rate"


def _find(facts: Facts) -> Iterator[Finding]:
    for backlog in facts.of_kind("sqs", "other"):
        target = backlog.queue.get("redrive_target") if backlog.queue else None
        if not target:
            continue
        dead = queue_of(facts.inventory, str(target))
        counted_now = facts.setting(dead, "approximate_messages")
        if counted_now is not None and counted_now.number:
            yield _finding(facts, backlog, str(target), counted_now.number, "about", counted_now.where)
            continue
        found = receives_of(facts, backlog)
        if found is not None and found.items and not backlog.is_stopped:
            yield _finding(facts, backlog, str(target), found.items, "after an outage like this one up to", found.where)


def _finding(facts: Facts, backlog: Backlog, target: str, items: float, how: str, where: str) -> Finding:
    fastest = limits.value("sqs.redrive_per_s.maximum")
    full_min = items / fastest / 60
    words = (
        f"{counted(items, 'item')} / {format_count(fastest)} a second = {format_duration(full_min)} at the service's rate, "
        "one task a queue"
    )
    today = backlog.today
    spare = max(0.0, today.service_rate_now_per_min - today.load.arrivals.mean_tail_per_min) if today else None
    who = "The consumers have"
    if today is not None and today.cap is not None and spare is not None:
        part = max(0.0, today.cap.part_per_min - today.load.arrivals.mean_tail_per_min)
        if part < spare * (1 - 1e-9):
            spare, who = part, f"Within the tested rate of {today.cap.dependency} the queue has"
    objective = facts.estimates.loaded.scenario.recovery_objective_min
    per_s = int(fastest)
    arn = quoted(None if is_address(target) else target, "DEAD_LETTER_QUEUE_ARN")
    if spare is None:
        cost = Cost(f"{words}.", full_min, "min")
    elif spare <= 0:
        cost = Cost(
            f"{words}; {who[0].lower()}{who[1:]} nothing to spare for it, so it only makes their backlog longer.",
            full_min,
            "min",
        )
        per_s = 1
    else:
        spare_min = items / min(spare, fastest * 60)
        per_s = max(1, min(per_s, int(spare / 60)))
        cost = Cost(
            f"{words}. {who} {format_rate(spare)} to spare beside new work, so the backlog that it makes lasts "
            f"{format_duration(spare_min)}.",
            spare_min, "min",
        )  # fmt: skip
    late = cost.amount is not None and cost.amount > objective
    return Finding(
        ID, backlog.target, "high" if late or (spare is not None and spare <= 0) else "medium",
        f"its dead-letter queue holds {how} {counted(items, 'item')}", where, cost,
        Steps(
            (
                f"aws sqs start-message-move-task --source-arn {arn} "
                f"--max-number-of-messages-per-second {per_s}",
            ),
            (
                f"# the handle: aws sqs list-message-move-tasks --source-arn {arn}",
                "aws sqs cancel-message-move-task --task-handle TASK_HANDLE",
            ),
        ),
        note=(
            "Counts of a queue are approximate. A redriven message is a new one, with a new id and a new age: keys made of "
            "the message's id do not protect against a second effect."
        ),
    )  # fmt: skip


RULE = Rule(
    ID,
    "A dead-letter queue that takes long to put back",
    "Replay is the last step of a recovery, and its rate is bounded: by the service, and by what consumers have to spare.",
    "Amazon SQS API Reference, StartMessageMoveTask",
    _find,
)
