"""Impact windows split at the moment when the dependency was restored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from afterload.model.windows import split
from afterload.scenario import ImpactWindow, LoadedScenario

__all__ = ["SplitWindow", "split_windows"]


@dataclass(frozen=True)
class SplitWindow:
    """Minutes of one impact window before and after the restore."""

    window: ImpactWindow
    before_min: float
    after_min: float

    @property
    def total_min(self) -> float:
        """Minutes of the whole window."""
        return self.before_min + self.after_min


def split_windows(loaded: LoadedScenario) -> tuple[SplitWindow, ...]:
    """Split every impact window of a scenario at its restore, in the order of the file.

    before = max(0, min(end, restore) - start); after = max(0, end - max(start, restore)).
    """
    restore = loaded.scenario.incident.restored_at

    def minutes(at: datetime) -> float:
        return (at - restore).total_seconds() / 60

    parts = ((window, split(minutes(window.start), minutes(window.end), 0.0)) for window in loaded.impacts)
    return tuple(SplitWindow(window, before, after) for window, (before, after) in parts)
