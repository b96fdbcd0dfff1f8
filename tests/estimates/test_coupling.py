"""A scenario as one coupled system: what can be uncertain, and what was assumed is said."""

import math

import numpy as np
import pytest

from afterload.chapters import Workbook
from afterload.model.coupled import simulate
from afterload.recovery.build import couple
from afterload.scenario import load_scenario
from afterload.scenario.ranges import RANGED

ORDERS = "builtin:scenarios/orders.yaml"


EVERYTHING = """\
dependencies:
  d:
    tested_rate: 3000/min
    operate_up_to: 3500/min
    direct_rate: 300/min
    throttles_at: 5000/min
    control_rate: 60/min
    control_backlog: 100
    attempts_while_failing: 2
    goodput_while_collapsed: 20 %
    cache: {hit_rate: 50 %, hit_rate_at_restore: 10 %, fill_time: 20 min}
queues:
  q:
    arrival_rate: 600/min
    service_rate: 1200/min
    backlog_before: 100
    age_limit: 600 min
    superseded_share: 10 %
    item_time: 1 s
    consumers: {number: 10, at_once: 3}
    connection_pool: {connections: 20, hold_time: 500 ms}
    start_spread: 2 min
    attempts_while_failing: 3
    dependency: d
    fleet: f
fleets:
  f: {running: 90, needed: 100, launches_from: 10 min}
"""


def ends(path, likely):
    """A range around a likely value, as a person would write it."""
    unit = "/min" if path.endswith(("_rate", "_at", "up_to")) else ""
    unit = " min" if path.endswith(("time", "limit", "spread", "launches_from")) else unit
    low = max(1.0, 0.8 * likely) if "attempts" in path else 0.8 * likely
    return {"low": f"{low:.15g}{unit}" if unit else low, "high": f"{1.2 * likely:.15g}{unit}" if unit else 1.2 * likely}


def test_every_field_that_can_have_a_range_is_an_input_of_the_model(load):
    likely = {
        "dependencies.d": {
            "tested_rate": 3000, "operate_up_to": 3500, "direct_rate": 300, "capacity": 0, "throttles_at": 5000,
            "control_rate": 60, "control_backlog": 100, "attempts_while_failing": 2, "goodput_while_collapsed": 0.2,
            "cache.hit_rate_at_restore": 0.1, "cache.fill_time": 20,
        },
        "queues.q": {
            "arrival_rate": 600, "service_rate": 1200, "backlog_before": 100, "age_limit": 600, "superseded_share": 0.1,
            "consumers.number": 10, "connection_pool.connections": 20, "start_spread": 2, "attempts_while_failing": 3,
        },
        "fleets.f": {"running": 90, "needed": 100, "launches_from": 10},
    }  # fmt: skip
    assert {head.split(".")[0]: set(fields) for head, fields in likely.items()} == {
        part: set(fields) for part, fields in RANGED.items()
    }
    paths = {f"{head}.{field}": value for head, fields in likely.items() for field, value in fields.items() if value}
    lines = "".join(f"  {path}: {ends(path, value)}\n" for path, value in paths.items())
    coupling = couple(load(f"{EVERYTHING}uncertain:\n{lines}"))
    assert coupling is not None
    assert {coupling.labels[key] for key in coupling.ranges} == set(paths)
    for key, found in coupling.ranges.items():
        held = getattr(coupling.system, PARTS_OF[key.kind])[key.place]
        value = getattr(held, key.name, getattr(getattr(held, "load", held), key.name, None))
        value = 1.0 if key.name == "arrivals" else value
        assert (found.low, found.likely, found.high) == pytest.approx((0.8 * value, value, 1.2 * value)), key
    result = simulate(
        coupling.system, {key: np.array([found.low, found.high]) for key, found in coupling.ranges.items()}
    )
    assert np.isfinite(result.backlog_at_restore).all()


PARTS_OF = {"queue": "queues", "dependency": "dependencies", "fleet": "fleets"}


def test_an_assumption_of_the_coupled_model_is_shown():
    loaded = load_scenario(ORDERS, {"clients": {}, "call_stacks": {}})
    coupling = couple(loaded)
    assert coupling is not None
    assert [doubt.text for doubt in coupling.doubts] != []
    shown = Workbook(loaded).recovery_answer().text
    for doubt in coupling.doubts:
        assert doubt.text in shown


def test_the_example_couples_to_its_closed_form():
    estimate = Workbook(load_scenario(ORDERS)).recovery
    assert estimate is not None
    assert estimate.today.result.drain_min[0, 0] == pytest.approx(344)


