"""All commands say the same of one scenario, and what they set keeps every dependency within its tested rate."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.agreement.compare import differences, unsafe
from tests.golden.scenarios import scenario_text

from afterload.resources import resource

# `make fuzz` draws new ones, ten times as many.
MANY = 2_000 if os.environ.get("AFTERLOAD_EXAMPLES") == "new" else 200
CASES = Path(__file__).parent.parent / "cases"


@pytest.mark.parametrize("name", ["caps", "partitions", "model-fleetcap"])
def test_the_cases_agree(name: str, tmp_path: Path) -> None:
    text = (CASES / f"{name}.yaml").read_text(encoding="utf-8")
    assert differences(text, tmp_path) == []
    assert unsafe(text, tmp_path) == []


@pytest.mark.parametrize("name", ["orders", "checkout-api"])
def test_the_examples_agree(name: str, tmp_path: Path) -> None:
    text = resource("data", "scenarios").joinpath(f"{name}.yaml").read_text(encoding="utf-8")
    assert differences(text, tmp_path) == []
    assert unsafe(text, tmp_path) == []


@given(st.integers(0, 10**6))
@settings(max_examples=MANY, deadline=None)
@example(0)
def test_all_commands_agree_and_stay_within_what_was_tested(seed: int) -> None:
    text, nowhere = scenario_text(seed), Path("nowhere")
    assert differences(text, nowhere) == []
    assert unsafe(text, nowhere) == []


def test_a_difference_would_be_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (CASES / "caps.yaml").read_text(encoding="utf-8")
    monkeypatch.setattr("tests.agreement.compare.mean_attempts", lambda *_: 7.0)
    monkeypatch.setattr("tests.agreement.compare.operated_rate", lambda _: 1_000.0)
    assert any("attempts of the mix" in line for line in differences(text, tmp_path))
    assert any("of 1000/min" in line for line in unsafe(text, tmp_path))
