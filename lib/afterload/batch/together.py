"""Objectives that a team meets alone, and misses where it is restored together with the teams that share its limits.

A packet plans with the whole of a limit. Where the portfolio has a queue done later with what all leave each other, the time
that counts for the objective is stretched as that drain is, and is never more than the joint drain itself: the comparison of
the two drains leaves out expiry, ramps and collapse, which a packet's time has. So a miss is told only where both readings
are above the objective.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from afterload.batch.shared import SharedLimit, SharedPart

__all__ = ["Missed", "missed_together"]

# Which objectives are about the drains of queues, and the time of a queue that counts for each.
_OF_QUEUES: Mapping[str, str] = {"fresh": "fresh_min", "drain": "drain_min"}
ROUNDING = 1e-9


@dataclass(frozen=True)
class Missed:
    """An objective that is missed together.

    Attributes:
        objective, limit_min: which one, and the most minutes that it allows.
        key, part: the shared limit, and the queue or fleet that is too late.
        alone_min, together_min: its minutes alone, and together; None for never.
    """

    objective: str
    limit_min: float
    key: str
    part: str
    alone_min: float
    together_min: float | None


def missed_together(record: Mapping[str, Any], broken: tuple[SharedLimit, ...]) -> tuple[Missed, ...]:
    """The objectives of a team that meets all of them alone, and that its broken shared limits break; the latest part of each."""
    if record["met"] is not True:
        return ()
    worst: dict[str, Missed] = {}
    for item in _missed(record, broken):
        before = worst.get(item.objective)
        if before is None or _longer(item.together_min, before.together_min):
            worst[item.objective] = item
    return tuple(worst[name] for name in sorted(worst))


def _longer(one: float | None, other: float | None) -> bool:
    return other is not None and (one is None or one > other)


def _missed(record: Mapping[str, Any], broken: tuple[SharedLimit, ...]) -> Iterator[Missed]:
    queues = {queue["name"]: queue for queue in record["shares"]["queues"]}
    wanted = {item["name"]: float(item["limit"]) for item in record["verdicts"]}
    for limit in broken:
        for part in limit.parts:
            if part.team_id != record["id"]:
                continue
            for name, most in wanted.items():
                alone, together = _times(name, limit, part, queues)
                if alone is not None and (together is None or together > most * (1 + ROUNDING)):
                    yield Missed(name, most, limit.key, part.part, alone, together)


def _times(
    objective: str, limit: SharedLimit, part: SharedPart, queues: Mapping[str, Mapping[str, Any]]
) -> tuple[float | None, float | None]:
    """Minutes of a part alone and together for an objective; the first is None where it says nothing of that objective."""
    if limit.kind == "launches":
        return (part.alone_min, part.joint_min) if objective == "launch" else (None, None)
    if objective not in _OF_QUEUES or part.part not in queues:
        return None, None
    own = queues[part.part].get(_OF_QUEUES[objective])
    if own is None or part.alone_min is None:
        return None, None
    if part.joint_min is None:
        return own, None
    if part.alone_min <= 0:
        return own, own
    return own, max(own, min(part.joint_min, own * part.joint_min / part.alone_min))
