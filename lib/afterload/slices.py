"""Long work in slices: a generator that yields where others may go first, or it may be given up, and returns what it found."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

__all__ = ["Slices", "finished"]

Found = TypeVar("Found")
Slices = Generator[None, None, Found]


def finished(slices: Slices[Found]) -> Found:
    """Do all of a work at once, and give what it found."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
