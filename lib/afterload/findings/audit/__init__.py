"""The audit: a team's recovery settings against a catalogue of rules, each finding with the number that it costs here."""

from afterload.findings.audit.build import Audit, build_audit
from afterload.findings.audit.finding import SEVERITIES, UNITS, Cost, Finding, Gap, Rule
from afterload.findings.audit.inventory import inventory_of

__all__ = ["SEVERITIES", "UNITS", "Audit", "Cost", "Finding", "Gap", "Rule", "build_audit", "inventory_of"]
