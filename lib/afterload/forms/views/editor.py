"""The whole form: file and save, the few numbers that matter, fields and sliders, and the results beside them."""

from __future__ import annotations

from html import escape
from typing import Any

import ipywidgets as widgets

from afterload.errors import AfterloadError, ChangedError
from afterload.figures.moving import GROUPS
from afterload.forms.state.form import FormState
from afterload.forms.state.rest import Rest
from afterload.forms.views.fields import button
from afterload.forms.views.outline import OutlineView
from afterload.forms.views.results import ResultsView
from afterload.forms.views.sliders import SlidersView
from afterload.forms.views.texts import STYLE, file_line, headline_html, notice
from afterload.forms.views.variants import VariantsView

__all__ = ["Editor"]

# A hand that has not moved for so long rests: with the time of the work itself, bands follow within half a second. The plan
# takes longest, so it waits a little more.
REST_S, PLAN_S = 0.2, 0.8


class Editor:
    """A form on one scenario file, as one widget: :attr:`box`."""

    def __init__(self, form: FormState) -> None:
        self.form = form
        self.file = widgets.HTML()
        self.save = button("Save", self._save, "Write the scenario file, comments kept", "primary")
        self.undo = button("Undo", form.undo, "Take back the last step")
        self.redo = button("Redo", form.redo, "Make the step again")
        self.reset = button("Reset to file", form.reset, "Go back to the file as it was saved last")
        self.other = widgets.Text(
            description="other file",
            placeholder="team.yaml",
            layout={"width": "240px"},
            style={"description_width": "64px"},
        )
        opening = button("Open", self._open, "Go on with that file; one that is not there yet begins empty")
        save_as = button("Save as", self._save_as, "Save as another file and go on with that one")
        bar = widgets.HBox([self.file, self.save, self.undo, self.redo, self.reset, self.other, opening, save_as])
        bar.add_class("af-bar")
        self.notice = widgets.HTML()
        self.asked = widgets.VBox()
        self.headline = widgets.HTML()
        self.headline.add_class("af-now")
        self.group = widgets.ToggleButtons(
            options=list(GROUPS),
            tooltips=[f"Sliders and charts of {name.lower()}" for name in GROUPS],
            style={"button_width": "auto"},
        )
        self.results = ResultsView(form)
        works = [form.settle, form.find_bands, form.find_backlogs, self.results.settle, form.planning]
        # One by one, the plan in slices, so that a hand that moves again waits for one of them at most.
        self.rest = Rest(list(zip((REST_S, 0.0, 0.0, 0.0, PLAN_S), works, strict=True)))
        self.sliders = SlidersView(form, self.group.value)
        self.results.runtime.observe(lambda change: self.sliders.hold(change["new"]), names="is_held")
        self.group.observe(lambda change: self._look_at(change["new"]), names="value")
        self.outline = OutlineView(form)
        self.variants = VariantsView(form)
        has_results = form.results is not None
        self.tabs = widgets.Tab(
            children=[self.outline.box, self.sliders.box, self.variants.box],
            titles=["Form", "Sliders", "Variants"],
            selected_index=1 if has_results else 0,
        )
        self.tabs.add_class("af-left")
        self.results.box.add_class("af-right")
        columns = widgets.HBox([self.tabs, self.results.box])
        columns.add_class("af-columns")
        self.box = widgets.VBox([widgets.HTML(STYLE), bar, self.notice, self.asked, self.headline, self.group, columns])
        self.box.add_class("af-form")
        self._is_moving = False
        self._draft: Any = None
        form.observe(lambda _: self._follow(), names="changes")
        form.observe(lambda _: self.outline.rebuild(), names="shape")
        form.observe(lambda _: self._tell(), names="notice")
        form.rest()
        self._follow()
        self.results.settle()

    # What a person does.

    def _save(self) -> None:
        self._saving(self.form.save)

    def _save_as(self) -> None:
        def save() -> None:
            self.form.save_as(self.other.value, draft=bool(self.form.problems))
            self.other.value = ""

        self._saving(save)

    def _open(self) -> None:
        try:
            self.form.open(self.other.value)
            self.other.value = ""
            # What was asked is about the file before.
            self.asked.children = []
        except AfterloadError as problem:
            self.form.notice = str(problem)

    def _saving(self, save: Any) -> None:
        self.asked.children = []
        try:
            save()
        except ChangedError as problem:
            self.form.notice = str(problem)
            self._ask_what_counts()
        except AfterloadError as problem:
            self.form.notice = str(problem)
            if self.form.problems:
                self._draft = button(
                    "Save as a draft", lambda: self._saving(lambda: self.form.save(draft=True)), "With its problems"
                )
                self.asked.children = [self._draft]

    def _ask_what_counts(self) -> None:
        """Somebody else has written the file: show the difference, then let the person decide."""
        try:
            difference = self.form.difference() or "no line differs"
        except AfterloadError as problem:
            difference = str(problem)
        ways = widgets.HBox(
            [
                button("Read theirs", self._reload, "Take the file on disk; undo brings yours back"),
                button("Overwrite theirs", self._overwrite, "Lines marked - are lost", "danger"),
                button("Decide later", self._later, "Leave the file as it is; Save as keeps yours beside it"),
            ]
        )
        words = "<p>Lines with - stand in the file and would go; lines with + are yours. Or save yours under another name.</p>"
        self.asked.children = [widgets.HTML(f"{words}<pre>{escape(difference)}</pre>"), ways]

    def _reload(self) -> None:
        try:
            self.form.reload()
        except AfterloadError as problem:
            self.form.notice = str(problem)
            return
        self.asked.children = []

    def _overwrite(self) -> None:
        self._saving(lambda: self.form.save(over=True, draft=bool(self.form.problems)))

    def _later(self) -> None:
        self.asked.children = []

    def _look_at(self, group: str) -> None:
        self.results.choose(group)
        self.sliders.choose(group)

    # What it shows.

    def _tell(self) -> None:
        self.notice.value = notice(self.form)

    def _follow(self) -> None:
        form = self.form
        self.headline.value = headline_html(form.results, form.is_current)
        self.results.follow()
        is_first, self._is_moving = form.is_dragging and not self._is_moving, form.is_dragging
        if is_first or not form.is_dragging:
            # Changed as soon as a hand moves; nothing of it changes with a further step.
            self.file.value = file_line(form)
            self._tell()
        if form.is_dragging:
            self.rest.touch()
            return
        self.undo.disabled, self.redo.disabled = not form.can_undo, not form.can_redo
        self.reset.disabled = form.text == form.document.text
        if self._draft in self.asked.children and not form.problems:
            # Mended: there is no draft to save.
            self.asked.children = []
        self.outline.follow()
        self.sliders.follow()
        self.variants.follow()
        if form.results is not None and form.results.bands is None:
            self.rest.touch()
