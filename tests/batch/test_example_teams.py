"""The made-up teams of tools/example_teams.py: each loads, they differ, and a seed repeats them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import ModuleType

from afterload.scenario import load_scenario


def test_every_team_loads_and_they_vary(example_teams: ModuleType, tmp_path: Path) -> None:
    scenarios = [load_scenario(path).scenario for path in example_teams.write_teams(80, tmp_path, seed=2)]
    assert len({item.team for item in scenarios}) == 80
    assert {len(item.queues) for item in scenarios} >= {0, 1, 2, 3}
    for part in ("call_stacks", "clients", "fleets", "dependencies", "uncertain"):
        assert 10 < sum(bool(getattr(item, part)) for item in scenarios) < 80, part
    assert max(Counter(item.shared.account for item in scenarios if item.shared.account).values()) > 4
    names = Counter(part.shared_as for item in scenarios for part in item.dependencies.values() if part.shared_as)
    assert max(names.values()) > 4


def test_a_seed_repeats_the_teams(example_teams: ModuleType, tmp_path: Path) -> None:
    one = [path.read_bytes() for path in example_teams.write_teams(12, tmp_path / "one", seed=3)]
    assert one == [path.read_bytes() for path in example_teams.write_teams(12, tmp_path / "two", seed=3)]
    assert one != [path.read_bytes() for path in example_teams.write_teams(12, tmp_path / "three", seed=4)]
