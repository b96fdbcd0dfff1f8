"""Import files that a team already has: tell what each is, read it, and fill the team's scenario with what it offers."""

from __future__ import annotations

import copy
import datetime as dt
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_origin
from zoneinfo import ZoneInfo

from afterload.errors import InputError, NotFoundError, UnitError, UnsupportedError
from afterload.files import write_whole
from afterload.findings.telemetry import read_telemetry
from afterload.intake.base import without_stand_in
from afterload.intake.cloud import cloud_conflicts, cloud_missing, cloud_proposals
from afterload.intake.fill import fill
from afterload.intake.metrics import Assigned, assign, metric_proposals, read_assignment
from afterload.intake.platforms import platform_proposals
from afterload.intake.proposal import Account, Missing, Proposal
from afterload.readers.cloud import ATTRIBUTES, is_cloud_file, read_cloud_file
from afterload.readers.metrics import read_metrics_file
from afterload.readers.reading import Inventory, Origin, Remark
from afterload.readers.series import MetricFile
from afterload.readers.source import digest_of, stated_date
from afterload.readers.timeline import Timeline, read_timeline_file, to_csv, without_entries
from afterload.readers.windows import WindowFile, read_windows_file, windows_csv
from afterload.scenario import LoadedScenario, Scenario, load_scenario_text
from afterload.scenario.evidence_schema import Export, Telemetry
from afterload.scenario.load import with_files
from afterload.scenario.overrides import annotation_at, settle
from afterload.scenario.reference_event import FOLDER
from afterload.units import read_instant
from afterload.yamledit import YamlText

__all__ = ["ACCEPTED", "Imported", "Wishes", "import_again", "import_files", "read_any", "standing"]


@dataclass(frozen=True)
class Wishes:
    """What a person says beside the files.

    Attributes:
        zone: the zone that times without one are in; the scenario's own if None.
        date: the day of the incident, for times without a date.
        subjects: for an export without a name, by its path: the function, queue or target group that it is about.
        dates: for a file, by its path: when it was exported, where that is known better than from the file's date.
        series: assignments of metrics, as in ``sent=arrivals:orders:count``.
        values: values given by hand, by path; their evidence says that nobody measured them.
        rejected: paths that are not wanted.
    """

    zone: ZoneInfo | None = None
    date: dt.date | None = None
    subjects: Mapping[str, str] = field(default_factory=dict)
    dates: Mapping[str, dt.datetime] = field(default_factory=dict)
    series: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    rejected: Collection[str] = ()


_NOTHING = Wishes()
ACCEPTED = (
    "impact windows: CSV with a start, an end, and a service or title",
    "metrics: CSV with a time column, JSON of CloudWatch, Prometheus query_range, Cloud Monitoring or Azure Monitor",
    "settings: JSON of the AWS CLI, terraform show -json, RabbitMQ, kubectl get hpa, gcloud pubsub or az servicebus",
    "consumer groups: text of kafka-consumer-groups --describe",
    "a timeline: CSV, JSON or Markdown with times and texts; PagerDuty, Opsgenie, Statuspage, Slack",
)


@dataclass(frozen=True)
class Imported:
    """The account of an import, with what each file was, and files to write beside the scenario.

    ``problem`` says why the new text is no scenario yet; empty if it is one.
    """

    account: Account
    kinds: Mapping[str, str]
    beside: Mapping[Path, str] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True)
class Read:
    """One file as it was read: one of the four is not None."""

    path: str
    cloud: Inventory | None = None
    metrics: MetricFile | None = None
    timeline: Timeline | None = None
    windows: WindowFile | None = None

    @property
    def kind(self) -> str:
        """What it is, in words."""
        if self.cloud is not None:
            kinds = sorted({item.kind for item in self.cloud.observations})
            where = "settings" if kinds and not ATTRIBUTES.keys() & set(kinds) else "cloud settings"
            return f"{where} ({', '.join(kinds) or 'none'})"
        if self.metrics is not None:
            return f"metrics ({len(self.metrics.series)} series)"
        if self.windows is not None:
            return f"impact windows ({len(self.windows.windows)})"
        events = self.timeline.events if self.timeline is not None else ()
        return f"timeline ({len(events)} events)"


