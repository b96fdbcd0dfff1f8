"""What the headline numbers rest on: for every input of theirs where it came from, and how old that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from afterload.estimates import Estimates
from afterload.figures.figure import Table
from afterload.findings.windows import other_events
from afterload.scenario import LoadedScenario
from afterload.scenario.evidence import Basis, Standing, standing
from afterload.units import format_duration

__all__ = ["evidence_doubts", "evidence_table", "rest_words", "rests"]

BASES: dict[Basis, str] = {
    "measured": "measured",
    "default": "default",
    "stated": "stated",
    "guessed": "no source",
    "changed": "changed since it was measured",
    "overridden": "set for this run",
}


# What the drain of a queue rests on where the scenario gives it.
PERHAPS = (
    "drain_cap", "reserved_concurrency", "consumers", "connection_pool", "autoscaler", "consumer_course", "stream", "age_limit",
    "order",
)  # fmt: skip
OF_DEPENDENCY = ("capacity_course", "throttles_at", "operate_up_to")


@dataclass(frozen=True)
class Rested:
    """A headline number and the inputs that it rests on."""

    number: str
    inputs: tuple[Standing, ...]


def as_of(loaded: LoadedScenario) -> datetime:
    """The moment for which ages are told: that of the scenario, else the begin of today (UTC)."""
    given = loaded.scenario.as_of
    return given or datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def rests(estimates: Estimates) -> list[Rested]:
    """The headline numbers in their order, each with its inputs."""
    loaded, found = estimates.loaded, []
    queue, stack, fleet = estimates.worst_queue, estimates.worst_stack, estimates.slowest_fleet
    if queue is not None:
        always = [f"queues.{queue.name}.{name}" for name in ("arrival_rate", "service_rate")]
        perhaps = [f"queues.{queue.name}.{name}" for name in PERHAPS]
        for call in queue.queue.all_calls:
            perhaps += [f"dependencies.{call.dependency}.{name}" for name in OF_DEPENDENCY]
        paths = ["incident.trigger", "incident.restored_at", *always]
        paths += [path for path in perhaps if _written(loaded, path)]
        found.append(_rested(loaded, f"stale processing of {queue.name}", paths))
    if stack is not None:
        paths = [f"call_stacks.{stack.name}.{name}" for name in ("layers", "failure_probability")]
        found.append(_rested(loaded, f"calls at the bottom of {stack.name}", paths))
    if fleet is not None and fleet.missing:
        paths = [f"fleets.{fleet.name}.{name}" for name in ("running", "needed", "launch")]
        found.append(_rested(loaded, f"launch of what {fleet.name} lacks", paths))
    return found


def _written(loaded: LoadedScenario, path: str) -> bool:
    return standing(loaded, path).value is not None


def _rested(loaded: LoadedScenario, number: str, paths: list[str]) -> Rested:
    return Rested(number, tuple(standing(loaded, path) for path in paths))


def rest_words(rested: Rested) -> str:
    """In a few words: ``rests on 2 measured inputs, 1 without a source``."""
    counts = Counter(item.basis for item in rested.inputs)
    parts = [f"{counts[basis]} {words}" for basis, words in BASES.items() if counts[basis]]
    return f"inputs: {', '.join(parts)}"


def _age(item: Standing, at: datetime) -> str:
    days = item.age_days(at)
    if days is None:
        return ""
    return "less than a day" if days < 1 else format_duration(int(days) * 1440)


def evidence_table(estimates: Estimates) -> Table:
    """Every input of the headline numbers, with where it came from and the age of the export."""
    at = as_of(estimates.loaded)
    rows = [
        (rested.number, item.path, _shown(item.value), BASES[item.basis], item.where, _age(item, at))
        for rested in rests(estimates)
        for item in rested.inputs
    ]
    return Table(
        ("number", "rests on", "value", "basis", "from", "age"), tuple(rows),
        caption="What the headline numbers rest on",
    )  # fmt: skip


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return f"{len(value)} given"
    if isinstance(value, dict):
        return (
            ", ".join(f"{key} {item}" for key, item in value.items() if not isinstance(item, list | dict))[:80]
            or "given"
        )
    return str(value)


def evidence_doubts(loaded: LoadedScenario) -> list[str]:
    """Records of another event, evidence that is too old, and values that were changed since they were measured."""
    return list(_doubts(loaded))


def _doubts(loaded: LoadedScenario) -> Iterator[str]:
    for path, why in other_events(loaded):
        yield f"Of another event: {path}: {why}."
    at, limit = as_of(loaded), loaded.scenario.evidence_limit_min
    items = [standing(loaded, path) for path in loaded.scenario.evidence]
    old = [item for item in items if (item.age_days(at) or 0) * 1440 > limit]
    if old:
        oldest = max(item.age_days(at) or 0 for item in old)
        yield (
            f"Old evidence: {len(old)} of {len(items)} values come from exports older than {format_duration(limit)} (the "
            f"oldest {format_duration(int(oldest) * 1440)}): export again and import, and see what has drifted: "
            f"{', '.join(sorted(item.path for item in old)[:6])}{', ...' if len(old) > 6 else ''}."
        )
    changed = sorted(item.path for item in items if item.basis == "changed")
    if changed:
        yield f"Changed by hand since it was measured: {', '.join(changed)}."
    for path, why in loaded.outdated.items():
        yield f"Left out: {path}: {why}."
