"""The state of a form on one scenario file: every change is made in the file's text, and read back from it."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from itertools import count
from pathlib import Path
from typing import Any

from traitlets import Bool, HasTraits, Instance, Int, Unicode
from traitlets import Dict as DictTrait

from afterload.errors import AfterloadError, InputError, OverrideError
from afterload.forms.state.document import Document, open_document
from afterload.forms.state.event import TIMES, leave_reference_event, left_words
from afterload.forms.state.fields import field_of, fields_of, skeleton, typed
from afterload.forms.state.places import Entry, Place, entries, outline, section_at
from afterload.forms.state.ranged import mark_ranges, range_of
from afterload.forms.state.results import Results, read
from afterload.forms.state.sliders import Slider, sliders_of
from afterload.plan import build_plan
from afterload.plan.compare import Comparison, Snapshot, compare
from afterload.scenario import Overrides, Scenario, dotted
from afterload.scenario.overrides import annotation_at, gather_overrides, locate, settle
from afterload.slices import Slices, finished
from afterload.yamledit import YamlText
from afterload.yamltree import DataPath, value_at

__all__ = ["FormState"]

# Keys typed into one field within this time are one step of undo.
TYPING_S = 3.0
MOST_STEPS = 500


class FormState(HasTraits):
    """One scenario file in the hands of a person.

    Traits:
        text: the file's text as it would be saved.
        problems: messages by the path of the field; of the whole file under "".
        results: those of the last text that was a scenario. ``is_current`` tells whether that is this text; ``is_whole``
            whether uncertainty and plan are there too. ``is_moved`` tells that sliders were moved since that text.
        notice: the last thing that a person should be told.
        changes: grows with every change of anything above, for views to follow.
    """

    text = Unicode()
    problems = DictTrait()
    results = Instance(Results, allow_none=True)
    is_current = Bool(False)
    is_whole = Bool(False)
    is_moved = Bool(False)
    notice = Unicode()
    changes = Int(0)
    # Changes of where things stand: an item more, another name, another file.
    shape = Int(0)

    def __init__(self, scenario: str, overrides: Overrides = None, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.document: Document = open_document(scenario)
        self._clock = clock
        self._undo: list[str] = []
        self._redo: list[str] = []
        self._typing: tuple[DataPath, float] | None = None
        self._dragged: dict[str, tuple[Slider, float]] = {}
        self._marked: set[str] = set()
        self._snapshots: dict[str, Snapshot] = {}
        self._read: Results | None = None
        self._edited: YamlText | None = None
        self._left: tuple[str, ...] = ()
        self.pins: dict[str, str] = {}
        self.text = self.document.text
        self._look()
        self._override(overrides)

    def _override(self, overrides: Overrides) -> None:
        """Values set for this run stand in the form as changes that are not saved."""
        changes = gather_overrides(overrides)
        for path, value in changes.items():
            keys = locate(self.data, path, Scenario)
            with self._edit() as edit:
                # As its field takes it: a name may read as a number or a truth value.
                edit.set(keys, settle(value, annotation_at(Scenario, keys)))
        if changes and self.problems:
            raise OverrideError(f"the overrides do not fit {self.name}: {'; '.join(self.problem_lines)}")

    # What a view shows.

    @property
    def path(self) -> Path:
        """The file that is saved."""
        return self.document.path

    @property
    def name(self) -> str:
        """The file's name."""
        return self.document.path.name

    @property
    def data(self) -> Any:
        """The values of the text, with their numbers as written; not to be changed."""
        return self._yaml().tree.data

    def _yaml(self) -> YamlText:
        """The text as it was read last: reading it again takes longer than anything else here."""
        if self._edited is None or self._edited.text != self.text:
            self._edited = YamlText(self.text, self.name)
        return self._edited

    def value(self, path: DataPath) -> Any:
        """The value at a path of the text; None where nothing stands."""
        return value_at(self.data, path)

    @property
    def is_saved(self) -> bool:
        """True where the file on disk holds what is shown, as far as is known here."""
        return not self.document.is_new and self.text == self.document.text and not self._dragged

    @property
    def can_undo(self) -> bool:
        """True if there is a step to take back."""
        return bool(self._undo)

    @property
    def can_redo(self) -> bool:
        """True if a step was taken back that can be made again."""
        return bool(self._redo)

    @property
    def is_dragging(self) -> bool:
        """True while the results are of slider positions that do not stand in the text yet."""
        return bool(self._dragged)

    @property
    def problem_lines(self) -> list[str]:
        """Every problem in one line."""
        return [f"{path}: {words}" if path else words for path, found in self.problems.items() for words in found]

    def outline(self) -> tuple[Place, ...]:
        """Every place of the form."""
        return outline(self.data, self.problems)

    def entries(self, path: DataPath) -> tuple[Entry, ...]:
        """The fields of the section at a path, with their values and problems."""
        return entries(self.data, path, self.problems)

    def sliders(self) -> tuple[Slider, ...]:
        """The sliders of the last good scenario."""
        return () if self.results is None else sliders_of(self.results.loaded)

    # Changes.

    def set(self, path: DataPath, text: str) -> None:
        """Put what was typed into a field; nothing typed takes the value away."""
        section = section_at(path[:-1])
        if section is None or str(path[-1]) not in section.keys():
            # A row that is written as one value, such as the name of an automation.
            with self._edit(path) as edit:
                edit.set(path, text.strip() or None)
            return
        field = field_of(section, str(path[-1]))
        value = typed(text, field)
        if path in TIMES:
            self._set_time(path, value)
            return
        with self._edit(path) as edit:
            if value is None and not field.required:
                edit.remove(path)
                return
            quantity = section.quantities().get(field.name)
            factor = quantity.keys(field.name)[str(path[-1])] if quantity else None
            if (
                factor is not None
                and isinstance(value, str)
                and not value.replace(",", "").replace(".", "", 1).isdigit()
            ):
                # Text with its unit stands under the name without one.
                edit.rename(path, field.key)
                path = (*path[:-1], field.key)
            edit.set(path, value)

    def _set_time(self, path: DataPath, value: Any) -> None:
        """Put a time of the incident; what is of the reference event goes with its times, in the same step."""
        with self._edit(path) as edit:
            edit.set(path, value)
            left = leave_reference_event(edit, path)
            for name in left:
                for about in _about(edit.data, ("incident", name)):
                    edit.remove(about if len(edit.data[about[0]]) > 1 else about[:1])
        if left:
            self._left = left
        if self._left:
            # It stays while the times are typed.
            self.notice = left_words(self._left, self.value(("incident", "name")))

    def add(self, path: DataPath, name: str = "") -> DataPath:
        """Add an item to the part, list or section at a path, with what it cannot do without left empty; give its path."""
        section = section_at((*path, name or 0)) or section_at(path)
        if section is None:
            raise InputError(f"{dotted(path)} takes no items")
        here = value_at(self.data, path)
        kind = next((f.kind for f in self._fields_above(path) if f.key == path[-1]), "section")
        with self._edit() as edit:
            if kind == "items":
                name = name.strip()
                if not name:
                    raise InputError("give it a name first")
                if isinstance(here, dict) and name in here:
                    raise InputError(f"{dotted((*path, name))} is there already: choose another name")
                edit.set((*path, name), skeleton(section))
                return (*path, name)
            if kind == "rows":
                edit.append(path, skeleton(section))
                return (*path, len(here) if isinstance(here, list) else 0)
            if isinstance(here, dict):
                raise InputError(f"{dotted(path)} is there already")
            edit.set(path, skeleton(section))
            return path

    def _fields_above(self, path: DataPath) -> Iterable[Any]:
        section = section_at(path[:-1])
        return () if section is None else fields_of(section)

    def duplicate(self, path: DataPath, name: str = "") -> DataPath:
        """Copy an item, with its comments, under another name or to the place after it; give the copy's path."""
        with self._edit() as edit:
            if isinstance(path[-1], int):
                edit.duplicate(path)
                return (*path[:-1], path[-1] + 1)
            name = name.strip() or self._free_name(path)
            edit.duplicate(path, name)
            return (*path[:-1], name)

    def _free_name(self, path: DataPath) -> str:
        taken = value_at(self.data, path[:-1]) or {}
        tried = [f"{path[-1]}-{number}" for number in range(2, len(taken) + 3)]
        return next(name for name in tried if name not in taken)

    def rename(self, path: DataPath, name: str) -> DataPath:
        """Give an item another name, also where other parts of the file name it; give its new path."""
        name = name.strip()
        if not name:
            raise InputError("a name cannot be empty")
        if name == path[-1]:
            return path
        with self._edit() as edit:
            edit.rename(path, name)
            for other in _references(edit.data, str(path[0]), str(path[-1])):
                edit.set(other, name)
            for part, key in _about(edit.data, path):
                edit.rename((part, key), key.replace(dotted(path), dotted((*path[:-1], name)), 1))
        return (*path[:-1], name)

    def remove(self, path: DataPath) -> None:
        """Take away an item, a row, a section or a value."""
        with self._edit() as edit:
            for about in _about(edit.data, path):
                edit.remove(about if len(edit.data[about[0]]) > 1 else about[:1])
            above = value_at(edit.data, path[:-1])
            if len(path) == 2 and isinstance(above, dict) and len(above) == 1:
                edit.remove(path[:-1])
            else:
                edit.remove(path)

    def take(self, text: str, notice: str = "") -> None:
        """Put another text in place of this one, as one step: an import, a pinned variant."""
        self.settle()
        self._push(text)
        self.shape += 1
        self._look()
        self.notice = notice

    def undo(self) -> None:
        """Take back the last step."""
        self.settle()
        if self._undo:
            self._redo.append(self.text)
            self.text = self._undo.pop()
            self._moved("taken back")

    def redo(self) -> None:
        """Make the step again that was taken back last."""
        self.settle()
        if self._redo:
            self._undo.append(self.text)
            self.text = self._redo.pop()
            self._moved("made again")

    def reset(self) -> None:
        """Go back to the file as it was opened or saved last; undo brings the changes back."""
        self._dragged.clear()
        self._push(self.document.text)
        self._moved(f"as in {self.name}")

    def _moved(self, words: str) -> None:
        self._typing = None
        self._left = ()
        self.shape += 1
        self._look()
        self.notice = words

    @contextmanager
    def _edit(self, typed_into: DataPath | None = None) -> Iterator[YamlText]:
        """One step of changes to the text; all of it or nothing. Raises :class:`InputError` where it cannot be made."""
        # Positions of sliders first: the edit is made in a copy of the text, and would be without them.
        self.settle()
        before = self._yaml()
        edit = copy(before)
        yield edit
        if edit.text == self.text:
            return
        self._edited = edit
        now = self._clock()
        if typed_into is not None:
            is_same = self._typing is not None and self._typing[0] == typed_into and now - self._typing[1] < TYPING_S
            if is_same:
                self.text = edit.text
                self._redo.clear()
            else:
                self._push(edit.text)
            self._typing = (typed_into, now)
        else:
            self._typing = None
            self._push(edit.text)
            if edit.tree.lines.keys() != before.tree.lines.keys():
                self.shape += 1
        self._look()
        self.notice = ""

    def _push(self, text: str) -> None:
        if text == self.text:
            return
        self._undo.append(self.text)
        del self._undo[:-MOST_STEPS]
        self._redo.clear()
        self.text = text

    def _look(self) -> None:
        """Read the text: new results if it is a scenario, else the problems beside the last good ones."""
        try:
            loaded, problems = read(self._yaml().tree, self.document.base)
        except InputError as problem:
            # A file that is no YAML: nothing of it can be edited.
            loaded, problems = None, {"": (str(problem),)}
        found = None
        if loaded is not None:
            try:
                found = Results.of(loaded)
            except AfterloadError as problem:
                problems = {"": (str(problem),)}
        self.problems = problems
        self.is_current = found is not None
        if found is not None:
            self.is_moved = False
            self._read = self.results = found
            self.is_whole = False
        self.changes += 1

    # Sliders.

    def drag(self, slider: Slider, number: float) -> None:
        """Move a slider: point results at once. The text follows with :meth:`settle`, when the hand rests.

        Where the text has that value already it keeps it as it is written, whatever its unit.
        """
        if self._read is None:
            return
        written = slider.written(number)
        if self._has(slider.key, written):
            if self._dragged.pop(slider.key, None) is None:
                return
        else:
            self._dragged[slider.key] = slider, number
        values = [slider.written(number) for slider, number in self._dragged.values()]
        try:
            self.results = self._read.changed(values) if values else self._read
        except AfterloadError as problem:
            self.notice = str(problem)
            return
        self.is_moved = not self.is_current
        self.is_whole = self.results.is_whole
        self.changes += 1

    def _has(self, key: str, written: tuple[DataPath, Any]) -> bool:
        """True where the text says what a slider would write."""
        if self._read is None or not self.is_current:
            return False
        return any(item.key == key and item.written(item.value) == written for item in sliders_of(self._read.loaded))

    def settle(self) -> None:
        """Write the positions of sliders into the text, as one step."""
        if not self._dragged:
            return
        moved = list(self._dragged.values())
        self._dragged.clear()
        try:
            self._write(moved)
        except InputError as problem:
            # The text is written in a way that only a person can change: the results are those of the text again.
            self._look()
            self.notice = str(problem)
            return
        left_out = {} if self._read is None else self._read.loaded.outdated
        names = [range_of(slider) for slider, _ in moved]
        if self.is_current and any(name in left_out for name in names):
            self.notice = "; ".join(f"{name}: {left_out[name]}" for name in names if name in left_out)

    def _write(self, moved: list[tuple[Slider, float]]) -> None:
        with self._edit() as edit:
            stood = [self._stood(edit, slider) for slider, _ in moved]
            mark_ranges(
                edit, [(was, number, text) for (_, number), (was, text) in zip(moved, stood, strict=True)], self._marked
            )
            for path, value in (slider.written(number) for slider, number in moved):
                if value is None:
                    edit.remove(path)
                    continue
                data = edit.tree.data
                where = locate(data, dotted(path), Scenario)
                if where != path and isinstance(value, str):
                    edit.rename(where, str(path[-1]))
                if isinstance(value_at(data, path[:-1]), str):
                    # The section is written as "none".
                    edit.set(path[:-1], {path[-1]: value})
                else:
                    edit.set(path, value)

    def _stood(self, edit: YamlText, slider: Slider) -> tuple[Slider, Any]:
        """A slider where the text has it, and its value there as it is written."""
        sliders = () if self._read is None else sliders_of(self._read.loaded)
        was = next((item for item in sliders if item.key == slider.key), slider)
        return was, value_at(edit.data, locate(edit.data, dotted(slider.path), Scenario))

    def rest(self) -> None:
        """What there is time for when nothing moves: sliders into the text, uncertainty, the plan, a look at the file."""
        self.find_bands()
        self.find_backlogs()
        self.find_plan()

    def find_plan(self) -> None:
        """The plan of the scenario as it is."""
        finished(self.planning())

    def planning(self) -> Slices[None]:
        """The same in slices, since it takes longer than a person waits who moves something again."""
        self.settle()
        if self.results is None or self.is_whole:
            return
        # Whatever changes the results meanwhile has them found anew.
        before = self.results
        try:
            found = yield from before.becoming_whole()
        except AfterloadError as problem:
            self.notice = str(problem)
            return
        if self.results is before:
            self.is_whole = self._follow(lambda _: found)

    def find_backlogs(self) -> None:
        """The bands of the backlog of the scenario as it is."""
        self.settle()
        if self.results is not None and self.results.bands is None:
            self._follow(Results.with_backlogs)

    def find_bands(self) -> None:
        """Sliders into the text, uncertainty, and whether somebody else has written the file."""
        self.settle()
        if self.results is not None and not self.results.has_bands:
            self._follow(Results.with_bands)
        if self.document.is_changed and not self.document.is_new:
            self.notice = f"{self.name} was changed by somebody else since it was opened here"

    def _follow(self, more: Callable[[Results], Results]) -> bool:
        """Find more of the results; where that cannot be computed, say why and leave it stale. True where it was found."""
        assert self.results is not None
        try:
            self._read = self.results = more(self.results)
        except AfterloadError as problem:
            self.notice = str(problem)
            return False
        self.changes += 1
        return True

    # Variants.

    def pin(self, name: str) -> None:
        """Keep this scenario under a name, to compare others with it or to come back to it.

        Without a name it gets the next number. Raises :class:`InputError` for a name that another variant has.
        """
        self.settle()
        known, name = self.variants(), name.strip()
        if name in known:
            raise InputError(f"there is a variant {name!r} already: choose another name")
        free = (f"variant {number}" for number in count(1) if f"variant {number}" not in known)
        self.pins[name or next(free)] = self.text
        self.changes += 1

    def variants(self) -> dict[str, str]:
        """The texts that can be compared, by name."""
        return {"file": self.document.text, "now": self.text, **self.pins}

    def comparison(self, before: str, after: str = "now") -> Comparison | None:
        """Two of: "file" (as opened or saved last), "now", and the pinned ones. None where one of them is no scenario."""
        self.settle()
        texts = self.variants()
        found = []
        for name in (before, after):
            snapshot = self._snapshot(name, texts[name])
            if snapshot is None:
                return None
            found.append(snapshot)
        return compare(*found)

    def _snapshot(self, name: str, text: str) -> Snapshot | None:
        if text not in self._snapshots:
            loaded, _ = read(text, self.document.base)
            if loaded is None:
                return None
            whole = self.results if text == self.text and self.is_whole else None
            try:
                whole = whole or Results.of(loaded).whole()
            except AfterloadError:
                return None
            self._snapshots[text] = Snapshot.of(whole.estimates, whole.plan or build_plan(whole.estimates))
        snapshot = self._snapshots[text]
        return Snapshot(name, snapshot.inputs, snapshot.results, snapshot.lines)

    # The file.

    def save(self, over: bool = False, draft: bool = False) -> None:
        """Write the file, whole. ``draft`` allows a text with problems, ``over`` one that replaces somebody else's.

        Raises :class:`ChangedError` where somebody else has written the file meanwhile, :class:`InputError` for a text with
        problems, :class:`OutputError` where it cannot be written.
        """
        self.settle()
        if self.problems and not draft:
            left = len(self.problem_lines)
            raise InputError(
                f"not saved: {left} problem{'' if left == 1 else 's'} left, and with {'it' if left == 1 else 'them'} no "
                "report can be made from it: save it as a draft, or mend first"
            )
        before, self.document = self.document, self.document.saved(self.text, over)
        words = f" with {len(self.problem_lines)} problems, which every report would refuse" if self.problems else ""
        self._typing = None
        if self.document.base != before.base:
            # Files that it names are looked for from elsewhere now.
            self._look()
        self.changes += 1
        self.notice = f"saved {self.path}{words}"

    def save_as(self, path: str, draft: bool = False) -> None:
        """Save as another file, which must not exist yet; the form goes on with that one. Raises like :meth:`save`."""
        if not path.strip():
            raise InputError("give the file a name first")
        before = self.document
        self.document = before.elsewhere(path.strip())
        try:
            self.save(draft=draft)
        except AfterloadError:
            self.document = before
            raise
        self.shape += 1

    def open(self, path: str) -> None:
        """Go on with another file: one that is there, a shipped one, or a new one, which begins empty. Variants stay.

        Raises :class:`InputError` where changes would be lost, or the file cannot be read as YAML, and leaves all as it is.
        """
        self.settle()
        if not path.strip():
            raise InputError("give the name of a file first")
        if self.text != self.document.text:
            raise InputError(f"{self.name} has changes that are not saved: save them first, or reset to the file")
        document = open_document(path.strip())
        YamlText(document.text, document.path.name)
        self.document = document
        self.text = document.text
        self._undo.clear()
        self._redo.clear()
        self.results = self._read = None
        self._moved(f"opened {self.path}" if not self.document.is_new else f"{self.path} is not there yet")

    def reload(self) -> None:
        """Take the file as it stands on disk now; undo brings this text back.

        Raises :class:`InputError` where it cannot be read as YAML, and leaves all as it is.
        """
        document = self.document.on_disk()
        YamlText(document.text, document.path.name)
        self._dragged.clear()
        self.document = document
        self._push(self.document.text)
        self._moved(f"read again: {self.path}")

    def difference(self) -> str:
        """The lines in which the file on disk and this text differ, as a unified difference; empty where they do not."""
        self.settle()
        lines = difflib.unified_diff(
            self.document.on_disk().text.splitlines(), self.text.splitlines(), "on disk", "here", lineterm="", n=2
        )
        return "\n".join(lines)


def _references(data: Any, part: str, name: str) -> Iterator[DataPath]:
    """Where other parts of a file name an item: a queue's dependency, the queue of a measured series or of the live chapter."""
    singular = {"dependencies": "dependency", "fleets": "fleet", "queues": "queue"}.get(part)
    if singular is None or not isinstance(data, dict):
        return
    for other in ("queues", "call_stacks", "clients", "telemetry"):
        items = data.get(other)
        pairs = items.items() if isinstance(items, dict) else enumerate(items) if isinstance(items, list) else ()
        for key, item in pairs:
            if isinstance(item, dict) and item.get(singular) == name:
                yield (other, key, singular)
    live = data.get("live")
    if part == "queues" and isinstance(live, dict) and live.get("queue") == name:
        yield ("live", "queue")


def _about(data: Any, path: DataPath) -> list[tuple[str, str]]:
    """Ranges and evidence of what stands at or below a path: they are named by whole paths."""
    name = dotted(path)
    return [
        (part, key)
        for part in ("uncertain", "evidence")
        for key in (data.get(part) or {} if isinstance(data, dict) else {})
        if key == name or key.startswith(f"{name}.")
    ]
