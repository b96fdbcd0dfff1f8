"""Duplicate side effects and keys that expire before a replay."""

import numpy as np
import pytest

from afterload.errors import ModelError
from afterload.model.idempotency import (
    ages_at_replay,
    duplicates_without_keys,
    key_cover,
    key_cover_from_curves,
    key_cover_from_pieces,
)


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


def test_every_replay_older_than_the_key_is_unprotected_planning_guide():
    cover = key_cover(np.linspace(0, 96, 97), 24)
    assert (cover.replayed, cover.unprotected) == (97, 72)
    assert cover.oldest_h == 96
    assert key_cover([23.9, 24.0, 24.1, 96.0], 24).unprotected_share == 0.5
    assert key_cover([12, 48], 24, items=[300, 100]).unprotected_share == 0.25
    assert key_cover([], 24).unprotected_share == 0


def test_work_of_96_hours_replayed_at_once_from_curves():
    cover = key_cover_from_curves([0, 96, 96.0001], [0, 9600, 9600], [0, 0, 9600], 24)
    assert cover.unprotected_share == pytest.approx(0.75, abs=1e-5)
    assert cover.oldest_h == pytest.approx(96, abs=1e-3)
    assert key_cover_from_curves([0, 1], [0, 5], [0, 0], 24).replayed == 0


@pytest.mark.parametrize("seed", range(8))
def test_shares_from_curves_against_items_one_by_one(seed):
    rng = np.random.default_rng(seed)
    times = np.concatenate(([0.0], np.cumsum(rng.uniform(1, 20, 8))))
    arrived = np.concatenate(([0.0], np.cumsum(rng.integers(0, 900, 8) * (rng.random(8) < 0.7)))).astype(float)
    replayed = np.minimum(arrived, np.concatenate(([0.0], np.cumsum(rng.integers(0, 600, 8)))))
    replayed = np.where(times < times[4], 0.0, replayed)
    places = np.arange(0.0005, replayed[-1], 0.05)
    if not len(places):
        pytest.skip("nothing replayed")
    ages = ages_at_replay(times, arrived, replayed, places)
    for life_h in (5.0, 24.0, 50.0):
        late = key_cover_from_curves(times, arrived, replayed, life_h)
        assert late.unprotected_share == pytest.approx((ages > life_h).mean(), abs=2e-3)
        assert late.oldest_h == pytest.approx(ages.max(), abs=0.2)


def test_shares_from_pieces_by_hand():
    """Ages that fall from 10 h to 2 h and rise from 0 to 4 h, keys of 6 h and 3 h; a piece of one age; an empty one."""
    assert key_cover_from_pieces([10, 0], [2, 4], [800, 200], 6).unprotected == pytest.approx(400)
    assert key_cover_from_pieces([10, 0], [2, 4], [800, 200], 3).unprotected == pytest.approx(700 + 50)
    assert key_cover_from_pieces([5], [5], [10], 5).unprotected_share == 0
    assert key_cover_from_pieces([5, 90], [5, 90], [10, 0], 4) == key_cover([5], 4, items=[10])
    assert key_cover_from_pieces([], [], [], 4).replayed == 0
    # Work of every age up to 96 h, replayed together: three of four days are older than a key of 24 h.
    assert key_cover_from_pieces([96], [0], [1], 24).unprotected_share == pytest.approx(0.75)


def test_ages_from_curves_by_hand():
    """100 an hour for 10 h, replayed at 500 an hour from hour 10 on."""
    ages = ages_at_replay([0, 10, 12], [0, 1000, 1000], [0, 0, 1000], [0, 500, 1000])
    assert ages == pytest.approx([10, 6, 2])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: key_cover([1.0], 0), "key_life_h is 0"),
        (lambda: key_cover([-1.0], 24), "ages_at_replay_h"),
        (lambda: key_cover([1.0, 2.0], 24, items=[1]), "items has 1"),
        (lambda: duplicates_without_keys(0.5, 0, effect_despite_failure=0.1), "max_tries is 0"),
        (lambda: duplicates_without_keys(0.5, 1, effect_despite_failure=1.1), "1.1"),
        (lambda: key_cover_from_curves([0, 1], [0, 5], [0, 6], 24), "more than arrived"),
        (lambda: key_cover_from_curves([0, 0], [0, 5], [0, 5], 24), "rise"),
        (lambda: key_cover_from_curves([0, 1], [1, 5], [0, 5], 24), "begin at 0"),
        (lambda: ages_at_replay([0, 1], [0, 5], [0, 4], [5]), "beyond the 4"),
        (lambda: key_cover_from_pieces([1.0], [1.0, 2.0], [1.0], 24), "1, 2 and 1 values"),
        (lambda: key_cover_from_pieces([-1.0], [1.0], [1.0], 24), "first_h"),
    ],
)
def test_what_has_no_meaning_is_refused_with_the_value(make, says):
    with pytest.raises(ModelError, match=says):
        make()
