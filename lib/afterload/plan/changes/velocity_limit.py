"""A floor and a pace for removals while launches fail."""

from __future__ import annotations

from collections.abc import Iterator

from afterload.estimates import Estimates, FleetEstimate
from afterload.model.launches import BucketLimits, long_run_per_min
from afterload.plan.change import Change, Place, PlanItem, counted, quoted
from afterload.plan.terraform import resource
from afterload.scenario import Fleet
from afterload.units import format_duration, format_rate

ID = "velocity-limit"
# With these a group launches a replacement before it terminates: the guide's "launch before terminating".
LEAST_HEALTHY, MOST_HEALTHY = 100, 110


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    for item in estimates.fleets.values():
        # Where the list of automation is not known, the pause list asks for it.
        if item.fleet.removal_automation and item.fleet.needed:
            yield _item(estimates, item)


def _item(estimates: Estimates, item: FleetEstimate) -> PlanItem:
    fleet, target = item.fleet, f"fleets.{item.name}"
    at = Place(ID, estimates, "fleets", item.name, fleet)
    if fleet.removal_floor >= fleet.needed:
        line = at.where("removal_floor")
        return at.in_place(
            f"Removals stop at {counted(fleet.removal_floor, 'instance')}, and {fleet.needed:,} are needed ({line})."
        )
    line = at.where("removal_automation")
    if all(entry.paused for entry in fleet.removal_automation or ()):
        return at.not_here(f"A recovery starts with everything paused that removes capacity ({line}).")
    rate, minutes = fleet.removal_rate_per_min, fleet.launches_from_min
    floor = f"a floor of {fleet.removal_floor:,}" if fleet.removal_floor else "no floor"
    missing = [name for name, value in (("removal_rate", rate), ("launches_from", minutes)) if value == 0]
    if missing:
        ask = " and ".join(f"{target}.{name}" for name in missing)
        return at.asks(f"Removals have {floor} ({line}). What they take while launches fail needs {ask}.")
    line = at.where("removal_rate")
    lowest = max(min(fleet.running, fleet.removal_floor), fleet.running - rate * minutes, 0.0)
    evidence = f"Automation removes {format_rate(rate)} while launches fail for {format_duration(minutes)}, with {floor} ({line})"
    if lowest >= fleet.needed:
        return at.not_here(f"{evidence}: {counted(lowest, 'instance')} are left, and {fleet.needed:,} are needed.")
    apply, undo = _commands(fleet)
    return at.do(
        f"{evidence}.",
        bounds=(
            f"Bounds removals: {counted(lowest, 'instance')} left of {fleet.running:,} before launches succeed today, "
            f"{min(fleet.running, fleet.needed):,} with it."
        ),
        price=f"{counted(min(fleet.running, fleet.needed) - lowest, 'instance').capitalize()} that automation would remove "
        "stay, the unhealthy ones among them.",
        apply=apply, undo=undo, terraform=_terraform(fleet),
        edit={f"{target}.removal_floor": fleet.needed},
    )  # fmt: skip


def _pace_per_min(fleet: Fleet) -> float:
    """Instances a minute that launches can replace in the long run."""
    shape = fleet.launch
    buckets = BucketLimits(
        shape.request_burst, shape.request_refill_per_s, shape.instance_burst, shape.instance_refill_per_s
    )
    return long_run_per_min(
        buckets,
        instances_per_request=shape.instances_per_request,
        throttle_factor=shape.throttle_factor,
        other_callers_share=shape.other_callers_share,
    )


def _commands(fleet: Fleet) -> tuple[tuple[str, ...], tuple[str, ...]]:
    group = quoted(fleet.resources.auto_scaling_group, "GROUP_NAME")
    command = f"aws autoscaling update-auto-scaling-group --auto-scaling-group-name {group}"
    policy = "--instance-maintenance-policy MinHealthyPercentage={},MaxHealthyPercentage={}"
    apply = (
        f"{command} --min-size {min(fleet.running, fleet.needed)} {policy.format(LEAST_HEALTHY, MOST_HEALTHY)}",
        f"# automation of the team's own: remove nothing below {fleet.needed:,} instances, and at most "
        f"{format_rate(_pace_per_min(fleet))}, which launches can replace",
    )
    undo = (
        f"{command} {policy.format(-1, -1)}",
        "# set MinSize, and the team's own automation, to what they were",
    )
    return apply, undo


def _terraform(fleet: Fleet) -> tuple[str, ...]:
    values = {
        "min_size": min(fleet.running, fleet.needed),
        "instance_maintenance_policy": {
            "min_healthy_percentage": LEAST_HEALTHY,
            "max_healthy_percentage": MOST_HEALTHY,
        },
    }
    return (resource("aws_autoscaling_group", fleet.resources.auto_scaling_group or "group", values),)


CHANGE = Change(
    id=ID,
    order=4,
    title="A floor and a pace for removals",
    why="Removals go on while launches fail, and nothing but a floor ends them before the last instance.",
    exercise=(
        "In a test account deny launches to the scaling role, fail the health checks of part of the fleet, and see "
        "removals stop at the floor."
    ),
    reference="recovery planning guide, removal of capacity; Auto Scaling documentation of instance maintenance policies",
    items=_items,
    effort_days=1,
    risk="Instances that fail for a reason of their own stay in service: look at them before the floor is lifted.",
)
