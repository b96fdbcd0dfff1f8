"""The live chapter's form: readings as people type them, kept in a log that ``afterload eta`` and others add to as well."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any

from traitlets import HasTraits, Instance, Int, Unicode

from afterload.errors import AfterloadError, ChangedError, InputError, UnitError
from afterload.findings.live import Live, live
from afterload.findings.live_given import Given, known_given, lacks_tested_rate, read_item_time_s
from afterload.findings.live_known import Known
from afterload.findings.typed_reading import mistyped
from afterload.forms.state.document import typed_path
from afterload.intake.live import names_elsewhere, names_of, uploaded_readings
from afterload.resources import BUILTIN
from afterload.scenario import LoadedScenario, Overrides, Reading, load_scenario, read_overrides
from afterload.scenario.load import locate_scenario
from afterload.scenario.overrides import gather_overrides
from afterload.scenario.reading_log import (
    KeptLine,
    add_reading,
    is_shipped,
    live_part,
    log_digest,
    near,
    read_log,
    take_back,
)
from afterload.scenario.readings import joined, log_columns, of_queue, reading_line
from afterload.units import format_count, read_count, read_duration_min, read_instant, read_rate_per_min, read_share

__all__ = ["FIELDS", "OVER", "LiveField", "LiveState"]


@dataclass(frozen=True)
class LiveField:
    """One thing to type: ``name`` is that of the option of ``afterload eta``, ``part`` that of what it becomes a part of."""

    name: str
    label: str
    part: str
    help: str
    example: str
    read: Callable[[str, tzinfo], Any]


FIELDS = (
    LiveField("depth", "items waiting", "depth", "What the console shows as waiting.", "206,400",
              lambda text, _: float(read_count(text))),
    LiveField("age", "age of the oldest", "age_min", "Tells what arrives, where work leaves in its order.", "172 min",
              lambda text, _: read_duration_min(text)),
    LiveField("errors", "errors", "error_share", "Share at the dependency that fails or is throttled.", "2 %",
              lambda text, _: read_share(text)),
    LiveField("arrival", "arrive", "arrival_per_min", "From depth and age if not given.", "1,200/min",
              lambda text, _: read_rate_per_min(text)),
    LiveField("service", "served", "service_per_min", "Not needed from the second reading on.", "1,800/min",
              lambda text, _: read_rate_per_min(text)),
    LiveField("attempts", "attempts", "attempts_per_min", "At the dependency, retries included.", "2,600/min",
              lambda text, _: read_rate_per_min(text)),
    LiveField("in-flight", "in flight", "in_flight", "Items that consumers hold.", "80",
              lambda text, _: float(read_count(text))),
    LiveField("at", "seen at", "at", "Now if not given.", "2025-10-20T02:40-07:00", read_instant),
)  # fmt: skip
# Over what the scenario says, as long as it stands there.
OVER = (
    LiveField("tested", "tested to", "tested_per_min", "What the dependency is tested to bear.", "3,000/min",
              lambda text, _: read_rate_per_min(text)),
    LiveField("direct", "direct traffic", "direct_per_min", "What reaches it beside the queue.", "600/min",
              lambda text, _: read_rate_per_min(text)),
    LiveField("cap", "cap now", "cap", "Items that consumers may hold at once.", "80", lambda text, _: read_count(text)),
    LiveField("item-time", "time of an item", "item_time_s", "Makes of a cap a rate.", "2 s",
              lambda text, _: read_item_time_s(text)),
)  # fmt: skip
# Questions that metrics leave open which a notice names.
MOST_ASKED = 3
_BY_NAME = {field.name: field for field in (*FIELDS, *OVER)}


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


class LiveState(HasTraits):
    """Readings of one queue of a scenario, and the answer that they give.

    Traits:
        answer: the answer; None before there is a reading.
        notice: the last thing that a person should be told.
        trouble: why there is no answer from what is there: a scenario or a log that cannot be used.
        doubted: what looks mistyped in the reading that was to be added last; empty where nothing does.
        series: what series of metrics measure, as in ``waiting=backlog:orders:items``, several separated by commas.
        measuring: how the metrics were read, or why they cannot be; empty where there are none.
        changes: grows with every change.

    Readings are kept in ``log``. Without one (a shipped example, which nobody may write to) they stay here alone. So do those of
    metrics, and what is typed over the scenario.
    """

    answer = Instance(Live, allow_none=True)
    notice = Unicode()
    trouble = Unicode()
    doubted = Unicode()
    series = Unicode()
    measuring = Unicode()
    changes = Int(0)

    def __init__(self, scenario: str, overrides: Overrides = None, clock: Callable[[], datetime] = _now) -> None:
        super().__init__()
        self.clock = clock
        self.scenario = scenario
        self.loaded: LoadedScenario | None = None
        self.log: Path | None = None
        self.queue = ""
        self.texts: dict[str, str] = {}
        self._overrides = overrides
        self._seen: str | None = None
        self._shipped: tuple[Reading, ...] = ()
        self._readings: tuple[Reading, ...] = ()
        self._own: list[Reading] = []
        self._kept: list[KeptLine] = []
        self._metrics: dict[str, bytes] = {}
        self._measured: tuple[Reading, ...] = ()
        self._open(scenario)

    # What a person does.

    def open(self, scenario: str) -> None:
        """Go on with another scenario, without the overrides of this one.

        Raises :class:`InputError` where it cannot be used, or readings would be lost, and leaves all as it is.
        """
        wanted = scenario.strip()
        if not wanted:
            raise InputError("give the name of a scenario file")
        if self._own:
            what = "1 reading stands" if len(self._own) == 1 else f"{len(self._own):,} readings stand"
            raise InputError(f"{what} in this form alone: name a log to keep them, or take them back, first")
        other = LiveState(wanted, clock=self.clock)
        if other.loaded is None:
            raise InputError(other.trouble)
        self._overrides = None
        self.texts, self._kept, self.notice, self.doubted = {}, [], "", ""
        self._metrics, self._measured, self.series, self.measuring = {}, (), "", ""
        self._open(wanted)
        self._changed()

    def use_log(self, path: str) -> None:
        """Keep readings in that file, and answer from those that are there. What was typed here goes there too.

        Raises :class:`AfterloadError` where it is no log of readings or cannot be written.
        """
        wanted = path.strip()
        if not wanted:
            raise InputError("give the name of a CSV file; one that is not there yet begins with the first reading")
        log = typed_path(wanted)
        if is_shipped(log):
            raise InputError(f"{wanted} is Afterload's own: give a file of yours")
        if not log.absolute().parent.is_dir():
            raise InputError(f"there is no folder {log.parent}: make it first, if it is not mistyped")
        there = read_log(log, self._zone)
        self._answered([*there, *self._own])
        for reading in self._own:
            # All of them, or none.
            reading_line(reading, log_columns(log))
        moved = len(self._own)
        while self._own:
            self._kept.append(add_reading(log, self._own[0]))
            del self._own[0]
        self.log = log
        self._look()
        self.notice = f"readings are kept in {log}" + (f"; {moved:,} typed here were added" if moved else "")
        self._changed()

    def choose_queue(self, queue: str) -> None:
        """Follow another queue."""
        if queue != self.queue and queue in self.queues:
            self.queue, self.doubted = queue, ""
            self._measure()
            self._look()
            self._changed()

    def set(self, name: str, text: str) -> None:
        """Type something into a field. What goes over the scenario counts at once."""
        field = _BY_NAME[name]
        self.texts[field.name] = text
        self.doubted = ""
        if field in OVER:
            self._look()
        self._changed()

    def upload(self, files: Mapping[str, bytes]) -> None:
        """Take readings from metrics, in place of those that were taken before. They are in the answer, and in no log."""
        self._metrics = dict(files)
        self._measure()
        self._look()
        self._changed()

    def say_series(self, series: str) -> None:
        """Say what series of the metrics measure."""
        if series.strip() != self.series:
            self.series = series.strip()
            self._measure()
            self._look()
            self._changed()

    def add(self, anyway: bool = False) -> None:
        """Keep the reading as it is typed, with the time as it is now unless one is typed, and answer.

        ``anyway`` takes what looks mistyped, as ``--force`` does.
        Raises :class:`AfterloadError` where that cannot be done; nothing is kept then.
        """
        if self.loaded is None:
            raise InputError(self.trouble)
        if self.problems:
            told = "; ".join(f"{_BY_NAME[name].label}: {words}" for name, words in self.problems.items())
            raise InputError(f"not added: {told}")
        if not self.text("depth"):
            raise InputError("a reading needs what waits: type the items waiting")
        self._look()
        if self.trouble:
            raise InputError(f"not added: {self.trouble}")
        new = self._typed()
        earlier = self._of_queue()
        service = self._known().service
        found = mistyped(new, earlier, self.clock(), None if service is None else service.per_min)
        if found is not None and not anyway:
            self.doubted = f"{_BY_NAME[found.part].label}: {found.words}: {found.question}"
            self._changed()
            return
        # What cannot be answered is not kept.
        self._answered([*self.readings, new])
        if self.log is None:
            self._own.append(new)
        else:
            self._kept.append(add_reading(self.log, new))
        self._look()
        self.texts = {field.name: self.texts[field.name] for field in OVER if field.name in self.texts}
        self.doubted = ""
        where = "here only: name a log to keep it" if self.log is None else f"in {self.log}"
        self.notice = (
            f"{format_count(new.depth)} waiting at {new.at.astimezone(self._zone or UTC):%H:%M %Z} is kept {where}"
        )
        self._changed()

    def undo(self) -> None:
        """Take back the last reading that was added here, unless its log has changed since.

        Raises :class:`ChangedError` where it has, and :class:`InputError` where there is none.
        """
        if not self.can_undo:
            raise InputError("no reading was added here")
        if self._own:
            self._own.pop()
        else:
            try:
                take_back(self._kept[-1])
            except ChangedError:
                self._kept.clear()
                self._look()
                self._changed()
                raise
            self._kept.pop()
        self._look()
        self.notice = "your last reading is taken out again"
        self._changed()

    def refresh(self) -> bool:
        """Read the log again if somebody has written to it; True where that changed something."""
        before = (self._seen, self.trouble)
        if self.log is None or self.loaded is None:
            return False
        try:
            is_same = log_digest(self.log) == self._seen
        except InputError:
            is_same = False
        if is_same:
            return False
        self._look()
        if (self._seen, self.trouble) == before:
            return False
        self._changed()
        return True

    # What it shows.

    @property
    def queues(self) -> tuple[str, ...]:
        """Queues of the scenario."""
        return () if self.loaded is None else tuple(self.loaded.scenario.queues)

    @property
    def problems(self) -> dict[str, str]:
        """What is wrong with what is typed, by field."""
        found = {}
        for field in (*FIELDS, *OVER):
            try:
                if text := self.text(field.name):
                    field.read(text, self._zone or UTC)
            except UnitError as problem:
                found[field.name] = str(problem)
        if (
            self.loaded is not None
            and self.text("direct")
            and lacks_tested_rate(self._given(), self.loaded, self.queue)
        ):
            found.setdefault("direct", "is that of a dependency: type what it is tested to as well")
        return found

    @property
    def readings(self) -> tuple[Reading, ...]:
        """All readings that people kept, of every queue."""
        return (*self._readings, *self._own)

    @property
    def can_undo(self) -> bool:
        """True where a reading was added here that may be taken back."""
        return bool(self._own or self._kept)

    @property
    def name(self) -> str:
        """The scenario's file name."""
        return Path(self.scenario).name

    @property
    def is_shipped(self) -> bool:
        """True for an example, whose rates are nobody's own."""
        return self.scenario.startswith(BUILTIN)

    @property
    def source(self) -> str:
        """Where the readings stand, and what is typed over the scenario."""
        kept = str(self.log) if self.log is not None else "readings of the example" if self._shipped else ""
        if not kept and (self._own or not self._measured):
            kept = "readings typed here"
        over = ", ".join(field.label for field in OVER if self.text(field.name) and field.name not in self.problems)
        parts = [kept, *(self._metrics if self._measured else ()), f"{over} as typed here" if over else ""]
        return ", ".join(filter(None, parts))

    @property
    def to_do(self) -> str:
        """What to do where there is no answer yet."""
        if self.trouble:
            return self.trouble
        log = f" --log {self.log}" if self.log is not None else ""
        return (
            f"There is no reading of {self.queue} yet. Type the items waiting and the age of the oldest into the form of this "
            f"chapter, or give them to afterload eta {self.scenario}{log} --depth N --age DURATION."
        )

    def text(self, name: str) -> str:
        """What is typed into a field, without spaces around it."""
        return self.texts.get(name, "").strip()

    # Inside.

    @property
    def _zone(self) -> Any:
        return None if self.loaded is None else self.loaded.scenario.time_zone

    def _changed(self) -> None:
        self.changes += 1

    def _typed(self) -> Reading:
        zone = self._zone or UTC
        values = {field.part: field.read(text, zone) for field in FIELDS if (text := self.text(field.name))}
        return Reading(**{"at": self.clock(), "queue": self.queue, **values})

    def _given(self) -> Given:
        """What is typed over the scenario, as far as it can be read."""
        values: dict[str, Any] = {}
        for field in OVER:
            with suppress(UnitError):
                if text := self.text(field.name):
                    values[field.part] = field.read(text, UTC)
        return Given(**values)

    def _known(self) -> Known:
        given = self._given()
        if lacks_tested_rate(given, self.loaded, self.queue):
            given = replace(given, direct_per_min=None)
        return known_given(given, self.loaded, self.queue)

    def _of_queue(self, readings: Iterable[Reading] | None = None) -> tuple[Reading, ...]:
        """Readings of the queue that is followed, with those of metrics."""
        return joined(of_queue(self.readings if readings is None else readings, self.queue), self._measured)

    def _answered(self, readings: Iterable[Reading]) -> Live | None:
        """The answer from readings of all queues; None where none is of the one that is followed."""
        found = self._of_queue(readings)
        return live(found, self._known()) if found else None

    def _measure(self) -> None:
        """Read the metrics for the queue that is followed."""
        self._measured, self.measuring = (), ""
        if not self._metrics or self.loaded is None:
            return
        try:
            self._measured, remarks = uploaded_readings(
                self._metrics, self.queue, zone=self._zone, names=names_of(self.loaded, self.queue),
                others=names_elsewhere(self.loaded, self.queue),
                series=[part.strip() for part in self.series.split(",") if part.strip()],
                since=self.loaded.scenario.incident.restored_at,
            )  # fmt: skip
        except AfterloadError as problem:
            self.measuring = str(problem)
            return
        count = len(self._measured)
        told = [f"{count:,} reading{'' if count == 1 else 's'} of {self.queue} from {', '.join(self._metrics)}"]
        asked = [f"{remark.file}: {remark.text}" for remark in remarks if remark.kind == "ask"]
        self.measuring = "; ".join([*told, *asked[:MOST_ASKED]])

    def _open(self, scenario: str) -> None:
        self.scenario = scenario
        self.loaded, self.log, self.queue, self.trouble = None, None, "", ""
        self._shipped, self._readings, self._seen, self.answer = (), (), None, None
        try:
            changes = read_overrides(self._overrides)
            part = live_part(scenario, changes)
            # As they were typed, for their fields to read.
            typed = gather_overrides(self._overrides)
            others = {path: value for path, value in typed.items() if path.partition(".")[0] != "live"}
            # The log is read apart, so that one which is not there yet, or was spoiled, still lets a person type.
            loaded = load_scenario(scenario, {**others, "live": None})
            named = part.get("log")
            file = loaded.file(named) if isinstance(named, str) and named != "none" else None
            shipped = read_log(file, loaded.scenario.time_zone) if file is not None and is_shipped(file) else ()
            self.loaded = loaded
        except (AfterloadError, OSError) as problem:
            self.trouble = str(problem)
            return
        if not self.queues:
            self.loaded, self.trouble = (
                None,
                f"{self.name} has no queue to follow: add one, in 02-fill-in or in the file",
            )
            return
        wanted = str(part.get("queue", ""))
        self.queue = wanted if wanted in self.queues else self.queues[0]
        if wanted not in ("", self.queue):
            self.notice = f"live.queue names {wanted!r}, which is no queue of {self.name}: {self.queue} is followed"
        if file is not None and is_shipped(file):
            self._shipped = shipped
        elif file is not None:
            self.log = near(file)
        elif not self.is_shipped:
            own = locate_scenario(scenario)
            self.log = own.with_name(f"{own.stem}-readings.csv")
        self._look()

    def _look(self) -> None:
        """Read the log, and answer."""
        self.trouble = ""
        if self.log is None:
            self._readings = self._shipped
        else:
            try:
                self._seen = log_digest(self.log)
                self._readings = read_log(self.log, self._zone)
            except InputError as problem:
                # The last good answer stays.
                self.trouble = str(problem)
                return
        self._find()

    def _find(self) -> None:
        try:
            self.answer = self._answered(self.readings)
        except AfterloadError as problem:
            self.trouble = str(problem)
