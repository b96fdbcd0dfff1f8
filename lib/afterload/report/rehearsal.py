"""Do once what the first packet of a process does for all that follow."""

from __future__ import annotations

from typing import Any

from afterload.report import warm
from afterload.report.bind import bind
from afterload.report.exporter import CHART_TYPE, PacketExporter
from afterload.report.nodes import make_node, notebook_text
from afterload.report.packet import chapter_paths, relevant
from afterload.resources import BUILTIN
from afterload.scenario import load_scenario

__all__ = ["warm_up"]

EXAMPLE = f"{BUILTIN}scenarios/orders.yaml"


def warm_up() -> None:
    """Import what a packet needs, load its compiled code, and compile its template.

    For a process that is then forked for each packet: the example's chapters are run, a small page is exported, and all
    that is thrown away. Raises what these raise.
    """
    warm.warm_up()
    bound = bind(relevant(chapter_paths(), load_scenario(EXAMPLE)), "warm up")
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in bound.cells:
        if cell.cell_type == "code":
            # The notebooks are Afterload's own.
            exec(compile(cell.source, "<warm up>", "exec"), names)
    PacketExporter.shared().to_html(_small_page(), "warm up")


def _small_page() -> Any:
    """One of each kind of cell and of output that a packet has."""
    code = {"cell_type": "code", "id": "b", "execution_count": 1, "metadata": {}, "source": ""}
    shown = [
        {"output_type": "display_data", "metadata": {}, "data": data}
        for data in ({CHART_TYPE: {"mark": "bar"}, "text/plain": "A."}, {"text/html": "<p>A</p>", "text/plain": "A"})
    ]
    cells = [
        {"cell_type": "markdown", "id": "a", "metadata": {}, "source": "## A heading\n\nA sentence."},
        {**code, "outputs": shown},
    ]
    page = make_node({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    notebook_text(page)
    return page
