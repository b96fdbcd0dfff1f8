"""The measured series that a scenario names, and what they show of its recovery: signals, drains, attempts, back-tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from afterload.errors import InputError
from afterload.findings.attempts import LayerAttempts, attempts_by_layer
from afterload.findings.backtest import BackTest, back_test, load_at_restore, predicts
from afterload.findings.drain import ObservedDrain, observe_drain
from afterload.findings.measured import MeasuredRecovery, Signal, measure_recovery
from afterload.findings.rates import Meaning, RateSeries, to_rates
from afterload.readers.metrics import read_metrics_file
from afterload.readers.reading import Remark
from afterload.readers.series import MetricFile, MetricSeries
from afterload.readers.source import stated_date
from afterload.scenario import LoadedScenario
from afterload.scenario.evidence_schema import Telemetry
from afterload.scenario.problems import nearest

__all__ = ["Measured", "MeasuredQueue", "measure", "read_telemetry"]

_SIGNALS: Mapping[str, Signal] = {
    "first_attempt_age": "first-attempt age",
    "errors": "error rate",
    "latency": "latency",
    "backlog": "backlog",
}
_MEANINGS: Mapping[str, Meaning] = {"count": "sum", "items": "sum", "per_s": "per_s", "per_min": "per_min"}


@dataclass(frozen=True, eq=False)
class Telemetered:
    """One entry of a scenario's telemetry with its series."""

    entry: Telemetry
    series: MetricSeries

    @property
    def rates(self) -> RateSeries:
        """The series as items a minute. Raises :class:`InputError` where neither file nor entry says what a value is."""
        return to_rates(self.series, _MEANINGS.get(self.entry.unit or ""))


@dataclass(frozen=True, eq=False)
class MeasuredQueue:
    """What the metrics show of one queue; ``why_not`` says what was missing for the rest."""

    name: str
    recovery: MeasuredRecovery | None = None
    drain: ObservedDrain | None = None
    test: BackTest | None = None
    why_not: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Measured:
    """All that a scenario's telemetry shows. The queue with an empty name holds signals that name no queue."""

    queues: tuple[MeasuredQueue, ...] = ()
    layers: tuple[LayerAttempts, ...] = ()
    why_not: tuple[str, ...] = ()
    remarks: tuple[Remark, ...] = field(default=())


def read_telemetry(loaded: LoadedScenario) -> tuple[tuple[Telemetered, ...], tuple[Remark, ...]]:
    """Every series that the scenario names, each file read once, and what the readers had to say.

    Raises :class:`InputError` that names the entry where a file is no metrics, or has no such series, or several.
    """
    files: dict[str, MetricFile] = {}
    found: list[Telemetered] = []
    for place, entry in enumerate(loaded.scenario.telemetry):
        where = f"{loaded.name}: telemetry.{place}"
        if entry.file not in files:
            try:
                files[entry.file] = read_metrics_file(loaded.file(entry.file), zone=loaded.scenario.time_zone)
            except InputError as problem:
                raise InputError(f"{where}.file: {problem}") from None
        series = _picked(files[entry.file], entry, where)
        stated = stated_date(loaded.file(entry.file), entry.exported_at, entry.sha256)
        # Named and dated as the scenario does, wherever the files are.
        origin = replace(series.origin, file=entry.file, exported_at=stated or series.origin.exported_at)
        found.append(Telemetered(entry, replace(series, origin=origin)))
    remarks = tuple(replace(remark, file=name) for name, file in files.items() for remark in file.remarks)
    return tuple(found), remarks


def _picked(file: MetricFile, entry: Telemetry, where: str) -> MetricSeries:
    known = [item.title for item in file.series]
    if entry.series is None:
        if len(file.series) == 1:
            return file.series[0]
        raise InputError(
            f"{where}: {entry.file} has {len(known)} series, so say which: series is one of {_listed(known)}"
        )
    found = [item for item in file.series if entry.series in (item.title, item.name)]
    if len(found) == 1:
        return found[0]
    if found:
        several = _listed([item.title for item in found])
        raise InputError(f"{where}.series: {entry.series!r} is the name of {len(found)} series: give one of {several}")
    near = nearest(entry.series, known)
    hint = f"; nearest: {near}" if near else ""
    raise InputError(f"{where}.series: {entry.series!r} is not in {entry.file}{hint}; it has {_listed(known)}")


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:8])}{', ...' if len(names) > 8 else ''}" or "none"


def measure(loaded: LoadedScenario) -> Measured:
    """What the telemetry of a scenario shows of the recovery from its incident.

    Raises :class:`InputError` like :func:`read_telemetry`. What cannot be measured for want of a series is said, not raised.
    """
    entries, remarks = read_telemetry(loaded)
    if not entries:
        return Measured(remarks=remarks)
    names = dict.fromkeys(item.entry.queue or "" for item in entries)
    queues = tuple(
        _queue(loaded, name, [item for item in entries if (item.entry.queue or "") == name]) for name in names
    )
    layers, why_not = _layers(loaded, entries)
    return Measured(queues, layers, why_not, remarks)


def _queue(loaded: LoadedScenario, name: str, entries: list[Telemetered]) -> MeasuredQueue:
    incident, zone = loaded.scenario.incident, loaded.scenario.time_zone
    why_not: list[str] = []
    by_signal = {item.entry.signal: item for item in entries}
    recovery = drain = test = None
    signals = {_SIGNALS[kind]: item.series for kind, item in by_signal.items() if kind in _SIGNALS}
    if signals:
        try:
            recovery = measure_recovery(signals, incident.trigger, incident.restored_at, zone)
        except InputError as problem:
            why_not.append(str(problem))
    needed = ("arrivals", "served", "backlog")
    missing = [kind for kind in needed if kind not in by_signal]
    if name and missing:
        why_not.append(f"the drain of {name} needs telemetry of {', '.join(missing)}")
    elif name:
        try:
            drain = observe_drain(
                by_signal["arrivals"].rates, by_signal["served"].rates, by_signal["backlog"].series,
                incident.trigger, incident.restored_at, zone=zone,
            )  # fmt: skip
            test = back_test(load_at_restore(loaded, name, drain), drain, predicts(loaded, name))
        except InputError as problem:
            why_not.append(str(problem))
    return MeasuredQueue(name, recovery, drain, test, tuple(why_not))


def _layers(
    loaded: LoadedScenario, entries: tuple[Telemetered, ...]
) -> tuple[tuple[LayerAttempts, ...], tuple[str, ...]]:
    tops = [item for item in entries if item.entry.signal == "requests"]
    below = [item for item in entries if item.entry.signal == "attempts"]
    if not tops and not below:
        return (), ()
    if len(tops) != 1 or not below:
        return (), (
            "attempts for each request need telemetry of requests, once, and of attempts of each layer, top first",
        )
    incident = loaded.scenario.incident
    try:
        layers = [("requests", tops[0].rates)]
        layers += [(item.entry.layer or item.series.title, item.rates) for item in below]
        return attempts_by_layer(layers, incident.trigger, incident.restored_at), ()
    except InputError as problem:
        return (), (str(problem),)
