"""Every rule fires where its setting costs something, with a number by hand, and nowhere else.

The arithmetic of each number stands beside its case in conftest.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from afterload.findings.audit.build import catalogue
from afterload.units import format_count, format_number

Make = Callable[..., Any]


def test_every_rule_has_a_case(cases: dict[str, Any]) -> None:
    assert set(cases) == {rule.id for rule in catalogue()}


def test_it_fires_with_the_number_by_hand(make: Make, cases: dict[str, Any], rule: str) -> None:
    case = cases[rule]
    item = make(*case.fires).one(rule)
    assert (item.target, item.severity) == (case.target, case.severity)
    if case.amount is None:
        assert item.cost.amount is None
        assert item.cost.missing
    else:
        assert item.cost.amount == pytest.approx(case.amount)
        assert item.cost.unit == case.unit


def test_the_same_setting_where_it_does_not_matter_is_no_finding(make: Make, cases: dict[str, Any], rule: str) -> None:
    assert make(*cases[rule].context).found(rule) == []


def test_removing_the_setting_removes_the_finding(make: Make, cases: dict[str, Any], rule: str) -> None:
    assert make(*cases[rule].fixed).found(rule) == []


def test_a_finding_is_whole(make: Make, cases: dict[str, Any], rule: str) -> None:
    made = make(*cases[rule].fires)
    item, entry = made.one(rule), made.audit.rule(made.one(rule))
    for text in (item.seen, item.where, item.cost.sentence, item.cost.short, entry.title, entry.why, entry.reference):
        assert text.strip()
        assert "None" not in text
        assert "  " not in text
    assert item.steps.apply
    assert item.steps.undo
    # The number stands in its own arithmetic.
    if item.cost.amount is not None and item.cost.unit not in ("times",) and item.cost.amount > 0:
        shown = {format_count(item.cost.amount), format_number(item.cost.amount)}
        hours = item.cost.unit == "min" and item.cost.amount >= 60
        assert hours or any(number in item.cost.words for number in shown), item.cost.words


def test_exported_settings_have_file_place_and_date(make: Make, cases: dict[str, Any], rule: str) -> None:
    parts, exported = cases[rule].fires
    item = make(parts, exported).one(rule)
    if rule == "key-life-short":
        # Its stand-in for the scenario's field has no line.
        assert item.where == "default; not exported"
    elif exported and rule != "scenario-differs":
        # 09:30 UTC is still the same day in Los Angeles.
        assert item.where.startswith("export.json ")
        assert "2026-08-01" in item.where
    else:
        assert "t.yaml line 1" in item.where


def reordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reordered(item) for key, item in reversed(value.items())}
    return value


def renamed(value: Any, names: dict[str, str]) -> Any:
    """The same data with every name in it exchanged, also inside ARNs and URLs."""
    if isinstance(value, dict):
        return {renamed(key, names): renamed(item, names) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(renamed(item, names) for item in value)
    if isinstance(value, str):
        for old, new in names.items():
            value = value.replace(old, new)
    return value


def summary(made: Any) -> list[tuple[str, str, float | None]]:
    return sorted((item.rule, item.severity, item.cost.amount or 0.0) for item in made.audit.findings)


def test_the_order_of_inputs_decides_nothing(make: Make, cases: dict[str, Any], rule: str) -> None:
    parts, exported = cases[rule].fires
    turned = [(kind, name, reordered(attributes)) for kind, name, attributes in reversed(exported)]
    plain, other = make(parts, exported), make(reordered(parts), turned)
    assert [item.id for item in plain.audit.findings] == [item.id for item in other.audit.findings]
    assert summary(plain) == summary(other)
    assert [(gap.rule, gap.target) for gap in plain.audit.gaps] == [(gap.rule, gap.target) for gap in other.audit.gaps]


def test_names_decide_nothing(make: Make, cases: dict[str, Any], rule: str) -> None:
    parts, exported = cases[rule].fires
    names = {"orders": "aaa-ünï x", "worker": "zebra", "web": "Apfel", "table": "drawer", "0000-1111": "0001-1112"}
    if "idempotency" in parts:
        return_parts = {**renamed({key: value for key, value in parts.items() if key != "idempotency"}, names)}
        return_parts["idempotency"] = parts["idempotency"]
    else:
        return_parts = renamed(parts, names)
    assert summary(make(parts, exported)) == summary(make(return_parts, renamed(exported, names)))


def test_findings_are_in_order_of_severity_cost_and_name(make: Make, rows: Any) -> None:
    parts = {
        **rows.queue(), **rows.fleet(), **rows.stack([{"name": "a", "tries": 3}, {"name": "b", "tries": 2}]),
        "clients": {"c": {"sdk": "boto3", "version": "1.43.0", "number": 5, "dependency": "table"}},
    }  # fmt: skip
    exported = (
        rows.mapping(maximum_concurrency=None),
        rows.sqs(**rows.SOURCE, max_receive_count=5, visibility_timeout_s=30), rows.dead(retention_s=345_600),
        rows.group(suspended_processes=(), health_check_types=("EC2", "ELB"), grace_s=1, capacity_rebalance=True),
        rows.retry(jitter=None), rows.function(timeout_s=60),
    )  # fmt: skip
    findings = make(parts, exported).audit.findings
    severities = ["high", "medium", "low", "info"]
    ranks = [severities.index(item.severity) for item in findings]
    assert ranks == sorted(ranks)
    assert len(set(ranks)) == 3
    for severity in severities:
        for unit in ("min", "items", "instances", "attempts"):
            amounts = [item.cost.amount for item in findings if item.severity == severity and item.cost.unit == unit]
            known = [amount for amount in amounts if amount is not None]
            assert known == sorted(known, reverse=True)
            assert amounts == [*known, *([None] * (len(amounts) - len(known)))]
    ids = [item.id for item in findings]
    assert len(set(ids)) == len(ids)
    assert json.dumps(ids) == json.dumps([item.id for item in make(parts, exported).audit.findings])


def test_nothing_exported_and_nothing_wrong_finds_nothing(make: Make, rows: Any) -> None:
    made = make(rows.client(version="1.44.8"))
    assert made.audit.findings == ()
    assert made.audit.counts == {"high": 0, "medium": 0, "low": 0, "info": 0}
