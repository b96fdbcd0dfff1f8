"""Time `afterload batch` beside the plain way of making the same packets, in one run, and print the ratios.

    python tools/bench_batch.py [--teams 100] [--plain 8] [--workers 2] [--sizes 10,100]

The plain way is one `papermill` process and one `jupyter nbconvert --to html` process a packet, one after the other, on the same
bound notebooks. It is slow, so it makes only every so many of the teams, between parts of the batch's runs, and its time a packet
stands for all. What the model itself takes is measured in one warm process and taken off both sides: what is left is overhead.
The floor is what the packet takes in that warm process, shared by the workers.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Measured:
    """Seconds of wall and processor time, the most memory that the whole tree of processes held in MiB, and the exit code."""

    wall_s: float
    cpu_s: float
    peak_mib: float
    code: int = 0
    said: str = ""


def measured(command: Sequence[str], allowed: Sequence[int] = (0,)) -> Measured:
    """Run a command and watch it and all that it starts; end where its exit code is none of the allowed ones."""
    before = os.times()
    start = time.perf_counter()
    process = psutil.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    peak = 0.0
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(1.0):  # a look costs about ten milliseconds
            total = 0
            for each in [process, *_children(process)]:
                try:
                    total += each.memory_full_info().pss
                except psutil.Error:
                    continue
            peak = max(peak, total / 2**20)

    watcher = threading.Thread(target=watch)
    watcher.start()
    said = process.communicate()[0]
    wall = time.perf_counter() - start
    done.set()
    watcher.join()
    if process.returncode not in allowed:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}:\n{said[-3000:]}")
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Measured(wall, cpu, peak, process.returncode, said)


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return list(process.children(recursive=True))
    except psutil.Error:
        return []


# What a packet takes in one warm process: run in a process of its own, so that nothing here is warm for the others. Time in the
# model is sampled: it is that of every moment at which a function of these rooms is running, whoever called it.
FLOOR = """
import gc, json, os, signal, sys, tempfile, time
from afterload.report import rehearsal
rehearsal.warm_up()
gc.collect()
gc.freeze()
from afterload.report.packet import PacketJob, build_packet
from afterload.scenario import load_scenario

ROOMS = tuple(f"{os.sep}afterload{os.sep}{room}" for room in (
    "model", "estimates", "coupling", "impairments", "findings", "plan", "clients.py", "replays.py", "arrivals.py", "results.py",
))
counts = [0, 0]

def look(number, frame):
    counts[0] += 1
    while frame is not None:
        if any(room in frame.f_code.co_filename for room in ROOMS):
            counts[1] += 1
            return
        frame = frame.f_back

def make(path, sampled):
    loaded = load_scenario(path)
    signal.signal(signal.SIGPROF, look)
    if sampled:
        signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)
    start = time.process_time()
    built = build_packet(PacketJob(loaded, path, tempfile.gettempdir()))
    spent = time.process_time() - start
    signal.setitimer(signal.ITIMER_PROF, 0)
    assert not built.failures, built.failures
    return spent, counts[1] / max(1, counts[0])

def apart(*what):
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.write(writing, json.dumps(make(*what)).encode())
        os._exit(0)
    os.close(writing)
    told = json.loads(os.read(reading, 4096))
    os.close(reading)
    os.wait()
    return told

# Looking costs time of its own: it gives the share only.
spent = []
for path in sys.argv[1:]:
    whole, share = apart(path, False)[0], apart(path, True)[1]
    spent.append((whole, whole * share))
