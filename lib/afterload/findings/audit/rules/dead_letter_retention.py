"""A dead-letter queue that keeps messages no longer than the queue they come from."""

from __future__ import annotations

from collections.abc import Iterator

from afterload import limits
from afterload.findings.audit.facts import Facts
from afterload.findings.audit.finding import Cost, Finding, Gap, Rule, Severity
from afterload.findings.audit.links import queue_of, tail
from afterload.findings.audit.receives import receives_of
from afterload.findings.audit.steps import choose, queue_attributes
from afterload.units import format_duration

ID = "dead-letter-retention"


def _find(facts: Facts) -> Iterator[Finding | Gap]:
    done: set[str] = set()
    for backlog in facts.of_kind("sqs", "other"):
        target = backlog.queue.get("redrive_target") if backlog.queue else None
        # The age of a message starts anew in the dead-letter queue of a FIFO queue.
        if not target or backlog.is_fifo:
            continue
        name = tail(str(target))
        dead = queue_of(facts.inventory, name)
        kept, source = facts.setting(dead, "retention_s"), facts.setting(backlog.queue, "retention_s")
        if kept is None:
            command = "aws sqs get-queue-attributes --queue-url QUEUE_URL --attribute-names All"
            yield Gap(ID, f"queue {name}", "retention of the dead-letter queue", command)
            continue
        if not kept.number or source is None or not source.number or kept.number > source.number or name in done:
            continue
        done.add(name)
        found = receives_of(facts, backlog)
        kept_min = kept.number / 60
        age_min = found.last_min if found is not None else 0.0
        left = max(0.0, kept_min - age_min)
        words = (
            f"A message keeps the age that it had: moved after {format_duration(age_min)}, it is deleted "
            f"{format_duration(left)} later; one that waited as long as its queue keeps it is deleted "
            f"{format_duration(max(0.0, kept_min - source.number / 60))} later."
        )
        severity: Severity = "high" if left == 0 else "medium" if left < kept_min / 2 else "low"
        most = limits.whole("sqs.retention_s.maximum")
        url = dead.get("url") if dead else None
        yield Finding(
            ID, f"queue {name}", severity,
            f"retention is {format_duration(kept_min)}, that of {backlog.queue.name if backlog.queue else 'its source'} "
            f"{format_duration(source.number / 60)}",
            kept.where,
            Cost(words, age_min, "min"),
            choose(
                kept.origin,
                (queue_attributes(str(url) if url else None, {"MessageRetentionPeriod": str(most)}),),
                (queue_attributes(str(url) if url else None, {"MessageRetentionPeriod": str(round(kept.number))}),),
                (f"message_retention_seconds = {most}",),
                (f"message_retention_seconds = {round(kept.number)}",),
            ),
            note="The age of the oldest message starts anew in the dead-letter queue, so no alarm on age shows this.",
        )  # fmt: skip


RULE = Rule(
    ID,
    "A dead-letter queue that keeps no longer than its source",
    "Work that was set aside for replay is deleted before anyone comes to it, sooner by all the time that it waited before.",
    "Amazon SQS Developer Guide, retention of dead-letter queues",
    _find,
)
