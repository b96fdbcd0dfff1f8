"""How each queue ends with everything acting on each other: what a change that judges by the age of work has to know.

A queue alone may drain while its dependency, pushed over its capacity, keeps it from draining: its work then outgrows every
retention and every key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from afterload.estimates import Estimates
from afterload.model.coupled import trace
from afterload.plan.worth import Edit, edited
from afterload.recovery.build import couple

__all__ = ["NO_END", "CoupledEnd", "Ends", "coupled_ends", "ends_of"]

# An oldest age that grows by less than this share in the second half of a course is one that has settled.
SETTLED_SHARE = 0.02


@dataclass(frozen=True)
class CoupledEnd:
    """One queue in the coupled recovery at the likely inputs, as the scenario starts.

    Attributes:
        drains: whether the backlog is gone at some time; False as well where that is beyond what is simulated.
        grows: it never drains, and its oldest work gets older as long as the recovery is followed.
        oldest_min: age in minutes of the oldest work in turn, at most, as far as the recovery is followed.
        lost, expired, dead_lettered: items from the trigger on: to retention, to an age limit, and to the dead-letter queue.
    """

    drains: bool
    grows: bool
    oldest_min: float
    lost: float
    expired: float
    dead_lettered: float


# A queue that is alone in what is simulated, or none at all.
NO_END = CoupledEnd(True, False, 0.0, 0.0, 0.0, 0.0)
Ends = Callable[[], Mapping[str, CoupledEnd]]


def ends_of(estimates: Estimates) -> Ends:
    """The ends of a scenario's queues, computed at the first call and kept."""
    return cache(lambda: coupled_ends(estimates))


def coupled_ends(estimates: Estimates, edit: Edit | None = None) -> dict[str, CoupledEnd]:
    """Every queue by name, with an edit of the scenario if one is given; empty where nothing is to couple."""
    coupling = couple(estimates.loaded if edit is None else edited(estimates.loaded, [edit]))
    if coupling is None or not coupling.queues:
        return {}
    course = trace(coupling.system)
    result, after = course.result, course.times_min >= 0
    found = {}
    for place, name in enumerate(coupling.queues):
        ages = course.first_attempt_age_min[:, place]
        early, late = np.array_split(ages[after], 2)
        drains = not np.isnan(result.drain_min[0, place])
        # What is dead-lettered as it fails does not get older than its deliveries last.
        dead = float(result.dead_lettered[0, place])
        grows = not drains and dead <= 0 and late.max(initial=0.0) > (1 + SETTLED_SHARE) * early.max(initial=0.0)
        found[name] = CoupledEnd(
            drains=drains,
            grows=bool(grows),
            oldest_min=float(ages.max(initial=0.0)),
            lost=float(result.lost_to_retention[0, place]),
            expired=float(result.expired[0, place]),
            dead_lettered=dead,
        )
    return found
