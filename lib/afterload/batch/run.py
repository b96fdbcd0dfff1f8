"""Run a batch: what is still to be done, each team in a child process, and the index whatever became of them."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from afterload.batch.digest import (
    Basis,
    Checker,
    chapter_digests,
    library_digest,
    read_manifest,
    scenario_name,
    value_text,
)
from afterload.batch.inputs import Given, refuse_unknown_columns
from afterload.batch.jobs import CELL_TIMEOUT_S, TEAMS, Job, make_team, rescue_team
from afterload.batch.leftovers import clear, written_before
from afterload.batch.progress import JsonLog, Progress, first_line
from afterload.batch.results import State, TeamResult, packet_of, read_previous, write_index
from afterload.batch.teams_csv import TeamsTable
from afterload.errors import ClusterError, OutputError
from afterload.files import TEMPORARY
from afterload.resources import BUILTIN

if TYPE_CHECKING:
    from afterload.batch.cluster import Cluster
    from afterload.report.workers import Ended

__all__ = ["Done", "Plan", "run_batch", "usable_cores"]

_NOT_DONE = "not done: the batch was interrupted"


@dataclass(frozen=True)
class Plan:
    """What a batch was asked to do.

    Attributes:
        folder: where the site goes.
        chapters: the notebooks; those that a scenario has nothing for are left out where ``by_need``.
        objectives: limits by name; empty for each scenario's own.
        resume: leave alone what is whole and made of today's inputs.
        workers: children at a time.
        team_timeout_s: seconds for a team; None for no limit.
        memory_bytes: memory of a child; None for no limit.
        previous: an index.json to compare with; None for that of the last run into this folder.
        table: the table that the teams come from, over the scenario ``base``.
        scheduler: the address of a Dask scheduler, on whose workers the children run; empty for this machine.
        scheduler_timeout_s: seconds to wait for a worker there.
    """

    folder: Path
    chapters: tuple[Path, ...]
    by_need: bool = True
    cell_timeout_s: float = CELL_TIMEOUT_S
    objectives: Mapping[str, float] | None = None
    resume: bool = False
    workers: int = 1
    team_timeout_s: float | None = None
    memory_bytes: int | None = None
    previous: Path | None = None
    table: TeamsTable | None = None
    base: str = ""
    scheduler: str = ""
    scheduler_timeout_s: float = 60.0


@dataclass(frozen=True)
class Done:
    """What became of a batch: the teams in the order of their names, and what went wrong beside them.

    Attributes:
        signal: the number of the signal that interrupted it, or 0.
        index_written: False where the index was there already.
        index_error: why the index could not be written.
        cluster_error: why the cluster could not be used to the end.
    """

    results: tuple[TeamResult, ...]
    signal: int = 0
    index_written: bool = False
    index_error: OutputError | None = None
    cluster_error: ClusterError | None = None

    def count(self, state: State) -> int:
        """How many teams are ``made``, ``kept``, ``failed`` or ``cancelled``."""
        return Counter(item.state for item in self.results)[state]


def make_jobs(plan: Plan, given: Sequence[Given]) -> list[Job]:
    """A job for each team that has no problem yet."""
    library, digests = library_digest(), chapter_digests(plan.chapters)
    objectives = tuple(sorted((plan.objectives or {}).items()))
    jobs = []
    for item in given:
        if item.problem:
            continue
        folder = plan.folder / TEAMS / item.id
        # What is typed by hand is read as a value later: 5 is a number there, and "5" in YAML is a text.
        values = tuple(
            (each.path, f"{each.typed}{' european' * each.european} {value_text(each.value)}")
            for each in item.overrides
        )
        basis = Basis(library, digests, scenario_name(folder, item.scenario), values, objectives, plan.by_need)
        jobs.append(
            Job(
                item.id, item.team, item.scenario, folder, item.origin, item.overrides, plan.chapters, plan.by_need,
                plan.cell_timeout_s, objectives, basis,
            )
        )  # fmt: skip
    return jobs


def run_batch(plan: Plan, given: Sequence[Given], progress_quiet: bool, log: JsonLog) -> Done:
    """Make what must be made, and write the index; also after a signal, which stops the children first.

    A team's failure is no exception: see :attr:`Done.results`. Raises :class:`afterload.errors.InputError` where
    ``plan.previous`` is no index.
    """
    began = time.monotonic()
    # What it shall be compared with is looked at before anything is made.
    previous = None if plan.previous is None else read_previous(plan.previous)
    results: dict[str, TeamResult] = {}
    log.write("batch begins", teams=len(given), workers=plan.workers)
    for item in given:
        if item.problem:
            results[item.id] = _failed(plan, item, "input", item.problem)
    todo = []
    checker = Checker()
    jobs = make_jobs(plan, given)
    by_id = {item.id: item for item in given}
    manifests: list[dict[str, Any] | None] = [None] * len(jobs)
    if plan.resume:
        # Most of this is hashing of packets, at which threads run side by side.
        with ThreadPoolExecutor(plan.workers) as threads:
            manifests = list(threads.map(lambda job: checker.current(job.folder, job.basis), jobs))
    for job, manifest in zip(jobs, manifests, strict=True):
        if manifest is None:
            todo.append(job)
        else:
            results[job.id] = _result(plan, by_id[job.id], "kept", _told(manifest))
            log.write("kept", team=job.team, id=job.id)
    # Only what an earlier run wrote may be taken away, and its manifest is replaced with the files.
    before = {job.id: written_before(job.folder) for job in todo}
    if todo and plan.table is not None:
        refuse_unknown_columns(plan.base, plan.table)
    teller = _Teller(log, Progress(0, quiet=progress_quiet))
    cluster = _connected(plan, teller) if todo and plan.scheduler else None
    progress = Progress(len(todo) + sum(bool(item.problem) for item in given), quiet=progress_quiet)
    teller.progress = progress
    if plan.resume:
        kept = sum(item.state == "kept" for item in results.values())
        progress.say(f"{kept} of {len(given)} teams need nothing" if len(given) > kept else "nothing to do")
    for item in given:
        if item.problem:
            _tell(progress, log, results[item.id], None)
    fault: BaseException | None = None
    cluster_error: ClusterError | None = None
    with _interruptible() as stop:
        try:
            with closing(_ended(plan, todo, stop.event, cluster)) as endings:
                for ended in endings:
                    result = _of(plan, by_id[ended.task.id], ended)
                    _sweep(ended.task.folder)
                    results[result.id] = result
                    if result.state != "cancelled":
                        _tell(progress, log, result, ended.seconds)
                    if result.state == "made":
                        _clear(ended.task.folder, result, before[result.id], progress, log)
        except KeyboardInterrupt:
            stop.number = stop.number or int(signal.SIGINT)
        except ClusterError as problem:
            cluster_error = problem
        except Exception as problem:  # noqa: BLE001 - it is raised again, after the index tells what there is
            fault = problem
        progress.close()
        for item in given:
            if item.id not in results:
                _sweep(plan.folder / TEAMS / item.id)
                results[item.id] = _failed(plan, item, "cancelled", _NOT_DONE)
        ordered = tuple(results[name] for name in sorted(results))
        for each in ordered:
            if each.state == "cancelled":
                log.write("not done", team=each.team, id=each.id)
        written, index_error = False, None
        try:
            written = write_index(plan.folder, ordered, library_digest(), previous)
        except OutputError as problem:
            index_error = problem
        done = Done(ordered, stop.number, written, index_error, cluster_error)
    log.write(
        "batch ends", seconds=round(time.monotonic() - began, 3), made=done.count("made"), kept=done.count("kept"),
        failed=done.count("failed"), cancelled=done.count("cancelled"), signal=stop.number or None,
        problem=next((str(problem) for problem in (index_error, cluster_error) if problem is not None), None),
    )  # fmt: skip
    if fault is not None:
        raise fault
    return done


@dataclass
class _Teller:
    """Tells what happens beside the teams, to a person and to the log."""

    log: JsonLog
    progress: Progress

    def __call__(self, text: str) -> None:
        self.log.write("cluster", text=text)
        self.progress.note(text)


def _connected(plan: Plan, teller: _Teller) -> Cluster:
    from afterload.batch.cluster import connect

    return connect(plan.scheduler, teller, plan.scheduler_timeout_s)


def _ended(
    plan: Plan, todo: Sequence[Job], stop: threading.Event, cluster: Cluster | None
) -> Generator[Ended[Job, dict[str, Any]], None, None]:
    if not todo:
        return
    from afterload.report.launch import warm_for
    from afterload.report.workers import Limits, run_tasks

    limits = Limits(plan.memory_bytes, plan.team_timeout_s)
    if cluster is not None:
        with closing(cluster):
            yield from cluster.run(todo, limits, stop)
        return
    warm = warm_for(len(todo), plan.workers)
    yield from run_tasks(make_team, todo, workers=plan.workers, limits=limits, stop=stop, rescue=rescue_team, warm=warm)


def _of(plan: Plan, given: Given, ended: Ended[Job, dict[str, Any]]) -> TeamResult:
    if ended.problem is not None and ended.value is None:
        if ended.problem.kind == "cancelled":
            return _failed(plan, given, "cancelled", _NOT_DONE)
        return _failed(plan, given, ended.problem.kind, ended.problem.text)
    told: Mapping[str, Any] = ended.value or {}
    if "problem" in told and ended.problem is not None:
        return _failed(plan, given, ended.problem.kind, f"{ended.problem.text}; {told['problem']['text']}")
    if "problem" in told:
        return _failed(plan, given, told["problem"]["kind"], told["problem"]["text"])
    return _result(plan, given, "made", told)


def _told(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {name: manifest[name] for name in ("record", "failures", "warnings", "files")}


def _result(plan: Plan, given: Given, state: Any, told: Mapping[str, Any]) -> TeamResult:
    return TeamResult(given.id, given.team, scenario_name(plan.folder, given.scenario), state, told)


def _written(text: str) -> str:
    """Text that a file can hold: a file's name may have bytes that are none."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _failed(plan: Plan, given: Given, kind: str, text: str) -> TeamResult:
    folder = plan.folder / TEAMS / given.id
    manifest = read_manifest(folder)
    files = list(manifest["outputs"]) if manifest is not None else []
    earlier = packet_of(given.id, files) if files and (folder / Path(packet_of(given.id, files)).name).exists() else ""
    scenario = _written(scenario_name(plan.folder, given.scenario))
    state: Any = "cancelled" if kind == "cancelled" else "failed"
    seen = _written(_seen_from(text, str(Path.cwd()), ""))
    team, words = _written(given.team or given.origin), _written(_portable(plan, given, text))
    return TeamResult(given.id, team, scenario, state, {}, kind, words, earlier, seen)


