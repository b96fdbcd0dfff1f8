"""What consumers sustain from the restore on, where that changes: on a ramp, and on a ramp below a cap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from afterload.model.curves import FloatArray
from afterload.model.fluid import Steps

__all__ = ["SAME_SHARE", "Consumers"]

# Rates that differ by less than this share are one: the coupled recovery goes in steps.
SAME_SHARE = 1e-4


@dataclass(frozen=True, eq=False)
class Consumers:
    """A service rate that is constant from each start to the next.

    Attributes:
        starts_min: minutes after the restore, rising from 0, shape (steps,).
        rates_per_min: items a minute from there on, shape (steps,).
        served_by_start: items that could be served until each start, shape (steps,).
    """

    starts_min: FloatArray
    rates_per_min: FloatArray
    served_by_start: FloatArray

    @classmethod
    def of(cls, capacity: Steps) -> Consumers:
        """Those of a capacity whose first start is the restore, minute 0."""
        starts, rates = capacity.starts, capacity.rates
        return cls(starts, rates, np.concatenate(([0.0], np.cumsum(rates[:-1] * np.diff(starts)))))

    def rate_at(self, minutes: float) -> float:
        """Items a minute at so many minutes after the restore."""
        return float(self.rates_per_min[self._place(minutes)])

    def rises_after(self, minutes: float) -> bool:
        """Whether the rate is still to rise."""
        return self.rate_at(minutes) < float(self.rates_per_min[-1]) * (1 - SAME_SHARE)

    def changes_after(self, minutes: float) -> bool:
        """Whether the rate is still to change."""
        return self._place(minutes) < len(self.rates_per_min) - 1

    def served(self, start: float, end: float) -> float:
        """Items that can be served between two times."""
        return self._until(end) - self._until(start)

    def _place(self, minutes: float) -> int:
        return max(0, int(np.searchsorted(self.starts_min, minutes, side="right")) - 1)

    def _until(self, minutes: float) -> float:
        place = self._place(minutes)
        gone = max(0.0, minutes - float(self.starts_min[place]))
        return float(self.served_by_start[place]) + gone * float(self.rates_per_min[place])
