"""One team's packet: the chapters run and exported, and the plan beside them, written whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from afterload.errors import AfterloadError, ChapterError, InputError
from afterload.files import slug, write_all
from afterload.reads import is_open_already
from afterload.report.chosen import chapter_paths, check_folder
from afterload.report.earlier import left_behind, left_words
from afterload.report.engine import ENGINE_NAME, IN_PROCESS_NAME
from afterload.report.lost import Lost
from afterload.report.nodes import read_notebook
from afterload.report.run import CELL_TIMEOUT_S
from afterload.report.workers import Problem, run_tasks
from afterload.scenario import LoadedScenario

if TYPE_CHECKING:
    from afterload.estimates import Estimates
    from afterload.plan import Plan
    from afterload.recovery.result import CoupledEstimate

# What a packet is made of is imported where it is made: often that is in another process.

__all__ = [
    "Built",
    "Packet",
    "PacketJob",
    "Told",
    "build_packet",
    "chapter_paths",
    "check_folder",
    "make_packet",
    "relevant",
    "slug",
    "write_packet",
]


Told = Callable[["Estimates", "Plan", "CoupledEstimate | None"], None]
# How many cells have run, and of how many.
Seen = Callable[[int, int], None]


@dataclass(frozen=True)
class PacketJob:
    """What a packet is made from; it can be sent to another process.

    ``scenario_path`` is where a chapter finds the scenario, ``folder`` where the packet will stand, ``cell_timeout_s`` the limit
    of a cell in seconds. Without ``chapters`` those are taken that the scenario has something for.
    """

    loaded: LoadedScenario
    scenario_path: str
    folder: str
    chapters: tuple[str, ...] = ()
    cell_timeout_s: float | None = CELL_TIMEOUT_S


@dataclass(frozen=True)
class Built:
    """A packet in memory: its files, the page first; what failed, what was warned of, the answer in lines, the files' name."""

    contents: dict[Path, str]
    failures: tuple[str, ...]
    warnings: tuple[str, ...]
    summary: tuple[str, ...]
    name: str


@dataclass(frozen=True)
class Packet:
    """What was written: the packet's path first, all files; what failed, what was warned of, the answer in lines."""

    html: Path
    files: tuple[Path, ...]
    failures: tuple[str, ...]
    warnings: tuple[str, ...]
    summary: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise :class:`ChapterError` if a part failed; the packet of the others stays where it is."""
        if self.failures:
            count = "1 part" if len(self.failures) == 1 else f"{len(self.failures)} parts"
            lines = "\n".join(f"  {failure}" for failure in self.failures)
            raise ChapterError(f"{count} of the packet failed; the rest is in {self.html}\n{lines}")


def relevant(paths: Sequence[Path], loaded: LoadedScenario) -> tuple[Path, ...]:
    """The chapters that a scenario has something for: one may say in its metadata which field, or one of which, it needs."""

    def has_input(path: Path) -> bool:
        needs = read_notebook(path).metadata.get("afterload", {}).get("needs")
        fields = [needs] if isinstance(needs, str) else needs
        return fields is None or any(getattr(loaded.scenario, field, None) for field in fields)

    return tuple(path for path in paths if has_input(path))


def make_packet(
    loaded: LoadedScenario,
    scenario_path: str,
    folder: str | Path,
    chapters: Sequence[Path] = (),
    progress: bool = False,
    cell_timeout_s: float | None = CELL_TIMEOUT_S,
    kernel: bool = False,
    seen: Seen | None = None,
) -> Packet:
    """Run a team's chapters in a process of their own and write the packet and the plan's files into ``folder``.

    A scenario with a postmortem gets that as Markdown too. A failing chapter or plan does not stop the rest: see
    :attr:`Packet.failures`. ``kernel`` asks for a Jupyter kernel in place of the process; ``seen`` is told with each cell how
    far that process is.

    Raises :class:`InputError` for a scenario that only this process can read, such as /dev/stdin. Raises
    :class:`OutputError` where a file cannot be written; then no old file has been replaced by half a new one. Raises
    :class:`ChapterError` where kernel or process cannot be started, or end in a way that leaves nothing to show.
    """
    if is_open_already(scenario_path):
        raise InputError(
            f"{scenario_path}: is read once, and every chapter of a packet reads the scenario: save it as a file first"
        )
    job = PacketJob(loaded, scenario_path, str(folder), tuple(map(str, chapters)), cell_timeout_s)
    if kernel:
        return write_packet(build_packet(job, ENGINE_NAME, progress=progress))
    with closing(_Bar()) as bar:
        return write_packet(_build_apart(job, seen or (bar.show if progress else None)))


def build_packet(
    job: PacketJob,
    engine: str = IN_PROCESS_NAME,
    lost: Lost | None = None,
    progress: bool = False,
    told: Told | None = None,
) -> Built:
    """Run a team's chapters and give the packet's files as texts; nothing is written.

    The default ``engine`` runs them in this process, which should be a worker's: see
    :func:`afterload.report.workers.run_tasks`, whose ``rescue`` is :func:`rescue_packet` and gives ``lost``. ``told`` is
    called with the results of which the plan's files are made, if they could be computed. Raises what
    :func:`afterload.report.run.run_packet` raises.
    """
    from afterload.report.build import build

    return build(job, engine, lost, progress, told)


def rescue_packet(job: PacketJob, records: tuple[Any, ...], problem: Problem) -> Built:
    """The packet of a process that has ended: what it had finished, the error of the cell that ended it, and no more."""
    return build_packet(job, lost=Lost.of(records, problem.kind, problem.detail or problem.text, job.cell_timeout_s))


def write_packet(built: Built) -> Packet:
    """Write a packet, all files or none. Raises :class:`OutputError`.

    What an earlier run left beside it is among the warnings: nothing tells whether people have edited it, so it stays.
    """
    write_all(built.contents)
    files, warnings = tuple(built.contents), built.warnings
    folder = files[0].parent
    left = left_behind(folder, built.name, (path.name for path in files))
    if left:
        warnings = (*warnings, left_words([folder / file for file in left]))
    return Packet(files[0], files, built.failures, warnings, built.summary)


def _build_apart(job: PacketJob, seen: Seen | None) -> Built:
    """Build in a worker; raise what was raised there."""
    cells = 0

    def watch(_: PacketJob, record: tuple[Any, ...]) -> None:
        nonlocal cells
        if record[0] == "cells":
            cells = record[1]
        if seen is not None and record[0] in ("cells", "begin"):
            seen(record[1] if record[0] == "begin" else 0, cells)

    with closing(run_tasks(_build_or_refuse, [job], workers=1, rescue=rescue_packet, watch=watch)) as ended:
        [end] = ended
    if isinstance(end.value, AfterloadError):
        raise end.value
    if end.value is not None:
        return end.value
    assert end.problem is not None
    if end.problem.kind == "error":
        raise RuntimeError(f"{end.problem.text}\n{end.problem.traceback}")
    raise ChapterError(f"the packet could not be made: {end.problem.text}")


def _build_or_refuse(job: PacketJob) -> Built | AfterloadError:
    try:
        return build_packet(job)
    except AfterloadError as refusal:
        return refusal


class _Bar:
    """A bar on standard error that follows the cells of a worker."""

    def __init__(self) -> None:
        self._bar: Any = None

    def show(self, done: int, of: int) -> None:
        if self._bar is None:
            from tqdm import tqdm  # type: ignore[import-untyped]

            self._bar = tqdm(total=of, desc="Chapters", unit="cell", leave=False)
        self._bar.n = done
        self._bar.refresh()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
