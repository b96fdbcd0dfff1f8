"""Tasks in fresh processes: each ends in its own way, and none of them in another's."""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from afterload.report import launch, workers
from afterload.report.launch import ForkServer, Spawner, StartError
from afterload.report.workers import Limits, run_tasks

JOBS = Path(__file__).parent / "jobs"


@pytest.fixture
def jobs() -> Any:
    return importlib.import_module("worker_jobs")


@pytest.fixture
def server(jobs: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[ForkServer]:
    """A process to fork from that has loaded nothing, which is quick."""
    monkeypatch.setenv("MARK", "inherited")
    with ForkServer(None) as made:
        yield made


def living(folder: Path) -> list[int]:
    """Processes that have noted themselves in the folder and still run."""
    found = []
    for path in folder.glob("pid-*"):
        number = int(path.name.removeprefix("pid-"))
        stat = Path(f"/proc/{number}/stat")
        if stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] != "Z":
            found.append(number)
    return found


def wait_for(true: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        time.sleep(0.02)
    return true()


def test_each_task_gets_a_fresh_process(jobs: Any, server: ForkServer) -> None:
    ended = list(run_tasks(jobs.touch, range(6), workers=2, launcher=server))
    assert sorted(end.task for end in ended) == list(range(6))
    assert {end.value for end in ended} == {1}
    assert {end.problem for end in ended} == {None}
    assert jobs.STATE["touched"] == 0


def test_results_come_as_they_end(jobs: Any, server: ForkServer) -> None:
    ended = run_tasks(jobs.sleep, [1.0, 0.01, 0.02], workers=2, launcher=server)
    assert [end.value for end in ended] == [0.01, 0.02, 1.0]


def test_tasks_are_drawn_when_a_worker_is_free(jobs: Any, server: ForkServer) -> None:
    drawn: list[int] = []

    def tasks() -> Iterator[int]:
        for number in range(1000):
            drawn.append(number)
            yield number

    running = run_tasks(jobs.echo, tasks(), workers=3, launcher=server)
    assert drawn == []
    next(running)
    assert len(drawn) <= 6
    running.close()
    assert len(drawn) <= 6


def test_an_error_is_told_with_its_traceback_aside(jobs: Any, server: ForkServer) -> None:
    [end] = run_tasks(jobs.fail, ["bread"], workers=1, launcher=server)
    assert end.value is None
    assert end.problem is not None
    assert (end.problem.kind, end.problem.text) == ("error", "ValueError: no bread")
    assert "worker_jobs.py" in end.problem.traceback
    [mute] = run_tasks(jobs.unspeakable, [1], workers=1, launcher=server)
    assert mute.problem is not None
    assert mute.problem.text == "BadError: (no message)"
    [odd] = run_tasks(jobs.unpicklable, [1], workers=1, launcher=server)
    assert odd.problem is not None
    assert odd.problem.kind == "error"


ENDS = {
    "sigkill": ("killed", "killed by SIGKILL, often for want of memory"),
    "_exit": ("killed", "exit code 3"),
    "segfault": ("killed", "killed by SIGSEGV"),
    "sys.exit": ("error", "SystemExit: 4"),
    "recursion": ("error", "RecursionError: maximum recursion depth exceeded"),
    "whole": ("", ""),
}


def test_every_end_is_named_and_touches_no_other(jobs: Any, server: ForkServer) -> None:
    ended = {end.task: end for end in run_tasks(jobs.end, ENDS, workers=2, launcher=server)}
    assert set(ended) == set(ENDS)
    for name, (kind, text) in ENDS.items():
        problem = ended[name].problem
        assert (problem.kind if problem else "") == kind, name
        assert text in (problem.text if problem else ""), name
    assert ended["whole"].value == "whole"


def test_what_was_kept_is_rescued_in_another_process(jobs: Any, server: ForkServer) -> None:
    seen: list[Any] = []
    ended = {
        end.task: end
        for end in run_tasks(
            jobs.end,
            ["segfault", "_exit", "sys.exit", "whole"],
            workers=2,
            launcher=server,
            rescue=jobs.rescue,
            watch=lambda task, record: seen.append((task, record)),
        )
    }
    assert ended["segfault"].value == "segfault kept ['first', 'second'] after killed (killed by SIGSEGV)"
    assert ended["segfault"].problem is not None
    # A rescue that ends too leaves the first problem; a result needs none.
    assert ended["_exit"].value is None
    assert ended["_exit"].problem is not None
    assert ended["_exit"].problem.detail == "exit code 3"
    assert ended["sys.exit"].value == "sys.exit kept ['first', 'second'] after error ()"
    assert (ended["whole"].value, ended["whole"].problem) == ("whole", None)
    assert ("segfault", ("first", "segfault")) in seen


def test_the_end_of_the_forking_process_costs_only_what_runs(jobs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "new_launcher", lambda _: ForkServer(None))
    ended = {end.task: end for end in run_tasks(jobs.end, ["server", "whole", "more"], workers=1)}
    assert ended["server"].problem is not None
    assert ended["server"].problem.kind == "killed"
    assert (ended["whole"].value, ended["more"].value) == ("whole", "whole")


def test_memory_beyond_the_limit_is_refused_or_ends_the_task(jobs: Any, server: ForkServer) -> None:
    limits = Limits(memory_bytes=300_000_000)
    [refused] = run_tasks(jobs.hoard, [400_000_000], workers=1, launcher=server, limits=limits)
    assert (refused.value, refused.problem) == ("refused", None)
    [raised] = run_tasks(jobs.hoard_raised, [400_000_000], workers=1, launcher=server, limits=limits)
    assert raised.problem is not None
    assert raised.problem.kind == "memory"
    [elsewhere] = run_tasks(jobs.hoard_elsewhere, [400_000_000], workers=1, launcher=server, limits=limits)
    assert elsewhere.problem is not None
    assert elsewhere.problem.kind == "memory"
    assert "more than its limit of 300 MB" in elsewhere.problem.text
    [fine] = run_tasks(jobs.large, [1_000_000], workers=1, launcher=server, limits=limits)
    assert fine.problem is None


def test_time_beyond_the_limit_ends_the_task(
    jobs: Any, server: ForkServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "GRACE_S", 0.3)
    limits = Limits(time_s=0.3)
    [slow] = run_tasks(jobs.sleep, [60.0], workers=1, launcher=server, limits=limits)
    assert slow.problem is not None
    assert (slow.problem.kind, slow.problem.text) == ("time", "it took longer than its limit of 0.3 s")
    [stubborn] = run_tasks(jobs.stubborn, [str(tmp_path)], workers=1, launcher=server, limits=Limits(time_s=1.5))
    assert stubborn.problem is not None
    assert stubborn.problem.kind == "time"
    assert len(list(tmp_path.glob("pid-*"))) == 2
    assert wait_for(lambda: not living(tmp_path), 1.0)
    [part] = run_tasks(jobs.set_deadline, [0.3], workers=1, launcher=server)
    assert part.problem is not None
    assert (part.problem.kind, part.problem.detail) == ("time", "part")


def test_prints_are_kept_apart_and_bounded(jobs: Any, server: ForkServer, capfd: pytest.CaptureFixture[str]) -> None:
    [short, long] = run_tasks(jobs.chatter, [3, 1_000_000], workers=1, launcher=server)
    assert short.stdout == "out of Python xxx\nout of another\n"
    assert short.stderr == "err of the system\n"
    assert long.value == "done"
    assert len(long.stdout) == workers.SAID_CHARACTERS
    assert long.stdout.endswith("x\nout of another\n")
    assert capfd.readouterr() == ("", "")


def test_every_worker_has_a_folder_for_its_temporary_files(
    jobs: Any, server: ForkServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = list(run_tasks(jobs.places, range(3), workers=1, launcher=server))
    values = [end.value for end in ended if end.value]
    assert {value[0] for value in values} == {str(tmp_path)}
    assert len({value[1] for value in values}) == 3
    assert all(not Path(value[2]).exists() for value in values)
    assert {value[3] for value in values} == {"inherited"}


def test_chance_differs_and_the_order_of_sets_does_not(jobs: Any, server: ForkServer) -> None:
    draws = [end.value for end in run_tasks(jobs.draw, range(3), workers=1, launcher=server)]
    assert len({draw[0] for draw in draws if draw}) == len({draw[1] for draw in draws if draw}) == 3
    with ForkServer(None) as another:
        [again] = run_tasks(jobs.draw, [1], workers=1, launcher=another)
    assert {draw[2] for draw in (*draws, again.value) if draw} == {again.value[2] if again.value else ""}


def test_large_messages_and_left_threads(jobs: Any, server: ForkServer) -> None:
    [large] = run_tasks(jobs.large, [20_000_000], workers=1, launcher=server)
    assert large.value is not None
    assert len(large.value) == 20_000_000
    [left] = run_tasks(jobs.leave_thread, [1], workers=1, launcher=server)
    assert (left.value, left.problem) == ("not waited for", None)


def test_a_task_that_destroys_its_own_line_is_told(jobs: Any, server: ForkServer) -> None:
    [lost] = run_tasks(jobs.close_everything, [1], workers=1, launcher=server)
    assert lost.value is None
    assert lost.problem is not None
    [scribbled] = run_tasks(jobs.scribble, [1], workers=1, launcher=server)
    assert scribbled.value is None
    assert scribbled.problem is not None


def test_only_a_start_is_tried_again(jobs: Any, server: ForkServer, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts: list[int] = []
    start = server.start

    def flaky() -> Any:
        attempts.append(1)
        if len(attempts) < workers.START_ATTEMPTS:
            raise StartError("no room")
        return start()

    monkeypatch.setattr(server, "start", flaky)
    [end] = run_tasks(jobs.echo, ["ran"], workers=1, launcher=server)
    assert (len(attempts), end.value) == (3, "ran")

    def broken() -> Any:
        attempts.append(1)
        raise StartError("no room")

    attempts.clear()
    monkeypatch.setattr(server, "start", broken)
    [end] = run_tasks(jobs.echo, ["never"], workers=1, launcher=server)
    assert end.problem is not None
    assert (end.problem.kind, end.problem.text) == ("start", "no room, in 3 attempts")
    assert len(attempts) == 3


def test_a_process_limit_is_a_failed_start(jobs: Any, server: ForkServer) -> None:
    """The real answer of the system, brought about by a file limit of the forking process."""
    import resource

    next(run_tasks(jobs.echo, [1], workers=1, launcher=server))
    # Descriptors cannot arrive where none is free.
    resource.prlimit(server._process.pid, resource.RLIMIT_NOFILE, (5, 5))
    [end] = run_tasks(jobs.echo, ["never"], workers=1, launcher=server)
    assert end.problem is not None
    assert end.problem.kind == "start"


def test_a_warm_up_that_fails_is_told_for_every_task(jobs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "new_launcher", lambda _: ForkServer("worker_jobs:warm_broken"))
    ended = list(run_tasks(jobs.echo, range(4), workers=2))
    assert [end.problem.kind for end in ended if end.problem] == ["start"] * 4
    assert ended[0].problem is not None
    assert "no module named 'needed'" in ended[0].problem.text


def test_stop_ends_what_runs_and_draws_no_more(
    jobs: Any, server: ForkServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "GRACE_S", 0.3)
    stop = threading.Event()
    running = run_tasks(jobs.stubborn, [str(tmp_path)] * 5, workers=2, launcher=server, stop=stop)
    threading.Thread(target=lambda: (wait_for(lambda: len(living(tmp_path)) == 4, 20), stop.set())).start()
    ended = list(running)
    assert [end.problem.kind for end in ended if end.problem] == ["cancelled"] * 2
    assert wait_for(lambda: not living(tmp_path), 1.0)


def test_closing_the_iterator_ends_everything(jobs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "new_launcher", lambda _: ForkServer(None))
    running = run_tasks(jobs.stubborn_or_quick, ["", str(tmp_path)], workers=2)
    assert next(running).task == ""
    assert wait_for(lambda: len(living(tmp_path)) == 2, 10)
    running.close()
    assert wait_for(lambda: not living(tmp_path), 1.0)


def test_an_interrupt_ends_everything(jobs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "new_launcher", lambda _: ForkServer(None))

    class Interrupted:
        def is_set(self) -> bool:
            if len(living(tmp_path)) == 2:
                raise KeyboardInterrupt
            return False

    with pytest.raises(KeyboardInterrupt):
        next(run_tasks(jobs.stubborn, [str(tmp_path)], workers=1, stop=Interrupted()))
    assert wait_for(lambda: not living(tmp_path), 1.0)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_outlives_the_owner(tmp_path: Path, number: signal.Signals) -> None:
    """Not even what ignores SIGTERM, nor what a task has started, nor a file."""
    marks, temporary = tmp_path / "marks", tmp_path / "tmp"
    marks.mkdir()
    temporary.mkdir()
    script = tmp_path / "owner.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(JOBS)!r})\nimport worker_jobs\n"
        "from afterload.report.launch import ForkServer\nfrom afterload.report.workers import run_tasks\n"
        f"list(run_tasks(worker_jobs.stubborn, [{str(marks)!r}] * 2, workers=2, launcher=ForkServer(None)))\n"
    )
    owner = subprocess.Popen(
        [sys.executable, script],
        env={**os.environ, "TMPDIR": str(temporary)},
        stderr=subprocess.DEVNULL,
        # Whoever runs the tests in the background has it ignored, and Python takes that over.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    try:
        assert wait_for(lambda: len(living(marks)) == 4, 30)
        owner.send_signal(number)
        owner.wait(60)
    finally:
        owner.kill()
    assert wait_for(lambda: not living(marks), 1.0)
    assert wait_for(lambda: not list(temporary.iterdir()), 2.0)


def test_an_owner_that_is_killed_while_it_loads_leaves_no_folder(tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    script = tmp_path / "owner.py"
    script.write_text(
        f"import sys, time\nsys.path.insert(0, {str(JOBS)!r})\n"
        "from afterload.report.launch import ForkServer\nserver = ForkServer('worker_jobs:warm_slow')\n"
        "print('begun', flush=True)\ntime.sleep(60)\n"
    )
    env = {**os.environ, "TMPDIR": str(temporary), "MARK": str(tmp_path / "loaded")}
    with subprocess.Popen([sys.executable, script], env=env, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"begun\n"
        assert len(list(temporary.iterdir())) == 1
        owner.kill()
    assert wait_for((tmp_path / "loaded").exists, 30)
    assert wait_for(lambda: not list(temporary.iterdir()), 5.0)


def test_one_that_is_loading_is_not_waited_for(jobs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARK", str(tmp_path / "loaded"))
    server = ForkServer("worker_jobs:warm_slow")
    server.close()
    assert server._process.returncode == -signal.SIGKILL
    assert not (tmp_path / "loaded").exists()
    assert not Path(server.folder).exists()


def test_functions_that_no_other_process_finds_are_refused(jobs: Any) -> None:
    with pytest.raises(TypeError, match="define it at the top of a module"):
        run_tasks(lambda task: task, [1], workers=1)
    with pytest.raises(ValueError, match="at least 1 is needed"):
        run_tasks(jobs.echo, [1], workers=0)
    [end] = run_tasks(jobs.echo, [lambda: 1], workers=1, launcher=(server := ForkServer(None)))
    server.close()
    assert end.problem is not None
    assert end.problem.kind == "error"
    assert "pickle" in end.problem.text.lower()


def test_where_nothing_can_be_forked_a_new_python_does_the_same(jobs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork")
    spawner = launch.new_launcher()
    assert isinstance(spawner, Spawner)
    ended = {end.task: end for end in run_tasks(jobs.end, ["sigkill", "_exit", "whole"], workers=3, launcher=spawner)}
    assert ended["whole"].value == "whole"
    assert ended["_exit"].problem is not None
    assert ended["_exit"].problem.text.endswith("(exit code 3)")
    assert ended["sigkill"].problem is not None
    assert ended["sigkill"].problem.kind == "killed"
    [slow] = run_tasks(jobs.sleep, [60.0], workers=1, launcher=spawner, limits=Limits(time_s=0.2))
    assert slow.problem is not None
    assert slow.problem.kind == "time"
    spawner.close()


def test_what_ended_can_be_sent_on(jobs: Any, server: ForkServer) -> None:
    [end] = run_tasks(jobs.end, ["sigkill"], workers=1, launcher=server)
    assert pickle.loads(pickle.dumps(end)) == end
