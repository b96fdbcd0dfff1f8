"""The backlog chapter has each queue alone, and says so where the coupled recovery is another one."""

from __future__ import annotations

import pytest

from afterload.chapters import Workbook
from afterload.figures import Figure
from afterload.figures.moving import GROUPS
from afterload.scenario import load_scenario

ORDERS = "builtin:scenarios/orders.yaml"
# 2,500/min of drain and 600/min of direct traffic are more than the 3,000/min that orders-table bears.
OVER = "queues.orders.service_rate=2500/min"
NEVER = (
    "with its dependency, retries and fleets acting on each other it is never drained, since orders-table is pushed over its "
    "capacity"
)
FIGURES = ("backlog", "first_attempt_age", "catch_up")


def test_a_drain_that_never_comes_is_said_beside_that_of_the_queue_alone():
    said = Workbook(load_scenario(ORDERS, [OVER])).backlog_answer().text
    assert "orders: 206,400 items wait at the restore and, the queue alone, take 159 min (2 h 39 min) to drain" in said
    assert f"That is not what counts: {NEVER}; see the chapter on the recovery." in said


@pytest.mark.parametrize("figure", FIGURES)
def test_every_figure_of_the_queue_alone_notes_it(figure):
    shown = getattr(Workbook(load_scenario(ORDERS, [OVER])), figure)()
    assert isinstance(shown, Figure)
    assert f"orders: {NEVER}." in shown.notes[0]
    assert "of each queue alone" in shown.alt


def test_a_later_end_is_said_with_its_minutes():
    book = Workbook(load_scenario(ORDERS, ["queues.orders.fleet=checkout-api"]))
    assert book.recovery is not None
    later = float(book.recovery.today.result.drain_min[0, 0])
    assert later > 344
    assert "the queue alone, take 344 min" in book.backlog_answer().text
    assert f"acting on each other it is drained {later:,.0f} min" in book.backlog_answer().text


@pytest.mark.parametrize("figure", FIGURES)
def test_nothing_is_added_where_both_agree(figure):
    book = Workbook(load_scenario(ORDERS))
    assert "alone" not in book.backlog_answer().text
    shown = getattr(book, figure)()
    assert not any("alone" in note for note in shown.notes)
    assert "alone" not in shown.alt


def test_the_forms_sentences_say_it_once_the_recovery_is_there():
    book = Workbook(load_scenario(ORDERS, [OVER]))
    answer = GROUPS["Queues"].answer
    assert answer(book.estimates, book.recovery).text == book.backlog_answer().text
    assert "not what counts" not in answer(book.estimates, None).text
