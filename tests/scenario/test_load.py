"""A scenario that passes: starter, examples, every form of a quantity, digests, paths and the JSON Schema."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from afterload.errors import NotFoundError, UnitError
from afterload.resources import builtin_path, resource
from afterload.scenario import LoadedScenario, Scenario, load_scenario
from afterload.scenario.starter import starter
from afterload.yamltree import plain, read_file, read_text

Write = Callable[..., Path]
EXAMPLES = sorted(path.stem for path in resource("data", "scenarios").glob("*.yaml"))
RATE = "    arrival_rate: 1,200/min\n"
TIMELINE = "  timeline: builtin:incidents/us-east-1-2025-10-20/timeline.csv\n"

NAMES = [
    "Orders", "orders", "O'Brien", 'the "fast" team', "Zahlungen & Bücher", "注文チーム", "équipe #1", "a: b", "- dash", "NO",
    "yes", "null", "~", "1.40", "012", "2025-10-19", "[x]", "{x}", "*star", "&and", "!bang", "%per", "@at", "`tick`", "a\\b",
    "TEAM_NAME", "x" * 200, "  spaces  ", "=", "<<", "|", ">", "?", "😀", "a\u00a0b".replace("\u00a0", " "), "</script>",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name)[:20])
def test_the_starter_passes_for_any_name(name: str, write: Write) -> None:
    loaded = load_scenario(write(starter(name)))
    assert loaded.scenario.team == name.strip()
    assert loaded.scenario.queues
    assert loaded.scenario.hypothetical


@pytest.mark.parametrize("name", ["", "  ", "two\nlines", "bell\x07", "x" * 201, "\ud800"])
def test_the_starter_refuses_what_is_no_name(name: str) -> None:
    with pytest.raises(UnitError):
        starter(name)


def test_what_the_starter_comments_out_is_right_too(write: Write) -> None:
    """Each commented line of the starter, taken in by itself with the lines that it opens, passes as well."""
    write("at,rate_per_min\n2025-10-19T00:00Z,5\n2025-10-19T01:00Z,6\n", "arrivals.csv")
    write("at,event,source,status,note\n2025-10-20T00:10-07:00,Alarm,metrics,confirmed,\n", "own.csv")
    lines = starter("Orders").splitlines()
    blocks: list[list[int]] = []
    for number, line in enumerate(lines):
        inner = line.strip().removeprefix("# ")
        if not line.strip().startswith("# ") or ":" not in inner or line.startswith("# One") or number < 7:
            continue
        if line.strip().startswith("#   ") and blocks and blocks[-1][-1] == number - 1:
            blocks[-1].append(number)
        elif not line.strip().startswith("#   "):
            blocks.append([number])
    assert len(blocks) >= 12
    for block in blocks:
        shown = list(lines)
        last = block[-1]
        while "[" in shown[last] and "]" not in shown[last]:
            last += 1
        for number in (*block, *range(block[-1] + 1, last + 1)):
            shown[number] = shown[number].replace("# ", "", 1)
        key = shown[block[0]].split(":")[0].strip()
        if key in ("arrival_rate", "ramp", "sideline_after"):
            shown = [line for n, line in enumerate(shown) if n in block or not line.startswith(f"    {key}:")]
        text = "\n".join(shown)
        if key == "sideline_after":
            text = text.replace("    # order: fresh_first", "    order: fresh_first")
        load_scenario(write(text))


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_shipped_example_passes(name: str) -> None:
    loaded = load_scenario(f"builtin:scenarios/{name}.yaml")
    assert loaded.name == f"{name}.yaml"
    assert loaded.scenario.team
    assert loaded.scenario.hypothetical


def test_the_shipped_example_holds_what_its_source_gives(example: str) -> None:
    loaded = load_scenario("builtin:scenarios/orders.yaml")
    assert loaded.timeline
    assert len(loaded.impacts) == 12
    scenario = loaded.scenario
    queue = scenario.queues["orders"]
    assert scenario.incident.outage_min == 172
    assert (queue.arrival_rate.constant_per_min, queue.service_rate_per_min) == (1200, 1800)
    assert [layer.tries for layer in scenario.call_stacks["checkout"].layers] == [3] * 5
    assert scenario.incident.trigger == datetime(2025, 10, 20, 6, 48, tzinfo=UTC)


# --- quantities ------------------------------------------------------------------------------------------------------


def loaded_with(example: str, write: Write, *edits: tuple[str, str]) -> LoadedScenario:
    text = example
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    return load_scenario(write(text))


RATES = {
    "arrival_rate: 1,200/min": 1200,
    "arrival_rate: 20/s": 1200,
    "arrival_rate: 72,000 per hour": 1200,
    "arrival_rate: 1,728,000/day": 1200,
    'arrival_rate: "1,200/min"': 1200,
    "arrival_rate_per_min: 1200": 1200,
    'arrival_rate_per_min: "1,200"': 1200,
    "arrival_rate_per_min: 1.2e3": 1200,
    "arrival_rate_per_min: 1200.0": 1200,
    "arrival_rate_per_s: 20": 1200,
    "arrival_rate_per_h: 72000": 1200,
    "arrival_rate_per_day: 1728000": 1200,
    "arrival_rate: {constant: 20/s}": 1200,
    "arrival_rate: {constant_per_h: 72000}": 1200,
    "arrival_rate_per_s: 7": 420,
    "arrival_rate: 0/min": 0,
}


@pytest.mark.parametrize("text", RATES)
def test_a_constant_arrival_rate_in_every_form(text: str, example: str, write: Write) -> None:
    rate = loaded_with(example, write, (RATE, f"    {text}\n")).scenario.queues["orders"].arrival_rate
    assert rate.constant_per_min == RATES[text]
    assert (rate.hour_of_day_per_min, rate.series) == (None, None)


@pytest.mark.parametrize(
    "text",
    [
        f"hour_of_day_per_min: {[60 * n for n in range(24)]}",
        f"hour_of_day_per_s: {list(range(24))}",
        f"hour_of_day_per_h: {[3600 * n for n in range(24)]}",
        f"hour_of_day: [{', '.join(f'{n}/s' for n in range(24))}]",
        f"hour_of_day: [{', '.join(f'{60 * n}/min' for n in range(24))}]",
    ],
)
def test_the_hours_of_a_day_in_every_form(text: str, example: str, write: Write) -> None:
    rate = (
        loaded_with(example, write, (RATE, f"    arrival_rate:\n      {text}\n")).scenario.queues["orders"].arrival_rate
    )
    assert rate.hour_of_day_per_min == tuple(60.0 * n for n in range(24))
    assert rate.constant_per_min is None


@pytest.mark.parametrize(
    ("column", "cells", "rates"),
    [
        ("rate_per_min", (60, 120, 90.5), (60, 120, 90.5)),
        ("rate_per_s", (1, 2, 1.5), (60, 120, 90)),
        ("rate_per_h", (3600, 7200, 5400), (60, 120, 90)),
        ("count", (300, 600, 450), (60, 120, 90)),
        ("count", ('"3,000"', 600, 0), (600, 120, 0)),
    ],
)
@pytest.mark.parametrize("newest_first", [False, True])
def test_a_series_in_every_form_and_order(
    column: str, cells: tuple[object, ...], rates: tuple[float, ...], newest_first: bool, example: str, write: Write
) -> None:
    rows = [f"2025-10-19T00:{5 * n:02}Z,{cell}\n" for n, cell in enumerate(cells)]
    write(f"at,{column}\n" + "".join(reversed(rows) if newest_first else rows), "arrivals.csv")
    loaded = loaded_with(example, write, (RATE, "    arrival_rate:\n      series: arrivals.csv\n"))
    series = loaded.series["orders"]
    assert series.rates_per_min == pytest.approx(rates)
    assert series.step_min == 5
    assert series.times[0] == datetime(2025, 10, 19, tzinfo=UTC)
    assert loaded.scenario.queues["orders"].arrival_rate.series == "arrivals.csv"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_series_from_other_programs(encoding: str, end: str, example: str, write: Write) -> None:
    text = "count , at\n10,2025-10-18T17:00-07:00\n 20 ,2025-10-19T00:01Z\n,\n30,2025-10-19T09:02+09:00\n\n"
    write(text.replace("\n", end).encode(encoding), "arrivals.csv")
    loaded = loaded_with(example, write, (RATE, "    arrival_rate:\n      series: arrivals.csv\n"))
    assert loaded.series["orders"].rates_per_min == (10, 20, 30)


RETENTION = ["retention: 4 days", "retention: 96 h", "retention: P4D", "retention: 345,600 s", "retention_days: 4",
             "retention_h: 96", "retention_min: 5760", "retention_s: 345600", "retention_ms: 345600000",
             'retention_s: "345,600"', "retention: 5,760 min"]  # fmt: skip
BOOT = ["boot_time: 120 s", "boot_time: 2 min", "boot_time: PT2M", "boot_time_s: 120", "boot_time_min: 2",
        "boot_time_ms: 120000", "boot_time_h: 0.0333333333333333333", "boot_time: 120,000 ms"]  # fmt: skip
SERVICE = ["service_rate: 1,800/min", "service_rate: 30/s", "service_rate_per_s: 30", "service_rate_per_min: 1800",
           "service_rate_per_h: 108000", "service_rate_per_day: 2592000"]  # fmt: skip
REFILL = ["request_refill: 2/s", "request_refill: 120/min", "request_refill_per_s: 2", "request_refill_per_min: 120",
          "request_refill_per_h: 7200", "request_refill_per_day: 172800"]  # fmt: skip


@pytest.mark.parametrize(
    ("forms", "old"),
    [
        (RETENTION, "retention: 4 days"),
        (BOOT, "boot_time: 120 s"),
        (SERVICE, "service_rate: 1,800/min"),
        (REFILL, None),
    ],
    ids=["minutes", "seconds", "rate a minute", "rate a second"],
)
def test_every_suffix_gives_the_same_scenario(forms: list[str], old: str | None, example: str, write: Write) -> None:
    found = [
        loaded_with(
            example, write, (old or "      boot_time:", form if old else f"      {form}\n      boot_time:")
        ).scenario
        for form in forms
    ]
    for form, scenario in zip(forms, found, strict=True):
        assert scenario == found[0], form


def test_names_and_versions_keep_their_text(example: str, write: Write) -> None:
    loaded = loaded_with(
        example,
        write,
        ("team: Orders", "team: 2025_10_20"),
        ("owner: Orders on-call", "owner: NO"),
        ("version: 1.43.11", "version: 1.40"),
        ("name: us-east-1, 19 and 20 October 2025", "name: 2025-10-19"),
    )
    scenario = loaded.scenario
    assert (scenario.team, scenario.owner, scenario.incident.name) == ("2025_10_20", "NO", "2025-10-19")
    assert scenario.clients["order-worker"].version == "1.40"


@pytest.mark.parametrize("nothing", ["none", "null", "~", "", '"none"'])
def test_none_is_the_same_as_not_given(nothing: str, example: str, write: Write) -> None:
    keys = ["age_limit", "deadline", "sideline_after", "drain_cap", "ramp", "stream", "on_failure_destination", "owner"]
    text = "".join(f"    {key}: {nothing}\n" for key in keys)
    with_none = loaded_with(example, write, ("    item_time: 2 s\n", f"    item_time: 2 s\n{text}")).scenario
    assert with_none == loaded_with(example, write).scenario
    client = loaded_with(
        example, write, ("    version: 1.43.11\n", f"    version: {nothing}\n    max_attempts: {nothing}\n")
    )
    assert client.scenario.clients["order-worker"].version is None
    assert client.scenario.clients["order-worker"].max_attempts is None
    assert loaded_with(example, write, (TIMELINE, f"  timeline: {nothing}\n")).timeline == ()


@pytest.mark.parametrize(
    ("old", "field"),
    [
        ("    item_time: 2 s\n", "max_receives"),
        ("    item_time: 2 s\n", "reserved_concurrency"),
        ("    item_time: 2 s\n", "provisioned_pollers"),
        ("    tested_rate: 3,000/min\n", "capacity"),
        ("    running: 600\n", "removal"),
        ("    running: 600\n", "target_group"),
    ],
)
def test_none_passes_the_bounds_of_a_field(old: str, field: str, example: str, write: Write) -> None:
    with_none = loaded_with(example, write, (old, f"    {field}: none\n{old}")).scenario
    assert with_none == loaded_with(example, write).scenario


def test_none_passes_the_bounds_of_what_is_further_down(example: str, write: Write) -> None:
    group = "{targets: [1], new_targets: none, checker_rate: none, routing_share: none, dns_share: none}"
    removal = "{provisioned: none, velocity_limit: none, checks_failing: none, health_check_grace: none}"
    loop = "{load: 1/s, capacity: 2/s, timeout: 1 s, queue_cap: none, cleared_after: none, retries: none}"
    text = f"control_loops: {{l: {loop}}}\nfleets:\n"
    fleet = f"    running: 600\n    target_group: {group}\n    removal: {removal}\n"
    scenario = loaded_with(example, write, ("fleets:\n", text), ("    running: 600\n", fleet)).scenario
    shorter = text.replace(loop, "{load: 1/s, capacity: 2/s, timeout: 1 s}")
    plain = fleet.replace(group, "{targets: [1]}").replace(removal, "{}")
    assert scenario == loaded_with(example, write, ("fleets:\n", shorter), ("    running: 600\n", plain)).scenario


def test_a_scenario_cannot_be_changed(example: str, write: Write) -> None:
    scenario = loaded_with(example, write).scenario
    with pytest.raises(ValueError, match="frozen"):
        scenario.team = "x"  # type: ignore[misc]


# --- digests ---------------------------------------------------------------------------------------------------------


def test_the_digest_changes_with_every_value(example: str, write: Write) -> None:
    edits = [
        ("team: Orders", "team: Carts"), ("hypothetical: true", "hypothetical: false"), ("240 min", "241 min"),
        ("02:40-07:00", "02:41-07:00"), ("3,000/min", "3,001/min"), ("1,200/min", "1,201/min"), ("4 days", "5 days"),
        ("tries: 3", "tries: 2"), ("failure_probability: 1", "failure_probability: 0.5"), ("1.43.11", "1.44.0"),
        ("1.43.11", "1.40"), ("1.43.11", "1.4"), ("number: 400", "number: 401"), ("600\n", "601\n"), ("120 s", "121 s"),
        ("[ReplaceUnhealthy, AZRebalance,", "[AZRebalance, ReplaceUnhealthy,"), (TIMELINE, ""),
        ("function: order-worker", "function: other"), ("owner: Orders on-call\n", ""),
    ]  # fmt: skip
    digests = [loaded_with(example, write).digest, *(loaded_with(example, write, edit).digest for edit in edits)]
    assert len(set(digests)) == len(digests)
    assert all(len(digest) == 64 for digest in digests)


def test_the_digest_does_not_change_with_comments_order_or_style(example: str, write: Write) -> None:
    tree = plain(read_text(example, "x").data)
    tree["clients"]["order-worker"]["version"] = "1.43.11"
    base = loaded_with(example, write).digest
    assert load_scenario(write(f"# more\n\n{example}\n# and more\n")).digest == base
    assert load_scenario(write(example, "other.yaml")).digest == base
    assert load_scenario(write(example.replace("\n", "\r\n"))).digest == base

    def turned(value: Any) -> Any:
        return {k: turned(v) for k, v in reversed(value.items())} if isinstance(value, dict) else value

    assert load_scenario(write(json.dumps(turned(tree), indent=1))).digest == base


@pytest.mark.parametrize("kind", ["timeline", "impacts", "series"])
def test_the_digest_changes_with_an_attached_file(kind: str, example: str, write: Write) -> None:
    head, rows = {
        "timeline": ("at,event\n", "2025-10-19T23:48Z,{}\n"),
        "impacts": ("service,start,end\n", "{},2025-10-19T23:48Z,2025-10-19T23:49Z\n"),
        "series": ("at,count\n", "2025-10-19T23:48Z,5\n2025-10-19T23:49Z,{}\n"),
    }[kind]
    old = {
        "timeline": TIMELINE,
        "impacts": TIMELINE.replace("timeline", "impacts").replace("impacts.csv", "impact_windows.csv"),
        "series": RATE,
    }[kind]
    new = "    arrival_rate:\n      series: a.csv\n" if kind == "series" else f"  {kind}: a.csv\n"
    digests = []
    for content in (5, 6, 5):
        write(head + rows.format(content), "a.csv")
        digests.append(loaded_with(example, write, (old, new)).digest)
    assert digests[0] == digests[2] != digests[1]


# --- paths -----------------------------------------------------------------------------------------------------------


def test_relative_paths_start_at_the_folder_of_the_scenario(
    example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "team one"
    (folder / "csv").mkdir(parents=True)
    (folder / "csv" / "ours.csv").write_text("at,event\n2025-10-19T23:48Z,ours\n", encoding="utf-8")
    (folder / "team.yaml").write_text(example.replace(TIMELINE, "  timeline: csv/ours.csv\n"), encoding="utf-8")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for where, path in (
        (elsewhere, folder / "team.yaml"),
        (folder, Path("team.yaml")),
        (elsewhere, Path("../team one/team.yaml")),
    ):
        monkeypatch.chdir(where)
        assert [event.event for event in load_scenario(path).timeline] == ["ours"]
        assert [event.event for event in load_scenario(str(path)).timeline] == ["ours"]


def test_an_absolute_path_and_a_home_are_followed(
    example: str, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    (home / "ours.csv").write_text("at,event\n2025-10-19T23:48Z,ours\n", encoding="utf-8")
    for path in (home / "ours.csv", "~/ours.csv"):
        assert len(loaded_with(example, write, (TIMELINE, f"  timeline: {path}\n")).timeline) == 1
    shutil.copy(write(example), home / "team.yaml")
    assert load_scenario("~/team.yaml").name == "team.yaml"


@pytest.mark.parametrize(
    "name",
    ["..", "../pyproject.toml", "scenarios/../../pyproject.toml", "./../x", "incidents/../../lib", "a/b/../../.."],
)
def test_builtin_cannot_leave_the_shipped_data(name: str) -> None:
    for call in (lambda: builtin_path(f"builtin:{name}", Path()), lambda: load_scenario(f"builtin:{name}")):
        with pytest.raises(NotFoundError, match="leaves the shipped data folder"):
            call()


@pytest.mark.parametrize("name", ["/etc/hostname", "//etc/hostname", "/", "scenarios//orders.yaml", ""])
def test_builtin_is_never_absolute(name: str) -> None:
    data = resource("data").resolve()
    try:
        path = builtin_path(f"builtin:{name}", Path())
    except NotFoundError:
        return
    assert path.resolve().is_relative_to(data)


# --- JSON Schema -----------------------------------------------------------------------------------------------------

SCHEMA = Scenario.model_json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def faults(text: str) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(plain(read_text(text, "x").data))]


def test_the_schema_is_a_valid_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_schema_accepts_a_shipped_example(name: str) -> None:
    data = plain(read_file(resource("data", "scenarios", f"{name}.yaml"))[0].data)
    assert list(VALIDATOR.iter_errors(data)) == []


def test_the_schema_accepts_the_starter() -> None:
    assert faults(starter("Orders")) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        *((RATE, f"    {text}\n") for text in RATES),
        *(("retention: 4 days", form) for form in RETENTION),
        *(("boot_time: 120 s", form) for form in BOOT),
        *(("      boot_time:", f"      {form}\n      boot_time:") for form in REFILL),
        (RATE, "    arrival_rate:\n      series: a.csv\n"),
        (RATE, f"    arrival_rate:\n      hour_of_day_per_min: {[5] * 24}\n"),
        ("    item_time: 2 s\n", "    item_time: 2 s\n    ramp: lambda-sqs\n    drain_cap: {concurrency: 40}\n"),
        ("    item_time: 2 s\n", "    item_time: 2 s\n    ramp: none\n    drain_cap: none\n    stream: none\n"),
        (
            "    item_time: 2 s\n",
            "    item_time: 2 s\n    ramp: null\n    drain_cap: null\n    age_limit: null\n    deadline: none\n",
        ),
        ("    item_time: 2 s\n", "    item_time: 2 s\n    ramp: {start: 1, per_min: 2, ceiling: 3}\n"),
        ("version: 1.43.11", "version: 1.40"),
        ("version: 1.43.11", "version: none"),
        ("[ReplaceUnhealthy,", "[{name: ours, pause: stop, resume: start, paused: true},"),
        ("failure_probability: 1", "failure_probability: 50 %"),
        ("number: 60", 'number: "1,060"'),
        (TIMELINE, "  timeline: null\n"),
    ],
)
def test_the_schema_accepts_what_is_accepted(old: str, new: str, example: str) -> None:
    assert old in example
    assert faults(example.replace(old, new, 1)) == []


REFUSED = {
    "unknown key at the top": ("owner:", "ownr:"),
    "unknown key of a queue": ("    retention:", "    retension:"),
    "unknown key of a layer": ("name: gateway, tries: 3", "name: gateway, tries: 3, x: 1"),
    "wrong service": ("service: sqs-lambda", "service: sqs"),
    "wrong mode": ("mode: standard", "mode: Standard"),
    "wrong order": ("    item_time: 2 s", "    item_time: 2 s\n    order: FIFO"),
    "team missing": ("team: Orders\n", ""),
    "team empty": ("team: Orders", 'team: ""'),
    "team a list": ("team: Orders", "team: [Orders]"),
    "zone missing": ("time_zone: America/Los_Angeles\n", ""),
    "objective missing": ("recovery_objective: 240 min", ""),
    "objective without a unit": ("recovery_objective: 240 min", "recovery_objective: 240"),
    "tested rate missing": ("    tested_rate: 3,000/min\n", ""),
    "arrival rate missing": (RATE, ""),
    "arrival rate without a unit": (RATE, "    arrival_rate: 1200\n"),
    "arrival rate in both forms": (RATE, f"{RATE}    arrival_rate_per_min: 1200\n"),
    "retention in both forms": ("retention: 4 days", "retention: 4 days\n    retention_days: 4"),
    "retention with two suffixes": ("retention: 4 days", "retention_h: 96\n    retention_days: 4"),
    "negative rate": (RATE, "    arrival_rate_per_min: -5\n"),
    "negative duration": ("retention: 4 days", "retention_days: -4"),
    "negative count": ("running: 600", "running: -600"),
    "rate not a number": (RATE, "    arrival_rate_per_min: .nan\n"),
    "share beyond the whole": ("failure_probability: 1", "failure_probability: 1.5"),
    "count not whole": ("running: 600", "running: 600.5"),
    "truth value in words": ("hypothetical: true", "hypothetical: yes"),
    "trigger a date": ("trigger: 2025-10-19T23:48-07:00", "trigger: 2025-10-19"),
    "trigger a number": ("trigger: 2025-10-19T23:48-07:00", "trigger: 5"),
    "layers empty": ("    layers:\n", "    layers: []\n    more:\n"),
    "layers a mapping": ("    layers:\n", "    layers: {}\n    more:\n"),
    "ramp unknown": ("    item_time: 2 s", "    item_time: 2 s\n    ramp: lambda-kinesis"),
    "queue empty": ("  orders:\n    service", "  other:\n  orders:\n    service"),
    "removal a text": ("[ReplaceUnhealthy, AZRebalance, AlarmNotification]", "ReplaceUnhealthy"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_the_schema_refuses_a_mistake_that_loading_refuses(case: str, example: str, write: Write) -> None:
    old, new = REFUSED[case]
    assert old in example
    text = example.replace(old, new, 1)
    assert faults(text)
    with pytest.raises(Exception, match="problem"):
        load_scenario(write(text))


def test_every_key_of_the_schema_says_what_it_is() -> None:
    parts = [SCHEMA, *SCHEMA["$defs"].values()]
    for part in parts:
        for form in part.get("anyOf", [part]):
            for key, field in form.get("properties", {}).items():
                assert field.get("description"), f"{part.get('title')}.{key}"


@pytest.mark.parametrize(
    "path",
    [
        "dependencies.orders-table.capacity",
        "queues.orders.max_receives",
        "queues.orders.idempotency.key_life",
        "queues.orders.idempotency.tries",
        "queues.orders.idempotency",
        "clients.checkout.calls",
        "clients.checkout.retry_limit",
        "worker_pools.checkout-service.workers",
        "worker_pools.checkout-service.queue",
    ],
)
def test_an_optional_value_with_bounds_can_be_set_to_none(path):
    found = load_scenario("builtin:scenarios/orders.yaml", {path: "none"}).scenario.model_dump()
    for part in path.split("."):
        key = next((key for key in found if key in (part, f"{part}_per_min", f"{part}_min", f"{part}_s")), None)
        assert key is not None, (part, list(found))
        found = found[key]
    assert found is None
