"""The defaults that docs/scenario.md shows are those that the loader uses: each, written as the page has it, changes nothing."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import TypeAdapter
from ruamel.yaml import YAML

from afterload.estimates import estimate
from afterload.scenario import load_scenario
from afterload.scenario.fields import Inside, Section, section_in

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tools"))
import scenario_page  # noqa: E402

EXAMPLES = sorted(path.stem for path in (TOP / "data" / "scenarios").glob("*.yaml"))


def shown() -> list[tuple[type[Section], str, str]]:
    """Every default of the page as it stands there: section, field and text."""
    page = (TOP / "docs" / "scenario.md").read_text(encoding="utf-8")
    found = []
    for title, section in scenario_page.PARTS:
        part = page.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]
        cells = dict(re.findall(r"^\| `(\w+)` \|.*\| ([^|]*) \|$", part, re.MULTILINE))
        for name in section.model_fields:
            text = cells[section.base(name)].strip()
            if text not in ("", "required"):
                found.append((section, name, text))
    return found


SHOWN = shown()


def written(text: str) -> Any:
    return YAML(typ="safe").load(text)


@pytest.mark.parametrize(("section", "name", "text"), SHOWN, ids=[f"{s.__name__}.{n}" for s, n, _ in SHOWN])
def test_a_shown_default_reads_as_the_default(section: type[Section], name: str, text: str) -> None:
    field = section.model_fields[name]
    quantity = section.quantities().get(name)
    if quantity is not None:
        assert quantity.read(written(text), None) == field.default
    else:
        kind = TypeAdapter(Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation)
        assert kind.validate_python(written(text)) == field.default


def filled(section: type[Section], data: dict[str, Any], path: str = "") -> Iterator[str]:
    """Write into raw data every shown default that it leaves out, in every part that it has; yields their paths."""
    for name, field in section.model_fields.items():
        text = next((text for owner, own, text in SHOWN if owner is section and own == name), "")
        if text and not any(section.keys().get(key) == name for key in data):
            data[section.base(name)] = written(text)
            yield f"{path}{section.base(name)}"
        inner, value = section_in(field.annotation), data.get(section.base(name))
        if isinstance(inner, Inside):
            inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
            for item in inside:
                if isinstance(item, dict):
                    yield from filled(inner.section, item, f"{path}{name}.")
        elif inner is not None and isinstance(value, dict):
            yield from filled(inner, value, f"{path}{name}.")


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_with_every_default_written_is_the_same(tmp_path: Path, example: str) -> None:
    folder = TOP / "data" / "scenarios"
    data = YAML().load((folder / f"{example}.yaml").read_text(encoding="utf-8"))
    paths = list(filled(scenario_page.schema.Scenario, data))
    assert len(paths) >= 5
    for path in folder.iterdir():
        if path.name != f"{example}.yaml":
            (tmp_path / path.name).symlink_to(path)
    out = StringIO()
    YAML().dump(data, out)
    (tmp_path / "full.yaml").write_text(out.getvalue(), encoding="utf-8")
    assert load_scenario(tmp_path / "full.yaml").scenario == load_scenario(f"builtin:scenarios/{example}.yaml").scenario


def test_a_refill_of_launches_is_shown_in_its_own_unit() -> None:
    """3,000 instances missing in the example: by 2/s they are in service after 19.2 min, by 2/min after 1,003 min."""
    shown_there = {name: text for _, name, text in SHOWN}
    assert shown_there["request_refill_per_s"] == shown_there["instance_refill_per_s"] == "2/s"

    def minutes(*overrides: str) -> float:
        found = estimate(load_scenario("builtin:scenarios/orders.yaml", list(overrides)))
        return found.fleets["checkout-api"].in_service_min

    launch = "fleets.checkout-api.launch"
    assert minutes() == pytest.approx(19.2, abs=0.05)
    assert minutes(f"{launch}.request_refill=2/s", f"{launch}.instance_refill=2/s") == minutes()
    assert minutes(f"{launch}.request_refill=2/min", f"{launch}.instance_refill=2/min") == pytest.approx(1_003, abs=1)
