"""Open a scenario: read, override, validate, read the files that it names, and report every problem at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import ValidationError

from afterload import limits
from afterload.errors import AfterloadError, NotFoundError, OverrideError, ScenarioError, UnitError
from afterload.reads import note_read
from afterload.resources import BUILTIN, builtin_path
from afterload.scenario.attachments import (
    ArrivalSeries,
    Attachment,
    ImpactWindow,
    Reading,
    TimelineEvent,
    note_digest,
    read_course,
    read_impacts,
    read_offsets,
    read_series,
    read_timeline,
)
from afterload.scenario.concurrency import concurrency_problems
from afterload.scenario.fields import Inside, Section, label_in, section_in
from afterload.scenario.filling import filled, given_twice
from afterload.scenario.instants import out_of_order
from afterload.scenario.overrides import Overrides, apply_overrides, gather_overrides, locate
from afterload.scenario.problems import Problem, dotted, nearest, problems_of
from afterload.scenario.ranges import outdated, read_range
from afterload.scenario.readings import read_readings
from afterload.scenario.schema import Queue, Scenario
from afterload.yamltree import DataPath, WrittenFloat, WrittenInt, YamlTree, plain, read_file, read_text

__all__ = [
    "INSIDE",
    "LoadedScenario",
    "as_written",
    "load_scenario",
    "load_scenario_text",
    "load_scenario_tree",
    "locate_scenario",
    "with_files",
]

# Problems shown of one attached file; the rest is counted.
MOST_ROWS = 100

# A file that may still be missing: a log of readings begins with the first of them.
BEGUN_LATER: DataPath = ("live", "log")

# Parts of a scenario of which any one is enough to compute something.
COMPUTED = (
    "queues", "call_stacks", "clients", "fleets", "worker_pools", "dependencies", "control_loops", "plan_automation",
)  # fmt: skip

Reader = Callable[[Path, ZoneInfo | None], tuple[Attachment, list[Problem]]]

# Files inside the items of a part: part, section of the item, key of the file, how it is read.
INSIDE: tuple[tuple[str, str, str, Reader], ...] = (
    ("queues", "arrival_rate", "series", read_series),
    ("queues", "consumer_course", "series", read_course),
    ("queues", "stream", "offsets", read_offsets),
    ("dependencies", "direct_rate", "series", read_series),
    ("dependencies", "capacity_course", "series", read_course),
)


@dataclass(frozen=True)
class LoadedScenario:
    """A valid scenario with the files that it names, and the way back to the lines it came from.

    ``digest`` is the SHA-256 of the values after overrides and of every file read; ``own_timeline`` has the entries of
    ``postmortem.timeline``, ``readings`` the lines of ``live.log``, ``series`` arrivals by queue, ``direct`` direct traffic by
    dependency. ``outdated`` says by path why a range is left out: its value was changed since. ``files`` has the SHA-256 of each
    file as it was read, by the path that the scenario names it by, and that of the scenario itself, read from a file, by empty
    text; a log that is not there yet has empty text for its SHA-256. ``tree`` holds also what files and courses give.
    """

    scenario: Scenario
    name: str
    digest: str
    timeline: tuple[TimelineEvent, ...] = ()
    own_timeline: tuple[TimelineEvent, ...] = ()
    readings: tuple[Reading, ...] = ()
    impacts: tuple[ImpactWindow, ...] = ()
    series: Mapping[str, ArrivalSeries] = field(default_factory=dict)
    direct: Mapping[str, ArrivalSeries] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    outdated: Mapping[str, str] = field(default_factory=dict)
    overrides: Mapping[str, Any] = field(default_factory=dict)
    folder: Path = field(default_factory=Path, repr=False)
    tree: YamlTree = field(default_factory=lambda: YamlTree({}), repr=False)
    overridden: Mapping[DataPath, str] = field(default_factory=dict, repr=False)
    files: Mapping[str, str] = field(default_factory=dict, repr=False)

    def file(self, text: str) -> Path:
        """The file that a path written in the scenario names."""
        return _builtin(text, self.folder)

    def where(self, *path: str | int) -> str:
        """Where a value came from: ``orders.yaml line 14``, ``--set queues...``, or ``default``."""
        wanted = _written(path, self.tree.data)
        for prefix in sorted(self.overridden, key=len, reverse=True):
            if wanted[: len(prefix)] == prefix:
                return self.overridden[prefix]
        if wanted in self.tree.lines:
            return f"{self.name} line {self.tree.lines[wanted]}"
        for below, origin in self.overridden.items():
            if below[: len(wanted)] == wanted:
                return origin
        return "default"


def with_files(data: dict[str, Any], path: Path) -> dict[str, Any]:
    """Raw data of the scenario at ``path`` with what its files and courses give, as far as they can be read."""
    tree = YamlTree(data)
    read, _, _ = _attachments(tree, {}, path.resolve().parent, _zone(data.get("time_zone")))
    found: dict[str, Any] = filled(tree, read).data
    return found


def _written(path: DataPath, data: Any) -> DataPath:
    """The keys under which a value stands: retention may be written as retention_days."""
    kind: Any = Scenario
    keys: list[str | int] = []
    for part in path:
        if isinstance(kind, Inside):
            kind = kind.section
        elif isinstance(kind, type) and issubclass(kind, Section):
            name = kind.keys().get(str(part), "")
            quantity = kind.quantities().get(name)
            options = quantity.keys(name) if quantity and isinstance(data, dict) else {}
            part = next((key for key in options if key in data), part)
            kind = section_in(kind.model_fields[name].annotation) if name else None
        keys.append(part)
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            data = None
    return tuple(keys)


def locate_scenario(path: str | Path) -> Path:
    """The file that a path of a scenario names, whether or not it is there."""
    text = str(path)
    if text.startswith(BUILTIN):
        return _builtin(text, Path())
    try:
        return Path(text).expanduser()
    except RuntimeError as problem:
        raise NotFoundError(f"{text}: no such file: {problem}") from None


def _builtin(text: str, base: Path) -> Path:
    """The file that a path in a scenario names; whatever the system makes of it, :class:`NotFoundError` if none."""
    try:
        return builtin_path(text, base)
    except (OSError, RuntimeError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise NotFoundError(f"{text[:60]!r} cannot be a file: {reason}") from None


# Keys of a plan's JSON, which no scenario has.
PLAN_KEYS = frozenset({"input_sha256", "changes"})


def load_scenario(path: str | Path, overrides: Overrides = None) -> LoadedScenario:
    """Open the scenario at ``path`` (``builtin:scenarios/orders.yaml`` for a shipped one) with ``overrides`` set.

    Raises :class:`ScenarioError` with all problems of the scenario and of the files it names,
    :class:`OverrideError` for an override that names nothing, :class:`NotFoundError` where there is no file.
    """
    file = locate_scenario(path)
    tree, raw = read_file(file)
    loaded = _load(tree, file, Path(path).name, overrides)
    return replace(loaded, files={"": sha256(raw).hexdigest(), **loaded.files})


def load_scenario_text(text: str, path: str | Path, overrides: Overrides = None) -> LoadedScenario:
    """The scenario that ``text`` would be as the file ``path``; files that it names are looked for from there.

    Raises what :func:`load_scenario` raises.
    """
    return load_scenario_tree(read_text(text, str(Path(path))), path, overrides)


def load_scenario_tree(tree: YamlTree, path: str | Path, overrides: Overrides = None) -> LoadedScenario:
    """The same for a text that was read already. Raises what :func:`load_scenario` raises."""
    file = Path(path)
    return _load(replace(tree, name=str(file)), file, file.name, overrides)


def _load(tree: YamlTree, file: Path, name: str, overrides: Overrides) -> LoadedScenario:
    if not isinstance(tree.data, dict) or not tree.data:
        raise ScenarioError(f"{file}:1: is not a scenario: it needs keys such as team, incident and queues")
    if tree.data.keys() >= PLAN_KEYS:
        raise ScenarioError(
            f"{file}:1: is a change plan that Afterload wrote, not a scenario: give the scenario that it was made from "
            "(plan files are for afterload compare)"
        )
    wrong: list[str] = []
    data, overridden, changes = apply_overrides(tree.data, gather_overrides(overrides), Scenario, wrong)
    zone = _zone(data.get("time_zone"))
    given = YamlTree(data, tree.lines, str(file))
    read, files, problems = _attachments(given, overridden, file.resolve().parent, zone)
    changed = filled(given, read)
    problems += _refusals(given, overridden, given_twice(data))
    scenario: Scenario | None = None
    try:
        scenario = Scenario.model_validate(changed.data, context={"zone": zone})
    except ValidationError as error:
        problems += problems_of(error, changed, Scenario, overridden)
    problems += _cross_checks(changed, overridden)
    ranges, left_out, found = _ranges(changed, overridden, scenario)
    problems += found
    problems += _unread_queue(changed, overridden, _rows(read.get(("live", "log"))))
    if wrong:
        # Beside what names nothing, all else that is wrong with what was set.
        of_set = sorted({problem for problem in problems if problem.file in overridden.values()})
        raise OverrideError("\n".join([*wrong, *map(str, of_set)]))
    if problems or scenario is None:
        raise _error(file, problems)
    digest = sha256(json.dumps(as_written(data), sort_keys=True, default=str).encode())
    for key in sorted(read, key=dotted):
        digest.update(f"\n{dotted(key)} {read[key].digest}".encode())
    return LoadedScenario(
        scenario=scenario,
        name=name,
        digest=digest.hexdigest(),
        timeline=_rows(read.get(("incident", "timeline"))),
        own_timeline=_rows(read.get(("postmortem", "timeline"))),
        readings=_rows(read.get(("live", "log"))),
        impacts=_rows(read.get(("incident", "impacts"))),
        series=_series(read, "queues"),
        direct=_series(read, "dependencies"),
        ranges=ranges,
        outdated=left_out,
        overrides=changes,
        folder=file.resolve().parent,
        tree=changed,
        overridden=overridden,
        files=files,
    )


def as_written(value: Any) -> Any:
    """Copy data for the digest: version 1.40 is not 1.4, and 5 given as a number is 5 in a file."""
    if isinstance(value, dict):
        return {str(key): as_written(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_written(item) for item in value]
    if isinstance(value, WrittenInt | WrittenFloat) and value.text != str(plain(value)):
        return ["written", value.text]
    return plain(value)


def _series(read: Mapping[DataPath, Attachment], part: str) -> dict[str, ArrivalSeries]:
    return {
        str(key[1]): item.rows for key, item in read.items() if key[0] == part and isinstance(item.rows, ArrivalSeries)
    }


def _rows(attachment: Attachment | None) -> Any:
    return () if attachment is None else attachment.rows


def _error(file: Path, problems: list[Problem]) -> ScenarioError:
    problems = sorted(set(problems))
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return ScenarioError("\n".join([f"{file}: {count}", *(f"  {problem}" for problem in problems)]), tuple(problems))


def _zone(name: Any) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, TypeError, OSError):
        return None


class _Checker:
    """Place problems that need more than one field to see."""

    def __init__(self, tree: YamlTree, overridden: Mapping[DataPath, str]) -> None:
        self.tree = tree
        self.overridden = overridden
        self.problems: list[Problem] = []

    def refuse(self, path: DataPath, message: str, accepted: str = "") -> None:
        origin = next((o for prefix, o in self.overridden.items() if path[: len(prefix)] == prefix), None)
        place = (origin, 0) if origin else (self.tree.name, self.tree.line(path))
        self.problems.append(Problem(*place, dotted(path), message, accepted))

    def named(self, part: str) -> dict[str, dict[str, Any]]:
        """The items of one part of the raw data that are mappings, whatever else is wrong with them."""
        items = self.tree.data.get(part)
        if not isinstance(items, dict):
            return {}
        return {name: item for name, item in items.items() if isinstance(item, dict)}


def _refusals(
    tree: YamlTree, overridden: Mapping[DataPath, str], wrong: Iterable[tuple[DataPath, str, str]]
) -> list[Problem]:
    check = _Checker(tree, overridden)
    for problem in wrong:
        check.refuse(*problem)
    return check.problems


def _cross_checks(tree: YamlTree, overridden: Mapping[DataPath, str]) -> list[Problem]:
    check = _Checker(tree, overridden)
    for part in ("dependencies", "queues", "call_stacks", "clients", "fleets", "worker_pools"):
        items = tree.data.get(part)
        for name in items if isinstance(items, dict) else ():
            if str(name) != str(name).strip() and str(name).strip():
                check.refuse((part, name), f"the name {name!r} begins or ends with a space", repr(str(name).strip()))
    for path, wanted, part in _references(check):
        known = tree.data.get(part, {})
        names = [str(name) for name in known] if isinstance(known, dict) else []
        # Where that part is no mapping, that is said already, and every reference would be wrong.
        if wanted is not None and wanted not in names and isinstance(known, dict):
            near = nearest(wanted, names)
            words = part.replace("_", " ")
            check.refuse(
                path,
                f"{wanted!r} is not one of the {words}{f'; nearest: {near}' if near else ''}",
                f"one of {', '.join(names)}" if names else f"a name that stands under {part}",
            )
    if not any(tree.data.get(part) not in (None, {}, "none") for part in COMPUTED):
        check.refuse((), "holds nothing to compute", f"at least one of {', '.join(COMPUTED[:-1])} and {COMPUTED[-1]}")
    _client_owners(check)
    _client_modes(check)
    _service_ranges(check)
    _evidence_paths(check)
    for problem in out_of_order(tree.data):
        check.refuse(*problem)
    return check.problems


def _references(check: _Checker) -> Iterator[tuple[DataPath, str | None, str]]:
    """Every name of another part: where it stands, the name, and the part that it is of."""
    for part in ("queues", "call_stacks", "control_loops"):
        for name, item in check.named(part).items():
            yield (part, name, "dependency"), label_in(item.get("dependency")), "dependencies"
    for name, item in check.named("queues").items():
        yield ("queues", name, "fleet"), label_in(item.get("fleet")), "fleets"
        calls = item.get("calls")
        for place, call in enumerate(calls if isinstance(calls, list | tuple) else ()):
            inner = isinstance(call, dict)
            where: DataPath = ("queues", name, "calls", place, *(("dependency",) if inner else ()))
            yield where, label_in(call.get("dependency") if inner else call), "dependencies"
    for name, item in check.named("clients").items():
        for key, part in (("dependency", "dependencies"), ("queue", "queues"), ("call_stack", "call_stacks")):
            yield ("clients", name, key), label_in(item.get(key)), part
    live, telemetry = check.tree.data.get("live"), check.tree.data.get("telemetry")
    if isinstance(live, dict):
        yield ("live", "queue"), label_in(live.get("queue")), "queues"
    for place, entry in enumerate(telemetry if isinstance(telemetry, list) else ()):
        if isinstance(entry, dict):
            yield ("telemetry", place, "queue"), label_in(entry.get("queue")), "queues"


def _evidence_paths(check: _Checker) -> None:
    """Evidence speaks for a value of this file."""
    for path in check.named("evidence"):
        try:
            locate(check.tree.data, path, Scenario)
        except OverrideError as problem:
            words = str(problem).removeprefix(f"{path}: ")
            check.refuse(("evidence", path), f"is evidence for nothing: {words}", "the path of a value of this file")


def _unread_queue(tree: YamlTree, overridden: Mapping[DataPath, str], readings: tuple[Reading, ...]) -> list[Problem]:
    """A log that has readings, but none of the queue that the live chapter follows."""
    check, live = _Checker(tree, overridden), tree.data.get("live")
    wanted = label_in(live.get("queue")) if isinstance(live, dict) else None
    names = sorted({reading.queue for reading in readings or ()})
    if wanted is not None and names and wanted not in names:
        check.refuse(
            ("live", "log"), f"holds no reading of {wanted!r}", f"a log of that queue; it has {', '.join(names)}"
        )
    return check.problems


def _client_owners(check: _Checker) -> None:
    """A client is of one queue or of one call stack, and calls what that calls."""
    data = check.tree.data
    for name, item in check.named("clients").items():
        queue, stack, called = (label_in(item.get(key)) for key in ("queue", "call_stack", "dependency"))
        if queue is not None and stack is not None:
            check.refuse(("clients", name, "call_stack"), "stands beside queue", "one of the two")
        for part, owner in (("queues", queue), ("call_stacks", stack)):
            found = check.named(part).get(owner or "")
            if found is None or called is None or called not in (data.get("dependencies") or {}):
                continue
            calls = found.get("calls")
            names = [each.get("dependency") if isinstance(each, dict) else each for each in calls or ()]
            known = [label_in(each) for each in (found.get("dependency"), *names)]
            if called not in known:
                check.refuse(
                    ("clients", name, "dependency"),
                    f"{called!r} is not called by {owner}",
                    f"what {part}.{owner} calls",
                )


def _client_modes(check: _Checker) -> None:
    for name, item in check.named("clients").items():
        sdk, version, mode = label_in(item.get("sdk")), label_in(item.get("version")), item.get("mode", "default")
        if sdk is None or mode not in ("default", "legacy", "standard", "adaptive"):
            continue
        try:
            limits.check_sdk(sdk)
        except UnitError:
            continue
        try:
            preset = limits.client_preset(sdk, version, mode)
        except UnitError as problem:
            field = "version" if "is not a version" in problem.message else "mode"
            check.refuse(("clients", name, field), problem.message, problem.accepted)
            continue
        if item.get("retry_limit") not in (None, "none") and preset.quota is not None:
            check.refuse(
                ("clients", name, "retry_limit"),
                f"{sdk} in {preset.mode} mode holds its retries by a quota of its own",
                "a client of its own, with sdk: other, for what retries beside it",
            )


def _minutes_in(item: Mapping[str, Any], name: str) -> tuple[str, float] | None:
    """A duration of a queue in minutes with the key under which it stands; None where it is absent or wrong."""
    for key, factor in Queue.quantities()[name].keys(name).items():
        try:
            if item.get(key) is not None:
                return key, Queue.quantities()[name].read(item[key], factor)
        except UnitError:
            return None
    return None


def _service_ranges(check: _Checker) -> None:
    """Values that the service itself would refuse. Read one by one, so that no other mistake hides them."""
    for path, message, accepted in concurrency_problems(check.named("queues")):
        check.refuse(path, message, accepted)
    shortest, longest = (limits.value(f"lambda.async.max_age_s.{end}") / 60 for end in ("minimum", "maximum"))
    least, kept = 1.0, limits.value("sqs.retention_s.maximum") / 60
    for name, queue in check.named("queues").items():
        service = queue.get("service")
        age = _minutes_in(queue, "age_limit_min") if service == "lambda-async" else None
        if age is not None and age[1] > 0 and not shortest <= age[1] <= longest:
            check.refuse(
                ("queues", name, age[0]),
                f"{age[1]:g} min is out of range for an asynchronous invocation",
                f"{shortest:g} to {longest:g} min",
            )
        retention = _minutes_in(queue, "retention_min") if service == "sqs-lambda" else None
        if retention is not None and retention[1] > 0 and not least <= retention[1] <= kept:
            check.refuse(
                ("queues", name, retention[0]),
                f"{retention[1]:g} min is out of range for SQS",
                f"{least:g} to {kept:g} min",
            )


def _ranges(
    tree: YamlTree, overridden: Mapping[DataPath, str], scenario: Scenario | None
) -> tuple[dict[str, tuple[float, float, float]], dict[str, str], list[Problem]]:
    """Low, likely and high of every uncertain value, in the unit that its field holds, and why a range is left out."""
    check = _Checker(tree, overridden)
    found: dict[str, tuple[float, float, float]] = {}
    left_out: dict[str, str] = {}
    if scenario is None:
        return found, left_out, []
    # One that is given its range for this run too keeps it.
    ranged = {str(path[1]) for path in overridden if path[0] == "uncertain" and len(path) > 1}
    replaced = {dotted(path) for path in overridden}
    if replaced & {"incident.trigger", "incident.restored_at"}:
        replaced.add("incident.outage")
    replaced -= ranged
    for path in scenario.uncertain:
        if path in replaced:
            # Whoever sets a value for this run asks about that value: its range is of the other one.
            continue
        try:
            # One that is given for this run is meant for the value that stands there.
            if path not in ranged and (why := outdated(scenario, path)):
                left_out[path] = why
            else:
                found[path] = read_range(scenario, path)
        except UnitError as problem:
            check.refuse(("uncertain", path), problem.message, problem.accepted)
    return found, left_out, check.problems


def _attachments(
    tree: YamlTree, overridden: Mapping[DataPath, str], base: Path, zone: ZoneInfo | None
) -> tuple[dict[DataPath, Attachment], dict[str, str], list[Problem]]:
    check = _Checker(tree, overridden)
    incident, account, live = (
        part if isinstance(part := tree.data.get(name), dict) else {} for name in ("incident", "postmortem", "live")
    )
    wanted: list[tuple[DataPath, Any, Reader]] = [
        (("incident", "timeline"), incident.get("timeline"), read_timeline),
        (("incident", "impacts"), incident.get("impacts"), read_impacts),
        (("postmortem", "timeline"), account.get("timeline"), read_timeline),
        (("live", "log"), live.get("log"), read_readings),
    ]
    for part, section, key, reader in INSIDE:
        for name, item in check.named(part).items():
            if isinstance(holder := item.get(section), dict):
                wanted.append(((part, name, section, key), holder.get(key), reader))
    wanted.append((("compare_with",), tree.data.get("compare_with"), note_digest))
    for part in ("exports", "telemetry"):
        items = tree.data.get(part)
        for place, item in enumerate(items if isinstance(items, list) else ()):
            wanted.append(((part, place, "file"), item.get("file") if isinstance(item, dict) else None, note_digest))
    found: dict[DataPath, Attachment] = {}
    files: dict[str, str] = {}
    problems: list[Problem] = []
    for path, text, reader in wanted:
        if not isinstance(text, str) or not text.strip() or text == "none":
            continue
        try:
            file = _builtin(text, base)
            is_file = file.is_file()
        except (AfterloadError, OSError) as problem:
            reason = problem if isinstance(problem, AfterloadError) else f"{text[:60]!r}: {problem.strerror}"
            check.refuse(path, str(reason), "a path below the scenario's folder, or builtin:NAME")
            continue
        if not is_file and path == BEGUN_LATER and not file.exists():
            if file.parent.is_dir():
                note_read(file, "")
                found[path], files[text] = Attachment((), ""), ""
            else:
                words = f"{text!r} names no file ({file}), and there is no folder for one"
                check.refuse(path, words, "a file in a folder that is there; the first reading begins it")
            continue
        if not is_file:
            check.refuse(path, f"{text!r} names no file ({file})", "a path relative to the scenario file")
            continue
        found[path], bad = reader(file, zone)
        files[text] = found[path].digest
        problems += bad[:MOST_ROWS]
        if len(bad) > MOST_ROWS:
            words = f"and {len(bad) - MOST_ROWS:,} more problems in this file"
            problems.append(Problem(bad[0].file, bad[MOST_ROWS].line, "", words))
    return found, files, check.problems + problems
