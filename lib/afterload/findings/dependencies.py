"""Where the load of the recovery stands against what is left of each dependency while it fails."""

from __future__ import annotations

from dataclasses import dataclass

from afterload.model.overload import LoadClass, classify, hidden_capacity
from afterload.recovery.build import Coupling
from afterload.recovery.rates import consumers_rate, mean_attempts

__all__ = ["DependencyStanding", "dependency_standings"]

# Attempts that differ by less than this share are the same number.
SAME_SHARE = 1e-9


@dataclass(frozen=True)
class DependencyStanding:
    """One dependency with all drains at full speed, and with direct traffic alone. Rates a minute.

    Attributes:
        attempts: attempts of one request while it fails, the mean over direct traffic and drains at their rates.
        direct_attempts: attempts of one request of direct traffic while it fails.
    """

    name: str
    capacity: float
    attempts: float
    direct_attempts: float
    direct: float
    drains: float
    timeout_s: float

    @property
    def load(self) -> float:
        """Requests that the recovery brings, direct traffic and drains."""
        return self.direct + self.drains

    @property
    def hidden(self) -> float:
        """Hidden capacity of the mix: the highest load of these callers, in these parts, at which it heals by itself."""
        return hidden_capacity(self.capacity, self.mean_attempts)

    @property
    def mean_attempts(self) -> float:
        """Attempts of one request while it fails, weighted over its callers."""
        return max(1.0, self.attempts)

    @property
    def kind(self) -> LoadClass:
        """Class of the load of the recovery."""
        return classify(self.load, self.capacity, self.mean_attempts)

    @property
    def direct_hidden(self) -> float:
        """Hidden capacity of direct traffic alone, by its own attempts."""
        return hidden_capacity(self.capacity, self.direct_attempts)

    @property
    def direct_kind(self) -> LoadClass:
        """Class of direct traffic alone, while every drain is held."""
        return classify(self.direct, self.capacity, self.direct_attempts)

    @property
    def is_mixed(self) -> bool:
        """Whether direct traffic and drains both call it, and differ in the attempts that a request costs."""
        differ = abs(self.direct_attempts - self.mean_attempts) > SAME_SHARE * self.mean_attempts
        return self.direct > 0 and self.drains > 0 and differ

    @property
    def caller_attempts(self) -> float:
        """Attempts of one request of one kind of caller: of direct traffic, or of drains where there is nothing else."""
        return self.direct_attempts if self.direct > 0 else self.mean_attempts


def dependency_standings(coupling: Coupling | None) -> tuple[DependencyStanding, ...]:
    """Every dependency of a coupled scenario, in its order; none where nothing is coupled."""
    if coupling is None:
        return ()
    found, scenario = [], coupling.loaded.scenario
    for place, name in enumerate(coupling.dependencies):
        item = coupling.system.dependencies[place]
        direct = item.control_per_min + item.fresh_per_min
        drains = sum(queue.calls_of(name) * consumers_rate(queue) for queue in scenario.queues.values())
        mean, timeout = mean_attempts(scenario, name), scenario.dependencies[name].timeout_s
        found.append(
            DependencyStanding(name, item.capacity_per_min, mean, item.attempts_failing, direct, drains, timeout)
        )
    return tuple(found)
