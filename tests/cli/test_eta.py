"""``afterload eta``: what it prints, what it keeps, what it asks, and what it refuses."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from afterload.findings.live_words import MOST_LINES
from afterload.resources import resource

Run = Callable[..., Any]
ORDERS = "builtin:scenarios/orders.yaml"
AT = "2025-10-20T02:40-07:00"
RATES = ("--depth", "206400", "--age", "172min", "--arrival", "1200/min", "--service", "1800/min")


def test_the_worked_example_answers_in_its_first_line(afterload: Run) -> None:
    done = afterload("eta", *RATES)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert len(lines) <= MOST_LINES
    assert lines[0].startswith("queue: empty in 5 h 44 min (P10 ")


def test_a_scenario_gives_the_rest(afterload: Run) -> None:
    done = afterload("eta", ORDERS, "--queue", "orders", "--depth", "206,400", "--age", "2 h 52 min", "--at", AT)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("orders: empty in 5 h 44 min (P10 4 h 5 min, P90 9 h 38 min), about 08:24 PDT.")
    assert "the objective of 4 h after the restore is missed by 1 h 44 min" in done.out
    assert "Safe cap: 80 at once, 2,400/min: orders-table is tested to 3,000/min" in done.out
    assert "7 re-enable removal (checkout-api launches 3,000 instances, for 19.2 min more at the least)" in done.out
    assert len(done.out.splitlines()) <= MOST_LINES


def test_what_is_given_here_goes_over_the_scenario(afterload: Run) -> None:
    base = ("eta", ORDERS, "--depth", "206400", "--age", "172min", "--at", AT, "--json")
    changed = json.loads(
        afterload(
            *base, "--service", "2400/min", "--tested", "2000/min", "--direct", "500/min", "--item-time", "4 s"
        ).out
    )
    assert changed["empty_min"]["p50"] == pytest.approx(172, rel=1e-3)
    assert (changed["safe_cap"]["concurrency"], changed["safe_cap"]["rate_per_min"]) == (100, 1_500)
    assert changed["steps"][3]["state"] == "do"
    by_set = json.loads(afterload(*base, "--set", "queues.orders.service_rate=2400/min").out)
    assert by_set["empty_min"]["p50"] == pytest.approx(172, rel=1e-3)
    failing = json.loads(afterload(*base, "--errors", "40 %", "--tries", "3").out)
    assert failing["safe_cap"]["rate_per_min"] == 390
    assert failing["dependency_failing"] is True


def test_a_cap_bounds_what_is_served(afterload: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One at a time at 2 s is 30/min (docs/model.md section 1); at caps of the scenario the end is that of ``check``."""
    monkeypatch.chdir(tmp_path)
    assert afterload("new", "checkout").code == 0
    base = ("eta", "checkout.yaml", "--depth", "206400", "--age", "172min", "--at", AT)
    one = afterload(*base, "--cap", "1", "--item-time", "2s").out
    assert one.startswith("jobs: not draining: grows by 1,170/min.")
    assert "30/min are served under the cap of 1 at once, of 1,800/min planned in checkout.yaml" in one
    for setting in ("drain_cap.concurrency=50", "reserved_concurrency=45", "ramp=lambda-sqs"):
        change = ("--set", f"queues.jobs.{setting}")
        p50 = json.loads(afterload(*base, *change, "--json").out)["empty_min"]["p50"]
        assert f"drain {p50:,.0f} min" in afterload("check", "checkout.yaml", *change).out
    read = afterload(*base, "--cap", "1", "--service", "1800/min").out
    assert read.startswith("jobs: empty in 5 h 44 min")
    assert "1,800/min served as read is above the 30/min of the cap of 1 at once" in read


def test_a_cap_alone_says_what_is_served(afterload: Run) -> None:
    """55 at once at 2 s are 1,650/min: 206,400 / 450 = 459 min."""
    seen = ("eta", "--depth", "206400", "--age", "172min", "--cap", "55")
    done = afterload(*seen, "--item-time", "2 s", "--json")
    assert json.loads(done.out)["empty_min"]["p50"] == pytest.approx(206_400 / 450, rel=1e-3)
    assert "the cap of 55 at once is not counted" in afterload(*seen).out


