"""The runbook: its steps, caps and times against the rules of the guide, the simulation, and botocore."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore import xform_name
from botocore.validate import ParamValidator
from tests.plan.conftest import HEAD, everything

from afterload.errors import ScenarioError
from afterload.estimates import estimate
from afterload.figures.runbook import runbook_answer
from afterload.model.coupled import GUIDE_STEPS
from afterload.plan import build_plan
from afterload.plan.consumers import ConsumerCap
from afterload.plan.runbook import Runbook, admission_of, agreed, build_runbook
from afterload.plan.runbook_export import runbook_markdown
from afterload.recovery.build import couple
from afterload.recovery.result import estimate_recovery
from afterload.scenario import LoadedScenario, load_scenario

SESSION = botocore.session.get_session()
UUID = "00000000-1111-2222-3333-444444444444"
QUEUE = {"arrival_rate": "1,200/min", "service_rate": "6,000/min", "item_time": "2 s", "dependency": "table",
         "service": "sqs-lambda", "resources": {"event_source_mapping": UUID}}  # fmt: skip
TABLE = {"table": {"tested_rate": "3,000/min", "direct_rate": "500/min"}}
# Steps that leave a part of the room unused show more than those that fill it.
SHARE = {"drain_share": "80 %"}


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., LoadedScenario]:
    """A scenario of these parts."""

    def read(*overrides: str, **parts: Any) -> LoadedScenario:
        path = tmp_path / "t.yaml"
        path.write_text(json.dumps({**HEAD, "admission": SHARE, **parts}, ensure_ascii=False), encoding="utf-8")
        return load_scenario(path, list(overrides))

    return read


@pytest.fixture
def written(load: Callable[..., LoadedScenario]) -> Callable[..., Runbook]:
    """The runbook of a scenario of these parts, without times."""
    return lambda **parts: build_runbook(estimate(load(**parts)))


def refuse_what_aws_would(commands: Iterable[str]) -> int:
    """Validate every AWS command with botocore's own models; how many there were."""
    count = 0
    for command in commands:
        assert "\n" not in command
        words = shlex.split(command, comments=True)
        if words[:1] != ["aws"]:
            continue
        count += 1
        model = SESSION.get_service_model(words[1])
        wire = next(name for name in model.operation_names if xform_name(name, "-") == words[2])
        shape = model.operation_model(wire).input_shape
        members = {xform_name(name, "-"): (name, item) for name, item in shape.members.items()}
        given: dict[str, Any] = {}
        values: list[str] = []
        for word in words[3:]:
            if word.startswith("--"):
                switch = word.startswith("--no-")
                name, member = members[word.removeprefix("--no-" if switch else "--")]
                values = []
                assert name not in given, command
                given[name] = (member, values, not switch)
            else:
                values.append("0" * 36 if word == "MAPPING_UUID" else word)
        parameters = {name: typed(*item) for name, item in given.items()}
        report = ParamValidator().validate(parameters, shape)
        assert not report.has_errors(), (command, report.generate_report())
    return count


def typed(shape: Any, values: list[str], switch: bool) -> Any:
    if shape.type_name == "boolean":
        assert values == []
        return switch
    assert values
    if shape.type_name == "list":
        return values
    (value,) = values
    if shape.type_name == "integer":
        return int(value)
    if shape.type_name == "structure":
        if value.startswith("{"):
            return json.loads(value)
        pairs = dict(part.split("=", 1) for part in value.split(","))
        return {name: int(text) if text.isdigit() else text for name, text in pairs.items()}
    return value


def all_commands(runbook: Runbook) -> list[str]:
    steps = [command for step in runbook.steps for command in step.commands]
    return steps + [command for pause in runbook.pauses for command in (*pause.apply, *pause.undo)]


@pytest.mark.parametrize("example", ["orders", "render-fleet"])
@pytest.mark.parametrize("floor", ["0", "40 %"])
def test_commands_fit_the_services_model(example: str, floor: str) -> None:
    loaded = load_scenario(f"builtin:scenarios/{example}.yaml", [f"admission.floor_share={floor}"])
    assert refuse_what_aws_would(all_commands(build_runbook(estimate(loaded)))) >= 5


