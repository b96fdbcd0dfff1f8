"""The live chapter as a form: type what a console shows, and read when it is over, what is safe, and what must wait."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import ipywidgets as widgets

from afterload.errors import AfterloadError
from afterload.figures import Figure
from afterload.figures.live import live_figure, live_readings_table, live_steps_table, live_words
from afterload.forms.state.live import FIELDS, OVER, LiveField, LiveState
from afterload.forms.state.rest import Every
from afterload.forms.views.chart import ChartRuntime, LiveChartView
from afterload.forms.views.fields import LABEL_WIDTH, button
from afterload.forms.views.fold import Fold
from afterload.forms.views.texts import STYLE, said, table_html

__all__ = ["LiveView"]

# What others add to the log shows after so many seconds.
LOOK_S = 5.0
# Fields for a first look; the others wait below.
FIRST = 3


def _bar(children: list[Any]) -> Any:
    bar = widgets.HBox(children)
    bar.add_class("af-bar")
    return bar


class LiveView:
    """The form on one recovery, as one widget: :attr:`box`."""

    def __init__(self, state: LiveState) -> None:
        self.state = state
        self.file = widgets.HTML()
        self.scenario = self._name("scenario", "team.yaml", "64px")
        self.log = self._name("log", "seen.csv", "30px")
        opening = button("Open", lambda: self._do(self._open), "Go on with that scenario")
        using = button("Use log", lambda: self._do(self._use), "Keep readings in that CSV file, and use those in it")
        bar = _bar([self.file, self.scenario, opening, self.log, using])
        self.queue = widgets.Dropdown(
            description="queue", style={"description_width": LABEL_WIDTH}, layout={"width": "auto"}
        )
        self.queue.add_class("af-control")
        row = widgets.HBox([self.queue])
        row.add_class("af-field")
        self.controls: dict[str, Any] = {}
        self.beside: dict[str, Any] = {}
        rows = [self._row(field) for field in FIELDS]
        more = Fold("More that you see", lambda: rows[FIRST:])
        over = [self._row(field) for field in OVER]
        instead = Fold("Over what the scenario says", lambda: over)
        self.upload = widgets.FileUpload(
            multiple=True,
            description="Upload metrics",
            tooltip="CloudWatch, Prometheus or CSV, as for afterload import; in place of those uploaded before",
            layout={"width": "auto"},
        )
        self.series = widgets.Text(
            description="series measure",
            tooltip="NAME=SIGNAL:QUEUE:UNIT of each series whose name does not tell what it measures",
            placeholder="waiting=backlog:orders:items",
            continuous_update=False,
            style={"description_width": LABEL_WIDTH},
            layout={"width": "auto"},
        )
        self.series.add_class("af-control")
        self.measured = widgets.HTML()
        measuring = widgets.HBox([self.series])
        measuring.add_class("af-field")
        metrics = Fold("Readings from metrics", lambda: [self.upload, measuring, self.measured])
        self.asked = widgets.VBox()
        self.undo = button("Take back", lambda: self._do(state.undo), "Take out the reading that was added here last")
        actions = _bar(
            [
                button("Add reading", lambda: self._do(state.add), "Keep it, and answer", "primary"),
                self.undo,
                button("Read log again", lambda: self._do(state.refresh), "Take in what others have added"),
            ]
        )
        self.notice = widgets.HTML()
        self.steps, self.readings = widgets.HTML(), widgets.HTML()
        folds = (more.box, instead.box, metrics.box)
        left = widgets.VBox([row, *rows[:FIRST], *folds, actions, self.asked, self.notice, self.steps])
        left.add_class("af-left")
        self.answer = widgets.HTML()
        self.answer.add_class("af-answer")
        self.title, self.chart, self.table = widgets.HTML(), LiveChartView(), widgets.HTML()
        right = widgets.VBox([ChartRuntime(), self.answer, self.title, self.chart, self.table, self.readings])
        right.add_class("af-right")
        columns = widgets.HBox([left, right])
        columns.add_class("af-columns")
        self.box = widgets.VBox([widgets.HTML(STYLE), bar, columns])
        self.box.add_class("af-form")
        self._is_following = False
        self._shown: Any = None
        self.queue.observe(self._chosen, names="value")
        self.upload.observe(self._uploaded, names="value")
        self.series.observe(self._said, names="value")
        state.observe(lambda _: self._follow(), names="changes")
        self.watch = Every(LOOK_S, state.refresh)
        self._follow()

    @staticmethod
    def _name(label: str, example: str, width: str) -> Any:
        return widgets.Text(
            description=label, placeholder=example, layout={"width": "260px"}, style={"description_width": width}
        )

    def _row(self, field: LiveField) -> Any:
        control = widgets.Text(
            description=field.label,
            tooltip=field.help,
            placeholder=field.example,
            continuous_update=True,
            style={"description_width": LABEL_WIDTH},
            layout={"width": "auto"},
        )
        control.add_class("af-control")
        control.observe(lambda change: self._typed(field.name, change["new"]), names="value")
        beside = widgets.HTML()
        beside.add_class("af-said")
        self.controls[field.name], self.beside[field.name] = control, beside
        row = widgets.HBox([control, beside])
        row.add_class("af-field")
        return row

    # What a person does.

    def _do(self, work: Callable[[], object]) -> None:
        """Do it; where it cannot be done, say why."""
        self.state.notice = ""
        try:
            work()
        except AfterloadError as problem:
            self.state.notice = str(problem)
        self._follow()

    def _open(self) -> None:
        self.state.open(self.scenario.value)
        self.scenario.value = ""

    def _use(self) -> None:
        self.state.use_log(self.log.value)
        self.log.value = ""

    def _typed(self, name: str, text: str) -> None:
        if not self._is_following:
            self.state.set(name, text)

    def _uploaded(self, change: dict[str, Any]) -> None:
        if change["new"]:
            files = {item["name"]: bytes(item["content"]) for item in change["new"]}
            self.upload.value = ()
            self._do(lambda: self.state.upload(files))

    def _said(self, change: dict[str, Any]) -> None:
        if not self._is_following:
            self._do(lambda: self.state.say_series(change["new"]))

    def _chosen(self, change: dict[str, Any]) -> None:
        if not self._is_following and change["new"]:
            self.state.choose_queue(change["new"])

    # What it shows.

    def _follow(self) -> None:
        state = self.state
        self._is_following = True
        try:
            if tuple(self.queue.options) != state.queues:
                self.queue.options = state.queues
            if state.queue:
                self.queue.value = state.queue
            for name, control in self.controls.items():
                text = state.texts.get(name, "")
                if control.value != text:
                    control.value = text
            if self.series.value.strip() != state.series:
                self.series.value = state.series
        finally:
            self._is_following = False
        problems = state.problems
        for field in (*FIELDS, *OVER):
            wrong = problems.get(field.name)
            self.beside[field.name].value = (
                said([wrong]) if wrong else f'<span class="af-help">{escape(field.help)}</span>'
            )
        self.measured.value = (
            f'<p class="af-soft" role="status">{escape(state.measuring)}</p>' if state.measuring else ""
        )
        self.undo.disabled = not state.can_undo
        self.file.value = self._file_line()
        self._ask()
        self._tell()
        self._answer()

    def _file_line(self) -> str:
        state = self.state
        example = ", an example: its rates are not yours" if state.is_shipped else ""
        kept = f"readings in {state.log}" if state.log is not None else "readings are not kept in a file"
        words = escape(f"{example}; {kept}")
        return f'<span class="af-file">{escape(state.name)}</span><span class="af-soft">{words}</span>'

    def _ask(self) -> None:
        if not self.state.doubted:
            self.asked.children = []
            return
        words = said([self.state.doubted])
        anyway = button("Add it anyway", lambda: self._do(lambda: self.state.add(anyway=True)), "It is as typed")
        self.asked.children = [widgets.HTML(words), anyway]

    def _tell(self) -> None:
        state = self.state
        bad = " af-bad" if state.trouble else ""
        lines = [line for line in (state.trouble, state.notice) if line]
        found = "".join(f"<div>{escape(line)}</div>" for line in dict.fromkeys(lines))
        self.notice.value = f'<div class="af-notice{bad}" role="status">{found}</div>' if found else ""

    def _answer(self) -> None:
        state = self.state
        found, loaded = state.answer, state.loaded
        (self.answer.add_class if state.trouble and found else self.answer.remove_class)("af-stale")
        if found is not None and found is self._shown:
            return
        self._shown = found
        if found is None or loaded is None:
            self.answer.value = f"<p>{escape(state.to_do)}</p>"
            self.title.value = self.table.value = self.steps.value = self.readings.value = ""
            self.chart.spec = {}
            return
        course = live_figure(loaded, found, state.source)
        self.answer.value = live_words(found).html
        self.chart.show(course)
        if isinstance(course, Figure):
            self.title.value = f"<b>{escape(course.title)}</b>"
            told = escape(f"Source: {course.source}. {course.method}")
            self.table.value = f'{table_html(course)}<p class="af-soft">{told}</p>'
        self.steps.value = table_html(live_steps_table(found))
        self.readings.value = table_html(live_readings_table(found))
