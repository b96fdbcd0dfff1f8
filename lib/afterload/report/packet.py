"""One team's packet: the chapters run and exported, and the plan beside them, written whole."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from nbformat import NotebookNode
from papermill.translators import translate_parameters

from afterload.coupling import couple, estimate_recovery
from afterload.errors import ChapterError, NotFoundError, OutputError
from afterload.estimates import Estimates, estimate
from afterload.figures import answer
from afterload.files import write_all
from afterload.plan import Plan, build_plan, plan_csv, plan_json, plan_markdown
from afterload.plan.kept import read_kept
from afterload.report.exporter import PacketExporter
from afterload.report.markdown import postmortem_markdown
from afterload.report.nodes import notebook_text, read_notebook
from afterload.report.run import CELL_TIMEOUT_S, INJECTED_TAG, run_packet
from afterload.resources import BUILTIN, resource
from afterload.scenario import LoadedScenario
from afterload.yamltree import plain

__all__ = ["Packet", "chapter_paths", "check_folder", "make_packet", "relevant", "slug"]

SLUG_LENGTH = 80


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
) -> Packet:
    """Run a team's chapters with one kernel and write the packet and the plan's files into ``folder``.

    A scenario with a postmortem gets that as Markdown too. A failing chapter or plan does not stop the rest: see
    :attr:`Packet.failures`. Raises :class:`OutputError` where a file cannot be written; then no old file has been
    replaced by half a new one.
    """
    scenario = loaded.scenario
    title = f"{scenario.team}: recovery load, {scenario.incident.name}"
    overrides = {path: plain(value) for path, value in loaded.overrides.items()}
    run = run_packet(
        chapters or relevant(chapter_paths(), loaded),
        {"scenario": scenario_path, "overrides": overrides},
        title,
        progress=progress,
        cell_timeout_s=cell_timeout_s,
    )
    name, target = slug(scenario.team), Path(folder)
    _set_parameters(run.nb, {"scenario": _path_from(target, scenario_path), "overrides": overrides})
    html, notebook = target / f"{name}.html", target / f"{name}.ipynb"
    failures = [f"chapter {failure.chapter}: {failure.ename}: {failure.evalue}" for failure in run.failures]
    summary, plan_files, problem = _plan_files(loaded, target / name)
    failures += [problem] if problem else []
    page, problem = _page(run.nb, title)
    failures += [problem] if problem else []
    contents: dict[Path, str] = {html: page} if page else {}
    contents |= {notebook: notebook_text(run.nb), **plan_files}
    write_all(contents)
    return Packet(next(iter(contents)), tuple(contents), tuple(failures), run.warnings, summary)


def _page(nb: NotebookNode, title: str) -> tuple[str, str]:
    """The page, or why there is none: a fault this late must not lose the executed notebook."""
    try:
        return PacketExporter.shared().to_html(nb, title), ""
    except Exception as problem:  # noqa: BLE001 - whatever it is, it is told, and the rest is written
        return "", f"page: {type(problem).__name__}: {problem}"


def _path_from(folder: Path, scenario_path: str) -> str:
    """The scenario as seen from the packet's folder, where Jupyter runs the notebook again.

    So the notebook tells nothing of the machine, and the same folders elsewhere give the same bytes.
    """
    if scenario_path.startswith(BUILTIN):
        return scenario_path
    path = Path(scenario_path)
    try:
        return Path(os.path.relpath(path.parent.resolve() / path.name, folder.resolve())).as_posix()
    except ValueError:  # another drive
        return scenario_path


def _set_parameters(nb: NotebookNode, parameters: dict[str, object]) -> None:
    for cell in nb.cells:
        if INJECTED_TAG in cell.metadata.get("tags", []):
            cell.source = translate_parameters("python3", "python", parameters, "Parameters")


def _plan_files(loaded: LoadedScenario, stem: Path) -> tuple[tuple[str, ...], dict[Path, str], str]:
    """The answer in lines and the files of plan and postmortem, or why some are missing.

    A fault here must not lose the chapters; without a plan there is no postmortem either.
    """
    try:
        estimates = estimate(loaded)
        plan = build_plan(estimates)
        coupling = couple(loaded)
        recovery = None if coupling is None else estimate_recovery(coupling)
        summary = tuple(answer.answer(estimates, plan, recovery).text.splitlines())
        table = stem.with_name(f"{stem.name}-plan.csv")
        kept = read_kept(table)
        files = {
            table: plan_csv(plan, kept),
            stem.with_name(f"{stem.name}-plan.md"): plan_markdown(plan, estimates),
            stem.with_name(f"{stem.name}-plan.json"): plan_json(plan, estimates, kept),
        }
    except Exception as problem:  # noqa: BLE001 - whatever it is, it is told, and the chapters are written
        return (), {}, f"plan files: {type(problem).__name__}: {problem}"
    postmortem, trouble = _postmortem_file(estimates, plan, stem)
    return summary, files | postmortem, trouble


def _postmortem_file(estimates: Estimates, plan: Plan, stem: Path) -> tuple[dict[Path, str], str]:
    """The postmortem as Markdown, or why there is none; nothing where the scenario has no postmortem."""
    if estimates.loaded.scenario.postmortem is None:
        return {}, ""
    try:
        text = postmortem_markdown(estimates, plan, couple(estimates.loaded))
    except Exception as problem:  # noqa: BLE001 - whatever it is, it is told, and the rest is written
        return {}, f"postmortem file: {type(problem).__name__}: {problem}"
    return {stem.with_name(f"{stem.name}-postmortem.md"): text}, ""
