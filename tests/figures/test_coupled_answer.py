"""The first page and the terminal tell the coupled recovery, and nothing else beside it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from afterload.chapters import Workbook
from afterload.figures.recovery import dependency_sentences
from afterload.recovery.build import couple
from afterload.recovery.result import estimate_recovery
from afterload.resources import resource
from afterload.scenario import load_scenario, load_scenario_text

ORDERS = "builtin:scenarios/orders.yaml"


def answer(*overrides):
    return Workbook(load_scenario(ORDERS, list(overrides))).answer()


def test_a_drain_that_pushes_its_dependency_down_is_said():
    # 2,500/min of drain and 600/min of direct traffic are more than the 3,000/min that orders-table bears.
    page = answer("queues.orders.service_rate=2500/min")
    assert "at these rates fresh work is never on time again." in page.text
    assert "Dependency orders-table: collapsed without end at these rates" in page.text
    # It is not more of it that is lacking: 2,060/min would do.
    assert "/min of service to meet" not in page.text
    assert "It needs 2,060/min of service to meet" in answer("queues.orders.service_rate=1100/min").text


def test_the_first_tile_is_the_coupled_result():
    def tile(page):
        return next(line for line in page.text.split("\n") if "(inputs" in line)

    never = tile(answer("queues.orders.service_rate=2500/min"))
    assert never.startswith("never at these rates fresh work is on time again (orders) (inputs")
    assert tile(answer()).startswith("516 min of stale processing (orders) (inputs")
    book = Workbook(load_scenario(ORDERS, ["queues.orders.fleet=checkout-api"]))
    assert book.recovery is not None
    later = 172 + float(book.recovery.today.result.fresh_age_back_min[0, 0])
    assert later > 516
    assert tile(book.answer()).startswith(f"{later:,.0f} min of stale processing (orders)")


def test_a_tested_rate_in_place_of_a_capacity_is_a_lower_bound():
    """A load test shows what is borne; the capacity is at least that."""
    words = "no capacity is given, so the tested rate of 3,000/min is taken for it"
    shown = Workbook(load_scenario(ORDERS)).doubts().text
    assert f"Lower bound (dependencies.orders-table): {words}" in shown
    given = Workbook(load_scenario(ORDERS, ["dependencies.orders-table.capacity=4000/min"])).doubts().text
    assert "Lower bound" not in given
    assert "no figure is a known lower bound" in given


def test_what_the_coupled_recovery_assumes_is_among_the_doubts():
    # A range of a tested rate counts for nothing where the capacity is given.
    table, values = (
        "dependencies.orders-table",
        ("capacity=4000/min", "tested_rate.low=2900/min", "tested_rate.high=3100/min"),
    )
    paths = (table, f"uncertain.{table}", f"uncertain.{table}")
    changes = [f"{path}.{value}" for path, value in zip(paths, values, strict=True)]
    book = Workbook(load_scenario(ORDERS, changes))
    assert book.recovery is not None
    assert book.recovery.coupling.doubts
    for doubt in book.recovery.coupling.doubts:
        part, _, words = doubt.text.partition(": ")
        assert f"{words}." in book.doubts().text
        assert part in book.doubts().text


def test_what_shortens_the_recovery_follows_the_first_line_of_the_plan():
    first, second = answer().text.split("\n1. ")[1].split("\n")[:2]
    assert "line 1 of the plan" in first
    assert "Buys 314 min of drain" in second


@pytest.mark.parametrize("rate", ["2500/min", "1800/min"])
def test_check_says_the_same(rate, capsys, monkeypatch):
    import sys

    from afterload import cli

    monkeypatch.setattr(sys, "argv", ["afterload", "check", ORDERS, "--set", f"queues.orders.service_rate={rate}"])
    cli.main()
    said = capsys.readouterr().out
    assert ("drain never at these rates." in said) is (rate == "2500/min")
    assert ("drain 344 min (5 h 44 min)." in said) is (rate == "1800/min")


RANGE = ("uncertain.queues.orders.service_rate.low=1600/min", "uncertain.queues.orders.service_rate.high=2000/min")


def test_a_verdict_over_uncertain_inputs_is_that_at_p90():
    # Likely 344 min: within 400 min, but nine of ten draws take longer to stay within.
    page = answer("recovery_objective=400 min", *RANGE)
    assert "344 min after the restore; the objective of 400 min is met at the likely inputs." in page.text
    assert "at P90 the objective of 400 min is missed by" in page.text
    # P10 to P90 stands among the large numbers, before those without a range.
    assert "P10 to P90 until fresh work is on time after the restore" in page.html.split("</div>")[0]
    assert "af-big" in page.html.split("</div>")[0]
    assert "P90" not in answer("recovery_objective=400 min").text


def test_a_verdict_is_that_of_the_coupled_recovery():
    # At 2,450/min of service, with 600/min of direct traffic, orders-table gets more than it bears.
    assert "fresh work is never on time again" in answer("queues.orders.service_rate=2450/min").text
    text = answer("queues.orders.service_rate=1800/min").text
    assert "to drain, so processing is stale for" in text
    assert "344 min after the restore; the objective of 240 min is missed by" in text


def test_check_says_p10_to_p90_and_the_verdict(capsys, monkeypatch):
    import sys

    from afterload import cli

    given = [word for text in ("recovery_objective=400 min", *RANGE) for word in ("--set", text)]
    monkeypatch.setattr(sys, "argv", ["afterload", "check", ORDERS, *given])
    cli.main()
    shown = capsys.readouterr().out
    [line] = [line for line in shown.splitlines() if "P90" in line]
    assert line in answer("recovery_objective=400 min", *RANGE).text


def test_a_range_whose_ends_read_the_same_is_one_number():
    same = (
        "uncertain.queues.orders.service_rate.low=1799.9/min",
        "uncertain.queues.orders.service_rate.high=1800.1/min",
    )
    page = answer(*same)
    assert "\n344 min P10 to P90 until fresh work is on time" in page.text
    assert "344 min to 344 min" not in page.text
    assert "back at baseline 344 min (P10 and P90 alike) after the restore" in page.text


def test_the_answer_names_the_backlog_of_every_queue(tmp_path):
    """172 min x 100/min and x 200/min wait, and 60/min and 120/min are left to work them off: 287 min each."""
    text = resource("data", "scenarios", "orders.yaml").read_text(encoding="utf-8")
    more = "".join(
        f"  {name}: {{arrival_rate: {arrives}/min, service_rate: {served}/min, retention: 4 days}}\n"
        for name, arrives, served in (("a", 100, 160), ("b", 200, 320))
    )
    assert text.count("\nqueues:\n") == 1
    text = text.replace("\nqueues:\n", f"\nqueues:\n{more}")
    shown = Workbook(load_scenario_text(text, tmp_path / "t.yaml")).answer().text
    assert (
        "Waiting at the restore in other queues: a 17,200 items (drained 287 min after it), b 34,400 items "
        "(drained 287 min after it)."
    ) in shown


def test_what_is_simulated_from_the_restore_on_has_no_line_before_it():
    """600 instances run before the restore and 3,600 are needed: no line may begin at none."""
    figure = Workbook(load_scenario(ORDERS)).recovery_course()
    points = [
        row
        for part in figure.chart["vconcat"]
        for layer in part["layer"]
        for row in layer["data"]["values"]
        if "what" in row
    ]
    first = {}
    for row in points:
        first.setdefault(row["what"], row)
    for what in ("attempts on orders-table", "checkout-api in service"):
        assert first[what]["from_restore"] >= 0
        assert first[what]["value"] > 0
    assert first["checkout-api in service"]["value"] >= 600
    assert first["orders, live"]["from_restore"] == -172
    words = "Attempts and instances in service are simulated from the restore on"
    assert words in figure.alt
    assert any(words in note for note in figure.notes)


def with_result(found, result):
    today = replace(found.today, trace=replace(found.today.trace, result=result))
    return replace(found, today=today)


def test_a_collapse_is_told_with_how_long_it_lasts():
    found = estimate_recovery(couple(load_scenario(ORDERS)))
    assert dependency_sentences(found) == []
    result = replace(found.today.result, time_collapsed_min=np.array([[12.0]]), healed_at_min=np.array([[12.0]]))
    (line,) = dependency_sentences(with_result(found, result))
    assert line.startswith("Dependency orders-table: collapsed for 12 min after the restore, then heals; at most ")
    late = replace(result, healed_at_min=np.array([[np.nan]]), never=np.array([False]))
    (line,) = dependency_sentences(with_result(found, late))
    assert "collapsed, and not healed within " in line
    assert "where the simulation ends" in line
