"""The results beside a form: sentences and charts that follow at once, tables, uncertainty and the plan at rest."""

from __future__ import annotations

from html import escape
from typing import Any

import ipywidgets as widgets

from afterload.figures import Figure
from afterload.figures.answer import answer
from afterload.figures.moving import GROUPS, LIVE, band_rows, band_words, bands_table
from afterload.forms.state.form import FormState
from afterload.forms.views.chart import ChartRuntime, LiveChartView
from afterload.forms.views.fold import Fold
from afterload.forms.views.texts import table_html

__all__ = ["ResultsView"]

WAITING = '<p class="af-soft">follows when nothing moves</p>'


class ResultsView:
    """One group of charts at a time, with its sentences; below, what follows at rest."""

    def __init__(self, form: FormState) -> None:
        self.form = form
        self.group = next(iter(GROUPS))
        self._settled: Any = None
        self.sentences = widgets.HTML()
        self.charts = {name: LiveChartView() for name in LIVE}
        self.titles = {name: widgets.HTML() for name in LIVE}
        self.tables = widgets.HTML()
        self.bands = widgets.HTML()
        self.changes = widgets.HTML()
        self.drawn = widgets.VBox()
        folds = (
            Fold("How uncertain it is", lambda: [self.bands], is_open=True),
            Fold("Tables", lambda: [self.tables]),
            Fold("The answer, and what to change first", lambda: [self.changes]),
        )
        self.runtime = ChartRuntime()
        self.box = widgets.VBox([self.runtime, self.sentences, self.drawn, *(fold.box for fold in folds)])
        self.choose(self.group)

    def choose(self, group: str) -> None:
        """Show the charts of a group."""
        self.group = group
        names = GROUPS[group].charts
        self.drawn.children = [part for name in names for part in (self.titles[name], self.charts[name])]
        self.follow()
        self.settle()

    def follow(self) -> None:
        """Show at once what is quick: sentences and the data of charts; mark what will follow."""
        results = self.form.results
        if results is None:
            self._clear()
            return
        group = GROUPS[self.group]
        self.sentences.value = group.answer(results.estimates).html
        for name in group.charts:
            self.charts[name].move(LIVE[name].data(results.estimates), is_stale=results.bands is None)
            if results.bands is not None and LIVE[name].has_band:
                self.charts[name].rest(band_rows(results.estimates, results.bands))
        if results.estimates is not self._settled:
            self.tables.add_class("af-stale")
        self._mark(self.bands, results.has_bands)
        self._mark(self.changes, results.is_whole)
        if results.has_bands:
            told = band_words(results.bands or ())
            words = f'<p class="af-soft">{told}</p>' if told else ""
            self.bands.value = f"{table_html(bands_table(results.recovery))}{words}"
        if results.plan is not None:
            self.changes.value = answer(results.estimates, results.plan, results.recovery).html

    def _clear(self) -> None:
        for box in (self.sentences, self.tables, self.bands, self.changes, *self.titles.values()):
            box.value = ""
        for chart in self.charts.values():
            chart.spec = {}

    @staticmethod
    def _mark(box: Any, is_there: bool) -> None:
        (box.remove_class if is_there else box.add_class)("af-stale")
        if not box.value:
            box.value = WAITING

    def settle(self) -> None:
        """Show whole figures, with their tables, when nothing moves."""
        results = self.form.results
        if results is None:
            return
        shown = {name: LIVE[name].figure(results.estimates) for name in GROUPS[self.group].charts}
        for name, figure in shown.items():
            self.charts[name].show(figure)
            title = getattr(figure, "title", "")
            self.titles[name].value = f"<b>{escape(title)}</b>" if title else table_html(figure)
        self.tables.value = "".join(table_html(figure) for figure in shown.values() if isinstance(figure, Figure))
        self.tables.remove_class("af-stale")
        self._settled = results.estimates
