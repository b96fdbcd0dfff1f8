"""One team's packet: the chapters run and exported, and the plan beside them, written whole."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from afterload.errors import AfterloadError, ChapterError, NotFoundError
from afterload.estimates import Estimates, estimate
from afterload.files import write_all
from afterload.plan import Plan, build_plan, plan_csv, plan_json, plan_markdown
from afterload.report.exporter import PacketExporter
from afterload.report.nodes import notebook_text
from afterload.report.run import CELL_TIMEOUT_S, run_packet
from afterload.resources import resource
from afterload.scenario import LoadedScenario
from afterload.yamltree import plain

__all__ = ["Packet", "chapter_paths", "make_packet", "slug"]


@dataclass(frozen=True)
class Packet:
    """What was written: the packet's path first, all files, what failed, and the results it rests on."""

    html: Path
    files: tuple[Path, ...]
    failures: tuple[str, ...]
    warnings: tuple[str, ...]

    def check(self) -> None:
        """Raise :class:`ChapterError` if a part failed; the packet of the others stays where it is."""
        if self.failures:
            count = "1 part" if len(self.failures) == 1 else f"{len(self.failures)} parts"
            lines = "\n".join(f"  {failure}" for failure in self.failures)
            raise ChapterError(f"{count} of the packet failed; the rest is in {self.html}\n{lines}")


def slug(name: str) -> str:
    """A team's name as the name of a file: letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:80] or "team"


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


def make_packet(
    loaded: LoadedScenario,
    scenario_path: str,
    folder: str | Path,
    chapters: Sequence[Path] = (),
    progress: bool = False,
    cell_timeout_s: float | None = CELL_TIMEOUT_S,
) -> Packet:
    """Run a team's chapters with one kernel and write the packet and the plan's files into ``folder``.

    A failing chapter or plan does not stop the rest: see :attr:`Packet.failures`. Raises :class:`OutputError` where
    a file cannot be written; then no old file has been replaced by half a new one.
    """
    scenario = loaded.scenario
    title = f"{scenario.team}: recovery load, {scenario.incident.name}"
    run = run_packet(
        chapters or chapter_paths(),
        {"scenario": scenario_path, "overrides": _plain(loaded)},
        title,
        progress=progress,
        cell_timeout_s=cell_timeout_s,
    )
    name, target = slug(scenario.team), Path(folder)
    html = target / f"{name}.html"
    contents: dict[Path, str] = {
        html: PacketExporter().to_html(run.nb, title),
        target / f"{name}.ipynb": notebook_text(run.nb),
    }
    failures = [f"chapter {failure.chapter}: {failure.ename}: {failure.evalue}" for failure in run.failures]
    plan_files, problem = _plan_files(loaded, target / name)
    contents |= plan_files
    failures += [problem] if problem else []
    write_all(contents)
    return Packet(html, tuple(contents), tuple(failures), run.warnings)


def _plain(loaded: LoadedScenario) -> dict[str, object]:
    return {path: plain(value) for path, value in loaded.overrides.items()}


def _plan_files(loaded: LoadedScenario, stem: Path) -> tuple[dict[Path, str], str]:
    """The plan's files, or why there are none: a fault here must not lose the chapters."""
    try:
        estimates: Estimates = estimate(loaded)
        plan: Plan = build_plan(estimates)
        files = {
            stem.with_name(f"{stem.name}-plan.csv"): plan_csv(plan),
            stem.with_name(f"{stem.name}-plan.md"): plan_markdown(plan, estimates),
            stem.with_name(f"{stem.name}-plan.json"): plan_json(plan, estimates),
        }
    except (AfterloadError, ArithmeticError, LookupError, TypeError, ValueError) as problem:
        return {}, f"plan files: {type(problem).__name__}: {problem}"
    return files, ""
