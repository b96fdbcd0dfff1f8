"""Servers of notebooks on this machine, started and stopped by the tests: JupyterLab, Notebook, Voila."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
START_LIMIT_S = 90


class Server:
    """A server of its own: settings, data, sessions and notebooks below one folder, reached with one token.

    ``app`` is jupyterlab, notebook or voila. Modules of this checkout are found by its kernels first.
    """

    def __init__(self, folder: Path, app: str = "jupyterlab") -> None:
        self.app = app
        self.notebooks = folder / "notebooks"
        self.token = secrets.token_hex(16)
        self.runtime = folder / "runtime"
        self.log = folder / "lab.log"
        settings = folder / "settings" / "@jupyterlab"
        self._write(settings / "apputils-extension" / "notification", {"fetchNews": "false", "checkForUpdates": False})
        # Else only the cells in view are drawn.
        self._write(settings / "notebook-extension" / "tracker", {"windowingMode": "none"})
        self.notebooks.mkdir()
        own = {
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "JUPYTER_RUNTIME_DIR": "runtime",
            "JUPYTERLAB_SETTINGS_DIR": "settings",
            "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
            "IPYTHONDIR": "ipython",
        }
        self.env = {**os.environ, **{name: str(folder / part) for name, part in own.items()}}
        self.env["PYTHONPATH"] = os.pathsep.join([str(ROOT / "lib"), os.environ.get("PYTHONPATH", "")]).rstrip(
            os.pathsep
        )
        for name in ("JUPYTER_PATH", "JUPYTER_CONFIG_PATH", "JUPYTER_TOKEN", "JPY_PARENT_PID"):
            self.env.pop(name, None)
        self.process: subprocess.Popen[bytes] | None = None
        self.address = ""

    @staticmethod
    def _write(path: Path, values: dict[str, Any]) -> None:
        path.parent.mkdir(parents=True)
        path.with_name(f"{path.name}.jupyterlab-settings").write_text(json.dumps(values), "utf-8")

    def start(self) -> None:
        # A port that is free now; the server takes a later one where that has changed, and says which.
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [sys.executable, "-m", self.app, "--no-browser", *self._arguments(port)]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        deadline = time.monotonic() + START_LIMIT_S
        while not self.address:
            assert self.process.poll() is None, self.log.read_text("utf-8")
            assert time.monotonic() < deadline, self.log.read_text("utf-8")
            for at in self._ports():
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", at)) == 0:
                        self.address = f"http://127.0.0.1:{at}"
            time.sleep(0.1)

    def _ports(self) -> Iterator[int]:
        """The port that the server says it has; Voila says it in its log alone."""
        if self.app == "voila":
            yield from map(int, re.findall(r"http://127\.0\.0\.1:(\d+)/", self.log.read_text("utf-8")))
        for path in self.runtime.glob("jpserver-*.json"):
            with suppress(ValueError, KeyError):
                yield json.loads(path.read_text("utf-8"))["port"]

    def _arguments(self, port: int) -> list[str]:
        if self.app == "voila":
            self.env["JUPYTER_PATH"] = str(ROOT / "templates" / "jupyter")
            return [
                str(self.notebooks),
                f"--port={port}",
                "--Voila.ip=127.0.0.1",
                f"--token={self.token}",
                "--template=afterload",
            ]
        return [
            "--allow-root",
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={port}",
            f"--ServerApp.root_dir={self.notebooks}",
            f"--IdentityProvider.token={self.token}",
            f"--{'LabApp' if self.app == 'jupyterlab' else 'JupyterNotebookApp'}.expose_app_in_browser=True",
        ]

    def stop(self) -> None:
        """Ask the server to end, which also ends its kernels; then see that nothing of it is left."""
        if self.process is None:
            return
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(15)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(15)
