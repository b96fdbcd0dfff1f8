"""Write a packet as one HTML page that asks for nothing."""

from __future__ import annotations

import copy
from typing import Any, cast

from nbconvert.exporters.html import HTMLExporter
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
        for name in ("exclude_input", "exclude_input_prompt", "exclude_output_prompt"):
            options.setdefault(name, True)
        super().__init__(config=config, **options)  # type: ignore[no-untyped-call]

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
        shown = copy.deepcopy(nb)
        if title:
            shown.metadata["title"] = title
        self.language_code = language
        page, _ = self.from_notebook_node(shown, resources={"metadata": {"name": title or "Packet"}})
        return page