def _portable(plan: Plan, given: Given, text: str) -> str:
    """A message that names files as seen from the site's folder, wherever that lies."""
    folders = {str(path): "" for path in (plan.folder.absolute(), plan.folder.resolve())}
    if not given.scenario.startswith(BUILTIN):
        for path in (Path(given.scenario).parent, Path(given.scenario).resolve().parent):
            name = scenario_name(plan.folder, str(path))
            folders.setdefault(str(path), "" if name == "." else f"{name}/")
    for folder, name in sorted(folders.items(), key=lambda item: -len(item[0])):
        text = _seen_from(text, folder, name)
    return text


def _seen_from(text: str, folder: str, name: str) -> str:
    """A message with another name for a folder, where a path begins with it: not where it stands in the middle of one."""
    if len(folder) < 2:
        return text
    return re.sub(rf"(?<![\w.~+@-]){re.escape(folder + os.sep)}", lambda _: name, text)


def _tell(progress: Progress, log: JsonLog, result: TeamResult, seconds: float | None) -> None:
    took = "" if seconds is None else f" in {seconds:.1f} s"
    failures = list(result.told.get("failures", ()))
    if result.state == "failed":
        words = f"FAILED{took} ({result.kind}): {first_line(result.seen)}"
    elif failures:
        words = f"made{took}, but {len(failures)} of its parts failed: {first_line(failures[0])}"
    else:
        words = f"made{took}" + (f"; BROKEN: {len(result.broken)} of its objectives" if result.broken else "")
    progress.ended(result.team, words, result.state == "failed" or bool(failures))
    problem = {"kind": result.kind, "text": result.seen} if result.state == "failed" else None
    log.write(
        result.state, team=result.team, id=result.id, seconds=None if seconds is None else round(seconds, 3),
        problem=problem, failures=failures or None, broken=result.broken or None,
    )  # fmt: skip


