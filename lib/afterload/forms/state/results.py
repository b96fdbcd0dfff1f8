"""What a form's scenario comes to: point results at once, uncertainty and the plan when there is time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from afterload.errors import AfterloadError, InputError, ScenarioError
from afterload.estimates import Estimates, estimate
from afterload.findings.backlog_bands import BacklogBand, backlog_bands
from afterload.plan import Plan
from afterload.plan.build import planning
from afterload.plan.worth import edited
from afterload.recovery.result import CoupledEstimate, estimate_recovery
from afterload.scenario import LoadedScenario, Problem
from afterload.scenario.fields import QUOTES
from afterload.scenario.load import load_scenario_tree
from afterload.scenario.problems import dotted
from afterload.slices import Slices, finished
from afterload.yamltree import DataPath, YamlTree, read_text

__all__ = ["Results", "read"]

Problems = dict[str, tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class Results:
    """The results of one scenario: ``recovery`` with its uncertainty, ``bands`` of the backlog, and ``plan`` follow when there
    is time.

    ``has_bands`` says that the first has, which may be that there is none; ``bands`` are None until they have; ``is_whole`` says
    that all have.
    """

    loaded: LoadedScenario
    estimates: Estimates
    recovery: CoupledEstimate | None = None
    bands: tuple[BacklogBand, ...] | None = None
    plan: Plan | None = None
    has_bands: bool = False

    @classmethod
    def of(cls, loaded: LoadedScenario) -> Results:
        """The point results."""
        return cls(loaded, estimate(loaded))

    @property
    def is_whole(self) -> bool:
        """True once uncertainty and plan are there too."""
        return self.has_bands and self.bands is not None and self.plan is not None

    def with_bands(self) -> Results:
        """The same with the coupled recovery and its uncertainty."""
        if self.has_bands:
            return self
        coupling = self.estimates.coupling
        recovery = None if coupling is None else estimate_recovery(coupling)
        return replace(self, recovery=recovery, has_bands=True)

    def with_backlogs(self) -> Results:
        """The same with the bands of the backlog."""
        found = self.with_bands()
        return found if found.bands is not None else replace(found, bands=backlog_bands(found.recovery))

    def whole(self) -> Results:
        """The same with uncertainty and plan."""
        return finished(self.becoming_whole())

    def becoming_whole(self) -> Slices[Results]:
        """The same in slices."""
        found = self.with_backlogs()
        if found.plan is not None:
            return found
        plan = yield from planning(self.estimates)
        return replace(found, plan=plan)

    def changed(self, values: Sequence[tuple[DataPath, Any]]) -> Results:
        """Point results with some values set, without reading the text again.

        Raises :class:`ModelError` or :class:`OverrideError` where the scenario would be wrong.
        """
        return Results.of(edited(self.loaded, [{dotted(path): value} for path, value in values]))


def read(text: str | YamlTree, base: Path) -> tuple[LoadedScenario | None, Problems]:
    """The scenario of a text, or what is wrong with it: messages by the path of the field; under "" what has no field."""
    try:
        tree = text if isinstance(text, YamlTree) else read_text(text, str(base))
        return load_scenario_tree(tree, base), {}
    except ScenarioError as error:
        found: Problems = {}
        for problem in error.problems:
            if isinstance(problem, Problem):
                path, words = _placed(problem, base)
                found[path] = (*found.get(path, ()), words)
        return None, _without_echoes(found) or {"": (str(error),)}
    except (InputError, AfterloadError) as error:
        return None, {"": (str(error),)}


def _placed(problem: Problem, base: Path) -> tuple[str, str]:
    # A form puts quotes where the file needs them.
    what = problem.accepted.removesuffix(QUOTES)
    accepted = f"; accepted: {what}" if what else ""
    if problem.file != str(base) and not problem.file.startswith("--set"):
        # In a file that the scenario names.
        return "", str(problem)
    # A field that a new item needs stands there empty.
    empty = problem.message.startswith(("None ", "nothing "))
    return problem.field, f"{'is missing' if empty else problem.message}{accepted}"


def _without_echoes(found: Problems) -> Problems:
    """Without what is said of a list as a whole because of an item in it."""
    return {
        path: kept
        for path, messages in found.items()
        if (
            kept := tuple(
                words for words in messages if not (words.startswith("has 0 items") and _is_above(path, found))
            )
        )
    }


def _is_above(path: str, found: Problems) -> bool:
    return any(other.startswith(f"{path}.") for other in found)