def test_times_are_told_in_a_zone(afterload: Run) -> None:
    at = ("--at", "2025-10-20T09:40Z")
    assert "206,400 wait at 11:40 CEST" in afterload("eta", *RATES, *at, "--zone", "Europe/Berlin").out
    assert "206,400 wait at 02:40 PDT" in afterload("eta", ORDERS, *RATES, *at).out
    assert "206,400 wait at 20:10 ACDT" in afterload("eta", ORDERS, *RATES, *at, "--zone", "Australia/Adelaide").out


# A log of readings


def log_reading(afterload: Run, log: Path, minute: int, depth: int, *more: str) -> Any:
    return afterload(
        "eta", ORDERS, "--log", log, "--depth", depth, "--at", f"2025-10-20T02:{40 + minute}-07:00", *more
    )  # fmt: skip


def test_calls_build_on_earlier_readings(afterload: Run, tmp_path: Path) -> None:
    log = tmp_path / "readings.csv"
    first = log_reading(afterload, log, 0, 206_437, "--age", "172min", "--errors", "1 %")
    assert "1 reading." in first.out
    second = log_reading(afterload, log, 6, 203_440)
    assert "2 readings." in second.out
    third = log_reading(afterload, log, 12, 200_431, "--age", "167min")
    assert third.out.startswith("orders: empty in 6 h 40 min")
    assert "Drains by 500.5/min" in third.out
    again = afterload("eta", ORDERS, "--log", log)
    assert (again.code, again.out) == (0, third.out)
    assert log.read_text("utf-8").splitlines() == [
        "at,queue,depth,age_min,arrival_per_min,service_per_min,in_flight,errors,attempts_per_min",
        "2025-10-20T02:40:00-07:00,orders,206437,172,,,,0.01,",
        "2025-10-20T02:46:00-07:00,orders,203440,,,,,,",
        "2025-10-20T02:52:00-07:00,orders,200431,167,,,,,",
    ]


def test_a_scenario_that_names_a_log_brings_its_readings(afterload: Run) -> None:
    live = "builtin:scenarios/orders-live.yaml"
    done = afterload("eta", live)
    assert done.code == 0, done.err
    assert done.out.startswith(
        "orders: the dependency fails, so the drain must wait; at the safe cap of 300/min it does not drain; if it went on as "
        "now, at 1,117/min, which is above the safe cap, empty in "
    )
    assert "The drain slowed at about 03:33 EDT" in done.out
    assert "7 readings, the last 4 used" in done.out
    one_more = afterload("eta", live, "--depth", "87100", "--at", "2026-05-12T03:58-04:00")
    assert "8 readings, the last 5 used" in one_more.out
    assert len(one_more.out.splitlines()) <= MOST_LINES


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example as a team's own, with a live chapter whose log is not there yet, in the working folder."""
    monkeypatch.chdir(tmp_path)
    text = resource("data", "scenarios", "orders.yaml").read_text("utf-8")
    (tmp_path / "own.yaml").write_text(f"{text}\nlive: {{queue: orders, log: seen.csv}}\n", "utf-8")
    return tmp_path / "own.yaml"


def test_the_log_that_a_scenario_names_is_begun(afterload: Run, own: Path) -> None:
    checked = afterload("check", "own.yaml")
    assert checked.code == 0, checked.err
    assert checked.out.splitlines()[-1] == (
        "Live: seen.csv is not there yet: the first reading of orders, by afterload eta --log or the form of 03-live, begins it."
    )
    none = afterload("eta", "own.yaml")
    assert (none.code, none.out) == (3, "")
    assert none.err == (
        "error: seen.csv, which own.yaml names under live.log, is not there yet: give what waits with --depth; --log seen.csv "
        "keeps it there; or give metrics with --metrics\n"
    )
    told = afterload("eta", "own.yaml", "--depth", "206400", "--age", "172min", "--at", AT)
    assert told.out.startswith("orders: empty in 5 h 44 min")
    assert told.err == "this reading is not kept: --log seen.csv keeps it in the log that own.yaml names\n"
    assert not Path("seen.csv").exists()
    kept = afterload("eta", "own.yaml", "--log", "seen.csv", "--depth", "206400", "--age", "172min", "--at", AT)
    assert (kept.code, kept.err, kept.out) == (0, "", told.out)
    assert afterload("eta", "own.yaml").out == kept.out
    assert "Live:" not in afterload("check", "own.yaml").out


