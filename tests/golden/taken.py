"""The numbers of one team's results, by names that outlive the classes that hold them.

This is the only place that knows where a number stands in the code: when something there is renamed or moved, this module
follows, and no name here changes. What Afterload writes as JSON (plans, records, answers of ``eta``, the index of a batch) is
taken from there. In a name, what a team calls something stands in brackets: ``queues[jobs].drain_min``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeAlias

import numpy as np

from afterload.batch.index import index_json
from afterload.batch.portfolio import build_portfolio
from afterload.batch.record import team_record
from afterload.clients import client_kinds
from afterload.estimates import Estimates, QueueEstimate, estimate
from afterload.findings.audit import build_audit, inventory_of
from afterload.findings.dependencies import dependency_standings
from afterload.findings.live import live, live_answer
from afterload.findings.live_given import Given, known_given
from afterload.findings.live_words import live_json
from afterload.findings.telemetry import Measured, measure
from afterload.impairments import estimate_control_loops, estimate_flapping, estimate_removals
from afterload.model.coupled import BOUNDS
from afterload.plan import Plan, build_plan, plan_json
from afterload.plan.exercises import build_exercises
from afterload.plan.objectives import verdicts
from afterload.plan.runbook import Runbook, build_runbook
from afterload.plan.worth import MEASURES, measured_recovery
from afterload.recovery.admission import step_caps
from afterload.recovery.build import Coupling, couple
from afterload.recovery.course import QueueRecovery
from afterload.recovery.rates import consumers_rate, room_at
from afterload.recovery.result import CoupledEstimate, Variant, estimate_recovery
from afterload.replays import estimate_replays
from afterload.scenario import LoadedScenario, Reading

__all__ = ["Numbers", "Value", "alone_numbers", "portfolio_numbers", "team_numbers"]

Scalar: TypeAlias = float | int | bool | str | None
Value: TypeAlias = Scalar | list[Scalar]
Numbers: TypeAlias = dict[str, Value]

# Minutes after the restore at which a course is looked at.
COURSE_MIN = (0.0, 15.0, 60.0, 240.0, 960.0)
OBJECTIVES = {"drain": 240.0, "lost": 0.0, "multiplier": 10.0, "attempts": 3_000.0, "launch": 30.0}
CASES = {"as the scenario starts": "start", "collapsed at the restore": "collapsed"}
# Texts of a JSON document that are results and not words about them.
STATES = ("worst_queue", "worst_stack", "slowest_fleet")
# A number in words or in a command: no part of a name, a version, a time of day or an identifier.
NUMBER = re.compile(r"(?<![\w.:/#-])\d[\d,]*(?:\.\d+)?(?![\w:]|-\w|\.\d)")


def team_numbers(loaded: LoadedScenario, draws: int, plan_draws: int) -> tuple[Numbers, dict[str, Any]]:
    """Every number of one team, and its record for the portfolio, with so many draws of its recovery and of its plan."""
    estimates = estimate(loaded)
    coupling = couple(loaded)
    recovery = None if coupling is None else estimate_recovery(coupling, draws)
    plan = build_plan(estimates, draws=plan_draws)
    measured = measure(loaded)
    runbook = build_runbook(estimates, recovery, measured)
    record = team_record(loaded, estimates, plan, recovery)
    found: Numbers = {}
    for name, item in estimates.queues.items():
        found |= _queue(f"queues[{name}]", item)
    for name, cap in step_caps(loaded).items():
        found |= {
            f"queues[{name}].asked_per_min": consumers_rate(loaded.scenario.queues[name]),
            f"queues[{name}].steps.room_per_min": cap.room_per_min,
            f"queues[{name}].steps.cap_per_min": cap.rate_per_min,
            f"queues[{name}].steps.uncapped_per_min": cap.most_per_min,
        }
    found |= _stacks_and_fleets(estimates)
    found |= _clients(loaded)
    found |= _dependencies(loaded, coupling)
    if recovery is not None:
        found |= _recovery(loaded, recovery)
    found |= _plan(plan, estimates)
    found |= _runbook(runbook)
    found |= _exercises(estimates, runbook, coupling)
    found |= _eta(loaded)
    found |= _audit(estimates)
    found |= _gate(estimates, recovery)
    found |= _measured(measured)
    found |= _impairments(loaded)
    found |= _replays(estimates)
    found |= _record(record)
    return found, record


def _record(record: Mapping[str, Any]) -> Numbers:
    """What a record says beside the plan and the inputs."""
    found = _flat("record", {name: record[name] for name in ("outage_min", "met", "results")})
    for item in record["first"]:
        place = ",".join(filter(None, (item["line"], item["part"])))
        found[f"record.first[{place}].{item['measure']}"] = [item["alone"], item["before"], item["after"]]
    shares = record["shares"]
    found["record.concurrency"] = [shares["concurrency"], shares["concurrency_source"]]
    for item in shares["queues"]:
        name = f"record.queues[{item['name']}]"
        asked = ("backlog", "drain_rate_per_min", "drain_concurrency", "drain_min", "fresh_min")
        found[f"{name}.asked"] = [item[key] for key in asked]
        found[f"{name}.arrivals_per_min"] = item["arrivals_per_min"]
    for item in shares["fleets"]:
        found[f"record.fleets[{item['name']}].in_service_min"] = item["in_service_min"]
    return found


def portfolio_numbers(records: Iterable[dict[str, Any]]) -> Numbers:
    """Every number of the index over some teams beyond those of their records."""
    document = json.loads(index_json(build_portfolio(records)))
    found = _flat("totals", document["totals"])
    for item in document["changes"]:
        found |= _flat(f"changes[{item['id']}]", item)
    for item in document["shared"]:
        parts = item.pop("parts", ())
        found |= _flat(f"shared[{item['key']}]", item)
        for part in parts:
            times = [part[key] for key in ("alone_min", "joint_min", "promised_min")]
            found[f"shared[{item['key']}].parts[{part['team_id']},{part['part']}]"] = [part["asks"], *times]
    for team in document["teams"]:
        found[f"teams[{team['id']}].broken_limits"] = list(team["broken_limits"])
        for item in team["missed_together"]:
            found |= _flat(f"teams[{team['id']}].missed_together[{item['objective']}]", item)
    return found


def alone_numbers(loaded: LoadedScenario) -> Numbers:
    """Answers of ``eta`` without a scenario; the one given says only when."""
    typed = Given(cap=40, item_time_s=2.0, tested_per_min=2_400.0, direct_per_min=500.0, attempts_failing=3.0)
    at = loaded.scenario.incident.restored_at
    one = [Reading(at, "queue", 20_000.0, 172.0, arrival_per_min=600.0, service_per_min=1_000.0)]
    two = [*one, Reading(at + timedelta(minutes=10), "queue", 17_000.0, 165.0, error_share=0.2)]
    found: Numbers = {}
    for name, readings in (("one", one), ("two", two)):
        found |= _answer(f"eta.{name}", live_json(live_answer(readings)))
        found |= _answer(f"eta.{name}_typed", live_json(live(readings, known_given(typed, None, "queue"))))
    return found


# --- documents and words -----------------------------------------------------------------------------------------------


def _flat(name: str, part: Any) -> Numbers:
    """The numbers of a JSON document by their keys; what has a name stands under it, and words are left out."""
    if isinstance(part, Mapping):
        found: Numbers = {}
        for key, value in part.items():
            if not isinstance(value, str) or key in STATES:
                found |= _flat(f"{name}.{key}", value)
        return found
    if isinstance(part, list | tuple):
        if any(isinstance(item, Mapping) for item in part):
            found = {}
            for place, item in enumerate(part, 1):
                found |= _flat(f"{name}[{item.get('id') or item.get('name') or place}]", item)
            return found
        return {name: list(part)} if part and not isinstance(part[0], str) else {}
    return {name: part}


def _said(words: Iterable[str]) -> list[Scalar]:
    """The numbers in some sentences or commands, in their order."""
    return [float(text.replace(",", "")) for line in words for text in NUMBER.findall(line)]


def _some(name: str, values: list[Scalar]) -> Numbers:
    return {name: values} if values else {}


# --- answers -----------------------------------------------------------------------------------------------------------


def _queue(name: str, item: QueueEstimate) -> Numbers:
    whole, cap = item.recovery, item.cap
    found: Numbers = {
        f"{name}.drain_min": item.drain_min,
        f"{name}.first_attempt_age_back_min": item.fresh_age_back_min,
        f"{name}.stale_min": item.stale_min,
        f"{name}.at_restore": whole.backlog_at_restore,
        f"{name}.peak": whole.peak_backlog,
        f"{name}.oldest_min": whole.max_age_min,
        f"{name}.served": whole.served,
        f"{name}.expired": whole.expired,
        f"{name}.dead_lettered": whole.dead_lettered,
        f"{name}.expired_recorded": item.expired_recorded,
        f"{name}.lost": item.lost,
        f"{name}.lost_to_retention": whole.lost_to_retention,
        f"{name}.discarded": whole.discarded_past_deadline,
        f"{name}.superseded": whole.superseded,
        f"{name}.rejected": item.rejected,
        f"{name}.set_aside_peak": whole.sidelined_peak,
        f"{name}.service_per_min": item.service_rate_now_per_min,
        f"{name}.catch_up_per_min": item.catch_up_rate_per_min,
        f"{name}.course.waiting": _alone(whole, whole.backlog, item.load.outage_min),
        f"{name}.course.age_min": _alone(whole, whole.first_attempt_age_min, item.load.outage_min),
    }
    if cap is not None:
        found |= {
            f"{name}.cap.room_per_min": cap.room_per_min,
            f"{name}.cap.part_per_min": cap.part_per_min,
            f"{name}.cap.safe_at_once": cap.safe_concurrency,
            f"{name}.cap.safe_per_min": cap.safe_rate_per_min,
            f"{name}.cap.ramp_passes_after_s": cap.ramp_passes_room_after_s,
            f"{name}.cap.drain_per_min": cap.drain_rate_per_min,
            f"{name}.cap.overloads": cap.overloads,
        }
    return found


def _alone(recovery: QueueRecovery, curve: Any, outage_min: float) -> list[Scalar]:
    return _at(recovery.times_min - outage_min, curve)


def _at(times_min: Any, curve: Any) -> list[Scalar]:
    """A course at the fixed times, between the points next to each; nothing for a time after its end."""
    times, values = np.asarray(times_min, dtype=float), np.asarray(curve, dtype=float)
    return [float(np.interp(at, times, values)) for at in COURSE_MIN if at <= times[-1]]


def _held(times_min: Any, curve: Any) -> list[Scalar]:
    """The same for what changes in steps: the value of the last point up to each time."""
    times, values = np.asarray(times_min, dtype=float), np.asarray(curve, dtype=float)
    return [float(values[np.searchsorted(times, at, side="right") - 1]) for at in COURSE_MIN if at <= times[-1]]


def _stacks_and_fleets(estimates: Estimates) -> Numbers:
    found: Numbers = {}
    for name, stack in estimates.stacks.items():
        found |= {
            f"call_stacks[{name}].multiplier": stack.result.multiplier,
            f"call_stacks[{name}].succeeds": stack.result.success_probability,
            f"call_stacks[{name}].calls": list(stack.result.calls_per_top_call),
        }
    for name, fleet in estimates.fleets.items():
        found |= {
            f"fleets[{name}].missing": fleet.missing,
            f"fleets[{name}].in_service_min": fleet.in_service_min,
            f"fleets[{name}].wait_s": fleet.launches.wait_s,
            f"fleets[{name}].binds": fleet.launches.binding,
            f"fleets[{name}].relaunch_s": fleet.relaunch.in_service_s,
            f"fleets[{name}].removal_s": fleet.removal_s,
        }
    return found


def _clients(loaded: LoadedScenario) -> Numbers:
    found: Numbers = {}
    for kind in client_kinds(loaded.scenario):
        name, view = f"clients[{kind.name}]", kind.view()
        found[f"{name}.attempts"] = kind.attempts
        if view is not None:
            found |= {
                f"{name}.unlimited_attempts": view.open_loop,
                f"{name}.retries_held": view.burst_retries,
                f"{name}.sustained_attempts": view.sustained,
                f"{name}.successes_to_refill": view.successes_to_refill,
            }
    return found


def _dependencies(loaded: LoadedScenario, coupling: Coupling | None) -> Numbers:
    found: Numbers = {}
    for item in dependency_standings(coupling):
        name = f"dependencies[{item.name}]"
        found |= {
            f"{name}.room_per_min": room_at(loaded.scenario, item.name).free_per_min,
            f"{name}.drain_room_per_min": room_at(loaded.scenario, item.name).room_per_min,
            f"{name}.capacity_per_min": item.capacity,
            f"{name}.attempts": item.mean_attempts,
            f"{name}.direct_attempts": item.direct_attempts,
            f"{name}.load_per_min": item.load,
            f"{name}.hidden_per_min": item.hidden,
            f"{name}.class": str(item.kind),
            f"{name}.direct_hidden_per_min": item.direct_hidden,
            f"{name}.direct_class": str(item.direct_kind),
        }
    return found


# --- the coupled recovery ----------------------------------------------------------------------------------------------


def _recovery(loaded: LoadedScenario, recovery: CoupledEstimate) -> Numbers:
    found = _variant("recovery.today", recovery.coupling, recovery.today)
    found |= _course("recovery.today", recovery.coupling, recovery.today)
    for other in recovery.others:
        by_steps = recovery.today.system.admission is None and other.system.admission is not None
        found |= _variant(f"recovery.{'seven_steps' if by_steps else 'other_start'}", recovery.coupling, other)
    for measure_name, spread in (("drain_min", recovery.drain), ("first_attempt_age_back_min", recovery.fresh)):
        for name, item in spread.items():
            found[f"recovery.spread.queues[{name}].{measure_name}"] = [item.p10, item.p50, item.p90, item.never]
    measured = measured_recovery(loaded, recovery)
    if measured is not None:
        for name in MEASURES:
            found[f"recovery.team.{name}"] = [measured.likely(name), *measured.spread(name)]
    for mover in recovery.movers:
        label = recovery.coupling.labels[mover.key]
        found[f"recovery.movers[{label}]"] = [mover.at_low, mover.at_high, mover.swing]
    return found


def _variant(name: str, coupling: Coupling, variant: Variant) -> Numbers:
    """The results of one way in which the recovery can go. Counts of one without an end say nothing: they grow with it."""
    result, ends = variant.result, not bool(variant.result.never[0])
    found: Numbers = {
        f"{name}.never": not ends,
        f"{name}.certain": variant.is_certain,
        f"{name}.fallbacks": result.fallbacks[0],
    }
    if variant.system.admission is not None:
        found[f"{name}.steps_begin_min"] = list(result.step_begun_min[0])
    if ends:
        found[f"{name}.end_min"] = result.end_min[0]
    else:
        found[f"{name}.lost_from_min"] = list(result.lost_from_min[0])
        found[f"{name}.unserved_from_min"] = list(result.unserved_from_min[0])
    for place, queue in enumerate(coupling.queues):
        part = f"{name}.queues[{queue}]"
        found |= {
            f"{part}.drain_min": result.drain_min[0, place],
            f"{part}.first_attempt_age_back_min": result.fresh_age_back_min[0, place],
            f"{part}.at_restore": result.backlog_at_restore[0, place],
        }
        if ends and name == "recovery.today":
            found |= {
                f"{part}.peak": result.peak_backlog[0, place],
                f"{part}.arrived": result.arrived[0, place],
                f"{part}.served": result.served[0, place],
            }
        if ends:
            gone = {
                "expired": result.expired[0, place],
                "lost_to_retention": result.lost_to_retention[0, place],
                "discarded": result.discarded_past_deadline[0, place],
                "superseded": result.superseded[0, place],
                "dead_lettered": result.dead_lettered[0, place],
            }
            # What loses nothing needs no line: one comes where it begins to.
            found |= {f"{part}.{key}": items for key, items in gone.items() if items > 0}
        else:
            found[f"{part}.lost_per_min"] = result.lost_per_min[0, place]
        if ends and name == "recovery.today":
            held = zip(BOUNDS, result.bound_min[0, place], strict=True)
            found |= {f"{part}.bound_min.{bound}": minutes for bound, minutes in held if minutes > 0}
    for place, dependency in enumerate(coupling.dependencies):
        part = f"{name}.dependencies[{dependency}]"
        found |= {
            f"{part}.healed_min": result.healed_at_min[0, place],
            f"{part}.peak_attempts_per_min": result.peak_attempts_per_min[0, place],
            f"{part}.unserved_per_min": result.unserved_per_min[0, place],
        }
        if ends:
            found |= {
                f"{part}.collapsed_min": result.time_collapsed_min[0, place],
                f"{part}.direct": [result.direct[0, place], result.direct_served[0, place]],
                f"{part}.direct_lost": [result.failed_direct[0, place], result.shed[0, place]],
            }
    for place, fleet in enumerate(coupling.fleets):
        found[f"{name}.fleets[{fleet}].lowest"] = result.lowest_in_service[0, place]
    return found


def _course(name: str, coupling: Coupling, variant: Variant) -> Numbers:
    course = variant.trace
    times = course.times_min
    found: Numbers = {f"{name}.course.at_min": [at for at in COURSE_MIN if at <= times[-1]]}
    if variant.system.admission is not None:
        found[f"{name}.course.step"] = _held(times, course.step)
    for place, queue in enumerate(coupling.queues):
        part = f"{name}.queues[{queue}].course"
        found |= {
            f"{part}.waiting": _at(times, course.live[:, place] + course.sidelined[:, place]),
            f"{part}.age_min": _at(times, course.first_attempt_age_min[:, place]),
            f"{part}.served": _at(times, course.served[:, place]),
        }
    for place, dependency in enumerate(coupling.dependencies):
        part = f"{name}.dependencies[{dependency}].course"
        found[f"{part}.attempts_per_min"] = _held(times, course.attempts_per_min[:, place])
        found[f"{part}.collapsed"] = _held(times, course.collapsed[:, place])
    for place, fleet in enumerate(coupling.fleets):
        found[f"{name}.fleets[{fleet}].course.in_service"] = _at(times, course.in_service[:, place])
    return found


# --- plan, runbook, exercises ------------------------------------------------------------------------------------------


def _plan(plan: Plan, estimates: Estimates) -> Numbers:
    document = json.loads(plan_json(plan, estimates))
    lines = [line for line in document["changes"] if line["target"]]
    found: Numbers = {}
    for status in ("to do", "needs evidence", "in place", "does not apply"):
        found |= _some(f"plan.{status.replace(' ', '_')}", [line["id"] for line in lines if line["status"] == status])
    for line in lines:
        if line["status"] == "to do":
            found |= _line(f"plan[{line['id']}]", line)
    if plan.appraisal is not None:
        for case, measured in plan.appraisal.planned.items():
            for name in MEASURES:
                found[f"plan.whole.{CASES[case]}.{name}"] = [measured.likely(name), *measured.spread(name)]
    return found


def _line(name: str, line: Mapping[str, Any]) -> Numbers:
    found: Numbers = {f"{name}.effort": [line["effort_days"], line["effort_cost"]]}
    bought = [line[key] for key in ("bought_min", "cost_min", "stale_bought_min")]
    if line["measures"] and any(minutes != 0 for minutes in bought):
        found[f"{name}.bought"] = bought
    for key in ("headroom_units", "headroom_cost_month", "net_year"):
        if line[key] is not None:
            found[f"{name}.{key}"] = line[key]
    for path, value in line["edit"].items():
        found |= _flat(f"{name}.edit[{path}]", value)
    found |= _some(f"{name}.commands", _said([*line["apply"], *line["undo"]]))
    found |= _ways(name, "", line["measures"])
    if len(line["parts"]) > 1:
        for part, cases in line["parts"].items():
            found |= _ways(name, f".of[{part}]", cases)
    return found


def _ways(name: str, part: str, cases: Mapping[str, Any]) -> Numbers:
    """What a line does, alone, to what is in place and where it is left out: of the whole team, or of a part of it."""
    found: Numbers = {}
    for case, ways in cases.items():
        for way, measures in ways.items():
            for measure_name, moved in measures.items():
                numbers = _moved(moved)
                if numbers:
                    found[f"{name}.{CASES[case]}.{way}{part}.{measure_name}"] = numbers
    return found


def _moved(part: Mapping[str, float | None]) -> list[Scalar]:
    """Before, after, P10 and P90 of the difference; nothing for a measure that does not move in any draw."""
    before, after, low, high = part["before"], part["after"], part["p10"], part["p90"]
    scale = max(abs(before or 0.0), abs(after or 0.0), 1.0)
    bought = None if before is None or after is None else before - after
    same = (before is None) == (after is None) and all(abs(each or 0.0) <= 1e-6 * scale for each in (bought, low, high))
    return [] if same else [before, after, low, high]


def _runbook(runbook: Runbook) -> Numbers:
    found: Numbers = {
        "runbook.ends_min": runbook.ends_min,
        "runbook.fallbacks": runbook.fallbacks,
        "runbook.lifting_min": runbook.lifting_min,
        "runbook.holds_min": [step.hold_min for step in runbook.steps],
        "runbook.begins_min": [step.begins_min for step in runbook.steps],
        "runbook.first_attempt_age_back_min": runbook.fresh_back_min,
    }
    for step in runbook.steps:
        name = f"runbook.step{step.number}"
        found |= _some(f"{name}.commands", _said(step.commands))
        found |= _some(f"{name}.admit", _said(step.admit))
        found |= _some(f"{name}.hold", _said(step.hold))
        found |= _some(f"{name}.advance", _said(step.advance))
    for item in runbook.caps:
        name, caps = f"runbook.caps[{item.queue}]", (item.cap, *item.lifts)
        found |= {
            f"{name}.per_min": [cap.rate_per_min for cap in caps],
            f"{name}.at_once": [cap.concurrency for cap in caps],
            f"{name}.as_before": sum(cap.is_as_before for cap in caps),
        }
    for pause in runbook.pauses:
        found[f"runbook.pauses[{pause.fleet}].status"] = pause.status
    return found


def _exercises(estimates: Estimates, runbook: Runbook, coupling: Coupling | None) -> Numbers:
    found: Numbers = {}
    for item in build_exercises(estimates, runbook, coupling):
        name = f"exercises[{item.id}]"
        if item.nothing:
            found[f"{name}.applies"] = False
            continue
        found |= _some(f"{name}.expected", _said(item.expected))
        found |= _some(f"{name}.passes", _said(item.passes))
        found |= _some(f"{name}.faults_min", [fault.minutes for fault in item.faults])
        found |= _some(f"{name}.waits_min", [wait for _, wait in item.commands if wait])
    return found


# --- live, audit, gate -------------------------------------------------------------------------------------------------


def _eta(loaded: LoadedScenario) -> Numbers:
    """What ``eta`` answers to one reading of a queue, to two while its dependency fails, and with values typed over it."""
    found: Numbers = {}
    if loaded.scenario.live is not None and loaded.readings:
        found |= _answer("eta.log", live_json(live_answer(loaded.readings, loaded)))
    incident = loaded.scenario.incident
    for place, (name, queue) in enumerate(loaded.scenario.queues.items()):
        rate = queue.service_rate_per_min
        depth = float(round(0.5 * rate * incident.outage_min))
        at = incident.restored_at + timedelta(minutes=20)
        one = [Reading(at, name, depth, incident.outage_min)]
        later = float(round(max(0.0, depth - 4 * rate)))
        two = [*one, Reading(at + timedelta(minutes=10), name, later, incident.outage_min - 4, error_share=0.2)]
        found |= _answer(f"eta[{name}].one", live_json(live_answer(one, loaded, name)))
        found |= _answer(f"eta[{name}].two", live_json(live_answer(two, loaded, name)))
        if place == 0:
            typed = Given(cap=40, item_time_s=2.0, tested_per_min=1.2 * rate, direct_per_min=0.1 * rate)
            found |= _answer(f"eta[{name}].typed", live_json(live(one, known_given(typed, loaded, name))))
    return found


def _answer(name: str, document: Mapping[str, Any]) -> Numbers:
    found: Numbers = {
        f"{name}.state": document["state"],
        f"{name}.left": document["items_left"],
        f"{name}.failing": document["dependency_failing"],
        f"{name}.next_reading_min": document["next_reading_min"],
        f"{name}.steps": [step["state"] for step in document["steps"]],
        f"{name}.rates_per_min": [document["arrival_per_min"], document["service_per_min"]],
        f"{name}.net_per_min": list(document["net_drain_per_min"].values()),
        f"{name}.empty_min": list(document["empty_min"].values()),
        f"{name}.first_attempts_on_time_min": list(document["first_attempts_on_time_min"].values()),
    }
    if document["empty_at_safe_cap_min"] is not None:
        found[f"{name}.empty_at_safe_cap_min"] = list(document["empty_at_safe_cap_min"].values())
    if document["safe_cap"] is not None:
        found[f"{name}.safe_cap"] = [document["safe_cap"]["rate_per_min"], document["safe_cap"]["concurrency"]]
    if document["changed"] is not None:
        found |= _flat(f"{name}.changed", document["changed"])
    return found


def _audit(estimates: Estimates) -> Numbers:
    audit = build_audit(estimates, inventory_of(estimates.loaded))
    found: Numbers = {f"audit.{severity}": count for severity, count in audit.counts.items()}
    found["audit.gaps"] = len(audit.gaps)
    for item in audit.findings:
        name = f"audit[{item.id}]"
        found[name] = [item.severity, item.cost.amount, item.cost.unit]
        found |= _some(f"{name}.commands", _said((*item.steps.apply, *item.steps.undo)))
    return found


def _gate(estimates: Estimates, recovery: CoupledEstimate | None) -> Numbers:
    found: Numbers = {}
    own = {"fresh": estimates.loaded.scenario.recovery_objective_min}
    for item in verdicts(estimates, own | OBJECTIVES, recovery):
        name = f"gate.{item.name}[{item.subject}].{item.level}"
        found[name] = [item.value, item.met]
    return found


# --- what was measured, and what acts beside the queues ----------------------------------------------------------------


def _measured(measured: Measured | None) -> Numbers:
    found: Numbers = {}
    for item in measured.queues if measured is not None else ():
        name = f"measured[{item.name}]"
        for signal in item.recovery.signals if item.recovery is not None else ():
            found[f"{name}.{signal.signal}.edge"] = signal.edge
            found[f"{name}.{signal.signal}.back_min"] = signal.back_min
        if item.drain is not None:
            found |= {
                f"{name}.at_restore": item.drain.backlog_at_restore,
                f"{name}.drain_min": item.drain.drain_min,
                f"{name}.headroom": [item.drain.headroom_of_rates, item.drain.headroom_of_times],
            }
    return found


def _impairments(loaded: LoadedScenario) -> Numbers:
    found: Numbers = {}
    for loop in estimate_control_loops(loaded):
        found[f"control_loops[{loop.name}].can_stay_down"] = loop.can_stay_down
        for way, run in loop.runs.items():
            numbers: Sequence[Scalar] = (run.recovery_s, run.sends, run.in_time, run.late, run.given_up)
            found[f"control_loops[{loop.name}].{way}"] = [run.verdict, *numbers]
    for fleet in estimate_removals(loaded)[0]:
        for way, course in fleet.courses.items():
            times = (course.below_needed_s, course.back_s, course.full_s)
            found[f"removals[{fleet.name}].{way}"] = [course.lowest, *times, course.removed, course.launched]
    for group in estimate_flapping(loaded)[0]:
        for way, courses in group.courses.items():
            found[f"flapping[{group.name}].{way}"] = [
                value for each in courses for value in (each.lowest, each.below_needed_s, each.zone_exits)
            ]
    return found


def _replays(estimates: Estimates) -> Numbers:
    found: Numbers = {}
    for item in estimate_replays(estimates):
        name = f"idempotency[{item.name}]"
        found |= {
            f"{name}.items": item.items,
            f"{name}.oldest_min": item.oldest_min,
            f"{name}.duplicates": item.expected_duplicates,
            f"{name}.unprotected_share": item.unprotected_share,
        }
    return found