@pytest.mark.parametrize("floor", [0.0, 0.01, 0.4])
def test_commands_of_every_kind_of_queue_fit(load: Callable[..., LoadedScenario], floor: float) -> None:
    loaded = load(**everything(), admission={"floor_share": floor, "lifts": 4})
    runbook = build_runbook(estimate(loaded))
    assert refuse_what_aws_would(all_commands(runbook)) > 40


def test_an_unknown_option_would_be_found() -> None:
    with pytest.raises(KeyError):
        refuse_what_aws_would([f"aws lambda update-event-source-mapping --uuid {UUID} --pause"])
    with pytest.raises(AssertionError):
        refuse_what_aws_would(
            [f"aws lambda update-event-source-mapping --uuid {UUID} --scaling-config MaximumConcurrency=1"]
        )


@pytest.mark.parametrize("name", ["it's", "$(reboot)", "a; b", "--no-enabled", "日本"])
def test_hostile_names_stay_one_word(written: Callable[..., Runbook], name: str) -> None:
    queue = {**QUEUE, "resources": {"event_source_mapping": name}}
    runbook = written(queues={"q": queue}, dependencies=TABLE)
    seen = [words for words in map(shlex.split, all_commands(runbook)) if "--uuid" in words]
    assert seen
    for words in seen:
        assert words[words.index("--uuid") + 1] == name


def test_caps_by_hand(written: Callable[..., Runbook]) -> None:
    """By the guide's arithmetic: 80 % of (3,000 - 500) is 2,000/min, 66 at once of 2 s; then thirds of what is missing to 200.

    What is set is what is printed: 66 at once make 1,980/min, and lifts are whole numbers too, of 134 / 3 each, rounded down.
    """
    runbook = written(queues={"q": QUEUE}, dependencies=TABLE)
    (item,) = runbook.caps
    assert (item.cap.rate_per_min, item.cap.concurrency) == (pytest.approx(1_980), 66)
    assert [cap.rate_per_min for cap in item.lifts] == pytest.approx([3_300, 4_650, 6_000])
    assert [cap.concurrency for cap in item.lifts] == [110, 155, None]
    assert f"--uuid {UUID} --enabled --scaling-config MaximumConcurrency=66" in runbook.steps[3].commands[1]
    found = re.findall(r"MaximumConcurrency=(\d+)", "\n".join(runbook.steps[5].commands))
    assert found == ["110", "155"]
    assert (
        runbook.steps[5].commands[-1]
        == f"aws lambda update-event-source-mapping --uuid {UUID} --enabled --scaling-config '{{}}'"
    )
    assert runbook.steps[0].commands == (
        "# queue q",
        f"aws lambda update-event-source-mapping --uuid {UUID} --no-enabled",
    )


def test_caps_are_those_that_the_simulation_uses(load: Callable[..., LoadedScenario]) -> None:
    """In the simulation of the same plan the queue serves at the cap in step 4, and at each lift in step 6."""
    loaded = load(queues={"q": {**QUEUE, "arrival_rate": "1,900/min"}}, dependencies=TABLE)
    coupling = couple(loaded)
    assert coupling is not None
    recovery = estimate_recovery(coupling, draws=10)
    variant = next(item for item in recovery.others if item.system.admission is not None)
    runbook = build_runbook(estimate(loaded), recovery)
    course = variant.trace
    begun, until = runbook.steps[3].begins_min, runbook.steps[4].begins_min
    assert begun is not None
    assert until is not None
    inside = (course.times_min > begun + 5) & (course.times_min < begun + 100)
    served = course.served[inside, 0]
    assert until > begun + 100
    rate = (served[-1] - served[0]) / (course.times_min[inside][-1] - course.times_min[inside][0])
    assert rate == pytest.approx(runbook.caps[0].cap.rate_per_min, rel=1e-6)


def test_the_room_is_shared_by_service_rates(written: Callable[..., Runbook]) -> None:
    queues = {"a": QUEUE, "b": {**QUEUE, "service_rate": "2,000/min", "arrival_rate": "100/min"}}
    rates = [item.cap.rate_per_min for item in written(queues=queues, dependencies=TABLE).caps]
    # Parts of 1,500 and 500/min: 50 at once of 2 s make the one, 16 make 480/min of the other.
    assert rates == pytest.approx([1_500, 480])


