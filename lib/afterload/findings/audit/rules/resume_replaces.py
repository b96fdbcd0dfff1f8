"""A group that replaces many instances at once when ReplaceUnhealthy is resumed."""

from __future__ import annotations

from collections.abc import Iterator

from afterload.findings.audit.facts import Facts
from afterload.findings.audit.finding import Cost, Finding, Rule
from afterload.findings.audit.removal import group_name
from afterload.findings.audit.steps import Steps, comments
from afterload.findings.phrases import counted

ID = "resume-replaces"


def _find(facts: Facts) -> Iterator[Finding]:
    for group in facts.groups:
        seen = facts.setting(group.group, "unhealthy")
        unhealthy = seen.number if seen else None
        if seen is None or not unhealthy or "ReplaceUnhealthy" not in group.names("suspended_processes"):
            continue
        name = group_name(group)
        resume = (
            f"aws autoscaling resume-processes --auto-scaling-group-name {name} --scaling-processes ReplaceUnhealthy"
        )
        yield Finding(
            ID, group.target, "high",
            f"ReplaceUnhealthy is suspended with {counted(unhealthy, 'instance')} marked unhealthy", seen.where,
            Cost(
                f"Resumed, it terminates {counted(unhealthy, 'instance')} at once, and launches their replacements afterwards.",
                unhealthy, "instances",
            ),
            Steps(
                (
                    "# for each instance that serves:",
                    "aws autoscaling set-instance-health --instance-id INSTANCE_ID --health-status Healthy",
                    f"# then: {resume}",
                ),
                comments("nothing to undo: a health check marks what is unhealthy again"),
            ),
        )  # fmt: skip


RULE = Rule(
    ID,
    "Instances marked unhealthy behind a suspended ReplaceUnhealthy",
    "The end of a recovery then looks like its beginning: capacity is terminated first and launched later.",
    "Amazon EC2 Auto Scaling User Guide, suspend and resume processes; health checks",
    _find,
)