def read_any(path: str | Path, wishes: Wishes = _NOTHING) -> Read:
    """Read one file, whatever it is; its content tells.

    Raises :class:`InputError` that says why it cannot be read, or what it holds and which kinds can be read.
    """
    name = str(path)
    if not Path(path).exists():
        raise NotFoundError(f"{name}: no such file")
    subject = wishes.subjects.get(name) or wishes.subjects.get(Path(name).name)
    if Path(path).is_dir():
        return Read(name, timeline=_read_timeline(name, wishes))
    if subject is not None or is_cloud_file(path):
        return Read(name, cloud=_read_cloud(name, subject, wishes))
    windows = read_windows_file(path, zone=wishes.zone, date=wishes.date)
    if windows is not None:
        if not windows.windows:
            raise InputError(without_entries(name, windows.remarks))
        return Read(name, windows=windows)
    problems: list[InputError] = []
    try:
        return Read(name, metrics=read_metrics_file(path, zone=wishes.zone))
    except InputError as problem:
        problems.append(problem)
    try:
        return Read(name, timeline=_read_timeline(name, wishes))
    except InputError as problem:
        problems.insert(0, problem)
    # What is wrong with a file of a kind says more than that it is of none.
    raise min(problems, key=lambda problem: isinstance(problem, UnsupportedError))


def _read_timeline(name: str, wishes: Wishes) -> Timeline:
    """A timeline with at least one entry."""
    timeline = read_timeline_file(name, zone=wishes.zone, date=wishes.date)
    if not timeline.events:
        raise InputError(without_entries(name, timeline.remarks))
    return timeline


def _read_all(paths: Sequence[str | Path], wishes: Wishes) -> list[Read]:
    """Every file. Raises :class:`InputError` that names all that cannot be read."""
    read: list[Read] = []
    wrong: list[InputError] = []
    for path in paths:
        try:
            read.append(read_any(path, wishes))
        except InputError as problem:
            wrong.append(problem)
    if wrong:
        unsupported = any(isinstance(problem, UnsupportedError) for problem in wrong)
        accepted = ("Accepted:", *(f"- {kind}" for kind in ACCEPTED)) if unsupported else ()
        raise InputError("\n".join((*dict.fromkeys(map(str, wrong)), *accepted)))
    return read


def _read_cloud(name: str, subject: str | None, wishes: Wishes) -> Inventory:
    try:
        return read_cloud_file(name, subject=subject)
    except InputError as problem:
        if subject is None or is_cloud_file(name):
            raise
        try:
            series = read_metrics_file(name, zone=wishes.zone).series
        except InputError:
            raise problem from None
        title = series[0].title if series else "NAME"
        raise InputError(
            f"{name}: holds metrics ({len(series)} series), and --subject is for cloud settings: leave it out, and say of which "
            f"queue each series is with --series, as in --series {title!r}=SIGNAL:{subject}:UNIT"
        ) from None


