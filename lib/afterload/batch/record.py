"""What one team hands to the portfolio: a small record of its results, its plan and what it asks of shared things.

A record is plain data for JSON, so that it can cross processes and be kept beside a packet; ``data/record.schema.json`` has
its form. Times are minutes, rates a minute, launch times minutes from the restore; None is "never" for a time, and "not given"
or "not there" for the rest, as the schema says for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from afterload import limits
from afterload.estimates import Estimates, QueueEstimate
from afterload.findings.audit.facts import Facts
from afterload.findings.audit.inventory import inventory_of
from afterload.model.curves import RateProfile
from afterload.plan import Plan, PlanItem
from afterload.plan.first import first_changes
from afterload.plan.objectives import verdicts
from afterload.plan.whole import worsened
from afterload.plan.worth import CASES, HOLDS, RATES, Difference, Measured, applies, measured_recovery
from afterload.recovery.result import CoupledEstimate
from afterload.report.packet import slug
from afterload.scenario import Fleet, LoadedScenario

__all__ = ["team_record"]

RECORD_VERSION = 1
# Arrivals go into a record hour by hour for so long; then their mean in the long run.
ARRIVALS_H = 48
LAMBDA = ("sqs-lambda", "lambda-async", "stream-lambda")


def team_record(
    loaded: LoadedScenario,
    estimates: Estimates,
    plan: Plan,
    recovery: CoupledEstimate | None,
    *,
    team_id: str | None = None,
    objectives: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """One team's record.

    Parameters:
        loaded, estimates, plan, recovery: the scenario and its results, as the packet has them.
        team_id: stable name of the team over runs; the name of its packet's files if not given.
        objectives: limits by name, as :func:`afterload.plan.objectives.read_objective` reads them; the scenario's own if
            not given.
    """
    scenario = loaded.scenario
    judged = [
        {
            "name": item.name, "subject": item.subject, "limit": _rounded(item.limit), "value": _rounded(item.value),
            "level": item.level, "met": item.met, "words": item.words,
        }
        for item in verdicts(estimates, objectives, recovery)
    ]  # fmt: skip
    incident = scenario.incident
    return {
        "record": RECORD_VERSION,
        "id": team_id or slug(scenario.team),
        "team": scenario.team,
        "owner": scenario.owner,
        "services": sorted({queue.service for queue in scenario.queues.values()}),
        "incident": incident.name,
        "outage_min": _rounded(incident.outage_min),
        "hypothetical": scenario.hypothetical,
        "input_sha256": loaded.digest,
        "objective_min": _rounded(scenario.recovery_objective_min),
        "met": all(item["met"] for item in judged) if judged else None,
        "verdicts": judged,
        "results": _results(estimates, plan, recovery),
        "plan": [_line(plan, item) for item in plan.open],
        "first": _first(plan, objectives or {"fresh": scenario.recovery_objective_min}),
        "worse_than_today": [
            {
                "part": item.part,
                "measure": item.measure,
                "today": _rounded(item.today),
                "planned": _rounded(item.planned),
            }
            for item in worsened(plan)
            if item.case == CASES[0]
        ],
        "costs": None
        if scenario.costs is None
        else {
            "stale_minute": scenario.costs.stale_minute,
            "lost_item": scenario.costs.lost_item,
            "person_day": scenario.costs.person_day,
            "currency": scenario.costs.currency,
        },
        "shares": _shares(loaded, estimates),
        # Whoever writes the files says where they are.
        "links": {},
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(float(value), 6)


def _results(estimates: Estimates, plan: Plan, recovery: CoupledEstimate | None) -> dict[str, Any]:
    """The headline numbers. ``couples`` tells if there is anything to recover: only then is None of a time never."""
    appraisal = plan.appraisal
    today = None if recovery is None else measured_recovery(estimates.loaded, recovery)
    planned: Measured | None = None if appraisal is None else appraisal.planned[CASES[0]]
    worst, stack, fleet = estimates.worst_queue, estimates.worst_stack, estimates.slowest_fleet
    low, high = (None, None) if today is None or recovery is None or not recovery.draws else today.spread("fresh_min")
    return {
        "couples": today is not None,
        "fresh_min": None if today is None else _rounded(today.likely("fresh_min")),
        "fresh_p10_min": _rounded(low),
        "fresh_p90_min": _rounded(high),
        "draws": 0 if recovery is None else recovery.draws,
        "drain_min": None if today is None else _rounded(today.likely("empty_min")),
        "planned_fresh_min": None if planned is None else _rounded(planned.likely("fresh_min")),
        "planned_drain_min": None if planned is None else _rounded(planned.likely("empty_min")),
        **{
            name: _measured(estimates.loaded, today, name)
            for name in ("lost", *RATES.values(), "peak_attempts_per_min")
        },
        HOLDS: None if today is None else _rounded(today.likely(HOLDS)),
        "worst_queue": None if worst is None else worst.name,
        "multiplier": None if stack is None else _rounded(stack.result.multiplier),
        "worst_stack": None if stack is None else stack.name,
        "launch_min": None if fleet is None else _rounded(fleet.in_service_min),
        "slowest_fleet": None if fleet is None else fleet.name,
        "certain": None if recovery is None else recovery.today.is_certain,
    }


def _measured(loaded: LoadedScenario, today: Measured | None, name: str) -> float | None:
    """A number of the recovery today; None where the scenario has nothing that it is of, since 0 would be a result."""
    return None if today is None or not applies(name, loaded.scenario) else _rounded(today.likely(name))


def _first(plan: Plan, objectives: Mapping[str, float]) -> list[dict[str, Any]]:
    """The lines that do most for an objective that is missed, in the plan's order, each with what it does there."""
    return [
        {
            "line": first.item.id, "part": first.miss.part, "measure": first.miss.measure, "alone": first.alone,
            "before": _rounded(first.way[first.miss.measure].before), "after": _rounded(first.way[first.miss.measure].after),
        }
        for first in first_changes(plan, objectives)
        if first.miss is not None
    ]  # fmt: skip