TABLE = "dependencies: {table: {tested_rate: 3000/min, direct_rate: 600/min}}\n"
# fmt: off
CLIENTS = [
    # clients of one dependency: attempts while failing, retries held, attempts later, retries that a success brings back
    ("c: {sdk: boto3, version: 1.44.8, number: 1000}", 3, 35_000, 1, 35 / 490),
    ("c: {sdk: boto3, version: 1.44.8, number: 1000, errors: throttling}", 3, 100_000, 1, 1 / 5),
    ("c: {sdk: boto3, version: 1.44.8, number: 1000, service: dynamodb}", 4, 35_000, 1, 35 / 490),
    ("c: {sdk: boto3, version: 1.43.11, mode: standard, number: 1000, service: dynamodb}", 3, 100_000, 1, 1 / 5),
    ("c: {sdk: boto3, version: 1.43.11, number: 1000, service: dynamodb}", 10, math.inf, 10, 0),
    # The costs are each SDK's own: 5 in Go, .NET and Java.
    ("c: {sdk: go-v2, number: 10}", 3, 1_000, 1, 1 / 5),
    ("c: {sdk: dotnet, number: 10, max_attempts: 2}", 2, 1_000, 1, 1 / 5),
    ("c: {sdk: java-v2, number: 10}", 4, 1_000, 1, 1 / 5),
    ("c: {sdk: java-v2, number: 10, errors: throttling}", 4, math.inf, 4, 0),
    ("c: {sdk: go-v2, number: 10}, d: {sdk: boto3, version: 1.44.8, number: 10}", 3, 1_350, 1, 1_350 / 9_900),
    ("c: {sdk: go-v2, number: 10}, d: {sdk: cpp, number: 1}", 11, math.inf, 11, 0),
    ("c: {sdk: go-v2, number: 10, max_attempts: 1}", 1, 0, 1, 0),
    # gRPC A6: 10 tokens, retries stop at half, so five failures end them: 3 retries and 1 more, after which 100 refill.
    ("c: {sdk: grpc, number: 100, retry_limit: grpc-throttling}", 4, 300, 1, 3 / 100),
    # 20 % of what is in flight: one retry for four first tries, whatever was before.
    ("c: {sdk: other, number: 10, calls: 1000/s, retry_limit: envoy-budget}", 2, 10 * 25, 1.25, 0),
    ("c: {sdk: other, number: 10, calls: 1000/s, retry_limit: finagle-budget}", 3, None, 1.21, 0),
    ("c: {sdk: other, number: 10, calls: 1000/s, retry_limit: linkerd-budget}", 3, None, 1.01, 0),
    # A whole bucket can go into one call.
    ("c: {sdk: other, number: 10, retry_limit: token-bucket}", 6, 50, 1, 5 / 50),
    ("c: {sdk: other, number: 10, max_attempts: 3, retry_limit: token-bucket}", 3, 50, 1, 5 / 50),
]
# fmt: on


@pytest.mark.parametrize(("clients", "attempts", "held", "later", "refill"), CLIENTS)
def test_each_kind_of_client_retries_by_its_own_policy(load, clients, attempts, held, later, refill):
    text = clients.replace("}", ", dependency: table}", 1 + clients.count("}, d:"))
    text = text.replace("retry_limit: {", "retry_limit: {")
    coupling = couple(load(f"{TABLE}clients: {{{text}}}\n"))
    assert coupling is not None
    found = coupling.system.dependencies[0]
    assert found.attempts_failing == attempts
    if held is not None:
        assert found.retry_tokens == pytest.approx(held)
    assert found.sustained_attempts == pytest.approx(later)
    assert found.refill_per_success == pytest.approx(refill)
    assert coupling.doubts == ()


@pytest.mark.parametrize(
    ("client", "attempts", "says"),
    [
        ("sdk: other, number: 3", 3, "clients.c: how often it tries a call is not known: 3 attempts without a limit"),
        ("sdk: other, number: 3, retry_limit: envoy-budget", 1.25, "limit is taken at 1.25 attempts a call"),
        ("sdk: other, number: 3, retry_limit: finagle-budget", 1.2, "limit is taken at 1.2 attempts a call"),
        ("sdk: other, number: 3, retry_limit: linkerd-budget", 1, "limit is taken at 1 attempts a call"),
        ("sdk: other, number: 3, retry_limit: google-adaptive-throttling", 1, "no calls are given"),
    ],
)
def test_what_is_assumed_of_a_client_is_said_once(load, client, attempts, says):
    body = f"{TABLE}clients: {{c: {{{client}, dependency: table}}}}\nqueues:\n"
    body += "  q: {arrival_rate: 10/min, service_rate: 20/min, dependency: table}\n"
    coupling = couple(load(body))
    assert coupling is not None
    assert coupling.system.dependencies[0].attempts_failing == pytest.approx(attempts)
    assert coupling.system.queues[0].attempts_failing == pytest.approx(attempts)
    [doubt] = coupling.doubts
    assert says in doubt.text


def test_stacked_loops_are_not_held_by_the_quotas_of_the_clients(load):
    body = f"{TABLE}clients: {{c: {{sdk: go-v2, number: 10, dependency: table}}}}\ncall_stacks:\n"
    body += "  s: {dependency: table, layers: [{name: a, tries: 3}, {name: b, tries: 3}]}\n"
    coupling = couple(load(body))
    assert coupling is not None
    assert coupling.system.dependencies[0].attempts_failing == 9
    assert coupling.system.dependencies[0].retry_tokens == math.inf
