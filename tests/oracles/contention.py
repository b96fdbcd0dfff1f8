"""Clients that fight for one row: optimistic concurrency with backoff, event by event.

Each client reads the version of a row, writes it if the version is still the same, and after a conflict waits and
starts again, until its one write has succeeded. Every message takes a network delay.

Source: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, and its published simulator.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from afterload.model.checks import number, whole
from afterload.model.jitter import Backoff

__all__ = ["Contention", "contend"]


@dataclass(frozen=True)
class Contention:
    """What it took until every client had written once.

    Attributes:
        calls: writes sent, those in conflict included; reads are not counted.
        conflicts: writes refused because the version had changed.
        finish_s: seconds until the last write was answered.
    """

    calls: int
    conflicts: int
    finish_s: float


def contend(
    clients: int,
    backoff: Backoff,
    rng: np.random.Generator,
    *,
    network_mean_s: float = 0.010,
    network_sd_s: float = 0.002,
) -> Contention:
    """Let clients that start together write one row once each.

    Parameters:
        clients: clients, at least 1.
        backoff: waits after a conflict, on top of the network; a base of 0 is no backoff. The published figures have
            a base of 5 ms, a cap of 2,000 ms and ``first_exponent`` 1.
        rng: source of chance.
        network_mean_s, network_sd_s: seconds that a message takes, normally distributed, its sign dropped.

    Raises:
        ModelError: a value out of its range.
    """
    count = whole("clients", clients)
    mean_s, sd_s = number("network_mean_s", network_mean_s, above=0.0), number("network_sd_s", network_sd_s)
    draws = _delays(rng, mean_s, sd_s)
    version, calls, conflicts, finish_s = 0, 0, 0, 0.0
    waited_s = [backoff.base_s] * count
    failures = [0] * count
    # An event is a message that reaches the row: time, order of sending, client, version that it read (-1: it reads).
    events = [(next(draws)[0], order, order, -1) for order in range(count)]
    heapq.heapify(events)
    order = count
    while events:
        now_s, _, client, read = heapq.heappop(events)
        answered_s, uniform = next(draws)
        answered_s += now_s
        if read == version:
            version += 1
            calls += 1
            finish_s = max(finish_s, answered_s)
            continue
        sent_s = answered_s + next(draws)[0]
        if read < 0:
            heapq.heappush(events, (sent_s, order, client, version))
        else:
            calls += 1
            conflicts += 1
            failures[client] += 1
            waited_s[client] = _wait_s(backoff, failures[client], waited_s[client], uniform)
            heapq.heappush(events, (sent_s + waited_s[client], order, client, -1))
        order += 1
    return Contention(calls, conflicts, finish_s)


def _delays(rng: np.random.Generator, mean_s: float, sd_s: float) -> Iterator[tuple[float, float]]:
    """Network delays, each with a random number from 0 to below 1."""
    while True:
        # Drawn in blocks: one number at a time costs ten times as much.
        delays = np.abs(rng.normal(mean_s, sd_s, 4096)).tolist()
        yield from zip(delays, rng.random(4096).tolist(), strict=True)


def _wait_s(backoff: Backoff, failure: int, before_s: float, uniform: float) -> float:
    """Seconds of backoff after a client's failure, numbered from 1."""
    if backoff.jitter == "decorrelated":
        wait_s = backoff.base_s + uniform * (3.0 * before_s - backoff.base_s)
        return wait_s if backoff.cap_s is None else min(wait_s, backoff.cap_s)
    longest_s = backoff.longest_s(failure)
    if backoff.jitter == "none":
        return longest_s
    return longest_s * (0.5 + 0.5 * uniform if backoff.jitter == "equal" else uniform)
