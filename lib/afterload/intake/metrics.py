"""What metrics offer for a scenario: arrival rates and profiles, the throughput of a drain, and entries of its telemetry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath
from typing import Any, get_args
from zoneinfo import ZoneInfo

import numpy as np

from afterload.errors import InputError
from afterload.findings.drain import observe_drain, throughput
from afterload.findings.rates import Meaning, RateSeries, baseline_rate, hour_profile, resampled, to_rates
from afterload.intake.proposal import Missing, Proposal, rate_text
from afterload.model.baseline import Baseline
from afterload.readers.reading import Remark
from afterload.readers.series import MetricSeries
from afterload.scenario.evidence_schema import Telemetry
from afterload.scenario.problems import nearest

__all__ = ["SIGNALS", "Assigned", "assign", "metric_proposals", "read_assignment", "words_of"]

SIGNALS: tuple[str, ...] = get_args(Telemetry.model_fields["signal"].annotation)
# Names of metrics whose meaning their service documents, in the order of preference.
KNOWN: Mapping[str, tuple[str, str | None]] = {
    "numberofmessagessent": ("arrivals", "count"),
    "numberofmessagesdeleted": ("served", "count"),
    "approximateageofoldestmessage": ("first_attempt_age", "s"),
    "approximatenumberofmessagesvisible": ("backlog", "items"),
    "asynceventsreceived": ("arrivals", "count"),
    "asynceventage": ("first_attempt_age", "ms"),
    "iteratorage": ("first_attempt_age", "ms"),
    "incomingrecords": ("arrivals", "count"),
    "num_undelivered_messages": ("backlog", "items"),
    "oldest_unacked_message_age": ("first_attempt_age", "s"),
    "ack_message_count": ("served", "count"),
    "incomingmessages": ("arrivals", "count"),
    "completemessage": ("served", "count"),
    "activemessages": ("backlog", "items"),
}
# A profile says more than one rate where the hours of a day differ by more than this share of their mean.
UNEVEN_SHARE = 0.2
# The mean rate of an incident is as uncertain as means over such a window; single periods differ by chance.
WINDOW_S = 900.0
LEAST_WINDOWS = 6
# What rate() usually looks back over in Prometheus, its documentation's own examples among them.
LOOK_BACK_S = 300.0


@dataclass(frozen=True, eq=False)
class Assigned:
    """A series with what it measures, of which queue, and how its values are meant."""

    series: MetricSeries
    file: str
    signal: str
    queue: str = ""
    layer: str = ""
    unit: str | None = None

    def entry(self, only: bool) -> dict[str, Any]:
        """Its entry in the scenario's telemetry; ``only``: the file has no other series."""
        found = {
            "file": self.file, "series": None if only else self.series.title, "signal": self.signal,
            "queue": self.queue or None, "layer": self.layer or None, "unit": self.unit,
        }  # fmt: skip
        return {key: value for key, value in found.items() if value is not None}


def read_assignment(text: str) -> tuple[str, str, str, str | None]:
    """Read ``NAME=SIGNAL[:QUEUE[:UNIT]]``, as in ``sent=arrivals:orders:count``: name, signal, queue, unit.

    Raises :class:`InputError` that says what is accepted.
    """
    name, equals, rest = text.rpartition("=")
    signal, _, more = rest.partition(":")
    queue, _, unit = more.partition(":")
    units = get_args(get_args(Telemetry.model_fields["unit"].annotation)[0])
    if not equals or not name.strip():
        raise InputError(
            f"--series {text}: is not of the form NAME=SIGNAL[:QUEUE[:UNIT]], as in sent=arrivals:orders:count"
        )
    if signal not in SIGNALS:
        near = nearest(signal, SIGNALS)
        hint = f"; nearest: {near}" if near else ""
        raise InputError(f"--series {text}: {signal!r} is not a signal{hint}; known: {', '.join(SIGNALS)}")
    if unit and unit not in units:
        raise InputError(f"--series {text}: {unit!r} is not a unit; known: {', '.join(units)}")
    return name.strip(), signal, queue.strip(), unit or None


