"""``afterload postmortem``: the account of the event as Markdown, on standard output or whole into a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
ORDERS = "builtin:scenarios/orders.yaml"
ACCOUNT = "\npostmortem:\n  summary: It broke.\n"

pytestmark = pytest.mark.usefixtures("no_kernel")


def test_it_prints_the_postmortem(afterload: Run) -> None:
    done = afterload("postmortem", ORDERS)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("# Postmortem: Orders, us-east-1, 19 and 20 October 2025\n\n## Summary\n")
    assert done.out.endswith(".\n")
    assert "| sustained by: backlog | named, and the figures show it | orders: 206,400 items" in done.out


def test_it_writes_the_file_and_prints_its_path(afterload: Run, tmp_path: Path) -> None:
    target = tmp_path / "deeper" / "account.md"
    printed = afterload("postmortem", ORDERS).out
    done = afterload("postmortem", ORDERS, "-o", target)
    assert (done.code, done.out, done.err) == (0, f"{target}\n", "")
    assert target.read_text("utf-8") == printed
    assert [path.name for path in target.parent.iterdir()] == ["account.md"]


@pytest.mark.parametrize(
    ("command", "line"), [("postmortem", "fresh-first:queues.orders"), ("runbook", "drain-cap:queues.orders")]
)
def test_owners_agreed_on_are_taken_from_the_plan(afterload: Run, tmp_path: Path, command: str, line: str) -> None:
    table = tmp_path / "orders-plan.csv"
    table.write_text(f"id,agreed_owner\n{line},Ana Ortiz\n", encoding="utf-8")
    assert "Ana Ortiz" not in afterload(command, ORDERS).out
    done = afterload(command, ORDERS, "--kept", table)
    assert (done.code, done.err) == (0, "")
    assert "Ana Ortiz" in done.out
    missing = afterload(command, ORDERS, "--kept", tmp_path / "none.csv")
    assert (missing.code, missing.err) == (3, f"error: {tmp_path / 'none.csv'}: no such file\n")


def test_one_value_can_be_set(afterload: Run) -> None:
    done = afterload("postmortem", ORDERS, "--set", "queues.orders.arrival_rate=1500/min")
    assert "258,000 items waiting at the restore" in done.out
    assert "206,400" not in done.out


def test_the_same_inputs_give_the_same_bytes(process: Run, scenario: Path, tmp_path: Path) -> None:
    scenario.write_text(scenario.read_text("utf-8") + ACCOUNT, "utf-8")
    given = [
        process("postmortem", scenario, cwd=tmp_path, env=env)
        for env in ({"TZ": "UTC", "PYTHONHASHSEED": "1"}, {"TZ": "Asia/Tokyo", "PYTHONHASHSEED": "2", "COLUMNS": "40"})
    ]
    assert [done.returncode for done in given] == [0, 0]
    assert given[0].stdout == given[1].stdout
    assert str(tmp_path) not in given[0].stdout


def test_a_scenario_without_one_is_told_what_to_write(afterload: Run, scenario: Path, tmp_path: Path) -> None:
    done = afterload("postmortem", scenario, "-o", tmp_path / "p.md")
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith(
        "error: team.yaml has no postmortem: write one under postmortem, with at least a summary"
    )
    assert not (tmp_path / "p.md").exists()


def test_instants_out_of_order_are_refused_with_their_line(afterload: Run, scenario: Path) -> None:
    text = scenario.read_text("utf-8") + f"{ACCOUNT}  detected_at: 2025-10-19T23:47-07:00\n"
    scenario.write_text(text, "utf-8")
    done = afterload("postmortem", scenario)
    assert (done.code, done.out) == (3, "")
    line = text.count("\n")
    assert (
        f"{scenario}:{line}: postmortem.detected_at: 2025-10-19T23:47:00-07:00 is before incident.trigger" in done.err
    )


def test_where_nothing_can_be_written(afterload: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", "utf-8")
    done = afterload("postmortem", ORDERS, "-o", tmp_path / "file" / "below.md")
    assert (done.code, done.out) == (5, "")
    assert (tmp_path / "file").read_text("utf-8") == "mine"