def _line(plan: Plan, item: PlanItem) -> dict[str, Any]:
    worth = None if item.worths is None else item.worths[CASES[0]]
    # Of the queues that it touches where there are several: it may shorten one and lengthen another.
    queues = [] if worth is None else [part for part in worth.parts.values() if "fresh_min" in part.alone] or [worth]
    times = [part.alone[name] for part in queues for name in ("empty_min", "fresh_min")]
    lost = None if worth is None else worth.alone["lost"].bought
    endless = None if worth is None else worth.alone["lost_per_min"].bought
    stale = [part.alone["fresh_min"].bought or 0.0 for part in queues]
    net = plan.net(item)
    return {
        "id": item.id,
        "change": item.change,
        "title": plan.change(item).title,
        "target": item.target,
        "bought_min": _rounded(item.bought_min),
        "cost_min": _rounded(item.cost_min),
        "stale_bought_min": _minutes(item.stale, max([0.0, *stale])),
        "stale_cost_min": _minutes(item.stale, max([0.0, *(0.0 - minutes for minutes in stale)])),
        "ends_never": any(part.alone["empty_min"].ended for part in queues),
        "stale_ends_never": any(part.alone["fresh_min"].ended for part in queues),
        "makes_never": any(time.endless for time in times),
        "lost_more": None if lost is None else _rounded(0.0 - lost),
        "lost_more_per_min": None if endless is None else _rounded(0.0 - endless),
        "effort_days": _rounded(plan.effort_days(item)),
        # The plan's own money, which is of a year, for one event.
        "saves": None if net is None or plan.costs is None else _rounded(net.saved / plan.costs.events_a_year),
    }


def _minutes(told: Difference | None, minutes: float) -> float | None:
    """Minutes; None where the time that is told is never with the change or without it alone."""
    return None if told is None or told.bought is None else _rounded(minutes)