@pytest.mark.parametrize(
    "content", ["", "at,queue,depth,age_min\n", "at,queue,depth,age_min\n2025-10-20T09:30Z,refunds,7,\n"]
)
def test_a_log_without_readings_of_this_queue_is_carried_on(afterload: Run, own: Path, content: str) -> None:
    Path("seen.csv").write_text(content, "utf-8")
    done = afterload("eta", "own.yaml", "--log", "seen.csv", "--depth", "206400", "--age", "172min", "--at", AT)
    assert (done.code, done.err) == (0, "")
    assert "1 reading." in done.out


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        (
            "at,queue,depth\n2025-10-20T09:30Z,refunds,7\n",
            (),
            "seen.csv, which own.yaml names under live.log, has no reading of orders yet: give what waits with --depth; "
            "--log seen.csv keeps it there; or give metrics with --metrics",
        ),
        (
            None,
            ("--log", "other.csv"),
            "other.csv, given with --log, is not there yet: give what waits with --depth, which begins it; or give metrics with "
            "--metrics",
        ),
        (
            "at,queue,depth\n",
            ("--log", "seen.csv"),
            "seen.csv, given with --log, has no reading of orders yet: give what waits with --depth; or give metrics with "
            "--metrics",
        ),
    ],
)  # fmt: skip
def test_the_log_without_a_reading_is_named(
    afterload: Run, own: Path, content: str | None, options: tuple[str, ...], said: str
) -> None:
    if content is not None:
        Path("seen.csv").write_text(content, "utf-8")
    done = afterload("eta", "own.yaml", *options)
    assert (done.code, done.out, done.err) == (3, "", f"error: {said}\n")
    assert not Path("other.csv").exists()


def test_help_says_that_only_a_given_log_keeps_a_reading(afterload: Run) -> None:
    told = " ".join(afterload("eta", "--help").out.split())
    assert "Not given: use those of the log that FILE names, keep none." in told


def test_a_spoiled_log_keeps_nobody_from_another(afterload: Run, own: Path) -> None:
    Path("seen.csv").write_text("at,queue,depth\nsoon,orders,5\n", "utf-8")
    done = afterload("eta", "own.yaml", "--log", "other.csv", "--depth", "206400", "--age", "172min", "--at", AT)
    assert (done.code, done.err) == (0, "")
    spoiled = afterload("eta", "own.yaml", "--depth", "206400", "--at", AT)
    assert spoiled.code == 3
    assert "seen.csv:2: at: 'soon' is not a time" in spoiled.err


def test_only_a_queue_with_a_deadline_drops_what_is_past_it(afterload: Run) -> None:
    seen = ("eta", ORDERS, "--depth", "206400", "--age", "172min", "--at", AT)
    without = afterload(*seen).out.splitlines()
    assert "Fresh work: may go: orders-table bears it." in without
    found = afterload(*seen, "--set", "queues.orders.deadline=20 min").out.splitlines()
    assert "Fresh work: may go: orders-table bears it, and what is past its deadline is dropped." in found


def test_a_log_kept_by_hand_is_read_and_carried_on(afterload: Run, tmp_path: Path) -> None:
    log = tmp_path / "readings.csv"
    by_hand = 'depth,queue,at\n"206,437",orders,2025-10-20T09:40Z\n500,refunds,2025-10-20T09:41Z'
    log.write_text(by_hand, "utf-8")
    aged = log_reading(afterload, log, 6, 203_440, "--age", "170min")
    assert (aged.code, aged.out) == (3, "")
    assert "the log has no column age_min" in aged.err
    assert log.read_text("utf-8") == by_hand
    done = log_reading(afterload, log, 6, 203_440)
    assert "2 readings" in done.out
    assert log.read_text("utf-8") == f"{by_hand}\n203440,orders,2025-10-20T02:46:00-07:00\n"


