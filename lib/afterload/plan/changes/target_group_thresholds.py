"""Thresholds of a target group at which its zone fails open before few targets get everything."""

from __future__ import annotations

import math
from collections.abc import Iterator

from afterload.estimates import Estimates
from afterload.plan.change import Change, Place, PlanItem, counted
from afterload.plan.terraform import resource
from afterload.scenario import Fleet
from afterload.scenario.capacity_schema import TargetGroup
from afterload.units import format_number

ID = "target-group-thresholds"
PREFIX = "target_group_health"
PARTS = {"dns": "dns_failover", "routing": "unhealthy_state_routing"}


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    for name, fleet in estimates.loaded.scenario.fleets.items():
        if fleet.target_group is not None and fleet.needed:
            yield _item(estimates, name, fleet, fleet.target_group)


def _threshold(group: TargetGroup, kind: str, targets: int) -> int:
    """Healthy targets of a zone below which routing changes: the higher of its count and its share."""
    count, share = getattr(group, f"{kind}_count"), getattr(group, f"{kind}_share")
    return int(max(count, math.ceil((share or 0.0) * targets - 1e-9)))


def _item(estimates: Estimates, name: str, fleet: Fleet, group: TargetGroup) -> PlanItem:
    target = f"fleets.{name}"
    at = Place(ID, estimates, "fleets", name, fleet)
    line = at.where("target_group")
    smallest = min(group.targets)
    # What a zone has to bear, if the load is spread evenly over them.
    load = fleet.needed / len(group.targets)
    planned = min(math.ceil(load - 1e-9), smallest)
    routing, dns = (_threshold(group, kind, smallest) for kind in ("routing", "dns"))
    evidence = (
        f"With fewer than {counted(routing, 'healthy target')} of {smallest:,} a zone sends traffic to all of them, and with "
        f"fewer than {dns:,} it leaves DNS ({line})"
    )
    if smallest == 0:
        return at.not_here(f"{evidence}; a zone without targets has nothing to fail open to.")
    if routing >= planned and routing == dns:
        return at.in_place(
            f"{evidence}: it fails open where it would leave DNS, while {planned:,} can still bear the load."
        )
    count = max(planned, dns)
    each = load / max(1, routing)
    return at.do(
        f"{evidence}. The load takes {counted(load, 'target')} in each of {counted(len(group.targets), 'zone')}.",
        bounds=(
            f"Bounds what a healthy target gets: up to {format_number(each)} times its share today, when {routing:,} of "
            f"them {'is' if routing == 1 else 'are'} left, {format_number(load / count)} with it."
        ),
        price="Traffic goes to targets that fail their checks too, and a part of it fails there.",
        apply=(_command(count, count, None),),
        undo=(_command(group.routing_count, group.dns_count, group),),
        terraform=_terraform(name, count),
        edit={
            f"{target}.target_group.routing_count": count, f"{target}.target_group.routing_share": "none",
            f"{target}.target_group.dns_count": count, f"{target}.target_group.dns_share": "none",
        },
    )  # fmt: skip


def _command(routing: int, dns: int, group: TargetGroup | None) -> str:
    words = []
    # Where it is raised the DNS threshold goes first: the service refuses one under the routing threshold.
    for kind, count in (("dns", dns), ("routing", routing)):
        share = None if group is None else getattr(group, f"{kind}_share")
        key = f"{PREFIX}.{PARTS[kind]}.minimum_healthy_targets"
        percentage = "off" if share is None else f"{max(1, round(100 * share))}"
        words += [f"Key={key}.count,Value={count}", f"Key={key}.percentage,Value={percentage}"]
    return (
        f"aws elbv2 modify-target-group-attributes --target-group-arn TARGET_GROUP_ARN --attributes {' '.join(words)}"
    )


def _terraform(name: str, count: int) -> tuple[str, ...]:
    values = {
        PREFIX: {
            "dns_failover": {"minimum_healthy_targets_count": f"{count}", "minimum_healthy_targets_percentage": "off"},
            "unhealthy_state_routing": {
                "minimum_healthy_targets_count": count,
                "minimum_healthy_targets_percentage": "off",
            },
        }
    }
    return (resource("aws_lb_target_group", name, values),)


CHANGE = Change(
    id=ID,
    order=4,
    title="Target groups that fail open while enough targets are left",
    why="Health checks that fail for all targets alike take capacity out of service, and the healthy few get everything.",
    exercise=(
        "In a test account fail the health checks of targets one after the other, and see traffic go to all targets of the "
        "zone before the healthy ones are overloaded."
    ),
    reference="Elastic Load Balancing documentation of target group health",
    items=_items,
    effort_days=0.5,
    risk="Where targets fail for good, requests fail that healthy targets would have served: keep an alarm on the count.",
)