def _shares(loaded: LoadedScenario, estimates: Estimates) -> dict[str, Any]:
    """What the team asks of things that others may ask for too."""
    scenario = loaded.scenario
    shared = scenario.shared
    concurrency, source = shared.concurrency, "scenario"
    if concurrency is None and scenario.exports:
        exported, where = Facts(estimates, inventory_of(loaded)).account_concurrency
        concurrency, source = (None, "") if "default" in where else (exported, "export")
    if concurrency is None:
        concurrency, source = limits.whole("lambda.account_concurrency.default"), "published default"
    return {
        "account": shared.account,
        "region": shared.region,
        "concurrency": concurrency,
        "concurrency_source": source,
        "reserved_elsewhere": shared.reserved_elsewhere,
        "dependencies": [
            {
                "name": name,
                "shared_as": item.shared_as,
                "tested_rate_per_min": _rounded(item.tested_rate_per_min),
                "direct_rate_per_min": _rounded(item.direct_rate_per_min),
                "control_rate_per_min": _rounded(item.control_rate_per_min),
            }
            for name, item in scenario.dependencies.items()
        ],
        "queues": [_queue(item) for item in estimates.queues.values()],
        "fleets": [
            _fleet(item.name, item.fleet, item.missing, item.in_service_min) for item in estimates.fleets.values()
        ],
    }


def _queue(item: QueueEstimate) -> dict[str, Any]:
    queue, recovery = item.queue, item.recovery
    rate = item.service_rate_now_per_min
    concurrency: float | None = None
    if queue.stream is not None:
        concurrency = float(queue.stream.shards * queue.stream.parallelisation)
    elif queue.item_time_s is not None:
        concurrency = rate * queue.item_time_s / 60
    starts, rates = _hourly(item.load.arrivals, item.load.outage_min)
    return {
        "name": item.name,
        # Of several the one that leaves it least.
        "dependency": item.cap.dependency if item.cap is not None else queue.dependency,
        "runs_on_lambda": queue.service in LAMBDA,
        "function": queue.resources.function,
        "reserved_concurrency": queue.reserved_concurrency,
        "cap_concurrency": queue.concurrency_limit,
        # Items in work at once while it drains, by Little's law: rate times time of an item.
        "drain_concurrency": _rounded(concurrency),
        "drain_rate_per_min": _rounded(rate),
        "backlog": _rounded(max(0.0, recovery.backlog_at_restore - recovery.superseded)),
        "arrivals_from_min": starts,
        "arrivals_per_min": rates,
        "drain_min": _rounded(item.drain_min),
        "fresh_min": _rounded(item.fresh_age_back_min),
    }


def _hourly(profile: RateProfile, restore: float) -> tuple[list[float], list[float]]:
    """Mean arrivals of each hour from the restore on, equal neighbours as one, then the mean in the long run."""
    edges = [60.0 * hour for hour in range(ARRIVALS_H + 1)]
    sums = [float(profile.cumulative(restore + edge)) for edge in edges]
    means = [round(max(0.0, later - earlier) / 60, 6) for earlier, later in pairwise(sums)]
    means.append(round(profile.mean_tail_per_min, 6))
    kept = [place for place, mean in enumerate(means) if place == 0 or mean != means[place - 1]]
    return [edges[place] for place in kept], [means[place] for place in kept]


def _fleet(name: str, fleet: Fleet, missing: int, in_service_min: float) -> dict[str, Any]:
    shape = fleet.launch
    return {
        "name": name,
        "missing": missing,
        "per_request": shape.instances_per_request,
        "from_min": _rounded(fleet.launches_from_min),
        "start_delay_s": _rounded(shape.boot_time_s + shape.network_delay_s),
        "request_burst": shape.request_burst,
        "requests_per_s": _rounded(shape.request_refill_per_s),
        "instance_burst": shape.instance_burst,
        "instances_per_s": _rounded(shape.instance_refill_per_s),
        "throttle_factor": _rounded(shape.throttle_factor),
        "other_callers_share": _rounded(shape.other_callers_share),
        "buckets_full": _rounded(shape.buckets_full),
        "in_service_min": _rounded(in_service_min),
    }
