"""The first page and the terminal tell where the coupled recovery is another one than that of the queue alone."""

from __future__ import annotations

import pytest

from afterload.chapters import Workbook
from afterload.scenario import load_scenario

ORDERS = "builtin:scenarios/orders.yaml"


def answer(*overrides):
    return Workbook(load_scenario(ORDERS, list(overrides))).answer()


def test_the_example_alone_and_coupled_agree():
    assert "That is what counts" not in answer().text


def test_a_drain_that_pushes_its_dependency_down_is_said_first():
    # 2,500/min of drain and 600/min of direct traffic are more than the 3,000/min that orders-table bears.
    page = answer("queues.orders.service_rate=2500/min")
    words = "orders alone would take 159 min (2 h 39 min) to drain; with its dependency, retries and fleets acting on each other"
    assert words in page.text
    assert "it is never drained, since orders-table is pushed over its capacity" in page.text
    assert page.html.index("alone would take") < page.html.index("af-headline")


def test_a_fleet_that_is_missing_makes_it_longer():
    page = answer("queues.orders.fleet=checkout-api")
    assert "with its dependency, retries and fleets acting on each other it is drained" in page.text


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
    assert ("it is never drained" in capsys.readouterr().out) is (rate == "2500/min")


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
    # 165 min alone, at 2,450/min of service; with 600/min of direct traffic that is more than orders-table bears.
    text = answer("queues.orders.service_rate=2450/min").text
    assert "for orders alone, and never at these rates with everything acting on each other" in text
    assert "the objective of 240 min is missed without end" in text


def test_check_says_p10_to_p90_and_the_verdict(capsys, monkeypatch):
    import sys

    from afterload import cli

    given = [word for text in ("recovery_objective=400 min", *RANGE) for word in ("--set", text)]
    monkeypatch.setattr(sys, "argv", ["afterload", "check", ORDERS, *given])
    cli.main()
    shown = capsys.readouterr().out
    [line] = [line for line in shown.splitlines() if "P90" in line]
    assert line in answer("recovery_objective=400 min", *RANGE).text
