"""A disabled mapping, whose backlog grows without anyone being told."""

from __future__ import annotations

from collections.abc import Iterator

from afterload.findings.audit.facts import Facts
from afterload.findings.audit.finding import Finding, Rule
from afterload.findings.audit.links import source_of
from afterload.findings.audit.standstill import piles_up
from afterload.findings.audit.steps import choose, update_mapping

ID = "mapping-disabled"


def _find(facts: Facts) -> Iterator[Finding]:
    working = {
        source_of(mapping)
        for mapping in facts.inventory.of("lambda.mapping")
        if str(mapping.get("state") or "").startswith("Enabl")
    }
    for backlog in facts.backlogs:
        if backlog.mapping is None or not backlog.is_stopped or source_of(backlog.mapping) in working - {""}:
            continue
        seen = facts.setting(backlog.mapping, "state")
        cost = piles_up(facts, backlog)
        yield Finding(
            ID, backlog.target, "medium" if cost.amount is None else "high",
            f"state is {seen.value if seen else 'Disabled'}", seen.where if seen else "",
            cost,
            choose(
                facts.origin(backlog.mapping),
                (update_mapping(backlog.uuid, "--enabled"),),
                (update_mapping(backlog.uuid, "--no-enabled"),),
                ("enabled = true",),
                ("enabled = false",),
            ),
            note="Give it a cap first: enabled, it drains all that has piled up, as fast as it can.",
        )  # fmt: skip


RULE = Rule(
    ID,
    "A mapping that is disabled",
    "The queue fills up and nothing fails, so no alarm on errors tells anyone that the backlog never drains.",
    "AWS Lambda API Reference, EventSourceMappingConfiguration, State",
    _find,
)