def assign(
    files: Sequence[tuple[str, Sequence[MetricSeries]]],
    given: Sequence[tuple[str, str, str, str | None]],
    queues: Mapping[str, frozenset[str]],
) -> tuple[list[Assigned], list[Remark]]:
    """Tell what each series measures: as the person said, else by a documented metric name.

    Parameters:
        files: each file's path as the scenario will name it, with its series; a series may be named by its file too, as in
            ``FILE:NAME``, or by the file alone where it holds no other.
        given: what :func:`read_assignment` gave.
        queues: every queue with the names (of itself and of its resources) by which series may name it.

    A series of a known name is given to the queue that its name or labels name, or to the only queue there is.
    Raises :class:`InputError` where an assignment names no series or no queue.
    """
    found: list[Assigned] = []
    remarks: list[Remark] = []
    used: set[int] = set()
    everything = [(file, item) for file, series in files for item in series]
    titles = _told_apart(files)
    for name, signal, queue, unit in given:
        matches = [(file, item) for file, item in everything if name in _own_names(item)] or [
            (file, series[0]) for file, series in files if len(series) == 1 and name in _file_names(file)
        ]
        matches = matches or [
            (file, item)
            for file, item in everything
            if name in {f"{of}:{own}" for of in _file_names(file) for own in _own_names(item)}
        ]
        if len(matches) != 1:
            near = nearest(name, titles)
            what = "names no series" if not matches else f"names {len(matches)} series"
            hint = f"; nearest: {near}" if near and not matches else ""
            raise InputError(f"--series {name}={signal}: {what}{hint}; known: {', '.join(titles[:12]) or 'none'}")
        if queue and queue not in queues:
            raise InputError(
                f"--series {name}={signal}:{queue}: there is no such queue; known: {', '.join(queues) or 'none'}"
            )
        file, item = matches[0]
        used.add(id(item))
        known = _known(item)
        if unit is None and known is not None and known[0] == signal and item.statistic in ("sum", "unknown"):
            # Its name tells the unit as it would without the assignment, which says of which queue it is.
            unit = known[1]
        layer = item.title if signal == "attempts" else ""
        found.append(Assigned(item, file, signal, queue, layer, unit))
    for title, (file, item) in zip(titles, everything, strict=True):
        if id(item) in used:
            continue
        known = _known(item)
        if known is None:
            remarks.append(
                Remark(
                    "ask",
                    f"{item.title}: what it measures is not told by its name: say --series {title!r}=SIGNAL:QUEUE:UNIT; "
                    "UNIT is count for items in a period, per_s or per_min for a rate",
                    file,
                )
            )
            continue
        queue = _queue_of(item, queues)
        if not queue and len(queues) == 1:
            queue = next(iter(queues))
        if not queue:
            remarks.append(
                Remark(
                    "ask",
                    f"{item.title}: of which queue it is, is not told: say --series {title!r}={known[0]}:QUEUE"
                    f"{':' + known[1] if known[1] else ''}",
                    file,
                )
            )
            continue
        found.append(Assigned(item, file, known[0], queue, unit=known[1]))
    return found, remarks


def _own_names(series: MetricSeries) -> set[str]:
    return {series.title, series.name, series.origin.place}


def _file_names(file: str) -> set[str]:
    return {file, PurePath(file).name, PurePath(file).stem}


def _told_apart(files: Sequence[tuple[str, Sequence[MetricSeries]]]) -> list[str]:
    """A name for each series that no other has: its title, else its file, with the title where that holds several."""
    count = Counter(item.title for _, series in files for item in series)
    return [
        item.title if count[item.title] == 1 else file if len(series) == 1 else f"{file}:{item.title}"
        for file, series in files
        for item in series
    ]


def _known(series: MetricSeries) -> tuple[str, str | None] | None:
    words = {series.name, *(value for _, value in series.labels)}
    for word in sorted(words):
        parts = word.replace("/", " ").split()
        hit = next((KNOWN[part.lower()] for part in parts if part.lower() in KNOWN), None)
        if hit is not None:
            return hit
    return None


def words_of(series: MetricSeries) -> frozenset[str]:
    """Values of the labels of a series and words of its name: what may be that of a queue."""
    return frozenset((*(value for _, value in series.labels), *series.name.split()))


def _queue_of(series: MetricSeries, queues: Mapping[str, frozenset[str]]) -> str:
    values = words_of(series)
    hits = [queue for queue, names in queues.items() if names & values]
    if not hits:
        hits = [queue for queue in queues if queue and queue in series.title]
    return hits[0] if len(hits) == 1 else ""


def metric_proposals(
    assigned: Sequence[Assigned], trigger: datetime, restored_at: datetime, zone: ZoneInfo
) -> tuple[list[Proposal], list[Missing], list[Remark]]:
    """Arrival and service rates of every queue that has series for them, with their ranges; and what is missing for them."""
    found: list[Proposal] = []
    missing: list[Missing] = []
    remarks: list[Remark] = []
    for queue in dict.fromkeys(item.queue for item in assigned if item.queue):
        mine = {item.signal: item for item in assigned if item.queue == queue}
        try:
            if "arrivals" in mine:
                found += _arrivals(queue, mine["arrivals"], trigger, zone)
            else:
                missing.append(_lacks(queue, "arrivals", "NumberOfMessagesSent"))
            if {"arrivals", "served", "backlog"} <= set(mine):
                found += _service(queue, mine, trigger, restored_at, zone)
            else:
                lacking = [name for name in ("served", "backlog") if name not in mine]
                names = {"served": "NumberOfMessagesDeleted", "backlog": "ApproximateNumberOfMessagesVisible"}
                missing += [_lacks(queue, name, names[name]) for name in lacking]
        except InputError as problem:
            remarks.append(Remark("refused", f"queues.{queue}: {problem}", next(iter(mine.values())).file))
    return found, missing, remarks


