"""The page and the JSON of the portfolio as text: the same bytes, nothing that runs, nothing of the machine."""

from __future__ import annotations

import base64
import html
import json
import random
import re
from collections.abc import Callable
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from afterload.batch.charts import changes_figure, stale_figure
from afterload.batch.index import index_html, index_json
from afterload.batch.portfolio import Portfolio, build_portfolio
from afterload.batch.wording import limit_name, summary

Make = Callable[..., dict[str, Any]]
Records = list[dict[str, Any]]
FAILURES = (
    ("bad", "Bad", "bad.yaml", "bad input", "bad.yaml:3: rate is -4"),
    ("slow", "Slow", "slow.yaml", "time limit", "600 s"),
)
HOSTILE = (
    "</script><script>window.pwned = 1</script>", "<img src=x onerror='window.pwned = 2'>", "=HYPERLINK(\"//evil\")",
    "\u202eevil\u202c", "{{ 7 * 7 }}{% raise %}", "'\"><b>bold", "javascript:alert(1)",
)  # fmt: skip


class Texts(HTMLParser):
    """Visible text, addresses and element names of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._hidden += tag in ("script", "style")
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.words.append(data)


def read(page: str) -> Texts:
    texts = Texts()
    texts.feed(page)
    return texts


def test_the_same_results_give_the_same_bytes(records: Records) -> None:
    one = build_portfolio(records, FAILURES)
    mixed = list(records)
    random.Random(4).shuffle(mixed)
    other = build_portfolio(json.loads(json.dumps(mixed)), FAILURES[::-1])
    assert index_html(one) == index_html(other)
    assert index_json(one) == index_json(other)
    again = build_portfolio(records, FAILURES, json.loads(index_json(one)))
    assert index_html(again) == index_html(build_portfolio(mixed, FAILURES, json.loads(index_json(other))))


def test_nothing_of_the_machine_is_on_the_page(records: Records) -> None:
    portfolio = build_portfolio(records, FAILURES)
    for text in (index_html(portfolio), index_json(portfolio)):
        assert str(Path.home()) not in text
        assert "/tmp" not in text


def test_the_policy_names_every_script_and_no_other(records: Records) -> None:
    page = index_html(build_portfolio(records))
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    assert "base-uri 'none'; form-action 'none'" in policy[1]
    named = re.findall(r"'sha256-([^']+)'", html.unescape(policy[1]))
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    digests = [base64.b64encode(sha256(text.encode()).digest()).decode() for text in scripts]
    assert digests == named
    assert "unsafe-eval" not in policy[1]
    assert "unsafe-inline" not in policy[1].split("script-src")[1].split(";")[0]


def test_every_number_has_a_unit_and_none_is_odd(records: Records) -> None:
    words = " ".join(read(index_html(build_portfolio(records, FAILURES, None))).words)
    for odd in ("None", "NaN", "nan", "inf", "undefined"):
        assert not re.search(rf"(?<![\w]){odd}(?![\w])", words), odd
    # No number below zero; a dash between words or in dates is none. The failure tells of one.
    assert not re.search(r"(?<![\w.–-])-\d", words.replace("rate is -4", ""))


def test_the_page_says_what_the_numbers_are(bare: Make, queue: Make, line: Make) -> None:
    shares = {"account": "1", "region": "r", "queues": [queue(cap_concurrency=600)]}
    records = [
        bare("Orders", shares=shares, plan=[line(bought_min=120.0)], links={"packet": "a b.html", "plan_csv": "o.csv"}),
        bare("Pay", met=True, shares=shares, results={"fresh_min": 56.0}),
    ]
    texts = read(index_html(build_portfolio(records, FAILURES)))
    words = re.sub(r"\s+", " ", " ".join(texts.words))
    for sentence in (
        "1 of 2", "teams within their recovery objective", "400 min", "stale in all after the restore, 6 h 40 min",
        "“Drain cap”: 120 min of drain at 1 team, for about 2 person-days. No more items expire",
        "2 teams ask for 1,200 at once where 1,000 are there",
        "failed and not in these numbers", "bad.yaml:3: rate is -4", "How this is computed",
    ):  # fmt: skip
        assert sentence in words, sentence
    assert {"a%20b.html", "o.csv", "index.json"} <= set(texts.links)


def words_of(portfolio: Portfolio) -> str:
    return re.sub(r"\s+", " ", " ".join(read(index_html(portfolio)).words))


def test_the_page_shows_what_a_change_destroys(bare: Make, line: Make) -> None:
    costs = {"stale_minute": 50.0, "lost_item": 0.02, "person_day": 0.0, "currency": "EUR"}
    age = line("age-limit", bought_min=314.0, stale_bought_min=314.0, lost_more=188_400.0, saves=11_932.0)
    fresh = line("fresh-first", bought_min=0.0, stale_bought_min=100.0, saves=-40.0)
    portfolio = build_portfolio(
        [bare("Orders", plan=[age, fresh], costs=costs), bare("Pay", plan=[line("age-limit", bought_min=0.0)])]
    )
    words = words_of(portfolio)
    for text in (
        "“Age limit”: 314 min stale and 314 min of drain at 1 team of the 2 where it is open, for about 2 person-days. "
        "It drops 188,400 items there that are done today: expired, discarded or lost. 1 other line, which buys nothing alone, "
        "would take 2 person-days more.",
        "314 min stale; drops 188,400 items", "11,932 EUR", "loses 40 EUR", "1 team, 1 line", "2 teams, 2 lines",
    ):  # fmt: skip
        assert text in words, text
    figure = changes_figure(portfolio)
    assert figure is not None
    # What buys minutes stale and loses nothing is in the chart, though it shortens no drain.
    assert [row[:4] for row in figure.table.rows] == [
        ("Age limit", "314 min", "314 min", "188,400"), ("Fresh first", "100 min", "0 min", "0"),
    ]  # fmt: skip
    assert {tip["field"] for tip in figure.chart["encoding"]["tooltip"]} >= {"items dropped", "open at"}


def test_minutes_days_and_items_of_a_sentence_are_of_the_same_lines(bare: Make, line: Make) -> None:
    """One line buys 300 min and drops 1,000 items; the other buys nothing and would drop 500 more."""
    buying = line("age-limit", bought_min=300.0, stale_bought_min=200.0, lost_more=1_000.0)
    idle = line("age-limit", id="age-limit:queues.other", bought_min=0.0, stale_bought_min=0.0, lost_more=500.0)
    portfolio = build_portfolio([bare("Orders", plan=[buying, idle])])
    (total,) = portfolio.changes
    assert (total.lost_more, total.buying_lost_more) == (1_500, 1_000)
    sentence = next(text for text in summary(portfolio) if "buys most" in text)
    assert "for about 2 person-days. It drops 1,000 items there" in sentence
    assert sentence.endswith(
        "1 other line, which buys nothing alone, would take 2 person-days more and drop 500 more items."
    )
    figure = changes_figure(portfolio)
    assert figure is not None
    assert figure.table.rows[0][3] == "1,000"
    assert "with 1,000 items dropped there" in figure.alt


def test_what_ends_a_never_buys_more_than_minutes(bare: Make, line: Make) -> None:
    """46.9 min at one team were told of as what buys most, beside a change without which another is stale for ever."""
    cap = line(bought_min=None, stale_bought_min=None, ends_never=True, stale_ends_never=True)
    costing = line(bought_min=0.0, cost_min=4.0, stale_cost_min=4.0)
    age = line("age-limit", bought_min=46.9, stale_bought_min=46.9, lost_more=90_000.0)
    portfolio = build_portfolio([bare("Media", plan=[cap]), bare("Search", plan=[age, costing])])
    assert [item.id for item in portfolio.changes] == ["drain-cap", "age-limit"]
    [sentence] = [text for text in summary(portfolio) if "buys most" in text]
    assert sentence.startswith(
        "The change that buys most is “Drain cap”: it ends stale without end at 1 team of the 2 where it is open, for about "
        "2 person-days. No more items expire or are discarded there for it."
    )
    assert "– ends a never at 1 team; costs 4 min elsewhere" in words_of(portfolio)
    figure = changes_figure(portfolio)
    assert figure is not None
    assert [(row[0], row[4]) for row in figure.table.rows] == [("Drain cap", "1"), ("Age limit", "0")]
    assert figure.chart["data"]["values"][0]["change"] == "Ends a never at 1 team: Drain cap"
    assert "First: Ends a never at 1 team: Drain cap, 0 min stale" in figure.alt


def test_minutes_with_the_plan_are_told_by_who_has_an_end_today(bare: Make) -> None:
    """59 min of one team today stood beside 44 min of two with the plan, as if the one had become the other."""
    records = [
        bare("Media", results={"fresh_min": None, "planned_fresh_min": 30.5}),
        bare("Search", results={"fresh_min": 59.4, "planned_fresh_min": 13.3}),
    ]
    words = words_of(build_portfolio(records))
    assert (
        "44 min with every open change in place: 13.3 min at 1 team that has an end today, and 30.5 min at 1 team without end "
        "today"
    ) in words
    assert "that has an end today" not in words_of(build_portfolio(records[1:]))


def test_a_team_that_is_stale_for_ever_has_a_bar(bare: Make) -> None:
    records = [
        bare("Media", results={"fresh_min": None, "planned_fresh_min": 30.5}),
        bare("Search", results={"fresh_min": 60.0, "planned_fresh_min": 13.3}),
    ]
    figure = stale_figure(build_portfolio(records))
    assert figure is not None
    first = figure.chart["data"]["values"][0]
    assert (first["team"], first["case"], first["says"]) == ("Media", "today", "never")
    assert first["minutes"] > 60
    assert "longer than every time that ends" in figure.notes[0]
    whole = stale_figure(build_portfolio(records[1:]))
    assert whole is not None
    assert not whole.notes


def test_a_change_that_ends_a_never_and_buys_minutes_tells_of_both(bare: Make, line: Make) -> None:
    records = [
        bare("A", plan=[line(bought_min=None, ends_never=True)]),
        bare("B", plan=[line(bought_min=30.0, stale_bought_min=20.0)]),
        bare("C", plan=[line(bought_min=0.0)]),
    ]
    [sentence] = [text for text in summary(build_portfolio(records)) if "buys most" in text]
    assert (
        "“Drain cap”: it ends a drain without end at 1 team, and buys 20 min stale and 30 min of drain besides, in all at "
        "2 teams of the 3 where it is open, for about 4 person-days."
    ) in sentence


def test_the_page_marks_what_is_met_alone_and_missed_together(bare: Make, queue: Make) -> None:
    verdict = {
        "name": "fresh",
        "subject": "team",
        "limit": 240.0,
        "value": 86.0,
        "level": "likely",
        "met": True,
        "words": "",
    }
    item = {
        "name": "db",
        "shared_as": "ledger-db",
        "tested_rate_per_min": 2_520.0,
        "direct_rate_per_min": 0.0,
        "control_rate_per_min": 0.0,
    }
    short = queue(backlog=51_600.0, dependency="db", drain_min=86.0, fresh_min=86.0)
    shares = {"dependencies": [item], "queues": [short]}
    records = [bare(name, met=True, verdicts=[verdict], shares=shares, results={"fresh_min": 86.0}) for name in "AB"]
    words = words_of(build_portfolio(records))
    assert "0 of 2 teams within their recovery objective, and 2 more only if restored alone" in words
    assert "within 240 min; 860 min together: ledger-db" in words
    assert words.count("met alone, missed together") == 2
    assert "Of those that meet it, 2 would miss it with all teams restored together." in words


def test_the_page_says_by_what_a_team_was_judged(bare: Make) -> None:
    """--objective replaces the scenario's own: told of 240 min where the run had asked for 500."""

    def verdict(name: str, limit: float) -> dict[str, Any]:
        return {
            "name": name, "subject": "team", "limit": limit, "value": 344.0, "level": "likely", "met": True, "words": "",
        }  # fmt: skip

    own = bare("A", met=False, verdicts=[{**verdict("fresh", 240.0), "met": False}])
    words = words_of(build_portfolio([own, bare("B", met=None)]))
    assert "0 of 1 teams within their recovery objective" in words
    assert "missed within 240 min" in words
    assert "not judged within" not in words
    assert "The recovery objective is met by 0 and missed by 1." in words
    asked = [verdict("fresh", 500.0), verdict("multiplier", 10.0), verdict("lost", 0.0), verdict("attempts", 3000.0)]
    words = words_of(build_portfolio([bare("A", met=True, verdicts=asked), bare("B", met=True, verdicts=asked[:1])]))
    assert "2 of 2 teams that meet all objectives of this run" in words
    assert "fresh at most 500 min; multiplier at most 10; lost at most 0; attempts at most 3,000/min" in words
    assert "met within 500 min" in words
    assert "240 min" not in words
    assert "All objectives of this run are met by 2 and missed by 0." in words


