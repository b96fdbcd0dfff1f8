"""Sliders, group by group: each moves the results at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets as widgets

from afterload.forms.state.form import FormState
from afterload.forms.state.sliders import Slider

__all__ = ["SlidersView"]


class _Row:
    def __init__(self, slider: Slider, moved: Callable[[Slider, float], None]) -> None:
        self.slider = slider
        self._moved = moved
        self._is_following = False
        kind = widgets.IntSlider if slider.is_whole else widgets.FloatSlider
        as_it_is = int if slider.is_whole else float
        self.control = kind(
            value=as_it_is(slider.value), min=as_it_is(slider.low), max=as_it_is(slider.high), step=as_it_is(slider.step),
            description=slider.titled(slider.value), readout_format=",d" if slider.is_whole else ",.4~g",
            continuous_update=True, style={"description_width": "initial"},
        )  # fmt: skip
        self.control.add_class("af-slider")
        self.control.observe(self._changed, names="value")

    def _changed(self, change: dict[str, Any]) -> None:
        if not self._is_following:
            self.control.description = self.slider.titled(change["new"])
            self._moved(self.slider, change["new"])

    def follow(self, slider: Slider) -> None:
        """Stand where the scenario stands."""
        self.slider = slider
        self._is_following = True
        if slider.high > self.control.max:
            self.control.max = slider.high
        if slider.low < self.control.min:
            self.control.min = slider.low
        if self.control.value != slider.value:
            self.control.value = type(self.control.value)(slider.value)
        self.control.description = slider.titled(slider.value)
        self._is_following = False


class SlidersView:
    """The sliders of one group at a time."""

    def __init__(self, form: FormState, group: str) -> None:
        self.form = form
        self.group = group
        self.rows: dict[str, _Row] = {}
        self.box = widgets.VBox()
        self.follow()

    def choose(self, group: str) -> None:
        """Show the sliders of a group."""
        self.group = group
        self._show()

    def follow(self) -> None:
        """Stand where the scenario stands; while a hand moves one, the others wait."""
        if self.form.is_dragging:
            return
        sliders = self.form.sliders()
        if [(item.key, item.label) for item in sliders] != [(key, row.slider.label) for key, row in self.rows.items()]:
            self.rows = {slider.key: _Row(slider, self.form.drag) for slider in sliders}
            self._show()
            return
        for slider in sliders:
            self.rows[slider.key].follow(slider)

    def _show(self) -> None:
        shown = [row.control for row in self.rows.values() if row.slider.group == self.group]
        self.box.children = shown or [
            widgets.HTML('<p class="af-soft">Nothing here yet: add such a part in the form.</p>')
        ]
