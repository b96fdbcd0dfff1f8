"""Run tasks side by side, each in a fresh process, so that none can stop, spoil or see another.

On Linux and macOS the processes are forked from one warm parent (:mod:`afterload.report.forked`), which has loaded what every
task needs: a fork costs milliseconds where a start costs seconds. The parent is a process of its own with a single thread, so
whoever runs tasks may have threads, an event loop or a Dask worker around it. Elsewhere each task gets a new Python.
"""

from __future__ import annotations

import pickle
import selectors
import shutil
import signal
import socket
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, Generic, Literal, Protocol, TypeVar

from afterload.report import frames
from afterload.report.child import Call, reference
from afterload.report.launch import WARM, Launcher, Started, StartError, new_launcher

__all__ = ["START_ATTEMPTS", "Ended", "Launcher", "Limits", "Problem", "Stop", "new_launcher", "run_tasks"]

T = TypeVar("T")
R = TypeVar("R")

Kind = Literal["error", "killed", "memory", "time", "start", "cancelled"]
START_ATTEMPTS = 3
# Between SIGTERM and SIGKILL.
GRACE_S = 2.0
# How often memory, time and the wish to stop are looked at.
TICK_S = 0.1
# Of what a task prints, so much of each stream is kept, from its end.
SAID_CHARACTERS = 20_000


@dataclass(frozen=True)
class Limits:
    """What one task may take: ``memory_bytes`` with all processes that it starts, ``time_s`` in seconds of the clock.

    Memory is anonymous memory, including the part of about 0.2 GB that a worker shares with its warm parent. Allocations
    beyond it fail with a MemoryError; a task whose resident memory is over it, with what it has started, is killed.
    """

    memory_bytes: int | None = None
    time_s: float | None = None


@dataclass(frozen=True)
class Problem:
    """Why there is no value.

    ``error``: an exception in the task, by type and message. ``killed``: its process ended, by a signal or an exit, which
    ``detail`` says. ``memory`` and ``time``: over the limit; ``detail`` is "part" for a limit that the task itself had set.
    ``start``: no process could be started, after several attempts. ``cancelled``: it was stopped from outside.
    """

    kind: Kind
    text: str
    traceback: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Ended(Generic[T, R]):
    """What became of a task after so many ``seconds``; ``stdout`` and ``stderr`` are the end of what it printed.

    With a ``problem`` there is a ``value`` only where it could be rescued.
    """

    task: T
    value: R | None
    problem: Problem | None
    seconds: float
    stdout: str = ""
    stderr: str = ""


class Stop(Protocol):
    """A :class:`threading.Event`, or whatever can be asked like one."""

    def is_set(self) -> bool:
        """Whether to end now."""


# Called with the task, what it kept, and what happened, in a fresh process.
Rescue = Callable[[T, tuple[Any, ...], Problem], R]


def run_tasks(
    function: Callable[[T], R],
    tasks: Iterable[T],
    *,
    workers: int,
    limits: Limits | None = None,
    stop: Stop | None = None,
    rescue: Rescue[T, R] | None = None,
    launcher: Launcher | None = None,
    watch: Callable[[T, Any], None] | None = None,
    warm: str = WARM,
) -> Generator[Ended[T, R], None, None]:
    """Call ``function(task)`` for each task in a fresh process, at most ``workers`` at once; results come as they end.

    ``function`` stands at the top of a module; tasks and results can be pickled. Tasks are drawn when a worker is free, so
    any number costs the memory of the running ones. Only the start of a process is tried again. Closing the iterator ends
    all processes at once, with everything they have started; setting ``stop`` gives each the time between SIGTERM and SIGKILL,
    and its task ends as ``cancelled``.

    What a task has given to :func:`afterload.report.child.keep` goes to ``watch(task, record)`` as it comes. Where the task
    has failed or its process has ended, ``rescue(task, records, problem)`` makes a value of it in another process, under the
    same limits.

    A ``launcher`` that is given is used and left open; else there is one that first calls what ``warm`` names, as
    ``module:name``, and that is replaced when it dies. Raises :class:`TypeError` for a function that cannot be imported and
    :class:`ValueError` without a worker.
    """
    if workers < 1:
        raise ValueError(f"{workers} workers cannot run anything: at least 1 is needed")
    place, rescue_place = reference(function), reference(rescue) if rescue is not None else ""
    return _Pool(place, rescue_place, workers, limits or Limits(), stop, watch, launcher, warm).run(iter(tasks))


