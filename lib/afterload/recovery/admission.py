"""The guide's admission of load: caps of each step, lifts, holds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from afterload.model.coupled import (
    Admission,
    cap_rate,
)
from afterload.recovery.rates import cap_steps, consumers_rate, part_of_room
from afterload.scenario import LoadedScenario

__all__ = ["StepCap", "admission_of", "floor_rate", "step_caps"]


@dataclass(frozen=True)
class StepCap:
    """The cap of one queue in steps 4 and 5. Items a minute.

    Attributes:
        room_per_min: the queue's part of the room; infinite without a dependency.
        rate_per_min: what the consumers do under the cap: the highest that can be set and fits that room.
        most_per_min: what they do without a cap.
    """

    room_per_min: float
    rate_per_min: float
    most_per_min: float

    @property
    def binds(self) -> bool:
        """True if the cap is below what the consumers can do."""
        return self.rate_per_min < self.most_per_min * (1 - 1e-9)


def step_caps(loaded: LoadedScenario) -> dict[str, StepCap]:
    """By queue: the cap of steps 4 and 5, as the simulation has it."""
    found = {}
    for name, queue in loaded.scenario.queues.items():
        most, part = consumers_rate(queue), part_of_room(loaded.scenario, name)
        rate = most if math.isinf(part) else cap_rate(part, most, cap_steps(queue))
        found[name] = StepCap(part, rate, most)
    return found


def floor_rate(loaded: LoadedScenario, name: str) -> float:
    """Items a minute that the consumers of a queue keep in steps 1 to 3: a share of their rate, and within the room."""
    rate = loaded.scenario.admission.floor_share * consumers_rate(loaded.scenario.queues[name])
    return min(rate, part_of_room(loaded.scenario, name))


def _lifts(loaded: LoadedScenario) -> int:
    """How many lifts step 6 takes: those of the scenario, and no more than there are caps that differ by a whole step.

    The last one puts back the limits from before, so it is one even where that is less than a whole step more. Where no cap
    binds there is nothing to lift in steps: one lift does.
    """
    needed = 1
    for name, cap in step_caps(loaded).items():
        if not cap.binds:
            continue
        steps = cap_steps(loaded.scenario.queues[name])
        if steps is None:
            return loaded.scenario.admission.lifts
        low = max(round(cap.rate_per_min / steps.each_per_min), steps.least - 1)
        high = min(math.ceil(cap.most_per_min / steps.each_per_min - 1e-9), steps.highest + 1)
        needed = max(needed, int(high - low))
    return min(loaded.scenario.admission.lifts, needed)


def admission_of(loaded: LoadedScenario) -> Admission:
    """The admission plan of a scenario as the coupled model takes it."""
    plan = loaded.scenario.admission
    holds = plan.holds_min
    return Admission(
        floor_share=plan.floor_share,
        drain_share=plan.drain_share,
        replay_share=plan.replay_share,
        lifts=_lifts(loaded),
        hold_min=(holds[0], holds[1], holds[2], holds[3], holds[4], holds[5], holds[6]),
    )
