"""Time Afterload beside the plain way of doing the same, in one run, and print the ratios.

    python tools/bench.py [--rounds N]

The packet: `afterload report` against the `papermill` command and then the `jupyter nbconvert` command on the same bound
notebook. Its parts in one warm process, each time with another arrival rate, in processor seconds: the model, all cells of
the chapters in IPython's shell, and the page. The model: the exact fluid queue against the same queue stepped second by
second with numpy. Metrics: a CSV file of a million rows against pandas' read_csv, which checks and counts nothing. Runs
alternate, so that a change in the machine's speed touches both sides.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from afterload.estimates import estimate
from afterload.model.coupled import CoupledQueue, CoupledSystem, simulate
from afterload.model.curves import RateProfile
from afterload.model.queues import QueueLoad
from afterload.plan import build_plan
from afterload.readers.metrics import read_metrics_file
from afterload.recovery.build import couple
from afterload.recovery.result import estimate_recovery
from afterload.report.bind import PARAMETERS_TAG, bind
from afterload.report.exporter import PacketExporter
from afterload.report.nodes import notebook_text, read_notebook
from afterload.report.packet import chapter_paths, relevant
from afterload.report.rehearsal import warm_up
from afterload.scenario import load_scenario

BIN = Path(sys.executable).parent
EXAMPLE = "builtin:scenarios/orders.yaml"


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compare(name: str, ours: Callable[[], object], plain: Callable[[], object], rounds: int) -> None:
    """Alternate the two sides and print medians and the median ratio of the pairs."""
    ours(), plain()
    pairs = [(seconds(ours), seconds(plain)) for _ in range(rounds)]
    ratio = statistics.median(b / a for a, b in pairs)
    mine, other = (statistics.median(side) for side in zip(*pairs, strict=True))
    print(f"{name:<44} {mine:>10.4f} s {other:>10.4f} s {ratio:>8.1f} x")


def packets(folder: Path, rounds: int) -> None:
    bound = folder / "bound.ipynb"
    bound.write_text(notebook_text(bind(chapter_paths(), "bench")), encoding="utf-8")
    executed = str(folder / "executed.ipynb")

    def ours() -> None:
        run(str(BIN / "afterload"), "report", "--example", "--quiet", "-o", str(folder / "out"))

    def plain() -> None:
        run(str(BIN / "papermill"), "--no-progress-bar", str(bound), executed)
        run(str(BIN / "jupyter"), "nbconvert", "--to", "html", executed)

    compare("one packet, cold, against papermill + nbconvert", ours, plain, rounds)


def parts(packet: Path, rounds: int) -> None:
    """Processor seconds of the parts of one packet in a process that has made one before."""
    print(f"{'warm up, once in a process':<44} {processor(warm_up):>10.4f} s")
    shell = InteractiveShell.instance()
    nb = read_notebook(packet)
    title = str(nb.metadata.title)
    found: dict[str, list[float]] = {"model": [], "cells": [], "page": []}
    for place in range(rounds):
        overrides = {"queues.orders.arrival_rate": f"{1201 + place}/min"}
        found["model"].append(processor(partial(model, overrides)))
        found["cells"].append(processor(partial(cells, shell, overrides)))
        found["page"].append(processor(lambda: PacketExporter.shared().to_html(nb, title)))
    for name, words in (("model", "load, estimate, couple, plan"), ("cells", "all cells"), ("page", "page")):
        print(f"{f'one packet, warm: {words}':<44} {statistics.median(found[name]):>10.4f} s")


def processor(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def model(overrides: dict[str, str]) -> None:
    loaded = load_scenario(EXAMPLE, overrides)
    coupling = couple(loaded)
    if coupling is not None:
        estimate_recovery(coupling)
    build_plan(estimate(loaded))


def cells(shell: InteractiveShell, overrides: dict[str, str]) -> None:
    bound = bind(relevant(chapter_paths(), load_scenario(EXAMPLE, overrides)), "bench")
    for cell in bound.cells:
        if cell.cell_type == "code":
            is_parameters = PARAMETERS_TAG in cell.metadata.get("tags", [])
            with capture_output():
                done = shell.run_cell(
                    f"scenario = {EXAMPLE!r}\noverrides = {overrides!r}" if is_parameters else cell.source
                )
            done.raise_error()


def stepped(arrival: float, service: float, outage: float) -> float:
    """Minutes to drain, stepped second by second."""
    step = 1 / 60
    backlog = arrival * outage
    horizon = int(2 * backlog / (service - arrival) / step)
    served = np.cumsum(np.full(horizon, service * step))
    arrived = np.cumsum(np.full(horizon, arrival * step))
    return float(np.argmax(served >= backlog + arrived) + 1) * step


def alone(load: QueueLoad) -> float:
    """Minutes to drain of one queue by itself."""
    system = CoupledSystem(load.outage_min, load.outage_min, (CoupledQueue(load),))
    return float(simulate(system).drain_min[0, 0])


def models(rounds: int) -> None:
    load = QueueLoad(arrivals=RateProfile.constant(1_200), service_rate_per_min=1_800, outage_min=172)
    assert abs(stepped(1_200, 1_800, 172) - alone(load)) < 0.1
    compare("backlog of 172 min, against 1 s steps", lambda: alone(load), lambda: stepped(1200, 1800, 172), 5 * rounds)
    hourly = tuple(600.0 + 50 * hour for hour in range(24))
    daily = RateProfile(tuple(60.0 * hour for hour in range(25)), hourly, cycle_min=1_440)
    week = QueueLoad(arrivals=daily, service_rate_per_min=1_300, outage_min=172)
    print(f"{'backlog drained over days of a daily profile':<44} {seconds(lambda: alone(week)):>10.4f} s")


def metrics(folder: Path, rounds: int) -> None:
    path = folder / "million.csv"
    start = datetime(2024, 1, 1, tzinfo=UTC)
    with path.open("w") as file:
        file.write("time,sent,served,age\n")
        for i in range(1_000_000):
            at = (start + timedelta(seconds=10 * i)).strftime("%Y-%m-%dT%H:%M:%SZ")
            file.write(f"{at},{1000 + i % 700},{900 + i % 77},{i % 100}.5\n")
    compare(
        "metrics, CSV of 1,000,000 rows, against pandas",
        lambda: read_metrics_file(path),
        lambda: pd.read_csv(path, parse_dates=["time"]),
        rounds,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Time Afterload beside the plain way.")
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}; {rounds} rounds, medians")
    print(f"{'':<44} {'afterload':>12} {'plain':>12} {'ratio':>10}")
    models(rounds)
    with tempfile.TemporaryDirectory(prefix="afterload-bench-") as folder:
        metrics(Path(folder), rounds)
        packets(Path(folder), rounds)
        parts(Path(folder, "out", "orders.ipynb"), 3 * rounds)


if __name__ == "__main__":
    main()
