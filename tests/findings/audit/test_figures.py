"""The audit as its chapter shows it: every finding, panels by unit, commands, gaps and remarks, escaped."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import altair as alt
import pytest

from afterload.figures import Figure, Prose, Table
from afterload.figures.audit import audit_answer, audit_details, audit_figure, audit_gaps
from afterload.readers.reading import Inventory, Remark

Make = Callable[..., Any]


@pytest.fixture
def made(make: Make, rows: Any) -> Any:
    """Findings of every severity but one, of several units."""
    parts = {**rows.queue(), **rows.fleet(), **rows.stack([{"name": "a", "tries": 3}, {"name": "b", "tries": 2}])}
    exported = (
        rows.mapping(maximum_concurrency=None), rows.function(timeout_s=20),
        rows.sqs(**rows.SOURCE, max_receive_count=5, visibility_timeout_s=30), rows.dead(retention_s=345_600),
        rows.group(suspended_processes=(), health_check_types=("EC2", "ELB")), rows.targets(**rows.DEFAULTS),
    )  # fmt: skip
    return make(parts, exported)


def test_the_table_has_every_finding_with_its_number(made: Any) -> None:
    figure = audit_figure(made.estimates.loaded, made.audit)
    assert isinstance(figure, Figure)
    assert figure.table.columns == (
        "severity", "finding", "where", "costs here", "setting seen", "why it matters",
    )  # fmt: skip
    assert [row[2] for row in figure.table.rows] == [item.target for item in made.audit.findings]
    by_target = {(row[1], row[2]): row[3] for row in figure.table.rows}
    assert by_target["Receives that do not last through the outage", "queues.orders"] == "203,400 items"
    assert by_target["An SQS mapping without a cap on concurrency", "queues.orders"] == "0/min"
    assert by_target["Target group thresholds that protect nobody", "target group web"] == "600 times"
    assert "export.json" in figure.source


def test_the_chart_has_a_panel_for_each_unit(made: Any) -> None:
    figure = audit_figure(made.estimates.loaded, made.audit)
    assert isinstance(figure, Figure)
    alt.VConcatChart.from_dict(figure.chart, validate=True)
    panels = figure.chart["vconcat"]
    # What costs nothing here has no bar.
    measured = [item for item in made.audit.findings if item.cost.amount]
    assert len(measured) < len([item for item in made.audit.findings if item.cost.amount is not None])
    assert len(panels) == len({item.cost.unit for item in measured})
    values = [row for panel in panels for row in panel["data"]["values"]]
    assert sorted(row["amount"] for row in values) == pytest.approx(
        sorted(item.cost.amount for item in measured), abs=1e-3
    )


def test_details_have_commands_reference_and_place(made: Any) -> None:
    text = audit_details(made.audit).text
    for item in made.audit.findings:
        for line in (*item.steps.apply, *item.steps.undo):
            assert line in text
        assert made.audit.rule(item).reference in text
        assert item.where in text
    assert "Quota: the account has 1,000 concurrent executions" in text


def test_gaps_and_remarks_are_listed(make: Make, rows: Any) -> None:
    observed = tuple(rows.observations([rows.mapping()]))
    inventory = Inventory(observed, (Remark("partial", "the file is cut off: export it again", "export.json", 7),))
    made = make(rows.queue(), inventory)
    table = audit_gaps(made.audit)
    assert isinstance(table, Table)
    assert ("export: partial", "export.json line 7", "the file is cut off: export it again", "") in table.rows
    assert any("get-queue-attributes" in row[3] for row in table.rows)
    whole = replace(made.audit, gaps=(), inventory=Inventory(observed))
    assert isinstance(audit_gaps(whole), Prose)


def test_the_answer_says_what_it_rests_on(make: Make, rows: Any, made: Any) -> None:
    alone = make(rows.client())
    text = audit_answer(alone.estimates.loaded, alone.audit).text
    assert text.startswith("1 finding: 1 high.")
    assert "the audit has the scenario alone" in text
    many = audit_answer(made.estimates.loaded, made.audit).text
    assert many.startswith(f"{len(made.audit.findings)} findings: ")


def test_nothing_found_is_said(make: Make, rows: Any) -> None:
    made = make(rows.client(version="1.44.8"))
    assert isinstance(audit_figure(made.estimates.loaded, made.audit), Prose)
    assert "No rule of the audit finds anything" in audit_answer(made.estimates.loaded, made.audit).text


def test_findings_without_a_number_are_a_table(make: Make, rows: Any) -> None:
    made = make(rows.client(version="1.44.8"), (rows.mapping(maximum_concurrency=None),))
    shown = audit_figure(made.estimates.loaded, made.audit)
    assert isinstance(shown, Table)
    assert shown.rows[0][3].startswith("needs a queue of the scenario")


def test_names_are_escaped_everywhere(make: Make, rows: Any) -> None:
    name = "<b>x</b></script><script>alert(1)</script>"
    parts = rows.fleet(resources={"auto_scaling_group": name})
    made = make(
        {"fleets": {name: parts["fleets"]["web"]}}, ((*rows.group()[:1], name, rows.group(suspended_processes=())[2]),)
    )
    assert made.audit.findings
    pages = [audit_details(made.audit).html, audit_answer(made.estimates.loaded, made.audit).html]
    figure = audit_figure(made.estimates.loaded, made.audit)
    assert isinstance(figure, Figure)
    pages.append(figure.to_html())
    for page in pages:
        assert "<script" not in page
        assert "<b>x" not in page
    json.dumps(figure.chart, allow_nan=False)
