"""Retention that the outage and the drain together come near to, or pass."""

from __future__ import annotations

from collections.abc import Iterator

from afterload import limits
from afterload.estimates import NEAR_RETENTION, QueueEstimate
from afterload.findings.audit.facts import Backlog, Facts, Setting
from afterload.findings.audit.finding import Cost, Finding, Rule, Severity
from afterload.findings.audit.steps import Steps, choose, comments, queue_attributes
from afterload.findings.phrases import counted, without_end
from afterload.units import format_duration

ID = "retention-short"


def _find(facts: Facts) -> Iterator[Finding]:
    for backlog in facts.backlogs:
        today = backlog.today
        retention = today.load.retention_min if today else None
        if today is None or retention is None:
            continue
        found = _stake(today, retention)
        if found is None:
            continue
        severity, cost = found
        seen = facts.setting(backlog.queue, "retention_s") if backlog.kind in ("sqs", "other") else None
        yield Finding(
            ID, backlog.target, severity, f"retention is {format_duration(retention)}",
            seen.where if seen else facts.stated("queues", backlog.name, "retention"),
            cost, _steps(facts, backlog, seen, retention),
            note="Retention deletes without a record, and no destination gets what it deletes.",
        )  # fmt: skip


def _stake(today: QueueEstimate, retention: float) -> tuple[Severity, Cost] | None:
    recovery = today.recovery
    lost, oldest = recovery.lost_to_retention, recovery.max_age_min
    if today.drain_min is None and recovery.lost_per_min > 0:
        return "high", Cost(
            f"The backlog never drains, so its oldest work reaches the retention of {format_duration(retention)}: "
            f"{without_end(recovery)} are lost.",
            recovery.lost_per_min, "items/min",
        )  # fmt: skip
    drain = "without end" if today.drain_min is None else format_duration(today.drain_min)
    words = (
        f"Work gets up to {format_duration(oldest)} old (outage {format_duration(today.load.outage_min)}, drain {drain}), and "
        f"is deleted at {format_duration(retention)}"
    )
    if lost > 0:
        return "high", Cost(f"{words}: {counted(lost, 'item')} lost without a record.", lost, "items")
    if oldest >= NEAR_RETENTION * retention:
        left = format_duration(max(0.0, retention - oldest))
        return "medium", Cost(f"{words}: no item is lost, with {left} to spare.", 0.0, "items")
    return None


def _steps(facts: Facts, backlog: Backlog, seen: Setting | None, retention: float) -> Steps:
    most = limits.whole("sqs.retention_s.maximum")
    before = round(retention * 60)
    if backlog.kind != "sqs" and backlog.queue is None:
        return Steps(
            comments(f"keep work longer than {format_duration(retention)}, at least outage and drain together"),
            comments(f"set the retention to {format_duration(retention)} again"),
        )
    url = facts.queue_url(backlog)
    return choose(
        seen.origin if seen else facts.origin(backlog.queue),
        (queue_attributes(url, {"MessageRetentionPeriod": str(most)}),),
        (queue_attributes(url, {"MessageRetentionPeriod": str(before)}),),
        (f"message_retention_seconds = {most}",),
        (f"message_retention_seconds = {before}",),
    )


RULE = Rule(
    ID,
    "Retention near or below outage and drain together",
    "Retention is an age limit that nobody chose: it takes the oldest work, which waited longest, without telling anyone.",
    "Amazon SQS API Reference, SetQueueAttributes, MessageRetentionPeriod",
    _find,
)
