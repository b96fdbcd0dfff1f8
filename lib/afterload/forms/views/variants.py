"""Variants of a scenario: pin one, compare two, come back to one."""

from __future__ import annotations

import ipywidgets as widgets

from afterload.errors import InputError
from afterload.figures.compare import compare_answer, compare_table
from afterload.forms.state.form import FormState
from afterload.forms.views.fields import button
from afterload.forms.views.texts import table_html

__all__ = ["VariantsView"]

PARTS = ("inputs", "results", "lines")


class VariantsView:
    """Pinned variants and the comparison of two of them."""

    def __init__(self, form: FormState) -> None:
        self.form = form
        self.name = widgets.Text(description="Name", placeholder="variant 1", layout={"width": "260px"})
        pin = button("Pin this variant", self._pin, "Keep the scenario as it is now under this name")
        self.before = widgets.Dropdown(description="Before", layout={"width": "260px"})
        self.after = widgets.Dropdown(description="After", layout={"width": "260px"})
        compare = button("Compare", self.compare, "Inputs, results and plan that differ")
        back = button("Go on with Before", self._back, "Put this variant into the form; undo brings the other back")
        self.shown = widgets.HTML()
        bars = [widgets.HBox(row) for row in ([self.name, pin], [self.before, self.after], [compare, back])]
        for bar in bars:
            bar.add_class("af-bar")
        self.box = widgets.VBox([*bars, self.shown])
        self.follow()

    def _pin(self) -> None:
        try:
            self.form.pin(self.name.value)
        except InputError as problem:
            self.form.notice = str(problem)
            return
        self.name.value = ""
        self.follow()
        self.before.value = list(self.form.pins)[-1]

    def _back(self) -> None:
        texts = self.form.variants()
        self.form.take(texts[self.before.value], f"this is {self.before.value} now")

    def compare(self) -> None:
        """Show what differs."""
        found = self.form.comparison(self.before.value, self.after.value)
        if found is None:
            self.shown.value = "<p>One of them has problems, so it has no results to compare.</p>"
            return
        tables = [table_html(compare_table(found, part)) for part in PARTS]  # type: ignore[arg-type]
        self.shown.value = "".join([compare_answer(found).html, *tables])

    def follow(self) -> None:
        """Offer the variants that there are now."""
        names = list(self.form.variants())
        for control, first in ((self.before, "file"), (self.after, "now")):
            if list(control.options) != names:
                kept = control.value if control.value in names else first
                control.options = names
                control.value = kept