def test_no_cap_passes_the_one_that_the_team_has() -> None:
    queue = load_scenario("builtin:scenarios/orders.yaml", ["queues.orders.drain_cap.concurrency=10"]).scenario.queues[
        "orders"
    ]
    assert ConsumerCap.of(queue, 5_000.0) == ConsumerCap(300.0, 10)


def test_times_are_those_of_the_collapsed_recovery() -> None:
    loaded = load_scenario("builtin:scenarios/orders.yaml")
    coupling = couple(loaded)
    assert coupling is not None
    recovery = estimate_recovery(coupling, draws=10)
    runbook = build_runbook(estimate(loaded), recovery)
    result = next(item.result for item in recovery.others if item.system.admission is not None)
    assert [step.begins_min for step in runbook.steps] == list(result.step_begun_min[0, 1:8])
    assert runbook.ends_min == result.step_begun_min[0, 8]
    holds = [step.hold_min for step in runbook.steps]
    begun = [step.begins_min or 0.0 for step in runbook.steps]
    for (first, second), hold in zip(pairwise(begun), holds, strict=False):
        assert second - first >= hold - 1e-9
    # No cap binds there, so step 6 is one lift.
    assert begun[6] - begun[5] == pytest.approx(runbook.lifting_min) == pytest.approx(15)


def simulated(loaded: LoadedScenario) -> Runbook:
    coupling = couple(loaded)
    assert coupling is not None
    return build_runbook(estimate(loaded), estimate_recovery(coupling, draws=10))


def test_no_lift_is_held_that_lifts_nothing(load: Callable[..., LoadedScenario]) -> None:
    """80 % of (3,000 - 500) is 2,000/min, all that consumers of 1,500/min do: one lift puts the limits back."""
    idle = simulated(load(queues={"q": {**QUEUE, "service_rate": "1,500/min"}}, dependencies=TABLE))
    step = idle.steps[5]
    assert step.admit == (
        "queue q: limits as before; the cap of step 4 was all that its consumers do, 1,500/min, 50 at once.",
    )
    assert step.hold == ("the lift for 15 min.",)
    assert step.commands[0] == "# the only lift, one queue at a time"
    assert step.commands[1] == "# queue q"
    assert len(step.commands) == 3
    assert (idle.lifts, idle.lifting_min) == (1, 15)
    assert idle.lift_words == "Step 6 is one lift, held for 15 min"
    assert idle.steps[6].begins_min - step.begins_min == pytest.approx(15)
    # Where the cap binds, every lift differs from the one before, and the simulation holds each.
    held = simulated(load(queues={"q": QUEUE}, dependencies=TABLE))
    assert held.steps[6].begins_min - held.steps[5].begins_min == pytest.approx(45) == pytest.approx(held.lifting_min)
    assert len(set(held.steps[5].admit)) == 3
    # 66 at once can be lifted to the 67.5 that its consumers have in two ways, not in three: 67, and the limits from before.
    near = build_runbook(estimate(load(queues={"q": {**QUEUE, "service_rate": "2,025/min"}}, dependencies=TABLE)))
    assert [cap.rate_per_min for cap in near.caps[0].lifts] == pytest.approx([2_010, 2_025])
    assert near.lifting_min == 30


def test_a_queue_whose_cap_does_not_bind_is_not_lifted_beside_one_that_is(written: Callable[..., Runbook]) -> None:
    free = {**QUEUE, "service_rate": "100/min", "arrival_rate": "10/min", "dependency": None}
    step = written(queues={"a": QUEUE, "b": free}, dependencies=TABLE).steps[5]
    assert [line.split(":")[0] for line in step.admit] == [
        "queue a, lift 1", "queue a, lift 2", "queue a, lift 3", "queue b, lift 3",
    ]  # fmt: skip


@pytest.mark.parametrize("example", ["orders", "render-fleet", "payments"])
def test_every_lift_differs_from_the_one_before(example: str) -> None:
    for item in build_runbook(estimate(load_scenario(f"builtin:scenarios/{example}.yaml"))).caps:
        if item.binds:
            assert len({cap.words for cap in (item.cap, *item.lifts)}) == len(item.lifts) + 1


