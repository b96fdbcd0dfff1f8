"""Markdown of a chapter as two independent readers see it: what a team wrote is shown as it stands, and does nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import mistune
import pytest
from bs4 import BeautifulSoup
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from afterload.errors import InputError
from afterload.estimates import estimate
from afterload.figures import Figure, Prose, Table
from afterload.figures.postmortem import sections
from afterload.plan import build_plan
from afterload.recovery.build import couple
from afterload.report.markdown import markdown, plain, postmortem_markdown
from afterload.scenario import load_scenario

# Neither escapes HTML for us: what would get through unescaped must be seen here.
_mistune = mistune.create_markdown(
    escape=False,
    plugins=["table", "strikethrough", "url", "math", "def_list", "footnotes", "superscript", "task_lists"],
)
_markdown_it = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
READERS: dict[str, Callable[[str], str]] = {
    "mistune": lambda text: str(_mistune(text)),
    "markdown-it": _markdown_it.render,
}
HOSTILE = [
    "a|b", "| --- |", "`code`", "``", "<script>alert(1)</script>", "<!-- x", "</td></table>", "<img src=x onerror=alert(1)>",
    "*bold*", "**b**", "_u_", "~s~", "~~s~~", "[x](javascript:alert(1))", "![x](y)", "[x]: http://y", "[^1]", "[ ] task",
    "# head", "### head", "Setext\n===", "Setext\n---", "- item", "+ item", "* item", "1. item", "12) item",
    "a. item", "(iv) item", "http://x<b>", "see https://x.y/z|", "www.x.y",
    "> quote", "    code", "\tcode", "```\nfence", "~~~", "&lt;b&gt;", "&amp;", "&#60;b&#62;", "back\\slash", "trailing\\",
    "\\", "$x^2$", "$$y$$", "x^2^", ": term", "= x", "% title", "---", "***", "@cite", "line\nbreak", "two  \nspaces",
    "<http://x>", "{{ x }}", "{% x %}", "::: warning", "|", "||", "\\|", "\u2028x", "a\x1b[31mb", "\u202eevil",
]  # fmt: skip
each_reader = pytest.mark.parametrize("reader", READERS)


def seen(text: str) -> str:
    """A text as a reader sees it: on one line, without what cannot be printed."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def page(reader: str, text: str) -> BeautifulSoup:
    return BeautifulSoup(READERS[reader](text), "html.parser")


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        assert all(key in ("style", "align") for key, _ in attrs), (tag, attrs)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def tags(reader: str, text: str) -> set[str]:
    parser = Tags()
    parser.feed(READERS[reader](text))
    return parser.found


@each_reader
@pytest.mark.parametrize("text", HOSTILE)
def test_a_cell_shows_its_text_and_nothing_else(reader: str, text: str) -> None:
    table = Table(("a", text or "b", "c"), ((text, "x", text), ("1", text, "2")), frozenset({"a"}), caption="Caption")
    found = page(reader, markdown(table))
    assert tags(reader, markdown(table)) <= {"p", "table", "thead", "tbody", "tr", "th", "td"}
    rows = [[cell.get_text().strip() for cell in row.find_all(["th", "td"])] for row in found.find_all("tr")]
    assert rows == [["a", seen(text), "c"], [seen(text), "x", seen(text)], ["1", seen(text), "2"]]


@each_reader
@pytest.mark.parametrize("text", HOSTILE)
def test_a_sentence_shows_its_text_and_nothing_else(reader: str, text: str) -> None:
    # A prose is parted at its line breaks, as it is on the page.
    lines = [line for line in text.splitlines() if seen(line)]
    written = markdown(Prose("", text))
    assert tags(reader, written) <= {"p"}
    assert [part.get_text() for part in page(reader, written).find_all("p")] == [seen(line) for line in lines]


@settings(max_examples=150, deadline=None)
@given(st.text(st.sampled_from("ab1 |`*_[](){}<>#~&$^@!\\-+=:%.\"';/\n\t"), min_size=1, max_size=24))
def test_no_mixture_of_marks_gets_through(text: str) -> None:
    for reader in READERS:
        table = Table(("head",), ((text,), ("after",)))
        assert tags(reader, markdown(table)) <= {"table", "thead", "tbody", "tr", "th", "td"}
        cells = [cell.get_text().strip() for cell in page(reader, markdown(table)).find_all("td")]
        assert cells == [seen(text), "after"]
        if seen(text):
            assert page(reader, markdown(Prose("", " ".join(text.split())))).get_text().strip() == seen(text)


def test_plain_text_stays_as_it_is() -> None:
    text = "Orders, us-east-1: 206,400 items (344 min) at 02:40 PDT; done."
    assert plain(text) == text


def test_a_figure_is_whole() -> None:
    figure = Figure("Title", {"mark": "bar"}, Table(("a",), (("1",),)), "us", "counted", "One bar.", ("mind the gap",))
    assert markdown(figure) == (
        "Chart in the packet: One bar.\n\n| a |\n| --- |\n| 1 |\n\nSource: us\n\nMethod: counted\n\nNote: mind the gap"
    )


