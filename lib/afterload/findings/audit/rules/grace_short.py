"""A grace period shorter than an instance takes to serve."""

from __future__ import annotations

import math
from collections.abc import Iterator

from afterload.findings.audit.facts import Facts
from afterload.findings.audit.finding import Cost, Finding, Rule
from afterload.findings.audit.removal import active, group_name
from afterload.findings.audit.steps import choose
from afterload.findings.phrases import counted
from afterload.units import format_number

ID = "grace-short"


def _find(facts: Facts) -> Iterator[Finding]:
    for group in facts.groups:
        seen = facts.setting(group.group, "grace_s")
        # Without a load balancer's check nothing looks at what a new instance serves.
        if seen is None or seen.number is None or not group.names("health_check_types") & {"ELB", "VPC_LATTICE"}:
            continue
        if group.fleet is None or "ReplaceUnhealthy" not in active(group):
            continue
        if "HealthCheck" in group.names("suspended_processes") or "HealthCheck" in group.paused_in_plan:
            continue
        shape, missing = group.fleet.fleet.launch, group.fleet.missing
        takes = shape.boot_time_s + shape.network_delay_s
        if seen.number >= takes:
            continue
        command = f"aws autoscaling update-auto-scaling-group --auto-scaling-group-name {group_name(group)}"
        yield Finding(
            ID, group.target, "high" if missing else "low", f"grace period of {format_number(seen.number)} s", seen.where,
            Cost(
                f"Boot and network take {format_number(shape.boot_time_s)} s + {format_number(shape.network_delay_s)} s = "
                f"{format_number(takes)} s. {counted(missing, 'instance')} that the recovery launches can be terminated before "
                "their first good check, and launched again, out of the same bucket.",
                missing, "instances",
            ),
            choose(
                seen.origin,
                (f"{command} --health-check-grace-period {math.ceil(takes)}",),
                (f"{command} --health-check-grace-period {round(seen.number)}",),
                (f"health_check_grace_period = {math.ceil(takes)}",),
                (f"health_check_grace_period = {round(seen.number)}",),
            ),
            note="In an impairment network state takes longer than usual: add what the last event took.",
        )  # fmt: skip


RULE = Rule(
    ID,
    "A grace period shorter than a launch takes",
    "New instances are terminated before their network state exists, so every launch is spent for nothing.",
    "Amazon EC2 Auto Scaling User Guide, set the health check grace period",
    _find,
)
