"""A log of readings that a scenario names: begun by the first reading, added to by several people, never written over."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from afterload.batch.digest import Checker
from afterload.errors import InputError, ScenarioError
from afterload.reads import recorded_reads
from afterload.resources import resource
from afterload.scenario import LastOpened, Reading, load_scenario
from afterload.scenario.reading_log import add_reading, load_without_log, read_log
from afterload.scenario.readings import joined

AT = datetime(2025, 10, 20, 9, 40, tzinfo=UTC)


@pytest.fixture
def team(tmp_path: Path) -> Path:
    """The example with a live chapter, and no log yet."""
    path = tmp_path / "team.yaml"
    text = resource("data", "scenarios", "orders.yaml").read_text("utf-8")
    path.write_text(f"{text}\nlive: {{queue: orders, log: seen.csv}}\n", "utf-8")
    return path


@pytest.mark.parametrize("content", [None, "", "\ufeff", "at,queue,depth\n"])
def test_a_log_without_readings_is_no_mistake(team: Path, content: str | None) -> None:
    if content is not None:
        (team.parent / "seen.csv").write_text(content, "utf-8")
    loaded = load_scenario(team)
    assert loaded.readings == ()
    assert loaded.scenario.live is not None
    assert (loaded.files["seen.csv"] == "") == (content is None)
    assert read_log(team.parent / "seen.csv", None) == ()


def test_a_log_that_cannot_be_begun_is_a_mistake(team: Path) -> None:
    team.write_text(team.read_text("utf-8").replace("seen.csv", "logs/seen.csv"), "utf-8")
    with pytest.raises(ScenarioError, match=r"live\.log: 'logs/seen\.csv' names no file .* there is no folder for one"):
        load_scenario(team)
    (team.parent / "logs").mkdir()
    assert load_scenario(team).readings == ()
    (team.parent / "logs" / "seen.csv").mkdir()
    with pytest.raises(ScenarioError, match=r"live\.log: 'logs/seen\.csv' names no file"):
        load_scenario(team)


def test_other_files_must_be_there(team: Path) -> None:
    with pytest.raises(ScenarioError, match=r"incident\.timeline: 'x\.csv' names no file"):
        load_scenario(team, {"incident.timeline": "x.csv"})


def test_what_was_made_without_the_log_is_made_anew_once_it_is_there(team: Path) -> None:
    opened = LastOpened(lambda loaded: loaded).open
    first = opened(team)
    assert opened(team) is first
    with recorded_reads() as reads:
        load_scenario(team)
    log = team.parent / "seen.csv"
    assert reads[str(log)] == ""
    # A batch compares each file that a packet was made of with what is there now.
    assert Checker()._shared(team.parent, "seen.csv") == ""
    add_reading(log, Reading(AT, "orders", 206_400.0))
    assert Checker()._shared(team.parent, "seen.csv") != ""
    second = opened(team)
    assert [item.depth for item in second.readings] == [206_400]
    assert second.digest != first.digest


def test_a_scenario_is_opened_with_its_log_unread(team: Path) -> None:
    log = team.parent / "seen.csv"
    log.write_text("spoiled\n", "utf-8")
    loaded, where = load_without_log(team)
    assert (loaded.readings, where) == ((), log)
    assert loaded.scenario.live is not None
    assert loaded.scenario.live.queue == "orders"
    assert load_without_log(team, ["live.log='other.csv'"])[1] == team.parent / "other.csv"
    assert load_without_log(team, {"live": {"queue": "orders", "log": "third.csv"}})[1] == team.parent / "third.csv"
    assert load_without_log(team, {"live": None})[1] is None
    with pytest.raises(ScenarioError, match=r"live\.queue: 'order' is not one of the queues"):
        load_without_log(team, {"live.queue": "order"})


def test_a_log_in_another_encoding_is_read_and_not_added_to(tmp_path: Path) -> None:
    log = tmp_path / "seen.csv"
    log.write_text("at,queue,depth\n2025-10-20T09:40Z,orders,206400\n", "utf-16")
    before = log.read_bytes()
    assert [item.depth for item in read_log(log, None)] == [206_400]
    with pytest.raises(InputError, match=r"seen\.csv is not UTF-8, so no line can be added"):
        add_reading(log, Reading(AT, "orders", 5.0))
    assert log.read_bytes() == before


def test_a_log_tells_how_many_lines_cannot_be_read(tmp_path: Path) -> None:
    log = tmp_path / "seen.csv"
    log.write_text("at,queue,depth\n" + 25 * "soon,orders,5\n", "utf-8")
    with pytest.raises(InputError, match="and 5 more") as caught:
        read_log(log, None)
    assert str(caught.value).count("is not a time") == 20


def test_what_somebody_kept_goes_over_a_metric_of_that_moment() -> None:
    kept = [Reading(AT, "q", 100.0)]
    measured = [
        Reading(AT.replace(minute=minute), "q", depth) for minute, depth in ((50, 80.0), (40, 101.0), (30, 120.0))
    ]
    assert [item.depth for item in joined(kept, measured)] == [120, 100, 80]
