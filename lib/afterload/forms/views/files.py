"""Drop files into a form: the account of what they say, value by value, to accept or reject."""

from __future__ import annotations

from typing import Any

import ipywidgets as widgets

from afterload.errors import AfterloadError
from afterload.figures.account import account_answer, account_missing, account_remarks, account_table
from afterload.forms.state.importing import ImportState
from afterload.forms.views.fields import button
from afterload.forms.views.texts import STYLE, said, table_html
from afterload.yamledit import inline

__all__ = ["FilesView"]


class FilesView:
    """Upload, account, accept or reject, apply."""

    def __init__(self, state: ImportState) -> None:
        self.state = state
        self.upload = widgets.FileUpload(
            multiple=True, description="Upload exports, metrics, timelines", layout={"width": "auto"}
        )
        self.series = widgets.Text(
            description="Series measure", placeholder="sent=arrivals:orders:count", continuous_update=False,
            layout={"width": "520px"}, style={"description_width": "110px"},
        )  # fmt: skip
        self.notice = widgets.HTML()
        self.choices = widgets.VBox()
        self.account = widgets.HTML()
        self.apply = button("Take what is accepted", self._apply, "Write the accepted values into the form", "primary")
        self.discard = button("Take nothing", state.discard, "Forget the files")
        tools = widgets.HBox([self.apply, self.discard])
        tools.add_class("af-bar")
        self.box = widgets.VBox(
            [widgets.HTML(STYLE), self.upload, self.series, self.notice, self.choices, tools, self.account]
        )
        self.box.add_class("af-form")
        self.upload.observe(self._uploaded, names="value")
        self.series.observe(self._said, names="value")
        state.observe(lambda _: self.follow(), names="changes")
        self.follow()

    def _uploaded(self, change: dict[str, Any]) -> None:
        if not change["new"]:
            return
        try:
            self.state.upload({item["name"]: bytes(item["content"]) for item in change["new"]})
        except AfterloadError as problem:
            self.state.notice = str(problem)
        self.upload.value = ()
        self.follow()

    def _said(self, change: dict[str, Any]) -> None:
        self.state.series = change["new"]
        self.state.look()
        self.follow()

    def _apply(self) -> None:
        try:
            self.state.apply()
        except AfterloadError as problem:
            self.state.notice = str(problem)
        self.follow()

    def _choose(self, name: str, accepted: bool) -> None:
        self.state.choose(name, accepted)
        self.follow()

    def follow(self) -> None:
        """Show the account as it is now."""
        imported = self.state.imported
        self.notice.value = f'<div role="status">{said([self.state.notice]) if self._is_refused else self._words}</div>'
        self.apply.disabled = self.discard.disabled = imported is None
        rows = []
        for outcome in self.state.offered:
            name = outcome.proposal.name
            box = widgets.Checkbox(
                value=name not in self.state.rejected, description=f"{name}: {inline(outcome.proposal.value)}", indent=False,
                layout={"width": "auto"},
            )  # fmt: skip
            box.observe(lambda change, name=name: self._choose(name, change["new"]), names="value")
            rows.append(box)
        self.choices.children = rows
        if imported is None:
            self.account.value = ""
            return
        shown = (
            account_answer(imported),
            account_table(imported),
            account_missing(imported),
            account_remarks(imported),
        )
        self.account.value = "".join(map(table_html, shown))

    @property
    def _is_refused(self) -> bool:
        return (
            bool(self.state.notice)
            and self.state.imported is None
            and not self.state.notice.endswith(("taken", "them"))
        )

    @property
    def _words(self) -> str:
        from html import escape

        return f"<p>{escape(self.state.notice)}</p>" if self.state.notice else ""
