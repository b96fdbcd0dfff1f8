from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load_tool(name: str) -> ModuleType:
    """A script of tools/ as a module: they are run by path and belong to no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def chromium() -> ModuleType:
    return load_tool("chromium")


@pytest.fixture
def setup_env() -> ModuleType:
    return load_tool("setup_env")


@pytest.fixture
def pins() -> ModuleType:
    return load_tool("pins")


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


def run(command: list[str], cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command,
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, f"{command} exited {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


@dataclass(frozen=True)
class Built:
    from_tree: Path
    sdist: Path
    from_sdist: Path


JUNK = (
    "lib/afterload/__pycache__/old.cpython-311.pyc",
    "workbooks/.ipynb_checkpoints/old-checkpoint.ipynb",
    "data/__pycache__/old.cpython-311.pyc",
    "packets/old.html",
)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The wheel from a copy of the tree as work leaves it, caches included, and the sdist with its wheel."""
    folder = tmp_path_factory.mktemp("build")
    tree = folder / "tree"
    listed = run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], ROOT).stdout
    for name in (each for each in listed.split("\0") if each and (ROOT / each).is_file()):
        target = tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
    for name in JUNK:
        target = tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("left over", encoding="utf-8")
    build = [sys.executable, "-m", "build", "--no-isolation"]
    run([*build, "--wheel", "--outdir", str(folder / "direct"), str(tree)], folder)
    run([*build, "--outdir", str(folder / "both"), str(tree)], folder)
    [from_tree] = (folder / "direct").glob("*.whl")
    [sdist] = (folder / "both").glob("*.tar.gz")
    [from_sdist] = (folder / "both").glob("*.whl")
    return Built(from_tree, sdist, from_sdist)


@dataclass(frozen=True)
class Installed:
    """Afterload in an environment of its own, used from a folder that has nothing to do with the checkout."""

    scripts: Path
    folder: Path
    home: Path

    def run(self, program: str, *arguments: str) -> str:
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.home)}
        return run([str(self.scripts / program), *arguments], self.folder, env).stdout


@pytest.fixture(scope="session")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    base = tmp_path_factory.mktemp("install")
    folder, home = base / "a team's folder", base / "home"
    folder.mkdir()
    home.mkdir()
    venv.create(base / "venv", with_pip=True)
    scripts = base / "venv" / "bin"
    # The outer environment's pip settings hold here too; its packages and import path must not.
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    pip = [
        str(scripts / "python"),
        "-m",
        "pip",
        "install",
        "-qq",
        "--disable-pip-version-check",
        "--no-input",
    ]
    run([*pip, "-c", str(ROOT / "constraints.txt"), str(built.from_sdist)], base, env)
    return Installed(scripts, folder, home)
