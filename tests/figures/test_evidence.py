"""What the headline numbers rest on: bases, ages, and doubts about old or changed evidence."""

from __future__ import annotations

import pytest

from afterload.chapters import Workbook
from afterload.resources import resource
from afterload.scenario import load_scenario_text

ORDERS = resource("data", "scenarios", "orders.yaml").read_text(encoding="utf-8")
EVIDENCE = """
as_of: 2025-11-20T00:00Z
evidence_limit: 14 days
evidence:
  queues.orders.arrival_rate:
    { basis: measured, value: "1,200/min", file: sent.json, place: row 7, exported_at: 2025-11-01T00:00Z }
  queues.orders.service_rate: { basis: measured, value: "2,000/min", file: done.json, exported_at: 2025-11-15T00:00Z }
  fleets.checkout-api.running: { basis: measured, value: 600, file: asg.json, exported_at: 2025-11-19T12:00Z }
"""


@pytest.fixture(scope="module")
def workbook():
    return Workbook(load_scenario_text(ORDERS + EVIDENCE, "orders.yaml"))


def test_every_headline_number_says_what_it_rests_on(workbook):
    text = workbook.answer().text
    assert (
        "516 min of stale processing (orders) (inputs: 1 measured, 2 stated, 1 changed since it was measured)" in text
    )
    assert "19.2 min to launch what checkout-api lacks (inputs: 1 measured, 2 no source)" in text
    assert text.count("(inputs: ") == 3
    assert workbook.answer().html.count('class="af-basis"') == 3


def test_each_input_names_file_place_and_age(workbook):
    rows = {row[1]: row for row in workbook.evidence().rows}
    assert rows["queues.orders.arrival_rate"][2:] == ("1,200/min", "measured", "sent.json row 7", "19 days")
    assert rows["fleets.checkout-api.running"][2:] == ("600", "measured", "asg.json", "less than a day")
    assert rows["queues.orders.service_rate"][3] == "changed since it was measured"
    assert "done.json has 2,000/min" in rows["queues.orders.service_rate"][4]


def test_old_and_changed_evidence_is_said_at_the_top(workbook):
    text = workbook.answer().text
    assert "Old evidence: 1 of 3 values come from exports older than 14 days (the oldest 19 days)" in text
    assert "Changed by hand since it was measured: queues.orders.service_rate." in text


def test_fresh_evidence_raises_no_doubt():
    text = ORDERS + EVIDENCE.replace("14 days", "30 days").replace('"2,000/min"', '"1,800/min"')
    answer = Workbook(load_scenario_text(text, "orders.yaml")).answer().text
    assert "Old evidence" not in answer
    assert "Changed by hand" not in answer


def test_without_a_moment_the_age_is_told_for_today():
    text = ORDERS + EVIDENCE.replace("as_of: 2025-11-20T00:00Z\n", "")
    assert "Old evidence: 2 of 3" in Workbook(load_scenario_text(text, "orders.yaml")).answer().text
