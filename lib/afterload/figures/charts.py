"""What all charts share: altair imported once and fast, one theme, axes in the incident's zone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from afterload.scenario import LoadedScenario
from afterload.units import format_offset
from afterload.uri_grammar import without_uri_grammar

with without_uri_grammar():
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
    "chart_of",
    "coloured",
    "drawn",
    "evenly",
    "finish",
    "points_each",
    "rows_apart",
    "rules",
    "thin",
    "tip",
]

# Colours that people with any kind of colour vision can tell apart (Okabe and Ito).
BEFORE, AFTER, GREY = "#D55E00", "#0072B2", "#5f6368"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MOST_POINTS = 400
# Values that one chart holds, whatever a scenario holds, and lines that one chart can show.
MOST_VALUES, MOST_LINES = 1_000, 40
# Labels of lines: a row of them, a character, and the width of the narrowest chart that must hold them.
LABEL_ROW_PX, LABEL_CHARACTER_PX, NARROW_PX = 14, 6, 300
# The points of a line are nearly invisible, there for the tooltip; its legend shows the line.
LINE_LEGEND = alt.Legend(symbolType="stroke", symbolOpacity=1, symbolStrokeWidth=3)
# The same for long labels, which would run out of the chart in one row.
LONG_LEGEND = alt.Legend(symbolType="stroke", symbolOpacity=1, symbolStrokeWidth=3, columns=2)
# The theme, in the order of altair's own specifications.
CONFIG: Mapping[str, Mapping[str, Any]] = {
    "view": {"stroke": None},
    "axis": {"gridColor": "#e8e8e8", "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"},
    "legend": {"labelFontSize": 12, "labelLimit": 400, "orient": "bottom", "titleFontSize": 12},
    "text": {"fontSize": 11},
}

T = TypeVar("T")


class _Rows:
    """Data values that altair hands on as they are: it would copy a list anew with every step of building a chart."""

    __slots__ = ("values",)

    def __init__(self, values: Iterable[Mapping[str, Any]]) -> None:
        self.values = [{key: _plain(value) for key, value in row.items()} for row in values]


class _RowData(alt.Data):
    """Data of a chart that hold :class:`_Rows` until the chart is finished."""

    _class_is_valid_at_instantiation = False


class _RowChart(alt.Chart):
    """A chart that is copied without the parts of its encoding, as altair does with every chart that it layers or stacks.

    Nothing here changes an encoding once it is given.
    """

    def __deepcopy__(self, _: object) -> Any:
        twin = self.copy(deep=False)
        # Charts share data only where they are given the same.
        if twin.data is not alt.Undefined:
            twin.data = twin.data.copy(deep=False)
        return twin


def _plain(value: Any) -> Any:
    """A value as JSON has it, as altair writes it: every numpy number is a float."""
    return float(value) if isinstance(value, np.number) else value


def chart_of(rows: Iterable[Mapping[str, Any]], **options: Any) -> Any:
    """A chart of rows; each is a mapping from the names of fields to text, numbers, truth values or None.

    ``options`` go to :class:`altair.Chart`. The rows stand in the specification that :func:`finish` makes, and there only.
    """
    return _RowChart(_RowData(values=_Rows(rows)), **options)


def _with_rows(spec: Any) -> Any:
    if isinstance(spec, dict):
        return {key: _with_rows(value) for key, value in spec.items()}
    if isinstance(spec, list):
        return [_with_rows(item) for item in spec]
    return spec.values if isinstance(spec, _Rows) else spec


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


def tip(field: str, pattern: str = "", title: str = "") -> Any:
    """A field as a tooltip shows it: a number by its ``pattern``, a text without one."""
    kind: Any = "quantitative" if pattern else "nominal"
    more: dict[str, Any] = {**({"title": title} if title else {}), **({"format": pattern} if pattern else {})}
    return alt.Tooltip(field, type=kind, **more)


def coloured(field: str, values: Iterable[str] | None = None, legend: Any = alt.Undefined) -> Any:
    """Colour by a field: each of its values, in their order, the next of :data:`COLOURS`, or the one that a mapping gives it."""
    if values is None:
        scale = alt.Scale(range=list(COLOURS))
    else:
        domain = list(values)
        colours = values.values() if isinstance(values, Mapping) else COLOURS[: len(domain)]
        scale = alt.Scale(domain=domain, range=list(colours))
    return alt.Color(field, type="nominal", title=None, scale=scale, legend=legend)


def rules(
    marks: Iterable[tuple[int | float, str]], field: str, temporal: bool = False, rows: Sequence[int] | None = None
) -> Any:
    """Dashed vertical lines with a label each, in the first row above the chart or in those that ``rows`` names."""
    values = [{field: at, "label": label} for at, label in marks]
    kind: Any = "temporal" if temporal else "quantitative"
    scale = alt.Scale(type="utc") if temporal else alt.Undefined

    def labelled(base: Any, row: int) -> Any:
        # Above the chart, where no point and no line is.
        return base.mark_text(align="left", dx=-3, dy=-4 - LABEL_ROW_PX * row, baseline="bottom", color=GREY).encode(
            y=alt.YValue(0), text=alt.Text("label", type="nominal")
        )

    base = chart_of(values).encode(alt.X(field, type=kind, scale=scale))
    line = base.mark_rule(strokeDash=[5, 4], color=GREY)
    if rows is None or not any(rows):
        return line + labelled(base, 0)
    for row in sorted(set(rows)):
        some = [value for value, its in zip(values, rows, strict=True) if its == row]
        line += labelled(chart_of(some).encode(alt.X(field, type=kind, scale=scale)), row)
    return line


def rows_apart(marks: Sequence[tuple[int | float, str]], span: float) -> list[int]:
    """A row for each label of :func:`rules`: one that would run into the label before it goes one row up.

    ``span`` is the length of the axis, taken to be drawn as narrow as charts get.
    """
    found = [0] * len(marks)
    ends: list[float] = []
    for place in sorted(range(len(marks)), key=lambda place: marks[place][0]):
        at, label = marks[place]
        row = next((row for row, end in enumerate(ends) if end <= at), len(ends))
        if row == len(ends):
            ends.append(at)
        ends[row] = at + span * (len(label) + 2) * LABEL_CHARACTER_PX / NARROW_PX
        found[place] = row
    return found


def finish(chart: Any, height: int = 260, name: str = "") -> dict[str, Any]:
    """Give a chart its size and theme and turn it into a specification that every viewer of Vega-Lite 5 draws.

    Charts below each other keep the size that each of them has: Vega-Lite fits only single charts to their container.
    """
    several = isinstance(chart, alt.VConcatChart)
    sized = chart.copy(deep=False)
    if not several:
        sized.width, sized.height = "container", height
    spec: dict[str, Any] = _with_rows(sized.to_dict(validate=False))
    config = spec.setdefault("config", {})
    for part, values in CONFIG.items():
        config[part] = {**config.get(part, {}), **values}
    spec["$schema"] = "https://vega.github.io/schema/vega-lite/v5.json"
    if not several:
        spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    if name:
        spec["description"] = name
    return spec
