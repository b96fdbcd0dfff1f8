"""Write what exports offer into a scenario: hand-made values and comments stay, and every value gets its evidence."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from afterload.errors import ScenarioError, UnitError
from afterload.intake.base import SOURCE
from afterload.intake.proposal import Account, Missing, Outcome, Proposal, newest
from afterload.readers.reading import Remark
from afterload.scenario import load_scenario_text
from afterload.scenario.evidence import same_value
from afterload.scenario.fields import Section, section_in
from afterload.scenario.overrides import annotation_at, locate
from afterload.scenario.schema import Scenario
from afterload.yamledit import YamlText
from afterload.yamltree import DataPath

__all__ = ["fill"]

PARTS = frozenset({"queues", "fleets", "clients", "dependencies", "call_stacks"})
# A scenario is read again after each refusal; each drops at least one value.
MOST_ROUNDS = 50


def fill(
    text: str,
    path: str | Path,
    proposals: Iterable[Proposal],
    missing: Iterable[Missing] = (),
    remarks: Iterable[Remark] = (),
    rejected: Collection[str] = (),
) -> Account:
    """The text of a scenario with what exports offer written into it, and the account of every value.

    Parameters:
        text: the scenario as it stands.
        path: the file it is, or will be: files that it names are looked for from there.
        proposals: what exports offer; of several for one field the one exported last counts.
        missing, remarks: what could not be learned and what readers had to say, for the account.
        rejected: paths that whoever imports does not want.

    What :func:`base_scenario` put there until there is a value counts as nothing. A value written by an earlier import, and
    not changed since, is updated; any other value that stands there is kept.
    Parts that lack values which they cannot do without are held back, and a value with which the scenario would be
    wrong is refused, with the reason. Raises :class:`InputError` where the text is no YAML.
    """
    offered = newest(proposals)
    refused: dict[DataPath, str] = {}
    for _ in range(MOST_ROUNDS):
        edit = YamlText(text, str(path))
        outcomes = [_place(edit, item, refused, rejected) for item in offered]
        outcomes = _ranges(edit, _held(edit, text, outcomes))
        final = YamlText(text, str(path))
        written = [outcome.proposal for outcome in outcomes if outcome.fate in ("new", "updated")]
        for item in written:
            final.set(_keys(final.data, item.path), item.value)
        for item in written:
            if item.basis is not None:
                final.set(("evidence", item.name), item.evidence())
        wrong = _problems(final.text, path)
        new = {item.path: reason for item in offered if (reason := _blamed(item, wrong)) and item.path not in refused}
        if not new:
            return Account(final.text, tuple(outcomes), tuple(missing), tuple(remarks))
        refused.update(new)
    return Account(text, tuple(Outcome(item, "refused", reason="too many conflicts") for item in offered))


def _place(edit: YamlText, item: Proposal, refused: dict[DataPath, str], rejected: Collection[str]) -> Outcome:
    keys = _keys(edit.data, item.path)
    before = edit.written(keys)
    if item.name in rejected:
        return Outcome(item, "rejected", before)
    if item.path in refused:
        return Outcome(item, "refused", before, refused[item.path])
    if before is not None and same_value(keys, before, item.value):
        return Outcome(item, "same", before)
    if item.planned:
        return Outcome(
            item, "planned", before, f"not in force before the plan is applied: --set {item.name}=... gives it"
        )
    if before is None:
        return Outcome(item, "new")
    evidence = (edit.written(("evidence",)) or {}).get(item.name)
    if (
        isinstance(evidence, dict)
        and evidence.get("source") == SOURCE
        and same_value(keys, before, evidence.get("value"))
    ):
        # It stood in for a value until there is one.
        return Outcome(item, "new")
    if item.basis == "guessed":
        # Whoever gives a value by hand means it.
        return Outcome(item, "updated", before)
    if isinstance(evidence, dict) and same_value(keys, before, evidence.get("value")):
        return Outcome(item, "updated", before)
    return Outcome(item, "kept", before, "a value made by hand stands there")


def _keys(data: Any, path: DataPath) -> DataPath:
    """The keys under which a value stands: ``retention`` may be written as ``retention_days``."""
    if path[0] == "uncertain":
        # Named by the whole path of the value that it is about.
        return path
    if len(path) >= 2 and path[0] in PARTS and path[1] not in ((data or {}).get(path[0]) or {}):
        return path
    return locate(data, ".".join(map(str, path)), Scenario) if path[0] in Scenario.keys() else path


def _held(edit: YamlText, text: str, outcomes: list[Outcome]) -> list[Outcome]:
    """Hold back new parts, such as a queue or its stream, that lack what they cannot do without."""
    lacking: dict[DataPath, str] = {}
    offered = {outcome.proposal.path for outcome in outcomes if outcome.fate == "new"}
    heads = {path[:end] for path in offered if path[0] in PARTS for end in range(2, len(path))}
    for head in heads:
        found = annotation_at(Scenario, head)
        section = section_in(getattr(found, "annotation", found))
        if edit.get(head) is not None or not (isinstance(section, type) and issubclass(section, Section)):
            continue
        needed = [section.base(name) for name, field in section.model_fields.items() if field.is_required()]
        absent = [name for name in needed if not any(path[: len(head) + 1] == (*head, name) for path in offered)]
        if absent:
            lacking[head] = f"{'.'.join(map(str, head))} also needs {', '.join(absent)}"

    def held(outcome: Outcome) -> Outcome:
        path = outcome.proposal.path
        head = next((path[:end] for end in range(2, len(path)) if path[:end] in lacking), None)
        if outcome.fate != "new" or head is None:
            return outcome
        return Outcome(outcome.proposal, "held", outcome.before, lacking[head])

    return [held(outcome) for outcome in outcomes]


def _ranges(edit: YamlText, outcomes: list[Outcome]) -> list[Outcome]:
    """Ranges go with their values: one of a value that is not taken is not taken either, that of a new one replaces the old."""
    values = {outcome.proposal.name: outcome for outcome in outcomes}
    return [
        _range(edit, outcome, values.get(str(outcome.proposal.path[1])))
        if outcome.proposal.path[0] == "uncertain" and outcome.fate in ("new", "same", "kept")
        else outcome
        for outcome in outcomes
    ]


def _range(edit: YamlText, outcome: Outcome, value: Outcome | None) -> Outcome:
    if value is None:
        return outcome
    item, before = outcome.proposal, outcome.before
    ends = {name: end for name, end in item.value.items() if name != "of"}
    if value.fate in ("held", "refused", "rejected", "planned"):
        return replace(outcome, fate=value.fate, reason=value.reason or "its value is not wanted")
    keys = _keys(edit.data, value.proposal.path)
    stands = value.before if value.fate in ("same", "kept") else value.proposal.value
    if not same_value(keys, stands, item.value.get("of", stands)):
        return replace(outcome, fate="kept", reason="is of a value that is not taken")
    if before is None:
        return outcome
    of = before.get("of") if isinstance(before, dict) else None
    if (
        isinstance(before, dict)
        and {name: before.get(name) for name in ends} == ends
        and of in (None, item.value.get("of"))
    ):
        # Written by an import, before a range said what it is of.
        return replace(outcome, fate="same", reason="")
    if value.fate == "updated" or (of is not None and not same_value(keys, stands, of)):
        return replace(outcome, fate="updated", reason="its value is another one")
    return outcome


def _problems(text: str, path: str | Path) -> list[tuple[str, str]]:
    try:
        load_scenario_text(text, path)
    except ScenarioError as error:
        return [(getattr(problem, "field", ""), getattr(problem, "message", "")) for problem in error.problems]
    except UnitError as error:
        return [("", str(error))]
    return []


def _blamed(item: Proposal, problems: list[tuple[str, str]]) -> str:
    """Why the scenario is wrong with a value; empty text if it is not to blame."""
    for field, message in problems:
        if field and (field == item.name or item.name.startswith(f"{field}.") or field.startswith(f"{item.name}.")):
            return message
    return ""
