"""Spoil scenarios and their CSV files at random: loading works, or explains itself in one of Afterload's own errors.

A message must name the file; what loads must hold no number that cannot be. The first fault ends the run with exit
code 1, and its files are written to a folder whose path is printed.

    python tools/fuzz.py --seconds 60 --seed 7
"""

from __future__ import annotations

import argparse
import math
import random
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from afterload.errors import AfterloadError, ModelError
from afterload.resources import resource
from afterload.scenario import LoadedScenario, load_scenario
from afterload.scenario.starter import starter

TOO_LONG_S = 30
SCENARIO = "team.yaml"

MORE = """
    age_limit: 15 min
    deadline: 1 h
    order: fresh_first
    sideline_after: 10 min
    superseded_share: 5 %
    drain_cap: {concurrency: 40}
    ramp: lambda-sqs
    stream: {shards: 8, parallelisation: 2, batch_size: 100, batch_time: 2 s, hottest_share: 0.3, retries: none}
"""

VALUES = [
    "", "~", "none", "null", "true", "no", "0", "1", "-1", "1.40", "012", "1_0", "0x1F", "1e3", "1e400", ".nan", ".inf",
    "nan", "9" * 30, "9" * 400, "0.5", "25 %", "101 %", "5/min", "20/s", "1/ms", "0/min", "1e3/min", "1,2/min", "5 min",
    "0 s", "PT2H", "P1Y", "9999999 days", "2025-10-19", "2025-10-19T23:48", "2025-10-19T23:48Z", "2025-11-02T01:30",
    "0001-01-01T00:00+14:00", "9999-12-31T23:59-14:00", "[]", "{}", "[1, 2]", "{a: 1}", "[[[]]]", "- x", "&a [*a]", "*a",
    "!t x", "<<: {}", "|", ">", "#", "'", '"', '"\\0"', '"\\ud800"', '"\\UFFFFFFFF"', "x" * 250, "é", "１２", "\u22125 min",
    "\ufeff", "\u2028", "\x85", "\x07", "..", "/", "~/x", "~nobody-here/x", "builtin:", "builtin:..", "builtin:/etc",
    "a.csv", "b.csv", "c.csv", "{series: c.csv}", "{series: a.csv}", "{hour_of_day_per_min: [1]}", "{constant: 5/min}",
    "lambda-sqs", "lambda-async", "sqs-lambda", "stream-lambda", "lifo", "fresh_first", "reject", "boto3", "cpp", "adaptive",
    "dynamodb", "UTC", "Europe/Berlin", "NO", "=", "?", ": ", "@", "`", "%",
]  # fmt: skip

CELLS = [
    "", " ", "0", "-1", "nan", "inf", "1e5", "9" * 30, "9" * 400, "1,5", '"1,5"', '"', '""', "2025-10-19T00:00Z",
    "2025-10-19T00:00", "2025-11-02 01:30", "0001-01-01T00:00Z", "9999-12-31T23:59Z", "soon", "true", "perhaps", "\0", "é",
    ";", "\t", "x" * 200_000,
]  # fmt: skip


def sources() -> list[dict[str, str]]:
    """Sound scenarios with their files."""
    found = []
    incident = resource("data", "incidents", "us-east-1-2025-10-20")
    csv = {
        "a.csv": (incident / "timeline.csv").read_text(encoding="utf-8"),
        "b.csv": (incident / "impact_windows.csv").read_text(encoding="utf-8"),
        "c.csv": "at,count\n" + "".join(f"2025-10-19T{n:02}:00Z,{60 * n}\n" for n in range(24)),
        "d.csv": "at,rate_per_s\n" + "".join(f"2025-10-19T{n:02}:00Z,{n / 7}\n" for n in range(24)),
    }
    texts = [path.read_text(encoding="utf-8") for path in sorted(resource("data", "scenarios").glob("*.yaml"))]
    for text in (*texts, starter("Fuzz")):
        ours = text.replace("builtin:incidents/us-east-1-2025-10-20/timeline.csv", "a.csv")
        ours = ours.replace("builtin:incidents/us-east-1-2025-10-20/impact_windows.csv", "b.csv")
        found.append({SCENARIO: ours, **csv})
        for series in ("c.csv", "d.csv"):
            measured = ours.replace("arrival_rate: 1,200/min", f"arrival_rate: {{series: {series}}}", 1)
            found += [{SCENARIO: measured, **csv}]
        found.append({SCENARIO: ours.replace("\n    item_time: 2 s", f"\n    item_time: 2 s{MORE.rstrip()}", 1), **csv})
    return found


