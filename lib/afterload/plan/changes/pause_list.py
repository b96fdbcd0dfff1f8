"""A list of the automation that removes capacity, with the command that pauses each."""

from __future__ import annotations

from collections.abc import Iterator

from afterload.estimates import Estimates, FleetEstimate
from afterload.plan.change import COUPLED, DO, IN_PLACE, NEEDS_EVIDENCE, Change, PlanItem, quoted
from afterload.scenario import REMOVAL_PROCESSES
from afterload.scenario.schema import Automation
from afterload.units import format_count, format_duration

__all__ = ["CHANGE"]

ID = "pause-list"


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    for item in estimates.fleets.values():
        yield _item(estimates, item)


def _item(estimates: Estimates, item: FleetEstimate) -> PlanItem:
    loaded, fleet = estimates.loaded, item.fleet
    target = f"fleets.{item.name}"
    owner = fleet.owner or loaded.scenario.owner or "no owner yet"
    group = quoted(fleet.resources.auto_scaling_group, "GROUP_NAME")
    automation = fleet.removal_automation
    where = loaded.where("fleets", item.name, "removal_automation")
    if automation is None:
        return PlanItem(
            ID, target, NEEDS_EVIDENCE,
            f"The scenario does not say what can remove capacity: give fleets.{item.name}.removal_automation.",
            bounds=COUPLED, owner=owner,
            apply=(f"aws autoscaling describe-auto-scaling-groups --auto-scaling-group-names {group}",),
        )  # fmt: skip
    running = [entry for entry in automation if not entry.paused]
    names = ", ".join(entry.name for entry in running)
    if not running:
        listed = ", ".join(entry.name for entry in automation) or "nothing"
        return PlanItem(ID, target, IN_PLACE, f"Paused in a recovery, or absent: {listed} ({where}).", owner=owner)
    apply, undo = _commands(running, group)
    return PlanItem(
        ID, target, DO,
        f"{names} can remove capacity while launches fail ({where}).",
        bounds=(
            f"Bounds what can be removed: the {format_count(fleet.running)} running instances could be terminated within "
            f"{format_duration(item.removal_s / 60)}, and launching all {format_count(fleet.needed)} that are needed would "
            f"then take {format_duration(item.relaunch.in_service_s / 60)}. {COUPLED}"
        ),
        price="While paused, failed instances stay in the fleet and scale-in does not save money.",
        owner=owner, apply=apply, undo=undo,
    )  # fmt: skip


def _commands(running: list[Automation], group: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    known = (*REMOVAL_PROCESSES, "HealthCheck", "InstanceRefresh")
    processes = [entry.name for entry in running if entry.name in known and entry.pause is None]
    apply, undo = [], []
    if "ReplaceUnhealthy" in processes and "HealthCheck" not in processes:
        # Without HealthCheck paused too, resuming replaces at once everything marked unhealthy meanwhile.
        processes.append("HealthCheck")
    if processes:
        names = " ".join(processes)
        apply.append(f"aws autoscaling suspend-processes --auto-scaling-group-name {group} --scaling-processes {names}")
        undo.append(f"aws autoscaling resume-processes --auto-scaling-group-name {group} --scaling-processes {names}")
    if "ReplaceUnhealthy" in processes:
        undo.insert(
            0, "# before resuming: set instances that serve to Healthy (aws autoscaling set-instance-health), or "
            "ReplaceUnhealthy terminates them first and launches later",
        )  # fmt: skip
    for entry in running:
        if entry.name not in processes:
            apply.append(entry.pause or f"# find the command that pauses {entry.name}, and write it under pause")
            undo.append(entry.resume or f"# find the command that resumes {entry.name}, and write it under resume")
    return tuple(apply), tuple(undo)


CHANGE = Change(
    id=ID,
    order=4,
    title="A list of automation that removes capacity, with the command that pauses each",
    why="Once bursts are spent, capacity can be removed ten times faster than it can be launched.",
    exercise=(
        "In a test account deny launches to the scaling role while health checks fail on part of the fleet, and see that "
        "nothing is terminated that cannot be replaced."
    ),
    reference="recovery planning guide, order of change; Auto Scaling documentation of suspended processes",
    items=_items,
)
