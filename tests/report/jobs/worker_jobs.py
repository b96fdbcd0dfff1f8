"""Tasks for the tests of workers: a worker imports this module by its name."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from afterload.report.child import deadline, keep
from afterload.report.lost import Lost

STATE: dict[str, Any] = {"touched": 0}


def echo(task: Any) -> Any:
    return task


def nothing(task: Any) -> None:
    """The task whose cost is that of a task."""


def touch(task: Any) -> int:
    STATE["touched"] += 1
    return int(STATE["touched"])


def fail(task: str) -> None:
    raise ValueError(f"no {task}")


def unspeakable(task: Any) -> None:
    class BadError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    raise BadError


def unpicklable(task: Any) -> Any:
    return lambda: task


def end(task: str) -> str:
    """End the process in the way that is named, after two records."""
    keep(("first", task))
    keep(("second", task))
    match task:
        case "sigkill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "_exit":
            os._exit(3)
        case "segfault":
            ctypes.string_at(0)
        case "sys.exit":
            sys.exit(4)
        case "recursion":
            return recurse(0)
        case "server":
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(60)
    return "whole"


def recurse(n: int) -> str:
    return recurse(n + 1) + "."


def rescue(task: str, records: tuple[Any, ...], problem: Any) -> str:
    if task == "_exit":
        os._exit(5)
    return f"{task} kept {[record[0] for record in records]} after {problem.kind} ({problem.detail})"


def hoard(size: int) -> str:
    try:
        data = bytearray(size)
        data[::4096] = b"x" * len(data[::4096])
    except MemoryError:
        return "refused"
    time.sleep(60)
    return "had it"


def hoard_elsewhere(size: int) -> None:
    code = f"import time; data = bytearray({size}); data[::4096] = b'x' * len(data[::4096]); time.sleep(60)"
    # Without the limit that it inherits.
    subprocess.run(
        [sys.executable, "-c", f"import resource as r; r.setrlimit(r.RLIMIT_DATA, (-1, -1)); {code}"], check=False
    )


def hoard_raised(size: int) -> None:
    bytearray(size)


def sleep(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def stubborn(folder: str) -> None:
    """Start a process, note both, and go on whatever is asked."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    other = subprocess.Popen(
        [sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(90)"]
    )
    for number in (os.getpid(), other.pid):
        (Path(folder) / f"pid-{number}").touch()
    time.sleep(90)


def stubborn_or_quick(folder: str) -> None:
    if folder:
        stubborn(folder)


def set_deadline(seconds: float) -> None:
    deadline(seconds)
    # A lock that is held takes no notice of anything but a kill.
    lock = threading.Lock()
    lock.acquire()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctypes.PyDLL(None).sleep(60)


def chatter(task: int) -> str:
    print("out of Python", "x" * task)
    os.write(2, b"err of the system\n")
    subprocess.run([sys.executable, "-c", "print('out of another')"], check=True)
    return "done"


def places(task: Any) -> tuple[str, str, str, str]:
    handle = tempfile.NamedTemporaryFile(delete=False)  # noqa: SIM115 - left behind on purpose
    handle.close()
    return str(Path.cwd()), tempfile.gettempdir(), handle.name, os.environ["MARK"]


def draw(task: Any) -> tuple[float, float, str]:
    import random

    import numpy as np

    return random.random(), float(np.random.random()), repr({"a", "b", "c", "d", "e"})


def large(task: int) -> bytes:
    keep(b"k" * task)
    return b"v" * task


def close_everything(task: Any) -> str:
    os.closerange(3, 200)
    return "lost"


def scribble(task: Any) -> str:
    for number in range(3, 30):
        try:
            os.write(number, b"\x00" * 7 + b"\x05not a message")
        except OSError:
            continue
    return "perhaps"


def leave_thread(task: Any) -> str:
    threading.Thread(target=time.sleep, args=(60,)).start()
    return "not waited for"


def warm_nothing() -> None:
    """A warm-up that loads nothing."""


def warm_slow() -> None:
    """Takes its time, and notes where the environment says that it is done."""
    time.sleep(2)
    Path(os.environ["MARK"]).touch()


def warm_broken() -> None:
    raise ImportError("no module named 'needed'")


def chapters(job: tuple[list[str], dict[str, Any], float | None, float]) -> tuple[str, Any, Any]:
    """Run chapters in this process: the notebook's text, the failures and the warnings."""
    return _chapters(job, None)


def rescued_chapters(
    job: tuple[list[str], dict[str, Any], float | None, float], records: tuple[Any, ...], problem: Any
) -> tuple[str, Any, Any]:
    return _chapters(job, Lost.of(records, problem.kind, problem.detail or problem.text, job[2]))


def _chapters(job: tuple[list[str], dict[str, Any], float | None, float], lost: Lost | None) -> tuple[str, Any, Any]:
    from afterload.report import inprocess
    from afterload.report.nodes import notebook_text
    from afterload.report.run import run_packet

    paths, parameters, limit, grace = job
    inprocess.INTERRUPT_GRACE_S = grace
    run = run_packet(paths, parameters, "T", cell_timeout_s=limit, engine="afterload-in-process", lost=lost)
    return notebook_text(run.nb), run.failures, run.warnings