def spoil_lines(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    line = lines[at]
    kind = chance.randrange(8)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(at, chance.choice(lines))
    elif kind == 2:
        other = chance.randrange(len(lines))
        lines[at], lines[other] = lines[other], line
    elif kind == 3:
        lines[at] = " " * chance.choice([0, 1, 2, 4, 6, 8]) + line.lstrip()
    elif kind == 4 and line:
        cut = chance.randrange(len(line))
        lines[at] = line[:cut] + line[cut + chance.randrange(1, 4) :]
    else:
        cut = chance.randrange(len(line) + 1)
        lines[at] = line[:cut] + chance.choice(VALUES) + line[cut:]
    return "\n".join(lines)


def spoil_value(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    places = [n for n, line in enumerate(lines) if ":" in line and not line.lstrip().startswith("#")]
    if not places:
        return text
    at = chance.choice(places)
    key, _, _ = lines[at].partition(":")
    if chance.random() < 0.15:
        suffix = chance.choice(["_min", "_s", "_h", "_days", "_ms", "_per_s", "_per_min", "_per_day", "x", ""])
        lines[at] = f"{key}{suffix}:{lines[at].partition(':')[2]}"
    else:
        lines[at] = f"{key}: {chance.choice(VALUES)}"
    return "\n".join(lines)


def spoil_cells(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    cells = lines[at].split(",")
    place = chance.randrange(len(cells))
    if chance.random() < 0.2:
        del cells[place]
    else:
        cells[place] = chance.choice(CELLS)
    lines[at] = ",".join(cells)
    return "\n".join(lines)


def spoil_bytes(raw: bytes, chance: random.Random) -> bytes:
    kind = chance.randrange(6)
    at = chance.randrange(len(raw) + 1)
    if kind == 0:
        return raw[:at]
    if kind == 1:
        return raw[:at] + bytes(chance.randrange(256) for _ in range(chance.randrange(1, 5))) + raw[at:]
    if kind == 2:
        return raw[:at] + raw[at + chance.randrange(1, 30) :]
    if kind == 3:
        return chance.choice([b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"]) + raw
    if kind == 4:
        return raw.decode(errors="replace").encode(
            chance.choice(["utf-16", "utf-8-sig", "latin-1", "utf-32"]), errors="replace"
        )
    return raw.replace(b"\n", chance.choice([b"\r\n", b"\r", b"\n\n", b"\0"]))


def spoil(files: dict[str, str], chance: random.Random) -> dict[str, bytes]:
    """A copy of the files with one to four things wrong, most often in the scenario."""
    texts = dict(files)
    raw: dict[str, bytes] = {}
    for _ in range(chance.randrange(1, 5)):
        name = SCENARIO if chance.random() < 0.65 else chance.choice([name for name in files if name != SCENARIO])
        kind = chance.random()
        if kind < 0.12:
            raw[name] = spoil_bytes(raw.get(name, texts[name].encode(errors="surrogatepass")), chance)
        elif name == SCENARIO:
            texts[name] = (spoil_value if kind < 0.6 else spoil_lines)(texts[name], chance)
        else:
            texts[name] = (spoil_cells if kind < 0.7 else spoil_lines)(texts[name], chance)
    return {name: raw.get(name, text.encode(errors="surrogatepass")) for name, text in texts.items()}


def numbers(value: Any) -> Iterator[float]:
    """Every number in what was loaded."""
    if isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from numbers(getattr(value, name))
    elif isinstance(value, dict):
        for item in value.values():
            yield from numbers(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from numbers(item)
    elif isinstance(value, int | float):
        yield value


def fault_of(loaded: LoadedScenario) -> str:
    """What is wrong with a scenario that loaded, or empty text."""
    found = list(numbers(loaded.scenario))
    for series in loaded.series.values():
        found += [*series.rates_per_min, series.step_min]
    wrong = [number for number in found if not math.isfinite(number) or number < 0]
    if wrong:
        return f"a number that cannot be: {wrong[0]}"
    for name, queue in loaded.scenario.queues.items():
        if queue.arrival_rate.series is not None and name not in loaded.series:
            return f"the series of {name} was not read"
        if queue.dependency is not None and queue.dependency not in loaded.scenario.dependencies:
            return f"the dependency of {name} is not there"
    try:
        path = next(iter(loaded.tree.lines), ())
        loaded.where(*path)
    except ModelError as problem:
        return f"where: {problem}"
    return ""


def attempt(folder: Path, counts: Counter[str]) -> str:
    """Load the scenario in a folder; give what is wrong with the way that went, or empty text."""
    path = folder / SCENARIO
    began = time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            loaded = load_scenario(path)
    except AfterloadError as problem:
        counts[type(problem).__name__] += 1
        message = str(problem)
        if str(folder) not in message:
            return f"the message does not name the file: {message}"
        if any(not char.isprintable() and char != "\n" for char in message):
            return f"the message holds a character that cannot be printed: {message!r}"
        if any(len(line) > 2_000 for line in message.split("\n")):
            return f"the message has a line of {max(map(len, message.splitlines()))} characters"
    except Exception:  # noqa: BLE001 - this is what the tool looks for
        return traceback.format_exc()
    else:
        counts["loaded"] += 1
        fault = fault_of(loaded)
        if fault:
            return fault
    spent = time.monotonic() - began
    return f"took {spent:.0f} s" if spent > TOO_LONG_S else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="how long to go on (default: 60)")
    parser.add_argument("--seed", type=int, default=0, help="where to begin (default: 0); the same seed does the same")
    parser.add_argument(
        "--keep", type=Path, default=Path("fuzz-fault"), help="folder for a fault (default: fuzz-fault)"
    )
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    sound = sources()
    end = time.monotonic() + given.seconds
    number = given.seed * 1_000_000
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "case"
        folder.mkdir()
        for files in sound:
            for name, text in files.items():
                (folder / name).write_text(text, encoding="utf-8")
            load_scenario(folder / SCENARIO)
        while time.monotonic() < end:
            chance = random.Random(number)
            for name, raw in spoil(chance.choice(sound), chance).items():
                (folder / name).write_bytes(raw)
            fault = attempt(folder, counts)
            if fault:
                shutil.rmtree(given.keep, ignore_errors=True)
                shutil.copytree(folder, given.keep)
                (given.keep / "fault.txt").write_text(f"case {number}\n{fault}\n", encoding="utf-8", errors="replace")
                print(f"case {number}: {fault}\nits files: {given.keep}", file=sys.stderr)
                return 1
            number += 1
    total = sum(counts.values())
    shown = ", ".join(f"{count:,} {name}" for name, count in counts.most_common())
    print(f"{total:,} cases from seed {given.seed}: {shown}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
