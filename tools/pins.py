"""Write constraints.txt: an exact version for everything that the package, its lab and its test extra bring.

Resolved in an environment of its own, from what pyproject.toml allows today, with the oldest Python that the
project supports: a release that has left that Python behind must not get in.
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "constraints.txt"
OLDEST = (3, 11)
# The first of its releases: a distribution's Python stays at an early one (Debian 12 has 3.11.2), and packages do
# ask for later ones.
OLDEST_RELEASE = "3.11.0"
HEADER = """\
# Exact versions for `pip install -c constraints.txt -e '.[lab,app,cluster,test]'`, as make and CI install them.
# Refresh: make constraints (reads pyproject.toml and takes today's newest versions that fit), then make test.
# Resolved for Python 3.11.0, the oldest supported. Newer Pythons use the same versions; where one needs a
# package that 3.11 does not (papermill wants aiohttp under 3.12), that one is free and pip takes its newest.
"""


def main():
    if sys.version_info[:2] != OLDEST:
        print(
            f"error: the pins must hold for Python 3.11, and {sys.executable} is {sys.version.split()[0]}.\n"
            "Run: make constraints PYTHON=python3.11",
            file=sys.stderr,
        )
        return 1
    pins = resolve(wanted(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))))
    TARGET.write_text(HEADER + "".join(f"{name}=={pins[name]}\n" for name in sorted(pins)), encoding="utf-8")
    print(f"{TARGET.name}: {len(pins)} versions")
    return 0


def wanted(pyproject):
    """Every requirement of the package and its extras, as pyproject.toml states them."""
    project = pyproject["project"]
    extras = project["optional-dependencies"].values()
    return [*project["dependencies"], *(each for extra in extras for each in extra)]


def resolve(requirements):
    """Names and versions that pip would install for these requirements into an empty environment."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(Path(folder, "venv"), with_pip=True)
        report = Path(folder, "report.json")
        python = str(Path(folder, "venv", "bin", "python"))
        # For another release than the running one, pip wants wheels alone and a target, which it does not touch.
        release = ["--python-version", OLDEST_RELEASE, "--only-binary", ":all:", "--target", folder]
        quiet = ["-qq", "--disable-pip-version-check", "--no-input"]
        asked = ["--dry-run", "--ignore-installed", *release, "--report", str(report)]
        subprocess.run([python, "-m", "pip", "install", *quiet, *asked, *requirements], check=True)
        installs = json.loads(report.read_text(encoding="utf-8"))["install"]
    return {normalised(each["metadata"]["name"]): each["metadata"]["version"] for each in installs}


def normalised(name):
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    sys.exit(main())
