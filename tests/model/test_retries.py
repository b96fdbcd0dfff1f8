"""Retries against docs/model.md section 2 and against a simulation call by call."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterload.errors import ModelError
from afterload.model.retries import stack, tries_per_call


def test_five_layers_of_three_tries_model_md_section_2():
    seen = stack([3] * 5, 1.0)
    assert seen.calls_per_top_call == (3, 9, 27, 81, 243)
    assert seen.multiplier == 243
    assert seen.success_probability == 0
    assert seen.tries == (3,) * 5


def test_one_layer_of_four_tries_model_md_sections_2_and_8():
    seen = stack([4], 0.5)
    assert seen.multiplier == 1.875
    assert seen.success_probability == 0.9375


def test_layers_run_from_the_top_to_the_bottom():
    seen = stack([2, 3], 0.5)
    # The bottom layer sees 0.5 and fails with 0.125; the top sees that.
    assert seen.failure_seen == (0.125, 0.5)
    assert seen.failure_after == (0.125**2, 0.125)
    assert seen.tries == (1.125, 1.75)
    assert seen.calls_per_top_call == (1.125, 1.125 * 1.75)
    assert stack([1, 1, 1], 0.7).calls_per_top_call == (1, 1, 1)
    assert stack([2, 3], 0).multiplier == 1


@given(st.floats(0.0, 1.0), st.integers(1, 40))
def test_tries_are_the_sum_of_powers(p, n):
    assert tries_per_call(p, n) == pytest.approx(sum(p**i for i in range(n)), rel=1e-12)


@pytest.mark.parametrize("gap", [1e-3, 1e-8, 1e-12, 2**-53])
def test_tries_are_exact_next_to_certain_failure(gap):
    n = 100_000
    p = 1.0 - gap
    exact = math.fsum(math.exp(i * math.log1p(-gap)) for i in range(n))
    assert tries_per_call(p, n) == pytest.approx(exact, rel=1e-9)
    assert tries_per_call(p, n) <= n


@pytest.mark.parametrize(("layers", "p"), [([3, 3], 0.6), ([4], 0.5), ([2, 1, 5], 0.8), ([3, 2, 4], 0.3)])
def test_stack_agrees_with_calls_made_one_by_one(layers, p):
    random = np.random.default_rng(20251020)
    made = np.zeros(len(layers))

    def call(layer):
        if layer == len(layers):
            return random.random() >= p
        for _ in range(layers[layer]):
            made[layer] += 1
            if call(layer + 1):
                return True
        return False

    count = 40_000
    succeeded = sum(call(0) for _ in range(count))
    seen = stack(layers, p)
    assert made / count == pytest.approx(seen.calls_per_top_call, rel=0.02)
    assert succeeded / count == pytest.approx(seen.success_probability, abs=0.01)


@pytest.mark.parametrize("p", [-0.1, 1.1, math.nan, math.inf, "0.5", None, True])
def test_probabilities_out_of_range_are_refused(p):
    with pytest.raises(ModelError, match="failure_probability"):
        tries_per_call(p, 3)
    with pytest.raises(ModelError, match="failure_probability"):
        stack([3], p)


@pytest.mark.parametrize("n", [0, -1, 1.5, math.nan, math.inf, "3"])
def test_tries_below_one_are_refused(n):
    with pytest.raises(ModelError, match="max_tries"):
        tries_per_call(0.5, n)
    with pytest.raises(ModelError, match=r"max_tries\[1\]"):
        stack([3, n], 0.5)


def test_a_stack_needs_a_layer():
    with pytest.raises(ModelError, match="max_tries is empty"):
        stack([], 0.5)
