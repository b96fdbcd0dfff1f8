"""A scenario that computes with other settings than the exports show."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from afterload.estimates import QueueEstimate
from afterload.findings.audit.facts import Backlog, Facts
from afterload.findings.audit.finding import Cost, Finding, Rule, Severity
from afterload.findings.audit.steps import Steps, comments
from afterload.findings.phrases import where
from afterload.scenario import Queue
from afterload.units import format_duration, format_minutes

ID = "scenario-differs"


def _limit(minutes: float | None) -> str:
    return "none" if minutes is None else format_duration(minutes)


# Fields that both a scenario and an export can say, with how to write their values.
FIELDS: dict[str, Callable[[Queue], str]] = {
    "drain_cap": lambda queue: "none" if queue.drain_cap is None else f"{queue.drain_cap.concurrency:,}",
    "retention": lambda queue: _limit(queue.retention_min),
    "age_limit": lambda queue: _limit(queue.age_limit_min),
    "on_failure_destination": lambda queue: queue.on_failure_destination or "none",
    "max_receives": lambda queue: "none" if queue.max_receives is None else f"{queue.max_receives:,}",
}


def _find(facts: Facts) -> Iterator[Finding]:
    for backlog in facts.backlogs:
        stated, today = backlog.stated, backlog.today
        if stated is None or today is None or stated is today:
            continue
        matters = (stated.drain_min, stated.lost) != (today.drain_min, today.lost)
        # What nobody wrote into the scenario is no contradiction: it matters where it changes the result.
        differing = [
            name
            for name, write in FIELDS.items()
            if write(stated.queue) != write(today.queue)
            and (matters or where(facts.estimates.loaded, "queues", backlog.name, name) != "default")
        ]
        if differing:
            yield _finding(facts, backlog, stated, today, differing)


def _finding(
    facts: Facts, backlog: Backlog, stated: QueueEstimate, today: QueueEstimate, differing: list[str]
) -> Finding:
    parts = [
        f"{name} is {FIELDS[name](stated.queue)} in the scenario and {FIELDS[name](today.queue)} in the export"
        for name in differing
    ]
    places = [where(facts.estimates.loaded, "queues", backlog.name, name) for name in differing]
    severity, cost = _cost(stated, today)
    return Finding(
        ID, backlog.target, severity, "; ".join(parts),
        "; ".join("not in the scenario" if place == "default" else place for place in places),
        cost,
        Steps(
            comments(*(f"in the scenario, {backlog.target}.{name}: {FIELDS[name](today.queue)}" for name in differing)),
            comments(*(f"in the scenario, {backlog.target}.{name}: {FIELDS[name](stated.queue)}" for name in differing)),
        ),
        note="The findings of this audit are computed with what the exports show; all other chapters with the scenario.",
    )  # fmt: skip


def _cost(stated: QueueEstimate, today: QueueEstimate) -> tuple[Severity, Cost]:
    before, after = stated.drain_min, today.drain_min
    words = "The drain is {} by the scenario and {} by the exports"
    if before is None or after is None:
        text = words.format(*("never" if item is None else format_minutes(item) for item in (before, after)))
        if before == after:
            return "low", Cost(f"{text}.", 0.0, "min")
        return "high", Cost(f"{text}.", missing="a scenario that agrees with the exports")
    text = words.format(format_minutes(before), format_minutes(after))
    apart = abs(before - after)
    return "medium" if apart > 0 else "low", Cost(f"{text}: {format_minutes(apart)} apart.", apart, "min")


RULE = Rule(
    ID,
    "A scenario that differs from the exports",
    "The plan and the packet compute with settings that the account does not have.",
    "the scenario and the exports that it names",
    _find,
)
