"""Open a scenario: read, override, validate, read the files that it names, and report every problem at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import ValidationError

from afterload import limits
from afterload.errors import AfterloadError, ScenarioError, UnitError
from afterload.resources import BUILTIN, builtin_path
from afterload.scenario.attachments import (
    ArrivalSeries,
    Attachment,
    ImpactWindow,
    TimelineEvent,
    read_impacts,
    read_series,
    read_timeline,
)
from afterload.scenario.overrides import Overrides, apply_overrides, read_overrides
from afterload.scenario.problems import Problem, dotted, nearest, problems_of
from afterload.scenario.schema import Scenario
from afterload.yamltree import DataPath, YamlTree, plain, read_file

__all__ = ["LoadedScenario", "load_scenario"]

Reader = Callable[[Path, ZoneInfo | None], tuple[Attachment, list[Problem]]]


@dataclass(frozen=True)
class LoadedScenario:
    """A valid scenario with the files that it names, and the way back to the lines it came from.

    ``digest`` is the SHA-256 of the values after overrides and of every file read.
    """

    scenario: Scenario
    name: str
    digest: str
    timeline: tuple[TimelineEvent, ...] = ()
    impacts: tuple[ImpactWindow, ...] = ()
    series: Mapping[str, ArrivalSeries] = field(default_factory=dict)
    overrides: Mapping[str, Any] = field(default_factory=dict)
    tree: YamlTree = field(default_factory=lambda: YamlTree({}), repr=False)
    overridden: Mapping[DataPath, str] = field(default_factory=dict, repr=False)

    def where(self, *path: str | int) -> str:
        """Where a value came from: ``orders.yaml line 14``, ``--set queues...``, or ``default``."""
        wanted = tuple(path)
        for prefix, origin in self.overridden.items():
            if wanted[: len(prefix)] == prefix:
                return origin
        if wanted in self.tree.lines:
            return f"{self.name} line {self.tree.lines[wanted]}"
        return "default"


def _locate(path: str | Path) -> tuple[Path, str]:
    text = str(path)
    if text.startswith(BUILTIN):
        return builtin_path(text, Path()), text.rsplit("/", 1)[-1]
    return Path(text).expanduser(), Path(text).name


def load_scenario(path: str | Path, overrides: Overrides = None) -> LoadedScenario:
    """Open the scenario at ``path`` (``builtin:scenarios/orders.yaml`` for a shipped one) with ``overrides`` set.

    Raises :class:`ScenarioError` with all problems of the scenario and of the files it names,
    :class:`OverrideError` for an override that names nothing, :class:`NotFoundError` where there is no file.
    """
    file, name = _locate(path)
    tree, _ = read_file(file)
    if not isinstance(tree.data, dict) or not tree.data:
        raise ScenarioError(f"{file}:1: is not a scenario: it needs keys such as team, incident and queues")
    changes = read_overrides(overrides)
    data, overridden = apply_overrides(tree.data, changes, Scenario)
    changed = YamlTree(data, tree.lines, str(file))
    zone = _zone(data.get("time_zone"))
    problems: list[Problem] = []
    scenario: Scenario | None = None
    try:
        scenario = Scenario.model_validate(data, context={"zone": zone})
    except ValidationError as error:
        problems += problems_of(error, changed, Scenario, overridden)
    problems += _cross_checks(changed, overridden, scenario)
    read, found = _attachments(changed, overridden, file.resolve().parent, zone)
    problems += found
    if problems or scenario is None:
        raise _error(file, problems)
    digest = sha256(json.dumps(plain(data), sort_keys=True, default=str).encode())
    for key in sorted(read, key=dotted):
        digest.update(f"\n{dotted(key)} {read[key].digest}".encode())
    return LoadedScenario(
        scenario=scenario,
        name=name,
        digest=digest.hexdigest(),
        timeline=_rows(read.get(("incident", "timeline"))),
        impacts=_rows(read.get(("incident", "impacts"))),
        series={str(key[1]): item.rows for key, item in read.items() if isinstance(item.rows, ArrivalSeries)},
        overrides=changes,
        tree=changed,
        overridden=overridden,
    )


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


def _cross_checks(tree: YamlTree, overridden: Mapping[DataPath, str], scenario: Scenario | None) -> list[Problem]:
    check = _Checker(tree, overridden)
    known = tree.data.get("dependencies")
    names = [str(name) for name in known] if isinstance(known, dict) else []
    for part in ("queues", "call_stacks", "clients"):
        for name, item in check.named(part).items():
            wanted = item.get("dependency")
            if isinstance(wanted, str) and wanted != "none" and wanted not in names:
                near = nearest(wanted, names)
                check.refuse(
                    (part, name, "dependency"),
                    f"{wanted!r} is not one of the dependencies{f'; nearest: {near}' if near else ''}",
                    f"one of {', '.join(names)}" if names else "a name that stands under dependencies",
                )
    if not any(tree.data.get(part) for part in ("queues", "call_stacks", "clients", "fleets")):
        check.refuse((), "holds nothing to compute", "at least one of queues, call_stacks, clients and fleets")
    _client_modes(check)
    if scenario is not None:
        _service_ranges(check, scenario)
    return check.problems


def _client_modes(check: _Checker) -> None:
    for name, item in check.named("clients").items():
        sdk, version, mode = item.get("sdk"), item.get("version"), item.get("mode", "default")
        if not isinstance(sdk, str) or mode not in ("default", "legacy", "standard", "adaptive"):
            continue
        try:
            limits.check_sdk(sdk)
        except UnitError:
            continue
        try:
            limits.client_preset(sdk, None if version is None else str(getattr(version, "text", version)), mode)
        except UnitError as problem:
            field = "version" if "is not a version" in problem.message else "mode"
            check.refuse(("clients", name, field), problem.message, problem.accepted)


def _service_ranges(check: _Checker, scenario: Scenario) -> None:
    """Values that the service itself would refuse."""
    low, high = (
        limits.whole("lambda.sqs.max_concurrency.minimum"),
        limits.whole("lambda.sqs.max_concurrency.maximum"),
    )
    shortest, longest = (limits.value(f"lambda.async.max_age_s.{end}") / 60 for end in ("minimum", "maximum"))
    kept = limits.value("sqs.retention_s.maximum") / 60
    for name, queue in scenario.queues.items():
        cap, age = queue.drain_cap, queue.age_limit_min
        if queue.service == "sqs-lambda" and cap is not None and not low <= cap.concurrency <= high:
            check.refuse(
                ("queues", name, "drain_cap", "concurrency"),
                f"{cap.concurrency} is out of range for an SQS mapping",
                f"{low} to {high:,}",
            )
        if queue.service == "lambda-async" and age is not None and not shortest <= age <= longest:
            check.refuse(
                ("queues", name, "age_limit"),
                f"{age:g} min is out of range for an asynchronous invocation",
                f"{shortest:g} to {longest:g} min",
            )
        if queue.service == "sqs-lambda" and queue.retention_min is not None and not 1 <= queue.retention_min <= kept:
            check.refuse(
                ("queues", name, "retention"),
                f"{queue.retention_min:g} min is out of range for SQS",
                f"1 to {kept:g} min",
            )


def _attachments(
    tree: YamlTree, overridden: Mapping[DataPath, str], base: Path, zone: ZoneInfo | None
) -> tuple[dict[DataPath, Attachment], list[Problem]]:
    check = _Checker(tree, overridden)
    incident = tree.data.get("incident")
    incident = incident if isinstance(incident, dict) else {}
    wanted: list[tuple[DataPath, Any, Reader]] = [
        (("incident", "timeline"), incident.get("timeline"), read_timeline),
        (("incident", "impacts"), incident.get("impacts"), read_impacts),
    ]
    for name, queue in check.named("queues").items():
        rate = queue.get("arrival_rate")
        if isinstance(rate, dict):
            wanted.append((("queues", name, "arrival_rate", "series"), rate.get("series"), read_series))
    found: dict[DataPath, Attachment] = {}
    problems: list[Problem] = []
    for path, text, reader in wanted:
        if not isinstance(text, str) or not text.strip():
            continue
        try:
            file = builtin_path(text, base)
        except AfterloadError as problem:
            check.refuse(path, str(problem), "a path below the scenario's folder, or builtin:NAME")
            continue
        if not file.is_file():
            check.refuse(path, f"{text!r} names no file ({file})", "a path relative to the scenario file")
            continue
        found[path], bad = reader(file, zone)
        problems += bad
    return found, check.problems + problems