def test_the_runbook_says_whether_its_own_recovery_meets_the_objective(load: Callable[..., LoadedScenario]) -> None:
    """In the example the steps bring fresh age back after 389 min, as the answer says of its drain: 149 min too late."""
    loaded = load_scenario("builtin:scenarios/orders.yaml")
    runbook = simulated(loaded)
    words = (
        "By these steps first-attempt age is back at baseline 389 min after the restore: the objective of 240 min is missed "
        "by 149 min."
    )
    assert runbook.verdict == words
    assert words in runbook_markdown(runbook, estimate(loaded))
    assert words in runbook_answer(runbook).text
    met = simulated(load_scenario("builtin:scenarios/orders.yaml", ["recovery_objective=400 min"]))
    assert met.verdict.endswith("the objective of 400 min is met.")
    never = simulated(load(queues={"q": {**QUEUE, "arrival_rate": "2,500/min"}}, dependencies=TABLE))
    assert never.verdict == (
        "By these steps first-attempt age is never back at baseline: the objective of 240 min is missed."
    )
    assert build_runbook(estimate(loaded)).verdict == ""


def test_nothing_is_suspended_that_is_neither_named_nor_explained(written: Callable[..., Runbook]) -> None:
    """A process of the command is one of the scenario's, or a line of the commands and of the text says why it is there."""
    fleet = {"running": 600, "needed": 600}
    for automation in (
        ["ReplaceUnhealthy"],
        ["AZRebalance"],
        ["ReplaceUnhealthy", "HealthCheck"],
        ["AlarmNotification"],
    ):
        runbook = written(fleets={"f": {**fleet, "removal_automation": automation}})
        (pause,) = runbook.pauses
        (command,) = (line for line in pause.apply if line.startswith("aws "))
        suspended = command.split("--scaling-processes ")[1].split()
        unnamed = set(suspended) - set(automation)
        assert unnamed == ({"HealthCheck"} if automation == ["ReplaceUnhealthy"] else set())
        for name in unnamed:
            said = f"{name}, which the scenario does not name, is suspended beside ReplaceUnhealthy"
            assert any(said in line for line in runbook.steps[0].commands)
            assert any(said in line for line in pause.traps)
        assert bool(unnamed) == any("does not name" in line for line in pause.traps)


def test_the_steps_are_the_guides() -> None:
    runbook = build_runbook(estimate(load_scenario("builtin:scenarios/orders.yaml")))
    assert tuple(step.name for step in runbook.steps) == GUIDE_STEPS
    assert all(step.begins_min is None for step in runbook.steps)
    assert runbook.case == ""
    for step in runbook.steps:
        assert bool(step.nothing) != bool(step.admit or step.hold)
        assert step.abort
        assert step.owners == ("Orders on-call",)
    aborts = [step.abort for step in runbook.steps]
    assert all("back to step 1" in abort for abort in aborts[1:5])
    assert all("caps of step 4" in abort for abort in aborts[5:])


def test_the_admission_is_the_one_that_is_simulated() -> None:
    loaded = load_scenario("builtin:scenarios/orders.yaml", ["admission.in_place=true", "admission.drain_share=0.55"])
    coupling = couple(loaded)
    assert coupling is not None
    assert admission_of(loaded) == coupling.system.admission


def test_a_cache_is_warm_at_nine_tenths_of_its_hit_rate(written: Callable[..., Runbook]) -> None:
    cached = {"table": {**TABLE["table"], "cache": {"hit_rate": "80 %"}}}
    step = written(queues={"q": QUEUE}, dependencies=cached).steps[1]
    assert not step.nothing
    assert any("at or above 72 %" in line for line in step.advance)


def test_a_scenario_with_nothing_says_so_at_every_step(written: Callable[..., Runbook]) -> None:
    runbook = written(
        worker_pools={"p": {"burst": 1, "item_time": "1 s"}}, clients={"c": {"sdk": "boto3", "number": 1}}
    )
    assert [bool(step.nothing) for step in runbook.steps] == [False, True, True, True, True, True, True]
    assert runbook.caps == runbook.pauses == ()
    assert runbook.ends_min is None


def test_paused_automation_is_resumed_last_with_its_traps() -> None:
    runbook = build_runbook(estimate(load_scenario("builtin:scenarios/orders.yaml")))
    (pause,) = runbook.pauses
    assert pause.apply[0] in runbook.steps[0].commands
    assert runbook.steps[6].commands == ("# fleet checkout-api", *pause.undo)
    assert any("terminating first" in trap for trap in pause.traps)
    assert any("a tenth over the maximum" in trap for trap in pause.traps)
    earlier = [command for step in runbook.steps[:6] for command in step.commands]
    assert not any("resume-processes" in command for command in earlier)


