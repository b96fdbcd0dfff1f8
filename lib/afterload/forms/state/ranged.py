"""Ranges of uncertainty under a hand that moves their values: one that the value leaves is of the value before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from afterload.errors import UnitError
from afterload.forms.state.sliders import Slider
from afterload.scenario.problems import dotted
from afterload.units import read_duration_min, read_rate_per_min
from afterload.yamledit import YamlText
from afterload.yamltree import DataPath, value_at

__all__ = ["mark_ranges", "range_of"]


def range_of(slider: Slider) -> str:
    """The path that a range of a slider's value has under ``uncertain``."""
    return "incident.outage" if slider.kind == "end" else dotted(slider.path)


def mark_ranges(edit: YamlText, moved: Iterable[tuple[Slider, float, Any]], marked: set[str]) -> None:
    """Before values of sliders are written: say in the range of each that leaves it which value it is ``of``.

    So it is outdated, as an import's range is whose value was changed, and no error. A value that comes back to a range that was
    marked so, which ``marked`` remembers by path, has its range again. ``moved`` has each slider as it stood, where it stands
    now, and where its value stands in the file (None where it does not).
    """
    for slider, number, before in moved:
        name = range_of(slider)
        path: DataPath = ("uncertain", name)
        item = edit.get(path)
        read = read_rate_per_min if slider.kind == "rate" else read_duration_min
        try:
            low, high = (read(value_at(item, (end,))) for end in ("low", "high"))
        except UnitError:
            continue
        _, value = slider.written(number)
        is_within = value is not None and low <= number <= high
        if is_within and name in marked and value_at(item, ("of",)) is not None:
            edit.remove((*path, "of"))
            marked.discard(name)
        elif not is_within and value_at(item, ("of",)) is None:
            edit.set((*path, "of"), _of(slider, before))
            marked.add(name)


def _of(slider: Slider, before: Any) -> str:
    """The value that a range is of, as the file writes it where that is text with a unit."""
    if slider.kind == "end":
        return f"{slider.value:.10g} min"
    return before if isinstance(before, str) and before != "none" else str(slider.written(slider.value)[1])
