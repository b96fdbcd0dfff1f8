"""Sliders, group by group: each moves the results at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets as widgets

from afterload.forms.state.form import FormState
from afterload.forms.state.scale import Scale
from afterload.forms.state.sliders import Slider

__all__ = ["SlidersView"]


class _Row:
    """A slider whose handle counts places, since a front end moves a value that is between two steps to one of them."""

    def __init__(self, slider: Slider, moved: Callable[[Slider, float], None]) -> None:
        self._moved = moved
        self._is_following = False
        self._is_moved = False
        self.control: Any = None
        self._make(Scale.of(slider))

    @property
    def slider(self) -> Slider:
        """The slider where it stands."""
        return self.scale.slider

    def _make(self, scale: Scale) -> None:
        self.scale = scale
        # A new control, so that no place on its way from the front end counts on another scale.
        self.control = widgets.IntSlider(
            value=scale.place, min=0, max=scale.last, description=self.slider.titled(self.slider.value),
            readout=False, continuous_update=True, style={"description_width": "initial"},
        )  # fmt: skip
        self.control.add_class("af-slider")
        self.control.observe(self._changed, names="value")

    def _changed(self, change: dict[str, Any]) -> None:
        if self._is_following or change["owner"] is not self.control:
            return
        number = self.scale.positions[change["new"]]
        self._is_moved = True
        self.control.description = self.slider.titled(number)
        self._moved(self.slider, number)

    def follow(self, slider: Slider) -> bool:
        """Stand where the scenario stands; True where that takes another control."""
        scale = self.scale.followed(slider, self._is_moved)
        self._is_moved = False
        if scale is None:
            self._make(Scale.of(slider))
            return True
        self.scale = scale
        self._is_following = True
        self.control.max = scale.last
        self.control.value = scale.place
        self.control.description = self.slider.titled(self.slider.value)
        self._is_following = False
        return False


class SlidersView:
    """The sliders of one group at a time."""

    def __init__(self, form: FormState, group: str) -> None:
        self.form = form
        self.group = group
        self.rows: dict[str, _Row] = {}
        self._is_held = False
        self.box = widgets.VBox()
        self.follow()

    def choose(self, group: str) -> None:
        """Show the sliders of a group."""
        self.group = group
        self._show()

    def hold(self, is_held: bool) -> None:
        """A pointer holds a handle: a scale that grew would put it elsewhere under the pointer, so all follow when it lets go."""
        self._is_held = is_held
        self.follow()

    def follow(self) -> None:
        """Stand where the scenario stands; while a hand moves one or holds its handle, all wait."""
        if self.form.is_dragging or self._is_held:
            return
        sliders = self.form.sliders()
        if [(item.key, item.label) for item in sliders] != [(key, row.slider.label) for key, row in self.rows.items()]:
            self.rows = {slider.key: _Row(slider, self.form.drag) for slider in sliders}
            self._show()
            return
        others = [slider for slider in sliders if self.rows[slider.key].follow(slider)]
        if others:
            self._show()

    def _show(self) -> None:
        shown = [row.control for row in self.rows.values() if row.slider.group == self.group]
        self.box.children = shown or [
            widgets.HTML('<p class="af-soft">Nothing here yet: add such a part in the form.</p>')
        ]