def test_a_damaged_line_is_named(afterload: Run, tmp_path: Path) -> None:
    log = tmp_path / "readings.csv"
    log.write_text("at,queue,depth\n2025-10-20T09:40Z,orders,many\n2025-10-20T09:41,orders,5\n", "utf-8")
    done = log_reading(afterload, log, 6, 203_440)
    assert (done.code, done.out) == (3, "")
    assert "readings.csv:2: depth: 'many' is not a number" in done.err
    assert "readings.csv:3: at: '2025-10-20T09:41' has no zone" in done.err


def test_what_two_people_saw_in_one_second_counts_once(afterload: Run, tmp_path: Path) -> None:
    log = tmp_path / "readings.csv"
    log.write_text("at,queue,depth\n" + 2 * "2025-10-20T09:40Z,orders,206437\n", "utf-8")
    assert "2 readings" in log_reading(afterload, log, 6, 203_440).out
    log.write_text("at,queue,depth\n2025-10-20T09:40Z,orders,7\n2025-10-20T02:40-07:00,orders,8\n", "utf-8")
    assert "stands on line 2 too, with 7 waiting" in log_reading(afterload, log, 6, 203_440).err


REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "no number": (("--depth", "many"), "--depth 'many' is not a number"),
    "negative": (("--depth", "-5"), "--depth"),
    "not a number": (("--depth", "nan"), "--depth 'nan'"),
    "half an item": (("--depth", "1.5"), "--depth"),
    "age without a unit": (("--depth", "5", "--age", "172"), "--age '172' has no unit"),
    "rate without a unit": (("--depth", "5", "--arrival", "1200"), "--arrival '1200' has no unit"),
    "more errors than attempts": (("--depth", "5", "--errors", "120 %"), "more than the whole"),
    "a time without a zone": (
        ("--depth", "5", "--at", "2025-10-20T02:45"),
        "has no zone; accepted: 2025-10-20T02:45-07:00",
    ),
    "the future": (("--depth", "5", "--at", "2125-10-20T02:45-07:00"), "is in the future"),
    "a digit too many": (("--depth", "2064370", "--at", "2025-10-20T02:45-07:00"), "is it mistyped"),
    "a digit too few": (("--depth", "20643", "--at", "2025-10-20T02:45-07:00"), "or was the queue purged"),
    "the same moment": (("--depth", "5", "--at", AT), "two readings at"),
    "an age of nothing": (("--depth", "0", "--age", "5min", "--at", "2025-10-20T06:45-07:00"), "nothing waits"),
    "an age alone": (("--age", "5min"), "give it with --depth"),
    "an unknown queue": (("--depth", "5", "--queue", "order"), "nearest: orders"),
    "an unknown zone": (("--depth", "5", "--zone", "PST"), "America/Los_Angeles or Asia/Manila"),
    "an offset under the name of a clock": (("--depth", "5", "--zone", "EST"), '"America/New_York" for the clock'),
    "half an attempt": (("--depth", "5", "--tries", "0.5"), "--tries"),
    "no time": (("--depth", "5", "--item-time", "0 s"), "--item-time"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nonsense_is_refused_and_not_kept(afterload: Run, tmp_path: Path, name: str) -> None:
    log = tmp_path / "readings.csv"
    log_reading(afterload, log, 0, 206_437)
    before = log.read_bytes()
    arguments, words = REFUSED[name]
    done = afterload("eta", ORDERS, "--log", log, *arguments)
    assert (done.code, done.out) == (3, ""), done
    assert words in done.err
    assert "Traceback" not in done.err
    assert log.read_bytes() == before


def test_what_looks_mistyped_can_be_insisted_on(afterload: Run, tmp_path: Path) -> None:
    log = tmp_path / "readings.csv"
    log_reading(afterload, log, 0, 206_437)
    assert log_reading(afterload, log, 5, 20_643, "--force").code == 0
    assert len(log.read_text("utf-8").splitlines()) == 3


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("eta",), 3),
        (("eta", "a.yaml", "--depth", "5"), 3),
        (("eta", "--depth", "5", "--set", "team=x"), 2),
        (("eta", "--depth", "5", "--direct", "5/min"), 2),
        (("eta", "--depth", "5", "--series", "x=backlog"), 2),
        (("eta", "--depth", "5", "--order", "any"), 2),
        (("eta", "--metrics", "nowhere.json"), 3),
        (("eta", "--depth", "5", "--log", "."), 3),
        (("eta", "--depth", "5", "--log", "typo/readings.csv"), 5),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_a_wrong_call_says_so(
    afterload: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int
) -> None:
    monkeypatch.chdir(tmp_path)
    done = afterload(*arguments)
    assert (done.code, done.out) == (code, "")
    assert "rror: " in done.err
    assert "Traceback" not in done.err
    assert list(tmp_path.iterdir()) == []


