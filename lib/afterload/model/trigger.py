"""Size of a trigger against load: where a service with retrying clients heals itself, where it stays down, and the line between.

Every cell of a map is solved by the fluid of ``trigger_fluid``, at two steps, so that a verdict that hangs on the step shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from afterload.errors import ModelError
from afterload.model.checks import number, whole
from afterload.model.curves import FloatArray
from afterload.model.overload import RetryingService
from afterload.model.overload_events import Trigger, TriggerKind
from afterload.model.trigger_fluid import BoolArray, Cells, solve

__all__ = ["BoundaryPoint", "CapacityFit", "Observation", "TriggerMap", "boundary", "fit_capacity", "trigger_map"]


@dataclass(frozen=True, eq=False)
class TriggerMap:
    """Verdict and time to recover of each pair of a trigger and a load.

    Attributes:
        kind: "capacity cut" or "load spike".
        sizes: the trigger's lengths in seconds, or its depths, shape (sizes,).
        size_is: "length_s" or "depth": which of the two ``sizes`` holds.
        loads_per_s: shape (loads,).
        heals: whether a cell heals itself, shape (sizes, loads). False where it stays down or is not decided.
        is_uncertain: the verdict changes or is missing when the step is halved, or the load is within 2 % of the
            hidden or of the advertised capacity; shape (sizes, loads).
        step_share: the finer of the two steps, as a share of the timeout.
    """

    kind: TriggerKind
    size_is: str
    sizes: FloatArray
    loads_per_s: FloatArray
    heals: BoolArray
    is_uncertain: BoolArray
    step_share: float
    _recovery_s: FloatArray

    def recovery_s(self, size: int, load: int) -> float | None:
        """Seconds from the trigger's end to the last send that times out, of one cell; ``None`` if it never heals."""
        return float(self._recovery_s[size, load]) if bool(self.heals[size, load]) else None

    def verdict(self, size: int, load: int) -> str:
        """One cell in words: "heals itself" or "stays down"."""
        return "heals itself" if bool(self.heals[size, load]) else "stays down"

    @property
    def recoveries_s(self) -> tuple[tuple[float | None, ...], ...]:
        """All times to recover, rows by size; ``None`` for never."""
        columns = range(len(self.loads_per_s))
        return tuple(tuple(self.recovery_s(size, load) for load in columns) for size in range(len(self.sizes)))


def trigger_map(
    service: RetryingService,
    loads_per_s: Sequence[float],
    *,
    lengths_s: Sequence[float] | None = None,
    depths: Sequence[float] | None = None,
    length_s: float = 10.0,
    depth: float = 1.0,
    kind: TriggerKind = "capacity cut",
    steps_per_timeout: int = 20,
) -> TriggerMap:
    """Map of trigger size against load.

    Parameters:
        service: capacity, timeout and retries.
        loads_per_s: loads before, during and after the trigger, shape (loads,), above 0.
        lengths_s: lengths of the trigger to try, shape (sizes,); or
        depths: depths to try, shape (sizes,). Give exactly one of the two.
        length_s, depth: what the other one is held at.
        kind: "capacity cut" or "load spike"; see :class:`~afterload.model.overload_events.Trigger`.
        steps_per_timeout: steps of the coarse run; the answer comes from a run with twice as many.

    Raises:
        ModelError: a value out of its range, nothing to try, or both or neither of lengths and depths.

    Source: "Metastable Failures in the Wild", OSDI 2022: the size of the trigger and the load decide.
    """
    if (lengths_s is None) == (depths is None):
        raise ModelError("give either lengths_s or depths of the trigger, and hold the other one")
    loads = [number(f"loads_per_s[{i}]", load, above=0.0) for i, load in enumerate(loads_per_s)]
    if lengths_s is not None:
        size_is, triggers = "length_s", [Trigger(length, depth, kind) for length in lengths_s]
        sizes = [trigger.length_s for trigger in triggers]
    else:
        size_is, triggers = "depth", [Trigger(length_s, each, kind) for each in (() if depths is None else depths)]
        sizes = [trigger.depth for trigger in triggers]
    if not loads or not sizes:
        raise ModelError("loads_per_s or the sizes of the trigger are empty; give at least one of each")
    cells = Cells.of(
        np.full(len(sizes) * len(loads), service.capacity_per_s),
        np.tile(loads, len(sizes)),
        np.repeat([trigger.length_s for trigger in triggers], len(loads)),
        np.repeat([trigger.depth for trigger in triggers], len(loads)),
        kind,
    )
    steps = whole("steps_per_timeout", steps_per_timeout, least=4)
    coarse, fine = solve(cells, service, steps), solve(cells, service, 2 * steps)
    shape = (len(sizes), len(loads))
    near = np.array([service.is_near_boundary(load) for load in loads])
    return TriggerMap(
        kind=kind,
        size_is=size_is,
        sizes=np.array(sizes, dtype=np.float64),
        loads_per_s=np.array(loads, dtype=np.float64),
        heals=fine.heals.reshape(shape),
        is_uncertain=(~fine.is_decided | (coarse.heals != fine.heals)).reshape(shape) | near[None, :],
        step_share=0.5 / steps,
        _recovery_s=np.where(fine.heals, fine.last_s, 0.0).reshape(shape),
    )


@dataclass(frozen=True)
class BoundaryPoint:
    """The line between healing and staying down at one load.

    Attributes:
        load_per_s: the load.
        heals_at: the largest size tried that heals; ``None`` if even the smallest stays down.
        stays_down_at: the smallest size tried that stays down; ``None`` if even the largest heals.
        is_uncertain: the load is within 2 % of the hidden or of the advertised capacity.
    """

    load_per_s: float
    heals_at: float | None
    stays_down_at: float | None
    is_uncertain: bool