def import_files(paths: Sequence[str | Path], text: str, target: str | Path, wishes: Wishes = _NOTHING) -> Imported:
    """Read files and fill the scenario ``text``, which is, or will be, the file ``target``.

    Nothing is written: the account holds the new text, and ``beside`` the CSV files for the scenario to name.
    Raises :class:`InputError` where a file is of no known kind, a metric or value names nothing, or the text is no YAML.
    """
    if wishes.zone is None:
        wishes = replace(wishes, zone=_zone_of(text, target))
    read = [_as_named(item, Path(target), wishes.dates) for item in _read_all(paths, wishes)]
    # What a person says stands first: the incident's times decide what metrics mean.
    given = _by_hand(wishes.values, YamlText(text, str(target)).data)
    said = fill(text, target, given, rejected=wishes.rejected)
    data = YamlText(said.text, str(target)).data or {}
    inventory = Inventory.joined(item.cloud for item in read if item.cloud is not None)
    from_platforms, seen_later = platform_proposals(inventory, data, _outage_of(data, wishes.zone))
    from_cloud = [*cloud_proposals(inventory, data), *from_platforms]
    assigned, remarks = _assigned(read, wishes, data, from_cloud, Path(target))
    from_metrics, missing, doubts = _metrics(assigned, with_files(data, Path(target)) if assigned else data, wishes)
    timeline = Timeline.joined(item.timeline for item in read if item.timeline is not None)
    remarks += [
        *_incident_remarks(data, bool(assigned), Path(target)),
        *cloud_conflicts(inventory),
        *inventory.remarks,
        *seen_later,
        *doubts,
    ]
    remarks += timeline.remarks
    remarks += [remark for item in read if item.metrics is not None for remark in item.metrics.remarks]
    proposals = [*given, *from_cloud, *from_metrics]
    beside: dict[Path, str] = {}
    if timeline.events:
        path = Path(target).with_name(f"{Path(target).stem}-timeline.csv")
        beside[path] = to_csv(timeline)
        proposals.append(Proposal(_place_of_timeline(data), path.name, None, note=f"{len(timeline.events)} events"))
    windows = [window for item in read if item.windows is not None for window in item.windows.windows]
    if windows:
        path = Path(target).with_name(f"{Path(target).stem}-impacts.csv")
        beside[path] = windows_csv(windows)
        proposals.append(Proposal(("incident", "impacts"), path.name, None, note=f"{len(windows)} windows"))
    remarks += [remark for item in read if item.windows is not None for remark in item.windows.remarks]
    with standing(beside):
        account = fill(text, target, proposals, (), remarks, wishes.rejected)
        lacking = cloud_missing(inventory, _with_given(YamlText(account.text, str(target)).data, given))
        account = replace(account, missing=(*lacking, *missing))
        edit = YamlText(account.text, str(target))
        _attach(edit, read, assigned, wishes, Path(target))
        problem = _problem(edit.text, target)
    account, beside = _wanted(account, beside)
    kinds = {_relative(item.path, Path(target)): item.kind for item in read}
    return Imported(replace(account, text=without_stand_in(edit.text)), kinds, beside, problem)


def import_again(loaded: LoadedScenario) -> Imported:
    """Read the exports and metrics that a scenario names once more: what they say against what stands there now.

    Raises :class:`InputError` where one of them cannot be read any more.
    """
    path = Path(loaded.tree.name)
    measured, _ = read_telemetry(loaded)
    scenario = loaded.scenario
    exports = {str(loaded.file(export.file)): export.subject for export in scenario.exports}
    files = [*exports, *(str(loaded.file(entry.file)) for entry in scenario.telemetry)]
    named: list[Export | Telemetry] = [*scenario.exports, *scenario.telemetry]
    dates = {}
    for item in named:
        stated = stated_date(loaded.file(item.file), item.exported_at, item.sha256)
        if stated is not None:
            dates[str(loaded.file(item.file))] = stated
    wishes = Wishes(
        subjects={file: subject for file, subject in exports.items() if subject is not None},
        dates=dates,
        series=tuple(
            f"{one.entry.file}:{one.series.title}={one.entry.signal}:{one.entry.queue or ''}:{one.entry.unit or ''}".rstrip(
                ":"
            )
            for one in measured
        ),
    )
    if not files:
        return Imported(Account("", ()), {})
    return import_files(list(dict.fromkeys(files)), path.read_text(encoding="utf-8-sig"), path, wishes)


