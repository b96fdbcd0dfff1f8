"""A scenario whose values stand between the steps of their sliders, and what the sliders say of them."""

from __future__ import annotations

__all__ = ["ODD", "ODD_LABELS"]

ODD = """\
team: Parcels # between the steps
time_zone: Europe/Berlin
hypothetical: true
recovery_objective: 60 min
incident:
  name: table outage (invented)
  trigger: 2026-11-12T09:10+01:00
  restored_at: 2026-11-12T10:40:30+01:00
queues:
  labels:
    service: sqs-lambda
    arrival_rate: 1,237/min
    service_rate: 3,500/min
    item_time: 1.5 s
    drain_cap: { concurrency: 73 }
    age_limit: 17 min
  tracking:
    service: sqs-lambda
    arrival_rate: 41/s
    service_rate: 51/s
    item_time: 400 ms
    age_limit: 0.6 h
call_stacks:
  api:
    failure_probability: 0.123
    layers:
      - { name: app, tries: 2 }
      - { name: SDK, tries: 4 }
fleets:
  fleet: { running: 20, needed: 120, launch: { boot_time: 90 s, throttle_factor: 0.505 }, removal_automation: [AZRebalance] }
"""

ODD_LABELS = [
    "Outage: 90.5 min, until 10:40:30 UTC+01:00",
    "labels: arrival rate: 1,237/min",
    "labels: service rate: 3,500/min",
    "labels: drain cap: 73 at once",
    "labels: age limit: 17 min",
    "tracking: arrival rate: 2,460/min",
    "tracking: service rate: 3,060/min",
    "tracking: drain cap: none",
    "tracking: age limit: 36 min",
    "api: attempts that fail: 12.3 %",
    "api: tries of app: 2",
    "api: tries of SDK: 4",
    "fleet: launch limits granted: 50.5 %",
]
