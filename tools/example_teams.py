"""Write scenario files of made-up teams, varied and repeatable, for benchmarks, tests and demonstrations.

    python tools/example_teams.py N FOLDER [--seed S]

The same seed gives the same files. All teams meet one event, as in a failure of a whole region. Every eighth one or so is
a shipped example under another name, so that every chapter has something to show; the others have one to three queues, and
perhaps call stacks, clients, fleets, dependencies and uncertain values. Some share an account, a region or a dependency.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

EXAMPLES = ("orders", "checkout-api", "render-fleet")
SHIPPED = Path(__file__).resolve().parents[1] / "data" / "scenarios"
FIRST_WORDS = (
    "Orders", "Payments", "Search", "Billing", "Catalogue", "Delivery", "Returns", "Identity", "Ledger", "Pricing",
    "Media", "Notifications", "Inventory", "Fraud", "Reviews", "Loyalty", "Reporting", "Invoices", "Routing", "Bookings",
)  # fmt: skip
LAST_WORDS = (
    "intake", "core", "export", "events", "sync", "gateway", "index", "ledger", "mail", "feed", "history", "archive",
)  # fmt: skip
ZONES = ("America/Los_Angeles", "Europe/Berlin", "Asia/Kolkata", "Australia/Adelaide", "UTC", "America/Sao_Paulo")
REGIONS = ("us-east-1", "us-east-1", "eu-central-1", "ap-southeast-2")
SHARED_NAMES = ("customer-table", "ledger", "search-cluster", "document-store", "price-cache", "event-bus")
# About so many teams share one account, and one dependency.
TEAMS_AN_ACCOUNT, TEAMS_A_DEPENDENCY = 12, 20
QUEUE_NAMES = ("jobs", "events", "mails", "exports", "updates", "receipts", "images", "invoices")
TRIGGER, RESTORED = "2025-10-19T23:48-07:00", "2025-10-20T02:40-07:00"


def team_names(number: int, rng: random.Random) -> list[str]:
    """Names that read like those of teams, each once."""
    pairs = [f"{first} {last}" for first in FIRST_WORDS for last in LAST_WORDS]
    rng.shuffle(pairs)
    return [f"{pairs[place % len(pairs)]} {place // len(pairs) + 1}".removesuffix(" 1") for place in range(number)]


def queue(rng: random.Random, dependency: str | None) -> dict[str, Any]:
    """A queue whose consumers mostly keep up, so that most backlogs end some day."""
    arrivals = rng.choice((60, 180, 400, 900, 1_200, 2_400, 4_800)) * rng.randint(80, 120) // 100
    headroom = rng.choice((0.97, 1.15, 1.3, 1.5, 1.5, 1.8, 1.8, 2.2, 2.2, 3.0, 4.0))
    service = max(1, round(arrivals * headroom))
    item_time = rng.choice((0.4, 1, 1.5, 2, 4))
    found: dict[str, Any] = {
        "service": rng.choice(("sqs-lambda", "sqs-lambda", "sqs-lambda", "lambda-async", "other")),
        "arrival_rate": f"{arrivals}/min",
        "service_rate": f"{service}/min",
        "item_time": f"{item_time} s",
        "source": "made up by tools/example_teams.py",
    }
    if rng.random() < 0.2:
        shape = [0.4, 0.3, 0.3, 0.3, 0.4, 0.6, 0.8, 1.0, 1.2, 1.3, 1.4, 1.5, 1.5, 1.5, 1.4, 1.4, 1.3, 1.2, 1.1, 1, 0.9]
        found["arrival_rate"] = {"hour_of_day_per_min": [round(arrivals * share) for share in [*shape, 0.8, 0.7, 0.5]]}
        found["service_rate"] = f"{round(service * 1.5)}/min"
    if dependency is not None:
        found["dependency"] = dependency
    if found["service"] == "sqs-lambda":
        found["retention"] = rng.choice(("1 days", "4 days", "14 days"))
        if rng.random() < 0.5:
            # A cap that still passes the arrivals.
            found["drain_cap"] = {
                "concurrency": min(1000, max(2, round(arrivals * rng.uniform(1.1, 2.5) * item_time / 60)))
            }
        elif rng.random() < 0.3:
            found["reserved_concurrency"] = max(2, round(service * item_time / 60 * rng.uniform(1.0, 1.6)))
        if rng.random() < 0.3:
            found["max_receives"] = rng.choice((3, 5, 10))
    if rng.random() < 0.3:
        found["goes_stale_after"] = f"{rng.choice((10, 30, 60))} min"
    if rng.random() < 0.2:
        found["age_limit"] = f"{rng.choice((30, 120, 360))} min"
        found["on_failure_destination"] = "arn:aws:sqs:us-east-1:111122223333:expired"
    if rng.random() < 0.15:
        found["order"] = rng.choice(("lifo", "fresh_first"))
    return found


def fleet(rng: random.Random) -> dict[str, Any]:
    """A fleet that lacks a part of its instances at the restore."""
    needed = rng.choice((40, 120, 400, 900, 1_500))
    return {
        "running": round(needed * rng.choice((0.3, 0.6, 0.8, 1.0))),
        "needed": needed,
        "launch": {
            "instances_per_request": rng.choice((1, 5, 20, 50)),
            "boot_time": f"{rng.choice((60, 90, 150, 240))} s",
            "network_delay": f"{rng.choice((10, 30, 60))} s",
        },
        "removal_automation": rng.choice(([], ["ReplaceUnhealthy"], ["ReplaceUnhealthy", "AZRebalance"])),
    }


def clients(rng: random.Random, dependency: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in rng.sample(("worker", "web", "batch"), rng.randint(1, 2)):
        sdk, version = rng.choice(
            (("boto3", "1.43.11"), ("java-v2", "2.31.0"), ("go-v2", "1.36.0"), ("js-v3", "3.750.0"))
        )
        found[name] = {
            "sdk": sdk, "version": version, "number": rng.choice((10, 40, 200)), "calls": f"{rng.choice((6, 30, 120))}/min",
        }  # fmt: skip
        if dependency is not None:
            found[name]["dependency"] = dependency
    return found


def place(rng: random.Random, number: int) -> dict[str, Any]:
    """One of the accounts that ``number`` teams share."""
    which = rng.randrange(max(1, round(number / TEAMS_AN_ACCOUNT)))
    found: dict[str, Any] = {"account": f"{111_100_000_000 + 7_919 * which}", "region": REGIONS[which % len(REGIONS)]}
    if which % 4:
        found["concurrency"] = (1_000, 3_000, 8_000)[which % 3]
    return found


def team(name: str, rng: random.Random, number: int) -> dict[str, Any]:
    """One team's scenario, as the file holds it."""
    found: dict[str, Any] = {
        "team": name,
        "owner": f"{name} on-call",
        "time_zone": rng.choice(ZONES),
        "hypothetical": True,
        "recovery_objective": f"{rng.choice((60, 120, 240, 240, 480, 720))} min",
        "incident": {"name": "loss of a region, for planning", "trigger": TRIGGER, "restored_at": RESTORED},
    }
    if rng.random() < 0.6:
        found["shared"] = place(rng, number)
    queues = rng.choice((0, 1, 1, 1, 2, 2, 3))
    dependency = None
    if rng.random() < 0.75:
        shared = rng.random() < 0.5
        place_of = rng.randrange(max(1, round(number / TEAMS_A_DEPENDENCY)))
        shared_name = f"{SHARED_NAMES[place_of % len(SHARED_NAMES)]}-{place_of // len(SHARED_NAMES) + 1}"
        dependency = shared_name if shared else "main-table"
        found["dependencies"] = {dependency: {}}
    if queues:
        found["queues"] = {item: queue(rng, dependency) for item in rng.sample(QUEUE_NAMES, queues)}
    if dependency is not None:
        drains = sum(float(item["service_rate"].removesuffix("/min")) for item in found.get("queues", {}).values())
        # Mostly room for the team's own drain, now and then too little.
        tested = round(max(1_500, drains) * rng.choice((0.8, 1.3, 1.3, 1.6, 2)), -2)
        found["dependencies"][dependency] = {
            "tested_rate": f"{tested:g}/min",
            "direct_rate": f"{round(tested * rng.choice((0.05, 0.1, 0.15))):g}/min",
        }
        if shared:
            found["dependencies"][dependency] = {
                "tested_rate": f"{(12, 20, 40)[place_of % 3]}000/min",
                "direct_rate": "120/min",
                "shared_as": shared_name,
            }
    if rng.random() < 0.5 or not queues:
        layers = [
            {"name": item, "tries": rng.choice((1, 2, 3, 3, 4))} for item in ("browser", "gateway", "service", "client")
        ]
        stack: dict[str, Any] = {"layers": layers[: rng.randint(2, 4)]}
        stack["failure_probability"] = rng.choice((1, 1, 0.5))
        if dependency is not None:
            stack["dependency"] = dependency
        found["call_stacks"] = {"api": stack}
    if rng.random() < 0.4:
        found["clients"] = clients(rng, dependency)
    if rng.random() < 0.4:
        found["fleets"] = {item: fleet(rng) for item in rng.sample(("api", "workers", "edge"), rng.randint(1, 2))}
    if queues and rng.random() < 0.3:
        first = next(iter(found["queues"]))
        rate = float(found["queues"][first]["service_rate"].removesuffix("/min"))
        found["uncertain"] = {
            f"queues.{first}.service_rate": {"low": f"{rate * 0.9:g}/min", "high": f"{rate * 1.15:g}/min"}
        }
    if rng.random() < 0.3:
        found["costs"] = {"stale_minute": rng.choice((20, 100, 450)), "person_day": 800, "currency": "EUR"}
    return found


