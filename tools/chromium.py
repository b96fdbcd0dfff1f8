"""Find a Chromium that starts without a display, or install one; print its path.

    AFTERLOAD_CHROMIUM="$(python tools/chromium.py)"

Looked for in this order: the variable AFTERLOAD_CHROMIUM, the PATH, the browser that Playwright keeps. Where
none of these starts: installed with apt-get (for root on Debian and Ubuntu), else with `playwright install`.
Needs the standard library; Playwright is asked only where it is installed beside the running Python.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

VARIABLE = "AFTERLOAD_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Without a font every label measures zero: chromium only recommends one.
APT_PACKAGES = ("chromium", "fonts-dejavu-core")
START_LIMIT_S = 60
PAGE = "data:text/html,<script>document.write(navigator.userAgent)</script>"
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")
BY_HAND = f"""\
Install one by hand, then run again:
  Debian, and Ubuntu without snap:  apt install chromium
  Fedora:                           dnf install chromium
  macOS:                            brew install --cask google-chrome
or set {VARIABLE} to the program of a Chromium or Chrome that is installed already."""


class NoBrowserError(Exception):
    """No Chromium starts here and none could be installed; the text says why and what to do."""


class StartError(Exception):
    """This program did not show a page without a display."""


def main():
    try:
        program, version = find_or_install()
    except NoBrowserError as problem:
        say(f"error: {problem}")
        return 1
    say(f"Chromium {version}: {program}")
    print(program)
    return 0


def find_or_install():
    """The program and version of a Chromium that has just shown a page."""
    named = os.environ.get(VARIABLE)
    if named:
        try:
            return named, version_of(named)
        except StartError as problem:
            raise NoBrowserError(f"{VARIABLE} is {named}, which {problem}") from problem
    failures = []
    for find in (on_path, kept_by_playwright, from_apt, from_playwright):
        for program in find(failures):
            try:
                return program, version_of(program)
            except StartError as problem:
                failures.append(f"{program} {problem}")
    tried = "".join(f"\n  {failure}" for failure in failures)
    raise NoBrowserError(f"the browser tests need a Chromium, and none starts here.{tried}\n{BY_HAND}")


def on_path(failures):
    found = [shutil.which(name) for name in NAMES]
    if not any(found):
        failures.append(f"none of {', '.join(NAMES)} is on the PATH")
    return [program for program in found if program]


def kept_by_playwright(failures):
    """The browser that Playwright keeps, if there is one. Only its own driver knows the place."""
    ask = (
        "from playwright.sync_api import sync_playwright\n"
        "with sync_playwright() as playwright: print(playwright.chromium.executable_path)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", ask], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    program = answer.stdout.strip()
    return [program] if answer.returncode == 0 and Path(program).is_file() else []


def from_apt(failures):
    if not shutil.which("apt-get"):
        failures.append("apt-get is not here to install one")
        return []
    if os.geteuid() != 0:
        failures.append("apt-get needs root to install one")
        return []
    say(f"Installing {' and '.join(APT_PACKAGES)} with apt-get")
    install = ("apt-get", "install", "-y", "-qq", "--no-install-recommends", *APT_PACKAGES)
    for command in (("apt-get", "update", "-qq"), install):
        if not ran(command, DEBIAN_FRONTEND="noninteractive"):
            failures.append(f"`{' '.join(command)}` failed")
    # A failed update may leave lists that are good enough: what counts is whether a browser is there now.
    return on_path(failures)


def from_playwright(failures):
    say("Installing Chromium with Playwright")
    libraries = ["--with-deps"] if os.geteuid() == 0 and shutil.which("apt-get") else []
    if not ran((sys.executable, "-m", "playwright", "install", *libraries, "chromium")):
        failures.append("`playwright install chromium` failed")
    return kept_by_playwright(failures)


def ran(command, **variables):
    """Whether the command succeeded. It prints to standard error: standard output is for the path."""
    try:
        done = subprocess.run(
            command, env={**os.environ, **variables}, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False
        )
    except OSError as problem:
        say(str(problem))
        return False
    return done.returncode == 0


def version_of(program, limit_s=START_LIMIT_S):
    """The version that the browser tells a page it really draws; StartError where it draws none."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = (program, *FLAGS, f"--user-data-dir={profile}", "--dump-dom", PAGE)
        try:
            # A session of its own, so that a browser that hangs is ended with all its helper processes.
            browser = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except OSError as problem:
            raise StartError(f"does not start: {problem}") from problem
        try:
            page, complaints = browser.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired as problem:
            os.killpg(browser.pid, signal.SIGKILL)
            browser.communicate()
            raise StartError(f"shows no page within {limit_s:g} s") from problem
    drawn = re.search(r"Chrome/([0-9.]+)", page)
    if browser.returncode or not drawn:
        last = (complaints.strip().splitlines() or ["it says nothing"])[-1]
        raise StartError(f"shows no page (exit {browser.returncode}): {last[:300]}")
    return drawn.group(1)


def say(text):
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
