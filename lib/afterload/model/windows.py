"""Impact windows split at the moment when the dependency came back."""

from __future__ import annotations

from afterload.errors import ModelError
from afterload.model.checks import number

__all__ = ["split"]


def split(start_min: float, end_min: float, split_min: float) -> tuple[float, float]:
    """Minutes of one impact window before and after the restore.

    Parameters:
        start_min, end_min: the window, in minutes on any common clock.
        split_min: the restore on the same clock; it may lie outside the window.

    Returns:
        ``(before, after)`` in minutes; they add up to the length of the window.

    Raises:
        ModelError: a value is not finite, or the window ends before it starts.

    Source: planning guide: before = max(0, min(end, split) - start), after = max(0, end - max(start, split)).
    """
    start = number("start_min", start_min, least=None)
    end = number("end_min", end_min, least=None)
    at = number("split_min", split_min, least=None)
    if end < start:
        raise ModelError(f"the window ends at {end:g} min, before its start at {start:g} min; check the two times")
    return max(0.0, min(end, at) - start), max(0.0, end - max(start, at))
