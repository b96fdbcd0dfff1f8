"""Side effects of a queue's recovery: closed forms, and items followed one by one."""

import numpy as np
import pytest

from afterload.replays import estimate_replays

QUEUE = "queues:\n  q:\n    arrival_rate: 1,200/min\n    service_rate: 1,800/min\n"
KEYS = "    idempotency: {{failure_share: 0.5, effect_despite_failure: 0.2, tries: 3{more}}}\n"


def replay(results, queue=QUEUE, more="", head=""):
    [found] = estimate_replays(results(head + queue + KEYS.format(more=more)))
    return found


def test_the_example_in_closed_form(results):
    """An item served t min after the restore arrived at 1.5 t: its age is 172 - t / 2 min, over 120 min until t = 104."""
    found = replay(results, more=", key_life: 2 h")
    assert found.items == pytest.approx(344 * 1_800)
    assert found.oldest_min == pytest.approx(172)
    assert found.cover.unprotected == pytest.approx(104 * 1_800)
    assert found.unprotected_share == pytest.approx(104 / 344)
    assert found.is_covered is False
    # Tries fail with 1/2 up to three times: 1.75 of them, each with an effect of 0.6; one in eight is delivered again.
    each = 1.75 * 0.6 / (1 - 0.125)
    assert found.expected_duplicates == pytest.approx(344 * 1_800 * (each - 1), rel=1e-6)


@pytest.mark.parametrize(("life", "share"), [("24 h", 0.0), ("172 min", 0.0), ("0.1 min", 1.0), ("86 min", 1.0)])
def test_keys_that_outlive_everything_or_nothing(results, life, share):
    found = replay(results, more=f", key_life: {life}")
    # The youngest work served in the drain waited no time, so that a key of no length covers next to none.
    tail = 0.0005 if life == "0.1 min" else 0.0
    expected = 1.0 - max(0.0, min(1.0, (float(life.split()[0]) * (60 if "h" in life else 1)) / 172)) if share else 0.0
    assert found.unprotected_share == pytest.approx(expected, abs=1e-9 + tail)


def test_shares_against_items_one_by_one(results):
    hours = [
        300,
        200,
        900,
        100,
        700,
        50,
        400,
        800,
        300,
        300,
        500,
        100,
        300,
        200,
        900,
        100,
        700,
        50,
        400,
        800,
        300,
        300,
        500,
        100,
    ]
    queue = f"queues:\n  q:\n    arrival_rate: {{hour_of_day_per_min: {hours}}}\n    service_rate: 1,000/min\n"
    found = replay(results, queue, ", key_life: 70 min")
    rates = np.repeat(np.tile(hours, 2), 60)
    arrived = np.repeat(np.arange(len(rates)), rates) + np.concatenate([np.arange(n) / n for n in rates])
    served = np.empty(len(arrived))
    clock = 172.0
    for place, at in enumerate(arrived):
        clock = max(clock, at)
        served[place] = clock
        clock += 1e-3
    waited = served - arrived
    drained = int(np.argmax(waited < 2e-3))
    assert found.items == pytest.approx(drained, rel=2e-3)
    assert found.unprotected_share == pytest.approx((waited[:drained] > 70).mean(), abs=2e-3)
    assert found.oldest_min == pytest.approx(waited.max(), rel=1e-3)


def test_a_given_age_goes_before_the_recovery(results):
    """Work of every age up to 96 h replayed together: what is older than a key of 24 h is unprotected (model.md 2)."""
    found = replay(results, more=", key_life: 24 h, oldest_replay: 96 h")
    assert found.is_given
    assert found.unprotected_share == pytest.approx(0.75)
    assert replay(results, more=", key_life: 96 h, oldest_replay: 96 h").unprotected_share == 0


def test_without_keys_there_is_no_share(results):
    found = replay(results, more=", key_life: none")
    assert (found.cover, found.is_covered, found.unprotected_share) == (None, None, None)


@pytest.mark.parametrize(("order", "oldest"), [("lifo", 172 + 344), ("fresh_first", 344)])
def test_in_another_order_only_the_oldest_age_is_known(results, order, oldest):
    """Last in, first out serves the first item last. Behind fresh work, item n is served at 172 + n / 600 min."""
    queue = f"{QUEUE}    order: {order}\n"
    short, long = replay(results, queue, ", key_life: 2 h"), replay(results, queue, ", key_life: 24 h")
    assert (short.is_covered, short.unprotected_share) == (False, None)
    assert (long.is_covered, long.unprotected_share) == (True, 0.0)
    assert long.oldest_min == pytest.approx(oldest)


def test_a_backlog_that_never_drains_has_no_number_of_items(results):
    found = replay(results, QUEUE.replace("1,800", "1,100"), ", key_life: 2 h")
    assert (found.items, found.expected_duplicates, found.cover) == (None, None, None)
    assert found.duplicates.duplicates > 0


def test_tries_come_from_the_clients_that_the_consumers_call_with(results):
    head = "dependencies: {table: {tested_rate: 3000/min}}\nclients:\n"
    head += "  a: {sdk: boto3, version: 1.43.0, service: dynamodb, number: 3, dependency: table}\n"
    head += "  b: {sdk: cpp, number: 3}\n"
    queue = f"{QUEUE}    dependency: table\n    idempotency: {{failure_share: 0.1, effect_despite_failure: 1}}\n"
    [found] = estimate_replays(results(head + queue))
    assert found.tries == 10
    [found] = estimate_replays(results(queue.replace("    dependency: table\n", "")))
    assert found.tries == 1


def test_a_stream_is_as_old_as_its_busiest_shard(results):
    queue = (
        f"{QUEUE}    service: stream-lambda\n"
        "    stream: {shards: 10, batch_size: 100, batch_time: 20 s, hottest_share: 14 %}\n"
    )
    found = replay(results, queue, ", key_life: 24 h")
    assert found.oldest_min == pytest.approx(172)
    assert found.unprotected_share == 0


def test_dead_letters_end_the_deliveries(results):
    few = replay(results, f"{QUEUE}    max_receives: 1\n")
    assert few.duplicates.deliveries == 1
    assert few.duplicates.duplicates < replay(results).duplicates.duplicates
