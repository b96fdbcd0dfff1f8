"""The documentation shows what really happens: commands are run, links lead somewhere, pages are current."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PAGES = sorted([TOP / "README.md", TOP / "CHANGELOG.md", *(TOP / "docs").glob("*.md")])
BIN = Path(sys.executable).parent
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)


def shown_commands(page):
    """Every ``$ command`` of a page's console blocks with the output shown below it."""
    found = []
    for block in CONSOLE.findall(page.read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


@pytest.mark.parametrize(("page", "least"), [("README.md", 5), ("docs/live.md", 5)])
def test_a_page_shows_the_output_that_its_commands_give(tmp_path, page, least):
    ran = 0
    for command, output in shown_commands(TOP / page):
        words = shlex.split(command)
        if words[0] != "afterload":
            continue
        done = subprocess.run(
            [str(BIN / "afterload"), *words[1:]],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env={**os.environ, "COLUMNS": "120"},
        )
        assert done.stdout == output, command
        assert (done.returncode != 0) == output.startswith("error:"), command
        ran += 1
    assert ran >= least


def test_the_readme_names_the_make_targets_that_exist():
    targets = set(re.findall(r"^([a-z]+):", (TOP / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {
        target for page in PAGES for target in re.findall(r"`make ([a-z]+)`|^\$ make ([a-z]+)", page.read_text(), re.M)
    }
    names = {name for pair in named for name in pair if name}
    assert {"report", "test", "lab"} <= names
    assert names <= targets


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if not link.startswith("http") and not (page.parent / link).exists()]
    assert missing == []


def test_the_scenario_page_is_made_from_the_schema():
    done = subprocess.run([sys.executable, str(TOP / "tools" / "scenario_page.py"), "--check"], check=False)
    assert done.returncode == 0


def test_the_commands_page_lists_every_command_and_exit_code():
    from afterload import errors
    from afterload.cli import cli

    text = (TOP / "docs" / "commands.md").read_text(encoding="utf-8")
    missing = [name for name in cli.commands if f"`afterload {name}" not in text]
    assert missing == []
    codes = {getattr(errors, name).exit_code for name in errors.__all__ if name.endswith("Error")}
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)} >= codes
