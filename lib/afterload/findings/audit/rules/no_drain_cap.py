"""An SQS mapping without a cap that can ramp beyond what its dependency was tested to bear."""

from __future__ import annotations

from collections.abc import Iterator

from afterload import limits
from afterload.findings.audit.concurrency import Reach, cap_steps, drain_words, quota, rate_words, reach
from afterload.findings.audit.facts import Backlog, Facts
from afterload.findings.audit.finding import Cost, Finding, Gap, Rule, Severity
from afterload.findings.audit.steps import Steps, comments
from afterload.model.caps import cap_rate_per_min
from afterload.recovery.rates import CapEstimate
from afterload.units import format_duration, format_rate

ID = "no-drain-cap"


def _find(facts: Facts) -> Iterator[Finding | Gap]:
    for backlog in facts.of_kind("sqs"):
        if backlog.stated is None and backlog.mapping is None:
            continue
        if backlog.rivals:
            ask = f"resources.event_source_mapping of {backlog.target}: {', '.join(backlog.rivals)} fit equally"
            yield Gap(ID, backlog.target, ask)
            continue
        found = reach(facts, backlog)
        if found is None and not backlog.is_fifo:
            yield Gap(ID, backlog.target, "ScalingConfig of its mapping", "aws lambda list-event-source-mappings")
        elif found is not None and not found.is_capped and not backlog.is_stopped and not backlog.is_fifo:
            yield from _uncapped(facts, backlog, found)


def _uncapped(facts: Facts, backlog: Backlog, found: Reach) -> Iterator[Finding]:
    account, source = facts.account_concurrency
    reserved = facts.reserved.get(backlog.function_name)
    bounds = [(found.concurrency, "where its ramp ends"), (account, f"the concurrency of the account ({source})")]
    if reserved is not None:
        bounds.append((reserved, f"the reserved concurrency of {backlog.function_name}"))
    ceiling, why = min(bounds)
    today, cap = backlog.today, backlog.today.cap if backlog.today else None
    item_time = today.queue.item_time_s if today else None
    steps = cap_steps(facts, backlog, None)
    severity: Severity = "low"
    if today is None:
        cost = Cost(f"It can reach {ceiling:,} at once, {why}.", missing=backlog.ask_for_queue)
    elif cap is None or item_time is None:
        field = "item_time" if cap else "dependency and its tested rate"
        cost = Cost(f"It can reach {ceiling:,} at once, {why}.", missing=f"{backlog.target}.{field}")
    else:
        rate = cap_rate_per_min(ceiling, item_time)
        if rate <= cap.part_per_min * (1 + 1e-9):
            return
        severity = "high" if cap.overloads else "medium"
        room = (
            f"{cap.dependency} was tested to {format_rate(cap.tested_rate_per_min)} and has {cap.beside_words}, so "
            f"{format_rate(cap.room_per_min)} fit{cap.part_words}"
        )
        drain = min(cap.drain_rate_per_min, rate)
        cost = Cost(
            f"{drain_words(drain, cap.part_per_min, room)} Nothing but their own speed holds them there: in theory, by "
            f"concurrency alone, they could reach {rate_words(ceiling, item_time)}, {why}.{_when(cap)}",
            max(0.0, drain - cap.part_per_min),
            "items/min",
        )
        steps = _steps(facts, backlog, cap)
    yield Finding(
        ID, backlog.target, severity, found.words, found.where, cost, steps,
        quota=quota(facts, backlog.function_name),
        note="Provisioned mode excludes MaximumConcurrency: there the number of pollers is the cap.",
    )  # fmt: skip


def _when(cap: CapEstimate) -> str:
    if cap.ramp_passes_room_after_s is None:
        return ""
    return f" Its ramp passes what fits {format_duration(cap.ramp_passes_room_after_s / 60)} after its start."


def _steps(facts: Facts, backlog: Backlog, cap: CapEstimate) -> Steps:
    safe = min(cap.safe_concurrency or 0, limits.whole("lambda.sqs.max_concurrency.maximum"))
    if safe >= limits.whole("lambda.sqs.max_concurrency.minimum"):
        return cap_steps(facts, backlog, safe)
    return Steps(
        comments(
            f"{cap.dependency} has no room for a cap: test it to a higher rate, or hold direct traffic back in the drain"
        ),
        comments("nothing was changed"),
    )


RULE = Rule(
    ID,
    "An SQS mapping without a cap on concurrency",
    "The mapping ramps up until the backlog is gone, whatever its dependency bears: a queue bounds no concurrency, only a "
    "pool of workers does.",
    "AWS Lambda Developer Guide, scaling of SQS event source mappings and maximum concurrency",
    _find,
)