LABELS = {"arrival_rate": "2,000/min", "service_rate": "3,500/min", "item_time": "1.5 s", "dependency": "table",
          "service": "sqs-lambda", "max_receives": 5, "goes_stale_after": "20 min"}  # fmt: skip
TRACKING = {"arrival_rate": "40/s", "service_rate": "50/s", "item_time": "400 ms", "dependency": "table",
            "service": "sqs-lambda"}  # fmt: skip
SHARED = {"queues": {"labels": LABELS, "tracking": TRACKING},
          "dependencies": {"table": {"tested_rate": "9,000/min", "direct_rate": "1,500/min"}}}  # fmt: skip


def test_every_command_stands_behind_the_queue_that_it_is_for(written: Callable[..., Runbook]) -> None:
    """No queue names its mapping: only the line before a command tells them apart."""
    runbook, seen = written(**SHARED), list[tuple[int, str]]()
    for step in runbook.steps:
        about = ""
        for line in step.commands:
            if line.startswith(("# queue ", "# lift ", "# the only lift")):
                about = line.removeprefix("# queue ") if line.startswith("# queue ") else ""
            elif line.startswith("aws "):
                assert about in ("labels", "tracking"), line
                seen.append((step.number, about))
    assert [item for item in seen if item[0] < 6] == [
        (1, "labels"), (1, "tracking"), (4, "labels"), (4, "tracking"), (5, "labels"),
    ]  # fmt: skip
    # 80 % of 7,500/min by 3,500 and 3,000: 3,231/min make 80 at once of 1.5 s, 2,769/min 18 of 0.4 s.
    assert [line.rpartition("=")[2] for line in runbook.steps[3].commands if line.startswith("aws ")] == ["80", "18"]
    assert "80 at once, 80 % of its part of the room while tracking drains too." in runbook.steps[3].admit[0]
    # As the simulation does: 6,000/min less the 2,400/min that come to tracking leave labels all of its 3,500/min (87 at once of
    # 1.5 s are 3,480/min, so it takes 88), and less the 2,000/min of labels leave tracking its 3,000/min.
    assert (
        "queue labels: when tracking is drained, up to 88 at once, more than the 3,500/min that"
        in runbook.steps[3].admit[1]
    )
    assert "queue tracking: when labels is drained, up to 3,000/min, 20 at once" in runbook.steps[3].admit[3]


def test_the_replay_of_step_5_is_what_its_cap_leaves_beside_new_work(written: Callable[..., Runbook]) -> None:
    """By hand: a cap of 3,231/min less 2,000/min of new work are 1,231/min, so 20 a second; the model's own rule."""
    step = written(**SHARED).steps[4]
    (admit,) = step.admit
    assert admit.startswith("queue labels: dead-lettered work at 1,200/min or less beside 2,000/min of new work")
    assert step.commands[-1].endswith("--max-number-of-messages-per-second 20")
    # A cap that new work takes whole leaves nothing to replay under it, and no command does.
    full = {**SHARED, "queues": {**SHARED["queues"], "labels": {**LABELS, "arrival_rate": "3,231/min"}}}
    none = written(**full).steps[4]
    assert not none.admit
    assert not none.commands
    assert "too little: after step 6" in none.hold[0]


@pytest.mark.parametrize(
    ("order", "held"),
    [
        ({}, "queue q: nothing of its backlog; in its own order old work goes first, past 20 min too."),
        ({"age_limit": "20 min"}, "queue q: nothing of its backlog; in its own order old work goes first."),
        ({"order": "fresh_first", "sideline_after": "5 min"}, "queue q: work older than 5 min, set aside."),
    ],
)
def test_step_4_sets_aside_what_the_simulation_sets_aside(
    load: Callable[..., LoadedScenario], order: dict[str, str], held: str
) -> None:
    """In the simulation only a queue with fresh work first has work aside when step 5 begins."""
    runbook = build_runbook(
        estimate(load(queues={"q": {**QUEUE, "goes_stale_after": "20 min", **order}}, dependencies=TABLE))
    )
    assert runbook.steps[3].hold == (held,)
    assert bool(runbook.steps[4].nothing) is not ("order" in order)
    assert ("set-aside work" in " ".join(runbook.steps[4].admit)) is ("order" in order)


