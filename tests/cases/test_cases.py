"""Small inputs with the right answer by hand, each for a whole kind of fault: every command gives it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# Items at the restore over what is left to drain with, unless another sentence says it.
DRAINS = {
    # The busiest of ten shards gets 170/min and serves 200: 10,200 / 30.
    "model-shard": "340 min",
    # The cap of 30 at once and half of the fleet both do 900/min: 36,000 / 300.
    "model-fleetcap": "120 min",
    # It rejects above 1,000/min and does its full work: 36,000 / 400.
    "model-throttle": "90 min",
    # 66,000 wait; 120/min are left until 09:00, which comes 10 h after the restore that night.
    "model-dst_us": "550 min",
    # 1,200 a minute of age and 600/min of consumers meet: 60 / 1.5.
    "model-lifo": "40 min",
    # Consumers that wait for time-outs leave the table alone: 206,400 / 600.
    "model-closed": "344 min",
    # The busiest partition takes half of the work, and no part of its consumers serves that.
    "partitions": "never",
}


@pytest.mark.parametrize(("name", "minutes"), DRAINS.items())
def test_check_and_gate_say_the_same(name: str, minutes: str, run: Callable[..., str]) -> None:
    path = str(HERE / f"{name}.yaml")
    assert f"drain {minutes}" in run("check", path)
    assert (
        f"drain of queues.{'jobs' if name == 'partitions' else 'q' if name != 'model-throttle' else 'a'}: {minutes}"
        in run("gate", path, "--objective", "drain=30d", code=None)
    )


def test_the_closed_loop_heals_at_either_tested_rate(run: Callable[..., str]) -> None:
    path = str(HERE / "model-closed.yaml")
    for rate in ("3000/min", "2000/min"):
        said = run("check", path, "--set", f"dependencies.table.tested_rate={rate}")
        assert "drain 344 min" in said
        assert "then heals; at most 1,800/min of attempts" in said


def test_a_throttle_that_is_not_said_collapses(run: Callable[..., str]) -> None:
    path, at = str(HERE / "model-throttle.yaml"), "dependencies.d"
    assert "drain never" in run("check", path, "--set", f"{at}.goodput_while_collapsed=0 %")
    said = run("check", path, "--set", f"{at}.goodput_while_collapsed=0 %", "--set", f"{at}.above_capacity=throttle")
    assert "drain 90 min" in said


def test_newest_first_loses_from_its_old_end(run: Callable[..., str]) -> None:
    # 134,400 in the outage and 48,000 while it drains.
    assert "lost of queues.q: 182,400" in run("gate", str(HERE / "model-lifo.yaml"), "--objective", "lost=1", code=None)


def test_eta_counts_the_instances_that_are_missing(run: Callable[..., str]) -> None:
    said = run(
        "eta", str(HERE / "model-fleetcap.yaml"), "--set", "queues.q.drain_cap=none",
        "--depth", "36000", "--age", "60min", "--at", "2026-06-01T11:00Z",
    )  # fmt: skip
    assert said.startswith("q: empty in 2 h ")


@pytest.mark.parametrize(("restored", "minutes"), [("06-15", "40,320"), ("07-01", "86,400"), ("09-01", "264,960")])
def test_an_outage_of_months_is_followed_to_its_end(
    restored: str, minutes: str, tmp_path: Path, run: Callable[..., str]
) -> None:
    # Twice the outage: 1,200/min wait and 600/min are left.
    text = (HERE / "model-lifo.yaml").read_text(encoding="utf-8").replace(", order: lifo, age_limit: 60 min", "")
    path = tmp_path / "long.yaml"
    path.write_text(text.replace("2026-06-01T12:52Z", f"2026-{restored}T10:00Z"), encoding="utf-8")
    assert f"drain of queues.q: {minutes} min" in run("gate", str(path), "--objective", "drain=400d", code=None)
    assert f"drain {minutes} min" in run("check", str(path))


def test_batches_bound_what_reaches_a_dependency(run: Callable[..., str]) -> None:
    given = ("--set", "queues.jobs.service_rate=4,000/min", "--set", "queues.jobs.stream.hottest_share=none")
    assert "1,200/min in, 1,200/min out" in run("check", str(HERE / "partitions.yaml"), *given)


def test_plan_runbook_and_eta_set_the_same_cap(run: Callable[..., str]) -> None:
    path = str(HERE / "caps.yaml")
    plan, runbook = run("plan", path), run("runbook", path)
    eta = run("eta", path, "--depth", "120000", "--age", "120min", "--at", "2026-01-10T02:00Z")
    for said in (plan, runbook):
        assert "MaximumConcurrency=83" in said
        assert "MaximumConcurrency=146" not in said
    assert "Safe cap: 83 at once" in eta


def test_a_change_is_worth_what_it_does_at_its_own_queue(run: Callable[..., str]) -> None:
    # Playback drains in 304 min, 96 with an age limit of 30 min; mail in 222, and 140 with one of an hour.
    said = run("plan", str(HERE / "two-queues.yaml"))
    assert "208" in said
    assert "81.7" in said


def test_what_goes_on_without_an_end_is_a_rate(run: Callable[..., str]) -> None:
    said = run("check", str(HERE / "endless.yaml"))
    assert "direct requests that fail: 1,200/min from the restore on" in said
