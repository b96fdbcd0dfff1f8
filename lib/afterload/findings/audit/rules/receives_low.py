"""A dead-letter queue that takes the work of the outage, since its receives are used up before the restore."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

from afterload.findings.audit.facts import Backlog, Facts
from afterload.findings.audit.finding import Cost, Finding, Gap, Rule
from afterload.findings.audit.links import is_address
from afterload.findings.audit.receives import Receives, enough_receives, receives_of
from afterload.findings.audit.steps import Steps, choose, hcl, queue_attributes
from afterload.findings.phrases import counted, quoted
from afterload.units import format_duration, format_number

ID = "receives-low"


def _find(facts: Facts) -> Iterator[Finding | Gap]:
    for backlog in facts.of_kind("sqs", "other"):
        if backlog.kind == "other" and backlog.queue is None:
            continue
        if backlog.queue is None and not facts.inventory.of("sqs.queue"):
            # No queue is exported at all, which is said once.
            continue
        if backlog.queue is None:
            url = quoted(facts.queue_url(backlog), "QUEUE_URL")
            yield Gap(ID, backlog.target, "visibility timeout and redrive policy of its queue",
                      f"aws sqs get-queue-attributes --queue-url {url} --attribute-names All")  # fmt: skip
            continue
        found = receives_of(facts, backlog)
        if found is None or found.items == 0 or backlog.is_stopped:
            continue
        every = format_number(found.visibility_s)
        words = f"{found.count:,} receives x {every} s = {format_duration(found.last_min)} until a message is moved"
        if found.items is None:
            outage = facts.estimates.loaded.scenario.incident.outage_min
            if found.last_min >= outage:
                continue
            cost = Cost(f"{words}, in an outage of {format_duration(outage)}.", missing=backlog.ask_for_queue)
        else:
            cost = Cost(
                f"{words}, in an outage of {format_duration(found.outage_min)}: up to {counted(found.items, 'item')}, all that "
                f"arrive until {format_duration(found.last_min)} before the restore.",
                found.items,
                "items",
            )
        yield Finding(
            ID, backlog.target, "medium" if found.items is None else "high",
            f"maxReceiveCount is {found.count:,} and the visibility timeout {every} s", found.where,
            cost, _steps(facts, backlog, found),
            note=(
                "Up to that many: a consumer that is paused receives nothing, and the mapping polls less while its function "
                "fails. Moved messages have to be redriven, and their age is not in the age of the oldest message."
            ),
        )  # fmt: skip


def _steps(facts: Facts, backlog: Backlog, found: Receives) -> Steps:
    outage_s = 60 * (found.outage_min or facts.estimates.loaded.scenario.incident.outage_min)
    count, visibility = enough_receives(outage_s, found.visibility_s)
    target = backlog.queue.get("redrive_target") if backlog.queue else None
    arn = str(target) if target else "DEAD_LETTER_QUEUE_ARN"
    url = facts.queue_url(backlog)

    def attributes(receives: int, seconds: float) -> dict[str, str]:
        policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": receives}, ensure_ascii=False)
        given = {"RedrivePolicy": policy}
        return (
            given if visibility == math.ceil(found.visibility_s) else {**given, "VisibilityTimeout": f"{seconds:.0f}"}
        )

    def block(receives: int, seconds: float) -> tuple[str, ...]:
        policy = (
            "redrive_policy = jsonencode({",
            f"  deadLetterTargetArn = {arn}.arn" if is_address(arn) else f"  deadLetterTargetArn = {hcl(arn)}",
            f"  maxReceiveCount = {receives}",
            "})",
        )
        longer = (f"visibility_timeout_seconds = {seconds:.0f}",)
        return policy if visibility == math.ceil(found.visibility_s) else (*policy, *longer)

    return choose(
        facts.origin(backlog.queue),
        (queue_attributes(url, attributes(count, visibility)),),
        (queue_attributes(url, attributes(found.count, found.visibility_s)),),
        block(count, visibility),
        block(found.count, found.visibility_s),
    )


RULE = Rule(
    ID,
    "Receives that do not last through the outage",
    "Good work is treated like poison: it leaves the queue in the outage, and does not come back by itself after the restore.",
    "Amazon SQS Developer Guide, dead-letter queues; AWS Lambda Developer Guide, error handling of SQS event sources",
    _find,
)
