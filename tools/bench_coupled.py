"""Time the coupled recovery beside other ways of doing the same, in one run, and say how near it is to its bound.

    python tools/bench_coupled.py [--rounds N]

The example is the queue of 1,200 a minute that was away for 172 minutes. Draws are of 24 hours with three queues and two
dependencies at one-minute steps, none of which ends early: once with constant arrivals, where most steps only carry on, and once
with arrivals that change every minute, where every step looks at all rates anew. Times are of one core unless a line says
otherwise, and processor seconds where other programs might share it.
"""

from __future__ import annotations

import argparse
import heapq
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import simpy
from numba import njit

from afterload.model import coupled
from afterload.model.coupled import CoupledDependency, CoupledQueue, CoupledSystem, Input, simulate
from afterload.model.curves import RateProfile
from afterload.model.queues import QueueLoad

OUTAGE, ARRIVAL, SERVICE = 172.0, 1_200.0, 1_800.0
DRAIN = 344.0
EXAMPLE = QueueLoad(RateProfile.constant(ARRIVAL), SERVICE, OUTAGE)
SECONDS, SPREAD, MEMORY, ONE_RUN, IMPORT = "0.5 s", "5 s", "500 MB", "15 ms", "0.3 s"


def spent(work: Callable[[], object], rounds: int) -> float:
    """Processor seconds, the median of some rounds after a first one."""
    work()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times)


def day(changing: bool) -> CoupledSystem:
    """Three queues and two dependencies that are not done within 24 hours."""
    arrivals = RateProfile.constant(ARRIVAL)
    if changing:
        minutes = np.arange(1441.0)
        arrivals = RateProfile(minutes.tolist(), (ARRIVAL + 100 * np.sin(minutes[:-1])).tolist(), cycle_min=1440)
    queue = CoupledQueue(replace(EXAMPLE, arrivals=arrivals, service_rate_per_min=1_210), 0, 3)
    dependencies = (CoupledDependency(9_000, fresh_per_min=300, attempts_failing=3), CoupledDependency(9_000))
    return CoupledSystem(OUTAGE, OUTAGE, (queue, queue, replace(queue, dependency=1)), dependencies)


def inputs(draws: int) -> dict[Input, np.ndarray]:
    generator = np.random.default_rng(1)
    names = [Input("queue", place, "service_rate_per_min") for place in range(3)]
    return {name: generator.uniform(1_205, 1_220, draws) for name in names}


def by_simpy() -> float:
    """The example item by item in SimPy."""
    env = simpy.Environment()
    waiting: deque[float] = deque()
    done = env.event()

    def arrive():
        while True:
            waiting.append(env.now)
            yield env.timeout(1 / ARRIVAL)

    def work():
        yield env.timeout(OUTAGE)
        while len(waiting) > 1:
            waiting.popleft()
            yield env.timeout(1 / SERVICE)
        done.succeed()

    env.process(arrive())
    env.process(work())
    env.run(done)
    return env.now - OUTAGE


def by_heap() -> float:
    """The same with a heap of events and nothing else."""
    events = [(0.0, 0), (OUTAGE, 1)]
    waiting = 0
    while True:
        now, kind = heapq.heappop(events)
        if kind == 0:
            waiting += 1
            heapq.heappush(events, (now + 1 / ARRIVAL, 0))
        else:
            waiting -= 1
            if waiting <= 1:
                return now - OUTAGE
            heapq.heappush(events, (now + 1 / SERVICE, 1))


def by_vector() -> float:
    """The same with the recursion of a single server, done at once for all items."""
    count = int(ARRIVAL * (OUTAGE + DRAIN) * 1.05)
    arrived = np.arange(count) / ARRIVAL
    served = np.arange(count) / SERVICE
    starts = np.maximum.accumulate(np.maximum(arrived, OUTAGE) - served) + served
    return float(starts[np.argmax(starts - arrived < 1 / SERVICE)]) - OUTAGE


@njit
def floor(curves, state, draws):
    """The least that a step of a queue must do: read arrivals, read, change and write its state."""
    for _ in range(draws):
        for i in range(curves.shape[1] - 1):
            for q in range(curves.shape[0]):
                known = curves[q, i + 1]
                after = min(known, state[q, 0] + state[q, 1])
                state[q, 2] += after - state[q, 0]
                state[q, 3] = max(state[q, 3], known - after)
                state[q, 0] = after
    return state


def fresh_process(code: str, cache: str | None = None) -> list[float]:
    """Numbers that a line of code prints in a new interpreter."""
    environment = dict(os.environ) | ({} if cache is None else {"NUMBA_CACHE_DIR": cache})
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    return [float(word) for word in done.stdout.split()]


