"""What runs in a Dask worker: one parcel at a time in each thread, in a fresh child with the limits of a local run.

The process that forks these children stays warm between jobs, one for each thread that works at the same time. It is started as
a program of its own, which is allowed in the daemonic process that a nanny watches, and goes when the worker goes.
"""

from __future__ import annotations

import os
import re
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from afterload import __version__
from afterload.batch.digest import library_digest
from afterload.batch.parcel import Parcel, collect, make_away, rescue_away, unpack
from afterload.report.launch import REHEARSED, Launcher, StartError, new_launcher
from afterload.report.workers import Ended, Limits, Problem, run_tasks

__all__ = ["Answer", "Identity", "identity", "run_parcel", "stop_batch"]

# A warm process that nobody has asked for anything is ended after so long.
IDLE_S = 60.0
# Batches whose end is remembered.
MOST_STOPS = 1000
_QUICK = 1
_PLAIN = re.compile(r"[\w/.+-]+", re.ASCII)


@dataclass(eq=False)
class _Warm:
    """A warm process: what it has loaded, and since when nobody has asked it for anything."""

    launcher: Launcher
    loaded: str
    since: float = 0.0


_lock = threading.Lock()
_idle: list[_Warm] = []
_watched = False
_stops: dict[str, threading.Event] = {}


@dataclass(frozen=True)
class Identity:
    """Which Afterload it is: its version, and the digest of its sources and of the packages that shape a packet."""

    version: str
    library: str


@dataclass(frozen=True)
class Answer:
    """What became of a parcel.

    Attributes:
        told: what :func:`afterload.batch.jobs.make_team` gave; None where its process gave nothing.
        problem: what happened to its process.
        seconds: how long it ran here.
        files: contents by name, compressed with zlib, in the order in which they are to be written.
        other: this worker, if it is another Afterload than the one that asks: then nothing was run.
    """

    told: dict[str, Any] | None
    problem: Problem | None
    seconds: float
    files: dict[str, bytes] = field(default_factory=dict)
    other: Identity | None = None


def identity() -> Identity:
    """This worker's Afterload."""
    return Identity(__version__, library_digest())


def run_parcel(parcel: Parcel, limits: Limits, batch: str, warm: str) -> tuple[str, Answer]:
    """Run one job of a batch in a child of this worker; give the worker's address and the answer.

    ``warm`` names what its warm process has loaded, as ``module:name``. Raises :class:`OSError` where the files cannot be
    laid out.
    """
    from distributed import get_worker

    worker = get_worker()
    own = identity()
    if own.library != parcel.job.basis.library:
        return worker.address, Answer(None, None, 0.0, other=own)
    stop = _Stop(_event(batch), worker)
    with _folder(worker.local_directory) as root:
        stay = unpack(parcel, root)
        # A launcher that was ended from outside is found out by its first use; the second is a new one.
        for last in (False, True):
            ended = _run(stay, limits, stop, warm)
            if last or ended.problem is None or ended.problem.kind != "start":
                break
        told, files = None, dict[str, bytes]()
        if ended.value is not None:
            told, files = collect(stay, ended.value)
        packed = {name: zlib.compress(content, _QUICK) for name, content in files.items()}
        return worker.address, Answer(told, _without(ended.problem, root), ended.seconds, packed)


def _run(stay: Any, limits: Limits, stop: _Stop, warm: str) -> Ended[Any, dict[str, Any]]:
    found = _take(warm)
    keep = False
    try:
        running = run_tasks(
            make_away, [stay], workers=1, limits=limits, stop=stop, rescue=rescue_away, launcher=found.launcher
        )
        with closing(running):
            ended = next(running, Ended(stay, None, Problem("cancelled", "it was stopped before it began"), 0.0))
        keep = not stop.is_set() and (ended.problem is None or ended.problem.kind != "start")
        return ended
    finally:
        _give(found, keep)


def _without(problem: Problem | None, root: str) -> Problem | None:
    if problem is None:
        return None
    kept = {name: value.replace(root, "") for name, value in vars(problem).items() if name != "kind"}
    return Problem(problem.kind, **kept)


class _Stop:
    """Set when the batch is stopped, or when this worker closes: then the job is run elsewhere."""

    def __init__(self, event: threading.Event, worker: Any) -> None:
        self.event, self.worker = event, worker

    def is_set(self) -> bool:
        return self.event.is_set() or self.worker.status.name in ("closing", "closed", "failed", "stopping")


def _event(batch: str) -> threading.Event:
    with _lock:
        while len(_stops) > MOST_STOPS:
            del _stops[next(iter(_stops))]
        return _stops.setdefault(batch, threading.Event())


def stop_batch(batch: str) -> None:
    """End what this worker runs of a batch, and refuse what is still to come of it."""
    _event(batch).set()


@contextmanager
def _folder(place: str) -> Iterator[str]:
    """An empty folder, in the worker's own place: whatever a worker that was killed leaves there, Dask sweeps away."""
    plain = os.path.realpath(place)
    # Its name is looked for in all that comes back, so it must look the same in HTML and JSON.
    within = plain if _PLAIN.fullmatch(plain) and os.path.isdir(plain) else None  # noqa: PTH112
    with tempfile.TemporaryDirectory(prefix="afterload-stay-", dir=within, ignore_cleanup_errors=True) as folder:
        yield os.path.realpath(folder)


# Warm processes


def _take(warm: str) -> _Warm:
    while True:
        with _lock:
            # One that has made a packet for practice serves for any number of them.
            fitting = [each for each in _idle if each.loaded in (warm, REHEARSED)]
            if fitting:
                _idle.remove(fitting[-1])
        if not fitting:
            return _Warm(_new(warm), warm)
        try:
            fitting[-1].launcher.update()
        except StartError:
            fitting[-1].launcher.close()
        else:
            return fitting[-1]


def _new(warm: str) -> Launcher:
    with _lock:
        # A nanny fixes the order of sets in its own way; a packet has the one of a local run.
        before = os.environ.pop("PYTHONHASHSEED", None)
        try:
            return new_launcher(warm)
        finally:
            if before is not None:
                os.environ["PYTHONHASHSEED"] = before


def _give(used: _Warm, keep: bool) -> None:
    global _watched
    if not keep:
        used.launcher.close()
        return
    with _lock:
        used.since = time.monotonic()
        _idle.append(used)
        first, _watched = not _watched, True
    if first:
        _watch()


def _watch() -> None:
    timer = threading.Timer(IDLE_S, _close_idle)
    timer.daemon = True
    timer.start()


def _close_idle() -> None:
    global _watched
    now = time.monotonic()
    with _lock:
        old = [each for each in _idle if now - each.since >= IDLE_S]
        _idle[:] = [each for each in _idle if each not in old]
        _watched = bool(_idle)
        left = _watched
    for each in old:
        with suppress(OSError):
            each.launcher.close()
    if left:
        _watch()
