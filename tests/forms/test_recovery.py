"""The live chapter's form, driven as a view drives it: readings typed, kept in a log that others add to, taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from threading import Event

import pytest
from click.testing import CliRunner

from afterload.chapters import edit_workbook
from afterload.commands.live import eta
from afterload.errors import ChangedError, InputError, OutputError
from afterload.figures import Figure, Prose
from afterload.figures.live import live_figure
from afterload.files import append_line, take_back_line
from afterload.findings.live_words import live_lines
from afterload.forms.state.live import LiveState
from afterload.forms.state.rest import Every
from afterload.forms.views.live import LiveView
from afterload.forms.workbook import Still
from afterload.resources import resource
from afterload.scenario.reading_log import log_digest
from afterload.scenario.readings import COLUMNS

ORDERS, LIVE = "builtin:scenarios/orders.yaml", "builtin:scenarios/orders-live.yaml"
AT = datetime(2025, 10, 20, 9, 40, tzinfo=UTC)
HEADER = ",".join(COLUMNS)


class Watch:
    """A clock that stands until it is moved."""

    def __init__(self, at: datetime = AT) -> None:
        self.at = at

    def __call__(self) -> datetime:
        return self.at

    def pass_(self, minutes: float) -> None:
        self.at += timedelta(minutes=minutes)


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example as a team's own file, with a log that is not there yet; it is in the working folder."""
    monkeypatch.chdir(tmp_path)
    text = resource("data", "scenarios", "orders.yaml").read_text("utf-8")
    (tmp_path / "own.yaml").write_text(f"{text}\nlive:\n  queue: orders\n  log: seen.csv\n", "utf-8")
    return tmp_path / "own.yaml"


@pytest.fixture
def state(own: Path, watch: Watch) -> LiveState:
    return LiveState("own.yaml", clock=watch)


def typed(state: LiveState, **texts: str) -> None:
    for name, text in texts.items():
        state.set(name, text)


