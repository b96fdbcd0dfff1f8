"""Caps that let more through than the dependency was tested to bear, each alone or several together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from afterload import limits
from afterload.findings.audit.concurrency import (
    Reach,
    cap_steps,
    drain_words,
    joined,
    poller_steps,
    quota,
    rate_words,
    reach,
)
from afterload.findings.audit.facts import Backlog, Facts
from afterload.findings.audit.finding import Cost, Finding, Rule
from afterload.findings.audit.steps import Steps, comments
from afterload.model.caps import cap_rate_per_min
from afterload.recovery.rates import CapEstimate
from afterload.units import format_rate

ID = "cap-over-tested-rate"


@dataclass(frozen=True)
class _Capped:
    backlog: Backlog
    found: Reach
    cap: CapEstimate
    item_time_s: float

    @property
    def rate_per_min(self) -> float:
        """What the cap would let through."""
        return cap_rate_per_min(self.found.concurrency, self.item_time_s)

    @property
    def drain_per_min(self) -> float:
        """What the consumers do, which may be less."""
        return min(self.cap.drain_rate_per_min, self.rate_per_min)

    @property
    def safe(self) -> int:
        return min(self.cap.safe_concurrency or 0, limits.whole("lambda.sqs.max_concurrency.maximum"))


def _find(facts: Facts) -> Iterator[Finding]:
    by_dependency: dict[str, list[_Capped]] = {}
    for backlog in facts.of_kind("sqs"):
        today = backlog.today
        if today is None or today.cap is None or today.queue.item_time_s is None or backlog.is_stopped:
            continue
        found = reach(facts, backlog)
        if found is not None and found.is_capped:
            item = _Capped(backlog, found, today.cap, today.queue.item_time_s)
            by_dependency.setdefault(today.cap.dependency, []).append(item)
    for dependency, capped in by_dependency.items():
        names = {item.backlog.name for item in capped}
        over = [item for item in capped if item.rate_per_min > _fit(item, names) * (1 + 1e-9)]
        yield from (_alone(facts, item, _fit(item, names)) for item in over)
        if not over and len(capped) > 1:
            yield from _together(facts, dependency, capped)


def _fit(item: _Capped, capped: set[str]) -> float:
    """What one cap may let through: the queue's part of the room where another drains without a cap, else all of it."""
    return item.cap.room_per_min if capped.issuperset(item.cap.others) else item.cap.part_per_min


def _alone(facts: Facts, item: _Capped, fit: float) -> Finding:
    cap, backlog = item.cap, item.backlog
    part = cap.part_words if fit < cap.room_per_min else ""
    return Finding(
        ID, backlog.target, "high" if cap.overloads else "medium", item.found.words, item.found.where,
        Cost(
            f"{drain_words(item.drain_per_min, fit, f'{_room(cap)}{part}')} The cap would let through "
            f"{rate_words(item.found.concurrency, item.item_time_s)}.",
            max(0.0, item.drain_per_min - fit), "items/min",
        ),
        _steps(facts, item, item.safe), quota=quota(facts, backlog.function_name),
    )  # fmt: skip


def _together(facts: Facts, dependency: str, capped: list[_Capped]) -> Iterator[Finding]:
    room = capped[0].cap.room_per_min
    rate, drain = sum(item.rate_per_min for item in capped), sum(item.drain_per_min for item in capped)
    if rate <= room * (1 + 1e-9):
        return
    parts = ", ".join(f"{item.backlog.name} {rate_words(item.found.concurrency, item.item_time_s)}" for item in capped)
    # Each queue gets its share of the rate; what that is in concurrency depends on its own time for an item.
    caps = [int(item.found.concurrency * room / rate) for item in capped]
    least = limits.whole("lambda.sqs.max_concurrency.minimum")
    steps = [_steps(facts, item, cap) for item, cap in zip(capped, caps, strict=True)]
    yield Finding(
        ID, f"dependencies.{dependency}",
        "high" if sum(item.cap.drain_rate_per_min for item in capped) > room * (1 + 1e-9) else "medium",
        "; ".join(f"{item.backlog.name}: {item.found.words}" for item in capped),
        "; ".join(item.found.where for item in capped),
        Cost(
            f"{drain_words(drain, room, _room(capped[0].cap))} The caps would let through {parts}: "
            f"{format_rate(rate)} together.",
            max(0.0, drain - room), "items/min",
        ),
        (joined(steps) if min(caps) >= least else None) or _by_hand(capped, room, rate),
        quota=quota(facts, capped[0].backlog.function_name),
    )  # fmt: skip


def _by_hand(capped: list[_Capped], room: float, rate: float) -> Steps:
    """Shares that are set in different places, or are too small for the service: said, and not made up."""
    lines = [
        f"{item.backlog.target}: at most {item.found.concurrency * room / rate:.1f} at once is its share"
        for item in capped
    ]
    return Steps(comments(*lines), comments(*(f"{item.backlog.target}: {item.found.words}" for item in capped)))


def _room(cap: CapEstimate) -> str:
    return (
        f"{cap.dependency} was tested to {format_rate(cap.tested_rate_per_min)} and has "
        f"{cap.beside_words}, so {format_rate(cap.room_per_min)} fit"
    )


def _steps(facts: Facts, item: _Capped, cap: int) -> Steps:
    backlog = item.backlog
    pollers = facts.setting(backlog.mapping, "provisioned_maximum")
    if cap < limits.whole("lambda.sqs.max_concurrency.minimum"):
        return Steps(
            comments("direct traffic leaves no room for a cap: test the dependency to a higher rate, or hold it back"),
            comments("nothing was changed"),
        )
    if pollers is not None and pollers.number:
        return poller_steps(facts, backlog, cap)
    return cap_steps(facts, backlog, cap)


RULE = Rule(
    ID,
    "A cap above what the dependency was tested to bear",
    "The backlog then drains faster than the dependency has shown to bear, and can push it down again just after it came back.",
    "recovery planning guide, order of admission; AWS Lambda Developer Guide, maximum concurrency and provisioned mode",
    _find,
)
