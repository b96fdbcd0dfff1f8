"""What a dependency gets in a recovery: direct traffic, control loops and drains, and the attempts when all of them fail."""

from __future__ import annotations

import math
from dataclasses import dataclass

from afterload.estimates import Estimates
from afterload.model.coupled import CoupledDependency
from afterload.recovery.rates import consumers_rate, queue_attempts
from afterload.units import format_number

__all__ = ["DependencyLoad", "recovery_loads"]


@dataclass(frozen=True)
class DependencyLoad:
    """One dependency at the restore, with every queue at its drain rate. Rates are requests or attempts a minute.

    Attributes:
        name, part: which dependency, and as the coupled model has it.
        direct: direct traffic just after the restore, with the cache as cold as it is then.
        drains: what consumers send while they drain, all queues together.
        drain_attempts: attempts of that while every attempt fails and quotas are empty.
        unknown: the first field whose number of attempts had to be assumed; empty text if none was.
    """

    name: str
    part: CoupledDependency
    direct: float
    drains: float
    drain_attempts: float
    unknown: str

    @property
    def capacity(self) -> float:
        """Attempts a minute above which it collapses."""
        return self.part.capacity_per_min

    @property
    def each(self) -> float:
        """Attempts of a direct request while it fails, in the long run: quotas, where there are any, are empty then."""
        sustained = self.part.sustained_attempts if math.isfinite(self.part.retry_tokens) else math.inf
        return min(self.part.attempts_failing, sustained)

    @property
    def requests(self) -> float:
        """Everything that asks for it, each request once."""
        return self.part.control_per_min + self.direct + self.drains

    @property
    def failing(self) -> float:
        """Attempts of that while every attempt fails: it heals from a collapse where this is within its capacity."""
        return self.each * (self.part.control_per_min + self.direct) + self.drain_attempts

    @property
    def hidden_capacity(self) -> float:
        """Requests a minute, mixed as they are, whose attempts would still fit in while all of them fail.

        Source: "Metastable Failures in the Wild", OSDI 2022: capacity divided by attempts a request.
        """
        return self.capacity if self.failing == 0 else self.capacity * self.requests / self.failing

    @property
    def each_text(self) -> str:
        """Attempts of a request of this mix, in words."""
        each = self.failing / self.requests if self.requests else 1.0
        return f"{format_number(each)} attempt{'' if abs(each - 1) < 5e-4 else 's'} a request"

    @property
    def stays_down(self) -> bool:
        """Whether a collapse keeps itself up at this load."""
        return self.failing > self.capacity * (1 + 1e-9)


def recovery_loads(estimates: Estimates) -> dict[str, DependencyLoad]:
    """The load of every dependency, by name; empty where the scenario has none."""
    if not estimates.loaded.scenario.dependencies:
        return {}
    coupling = estimates.coupling
    if coupling is None:
        return {}
    found = {}
    for place, name in enumerate(coupling.dependencies):
        part = coupling.system.dependencies[place]
        direct = part.fresh_per_min * (1 - part.hit_at_restore) / (1 - part.hit_at_rest)
        sustained = part.sustained_attempts if math.isfinite(part.retry_tokens) else math.inf
        drains = {
            key: queue.calls_of(name) * consumers_rate(queue) for key, queue in estimates.loaded.scenario.queues.items()
        }
        attempts = sum(
            min(queue_attempts(estimates.loaded.scenario, key), sustained) * rate
            for key, rate in drains.items()
            if rate > 0
        )
        found[name] = DependencyLoad(name, part, direct, sum(drains.values()), attempts, _unknown(estimates, name))
    return found


def _unknown(estimates: Estimates, name: str) -> str:
    scenario = estimates.loaded.scenario
    dependency = scenario.dependencies[name]
    has_client = any(client.dependency == name for client in scenario.clients.values())
    is_known = (
        dependency.attempts_while_failing is not None
        or has_client
        or any(stack.dependency == name for stack in scenario.call_stacks.values())
    )
    if not is_known and dependency.direct_rate_per_min + dependency.control_rate_per_min > 0:
        return f"dependencies.{name}.attempts_while_failing"
    for key, queue in scenario.queues.items():
        if queue.calls_of(name) and queue.attempts_while_failing is None and not has_client:
            return f"queues.{key}.attempts_while_failing"
    return ""
