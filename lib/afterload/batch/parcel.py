"""A team's job as it travels: with the content of its input files, so that no file system need be shared.

On the other machine the files are laid out below a folder of their own, under the same paths, with the links that lie on the
way. The job runs there as if that folder were the root, and its name is taken out of all that comes back: so messages and files
name the paths of whoever started the batch, and the packet's bytes are those of a run on this machine.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from afterload.batch.digest import MANIFEST
from afterload.batch.jobs import Job, make_team, merged_overrides, rescue_team
from afterload.errors import AfterloadError
from afterload.reads import read_input, recorded_reads
from afterload.resources import BUILTIN, inputs_below, resource

if TYPE_CHECKING:
    from afterload.report.workers import Problem

__all__ = ["Parcel", "Stay", "collect", "make_away", "pack_team", "rescue_away", "unpack", "warm_up", "with_newer_plan"]

# Input files of one team, as they are on the disk.
MOST_BYTES = 512 * 1024 * 1024
_QUICK = 1


@dataclass(frozen=True)
class Parcel:
    """A job with its inputs.

    Attributes:
        job: with the paths of the machine that it comes from.
        cwd, home: the folders from which relative paths and ``~`` count there.
        files: real path, time of its last change in nanoseconds, and content, compressed with zlib.
        links: symbolic links on the way to these files, with what they lead to; all paths are absolute.
    """

    job: Job
    cwd: str
    home: str
    files: tuple[tuple[str, int, bytes], ...]
    links: tuple[tuple[str, str], ...] = ()

    @property
    def size(self) -> int:
        """Bytes as they travel."""
        return sum(len(content) for _, _, content in self.files)


@dataclass(frozen=True)
class Stay:
    """A job where it is a guest: its paths lead below ``root``."""

    root: str
    job: Job
    cwd: str
    home: str


def warm_up() -> None:
    """Load what reading a scenario needs."""
    import afterload.scenario  # noqa: F401


def pack_team(job: Job) -> Parcel | dict[str, Any]:
    """Read what the job leads to. Where that fails, nothing need travel: then what :func:`make_team` tells of it here."""
    files: dict[str, tuple[int, bytes]] = {}
    links: dict[str, str] = {}
    total = 0
    try:
        for name in _inputs(job):
            real = os.path.realpath(name)
            _links(Path(name), links)
            if real not in files:
                content = read_input(real)
                total += len(content)
                if total > MOST_BYTES:
                    return _too_large(job, total)
                files[real] = (os.stat(real).st_mtime_ns, zlib.compress(content, _QUICK))  # noqa: PTH116
    except (AfterloadError, OSError):
        return make_team(job)
    _links(job.folder.absolute(), links)
    sent = tuple((name, *each) for name, each in files.items())
    return Parcel(job, str(Path.cwd()), os.path.expanduser("~"), sent, tuple(links.items()))  # noqa: PTH111


def _too_large(job: Job, total: int) -> dict[str, Any]:
    text = (
        f"{job.origin}: its input files have more than {MOST_BYTES // 2**20:,} MiB, the most that is sent to a cluster "
        f"({total / 2**20:,.0f} MiB so far): make this team without --scheduler"
    )
    return {"problem": {"kind": "input", "text": text}}


def _inputs(job: Job) -> Iterable[str]:
    """Every file that the packet will read. Raises what reading the scenario raises."""
    from afterload.scenario import load_scenario

    with recorded_reads() as reads:
        loaded = load_scenario(job.scenario, merged_overrides(job.overrides))
        other = loaded.scenario.compare_with
        if other is not None and not other.endswith(".json"):
            # What it is compared with leads to files of its own. Whoever compares tells what is wrong with it.
            with suppress(AfterloadError):
                load_scenario(loaded.file(other))
    shipped = str(resource("data")) + os.sep
    yield from (path for path in reads if not path.startswith(shipped))
    yield from map(str, job.chapters)
    # What people have entered beside the plan of an earlier run.
    if _plan(job).exists():
        yield str(_plan(job))


def _plan(job: Job) -> Path:
    return job.folder.absolute() / f"{job.id}-plan.csv"


def with_newer_plan(parcel: Parcel) -> Parcel | None:
    """The parcel with what people have entered beside the plan since it was packed; None where that is the same."""
    path = os.path.realpath(_plan(parcel.job))
    try:
        content, changed_ns = read_input(path), os.stat(path).st_mtime_ns  # noqa: PTH116
    except OSError:
        return None
    if any(name == path and zlib.decompress(packed) == content for name, _, packed in parcel.files):
        return None
    others = tuple(each for each in parcel.files if each[0] != path)
    return replace(parcel, files=(*others, (path, changed_ns, zlib.compress(content, _QUICK))))


def _links(path: Path, found: dict[str, str]) -> None:
    """Every symbolic link among a path and the folders above it, and among what these lead to."""
    so_far = Path(path.anchor)
    for part in path.parts[1:]:
        step = so_far / part
        if step.is_symlink():
            if str(step) not in found:
                found[str(step)] = target = os.path.normpath(so_far / os.readlink(step))  # noqa: PTH115
                _links(Path(target), found)
            step = Path(os.path.realpath(step))
        so_far = step


def unpack(parcel: Parcel, root: str) -> Stay:
    """Lay the files out below an empty folder, whose own path has no link in it. Raises :class:`OSError`."""
    for name, changed_ns, content in parcel.files:
        path = Path(root + name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(zlib.decompress(content))
        os.utime(path, ns=(changed_ns, changed_ns))
    for name, leads_to in parcel.links:
        path = Path(root + name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(root + leads_to)
    # Only now: what one link leads to may lie behind another.
    for name, _ in parcel.links:
        target = Path(os.path.realpath(root + name))
        if not target.exists():
            target.mkdir(parents=True)
    for folder in (parcel.cwd, parcel.home):
        Path(root + os.path.realpath(folder)).mkdir(parents=True, exist_ok=True)
    job = parcel.job
    own = replace(
        job,
        scenario=job.scenario if job.scenario.startswith(BUILTIN) else root + job.scenario,
        folder=Path(root + str(job.folder)) if job.folder.is_absolute() else job.folder,
        chapters=tuple(Path(root + str(path)) for path in job.chapters),
    )
    return Stay(root, own, root + parcel.cwd, root + parcel.home)


def make_away(stay: Stay) -> dict[str, Any]:
    """What :func:`make_team` does, as a guest; in a process of its own."""
    _settle(stay)
    return make_team(stay.job)


def rescue_away(stay: Stay, records: tuple[Any, ...], problem: Problem) -> dict[str, Any]:
    """What :func:`rescue_team` does, as a guest; in a process of its own."""
    _settle(stay)
    return rescue_team(stay.job, records, problem)


def _settle(stay: Stay) -> None:
    os.chdir(stay.cwd)
    os.environ["HOME"] = stay.home
    inputs_below(stay.root)


def collect(stay: Stay, told: dict[str, Any]) -> tuple[dict[str, Any], dict[str, bytes]]:
    """What the job told and its files, the manifest last; nothing of it names the folder where it was a guest."""
    told = json.loads(json.dumps(told, ensure_ascii=False).replace(stay.root, ""))
    folder = Path(stay.cwd) / stay.job.folder
    if "problem" in told:
        return told, {}
    files = {name: (folder / name).read_bytes() for name in told["files"]}
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8").replace(stay.root, ""))
    for name, content in files.items():
        if stay.root.encode() in content:
            files[name] = content.replace(stay.root.encode(), b"")
            manifest["outputs"][name] = sha256(files[name]).hexdigest()
    files[MANIFEST] = (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode()
    return told, files
