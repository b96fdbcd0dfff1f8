"""A group that terminates what its load balancer calls unhealthy."""

from __future__ import annotations

from collections.abc import Iterator

from afterload.findings.audit.facts import Facts, Group, number
from afterload.findings.audit.finding import Cost, Finding, Rule
from afterload.findings.audit.removal import active, group_name, is_empty, relaunch_cost
from afterload.findings.audit.steps import choose, hcl
from afterload.findings.phrases import counted

ID = "elb-health-check"


def _find(facts: Facts) -> Iterator[Finding]:
    for group in facts.groups:
        if is_empty(group):
            continue
        seen = facts.setting(group.group, "health_check_types")
        types = group.names("health_check_types")
        if seen is None or not types & {"ELB", "VPC_LATTICE"} or "ReplaceUnhealthy" not in active(group):
            continue
        if "HealthCheck" in group.names("suspended_processes") or "HealthCheck" in group.paused_in_plan:
            continue
        kept = ",".join(sorted(types - {"ELB", "VPC_LATTICE"})) or "EC2"
        before = ",".join(sorted(types))
        name = group_name(group)
        command = f"aws autoscaling update-auto-scaling-group --auto-scaling-group-name {name} --health-check-type"
        serving = _serving(group)
        yield Finding(
            ID, group.target, "high" if group.fleet is not None and group.fleet.missing > 0 else "medium",
            f"health check types: {', '.join(sorted(types))}", seen.where,
            Cost(
                f"{counted(serving, 'instance')} in service can be called unhealthy together when a check that reaches the "
                f"dependency fails, and are terminated before their replacements are launched. {relaunch_cost(group).sentence}",
                serving, "instances",
            ) if serving is not None else Cost(
                "All instances can be called unhealthy together.", missing="the instances in service",
            ),
            choose(
                seen.origin,
                (f"{command} {kept}",),
                (f"{command} {before}",),
                (f"health_check_type = {hcl(kept)}",),
                (f"health_check_type = {hcl(before)}",),
            ),
            note=(
                "Scanners of good practice advise the opposite, and in normal times they are right: without it an instance whose "
                "process is dead is not replaced. For the time of a recovery suspending HealthCheck and ReplaceUnhealthy is "
                "enough; the load balancer itself sends no traffic to a target that fails."
            ),
        )  # fmt: skip


def _serving(group: Group) -> float | None:
    exported = number(group.group.get("in_service")) if group.group else None
    if exported is not None:
        return exported
    return None if group.fleet is None else float(group.fleet.fleet.running)


RULE = Rule(
    ID,
    "Termination by the load balancer's health check",
    "In an impairment checks fail for what is no fault of the instance, and an unhealthy instance that runs is usually worth "
    "more than one that cannot be launched.",
    "Amazon EC2 Auto Scaling User Guide, health checks for instances in an Auto Scaling group",
    _find,
)