def test_a_cap_below_arrivals_is_told(written: Callable[..., Runbook]) -> None:
    queue = {**QUEUE, "arrival_rate": "2,500/min"}
    step = written(queues={"q": queue}, dependencies=TABLE).steps[3]
    assert any("never drains it" in line for line in step.hold)


# As a first user had it: 55 a second of 0.3 s are 16.5 at once, and 80 % of (58 - 5) a second 12.7.
INGEST = {"arrival_rate": "40/s", "service_rate": "55/s", "item_time": "300 ms", "dependency": "thumbs-db",
          "service": "sqs-lambda", "resources": {"event_source_mapping": UUID}}  # fmt: skip
THUMBS = {"thumbs-db": {"tested_rate": "58/s", "direct_rate": "5/s"}}


def test_a_cap_whose_whole_number_only_keeps_up_never_ends_its_step(load: Callable[..., LoadedScenario]) -> None:
    """12 at once of 0.3 s are 2,400/min, all that arrives: no end is promised. 13 make 2,600/min, 81.8 % of 3,180/min of room."""
    runbook = simulated(load(queues={"ingest": INGEST}, dependencies=THUMBS))
    step = runbook.steps[3]
    assert "capped at 2,400/min, 12 at once, 80 % of the room." in step.admit[0]
    assert step.commands[-1].endswith("MaximumConcurrency=12")
    assert step.hold[0] == (
        "queue ingest: 2,400/min arrive, so this cap never drains it; this step does not end before less arrives or there is "
        "more room. At 2,600/min, 13 at once, with a drain_share of 82 %, it would."
    )
    assert step.begins_min is not None
    assert [later.begins_min for later in runbook.steps[4:]] == [None, None, None]
    assert (runbook.ends_min, runbook.fresh_back_min) == (None, None)
    # What the line says is so: with one percent less it does not drain either.
    for share, ends in (("81 %", False), ("82 %", True)):
        given = simulated(load(queues={"ingest": INGEST}, dependencies=THUMBS, admission={"drain_share": share}))
        assert (given.ends_min is not None) is ends
        assert any("never drains it" in line for line in given.steps[3].hold) is not ends


def test_every_rate_is_that_of_the_whole_number_that_is_set(load: Callable[..., LoadedScenario]) -> None:
    """Each item at once makes 200/min; the last lift puts back what was before, which is no cap at all."""
    runbook = simulated(load(queues={"ingest": INGEST}, dependencies=THUMBS, admission={"drain_share": "82 %"}))
    assert "capped at 2,600/min, 13 at once, 82 % of the room." in runbook.steps[3].admit[0]
    step = runbook.steps[5]
    assert step.admit == (
        "queue ingest, lift 1: 2,800/min, 14 at once.",
        "queue ingest, lift 2: 3,000/min, 15 at once.",
        "queue ingest, lift 3: limits as before, 3,300/min, all that its consumers do.",
    )
    assert re.findall(r"MaximumConcurrency=(\d+)", "\n".join(step.commands)) == ["14", "15"]
    assert step.commands[-1].endswith("--scaling-config '{}'")
    # 172 min of arrivals and those until the drain begins at 15 min, at the 200/min that the cap leaves.
    back = 15 + (172 + 15) * 2_400 / 200
    assert runbook.fresh_back_min == pytest.approx(back, rel=1e-3)


def test_limits_as_before_are_those_of_the_team(load: Callable[..., LoadedScenario]) -> None:
    """A cap of 15 at once from before is what the last lift puts back, and what it says."""
    queue = {**INGEST, "drain_cap": {"concurrency": 15}}
    step = build_runbook(estimate(load(queues={"ingest": queue}, dependencies=THUMBS))).steps[5]
    assert step.admit[-1] == "queue ingest, lift 3: limits as before, 3,000/min with 15 at once at most."
    assert step.commands[-1].endswith("MaximumConcurrency=15")