@dataclass(eq=False)
class _Job:
    """A task and its present worker."""

    task: Any
    began: float
    attempts: int = 0
    worker: Started | None = None
    sent: bool = False
    buffer: frames.Buffer = field(default_factory=frames.Buffer)
    kept: list[bytes] = field(default_factory=list)
    said: tuple[bytearray, bytearray] = field(default_factory=lambda: (bytearray(), bytearray()))
    answer: tuple[Any, ...] | None = None
    deadline: float | None = None
    limit: float | None = None
    ending: Problem | None = None
    kill_at: float | None = None
    rescuing: Problem | None = None


class _Pool:
    def __init__(
        self,
        place: str,
        rescue: str,
        workers: int,
        limits: Limits,
        stop: Stop | None,
        watch: Callable[[Any, Any], None] | None,
        launcher: Launcher | None,
        warm: str,
    ) -> None:
        self.warm = warm
        self.place, self.rescue, self.workers = place, rescue, workers
        self.limits, self.stop, self.watch = limits, stop, watch
        self.launcher = launcher
        self.own = launcher is None
        self.failed_starts = 0
        self.last_failure = ""
        self.waiting: deque[_Job] = deque()
        self.jobs: list[_Job] = []
        self.selector = selectors.DefaultSelector()

    def run(self, tasks: Iterator[Any]) -> Generator[Ended[Any, Any], None, None]:
        exhausted = False
        try:
            while True:
                stopped = self.stop is not None and self.stop.is_set()
                while not stopped and not exhausted and len(self.jobs) + len(self.waiting) < self.workers:
                    try:
                        self.waiting.append(_Job(next(tasks), monotonic()))
                    except StopIteration:
                        exhausted = True
                if stopped:
                    yield from self._cancel()
                while self.waiting:
                    ended = self._start(self.waiting.popleft())
                    if ended is not None:
                        yield ended
                if not self.jobs and not self.waiting and (exhausted or stopped):
                    return
                yield from self._step()
        finally:
            self._close()

    def _cancel(self) -> Iterator[Ended[Any, Any]]:
        problem = Problem("cancelled", "it was stopped before its end")
        while self.waiting:
            job = self.waiting.popleft()
            yield Ended(job.task, None, problem, monotonic() - job.began)
        for job in self.jobs:
            if job.ending is None:
                self._end(job, problem)

    # Starting

    def _start(self, job: _Job) -> Ended[Any, Any] | None:
        job.attempts += 1
        try:
            if self.launcher is None:
                if self.failed_starts >= START_ATTEMPTS:
                    raise StartError(self.last_failure)
                self.launcher = new_launcher(self.warm)
            if self.launcher.waitable() is not None:
                self._register(self.launcher.waitable(), None)
            worker = self.launcher.start()
        except StartError as problem:
            self._drop_launcher(str(problem))
            return self._again(job, str(problem))
        job.worker, job.sent, job.buffer, job.answer = worker, False, frames.Buffer(), None
        for stream in (worker.connection, *worker.streams):
            self._register(stream, job)
        self.jobs.append(job)
        return None

    def _again(self, job: _Job, text: str) -> Ended[Any, Any] | None:
        """Put a job whose worker has not started back into the line, or give it up."""
        if job.attempts < START_ATTEMPTS:
            self.waiting.append(job)
            return None
        problem = job.rescuing or Problem("start", f"{text}, in {START_ATTEMPTS} attempts")
        return Ended(job.task, None, problem, monotonic() - job.began)

    def _drop_launcher(self, reason: str) -> None:
        """A launcher of one's own that has ended makes room for another."""
        self.failed_starts += 1
        self.last_failure = reason
        if self.launcher is not None and self.own:
            waitable = self.launcher.waitable()
            if waitable is not None:
                self._unregister(waitable)
            self.launcher.close()
            self.launcher = None

    def _send(self, job: _Job) -> None:
        assert job.worker is not None
        assert self.launcher is not None
        job.sent = True
        folder = Path(self.launcher.folder) / str(job.worker.number)
        place, arguments = self.place, tuple[Any, ...]((job.task,))
        if job.rescuing is not None:
            records = tuple(pickle.loads(record) for record in job.kept)
            place, arguments = self.rescue, (job.task, records, job.rescuing)
        self.failed_starts = 0
        now = monotonic()
        job.limit = None if self.limits.time_s is None else now + self.limits.time_s
        try:
            folder.mkdir()
            call = Call(place, pickle.dumps(arguments), self.limits.memory_bytes, str(folder), str(Path.cwd()))
        except Exception as problem:  # noqa: BLE001 - a task that cannot be pickled, a full disk, a folder that has gone
            job.answer = "error", type(problem).__name__, str(problem), ""
            self._end(job, None, kill=True)
            return
        with suppress(OSError):
            frames.send(job.worker.connection, call)
        job.worker.connection.setblocking(False)

    # Waiting

    def _step(self) -> Iterator[Ended[Any, Any]]:
        events = self.selector.select(TICK_S) if self.selector.get_map() else []
        for key, _ in events:
            if key.data is not None and key.fileobj in self.selector.get_map():
                self._read(key.data, key.fileobj)  # type: ignore[arg-type]
        gone = ""
        if self.launcher is not None:
            try:
                self.launcher.update()
            except StartError as problem:
                gone = str(problem)
        now = monotonic()
        for job in list(self.jobs):
            worker = job.worker
            assert worker is not None
            if worker.ended:
                ended = self._finish(job, worker)
                if ended is not None:
                    yield ended
                continue
            if worker.process is not None and not job.sent:
                self._send(job)
            self._judge(job, now)
        if gone:
            self._drop_launcher(gone)

    def _read(self, job: _Job, source: socket.socket) -> None:
        assert job.worker is not None
        if source is not job.worker.connection:
            said = job.said[job.worker.streams.index(source)]
            if not _take(source, said):
                self._unregister(source)
            return
        if not job.sent:
            # Whoever shuts the door before the task is sent has not started.
            self._unregister(source)
            return
        alive = job.buffer.read(source)
        messages: list[tuple[Any, ...]] = []
        with suppress(Exception):
            # Damaged messages come from a task that wrote into a descriptor that is not its own; its end tells the rest.
            messages.extend(job.buffer.messages())
        for message in messages:
            self._take_message(job, *message)
        if not alive:
            self._unregister(source)

    def _take_message(self, job: _Job, kind: str, *details: Any) -> None:
        if kind == "kept":
            if job.rescuing is None:
                job.kept.append(details[0])
                if self.watch is not None:
                    self.watch(job.task, pickle.loads(details[0]))
        elif kind == "deadline":
            job.deadline = None if details[0] is None else monotonic() + details[0]
        else:
            job.answer = (kind, *details)
            job.deadline = None

    def _judge(self, job: _Job, now: float) -> None:
        if job.kill_at is not None:
            if now > job.kill_at:
                job.kill_at = now + GRACE_S
                self._signal(job, kill=True)
            return
        if job.answer is not None:
            # A moment for what it still prints; a task that does not go then is helped.
            job.kill_at = now + GRACE_S
        elif job.deadline is not None and now > job.deadline:
            self._end(
                job,
                Problem("time", "a part took longer than its limit and did not stop when asked", detail="part"),
                kill=True,
            )
        elif job.limit is not None and now > job.limit:
            self._end(job, Problem("time", f"it took longer than its limit of {self.limits.time_s:g} s"))
        elif self.limits.memory_bytes is not None and job.worker is not None and job.worker.process is not None:
            used = _resident(job.worker.process)
            if used > self.limits.memory_bytes:
                text = f"it used {used / 1e6:,.0f} MB, more than its limit of {self.limits.memory_bytes / 1e6:,.0f} MB"
                self._end(job, Problem("memory", text), kill=True)

    def _end(self, job: _Job, problem: Problem | None, kill: bool = False) -> None:
        job.ending = problem
        job.kill_at = monotonic() + GRACE_S
        self._signal(job, kill)

    def _signal(self, job: _Job, kill: bool) -> None:
        if self.launcher is not None and job.worker is not None:
            self.launcher.end(job.worker, kill)

    # Ending

    def _finish(self, job: _Job, worker: Started) -> Ended[Any, Any] | None:
        for source in (worker.connection, *worker.streams):
            # What it sent before its end counts.
            if source in self.selector.get_map():
                self._read(job, source)
            self._unregister(source)
            source.close()
        self.jobs.remove(job)
        self._clean(worker)
        if job.ending is None and (worker.failure or not job.sent):
            return self._again(job, worker.failure or "the worker ended before it began")
        problem = _problem_of(job, worker)
        lost = problem is not None and job.rescuing is None and problem.kind in ("error", "killed", "memory", "time")
        if lost and self.rescue:
            job.rescuing, job.attempts, job.ending, job.kill_at, job.deadline = problem, 0, None, None, None
            self.waiting.append(job)
            return None
        value = None
        if problem is None and job.answer is not None:
            value = pickle.loads(job.answer[1])
        stdout, stderr = (bytes(said).decode("utf-8", "replace") for said in job.said)
        return Ended(job.task, value, job.rescuing or problem, monotonic() - job.began, stdout, stderr)

    def _clean(self, worker: Started) -> None:
        if self.launcher is not None:
            shutil.rmtree(Path(self.launcher.folder) / str(worker.number), ignore_errors=True)

    def _register(self, source: socket.socket | None, job: _Job | None) -> None:
        if source is not None and source not in self.selector.get_map():
            self.selector.register(source, selectors.EVENT_READ, job)

    def _unregister(self, source: socket.socket) -> None:
        with suppress(KeyError, ValueError):
            self.selector.unregister(source)

    def _close(self) -> None:
        for job in self.jobs:
            self._signal(job, kill=True)
            if job.worker is not None:
                for source in (job.worker.connection, *job.worker.streams):
                    source.close()
        self.jobs.clear()
        self.selector.close()
        if self.launcher is not None and self.own:
            self.launcher.close()


