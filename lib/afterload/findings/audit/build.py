"""Find the rules of the catalogue and run them over one team's estimates and exports."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from functools import cache

from afterload.errors import ModelError
from afterload.estimates import Estimates
from afterload.findings.audit import rules
from afterload.findings.audit.exports import EXPORTS, unexported
from afterload.findings.audit.facts import Facts
from afterload.findings.audit.finding import SEVERITIES, Finding, Gap, Rule, Severity
from afterload.readers.reading import Inventory

__all__ = ["Audit", "build_audit", "catalogue"]


@dataclass(frozen=True)
class Audit:
    """The findings of one team.

    Attributes:
        findings: severity first, then cost, then name.
        gaps: checks that could not be made: whole kinds of settings first, then by rule and target.
        rules: the whole catalogue, by id.
        inventory: what was exported, with what its readers remarked.
    """

    findings: tuple[Finding, ...]
    gaps: tuple[Gap, ...]
    rules: tuple[Rule, ...]
    inventory: Inventory

    def rule(self, item: Finding) -> Rule:
        """The catalogue entry of a finding."""
        return next(rule for rule in self.rules if rule.id == item.rule)

    def check(self, gap: Gap) -> str:
        """What a gap is about: the title of its rule, or that a whole kind of settings is not exported."""
        return next((rule.title for rule in self.rules if rule.id == gap.rule), "Settings that no export shows")

    @property
    def counts(self) -> dict[Severity, int]:
        """Findings of each severity, in order."""
        return {name: sum(item.severity == name for item in self.findings) for name in SEVERITIES}


@cache
def catalogue() -> tuple[Rule, ...]:
    """Every rule: one module of :mod:`afterload.findings.audit.rules` each, by id."""
    names = sorted(module.name for module in pkgutil.iter_modules(rules.__path__))
    found = [importlib.import_module(f"{rules.__name__}.{name}").RULE for name in names]
    ids = [rule.id for rule in found]
    if len(set(ids)) != len(ids):
        raise ModelError(f"two rules of the audit share an id: {sorted(ids)}")
    return tuple(sorted(found, key=lambda rule: rule.id))


def build_audit(estimates: Estimates, inventory: Inventory) -> Audit:
    """Run every rule. Neither the order of the inputs nor their names decide which findings there are."""
    facts = Facts(estimates, inventory)
    found = [item for rule in catalogue() for item in rule.find(facts)]
    findings = sorted((item for item in found if isinstance(item, Finding)), key=lambda item: item.place)
    missing = dict.fromkeys((*unexported(facts), *(item for item in found if isinstance(item, Gap))))
    gaps = sorted(missing, key=lambda item: (item.rule != EXPORTS, item.rule, item.target, item.missing))
    return Audit(tuple(findings), tuple(gaps), catalogue(), inventory)