def test_consumers_that_fit_the_room_are_not_held_back_by_rounding(load: Callable[..., LoadedScenario]) -> None:
    """42 a second of 0.3 s are 12.6 at once within 12.72: 12 would hold them back, and 13 is more than the room."""
    fits = simulated(load(queues={"ingest": {**INGEST, "service_rate": "42/s"}}, dependencies=THUMBS))
    assert "limits as before: the room takes all that its consumers do, 2,520/min." in fits.steps[3].admit[0]
    assert fits.steps[3].commands[-1].endswith("--enabled --scaling-config '{}'")
    assert fits.steps[5].admit == ("queue ingest: limits as before, as in step 4.",)
    assert fits.ends_min is not None
    # Where the next whole number fits too, that is set: it holds nobody back, and bounds the ramp.
    free = build_runbook(
        estimate(
            load(queues={"ingest": {**INGEST, "service_rate": "35/s", "arrival_rate": "10/s"}}, dependencies=THUMBS)
        )
    )
    assert "capped at 11 at once, more than the 2,100/min that its consumers do." in free.steps[3].admit[0]
    assert free.steps[3].commands[-1].endswith("MaximumConcurrency=11")


def test_a_cap_below_what_the_service_takes_is_a_standstill(load: Callable[..., LoadedScenario]) -> None:
    """80 % of 2 a second are 1.6 items of 1 s at once; the service takes no less than 2, so nothing drains until it is lifted."""
    queue = {**INGEST, "arrival_rate": "1/s", "service_rate": "10/s", "item_time": "1 s"}
    tables = {"thumbs-db": {"tested_rate": "7/s", "direct_rate": "5/s"}}
    runbook = simulated(load(queues={"ingest": queue}, dependencies=tables))
    assert "stopped: 1 at once, 80 % of the room, is less than can be set." in runbook.steps[3].admit[0]
    assert not any(line.startswith("aws ") for line in runbook.steps[3].commands)
    assert "At 120/min, 2 at once, with a drain_share of 100 %, it would." in runbook.steps[3].hold[0]
    assert runbook.steps[4].begins_min is None
    assert [cap.concurrency for cap in runbook.caps[0].lifts] == [4, 7, None]
    # Where not even all of the room takes 2 at once, more of it is what is missing.
    tables["thumbs-db"]["tested_rate"] = "6.5/s"
    step = build_runbook(estimate(load(queues={"ingest": queue}, dependencies=tables))).steps[3]
    assert "thumbs-db was tested to no more than 90/min of it beside its other traffic" in step.hold[0]


def test_a_wrong_share_is_refused(load: Callable[..., LoadedScenario]) -> None:
    with pytest.raises(ScenarioError, match="drain_share"):
        load(queues={"q": QUEUE}, dependencies=TABLE, admission={"drain_share": "130 %"})


@pytest.mark.parametrize(("fields", "floor"), [({}, "0.5 %"), ({"item_time": "none"}, "40 %")])
def test_a_floor_that_no_command_can_hold_is_a_standstill(
    load: Callable[..., LoadedScenario], fields: dict[str, str], floor: str
) -> None:
    """The service takes no concurrency below 2, and without item_time none is known."""
    loaded = load(queues={"q": {**QUEUE, **fields}}, dependencies=TABLE, admission={"floor_share": floor})
    about, note, command = build_runbook(estimate(loaded)).steps[0].commands
    assert about == "# queue q"
    assert note.startswith("# ")
    assert command == f"aws lambda update-event-source-mapping --uuid {UUID} --no-enabled"


