"""Streams that retry a failing batch without end."""

from __future__ import annotations

from collections.abc import Iterator

from afterload.findings.audit.facts import Backlog, Facts
from afterload.findings.audit.finding import Cost, Finding, Rule
from afterload.findings.audit.steps import Steps, choose, update_mapping
from afterload.units import format_count, format_duration, format_rate

ID = "stream-retries-endless"


def _find(facts: Facts) -> Iterator[Finding]:
    for backlog in facts.of_kind("stream"):
        retries = facts.setting(backlog.mapping, "max_retry_attempts")
        age = facts.setting(backlog.mapping, "max_record_age_s")
        today = backlog.today
        if retries is None:
            if today is None or today.queue.stream is None or backlog.mapping is not None:
                continue
            endless = today.queue.stream.retries is None
        else:
            endless = retries.number is None or retries.number < 0
        limit = today.queue.age_limit_min if today else None
        bounded = limit is not None if age is None else age.number is not None and age.number > 0
        if endless and not bounded:
            where = retries.where if retries else facts.stated("queues", backlog.name, "stream", "retries")
            yield _finding(facts, backlog, where)


def _finding(facts: Facts, backlog: Backlog, where: str) -> Finding:
    today = backlog.today
    bisects = backlog.mapping.get("bisect_on_error") is True if backlog.mapping else False
    halved = "halved until the bad record is alone, which then " if bisects else "which "
    words = f"A batch with a record that always fails is tried until it leaves the stream, {halved}blocks its shard"
    if today is None:
        cost = Cost(f"{words}.", missing=backlog.ask_for_queue)
    elif today.queue.retention_min is None:
        cost = Cost(f"{words}.", missing=f"{backlog.target}.retention")
    else:
        kept = today.queue.retention_min
        load, shape = today.load, today.queue.stream
        came = load.arrivals.cumulative(load.outage_min + kept) - load.arrivals.cumulative(load.outage_min)
        behind = float(came) * (max(shape.spread) if shape is not None else 1.0)
        rate = format_rate(behind / kept)
        cost = Cost(
            f"{words} for {format_duration(kept)}: {format_count(behind)} records pile up behind it on the busiest shard, at "
            f"{rate}.",
            kept,
            "min",
        )
    return Finding(
        ID, backlog.target, "medium" if bisects else "high",
        "MaximumRetryAttempts and MaximumRecordAgeInSeconds are not set: retries without end", where,
        cost, _steps(facts, backlog),
        note=(
            "Retries that end give up records: set an on-failure destination first, and enough retries or age to last "
            "through an outage, or the outage's records are given up in it."
        ),
    )  # fmt: skip


def _steps(facts: Facts, backlog: Backlog) -> Steps:
    # Longer than the outage of the scenario, so that its records are still tried after the restore.
    outage_min = facts.estimates.loaded.scenario.incident.outage_min
    seconds = min(604_800, max(60, round(2 * outage_min * 60)))
    before = backlog.mapping.get("bisect_on_error") is True if backlog.mapping else False
    bisect = "" if before else " --bisect-batch-on-function-error"
    unbisect = "" if before else " --no-bisect-batch-on-function-error"
    return choose(
        facts.origin(backlog.mapping),
        (update_mapping(backlog.uuid, f"--maximum-record-age-in-seconds {seconds}{bisect}"),),
        (update_mapping(backlog.uuid, f"--maximum-record-age-in-seconds -1{unbisect}"),),
        (f"maximum_record_age_in_seconds = {seconds}", "bisect_batch_on_function_error = true"),
        ("maximum_record_age_in_seconds = -1", *(() if before else ("bisect_batch_on_function_error = false",))),
    )


RULE = Rule(
    ID,
    "A stream that retries a failing batch without end",
    "One record that cannot be worked off keeps all that came after it on its shard waiting, long after the restore.",
    "AWS Lambda Developer Guide, parameters of Kinesis and DynamoDB event source mappings",
    _find,
)
