"""Controls for the fields of a form: one row each, with what is wrong with it, or its help, beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import ipywidgets as widgets

from afterload.errors import AfterloadError
from afterload.forms.state.fields import FormField, same_text
from afterload.forms.state.form import FormState
from afterload.forms.state.places import Entry
from afterload.forms.views.fold import Fold
from afterload.forms.views.texts import beside, said
from afterload.yamltree import DataPath

__all__ = ["SectionView", "button"]

LABEL_WIDTH = "150px"
# Fields that name an item of another part.
NAMING = {"dependency": "dependencies", "fleet": "fleets", "queue": "queues"}


def button(text: str, work: Callable[[], object], tooltip: str = "", style: str = "") -> Any:
    """A button that does one thing."""
    made = widgets.Button(description=text, tooltip=tooltip or text, button_style=style, layout={"width": "auto"})
    made.on_click(lambda _: work())
    return made


class FieldRow:
    """One field that holds one value, or a list of them in one line."""

    def __init__(self, form: FormState, entry: Entry) -> None:
        self.form = form
        self.entry = entry
        self._is_following = False
        self.control = self._control(entry.field)
        self.control.add_class("af-control")
        self.beside = widgets.HTML()
        self.beside.add_class("af-said")
        self.box = widgets.HBox([self.control, self.beside])
        self.box.add_class("af-field")
        self.follow(entry)
        self.control.observe(self._typed, names="value")

    def _control(self, field: FormField) -> Any:
        common: dict[str, Any] = {
            "description": field.label,
            "tooltip": field.help,
            "style": {"description_width": LABEL_WIDTH},
            "layout": {"width": "auto"},
        }
        if field.kind in ("choice", "truth"):
            default = field.default if field.default != "none" else "not given"
            first = [(f"({default})", "")] if not field.required else [("choose", "")]
            return widgets.Dropdown(options=[*first, *((choice, choice) for choice in field.choices)], **common)
        hint = {"placeholder": field.example or field.default, "continuous_update": True}
        if field.kind == "long text":
            return widgets.Textarea(rows=4, **common, **hint)
        if field.key in NAMING:
            return widgets.Combobox(ensure_option=False, **common, **hint)
        return widgets.Text(**common, **hint)

    def follow(self, entry: Entry) -> None:
        """Show the entry as it is now."""
        self.entry = entry
        self._is_following = True
        try:
            text = entry.text
            if isinstance(self.control, widgets.Dropdown) and text not in [value for _, value in self.control.options]:
                # What stands in the file and is not known is shown, with what is wrong with it.
                self.control.options = [*self.control.options, (text, text)]
            if isinstance(self.control, widgets.Combobox):
                self.control.options = tuple(map(str, self.form.data.get(NAMING[entry.field.key]) or ()))
            if not same_text(self.control.value, text, entry.field):
                self.control.value = text
        finally:
            self._is_following = False
        self.beside.value = beside(entry)

    def _typed(self, change: dict[str, Any]) -> None:
        if self._is_following:
            return
        try:
            self.form.set(self.entry.path, change["new"])
        except AfterloadError as problem:
            self.beside.value = said([str(problem)])


class SectionView:
    """The fields of one section: what is given and needed first, the rest below when it is asked for."""

    def __init__(self, form: FormState, path: DataPath, rebuild: Callable[[], None]) -> None:
        self.form = form
        self.path = path
        self.rebuild = rebuild
        self.rows: list[FieldRow] = []
        self.parts: list[SectionView] = []
        self.notes: list[tuple[DataPath, Any]] = []
        first: list[Entry] = []
        later: list[Entry] = []
        for entry in form.entries(path):
            is_first = entry.is_there or entry.field.required or bool(entry.problems)
            (first if is_first else later).append(entry)
        self._later = later
        # Made when they are asked for: a form has hundreds of fields, and a person looks at a few.
        self.more = Fold(f"More fields ({len(later)})", lambda: [self._view(entry) for entry in self._later])
        children = [self._view(entry) for entry in first]
        self.box = widgets.VBox([*children, *([self.more.box] if later else [])])

    def _view(self, entry: Entry) -> Any:
        kind = entry.field.kind
        if kind == "section" and not entry.is_written_short and (entry.is_written_out or not entry.field.short):
            return self._section(entry)
        if kind in ("rows", "items"):
            return self._list(entry)
        row = FieldRow(self.form, entry)
        self.rows.append(row)
        return row.box

    def _section(self, entry: Entry) -> Any:
        name = entry.field.label
        if not entry.is_written_out:
            add = button(f"Add {name}", lambda: self._do(lambda: self.form.add(entry.path)), entry.field.help)
            text = widgets.HTML(beside(entry))
            text.add_class("af-said")
            return self._row([add, text])
        return self._within(entry, [self._part(entry.path)], f"Remove {name}")

    def _list(self, entry: Entry) -> Any:
        shown = []
        for path in entry.below:
            tools = [
                button("Duplicate", partial(self._do, partial(self.form.duplicate, path))),
                button("Remove", partial(self._do, partial(self.form.remove, path))),
            ]
            value = self.form.value(path)
            if isinstance(value, dict) or value is None:
                shown.append(self._block([self._part(path), self._row(tools)]))
            else:
                field = FormField(str(path[-1]), entry.field.label, "text", entry.field.help, is_text=True)
                row = FieldRow(self.form, Entry(path, field, str(value), True))
                shown.append(self._row([row.box, *tools]))
        add = button(f"Add to {entry.field.label}", lambda: self._do(lambda: self.form.add(entry.path)))
        return self._within(entry, [*shown, add], "")

    def _within(self, entry: Entry, children: Iterable[Any], removal: str) -> Any:
        note = widgets.HTML(beside(entry))
        self.notes.append((entry.path, note))
        title = widgets.HTML(f"<b>{entry.field.label}</b>")
        tools = [button(removal, lambda: self._do(lambda: self.form.remove(entry.path)))] if removal else []
        optional = [] if entry.field.required else tools
        return self._block([self._row([title, note]), *children, *optional])

    def _part(self, path: DataPath) -> Any:
        part = SectionView(self.form, path, self.rebuild)
        self.parts.append(part)
        return part.box

    @staticmethod
    def _row(children: Iterable[Any]) -> Any:
        box = widgets.HBox(list(children))
        box.add_class("af-field")
        return box

    @staticmethod
    def _block(children: Iterable[Any]) -> Any:
        box = widgets.VBox(list(children))
        box.add_class("af-within")
        return box

    def _do(self, work: Callable[[], object]) -> None:
        try:
            work()
        except AfterloadError as problem:
            self.form.notice = str(problem)
        self.rebuild()

    def follow(self) -> None:
        """Show every field as it is now."""
        entries = {entry.field.name: entry for entry in self.form.entries(self.path)}
        for row in self.rows:
            if row.entry.field.name in entries:
                row.follow(entries[row.entry.field.name])
        for path, note in self.notes:
            for entry in entries.values():
                if entry.path == path:
                    note.value = beside(entry)
        for part in self.parts:
            part.follow()
