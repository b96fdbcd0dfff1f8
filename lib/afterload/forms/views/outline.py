"""The parts of a scenario as a list, and the fields of the one that is chosen."""

from __future__ import annotations

from typing import Any

import ipywidgets as widgets

from afterload.errors import AfterloadError
from afterload.forms.state.form import FormState
from afterload.forms.state.places import PARTS, Place, ranged_paths
from afterload.forms.views.fields import SectionView, button
from afterload.yamltree import DataPath

__all__ = ["OutlineView"]


class OutlineView:
    """Choose a part, fill in its fields; add, duplicate, rename and remove items."""

    def __init__(self, form: FormState) -> None:
        self.form = form
        self.path: DataPath = ()
        self._is_following = False
        self.choice = widgets.Select(
            description="Parts", rows=7, layout={"width": "auto"}, style={"description_width": "50px"}
        )
        self.part = widgets.Dropdown(
            description="Add", options=[(title, part) for part, title in PARTS.items()], value="queues",
            layout={"width": "210px"}, style={"description_width": "50px"},
        )  # fmt: skip
        self.new_name = widgets.Combobox(
            description="named", ensure_option=False, layout={"width": "220px"}, style={"description_width": "50px"}
        )
        self.name = widgets.Text(
            description="name", continuous_update=False, layout={"width": "auto"}, style={"description_width": "150px"}
        )
        add = button("Add", self._add, "Add an item of this kind")
        self.duplicate = button("Duplicate", self._duplicate, "Copy the chosen part, with its comments")
        self.remove = button("Remove", self._remove, "Remove the chosen part")
        tools = widgets.HBox([self.part, self.new_name, add, self.duplicate, self.remove])
        tools.add_class("af-bar")
        self.section = SectionView(form, self.path, self.rebuild)
        self.inside = widgets.VBox([self.section.box])
        self.box = widgets.VBox([self.choice, tools, self.name, self.inside])
        self.choice.observe(self._chosen, names="value")
        self.part.observe(lambda _: self._suggest(), names="value")
        self.name.observe(self._renamed, names="value")
        self.follow()
        self._show(self.path)

    # What a person does.

    def _chosen(self, change: dict[str, Any]) -> None:
        if not self._is_following and change["new"] is not None:
            self._show(change["new"])

    def _add(self) -> None:
        self._do(lambda: self.form.add((self.part.value,), self.new_name.value))
        self.new_name.value = ""

    def _duplicate(self) -> None:
        self._do(lambda: self.form.duplicate(self.path))

    def _remove(self) -> None:
        def removed() -> DataPath:
            self.form.remove(self.path)
            return ()

        self._do(removed)

    def _renamed(self, change: dict[str, Any]) -> None:
        if not self._is_following:
            self._do(lambda: self.form.rename(self.path, change["new"]))

    def _do(self, work: Any) -> None:
        try:
            self.path = work()
        except AfterloadError as problem:
            self.form.notice = str(problem)
        self.rebuild()

    def _suggest(self) -> None:
        self.new_name.options = ranged_paths(self.form.data) if self.part.value == "uncertain" else ()

    # What it shows.

    def rebuild(self) -> None:
        """Show the chosen part anew, after something came or went."""
        self.follow()
        self._show(self.path if any(place.path == self.path for place in self.form.outline()) else ())

    def _show(self, path: DataPath) -> None:
        self.path = path
        self.section = SectionView(self.form, path, self.rebuild)
        self.inside.children = [self.section.box]
        places = {place.path: place for place in self.form.outline()}
        is_item = places[path].can_be_removed
        is_named = is_item and isinstance(path[-1], str) and path[1:] != ()
        self._is_following = True
        self.name.value = str(path[-1]) if is_named else ""
        self.name.layout.display = None if is_named else "none"
        self.remove.disabled = not is_item
        self.duplicate.disabled = not (is_item and path[1:])
        self.choice.value = path
        self._is_following = False

    def follow(self) -> None:
        """Show the list and the fields as they are now."""
        options = [(_titled(place), place.path) for place in self.form.outline()]
        if options != list(self.choice.options):
            self._is_following = True
            self.choice.options = options
            paths = [path for _, path in options]
            self.choice.value = self.path if self.path in paths else ()
            self._is_following = False
        self.section.follow()


def _titled(place: Place) -> str:
    if not place.problems:
        return place.title
    return f"{place.title} ({place.problems} {'problem' if place.problems == 1 else 'problems'})"
