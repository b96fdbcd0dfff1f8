"""Every number of every result is that of the files in ``numbers``: a change of one is told, and CHANGES.md has its reason."""

import pytest
from tests.golden.kept import ALL, FOLDER, MADE_UP, changed, differences, kept, loaded, pattern, text_of, today
from tests.golden.scenarios import scenario_text

from afterload.scenario import load_scenario_text

MOST = 40
HELP = (
    "Meant? `make golden` writes the files anew and tells what changed by kind of number; give each kind its reason in "
    "tests/golden/CHANGES.md."
)


@pytest.mark.parametrize("name", ALL)
def test_numbers_are_those_that_are_kept(name):
    found = [f"{item.name}: {item.before} -> {item.after}" for item in differences(name, kept(name), today(name))]
    more = [f"and {len(found) - MOST} more"] if len(found) > MOST else []
    assert not found, "\n".join([f"{len(found)} numbers of {name} changed:", *found[:MOST], *more, HELP])


def test_there_is_a_file_for_each_and_no_other():
    assert sorted(path.stem for path in FOLDER.glob("*.json")) == sorted(ALL)


def test_files_are_as_the_tool_writes_them():
    for name in ALL:
        assert (FOLDER / f"{name}.json").read_text(encoding="utf-8") == text_of(kept(name)), name


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (344.0, 344, False),
        (344, 344.000001, False),
        (344, 344.0001, True),
        (0, 1e-300, True),
        (None, 344, True),
        (344, None, True),
        (None, None, False),
        (True, 1, True),
        (False, 0, True),
        ("stable", "vulnerable", True),
        ([1e6, 0], [1e6, 0.001], False),
        ([1e6, 0], [1e6, 1], True),
        ([1, None], [1, 0], True),
        ([1, 2], [1, 2, 3], True),
        (1, [1], True),
    ],
)
def test_what_counts_as_a_change(before, after, expected):
    assert changed(before, after) is expected


def test_numbers_that_come_and_go_are_told_too():
    told = [(item.name, item.before, item.after) for item in differences("x", {"a": 1, "b": 2}, {"b": 3, "c": None})]
    assert told == [("a", "1", "none"), ("b", "2", "3"), ("c", "none", "null")]


def test_names_of_one_kind_have_one_pattern():
    assert pattern("plan[drain-cap:queues.jobs].start.alone.lost") == "plan[*].start.alone.lost"
    assert pattern("eta[jobs].one.safe_cap") == pattern("eta[mails].one.safe_cap")


def test_a_seed_gives_the_same_valid_scenario():
    for seed in range(100):
        text = scenario_text(seed)
        assert text == scenario_text(seed)
        assert load_scenario_text(text, f"{seed}.yaml").scenario.team == f"Made up {seed}"


def _shown(name):
    """What one scenario shows, of all that these scenarios are to show."""
    scenario = loaded(name).scenario
    queues, dependencies = scenario.queues.values(), scenario.dependencies.values()
    yield f"queues: {len(queues)}"
    for queue in queues:
        yield from (f"order: {queue.order}", f"service: {queue.service}", f"in the outage: {queue.during_outage}")
        yield "with a dependency" if queue.dependency else "without a dependency"
        for part in (
            "drain_cap", "ramp", "reserved_concurrency", "provisioned_pollers", "stream", "fleet", "age_limit_min",
            "deadline_min", "retention_min", "max_receives", "superseded_share", "backlog_before", "item_time_s",
            "served_in_outage_per_min", "sideline_after_min", "on_failure_destination", "attempts_while_failing",
        ):  # fmt: skip
            if getattr(queue, part):
                yield part
        if queue.arrival_rate.hour_of_day_per_min:
            yield "hour_of_day"
    for dependency in dependencies:
        yield f"at the restore: {dependency.state_at_restore}"
        for part in ("cache", "control_rate_per_min", "direct_rate_per_min", "capacity_per_min", "shared_as"):
            if getattr(dependency, part):
                yield part
    for client in scenario.clients.values():
        yield f"sdk: {client.sdk}"
    for fleet in scenario.fleets.values():
        yield "removal" if fleet.removal_rate_per_min else "a fleet"
    yield "steps in place" if scenario.admission.in_place else "steps not in place"
    yield "two dependencies" if len(dependencies) > 1 else "one dependency or none"
    yield from (part for part in ("call_stacks", "uncertain", "costs") if getattr(scenario, part))
    start, end = (
        getattr(scenario.incident, name).astimezone(scenario.time_zone) for name in ("trigger", "restored_at")
    )
    yield "clocks change" if start.utcoffset() != end.utcoffset() else "clocks stay"


def test_the_made_up_scenarios_show_all_that_a_recovery_has():
    seen = [set(_shown(name)) for name in MADE_UP]
    every = set().union(*seen)
    times = {part: sum(part in each for each in seen) for part in every}
    assert {f"queues: {count}" for count in (1, 2, 3, 4)} <= every
    assert len([part for part in every if part.startswith("sdk: ")]) >= 7
    wanted = {
        "order: fifo", "order: lifo", "order: fresh_first", "service: sqs-lambda", "service: lambda-async", "service: other",
        "service: stream-lambda", "in the outage: defer", "in the outage: reject", "with a dependency", "without a dependency",
        "at the restore: healthy", "at the restore: collapsed", "two dependencies", "steps in place", "steps not in place",
        "clocks change", "clocks stay", "hour_of_day", "drain_cap", "ramp", "reserved_concurrency", "provisioned_pollers",
        "stream", "fleet", "removal", "age_limit_min", "deadline_min", "retention_min", "max_receives", "superseded_share",
        "backlog_before", "item_time_s", "served_in_outage_per_min", "sideline_after_min", "on_failure_destination",
        "attempts_while_failing", "cache", "control_rate_per_min", "direct_rate_per_min", "capacity_per_min", "shared_as",
        "call_stacks", "uncertain", "costs",
    }  # fmt: skip
    assert {part for part in wanted if times.get(part, 0) < 2} == set()
