"""Instances that run before the event, where launching them in it takes too long."""

from __future__ import annotations

from collections.abc import Iterator

from afterload.estimates import Estimates, FleetEstimate
from afterload.plan.change import Change, Place, PlanItem, counted, quoted
from afterload.plan.price import Headroom
from afterload.plan.terraform import resource
from afterload.scenario import Fleet
from afterload.units import format_duration

ID = "provisioned-capacity"


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    for item in estimates.fleets.values():
        if item.fleet.needed:
            yield _item(estimates, item)


def _item(estimates: Estimates, item: FleetEstimate) -> PlanItem:
    fleet, target = item.fleet, f"fleets.{item.name}"
    at = Place(ID, estimates, "fleets", item.name, fleet)
    line = at.where("running")
    evidence = (
        f"{counted(fleet.running, 'instance').capitalize()} in service at the restore, {fleet.needed:,} needed ({line})"
    )
    if item.missing == 0:
        return at.in_place(f"{evidence}.")
    if item.in_service_min == 0:
        return at.in_place(f"{evidence}: the missing ones are launched at once.")
    group = quoted(fleet.resources.auto_scaling_group, "GROUP_NAME")
    command = f"aws autoscaling set-desired-capacity --auto-scaling-group-name {group} --desired-capacity"
    return at.do(
        f"{evidence}.",
        bounds=(
            f"Bounds the wait for {counted(item.missing, 'missing instance')}: {format_duration(item.in_service_min)} today, "
            "nothing with it."
        ),
        price=f"{counted(item.missing, 'instance').capitalize()} more that run and idle until a recovery needs them.",
        apply=(f"# the group's MaxSize has to be {fleet.needed:,} or more", f"{command} {fleet.needed}"),
        undo=(f"{command} {fleet.running}",),
        terraform=_terraform(fleet),
        edit={f"{target}.running": fleet.needed},
        headroom=Headroom("instance", item.missing),
    )  # fmt: skip


def _terraform(fleet: Fleet) -> tuple[str, ...]:
    values = {"desired_capacity": fleet.needed}
    return (resource("aws_autoscaling_group", fleet.resources.auto_scaling_group or "group", values),)


CHANGE = Change(
    id=ID,
    order=6,
    title="Capacity for the recovery that runs before the event",
    why="Launches are refilled at a few a second, and may fail for as long as the event lasts.",
    exercise="Deny launches in a test account, send the load of the recovery, and see what runs bear it.",
    reference="recovery planning guide, static stability; provider's page on API throttling",
    items=_items,
    effort_days=1,
    risk="Spare instances are scaled in again as idle: raise the group's minimum with them.",
)
