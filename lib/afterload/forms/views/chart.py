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
    return f"""\
function load() {{
  if (globalThis.afterloadCharts) return;
  const names = ["vega", "vegaLite", "vegaEmbed"];
  const before = names.map((name) => globalThis[name]);
  (function (define, exports, module, require) {{
{scripts}
  }}).call(globalThis);
  globalThis.afterloadCharts = Object.fromEntries(names.map((name) => [name, globalThis[name]]));
  names.forEach((name, place) => {{ globalThis[name] = before[place]; }});
  globalThis.dispatchEvent(new Event("afterload-charts"));
}}

// The handles of sliders have no name for those who do not see the label beside them, and their value is a mere place.
function name() {{
  for (const slider of document.querySelectorAll(".af-form .widget-slider")) {{
    const handle = slider.querySelector("[role=slider]");
    const label = slider.querySelector(".widget-label")?.textContent ?? "";
    if (handle && handle.getAttribute("aria-label") !== label) handle.setAttribute("aria-label", label);
    handle?.setAttribute("aria-valuetext", label);
  }}
  // Keys in the form are for the form: no shortcut of a notebook may take an arrow key, or delete a cell.
  const parts = ["button", "select", "[tabindex]", "[role=slider]"].map((part) => `.af-form ${{part}}`);
  for (const part of document.querySelectorAll(parts.join(", "))) {{
    part.setAttribute("data-lm-suppress-shortcuts", "true");
  }}
}}

// While a handle is held, its scale must not change under the pointer.
function hold(model, is_held) {{
  if (model.get("is_held") === is_held) return;
  model.set("is_held", is_held);
  model.save_changes();
}}

function render({{ model, el }}) {{
  load();
  let watch = null;
  const over = new AbortController();
  const begin = requestAnimationFrame(() => {{
    const form = el.closest(".af-form");
    if (!form) return;
    watch = new MutationObserver(name);
    watch.observe(form, {{ childList: true, subtree: true }});
    name();
    const first = {{ capture: true, signal: over.signal }};
    form.addEventListener("pointerdown", (event) => {{
      if (event.target.closest(".widget-slider")) hold(model, true);
    }}, first);
    for (const end of ["pointerup", "pointercancel"]) {{
      globalThis.addEventListener(end, () => hold(model, false), first);
    }}
    // The window's own, not that of a part of it.
    globalThis.addEventListener("blur", (event) => {{
      if (event.target === globalThis) hold(model, false);
    }}, first);
  }});
  return () => {{
    cancelAnimationFrame(begin);
    watch?.disconnect();
    over.abort();
    hold(model, false);
  }};
}}
export default {{ initialize: load, render }};
"""


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