def test_a_caption_does_not_repeat_its_heading() -> None:
    table = Table(("a",), (("1",),), caption="Actions: by date")
    assert markdown(table, "Actions").startswith("By date.\n\n| a |")
    assert markdown(Table(("a",), (("1",),), caption="Actions"), "Actions").startswith("| a |")


@pytest.fixture(scope="module")
def orders() -> str:
    loaded = load_scenario("builtin:scenarios/orders.yaml")
    estimates = estimate(loaded)
    return postmortem_markdown(estimates, build_plan(estimates), couple(loaded))


@each_reader
def test_the_postmortem_of_the_example_is_read_whole(orders: str, reader: str) -> None:
    loaded = load_scenario("builtin:scenarios/orders.yaml")
    estimates = estimate(loaded)
    parts = sections(estimates, build_plan(estimates), couple(loaded))
    found = page(reader, orders)
    assert [heading.get_text() for heading in found.find_all("h1")] == [
        "Postmortem: Orders, us-east-1, 19 and 20 October 2025"
    ]
    assert [heading.get_text() for heading in found.find_all("h2")] == [heading for heading, _ in parts]
    tables = [item.table if isinstance(item, Figure) else item for _, item in parts if not isinstance(item, Prose)]
    assert len(found.find_all("table")) == len(tables) == 10
    for shown, table in zip(found.find_all("table"), tables, strict=True):
        cells = [tuple(cell.get_text().strip() for cell in row.find_all("td")) for row in shown.tbody.find_all("tr")]
        assert cells == [tuple(seen(cell) for cell in row) for row in table.rows]
    text = found.get_text()
    for number in ("206,400", "344 min", "516 min", "243 calls", "3,000 missing instances", "19.2 min"):
        assert number in text
    assert "Hypothetical: this account and its numbers are made up." in text
    assert f"Input SHA-256 {loaded.digest}, Afterload " in text


def test_the_tables_have_one_width_each(orders: str) -> None:
    """Every row of a table has as many cells as its header, or GitHub leaves some out without a word."""
    for block in orders.split("\n\n"):
        if block.startswith("| "):
            widths = {line.replace("\\|", "").count("|") for line in block.splitlines()}
            assert len(widths) == 1, block.splitlines()[0]


@each_reader
def test_hostile_words_of_a_team_stay_words(tmp_path: Path, reader: str) -> None:
    bad = "<script>alert(1)</script> | `x` [y](javascript:z) & \\"
    (tmp_path / "own.csv").write_text(
        "at,event,source,note,status\n"
        + "".join(f'2025-10-20T00:{n:02}Z,"{text.replace(chr(34), chr(39))}","{bad}",x,disputed\n'
                  for n, text in enumerate(("| --- |", "<b>", "a\n\n# head\n\n<script>", "```"))),
        encoding="utf-8",
    )  # fmt: skip
    account = {
        "summary": f"# {bad}\n\n{bad}\n- item\n\n1. {bad}\n",
        "impact": bad,
        "impact_numbers": [{"what": bad, "value": 3, "unit": bad, "source": bad}],
        "roles": [{"role": bad, "held_by": bad}],
        "detected_at": "2025-10-20T00:05Z",
        "detected_by": bad,
        "recovered_at": "2025-10-20T03:05Z",
        "timeline": "own.csv",
        "interactions": [dict.fromkeys(("controller", "action", "feedback", "missing"), bad)],
        "actions": [{"text": bad, "owner": bad, "change": bad}],
    }
    path = tmp_path / "t.yaml"
    path.write_text(
        json.dumps({
            "team": bad, "time_zone": "UTC", "recovery_objective": "4 h", "postmortem": account,
            "incident": {"name": bad, "trigger": "2025-10-20T00:00Z", "restored_at": "2025-10-20T02:00Z"},
            "queues": {bad: {"arrival_rate": "10/min", "service_rate": "20/min"}},
        }),
        encoding="utf-8",
    )  # fmt: skip
    loaded = load_scenario(path)
    estimates = estimate(loaded)
    written = postmortem_markdown(estimates, build_plan(estimates), couple(loaded))
    assert tags(reader, written) <= {"h1", "h2", "p", "table", "thead", "tbody", "tr", "th", "td"}
    found = page(reader, written)
    assert len(found.find_all("h2")) == 11
    assert found.find("h1").get_text() == f"Postmortem: {bad}, {bad}"
    actions = next(table for table in found.find_all("table") if table.th.get_text() == "action")
    assert [cell.get_text() for cell in actions.tbody.find_all("td")][:2] == [bad, bad]


def test_without_a_postmortem_it_says_so() -> None:
    loaded = load_scenario("builtin:scenarios/checkout-api.yaml")
    estimates = estimate(loaded)
    with pytest.raises(InputError, match=r"checkout-api\.yaml has no postmortem: write one under postmortem"):
        postmortem_markdown(estimates, build_plan(estimates), couple(loaded))