def _rates(item: Assigned) -> RateSeries:
    meanings: Mapping[str | None, Meaning] = {"count": "sum", "items": "sum", "per_s": "per_s", "per_min": "per_min"}
    meaning = meanings.get(item.unit)
    try:
        return to_rates(item.series, meaning)
    except InputError as problem:
        if meaning is not None or item.series.statistic == "sum":
            raise
        said = f"--series {item.series.title!r}={item.signal}:{item.queue}"
        raise InputError(f"{problem}: {said}:count, {said}:per_s or {said}:per_min") from None


def _arrivals(queue: str, item: Assigned, trigger: datetime, zone: ZoneInfo) -> Iterator[Proposal]:
    rates = _rates(item)
    seen = item.series.origin
    path = ("queues", queue, "arrival_rate")
    profile = hour_profile(rates, zone, trigger)
    known = [rate for rate in profile.per_min if rate is not None]
    if profile.is_whole and max(known) - min(known) > UNEVEN_SHARE * sum(known) / 24:
        hours = [float(f"{rate:.4g}") for rate in known]
        note = f"median over {min(profile.days)} to {max(profile.days)} days before the trigger, by hour in {zone.key}"
        yield Proposal.seen(path, {"hour_of_day_per_min": hours}, seen, note)
        return
    normal = baseline_rate(rates, trigger)
    yield Proposal.seen(path, rate_text(normal.median), seen, _baseline_note(normal))
    yield from _range(f"queues.{queue}.arrival_rate", rates, normal.median, normal.from_s, normal.until_s)


def _baseline_note(normal: Baseline) -> str:
    return f"median of {normal.points:,} periods before the trigger"


def _range(path: str, rates: RateSeries, likely: float, start_s: float, end_s: float) -> Iterator[Proposal]:
    """How far a mean rate is uncertain: by how much means of a quarter of an hour differ, not single periods."""
    means = resampled(rates, WINDOW_S).within(start_s, end_s)
    if len(means) < LEAST_WINDOWS:
        return
    low, high = (float(value) for value in np.quantile(means, (0.1, 0.9)))
    # It belongs to this value: where a person changes that, it no longer holds.
    ends = {"low": rate_text(min(low, likely)), "high": rate_text(max(high, likely)), "of": rate_text(likely)}
    if ends["low"] != ends["high"]:
        seen = rates.series.origin
        note = f"P10 and P90 of {len(means)} means of {WINDOW_S / 60:g} min"
        yield Proposal(("uncertain", path), ends, None, seen.file, seen.place, seen.exported_at, note=note)


def _service(
    queue: str, mine: Mapping[str, Assigned], trigger: datetime, restored_at: datetime, zone: ZoneInfo
) -> Iterator[Proposal]:
    arrivals, served = _rates(mine["arrivals"]), _rates(mine["served"])
    drain = observe_drain(arrivals, served, mine["backlog"].series, trigger, restored_at, zone=zone)
    seen = mine["served"].series.origin
    if drain.service is None:
        raise InputError("no whole period of served lies in the drain")
    over = (
        "while the backlog drained"
        if drain.drain_min is not None
        else "after the restore; the drain is not over in the data"
    )
    yield Proposal.seen(("queues", queue, "service_rate"), rate_text(drain.service.median), seen, f"median {over}")
    end = restored_at.timestamp() + 60 * (drain.drain_min or drain.backlog.seen_until_min)
    yield from _range(f"queues.{queue}.service_rate", served, drain.service.median, restored_at.timestamp(), end)
    margin = _margin(served, restored_at.timestamp() - trigger.timestamp())
    outage = throughput(served, trigger.timestamp() + margin, restored_at.timestamp() - margin)
    if outage is not None and outage.mean > 0.005 * drain.before.median:
        note = "mean from the trigger to the restore" + (
            f", but for {margin / 60:.3g} min at both ends" if margin else ""
        )
        yield Proposal.seen(("queues", queue, "served_in_outage"), rate_text(outage.mean), seen, note)


def _margin(rates: RateSeries, outage_s: float) -> float:
    """Seconds at both ends of an outage that are not counted for what was served in it; at most a quarter of it at each.

    A count of CloudWatch covers the period that begins at its time, so that nothing else can be in it. A point of Prometheus
    looks back over a window of its query, which the export does not tell, or is a sample of that moment: the first points
    still see what was before, and one at the restore may be what came after. A CSV does not say.
    """
    return 0.0 if rates.series.stamp == "start" else min(max(rates.period_s, LOOK_BACK_S), outage_s / 4)


def _lacks(queue: str, what: str, metric: str) -> Missing:
    return Missing(
        f"queue {queue}: {what} over the incident",
        "arrival and service rates are measured from it",
        f"aws cloudwatch get-metric-statistics --namespace AWS/SQS --metric-name {metric} --dimensions "
        f"Name=QueueName,Value={queue} --statistics {'Average' if what == 'backlog' else 'Sum'} --period 60 "
        "--start-time START --end-time END",
    )
