"""The CI examples against the published schemas of both services, and against the command that they call."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from afterload.cli import cli
from afterload.resources import resource

FOLDER = resource("templates", "ci")


def scripts(node: Any) -> list[str]:
    """Every shell command of a pipeline: the values of run and script, and lists of them."""
    if isinstance(node, list):
        return [text for item in node for text in scripts(item)]
    if not isinstance(node, dict):
        return []
    found = []
    for key, value in node.items():
        if key in ("run", "script", "before_script"):
            found += [value] if isinstance(value, str) else list(value)
        else:
            found += scripts(value)
    return found


@pytest.mark.parametrize(
    ("name", "schema"), [("github-actions.yml", "vendor.github-workflows"), ("gitlab-ci.yml", "vendor.gitlab-ci")]
)
def test_it_is_what_the_service_takes(name: str, schema: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema]
    done = subprocess.run([*command, str(FOLDER / name)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_schemas_do_find_a_mistake(tmp_path: Path) -> None:
    for name, schema, right, wrong in (
        ("github-actions.yml", "vendor.github-workflows", "runs-on: ", "runs_on: "),
        ("gitlab-ci.yml", "vendor.gitlab-ci", "when: always", "when: allways"),
    ):
        text = (FOLDER / name).read_text("utf-8")
        assert right in text
        (tmp_path / name).write_text(text.replace(right, wrong), "utf-8")
        command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(tmp_path / name)]
        assert subprocess.run(command, capture_output=True, check=False).returncode == 1, name


@pytest.mark.parametrize("name", ["github-actions.yml", "gitlab-ci.yml"])
def test_it_resumes_gates_and_publishes(name: str) -> None:
    pipeline = YAML(typ="safe").load((FOLDER / name).read_text("utf-8"))
    [line] = [text for text in scripts(pipeline) if text.startswith("afterload ")]
    words = shlex.split(line)[1:]
    assert {"batch", "--resume", "--gate", "-o"} <= set(words)
    # The command takes every option of it.
    context = cli.commands["batch"].make_context("batch", words[1:])
    site = context.params["folder"]
    text = (FOLDER / name).read_text("utf-8")
    assert re.search(rf"(path|paths): \[?{site}\b", text), "the site is cached"
    assert f"{site}/junit.xml" in text
    assert "always()" in text or "when: always" in text


@pytest.mark.parametrize("name", ["github-actions.yml", "gitlab-ci.yml"])
def test_it_installs_a_wheel_that_lies_beside_it_and_warns_of_what_a_site_holds(name: str) -> None:
    text = (FOLDER / name).read_text("utf-8")
    commands = scripts(YAML(typ="safe").load(text))
    # No package index has it.
    assert [line for line in commands if line.startswith("pip ")] == ["pip install wheels/afterload-*.whl"]
    head = " ".join(line.removeprefix("#").strip() for line in text.splitlines() if line.startswith("#"))
    for words in ("Copy this file to .git", "python -m build --wheel", "account numbers", "notebooks"):
        assert words in head


def test_github_checks_pull_requests_and_publishes_none() -> None:
    pipeline = YAML(typ="safe").load((FOLDER / "github-actions.yml").read_text("utf-8"))
    asked = pipeline["on"]
    assert asked["pull_request"]["paths"] == asked["push"]["paths"]
    assert "scenarios/**" in asked["pull_request"]["paths"]
    assert "github.event_name != 'pull_request'" in pipeline["jobs"]["publish"]["if"]