def _clear(folder: Path, result: TeamResult, before: Mapping[str, str], progress: Progress, log: JsonLog) -> None:
    """Take away what an earlier run left in a team's folder and this one gives no more, and tell what stays."""
    removed, stay = clear(folder, result.id, before, result.told["files"], result.whole)
    if removed:
        progress.note(f"{first_line(result.team)}: took away {', '.join(removed)}, which only an earlier run gives")
        log.write("removed", team=result.team, id=result.id, files=list(removed))
    if stay:
        from afterload.report.earlier import left_words

        progress.note(f"{first_line(result.team)}: {left_words([folder / name for name in stay])}")
        log.write("left", team=result.team, id=result.id, files=list(stay))


def _sweep(folder: Path) -> None:
    """Take away what a child that was killed left half-written, and a folder in which nothing is."""
    with suppress(OSError):
        for path in folder.glob(TEMPORARY):
            with suppress(OSError):
                path.unlink()
        folder.rmdir()


class _Stop:
    def __init__(self) -> None:
        self.event = threading.Event()
        self.number = 0

    def __call__(self, number: int, _: FrameType | None) -> None:
        if self.event.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.number = self.number or number
        self.event.set()


@contextmanager
def _interruptible() -> Iterator[_Stop]:
    """Let SIGINT and SIGTERM ask for an end instead of bringing it; a second Ctrl-C ends the waiting too."""
    stop = _Stop()
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for asked in (signal.SIGINT, signal.SIGTERM):
            before[int(asked)] = signal.signal(asked, stop)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def usable_cores(root: Path = Path("/sys/fs/cgroup")) -> int:
    """Cores that this process may use: by its affinity, and by the quota of its control group (version 2, then 1)."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    quota = _quota(root)
    return max(1, cores if quota is None else min(cores, int(quota)))


def _quota(root: Path) -> float | None:
    with suppress(OSError, ValueError, IndexError):
        given, period = (root / "cpu.max").read_text(encoding="ascii").split()[:2]
        return None if given == "max" else int(given) / int(period)
    with suppress(OSError, ValueError):
        microseconds = int((root / "cpu" / "cpu.cfs_quota_us").read_text(encoding="ascii"))
        period_us = int((root / "cpu" / "cpu.cfs_period_us").read_text(encoding="ascii"))
        return microseconds / period_us if microseconds > 0 and period_us > 0 else None
    return None
