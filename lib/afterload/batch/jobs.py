"""One team's part of a batch, as a child process does it: load, make the packet, write it with its manifest, tell the record.

Nothing of Afterload that takes long to import is imported at the top: whoever only compares digests needs none of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from afterload.batch.digest import MANIFEST, Basis, manifest_text
from afterload.errors import AfterloadError, InputError, ModelError, OutputError
from afterload.files import write_all
from afterload.reads import recorded_reads

if TYPE_CHECKING:
    from afterload.estimates import Estimates
    from afterload.plan import Plan
    from afterload.recovery.result import CoupledEstimate
    from afterload.report.lost import Lost
    from afterload.report.workers import Problem
    from afterload.scenario import LoadedScenario

__all__ = [
    "CELL_TIMEOUT_S",
    "TEAMS",
    "Job",
    "Override",
    "make_team",
    "merged_overrides",
    "refuse_ambiguous",
    "rescue_team",
]

CELL_TIMEOUT_S = 300.0
# Below the index's folder, one folder a team.
TEAMS = "teams"
_LINKS = {
    "packet": ".html", "notebook": ".ipynb", "plan_csv": "-plan.csv", "plan_md": "-plan.md", "plan_json": "-plan.json",
    "runbook": "-runbook.md",
}  # fmt: skip


@dataclass(frozen=True)
class Override:
    """One value set for a team.

    Attributes:
        path: the value's path, as ``--set`` takes it.
        value: text as typed by hand, or a value from YAML.
        typed: the value is a text that still must be read as one.
        origin: where it stands, such as ``teams.csv line 7``; empty for ``--set``.
        european: it stands in a table whose numbers may have decimal commas, so that a point may part thousands and a
            comma may not.
    """

    path: str
    value: Any
    typed: bool = True
    origin: str = ""
    european: bool = False


@dataclass(frozen=True)
class Job:
    """All that a child needs to make one team's packet; small, and the same on every machine.

    Attributes:
        id: the name of the team's files and folder; unique in a batch.
        team: the name as it was read for the id; the scenario must agree.
        scenario: an absolute path, or ``builtin:`` and a name.
        folder: where the files go.
        origin: what a person gave: the file, or the line of a table.
        overrides: later ones replace earlier ones.
        chapters: the notebooks.
        by_need: leave out chapters that the scenario has nothing for.
        objectives: limits by name; empty for the scenario's own.
        basis: what the digest is taken of, beside the files that are read.
    """

    id: str
    team: str
    scenario: str
    folder: Path
    origin: str
    overrides: tuple[Override, ...] = ()
    chapters: tuple[Path, ...] = ()
    by_need: bool = True
    cell_timeout_s: float = CELL_TIMEOUT_S
    objectives: tuple[tuple[str, float], ...] = ()
    basis: Basis = field(default_factory=Basis)


def merged_overrides(overrides: tuple[Override, ...]) -> dict[str, Any]:
    """Values by path; of two for one path the later one counts. Raises :class:`OverrideError` for text of a wrong form."""
    from afterload.scenario.overrides import gather_overrides

    merged: dict[str, Any] = {}
    for item in overrides:
        given = gather_overrides([f"{item.path}={item.value}"] if item.typed else {item.path: item.value})
        for path, value in given.items():
            # The last one given stands last, as if it were the only one.
            merged.pop(path, None)
            merged[path] = value
    return merged


def make_team(job: Job) -> dict[str, Any]:
    """Make and write one packet; give what the batch keeps of it: small, and made of what JSON knows.

    ``problem`` has what went wrong, as ``kind`` (input, output or fault) and ``text``; then nothing was written. Else
    ``record`` has the team's results (None where they cannot be computed), ``failures`` the parts of the packet that
    failed, and ``files`` the names of its files. Raises nothing but what says that the process itself is at its end,
    such as :class:`MemoryError`.
    """
    return _told(job, None)


def rescue_team(job: Job, records: tuple[Any, ...], problem: Problem) -> dict[str, Any]:
    """The same for a team whose process has ended: with the cells that had run, and the error of the one that ended it."""
    from afterload.report.lost import Lost

    return _told(job, Lost.of(records, problem.kind, problem.detail or problem.text, job.cell_timeout_s))


def _told(job: Job, lost: Lost | None) -> dict[str, Any]:
    try:
        return _made(job, lost)
    except AfterloadError as problem:
        kind = "input" if isinstance(problem, InputError | ModelError) else "output"
        if not isinstance(problem, InputError | ModelError | OutputError):
            kind = "fault"
        return {"problem": {"kind": kind, "text": _placed(str(problem), job.overrides)}}
    except MemoryError:
        raise
    except Exception as problem:  # noqa: BLE001 - whatever it is, it is told of this team and spoils no other
        return {"problem": {"kind": "fault", "text": f"{type(problem).__name__}: {problem}"}}


def _made(job: Job, lost: Lost | None) -> dict[str, Any]:
    from afterload.scenario import load_scenario

    records: list[dict[str, Any]] = []
    with recorded_reads() as reads:
        overrides = merged_overrides(job.overrides)
        loaded = load_scenario(job.scenario, overrides)
        if loaded.scenario.team != job.team:
            raise InputError(
                f"{job.origin}: the team is {loaded.scenario.team!r}, but its line reads as {job.team!r}: write the name "
                "as plain text on one line"
            )
        refuse_ambiguous(job.overrides, loaded)
        # Only now: what cannot be loaded needs nothing of it.
        from afterload.report.packet import PacketJob, build_packet, relevant

        chapters = relevant(job.chapters, loaded) if job.by_need else job.chapters
        packet = PacketJob(loaded, job.scenario, str(job.folder), tuple(map(str, chapters)), job.cell_timeout_s)
        built = build_packet(packet, lost=lost, told=lambda *results: records.append(_record(job, loaded, *results)))
    told = {
        "record": _linked(job, records[0], built.contents) if records else None,
        "failures": [_placed(failure, job.overrides) for failure in built.failures],
        "warnings": list(built.warnings),
        "files": [path.name for path in built.contents],
    }
    manifest = manifest_text(job.basis, reads, built.contents, told, job.folder, _says_ages(loaded))
    # The manifest comes last: it vouches for the others.
    write_all({**built.contents, job.folder / MANIFEST: manifest})
    return told


# A number with a sign where thousands would be parted, and nothing else that tells what it is: 1.200, 1,200/min.
_TWO_READINGS = re.compile(r"([0-9]{1,3})[.,]([0-9]{3})(?![0-9.,])(.*)", re.DOTALL)


def refuse_ambiguous(overrides: tuple[Override, ...], loaded: LoadedScenario) -> None:
    """Raise :class:`InputError` for a number of a European table that reads in two ways, a thousand times apart."""
    from afterload.scenario import Scenario
    from afterload.scenario.overrides import takes_text

    last = {item.path: item for item in overrides}
    for item in last.values():
        found = _TWO_READINGS.fullmatch(item.value.strip()) if item.european and item.typed else None
        if found is None or found[1].startswith("0") or takes_text(loaded.tree.data, item.path, Scenario):
            continue
        whole, rest = f"{found[1]}{found[2]}", found[3]
        part = f"{found[1]}.{found[2].rstrip('0') or '0'}"
        raise InputError(
            f"{item.origin} column {item.path} ({item.value!r}): can be read as {whole}{rest} or as {part}{rest}, since the "
            f"table has semicolons or decimal commas; accepted: {whole}{rest}, or {part}{rest}"
        )


def _record(
    job: Job, loaded: LoadedScenario, estimates: Estimates, plan: Plan, recovery: CoupledEstimate | None
) -> dict[str, Any]:
    from afterload.batch.record import team_record

    objectives = dict(job.objectives) or None
    return team_record(loaded, estimates, plan, recovery, team_id=job.id, objectives=objectives)


def _linked(job: Job, record: dict[str, Any], contents: Mapping[Path, str]) -> dict[str, Any]:
    """The record with the paths of the team's files as the index sees them."""
    names = {path.name for path in contents}
    files = {name: f"{job.id}{ending}" for name, ending in _LINKS.items()}
    return {**record, "links": {name: f"{TEAMS}/{job.id}/{file}" for name, file in files.items() if file in names}}


def _says_ages(loaded: LoadedScenario) -> bool:
    """Whether the packet tells how old something is today, so that it is another one tomorrow."""
    scenario = loaded.scenario
    return scenario.as_of is None and any(item.exported_at is not None for item in scenario.evidence.values())


def _placed(text: str, overrides: tuple[Override, ...]) -> str:
    """A message with the place of a value in a table instead of ``--set``, under which the loader knows it."""
    # The last one for a path is the one that counts.
    last = {item.path: item for item in overrides}
    for item in sorted((each for each in last.values() if each.origin), key=lambda each: -len(each.path)):
        place = f"{item.origin} column {item.path}" if item.typed else f"{item.origin} {item.path}"
        seen = f" ({item.value!r})" if item.typed else ""
        text = re.sub(rf"--set {re.escape(item.path)}(?![\w.-])(?:=\S*)?", _constant(f"{place}{seen}"), text)
    return text


def _constant(text: str) -> Callable[[re.Match[str]], str]:
    return lambda _: text