def boundary(
    service: RetryingService,
    loads_per_s: Sequence[float],
    *,
    longest_s: float | None = None,
    length_s: float = 10.0,
    depth: float = 1.0,
    kind: TriggerKind = "capacity cut",
    deepest: float = 1.0,
    tolerance_share: float = 1e-3,
    steps_per_timeout: int = 40,
) -> tuple[BoundaryPoint, ...]:
    """For each load the size of trigger at which the verdict changes, by bisection at all loads at once.

    Parameters:
        loads_per_s: shape (loads,), above 0.
        longest_s: bisect the length between 0 and this, with ``depth`` held; or, when ``None``,
            bisect the depth between 0 and ``deepest``, with ``length_s`` held.
        tolerance_share: width of the answer as a share of the longest or deepest.
        steps_per_timeout: steps of the fluid.

    Raises:
        ModelError: a value out of its range.

    Source: docs/model.md section 3: the boundary is what a team compares with its own test.
    """
    loads = np.array([number(f"loads_per_s[{i}]", load, above=0.0) for i, load in enumerate(loads_per_s)])
    if not len(loads):
        raise ModelError("loads_per_s is empty; give at least one load")
    by_length = longest_s is not None
    most = number("longest_s", longest_s, above=0.0) if by_length else number("deepest", deepest, above=0.0)
    within = most * number("tolerance_share", tolerance_share, above=0.0, below=1.0)
    steps = whole("steps_per_timeout", steps_per_timeout, least=4)
    Trigger(most if by_length else length_s, depth if by_length else most, kind)

    def heals_at(sizes: FloatArray) -> BoolArray:
        lengths = sizes if by_length else np.full(len(loads), length_s)
        held = np.full(len(loads), depth) if by_length else sizes
        return solve(
            Cells.of(np.full(len(loads), service.capacity_per_s), loads, lengths, held, kind), service, steps
        ).heals

    low, high = np.zeros(len(loads)), np.full(len(loads), most)
    low_heals, high_heals = heals_at(low), heals_at(high)
    while float(np.max(high - low)) > within:
        middle = (low + high) / 2.0
        is_healed = heals_at(middle)
        low, high = np.where(is_healed, middle, low), np.where(is_healed, high, middle)
    points = []
    for place, load in enumerate(loads.tolist()):
        heals: float | None
        stays: float | None
        if bool(high_heals[place]):
            heals, stays = most, None
        else:
            heals = float(low[place]) if bool(low_heals[place]) else None
            stays = float(high[place]) if heals is not None else 0.0
        points.append(BoundaryPoint(load, heals, stays, service.is_near_boundary(load)))
    return tuple(points)


@dataclass(frozen=True)
class Observation:
    """One trigger that was tried on a real service, and what became of it.

    Attributes:
        load_per_s: load before, during and after it, above 0.
        trigger: what was done.
        heals: whether the service healed by itself.
    """

    load_per_s: float
    trigger: Trigger
    heals: bool


@dataclass(frozen=True)
class CapacityFit:
    """Capacities that agree with every observation.

    Attributes:
        capacity_per_s: the middle of the interval.
        low_per_s, high_per_s: both agree; the ends of the widest interval found, to the grid's distance.
        tried: capacities tried.
    """

    capacity_per_s: float
    low_per_s: float
    high_per_s: float
    tried: int


def fit_capacity(
    observations: Sequence[Observation],
    *,
    low_per_s: float,
    high_per_s: float,
    timeout_s: float,
    retries: int,
    tried: int = 401,
    steps_per_timeout: int = 40,
) -> CapacityFit | None:
    """The capacities for which the fluid gives the verdict of every observation.

    Parameters:
        observations: all of one kind of trigger.
        low_per_s, high_per_s: where to look, above 0.
        timeout_s, retries: of the clients.
        tried: capacities tried, at equal distances.
        steps_per_timeout: steps of the fluid.

    Returns:
        ``None`` where no capacity tried agrees with all.

    Raises:
        ModelError: a value out of its range, no observation, or observations of two kinds.

    Source: OSDI 2022, replicated store, whose capacity is not published.
    """
    if not observations or len({seen.trigger.kind for seen in observations}) != 1:
        raise ModelError("observations must be at least one, all of one kind of trigger")
    low = number("low_per_s", low_per_s, above=0.0)
    candidates = np.linspace(low, number("high_per_s", high_per_s, above=low), whole("tried", tried, least=2))
    count = len(candidates)
    cells = Cells.of(
        np.tile(candidates, len(observations)),
        np.repeat([number("load_per_s", seen.load_per_s, above=0.0) for seen in observations], count),
        np.repeat([seen.trigger.length_s for seen in observations], count),
        np.repeat([seen.trigger.depth for seen in observations], count),
        observations[0].trigger.kind,
    )
    service = RetryingService(low, timeout_s, retries)
    solved = solve(cells, service, whole("steps_per_timeout", steps_per_timeout, least=4))
    expected = np.repeat([seen.heals for seen in observations], count)
    agrees = np.all((solved.is_decided & (solved.heals == expected)).reshape(-1, count), axis=0)
    if not bool(np.any(agrees)):
        return None
    edges = np.flatnonzero(np.diff(np.concatenate(([False], agrees, [False])).astype(np.int8)))
    starts, ends = edges[::2], edges[1::2] - 1
    widest = int(np.argmax(ends - starts))
    first, last = float(candidates[starts[widest]]), float(candidates[ends[widest]])
    return CapacityFit((first + last) / 2.0, first, last, count)
