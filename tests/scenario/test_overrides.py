"""Single values set from outside: every form that a shell, a notebook or papermill can give."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from afterload.errors import AfterloadError, OverrideError, ScenarioError
from afterload.scenario import LoadedScenario, Scenario, load_scenario, read_overrides
from afterload.scenario.overrides import apply_overrides
from afterload.yamltree import read_text

Write = Callable[..., Path]
RATE = "queues.orders.arrival_rate"


@pytest.fixture
def load(example: str, write: Write) -> Callable[..., LoadedScenario]:
    """Load the example, or another text, with overrides."""

    def load(overrides: Any = None, text: str = example) -> LoadedScenario:
        return load_scenario(write(text, "orders.yaml"), overrides)

    return load


@pytest.fixture
def refusal(load: Callable[..., LoadedScenario]) -> Callable[..., str]:
    """Message of the error that overrides raise."""

    def refusal(overrides: Any, kind: type[Exception] = OverrideError, **more: Any) -> str:
        with pytest.raises(kind) as caught:
            load(overrides, **more)
        assert type(caught.value) is kind
        return str(caught.value)

    return refusal


Load = Callable[..., LoadedScenario]
Refusal = Callable[..., str]


def arrival(loaded: LoadedScenario) -> float | None:
    return loaded.scenario.queues["orders"].arrival_rate.constant_per_min


@pytest.mark.parametrize(
    "overrides",
    [
        {RATE: "1500/min", "team": "Carts"},
        {f" {RATE} ": "1,500/min", "team": "Carts"},
        [f"{RATE}=1500/min", "team=Carts"],
        (f"{RATE} = 1500/min", "team = Carts"),
        f"{RATE}=1500/min\nteam=Carts",
        f"\n  {RATE}=1500/min  \r\n\n  team=Carts\n",
        json.dumps({RATE: "1500/min", "team": "Carts"}),
        "  " + json.dumps({RATE: "25/s", "team": "Carts"}, indent=2),
        [f"{RATE}_per_min=1500", "team='Carts'"],
        {f"{RATE}_per_s": 25, "team": "Carts"},
    ],
)
def test_every_form_gives_the_same(overrides: Any, load: Load) -> None:
    loaded = load(overrides)
    assert arrival(loaded) == 1500
    assert loaded.scenario.team == "Carts"
    assert set(loaded.overrides.values()) >= {"Carts"}


@pytest.mark.parametrize("overrides", [None, {}, [], (), "", "  \n", "{}"])
def test_no_overrides_change_nothing(overrides: Any, load: Load) -> None:
    assert load(overrides).digest == load().digest
    assert load(overrides).overrides == {}


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (5, "5 is not a mapping of path to value"),
        ({5: 1}, "5 is not a path such as queues.orders.arrival_rate"),
        ({"": 1}, "'' is not a path"),
        ({" ": 1}, "' ' is not a path"),
        (["team"], "--set team: is not of the form path=value"),
        ([""], "is not of the form path=value"),
        (["=5"], "is not of the form path=value"),
        ([5], "is not of the form path=value"),
        ("team: Carts", "is not of the form path=value"),
        (["team=a", "team=b"], "team is set twice"),
        (["team=a", " team =b"], "team is set twice"),
        ('{"team": ', "is not JSON"),
        ('{"team": "a"} x', "is not JSON"),
        ('{"a":' * 100_000, "is not JSON"),
        (f'{{"team": {"1" * 5000}}}', "is not JSON"),
        (["queues.=5"], "the path ends with a dot"),
        ([f"{RATE}.=5/min"], "the path ends with a dot"),
    ],
)
def test_a_wrong_form_is_refused(overrides: Any, words: str, refusal: Refusal) -> None:
    assert words in refusal(overrides)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1500", 1500), ("1.40", 1.4), ("true", True), ("null", None), ("~", None), ("", None), ("none", "none"),
        ("NO", "NO"), ("2025-10-19", "2025-10-19"), ("2025_10_20", "2025_10_20"), ("1_0", "1_0"), ("nan", "nan"),
        (".inf", ".inf"), ("012", "012"), ("[1, 2]", [1, 2]), ("{a: 1}", {"a": 1}), ("'5'", "5"), ('"a=b"', "a=b"),
        ("a=b", "a=b"), ("ticket #42", "ticket #42"), ("#42", "#42"), ("&x", "&x"), ("*x", "*x"), ("!x y", "!x y"),
        ("@x", "@x"), ("[1, 2", "[1, 2"), ('"open', '"open'), ("a: b: c", "a: b: c"), ("1,200/min", "1,200/min"),
    ],
)  # fmt: skip
def test_a_value_is_typed_as_in_the_file(text: str, value: object) -> None:
    found = read_overrides([f"team={text}"])["team"]
    assert found == value
    assert isinstance(found, bool) == isinstance(value, bool)


def test_a_version_keeps_its_text(load: Load) -> None:
    assert load(["clients.order-worker.version=1.40"]).scenario.clients["order-worker"].version == "1.40"
    assert load({"clients.order-worker.version": "1.40"}).scenario.clients["order-worker"].version == "1.40"


@pytest.mark.parametrize(
    ("path", "value", "find"),
    [
        ("recovery_objective", "2 h", lambda s: (s.recovery_objective_min, 120)),
        ("recovery_objective_h", "2", lambda s: (s.recovery_objective_min, 120)),
        ("recovery_measured", "410 min", lambda s: (s.recovery_measured_min, 410)),
        ("incident.name", "a drill: the second", lambda s: (s.incident.name, None)),
        ("incident.restored_at", "2025-10-20T09:50Z", lambda s: (s.incident.outage_min, 182)),
        ("hypothetical", "false", lambda s: (s.hypothetical, False)),
        ("queues.orders.drain_cap.concurrency", "40", lambda s: (s.queues["orders"].drain_cap.concurrency, 40)),
        ("queues.orders.drain_cap", "{concurrency: 40}", lambda s: (s.queues["orders"].drain_cap.concurrency, 40)),
        ("queues.orders.drain_cap", "none", lambda s: (s.queues["orders"].drain_cap, None)),
        ("queues.orders.ramp", "lambda-sqs", lambda s: (s.queues["orders"].ramp.ceiling, 1250)),
        ("queues.orders.retention", "none", lambda s: (s.queues["orders"].retention_min, None)),
        ("queues.orders.retention", "null", lambda s: (s.queues["orders"].retention_min, None)),
        ("queues.orders.retention", "", lambda s: (s.queues["orders"].retention_min, None)),
        ("queues.orders.retention_days", "3", lambda s: (s.queues["orders"].retention_min, 4320)),
        ("queues.orders.source", "ticket #42", lambda s: (s.queues["orders"].source, "ticket #42")),
        ("queues.orders.resources.function", "other", lambda s: (s.queues["orders"].resources.function, "other")),
        ("call_stacks.checkout.layers.1.tries", "2", lambda s: (s.call_stacks["checkout"].layers[1].tries, 2)),
        ("call_stacks.checkout.layers.gateway.tries", "2", lambda s: (s.call_stacks["checkout"].layers[1].tries, 2)),
        (
            "call_stacks.checkout.layers.database client.tries",
            "1",
            lambda s: (s.call_stacks["checkout"].layers[4].tries, 1),
        ),
        ("call_stacks.checkout.layers", "[{name: a, tries: 2}]", lambda s: (len(s.call_stacks["checkout"].layers), 1)),
        (
            "call_stacks.checkout.failure_probability",
            "50 %",
            lambda s: (s.call_stacks["checkout"].failure_probability, 0.5),
        ),
        ("clients.checkout.max_attempts", "none", lambda s: (s.clients["checkout"].max_attempts, None)),
        ("clients.checkout.max_attempts", "7", lambda s: (s.clients["checkout"].max_attempts, 7)),
        (
            "fleets.checkout-api.launch.request_refill",
            "3/s",
            lambda s: (s.fleets["checkout-api"].launch.request_refill_per_s, 3),
        ),
        ("fleets.checkout-api.removal_automation", "[]", lambda s: (s.fleets["checkout-api"].removal_automation, ())),
        (
            "fleets.checkout-api.removal_automation",
            "null",
            lambda s: (s.fleets["checkout-api"].removal_automation, None),
        ),
        (
            "fleets.checkout-api.removal_automation.AZRebalance.paused",
            "true",
            lambda s: (
                [(a.name, a.paused) for a in s.fleets["checkout-api"].removal_automation][1],
                ("AZRebalance", True),
            ),
        ),
    ],
)
def test_a_path_reaches_every_part(
    path: str, value: str, find: Callable[[Scenario], tuple[Any, Any]], load: Load
) -> None:
    if path == "incident.name":  # YAML takes it for a mapping unless it is quoted
        assert load([f"{path}='{value}'"]).scenario.incident.name == value
        return
    found, expected = find(load([f"{path}={value}"]).scenario)
    assert found == expected


def test_a_preset_can_be_changed_in_one_number(load: Load, example: str) -> None:
    text = example.replace("    item_time: 2 s\n", "    item_time: 2 s\n    ramp: lambda-sqs\n")
    ramp = load(["queues.orders.ramp.per_min=100"], text).scenario.queues["orders"].ramp
    assert ramp is not None
    assert (ramp.start, ramp.per_min, ramp.ceiling) == (5, 100, 1250)


def test_names_with_dots(load: Load, example: str) -> None:
    text = example.replace("  orders:\n    service", "  orders.fifo:\n    service")
    loaded = load(["queues.orders.fifo.arrival_rate=5/min", "queues.orders.fifo.drain_cap.concurrency=4"], text)
    queue = loaded.scenario.queues["orders.fifo"]
    assert queue.arrival_rate.constant_per_min == 5
    assert queue.drain_cap is not None
    assert queue.drain_cap.concurrency == 4
    assert loaded.where("queues", "orders.fifo", "arrival_rate") == "--set queues.orders.fifo.arrival_rate"


def test_the_longer_of_two_names_with_dots_wins(load: Load, example: str) -> None:
    text = example.replace(
        "call_stacks:\n", "  orders.fifo:\n    arrival_rate: 1/min\n    service_rate: 2/min\ncall_stacks:\n"
    )
    scenario = load(["queues.orders.fifo.arrival_rate=5/min"], text).scenario
    assert scenario.queues["orders.fifo"].arrival_rate.constant_per_min == 5
    assert scenario.queues["orders"].arrival_rate.constant_per_min == 1200


@pytest.mark.parametrize("written", ["arrival_rate: 1,200/min", "arrival_rate_per_min: 1200", "arrival_rate_per_s: 20"])
@pytest.mark.parametrize("given", ["arrival_rate=1500/min", "arrival_rate_per_min=1500", "arrival_rate_per_h=90000"])
def test_a_unit_form_replaces_every_other(written: str, given: str, load: Load, example: str) -> None:
    text = example.replace("arrival_rate: 1,200/min", written)
    loaded = load([f"queues.orders.{given}"], text)
    assert arrival(loaded) == pytest.approx(1500)
    origin = f"--set queues.orders.{given.partition('=')[0]}"
    assert loaded.where("queues", "orders", "arrival_rate") == origin
    assert loaded.where("queues", "orders", "arrival_rate_per_min") == origin


def test_a_constant_becomes_a_profile(load: Load) -> None:
    hours = list(range(24))
    for overrides in (
        [f"{RATE}.hour_of_day_per_min={hours}"],
        {f"{RATE}.hour_of_day": [f"{hour}/min" for hour in hours]},
        {RATE: {"hour_of_day_per_min": hours}},
    ):
        rate = load(overrides).scenario.queues["orders"].arrival_rate
        assert rate.hour_of_day_per_min == tuple(hours)
        assert rate.constant_per_min is None


def test_an_attached_file_resolves_from_the_folder_of_the_scenario(load: Load, write: Write, tmp_path: Path) -> None:
    write("at,event\n2025-10-19T23:48Z,drill\n", "drill.csv")
    assert [event.event for event in load(["incident.timeline=drill.csv"]).timeline] == ["drill"]
    assert load(["incident.timeline=none"]).timeline == ()
    with pytest.raises(ScenarioError, match=r"^.*1 problem\n  --set incident.timeline: 'x.csv' names no file"):
        load(["incident.timeline=x.csv"])


UNKNOWN = {
    "tema=x": ["'tema' is not known at the top", "nearest: team", "known at the top: team, owner, time_zone"],
    "queue.orders.arrival_rate=1/min": ["'queue' is not known at the top", "nearest: queues"],
    "queues.order.arrival_rate=1/min": [
        "'order' is not known in queues",
        "nearest: queues.orders",
        "known in queues: orders",
    ],
    "queues.orders.arrival=1/min": ["'arrival' is not known in queues.orders", "nearest: queues.orders.arrival_rate"],
    "queues.orders.drain_cap.concurency=1": [
        "'concurency' is not known",
        "nearest: queues.orders.drain_cap.concurrency",
    ],
    "queues.orders.retention.days=1": ["queues.orders.retention holds a single value, so nothing stands below it"],
    "team.name=x": ["team holds a single value"],
    "call_stacks.checkout.layers.gatway.tries=2": [
        "'gatway' is not an item of call_stacks.checkout.layers; known: browser, gateway, checkout service",
        "or a place from 0 to 4",
    ],
    "call_stacks.checkout.layers.5.tries=2": ["'5' is not an item", "a place from 0 to 4"],
    "call_stacks.checkout.layers.-1.tries=2": ["'-1' is not an item"],
    "call_stacks.checkout.layers.².tries=2": ["'²' is not an item"],
    "fleets.checkout-api.launch.throtle_factor=1": ["nearest: fleets.checkout-api.launch.throttle_factor"],
    ".team=x": ["'' is not known at the top"],
    "queues..arrival_rate=1/min": ["'' is not known in queues"],
    "__class__=x": ["'__class__' is not known at the top"],
}


@pytest.mark.parametrize("given", UNKNOWN)
def test_an_unknown_path_names_the_nearest(given: str, refusal: Refusal) -> None:
    message = refusal([given])
    assert message.startswith(f"--set {given.partition('=')[0]}: ")
    assert "\n" not in message
    for words in UNKNOWN[given]:
        assert words in message


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (f"{RATE}=1/min", f"{RATE}_per_min=2"),
        (f"{RATE}_per_s=1", f"{RATE}=2/min"),
        ("queues.orders.retention=1 h", "queues.orders.retention_s=60"),
        (f"{RATE}.hour_of_day_per_min={[1] * 24}", f"{RATE}=2/min"),
        ("queues.orders.drain_cap.concurrency=4", "queues.orders.drain_cap=none"),
        ("call_stacks.checkout.layers.1.tries=4", "call_stacks.checkout.layers.gateway.tries=3"),
    ],
)
def test_two_overrides_of_one_value_are_refused(first: str, second: str, refusal: Refusal) -> None:
    message = refusal([first, second])
    names = [given.partition("=")[0] for given in (second, first)]
    assert message == f"--set {names[0]}: replaces what --set {names[1]} gives: keep one of them"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (f"{RATE}=1500", "1500 has no unit"),
        (f"{RATE}=fast", "'fast' is not a rate"),
        (f"{RATE}_per_min=nan", "'nan' is not a number"),
        (f"{RATE}_per_min=-5", "-5 is not a finite number"),
        (f"{RATE}=1500/fortnight", "unknown unit 'fortnight'"),
        ("queues.orders.service=sqs_lambda", "'sqs_lambda' is not known; nearest: sqs-lambda"),
        ("queues.orders.drain_cap.concurrency=5000", "5000 is out of range for an SQS mapping; accepted: 2 to 1,000"),
        ("queues.orders.retention_days=15", "21600 min is out of range for SQS"),
        ("queues.orders.dependency=order-table", "'order-table' is not one of the dependencies; nearest: orders-table"),
        ("incident.trigger=2025-10-19", "has a date but no time of day"),
        ("incident.trigger=2024-11-03T01:30", "2024-11-03T01:30-07:00 or 2024-11-03T01:30-08:00"),
        ("hypothetical=yes", "'yes' is not a truth value"),
        ("hypothetical=1", "1 is not a truth value"),
        ("call_stacks.checkout.layers.gateway.tries=0", "0 is out of range; accepted: at least 1"),
        ("clients.order-worker.version=latest", "'latest' is not a version"),
        ("fleets.checkout-api.launch.other_callers_share=95 %", "no request of 100 instances can ever pass"),
        ("team=[a]", "['a'] is not text"),
        ("time_zone=PDT", "'PDT' is not a time zone"),
    ],
)
def test_a_wrong_value_names_the_override(given: str, words: str, refusal: Refusal) -> None:
    message = refusal([given], ScenarioError)
    head, *problems = message.split("\n")
    assert head.endswith("orders.yaml: 1 problem")
    assert len(problems) == 1
    assert problems[0].startswith(f"  --set {given.partition('=')[0]}:")
    assert words in problems[0]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1, 10**400, True, None, [1], {"a": 1}, "5_0"])
def test_a_wrong_value_of_python_names_the_override(value: Any, refusal: Refusal) -> None:
    message = refusal({"queues.orders.service_rate_per_min": value}, ScenarioError)
    assert "\n  --set queues.orders.service_rate_per_min: " in message


def test_json_gives_no_nan(refusal: Refusal) -> None:
    message = refusal('{"queues.orders.service_rate_per_min": NaN}', ScenarioError)
    assert "nan is not a finite number" in message


def test_a_mistake_below_an_override_names_it(refusal: Refusal) -> None:
    message = refusal({"call_stacks.checkout.layers": [{"name": "a", "tries": 2}, {"name": "b"}]}, ScenarioError)
    assert "\n  --set call_stacks.checkout.layers: call_stacks.checkout.layers.1.tries: is missing" in message


def test_mistakes_of_file_and_override_are_reported_together(refusal: Refusal, example: str) -> None:
    message = refusal(["team="], ScenarioError, text=example.replace("retention: 4 days", "retention: 4"))
    assert ": 2 problems\n" in message
    assert "--set team: None is not text" in message
    assert "orders.yaml:28: queues.orders.retention: 4 has no unit" in message


def test_where_a_value_came_from(load: Load, example: str) -> None:
    loaded = load([f"{RATE}=5/min", "queues.orders.drain_cap.concurrency=4"])
    lines = example.splitlines()
    for path, start in {
        ("team",): "team:",
        ("recovery_objective",): "recovery_objective:",
        ("recovery_objective_min",): "recovery_objective:",
        ("queues", "orders", "retention"): "    retention:",
        ("queues", "orders", "retention_min"): "    retention:",
        ("fleets", "checkout-api", "launch", "boot_time_s"): "      boot_time:",
        ("call_stacks", "checkout", "layers", 2): "      - { name: checkout service",
    }.items():
        line = next(number for number, text in enumerate(lines, 1) if text.startswith(start))
        assert loaded.where(*path) == f"orders.yaml line {line}"
    assert loaded.where("queues", "orders", "arrival_rate") == f"--set {RATE}"
    assert loaded.where("queues", "orders", "drain_cap", "concurrency") == "--set queues.orders.drain_cap.concurrency"
    assert loaded.where("queues", "orders", "drain_cap") == "--set queues.orders.drain_cap.concurrency"
    for path in (
        ("recovery_measured",),
        ("queues", "orders", "age_limit"),
        ("queues", "none", "x"),
        ("nothing", 3, "x"),
    ):
        assert loaded.where(*path) == "default"


def test_where_follows_the_form_in_the_file(load: Load, example: str) -> None:
    text = example.replace("retention: 4 days", "retention_days: 4").replace(
        "recovery_objective: 240 min", "recovery_objective_h: 4"
    )
    loaded = load(None, text)
    assert loaded.where("queues", "orders", "retention") == "orders.yaml line 28"
    assert loaded.where("recovery_objective") == "orders.yaml line 7"


def test_the_tree_given_is_not_changed(example: str) -> None:
    data = read_text(example, "x").data
    before = copy.deepcopy(data)
    changed, given, values = apply_overrides(data, {RATE: "5/min", "queues.orders.drain_cap.concurrency": 4}, Scenario)
    assert values == {RATE: "5/min", "queues.orders.drain_cap.concurrency": 4}
    assert data == before
    assert changed["queues"]["orders"]["arrival_rate"] == "5/min"
    assert "drain_cap" not in data["queues"]["orders"]
    assert given == {
        ("queues", "orders", "arrival_rate"): f"--set {RATE}",
        ("queues", "orders", "drain_cap", "concurrency"): "--set queues.orders.drain_cap.concurrency",
    }


def test_a_value_set_to_what_it_was_changes_no_digest(load: Load, example: str) -> None:
    assert load([f"{RATE}=1,200/min"]).digest == load().digest
    assert (
        load(["clients.order-worker.number=400"]).digest
        == load({"clients.order-worker.number": 400}).digest
        == load().digest
    )
    assert load([f"{RATE}=1,201/min"]).digest != load().digest


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.sampled_from("queues orders arrival_rate team layers call_stacks checkout 0 fleets launch . x".split()),
        max_size=5,
    ),
    st.one_of(st.text(max_size=12), st.floats(), st.integers(), st.none(), st.lists(st.integers(), max_size=2)),
)
def test_any_override_loads_or_is_refused(load: Load, parts: list[str], value: Any) -> None:
    path = ".".join(parts)
    for overrides in ({path: value}, [f"{path}={value}"], f"{path}={value}"):
        try:
            loaded = load(overrides)
        except AfterloadError:
            continue
        assert loaded.scenario.team


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ("shared.account", "111122223333", "111122223333"),
        ("shared.account", "012345678901", "012345678901"),
        ("owner", "12", "12"),
        ("owner", "1.40", "1.40"),
        ("owner", "true", "true"),
        ("owner", "Team: A", "Team: A"),
        ("owner", "- on call", "- on call"),
        ("owner", "'12'", "12"),
        ("queues.orders.resources.function", "1e3", "1e3"),
    ],
)
def test_what_is_typed_for_text_is_text_in_every_process(path: str, value: str, text: str, load: Load) -> None:
    loaded = load([f"{path}={value}"])
    assert loaded.overrides == {path: text}
    # As a packet's parameters go: as JSON or Python source, and read again by the chapter.
    again = load(json.loads(json.dumps(dict(loaded.overrides))))
    assert (again.scenario, again.digest, again.overrides) == (loaded.scenario, loaded.digest, loaded.overrides)


def test_whole_numbers_given_for_text_are_text_and_for_counts_are_counts(load: Load) -> None:
    # papermill -y '{overrides: {shared.account: 111122223333}}' gives a number.
    loaded = load({"shared.account": 111122223333, "queues.orders.max_receives": 5})
    assert loaded.scenario.shared.account == "111122223333"
    assert loaded.scenario.queues["orders"].max_receives == 5
    assert loaded.overrides == {"shared.account": "111122223333", "queues.orders.max_receives": 5}


def test_a_float_for_text_is_refused_since_its_last_zeros_are_gone(refusal: Refusal) -> None:
    assert "--set owner: 1.4 is not text; accepted: text; put quotes around it" in refusal(
        {"owner": 1.4}, ScenarioError
    )


def test_text_inside_a_section_that_is_set_whole_keeps_its_digits(load: Load) -> None:
    loaded = load(["shared={account: 111122223333, region: 1.40, concurrency: 2000}"])
    assert loaded.overrides == {"shared": {"account": "111122223333", "region": "1.40", "concurrency": 2000}}
    again = load(json.loads(json.dumps(dict(loaded.overrides))))
    assert (again.scenario, again.digest) == (loaded.scenario, loaded.digest)
