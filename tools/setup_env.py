"""Make the project's virtual environment and install Afterload into it, with the pins of constraints.txt.

    python3 tools/setup_env.py .venv --extra lab --extra test

Runs again without harm: an environment that works is kept, one that does not start is made anew. This file
needs the standard library alone and reads under old Pythons too, so that it can say that one is too old.
"""

import argparse
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 11)
STARTS = "import sys, pip; sys.exit(sys.version_info < (3, 11))"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the environment is, or is to be")
    parser.add_argument("--extra", action="append", default=[], help="an extra of pyproject.toml; may be repeated")
    options = parser.parse_args(arguments)
    problem = missing()
    if problem:
        return refuse(problem)
    python = options.folder.absolute() / "bin" / "python"
    if not starts(python):
        say(f"Making the environment {options.folder} with Python {sys.version.split()[0]}")
        made = subprocess.run([sys.executable, "-m", "venv", "--clear", str(options.folder)], check=False)
        if made.returncode or not starts(python):
            return refuse(f"{options.folder} could not be made: see the message above")
    target = "." + ("[" + ",".join(options.extra) + "]" if options.extra else "")
    say("Installing " + " and ".join(["Afterload", *(f"its {extra} extra" for extra in options.extra)]))
    installed = subprocess.run(pip_install(python, target), cwd=ROOT, check=False)
    if installed.returncode:
        return refuse("pip could not install: see its message above")
    return 0


def missing():
    """What this Python lacks to make the environment, and what to install; None where nothing is lacking."""
    seen = ".".join(str(part) for part in sys.version_info[:3])
    if tuple(sys.version_info[:2]) < OLDEST:
        return (
            f"Afterload needs Python 3.11 or newer; {sys.executable} is {seen}.\n"
            "Install a newer one (Debian and Ubuntu: apt install python3.11 python3.11-venv), or name it: "
            "make PYTHON=/path/to/python3.11"
        )
    if find_spec("venv") is None or find_spec("ensurepip") is None:
        exact = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        return (
            f"{sys.executable} ({seen}) cannot make environments: its venv or ensurepip module is missing.\n"
            f"Install it (Debian and Ubuntu: apt install python3-venv, or {exact})."
        )
    return None


def starts(python):
    """Whether the environment's interpreter runs, is new enough and has pip."""
    try:
        return subprocess.run([str(python), "-c", STARTS], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def pip_install(python, target):
    quiet = ["-qq", "--disable-pip-version-check", "--no-input"]
    return [str(python), "-m", "pip", "install", *quiet, "-c", "constraints.txt", "-e", target]


def say(text):
    print(text, file=sys.stderr, flush=True)


def refuse(problem):
    say(f"error: {problem}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
