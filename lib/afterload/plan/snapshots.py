"""Open what is compared: a scenario file, or the plan file that an earlier run wrote."""

from __future__ import annotations

import json
from pathlib import Path

from afterload.errors import InputError
from afterload.estimates import estimate
from afterload.plan.build import build_plan
from afterload.plan.compare import Snapshot, compare
from afterload.reads import note_read, read_input
from afterload.scenario import LoadedScenario, Overrides, load_scenario, load_scenario_text

__all__ = ["open_snapshot", "undone_since"]


def open_snapshot(path: str | Path, name: str = "", overrides: Overrides = None) -> Snapshot:
    """The snapshot of a scenario, or of the run whose plan (``NAME-plan.json``) the path names.

    Raises :class:`InputError` where the JSON is no plan, and what :func:`afterload.scenario.load_scenario` raises.
    """
    if str(path).endswith(".json"):
        record = _plan_record(Path(path), name or str(path))
        if record is not None:
            try:
                return Snapshot.from_record(record)
            except InputError as problem:
                raise InputError(f"{name or path}: {problem}: run the report anew") from None
    estimates = estimate(load_scenario(path, overrides))
    # Likely values are compared: one draw is as good as a thousand.
    return Snapshot.of(estimates, build_plan(estimates, draws=1))


def _plan_record(path: Path, name: str) -> dict[str, object] | None:
    """The run in a plan file; None for other JSON, which may be a scenario, since JSON is YAML."""
    try:
        raw = read_input(path)
        note_read(path, raw)
        document = json.loads(raw.decode("utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(document, dict) or "input_sha256" not in document:
        return None
    record = document.get("snapshot")
    if not isinstance(record, dict):
        raise InputError(f"{name}: is a plan of an older version, without what a comparison needs: run the report anew")
    return record


def undone_since(before: LoadedScenario, text: str, path: str | Path) -> list[str]:
    """Lines of the plan that were in place and are open again in the scenario ``text``, which is the file ``path``."""
    one, other = (estimate(loaded) for loaded in (before, load_scenario_text(text, path)))
    differing = compare(
        Snapshot.of(one, build_plan(one, draws=1)), Snapshot.of(other, build_plan(other, draws=1))
    ).lines
    return [item.name for item in differing if item.note == "undone"]
