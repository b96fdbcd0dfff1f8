"""Readings of a recovery from exports of metrics: the backlog of one queue with what else was measured at the same times."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from zoneinfo import ZoneInfo

import numpy as np

from afterload.errors import InputError
from afterload.files import write_all
from afterload.findings.rates import Meaning, to_rates
from afterload.intake.metrics import Assigned, assign, read_assignment, words_of
from afterload.readers.metrics import read_metrics_file
from afterload.readers.reading import Remark
from afterload.readers.series import MetricSeries
from afterload.scenario import LoadedScenario, Reading

__all__ = ["metric_readings", "names_elsewhere", "names_of", "uploaded_readings"]

# More say little more, and a fit of them takes long.
MOST_READINGS = 120
_AGE_MIN = {"s": 1 / 60, "seconds": 1 / 60, "ms": 1 / 60_000, "milliseconds": 1 / 60_000, "min": 1.0, "minutes": 1.0}
_MEANINGS: dict[str, Meaning] = {"count": "sum", "items": "sum", "per_s": "per_s", "per_min": "per_min"}


def metric_readings(
    files: Sequence[str | Path],
    queue: str,
    *,
    zone: ZoneInfo | None = None,
    series: Sequence[str] = (),
    names: frozenset[str] = frozenset(),
    others: frozenset[str] = frozenset(),
    since: datetime | None = None,
) -> tuple[tuple[Reading, ...], tuple[Remark, ...]]:
    """Readings of one queue from files of metrics, at the times of its backlog, and what the readers had to say.

    Parameters:
        files: CloudWatch, Prometheus or CSV.
        queue: its name in the readings.
        zone: of times that state none.
        series: what a series measures, as ``NAME=SIGNAL[:QUEUE[:UNIT]]``.
        names: further names by which series may call the queue; ``others``: names of other queues, whose series are left out.
        since: only readings from then on, such as the restore; without it, from the highest backlog on.

    Of several series of one signal that is taken which a person names, else the one that names the queue. Where that does not
    decide, the backlog is asked for, and every other signal is left out with a remark.

    Raises:
        InputError: a file is no metrics, no series is the backlog, or several could be, or none of its points are late enough.
    """
    read = [(str(path), read_metrics_file(path, zone=zone)) for path in files]
    given = [read_assignment(text) for text in series]
    found, remarks = assign(
        [(path, file.series) for path, file in read], given, {queue: names | {queue}}
    )  # fmt: skip
    by_signal, several = _chosen(found, len(given), queue, names | {queue}, others - names - {queue})
    if "backlog" in several:
        titles = ", ".join(several["backlog"][:8])
        raise InputError(
            f"{', '.join(path for path, _ in read)}: {len(several['backlog']):,} series could be the backlog of {queue}: say "
            f"which with --series NAME=backlog:{queue}; there are {titles}"
        )
    remarks += [
        Remark(
            "ask", f"{', '.join(titles[:8])}: which is of {queue} is not told: say --series NAME={signal}:{queue}", file
        )
        for signal, titles in several.items()
        for file in [next(item.file for item in found if item.signal == signal)]
    ]
    if "backlog" not in by_signal:
        titles = ", ".join(item.title for _, file in read for item in file.series[:8])
        raise InputError(
            f"{', '.join(path for path, _ in read)}: no series is the backlog of {queue}: say which with "
            f"--series NAME=backlog:{queue}; there are {titles or 'none'}"
        )
    backlog = by_signal["backlog"].series
    if float(backlog.values.min()) < 0:
        raise InputError(f"{backlog.title} ({backlog.origin}): has a value below 0, so it is not a backlog")
    first = float(backlog.times[int(np.argmax(backlog.values))]) if since is None else since.timestamp()
    places = np.flatnonzero(backlog.times >= first)
    if not len(places):
        at = since.isoformat() if since is not None else "its highest value"
        raise InputError(f"{backlog.title} ({backlog.origin}): has no point from {at} on")
    if len(places) > MOST_READINGS:
        places = places[np.linspace(0, len(places) - 1, MOST_READINGS).round().astype(int)]
    age, came, gone = (by_signal.get(name) for name in ("first_attempt_age", "arrivals", "served"))
    readings = tuple(
        Reading(
            datetime.fromtimestamp(float(backlog.times[place]), UTC).replace(microsecond=0), queue,
            float(round(backlog.values[place])),
            age_min=_age(age, float(backlog.times[place])),
            arrival_per_min=_rate(came, float(backlog.times[place])),
            service_per_min=_rate(gone, float(backlog.times[place])),
        )
        for place in places
    )  # fmt: skip
    everything = (*(remark for _, file in read for remark in file.remarks), *remarks)
    return readings, everything


def _chosen(
    found: Sequence[Assigned], given: int, queue: str, names: frozenset[str], others: frozenset[str]
) -> tuple[dict[str, Assigned], dict[str, list[str]]]:
    """The series of each signal; and the titles of those of which none can be chosen, by signal.

    ``given``: how many of the first ones a person has named.
    """
    chosen: dict[str, Assigned] = {}
    several: dict[str, list[str]] = {}
    for signal in dict.fromkeys(item.signal for item in found):
        by_hand = [item for item in found[:given] if item.signal == signal]
        those = [
            item
            for item in found
            if item.signal == signal and (names & words_of(item.series) or not others & words_of(item.series))
        ]
        exact = [item for item in those if names & words_of(item.series)]
        near = [item for item in those if queue in item.series.title]
        best = next((group for group in (by_hand, exact, near) if group), those)
        if not best:
            continue
        if len(best) == 1 or best is by_hand:
            chosen[signal] = best[0]
        else:
            several[signal] = [item.series.title for item in best]
    return chosen, several


def uploaded_readings(
    files: Mapping[str, bytes],
    queue: str,
    *,
    zone: ZoneInfo | None = None,
    series: Sequence[str] = (),
    names: frozenset[str] = frozenset(),
    others: frozenset[str] = frozenset(),
    since: datetime | None = None,
) -> tuple[tuple[Reading, ...], tuple[Remark, ...]]:
    """The same of files that are known by name and content alone, as a browser gives them; they are not kept.

    Raises :class:`InputError` like :func:`metric_readings`, and :class:`OutputError` where there is no room to read them in.
    """
    with TemporaryDirectory(prefix="afterload-") as folder:
        paths = [Path(folder, Path(name.replace("\\", "/")).name or "metrics") for name in files]
        write_all(dict(zip(paths, files.values(), strict=True)))

        def plain(text: str) -> str:
            return text.replace(f"{folder}{os.sep}", "")

        try:
            readings, remarks = metric_readings(
                paths, queue, zone=zone, series=series, names=names, others=others, since=since
            )
        except InputError as problem:
            raise InputError(plain(str(problem))) from None
    return readings, tuple(replace(remark, file=plain(remark.file), text=plain(remark.text)) for remark in remarks)


def names_of(loaded: LoadedScenario | None, queue: str) -> frozenset[str]:
    """Further names by which metrics may call a queue of a scenario: those of its resources."""
    if loaded is None:
        return frozenset()
    resources = loaded.scenario.queues[queue].resources
    url = resources.queue_url
    return frozenset(name for name in (resources.function, url, url.rsplit("/", 1)[-1] if url else None) if name)


def names_elsewhere(loaded: LoadedScenario | None, queue: str) -> frozenset[str]:
    """Names by which metrics may call the other queues of a scenario."""
    if loaded is None:
        return frozenset()
    return frozenset().union(*({name} | names_of(loaded, name) for name in loaded.scenario.queues if name != queue))


def _near(series: MetricSeries, at_s: float) -> int | None:
    """The place of the last point that is not more than one and a half periods old."""
    place = int(np.searchsorted(series.times, at_s, side="right")) - 1
    if place < 0 or at_s - float(series.times[place]) > 1.5 * (series.period_s or 60.0):
        return None
    return place


def _age(item: Assigned | None, at_s: float) -> float | None:
    if item is None:
        return None
    place = _near(item.series, at_s)
    factor = _AGE_MIN.get((item.unit or item.series.unit or "s").lower())
    if factor is None:
        raise InputError(f"{item.series.title}: its unit {item.series.unit} is not one of an age: say s, ms or min")
    return None if place is None else max(0.0, float(item.series.values[place])) * factor


def _rate(item: Assigned | None, at_s: float) -> float | None:
    """The mean rate over the last quarter of an hour up to a moment."""
    if item is None:
        return None
    rates = to_rates(item.series, _MEANINGS.get(item.unit or ""))
    seen = rates.within(at_s - 900.0, at_s)
    return float(seen.mean()) if len(seen) else None
