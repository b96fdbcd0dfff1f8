"""Something that opens and closes by one button, which the keyboard reaches as every button."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets

__all__ = ["Fold"]


class Fold:
    """A title that opens what is below it. ``make`` is asked for that when it is opened first."""

    def __init__(self, title: str, make: Callable[[], Sequence[Any]], is_open: bool = False) -> None:
        self.title = title
        self._make = make
        self._is_made = False
        self.button = widgets.ToggleButton(value=is_open, tooltip=title, layout={"width": "auto"})
        self.button.add_class("af-fold")
        self.inside = widgets.VBox()
        self.box = widgets.VBox([self.button, self.inside])
        self.button.observe(lambda _: self._show(), names="value")
        self._show()

    def _show(self) -> None:
        is_open = self.button.value
        if is_open and not self._is_made:
            self._is_made = True
            self.inside.children = list(self._make())
        self.inside.layout.display = None if is_open else "none"
        mark = "\u25be" if is_open else "\u25b8"
        self.button.description = f"{mark} {self.title}"