def example(name: str, source: Path, rng: random.Random, number: int) -> dict[str, Any]:
    """A shipped example under another team's name."""
    found: dict[str, Any] = YAML().load(source.read_text(encoding="utf-8"))
    found["team"] = name
    found["shared"] = place(rng, number)
    return found


def write_teams(number: int, folder: Path, seed: int = 0) -> list[Path]:
    """Write ``number`` scenario files into ``folder`` and return their paths in order."""
    rng = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    digits = max(3, len(str(number)))
    yaml = YAML()
    yaml.width = 120
    paths = []
    for place, name in enumerate(team_names(number, rng), 1):
        own = random.Random(f"{seed} {place}")
        is_example = place % 8 == 1
        source = SHIPPED / f"{EXAMPLES[place // 8 % len(EXAMPLES)]}.yaml"
        content = example(name, source, own, number) if is_example else team(name, own, number)
        path = folder / f"team-{place:0{digits}}.yaml"
        with path.open("w", encoding="utf-8", newline="\n") as file:
            yaml.dump(content, file)
        paths.append(path)
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description="Write scenario files of made-up teams.")
    parser.add_argument("number", type=int, help="how many teams")
    parser.add_argument("folder", type=Path, help="folder for the files")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives other teams")
    arguments = parser.parse_args()
    for path in write_teams(arguments.number, arguments.folder, arguments.seed):
        print(path)


if __name__ == "__main__":
    main()
