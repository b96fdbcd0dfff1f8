"""Checks of numbers shared by the models: each error names the field, the value seen and what would be right."""

from __future__ import annotations

import math
from numbers import Real

from afterload.errors import ModelError

__all__ = ["number", "whole"]


def number(
    name: str,
    value: object,
    *,
    least: float | None = 0.0,
    above: float | None = None,
    most: float | None = None,
    below: float | None = None,
) -> float:
    """Return ``value`` as a finite float within its bounds.

    Parameters:
        name: the field, as the message shall call it.
        value: what was given.
        least, most: inclusive bounds; ``None`` for no bound.
        above, below: exclusive bounds; ``above`` replaces ``least``.

    Raises:
        ModelError: not a number, NaN, infinite or out of bounds.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ModelError(f"{name} is {value!r}; give a number")
    seen = float(value)
    if not math.isfinite(seen):
        raise ModelError(f"{name} is {seen}; give a finite number")
    if above is not None:
        if seen <= above:
            raise ModelError(f"{name} is {seen:g}; it must be more than {above:g}")
    elif least is not None and seen < least:
        raise ModelError(f"{name} is {seen:g}; it must be at least {least:g}")
    if most is not None and seen > most:
        raise ModelError(f"{name} is {seen:g}; it must be at most {most:g}")
    if below is not None and seen >= below:
        raise ModelError(f"{name} is {seen:g}; it must be less than {below:g}")
    return seen


def whole(name: str, value: object, *, least: int = 1) -> int:
    """Return ``value`` as an ``int`` of at least ``least``; 3.0 counts as 3.

    Raises:
        ModelError: not a whole number, or too small.
    """
    seen = number(name, value, least=None)
    if seen != int(seen):
        raise ModelError(f"{name} is {seen:g}; give a whole number")
    if seen < least:
        raise ModelError(f"{name} is {int(seen)}; it must be at least {least}")
    return int(seen)
