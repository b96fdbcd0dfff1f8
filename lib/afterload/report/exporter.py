"""Write a packet as one HTML page that asks for nothing."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any, cast

from nbconvert.exporters.html import HTMLExporter
from nbconvert.filters import Highlight2HTML
from nbconvert.filters.widgetsdatatypefilter import WidgetsDataTypeFilter
from nbformat import NotebookNode
from traitlets import default
from traitlets.config import Config

from afterload.resources import resource

__all__ = ["CHART_TYPE", "PacketExporter"]

CHART_TYPE = "application/vnd.vegalite.v5+json"


class PacketExporter(HTMLExporter):
    """HTML of a packet or a chapter; nbconvert knows it as the exporter ``afterload``.

    Code and prompts are hidden. Charts draw in the reader's browser from what is in the page. One
    exporter serves any number of notebooks, and the second costs far less than the first.
    """

    export_from_notebook = "Afterload packet (HTML)"

    def __init__(self, config: Config | None = None, **options: Any) -> None:
        # Set as defaults, so that a configuration or a caller can still show the code.
        for name in ("exclude_input", "exclude_input_prompt", "exclude_output_prompt", "optimistic_validation"):
            options.setdefault(name, True)
        super().__init__(config=config, **options)

    @classmethod
    @cache
    def shared(cls) -> PacketExporter:
        """The exporter of this process: the template is read and compiled once."""
        return cls()

    @property
    def default_config(self) -> Config:
        """The chart type first among the types of an output."""
        base = super().default_config
        priority = [CHART_TYPE, *base.NbConvertBase.display_data_priority]
        merged = base.copy()
        merged.merge(Config({"NbConvertBase": {"display_data_priority": priority}}))
        return cast(Config, merged)

    @default("template_name")
    def _template_name_default(self) -> str:
        return "afterload"

    # The template beside the module comes first: an installed copy of it may be older, and a folder
    # of the same name where a command happens to run is not ours.

    @default("extra_template_basedirs")
    def _default_extra_template_basedirs(self) -> list[str]:
        return [str(resource("templates", "nbconvert"))]

    @default("extra_template_paths")
    def _default_extra_template_paths(self) -> list[str]:
        return [str(resource("templates", "nbconvert"))]

    def to_html(self, nb: NotebookNode, title: str = "", language: str = "en") -> str:
        """The whole page as text.

        ``title`` is plain text; empty keeps the notebook's own. ``language`` is the code of the
        content's language, such as ``en``. The notebook stays as it is.
        """
        shown = _Shown(nb)
        if title:
            shown.metadata = {**nb.metadata, "title": title}
        self.language_code = language
        resources = {"metadata": {"name": title or "Packet"}}
        types = WidgetsDataTypeFilter(
            notebook_metadata={title or "Packet": shown.metadata}, parent=self, resources=resources
        )
        # HTMLExporter does the same, and then reads and writes every page with Beautiful Soup, which changes nothing that a
        # reader sees but the text of pictures without one.
        self.register_filter("filter_data_type", types)
        self.register_filter("highlight_code", Highlight2HTML(parent=self))
        page, _ = super(HTMLExporter, self).from_notebook_node(shown, resources)
        if "<img" in page:
            page, _ = self.from_notebook_node(shown, {"metadata": {"name": title or "Packet"}})
        return page


class _Shown(NotebookNode):
    """A notebook that nbconvert copies as deep as anything is changed while it is shown: outputs are shared.

    nbconvert makes four copies of a notebook, and most of a packet is the data of its charts.
    """

    def __deepcopy__(self, memo: dict[int, Any]) -> _Shown:
        twin = _Shown(self)
        twin.metadata = copy.deepcopy(self.metadata, memo)
        twin.cells = [_cell(cell) for cell in self.cells]
        return twin


def _cell(cell: NotebookNode) -> NotebookNode:
    twin = NotebookNode(cell)
    twin.metadata = copy.deepcopy(cell.metadata)
    if "outputs" in cell:
        twin.outputs = [NotebookNode(output) for output in cell.outputs]
        for output in twin.outputs:
            for name in ("data", "metadata"):
                if name in output:
                    output[name] = NotebookNode(output[name])
    return twin