def _problem_of(job: _Job, worker: Started) -> Problem | None:
    if job.answer is not None and job.ending is None:
        if job.answer[0] == "value":
            return None
        _, name, text, trace = job.answer
        return Problem("memory" if name == "MemoryError" else "error", f"{name}: {text}" if text else name, trace)
    if job.ending is not None:
        return job.ending
    end = _describe(worker.exit_code)
    return Problem("killed", f"its process ended before it had finished ({end})", detail=end)


def _describe(code: int | None) -> str:
    """How a process ended, in words that fit between brackets."""
    if code is None or code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"killed by {name}{', often for want of memory' if name == 'SIGKILL' else ''}"


def _take(source: socket.socket, said: bytearray) -> bool:
    """Read what is there; False once nobody can write any more."""
    try:
        data = source.recv(1 << 16)
    except (BlockingIOError, InterruptedError):
        return True
    except OSError:
        return False
    said += data
    if len(said) > SAID_CHARACTERS:
        del said[:-SAID_CHARACTERS]
    return bool(data)


def _resident(process: int) -> int:
    """Bytes of anonymous memory in RAM of a process and all below it, as Linux tells; 0 where that is not told."""
    total, left = 0, [process]
    while left:
        number = left.pop()
        with suppress(OSError, ValueError, IndexError):
            for line in Path(f"/proc/{number}/status").read_text("ascii", "replace").splitlines():
                if line.startswith("RssAnon:"):
                    total += 1024 * int(line.split()[1])
            for task in Path(f"/proc/{number}/task").iterdir():
                left += map(int, (task / "children").read_text("ascii").split())
    return total