def test_every_option_that_cannot_be_read_is_named(afterload: Run) -> None:
    options = {
        "depth": "200k", "age": "95", "arrival": "4", "service": "fast", "in-flight": "few", "errors": "some",
        "attempts": "9", "at": "2025-10-20T03:05", "tested": "50", "direct": "x", "item-time": "3", "tries": "many",
        "cap": "-1", "restored": "then", "objective": "soon", "zone": "Mars/Base",
    }  # fmt: skip
    done = afterload("eta", ORDERS, *(part for name, value in options.items() for part in (f"--{name}", value)))
    assert done.code == 3
    assert {line.removeprefix("error: ").split()[0] for line in done.err.splitlines()} == {
        f"--{name}" for name in options
    }


def test_a_file_that_is_no_log_is_left_alone(afterload: Run, tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("not a log\n", "utf-8")
    done = log_reading(afterload, other, 0, 206_437)
    assert done.code == 3
    assert "is not a log of readings" in done.err
    assert other.read_text("utf-8") == "not a log\n"


def test_people_who_add_at_once_lose_no_line(process: Run, tmp_path: Path) -> None:
    log = tmp_path / "readings.csv"

    def add(n: int) -> int:
        at = f"2025-10-20T0{2 + n // 10}:0{n % 10}-07:00"
        return int(process("eta", "--queue", f"q{n}", "--depth", 1000 + n, "--at", at, "--log", log).returncode)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(add, range(8))) == {0}
    lines = log.read_text("utf-8").splitlines()
    assert len(lines) == 9
    assert lines[0].startswith("at,queue,depth")
    assert {line.split(",")[1] for line in lines[1:]} == {f"q{n}" for n in range(8)}


# Metrics


def test_metrics_of_a_drain_in_progress(afterload: Run, tmp_path: Path) -> None:
    """The exports of the example payments, cut an hour after the restore, against the drain that they show later."""
    folder = resource("data", "scenarios", "payments")
    cut = tmp_path / "visible.json"
    document = json.loads((folder / "visible.json").read_text("utf-8"))
    document["Datapoints"] = [point for point in document["Datapoints"] if point["Timestamp"] < "2026-03-03T18:30"]
    cut.write_text(json.dumps(document), "utf-8")
    files = [argument for name in ("age", "sent", "deleted") for argument in ("--metrics", folder / f"{name}.json")]
    done = afterload("eta", "builtin:scenarios/payments.yaml", "--metrics", cut, *files, "--json")
    assert done.code == 0, done.err
    data = json.loads(done.out)
    whole = json.loads((folder / "visible.json").read_text("utf-8"))["Datapoints"]
    emptied = min(
        point["Timestamp"] for point in whole if point["Timestamp"] > "2026-03-03T18:30" and not point["Average"]
    )
    hours, minutes = int(emptied[11:13]), int(emptied[14:16])
    seen_hours, seen_minutes = int(data["at"][11:13]), int(data["at"][14:16])
    truth = 60 * (hours - seen_hours) + minutes - seen_minutes
    assert data["empty_min"]["p50"] == pytest.approx(truth, rel=0.15)
    assert data["arrival_per_min"] == pytest.approx(640, rel=0.1)


