"""Build a team's packet in memory: the chapters run and exported, the plan and the postmortem beside them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from papermill.translators import translate_parameters

from afterload.figures import answer
from afterload.plan import plan_csv, plan_json, plan_markdown
from afterload.plan.kept import Kept, kept_at, read_kept
from afterload.plan.runbook import agreed
from afterload.plan.runbook_export import runbook_markdown
from afterload.reads import read_input
from afterload.report.exporter import PacketExporter
from afterload.report.lost import Lost
from afterload.report.markdown import postmortem_markdown
from afterload.report.nodes import notebook_text
from afterload.report.packet import Built, PacketJob, Told, chapter_paths, relevant, slug
from afterload.report.run import INJECTED_TAG, run_packet
from afterload.resources import BUILTIN
from afterload.results import Results
from afterload.scenario import LoadedScenario
from afterload.yamltree import plain

__all__ = ["build"]


def build(
    job: PacketJob, engine: str, lost: Lost | None = None, progress: bool = False, told: Told | None = None
) -> Built:
    """What :func:`afterload.report.packet.build_packet` does."""
    loaded, target = job.loaded, Path(job.folder)
    scenario = loaded.scenario
    title = f"{scenario.team}: recovery load, {scenario.incident.name}"
    overrides = {path: plain(value) for path, value in loaded.overrides.items()}
    name = slug(scenario.team)
    table = target / f"{name}-plan.csv"
    entered = _content(table)
    with kept_at(table):
        run = run_packet(
            job.chapters or relevant(chapter_paths(), loaded),
            {"scenario": job.scenario_path, "overrides": overrides},
            title,
            progress=progress,
            cell_timeout_s=job.cell_timeout_s,
            engine=engine,
            lost=lost,
        )
    _set_parameters(run.nb, {"scenario": _path_from(target, job.scenario_path), "overrides": overrides})
    html, notebook = target / f"{name}.html", target / f"{name}.ipynb"
    failures = [f"chapter {failure.chapter}: {failure.ename}: {failure.evalue}" for failure in run.failures]
    if lost is not None and lost.cell_index is None:
        failures.append(f"process: {lost.ename}: {lost.evalue}")
    page, page_problem = _page(run.nb, title)
    text = notebook_text(run.nb)
    # Last of all: what people enter into the plan until then is in it.
    summary, plan_files, problem = _plan_files(_results(loaded, run.left), target / name, told)
    failures += [each for each in (problem, page_problem) if each]
    if _content(table) != entered:
        # What was entered meanwhile is kept; a packet that does not show it is not whole.
        failures.append(
            f"{table.name}: was changed while the packet was made, so that its page may not show it: make it anew"
        )
    contents: dict[Path, str] = {html: page} if page else {}
    contents |= {notebook: text, **plan_files}
    return Built(contents, tuple(failures), run.warnings, summary, name)


def _content(path: Path) -> bytes | None:
    """What stands in a file; None where there is none that can be read."""
    try:
        return read_input(path)
    except OSError:
        return None


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


def _results(loaded: LoadedScenario, left: Iterable[Any]) -> Results:
    """The results that chapters of this very scenario left, with what is computed already; else new ones."""
    made = (each for each in left if isinstance(each, Results))
    return next((each for each in made if each.is_of(loaded)), None) or Results(loaded)


def _plan_files(results: Results, stem: Path, told: Told | None) -> tuple[tuple[str, ...], dict[Path, str], str]:
    """The answer in lines and the files of plan and postmortem, or why some are missing.

    A fault here must not lose the chapters; without a plan there is no postmortem either.
    """
    try:
        estimates, plan, recovery = results.estimates, results.plan, results.recovery
        if told is not None:
            told(estimates, plan, recovery)
        summary = tuple(answer.answer(estimates, plan, recovery).text.splitlines())
        table = stem.with_name(f"{stem.name}-plan.csv")
        kept = read_kept(table)
        files = {
            table: plan_csv(plan, kept),
            stem.with_name(f"{stem.name}-plan.md"): plan_markdown(plan, estimates, kept),
            stem.with_name(f"{stem.name}-plan.json"): plan_json(plan, estimates, kept),
            stem.with_name(f"{stem.name}-runbook.md"): runbook_markdown(agreed(results.runbook_steps, kept), estimates),
        }
    except Exception as problem:  # noqa: BLE001 - whatever it is, it is told, and the chapters are written
        return (), {}, f"plan files: {type(problem).__name__}: {problem}"
    postmortem, trouble = _postmortem_file(results, stem, kept)
    return summary, files | postmortem, trouble


def _postmortem_file(results: Results, stem: Path, kept: Kept) -> tuple[dict[Path, str], str]:
    """The postmortem as Markdown, or why there is none; nothing where the scenario has no postmortem."""
    if results.loaded.scenario.postmortem is None:
        return {}, ""
    try:
        text = postmortem_markdown(results.estimates, results.plan, results.coupling, kept)
    except Exception as problem:  # noqa: BLE001 - whatever it is, it is told, and the rest is written
        return {}, f"postmortem file: {type(problem).__name__}: {problem}"
    return {stem.with_name(f"{stem.name}-postmortem.md"): text}, ""
