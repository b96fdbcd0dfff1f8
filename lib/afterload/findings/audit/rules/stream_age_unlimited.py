"""Streams whose records are worked off whatever their age."""

from __future__ import annotations

from collections.abc import Iterator

from afterload.findings.audit.ages import keeps_its_worth, worth_of_limit
from afterload.findings.audit.facts import Backlog, Facts
from afterload.findings.audit.finding import Finding, Rule
from afterload.findings.audit.steps import Steps, choose, update_mapping

ID = "stream-age-unlimited"
# Bounds of a record age that the service takes besides no limit, in minutes (service model).
LEAST_MIN, MOST_MIN = 60 / 60, 604_800 / 60


def _find(facts: Facts) -> Iterator[Finding]:
    for backlog in facts.of_kind("stream"):
        seen = facts.setting(backlog.mapping, "max_record_age_s")
        stated = backlog.stated.queue.age_limit_min if backlog.stated else None
        limited = stated is not None if seen is None else seen.number is not None and seen.number > 0
        if limited or (seen is None and backlog.stated is None):
            continue
        retention = backlog.today.queue.retention_min if backlog.today else None
        if keeps_its_worth(facts, backlog, retention):
            continue
        useful = backlog.stated.queue.goes_stale_after_min if backlog.stated else None
        wanted = None if useful is None else min(max(useful, LEAST_MIN), MOST_MIN)
        severity, cost = worth_of_limit(facts, backlog, wanted, "Records are worked off in order, whatever their age")
        yield Finding(
            ID, backlog.target, severity, "MaximumRecordAgeInSeconds is not set: no limit",
            seen.where if seen else facts.stated("queues", backlog.name, "age_limit"),
            cost, _steps(facts, backlog, wanted),
            note="The on-failure destination gets the place of the records in the stream, not the records: read them in time.",
        )  # fmt: skip


def _steps(facts: Facts, backlog: Backlog, limit_min: float | None) -> Steps:
    seconds = "SECONDS" if limit_min is None else str(round(limit_min * 60))
    return choose(
        facts.origin(backlog.mapping),
        (update_mapping(backlog.uuid, f"--maximum-record-age-in-seconds {seconds}"),),
        (update_mapping(backlog.uuid, "--maximum-record-age-in-seconds -1"),),
        (f"maximum_record_age_in_seconds = {'var.seconds' if limit_min is None else seconds}",),
        ("maximum_record_age_in_seconds = -1",),
    )


RULE = Rule(
    ID,
    "A stream without a limit on the age of its records",
    "A stream is worked off in order, so fresh records wait until everything that piled up in the outage is done.",
    "AWS Lambda Developer Guide, parameters of Kinesis and DynamoDB event source mappings",
    _find,
)