def test_a_csv_of_metrics_whose_columns_are_named(afterload: Run, tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    rows = "".join(f"2025-10-20T09:{minute}:00Z,{206_437 - 600 * (minute - 40)},{172 - (minute - 40) // 3}\n"
                   for minute in range(40, 60))  # fmt: skip
    path.write_text(f"time,waiting,oldest\n{rows}", "utf-8")
    series = ("--series", "waiting=backlog:orders:items", "--series", "oldest=first_attempt_age:orders:min")
    done = afterload("eta", ORDERS, "--metrics", path, *series)
    assert done.code == 0, done.err
    assert "Drains by 600/min" in done.out
    assert "20 readings" in done.out
    without = afterload("eta", ORDERS, "--metrics", path)
    assert without.code == 3
    assert "--series NAME=backlog:orders" in without.err


def test_a_reading_goes_over_a_metric_of_that_moment(afterload: Run, tmp_path: Path) -> None:
    rows = "".join(f"2025-10-20T09:{minute}:00Z,{206_437 - 600 * (minute - 40)}\n" for minute in range(40, 60))
    (tmp_path / "m.csv").write_text(f"time,waiting\n{rows}", "utf-8")
    log = tmp_path / "seen.csv"
    log.write_text("at,queue,depth\n2025-10-20T02:50-07:00,orders,200431\n", "utf-8")
    metrics = ("eta", ORDERS, "--metrics", tmp_path / "m.csv", "--series", "waiting=backlog:orders:items", "--log", log)
    assert "20 readings" in afterload(*metrics).out
    newer = afterload(*metrics, "--depth", "195000", "--at", "2025-10-20T02:59-07:00")
    assert newer.code == 0, newer.err
    assert "195,000 wait at 02:59 PDT" in newer.out


# A person at a terminal


def in_terminal(typed: str, *arguments: str, **env: str) -> tuple[int, str]:
    """The command with a terminal of its own; what is typed comes all at once."""
    code = "from afterload.cli import main; main()"
    clean = {name: value for name, value in os.environ.items() if name != "CI"}
    master, slave = pty.openpty()
    try:
        child = subprocess.Popen(
            [sys.executable, "-c", code, *arguments], stdin=slave, stdout=slave, stderr=slave, env={**clean, **env}
        )
        os.write(master, typed.encode())
        os.close(slave)
        slave = -1
        shown = b""
        while True:
            try:
                part = os.read(master, 65_536)
            except OSError:  # the terminal is gone with the process
                break
            if not part:
                break
            shown += part
        return child.wait(60), shown.decode()
    finally:
        os.close(master)
        if slave >= 0:
            os.close(slave)


def test_in_a_terminal_what_is_missing_is_asked_for() -> None:
    code, shown = in_terminal("many\n206400\n172 min\n\n1800/min\n\n\n", "eta")
    assert code == 0, shown
    assert "Items waiting" in shown
    assert "'many' is not a number" in shown
    assert "queue: empty in 5 h 44 min" in shown
    code, shown = in_terminal("206400\n172 min\n\n1 %\n", "eta", ORDERS)
    assert code == 0, shown
    assert "orders: empty in 5 h 44 min" in shown


def test_nothing_is_asked_in_ci_or_without_a_terminal(process: Run) -> None:
    code, shown = in_terminal("", "eta", CI="true")
    assert code == 3, shown
    assert "give what waits with --depth" in shown
    done = process("eta", stdin=subprocess.DEVNULL)
    assert done.returncode == 3
    assert "give what waits with --depth" in done.stderr


def test_no_chart_library_is_loaded_for_it() -> None:
    code = (
        "import sys; from afterload.cli import main\n"
        f"sys.argv = ['afterload', 'eta', {ORDERS!r}, '--depth', '206400', '--age', '172min']\n"
        "main()\n"
        "print(sorted({'papermill', 'nbconvert', 'altair', 'pandas', 'IPython'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
