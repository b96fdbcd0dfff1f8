"""The order of a plan depends on what lines are worth, and on neither the names nor the order of a file's parts."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from tests.plan.conftest import HEAD
from tests.plan.test_catalogue import BUDGET, LASTING, MISSING, REMOVED, TABLE

from afterload.estimates import estimate
from afterload.plan import Plan, PlanItem, build_plan
from afterload.plan.build import Order
from afterload.scenario import load_scenario

COSTS = {"stale_minute": 20, "person_day": 500, "instance_hour": 0.01, "consumer_hour": 0.01}


def parts() -> dict[str, Any]:
    """Queues, clients and fleets of which no two are worth the same."""
    queues = {
        name: {**LASTING, "dependency": "table", "service_rate": f"{rate}/min", "goes_stale_after": f"{stale} min",
               "supersedable_share": share}
        for name, rate, stale, share in (("a", 1_500, 15, 0.1), ("b", 1_800, 40, 0.3), ("c", 2_400, 90, 0.2))
    }  # fmt: skip
    # The slowest of all decides, so that several kinds of change of it are worth something.
    queues["d"] = {**LASTING, "service_rate": "1,350/min", "dependency": "other", "fleet": "f", "goes_stale_after": "3 h",
                   "supersedable_share": 0.4}  # fmt: skip
    clients = {
        "x": {**BUDGET["clients"]["c"], "dependency": "other"},
        "y": {"sdk": "boto3", "version": "1.43.0", "number": 7, "dependency": "table"},
    }
    fleets = {"f": {**MISSING, **REMOVED}, "g": {"running": 50, "needed": 80}}
    dependencies = {"table": {**TABLE, "tested_rate": "30,000/min"}, "other": TABLE}
    return {"queues": queues, "clients": clients, "fleets": fleets, "dependencies": dependencies, "costs": COSTS}


def planned(folder: Path, data: dict[str, Any], order: Order) -> Plan:
    path = folder / "t.yaml"
    path.write_text(json.dumps({**copy.deepcopy(HEAD), **data}), encoding="utf-8")
    return build_plan(estimate(load_scenario(path)), order, draws=2)


@pytest.mark.parametrize("order", ["guide", "cost"])
def test_it_stays_when_parts_change_places(tmp_path: Path, order: Order) -> None:
    data = parts()
    turned = {
        part: dict(reversed(list(items.items()))) if part != "costs" else items
        for part, items in reversed(list(data.items()))
    }
    one, other = (planned(tmp_path, which, order) for which in (data, turned))
    assert [item.id for item in one.items] == [item.id for item in other.items]
    assert sum(bool(item.bought_min) for item in one.open) >= 8
    for first, second in zip(one.items, other.items, strict=True):
        assert first.bought_min == (None if second.bought_min is None else pytest.approx(second.bought_min, abs=1e-6))


def gained(item: PlanItem) -> tuple[bool, float]:
    """Whether it ends a drain that never ended, and the minutes that it buys but for rounding."""
    return item.drain is not None and item.drain.ended, round(item.bought_min or 0.0, 6)


@pytest.mark.parametrize("order", ["guide", "cost"])
def test_it_stays_when_parts_get_other_names(tmp_path: Path, order: Order) -> None:
    """Names that sort the other way round: lines follow their worth; only lines of equal worth follow their names."""
    names = {
        "a": "z4",
        "b": "z3",
        "c": "z2",
        "d": "z1",
        "x": "w2",
        "y": "w1",
        "f": "v2",
        "g": "v1",
        "table": "t",
        "other": "s",
    }
    data = parts()
    renamed: dict[str, Any] = {"costs": data["costs"]}
    for part in ("queues", "clients", "fleets", "dependencies"):
        renamed[part] = {
            names[name]: {key: names[value] if key in ("dependency", "fleet") else value for key, value in item.items()}
            for name, item in data[part].items()
        }
    one, other = (planned(tmp_path, which, order) for which in (data, renamed))
    back = {new: old for old, new in names.items()}

    def ids(plan: Plan, mapping: dict[str, str]) -> list[tuple[str, str]]:
        found = []
        for item in plan.open:
            part, _, name = item.target.partition(".")
            found.append((item.change, f"{part}.{mapping.get(name, name)}" if name else part))
        return found

    before, after = ids(one, {}), ids(other, back)
    assert sorted(before) == sorted(after)
    worths = {
        (item.change, item.target): (
            item.change,
            (False, 0.0) if item.drain is None else (item.drain.ended, round(item.bought_min or 0.0, 6)),
        )
        for item in one.open
    }
    assert [worths[line] for line in before] == [worths[line] for line in after]
    timed = [line for line in before if worths[line][1][1]]
    assert len(timed) >= 8
    assert timed == [line for line in after if line in timed]
