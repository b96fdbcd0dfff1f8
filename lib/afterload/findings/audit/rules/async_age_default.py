"""Asynchronous events that live for the service's default of six hours."""

from __future__ import annotations

from collections.abc import Iterator

from afterload import limits
from afterload.findings.audit.ages import keeps_its_worth, worth_of_limit
from afterload.findings.audit.facts import Backlog, Facts, is_configured
from afterload.findings.audit.finding import Finding, Rule
from afterload.findings.audit.steps import Steps, choose, comments
from afterload.findings.phrases import quoted
from afterload.units import format_duration

ID = "async-age-default"


def _find(facts: Facts) -> Iterator[Finding]:
    default_min = limits.value("lambda.async.max_age_s.default") / 60
    for backlog in facts.of_kind("async"):
        seen = facts.setting(backlog.invoke, "max_event_age_s")
        stated = backlog.stated.queue.age_limit_min if backlog.stated else None
        limit_min = stated if seen is None else seen.number / 60 if seen.number else None
        if (limit_min is not None and limit_min < default_min) or keeps_its_worth(facts, backlog, default_min):
            continue
        useful = backlog.stated.queue.goes_stale_after_min if backlog.stated else None
        wanted = None if useful is None else max(useful, limits.value("lambda.async.max_age_s.minimum") / 60)
        severity, cost = worth_of_limit(
            facts, backlog, wanted, f"Events are tried for {format_duration(default_min)}, oldest first"
        )
        yield Finding(
            ID, backlog.target, severity,
            "MaximumEventAgeInSeconds is not set" if limit_min is None else "MaximumEventAgeInSeconds is the default",
            seen.where if seen else facts.stated("queues", backlog.name, "age_limit"),
            cost, _steps(facts, backlog, wanted),
            note="Events that expire are lost unless the function has an on-failure destination or a dead-letter queue.",
        )  # fmt: skip


def _steps(facts: Facts, backlog: Backlog, limit_min: float | None) -> Steps:
    function = quoted(backlog.function_name or None, "FUNCTION_NAME")
    seconds = "SECONDS" if limit_min is None else str(round(limit_min * 60))
    default = limits.whole("lambda.async.max_age_s.default")
    configured = backlog.invoke is not None and is_configured(backlog.invoke)
    # update changes this one value and needs a configuration; put replaces the whole of it.
    verb = "update" if configured else "put"
    command = (
        f"aws lambda {verb}-function-event-invoke-config --function-name {function} --maximum-event-age-in-seconds"
    )
    undo = f"{command} {default}"
    if not configured:
        undo = f"aws lambda delete-function-event-invoke-config --function-name {function}"
    return choose(
        facts.origin(backlog.invoke),
        (f"{command} {seconds}",),
        (undo,),
        (f"maximum_event_age_in_seconds = {'var.seconds' if limit_min is None else seconds}",),
        (f"maximum_event_age_in_seconds = {default}",) if configured else comments("take the resource out again"),
    )


RULE = Rule(
    ID,
    "Asynchronous events kept for the service's default age",
    "After the restore work of hours ago is tried before the work that somebody waits for.",
    "AWS Lambda Developer Guide, error handling of asynchronous invocation",
    _find,
)
