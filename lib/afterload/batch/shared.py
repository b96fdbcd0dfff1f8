"""Shared limits: what teams promise that plan with the whole of an account, a region or a dependency, and what there is.

Teams that give the same account and region share its concurrency and its launch buckets. Dependencies are the same where they
have the same ``shared_as``, or the same name and the same tested rate in the same account and region. All teams are taken to be
restored at the same moment, as after the loss of a region.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from afterload.errors import ModelError
from afterload.model.launches import BucketLimits
from afterload.model.sharing import Draining, LaunchDemand, drain_together, launch_together

__all__ = ["METHODS", "SharedLimit", "SharedPart", "shared_limits"]

Kind = Literal["dependency", "concurrency", "launches"]
Record = Mapping[str, Any]
# Sums and times that differ by less than this share are the same.
SAME = 1e-9
# Fleets that are later by no more than this are told, and not counted as a broken promise.
NOTICEABLE_MIN = 1.0

METHODS: Mapping[Kind, str] = {
    "dependency": (
        "Each team's packet plans with the whole tested rate, less direct and control traffic as it states them. Together: the "
        "tested rate less those of all, shared by max-min fairness at every moment among the backlogs that still drain, each "
        "up to the rate of its own consumers; what a team does not use goes to the others. Where teams state different tested "
        "rates, the lowest holds. Such traffic is each team's own, and summed, where they name the dependency with "
        "shared_as; without it each states all that reaches the dependency, and the largest is taken once. All are restored "
        "at the same moment; every item is one call; expiry, ramps and collapse are left out on both sides of the comparison."
    ),
    "concurrency": (
        "Each team's packet plans as if no other function ran. A queue asks for its cap, or without one for the concurrency of "
        "its drain (rate times time of an item). Reserved concurrency is taken off the limit first, once for each function; the "
        "rest is shared by max-min fairness at every moment among the backlogs that still drain. Synchronous functions and "
        "queues without an item time are not counted, so the sum is a lower bound."
    ),
    "launches": (
        "Each team's packet plans with full launch buckets of its own. Together: all requests go through one pair of buckets, "
        "in turns: the fleet with the fewest requests admitted so far asks next. Where teams state different buckets, the "
        "smallest hold, with the least share of other callers, since those may be the teams of this page. Less than a minute "
        "late counts as enough."
    ),
}


@dataclass(frozen=True)
class SharedPart:
    """What one part of one team asks of a shared limit.

    Attributes:
        team_id, part: whose, and which queue or fleet.
        asks: in the limit's unit.
        alone_min: minutes from the restore with the whole limit for this team; None for never.
        joint_min: the same with what all leave each other; None for never.
        promised_min: minutes that the packet states for the same part, with all it counts in; None for never.
    """

    team_id: str
    part: str
    asks: float
    alone_min: float | None
    joint_min: float | None
    promised_min: float | None

    @property
    def late_min(self) -> float | None:
        """Minutes by which it is later together than alone; None where it then never ends, or never did."""
        if self.alone_min is None or self.joint_min is None:
            return None
        return max(0.0, self.joint_min - self.alone_min)

    @property
    def never_together(self) -> bool:
        """True if it ends alone, and together never."""
        return self.alone_min is not None and self.joint_min is None


@dataclass(frozen=True)
class SharedLimit:
    """One limit that several teams share.

    Attributes:
        key: stable name over runs.
        kind, name: what it is, and what people call it.
        limit, unit: what there is. For launches: instances that a full bucket holds.
        taken: what is taken before the parts share the rest: direct and control traffic, or reserved concurrency.
        asked: the sum of what all ask, ``taken`` included.
        broken: True if the packets promise more than there is.
        parts: what each team asks, in the order of the teams.
        notes: what was assumed.
    """

    key: str
    kind: Kind
    name: str
    limit: float
    unit: str
    taken: float
    asked: float
    broken: bool
    parts: tuple[SharedPart, ...]
    notes: tuple[str, ...] = ()

    @property
    def teams(self) -> tuple[str, ...]:
        """Ids of the teams that share it, each once, in order."""
        return tuple(dict.fromkeys(part.team_id for part in self.parts))

    @property
    def alone_min(self) -> float | None:
        """Minutes until the slowest part is done with the whole for its team; None: one of them never is."""
        return _slowest(part.alone_min for part in self.parts)

    @property
    def joint_min(self) -> float | None:
        """Minutes until all are done together; None: one of them never is."""
        return _slowest(part.joint_min for part in self.parts)

    @property
    def latest(self) -> SharedPart:
        """The part that is later by most; one that never ends together before all others."""
        return max(self.parts, key=lambda part: (part.never_together, part.late_min or 0.0))

    @property
    def over(self) -> float:
        """By how much more is asked than there is; 0 where it fits."""
        return max(0.0, self.asked - self.limit)


def _slowest(times: Iterable[float | None]) -> float | None:
    found = list(times)
    known = [time for time in found if time is not None]
    return None if len(known) < len(found) else max(known, default=0.0)


def shared_limits(records: Sequence[Record]) -> tuple[SharedLimit, ...]:
    """Every limit that two or more teams share: those that are broken first, of these what makes teams latest."""
    found = [*_dependencies(records), *_concurrency(records), *_launches(records)]

    def rank(item: SharedLimit) -> tuple[bool, bool, float, str, str]:
        late = item.latest.late_min or 0.0
        return not item.broken, not item.latest.never_together, -late, item.name, item.key

    return tuple(sorted(found, key=rank))


def _groups(records: Sequence[Record]) -> dict[tuple[str, str], list[Record]]:
    """Teams by account and region; only places that two or more teams give."""
    places: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in records:
        shares = record["shares"]
        if shares["account"] is not None:
            places[shares["account"], shares["region"] or ""].append(record)
    return {place: teams for place, teams in sorted(places.items()) if len(teams) > 1}


def _place_name(account: str, region: str) -> str:
    return f"{account}, {region}" if region else f"{account}, region not given"


def _dependencies(records: Sequence[Record]) -> Iterable[SharedLimit]:
    users: dict[str, list[tuple[Record, Mapping[str, Any]]]] = defaultdict(list)
    names: dict[str, str] = {}
    for record in records:
        shares = record["shares"]
        for item in shares["dependencies"]:
            if item["shared_as"] is not None:
                key, name = f"dependency {item['shared_as']}", item["shared_as"]
            elif shares["account"] is not None and shares["region"] is not None:
                # A name alone proves little; teams that mean one thing by it also agree on what it was tested to bear.
                name = f"{item['name']} in {shares['account']}, {shares['region']}"
                key = f"dependency {name} of {item['tested_rate_per_min']:g} a minute"
            else:
                continue
            names[key] = name
            users[key].append((record, item))
    for key, uses in sorted(users.items()):
        if len({record["id"] for record, _ in uses}) > 1:
            yield _dependency(key, names[key], uses)


def _dependency(key: str, name: str, uses: Sequence[tuple[Record, Mapping[str, Any]]]) -> SharedLimit:
    rates = [float(item["tested_rate_per_min"]) for _, item in uses]
    tested = min(rates)
    stated = [_other_traffic(item) for _, item in uses]
    # With shared_as it is each team's own traffic; without, all that reaches it, which every team states again.
    is_own = all(item["shared_as"] is not None for _, item in uses)
    other = sum(stated) if is_own else max(stated)
    mine: list[tuple[str, Mapping[str, Any], float | None]] = []
    for record, item in uses:
        queues = [queue for queue in record["shares"]["queues"] if queue["dependency"] == item["name"]]
        whole = max(0.0, float(item["tested_rate_per_min"]) - _other_traffic(item))
        alone = drain_together([_draining(queue) for queue in queues], whole)
        mine += [(record["id"], queue, time) for queue, time in zip(queues, alone, strict=True)]
    joint = drain_together([_draining(queue) for _, queue, _ in mine], max(0.0, tested - other))
    parts = [
        SharedPart(team, queue["name"], float(queue["drain_rate_per_min"]), alone, together, queue["drain_min"])
        for (team, queue, alone), together in zip(mine, joint, strict=True)
    ]
    # Teams that only call it directly take part in the sum, and have no backlog that could be late.
    with_queue = {part.team_id for part in parts}
    parts += [
        SharedPart(record["id"], "direct and control traffic", 0.0, 0.0, 0.0, 0.0)
        for record, _ in uses
        if record["id"] not in with_queue
    ]
    asked = other + sum(part.asks for part in parts)
    notes: tuple[str, ...] = ()
    if not is_own:
        notes = ("Taken as one, since name, account, region and tested rate are the same; shared_as would say so.",)
        if other > 0:
            notes = (*notes, _taken_once(min(stated), other))
    if max(rates) > tested * (1 + SAME):
        notes = (
            *notes,
            f"Teams state tested rates from {tested:,.6g} to {max(rates):,.6g} a minute; the lowest holds.",
        )
    return SharedLimit(
        key,
        "dependency",
        name,
        tested,
        "calls a minute",
        other,
        asked,
        asked > tested * (1 + SAME),
        tuple(parts),
        notes,
    )


def _other_traffic(item: Mapping[str, Any]) -> float:
    return float(item["direct_rate_per_min"]) + float(item["control_rate_per_min"])


def _taken_once(least: float, most: float) -> str:
    spread = (
        f"; teams state from {least:,.6g} to {most:,.6g}, and the largest holds" if least < most * (1 - SAME) else ""
    )
    return (
        "Direct and control traffic is taken once, since without shared_as every team states all that reaches the dependency"
        f"{spread}."
    )


def _draining(queue: Mapping[str, Any], units: float = 1.0) -> Draining:
    return Draining(
        backlog=float(queue["backlog"]),
        starts_min=tuple(float(start) for start in queue["arrivals_from_min"]),
        arrivals_per_min=tuple(float(rate) for rate in queue["arrivals_per_min"]),
        rate_per_min=float(queue["drain_rate_per_min"]),
        units=units,
    )


def _concurrency(records: Sequence[Record]) -> Iterable[SharedLimit]:
    for (account, region), teams in _groups(records).items():
        queues = [
            (record, queue) for record in teams for queue in record["shares"]["queues"] if queue["runs_on_lambda"]
        ]
        counted = [
            (record, queue) for record, queue in queues if queue["drain_concurrency"] and queue["drain_rate_per_min"]
        ]
        if len({record["id"] for record, _ in counted}) < 2:
            continue
        stated = [
            share["concurrency"] for share in _shares(teams) if share["concurrency_source"] != "published default"
        ]
        limit = float(min(stated, default=min(share["concurrency"] for share in _shares(teams))))
        elsewhere = float(max(share["reserved_elsewhere"] for share in _shares(teams)))
        reserved = _reserved(queues)
        taken = elsewhere + sum(reserved.values())
        free = [(record, queue) for record, queue in counted if queue["reserved_concurrency"] is None]
        alone: dict[tuple[str, str], float | None] = {}
        for record in teams:
            own = [queue for each, queue in free if each is record]
            left = (
                limit - elsewhere - sum(_reserved([(record, queue) for queue in record["shares"]["queues"]]).values())
            )
            times = drain_together([_weighed(queue) for queue in own], max(0.0, left))
            alone |= {(record["id"], queue["name"]): time for queue, time in zip(own, times, strict=True)}
        joint = drain_together([_weighed(queue) for _, queue in free], max(0.0, limit - taken))
        parts = tuple(
            SharedPart(
                record["id"],
                queue["name"],
                float(queue["cap_concurrency"] or queue["drain_concurrency"]),
                alone[record["id"], queue["name"]],
                together,
                queue["drain_min"],
            )
            for (record, queue), together in zip(free, joint, strict=True)
        )
        if not parts:
            continue
        asked = taken + sum(part.asks for part in parts)
        notes = (
            [] if stated else [f"No team states the account's limit: the published default of {limit:,.0f} is taken."]
        )
        if stated and max(stated) > limit:
            notes.append(f"Teams state limits from {limit:,.0f} to {max(stated):,.0f}; the lowest holds.")
        drains = sum(float(queue["drain_concurrency"]) for _, queue in free)
        if asked > limit * (1 + SAME) and taken + drains <= limit * (1 + SAME):
            notes.append(f"The drains themselves need {drains:,.0f} at once and fit; the caps allow for more.")
        if len(queues) > len(counted):
            notes.append(f"Not counted, for want of an item time: {len(queues) - len(counted):,} queues.")
        yield SharedLimit(
            f"concurrency of {account} {region}", "concurrency", _place_name(account, region), limit, "at once", taken, asked,
            asked > limit * (1 + SAME), parts, tuple(notes),
        )  # fmt: skip


def _shares(teams: Sequence[Record]) -> list[Mapping[str, Any]]:
    return [record["shares"] for record in teams]


def _weighed(queue: Mapping[str, Any]) -> Draining:
    return _draining(queue, float(queue["drain_concurrency"]) / float(queue["drain_rate_per_min"]))


def _reserved(queues: Iterable[tuple[Record, Mapping[str, Any]]]) -> dict[str, float]:
    """Reserved concurrency by function, each function once."""
    found: dict[str, float] = {}
    for record, queue in queues:
        if queue["reserved_concurrency"] is not None:
            function = queue["function"] or f"{record['id']}: {queue['name']}"
            found[function] = max(found.get(function, 0.0), float(queue["reserved_concurrency"]))
    return found


def _launches(records: Sequence[Record]) -> Iterable[SharedLimit]:
    for (account, region), teams in _groups(records).items():
        fleets = [(record, fleet) for record in teams for fleet in record["shares"]["fleets"] if fleet["missing"]]
        if len({record["id"] for record, _ in fleets}) < 2:
            continue
        lowest = {
            name: min(float(fleet[name]) for _, fleet in fleets)
            for name in (
                "request_burst", "requests_per_s", "instance_burst", "instances_per_s", "throttle_factor",
                "other_callers_share", "buckets_full",
            )
        }  # fmt: skip
        buckets = BucketLimits(
            lowest["request_burst"], lowest["requests_per_s"], lowest["instance_burst"], lowest["instances_per_s"]
        )
        notes: tuple[str, ...] = ()
        if any(float(fleet[name]) > value * (1 + SAME) for _, fleet in fleets for name, value in lowest.items()):
            notes = ("Teams state different buckets; the smallest hold.",)
        try:
            left = buckets.left_over(lowest["throttle_factor"], lowest["other_callers_share"])
        except ModelError:
            left = BucketLimits(1.0, buckets.requests_per_s, 1.0, buckets.instances_per_s)
            notes = (*notes, "The smallest figures leave no whole request: buckets of one are taken.")
        waits = launch_together(
            [
                LaunchDemand(fleet["missing"], fleet["per_request"], 60 * float(fleet["from_min"]))
                for _, fleet in fleets
            ],
            left,
            lowest["buckets_full"],
        )
        parts = tuple(
            SharedPart(
                record["id"],
                fleet["name"],
                float(fleet["missing"]),
                float(fleet["in_service_min"]),
                None if wait is None else (wait + float(fleet["start_delay_s"])) / 60,
                float(fleet["in_service_min"]),
            )
            for (record, fleet), wait in zip(fleets, waits, strict=True)
        )
        broken = any(part.never_together or (part.late_min or 0.0) > NOTICEABLE_MIN for part in parts)
        notes = (*notes, f"Once the buckets are spent: {60 * left.instances_per_s:,.6g} instances a minute for all.")
        yield SharedLimit(
            f"launches of {account} {region}", "launches", _place_name(account, region), left.instance_burst,
            "instances", 0.0, sum(part.asks for part in parts), broken, parts, notes,
        )  # fmt: skip
