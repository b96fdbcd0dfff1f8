"""A chart that is drawn once and then only gets other data, with the JavaScript that draws it: nothing is fetched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import anywidget
from traitlets import Bool, Dict, Unicode

from afterload.figures import Figure, Prose, Table
from afterload.figures.moving import BAND, banded, narrow, parted
from afterload.resources import resource

__all__ = ["ChartRuntime", "LiveChartView"]

HERE = Path(__file__).resolve().parent
STATIC = ("templates", "nbconvert", "afterload", "static")
# Lower than on a page: two of them, and what they hang on, fit on one screen.
HEIGHT_PX = 190
SCRIPTS = ("vega.min.js", "vega-lite.min.js", "vega-embed.min.js")


@cache
def _runtime() -> str:
    """A module that puts Vega, as the packet's template has it, where the charts of a page find it.

    The page may hold an AMD loader, or Vega already: neither sees anything of this one.
    """
    scripts = "\n;\n".join(resource(*STATIC, name).read_text(encoding="utf-8") for name in SCRIPTS)
    return (HERE / "runtime.js").read_text(encoding="utf-8").replace("/* Vega stands here. */", scripts)


class ChartRuntime(anywidget.AnyWidget):
    """What all charts of a page need, sent once; it shows nothing. It also gives the handles of sliders their names.

    ``is_held`` is True while a pointer holds one of them.
    """

    _esm = ""
    is_held = Bool(False).tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(_esm=_runtime(), **traits)


class LiveChartView(anywidget.AnyWidget):
    """One chart: ``spec`` is its form without data, ``data`` the rows by name, ``alt`` what it shows in words.

    ``resting`` has rows by name that follow when nothing moves; until then ``is_stale`` says that they are of a scenario before.
    """

    _esm = (HERE / "chart.js").read_text(encoding="utf-8")
    spec = Dict().tag(sync=True)
    data = Dict().tag(sync=True)
    resting = Dict().tag(sync=True)
    is_stale = Bool(False).tag(sync=True)
    alt = Unicode().tag(sync=True)

    def show(self, shown: Figure | Prose | Table) -> None:
        """Take over a whole figure, with the band where it has one; what is no figure leaves the chart empty."""
        if not isinstance(shown, Figure):
            self.set_trait("spec", {})
            return
        spec, data = parted(shown.chart)
        spec = narrow(spec)
        if self.resting.get(BAND):
            spec = banded(spec)
        if "height" in spec:
            spec["height"] = min(spec["height"], HEIGHT_PX)
        with self.hold_sync():
            self.set_trait("data", data)
            if spec != self.spec:
                self.set_trait("spec", spec)
            self.set_trait("alt", shown.alt)

    def move(self, rows: Sequence[Sequence[Mapping[str, Any]]], is_stale: bool = False) -> None:
        """Other data in the same form; what does not fit the form waits for a whole figure. ``is_stale``: the band is old."""
        with self.hold_sync():
            self.set_trait("is_stale", is_stale)
            if self.spec and len(rows) == len(self.data):
                self.set_trait("data", dict(zip(self.data, rows, strict=True)))

    def rest(self, band: Sequence[Mapping[str, Any]]) -> None:
        """The band of what is shown now."""
        with self.hold_sync():
            self.set_trait("resting", {BAND: list(band)})
            self.set_trait("is_stale", False)
