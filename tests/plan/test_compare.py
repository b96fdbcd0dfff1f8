"""Two scenarios or runs side by side: only what differs, in both directions, done and undone."""

from __future__ import annotations

import json

import pytest
from tests.plan.test_catalogue import STAYS

from afterload.errors import InputError
from afterload.estimates import estimate
from afterload.figures.compare import compare_answer, compare_markdown, compare_text
from afterload.plan import Plan, plan_json
from afterload.plan.compare import Snapshot, compare
from afterload.plan.snapshots import open_snapshot
from afterload.resources import resource
from afterload.scenario import load_scenario_text


def snapshot(made):
    return Snapshot.of(made.estimates, made.plan)


def test_nothing_differs_from_itself(queue):
    one = snapshot(queue())
    assert compare(one, one).same
    assert "the same inputs, results and plan" in compare_answer(compare(one, one)).text


def test_the_same_rate_in_other_words_is_no_difference(queue):
    assert compare(snapshot(queue()), snapshot(queue(arrival_rate="20/s"))).same


def test_inputs_results_and_lines_that_differ(queue):
    found = compare(snapshot(queue()), snapshot(queue(service_rate="2,400/min")))
    assert [(item.name, item.before, item.after) for item in found.inputs] == [
        ("queues.q.service_rate", "1,800/min", "2,400/min")
    ]
    # Closed form: 206,400 / 600 and 206,400 / 1,200.
    assert ("344 min", "172 min") in [(item.before, item.after) for item in found.results]


def test_done_and_undone(queue):
    before, after = snapshot(queue()), snapshot(queue(drain_cap={"concurrency": 80}))
    assert {item.name: item.note for item in compare(before, after).lines} == {"drain-cap:queues.q": "done"}
    back = compare(after, before)
    assert {item.name: item.note for item in back.lines} == {"drain-cap:queues.q": "undone"}
    assert "Undone since: drain-cap:queues.q." in compare_answer(back).text


def test_a_drain_that_became_endless_is_said_once(queue):
    """With 1,100/min of service for 1,200/min that arrive the backlog never drains: no line that bought nothing is news."""
    before, after = snapshot(queue()), snapshot(queue(service_rate="1,100/min"))
    idle = {name for name, line in before.lines.items() if line == ("to do", "0 min")}
    endless = {name for name, line in after.lines.items() if line == ("to do", "none")}
    assert idle & endless
    for found in (compare(before, after), compare(after, before)):
        assert set(found.quiet) == idle & endless
        assert not idle & endless & {item.name for item in found.lines}
        assert "never" in {text for item in found.results for text in (item.before, item.after)}
        text = compare_text(found)
        assert "only because the drain ends in one and never in the other." in text
        assert text.count("to do, none") == sum("to do, none" in item.before + item.after for item in found.lines)


def test_a_line_that_makes_a_drain_endless_is_news():
    """The drain of the scenario ends with or without it, so that the never is the line's own."""
    one = Snapshot("a", {}, {}, {"x": ("to do", "0 min")})
    other = Snapshot("b", {}, {}, {"x": ("to do", "344 min to never")})
    assert [item.name for item in compare(one, other).lines] == ["x"]


@pytest.mark.parametrize(
    ("old", "new"), [("ends never", "never to 172 min"), ("see worth", "none"), ("see worth", "344 min to never")]
)
def test_the_words_of_an_older_run_are_no_difference(old, new):
    one, other = Snapshot("a", {}, {}, {"x": ("to do", old)}), Snapshot("b", {}, {}, {"x": ("to do", new)})
    assert compare(one, other).same
    assert compare(other, one).same
    done = Snapshot("b", {}, {}, {"x": ("in place", "")})
    assert [item.note for item in compare(one, done).lines] == ["done"]
    better = Snapshot("b", {}, {}, {"x": ("to do", "90 min")})
    assert not compare(one, better).same