def test_every_team_has_a_bar_of_its_own(bare: Make) -> None:
    """Names that are the same when cut were one bar, of the sum of their minutes."""
    long = "Payments reconciliation and settlement of cards, "
    names = [f"{long}{place}" for place in ("east", "west", "north")]
    figure = stale_figure(build_portfolio([bare(name, results={"fresh_min": 300.0}) for name in (*names, "Short")]))
    assert figure is not None
    today = [item["team"] for item in figure.chart["data"]["values"] if item["case"] == "today"]
    assert len(today) == len(set(today)) == 4
    assert all(len(name) <= 44 for name in today)
    assert [row[0] for row in figure.table.rows if row[0] != "Short"] == sorted(names, reverse=True)


def test_a_shared_limit_keeps_the_name_that_teams_gave_it(bare: Make, queue: Make) -> None:
    def broken(shared_as: str | None) -> str:
        item = {
            "name": "stock in hand",
            "shared_as": shared_as,
            "tested_rate_per_min": 2_000.0,
            "direct_rate_per_min": 0.0,
            "control_rate_per_min": 0.0,
        }
        shares = {"account": "1", "region": "r", "dependencies": [item], "queues": [queue(dependency="stock in hand")]}
        (limit,) = [
            each for each in build_portfolio([bare(n, shares=shares) for n in "AB"]).shared if each.kind == "dependency"
        ]
        return limit_name(limit, short=True)

    assert broken("orders in eu") == "orders in eu"
    assert broken(None) == "stock in hand"


