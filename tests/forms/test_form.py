"""A form's state, driven as a view drives it, without a kernel: fill in, break and mend, undo, pin, save."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

import pytest

from afterload.errors import ChangedError, InputError, ModelError, OverrideError
from afterload.estimates import estimate
from afterload.forms.state import FormState
from afterload.forms.state.results import Results
from afterload.forms.views.editor import Editor
from afterload.resources import resource
from afterload.scenario import LoadedScenario, load_scenario
from afterload.yamltree import DataPath

Q: DataPath = ("queues", "orders")


def changed(before: str, after: str) -> list[str]:
    return [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[:2] in ("- ", "+ ")]


def problems(form: FormState, path: DataPath) -> dict[str, str]:
    return {str(entry.path[-1]): " ".join(entry.problems) for entry in form.entries(path) if entry.problems}


def test_a_team_is_filled_in_from_empty(blank: Callable[[], FormState]) -> None:
    form = blank()
    assert form.results is None
    assert [(place.title, place.problems) for place in form.outline()] == [
        ("Team and objective", 4),
        ("Incident and impacts", 0),
    ]
    assert set(problems(form, ())) == {"team", "time_zone", "recovery_objective"}
    assert all("is missing" in words for words in problems(form, ()).values())
    form.set(("team",), "Payments")
    form.set(("time_zone",), "Europe/Berlin")
    form.set(("recovery_objective",), "60 min")
    assert [line.partition(";")[0] for line in form.problem_lines] == ["holds nothing to compute"]
    jobs = form.add(("queues",), "jobs")
    assert problems(form, jobs).keys() == {"arrival_rate", "service_rate"}
    assert form.outline()[-1].problems == 2
    form.set((*jobs, "arrival_rate"), "1,200/min")
    form.set((*jobs, "service_rate"), "1,800/min")
    assert form.problem_lines == []
    assert form.is_current
    # 172 min at 1,200/min, drained at 600/min to spare.
    assert form.results is not None
    assert form.results.estimates.queues["jobs"].drain_min == pytest.approx(344)
    api = form.add(("call_stacks",), "api")
    form.set((*api, "layers", 0, "name"), "browser")
    form.set((*api, "layers", 0, "tries"), "3")
    second = form.duplicate((*api, "layers", 0))
    form.set((*second, "name"), "gateway")
    assert form.results.estimates.stacks["api"].result.multiplier == 9
    form.save()
    assert form.is_saved
    saved = load_scenario(form.path)
    assert saved.scenario == form.results.loaded.scenario
    assert estimate(saved).stacks["api"].result.multiplier == 9
    assert form.text.startswith("# One team's recovery load.")
    assert "time_zone: Europe/Berlin # IANA name" in form.text


def test_a_broken_field_says_so_and_the_last_good_result_stays(form: FormState) -> None:
    good = form.results
    form.set((*Q, "service_rate"), "1,800/mi")
    assert problems(form, Q) == {
        "service_rate": "'1,800/mi' has the unknown unit 'mi'; accepted: ms, s, min, h, days or weeks"
    }
    assert form.results is good
    assert not form.is_current
    with pytest.raises(InputError, match="not saved: 1 problem left"):
        form.save()
    form.set((*Q, "service_rate"), "2,400/min")
    assert form.problems == {}
    assert form.is_current
    assert form.results is not None
    assert form.results.estimates.queues["orders"].drain_min == pytest.approx(172)


def test_an_edit_changes_its_line_and_no_other(form: FormState) -> None:
    before = form.text
    form.set(("recovery_objective",), "200 min")
    form.set(("call_stacks", "checkout", "layers", 1, "tries"), "1")
    form.set(("call_stacks", "checkout", "failure_probability"), "0.30")
    form.set((*Q, "goes_stale_after"), "")
    assert changed(before, form.text) == [
        "- recovery_objective: 240 min # from dependency restored to first-attempt age back at baseline",
        "+ recovery_objective: 200 min # from dependency restored to first-attempt age back at baseline",
        "-     goes_stale_after: 15 min",
        "-     failure_probability: 1",
        "+     failure_probability: 0.30",
        "-       - { name: gateway, tries: 3 }",
        "+       - { name: gateway, tries: 1 }",
    ]


def test_a_number_with_its_unit_in_the_name_takes_text_with_a_unit(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(
        "team: T\ntime_zone: UTC\nrecovery_objective_min: 240\n"
        "incident: {name: E, trigger: 2025-10-20T00:00Z, restored_at: 2025-10-20T02:52Z}\n"
        "queues: {q: {arrival_rate_per_min: 1200, service_rate: 1800/min}}\n"
    )
    form = FormState(str(path))
    [entry] = [entry for entry in form.entries(()) if entry.field.key == "recovery_objective"]
    assert (entry.path, entry.text) == (("recovery_objective_min",), "240")
    form.set(entry.path, "90")
    assert "recovery_objective_min: 90\n" in form.text
    form.set(entry.path, "2 h")
    assert "recovery_objective: 2 h\n" in form.text
    slider = next(item for item in form.sliders() if item.key == "q arrivals")
    form.drag(slider, 1300)
    form.settle()
    assert "{q: {arrival_rate: '1,300/min', service_rate: 1800/min}}" in form.text.replace('"', "'")
    assert form.problems == {}


def test_items_are_added_duplicated_renamed_and_removed(form: FormState) -> None:
    copy = form.duplicate(Q)
    assert copy == ("queues", "orders-2")
    assert form.text.count("# made up\n      key_life: 24 h") == 2
    assert form.rename(copy, "refunds") == ("queues", "refunds")
    assert form.results is not None
    assert list(form.results.loaded.scenario.queues) == ["orders", "refunds"]
    form.rename(("dependencies", "orders-table"), "orders table")
    assert form.problems == {}
    assert form.results.loaded.scenario.clients["checkout"].dependency == "orders table"
    with pytest.raises(InputError, match="is there already"):
        form.rename(Q, "refunds")
    with pytest.raises(InputError, match="is there already"):
        form.add(("queues",), "refunds")
    with pytest.raises(InputError, match="incident is there already"):
        form.add(("incident",))
    with pytest.raises(InputError, match="give it a name"):
        form.add(("queues",), "  ")
    form.remove(("queues", "refunds"))
    form.remove(("call_stacks", "checkout"))
    assert "call_stacks" not in form.data
    assert list(form.data["queues"]) == ["orders"]


def test_what_speaks_for_an_item_goes_with_it(form: FormState) -> None:
    form.add(("uncertain",), "queues.orders.service_rate")
    form.set(("uncertain", "queues.orders.service_rate", "low"), "1,600/min")
    form.set(("uncertain", "queues.orders.service_rate", "high"), "2,000/min")
    assert form.problems == {}
    form.rename(Q, "jobs")
    assert form.problems == {}
    assert list(form.data["uncertain"]) == ["queues.jobs.service_rate"]
    form.remove(("queues", "jobs"))
    assert "uncertain" not in form.data
    assert form.problems == {}


def test_sections_are_added_and_taken_away(form: FormState) -> None:
    form.add((*Q, "drain_cap"))
    assert form.problem_lines == [
        'queues.orders.drain_cap.concurrency: is missing; accepted: a whole number such as 1200 or "1,200"'
    ]
    form.set((*Q, "drain_cap", "concurrency"), "40")
    assert form.problems == {}
    form.remove((*Q, "drain_cap"))
    assert "drain_cap" not in form.data["queues"]["orders"]
    form.set((*Q, "ramp"), "lambda-sqs")
    [ramp] = [entry for entry in form.entries(Q) if entry.field.key == "ramp"]
    assert ramp.is_written_short
    assert form.problems == {}
    form.set(("fleets", "checkout-api", "removal_automation", 1), "Terminate")
    assert "[ReplaceUnhealthy, Terminate, AlarmNotification]" in form.text


def test_undo_and_redo(form: FormState) -> None:
    start = form.text
    form.set(("recovery_objective",), "200 min")
    form.duplicate(Q)
    form.undo()
    assert form.data["recovery_objective"] == "200 min"
    assert list(form.data["queues"]) == ["orders"]
    form.undo()
    assert form.text == start
    assert not form.can_undo
    form.redo()
    form.redo()
    assert list(form.data["queues"]) == ["orders", "orders-2"]
    assert not form.can_redo
    form.reset()
    assert form.text == start
    form.undo()
    assert list(form.data["queues"]) == ["orders", "orders-2"]


def test_what_is_typed_in_one_go_is_one_step(orders: Path) -> None:
    now = [0.0]
    form = FormState(str(orders), clock=lambda: now[0])
    for text in ("2", "20", "200", "200 ", "200 m", "200 min"):
        form.set(("recovery_objective",), text)
        now[0] += 0.3
    form.undo()
    assert form.data["recovery_objective"] == "240 min"
    form.redo()
    now[0] += 10
    form.set(("recovery_objective",), "300 min")
    form.undo()
    assert form.data["recovery_objective"] == "200 min"


def test_variants_are_pinned_and_compared(form: FormState) -> None:
    form.pin("today")
    form.set((*Q, "service_rate"), "2,400/min")
    form.pin("more consumers")
    comparison = form.comparison("today", "more consumers")
    assert comparison is not None
    assert [(item.name, item.before, item.after) for item in comparison.inputs] == [
        ("queues.orders.service_rate", "1,800/min", "2,400/min")
    ]
    assert ("344 min", "172 min") in [(item.before, item.after) for item in comparison.results]
    assert form.comparison("file") is not None
    form.take(form.pins["today"])
    same = form.comparison("today")
    assert same is not None
    assert same.same
    form.set((*Q, "service_rate"), "fast")
    assert form.comparison("today") is None


def test_overrides_stand_as_changes_that_are_not_saved(orders: Path) -> None:
    form = FormState(str(orders), {"queues.orders.arrival_rate": "1500/min"})
    assert not form.is_saved
    assert form.can_undo
    assert form.results is not None
    assert form.results.estimates.queues["orders"].drain_min == pytest.approx(860)
    with pytest.raises(OverrideError, match="arrival_rate"):
        FormState(str(orders), {"queues.orders.arrival_rate": "fast"})
    with pytest.raises(OverrideError, match="nearest"):
        FormState(str(orders), {"queues.orders.arrival": "1500/min"})


@pytest.mark.parametrize(("typed", "held"), [("true", "true"), ("1.40", "1.40"), ("2025", "2025")])
def test_an_override_of_text_stands_as_it_was_typed(orders: Path, typed: str, held: str) -> None:
    """As a report with the same words takes it."""
    for path in ("owner", "clients.order-worker.source"):
        form = FormState(str(orders), [f"{path}={typed}"])
        assert form.results is not None
        found = form.results.loaded.scenario
        assert held == (found.owner if path == "owner" else found.clients["order-worker"].source)


# The file.


def test_save_and_reopen(form: FormState) -> None:
    form.set((*Q, "service_rate"), "2,400/min")
    assert not form.is_saved
    form.save()
    assert form.is_saved
    again = FormState(str(form.path))
    assert again.text == form.text
    assert again.results is not None
    assert form.results is not None
    assert again.results.loaded.scenario == form.results.loaded.scenario
    assert sorted(path.name for path in form.path.parent.iterdir()) == ["orders.yaml"]


def test_two_sessions_lose_nothing_silently(orders: Path) -> None:
    one, other = FormState(str(orders)), FormState(str(orders))
    one.set((*Q, "service_rate"), "2,400/min")
    one.save()
    other.set(("recovery_objective",), "200 min")
    with pytest.raises(ChangedError, match="was changed by somebody else"):
        other.save()
    assert load_scenario(orders).scenario.recovery_objective_min == 240
    assert "+recovery_objective: 200 min" in other.difference()
    assert "-    service_rate: 2,400/min" in other.difference()
    # Told without a save too, when there is time to look.
    other.rest()
    assert "changed by somebody else" in other.notice
    # Three ways out: another name, their file, or one's own after seeing the difference.
    other.save_as(str(orders.with_name("mine.yaml")))
    assert load_scenario(orders.with_name("mine.yaml")).scenario.recovery_objective_min == 200
    third = FormState(str(orders))
    one.set((*Q, "service_rate"), "3,000/min")
    one.save()
    third.set(("recovery_objective",), "100 min")
    text = third.text
    third.reload()
    assert third.text == one.text
    third.undo()
    assert third.text == text
    third.save()
    assert load_scenario(orders).scenario.recovery_objective_min == 100
    one.set(("recovery_objective",), "50 min")
    one.save(over=True)
    assert load_scenario(orders).scenario.recovery_objective_min == 50


def test_a_file_that_came_or_went_is_not_overwritten(blank: Callable[[], FormState], orders: Path) -> None:
    one, other = blank(), blank()
    one.take(orders.read_text())
    other.take(orders.read_text())
    one.save()
    with pytest.raises(ChangedError, match="is there already"):
        other.save()
    one.path.unlink()
    one.set(("recovery_objective",), "50 min")
    with pytest.raises(ChangedError, match="was removed"):
        one.save()
    with pytest.raises(ChangedError, match="is there already"):
        one.save_as(str(orders))
    assert one.path != orders


def test_a_draft_is_saved_on_request(form: FormState) -> None:
    form.set((*Q, "service_rate"), "")
    form.save(draft=True)
    assert "which every report would refuse" in form.notice
    again = FormState(str(form.path))
    assert again.results is None
    assert [line.split(":")[0] for line in again.problem_lines] == ["queues.orders.service_rate"]


def test_a_draft_is_offered_until_the_problem_is_mended(form: FormState) -> None:
    editor = Editor(form)
    form.set((*Q, "service_rate"), "")
    editor.save.click()
    [offered] = editor.asked.children
    assert offered.description == "Save as a draft"
    form.set((*Q, "service_rate"), "1,800")
    assert editor.asked.children == (offered,)
    form.set((*Q, "service_rate"), "1,800/min")
    assert editor.asked.children == ()
    assert form.problems == {}


def test_what_is_asked_about_a_file_goes_when_another_is_opened(form: FormState, tmp_path: Path) -> None:
    editor = Editor(form)
    form.set(("recovery_objective",), "200 min")
    form.path.write_text(form.document.text + "# theirs\n", "utf-8")
    editor.save.click()
    assert len(editor.asked.children) == 2
    form.reset()
    editor.other.value = str(tmp_path / "another.yaml")
    editor._open()
    assert form.name == "another.yaml"
    assert editor.asked.children == ()


def test_no_advice_for_files_stands_in_a_form(blank: Callable[[], FormState]) -> None:
    form = blank()
    assert problems(form, ())["team"] == "is missing; accepted: text"
    assert "quotes around it" not in " ".join(form.problem_lines)
    # What reads as another kind of value is text here, as it is typed.
    form.set(("team",), "true")
    assert "team" not in problems(form, ())


@pytest.mark.parametrize(
    ("before", "raw"),
    [
        ("utf-8 with a mark", b"\xef\xbb\xbf"),
        ("line ends of two characters", b""),
    ],
)
def test_how_a_file_is_written_stays(orders: Path, before: str, raw: bytes) -> None:
    text = orders.read_text("utf-8")
    bytes_before = raw + (text if raw else text.replace("\n", "\r\n")).encode()
    orders.write_bytes(bytes_before)
    form = FormState(str(orders))
    form.set(("recovery_objective",), "200 min")
    form.save()
    assert orders.read_bytes() == bytes_before.replace(b"recovery_objective: 240 min", b"recovery_objective: 200 min")


@pytest.mark.parametrize("name", sorted(path.name for path in resource("data", "scenarios").glob("*.yaml")))
def test_a_shipped_example_is_saved_as_a_copy(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    form = FormState(f"builtin:scenarios/{name}")
    assert not form.is_saved
    assert form.problems == {}
    form.save()
    # Also where other files stand beside the shipped one.
    shipped, copy = load_scenario(f"builtin:scenarios/{name}"), load_scenario(tmp_path / name)
    assert copy.scenario.queues == shipped.scenario.queues
    assert copy.timeline == shipped.timeline
    assert estimate(copy).queues.keys() == estimate(shipped).queues.keys()


def test_another_file_is_opened_in_the_same_form(form: FormState, tmp_path: Path) -> None:
    form.set(("recovery_objective",), "200 min")
    with pytest.raises(InputError, match="changes that are not saved"):
        form.open("other.yaml")
    form.save()
    form.open(str(tmp_path / "new.yaml"))
    assert form.results is None
    assert not form.can_undo
    assert "team: is missing" in form.problem_lines[0] + form.problem_lines[1]
    form.open("builtin:scenarios/checkout-api.yaml")
    assert form.problems == {}
    assert form.results is not None
    assert list(form.results.estimates.stacks) == ["pay", "quote"]


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"team: \xff\xfe\n")
    with pytest.raises(InputError, match="not UTF-8"):
        FormState(str(path))


def test_a_name_goes_with_the_live_chapter(form: FormState) -> None:
    form.take(f"{form.text}\nlive: {{queue: orders, log: seen.csv}}\n")
    assert form.problems == {}
    form.rename(Q, "jobs")
    assert form.problems == {}
    assert form.data["live"]["queue"] == "jobs"


def test_a_slider_in_motion_does_not_come_back_into_another_text(form: FormState) -> None:
    before = form.text
    form.pin("a")
    form.drag(next(item for item in form.sliders() if item.key == "orders arrivals"), 1300)
    form.take(form.variants()["a"])
    form.rest()
    assert form.text == before
    # It is not lost either.
    form.undo()
    assert "arrival_rate: 1,300/min" in form.text


def test_a_slider_in_motion_stays_when_a_field_is_typed_into(form: FormState) -> None:
    before = form.text
    arrivals = next(item for item in form.sliders() if item.key == "orders arrivals")
    form.drag(arrivals, 1300)
    form.set(("team",), "Other")
    assert form.value(("team",)) == "Other"
    assert "1,300/min" in form.text
    assert form.results is not None
    assert max(form.results.estimates.queues["orders"].load.arrivals.rates_per_min) == 1300
    form.undo()
    assert "1,300/min" in form.text
    form.undo()
    assert form.text == before


def test_a_slider_over_a_value_that_stands_elsewhere_says_so(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(
        "team: T\ntime_zone: UTC\nincident: {name: x, trigger: 2025-10-20T07:00+00:00, restored_at: 2025-10-20T08:00+00:00}\n"
        "recovery_objective: 240 min\n"
        "queues:\n"
        "  first: &base {arrival_rate: 10/min, service_rate: 20/min, goes_stale_after: none, age_limit: 60 min}\n"
        "  other:\n    <<: *base\n",
        encoding="utf-8",
    )
    form = FormState(str(path))
    before = form.text
    age = next(item for item in form.sliders() if item.key == "other age")
    form.drag(age, age.high)
    form.settle()
    assert form.text == before
    assert "queues.other.age_limit is written in a way that cannot be changed alone" in form.notice
    assert form.results is not None
    assert form.results.estimates.queues["other"].load.max_age_min == 60


def test_variants_stay_when_another_file_is_opened(form: FormState, tmp_path: Path) -> None:
    form.pin("a")
    text = form.text
    form.open(str(tmp_path / "new.yaml"))
    assert form.variants()["a"] == text


@pytest.mark.parametrize("content", [b"a: [\n", b"team: \xff\n"], ids=["no YAML", "no text"])
def test_a_file_that_cannot_be_edited_leaves_the_form_as_it_is(form: FormState, content: bytes) -> None:
    editor = Editor(form)
    bad = form.path.with_name("bad.yaml")
    bad.write_bytes(content)
    editor.other.value = str(bad)
    editor._open()
    assert "is not" in form.notice
    assert (form.name, form.problems) == ("orders.yaml", {})
    # The same where it is the form's own, changed by somebody else.
    form.set(("recovery_objective",), "200 min")
    text = form.text
    form.path.write_bytes(content)
    editor._save()
    assert "was changed by somebody else" in form.notice
    assert len(editor.asked.children) == 2
    editor._reload()
    assert "is not" in form.notice
    assert form.text == text
    assert len(editor.asked.children) == 2
    editor._overwrite()
    assert "200 min" in form.path.read_text("utf-8")


@pytest.mark.parametrize("name", ["~nobody-of-that-name/x.yaml", "x" * 5000, "x\0y"], ids=["home", "long", "null"])
def test_a_name_that_no_file_can_have_is_refused(form: FormState, name: str) -> None:
    for work in (form.open, form.save_as):
        with pytest.raises(InputError, match="cannot be a file"):
            work(name)
    assert form.name == "orders.yaml"
    with pytest.raises(InputError, match="names no file that Afterload ships"):
        form.open("builtin:scenarios/order.yaml")


def test_what_cannot_be_computed_is_told_and_stays_stale(form: FormState, monkeypatch: pytest.MonkeyPatch) -> None:
    """Point results that are there stay, where draws of the uncertain values cannot be made."""

    def lost(_: Results) -> Results:
        raise ModelError("no draw can be followed")

    form.rest()
    editor = Editor(form)
    with monkeypatch.context() as without:
        without.setattr(Results, "with_bands", lost)
        form.set(("dependencies", "orders-table", "tested_rate"), "2,900/min")
        editor.rest.now()
        assert form.notice == "no draw can be followed"
        assert form.comparison("file") is None
    assert form.results is not None
    assert not form.results.has_bands
    assert not form.is_whole
    assert "af-stale" in editor.results.bands._dom_classes
    form.set(("dependencies", "orders-table", "tested_rate"), "3,000/min")
    editor.rest.now()
    assert form.is_whole

    def refuse(loaded: LoadedScenario) -> Results:
        raise ModelError("the drain cannot be followed")

    monkeypatch.setattr(Results, "of", refuse)
    good = form.results
    form.set((*Q, "service_rate"), "2,000/min")
    assert form.problem_lines == ["the drain cannot be followed"]
    assert (form.is_current, form.results) == (False, good)


def test_no_variant_takes_the_place_of_another(form: FormState) -> None:
    form.pin("variant 2")
    form.set(("recovery_objective",), "200 min")
    form.pin("")
    form.pin("")
    assert list(form.pins) == ["variant 2", "variant 1", "variant 3"]
    for name in ("variant 2", " now ", "file"):
        with pytest.raises(InputError, match="choose another name"):
            form.pin(name)
    assert "240 min" in form.pins["variant 2"]
    editor = Editor(form)
    editor.variants.name.value = "now"
    editor.variants._pin()
    assert "'now' already" in form.notice
    assert editor.variants.name.value == "now"