@pytest.mark.parametrize("example", ["orders", "checkout-api", "render-fleet", "payments"])
def test_the_file_holds_everything_of_the_runbook(example: str) -> None:
    loaded = load_scenario(f"builtin:scenarios/{example}.yaml")
    estimates = estimate(loaded)
    coupling = couple(loaded)
    runbook = build_runbook(estimates, None if coupling is None else estimate_recovery(coupling, draws=2))
    text = runbook_markdown(runbook, estimates)
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        *(f"## {step.number}. {step.name.capitalize()}" for step in runbook.steps),
        "## Automation that removes capacity: pause it in step 1, resume it in step 7",
    ]
    for command in all_commands(runbook):
        assert command in text.splitlines()
    plain = text.replace("\\", "")
    for step in runbook.steps:
        for line in (*step.admit, *step.hold):
            assert f"- {line}" in plain
        for line in step.advance:
            assert f"- [ ] {line}" in plain
        assert step.abort in plain
        assert step.nothing in plain
        assert f"Owner: {', '.join(step.owners)}." in plain
    for pause in runbook.pauses:
        assert all(f"- {trap}" in plain for trap in pause.traps)
    assert not re.search(r"\b(None|nan|inf)\b|(?<![\w-])-\d", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    assert loaded.digest in text


def test_owners_agreed_on_take_the_place_of_the_scenarios(load: Callable[..., LoadedScenario]) -> None:
    """Each part by the line of the plan that is about it: drain cap, replay, pause list, retries, steps."""
    queues = {"q": {**QUEUE, "owner": "Queue crew", "max_receives": 5, "goes_stale_after": "15 min"}, "r": QUEUE}
    fleet = {"running": 600, "needed": 600, "removal_automation": ["Terminate"], "owner": "Fleet crew"}
    client = {"sdk": "go-v2", "mode": "standard", "max_attempts": 9, "number": 5}
    loaded = load(queues=queues, dependencies=TABLE, fleets={"f": fleet}, clients={"c": client})
    estimates = estimate(loaded)
    plain = build_runbook(estimates)
    lines = {
        "drain-cap:queues.q": "Ana", "bounded-replay:queues.q": "Bo", "pause-list:fleets.f": "Cy",
        "standard-retries:clients.c": "Di", "admission-steps:admission": "Ed",
    }  # fmt: skip
    assert set(lines) <= {item.id for item in build_plan(estimates).items}
    runbook = agreed(plain, {line: {"agreed_owner": name} for line, name in lines.items()})
    assert [step.owners for step in plain.steps] == [
        ("T on-call", "Queue crew", "Fleet crew"), *[("T on-call",)] * 2, *[("Queue crew", "T on-call")] * 3, ("Fleet crew",)
    ]  # fmt: skip
    assert [step.owners for step in runbook.steps] == [
        ("Di", "Ana", "T on-call", "Cy"), ("Ed",), ("Ed",), ("Ana", "T on-call"), ("Bo", "T on-call"), ("Ana", "T on-call"),
        ("Cy",),
    ]  # fmt: skip
    assert [pause.owner for pause in runbook.pauses] == ["Cy"]
    text = runbook_markdown(runbook, estimates)
    assert "Owner: Bo, T on-call." in text
    assert "Queue crew" not in text
    assert "Fleet crew" not in text
    assert agreed(plain, {}) == plain


def test_names_cannot_break_the_file(load: Callable[..., LoadedScenario]) -> None:
    queue = {**QUEUE, "owner": "<script>alert(1)</script> # | *"}
    loaded = load(queues={"q`": queue}, dependencies=TABLE, team="<b>T</b>")
    text = runbook_markdown(build_runbook(estimate(loaded)), estimate(loaded))
    outside = re.sub(r"^(`{3,})sh\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert "script" in outside
    assert not re.search(r"(?<!\\)[<*|]", outside)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        # 1.5 at once: no cap that the service takes lets it begin before the limits are lifted.
        {"arrival_rate": "30/min", "service_rate": "45/min"},
        {"arrival_rate": "30/min", "service_rate": "45/min", "drain_cap": {"concurrency": 9}},
        {"arrival_rate": "30/min", "service_rate": "45/min", "provisioned_pollers": {"minimum": 2, "maximum": 8}},
        {"service": "stream-lambda", "stream": {"shards": 4, "batch_size": 100, "batch_time": "1 s"}},
        {"service": "lambda-async"},
        {"service": "lambda-async", "reserved_concurrency": 40},
    ],
)
def test_what_the_first_step_stops_runs_after_the_last(written: Callable[..., Runbook], fields: dict[str, Any]) -> None:
    """Followed to its end, the runbook leaves no consumer stopped."""
    runbook = written(queues={"q": {**QUEUE, **fields}}, dependencies=TABLE)
    runs = True
    states = []
    for step in runbook.steps:
        for words in (shlex.split(command, comments=True) for command in step.commands):
            if "--no-enabled" in words or words[-2:] == ["--reserved-concurrent-executions", "0"]:
                runs = False
            elif (
                "--enabled" in words
                or "delete-function-concurrency" in words
                or words[-2:-1] == ["--reserved-concurrent-executions"]
            ):
                runs = True
        states.append(runs)
    assert (states[0], states[-1]) == (False, True)
