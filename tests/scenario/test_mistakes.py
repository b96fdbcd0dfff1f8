"""Mistakes that people make in a scenario: each gives one clear message, and all are reported at once.

A row edits the shipped example: a piece of its text is replaced, and ``@@`` in the new text marks the line that the
message must name.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from afterload import cli
from afterload.errors import InputError, ScenarioError
from afterload.scenario import load_scenario

Write = Callable[..., Path]


class Mistake(NamedTuple):
    old: str
    new: str
    field: str
    seen: str
    accepted: str
    yaml: bool = False  # refused while the file is read as YAML
    extra: tuple[str, str] | None = None  # another edit, which alone would be no mistake


QUEUE = "    service: sqs-lambda\n"
RATE = "    arrival_rate: 1,200/min\n"
LAUNCH = "      boot_time: 120 s\n"
RUNNING = "    running: 600\n"
DEPENDENCY = "    dependency: orders-table\n    resources:"
TIMELINE = "  timeline: builtin:incidents/us-east-1-2025-10-20/timeline.csv\n"
RATE_TEXT = '"1,200/min", "20/s"'
DURATION_TEXT = '"15 min", "2 h 52 min", "90 s"'
NUMBER_TEXT = 'a number such as 1200, "1,200" or 0.5'
COUNT_TEXT = 'a whole number such as 1200 or "1,200"'
SHARE_TEXT = 'a share between 0 and 1, or a percentage such as "25 %"'
QUEUE_KEYS = "the keys age_limit, arrival_rate, attempts_while_failing, autoscaler, backlog_before"

MISTAKES: dict[str, Mistake] = {
    # the top
    "team missing": Mistake("team: Orders\n", "@@", "team", "is missing", "The team's name"),
    "team empty": Mistake("team: Orders\n", '@@team: ""\n', "team", "is empty", "some text"),
    "team blank": Mistake("team: Orders\n", '@@team: "  "\n', "team", "is empty", "some text"),
    "team null": Mistake("team: Orders\n", "@@team:\n", "team", "None is not text", "put quotes around it"),
    "team a truth value": Mistake(
        "team: Orders\n", "@@team: true\n", "team", "True is not text", "put quotes around it"
    ),
    "team a list": Mistake("team: Orders\n", "@@team: [Orders]\n", "team", "['Orders'] is not text", "put quotes"),
    "team of two lines": Mistake(
        "team: Orders\n", '@@team: "Orders\\nand more"\n', "team", "is not one short line", "at most 200 printable"
    ),
    "team endless": Mistake(
        "team: Orders\n", f"@@team: {'x' * 300}\n", "team", "is not one short line", "200 printable"
    ),
    "unknown key with a neighbour": Mistake(
        "owner: Orders on-call\n",
        "@@ownr: Orders on-call\n",
        "ownr",
        "unknown key; nearest: owner",
        "the keys admission, as_of, call_stacks",
    ),
    "unknown key like nothing": Mistake(
        "owner: Orders on-call\n",
        "@@xyzzy: 5\n",
        "xyzzy",
        "unknown key;",
        "recovery_objective, shared, team, telemetry, time_zone",
    ),
    "section in the singular": Mistake(
        "fleets:\n  checkout-api:",
        "@@fleet:\n  checkout-api:",
        "fleet",
        "unknown key; nearest: fleets",
        "the keys admission, as_of, call_stacks",
    ),
    "key in capitals": Mistake(
        "owner: O", "@@OWNER: O", "OWNER", "unknown key; nearest: owner", "the keys admission, as_of, call_stacks"
    ),
    "zone abbreviated": Mistake(
        "America/Los_Angeles", "PDT@@", "time_zone", "'PDT' is not a time zone", 'such as "America/Los_Angeles"'
    ),
    "zone misspelt": Mistake(
        "America/Los_Angeles", "America/Los_Angelos@@", "time_zone", "nearest: America/Los_Angeles", "an IANA name"
    ),
    "zone with a space": Mistake(
        "America/Los_Angeles", "America/Los Angeles@@", "time_zone", "nearest: America/Los_Angeles", "an IANA name"
    ),
    "zone that YAML once took for false": Mistake(
        "America/Los_Angeles", "NO@@", "time_zone", "'NO' is not a time zone", "an IANA name"
    ),
    "zone as an offset": Mistake("America/Los_Angeles", "-07:00@@", "time_zone", "'-07:00' is not", "an IANA name"),
    "zone missing": Mistake("time_zone: America/Los_Angeles\n", "", "time_zone", "is missing", "The team's time zone"),
    "hypothetical yes": Mistake(
        "hypothetical: true", "@@hypothetical: yes", "hypothetical", "'yes' is not a truth value", "true or false"
    ),
    "hypothetical 1": Mistake(
        "hypothetical: true", "@@hypothetical: 1", "hypothetical", "1 is not a truth value", "true or false"
    ),
    "hypothetical quoted": Mistake(
        "hypothetical: true", '@@hypothetical: "true"', "hypothetical", "'true' is not a truth value", "true or false"
    ),
    "objective without a unit": Mistake(
        "recovery_objective: 240 min",
        "@@recovery_objective: 240",
        "recovery_objective",
        "240 has no unit",
        DURATION_TEXT,
    ),
    "objective zero": Mistake(
        "recovery_objective: 240 min",
        "@@recovery_objective: 0 min",
        "recovery_objective",
        "'0 min' is out of range",
        "more than 0 min",
    ),
    "objective missing": Mistake(
        "recovery_objective: 240 min", "", "recovery_objective", "is missing", "From dependency restored to"
    ),
    "objective in months": Mistake(
        "recovery_objective: 240 min",
        "@@recovery_objective: 2 months",
        "recovery_objective",
        "'2 months' has the unknown unit 'months'",
        "ms, s, min, h, days or weeks",
    ),
    "objective of clock digits": Mistake(
        "recovery_objective: 240 min",
        "@@recovery_objective: 04:00",
        "recovery_objective",
        "'04:00' is not a duration",
        DURATION_TEXT,
    ),
    "measured negative": Mistake(
        "owner: Orders on-call\n",
        "owner: Orders on-call\n@@recovery_measured_min: -5\n",
        "recovery_measured_min",
        "-5 is not a finite number of zero or more",
        NUMBER_TEXT,
    ),
    "measured not a number": Mistake(
        "owner: Orders on-call\n",
        "owner: Orders on-call\n@@recovery_measured_min: .nan\n",
        "recovery_measured_min",
        "'.nan' is not a number",
        NUMBER_TEXT,
    ),
    # the incident
    "incident text": Mistake(
        "owner: Orders on-call\n",
        "owner: Orders on-call\n@@incidents: October\n",
        "incidents",
        "unknown key; nearest: incident",
        "the keys admission, as_of, call_stacks",
    ),
    "trigger without a zone": Mistake(
        "trigger: 2025-10-19T23:48-07:00",
        "@@trigger: 2025-10-19T23:48",
        "incident.trigger",
        "'2025-10-19T23:48' has no zone",
        "2025-10-19T23:48-07:00, if the time is meant in America/Los_Angeles",
    ),
    "trigger in the hour that occurs twice": Mistake(
        "trigger: 2025-10-19T23:48-07:00",
        "@@trigger: 2024-11-03T01:30",
        "incident.trigger",
        "'2024-11-03T01:30' has no zone",
        "2024-11-03T01:30-07:00 or 2024-11-03T01:30-08:00: in America/Los_Angeles this hour occurs twice",
    ),
    "trigger in the hour that is skipped": Mistake(
        "trigger: 2025-10-19T23:48-07:00",
        "@@trigger: 2025-03-09T02:30",
        "incident.trigger",
        "'2025-03-09T02:30' has no zone",
        "another time: clocks in America/Los_Angeles skip this one",
    ),
    "trigger a date": Mistake(
        "trigger: 2025-10-19T23:48-07:00",
        "@@trigger: 2025-10-19",
        "incident.trigger",
        "'2025-10-19' has a date but no time of day",
        'such as "2025-10-19T23:48-07:00"',
    ),
    "trigger in local style": Mistake(
        "trigger: 2025-10-19T23:48-07:00",
        "@@trigger: 10/19/2025 11:48 pm",
        "incident.trigger",
        "'10/19/2025 11:48 pm' is not a time",
        "a date, a time and an offset",
    ),
    "trigger at hour 25": Mistake(
        "trigger: 2025-10-19T23:48-07:00",
        "@@trigger: 2025-10-19T25:48-07:00",
        "incident.trigger",
        "'2025-10-19T25:48-07:00' is not a time",
        "a date, a time and an offset",
    ),
    "trigger a number": Mistake(
        "trigger: 2025-10-19T23:48-07:00",
        "@@trigger: 1760942880",
        "incident.trigger",
        "1760942880 is not a time",
        "a date, a time and an offset",
    ),
    "restored before the trigger": Mistake(
        "restored_at: 2025-10-20T02:40",
        "@@restored_at: 2025-10-19T02:40",
        "incident.restored_at",
        "2025-10-19T02:40:00-07:00 is not after the trigger, 2025-10-19T23:48:00-07:00",
        "a later time",
    ),
    "restored missing": Mistake(
        "incident:\n  name: us-east-1, 19 and 20 October 2025\n  trigger: 2025-10-19T23:48-07:00\n"
        "  restored_at: 2025-10-20T02:40-07:00\n",
        "@@incident:\n  name: October\n  trigger: 2025-10-19T23:48-07:00\n",
        "incident.restored_at",
        "is missing",
        "When the dependency was back, with an offset",
    ),
    "timeline not there": Mistake(
        TIMELINE,
        "@@  timeline: nowhere.csv\n",
        "incident.timeline",
        "'nowhere.csv' names no file",
        "relative to the scenario",
    ),
    "timeline a folder": Mistake(
        TIMELINE, "@@  timeline: .\n", "incident.timeline", "'.' names no file", "relative to"
    ),
    "timeline out of the shipped data": Mistake(
        TIMELINE,
        "@@  timeline: builtin:../pyproject.toml\n",
        "incident.timeline",
        "'builtin:../pyproject.toml' leaves the shipped data folder",
        "builtin:NAME",
    ),
    "timeline not shipped": Mistake(
        TIMELINE,
        "@@  timeline: builtin:incidents/x.csv\n",
        "incident.timeline",
        "names no file that Afterload ships",
        "builtin:NAME",
    ),
    "timeline of a user that is not there": Mistake(
        TIMELINE,
        "@@  timeline: ~nobody-here/x.csv\n",
        "incident.timeline",
        "'~nobody-here/x.csv' cannot be a file",
        "a path",
    ),
    "timeline with a name too long": Mistake(
        TIMELINE, f"@@  timeline: {'x' * 5000}\n", "incident.timeline", "'xxxxx", "a path below the scenario's folder"
    ),
    "timeline with a nul": Mistake(
        TIMELINE, '@@  timeline: "a\\0b.csv"\n', "incident.timeline", "cannot be a file", "a path below"
    ),
    "timeline empty": Mistake(TIMELINE, '@@  timeline: ""\n', "incident.timeline", "'' is not a path", "builtin:NAME"),
    "timeline a number": Mistake(TIMELINE, "@@  timeline: 5\n", "incident.timeline", "5 is not a path", "builtin:NAME"),
    # dependencies
    "tested rate missing": Mistake(
        "  orders-table:\n    tested_rate: 3,000/min\n",
        "@@  orders-table:\n",
        "dependencies.orders-table.tested_rate",
        "is missing",
        '"1,200/min" (Items a minute that a load test has shown it to bear)',
    ),
    "direct rate with a decimal comma": Mistake(
        "direct_rate: 600/min",
        "@@direct_rate: 600,5/min",
        "dependencies.orders-table.direct_rate",
        "'600,5/min' is not a rate",
        RATE_TEXT,
    ),
    "direct rate with thousands apart": Mistake(
        "direct_rate: 600/min",
        "@@direct_rate: 1 600/min",
        "dependencies.orders-table.direct_rate",
        "'1 600/min' is not a rate",
        RATE_TEXT,
    ),
    "dependencies a list": Mistake(
        "dependencies:\n  orders-table:\n    tested_rate: 3,000/min\n    direct_rate: 600/min\n"
        "    source: hypothetical load test\n\nqueues:\n  orders:\n    service: sqs-lambda\n",
        "@@dependencies: [orders-table]\n\nqueues:\n  orders:\n    service: sqs-lambda\n",
        "dependencies",
        "['orders-table'] is not a mapping",
        "lines of the form key: value, indented below",
    ),
    # queues
    "service unknown": Mistake(
        QUEUE,
        "@@    service: sqs_lambda\n",
        "queues.orders.service",
        "'sqs_lambda' is not known; nearest: sqs-lambda",
        "one of sqs-lambda, lambda-async, stream-lambda, other",
    ),
    "service a number": Mistake(
        QUEUE, "@@    service: 5\n", "queues.orders.service", "5 is not known", "one of sqs-lambda"
    ),
    "rate missing": Mistake(
        f"  orders:\n{QUEUE}{RATE}",
        f"@@  orders:\n{QUEUE}",
        "queues.orders.arrival_rate",
        "is missing",
        '"1,200/min" (New items a minute',
    ),
    "rate without a unit": Mistake(
        RATE, "@@    arrival_rate: 1200\n", "queues.orders.arrival_rate", "1200 has no unit", RATE_TEXT
    ),
    "rate in both forms": Mistake(
        RATE,
        f"@@{RATE}    arrival_rate_per_min: 1200\n",
        "queues.orders.arrival_rate",
        "is given twice, as arrival_rate and as arrival_rate_per_min",
        "one of them",
    ),
    "rate with two suffixes": Mistake(
        RATE,
        "@@    arrival_rate_per_s: 20\n    arrival_rate_per_min: 1200\n",
        "queues.orders.arrival_rate_per_s",
        "is given twice, as arrival_rate_per_s and as arrival_rate_per_min",
        "one of them",
    ),
    "rate in an unknown unit": Mistake(
        RATE,
        "@@    arrival_rate: 1,200/fortnight\n",
        "queues.orders.arrival_rate",
        "'1,200/fortnight' has the unknown unit 'fortnight'",
        "ms, s, min, h, days or weeks",
    ),
    "rate of unknown things": Mistake(
        RATE, "@@    arrival_rate: 1,200 apples/min\n", "queues.orders.arrival_rate", "counts 'apples'", "messages"
    ),
    "rate in unit of an unknown name": Mistake(
        RATE,
        "@@    arrival_rate_per_fortnight: 1200\n    arrival_rate: 1,200/min\n",
        "queues.orders.arrival_rate_per_fortnight",
        "unknown key; nearest: arrival_rate_per_h",
        QUEUE_KEYS,
    ),
    "rate null": Mistake(RATE, "@@    arrival_rate:\n", "queues.orders.arrival_rate", "None has no unit", RATE_TEXT),
    "rate a list": Mistake(
        RATE, "@@    arrival_rate: [1/min]\n", "queues.orders.arrival_rate", "['1/min'] has no unit", RATE_TEXT
    ),
    "rate negative": Mistake(
        RATE,
        "@@    arrival_rate_per_min: -1200\n",
        "queues.orders.arrival_rate_per_min",
        "-1200 is not a finite number of zero or more",
        NUMBER_TEXT,
    ),
    "rate infinite": Mistake(
        RATE,
        "@@    arrival_rate_per_min: 1e999\n",
        "queues.orders.arrival_rate_per_min",
        "inf is not a finite",
        NUMBER_TEXT,
    ),
    "rate with underscores": Mistake(
        RATE,
        "@@    arrival_rate_per_min: 1_200\n",
        "queues.orders.arrival_rate_per_min",
        "'1_200' is not a number",
        NUMBER_TEXT,
    ),
    "rate with a leading zero": Mistake(
        RATE,
        "@@    arrival_rate_per_min: 0x1F\n",
        "queues.orders.arrival_rate_per_min",
        "'0x1F' is not a number",
        NUMBER_TEXT,
    ),
    "rate in full-width digits": Mistake(
        RATE,
        "@@    arrival_rate: １２００/min\n",
        "queues.orders.arrival_rate",
        "'１２００/min' is not a rate",
        RATE_TEXT,
    ),
    "hours of the day too few": Mistake(
        RATE,
        "    arrival_rate:\n@@      hour_of_day_per_min: [100, 200]\n",
        "queues.orders.arrival_rate.hour_of_day_per_min",
        "has 2 values",
        "24 rates, one for each hour of the day",
    ),
    "one hour of the day wrong": Mistake(
        RATE,
        f"    arrival_rate:\n@@      hour_of_day_per_min: [{'100, ' * 23}-1]\n",
        "queues.orders.arrival_rate.hour_of_day_per_min",
        "item 23: -1 is not a finite number of zero or more",
        NUMBER_TEXT,
    ),
    "hours of the day without a unit": Mistake(
        RATE,
        f"    arrival_rate:\n@@      hour_of_day: [{'100, ' * 23}100]\n",
        "queues.orders.arrival_rate.hour_of_day",
        "item 0: 100 has no unit",
        RATE_TEXT,
    ),
    "hours of the day not a list": Mistake(
        RATE,
        "    arrival_rate:\n@@      hour_of_day_per_min: 100\n",
        "queues.orders.arrival_rate.hour_of_day_per_min",
        "100 is not a list",
        "a list of values such as",
    ),
    "series under a bare number": Mistake(
        RATE,
        "@@    arrival_rate_per_min: {series: arrivals.csv}\n",
        "queues.orders.arrival_rate_per_min",
        "{'series': 'arrivals.csv'} is not a number",
        NUMBER_TEXT,
    ),
    "profile beside a rate": Mistake(
        RATE,
        "@@    arrival_rate: {constant: 5/min}\n    arrival_rate_per_s: 5\n",
        "queues.orders.arrival_rate",
        "is given twice, as arrival_rate and as arrival_rate_per_s",
        "one of them",
    ),
    "two arrival rates": Mistake(
        RATE,
        f"@@    arrival_rate:\n      constant_per_min: 5\n      hour_of_day_per_min: [{'100, ' * 23}100]\n",
        "queues.orders.arrival_rate",
        "does not give one arrival rate",
        "a rate, or one of hour_of_day and series",
    ),
    "no arrival rate": Mistake(
        RATE,
        "@@    arrival_rate: {}\n",
        "queues.orders.arrival_rate",
        "does not give one arrival rate",
        "a rate, or one of",
    ),
    "arrival rate of an unknown form": Mistake(
        RATE,
        "    arrival_rate:\n      constant: 5/min\n@@      weekly: x\n",
        "queues.orders.arrival_rate.weekly",
        "unknown key",
        "the keys constant, hour_of_day, series",
    ),
    "series not there": Mistake(
        RATE,
        "    arrival_rate:\n@@      series: arrivals.csv\n",
        "queues.orders.arrival_rate.series",
        "'arrivals.csv' names no file",
        "a path relative to the scenario file",
    ),
    "series empty": Mistake(
        RATE,
        '    arrival_rate:\n@@      series: ""\n',
        "queues.orders.arrival_rate.series",
        "'' is not a path",
        "a path relative to the scenario file",
    ),
    "service rate zero": Mistake(
        "service_rate: 1,800/min",
        "@@service_rate: 0/min",
        "queues.orders.service_rate",
        "'0/min' is out of range",
        "more than 0 a minute",
    ),
    "misspelt field of a queue": Mistake(
        "service_rate: 1,800/min",
        "@@servce_rate: 1,800/min\n    service_rate_per_min: 5",
        "queues.orders.servce_rate",
        "unknown key; nearest: service_rate",
        QUEUE_KEYS,
    ),
    "backlog not whole": Mistake(
        QUEUE,
        f"{QUEUE}@@    backlog_before: 0.5\n",
        "queues.orders.backlog_before",
        "0.5 is not a whole number",
        COUNT_TEXT,
    ),
    "backlog in words": Mistake(
        QUEUE,
        f"{QUEUE}@@    backlog_before: many\n",
        "queues.orders.backlog_before",
        "'many' is not a number",
        COUNT_TEXT,
    ),
    "backlog beyond reason": Mistake(
        QUEUE,
        f"{QUEUE}@@    backlog_before: {'9' * 25}\n",
        "queues.orders.backlog_before",
        f"{'9' * 25} is too large",
        COUNT_TEXT,
    ),
    "during outage unknown": Mistake(
        QUEUE,
        f"{QUEUE}@@    during_outage: drop\n",
        "queues.orders.during_outage",
        "'drop' is not known",
        "one of defer, reject",
    ),
    "order in capitals": Mistake(
        QUEUE,
        f"{QUEUE}@@    order: FIFO\n",
        "queues.orders.order",
        "'FIFO' is not known; nearest: fifo",
        "one of fifo, lifo, fresh_first",
    ),
    "sideline without fresh first": Mistake(
        QUEUE,
        f"{QUEUE}@@    sideline_after: 10 min\n",
        "queues.orders.sideline_after",
        "goes with order fresh_first, not fifo",
        "order: fresh_first, or none",
    ),
    "retention without a unit": Mistake(
        "retention: 4 days", "@@retention: 4", "queues.orders.retention", "4 has no unit", DURATION_TEXT
    ),
    "retention zero": Mistake(
        "retention: 4 days",
        "@@retention: 0 s",
        "queues.orders.retention",
        "is zero",
        'a duration above zero, or "none"',
    ),
    "retention in both forms": Mistake(
        "retention: 4 days",
        "@@retention: 4 days\n    retention_days: 4",
        "queues.orders.retention",
        "is given twice, as retention and as retention_days",
        "one of them",
    ),
    "retention beyond what SQS keeps": Mistake(
        "retention: 4 days",
        "@@retention: 15 days",
        "queues.orders.retention",
        "21600 min is out of range for SQS",
        "1 to 20160 min",
    ),
    "retention in days beyond what SQS keeps": Mistake(
        "retention: 4 days",
        "@@retention_days: 15",
        "queues.orders.retention_days",
        "21600 min is out of range for SQS",
        "1 to 20160 min",
    ),
    "retention of a century": Mistake(
        "retention: 4 days",
        "@@retention_days: 99999999",
        "queues.orders.retention_days",
        "is too long",
        "at most 100 years",
    ),
    "age limit beyond an asynchronous invocation": Mistake(
        QUEUE,
        "    service: lambda-async\n@@    age_limit: 7 h\n",
        "queues.orders.age_limit",
        "420 min is out of range for an asynchronous invocation",
        "1 to 360 min",
    ),
    "age limit below an asynchronous invocation": Mistake(
        QUEUE,
        "    service: lambda-async\n@@    age_limit_s: 30\n",
        "queues.orders.age_limit_s",
        "0.5 min is out of range for an asynchronous invocation",
        "1 to 360 min",
    ),
    "item time zero": Mistake(
        "item_time: 2 s", "@@item_time: 0 s", "queues.orders.item_time", "is zero", "a duration above zero, such as 2 s"
    ),
    "cap without an item time": Mistake(
        "    item_time: 2 s\n",
        "@@    drain_cap: {concurrency: 40}\n",
        "queues.orders.drain_cap",
        "is a concurrency, so item_time is needed too",
        "item_time, such as 2 s, beside it",
    ),
    "cap zero": Mistake(
        "    item_time: 2 s\n",
        "    item_time: 2 s\n    drain_cap:\n@@      concurrency: 0\n",
        "queues.orders.drain_cap.concurrency",
        "0 is out of range",
        "at least 1",
    ),
    "cap below an SQS mapping": Mistake(
        "    item_time: 2 s\n",
        "    item_time: 2 s\n    drain_cap:\n@@      concurrency: 1\n",
        "queues.orders.drain_cap.concurrency",
        "1 is out of range for an SQS mapping",
        "2 to 1,000",
    ),
    "cap above an SQS mapping": Mistake(
        "    item_time: 2 s\n",
        "    item_time: 2 s\n    drain_cap:\n@@      concurrency: 1001\n",
        "queues.orders.drain_cap.concurrency",
        "1001 is out of range for an SQS mapping",
        "2 to 1,000",
    ),
    "cap above the reserved concurrency": Mistake(
        "    item_time: 2 s\n",
        "    item_time: 2 s\n    reserved_concurrency: 50\n    drain_cap:\n@@      concurrency: 80\n",
        "queues.orders.drain_cap.concurrency",
        "80 is above the reserved concurrency of its function, 50: the cap is never reached",
        "at most 50, or a higher reserved_concurrency",
    ),
    "reserved concurrency at one queue of a function alone": Mistake(
        "      function: order-worker\n",
        "@@      function: order-worker\n",
        "queues.orders.resources.function",
        "'order-worker' has a reserved concurrency of 50 at queues.more, and none here",
        "reserved_concurrency: 50 here too",
        extra=(
            "call_stacks:\n",
            "  more: {arrival_rate: 1/min, service_rate: 2/min, item_time: 1 s, reserved_concurrency: 50, "
            "resources: {function: order-worker}}\ncall_stacks:\n",
        ),
    ),
    "reserved concurrency given in two ways": Mistake(
        "call_stacks:\n",
        "  more:\n    arrival_rate: 1/min\n    service_rate: 2/min\n    item_time: 1 s\n@@    reserved_concurrency: 40\n"
        "    resources: {function: order-worker}\ncall_stacks:\n",
        "queues.more.reserved_concurrency",
        "40 differs from the 50 that queues.orders gives for the same function, 'order-worker'",
        "the same number: a function has one reserved concurrency",
        extra=("    item_time: 2 s\n", "    item_time: 2 s\n    reserved_concurrency: 50\n"),
    ),
    "reserved concurrency zero": Mistake(
        "    item_time: 2 s\n",
        "    item_time: 2 s\n@@    reserved_concurrency: 0\n",
        "queues.orders.reserved_concurrency",
        "0 is out of range",
        "at least 1",
    ),
    "reserved concurrency without an item time": Mistake(
        "    item_time: 2 s\n",
        "@@    reserved_concurrency: 40\n",
        "queues.orders.reserved_concurrency",
        "is a concurrency, so item_time is needed too",
        "item_time, such as 2 s, beside it",
    ),
    "cap in provisioned mode": Mistake(
        "    item_time: 2 s\n",
        "    item_time: 2 s\n    provisioned_pollers: {minimum: 2, maximum: 8}\n@@    drain_cap: {concurrency: 40}\n",
        "queues.orders.drain_cap",
        "stands beside provisioned_pollers, but the service takes no maximum concurrency in provisioned mode",
        "one of the two; the maximum of provisioned_pollers bounds concurrency at 10 for each poller",
    ),
    "provisioned pollers of something else": Mistake(
        QUEUE,
        "    service: lambda-async\n@@    provisioned_pollers: {minimum: 2, maximum: 8}\n",
        "queues.orders.provisioned_pollers",
        "is of an SQS mapping, but the service is lambda-async",
        "service: sqs-lambda, or no provisioned_pollers",
    ),
    "provisioned pollers out of order": Mistake(
        "    item_time: 2 s\n",
        "    item_time: 2 s\n@@    provisioned_pollers: {minimum: 20, maximum: 8}\n",
        "queues.orders.provisioned_pollers",
        "maximum 8 is below minimum 20",
        "a maximum at or above the minimum",
    ),
    "one provisioned poller": Mistake(
        "    item_time: 2 s\n",
        "    item_time: 2 s\n    provisioned_pollers:\n@@      minimum: 1\n",
        "queues.orders.provisioned_pollers.minimum",
        "1 is out of range",
        "at least 2",
    ),
    "provisioned pollers without an item time": Mistake(
        "    item_time: 2 s\n",
        "@@    provisioned_pollers: {minimum: 2, maximum: 8}\n",
        "queues.orders.provisioned_pollers",
        "is a concurrency, so item_time is needed too",
        "item_time, such as 2 s, beside it",
    ),
    "cap a number": Mistake(
        "    item_time: 2 s\n",
        "    item_time: 2 s\n@@    drain_cap: 40\n",
        "queues.orders.drain_cap",
        "40 is not a mapping",
        "lines of the form key: value",
    ),
    "ramp unknown": Mistake(
        "    item_time: 2 s\n",
        "    item_time: 2 s\n@@    ramp: lambda-kinesis\n",
        "queues.orders.ramp",
        "'lambda-kinesis' is not a known ramp",
        "lambda-sqs, or start, per_min and ceiling",
    ),
    "ramp that ends below its start": Mistake(
        "    item_time: 2 s\n",
        "    item_time: 2 s\n    ramp:\n      start: 50\n      per_min: 5\n@@      ceiling: 40\n",
        "queues.orders.ramp.ceiling",
        "40 is below the start, 50",
        "a ceiling at or above the start",
    ),
    "ramp without growth": Mistake(
        "    item_time: 2 s\n",
        "    item_time: 2 s\n@@    ramp:\n      start: 50\n      ceiling: 400\n",
        "queues.orders.ramp.per_min",
        "is missing",
        "Added concurrency a minute",
    ),
    "stream without shards": Mistake(
        QUEUE,
        "    service: stream-lambda\n@@    stream:\n      batch_size: 100\n      batch_time: 2 s\n",
        "queues.orders.stream.shards",
        "is missing",
        "Shards or partitions",
    ),
    "stream with batches of no time": Mistake(
        QUEUE,
        "    service: stream-lambda\n    stream:\n      shards: 4\n      batch_size: 100\n@@      batch_time: 0 s\n",
        "queues.orders.stream.batch_time",
        "'0 s' is out of range",
        "more than 0 s",
    ),
    "superseded share beyond the whole": Mistake(
        QUEUE,
        f"{QUEUE}@@    superseded_share: 25\n",
        "queues.orders.superseded_share",
        "25 is more than the whole",
        SHARE_TEXT,
    ),
    "dependency misspelt": Mistake(
        DEPENDENCY,
        "@@    dependency: order-table\n    resources:",
        "queues.orders.dependency",
        "'order-table' is not one of the dependencies; nearest: orders-table",
        "one of orders-table",
    ),
    "dependency a number": Mistake(
        DEPENDENCY,
        "@@    dependency: 123\n    resources:",
        "queues.orders.dependency",
        "'123' is not one of the dependencies",
        "one of orders-table",
    ),
    "resource unknown": Mistake(
        "      function: order-worker",
        "@@      functions: order-worker",
        "queues.orders.resources.functions",
        "unknown key; nearest: function",
        "the keys auto_scaling_group, event_source_mapping, function, queue_url",
    ),
    "queue empty": Mistake(
        "queues:\n", "queues:\n@@  other:\n", "queues.other", "nothing is not a mapping", "lines of the form key: value"
    ),
    "queue name with a space": Mistake(
        f"  orders:\n{QUEUE}",
        f'@@  "orders ":\n{QUEUE}',
        "queues.orders ",
        "the name 'orders ' begins or ends with a space",
        "'orders'",
    ),
    "queue name empty": Mistake(f"  orders:\n{QUEUE}", f'@@  "":\n{QUEUE}', "queues.", "is empty", "some text"),
    # call stacks
    "stack without layers": Mistake(
        "call_stacks:\n",
        "call_stacks:\n  other:\n@@    layers: []\n",
        "call_stacks.other.layers",
        "has 0 items",
        "at least 1",
    ),
    "layers a mapping": Mistake(
        "call_stacks:\n",
        "call_stacks:\n  other:\n@@    layers: {browser: 3}\n",
        "call_stacks.other.layers",
        "is not a list",
        "a list, one item a line, each after a dash",
    ),
    "layer a text": Mistake(
        "      - { name: gateway, tries: 3 }",
        "@@      - gateway",
        "call_stacks.checkout.layers.1",
        "'gateway' is not a mapping",
        "lines of the form key: value",
    ),
    "layer without a name": Mistake(
        "      - { name: gateway, tries: 3 }",
        "@@      - { tries: 3 }",
        "call_stacks.checkout.layers.1.name",
        "is missing",
        "What the layer is: browser, gateway",
    ),
    "layer with no tries": Mistake(
        "{ name: gateway, tries: 3 }",
        "{ name: gateway, tries: 0 @@}",
        "call_stacks.checkout.layers.1.tries",
        "0 is out of range",
        "at least 1",
    ),
    "layer with too many tries": Mistake(
        "{ name: gateway, tries: 3 }",
        "{ name: gateway, tries: 5000 @@}",
        "call_stacks.checkout.layers.1.tries",
        "5000 is out of range",
        "at most 1,000",
    ),
    "layer with half a try": Mistake(
        "{ name: gateway, tries: 3 }",
        "{ name: gateway, tries: 2.5 @@}",
        "call_stacks.checkout.layers.1.tries",
        "2.5 is not a whole number",
        COUNT_TEXT,
    ),
    "layer with retries": Mistake(
        "{ name: gateway, tries: 3 }",
        "{ name: gateway, tries: 3, retries: 2 @@}",
        "call_stacks.checkout.layers.1.retries",
        "unknown key; nearest: tries",
        "the keys name, tries",
    ),
    "failure probability beyond certain": Mistake(
        "failure_probability: 1",
        "@@failure_probability: 1.5",
        "call_stacks.checkout.failure_probability",
        "1.5 is more",
        SHARE_TEXT,
    ),
    "stack on an unknown dependency": Mistake(
        "  checkout:\n    dependency: orders-table\n",
        "  checkout:\n@@    dependency: payments\n",
        "call_stacks.checkout.dependency",
        "'payments' is not one of the dependencies",
        "one of orders-table",
    ),
    # clients
    "sdk misspelt": Mistake(
        "sdk: boto3",
        "@@sdk: Boto",
        "clients.order-worker.sdk",
        "'Boto' is not a known SDK; nearest: boto",
        "aws-cli-v2, azure-python",
    ),
    "sdk missing": Mistake(
        "  order-worker:\n    sdk: boto3\n",
        "@@  order-worker:\n",
        "clients.order-worker.sdk",
        "is missing",
        "Which SDK",
    ),
    "version in words": Mistake(
        "version: 1.43.11",
        "@@version: latest",
        "clients.order-worker.version",
        "'latest' is not a version",
        'numbers with dots, such as "1.44.8"',
    ),
    "version a truth value": Mistake(
        "version: 1.43.11",
        "@@version: true",
        "clients.order-worker.version",
        "True is not text",
        "put quotes around it",
    ),
    "version endless": Mistake(
        "version: 1.43.11",
        f"@@version: {'1' * 5000}",
        "clients.order-worker.version",
        "is not one short line",
        "at most 200",
    ),
    "mode in capitals": Mistake(
        "mode: standard",
        "@@mode: Standard",
        "clients.checkout.mode",
        "'Standard' is not known; nearest: standard",
        "one of default, legacy, standard, adaptive",
    ),
    "mode that the SDK does not have": Mistake(
        "sdk: boto3\n    version: 1.43.11\n",
        "sdk: go-v2\n    version: 1.43.11\n@@    mode: legacy\n",
        "clients.order-worker.mode",
        "go-v2 has no preset for mode legacy",
        "default, standard, adaptive",
    ),
    "no clients": Mistake("number: 60", "@@number: 0", "clients.checkout.number", "0 is out of range", "at least 1"),
    "attempts beyond reason": Mistake(
        "number: 60",
        "number: 60\n@@    max_attempts: 5000",
        "clients.checkout.max_attempts",
        "5000 is out of range",
        "1 to 1000, or none",
    ),
    "attempts none at all": Mistake(
        "number: 60",
        "number: 60\n@@    max_attempts: 0",
        "clients.checkout.max_attempts",
        "0 is out of range",
        "1 to 1000, or none",
    ),
    "service called unknown": Mistake(
        "service: dynamodb",
        "@@service: DynamoDB",
        "clients.order-worker.service",
        "nearest: dynamodb",
        "one of dynamodb, dynamodb-streams, other",
    ),
    "calls without a unit": Mistake(
        "calls: 10/min", "@@calls: 10", "clients.checkout.calls", "10 has no unit", RATE_TEXT
    ),
    "calls of none at all": Mistake(
        "number: 60\n    dependency: orders-table\n    calls: 10/min",
        "number: 60\n    dependency: orders-table\n@@    calls: 0/min",
        "clients.checkout.calls",
        "'0/min' is out of range",
        "more than 0 a minute",
    ),
    "errors of an unknown kind": Mistake(
        "number: 60",
        "number: 60\n@@    errors: throttled",
        "clients.checkout.errors",
        "'throttled' is not known; nearest: throttling",
        "one of transient, throttling, timeout",
    ),
    "limit on retries unknown": Mistake(
        "sdk: boto3\n    version: 1.43.11\n",
        "sdk: other\n@@    retry_limit: envoy\n",
        "clients.order-worker.retry_limit",
        "'envoy' is not a known limit; nearest: envoy-budget",
        "grpc-throttling, envoy-budget, finagle-budget",
    ),
    "limit on retries without a kind": Mistake(
        "sdk: boto3\n    version: 1.43.11\n",
        "sdk: other\n@@    retry_limit: { max_tokens: 10 }\n",
        "clients.order-worker.retry_limit.kind",
        "is missing",
        "What kind of limit it is",
    ),
    "limit on retries with a figure of another kind": Mistake(
        "sdk: boto3\n    version: 1.43.11\n",
        "sdk: other\n@@    retry_limit: { kind: envoy-budget, max_tokens: 10 }\n",
        "clients.order-worker.retry_limit.max_tokens",
        "is no figure of envoy-budget",
        "budget_share, least",
    ),
    "limit on retries with too many tokens": Mistake(
        "sdk: boto3\n    version: 1.43.11\n",
        "sdk: grpc\n@@    retry_limit: { kind: grpc-throttling, max_tokens: 5000 }\n",
        "clients.order-worker.retry_limit.max_tokens",
        "5000 is out of range",
        "at most 1,000",
    ),
    "limit on retries beside a quota": Mistake(
        "mode: standard\n    number: 60",
        "mode: standard\n    number: 60\n@@    retry_limit: token-bucket",
        "clients.checkout.retry_limit",
        "java-v2 in standard mode holds its retries by a quota of its own",
        "a client of its own, with sdk: other",
    ),
    # worker pools and idempotency
    "pool without workers at all": Mistake(
        "    workers: 10\n",
        "@@    workers: 0\n",
        "worker_pools.checkout-service.workers",
        "0 is out of range",
        "at least 1",
    ),
    "burst of nothing": Mistake(
        "    workers: 10\n    burst: 200\n",
        "    workers: 10\n@@    burst: 0\n",
        "worker_pools.checkout-service.burst",
        "0 is out of range",
        "at least 1",
    ),
    "burst beyond counting": Mistake(
        "    workers: 10\n    burst: 200\n",
        "    workers: 10\n@@    burst: 1,000,000\n",
        "worker_pools.checkout-service.burst",
        "1,000,000",
        "at most 100,000",
    ),
    "pool without a time for one request": Mistake(
        "  checkout-service:\n    queue: 100\n    workers: 10\n    burst: 200\n    burst_over: 1 s\n    item_time: 80 ms\n",
        "@@  checkout-service:\n    queue: 100\n    workers: 10\n    burst: 200\n",
        "worker_pools.checkout-service.item_time",
        "is missing",
        "Time that one request takes",
    ),
    "key of no life": Mistake(
        "key_life: 24 h",
        "@@key_life: 0 h",
        "queues.orders.idempotency.key_life",
        "'0 h' is out of range",
        "more than 0 min",
    ),
    "tries that all fail": Mistake(
        "failure_share: 2 %",
        "@@failure_share: 100 %",
        "queues.orders.idempotency.failure_share",
        "'100 %' is out of range",
        "less than 1",
    ),
    "share over one": Mistake(
        "effect_despite_failure: 20 %",
        "@@effect_despite_failure: 20",
        "queues.orders.idempotency.effect_despite_failure",
        "20",
        SHARE_TEXT,
    ),
    "idempotency without a failure share": Mistake(
        "    idempotency: # made up\n      key_life: 24 h\n      failure_share: 2 %\n",
        "@@    idempotency: # made up\n      key_life: 24 h\n",
        "queues.orders.idempotency.failure_share",
        "is missing",
        "Share of tries that are seen to fail",
    ),
    "client on an unknown dependency": Mistake(
        "number: 60\n    dependency: orders-table",
        "number: 60\n@@    dependency: Orders-Table",
        "clients.checkout.dependency",
        "'Orders-Table' is not one of the dependencies; nearest: orders-table",
        "one of orders-table",
    ),
    # fleets
    "running negative": Mistake(
        "running: 600",
        "@@running: -1",
        "fleets.checkout-api.running",
        "-1 is not a finite number of zero or more",
        COUNT_TEXT,
    ),
    "needed with a decimal comma": Mistake(
        "needed: 3,600", "@@needed: 3,60", "fleets.checkout-api.needed", "'3,60' is not a number", COUNT_TEXT
    ),
    "needed missing": Mistake(
        "  checkout-api:\n    running: 600\n    needed: 3,600\n",
        "@@  checkout-api:\n    running: 600\n",
        "fleets.checkout-api.needed",
        "is missing",
        "Instances needed to serve the load of the recovery",
    ),
    "request larger than the default burst": Mistake(
        "    launch:\n      instances_per_request: 100\n",
        "@@    launch:\n      instances_per_request: 2000\n",
        "fleets.checkout-api.launch",
        "instance_burst 1000 is less than the 2000 instances of one request",
        "smaller requests",
    ),
    "request larger than the given burst": Mistake(
        LAUNCH,
        f"{LAUNCH}@@      instance_burst: 50\n",
        "fleets.checkout-api.launch.instance_burst",
        "instance_burst 50 is less than the 100 instances of one request",
        "smaller requests",
    ),
    "throttle that lets nothing pass": Mistake(
        "    launch:\n",
        "@@    launch:\n      throttle_factor: 0.1\n",
        "fleets.checkout-api.launch",
        "throttle_factor 0.1 and other_callers_share 0 leave 0.5 of request_burst 5",
        "smaller requests, or limits that leave more",
    ),
    "other callers that leave nothing": Mistake(
        LAUNCH,
        f"{LAUNCH}@@      other_callers_share: 95 %\n",
        "fleets.checkout-api.launch.other_callers_share",
        "leave 0.25 of request_burst 5: no request of 100 instances can ever pass",
        "smaller requests, or limits that leave more",
    ),
    "other callers that use all": Mistake(
        LAUNCH,
        f"{LAUNCH}@@      other_callers_share: 1\n",
        "fleets.checkout-api.launch.other_callers_share",
        "1 is out of range",
        "less than 1",
    ),
    "throttle zero": Mistake(
        LAUNCH,
        f"{LAUNCH}@@      throttle_factor: 0\n",
        "fleets.checkout-api.launch.throttle_factor",
        "0 is out of range",
        "more than 0",
    ),
    "refill zero": Mistake(
        LAUNCH,
        f"{LAUNCH}@@      request_refill: 0/s\n",
        "fleets.checkout-api.launch.request_refill",
        "'0/s' is out of range",
        "more than 0 a second",
    ),
    "refill without a unit": Mistake(
        LAUNCH,
        f"{LAUNCH}@@      instance_refill: 2\n",
        "fleets.checkout-api.launch.instance_refill",
        "2 has no unit",
        RATE_TEXT,
    ),
    "boot time without a unit": Mistake(
        LAUNCH, "@@      boot_time: 120\n", "fleets.checkout-api.launch.boot_time", "120 has no unit", DURATION_TEXT
    ),
    "buckets overfull": Mistake(
        LAUNCH,
        f"{LAUNCH}@@      buckets_full: 120 %\n",
        "fleets.checkout-api.launch.buckets_full",
        "'120 %' is more",
        SHARE_TEXT,
    ),
    "removal not a list": Mistake(
        "removal_automation: [ReplaceUnhealthy, AZRebalance, AlarmNotification]",
        "@@removal_automation: ReplaceUnhealthy",
        "fleets.checkout-api.removal_automation",
        "'ReplaceUnhealthy' is not a list",
        "a list, one item a line",
    ),
    "removal item of a wrong kind": Mistake(
        "removal_automation: [ReplaceUnhealthy, AZRebalance, AlarmNotification]",
        "removal_automation:\n      - ReplaceUnhealthy\n@@      - 5",
        "fleets.checkout-api.removal_automation.1",
        "5 is not a mapping",
        "lines of the form key: value",
    ),
    "removal paused yes": Mistake(
        "removal_automation: [ReplaceUnhealthy, AZRebalance, AlarmNotification]",
        "removal_automation:\n      - name: ReplaceUnhealthy\n@@        paused: yes",
        "fleets.checkout-api.removal_automation.0.paused",
        "'yes' is not a truth value",
        "true or false",
    ),
    # target groups and control loops
    "DNS threshold under the routing threshold": Mistake(
        RUNNING,
        f"{RUNNING}    target_group:\n      targets: [9, 9]\n      routing_count: 3\n@@      dns_count: 2\n",
        "fleets.checkout-api.target_group.dns_count",
        "dns_count 2 is under the routing threshold, routing_count 3",
        "dns_count of 3 or more, or a lower routing threshold",
    ),
    "DNS threshold left at its default under the routing threshold": Mistake(
        RUNNING,
        f"{RUNNING}@@    target_group:\n      targets: [9, 9]\n      routing_count: 3\n",
        "fleets.checkout-api.target_group",
        "dns_count 1 is under the routing threshold, routing_count 3",
        "dns_count of 3 or more, or a lower routing threshold",
    ),
    "DNS share under the routing share": Mistake(
        RUNNING,
        f"{RUNNING}    target_group:\n      targets: [9, 9]\n      routing_share: 50 %\n@@      dns_share: 40 %\n",
        "fleets.checkout-api.target_group.dns_share",
        "dns_share 0.4 is under the routing threshold, routing_share 0.5",
        "dns_share of 0.5 or more, or a lower routing threshold",
    ),
    "routing share without a DNS share": Mistake(
        RUNNING,
        f"{RUNNING}@@    target_group: {{targets: [9, 9], routing_share: 50 %}}\n",
        "fleets.checkout-api.target_group",
        "dns_share none is under the routing threshold, routing_share 0.5",
        "dns_share of 0.5 or more, or a lower routing threshold",
    ),
    "DNS share of nothing": Mistake(
        RUNNING,
        f"{RUNNING}    target_group:\n      targets: [9, 9]\n@@      dns_share: 0 %\n",
        "fleets.checkout-api.target_group.dns_share",
        "'0 %' is out of range",
        "more than 0",
    ),
    "new targets of other zones": Mistake(
        RUNNING,
        f"{RUNNING}    target_group:\n      targets: [9, 9]\n@@      new_targets: [9, 9, 9]\n",
        "fleets.checkout-api.target_group.new_targets",
        "has 3 values where targets has 2",
        "one for each zone",
    ),
    "checks too often": Mistake(
        RUNNING,
        f"{RUNNING}    target_group:\n      targets: [9, 9]\n@@      check_interval: 2 s\n",
        "fleets.checkout-api.target_group.check_interval",
        "'2 s' is out of range",
        "at least 5 s",
    ),
    "one failed check": Mistake(
        RUNNING,
        f"{RUNNING}    target_group:\n      targets: [9, 9]\n@@      fails_to_leave: 1\n",
        "fleets.checkout-api.target_group.fails_to_leave",
        "1 is out of range",
        "at least 2",
    ),
    "checks failing beyond the whole": Mistake(
        RUNNING,
        f"{RUNNING}    removal:\n@@      checks_failing: 120 %\n",
        "fleets.checkout-api.removal.checks_failing",
        "'120 %' is more",
        SHARE_TEXT,
    ),
    "control loop without a capacity": Mistake(
        "fleets:\n",
        "control_loops:\n@@  leases: {load: 5/s, timeout: 5 s}\nfleets:\n",
        "control_loops.leases.capacity",
        "is missing",
        "Requests a second that it can serve",
    ),
    "control loop that serves nothing": Mistake(
        "fleets:\n",
        "control_loops:\n  leases:\n    load: 5/s\n    timeout: 5 s\n@@    capacity: 0/s\nfleets:\n",
        "control_loops.leases.capacity",
        "'0/s' is out of range",
        "more than 0 a second",
    ),
    "control loop with a queue of nothing": Mistake(
        "fleets:\n",
        "control_loops:\n  leases:\n    load: 5/s\n    timeout: 5 s\n    capacity: 9/s\n@@    queue_cap: 0\nfleets:\n",
        "control_loops.leases.queue_cap",
        "0 is out of range",
        "at least 1",
    ),
    # the postmortem
    "detected before the trigger": Mistake(
        "  detected_at: 2025-10-20T00:04-07:00",
        "@@  detected_at: 2025-10-19T23:04-07:00",
        "postmortem.detected_at",
        "2025-10-19T23:04:00-07:00 is before incident.trigger, 2025-10-19T23:48:00-07:00",
        "a time not before incident.trigger, or none",
    ),
    "mitigated before it was detected": Mistake(
        "  mitigated_at: 2025-10-20T00:31-07:00",
        "@@  mitigated_at: 2025-10-20T07:03Z",
        "postmortem.mitigated_at",
        "2025-10-20T07:03:00+00:00 is before postmortem.detected_at, 2025-10-20T00:04:00-07:00",
        "a time not before postmortem.detected_at, or none",
    ),
    "mitigated before the trigger, detection not given": Mistake(
        "  detected_at: 2025-10-20T00:04-07:00\n  detected_by: alarm on the age of the oldest message\n"
        "  mitigated_at: 2025-10-20T00:31-07:00",
        "@@  mitigated_at: 2025-10-19T00:31-07:00",
        "postmortem.mitigated_at",
        "is before incident.trigger",
        "a time not before incident.trigger",
    ),
    "recovered before the restore": Mistake(
        "  recovered_at: 2025-10-20T08:31-07:00",
        "@@  recovered_at: 2025-10-20T02:39-07:00",
        "postmortem.recovered_at",
        "2025-10-20T02:39:00-07:00 is before incident.restored_at, 2025-10-20T02:40:00-07:00",
        "a time not before incident.restored_at",
    ),
    "mitigated after it was over": Mistake(
        "  mitigated_at: 2025-10-20T00:31-07:00\n  recovered_at:",
        "  mitigated_at: 2025-10-20T09:31-07:00\n@@  recovered_at:",
        "postmortem.recovered_at",
        "is before postmortem.mitigated_at, 2025-10-20T09:31:00-07:00",
        "a time not before postmortem.mitigated_at",
    ),
    "detected without a zone": Mistake(
        "  detected_at: 2025-10-20T00:04-07:00",
        "@@  detected_at: 2025-10-20T00:04",
        "postmortem.detected_at",
        "'2025-10-20T00:04' has no zone",
        "2025-10-20T00:04-07:00, if the time is meant in America/Los_Angeles",
    ),
    "own timeline not there": Mistake(
        "  timeline: builtin:scenarios/orders-timeline.csv",
        "@@  timeline: own.csv",
        "postmortem.timeline",
        "'own.csv' names no file",
        "a path relative to the scenario file",
    ),
    "due soon": Mistake(
        "due: 2025-11-14", "due: soon@@", "postmortem.actions.1.due", "'soon' is not a date", "such as 2025-12-01"
    ),
    "status of an action misspelt": Mistake(
        "status: in progress",
        "status: in progres@@",
        "postmortem.actions.1.status",
        "'in progres' is not known; nearest: in progress",
        "one of open, in progress, done, dropped",
    ),
    "impact without a number": Mistake(
        'value: "3,100"', "value: many@@", "postmortem.impact_numbers.1.value", "'many' is not a number", NUMBER_TEXT
    ),
    "impact below zero": Mistake(
        'value: "3,100"', "value: -3@@", "postmortem.impact_numbers.1.value", "-3 is not a finite number", NUMBER_TEXT
    ),
    "impact without a unit": Mistake(
        '    - { what: questions to support, value: "3,100", unit: calls,',
        "@@    - { what: questions to support, value: 3100,",
        "postmortem.impact_numbers.1.unit",
        "is missing",
        "Of what: orders, min, percent",
    ),
    "trigger of a third kind": Mistake(
        "trigger_kind: capacity decrease",
        "trigger_kind: capacity decreased@@",
        "postmortem.trigger_kind",
        "'capacity decreased' is not known; nearest: capacity decrease",
        "one of load spike, capacity decrease",
    ),
    "sustained twice by the same": Mistake(
        "[backlog, workload amplification, launch limits]",
        "[backlog, launch limits, backlog]@@",
        "postmortem.sustained_by",
        "names backlog twice",
        "each class once",
    ),
    "sustained by nothing and something": Mistake(
        "[backlog, workload amplification, launch limits]",
        "[backlog, nothing]@@",
        "postmortem.sustained_by",
        "names nothing beside something",
        "[nothing], or the classes without it",
    ),
    "interaction without what was missing": Mistake(
        "    - controller: consumers of the queue orders",
        "    - { controller: the team, action: waited, feedback: a page }@@\n    - controller: consumers of the queue orders",
        "postmortem.interactions.1.missing",
        "is missing",
        "What would have kept it safe",
    ),
    # YAML
    "duplicate key": Mistake(
        "owner: Orders on-call\n",
        "owner: Orders on-call\n@@owner: someone else\n",
        "",
        "'owner' stands twice in one mapping (first on line 4): remove one",
        "",
        yaml=True,
    ),
    "duplicate queue": Mistake(
        "queues:\n", "queues:\n  orders: {}\n@@", "", "'orders' stands twice in one mapping", "", yaml=True
    ),
    "tab": Mistake("  name: us-east-1", "@@\tname: us-east-1", "", "is not YAML: ", "", yaml=True),
    "indent": Mistake(
        "  trigger: 2025-10-19T23:48-07:00", "@@ trigger: 2025-10-19T23:48-07:00", "", "is not YAML: ", "", yaml=True
    ),
    "colon in a name": Mistake("name: us-east-1, 19", "name: us-east-1: 19@@", "", "is not YAML: ", "", yaml=True),
    "tag": Mistake("team: Orders\n", "team: !team Orders@@\n", "", "the tag !team is not used", "", yaml=True),
}
TOP = {"zone missing", "objective missing", "team missing"}  # what is missing at the top is missing from line 1


def spoilt(example: str, *mistakes: Mistake) -> tuple[str, list[int]]:
    """The example with the mistakes in it, and the line of each."""
    text = example
    lines = []
    for mistake in mistakes:
        assert mistake.old in text, mistake.old
        text = text.replace(mistake.old, mistake.new, 1)
        if mistake.extra is not None:
            assert mistake.extra[0] in text, mistake.extra[0]
            text = text.replace(*mistake.extra, 1)
    while "@@" in text:
        lines.append(text[: text.index("@@")].count("\n") + 1)
        text = text.replace("@@", "", 1)
    return text, lines


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_gives_one_clear_message(case: str, example: str, write: Write) -> None:
    mistake = MISTAKES[case]
    text, lines = spoilt(example, mistake)
    path = write(text)
    with pytest.raises(InputError) as caught:
        load_scenario(path)
    message = str(caught.value)
    if mistake.yaml:
        assert type(caught.value) is InputError
        assert message.startswith(f"{path}:{lines[0]}: ")
        assert mistake.seen in message
        assert "\n" not in message
        return
    assert isinstance(caught.value, ScenarioError)
    assert len(caught.value.problems) == 1, message
    (problem,) = caught.value.problems
    first = next(n for n, line in enumerate(example.splitlines(), 1) if not line.startswith("#"))
    line = first if case in TOP else lines[0]
    assert (problem.file, problem.line, problem.field) == (str(path), line, mistake.field)  # type: ignore[attr-defined]
    head, shown = message.split("\n")
    assert head == f"{path}: 1 problem"
    assert shown.startswith(f"  {path}:{line}: {mistake.field}: ")
    said, accepted = shown.split("; accepted: ", 1)
    assert mistake.seen in f"{said};"
    assert mistake.accepted in accepted
    assert len(shown) < 1000


def test_there_are_enough_of_them() -> None:
    assert len(MISTAKES) >= 100
    assert len({(mistake.old, mistake.new) for mistake in MISTAKES.values()}) == len(MISTAKES)


# --- attached files --------------------------------------------------------------------------------------------------


class Rows(NamedTuple):
    kind: str
    text: str
    line: int
    field: str
    seen: str
    accepted: str


EVENTS = "at,end,subsystem,kind,event\n"
WINDOWS = "service,start,end,start_is_lower_bound,note\n"
MINUTE = "".join(f"2025-10-19T00:0{n}Z,{n}\n" for n in range(5))

ATTACHED = {
    "timeline empty": Rows(
        "timeline", "", 1, "", "has no column at, event; its header is empty", "a header with at, event"
    ),
    "timeline without rows": Rows("timeline", EVENTS, 1, "", "holds no rows below its header", "at least one row"),
    "timeline without a header": Rows(
        "timeline",
        "2025-10-19T23:48-07:00,,x,y,z\n",
        1,
        "",
        "has no column at, event",
        "a header with at, event and perhaps",
    ),
    "timeline with semicolons": Rows(
        "timeline", "at;event\n2025-10-19T23:48-07:00;x\n", 1, "", "its header is at;event", "a header with at, event"
    ),
    "timeline with an unknown column": Rows(
        "timeline",
        "at,event,subsytem\n2025-10-19T23:48Z,x,y\n",
        1,
        "subsytem",
        "unknown column; nearest: subsystem",
        "a header",
    ),
    "timeline with a column twice": Rows(
        "timeline",
        "at,at,event\n2025-10-19T23:48Z,2025-10-19T23:48Z,x\n",
        1,
        "",
        "names a column twice",
        "a header with",
    ),
    "timeline row short": Rows(
        "timeline", f"{EVENTS}2025-10-19T23:48Z,x\n", 2, "", "has 2 cells where the header has 5", "quotes around text"
    ),
    "timeline row with a comma too many": Rows(
        "timeline",
        f"{EVENTS}2025-10-19T23:48Z,,a,b,c, and d\n",
        2,
        "",
        "has 6 cells where the header has 5",
        "quotes around",
    ),
    "timeline quote left open": Rows("timeline", f'{EVENTS}2025-10-19T23:48Z,,a,b,"c\n', 2, "", "is not CSV: ", ""),
    "timeline without a zone": Rows(
        "timeline",
        f"{EVENTS}2025-10-19T23:48Z,,,,x\n2025-10-20T02:40,,,,y\n",
        3,
        "at",
        "'2025-10-20T02:40' has no zone",
        "2025-10-20T02:40-07:00, if the time is meant in America/Los_Angeles",
    ),
    "timeline in the hour that occurs twice": Rows(
        "timeline",
        f"{EVENTS}2025-11-02 01:30,,,,x\n",
        2,
        "at",
        "has no zone",
        "2025-11-02T01:30-07:00 or 2025-11-02T01:30-08:00",
    ),
    "timeline after a cell of two lines": Rows(
        "timeline",
        f'{EVENTS}2025-10-19T23:48Z,,,,"x\ny"\n\nsoon,,,,z\n',
        5,
        "at",
        "'soon' is not a time",
        "a date, a time",
    ),
    "timeline end before its start": Rows(
        "timeline",
        f"{EVENTS}2025-10-19T23:48Z,2025-10-19T23:47Z,,,x\n",
        2,
        "end",
        "2025-10-19T23:47Z is before at, 2025-10-19T23:48Z",
        "a later time, or none",
    ),
    "timeline status misspelt": Rows(
        "timeline",
        "at,event,source,status\n2025-10-19T23:48Z,x,us,Confirmed\n2025-10-19T23:49Z,x,us,disputted\n",
        3,
        "status",
        "'disputted' is not a status; nearest: disputed",
        "confirmed, reported, disputed, or nothing",
    ),
    "timeline with a column of sources misspelt": Rows(
        "timeline",
        "at,event,sources\n2025-10-19T23:48Z,x,us\n",
        1,
        "sources",
        "unknown column; nearest: source",
        "a header with at, event and perhaps end, subsystem, kind, source, status, note",
    ),
    "timeline not text": Rows(
        "timeline", "at,event\n\udcff\n", 2, "", "is not UTF-8 text", "a CSV file saved as UTF-8"
    ),
    "impacts without a service": Rows(
        "impacts", f"{WINDOWS},2025-10-19T23:51Z,2025-10-20T01:19Z,,\n", 2, "service", "is empty", "a name"
    ),
    "impacts end before start": Rows(
        "impacts",
        f"{WINDOWS}IAM,2025-10-19T23:51-07:00,2025-10-20T06:50Z,,\n",
        2,
        "end",
        "2025-10-20T06:50Z is before start, 2025-10-19T23:51-07:00",
        "a later time",
    ),
    "impacts without an end": Rows(
        "impacts", f"{WINDOWS}IAM,2025-10-19T23:51Z,,,\n", 2, "end", "'' is not a time", "a date"
    ),
    "impacts with a doubtful bound": Rows(
        "impacts",
        f"{WINDOWS}IAM,2025-10-19T23:51Z,2025-10-20T23:51Z,perhaps,\n",
        2,
        "start_is_lower_bound",
        "'perhaps' is not a truth value",
        "true or false",
    ),
    "series without values": Rows(
        "series", "at\n2025-10-19T23:48Z\n", 1, "", "has 0 columns of values", "exactly one of"
    ),
    "series with two kinds of values": Rows(
        "series",
        "at,rate_per_min,count\n2025-10-19T23:48Z,1,2\n",
        1,
        "",
        "has 2 columns of values",
        "exactly one of rate_per_min",
    ),
    "series in an unknown unit": Rows(
        "series",
        "at,rate_per_fortnight,count\n2025-10-19T23:48Z,1,2\n",
        1,
        "rate_per_fortnight",
        "unknown column",
        "a header",
    ),
    "series of one row": Rows(
        "series", "at,count\n2025-10-19T23:48Z,1\n", 2, "at", "is the only row", "at least two rows"
    ),
    "series with a time twice": Rows(
        "series",
        f"at,count\n{MINUTE}2025-10-18T17:02-07:00,9\n",
        7,
        "at",
        "2025-10-18T17:02-07:00 stands on line 4 too",
        "one row for each time",
    ),
    "series with a gap": Rows(
        "series",
        f"at,rate_per_min\n{MINUTE}2025-10-19T00:08Z,9\n",
        7,
        "at",
        "comes 4 min after the row before it (2025-10-19T00:04:00+00:00): a gap",
        "rows about every 1 min; fill the gap or cut the file",
    ),
    "series with a gap, newest first": Rows(
        "series",
        "at,rate_per_min\n2025-10-19T00:08Z,9\n" + "".join(reversed(MINUTE.splitlines(keepends=True))),
        2,
        "at",
        "comes 4 min after the row before it (2025-10-19T00:04:00+00:00): a gap",
        "rows about every 1 min",
    ),
    "series of counts unevenly spaced": Rows(
        "series",
        f"at,count\n{MINUTE}2025-10-19T00:06Z,9\n",
        7,
        "at",
        "comes 2 min after the row before it, the others 1 min",
        "evenly spaced rows for counts, or a rate column",
    ),
    "series negative": Rows(
        "series", f"at,count\n{MINUTE}2025-10-19T00:05Z,-1\n", 7, "count", "'-1' is not a number", NUMBER_TEXT
    ),
    "series not a number": Rows(
        "series",
        f"at,rate_per_s\n{MINUTE}2025-10-19T00:05Z,NaN\n",
        7,
        "rate_per_s",
        "'NaN' is not a number",
        NUMBER_TEXT,
    ),
    "series with an empty cell": Rows(
        "series", f"at,rate_per_h\n{MINUTE}2025-10-19T00:05Z,\n", 7, "rate_per_h", "'' is not a number", NUMBER_TEXT
    ),
    "series with a decimal comma": Rows(
        "series", f'at,count\n{MINUTE}2025-10-19T00:05Z,"1,5"\n', 7, "count", "'1,5' is not a number", NUMBER_TEXT
    ),
}


def attach(example: str, kind: str, name: str) -> str:
    """The example with a file of its own."""
    if kind == "series":
        return example.replace(RATE, f"    arrival_rate:\n      series: {name}\n")
    return re.sub(rf"(?m)^  {kind}: .*$", f"  {kind}: {name}", example, count=1)


@pytest.mark.parametrize("case", ATTACHED)
def test_a_mistake_in_an_attached_file_gives_one_clear_message(case: str, example: str, write: Write) -> None:
    row = ATTACHED[case]
    attached = write(row.text.encode(errors="surrogateescape"), "attached.csv")
    path = write(attach(example, row.kind, "attached.csv"))
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    assert len(caught.value.problems) == 1, str(caught.value)
    (problem,) = caught.value.problems
    found = (problem.file, problem.line, problem.field)  # type: ignore[attr-defined]
    assert found == (str(attached), row.line, row.field)
    shown = str(caught.value).split("\n")[1]
    assert shown.startswith(f"  {attached}:{row.line}: {row.field}: ".replace(": : ", ": "))
    said, _, accepted = shown.partition("; accepted: ")
    assert row.seen in said
    assert row.accepted in accepted


def test_every_row_of_an_attached_file_is_reported_up_to_a_hundred(example: str, write: Write) -> None:
    write("at,event\n" + "soon,x\n" * 250, "rows.csv")
    with pytest.raises(ScenarioError) as caught:
        load_scenario(write(attach(example, "timeline", "rows.csv")))
    problems = caught.value.problems
    assert len(problems) == 101
    assert "rows.csv:102: and 150 more problems in this file" in str(problems[-1])


def test_an_attached_file_too_large_is_refused_unread(example: str, write: Write) -> None:
    write(b"at,event\n" + b"2025-10-19T23:48Z,x\n" * 1_100_000, "large.csv")
    with pytest.raises(ScenarioError, match=r"large.csv: is too large; accepted: at most 20,000,000 bytes"):
        load_scenario(write(attach(example, "timeline", "large.csv")))


# --- many at once ----------------------------------------------------------------------------------------------------

TWELVE = [
    "hypothetical yes", "objective without a unit", "trigger without a zone", "timeline not there", "tested rate missing",
    "rate negative", "retention beyond what SQS keeps", "item time zero", "layer with no tries", "sdk misspelt",
    "no clients", "other callers that leave nothing",
]  # fmt: skip


def test_twelve_mistakes_are_reported_at_once_in_the_order_of_the_file(example: str, write: Write) -> None:
    text, lines = spoilt(example, *(MISTAKES[case] for case in TWELVE))
    path = write(text)
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    problems = caught.value.problems
    assert str(caught.value).startswith(f"{path}: 12 problems\n")
    assert [problem.line for problem in problems] == lines  # type: ignore[attr-defined]
    assert lines == sorted(lines)
    assert [problem.field for problem in problems] == [MISTAKES[case].field for case in TWELVE]  # type: ignore[attr-defined]
    for problem, case in zip(problems, TWELVE, strict=True):
        assert MISTAKES[case].seen in str(problem)


SECOND = """\
  refunds:
    service: sqs-lambda
    arrival_rate: 5/min
    service_rate: 10/min
    item_time: 2 s
    dependency: nowhere
    retention_days: 30
    drain_cap: {concurrency: 5000}
    backlog_before: -1
