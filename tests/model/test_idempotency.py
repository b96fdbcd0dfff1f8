"""Duplicate side effects and keys that expire before a replay."""

import numpy as np
import pytest

from afterload.errors import ModelError
from afterload.model.idempotency import duplicates_without_keys, key_cover_from_pieces


def follow(items, p, tries, hidden, again, most, rng):
    """Deliveries, calls, effects and items done, one item after the other."""
    totals = np.zeros(4)
    for _ in range(items):
        effects = 0
        for _delivery in range(most):
            totals[0] += 1
            done = False
            for _try in range(tries):
                totals[1] += 1
                done = rng.random() >= p
                effects += done or rng.random() < hidden
                if done:
                    break
            if done and rng.random() >= again:
                break
        totals[2] += effects
        totals[3] += effects > 0
    return totals / items


@pytest.mark.parametrize(
    ("p", "tries", "hidden", "again", "most"),
    [
        (0.5, 3, 0.2, 0.1, 5),
        (0.3, 1, 1.0, 0.0, 3),
        (0.9, 2, 0.5, 0.02, 4),
        (0.0, 3, 0.5, 0.3, 10),
        (1.0, 3, 0.3, 0.0, 2),
    ],
)
def test_means_of_one_item_against_items_followed_one_by_one(p, tries, hidden, again, most):
    seen = follow(30_000, p, tries, hidden, again, most, np.random.default_rng(1))
    mean = duplicates_without_keys(
        p, tries, effect_despite_failure=hidden, redelivery_probability=again, max_deliveries=most
    )
    found = [mean.deliveries, mean.calls, mean.effects, mean.done_probability]
    assert found == pytest.approx(list(seen), rel=0.02)
    assert mean.duplicates == pytest.approx(seen[2] - seen[3], abs=0.03)


def test_duplicates_by_hand():
    assert duplicates_without_keys(0.0, 5, effect_despite_failure=1.0).duplicates == 0
    # Delivered twice for certain, nothing fails: one duplicate.
    twice = duplicates_without_keys(0.0, 1, effect_despite_failure=0.0, redelivery_probability=1.0, max_deliveries=2)
    assert (twice.effects, twice.duplicates) == (2, 1)
    # Every time-out had done its work: three tries, three effects, two of them duplicates.
    assert duplicates_without_keys(1.0, 3, effect_despite_failure=1.0).duplicates == 2


def test_shares_from_pieces_by_hand():
    """Ages that fall from 10 h to 2 h and rise from 0 to 4 h, keys of 6 h and 3 h; a piece of one age; an empty one."""
    assert key_cover_from_pieces([10, 0], [2, 4], [800, 200], 6).unprotected == pytest.approx(400)
    assert key_cover_from_pieces([10, 0], [2, 4], [800, 200], 3).unprotected == pytest.approx(700 + 50)
    assert key_cover_from_pieces([5], [5], [10], 5).unprotected_share == 0
    kept = key_cover_from_pieces([5, 90], [5, 90], [10, 0], 4)
    assert (kept.replayed, kept.unprotected, kept.oldest_h) == (10, 10, 5)
    assert key_cover_from_pieces([], [], [], 4).replayed == 0
    # Work of every age up to 96 h, replayed together: three of four days are older than a key of 24 h.
    assert key_cover_from_pieces([96], [0], [1], 24).unprotected_share == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: key_cover_from_pieces([1.0], [1.0], [1.0], 0), "key_life_h is 0"),
        (lambda: duplicates_without_keys(0.5, 0, effect_despite_failure=0.1), "max_tries is 0"),
        (lambda: duplicates_without_keys(0.5, 1, effect_despite_failure=1.1), "1.1"),
        (lambda: key_cover_from_pieces([1.0], [1.0, 2.0], [1.0], 24), "1, 2 and 1 values"),
        (lambda: key_cover_from_pieces([-1.0], [1.0], [1.0], 24), "first_h"),
    ],
)
def test_what_has_no_meaning_is_refused_with_the_value(make, says):
    with pytest.raises(ModelError, match=says):
        make()
