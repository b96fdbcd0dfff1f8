"""The report of the saved file, by one button, with a bar that says how far it is."""

from __future__ import annotations

from html import escape
from pathlib import Path

import ipywidgets as widgets

from afterload.errors import AfterloadError
from afterload.forms.state.report import ReportState
from afterload.forms.views.fields import button
from afterload.forms.views.texts import STYLE

__all__ = ["PacketView"]


class PacketView:
    """Run the report and name what it wrote."""

    def __init__(self, state: ReportState) -> None:
        self.state = state
        self.folder = widgets.Text(value="packets", description="into folder", layout={"width": "280px"})
        self.run = button("Run report", self._run, "Make the packet from the saved file", "primary")
        self.bar = widgets.FloatProgress(min=0, max=1, description="chapters", layout={"width": "420px"})
        self.notice = widgets.HTML()
        tools = widgets.HBox([self.run, self.folder, self.bar])
        tools.add_class("af-bar")
        self.box = widgets.VBox([widgets.HTML(STYLE), tools, self.notice])
        self.box.add_class("af-form")
        state.observe(lambda _: self.follow(), names=["share", "is_running", "notice", "files"])
        self.follow()

    def _run(self) -> None:
        try:
            self.state.start(self.folder.value)
        except AfterloadError as problem:
            self.state.notice = str(problem)

    def follow(self) -> None:
        """Show how far it is."""
        self.bar.value = self.state.share
        self.run.disabled = self.state.is_running
        words = "".join(f"<p>{escape(line)}</p>" for line in self.state.notice.splitlines())
        files = "".join(f"<li>{_named(file)}</li>" for file in self.state.files)
        # Where they are, for whoever looks with something else than this page.
        folder = f"<p>in {escape(self.state.written_to)}:</p>" if files else ""
        self.notice.value = f'<div role="status">{words}{folder}{f"<ul>{files}</ul>" if files else ""}</div>'


def _named(file: str) -> str:
    """A file by its path; the server of a notebook shows those below the notebook's folder by a link."""
    path = escape(file)
    return path if Path(file).is_absolute() else f'<a href="{path}" target="_blank">{path}</a>'
