"""A group that cannot launch and still terminates."""

from __future__ import annotations

from collections.abc import Iterator

from afterload.findings.audit.facts import Facts, number
from afterload.findings.audit.finding import Cost, Finding, Rule
from afterload.findings.audit.removal import active, group_name, suspend
from afterload.findings.audit.steps import Steps
from afterload.findings.phrases import counted

ID = "launch-suspended"


def _find(facts: Facts) -> Iterator[Finding]:
    for group in facts.groups:
        seen = facts.setting(group.group, "suspended_processes")
        running = active(group)
        if seen is None or "Launch" not in group.names("suspended_processes") or not running:
            continue
        serving = number(group.group.get("in_service")) if group.group else None
        if serving is None and group.fleet is not None:
            serving = float(group.fleet.fleet.running)
        steps = suspend(facts, group, running)
        if steps.language == "sh":
            name = group_name(group)
            resume = f"aws autoscaling resume-processes --auto-scaling-group-name {name} --scaling-processes Launch"
            steps = Steps((*steps.apply, f"# or, as soon as launches succeed: {resume}"), steps.undo)
        yield Finding(
            ID, group.target, "high", f"Launch is suspended and {', '.join(running)} not", seen.where,
            Cost(
                f"{counted(serving, 'instance')} in service, each of which can be terminated and none replaced.",
                serving, "instances",
            ) if serving is not None else Cost("What is terminated is not replaced.", missing="the instances in service"),
            steps,
        )  # fmt: skip


RULE = Rule(
    ID,
    "Launches suspended while terminations go on",
    "The fleet can only shrink: what is unhealthy, rebalanced or scaled in goes, and nothing comes.",
    "Amazon EC2 Auto Scaling User Guide, suspend and resume processes",
    _find,
)
