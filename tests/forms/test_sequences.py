"""Any sequence of edits, undos and saves: the text is what the state shows, and what is saved is what is read again."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from afterload.errors import InputError
from afterload.forms.state import FormState
from afterload.forms.state.results import Results, read
from afterload.yamltree import read_text

SMALL = """\
# A small team
team: T
time_zone: UTC # the zone
recovery_objective: 240 min
incident: {name: E, trigger: 2025-10-20T00:00Z, restored_at: 2025-10-20T02:52Z}
queues:
  q: # the only one
    arrival_rate: 1,200/min
    service_rate: 1,800/min
    item_time: 2 s
call_stacks:
  s:
    layers:
      - { name: a, tries: 2 } # top
      - { name: b, tries: 3 }
fleets: {f: {running: 10, needed: 20, removal_automation: [Terminate]}}
"""
TEXTS = st.sampled_from(
    ["", "1,500/min", "20/s", "15 min", "none", "40", "0.30", "30 %", "true", "fifo", "a: b", "# no", "'", '"x', "[1, 2]",
     "{a", "- x", "2025-10-20T03:00Z", "é\u2028", " lead", "*a", "&b", "1.40", "lambda-sqs", "yes", "x" * 250]
)  # fmt: skip
NAMES = st.sampled_from(["q2", "new one", "a.b", "1", "true", "x: y", "#", "'", "é", ""])


class Editing(RuleBasedStateMachine):
    """A person at a form."""

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.file = Path(self.folder.name) / "t.yaml"
        self.file.write_text(SMALL, encoding="utf-8")
        self.form = FormState(str(self.file), clock=iter(range(0, 10**9, 100)).__next__)

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()

    def places(self) -> list[tuple[str | int, ...]]:
        found: list[tuple[str | int, ...]] = []
        todo = [place.path for place in self.form.outline()]
        while todo:
            path = todo.pop()
            for entry in self.form.entries(path):
                found.append(entry.path)
                todo += entry.below
                if entry.field.kind == "section" and entry.is_there and not entry.is_written_short:
                    todo.append(entry.path)
        return found

    @rule(data=st.data(), text=TEXTS)
    def type_something(self, data: st.DataObject, text: str) -> None:
        entries = [
            entry
            for place in self.form.outline()
            for entry in self.form.entries(place.path)
            if entry.field.kind not in ("rows", "items", "section") or entry.is_written_short
        ]
        entry = data.draw(st.sampled_from(entries))
        before = self.form.text
        try:
            self.form.set(entry.path, text)
        except InputError:
            assert self.form.text == before

    @rule(data=st.data(), name=NAMES)
    def add_or_copy(self, data: st.DataObject, name: str) -> None:
        part = data.draw(st.sampled_from(["queues", "call_stacks", "fleets", "clients", "worker_pools"]))
        with suppress(InputError):
            if data.draw(st.booleans()) or not self.form.data.get(part):
                self.form.add((part,), name)
            else:
                self.form.duplicate((part, data.draw(st.sampled_from(sorted(self.form.data[part])))), name)

    @rule(data=st.data())
    def remove_something(self, data: st.DataObject) -> None:
        before = self.form.text
        try:
            self.form.remove(data.draw(st.sampled_from(sorted(self.places(), key=str))))
        except InputError:
            assert self.form.text == before

    @rule(data=st.data(), share=st.floats(0, 1))
    def move_a_slider(self, data: st.DataObject, share: float) -> None:
        sliders = self.form.sliders()
        if sliders:
            item = data.draw(st.sampled_from(sliders))
            self.form.drag(item, item.low + share * (item.high - item.low))

    @rule()
    def undo_and_redo(self) -> None:
        self.form.settle()
        before = self.form.text
        if self.form.can_undo:
            self.form.undo()
            self.form.redo()
            assert self.form.text == before

    @rule()
    def undo(self) -> None:
        self.form.undo()

    @rule()
    def save(self) -> None:
        self.form.save(draft=True)
        assert self.file.read_text(encoding="utf-8") == self.form.text
        again = FormState(str(self.file))
        assert again.text == self.form.text
        assert again.problems == self.form.problems
        assert [place.title for place in again.outline()] == [place.title for place in self.form.outline()]

    @invariant()
    def the_state_shows_its_text(self) -> None:
        if not hasattr(self, "form") or self.form.is_dragging:
            return
        assert read_text(self.form.text, "t").data is not None
        loaded, problems = read(self.form.text, self.file)
        assert problems == self.form.problems
        assert self.form.is_current == (loaded is not None)
        if loaded is not None:
            assert self.form.results is not None
            assert self.form.results.loaded.scenario == loaded.scenario
            assert self.form.results.loaded.scenario == Results.of(loaded).loaded.scenario


TestEditing = Editing.TestCase
TestEditing.settings = settings(
    max_examples=15, stateful_step_count=12, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
