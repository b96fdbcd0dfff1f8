"""Run a batch's jobs on a Dask cluster that somebody else has started: the same jobs, with the same bytes as their result.

Each thread of the cluster has one job at a time, so what a client, the scheduler and a worker hold at once is bounded, and a
worker that dies takes no job with it that it had not begun. Dask runs such a job again elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import secrets
import time
import zlib
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from afterload.batch.jobs import Job
from afterload.batch.parcel import Parcel, pack_team, with_newer_plan
from afterload.batch.remote import Answer, Identity, identity, run_parcel, stop_batch
from afterload.errors import ClusterError, OutputError
from afterload.files import write_all
from afterload.report.launch import WARM, new_launcher, warm_for
from afterload.report.workers import Ended, Limits, Problem, Stop, run_tasks

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = ["Cluster", "connect"]

# Without any worker for so long, a batch gives up.
TIMEOUT_S = 60.0
CONNECT_S = 5.0
# How long an answer of the scheduler may take, and how often it is asked for its workers.
ANSWER_S = 30.0
LOOK_S = 1.0
TICK_S = 0.2
# A job whose task is taken away by something else than its worker's end is sent again so often.
SENDS = 3
PACKERS = 2

Say = Callable[[str], None]
Result = Ended[Job, dict[str, Any]]


def connect(address: str, say: Say, timeout_s: float = TIMEOUT_S) -> Cluster:
    """A connection to a scheduler with at least one worker, all of them with this very Afterload.

    Raises :class:`ClusterError` where Dask is not installed, no scheduler answers, no worker comes within ``timeout_s``, or a
    worker has another Afterload, whose packets would have other bytes.
    """
    if os.name == "nt":
        raise ClusterError("--scheduler works from Linux and macOS: paths of Windows cannot be laid out on a worker")
    try:
        from distributed import Client
    except ImportError as problem:
        raise ClusterError(
            f"--scheduler needs Dask ({problem}): install the extra cluster, as in pip install 'afterload[cluster]'"
        ) from None
    _silence()
    try:
        # By itself, since a client that has found nobody takes its time to end.
        asyncio.run(asyncio.wait_for(_knock(address), 2 * CONNECT_S))
        client = Client(address, timeout=CONNECT_S, set_as_default=False, name="afterload-batch")
    except Exception as problem:  # noqa: BLE001 - an address of no form, a name that is not known, a refusal, silence
        raise ClusterError(
            f"--scheduler {address}: no scheduler can be reached: {_reason(problem)}; accepted: the address that dask scheduler "
            "prints, such as tcp://127.0.0.1:8786"
        ) from None
    cluster = Cluster(client, address, say, timeout_s)
    try:
        cluster.check()
    except BaseException:
        cluster.close()
        raise
    return cluster


async def _knock(address: str) -> None:
    from distributed.comm.core import connect as open_comm
    from distributed.security import Security

    comm = await open_comm(address, timeout=CONNECT_S, **Security().get_connection_args("client"))
    await comm.close()


def _reason(problem: BaseException) -> str:
    """What the system said first, in the end."""
    chain = [problem]
    while chain[-1].__cause__ is not None:
        chain.append(chain[-1].__cause__)
    said = [text for each in reversed(chain) if (text := getattr(each, "strerror", None))]
    if not said and isinstance(problem, TimeoutError):
        return "no answer that a scheduler would give"
    return said[0] if said else str(problem)


def _silence() -> None:
    """Dask tells a terminal of every lost connection; what matters of it is told here."""
    for name in [name for name in logging.root.manager.loggerDict if name.split(".")[0] in ("distributed", "tornado")]:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


@dataclass(eq=False)
class _Flight:
    """A parcel on its way."""

    parcel: Parcel
    began: float
    sends: int = 0
    alone: bool = False
    future: Future[Any] | None = None


class Cluster:
    """A cluster with one batch on it; see :func:`connect`."""

    def __init__(self, client: Client, address: str, say: Say, timeout_s: float) -> None:
        self.client, self.address, self.say, self.timeout_s = client, address, say, timeout_s
        self.batch = secrets.token_hex(8)
        self.threads: dict[str, int] = {}
        self.warm = WARM
        self._looked = -1e9
        self._empty_since: float | None = None
        self._ended: queue.SimpleQueue[_Flight] = queue.SimpleQueue()
        self._flying: set[_Flight] = set()
        self._again: deque[_Flight] = deque()
        self._suspects: deque[_Flight] = deque()

    # Before

    def check(self) -> None:
        """Wait for a worker, and compare each one's Afterload with this one. Raises :class:`ClusterError`."""
        self._look()
        while not self.threads:
            time.sleep(TICK_S)
            self._look()
        own = identity()
        try:
            found = self.client.run(identity, on_error="return")
        except Exception:  # noqa: BLE001 - a connection can break in many ways
            raise self._gone() from None
        for worker, theirs in sorted(found.items()):
            if isinstance(theirs, Identity) and theirs == own:
                continue
            if isinstance(theirs, Identity):
                raise _other(worker, theirs, own)
            raise ClusterError(
                f"worker {worker} cannot run Afterload ({type(theirs).__name__}: {theirs}); install version {own.version} there"
            )
        workers, threads = len(self.threads), sum(self.threads.values())
        self.say(f"cluster {self.address}: {_count(workers, 'worker')}, {_count(threads, 'thread')}")

    def _look(self) -> None:
        """Ask for the workers, now and then. Raises :class:`ClusterError` where none is there for too long."""
        now = time.monotonic()
        if now - self._looked < LOOK_S:
            return
        before = self.threads
        try:
            if self.client.status != "running":
                raise OSError
            self.threads = dict(self.client.nthreads(callback_timeout=ANSWER_S))
        except Exception:  # noqa: BLE001 - a connection can break in many ways
            raise self._gone() from None
        self._looked = time.monotonic()
        for worker in sorted(set(before) - set(self.threads)):
            self.say(f"worker {worker} has gone; what it was at is run again elsewhere")
        if self.threads:
            if self._empty_since is not None:
                self.say("a worker has come")
            self._empty_since = None
        elif self._empty_since is None:
            self._empty_since = now
            self.say(f"cluster {self.address} has no worker; waiting {self.timeout_s:g} s for one")
        elif now - self._empty_since > self.timeout_s:
            raise ClusterError(
                f"cluster {self.address} has had no worker for {self.timeout_s:g} s; start one with dask worker "
                f"{self.address}, or let the batch wait longer with --scheduler-timeout"
            )

    def _gone(self) -> ClusterError:
        return ClusterError(
            f"the scheduler {self.address} has gone, or does not answer; packets that were made stay: with a scheduler again, "
            "--resume makes the others"
        )

    # The batch

    def run(self, jobs: Sequence[Job], limits: Limits, stop: Stop) -> Generator[Result, None, None]:
        """Run every job and write its files here; results come as jobs end, those of no whole packet among them.

        Setting ``stop`` ends what runs on the cluster. Raises :class:`ClusterError` where the cluster goes, or a worker comes
        that has another Afterload; what has not ended by then has no result.
        """
        self.warm = warm_for(len(jobs), sum(self.threads.values()))
        launcher = new_launcher("afterload.batch.parcel:warm_up")
        packed = run_tasks(pack_team, jobs, workers=PACKERS, limits=limits, stop=stop, launcher=launcher)
        try:
            with closing(packed):
                yield from self._run(packed, limits, stop)
        finally:
            launcher.close()

    def _run(self, packed: Iterator[Ended[Job, Any]], limits: Limits, stop: Stop) -> Generator[Result, None, None]:
        more = True
        while not stop.is_set():
            self._look()
            while more and len(self._flying) + len(self._again) < sum(self.threads.values()) and not stop.is_set():
                ended = next(packed, None)
                if ended is None:
                    more = False
                elif isinstance(ended.value, Parcel):
                    self._again.append(_Flight(ended.value, time.monotonic() - ended.seconds))
                else:
                    yield ended
            while self._again:
                self._send(self._again.popleft(), limits)
            if not more and not self._flying:
                if not self._suspects:
                    return
                # One by one: whoever kills a worker now has done so alone.
                self._send(self._suspects.popleft(), limits)
            with suppress(queue.Empty):
                result = self._landed(self._ended.get(timeout=TICK_S))
                if result is not None:
                    yield result
        self._cancel()
        for flight in self._flying | set(self._suspects):
            yield self._result(flight, Problem("cancelled", "it was stopped before its end"))

    def _send(self, flight: _Flight, limits: Limits) -> None:
        flight.sends += 1
        key = f"afterload-{flight.parcel.job.id}-{self.batch}-{secrets.token_hex(4)}"
        try:
            future = self.client.submit(run_parcel, flight.parcel, limits, self.batch, self.warm, key=key, pure=False)
        except Exception:  # noqa: BLE001 - a connection can break in many ways
            raise self._gone() from None
        flight.future = future
        self._flying.add(flight)
        future.add_done_callback(lambda _: self._ended.put(flight))

    def _landed(self, flight: _Flight) -> Result | None:
        """The result of a job whose task has ended; None where it is sent again."""
        from distributed import KilledWorker

        self._flying.discard(flight)
        future, flight.future = flight.future, None
        assert future is not None
        status = future.status
        try:
            if status == "finished":
                worker, answer = future.result(timeout=ANSWER_S)
                return self._taken(flight, worker, answer)
            if status == "error":
                problem = future.exception(timeout=ANSWER_S)
                if not isinstance(problem, KilledWorker):
                    return self._result(
                        flight, Problem("error", f"on the cluster: {type(problem).__name__}: {problem}")
                    )
                return self._killed(flight, problem.allowed_failures + 1)
        except ClusterError:
            raise
        except Exception:  # noqa: BLE001 - its result was lost on the way: then it is made again
            pass
        finally:
            future.release()
        if self.client.status != "running":
            raise self._gone()
        return self._resent(flight, Problem("killed", f"its task on the cluster was taken away {SENDS} times"))

    def _resent(self, flight: _Flight, problem: Problem) -> Result | None:
        if flight.sends >= SENDS:
            return self._result(flight, problem)
        self._again.append(flight)
        return None

    def _killed(self, flight: _Flight, times: int) -> Result | None:
        """A job that lost its worker too often; it may have been another job that killed it."""
        if not flight.alone:
            flight.alone = True
            self._suspects.append(flight)
            self.say(f"{flight.parcel.job.team}: {times} workers have ended under it; it is tried once more by itself")
            return None
        text = f"the Dask worker that ran it ended, {2 * times} times in all, and the last {times} times with nothing beside it"
        return self._result(flight, Problem("killed", text))

    def _taken(self, flight: _Flight, worker: str, answer: Answer) -> Result | None:
        if answer.other is not None:
            raise _other(worker, answer.other, identity())
        if answer.problem is not None and answer.problem.kind == "cancelled":
            return self._resent(flight, Problem("killed", f"its worker was closed {SENDS} times"))
        told, job = answer.told, flight.parcel.job
        newer = with_newer_plan(flight.parcel) if answer.files else None
        if newer is not None:
            # Somebody has entered something meanwhile, and these files would replace it.
            flight.parcel = newer
            return self._resent(flight, Problem("error", f"its plan was changed while it was made, {SENDS} times"))
        try:
            write_all({job.folder / name: zlib.decompress(content) for name, content in answer.files.items()})
        except OutputError as problem:
            told = {"problem": {"kind": "output", "text": str(problem)}}
        return Ended(job, told, answer.problem, answer.seconds)

    def _result(self, flight: _Flight, problem: Problem) -> Result:
        return Ended(flight.parcel.job, None, problem, time.monotonic() - flight.began)

    # After

    def _cancel(self) -> None:
        with suppress(Exception):
            self.client.run(stop_batch, self.batch, on_error="ignore", callback_timeout=ANSWER_S)
        with suppress(Exception):
            futures = [flight.future for flight in self._flying if flight.future is not None]
            self.client.cancel(futures, reason="the batch was stopped")

    def close(self) -> None:
        """Take back what is still on the cluster, and hang up."""
        if self._flying and self.client.status == "running":
            self._cancel()
        with suppress(Exception):
            self.client.close(timeout=2)


def _other(worker: str, theirs: Identity, own: Identity) -> ClusterError:
    if theirs.version != own.version:
        what = f"has Afterload {theirs.version}, this is {own.version}"
    else:
        what = (
            f"has Afterload {theirs.version} too, but other sources, another Python or other versions of its packages"
        )
    return ClusterError(
        f"worker {worker} {what}: its packets would have other bytes; install the same there, or stop that worker"
    )


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
