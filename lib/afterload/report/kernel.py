"""The kernel of a packet: the running Python, started apart from a user's own settings."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import zmq
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

from afterload.errors import ChapterError

__all__ = ["START_ATTEMPTS", "OwnKernelManager", "describe_end", "started_kernel"]

START_ATTEMPTS = 3
END_LIMIT_S = 5


class OwnKernelManager(AsyncKernelManager):
    """Starts ``python -m ipykernel_launcher`` with the running interpreter.

    A kernel specification called ``python3`` in someone's home may belong to another environment.
    """

    @property
    def kernel_spec(self) -> KernelSpec:
        """The one specification there is."""
        return KernelSpec(
            argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
            display_name="Python 3",
            language="python",
        )


@contextmanager
def started_kernel(client: NotebookClient) -> Iterator[None]:
    """A running kernel for the client, ended at once when the block is left.

    Only the start is tried again: other runs may take a port between its choice and its use. Raises
    :class:`ChapterError` where no attempt succeeds.
    """
    with tempfile.TemporaryDirectory(prefix="afterload-", ignore_cleanup_errors=True) as folder:
        environment = {**os.environ, "IPYTHONDIR": folder}
        # The order of a set must not differ from run to run.
        environment.setdefault("PYTHONHASHSEED", "0")
        try:
            # Inside: an interrupt may come while the kernel starts.
            _start(client, environment)
            yield
        finally:
            _stop(client)


def _start(client: NotebookClient, environment: dict[str, str]) -> None:
    reason: Exception | None = None
    for _ in range(START_ATTEMPTS):
        client.km = client.create_kernel_manager()
        try:
            # What a kernel prints itself is about its start or its end, never a result.
            client.start_new_kernel(
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            client.start_new_kernel_client()
        except (RuntimeError, OSError, zmq.ZMQError) as error:
            reason = error
            _stop(client)
        else:
            return
    raise ChapterError(f"the kernel did not start in {START_ATTEMPTS} attempts: {reason}") from reason


def _stop(client: NotebookClient) -> None:
    manager = client.km
    if manager is not None:
        # Nothing that goes wrong at the end may cost what was computed; a start that failed half-way has no ports to give back.
        with suppress(RuntimeError, OSError, KeyError, zmq.ZMQError):
            client._cleanup_kernel()
        _end_process(manager)
    client.km = None
    client.kc = None


def _end_process(manager: Any) -> None:
    """Kill a kernel that the manager has not ended: after an interrupt it may not know that there is one."""
    process = getattr(getattr(manager, "provisioner", None), "process", None)
    if process is None or process.poll() is not None:
        return
    with suppress(OSError):
        if hasattr(os, "killpg"):
            # A kernel leads a process group of its own, which holds what its cells have started.
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(END_LIMIT_S)


def describe_end(manager: Any) -> str:
    """How the kernel's process ended, in words that fit between brackets."""
    process = getattr(getattr(manager, "provisioner", None), "process", None)
    code = process.poll() if process is not None else None
    if code is None:
        return "no exit code is known"
    if code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = ", often for want of memory" if name == "SIGKILL" else ""
    return f"killed by {name}{hint}"
