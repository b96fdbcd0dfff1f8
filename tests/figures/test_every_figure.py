"""What every figure of every scenario must be: whole, valid, small, in the incident's zone, and sensible to read."""

from __future__ import annotations

import html
import inspect
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import altair as alt
import pytest
from jsonschema import ValidationError

from afterload.chapters import Workbook
from afterload.figures import Figure, Prose, Table
from afterload.figures.charts import MOST_VALUES

Shown = Callable[[str], dict[str, Any]]
Books = Callable[[str], Workbook]
BAD_WORDS = re.compile(r"\b(NaN|nan|inf|Infinity|undefined)\b|\bNone\b(?! of \d)")

# Commands keep the numbers that the service takes, such as -1 for no limit.
COMMANDS = re.compile(r"^  (?:Apply|Undo): .*$", re.MULTILINE)


def figures(sections: dict[str, Any]) -> dict[str, Figure]:
    return {section: item for section, item in sections.items() if isinstance(item, Figure)}


def text_of(item: Any) -> str:
    if isinstance(item, Figure):
        return f"{item.to_text()}\n{item.alt}"
    return item.text if isinstance(item, Prose) else item.to_text()


def data_values(spec: Any) -> Iterator[list[dict[str, Any]]]:
    """Every list of data values in a specification, wherever it stands; each shared one once."""
    if isinstance(spec, dict):
        for key, value in spec.items():
            if key == "datasets":
                yield from value.values()
            elif key == "data" and isinstance(value, dict) and "values" in value:
                yield value["values"]
            else:
                yield from data_values(value)
    elif isinstance(spec, list):
        for item in spec:
            yield from data_values(item)


def shortened(spec: Any) -> Any:
    """The same specification with few data values: all rows of a chart are alike, and checking them takes long."""
    if isinstance(spec, dict):
        return {
            key: {"values": value["values"][:3]} if key == "data" and "values" in value
            else {name: rows[:3] for name, rows in value.items()} if key == "datasets"
            else shortened(value)
            for key, value in spec.items()
        }  # fmt: skip
    return [shortened(item) for item in spec] if isinstance(spec, list) else spec


def numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        for item in value.values():
            yield from numbers(item)
    elif isinstance(value, list):
        for item in value:
            yield from numbers(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


def test_every_section_shows_itself(shown: Shown, name: str) -> None:
    for section, item in shown(name).items():
        assert isinstance(item, Figure | Prose | Table), section
        assert text_of(item).strip(), section


def test_every_figure_is_whole(shown: Shown, name: str) -> None:
    for section, figure in figures(shown(name)).items():
        assert figure.table.rows, section
        assert figure.table.columns, section
        for part in (figure.title, figure.source, figure.method, figure.alt):
            assert part.strip(), section
        assert figure.alt.endswith("."), section
        assert "Source:" in figure.to_html()
        assert "Method:" in figure.to_html()


def charts_are_vega_lite(sections: dict[str, Any]) -> None:
    for section, figure in figures(sections).items():
        assert figure.chart["$schema"] == "https://vega.github.io/schema/vega-lite/v5.json", section
        kind = alt.LayerChart if "layer" in figure.chart else alt.Chart
        kind.from_dict(shortened(figure.chart), validate=True)
        json.dumps(figure.chart, allow_nan=False)


def test_every_chart_is_vega_lite(shown: Shown, name: str) -> None:
    """Against the schema that altair brings; ours are labelled as the version before, whose grammar they keep to.

    This is where finished charts are checked: they are not when they are made.
    """
    charts_are_vega_lite(shown(name))


def test_the_check_of_charts_finds_a_fault(shown: Shown) -> None:
    figure = figures(shown("orders"))["triggers"]
    with pytest.raises(ValidationError):
        charts_are_vega_lite({"triggers": replace(figure, chart={**figure.chart, "mark": 7})})


def test_every_chart_of_measured_values_is_vega_lite(shown: Shown) -> None:
    sections = shown("payments")
    assert {"measured_signals", "back_test"} <= set(figures(sections))
    charts_are_vega_lite(sections)


def test_charts_hold_finite_numbers_and_not_many(shown: Shown, name: str) -> None:
    for section, figure in figures(shown(name)).items():
        values = list(data_values(figure.chart))
        assert any(values), section
        # Lines, labels and targets come on top of the points.
        assert sum(map(len, values)) <= 1.1 * MOST_VALUES, (section, sum(map(len, values)))
        assert all(math.isfinite(number) for number in numbers(values)), section
        for rows in values:
            for row in rows:
                for key in ("minutes", "value", "drain", "rate", "calls", "multiplier", "serving", "tested"):
                    assert row.get(key, 0) >= 0, (section, key, row)


def test_texts_hold_no_odd_numbers(shown: Shown, name: str) -> None:
    for section, item in shown(name).items():
        text = COMMANDS.sub("", text_of(item))
        if section != "provenance":
            assert not BAD_WORDS.search(text), (section, BAD_WORDS.search(text))
            assert not re.search(r"(?<![\w./:+-])-\d", text), section
        assert not re.search(r"(?<![\d,.])1 (items|instances|calls|windows|changes|clients|events) ", text), section
        assert not re.search(r"takes? 0 min|(?<![\d,.])0 (items|instances|calls) ", text), section


def test_prose_reads_as_sentences(shown: Shown, name: str) -> None:
    for section, item in shown(name).items():
        own_words = section in (
            "plan_details", "audit_details", "answer", "postmortem_answer", "runbook_details", "runbook_pauses",
            "exercises_details",
        )  # fmt: skip
        if not isinstance(item, Prose) or own_words or not item.text:
            continue
        for line in item.text.splitlines():
            assert line.endswith((".", "?")), (section, line)
            assert "  " not in line, (section, line)
            assert ".." not in line, (section, line)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert all(self.is_own(tag, key, text or "") for key, text in attrs), (tag, attrs)

    @staticmethod
    def is_own(tag: str, key: str, text: str) -> bool:
        """Links go from the plan's table to its lines, and nowhere else."""
        place = {("a", "href"): r"#plan-line-\d+", ("section", "id"): r"plan-line-\d+"}.get((tag, key))
        if place is not None:
            return re.fullmatch(place, text) is not None
        return key in ("class", "scope") or (key, text) == ("tabindex", "0")


OWN_TAGS = frozenset(
    "p div span table caption thead tbody tr th td b ol li section h3 dl dt dd pre code a details summary".split()
)


def test_html_holds_only_our_own_tags(shown: Shown, name: str) -> None:
    for section, item in shown(name).items():
        page = item.html if isinstance(item, Prose) else item.to_html()
        tags = Tags()
        tags.feed(page)
        # <b> is ours in figures and answers only; a name that brings it comes out as text.
        assert tags.seen <= OWN_TAGS, (section, tags.seen - OWN_TAGS)
        assert "<script" not in page.lower(), section
        assert "<b>bold" not in page, section


def test_names_come_through_tables_unchanged(shown: Shown, workbook: Books, name: str) -> None:
    queues = workbook(name).estimates.queues
    table = shown(name)["backlog"]
    if isinstance(table, Figure):
        assert [row[0] for row in table.table.rows] == list(queues)
        for queue in queues:
            assert f"<td>{html.escape(queue)}</td>" in re.sub(r' class="[^"]*"', "", table.to_html())


def test_a_figure_that_leaves_something_out_says_so(shown: Shown) -> None:
    # 60 queues bring their one table down for good, whatever their service rate: there is no curve to leave something out of.
    assert "at any service rate" in shown("many of all")["catch_up"].text
    for section in ("backlog", "first_attempt_age", "calls_by_layer", "multiplier", "launches", "worth"):
        assert any("the table has them all" in note for note in shown("many of all")[section].notes), section
    for section in ("events", "impact_windows", "postmortem_timeline"):
        figure = shown("two weeks at one minute")[section]
        assert any("the table has them all" in note for note in figure.notes), section
    for section, figure in figures(shown("orders")).items():
        assert not any("leaves" in note or "has them all" in note for note in figure.notes), section
    assert len(shown("many of all")["backlog"].table.rows) == 60
    assert len(shown("two weeks at one minute")["events"].table.rows) == 3000


@pytest.mark.parametrize(
    ("example", "offset"), [("orders", "-07:00"), ("render-fleet", "+09:30"), ("checkout-api", "+01:00")]
)
def test_charts_speak_of_the_teams_zone(shown: Shown, example: str, offset: str) -> None:
    for section, figure in figures(shown(example)).items():
        spec = json.dumps(figure.chart)
        if '"temporal"' in spec:
            assert f"UTC{offset}" in spec, section
            assert spec.count('"temporal"') == spec.count('"utc"'), section


def test_the_sections_here_are_all_sections(shown: Shown) -> None:
    public = {name for name, _ in inspect.getmembers(Workbook, inspect.isfunction) if not name.startswith("_")}
    assert set(shown("orders")) == public - {"is_of"}


def unit_charts(spec: Any) -> Iterator[dict[str, Any]]:
    if isinstance(spec, dict):
        if isinstance(spec.get("mark"), dict) and "encoding" in spec:
            yield spec
        for value in spec.values():
            yield from unit_charts(value)
    elif isinstance(spec, list):
        for value in spec:
            yield from unit_charts(value)


def test_legends_of_lines_show_their_symbols(shown: Shown, name: str) -> None:
    """Points that are there for the tooltip alone are nearly invisible, and a legend would take their opacity."""
    for figure in figures(shown(name)).values():
        for chart in unit_charts(figure.chart):
            point = chart["mark"].get("point")
            if not isinstance(point, dict) or point.get("opacity", 1) >= 0.5:
                continue
            for channel in ("color", "strokeDash"):
                encoding = chart["encoding"].get(channel, {})
                if "field" in encoding and encoding.get("legend", {}) is not None:
                    assert encoding.get("legend", {}).get("symbolOpacity") == 1, (figure.title, channel)


def test_no_axis_of_time_has_a_domain_of_its_own(shown: Shown, name: str) -> None:
    """The page draws without eval, and there a domain of milliseconds puts every mark at the left edge."""

    def scales(spec: Any) -> list[dict[str, Any]]:
        below = spec.values() if isinstance(spec, dict) else spec if isinstance(spec, list) else ()
        own = [spec["scale"]] if isinstance(spec, dict) and isinstance(spec.get("scale"), dict) else []
        return own + [scale for item in below for scale in scales(item)]

    for section, item in shown(name).items():
        if isinstance(item, Figure):
            assert not [scale for scale in scales(item.chart) if scale.get("type") == "utc" and "domain" in scale], (
                section
            )