"""


def fields(example: str, write: Write) -> list[tuple[str, str]]:
    with pytest.raises(ScenarioError) as caught:
        load_scenario(write(example))
    return [(Path(p.file).name, p.field) for p in caught.value.problems]  # type: ignore[attr-defined]


def test_mistakes_in_one_queue_hide_no_others(example: str, write: Write) -> None:
    write("at,event\nsoon,x\n", "rows.csv")
    text = attach(example, "timeline", "rows.csv").replace("call_stacks:\n", f"{SECOND}call_stacks:\n")
    text = text.replace(QUEUE, "    service: sqs\n", 1).replace("retention: 4 days", "retention: 4")
    text = text.replace("team: Orders\n", "").replace("sdk: java-v2", "sdk: go-v2\n    max_attempts: 0")
    text = text.replace("mode: standard", "mode: legacy")
    assert sorted(fields(text, write)) == sorted(
        [
            ("rows.csv", "at"),
            ("team.yaml", "team"),
            ("team.yaml", "queues.orders.service"),
            ("team.yaml", "queues.orders.retention"),
            ("team.yaml", "queues.refunds.dependency"),
            ("team.yaml", "queues.refunds.retention_days"),
            ("team.yaml", "queues.refunds.drain_cap.concurrency"),
            ("team.yaml", "queues.refunds.backlog_before"),
            ("team.yaml", "clients.checkout.max_attempts"),
            ("team.yaml", "clients.checkout.mode"),
        ]
    )


def test_attached_files_are_read_even_if_the_zone_is_wrong(example: str, write: Write) -> None:
    write("at,count\n2025-10-19T23:48Z,1\n2025-10-19T23:49,1\n", "rows.csv")
    text = attach(example, "series", "rows.csv").replace("America/Los_Angeles", "Pacific time")
    assert fields(text, write) == [("rows.csv", "at"), ("team.yaml", "time_zone")]


def test_a_series_that_two_queues_share_is_reported_once(example: str, write: Write) -> None:
    write("at,count\nsoon,1\n", "rows.csv")
    text = attach(example, "series", "rows.csv").replace(
        "call_stacks:\n",
        "  refunds:\n    arrival_rate: {series: rows.csv}\n    service_rate: 1/min\ncall_stacks:\n",
    )
    assert fields(text, write) == [("rows.csv", "at")]


def test_nothing_to_compute_is_a_mistake(example: str, write: Write) -> None:
    path = write(example[: example.index("dependencies:\n")])
    with pytest.raises(ScenarioError, match=r"holds nothing to compute; accepted: at least one of queues, call_stacks"):
        load_scenario(path)


@pytest.mark.parametrize(
    "part", ["dependencies: {d: {tested_rate: 5/min}}", "plan_automation: published",
             "control_loops: {c: {load: 5/s, capacity: 10/s, timeout: 5 s}}"],
)  # fmt: skip
def test_one_part_alone_is_enough(example: str, write: Write, part: str) -> None:
    load_scenario(write(f"{example[: example.index('dependencies:')]}{part}\n"))


def test_the_live_chapter_needs_readings_of_its_queue(example: str, write: Write) -> None:
    write("at,queue,depth\n2025-10-20T10:00Z,refunds,5\n", "log.csv")
    live = "\nlive: {queue: orders, log: log.csv}\n"
    with pytest.raises(ScenarioError, match=r"live\.log: holds no reading of 'orders'; accepted: .* it has refunds"):
        load_scenario(write(example + live))
    with pytest.raises(ScenarioError, match=r"live\.queue: 'order' is not one of the queues; nearest: orders"):
        load_scenario(write(example + live.replace("orders", "order")))
    write("at,queue,depth,age_min\n2025-10-20T10:00Z,orders,5,-1\nsoon,orders,5,\n", "log.csv")
    assert fields(example + live, write) == [("log.csv", "age_min"), ("log.csv", "at")]
    write("at,queue,depth,age_min\n2025-10-20T10:05Z,orders,5,\n2025-10-20T10:00Z,orders,7,2\n", "log.csv")
    assert [item.depth for item in load_scenario(write(example + live)).readings] == [7, 5]


def test_what_stands_in_a_file_cannot_colour_a_terminal_or_break_a_line(example: str, write: Write) -> None:
    path = write(example.replace("owner:", '"own\\e[31mer\\n":', 1))
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    assert r"own\x1b[31mer\n: unknown key" in str(caught.value)
    assert str(caught.value).count("\n") == 1
    assert "\x1b" not in str(caught.value)


# --- the command line ------------------------------------------------------------------------------------------------

SHOWN = ["rate without a unit", "zone misspelt", "dependency misspelt", "duplicate key", "timeline not there"]


@pytest.mark.parametrize("case", SHOWN)
def test_the_command_ends_with_the_message_alone(
    case: str, example: str, write: Write, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text, lines = spoilt(example, MISTAKES[case])
    path = write(text)
    for command in (["check"], ["report", "--quiet", "-o", str(path.parent / "out")]):
        monkeypatch.setattr(sys, "argv", ["afterload", command[0], str(path), *command[1:]])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code == 3
        shown = capsys.readouterr()
        assert shown.out == ""
        assert shown.err.startswith("error: ")
        assert f"{path}:{lines[0]}: " in shown.err
        assert MISTAKES[case].seen in f"{shown.err};"
    assert not (path.parent / "out").exists()


def test_a_process_of_its_own_ends_with_3_and_no_traceback(example: str, write: Write) -> None:
    text, _ = spoilt(example, *(MISTAKES[case] for case in TWELVE))
    run = subprocess.run(
        [sys.executable, "-m", "afterload.cli", "check", str(write(text))],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONWARNINGS": "error"},
    )  # fmt: skip
    assert run.returncode == 3
    assert run.stdout == ""
    assert "12 problems" in run.stderr
    assert "Traceback" not in run.stderr
    assert len(run.stderr.splitlines()) == 13
