"""A fleet of clients that restarts with full retry quotas."""

from __future__ import annotations

from collections.abc import Iterator

from afterload import limits
from afterload.findings.audit.facts import Facts
from afterload.findings.audit.finding import Cost, Finding, Rule
from afterload.findings.audit.steps import Steps, comments
from afterload.findings.phrases import counted, where
from afterload.recovery.rates import room_at
from afterload.units import format_count, format_minutes, format_rate

ID = "full-buckets"


def _find(facts: Facts) -> Iterator[Finding]:
    for name, client in facts.estimates.loaded.scenario.clients.items():
        preset = limits.client_preset(client.sdk, client.version, client.mode, client.service)
        scenario = facts.estimates.loaded.scenario
        if preset.quota is None or (client.max_attempts or preset.attempts) == 1:
            continue
        if client.dependency not in scenario.dependencies:
            continue
        transient = preset.quota // preset.costs["transient"]
        burst = client.number * transient
        limited = preset.costs.get("throttling")
        throttling = "no limit for retries of throttling"
        if limited is not None:
            each = preset.quota // limited
            throttling = f"{client.number:,} x {each} = {format_count(client.number * each)} of throttling"
        free = room_at(scenario, client.dependency)
        room = free.free_per_min
        beside = "direct and control traffic" if free.control_per_min > 0 else "direct traffic"
        # What fits into one minute beside new traffic is no burst for it.
        if burst <= room:
            continue
        lasts = (
            "more than it ever has to spare"
            if room == 0
            else f"{format_minutes(burst / room)} of all that it has to spare"
        )
        yield Finding(
            ID, f"clients.{name}", "medium",
            f"{counted(client.number, 'client')} of {client.sdk} with a quota of {preset.quota} tokens each",
            f"{where(facts.estimates.loaded, 'clients', name, 'number')}; not exported",
            Cost(
                f"{client.number:,} x {transient} = {format_count(burst)} retries of transient errors when all start with full "
                f"quotas ({throttling}). "
                f"{client.dependency} has {format_rate(room)} beside {beside}: {lasts}.",
                float(burst), "attempts",
            ),
            Steps(
                comments(
                    "restart clients in parts, not all at once, and not while the dependency is failing",
                    "or hold new processes to one attempt until the dependency answers: AWS_MAX_ATTEMPTS=1",
                ),
                comments("nothing was changed"),
            ),
            note="A quota is kept by each client object in each process: it is full again after every restart.",
        )  # fmt: skip


RULE = Rule(
    ID,
    "A restart that fills all retry quotas",
    "Restarting the fleet is a usual reflex in an incident, and gives every client a full bucket of retries to spend at once.",
    "botocore, retries/standard.py and retries/quota.py",
    _find,
)
