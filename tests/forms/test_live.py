"""Sliders: made for what a scenario has, at once in the results, in the text at rest; nothing stale is queued."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from afterload.estimates import estimate
from afterload.figures import Figure
from afterload.figures.moving import GROUPS, LIVE, parted
from afterload.forms.state import FormState
from afterload.forms.state.rest import Rest
from afterload.forms.state.sliders import Slider, sliders_of
from afterload.forms.views.editor import Editor
from afterload.forms.views.texts import notice
from afterload.plan import build_plan
from afterload.resources import resource
from afterload.scenario import load_scenario, load_scenario_text

EXAMPLES = sorted(path.stem for path in resource("data", "scenarios").glob("*.yaml"))


def slider(form: FormState, key: str) -> Slider:
    return next(item for item in form.sliders() if item.key == key)


def test_the_example_has_a_slider_for_every_quantity_that_matters(form: FormState) -> None:
    assert [item.key for item in form.sliders()] == [
        "outage",
        "orders arrivals",
        "orders service",
        "orders cap",
        "orders age",
        "checkout failing",
        *(f"checkout tries {place}" for place in range(5)),
        "checkout-api throttle",
    ]


@pytest.mark.parametrize("name", EXAMPLES)
def test_ranges_hold_the_value_and_every_position_is_accepted(name: str) -> None:
    form = FormState(f"builtin:scenarios/{name}.yaml")
    for item in form.sliders():
        assert item.low <= item.value <= item.high
        assert item.step > 0
        assert 10 <= round((item.high - item.low) / item.step) + 1 <= 1500 or item.high <= 20
        for number in (item.low, item.high):
            form.drag(item, number)
            assert form.notice in ("", "taken back"), (item, number)
            form.settle()
            # A range of uncertainty may not reach so far: then the field says so. Nothing else may be wrong.
            assert all("not in order" in line or "restored_at" in line for line in form.problem_lines), (
                form.problem_lines
            )
            form.undo()


@pytest.mark.parametrize(
    ("key", "number", "written"),
    [
        ("outage", 100, "restored_at: 2025-10-20T01:28-07:00"),
        ("orders arrivals", 1300, "arrival_rate: 1,300/min"),
        ("orders service", 2400, "service_rate: 2,400/min"),
        ("orders cap", 40, "concurrency: 40"),
        ("orders age", 15, "age_limit: 15 min"),
        ("checkout failing", 40, "failure_probability: 40 %"),
        ("checkout tries 1", 1, "{ name: gateway, tries: 1 }"),
        ("checkout-api throttle", 50, "throttle_factor: 50 %"),
    ],
)
def test_a_slider_gives_at_once_what_the_file_gives_later(
    form: FormState, key: str, number: float, written: str
) -> None:
    before = form.text
    form.drag(slider(form, key), number)
    assert form.text == before
    quick = form.results
    assert quick is not None
    form.settle()
    assert written in form.text
    read = estimate(load_scenario_text(form.text, form.path))
    for part in ("queues", "stacks", "fleets"):
        assert {name: numbers(item) for name, item in getattr(quick.estimates, part).items()} == {
            name: numbers(item) for name, item in getattr(read, part).items()
        }
    form.undo()
    assert form.text == before


def numbers(item: Any) -> list[Any]:
    names = (
        "drain_min",
        "fresh_age_back_min",
        "stale_min",
        "lost",
        "catch_up_rate_per_min",
        "in_service_min",
        "missing",
    )
    found = [getattr(item, name, None) for name in names]
    return [*found, getattr(getattr(item, "result", None), "multiplier", None)]


def test_the_right_end_of_a_limit_is_no_limit(form: FormState) -> None:
    before = form.text
    cap = slider(form, "orders cap")
    assert cap.value == cap.high
    form.drag(cap, 40)
    form.settle()
    assert slider(form, "orders cap").value == 40
    form.drag(slider(form, "orders cap"), cap.high)
    form.settle()
    assert form.text == before


def test_a_drag_is_one_step_of_undo_and_bands_follow_at_rest(form: FormState) -> None:
    before = form.text
    form.rest()
    assert form.is_whole
    arrivals = slider(form, "orders arrivals")
    for number in range(1250, 1500, 50):
        form.drag(arrivals, number)
        assert not form.is_whole
    assert form.results is not None
    assert form.results.recovery is None
    form.rest()
    assert form.is_whole
    assert form.results.recovery is not None
    assert form.results.plan is not None
    form.undo()
    assert form.text == before
    assert form.results.estimates.queues["orders"].drain_min == pytest.approx(344)


def test_a_slider_that_the_text_cannot_follow_goes_back(orders: Path) -> None:
    text = orders.read_text("utf-8")
    aliased = text.replace("arrival_rate: 1,200/min", "arrival_rate: &rate 1,200/min").replace(
        "    service_rate: 1,800/min", "    served_in_outage: *rate\n    service_rate: 1,800/min"
    )
    orders.write_text(aliased, "utf-8")
    form = FormState(str(orders))
    assert form.problems == {}
    form.drag(slider(form, "orders arrivals"), 1300)
    form.rest()
    assert "change it by hand" in form.notice
    assert form.text == aliased
    assert form.results is not None
    assert form.results.estimates.queues["orders"].load.arrivals.mean_tail_per_min == 1200
    assert slider(form, "orders arrivals").value == 1200


def test_uncertainty_is_that_of_the_commands(form: FormState) -> None:
    from afterload.recovery.build import couple
    from afterload.recovery.result import estimate_recovery

    form.add(("uncertain",), "queues.orders.service_rate")
    form.set(("uncertain", "queues.orders.service_rate", "low"), "1,600/min")
    form.set(("uncertain", "queues.orders.service_rate", "high"), "2,000/min")
    form.rest()
    form.save()
    coupling = couple(load_scenario(form.path))
    assert coupling is not None
    assert form.results is not None
    assert form.results.recovery is not None
    assert form.results.recovery.drain == estimate_recovery(coupling).drain


def test_a_drag_over_broken_text_waits_for_it(form: FormState) -> None:
    form.set(("recovery_objective",), "soon")
    form.drag(slider(form, "orders arrivals"), 1300)
    form.rest()
    assert "arrival_rate: 1,300/min" in form.text
    assert not form.is_current
    form.set(("recovery_objective",), "200 min")
    assert form.is_current
    assert form.results is not None
    assert form.results.estimates.queues["orders"].load.arrivals.mean_tail_per_min == 1300


@pytest.mark.parametrize("name", EXAMPLES)
def test_data_alone_are_those_of_the_whole_figure(name: str) -> None:
    estimates = estimate(load_scenario(f"builtin:scenarios/{name}.yaml"))
    for chart in LIVE.values():
        figure = chart.figure(estimates)
        if isinstance(figure, Figure):
            form, data = parted(figure.chart)
            assert chart.data(estimates) == list(data.values())
            assert '"values": [{' not in str(form).replace("'", '"')
        else:
            assert chart.data(estimates) == []
    assert {name for group in GROUPS.values() for name in group.charts} == set(LIVE)


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waiting: list[tuple[float, Any]] = []

    def later(self, delay: float, work: Any) -> Any:
        entry = (self.now + delay, work)
        self.waiting.append(entry)
        clock = self

        class Handle:
            def cancel(self) -> None:
                if entry in clock.waiting:
                    clock.waiting.remove(entry)

        return Handle()

    def pass_(self, seconds: float) -> None:
        self.now += seconds
        for entry in [entry for entry in self.waiting if entry[0] <= self.now]:
            self.waiting.remove(entry)
            entry[1]()


def test_only_the_newest_request_is_worked_off() -> None:
    clock, done = Clock(), []
    rest = Rest([(0.2, lambda: done.append(clock.now))], clock.later)
    for _ in range(20):
        rest.touch()
        clock.pass_(0.1)
        assert len(clock.waiting) == 1
    assert done == []
    clock.pass_(0.15)
    assert len(done) == 1
    clock.pass_(5)
    assert len(done) == 1
    rest.touch()
    rest.now()
    clock.pass_(5)
    assert len(done) == 2


def test_works_follow_each_other_and_a_touch_between_them_begins_anew() -> None:
    clock, done = Clock(), []
    names = (("bands", 0.2), ("figures", 0.0), ("plan", 0.5))
    rest = Rest([(delay, lambda name=name: done.append(name)) for name, delay in names], clock.later)
    rest.touch()
    clock.pass_(0.25)
    clock.pass_(0.01)
    assert done == ["bands", "figures"]
    rest.touch()
    clock.pass_(0.1)
    assert done == ["bands", "figures"]
    for _ in range(20):
        clock.pass_(0.1)
    assert done == ["bands", "figures", "bands", "figures", "plan"]
    assert clock.waiting == []
    rest.touch()
    clock.pass_(0.25)
    rest.now()
    assert done[5:] == ["bands", "figures", "plan"]


def test_a_touch_between_two_slices_of_a_work_begins_anew() -> None:
    clock, done = Clock(), []

    def slices() -> Iterator[None]:
        for place in range(3):
            done.append(f"slice {place}")
            yield

    rest = Rest([(0.2, lambda: done.append("bands")), (0.5, slices), (0.1, lambda: done.append("last"))], clock.later)
    rest.touch()
    for seconds in (0.25, 0.5, 0.01, 0.01):
        clock.pass_(seconds)
    assert done == ["bands", "slice 0", "slice 1"]
    rest.touch()
    assert len(clock.waiting) == 1
    clock.pass_(0.1)
    assert done == ["bands", "slice 0", "slice 1"]
    for _ in range(20):
        clock.pass_(0.1)
    assert done[3:] == ["bands", "slice 0", "slice 1", "slice 2", "last"]
    assert clock.waiting == []
    rest.touch()
    for seconds in (0.25, 0.5, 0.01):
        clock.pass_(seconds)
    assert done[8:] == ["bands", "slice 0"]
    rest.now()
    assert done[8:] == ["bands", "slice 0", "slice 1", "slice 2", "last"]
    assert clock.waiting == []


def test_a_plan_given_up_leaves_nothing_and_one_made_in_slices_is_the_same(form: FormState) -> None:
    form.find_bands()
    form.find_backlogs()
    begun = form.planning()
    for _ in range(20):
        next(begun)
    form.drag(slider(form, "orders arrivals"), 1300)
    for _ in begun:
        pass
    assert form.results is not None
    assert form.results.plan is None
    assert not form.is_whole
    form.rest()
    assert form.is_whole
    plan = form.results.plan
    assert plan is not None
    assert plan.items == build_plan(estimate(load_scenario_text(form.text, form.path))).items


def test_a_slider_moves_values_and_leaves_the_outline_as_it_is(form: FormState) -> None:
    shape = form.shape
    form.drag(slider(form, "orders arrivals"), 1300)
    form.settle()
    assert "1,300/min" in form.text
    assert form.shape == shape
    form.drag(slider(form, "orders cap"), 40)
    form.settle()
    assert form.shape == shape + 1


def test_sliders_of_a_scenario_without_queues(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(
        "team: T\ntime_zone: UTC\nrecovery_objective: 240 min\n"
        "incident: {name: E, trigger: 2025-10-20T00:00Z, restored_at: 2025-10-20T02:52Z}\n"
        "clients: {c: {sdk: boto3, number: 1}}\n"
    )
    assert sliders_of(load_scenario(path)) == ()


RANGE = "uncertain:\n  queues.orders.service_rate: {low: 25/s, high: 2,100/min}\n  incident.outage: {low: 2 h, high: 200 min}\n"


@pytest.fixture
def ranged(orders: Path) -> FormState:
    """The example with ranges that a person wrote, its service rate as 30/s."""
    text = orders.read_text("utf-8").replace("service_rate: 1,800/min", "service_rate: 30/s")
    text += RANGE.replace("2,100/min", '"2,100/min"')
    orders.write_text(text, "utf-8")
    form = FormState(str(orders))
    assert form.problems == {}
    return form


def test_a_slider_beyond_the_range_of_its_value_leaves_the_range_out(ranged: FormState) -> None:
    before = ranged.text
    ranged.drag(slider(ranged, "orders service"), 3_900)
    ranged.rest()
    assert ranged.problems == {}
    assert ranged.data["uncertain"]["queues.orders.service_rate"] == {"low": "25/s", "high": "2,100/min", "of": "30/s"}
    assert "its range, 25/s to 2,100/min, is of 30/s, which was changed since, so it is left out" in ranged.notice
    assert ranged.results is not None
    assert list(ranged.results.loaded.ranges) == ["incident.outage"]
    # Further out it stays of the value that it was given for; back within, it counts again.
    ranged.drag(slider(ranged, "orders service"), 4_000)
    ranged.rest()
    assert ranged.data["uncertain"]["queues.orders.service_rate"]["of"] == "30/s"
    ranged.drag(slider(ranged, "orders service"), 2_000)
    ranged.rest()
    assert "of" not in ranged.data["uncertain"]["queues.orders.service_rate"]
    assert ranged.results.loaded.ranges["queues.orders.service_rate"] == (1_500, 2_000, 2_100)
    assert ranged.notice == ""
    for _ in range(3):
        ranged.undo()
    assert ranged.text == before
    ranged.save()


def test_an_outage_beyond_its_range_is_moved_and_leaves_it_out(ranged: FormState) -> None:
    ranged.drag(slider(ranged, "outage"), 240)
    assert ranged.notice == ""
    assert ranged.results is not None
    assert ranged.results.loaded.scenario.incident.outage_min == 240
    ranged.rest()
    assert ranged.problems == {}
    assert ranged.data["uncertain"]["incident.outage"]["of"] == "172 min"
    assert "incident.outage: its range, 2 h to 200 min, is of 172 min" in ranged.notice


def test_the_banner_tells_whose_results_are_shown(ranged: FormState) -> None:
    ranged.set(("recovery_objective",), "soon")
    assert "without problems:" in notice(ranged)
    ranged.drag(slider(ranged, "orders arrivals"), 1_300)
    moved = "those of the last scenario without problems, with sliders as they were moved since:"
    assert moved in notice(ranged)
    ranged.rest()
    assert moved in notice(ranged)
    ranged.set(("recovery_objective",), "200 min")
    assert notice(ranged) == ""
    ranged.set(("recovery_objective",), "later")
    assert "without problems:" in notice(ranged)


def test_a_file_is_changed_as_soon_as_a_hand_moves(form: FormState) -> None:
    editor = Editor(form)
    assert "saved" in editor.file.value
    form.drag(slider(form, "orders arrivals"), 1_300)
    assert "changes not saved" in editor.file.value
    form.drag(slider(form, "orders arrivals"), 1_200)
    assert "changes not saved" not in editor.file.value
    form.set(("recovery_objective",), "soon")
    form.drag(slider(form, "orders arrivals"), 1_300)
    assert "with sliders as they were moved since" in editor.notice.value


def test_a_headline_is_whole_at_once(form: FormState) -> None:
    editor = Editor(form)
    form.drag(slider(form, "orders service"), 1_900)
    moved = editor.headline.value
    assert "so far" not in moved
    editor.rest.now()
    assert editor.headline.value == moved


def test_a_scale_grows_when_its_handle_is_let_go(form: FormState) -> None:
    editor = Editor(form)
    row = editor.sliders.rows["orders service"]
    control, most = row.control, row.control.max
    editor.results.runtime.is_held = True
    control.value = most
    editor.rest.now()
    assert "service_rate: 10,000/min" in form.text
    assert (row.control, control.max, control.value) == (control, most, most)
    # What is held goes on to count on the scale that is seen.
    control.value = most - 1
    editor.rest.now()
    assert "service_rate: 9,900/min" in form.text
    control.value = most
    editor.rest.now()
    editor.results.runtime.is_held = False
    assert row.control is control
    assert control.max > most
    assert row.scale.positions[control.value] == 10_000
