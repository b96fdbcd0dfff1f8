"""The results beside a form: sentences and charts that follow at once, tables, uncertainty and the plan at rest."""

from __future__ import annotations

from typing import Any

import ipywidgets as widgets

from afterload.figures.answer import answer
from afterload.figures.live import GROUPS, LIVE, bands_table
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
        self.box = widgets.VBox([ChartRuntime(), self.sentences, self.drawn, *(fold.box for fold in folds)])
        self.choose(self.group)

    def choose(self, group: str) -> None:
        """Show the charts of a group."""
        self.group = group
        names = GROUPS[group].charts
        self.drawn.children = [part for name in names for part in (self.titles[name], self.charts[name])]
        self.follow(whole=True)

    def follow(self, whole: bool = False) -> None:
        """Show the results as they are now: what is quick at once, figures and tables where ``whole`` says that it rests."""
        results = self.form.results
        if results is None:
            return
        estimates, group = results.estimates, GROUPS[self.group]
        self.sentences.value = group.answer(estimates).html
        for name in group.charts:
            if whole or not self.charts[name].spec:
                self._figure(name, estimates)
            else:
                self.charts[name].move(LIVE[name].data(estimates))
        if whole:
            self.tables.value = "".join(table_html(LIVE[name].figure(estimates)) for name in group.charts)
        for box in (self.tables, self.bands, self.changes):
            (box.remove_class if whole else box.add_class)("af-stale")
        if results.plan is None:
            if not self.bands.value:
                self.bands.value = self.changes.value = WAITING
            return
        self.bands.value = table_html(bands_table(results.recovery))
        self.changes.value = answer(estimates, results.plan, results.recovery).html

    def _figure(self, name: str, estimates: Any) -> None:
        shown = LIVE[name].figure(estimates)
        self.charts[name].show(shown)
        title = getattr(shown, "title", "")
        self.titles[name].value = f"<b>{title}</b>" if title else table_html(shown)
