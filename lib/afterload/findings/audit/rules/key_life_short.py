"""Idempotency keys that expire before the oldest work is replayed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from afterload.findings.audit.facts import Backlog, Facts
from afterload.findings.audit.finding import Cost, Finding, Rule
from afterload.findings.audit.links import queue_of
from afterload.findings.audit.steps import Steps, comments
from afterload.findings.phrases import where
from afterload.units import format_duration, format_minutes

ID = "key-life-short"


def _find(facts: Facts) -> Iterator[Finding]:
    for backlog in facts.backlogs:
        given: Any = getattr(backlog.stated.queue, "idempotency", None) if backlog.stated else None
        life = getattr(given, "key_life_min", None)
        if life is None:
            continue
        oldest, why = _oldest(facts, backlog, getattr(given, "oldest_replay_min", None))
        if oldest <= life:
            continue
        place = where(facts.estimates.loaded, "queues", backlog.name, "idempotency", "key_life")
        yield Finding(
            ID, backlog.target, "high", f"keys are kept for {format_duration(life)}",
            f"{place}; not exported",
            Cost(
                f"The oldest replay is {format_duration(oldest)} old, {why}: for {format_minutes(oldest - life)} of it no key is "
                "left, and every effect can take place twice.",
                oldest - life, "min",
            ),
            Steps(
                comments(f"keep keys for {format_duration(oldest)} at least: the time to live of the store's records"),
                comments(f"keep keys for {format_duration(life)} again"),
            ),
            note="A store may delete keys late, and nothing should rest on that. A key is written before the effect, if absent.",
        )  # fmt: skip


def _oldest(facts: Facts, backlog: Backlog, stated_min: float | None) -> tuple[float, str]:
    """Age of the oldest work at its replay, and what says so: the scenario, a dead-letter queue, or the drain."""
    if stated_min is not None:
        return stated_min, "as the scenario states"
    today = backlog.today
    drain = (today.recovery.max_age_min if today else 0.0, "by the outage and the drain")
    target = backlog.queue.get("redrive_target") if backlog.queue else None
    dead = queue_of(facts.inventory, str(target)) if target else None
    kept = facts.setting(dead, "retention_s")
    if kept is None or not kept.number:
        return drain
    return max(drain, (kept.number / 60, f"by the retention of the dead-letter queue ({kept.where})"))


RULE = Rule(
    ID,
    "Idempotency keys that expire before the replay",
    "Work that is replayed after its key is gone is done as if it were new: charged, sent or written a second time.",
    "Making retries safe with idempotent APIs, AWS Builders' Library",
    _find,
)
