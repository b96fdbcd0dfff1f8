"""Records of teams: whole ones from scenarios, and bare ones with just what a test is about."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from afterload.batch.record import team_record
from afterload.estimates import estimate
from afterload.plan import build_plan
from afterload.recovery.build import couple
from afterload.recovery.result import estimate_recovery
from afterload.scenario import load_scenario

ROOT = Path(__file__).resolve().parents[2]
Records = list[dict[str, Any]]


def record_of(source: str | Path) -> dict[str, Any]:
    loaded = load_scenario(source)
    estimates = estimate(loaded)
    coupling = couple(loaded)
    recovery = None if coupling is None else estimate_recovery(coupling)
    return team_record(loaded, estimates, build_plan(estimates), recovery)


@pytest.fixture(scope="session")
def make_record() -> Callable[[str | Path], dict[str, Any]]:
    return record_of


@pytest.fixture(scope="session")
def example_teams() -> ModuleType:
    spec = importlib.util.spec_from_file_location("example_teams", ROOT / "tools" / "example_teams.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def records(example_teams: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Records:
    """Ten made-up teams, the shipped examples among them."""
    folder = tmp_path_factory.mktemp("teams")
    return [record_of(path) for path in example_teams.write_teams(10, folder, seed=5)]


def bare_queue(name: str = "jobs", **given: Any) -> dict[str, Any]:
    """As the worked example of the planning guide: 206,400 items, 1,200 a minute come, 1,800 a minute go: 344 min."""
    return {
        "name": name, "dependency": None, "runs_on_lambda": True, "function": None, "reserved_concurrency": None,
        "cap_concurrency": None, "drain_concurrency": 60.0, "drain_rate_per_min": 1800.0, "backlog": 206400.0,
        "arrivals_from_min": [0.0], "arrivals_per_min": [1200.0], "drain_min": 344.0, "fresh_min": 344.0, **given,
    }  # fmt: skip


def bare_fleet(name: str = "api", **given: Any) -> dict[str, Any]:
    return {
        "name": name, "missing": 300, "per_request": 100, "from_min": 0.0, "start_delay_s": 150.0, "request_burst": 5,
        "requests_per_s": 2.0, "instance_burst": 1000, "instances_per_s": 2.0, "throttle_factor": 1.0,
        "other_callers_share": 0.0, "buckets_full": 1.0, "in_service_min": 2.5, **given,
    }  # fmt: skip


def bare_record(team: str, **given: Any) -> dict[str, Any]:
    """A team's record; ``results`` and ``shares`` replace single values, everything else whole parts."""
    results = {
        "couples": True, "fresh_min": 344.0, "fresh_p10_min": None, "fresh_p90_min": None, "draws": 0, "drain_min": 344.0,
        "planned_fresh_min": 100.0, "planned_drain_min": 120.0, "lost": 0.0, "peak_attempts_per_min": 2400.0,
        "worst_queue": "jobs", "multiplier": 27.0, "worst_stack": "api",
        "launch_min": 12.0, "slowest_fleet": "api", "certain": True, **given.pop("results", {}),
    }  # fmt: skip
    shares = {
        "account": None, "region": None, "concurrency": 1000, "concurrency_source": "published default",
        "reserved_elsewhere": 0, "dependencies": [], "queues": [], "fleets": [], **given.pop("shares", {}),
    }  # fmt: skip
    return {
        "record": 1, "id": team.lower().replace(" ", "-"), "team": team, "owner": None, "services": ["sqs-lambda"],
        "incident": "loss", "outage_min": 172.0, "hypothetical": False, "input_sha256": "0" * 64, "objective_min": 240.0,
        "met": False, "verdicts": [], "results": results, "plan": [],
        "costs": None, "shares": shares, "links": {}, **given,
    }  # fmt: skip


@pytest.fixture(scope="session")
def bare() -> Callable[..., dict[str, Any]]:
    return bare_record


@pytest.fixture(scope="session")
def queue() -> Callable[..., dict[str, Any]]:
    return bare_queue


@pytest.fixture(scope="session")
def fleet() -> Callable[..., dict[str, Any]]:
    return bare_fleet


@pytest.fixture(scope="session")
def line() -> Callable[..., dict[str, Any]]:
    """A line of a plan."""

    def one(change: str = "drain-cap", **given: Any) -> dict[str, Any]:
        return {
            "id": f"{change}:queues.jobs", "change": change, "title": change.replace("-", " ").capitalize(),
            "target": "queues.jobs", "bought_min": 30.0, "cost_min": 0.0, "stale_bought_min": 0.0, "stale_cost_min": 0.0,
            "ends_never": False, "stale_ends_never": False, "makes_never": False, "lost_more": 0.0, "effort_days": 2.0,
            "saves": None, **given,
        }  # fmt: skip

    return one
