"""Write docs/scenario.md from the schema, so that the page cannot differ from what is accepted.

python tools/scenario_page.py [--check]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from pydantic.fields import FieldInfo

from afterload.scenario import (
    bounds_schema,
    capacity_schema,
    coupled_schema,
    evidence_schema,
    retry_schema,
    schema,
    shared_schema,
)
from afterload.scenario.fields import Section, section_in
from afterload.units import format_duration

PAGE = Path(__file__).resolve().parents[1] / "docs" / "scenario.md"
PARTS: tuple[tuple[str, type[Section]], ...] = (
    ("The file", schema.Scenario),
    ("`incident`", schema.Incident),
    ("`shared`", shared_schema.Shared),
    ("`dependencies.NAME`", schema.Dependency),
    ("`dependencies.NAME.direct_rate`, when it is not one rate", schema.DirectRate),
    ("`dependencies.NAME.returning_users`", bounds_schema.ReturningUsers),
    ("`dependencies.NAME.capacity_course` and `queues.NAME.consumer_course`", bounds_schema.ShareCourse),
    ("`steps` of a course, a list", bounds_schema.ShareStep),
    ("`dependencies.NAME.cache`", coupled_schema.Cache),
    ("`queues.NAME`", schema.Queue),
    ("`queues.NAME.arrival_rate`, when it is not one rate", schema.ArrivalRate),
    ("`queues.NAME.calls`, a list of names or of these", bounds_schema.QueueCall),
    ("`queues.NAME.consumers`", bounds_schema.ConsumerCount),
    ("`queues.NAME.connection_pool`", bounds_schema.ConnectionPool),
    ("`queues.NAME.autoscaler`", bounds_schema.Scaling),
    ("`queues.NAME.autoscaler.up` and `down`", bounds_schema.ScalingPolicy),
    ("`queues.NAME.drain_cap`", schema.DrainCap),
    ("`queues.NAME.provisioned_pollers`", capacity_schema.Pollers),
    ("`queues.NAME.ramp`", schema.RampUp),
    ("`queues.NAME.stream`", bounds_schema.StreamShards),
    ("`queues.NAME.idempotency`", retry_schema.Idempotency),
    ("`queues.NAME.resources` and `fleets.NAME.resources`", schema.Resources),
    ("`call_stacks.NAME`", schema.CallStack),
    ("`call_stacks.NAME.layers`, a list", schema.Layer),
    ("`clients.NAME`", schema.Client),
    ("`clients.NAME.retry_limit`, a name of its kinds or these", retry_schema.RetryLimit),
    ("`fleets.NAME`", schema.Fleet),
    ("`fleets.NAME.launch`", schema.LaunchLimits),
    ("`fleets.NAME.removal_automation`, a list of names or of these", schema.Automation),
    ("`fleets.NAME.removal`", capacity_schema.Removal),
    ("`fleets.NAME.target_group`", capacity_schema.TargetGroup),
    ("`control_loops.NAME`", capacity_schema.ControlLoop),
    ("`worker_pools.NAME`", retry_schema.WorkerPool),
    ("`admission`", coupled_schema.AdmissionPlan),
    ("`uncertain.PATH`", coupled_schema.UncertainValue),
    ("`plan_automation`", coupled_schema.PlanAutomation),
    ("`costs`", coupled_schema.Costs),
    ("`evidence.PATH`", evidence_schema.Evidence),
    ("`exports`, a list", evidence_schema.Export),
    ("`telemetry`, a list", evidence_schema.Telemetry),
    ("`live`", evidence_schema.Live),
    ("`postmortem`", evidence_schema.Postmortem),
    ("`postmortem.impact_numbers`, a list", evidence_schema.ImpactNumber),
    ("`postmortem.roles`, a list", evidence_schema.Role),
    ("`postmortem.interactions`, a list", evidence_schema.Interaction),
    ("`postmortem.actions`, a list", evidence_schema.Action),
)
HEAD = """\
# The scenario file

One YAML file a team. `afterload new NAME` writes a commented one; `afterload check FILE` says what is wrong with it, all at once,
with line, field, the value seen and what is accepted; `afterload schema > scenario.schema.json` gives editors completion.
This page is made from the schema by `tools/scenario_page.py`.

## How values are written

- **Rates and durations** are text with a unit under the plain name: `arrival_rate: 1,200/min`, `20/s`, `72,000 per hour`;
  `age_limit: 15 min`, `2 h 52 min`, `90 s`, `4 days`, `PT2H52M`. Or they are bare numbers with the unit at the end of the name:
  `arrival_rate_per_min: 1200` (also `_per_s`, `_per_h`, `_per_day`), `age_limit_s: 900` (also `_ms`, `_min`, `_h`, `_days`).
  A bare number without a unit is refused. In the tables below, such fields are marked *rate* and *duration*.
