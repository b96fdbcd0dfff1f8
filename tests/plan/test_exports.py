"""The plan as CSV, Markdown and JSON: the same records in each, safe to open anywhere, sentences that make sense."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.plan.conftest import DEPENDENCIES, QUEUE

from afterload.plan import plan_csv, plan_json, plan_markdown
from afterload.plan.exports import plan_records
from afterload.plan.wording import signed_minutes, worth
from afterload.plan.worth import edited
from afterload.scenario import load_scenario

Make = Callable[..., Any]
FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "=HYPERLINK(\"http://x\";\"y\")", "＝1", "|cmd", "plain, with comma"]  # fmt: skip
MARKS = ["a|b", "`code`", "<script>alert(1)</script>", "*bold*", "[x](y)", "# head", "back\\slash", "_u_", "~s~"]


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def named(make: Make, name: str) -> Any:
    return make(
        owner=name,
        queues={name: {"arrival_rate": "1,200/min", "service_rate": "1,800/min", "goes_stale_after": "15 min",
                       "on_failure_destination": name, "owner": name}},
        fleets={name: {"running": 1, "needed": 2, "removal_automation": [{"name": "x", "pause": name}]}},
    )  # fmt: skip


@pytest.mark.parametrize("name", FORMULAS)
def test_no_cell_is_a_formula(make: Make, name: str) -> None:
    found = rows(plan_csv(named(make, name).plan))
    cells = [cell for row in found for cell in row.values()]
    assert not [
        cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"))
    ]
    owners = {row["owner"].removeprefix("'") for row in found}
    # A line about nothing has no owner.
    assert owners - {""} == {name}


def test_csv_round_trips(whole: Any) -> None:
    text = plan_csv(whole.plan)
    records = plan_records(whole.plan)
    for record in records:
        del record["measures"], record["parts"], record["added"]
    assert text.count("\r\n") >= len(records) + 1
    found = rows(text)
    assert len(found) == len(records)
    for row, record in zip(found, records, strict=True):
        assert list(row) == list(record)
        for key, value in record.items():
            if value is None:
                assert row[key] == ""
            elif isinstance(value, float):
                assert float(row[key]) == value
            elif isinstance(value, list):
                assert row[key].removeprefix("'") == "\n".join(value)
            elif isinstance(value, dict):
                written = [line.partition("=") for line in row[key].split("\n") if line]
                read = {path: text if isinstance(value[path], str) else json.loads(text) for path, _, text in written}
                assert read == value
            else:
                assert row[key].removeprefix("'") == str(value)


def test_json_holds_the_same_records_and_only_numbers(whole: Any) -> None:
    text = plan_json(whole.plan, whole.estimates)

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    document = json.loads(text, parse_constant=refuse)
    assert document["changes"] == plan_records(whole.plan)
    assert document["input_sha256"] == whole.estimates.loaded.digest
    assert document["recovery_objective_min"] == 240
    for record in document["changes"]:
        for key in ("drain_today_min", "drain_planned_min", "bought_min", "cost_min"):
            assert record[key] is None or record[key] >= 0


@pytest.mark.parametrize("name", MARKS)
def test_markdown_shows_names_as_they_are(make: Make, name: str) -> None:
    made = named(make, name)
    text = plan_markdown(made.plan, made.estimates)
    outside = re.sub(r"^(`{3,})sh\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert "<script>" not in outside
    rows = [line for line in outside.splitlines() if line.startswith("| ")]
    for row in rows[: 2 + len(made.plan.about)]:
        assert len(re.findall(r"(?<!\\)\|", row)) == 8, row
    escaped = re.sub(r"([\\`*_{}\[\]<>|#~])", r"\\\1", name)
    assert escaped in outside
    headings = [line for line in outside.splitlines() if line.startswith("#")]
    assert len(headings) == 1 + len(made.plan.about)


def test_a_fence_is_longer_than_any_run_of_ticks_inside(make: Make) -> None:
    made = make(fleets={"f": {"running": 1, "needed": 2, "removal_automation": [{"name": "x", "pause": "a ````` b"}]}})
    text = plan_markdown(made.plan, made.estimates)
    assert "``````sh\na ````` b\n``````" in text


def test_markdown_tells_cost_from_gain(queue: Make) -> None:
    made = queue("dependencies.table.capacity=10,000/min", service_rate="6,000/min", goes_stale_after="15 min")
    table = [line for line in plan_markdown(made.plan, made.estimates).splitlines() if line.startswith("| ")]
    table = table[: 2 + len(made.plan.about)]
    cells = {line.split(" | ")[1].split(" ")[1]: line.split(" | ")[4] for line in table[2:]}
    assert cells["drain"] == "costs 129 min"
    # 15 min of 1,200/min at 4,800/min to spare: 3.75 of 43 min are left.
    assert cells["age"] == "39.2 min"


def test_markdown_has_every_line_with_its_commands(whole: Any) -> None:
    text = plan_markdown(whole.plan, whole.estimates)
    for item in whole.plan.items:
        for command in (*item.apply, *item.undo):
            assert f"\n{command}\n" in text
    assert text.count("\n## ") == len(whole.plan.about)


def sentences(made: Any) -> list[str]:
    found = []
    for item in made.plan.items:
        found += [item.evidence, item.bounds, item.price, worth(item), item.owner]
    return [text for text in found if text]


def test_sentences_hold_nothing_that_is_not_a_number(whole: Any) -> None:
    for text in sentences(whole):
        assert not re.search(r"\b(nan|inf|none|infinity)\b", text.replace("none says", ""), re.IGNORECASE), text
        assert not re.search(r"(?<![\w-])-\d", text), text
        assert not re.search(r"\b1 (items|instances|clients|layers|attempts|changes)\b", text), text
        assert not re.search(r"  |\.\.|\( | \)|,,| \.", text), text
        assert re.match(r"[A-Z0-9]", text), text


def test_numbers_in_the_words_are_those_of_the_records(whole: Any) -> None:
    for record in plan_records(whole.plan):
        bought, cost = record["bought_min"], record["cost_min"]
        if bought:
            assert record["worth"].startswith("Buys ")
            assert cost == 0
        elif cost:
            assert record["worth"].startswith("Costs ")
        elif bought == 0:
            assert record["worth"].startswith("Buys no minutes here")
        if bought is not None and record["drain_today_min"] is not None:
            assert record["drain_today_min"] - record["drain_planned_min"] == pytest.approx(bought - cost, abs=1e-5)


@pytest.mark.parametrize(
    ("minutes", "words"), [(-12, "costs 12 min"), (12, "12 min"), (0, "0 min"), (-1e-9, "0 min"), (1e-9, "0 min")]
)
def test_differences_of_rounding_are_none(minutes: float, words: str) -> None:
    assert signed_minutes(minutes) == words


@pytest.mark.parametrize("example", ["orders", "checkout-api", "render-fleet", "payments"])
def test_the_json_fits_its_schema(example: str) -> None:
    import jsonschema

    from afterload.estimates import estimate
    from afterload.plan import build_plan
    from afterload.resources import resource
    from afterload.scenario import load_scenario

    estimates = estimate(load_scenario(f"builtin:scenarios/{example}.yaml"))
    document = json.loads(plan_json(build_plan(estimates), estimates, {"gone:line": {"note": "x", "ticket": "T-1"}}))
    schema = json.loads(resource("data", "plan.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)
    del document["changes"][0]["status"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)


def test_the_edit_of_a_line_can_be_set_as_it_stands_in_the_csv(make: Make, tmp_path: Path) -> None:
    """What is copied from a cell behind --set gives the scenario that the worth of the line was computed with."""
    layers = [{"name": "a", "tries": 3}, {"name": "b", "tries": 2}]
    fleet = {"running": 600, "needed": 600, "removal_automation": ["Terminate", {"name": "reaper", "pause": "off"}],
             "target_group": {"targets": [300, 300]}, "launches_from": "30 min", "removal_rate": "10/min"}  # fmt: skip
    fast = {**QUEUE, "service_rate": "6,000/min", "goes_stale_after": "15 min"}
    called = {**DEPENDENCIES["table"], "attempts_while_failing": 3, "direct_rate": "1,200/min"}
    made = make(
        queues={"q": fast},
        dependencies={"table": called},
        call_stacks={"s": {"layers": layers}},
        fleets={"f": fleet},
        plan_automation="published",
    )
    cells = {row["id"]: row["edit"] for row in csv.DictReader(io.StringIO(plan_csv(made.plan), newline=""))}
    changes = {item.change for item in made.plan.items if item.edit}
    assert {
        "standard-retries",
        "pause-list",
        "ramp-limit",
        "drain-cap",
        "version-guard",
        "target-group-thresholds",
    } <= changes
    for item in made.plan.items:
        if item.edit:
            assert "None" not in cells[item.id]
            set_so = load_scenario(tmp_path / "t.yaml", cells[item.id].split("\n"))
            assert set_so.scenario == edited(made.estimates.loaded, [item.edit]).scenario, item.id