def test_a_dependency_that_stays_down_is_not_never_down(queue, make):
    """Minutes of harm have no end; "never down" would be the best that there is."""
    before = snapshot(make(**STAYS))
    name = "minutes for which a dependency was down after the restore, as the scenario starts"
    assert before.results[name] == "without end"
    assert before.endless
    record = before.record()
    record["results"][name] = "never"
    assert Snapshot.from_record(record) == before


def test_added_and_removed_parts(queue, make):
    found = compare(
        snapshot(queue()), snapshot(make(clients={"c": {"sdk": "boto3", "version": "1.44.0", "number": 1}}))
    )
    notes = {item.name: item.note for item in found.lines}
    assert notes["standard-retries:clients.c"] == "new"
    assert notes["drain-cap:queues.q"] == "gone"
    assert ("queues.q.arrival_rate", "1,200/min", "") in [(item.name, item.before, item.after) for item in found.inputs]


def test_a_run_compares_like_its_scenario(queue, tmp_path):
    made = queue()
    path = tmp_path / "t-plan.json"
    path.write_text(plan_json(made.plan, made.estimates), encoding="utf-8")
    assert compare(open_snapshot(path), snapshot(made)).same
    changed = queue(service_rate="2,400/min")
    from_run, from_file = compare(open_snapshot(path), snapshot(changed)), compare(snapshot(made), snapshot(changed))
    assert from_run == from_file


def test_a_scenario_in_json_is_a_scenario(queue, tmp_path):
    path = tmp_path / "team.json"
    made = queue()
    path.write_text(json.dumps(made.data), encoding="utf-8")
    assert compare(open_snapshot(path), snapshot(made)).lines == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda record: record.pop("snapshot"), "plan of an older version"),
        (lambda record: record["snapshot"].pop("results"), "holds no run of Afterload"),
        (lambda record: record["snapshot"].update(lines=[1]), "holds no run of Afterload"),
    ],
)
def test_a_damaged_run_is_refused(queue, tmp_path, change, words):
    made = queue()
    record = json.loads(plan_json(made.plan, made.estimates))
    change(record)
    path = tmp_path / "t-plan.json"
    path.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(InputError, match=words) as caught:
        open_snapshot(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert str(caught.value).endswith(": run the report anew")


def test_text_and_markdown_hold_every_difference(queue):
    found = compare(snapshot(queue()), snapshot(queue(service_rate="2,400/min", goes_stale_after="15 min")))
    for text in (compare_text(found), compare_markdown(found)):
        assert text.count("2,400/min") >= 1
        for item in (*found.inputs, *found.results):
            assert item.after in text
    assert "| input | before | after | note |\n| --- | --- | --- | --- |" in compare_markdown(found)


@pytest.mark.parametrize(
    ("one", "other", "differ"), [("1.40", "1.4", True), ("1.40", "'1.40'", False), ("1.40", "1.40", False)]
)
def test_a_version_is_compared_as_it_is_written(tmp_path, one, other, differ):
    """1.40 and 1.4 are two versions; with quotes or without, it is the same one, also after a run's JSON."""
    text = resource("data", "scenarios", "orders.yaml").read_text(encoding="utf-8")
    found = []
    for place, version in enumerate((one, other)):
        estimates = estimate(load_scenario_text(text.replace("1.43.11", version), tmp_path / f"{place}.yaml"))
        snapshot = Snapshot.of(estimates, Plan((), ()))
        found.append(Snapshot.from_record(json.loads(json.dumps(snapshot.record()))))
    inputs = [(item.name, item.before, item.after) for item in compare(*found).inputs]
    assert inputs == ([("clients.order-worker.version", "1.40", "1.4")] if differ else [])


def test_a_number_in_other_digits_is_no_difference(tmp_path):
    text = resource("data", "scenarios", "orders.yaml").read_text(encoding="utf-8")
    assert text.count("failure_share: 2 %\n") == 1
    found = [
        Snapshot.of(estimate(load_scenario_text(each, tmp_path / "t.yaml")), Plan((), ()))
        for each in (text.replace("2 %\n", "0.02\n"), text.replace("2 %\n", "0.020\n"))
    ]
    assert compare(*found).same