print(json.dumps([sum(column) / len(spent) for column in zip(*spent)]))
"""


def make_teams(count: int, folder: Path, seed: int) -> list[Path]:
    """Varied scenario files, the same for the same seed."""
    done = subprocess.run(
        [sys.executable, str(HERE / "example_teams.py"), str(count), str(folder), "--seed", str(seed)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(done.stderr)
    return sorted(folder.glob("*.yaml"))


def batch(teams: Path, site: Path, workers: int, *more: str) -> Measured:
    """A batch; one in which a team failed or misses its objective is still measured, and said to be so."""
    done = measured(
        [str(BIN / "afterload"), "batch", str(teams), "-o", str(site), "--workers", str(workers), *more],
        allowed=(0, 3, 4, 6),  # wrong input, a failed run, broken objectives: the rest is made
    )
    if done.code:
        print(f"the batch ended with exit code {done.code}; its last lines:\n{done.said[-2000:]}")
    return done


def report(team: Path, folder: Path) -> Measured:
    return measured([str(BIN / "afterload"), "report", str(team), "-o", str(folder / "cold"), "--quiet"])


def plain(team: Path, folder: Path) -> Measured:
    """One packet as anybody would make it by hand: the same chapters, bound; papermill, then nbconvert."""
    from afterload.report.bind import bind
    from afterload.report.nodes import notebook_text
    from afterload.report.packet import chapter_paths, relevant
    from afterload.scenario import load_scenario

    bound, executed = folder / f"{team.stem}-bound.ipynb", folder / f"{team.stem}.ipynb"
    bound.write_text(notebook_text(bind(relevant(chapter_paths(), load_scenario(team)), "bench")), encoding="utf-8")
    first = measured(
        [str(BIN / "papermill"), "--no-progress-bar", str(bound), str(executed), "-p", "scenario", str(team)]
    )
    second = measured([str(BIN / "jupyter"), "nbconvert", "--to", "html", str(executed)])
    return Measured(first.wall_s + second.wall_s, first.cpu_s + second.cpu_s, max(first.peak_mib, second.peak_mib))


def floor(teams: Sequence[Path]) -> tuple[float, float]:
    """Processor seconds a packet in one warm process: all of it, and the model alone."""
    done = subprocess.run([sys.executable, "-c", FLOOR, *map(str, teams)], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    whole, model = json.loads(done.stdout.splitlines()[-1])
    return whole, model


def spread(items: Sequence[Path], number: int) -> list[Path]:
    """So many of them, evenly spread."""
    number = min(number, len(items))
    return [items[place * len(items) // number] for place in range(number)]


def share(log: Path, chosen: Sequence[Path]) -> float:
    """Mean seconds of some teams over the mean of all, by the batch's log."""
    from afterload.scenario import load_scenario

    events = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    seconds = {event["team"]: event["seconds"] for event in events if event["event"] == "made"}
    some = [seconds[load_scenario(path).scenario.team] for path in chosen]
    return statistics.mean(some) / statistics.mean(seconds.values())


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the batch beside papermill and nbconvert.")
    parser.add_argument("--teams", type=int, default=100, help="in the batch that is compared")
    parser.add_argument("--plain", type=int, default=8, help="packets made the plain way; 0 for none")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--sizes", default="10,100", help="numbers of teams for the cost of a team; empty for none")
    given = parser.parse_args()
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}; {given.workers} workers")
    with tempfile.TemporaryDirectory(prefix="afterload-bench-") as name:
        folder = Path(name)
        # Compiled code and caches of files are there for both sides.
        batch(make_teams(2, folder / "first", seed=2)[0].parent, folder / "first-site", given.workers)
        for size in filter(None, given.sizes.split(",")):
            teams = make_teams(int(size), folder / f"teams-{size}", seed=1)
            done = batch(teams[0].parent, folder / f"site-{size}", given.workers)
            print(
                f"batch of {int(size):>5,}: {done.wall_s:8.1f} s, {done.wall_s / len(teams):6.3f} s a team, "
                f"{done.cpu_s / len(teams):6.3f} s of processor a team; most memory {done.peak_mib:,.0f} MiB in all processes"
            )
            again = batch(teams[0].parent, folder / f"site-{size}", given.workers, "--resume")
            print(f"{'':14} again with nothing to do: {again.wall_s:.2f} s")
            shutil.rmtree(folder / f"site-{size}")
        if given.plain:
            compare(folder, given)


def compare(folder: Path, given: argparse.Namespace) -> None:
    teams = make_teams(given.teams, folder / "teams", seed=1)
    chosen = spread(teams, given.plain)
    half = len(chosen) // 2
    first = [plain(team, folder) for team in chosen[:half]]
    log = folder / "batch.jsonl"
    ours = batch(teams[0].parent, folder / "site", given.workers, "--log-json", str(log))
    theirs = [*first, *(plain(team, folder) for team in chosen[half:])]
    cold = [report(team, folder) for team in chosen]
    whole, model = floor(chosen)
    # The chosen teams are not the mean of all: their share of the batch goes by the seconds that it gave them.
    a_team = ours.wall_s / len(teams) * share(log, chosen)
    plain_s = statistics.mean(each.wall_s for each in theirs)
    cold_s = statistics.mean(each.wall_s for each in cold)
    print(f"\n{len(teams)} teams with every chapter; the plain way made {len(chosen)} of them, one after the other")
    print(f"plain way, papermill and then nbconvert    {plain_s:8.2f} s a packet")
    print(f"one afterload report, cold                 {cold_s:8.2f} s a packet {plain_s / cold_s:8.1f} x faster")
    print(
        f"afterload batch                            {a_team:8.3f} s a packet {plain_s / a_team:8.1f} x faster, on the whole"
    )
    over = a_team - model / given.workers
    print(f"the model's own time, of one processor     {model:8.3f} s a packet")
    beyond = plain_s - model
    print(f"time beyond the model: plain {beyond:.2f} s, batch {over:.3f} s: {beyond / over:.1f} x its throughput")
    print(
        f"floor (a warm process, {given.workers} at once)           {whole / given.workers:8.3f} s a packet; "
        f"the batch takes {a_team * given.workers / whole:.2f} times that"
    )


if __name__ == "__main__":
    main()