def in_terminal(*arguments: object) -> list[str]:
    done = CliRunner().invoke(eta, [*map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output.splitlines()


def test_depth_and_age_give_the_answer_of_the_terminal(state: LiveState) -> None:
    assert (state.answer, state.trouble, state.log) == (None, "", Path("seen.csv"))
    assert "There is no reading of orders yet" in state.to_do
    typed(state, depth="206,400", age="2 h 52 min")
    state.add()
    assert state.answer is not None
    lines = live_lines(state.answer)
    # 206,400 / 172 min arrive, 1,800/min are served: 206,400 / 600 = 344 min.
    assert state.answer.empty.p50 == pytest.approx(344, rel=1e-3)
    assert lines[0].startswith("orders: empty in 5 h 44 min (P10 ")
    given = in_terminal(ORDERS, "--depth", 206400, "--age", "172min", "--at", AT.isoformat())
    assert [line.replace("own.yaml", "orders.yaml") for line in lines] == given
    assert Path("seen.csv").read_text() == f"{HEADER}\n2025-10-20T09:40:00+00:00,orders,206400,172,,,,,\n"
    # The fields are ready for the next reading.
    assert (state.texts, state.problems) == ({}, {})
    assert state.notice == "206,400 waiting at 02:40 PDT is kept in seen.csv"


def test_terminal_and_form_build_on_each_other(state: LiveState, watch: Watch) -> None:
    typed(state, depth="206400", age="172 min")
    state.add()
    at = "2025-10-20T02:45-07:00"
    more = in_terminal("own.yaml", "--log", "seen.csv", "--depth", 203300, "--errors", "1 %", "--at", at)
    assert state.answer is not None
    assert len(state.answer.readings) == 1
    assert state.refresh()
    assert not state.refresh()
    assert live_lines(state.answer) == more
    watch.pass_(20)
    typed(state, depth="194600", age="162 min", errors="1 %", attempts="2,600/min", **{"in-flight": "80"})
    state.add()
    assert live_lines(state.answer) == in_terminal("own.yaml")
    assert Path("seen.csv").read_text().splitlines()[-1] == "2025-10-20T10:00:00+00:00,orders,194600,162,,,80,0.01,2600"
    # A second form on the same log, and a time that is typed.
    other = LiveState("own.yaml", clock=watch)
    typed(other, depth="200,100", at="2025-10-20T02:50-07:00")
    other.add()
    assert [item.depth for item in other.readings] == [206_400, 203_300, 200_100, 194_600]


def test_what_is_wrong_is_said_at_its_field(state: LiveState) -> None:
    typed(state, depth="many", age="172", errors="150 %", at="2025-10-20T02:50")
    assert set(state.problems) == {"depth", "age", "errors", "at"}
    assert "2025-10-20T02:50-07:00, if the time is meant in America/Los_Angeles" in state.problems["at"]
    with pytest.raises(InputError, match="not added: items waiting: 'many' is not a number"):
        state.add()
    typed(state, depth="", age="172 min", errors="", at="")
    assert state.problems == {}
    with pytest.raises(InputError, match="type the items waiting"):
        state.add()
    assert not Path("seen.csv").exists()


def test_what_looks_mistyped_is_asked_for(state: LiveState, watch: Watch) -> None:
    typed(state, depth="206400")
    state.add()
    watch.pass_(5)
    typed(state, depth="2033000")
    state.add()
    assert state.doubted == "items waiting: 2,033,000 is more than 5 times the 206,400 of 5 min before: is it mistyped?"
    assert len(Path("seen.csv").read_text().splitlines()) == 2
    state.add(anyway=True)
    assert state.doubted == ""
    assert [item.depth for item in state.readings] == [206_400, 2_033_000]
    # Typing again asks anew; two readings at one time cannot be meant.
    typed(state, depth="5")
    with pytest.raises(InputError, match="two readings at"):
        state.add(anyway=True)
    assert len(state.readings) == 2


# What it is about, the minute of the reading, its depth and age; what the terminal says of it, or nothing.
CASES = {
    "the future": (11, 5_000, None, "--at 2025-10-20T09:51:00+00:00 is in the future; it is 2025-10-20T09:45:00+00:00 now: "
                   "is it mistyped? Give --force if not"),
    "a clock that is a little ahead": (9, 5_000, None, ""),
    "an age of nothing": (5, 0, "3 min", "--age 3 min cannot be that of the oldest, since nothing waits: is it mistyped? "
                          "Give --force if not"),
    "a digit too many": (5, 50_001, None, "--depth 50,001 is more than 5 times the 10,000 of 5 min before: is it mistyped? "
                         "Give --force if not"),
    "the most that can be meant": (5, 50_000, None, ""),
    "a digit too few": (5, 990, None, "--depth 990 is 9,010 less than 5 min before, more than 5 times what 360/min serve: "
                        "is it mistyped, or was the queue purged? Then give --force"),
    "the fastest that can be meant": (5, 1_000, None, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_asks_for_what_the_terminal_refuses(
    own: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """One check for both, each in its own words: 10,000 wait at first, and 360/min are served."""

    class Now(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return watch().astimezone(tz)

    minute, depth, age, words = CASES[name]
    Path("seen.csv").write_text(f"at,queue,depth,age_min\n{AT.isoformat()},orders,10000,\n")
    watch.pass_(5)
    at = (AT + timedelta(minutes=minute)).isoformat()
    state = LiveState("own.yaml", {"queues.orders.service_rate": "360/min"}, watch)
    monkeypatch.setattr("afterload.commands.live.datetime", Now)
    given = ["own.yaml", "--set", "queues.orders.service_rate=360/min", "--depth", depth, "--at", at]
    done = CliRunner().invoke(eta, [*map(str, given), *(["--age", age] if age else [])])
    typed(state, depth=str(depth), age=age or "", at=at)
    state.add()
    if words:
        assert str(done.exception) == words
        told, _, question = words.removeprefix(f"--{words[2:].partition(' ')[0]} ").rpartition(": ")
        assert state.doubted.partition(": ")[2] == f"{told}: {question.partition('?')[0]}?"
        assert len(state.readings) == 1
    else:
        assert (done.exit_code, state.doubted) == (0, "")
        assert len(state.readings) == 2


def test_the_last_reading_of_ones_own_is_taken_back(state: LiveState, watch: Watch) -> None:
    for depth in ("206400", "203300"):
        typed(state, depth=depth)
        state.add()
        watch.pass_(5)
    state.undo()
    assert [item.depth for item in state.readings] == [206_400]
    state.undo()
    assert (state.readings, state.answer, state.can_undo) == ((), None, False)
    # The header stays, and the log can be gone on with.
    assert Path("seen.csv").read_text() == f"{HEADER}\n"
    with pytest.raises(InputError, match="no reading was added here"):
        state.undo()
    assert LiveState("own.yaml").trouble == ""
    typed(state, depth="200000")
    state.add()
    assert len(Path("seen.csv").read_text().splitlines()) == 2


@pytest.mark.parametrize("how", ["a line more", "an edit", "removed"])
def test_nothing_is_taken_back_once_the_log_has_changed(state: LiveState, watch: Watch, how: str) -> None:
    typed(state, depth="206400")
    state.add()
    log = Path("seen.csv")
    if how == "a line more":
        in_terminal("own.yaml", "--log", log, "--depth", 203300, "--at", "2025-10-20T02:45-07:00")
    elif how == "an edit":
        log.write_text(log.read_text().replace("depth,age_min", "depth, age_min"))
    else:
        log.unlink()
    before = log_digest(log)
    with pytest.raises(ChangedError, match="has changed since"):
        state.undo()
    assert log_digest(log) == before
    assert not state.can_undo
    assert len(state.readings) == {"a line more": 2, "an edit": 1, "removed": 0}[how]


def test_no_line_of_others_is_lost_by_taking_back(tmp_path: Path) -> None:
    """One adds and takes back while another adds: every line of the other stands in the file afterwards."""
    log, done = tmp_path / "seen.csv", Event()

    def other() -> None:
        for number in range(150):
            append_line(log, "h", f"other {number}")
        done.set()

    def one() -> int:
        taken = 0
        while not done.is_set():
            append_line(log, "h", "mine")
            digest = log_digest(log)
            assert digest is not None
            taken += take_back_line(log, "mine", digest)
        return taken

    with ThreadPoolExecutor(2) as pool:
        taken = pool.submit(one)
        pool.submit(other).result()
        assert taken.result() > 0
    lines = log.read_text().splitlines()
    assert [line for line in lines if line.startswith("other")] == [f"other {number}" for number in range(150)]


def test_a_shipped_example_is_not_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, watch: Watch) -> None:
    monkeypatch.chdir(tmp_path)
    shipped = resource("data", "scenarios", "orders-live", "readings.csv")
    before = shipped.read_bytes()
    state = LiveState(LIVE, clock=watch)
    assert state.answer is not None
    assert live_lines(state.answer) == in_terminal(LIVE)
    watch.at = state.answer.now + timedelta(minutes=5)
    typed(state, depth="87500")
    state.add()
    assert len(state.answer.readings) == 8
    assert "here only: name a log to keep it" in state.notice
    state.undo()
    assert len(state.answer.readings) == 7
    with pytest.raises(InputError, match="Afterload's own"):
        state.use_log(str(shipped))
    assert shipped.read_bytes() == before
    assert list(tmp_path.iterdir()) == []
    # What was typed goes into a log that is chosen, as the first lines of it.
    typed(state, depth="87500")
    state.add()
    state.use_log("mine.csv")
    assert [item.depth for item in state.readings] == [87_500]
    assert state.notice == "readings are kept in mine.csv; 1 typed here were added"
    state.undo()
    assert state.readings == ()


def test_a_log_that_cannot_be_used_leaves_the_last_answer(state: LiveState, watch: Watch) -> None:
    typed(state, depth="206400", age="172 min")
    state.add()
    good, log = state.answer, Path("seen.csv")
    log.write_text(log.read_text() + "yesterday,orders,12\n")
    assert state.refresh()
    assert state.answer is good
    assert "seen.csv:3" in state.trouble
    watch.pass_(5)
    typed(state, depth="203300")
    with pytest.raises(InputError, match=r"not added: seen.csv is not a log"):
        state.add()
    assert state.texts["depth"] == "203300"
    log.write_text("\n".join(log.read_text().splitlines()[:2]))
    state.add()
    assert (state.trouble, len(state.readings)) == ("", 2)
    for wanted, words in ((" ", "give the name"), ("own.yaml", "is not a log"), ("none/x.csv", "there is no folder")):
        with pytest.raises(InputError, match=words):
            state.use_log(wanted)
    assert state.log == log


def test_a_log_without_the_column_keeps_nothing(state: LiveState) -> None:
    Path("seen.csv").write_text("at,queue,depth\n")
    assert state.refresh()
    typed(state, depth="206400", age="172 min")
    with pytest.raises(InputError, match="no column age_min"):
        state.add()
    assert Path("seen.csv").read_text() == "at,queue,depth\n"
    typed(state, age="")
    state.add()
    assert [item.depth for item in state.readings] == [206_400]


def test_a_log_that_cannot_be_written_says_so(own: Path, watch: Watch) -> None:
    state = LiveState("own.yaml", {"live.log": "away/seen.csv"}, watch)
    (own.parent / "away").write_text("a file")
    typed(state, depth="206400")
    with pytest.raises((OutputError, InputError), match="away"):
        state.add()
    assert state.texts["depth"] == "206400"


def test_scenarios_are_opened_and_refused(state: LiveState, own: Path) -> None:
    state.open(LIVE)
    assert state.answer is not None
    assert (state.queue, state.log, state.is_shipped) == ("orders", None, True)
    with pytest.raises(InputError, match="no such file"):
        state.open("nowhere.yaml")
    with pytest.raises(InputError, match="has no queue to follow"):
        state.open("builtin:scenarios/checkout-api.yaml")
    assert state.name == "orders-live.yaml"
    assert LiveState("nowhere.yaml").to_do == "nowhere.yaml: no such file"
    # Without a log of its own, a scenario's readings go beside it.
    Path("plain.yaml").write_text(own.read_text("utf-8").partition("\nlive:")[0], "utf-8")
    state.open("plain.yaml")
    assert (state.log, state.answer) == (Path("plain-readings.csv"), None)
    assert sorted(path.name for path in own.parent.iterdir()) == ["own.yaml", "plain.yaml"]
    two = own.read_text("utf-8").replace("  queue: orders\n", "  queue: refunds\n")
    Path("other.yaml").write_text(two, "utf-8")
    state.open("other.yaml")
    assert "live.queue names 'refunds', which is no queue of other.yaml" in state.notice


def test_the_view_says_what_the_state_knows(state: LiveState, watch: Watch) -> None:
    view = LiveView(state)
    assert "There is no reading of orders yet" in view.answer.value
    view.controls["depth"].value = "20x"
    assert 'role="alert"' in view.beside["depth"].value
    view.controls["depth"].value = "206,400"
    view.controls["age"].value = "172 min"
    assert 'role="alert"' not in view.beside["depth"].value
    view._do(state.add)
    assert view.answer.value.startswith("<p>orders: empty in 5 h 44 min")
    assert view.controls["depth"].value == ""
    assert view.chart.spec
    assert view.chart.alt.startswith("Point of 1 reading, and a band")
    for part, words in ((view.table, "net drain"), (view.steps, "hold the doors"), (view.readings, "206,400")):
        assert words in part.value
    watch.pass_(1)
    view.controls["depth"].value = "2064000"
    view._do(state.add)
    assert [type(part).__name__ for part in view.asked.children] == ["HTML", "Button"]
    view.asked.children[1].click()
    assert (view.asked.children, len(state.readings)) == ((), 2)
    Path("seen.csv").write_text("no log")
    assert state.refresh()
    assert "af-stale" in view.answer._dom_classes
    assert "af-bad" in view.notice.value


def test_without_a_front_end_it_answers_or_says_what_to_type(own: Path, watch: Watch) -> None:
    told = edit_workbook(ORDERS).follow()
    assert isinstance(told, Prose)
    assert "afterload eta builtin:scenarios/orders.yaml --depth N --age DURATION" in told.text
    told = edit_workbook("own.yaml").follow()
    assert isinstance(told, Prose)
    assert "afterload eta own.yaml --log seen.csv --depth N" in told.text
    state = LiveState("own.yaml", clock=watch)
    typed(state, depth="206400", age="172 min")
    state.add()
    shown = edit_workbook("own.yaml").follow()
    assert isinstance(shown, Still)
    assert getattr(shown.parts[0], "text", "").startswith("orders: empty in 5 h 44 min")
    assert getattr(shown.parts[1], "source", "") == "seen.csv, own.yaml"
    assert len(shown.parts) == 4


def test_chart_and_words_have_one_offset(state: LiveState, watch: Watch) -> None:
    """The scenario's event is of summer time, the recovery of winter time: 07:00 UTC is 23:00 PST."""
    watch.at = datetime(2026, 12, 1, 7, 0, tzinfo=UTC)
    typed(state, depth="206400", age="172 min")
    state.add()
    assert state.answer is not None
    assert state.loaded is not None
    # 344 min later it is 04:44 PST.
    assert "about 2026-12-01 04:44 PST" in live_lines(state.answer)[0]
    course = live_figure(state.loaded, state.answer)
    assert isinstance(course, Figure)
    text = str(course.chart)
    assert "time (America/Los_Angeles, UTC-08:00)" in text
    assert str(datetime(2026, 11, 30, 23, 0, tzinfo=UTC).timestamp() * 1000).partition(".")[0] in text


def test_a_look_follows_each_look() -> None:
    waiting: list[tuple[float, Callable[[], None]]] = []
    done: list[int] = []
    numbers: Iterator[int] = iter(range(9))
    Every(5.0, lambda: done.append(next(numbers)), lambda delay, work: waiting.append((delay, work)))
    for _ in range(3):
        [(delay, work)] = waiting
        assert delay == 5.0
        waiting.clear()
        work()
    assert done == [0, 1, 2]


# Over what the scenario says, and metrics


def test_what_is_typed_over_the_scenario_counts_at_once_and_stays(state: LiveState, watch: Watch) -> None:
    typed(state, depth="206400", age="172 min")
    state.add()
    assert state.answer is not None
    assert state.answer.cap is not None
    assert (state.answer.cap.concurrency, state.source) == (80, "seen.csv")
    given = {"tested": "2,000/min", "direct": "500/min", "item-time": "4 s", "cap": "90"}
    typed(state, **given)
    wanted = [f"--{name}={text}" for name, text in given.items()]
    # 90 at once at 4 s are 1,350/min: 150/min to spare for 206,400. docs/model.md section 1.
    assert state.answer.empty.p50 == pytest.approx(206_400 / 150, rel=1e-3)
    assert (state.answer.cap.concurrency, state.answer.cap.rate_per_min) == (100, 1_500)
    assert live_lines(state.answer) == in_terminal("own.yaml", *wanted)
    assert state.source == "seen.csv, tested to, direct traffic, cap now, time of an item as typed here"
    # They are no part of a reading: the next one leaves them, and the log does not have them.
    watch.pass_(10)
    typed(state, depth="204900")
    state.add()
    assert state.texts == given
    assert live_lines(state.answer) == in_terminal("own.yaml", *wanted)
    assert "2000" not in Path("seen.csv").read_text()
    typed(state, tested="", direct="", cap="", **{"item-time": ""})
    assert live_lines(state.answer) == in_terminal("own.yaml")


def test_a_rate_that_cannot_be_read_goes_over_nothing(state: LiveState) -> None:
    typed(state, depth="206400", age="172 min")
    state.add()
    before = state.answer
    typed(state, tested="3,000")
    assert "has no unit" in state.problems["tested"]
    assert state.answer is not None
    assert before is not None
    assert live_lines(state.answer) == live_lines(before)
    assert state.source == "seen.csv"
    typed(state, depth="200000")
    with pytest.raises(InputError, match="not added: tested to: '3,000' has no unit"):
        state.add()


def test_direct_traffic_needs_a_dependency(own: Path, watch: Watch) -> None:
    text = own.read_text("utf-8").replace("    dependency: orders-table\n", "", 1)
    own.write_text(text, "utf-8")
    state = LiveState("own.yaml", clock=watch)
    typed(state, depth="206400", age="172 min", direct="600/min")
    assert "type what it is tested to" in state.problems["direct"]
    typed(state, tested="3,000/min")
    assert state.problems == {}
    state.add()
    assert state.answer is not None
    assert state.answer.cap is not None
    assert state.answer.cap.words == "the dependency is tested to 3,000/min, 600/min reach it beside the queue"


METRICS = "time,waiting,oldest\n" + "".join(
    f"2025-10-20T09:{minute}:00Z,{206_437 - 600 * (minute - 40)},{172 - (minute - 40) // 3}\n"
    for minute in range(40, 60)
)
SERIES = "waiting=backlog:orders:items, oldest=first_attempt_age:orders:min"


def test_metrics_are_readings_as_in_the_terminal(state: LiveState, watch: Watch) -> None:
    state.upload({"m.csv": METRICS.encode()})
    assert state.measuring.startswith(
        "m.csv: no series is the backlog of orders: say which with --series NAME=backlog:orders"
    )
    assert (state.answer, state.source) == (None, "seen.csv")
    state.say_series(SERIES)
    assert state.measuring == "20 readings of orders from m.csv"
    assert state.source == "seen.csv, m.csv"
    Path("m.csv").write_text(METRICS, "utf-8")
    named = [argument for one in SERIES.split(", ") for argument in ("--series", one)]
    assert state.answer is not None
    assert live_lines(state.answer) == in_terminal("own.yaml", "--metrics", "m.csv", *named)
    assert not Path("seen.csv").exists()
    # A reading of the moment of one of them goes over it, and alone into the log.
    watch.pass_(19)
    typed(state, depth="195,300")
    state.add()
    assert (state.answer.left, len(state.answer.readings)) == (195_300, 20)
    assert len(Path("seen.csv").read_text().splitlines()) == 2
    state.upload({"later.csv": METRICS.replace("T09:", "T10:").encode()})
    assert state.measuring == "20 readings of orders from later.csv"
    assert len(state.answer.readings) == 21
    state.upload({"photo.csv": b"\xff\xd8"})
    assert state.measuring.startswith("photo.csv line 1: is not UTF-8")
    assert len(state.answer.readings) == 1
    assert list(Path().glob("photo*")) == []


def test_the_view_takes_metrics_and_what_goes_over_the_scenario(state: LiveState) -> None:
    view = LiveView(state)
    content = memoryview(METRICS.encode())
    file = {"name": "m.csv", "type": "text/csv", "size": len(content), "content": content, "last_modified": AT}
    view.upload.value = (file,)
    assert "no series is the backlog" in view.measured.value
    view.series.value = SERIES
    assert "20 readings of orders from m.csv" in view.measured.value
    assert view.upload.value == ()
    assert "Safe cap: 80 at once" in view.answer.value
    view.controls["tested"].value = "1,800/min"
    assert "Safe cap: 40 at once" in view.answer.value
    view.controls["tested"].value = "1,800"
    assert 'role="alert"' in view.beside["tested"].value
    Path("plain.yaml").write_text(Path("own.yaml").read_text("utf-8"), "utf-8")
    view.scenario.value = "plain.yaml"
    view._do(view._open)
    assert (view.series.value, view.measured.value, view.controls["tested"].value) == ("", "", "")


# What would be lost


def test_readings_that_stand_in_the_form_alone_are_not_lost(own: Path, watch: Watch) -> None:
    state = LiveState(ORDERS, clock=watch)
    for depth, age in (("206400", ""), ("203400", "169 min")):
        typed(state, depth=depth, age=age)
        state.add()
        watch.pass_(5)
    with pytest.raises(InputError, match="2 readings stand in this form alone"):
        state.open("own.yaml")
    assert (state.name, len(state.readings)) == ("orders.yaml", 2)
    # A log that has no column for one of them takes none.
    Path("bare.csv").write_text("at,queue,depth\n", "utf-8")
    with pytest.raises(InputError, match="no column age_min"):
        state.use_log("bare.csv")
    assert Path("bare.csv").read_text("utf-8") == "at,queue,depth\n"
    assert len(state.readings) == 2
    state.use_log("whole.csv")
    assert len(Path("whole.csv").read_text("utf-8").splitlines()) == 3
    state.open("own.yaml")
    assert state.name == "own.yaml"


def test_a_log_of_other_queues_is_gone_on_with(state: LiveState) -> None:
    Path("shared.csv").write_text("at,queue,depth\n2025-10-20T09:30Z,refunds,7\n", "utf-8")
    state.use_log("shared.csv")
    assert (state.answer, state.trouble) == (None, "")
    typed(state, depth="206400")
    state.add()
    assert state.answer is not None
    assert len(state.answer.readings) == 1


@pytest.mark.parametrize("log", ["builtin:none.csv", "~nobody-of-that-name/x.csv"])
def test_a_log_that_no_file_can_be_is_told(own: Path, log: str) -> None:
    own.write_text(own.read_text("utf-8").replace("seen.csv", log), "utf-8")
    assert log in LiveState("own.yaml").trouble
    state = LiveState(ORDERS)
    if log.startswith("~"):
        with pytest.raises(InputError, match="cannot be a file"):
            state.use_log(log)