def _incident_remarks(data: Any, has_metrics: bool, target: Path) -> list[Remark]:
    """What does not fit the incident: metrics of another event, a timeline that is still that of the reference event."""
    incident = data.get("incident") if isinstance(data, dict) else None
    if not isinstance(incident, dict):
        return []
    evidence = (data.get("evidence") or {}).get("incident.trigger")
    is_default = isinstance(evidence, dict) and evidence.get("basis") == "default"
    found = []
    if is_default and has_metrics:
        found.append(
            Remark(
                "ask",
                "the incident is still the reference event of October 2025: give your own times with --set incident.trigger=TIME "
                "--set incident.restored_at=TIME --set incident.name=NAME",
                target.name,
            )
        )
    for name in ("timeline", "impacts"):
        path = str(incident.get(name) or "")
        if path.startswith(FOLDER) and str(incident.get("trigger", ""))[:7] != "2025-10":
            found.append(
                Remark(
                    "doubt",
                    f"incident.{name} is that of the reference event of October 2025: give your own, or "
                    f"--set incident.{name}=none",
                    target.name,
                )
            )
    return found


def _as_named(read: Read, target: Path, dates: Mapping[str, dt.datetime]) -> Read:
    """What was read under the name that the scenario gives its file, with the date that is stated for it, if any."""
    name, at = _relative(read.path, target), dates.get(read.path)

    def of(origin: Origin) -> Origin:
        return replace(origin, file=name, exported_at=at or origin.exported_at)

    def said(remarks: Iterable[Remark]) -> tuple[Remark, ...]:
        return tuple(replace(remark, file=name if remark.file == read.path else remark.file) for remark in remarks)

    cloud, metrics, timeline, windows = read.cloud, read.metrics, read.timeline, read.windows
    if cloud is not None:
        # Where the content dates its tables, as that of two does, the file's date is of no use.
        at = at if len({item.origin.exported_at for item in cloud.observations}) == 1 else None
        seen = tuple(replace(item, origin=of(item.origin)) for item in cloud.observations)
        cloud = Inventory(seen, said(cloud.remarks))
    if metrics is not None:
        series = tuple(replace(item, origin=of(item.origin)) for item in metrics.series)
        metrics = MetricFile(series, said(metrics.remarks))
    if timeline is not None:
        timeline = replace(timeline, remarks=said(timeline.remarks))
    if windows is not None:
        windows = replace(windows, remarks=said(windows.remarks))
    return Read(read.path, cloud, metrics, timeline, windows)


def _place_of_timeline(data: Any) -> tuple[str, str]:
    """Where a timeline belongs: to the team's own account where the incident has one already, as a provider's is."""
    incident, account = (data.get(name) if isinstance(data, dict) else None for name in ("incident", "postmortem"))
    has_one = isinstance(incident, dict) and incident.get("timeline") is not None
    return ("postmortem", "timeline") if has_one and isinstance(account, dict) else ("incident", "timeline")


def _zone_of(text: str, target: str | Path) -> ZoneInfo | None:
    name = YamlText(text, str(target)).get(("time_zone",))
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, TypeError, OSError):
        return None


def _problem(text: str, target: str | Path) -> str:
    try:
        load_scenario_text(text, target)
    except InputError as problem:
        return str(problem)
    return ""


@contextmanager
def standing(files: Mapping[Path, str]) -> Iterator[None]:
    """Files that a scenario will name, for as long as it is read; those that stood there already are left alone."""
    made = [path for path in files if not path.exists()]
    try:
        for path in made:
            write_whole(path, files[path])
        yield
    finally:
        for path in made:
            path.unlink(missing_ok=True)


def _wanted(account: Account, beside: dict[Path, str]) -> tuple[Account, dict[Path, str]]:
    """Only the files that the scenario is to name; one that it names already is updated where its content is another."""
    kept: dict[Path, str] = {}
    outcomes = list(account.outcomes)
    for path, content in beside.items():
        place = next((at for at, item in enumerate(outcomes) if item.proposal.value == path.name), None)
        fate = None if place is None else outcomes[place].fate
        if place is not None and fate == "same" and not (path.is_file() and path.read_bytes() == content.encode()):
            outcomes[place] = replace(outcomes[place], fate="updated", reason="its entries are others")
            fate = "updated"
        if fate in ("new", "updated"):
            kept[path] = content
    return replace(account, outcomes=tuple(outcomes)), kept


