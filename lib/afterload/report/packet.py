"""One team's packet: the chapters run and exported, and the plan beside them, written whole."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from afterload.errors import AfterloadError, ChapterError, NotFoundError, OutputError
from afterload.files import write_all
from afterload.report.engine import ENGINE_NAME, IN_PROCESS_NAME
from afterload.report.lost import Lost
from afterload.report.nodes import read_notebook
from afterload.report.run import CELL_TIMEOUT_S
from afterload.report.workers import Launcher, Limits, Problem, run_tasks
from afterload.resources import resource
from afterload.scenario import LoadedScenario

# What a packet is made of is imported where it is made: often that is in another process.

__all__ = [
    "Built",
    "Packet",
    "PacketJob",
    "build_packet",
    "chapter_paths",
    "check_folder",
    "make_packet",
    "relevant",
    "rescue_packet",
    "slug",
    "write_packet",
]

SLUG_LENGTH = 80


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
    """A packet in memory: its files, the page first; what failed, what was warned of, the answer in lines."""

    contents: dict[Path, str]
    failures: tuple[str, ...]
    warnings: tuple[str, ...]
    summary: tuple[str, ...]


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


def slug(name: str) -> str:
    """A team's name as the name of a file: letters, digits and dashes.

    A name of which little is left gets a few digits of its hash, so that the packet of one team does not replace
    another's.
    """
    bare = unicodedata.normalize("NFKD", name)
    kept = re.sub(r"[^a-z0-9]+", "-", "".join(char for char in bare if not unicodedata.combining(char)).lower())
    kept = kept.strip("-")
    lost = any(char.isalnum() and not char.isascii() and not unicodedata.combining(char) for char in bare)
    if kept and not lost and len(kept) <= SLUG_LENGTH:
        return kept
    digits = sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{kept[: SLUG_LENGTH - 9].strip('-') or 'team'}-{digits}"


def check_folder(folder: str | Path) -> None:
    """Raise :class:`OutputError` where it is clear before any work that nothing can be written into ``folder``."""
    path = Path(folder).absolute()
    try:
        nearest = next(each for each in (path, *path.parents) if each.exists())
        is_folder = nearest.is_dir()
    except (OSError, ValueError) as problem:
        raise OutputError(f"cannot write into {folder}: {getattr(problem, 'strerror', None) or problem}") from problem
    if not is_folder:
        raise OutputError(f"cannot write into {folder}: {nearest} is a file, not a folder")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise OutputError(f"cannot write into {folder}: permission denied")


def chapter_paths(folder: str | Path | None = None, names: Sequence[str] = ()) -> tuple[Path, ...]:
    """The chapters of a folder in reading order, or those named, by their name with or without its number.

    Raises :class:`NotFoundError` for a folder without notebooks or a chapter that it does not have.
    """
    root = Path(folder) if folder is not None else resource("workbooks")
    found = sorted(path for path in root.glob("*.ipynb") if not path.name.startswith("."))
    if not found:
        raise NotFoundError(f"{root}: holds no notebooks (*.ipynb)")
    if not names:
        return tuple(found)
    known = {key: path for path in found for key in (path.stem, re.sub(r"^\d+-", "", path.stem))}
    unknown = [name for name in names if name not in known]
    if unknown:
        have = ", ".join(re.sub(r"^\d+-", "", path.stem) for path in found)
        raise NotFoundError(f"there is no chapter {', '.join(map(repr, unknown))}; known: {have}")
    wanted = {known[name] for name in names}
    return tuple(path for path in found if path in wanted)


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
    launcher: Launcher | None = None,
) -> Packet:
    """Run a team's chapters in a process of their own and write the packet and the plan's files into ``folder``.

    A scenario with a postmortem gets that as Markdown too. A failing chapter or plan does not stop the rest: see
    :attr:`Packet.failures`. ``kernel`` asks for a Jupyter kernel in place of the process; ``launcher`` is where the process
    comes from, if there is one already.

    Raises :class:`OutputError` where a file cannot be written; then no old file has been replaced by half a new one. Raises
    :class:`ChapterError` where kernel or process cannot be started, or end in a way that leaves nothing to show.
    """
    job = PacketJob(loaded, scenario_path, str(folder), tuple(map(str, chapters)), cell_timeout_s)
    if kernel:
        return write_packet(build_packet(job, ENGINE_NAME, progress=progress))
    return write_packet(_build_apart(job, progress, launcher))


def build_packet(
    job: PacketJob, engine: str = IN_PROCESS_NAME, lost: Lost | None = None, progress: bool = False
) -> Built:
    """Run a team's chapters and give the packet's files as texts; nothing is written.

    The default ``engine`` runs them in this process, which should be a worker's: see
    :func:`afterload.report.workers.run_tasks`, whose ``rescue`` is :func:`rescue_packet` and gives ``lost``. Raises what
    :func:`afterload.report.run.run_packet` raises.
    """
    from afterload.report.build import build

    return build(job, engine, lost, progress)


def rescue_packet(job: PacketJob, records: tuple[Any, ...], problem: Problem) -> Built:
    """The packet of a process that has ended: what it had finished, the error of the cell that ended it, and no more."""
    return build_packet(job, lost=Lost.of(records, problem.kind, problem.detail or problem.text, job.cell_timeout_s))


def write_packet(built: Built) -> Packet:
    """Write a packet, all files or none. Raises :class:`OutputError`."""
    write_all(built.contents)
    return Packet(next(iter(built.contents)), tuple(built.contents), built.failures, built.warnings, built.summary)


def _build_apart(job: PacketJob, progress: bool, launcher: Launcher | None) -> Built:
    """Build in a worker; raise what was raised there."""
    with (
        closing(_Bar(progress)) as bar,
        closing(
            run_tasks(
                _build_or_refuse,
                [job],
                workers=1,
                limits=Limits(),
                rescue=rescue_packet,
                launcher=launcher,
                watch=bar.see,
            )
        ) as ended,
    ):
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

    def __init__(self, shown: bool) -> None:
        self._shown = shown
        self._bar: Any = None

    def see(self, _: object, record: Any) -> None:
        if self._shown and record[0] == "cells":
            from tqdm import tqdm  # type: ignore[import-untyped]

            self._bar = tqdm(total=record[1], desc="Chapters", unit="cell", leave=False)
        elif self._bar is not None and record[0] == "begin":
            self._bar.n = record[1]
            self._bar.refresh()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
