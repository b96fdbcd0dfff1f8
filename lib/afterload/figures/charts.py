"""What all charts share: altair imported once and fast, one theme, axes in the incident's zone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from afterload.scenario import LoadedScenario
from afterload.units import format_offset


@contextmanager
def _without_uri_grammar() -> Iterator[None]:
    """Keep jsonschema from building a URI grammar of seconds while altair is imported; charts hold no URIs.

    The grammar comes with JupyterLab. Nothing is left behind: later imports find the package as usual.
    """
    name = "rfc3987_syntax"
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        sys.modules.pop(name, None)


with _without_uri_grammar():
    import altair as alt

__all__ = [
    "AFTER",
    "BEFORE",
    "COLOURS",
    "GREY",
    "LINE_LEGEND",
    "LONG_LEGEND",
    "MOST_LINES",
    "MOST_VALUES",
    "Clock",
    "alt",
    "drawn",
    "evenly",
    "finish",
    "points_each",
    "rules",
    "thin",
]

# Colours that people with any kind of colour vision can tell apart (Okabe and Ito).
BEFORE, AFTER, GREY = "#D55E00", "#0072B2", "#5f6368"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MOST_POINTS = 400
# Values that one chart holds, whatever a scenario holds, and lines that one chart can show.
MOST_VALUES, MOST_LINES = 1_000, 40
# The points of a line are nearly invisible, there for the tooltip; its legend shows the line.
LINE_LEGEND = alt.Legend(symbolType="stroke", symbolOpacity=1, symbolStrokeWidth=3)
# The same for long labels, which would run out of the chart in one row.
LONG_LEGEND = alt.Legend(symbolType="stroke", symbolOpacity=1, symbolStrokeWidth=3, columns=2)


T = TypeVar("T")


@dataclass(frozen=True)
class Clock:
    """Times of one incident as a chart shows them: in the team's zone, whatever the viewer's zone is.

    A chart gets wall-clock time at the offset of the trigger, marked as UTC, so that no browser shifts it.
    """

    zone: ZoneInfo
    trigger: datetime

    @classmethod
    def of(cls, loaded: LoadedScenario) -> Clock:
        """The clock of a scenario."""
        return cls(loaded.scenario.time_zone, loaded.scenario.incident.trigger)

    @property
    def title(self) -> str:
        """Axis title that names zone and offset."""
        return f"time ({self.zone.key}, {format_offset(self.trigger.astimezone(self.zone))})"

    def at(self, instant: datetime) -> int:
        """Milliseconds of an instant for the chart."""
        offset = self.trigger.astimezone(self.zone).utcoffset() or timedelta()
        return round((instant.timestamp() + offset.total_seconds()) * 1000)

    def after(self, minutes: float) -> int:
        """Milliseconds of a moment so many minutes after the trigger."""
        return self.at(self.trigger) + round(minutes * 60_000)

    def axis(self, field: str, span_min: float) -> Any:
        """X encoding for a field that holds milliseconds from this clock."""
        pattern = "%H:%M" if span_min < 1_000 else "%d %b %H:%M"
        return alt.X(
            field,
            type="temporal",
            scale=alt.Scale(type="utc"),
            axis=alt.Axis(title=self.title, format=pattern, labelOverlap=True),
        )


def thin(
    times: npt.NDArray[np.float64], *curves: npt.NDArray[np.float64], limit: int = MOST_POINTS
) -> npt.NDArray[np.int64]:
    """Places of at most about ``limit`` points: first, last and each curve's peak, the rest spread evenly.

    Charts hold few points so that a page stays small; every table and sentence uses the full curve.
    """
    if len(times) <= limit:
        return np.arange(len(times))
    even = np.linspace(0, len(times) - 1, max(2, limit - len(curves))).round().astype(np.int64)
    return np.unique(np.concatenate([even, [int(np.argmax(curve)) for curve in curves]]).astype(np.int64))


def points_each(lines: int) -> int:
    """Points that each of so many lines may have."""
    return min(MOST_POINTS, MOST_VALUES // max(1, lines))


def drawn(
    items: Iterable[T], weight: Callable[[T], float], size: Callable[[T], int] = lambda _: 1, most: int = MOST_LINES
) -> tuple[list[T], tuple[str, ...]]:
    """The items that a chart shows, in their order, and a note where it leaves out those of least weight.

    ``size`` is how much of ``most`` an item takes. The table of a figure always has every item.
    """
    every = list(items)
    kept: set[int] = set()
    used = 0
    for place in sorted(range(len(every)), key=lambda place: -weight(every[place])):
        if kept and used + size(every[place]) > most:
            break
        kept.add(place)
        used += size(every[place])
    if len(kept) == len(every):
        return every, ()
    note = f"The chart shows the {len(kept):,} that matter most of {len(every):,}; the table has them all."
    return [item for place, item in enumerate(every) if place in kept], (note,)


def evenly(items: Sequence[T], most: int = MOST_VALUES) -> tuple[list[T], tuple[str, ...]]:
    """At most so many items, spread evenly from the first to the last, and a note where some are left out."""
    if len(items) <= most:
        return list(items), ()
    places = np.linspace(0, len(items) - 1, most).round().astype(int)
    note = f"The chart shows {most:,} of {len(items):,}; the table has them all."
    return [items[place] for place in places], (note,)


def rules(marks: Iterable[tuple[int | float, str]], field: str, temporal: bool = False) -> Any:
    """Dashed vertical lines with a label each."""
    values = [{field: at, "label": label} for at, label in marks]
    kind: Any = "temporal" if temporal else "quantitative"
    scale = alt.Scale(type="utc") if temporal else alt.Undefined
    base = alt.Chart(alt.Data(values=values)).encode(alt.X(field, type=kind, scale=scale))
    line = base.mark_rule(strokeDash=[5, 4], color=GREY)
    text = base.mark_text(align="left", dx=4, dy=8, baseline="top", color=GREY).encode(
        y=alt.value(0), text=alt.Text("label", type="nominal")
    )
    return line + text


def finish(chart: Any, height: int = 260, name: str = "") -> dict[str, Any]:
    """Give a chart its size and theme and turn it into a specification that every viewer of Vega-Lite 5 draws.

    Charts below each other keep the size that each of them has: Vega-Lite fits only single charts to their container.
    """
    several = isinstance(chart, alt.VConcatChart)
    sized = chart if several else chart.properties(width="container", height=height)
    spec: dict[str, Any] = (
        sized.configure_view(stroke=None)
        .configure_axis(labelFontSize=12, titleFontSize=12, titleFontWeight="normal", gridColor="#e8e8e8")
        .configure_legend(labelFontSize=12, titleFontSize=12, orient="bottom", labelLimit=400)
        .configure_text(fontSize=11)
        .to_dict()
    )
    spec["$schema"] = "https://vega.github.io/schema/vega-lite/v5.json"
    if not several:
        spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    if name:
        spec["description"] = name
    return spec
