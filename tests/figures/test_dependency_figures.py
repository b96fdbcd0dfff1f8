"""Hidden capacity of direct traffic by its own attempts, that of the mix by their mean, and a map that says which it draws."""

from __future__ import annotations

import re

import pytest

from afterload.chapters import Workbook
from afterload.scenario import load_scenario_text

DIRECT = """
team: Media
time_zone: UTC
recovery_objective: 120 min
incident: {name: outage, trigger: 2026-09-14T09:10Z, restored_at: 2026-09-14T10:45Z}
dependencies:
  db: {tested_rate: 58/s, direct_rate: 5/s, state_at_restore: collapsed}
call_stacks:
  upload:
    failure_probability: 90 %
    dependency: db
    request_rate: 5/s
    layers:
      - {name: app, tries: 3}
      - {name: gateway, tries: 2}
      - {name: sdk, tries: 4}
"""
QUEUE = """
queues:
  ingest: {arrival_rate: 40/s, service_rate: 55/s, item_time: 300 ms, dependency: db}
"""


def book(text: str, *changes: str) -> Workbook:
    return Workbook(load_scenario_text(text, "media.yaml", changes))


@pytest.mark.parametrize("queue", ["", QUEUE])
def test_direct_traffic_alone_is_judged_by_its_own_attempts(queue):
    """3,480/min over 3 x 2 x 4 attempts is 145/min, whether a queue drains beside it or not; 300/min is above it."""
    found = book(DIRECT + queue)
    [row] = found.hidden_capacity().table.frame.to_dict("records")
    assert row["attempts of direct traffic"] == "24"
    assert row["hidden capacity for direct traffic alone"] == "145/min"
    assert row["class of direct traffic alone"] == "vulnerable"
    assert "24 attempts" in found.dependency_answer().text
    assert "145/min" in found.dependency_answer().text


def test_the_mean_with_the_drains_is_called_a_mix():
    """(300 x 24 + 3,300 x 3) / 3,600 attempts are 4.75, over which 3,480/min are 732.6/min."""
    found = book(DIRECT + QUEUE)
    text, [row] = found.dependency_answer().text, found.hidden_capacity().table.frame.to_dict("records")
    assert (row["mean attempts while failing"], row["hidden capacity for this mix"]) == ("4.75", "732.6/min")
    assert (
        "hidden capacity for direct traffic alone is 145/min; that traffic is 300/min, vulnerable: once down it" in text
    )
    assert "In the mix of the recovery a request costs 4.75 attempts, the mean over direct traffic and drains" in text
    assert "the hidden capacity for this mix, up to which it heals by itself, is 732.6/min" in text


def test_one_kind_of_caller_is_no_mix():
    direct = book(DIRECT).dependency_answer().text
    assert "mix" not in direct
    assert "the mean" not in direct
    [row] = book(DIRECT + QUEUE, "dependencies.db.direct_rate=0/s").hidden_capacity().table.frame.to_dict("records")
    assert not row["class of direct traffic alone"]
    assert not row["hidden capacity for direct traffic alone"]
    alike = book(DIRECT + QUEUE, "queues.ingest.attempts_while_failing=24").dependency_answer().text
    assert "for this mix" not in alike


@pytest.mark.parametrize("tries", [1, 2, 4, 81])
def test_map_method_and_sentence_take_the_same_attempts(tries):
    """Capacity over tries is the boundary of the sentence, of the method, of the words beside the map and of its classes."""
    found = book(DIRECT, f"dependencies.db.attempts_while_failing={tries}")
    figure, hidden = found.triggers(), 3_480 / tries
    assert f"{tries - 1} {'retry' if tries == 2 else 'retries'} of a request, so a hidden capacity of" in figure.method
    said = re.search(
        r"its hidden capacity, up to which it heals by itself, is ([\d.,]+/min)", found.dependency_answer().text
    )
    assert said is not None
    assert f"so a hidden capacity of {said[1]}" in figure.method
    assert f"Hidden capacity {said[1]}: below it every outage heals" in figure.alt
    rows = figure.table.frame.to_dict("records")
    loads = [float(row["load"].removesuffix("/min").replace(",", "")) for row in rows]
    assert [row["class"] == "stable" for row in rows] == [load <= hidden for load in loads]
    assert rows[0]["class"] == "stable"
    assert all(row["shortest that stays down"] == "none" for row in rows if row["class"] == "stable")


def test_other_attempts_make_another_map():
    """The map of 24 attempts once was that of 5, as retries were held at the latter's."""
    five = book(DIRECT, "dependencies.db.attempts_while_failing=5").triggers().table
    assert book(DIRECT).triggers().table != five


@pytest.mark.parametrize(
    ("attempts", "retries", "own", "map_"), [(2.4, 1, "1,450/min", "1,740/min"), (300, 242, "11.6/min", "14.32/min")]
)
def test_a_map_that_cannot_take_the_attempts_says_both_capacities(attempts, retries, own, map_):
    method = book(DIRECT, f"dependencies.db.attempts_while_failing={attempts}").triggers().method
    assert f"{retries} retr" in method
    assert f"a hidden capacity of {map_}. The nearest that the map can take to {attempts:g} attempts" in method
    assert f"with these hidden capacity would be {own}" in method


def test_loads_of_a_small_dependency_stay_apart():
    """At 1 request a second and 243 attempts the least loads are a fifth of a request a minute."""
    small = {"tested_rate": "1/s", "direct_rate": "0.1/s", "attempts_while_failing": "243"}
    chart = book(DIRECT, *(f"dependencies.db.{name}={value}" for name, value in small.items())).triggers().chart
    data = chart["data"]["values"]
    assert len({(row["load"], row["length"]) for row in data}) == len(data) == 24 * 19
