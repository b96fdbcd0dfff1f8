"""Health thresholds of a target group: the service's defaults, or DNS below routing."""

from __future__ import annotations

import math
from collections.abc import Iterator

from afterload.findings.audit.facts import Facts, Group, number
from afterload.findings.audit.finding import Cost, Finding, Gap, Rule
from afterload.findings.audit.steps import Steps, choose
from afterload.findings.phrases import quoted
from afterload.readers.reading import Resource
from afterload.units import format_number

ID = "target-group-thresholds"
_ROUTING, _DNS = "unhealthy_state_routing", "dns_failover"


def _find(facts: Facts) -> Iterator[Finding | Gap]:
    for target_group in facts.inventory.of("elb.target_group"):
        found = {
            (end, form): facts.setting(target_group, f"{end}_minimum_{form}")
            for end in ("dns", "routing")
            for form in ("count", "percentage")
        }
        if any(setting is None for setting in found.values()):
            command = "aws elbv2 describe-target-group-attributes --target-group-arn TARGET_GROUP_ARN"
            yield Gap(ID, f"target group {target_group.name}", "its health thresholds", command)
            continue
        values = {key: number(setting.value) if setting else None for key, setting in found.items()}
        below = _below(values)
        is_default = values == {
            ("dns", "count"): 1.0, ("dns", "percentage"): None, ("routing", "count"): 1.0, ("routing", "percentage"): None,
        }  # fmt: skip
        if not below and not is_default:
            continue
        owner = next((group for group in facts.groups if target_group.name in _names(group)), None)
        place = found["routing", "count"]
        finding = _finding(facts, target_group, owner, below, place.where if place else "")
        if finding is not None:
            yield finding


def _below(values: dict[tuple[str, str], float | None]) -> str:
    """Where the DNS threshold is below the routing threshold, in words; empty where it is not."""
    for form, unit in (("count", ""), ("percentage", " %")):
        dns, routing = values["dns", form], values["routing", form]
        if routing is not None and dns is not None and dns < routing:
            return (
                f"DNS failover at {format_number(dns)}{unit} of healthy targets, below routing at "
                f"{format_number(routing)}{unit}"
            )
    return ""


def _names(group: Group) -> frozenset[str]:
    """Names of a group's target groups, in their ARNs."""
    return frozenset(
        part
        for arn in group.names("target_groups")
        for part in (arn, *arn.rpartition("targetgroup/")[2].split("/")[:1])
    )


def _finding(facts: Facts, target_group: Resource, owner: Group | None, below: str, where: str) -> Finding | None:
    running = None
    if owner is not None:
        exported = number(owner.group.get("in_service")) if owner.group else None
        running = exported if exported is not None else float(owner.fleet.fleet.running) if owner.fleet else None
    target = f"target group {target_group.name}"
    if not below and running is not None and running <= 1:
        return None
    needed = owner.fleet.fleet.needed if owner is not None and owner.fleet is not None else None
    steps = _steps(facts, target_group, running, needed)
    if below:
        return Finding(
            ID, target, "medium", below, where,
            Cost(
                "The zone would leave DNS only after its targets have long got traffic that they cannot serve; the service "
                "refuses such a pair.", missing="thresholds with DNS at or above routing",
            ),
            steps,
        )  # fmt: skip
    if running is None:
        missing = "the Auto Scaling group of this target group, and a fleet of the scenario for it"
        cost = Cost("The last healthy target alone would get all traffic.", missing=missing)
    else:
        cost = Cost(
            f"Traffic goes to all {format_number(running)} targets only when less than 1 is healthy. With one left it gets "
            f"{format_number(running)} times its usual load, and fails too.",
            running, "times",
        )  # fmt: skip
    return Finding(
        ID, target, "low" if running is None else "medium",
        "the service's defaults: routing and DNS failover below 1 healthy target", where, cost, steps,
        note=(
            "Below the routing threshold traffic goes to all targets, healthy or not, which spares the healthy few; below the "
            "DNS threshold the zone leaves DNS, and the other zones get its traffic."
        ),
    )  # fmt: skip


def _steps(facts: Facts, target_group: Resource, running: float | None, needed: int | None) -> Steps:
    """Routing fails open where fewer than needed are healthy: then those cannot carry the load alone."""
    percent = "PERCENT"
    if running and needed and needed <= running:
        percent = str(min(100, max(1, math.ceil(100 * needed / running))))
    arn = target_group.get("arn")
    name = quoted(
        str(arn) if arn else target_group.name if target_group.name.startswith("arn:") else None, "TARGET_GROUP_ARN"
    )
    key = "Key=target_group_health.{}.minimum_healthy_targets.percentage,Value={}"
    command = f"aws elbv2 modify-target-group-attributes --target-group-arn {name} --attributes"
    keys = " ".join(key.format(end, percent) for end in (_DNS, _ROUTING))
    off = " ".join(key.format(end, "off") for end in (_ROUTING, _DNS))

    def block(value: str) -> tuple[str, ...]:
        return (
            "target_group_health {",
            *(
                line
                for end in (_DNS, _ROUTING)
                for line in (f"  {end} {{", f"    minimum_healthy_targets_percentage = {value}", "  }")
            ),
            "}",
        )

    return choose(
        facts.origin(target_group),
        (f"{command} {keys}",),
        (f"{command} {off}",),
        block("var.percent" if percent == "PERCENT" else f'"{percent}"'),
        block('"off"'),
    )


RULE = Rule(
    ID,
    "Target group thresholds that protect nobody",
    "When most targets fail their checks the healthy few get all the traffic, fail under it, and the zone leaves DNS.",
    "Elastic Load Balancing User Guide, target group health",
    _find,
)