def _path_of(name: str, data: Any) -> tuple[str, ...]:
    """The keys that a path as people write it goes by.

    A name may have dots in it, as a queue's may: one that the file has, else as short as leaves a field of its part behind it.
    """
    part, _, rest = name.partition(".")
    keys = rest.split(".")
    field = Scenario.model_fields.get(Scenario.keys().get(part, ""))
    if field is None or get_origin(field.annotation) not in (dict, Mapping):
        return tuple(name.split("."))
    known = data.get(part) if isinstance(data, dict) else None
    names = {str(item) for item in known} if isinstance(known, dict) else set()
    for end in sorted(range(1, len(keys)), key=lambda end: (".".join(keys[:end]) not in names, end)):
        path = (part, ".".join(keys[:end]), *keys[end:])
        if annotation_at(Scenario, path) is not None:
            return path
    return (part, ".".join(keys[:-1]), keys[-1]) if len(keys) > 2 else tuple(name.split("."))


def _by_hand(values: Mapping[str, Any], data: Any) -> list[Proposal]:
    """Values that a person gives in the command: written, and marked as guessed."""
    found = []
    for name, value in values.items():
        path = _path_of(name, data)
        # As its field takes it: version 1.40 is not 1.4, and a name may read as a number or a truth value.
        taken = settle(value, annotation_at(Scenario, path))
        found.append(Proposal(path, taken, "guessed", note="given by hand"))
    if "incident.trigger" in values and "incident.name" not in values:
        # A name of another event would stand at the top of every page.
        day = str(values["incident.trigger"])[:10]
        found.append(Proposal(("incident", "name"), f"incident of {day}", "default", source="the day of its trigger"))
    return found


def _with_given(data: Any, given: Iterable[Proposal]) -> Mapping[str, Any]:
    """The scenario with what a person gives, also where it is held back: nobody is asked for that again."""
    found: dict[str, Any] = copy.deepcopy(data or {})
    for item in given:
        here = found
        for key in item.path[:-1]:
            below = here.get(str(key))
            here = here.setdefault(str(key), {}) if isinstance(below, dict) or below is None else {}
        here.setdefault(str(item.path[-1]), item.value)
    return found


def _queues(data: Any, proposals: Iterable[Proposal]) -> dict[str, frozenset[str]]:
    """Every queue, of the file or offered, with the names by which a series may name it."""
    names: dict[str, set[str]] = {}
    items = data.get("queues") if isinstance(data, dict) else None
    for name, item in (items if isinstance(items, dict) else {}).items():
        names[str(name)] = {str(name)}
        resources = item.get("resources") if isinstance(item, dict) else None
        if isinstance(resources, dict):
            names[str(name)] |= {str(value).rsplit("/", 1)[-1] for value in resources.values()}
    for proposal in proposals:
        if proposal.path[0] == "queues" and len(proposal.path) > 2:
            names.setdefault(str(proposal.path[1]), {str(proposal.path[1])})
            if proposal.path[2] == "resources":
                names[str(proposal.path[1])].add(str(proposal.value).rsplit("/", 1)[-1])
    return {name: frozenset(found) for name, found in names.items()}


def _assigned(
    read: Sequence[Read], wishes: Wishes, data: Any, proposals: Iterable[Proposal], target: Path
) -> tuple[list[Assigned], list[Remark]]:
    files = [(_relative(item.path, target), item.metrics.series) for item in read if item.metrics is not None]
    given = [read_assignment(text) for text in wishes.series]
    if given and not files:
        raise InputError(f"--series {wishes.series[0]}: no file of metrics is given")
    queues = _queues(data, proposals)
    for name in wishes.values:
        path = _path_of(name, data)
        if path[0] == "queues" and len(path) >= 3:
            queues.setdefault(path[1], frozenset({path[1]}))
    for _, _, queue, _ in given:
        if queue:
            queues.setdefault(queue, frozenset({queue}))
    return assign(files, given, queues)


