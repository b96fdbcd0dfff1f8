"""Capacity rebalancing, which spends launches on replacing what still runs."""

from __future__ import annotations

from collections.abc import Iterator

from afterload.estimates import FleetEstimate, estimate_fleet
from afterload.findings.audit.facts import Facts
from afterload.findings.audit.finding import Cost, Finding, Rule, Severity
from afterload.findings.audit.removal import group_name
from afterload.findings.audit.steps import choose
from afterload.findings.phrases import counted
from afterload.units import format_minutes

ID = "capacity-rebalance"


def _find(facts: Facts) -> Iterator[Finding]:
    for group in facts.groups:
        seen = facts.setting(group.group, "capacity_rebalance")
        if seen is None or seen.value is not True or "Launch" in group.names("suspended_processes"):
            continue
        cost = Cost("Each replacement takes a launch from the same limits.", missing=group.ask_for_fleet)
        severity: Severity = "low"
        if group.fleet is not None:
            if group.fleet.fleet.running == 0:
                continue
            severity, cost = _stake(group.fleet)
        command = f"aws autoscaling update-auto-scaling-group --auto-scaling-group-name {group_name(group)}"
        yield Finding(
            ID, group.target, severity, "capacity rebalancing is on", seen.where, cost,
            choose(
                seen.origin,
                (f"{command} --no-capacity-rebalance",),
                (f"{command} --capacity-rebalance",),
                ("capacity_rebalance = false",),
                ("capacity_rebalance = true",),
            ),
            note=(
                "Scanners of good practice advise the opposite, and in normal times they are right: without it a Spot "
                "instance is taken without a replacement. It acts on Spot instances only."
            ),
        )  # fmt: skip


def _stake(item: FleetEstimate) -> tuple[Severity, Cost]:
    """Minutes by which replacements of all that runs would delay the missing instances: the most that it can cost."""
    fleet = item.fleet
    together = fleet.model_copy(update={"needed": fleet.running + item.missing + fleet.running})
    both = estimate_fleet(item.name, together)
    alone, with_it = item.launches.in_service_s / 60, both.launches.in_service_s / 60
    later = max(0.0, with_it - alone)
    words = (
        f"{counted(item.missing, 'missing instance')} launched after {format_minutes(alone)}; with replacements for up to "
        f"{counted(fleet.running, 'running instance')} out of the same limits after {format_minutes(with_it)}: at most "
        f"{format_minutes(later)} later."
    )
    return "medium" if later > 0 and item.missing > 0 else "low", Cost(words, later, "min")


RULE = Rule(
    ID,
    "Capacity rebalancing while launches are short",
    "Launches that the recovery needs for missing instances go into replacing instances that still run.",
    "Amazon EC2 Auto Scaling User Guide, Capacity Rebalancing",
    _find,
)
