"""The results of one scenario on which several parts of a packet rest, each computed once."""

from __future__ import annotations

from functools import cached_property

from afterload.estimates import Estimates, estimate
from afterload.findings.telemetry import Measured, measure
from afterload.plan import Plan, build_plan
from afterload.plan.runbook import Runbook, build_runbook
from afterload.recovery.build import Coupling, couple
from afterload.recovery.result import CoupledEstimate, estimate_recovery
from afterload.scenario import LoadedScenario

__all__ = ["Results", "results_of"]


class Results:
    """What a scenario comes to; a result is computed when it is first asked for."""

    def __init__(self, loaded: LoadedScenario) -> None:
        self.loaded = loaded
        _known[:] = [self]

    @cached_property
    def estimates(self) -> Estimates:
        """Each queue, call stack and fleet by itself."""
        return estimate(self.loaded)

    @cached_property
    def plan(self) -> Plan:
        """The change plan."""
        return build_plan(self.estimates)

    @cached_property
    def coupling(self) -> Coupling | None:
        """The scenario as one coupled system."""
        return couple(self.loaded)

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


def results_of(loaded: LoadedScenario) -> Results:
    """The results made last in this process if they are of this very scenario, with what is computed already; else new ones."""
    if _known and _same(_known[0].loaded, loaded):
        return _known[0]
    return Results(loaded)


# The chapters of a packet make them, and the files beside it are made of them.
_known: list[Results] = []


def _same(one: LoadedScenario, other: LoadedScenario) -> bool:
    """Whether two were read from the same files with the same content, and had the same values set in the same words."""
    return all(
        getattr(one, name) == getattr(other, name)
        for name in ("name", "folder", "digest", "files", "overrides", "overridden")
    )