def _metrics(
    assigned: Sequence[Assigned], data: Any, wishes: Wishes
) -> tuple[list[Proposal], list[Missing], list[Remark]]:
    if not assigned:
        return [], [], []
    incident = data.get("incident") if isinstance(data, dict) else None
    times = [incident.get(name) if isinstance(incident, dict) else None for name in ("trigger", "restored_at")]
    try:
        trigger, restored_at = (read_instant(time, wishes.zone) for time in times)
    except UnitError as problem:
        raise InputError(
            f"metrics need the times of the incident: {problem}; give incident.trigger and incident.restored_at"
        ) from None
    return metric_proposals(assigned, trigger, restored_at, wishes.zone or ZoneInfo("UTC"))


def _outage_of(data: Any, zone: ZoneInfo | None) -> tuple[dt.datetime | None, dt.datetime | None]:
    """When the dependency failed and when it was back, each None where the scenario does not tell it."""
    incident = data.get("incident") if isinstance(data, dict) else None

    def at(name: str) -> dt.datetime | None:
        try:
            return read_instant(incident.get(name) if isinstance(incident, dict) else None, zone)
        except UnitError:
            return None

    return at("trigger"), at("restored_at")


def _relative(path: str, target: Path) -> str:
    """A file as the scenario names it: relative to the scenario's folder where that is possible."""
    try:
        return Path(os.path.relpath(Path(path).resolve(), target.resolve().parent)).as_posix()
    except ValueError:
        return str(Path(path).resolve())


def _attach(edit: YamlText, read: Sequence[Read], assigned: Sequence[Assigned], wishes: Wishes, target: Path) -> None:
    """Name the exports and the series in the scenario, each once; a newer export of the same file gets its date."""
    exports = edit.get(("exports",)) or []
    for item in read:
        if item.cloud is None:
            continue
        name = _relative(item.path, target)
        dates = [observation.origin.exported_at for observation in item.cloud.observations]
        entry: dict[str, Any] = {"file": name}
        if dates:
            entry["exported_at"] = max(dates).isoformat(timespec="seconds")
            entry["sha256"] = digest_of(item.path)
        subject = wishes.subjects.get(item.path) or wishes.subjects.get(Path(item.path).name)
        if subject is not None:
            entry["subject"] = subject
        place = next(
            (at for at, known in enumerate(exports) if isinstance(known, dict) and known.get("file") == name), None
        )
        if place is None:
            edit.append(("exports",), entry)
        else:
            for key, value in entry.items():
                if str(exports[place].get(key)) != str(value):
                    edit.set(("exports", place, key), value)
    single = {
        _relative(item.path, target) for item in read if item.metrics is not None and len(item.metrics.series) == 1
    }
    for series in assigned:
        if series.queue and edit.get(("queues", series.queue)) is None:
            continue
        entry = series.entry(only=series.file in single)
        known = edit.get(("telemetry",)) or []
        place = next(
            (at for at, old in enumerate(known) if isinstance(old, dict) and _is_same_series(old, entry)), None
        )
        entry["exported_at"] = series.series.origin.exported_at.isoformat(timespec="seconds")
        entry["sha256"] = digest_of(target.resolve().parent / series.file)
        if place is None:
            edit.append(("telemetry",), entry)
        elif known[place].get("sha256") != entry["sha256"]:
            for key in ("exported_at", "sha256"):
                edit.set(("telemetry", place, key), entry[key])


def _is_same_series(old: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    return all(old.get(key) == entry.get(key) for key in ("file", "series", "signal", "queue"))