def test_the_page_of_an_interrupted_run(bare: Make) -> None:
    before = json.loads(index_json(build_portfolio([bare(name) for name in "ABC"])))
    cut = [(name.lower(), name, f"{name}.yaml", "cancelled", "not done: the batch was interrupted") for name in "BC"]
    portfolio = build_portfolio([bare("A")], cut, before)
    words = words_of(portfolio)
    assert "3 teams; 2 not done." in words
    assert "no sum is compared with the last run" in words
    assert "in the last run" not in words.replace("compared with the last run", "")
    assert "What failed" not in words
    assert "0 of no" not in words


def test_sums_over_other_teams_say_over_how_many(bare: Make) -> None:
    before = json.loads(index_json(build_portfolio([bare("A", results={"fresh_min": 400.0}), bare("B")])))
    failed = [("b", "Ledger", "b.yaml", "input", "broken")]
    words = words_of(build_portfolio([bare("A"), bare("C")], failed, before))
    assert (
        "688 min stale in all after the restore, 11 h 28 min better, 400 min in the last run, 344 min now, over the 1 team"
        in words
    )
    assert "Ledger" in words


def test_the_top_changes_are_those_for_what_is_missed(bare: Make, line: Make) -> None:
    plan = [line(id=f"fresh-first:queues.{name}", change="fresh-first", title="Fresh first", stale_bought_min=minutes)
            for name, minutes in (("a", 230.0), ("b", 0.0))]  # fmt: skip
    first = [
        {
            "line": item["id"],
            "part": item["target"],
            "measure": "fresh_min",
            "alone": alone,
            "before": before,
            "after": 10.0,
        }
        for item, alone, before in zip(plan, (True, False), (240.0, None), strict=True)
    ]
    more = line("more-consumers", bought_min=900.0, stale_bought_min=900.0)
    words = words_of(build_portfolio([bare("A", plan=[*plan, more], first=first)]))
    assert "Fresh first, at 2 places" in words
    assert "jobs: 240 min to 10 min; jobs: never to 10 min with the changes above it; at most 230 min stale" in words


