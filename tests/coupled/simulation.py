"""A recovery request by request in SimPy, written from sections 1, 3 and 5 of docs/model.md and not from the kernel.

Every item, delivery, direct request and retry is an event of its own. Load is what was counted in the last half minute, as a
team's own monitoring would see it, so a collapse or its end is noticed that much late.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

import simpy

WINDOW_MIN = 0.5
TICK_MIN = 0.1


@dataclass
class Target:
    """A dependency: what it bears, what one call costs while it fails, and what still works meanwhile."""

    capacity: float
    collapsed: bool = False
    goodput: float = 0.0
    tokens: float = math.inf
    sustained: float = 1.0
    direct_per_min: float = 0.0
    direct_attempts: float = 1.0
    requests: deque[float] = field(default_factory=deque)
    attempts: deque[float] = field(default_factory=deque)
    wanted: dict[str, int] = field(default_factory=dict)
    credit: dict[str, float] = field(default_factory=dict)
    owed: dict[str, float] = field(default_factory=dict)
    collapsed_min: float = 0.0
    direct_failed: int = 0
    direct_served: int = 0
    most_attempts: float = 0.0

    def call(self, now: float, who: str, attempts_failing: float) -> bool:
        """One request; retries follow at once while it fails and the quotas last."""
        self.requests.append(now)
        self.attempts.append(now)
        if not self.collapsed:
            return True
        self.wanted[who] = self.wanted.get(who, 0) + 1
        each = attempts_failing if self.tokens > 0 else min(attempts_failing, self.sustained)
        self.owed[who] = self.owed.get(who, 0.0) + each - 1
        while self.owed[who] >= 1:
            self.owed[who] -= 1
            if self.tokens > 0:
                self.tokens -= 1
            self.attempts.append(now)
        if self.credit.get(who, 0.0) >= 1:
            self.credit[who] -= 1
            return True
        return False

    def watch(self, env: simpy.Environment, order: list[str]) -> Generator[simpy.Event, None, None]:
        """Share what still works by class, and notice collapses and their ends."""
        while True:
            supply = self.goodput * self.capacity * TICK_MIN
            for who in order:
                given = min(supply, self.wanted.pop(who, 0) + 1.0 - self.credit.get(who, 0.0))
                if given > 0:
                    self.credit[who] = min(20.0, self.credit.get(who, 0.0) + given)
                    supply -= given
            if env.now >= 0:
                for seen in (self.requests, self.attempts):
                    while seen and seen[0] <= env.now - WINDOW_MIN:
                        seen.popleft()
                span = min(WINDOW_MIN, env.now) if env.now > 0 else WINDOW_MIN
                bears = self.capacity * span + 1.0
                self.most_attempts = max(self.most_attempts, len(self.attempts) / WINDOW_MIN)
                if self.collapsed:
                    self.collapsed_min += TICK_MIN
                    if env.now >= WINDOW_MIN and len(self.attempts) <= bears:
                        self.collapsed = False
                        self.credit.clear()
                        self.wanted.clear()
                elif len(self.requests) > bears:
                    self.collapsed = True
            yield env.timeout(TICK_MIN)

    def direct(self, env: simpy.Environment) -> Generator[simpy.Event, None, None]:
        """Interactive traffic, which nobody queues."""
        while True:
            yield env.timeout(1 / self.direct_per_min)
            if self.call(env.now, "direct", self.direct_attempts):
                self.direct_served += 1
            else:
                self.direct_failed += 1


@dataclass
class Consumers:
    """A queue and its consumers, who take one item after the other at their rate."""

    name: str
    arrivals_per_min: float
    rate: Callable[[float], float]
    max_age: float = math.inf
    sideline: float = math.inf
    target: Target | None = None
    attempts_failing: float = 1.0
    live: deque[float] = field(default_factory=deque)
    aside: deque[float] = field(default_factory=deque)
    served: int = 0
    expired: int = 0
    fresh_back: float | None = None
    drained: float | None = None

    def tidy(self, now: float) -> None:
        """Set old work aside from the restore on, and drop what has expired."""
        while now >= 0 and self.live and now - self.live[0] > self.sideline + 1e-9:
            self.aside.append(self.live.popleft())
        for waiting in (self.live, self.aside):
            while waiting and now - waiting[0] > self.max_age + 1e-9:
                waiting.popleft()
                self.expired += 1

    def arrive(self, env: simpy.Environment, outage: float) -> Generator[simpy.Event, None, None]:
        number = 0
        while True:
            number += 1
            yield env.timeout(max(0.0, -outage + (number - 0.5) / self.arrivals_per_min - env.now))
            self.live.append(env.now)

    def work(self, env: simpy.Environment) -> Generator[simpy.Event, None, None]:
        yield env.timeout(-env.now)
        while True:
            rate = self.rate(env.now)
            if rate <= 0:
                yield env.timeout(TICK_MIN)
                continue
            # Half a pace before and half after, so that a rate that grows is met in the middle.
            yield env.timeout(0.5 / rate)
            self.tidy(env.now)
            waiting = self.live or self.aside
            if waiting and (self.target is None or self.target.call(env.now, self.name, self.attempts_failing)):
                waiting.popleft()
                self.served += 1
            self.look(env.now)
            yield env.timeout(0.5 / rate)

    def look(self, now: float) -> None:
        down = self.target is not None and self.target.collapsed
        if down:
            self.fresh_back = self.drained = None
        elif len(self.live) <= 1:
            self.fresh_back = now if self.fresh_back is None else self.fresh_back
            if not self.aside and self.drained is None:
                self.drained = now


def run(outage: float, consumers: list[Consumers], targets: list[Target], until: float) -> None:
    """Run a recovery; the restore is at 0."""
    env = simpy.Environment(initial_time=-outage)
    for item in consumers:
        env.process(item.arrive(env, outage))
        env.process(item.work(env))

    def after_restore(target: Target, order: list[str]) -> Generator[simpy.Event, None, None]:
        yield env.timeout(-env.now)
        if target.direct_per_min > 0:
            env.process(target.direct(env))
        env.process(target.watch(env, order))

    for target in targets:
        env.process(after_restore(target, ["direct", *(item.name for item in consumers)]))
    env.run(until)