- **Counts** are whole numbers, with or without thousands commas. **Shares** are between 0 and 1, or text such as `25 %`.
- **Times** carry an offset: `2025-10-19T23:48-07:00`, `2025-10-20T06:48Z`. A time without one is refused, and the
  message says what it would be in the team's zone, with both readings where the hour occurs twice.
- **Optional** fields can be left out or set to `none`.
- **Paths** are relative to the scenario file; `builtin:` names a file that Afterload ships.

Inside braces, quote text with a comma: `{ low: "1,000/min", high: "1,400/min" }`.

## What bounds a recovery

Consumers do the least of all that bounds them: `service_rate`, `consumers` (number x work at once / `item_time`), `drain_cap`,
`reserved_concurrency`, `connection_pool`, batches and partitions of `stream`, `autoscaler`, `ramp`, the `fleet`. Operators may
load a dependency up to `operate_up_to`, its tested rate if not given, less direct and control traffic at their highest.

A `capacity_course` gives the share of a dependency's capacity over time: a partial outage, its steps, a second dip. The incident
may then leave out `trigger` (the first fall below 100 %) and `restored_at` (the first time after it at which every course is at
100 %). Steps have times, or durations from the trigger on. Hours of the day and the days of a series go by the clock of
`time_zone`, through its changes too.

Clients with a `queue` or a `call_stack` are of that alone; those with only a `dependency` stand for all its callers without
clients of their own. Ranges with one name in `moves_with` move together; all others are independent of each other.

## Attached CSV files

| file | columns |
| --- | --- |
| `incident.timeline`, `postmortem.timeline` | `at`, `event`, and perhaps `end`, `subsystem`, `kind`, `source`, `status`, `note` |
| `incident.impacts` | `service`, `start`, `end`, and perhaps `start_is_lower_bound`, `note`, `impact` (its kind) |
| `live.log` | `at`, `queue`, `depth`, and perhaps `age_min` and others: see [live.md](live.md) |
| `arrival_rate.series`, `direct_rate.series` | `at` and one of `rate_per_min`, `rate_per_s`, `rate_per_h`, `count` |
| `capacity_course.series`, `consumer_course.series` | `at`, `share` |
| `stream.offsets` | `partition` and one of `lag`, `share`; or what `kafka-consumer-groups --describe` shows of one topic |

The `status` of an entry is `confirmed` (seen in a log, a metric or a record), `reported` (somebody says so) or `disputed`
(sources disagree; the `note` says how), or empty. `source` is who says it; without one the file speaks.

A value of a series holds from its time to the next; a `count` belongs to the period that begins at its time. A series that
does not cover the incident is laid over it by whole days (whole weeks, if it has them), and the packet says so.
"""


def kind(section: type[Section], name: str, field: FieldInfo) -> str:
    quantity = section.quantities().get(name)
    if quantity is not None:
        return f"{quantity.kind}{', a list' if quantity.many else ''}"
    if section_in(field.annotation) is not None:
        return "see below"
    text = str(field.annotation)
    choices = re.search(r"Literal\[(.*?)\]", text)
    if choices is not None:
        words = ", ".join(part.strip(" '") for part in choices[1].split(","))
        return f"a list of {words}" if text.startswith("tuple") else f"one of {words}"
    return {"int": "count", "bool": "true or false", "float": "number"}.get(
        text.removeprefix("<class '").removesuffix("'>").split(" |")[0], "text"
    )


def default(section: type[Section], name: str, field: FieldInfo) -> str:
    """A default as the file may write it under the plain name of the field, with its unit; "required" where there is none."""
    if field.is_required():
        return "" if name in section.follows else "required"
    value = field.default
    if value is None or value in ({}, ()) or isinstance(value, Section):
        return ""
    quantity = section.quantities().get(name)
    if isinstance(value, bool):
        return str(value).lower()
    if quantity is not None and quantity.suffix == "min" and value >= 120:
        return format_duration(value)
    if quantity is not None and quantity.kind == "rate":
        # A field may hold another unit than items a minute: the suffix of its name tells which.
        return f"{value:.15g}/{quantity.suffix.removeprefix('per_')}"
    if quantity is not None:
        return f"{value:.15g} {quantity.suffix}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    return f"{value:.15g}" if isinstance(value, int | float) else str(value)


def page() -> str:
    lines = [HEAD]
    for title, section in PARTS:
        lines += [f"## {title}", "", (section.__doc__ or "").split("\n")[0], ""]
        lines += ["| field | what | kind | default |", "| --- | --- | --- | --- |"]
        for name, field in section.model_fields.items():
            words = (field.description or "").replace("|", "\\|")
            cells = (f"`{section.base(name)}`", words, kind(section, name, field), default(section, name, field))
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != page():
        sys.exit("docs/scenario.md differs from the schema: run python tools/scenario_page.py")


if __name__ == "__main__":
    main()
