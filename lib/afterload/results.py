"""The results of one scenario on which several parts of a packet rest, each computed once."""

from __future__ import annotations

from functools import cached_property

from afterload.estimates import Estimates, estimate
from afterload.findings.telemetry import Measured, measure
from afterload.plan import Plan, build_plan
from afterload.plan.runbook import Runbook, build_runbook
from afterload.recovery.build import Coupling
from afterload.recovery.result import CoupledEstimate, estimate_recovery
from afterload.scenario import LoadedScenario

__all__ = ["Results"]


class Results:
    """What a scenario comes to; a result is computed when it is first asked for."""

    def __init__(self, loaded: LoadedScenario) -> None:
        self.loaded = loaded

    def is_of(self, other: LoadedScenario) -> bool:
        """Whether they are of a scenario read from the same files with the same content, with the same values set."""
        names = ("name", "folder", "digest", "files", "overrides", "overridden")
        return all(getattr(self.loaded, name) == getattr(other, name) for name in names)

    @cached_property
    def estimates(self) -> Estimates:
        """Each queue, call stack and fleet."""
        return estimate(self.loaded)

    @cached_property
    def plan(self) -> Plan:
        """The change plan."""
        return build_plan(self.estimates)

    @cached_property
    def coupling(self) -> Coupling | None:
        """The scenario as one coupled system."""
        return self.estimates.coupling

    @cached_property
    def recovery(self) -> CoupledEstimate | None:
        """The coupled recovery."""
        return None if self.coupling is None else estimate_recovery(self.coupling)

    @cached_property
    def measurements(self) -> Measured:
        """What the team's telemetry shows."""
        return measure(self.loaded)

    @cached_property
    def runbook_steps(self) -> Runbook:
        """The recovery runbook."""
        return build_runbook(self.estimates, self.recovery, self.measurements)
