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
