"""docs/dependencies.md names every dependency, once, and nothing that is gone."""

from __future__ import annotations

import json
import re
import tomllib

import pytest
from packaging.requirements import Requirement


@pytest.fixture
def rows(root):
    """Table rows under each heading of the page, without the tables' own heads."""
    page = (root / "docs" / "dependencies.md").read_text(encoding="utf-8")
    found = {}
    for section in page.split("\n## ")[1:]:
        lines = [line for line in section.splitlines() if line.startswith("|")][2:]
        found[section.splitlines()[0]] = [re.split(r" *\| *", line.strip("| ")) for line in lines]
    return found


@pytest.fixture
def project(root):
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_each_table_is_the_list_in_pyproject(rows, project):
    stated = {"To use Afterload": project["dependencies"]}
    stated |= {f"The `{extra}` extra": each for extra, each in project["optional-dependencies"].items()}
    for heading, requirements in stated.items():
        assert [row[0] for row in rows[heading]] == [Requirement(text).name for text in requirements], heading


def test_every_row_gives_a_reason_and_a_licence(rows):
    assert [row for table in rows.values() for row in table if len(row) < 3 or not all(row)] == []


def test_the_carried_javascript_is_the_one_in_the_template(rows, root):
    manifest = root / "templates" / "nbconvert" / "afterload" / "static" / "manifest.json"
    packages = json.loads(manifest.read_text(encoding="utf-8"))["packages"]
    listed = {row[0]: (row[1], row[3]) for row in rows["Carried in the repository"]}
    assert listed == {name: (each["version"], each["license"]) for name, each in packages.items()}
