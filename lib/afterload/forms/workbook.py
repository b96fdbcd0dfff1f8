"""What a chapter notebook calls: one call a section, a widget where somebody can use it, and else all of it as text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from afterload.figures import Figure, Prose, Table
from afterload.figures.account import account_answer, account_missing, account_table
from afterload.figures.answer import answer
from afterload.figures.live import live_figure, live_readings_table, live_steps_table, live_words
from afterload.figures.moving import GROUPS, LIVE, bands_table
from afterload.figures.words import paragraph, sentence_list
from afterload.forms.state import FormState
from afterload.forms.state.importing import ImportState
from afterload.forms.state.live import LiveState
from afterload.forms.state.report import ReportState
from afterload.forms.views.front_end import has_front_end
from afterload.intake.importing import import_again
from afterload.scenario import Overrides, dotted

__all__ = ["FormWorkbook", "Still"]


class Still:
    """Outputs below each other, as they are without anybody to use a widget."""

    def __init__(self, parts: Sequence[Figure | Prose | Table]) -> None:
        self.parts = tuple(parts)

    def _ipython_display_(self) -> None:
        from IPython.display import display

        for part in self.parts:
            display(part)  # type: ignore[no-untyped-call]


class FormWorkbook:
    """One scenario file to fill in. Every method is one section of a chapter and gives something that shows itself."""

    def __init__(self, scenario: str, overrides: Overrides = None) -> None:
        self.form = FormState(scenario, overrides)
        self._live = (scenario, overrides)

    @cached_property
    def imports(self) -> ImportState:
        """Files dropped into the form."""
        return ImportState(self.form)

    @cached_property
    def reports(self) -> ReportState:
        """Reports of the saved file. What the process tells is shown by the kernel's own thread."""
        return ReportState(self.form, _teller())

    @cached_property
    def recovery(self) -> LiveState:
        """The recovery that is going on: readings that are typed, and those of the log."""
        return LiveState(*self._live)

    # Each made once: a cell that runs again shows the same one, where a second would do all work twice.

    @cached_property
    def _editor(self) -> Any:
        from afterload.forms.views.editor import Editor

        return Editor(self.form)

    @cached_property
    def _live_view(self) -> Any:
        from afterload.forms.views.live import LiveView

        return LiveView(self.recovery)

    @cached_property
    def _files_view(self) -> Any:
        from afterload.forms.views.files import FilesView

        return FilesView(self.imports)

    @cached_property
    def _packet_view(self) -> Any:
        from afterload.forms.views.packet import PacketView

        return PacketView(self.reports)

    def fill_in(self) -> Any:
        """The form with its sliders, and the results beside it."""
        if has_front_end():
            return self._editor.box
        self.form.rest()
        return Still([*self._answers(), self._values()])

    def take_files(self) -> Any:
        """Files of other tools: what they say, to accept or reject value by value."""
        if has_front_end():
            return self._files_view.box
        if self.form.results is None:
            return paragraph("Files are imported into a scenario without problems: none here yet.")
        imported = import_again(self.form.results.loaded)
        return Still([account_answer(imported), account_table(imported), account_missing(imported)])

    def run_report(self) -> Any:
        """The packet of the saved file."""
        if has_front_end():
            return self._packet_view.box
        return paragraph(f"afterload report {self.form.name} makes the packet of this scenario.")

    def follow(self) -> Any:
        """The recovery that is going on: readings to type, the answer, its chart and tables."""
        recovery = self.recovery
        if has_front_end():
            return self._live_view.box
        found, loaded = recovery.answer, recovery.loaded
        if found is None or loaded is None or recovery.trouble:
            return paragraph(recovery.to_do)
        course = live_figure(loaded, found, recovery.source)
        return Still([live_words(found), course, live_steps_table(found), live_readings_table(found)])

    def _answers(self) -> list[Figure | Prose | Table]:
        results = self.form.results
        if results is None or results.plan is None:
            return [
                sentence_list([f"{self.form.name}: {line}" for line in self.form.problem_lines or [self.form.notice]])
            ]
        estimates = results.estimates
        found: list[Figure | Prose | Table] = [answer(estimates, results.plan, results.recovery)]
        for group in GROUPS.values():
            found.append(group.answer(estimates))
            found += [LIVE[name].figure(estimates) for name in group.charts]
        return [*found, bands_table(results.recovery)]

    def _values(self) -> Table:
        """Every value of the form as it stands in the file."""
        rows = []
        todo = [place.path for place in reversed(self.form.outline())]
        while todo:
            for entry in self.form.entries(todo.pop()):
                todo += reversed([path for path in entry.below if isinstance(self.form.value(path), dict)])
                if entry.is_written_out:
                    todo.append(entry.path)
                elif entry.text:
                    rows.append((dotted(entry.path), entry.text, entry.field.help))
                rows += [
                    (dotted(path), str(self.form.value(path)), entry.field.help)
                    for path in entry.below
                    if not isinstance(self.form.value(path), dict)
                ]
        return Table(("field", "value", "what it is"), tuple(rows), caption=f"Values of {self.form.name}")


def _teller() -> Any:
    """Hand changes to the event loop that runs here; without one they are made where they happen."""
    import asyncio

    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return None
    return loop.call_soon_threadsafe
