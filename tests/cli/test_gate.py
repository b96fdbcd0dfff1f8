"""Gate and compare as CI calls them: lines, exit codes, files."""

from __future__ import annotations

import xml.etree.ElementTree as ET

ORDERS = "builtin:scenarios/orders.yaml"


def test_a_broken_objective_ends_with_6_and_a_line(afterload, tmp_path):
    report = tmp_path / "gate.xml"
    done = afterload("gate", ORDERS, "--objective", "240min", "--junit", str(report))
    assert done.code == 6
    assert done.out == f"{ORDERS}: BROKEN: fresh of queues.orders: 344 min, objective 240 min\n"
    assert done.err == "error: 1 of 1 objectives broken\n"
    assert ET.parse(report).getroot()[0].get("failures") == "1"


def test_objectives_that_hold_end_with_0(afterload):
    done = afterload(
        "gate", ORDERS, "--objective", "6 h", "--objective", "multiplier=243", "--objective", "launch=20min"
    )
    assert (done.code, done.err) == (0, "")
    assert done.out.count(": met: ") == 3


def test_an_override_counts(afterload):
    assert afterload("gate", ORDERS, "--set", "queues.orders.service_rate=2400/min").code == 0


def test_wrong_objectives_end_with_3(afterload):
    done = afterload("gate", ORDERS, "--objective", "drian=6h")
    assert (done.code, done.out) == (3, "")
    assert "nearest: drain" in done.err
    done = afterload("gate", "builtin:scenarios/checkout-api.yaml", "--set", "fleets={}", "--objective", "launch=5min")
    assert done.code == 3
    assert "no scenario has anything that the objective launch is about" in done.err
    assert afterload("gate", ORDERS, "--objective", "6h", "--objective", "fresh=5h").err.endswith(
        "fresh is given twice\n"
    )


def test_compare_shows_what_differs(afterload, tmp_path):
    from afterload.resources import resource

    text = resource("data", "scenarios", "orders.yaml").read_text(encoding="utf-8")
    for name, rate in (("a", "1,800/min"), ("b", "2,400/min")):
        (tmp_path / f"{name}.yaml").write_text(text.replace("service_rate: 1,800/min", f"service_rate: {rate}"))
    done = afterload("compare", str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml"))
    assert (done.code, done.err) == (0, "")
    assert "queues.orders.service_rate  1,800/min  2,400/min" in done.out
    done = afterload(
        "compare", str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml"), "--markdown", "-o", str(tmp_path / "d.md")
    )
    assert (tmp_path / "d.md").read_text().count(r"| queues.orders.service\_rate | 1,800/min | 2,400/min |") == 1
    assert done.out.strip() == str(tmp_path / "d.md")


def test_a_plan_in_every_form(afterload, tmp_path):
    for form in ("markdown", "csv", "json", "jira", "github", "github-json"):
        done = afterload("plan", ORDERS, "--format", form)
        assert (done.code, done.err) == (0, "")
        assert "queues.orders" in done.out or "queues-orders" in done.out
    by_minutes = afterload("plan", ORDERS, "--order", "minutes", "-o", tmp_path / "plan.md")
    assert by_minutes.out == f"{tmp_path / 'plan.md'}\n"
    text = (tmp_path / "plan.md").read_text()
    # 314 min come before 104; capacity for what is retried fits once the retries above it are changed.
    places = [text.index(f". {title}") for title in ("An age limit", "Consumers that catch up", "Capacity that covers")]
    assert places == sorted(places)


def test_entries_of_an_earlier_run_are_taken_over(afterload, tmp_path):
    import csv

    afterload("plan", ORDERS, "--format", "csv", "-o", tmp_path / "p.csv")
    with (tmp_path / "p.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    rows[0]["agreed_owner"] = "Ana"
    with (tmp_path / "p.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    again = afterload("plan", ORDERS, "--format", "csv", "--kept", tmp_path / "p.csv").out
    assert next(csv.DictReader(again.splitlines()))["agreed_owner"] == "Ana"
    assert afterload("plan", ORDERS, "--kept", tmp_path / "none.csv").code == 3
    # Written over the file that people work in, it keeps what they entered, and no file that is another one is lost.
    assert afterload("plan", ORDERS, "--format", "csv", "-o", tmp_path / "p.csv").code == 0
    with (tmp_path / "p.csv").open(newline="", encoding="utf-8") as file:
        assert next(csv.DictReader(file))["agreed_owner"] == "Ana"
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    assert afterload("plan", ORDERS, "--format", "csv", "-o", tmp_path / "other.csv").code == 3
    assert (tmp_path / "other.csv").read_text() == "a,b\n1,2\n"


def test_exercises_of_an_earlier_run_stay_and_are_told(afterload, tmp_path):
    folder = tmp_path / "x"
    first = afterload("exercises", ORDERS, "-o", folder)
    assert "warning" not in first.err
    (folder / "notes.json").write_text("{}", encoding="utf-8")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    # Without a fleet there is nothing to launch.
    again = afterload("exercises", ORDERS, "-o", folder, "--set", "fleets={}", "--set", "queues.orders.fleet=none")
    assert again.code == 0, again.err
    new = {line.rpartition("/")[2] for line in again.out.splitlines()}
    old = sorted(before.keys() - new - {"notes.json"})
    assert old == ["3-launches-denied.chaos.json", "3-launches-denied.fis.json"]
    paths = ", ".join(str(folder / name) for name in old)
    words = "were written by an earlier run and not by this one: delete them if nobody needs them"
    assert f"warning: {paths}: {words}\n" in again.err
    assert {path.name for path in folder.iterdir()} == set(before)
    assert all((folder / name).read_bytes() == before[name] for name in old)


def test_exercises_are_written_for_both_tools(afterload, tmp_path):
    import json

    done = afterload("exercises", ORDERS, "-o", tmp_path / "x")
    assert done.code == 0
    files = sorted(path.name for path in (tmp_path / "x").iterdir())
    assert sum(name.endswith(".chaos.json") for name in files) >= 5
    assert any(name.endswith(".fis.json") for name in files)
    for name in files:
        assert json.loads((tmp_path / "x" / name).read_text())
    assert done.out.splitlines() == [str(tmp_path / "x" / name) for name in files]


def test_a_plan_is_no_scenario_and_the_message_says_what_to_give(afterload, tmp_path):
    plan = tmp_path / "orders-plan.json"
    assert afterload("plan", ORDERS, "--format", "json", "-o", plan).code == 0
    for command in ("gate", "check", "plan"):
        done = afterload(command, plan)
        assert (done.code, done.out) == (3, "")
        assert done.err == (
            f"error: {plan}:1: is a change plan that Afterload wrote, not a scenario: give the scenario that it was made "
            "from (plan files are for afterload compare)\n"
        )


def test_the_runbook_is_printed_or_written(afterload, tmp_path):
    printed = afterload("runbook", ORDERS)
    assert (printed.code, printed.err) == (0, "")
    assert printed.out.startswith("# Recovery runbook: Orders\n")
    written = afterload("runbook", ORDERS, "-o", tmp_path / "r.md")
    assert written.out == f"{tmp_path / 'r.md'}\n"
    assert (tmp_path / "r.md").read_text(encoding="utf-8") == printed.out
    changed = afterload("runbook", ORDERS, "--set", "admission.hold_the_doors=9min")
    assert "Hold: 9 min of that before the next step." in changed.out
    assert afterload("runbook", tmp_path / "none.yaml").code == 3
