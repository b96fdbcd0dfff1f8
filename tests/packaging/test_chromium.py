"""How tools/chromium.py decides, with programs that only pretend: no browser or package manager runs."""

from __future__ import annotations

import subprocess
import time

import pytest

DRAWS = "echo '<body>Mozilla/5.0 HeadlessChrome/156.0.0.0 Safari</body>'"
BREAKS = "echo 'requires the chromium snap' >&2; exit 10"


class Machine:
    """A PATH of our own, and a Python whose Playwright answers as told."""

    def __init__(self, folder):
        self.bin = folder / "bin"
        self.store = folder / "store"
        self.log = folder / "log"
        for each in (self.bin, self.store):
            each.mkdir()

    def program(self, name, script, folder=None):
        path = (folder or self.bin) / name
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    def apt_get(self, browser=DRAWS, exit_code=0):
        self.program("ready", browser, self.store)
        copy = f'if [ "$1" = install ]; then /bin/cp -p "{self.store}/ready" "{self.bin}/chromium"; fi'
        work = copy if exit_code == 0 else f"exit {exit_code}"
        self.program("apt-get", f'echo "apt-get $* $DEBIAN_FRONTEND" >> "{self.log}"\necho progress\n{work}')

    def python(self, installs):
        browser = f"{self.store}/playwright-chromium"
        self.program("playwright-ready", DRAWS, self.store)
        copy = f'/bin/cp -p "{self.store}/playwright-ready" "{browser}"' if installs else "exit 1"
        return self.program(
            "python",
            f'if [ "$1" = -c ]; then echo "{browser}"; exit; fi\necho "$*" >> "{self.log}"\n{copy}',
            self.store,
        )

    def said(self):
        return self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []


@pytest.fixture
def machine(tmp_path, monkeypatch, chromium):
    made = Machine(tmp_path)
    monkeypatch.setenv("PATH", str(made.bin))
    monkeypatch.delenv(chromium.VARIABLE, raising=False)
    monkeypatch.setattr(chromium.os, "geteuid", lambda: 0)
    monkeypatch.setattr(chromium.sys, "executable", made.python(installs=False))
    return made


def test_the_named_browser_comes_first(machine, monkeypatch, chromium, capfd):
    machine.program("chromium", DRAWS)
    named = machine.program("my browser", DRAWS, machine.store)
    monkeypatch.setenv(chromium.VARIABLE, named)
    assert chromium.main() == 0
    out, err = capfd.readouterr()
    assert out == f"{named}\n"
    assert "156.0.0.0" in err


@pytest.mark.parametrize("script", [BREAKS, None])
def test_a_named_browser_that_fails_is_not_passed_over(machine, monkeypatch, chromium, capsys, script):
    machine.program("chromium", DRAWS)
    named = machine.program("mine", script, machine.store) if script else "/nowhere/chromium"
    monkeypatch.setenv(chromium.VARIABLE, named)
    assert chromium.main() == 1
    said = capsys.readouterr().err
    assert chromium.VARIABLE in said
    assert named in said


@pytest.mark.parametrize("name", ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"])
def test_a_browser_on_the_path_is_used_and_nothing_installed(machine, chromium, name):
    path = machine.program(name, DRAWS)
    machine.apt_get()
    assert chromium.find_or_install() == (path, "156.0.0.0")
    assert machine.said() == []


def test_one_that_does_not_start_gives_way_to_the_next(machine, chromium):
    machine.program("chromium", BREAKS)
    other = machine.program("google-chrome", DRAWS)
    assert chromium.find_or_install()[0] == other


def test_one_that_prints_no_version_does_not_count(machine, chromium):
    with pytest.raises(chromium.StartError, match="shows no page"):
        chromium.version_of(machine.program("chromium", "echo '<body></body>'"))


def test_root_with_apt_get_installs(machine, chromium, capfd):
    machine.apt_get()
    assert chromium.main() == 0
    assert machine.said() == [
        "apt-get update -qq noninteractive",
        "apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core noninteractive",
    ]
    # Only the path on standard output, whatever apt-get prints.
    assert capfd.readouterr().out == f"{machine.bin}/chromium\n"


def test_without_root_apt_get_is_left_alone(machine, monkeypatch, chromium):
    machine.apt_get()
    monkeypatch.setattr(chromium.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(chromium.sys, "executable", machine.python(installs=True))
    assert chromium.find_or_install()[0] == f"{machine.store}/playwright-chromium"
    assert machine.said() == ["-m playwright install chromium"]


@pytest.mark.parametrize("apt", [{"browser": BREAKS}, {"exit_code": 100}])
def test_playwright_is_next_when_apt_get_brings_none_that_starts(machine, monkeypatch, chromium, apt):
    machine.apt_get(**apt)
    monkeypatch.setattr(chromium.sys, "executable", machine.python(installs=True))
    assert chromium.find_or_install()[0] == f"{machine.store}/playwright-chromium"
    assert machine.said()[-1] == "-m playwright install --with-deps chromium"


def test_what_playwright_has_already_is_used_before_installing(machine, monkeypatch, chromium):
    machine.apt_get()
    kept = machine.program("playwright-chromium", DRAWS, machine.store)
    assert chromium.find_or_install()[0] == kept
    assert machine.said() == []


def test_with_nothing_at_all_the_error_says_what_to_do(machine, chromium, capsys):
    machine.program("chromium-browser", BREAKS)
    assert chromium.main() == 1
    said = capsys.readouterr()
    assert said.out == ""
    for part in (
        "requires the chromium snap",
        "apt-get is not here",
        "apt install chromium",
        chromium.VARIABLE,
    ):
        assert part in said.err


def test_without_root_the_error_says_so(machine, monkeypatch, chromium, capsys):
    machine.apt_get()
    monkeypatch.setattr(chromium.os, "geteuid", lambda: 1000)
    assert chromium.main() == 1
    assert "apt-get needs root" in capsys.readouterr().err
    assert [line for line in machine.said() if line.startswith("apt-get")] == []


def test_a_browser_that_hangs_is_ended_with_its_helpers(machine, chromium):
    pid = machine.log
    hangs = machine.program("chromium", f'/bin/sleep 60 &\necho $! > "{pid}"\nwait')
    begun = time.monotonic()
    with pytest.raises(chromium.StartError, match=r"no page within 0\.5 s"):
        chromium.version_of(hangs, limit_s=0.5)
    assert time.monotonic() - begun < 20
    state = subprocess.run(
        ["/bin/ps", "-o", "stat=", "-p", pid.read_text().strip()], capture_output=True, text=True, check=False
    )
    assert state.stdout.strip() in ("", "Z", "ZN")
