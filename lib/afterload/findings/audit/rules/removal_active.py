"""An Auto Scaling group whose processes can remove capacity while launches fail."""

from __future__ import annotations

from collections.abc import Iterator

from afterload.findings.audit.facts import Facts
from afterload.findings.audit.finding import Finding, Gap, Rule, Severity
from afterload.findings.audit.removal import active, group_name, is_empty, relaunch_cost, suspend
from afterload.findings.phrases import where
from afterload.scenario import REMOVAL_PROCESSES

ID = "removal-active"
_REPLACES = frozenset(("ReplaceUnhealthy", "AZRebalance", "Terminate"))


def _find(facts: Facts) -> Iterator[Finding | Gap]:
    for group in facts.groups:
        if is_empty(group):
            continue
        automation = group.fleet.fleet.removal_automation if group.fleet else None
        if group.group is None:
            if automation is None:
                command = f"aws autoscaling describe-auto-scaling-groups --auto-scaling-group-names {group_name(group)}"
                yield Gap(ID, group.target, f"its group, or {group.target}.removal_automation", command)
                continue
            running = tuple(entry.name for entry in automation if not entry.paused and entry.name in REMOVAL_PROCESSES)
            name = group.target.removeprefix("fleets.")
            place = f"{where(facts.estimates.loaded, 'fleets', name, 'removal_automation')}; not exported"
        else:
            seen = facts.setting(group.group, "suspended_processes")
            if seen is None:
                yield Gap(ID, group.target, "its suspended processes", "aws autoscaling describe-auto-scaling-groups")
                continue
            running, place = active(group), seen.where
        if not running:
            continue
        severity: Severity = "high" if _REPLACES & set(running) else "medium"
        cost = relaunch_cost(group)
        # With ReplaceUnhealthy alone, resuming replaces at once everything that was marked unhealthy meanwhile.
        wanted = (*running, "HealthCheck") if "ReplaceUnhealthy" in running else running
        yield Finding(
            ID, group.target, severity if cost.amount else "medium" if cost.amount is None else "low",
            f"can run while launches fail: {', '.join(running)}", place, cost,
            suspend(facts, group, wanted),
            note=(
                "For the length of a recovery, not for good: while they are suspended failed instances stay, and scale-in "
                "saves no money. To have them paused when a recovery starts, write that in the scenario (paused: true)."
            ),
        )  # fmt: skip


RULE = Rule(
    ID,
    "Automation that removes capacity while launches fail",
    "Once bursts are spent capacity can be removed ten times faster than it can be launched, so a fleet shrinks in a recovery.",
    "Amazon EC2 Auto Scaling User Guide, suspend and resume processes; Amazon EC2 developer guide, request throttling",
    _find,
)
