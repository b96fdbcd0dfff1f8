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
from afterload.model.trigger_fluid import BoolArray, Cells, TriggerKind, solve

__all__ = ["Trigger", "trigger_map"]


@dataclass(frozen=True)
class Trigger:
    """What pushes the service over, from second 0 on.

    Attributes:
        length_s: how long it lasts, 0 or more.
        depth: of a capacity cut, the share lost, 0 to 1; of a load spike, the load added as a share of the load.
        kind: "capacity cut" or "load spike".

    Raises:
        ModelError: a value out of its range.

    Source: OSDI 2022: triggers are load spikes or capacity decreases.
    """

    length_s: float
    depth: float = 1.0
    kind: TriggerKind = "capacity cut"

    def __post_init__(self) -> None:
        number("length_s", self.length_s)
        if self.kind not in ("capacity cut", "load spike"):
            raise ModelError(f"kind is {self.kind!r}; give 'capacity cut' or 'load spike'")
        number("depth", self.depth, most=1.0 if self.kind == "capacity cut" else None)


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
        kind: "capacity cut" or "load spike"; see :class:`Trigger`.
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