def test_hostile_text_stays_text(bare: Make, queue: Make, fleet: Make, line: Make) -> None:
    records = []
    for place, name in enumerate(HOSTILE):
        shares = {
            "account": HOSTILE[0], "region": name, "queues": [queue(name, dependency=name)], "fleets": [fleet(name)],
            "dependencies": [{"name": name, "shared_as": HOSTILE[1], "tested_rate_per_min": 100.0, "direct_rate_per_min": 5.0,
                "control_rate_per_min": 0.0}],
        }  # fmt: skip
        costs = {"stale_minute": 1.0, "person_day": 1.0, "currency": name}
        results = {"worst_queue": name, "slowest_fleet": name, "worst_stack": name}
        links = {"packet": name, "plan_md": f"//{name}"}
        plan = [line(title=name, target=name)]
        records += [
            bare(name, id=f"{name}{place}{n}", shares=shares, plan=plan, results=results, links=links, costs=costs)
            for n in range(2)
        ]
    failures = [(name, name, name, name, name) for name in HOSTILE]
    page = index_html(build_portfolio(records, failures))
    texts = read(page)
    assert texts.tags.count("script") == page.count("<script")
    assert "window.pwned = 1</script>" not in page
    assert "img" not in texts.tags
    assert "<b>bold" not in page
    plain = " ".join(texts.words)
    assert "{{ 7 * 7 }}{% raise %}" in plain
    for link in texts.links:
        assert not re.match(r"(?i)[a-z][a-z0-9+.-]*:|//", link) or link == "data:,", link
    assert json.loads(index_json(build_portfolio(records, failures)))["failures"][0]["text"] in HOSTILE


def test_without_any_team(bare: Make) -> None:
    page = index_html(build_portfolio([], FAILURES))
    assert "bad.yaml:3" in page
    assert "vegaEmbed=" not in page
    assert "No two teams name the same" in page
    assert index_html(build_portfolio([]))


def test_the_json_holds_every_number_of_the_page(records: Records) -> None:
    portfolio = build_portfolio(records, FAILURES)
    index = json.loads(index_json(portfolio))
    assert (index["index"], len(index["teams"]), len(index["failures"])) == (1, len(records), 2)
    assert index["totals"]["stale_min"] == pytest.approx(sum(r["results"]["fresh_min"] or 0 for r in records))
    assert [item["key"] for item in index["shared"]] == [item.key for item in portfolio.shared]
    assert {item["id"] for item in index["teams"]} == {item["id"] for item in records}