IMPORTING = """
import time, sys
start = time.perf_counter(); import numpy; middle = time.perf_counter()
import afterload.model.coupled
print(middle - start, time.perf_counter() - start, "numba" in sys.modules and 1 or 0)
"""
FIRST_CALL = """
import time
from afterload.model.coupled import *
from afterload.model.queues import QueueLoad
from afterload.model.curves import RateProfile
load = QueueLoad(RateProfile.constant(1200), 1800, 172)
start, spent = time.perf_counter(), time.process_time()
drain = simulate(CoupledSystem(172, 172, (CoupledQueue(load),))).drain_min[0, 0]
assert abs(drain - 344) < 1e-6
print(time.perf_counter() - start, time.process_time() - spent)
"""
PEAK = """
import pathlib, re, sys
sys.path.insert(0, "tools")
import bench_coupled as bench
from afterload.model.coupled import simulate
def most():
    return float(re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text()).group(1)) / 1024
before = most()
simulate(bench.day(False), bench.inputs(10_000), horizon_min=1440)
print(before, most())
"""


def line(name: str, value: str, note: str = "") -> None:
    print(f"{name:<66} {value:>12}  {note}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the coupled recovery beside other ways of doing the same.")
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}; {rounds} rounds, medians")

    numpy_alone, whole, has_numba = fresh_process(IMPORTING)
    line(
        "import of the model",
        f"{whole:.2f} s",
        f"target {IMPORT}; numpy {numpy_alone:.2f} s; compiler loaded: {bool(has_numba)}",
    )
    with tempfile.TemporaryDirectory(prefix="afterload-bench-") as folder:
        for name in ("first call ever, compiled", "first call of a process, from the compiler's cache"):
            elapsed, processor = fresh_process(FIRST_CALL, folder)
            line(name, f"{elapsed:.2f} s", f"{processor:.2f} s of processor time")

    one = CoupledSystem(OUTAGE, OUTAGE, (CoupledQueue(EXAMPLE),))
    single = spent(lambda: simulate(one), 20 * rounds)
    line("one run of the example", f"{1e3 * single:.2f} ms")
    line(
        "one run of 24 h, three queues",
        f"{1e3 * spent(lambda: simulate(day(False), horizon_min=1440), 20):.2f} ms",
        f"target {ONE_RUN}",
    )
    rich = replace(EXAMPLE, service_rate_per_min=1_200_000, arrivals=RateProfile.constant(800_000))
    many = spent(lambda: simulate(CoupledSystem(OUTAGE, OUTAGE, (CoupledQueue(rich),))), 20 * rounds)
    line("the example with 667 times the arrivals", f"{1e3 * many:.2f} ms", "cost does not depend on the rate")

    points = int(OUTAGE) + 1440
    per_step = {}
    alone = coupled.DRAWS_PER_THREAD
    for changing in (False, True):
        kind = "arrivals change every minute" if changing else "constant arrivals"
        system = day(changing)
        for draws, target in ((1_000, SECONDS), (10_000, SPREAD)):
            values = inputs(draws)
            coupled.DRAWS_PER_THREAD = 10**9
            seconds = spent(partial(simulate, system, values, horizon_min=1440), rounds)
            coupled.DRAWS_PER_THREAD = alone
            per_step[changing] = 1e9 * seconds / draws / points / 3
            line(f"{draws:,} draws of 24 h, three queues, {kind}", f"{seconds:.3f} s", f"target {target}, one core")
        start = time.perf_counter()
        simulate(system, values, horizon_min=1440)
        line("  the last on all cores", f"{time.perf_counter() - start:.3f} s", "elapsed")
    assert (simulate(day(False), inputs(100), horizon_min=1440).end_min == 1440).all()
    before, peak = fresh_process(PEAK)
    line("memory at most, 10,000 draws", f"{peak:.0f} MB", f"target {MEMORY}; {before:.0f} MB before the first draw")

    print()
    print("the example, ratios of processor time to one run of the coupled model")
    for name, other, repeat in (
        ("SimPy", by_simpy, 1),
        ("a heap of events", by_heap, 1),
        ("exact vectorised FIFO", by_vector, rounds),
    ):
        assert abs(other() - DRAIN) < 0.1
        seconds = spent(other, repeat)
        line(f"  {name}", f"{1e3 * seconds:.1f} ms", f"{seconds / single:.1f} x one run")
    values = {Input("queue", 0, "service_rate_per_min"): np.full(1_000, SERVICE)}
    coupled.DRAWS_PER_THREAD = 10**9
    batch = spent(lambda: simulate(one, values), rounds) / 1_000
    line(
        "  one draw of 1,000 of the coupled model",
        f"{1e3 * batch:.4f} ms",
        f"{seconds / batch:.0f} x faster than the vectorised FIFO",
    )

    curves, state = np.cumsum(np.ones((3, points)), axis=1), np.ones((3, 8))
    least = 1e9 * spent(lambda: floor(curves, state, 1_000), rounds) / 1_000 / points / 3
    print()
    line("least time of a step of a queue: read, change and write its state", f"{least:.1f} ns")
    for changing, nanoseconds in per_step.items():
        kind = "every rate looked at anew" if changing else "carried on"
        line(f"  the coupled model, {kind}", f"{nanoseconds:.1f} ns", f"{nanoseconds / least:.0f} x the least")


if __name__ == "__main__":
    main()
