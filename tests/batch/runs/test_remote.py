"""The warm processes of a Dask worker: which serves whom, and that nothing of them stays."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from afterload.batch import remote
from afterload.report.launch import REHEARSED, WARM, StartError, warm_for


@dataclass(eq=False)
class Counted:
    """In place of a warm process."""

    warm: str
    ended: bool = False
    closed: bool = False

    def update(self) -> None:
        if self.ended:
            raise StartError("it was ended from outside")

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Counted]]:
    """All that were started, in order."""
    found: list[Counted] = []

    def start(warm: str) -> Counted:
        found.append(Counted(warm))
        return found[-1]

    monkeypatch.setattr(remote, "new_launcher", start)
    monkeypatch.setattr(remote, "_idle", [])
    monkeypatch.setattr(remote, "_watched", False)
    monkeypatch.setattr(remote, "IDLE_S", 0.2)
    yield found
    wait_for_the_end_of_watchers()


def wait_for_the_end_of_watchers() -> None:
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join(10)


def watchers() -> int:
    return sum(isinstance(thread, threading.Timer) for thread in threading.enumerate())


def test_packets_are_rehearsed_where_a_worker_makes_more_than_one() -> None:
    assert [warm_for(packets, 4) for packets in (1, 4, 5, 1_000)] == [WARM, WARM, REHEARSED, REHEARSED]


def test_a_rehearsed_one_serves_any_batch_and_another_only_small_ones(started: list[Counted]) -> None:
    plain = remote._take(WARM)
    remote._give(plain, keep=True)
    assert remote._take(WARM) is plain
    remote._give(plain, keep=True)
    rehearsed = remote._take(REHEARSED)
    remote._give(rehearsed, keep=True)
    assert [each.warm for each in started] == [WARM, REHEARSED]
    assert remote._take(WARM) is rehearsed
    assert remote._take(WARM) is plain
    assert len(started) == 2


def test_one_that_has_ended_is_replaced(started: list[Counted]) -> None:
    found = remote._take(WARM)
    remote._give(found, keep=True)
    started[0].ended = True
    assert remote._take(WARM) is not found
    assert [each.closed for each in started] == [True, False]
    remote._give(found, keep=False)
    assert remote._idle == []


def test_any_number_of_jobs_has_one_watcher_which_ends_with_the_last_process(started: list[Counted]) -> None:
    before = watchers()
    for _ in range(50):
        remote._give(remote._take(WARM), keep=True)
        assert watchers() <= before + 1
    assert len(started) == 1
    end = time.monotonic() + 10
    while not started[0].closed and time.monotonic() < end:
        time.sleep(0.02)
    assert started[0].closed
    wait_for_the_end_of_watchers()
    assert (remote._idle, remote._watched, watchers()) == ([], False, before)
    # One that comes later is watched, too.
    remote._give(remote._take(WARM), keep=True)
    wait_for_the_end_of_watchers()
    assert started[1].closed
