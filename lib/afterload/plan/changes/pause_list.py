"""A list of the automation that removes capacity, with the command that pauses each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from afterload.estimates import Estimates, FleetEstimate
from afterload.plan.change import DO, IN_PLACE, NEEDS_EVIDENCE, Change, PlanItem, counted, quoted, where
from afterload.scenario import REMOVAL_PROCESSES
from afterload.scenario.schema import Automation
from afterload.units import format_duration

__all__ = ["CHANGE", "HEALTH_CHECK_TOO"]

ID = "pause-list"
# Without HealthCheck paused too, resuming replaces at once everything marked unhealthy meanwhile.
HEALTH_CHECK_TOO = (
    "HealthCheck, which the scenario does not name, is suspended beside ReplaceUnhealthy: else it goes on marking instances "
    "unhealthy, and all of them are replaced at once when ReplaceUnhealthy is resumed"
)


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    for item in estimates.fleets.values():
        yield _item(estimates, item)


def _item(estimates: Estimates, item: FleetEstimate) -> PlanItem:
    loaded, fleet = estimates.loaded, item.fleet
    target = f"fleets.{item.name}"
    owner = fleet.owner or loaded.scenario.owner or "no owner yet"
    group = quoted(fleet.resources.auto_scaling_group, "GROUP_NAME")
    automation = fleet.removal_automation
    line = where(loaded, "fleets", item.name, "removal_automation")
    if automation is None:
        return PlanItem(
            ID, target, NEEDS_EVIDENCE,
            f"The scenario does not say what can remove capacity: give fleets.{item.name}.removal_automation.",
            owner=owner,
            apply=(f"aws autoscaling describe-auto-scaling-groups --auto-scaling-group-names {group}",),
        )  # fmt: skip
    running = _running(automation)
    names = ", ".join(entry.name for entry in running)
    paused = ", ".join(entry.name for entry in automation if entry.paused)
    if not running:
        words = f"Paused when a recovery starts: {paused}" if paused else "Nothing can remove capacity by itself"
        return PlanItem(ID, target, IN_PLACE, f"{words} ({line}).", owner=owner)
    apply, undo = _commands(automation, group)
    return PlanItem(
        ID, target, DO,
        f"{names} can remove capacity while launches fail ({line}).{f' Already paused then: {paused}.' if paused else ''}",
        bounds=_bounds(item),
        price="While paused, failed instances stay in the fleet and scale-in does not save money.",
        owner=owner, apply=apply, undo=undo,
        edit={f"{target}.removal_automation": [
            {"name": entry.name, "paused": True, "pause": entry.pause, "resume": entry.resume} for entry in automation
        ]},
    )  # fmt: skip


def _bounds(item: FleetEstimate) -> str:
    fleet = item.fleet
    if not fleet.running or not fleet.needed:
        return f"Bounds what can be removed: {counted(fleet.running, 'instance')} in service, {fleet.needed:,} needed."
    removed = f"within {format_duration(item.removal_s / 60)}" if item.removal_s > 0 else "at once, within the burst"
    back = f"take {format_duration(item.relaunch.in_service_s / 60)}" if item.relaunch.in_service_s > 0 else "not wait"
    return (
        f"Bounds what can be removed: {counted(fleet.running, 'running instance')} could be terminated {removed}, and "
        f"launching the {fleet.needed:,} that {'is' if fleet.needed == 1 else 'are'} needed would then {back}."
    )


def _running(automation: Sequence[Automation]) -> list[Automation]:
    return [entry for entry in automation if not entry.paused]


def _adds_health_check(automation: Sequence[Automation]) -> bool:
    """Whether ReplaceUnhealthy is suspended here, and HealthCheck with it although the scenario does not name it."""
    replaces = any(entry.name == "ReplaceUnhealthy" and entry.pause is None for entry in _running(automation))
    return replaces and all(entry.name != "HealthCheck" for entry in automation)


def _commands(automation: Sequence[Automation], group: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    known = (*REMOVAL_PROCESSES, "HealthCheck", "InstanceRefresh")
    running = _running(automation)
    own = [entry for entry in running if entry.pause is not None or entry.name not in known]
    processes = list(dict.fromkeys(entry.name for entry in running if entry not in own))
    apply, undo = list[str](), list[str]()
    if _adds_health_check(automation):
        apply.append(f"# {HEALTH_CHECK_TOO}")
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
    for entry in own:
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
    effort_days=1,
    risk="Resuming everything at once terminates what was marked unhealthy meanwhile: reset health first.",
)
