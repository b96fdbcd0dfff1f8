"""Removal of capacity by itself: shared by the rules about Auto Scaling groups."""

from __future__ import annotations

from collections.abc import Iterable

from afterload.findings.audit.facts import Facts, Group
from afterload.findings.audit.finding import Cost
from afterload.findings.audit.steps import Steps, choose, hcl
from afterload.findings.phrases import counted, quoted
from afterload.scenario import REMOVAL_PROCESSES
from afterload.units import format_duration, format_minutes

__all__ = ["active", "group_name", "is_empty", "relaunch_cost", "suspend"]


def group_name(group: Group) -> str:
    """Name of a group for a command."""
    return quoted(group.name or None, "GROUP_NAME")


def active(group: Group) -> tuple[str, ...]:
    """Processes that can remove capacity while launches fail, and that nothing holds.

    A group whose minimum is what it runs is not scaled in by alarms. What the scenario says is paused when a recovery
    starts is held.
    """
    running = [name for name in REMOVAL_PROCESSES if name not in group.names("suspended_processes")]
    least, wanted = (group.group.get(name) if group.group else None for name in ("minimum", "desired"))
    if isinstance(least, int) and least == wanted:
        running = [name for name in running if name not in ("AlarmNotification", "Terminate")]
    if "Terminate" in group.names("suspended_processes"):
        # Nothing terminates without it.
        return ()
    return tuple(name for name in running if name not in group.paused_in_plan)


def is_empty(group: Group) -> bool:
    """True if nothing runs in a group, so that nothing can be removed: as exported, else as the scenario says."""
    exported = group.group.get("in_service") if group.group else None
    if isinstance(exported, int):
        return exported == 0
    return group.fleet is not None and group.fleet.fleet.running == 0


def relaunch_cost(group: Group) -> Cost:
    """Minutes that it takes to launch again what a fleet needs, after automation has removed what runs."""
    if group.fleet is None:
        running = group.group.get("in_service") if group.group else None
        words = f"{counted(float(running), 'instance')} in service." if isinstance(running, int) else ""
        return Cost(words, missing=group.ask_for_fleet)
    item = group.fleet
    minutes = item.relaunch.in_service_s / 60
    takes = f"takes {format_minutes(minutes)} by the limits of launches" if minutes else "does not wait for them"
    removed = f"within {format_duration(item.removal_s / 60)}" if item.removal_s > 0 else "at once, within the burst"
    return Cost(
        f"{counted(item.fleet.running, 'running instance')} can be terminated {removed}; launching the {item.fleet.needed:,} "
        f"that {'is' if item.fleet.needed == 1 else 'are'} needed {takes}.",
        minutes,
        "min",
    )


def suspend(facts: Facts, group: Group, processes: Iterable[str]) -> Steps:
    """How to suspend processes of a group beside those that are suspended already, and how to resume them safely."""
    wanted = tuple(dict.fromkeys(processes))
    before = tuple(sorted(group.names("suspended_processes")))
    options = f"--auto-scaling-group-name {group_name(group)} --scaling-processes {' '.join(wanted)}"
    warn = (
        "# before resuming: set instances that serve to Healthy (aws autoscaling set-instance-health), or ReplaceUnhealthy "
        "terminates them first and launches later",
    )
    both = ", ".join(hcl(name) for name in dict.fromkeys((*before, *wanted)))
    return choose(
        facts.origin(group.group),
        (f"aws autoscaling suspend-processes {options}",),
        (*(warn if "ReplaceUnhealthy" in wanted else ()), f"aws autoscaling resume-processes {options}"),
        (f"suspended_processes = [{both}]",),
        (
            *(warn if "ReplaceUnhealthy" in wanted else ()),
            f"suspended_processes = [{', '.join(hcl(name) for name in before)}]",
        ),
    )
