"""A group that launches instances without registering them at its load balancer."""

from __future__ import annotations

from collections.abc import Iterator

from afterload.findings.audit.facts import Facts
from afterload.findings.audit.finding import Cost, Finding, Rule
from afterload.findings.audit.removal import group_name
from afterload.findings.audit.steps import choose, hcl
from afterload.findings.phrases import counted

ID = "unregistered-launches"
_PROCESS = "AddToLoadBalancer"


def _find(facts: Facts) -> Iterator[Finding]:
    for group in facts.groups:
        seen = facts.setting(group.group, "suspended_processes")
        suspended = group.names("suspended_processes")
        # A group that launches nothing, or has no load balancer, registers nothing anyway.
        if seen is None or _PROCESS not in suspended or "Launch" in suspended:
            continue
        if group.group is not None and group.group.get("target_groups") == ():
            continue
        missing = group.fleet.missing if group.fleet else None
        if missing == 0:
            continue
        options = f"--auto-scaling-group-name {group_name(group)} --scaling-processes {_PROCESS}"
        rest = ", ".join(hcl(name) for name in sorted(suspended - {_PROCESS}))
        both = ", ".join(hcl(name) for name in sorted(suspended))
        yield Finding(
            ID, group.target, "medium", f"{_PROCESS} is suspended", seen.where,
            Cost(
                f"{counted(missing, 'instance')} that the recovery launches serve nobody until they are registered by hand.",
                missing, "instances",
            ) if missing is not None else Cost("What is launched meanwhile serves nobody.", missing=group.ask_for_fleet),
            choose(
                seen.origin,
                (
                    f"aws autoscaling resume-processes {options}",
                    "# resuming registers only what is launched from then on; for what was launched meanwhile:",
                    "aws elbv2 register-targets --target-group-arn TARGET_GROUP_ARN --targets Id=INSTANCE_ID",
                ),
                (f"aws autoscaling suspend-processes {options}",),
                (
                    f"suspended_processes = [{rest}]",
                    "# and register what was launched meanwhile: aws elbv2 register-targets",
                ),
                (f"suspended_processes = [{both}]",),
            ),
        )  # fmt: skip


RULE = Rule(
    ID,
    "Launches that are not registered",
    "Capacity that was waited for is there and gets no traffic, even after the process is resumed.",
    "Amazon EC2 Auto Scaling User Guide, suspend and resume processes",
    _find,
)
