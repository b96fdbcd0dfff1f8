"""A mapping in a state that is not known, or on its way to another."""

from __future__ import annotations

from collections.abc import Iterator

from afterload.findings.audit.facts import Facts
from afterload.findings.audit.finding import Cost, Finding, Gap, Rule
from afterload.findings.audit.steps import Steps, comments
from afterload.findings.phrases import quoted

ID = "mapping-state"
_SETTLED = ("Enabled", "Disabled", "Disabling")
_MOVING = ("Creating", "Enabling", "Updating", "Deleting")


def _find(facts: Facts) -> Iterator[Finding | Gap]:
    for backlog in facts.backlogs:
        if backlog.mapping is None:
            continue
        command = f"aws lambda get-event-source-mapping --uuid {quoted(backlog.uuid, 'MAPPING_UUID')}"
        seen = facts.setting(backlog.mapping, "state")
        if seen is None or seen.value is None:
            yield Gap(ID, backlog.target, "state of its mapping", command)
        elif seen.value not in _SETTLED:
            moving = seen.value in _MOVING
            yield Finding(
                ID, backlog.target, "info" if moving else "low",
                f"state is {seen.value}", seen.where,
                Cost(
                    "It was on its way to another state when it was exported, so its settings may be others now."
                    if moving else "This state is not known here, so whether the backlog is worked off is not known either.",
                    missing="an export made since",
                ),
                Steps((f"{command}", *comments("export it again, and run the audit on that")), comments("nothing was changed")),
            )  # fmt: skip


RULE = Rule(
    ID,
    "A mapping whose state is not settled or not known",
    "Whether anything drains the backlog after the restore depends on the state in which it ends up.",
    "AWS Lambda API Reference, EventSourceMappingConfiguration, State",
    _find,
)
