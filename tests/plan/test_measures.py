"""Every measure of a line with its spread: on the page, in Markdown, the same as in the JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.plan.test_catalogue import BUDGET, LASTING, MISSING, fleet, one

from afterload.figures.figure import Figure
from afterload.figures.plan import plan_answer, plan_details, plan_table
from afterload.figures.worth import before_after_figure
from afterload.plan import plan_markdown
from afterload.plan.measures import MeasureLines, measure_lines, still_words
from afterload.plan.wording import worth
from afterload.plan.worth import CASES, MEASURES, Difference, Worth
from afterload.units import format_minutes

Make = Callable[..., Any]
STALE = {**LASTING, "goes_stale_after": "15 min"}
UNCERTAIN = {"queues.q.arrival_rate": {"low": "1,100/min", "high": "1,300/min"}}


def rows(lines: MeasureLines) -> dict[str, tuple[str, ...]]:
    return {row[0]: row[1:] for row in lines.rows}


def test_without_uncertain_inputs_the_range_is_the_difference(make: Make) -> None:
    made = make(**one(**STALE))
    found = measure_lines(made.line("age-limit:queues.q"))
    # 1,200 x 172 items, of which those of the last 15 min are left; 600 a minute of room.
    assert rows(found)["backlog empty after"][0] == "344 min to 30 min (314 min less)"
    assert rows(found)["first-attempt age at baseline after"][0] == "344 min to 30 min (314 min less)"
    assert rows(found)["items expired, lost or discarded"][0] == "0 to 188,400 (188,400 more)"
    assert "peak attempts" in found.still
    assert "lowest capacity, of what is needed" in found.still
    assert "this scenario has none" in plan_answer(made.plan).text


def test_uncertain_inputs_give_every_measure_its_p10_to_p90(make: Make) -> None:
    made = make(**one(**STALE), uncertain=UNCERTAIN)
    item = made.line("age-limit:queues.q")
    assert item.worths is not None
    found = rows(measure_lines(item))
    for name, words in (("empty_min", "backlog empty after"), ("fresh_min", "first-attempt age at baseline after")):
        part = item.worths[CASES[0]].alone[name]
        assert part.p10 is not None
        assert part.p90 is not None
        assert part.p10 < part.p90
        assert found[words][0] == f"344 min to 30 min ({format_minutes(part.p10)} to {format_minutes(part.p90)} less)"
    # Of 172 min all but the last 15 expire, at 1,100 to 1,300 a minute.
    lost = item.worths[CASES[0]].alone["lost"]
    assert lost.p10 is not None
    assert lost.p90 is not None
    assert -157 * 1_300 <= lost.p10 < lost.p90 <= -157 * 1_100
    assert f"0 to 188,400 ({-lost.p90:,.0f} to {-lost.p10:,.0f} more)" == found["items expired, lost or discarded"][0]
    assert "over 1,000 draws of the uncertain inputs" in plan_answer(made.plan).text


def test_capacity_is_better_when_there_is_more(make: Make) -> None:
    made = make(**one(**LASTING, fleet="f"), **fleet(**MISSING))
    found = rows(measure_lines(made.line("provisioned-capacity:fleets.f")))
    assert found["lowest capacity, of what is needed"][0] == "16.7 % to 100 % (83.3 % more)"


def test_page_and_markdown_hold_every_row(make: Make) -> None:
    made = make(**one(**STALE), uncertain=UNCERTAIN)
    details, text = plan_details(made.plan), plan_markdown(made.plan, made.estimates)
    assert made.plan.open
    for item in made.plan.open:
        if item.worths is None:
            continue
        found = measure_lines(item)
        assert still_words(found) in details.text
        assert still_words(found) in details.html
        for row in found.rows:
            assert all(cell in details.html and cell in details.text for cell in row)
            assert f"| {' | '.join(row)} |" in text


def made_worth(**parts: Difference) -> Worth:
    still = Difference(5.0, 5.0, 0.0, 0.0)
    alone = {name: parts.get(name, still) for name in MEASURES}
    return Worth(alone, alone, alone)


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (Difference(10, 4, 5, 7), "10 min to 4 min (5 min to 7 min less)"),
        (Difference(4, 10, -7, -5), "4 min to 10 min (5 min to 7 min more)"),
        (Difference(10, 8, -1, 4), "10 min to 8 min (1 min more to 4 min less)"),
        (Difference(10, 8, 0, 4), "10 min to 8 min (0 min to 4 min less)"),
        (Difference(10, 10, 0, 3), "10 min to 10 min (0 min to 3 min less)"),
        (Difference(None, 8, None, None), "never to 8 min"),
        (Difference(8, None, None, None), "8 min to never"),
        (Difference(10, 8, 1, None), "10 min to 8 min (never in some draws)"),
        (Difference(None, None, 0, None), "never to never (never in some draws)"),
    ],
)
def test_a_range_has_words_for_its_direction(make: Make, item: Difference, words: str) -> None:
    from dataclasses import replace

    line = make(**one(**LASTING)).line("drain-cap:queues.q")
    worths = dict.fromkeys(CASES, made_worth(empty_min=item))
    found = measure_lines(replace(line, worths=worths))
    assert found.rows == (("backlog empty after", words, words, words),)


def test_time_down_that_has_no_end_is_not_never_down(make: Make) -> None:
    """Never to 0 min would read as if the dependency had not been down at all."""
    made = make(**BUDGET)
    ending = [
        item
        for item in made.plan.open
        if item.worths is not None and item.worths[CASES[0]].alone["collapsed_min"].ended
    ]
    assert ending
    for item in ending:
        cell = rows(measure_lines(item))["dependency down for"][0]
        assert cell.startswith("without end to ")
        assert "Time that it then stays down: never" not in worth(item)
    whole = " ".join(row[3] for row in before_after(made) if row[0] == "dependency down for")
    today = [row[2] for row in before_after(made) if row[0] == "dependency down for"]
    assert set(today) == {"without end"}
    assert "never" not in whole


def before_after(made: Any) -> tuple[tuple[str, ...], ...]:
    figure = before_after_figure(made.plan, made.estimates)
    assert isinstance(figure, Figure)
    return figure.table.rows


def test_a_line_that_ends_a_never_says_after_how_long(make: Make) -> None:
    """In a column of what is bought "ends never" read as if there were no end, of all lines with the best."""
    made = make(**BUDGET)
    ending = [item for item in made.plan.open if item.drain is not None and item.drain.ended]
    assert ending
    shown = {item.id: f"never to {format_minutes(item.planned_min or 0.0)}" for item in ending}
    table = plan_table(made.plan)
    cells = dict(zip((item.id for item in made.plan.about), (row[table.columns.index("drain bought")] for row in table.rows),
                     strict=True))  # fmt: skip
    assert {name: cells[name] for name in shown} == shown
    text = plan_markdown(made.plan, made.estimates)
    assert all(f"| {words} |" in text for words in shown.values())
    idle = [
        item
        for item in made.plan.open
        if item.drain is not None and (item.drain.before, item.drain.after) == (None, None)
    ]
    assert all(cells[item.id] == "none" for item in idle)
    assert "ends never" not in table.to_text() + text


def test_what_moves_nothing_says_so(make: Make) -> None:
    line = make(**one(**LASTING)).line("measure-recovery:team")
    assert measure_lines(line) == MeasureLines((), ())
    assert still_words(MeasureLines((), ("a",))) == "Moves no measure of the recovery, in any draw."


def sentences(answer: Any) -> list[str]:
    return [line for line in answer.text.split("\n") if line.startswith("The change ")]


def test_the_answer_names_the_best_line_once_and_leaves_the_rest_to_it(make: Make) -> None:
    made = make(**one(**STALE))
    place = [item.id for item in made.plan.about].index("age-limit:queues.q") + 1
    assert sentences(plan_answer(made.plan)) == [
        f"The change with the most minutes is line {place}, an age limit and an on-failure destination where work goes stale on "
        "queues.q. Buys 314 min of drain (344 min to 30 min) at the price of 188,400 items expired or discarded, no items today."
    ]


def test_the_answer_names_what_ends_a_drain_that_never_ends(make: Make) -> None:
    """No minutes are bought of never, so that the change that is worth most had no word in the answer."""
    made = make(**BUDGET)
    ending = {item.id: item.planned_min for item in made.plan.open if item.drain is not None and item.drain.ended}
    assert len(ending) > 1
    assert not any(item.bought_min for item in made.plan.open)
    [best] = [item for item in made.plan.about if item.planned_min == min(ending.values()) and item.id in ending][:1]
    [sentence] = sentences(plan_answer(made.plan))
    assert sentence.startswith(
        f"The change that alone ends the drain soonest is line {made.plan.about.index(best) + 1}, "
    )
    assert sentence.endswith(f"Brings the drain from never to {format_minutes(best.planned_min)}.")
    assert "In brackets behind a measure" in plan_answer(made.plan).text


def test_a_plan_that_buys_no_minutes_names_no_line(make: Make) -> None:
    made = make(**fleet(**MISSING))
    assert made.plan.open
    assert sentences(plan_answer(made.plan)) == []
