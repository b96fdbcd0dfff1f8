"""constraints.txt is complete, exact, says nothing about where it was made, and is what is installed here."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import distributions

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name


@pytest.fixture
def lines(root):
    return (root / "constraints.txt").read_text(encoding="utf-8").splitlines()


@pytest.fixture
def pinned(lines):
    return dict(line.split("==") for line in lines if not line.startswith("#"))


@pytest.fixture
def requirements(root, pins):
    return [Requirement(text) for text in pins.wanted(tomllib.loads((root / "pyproject.toml").read_text("utf-8")))]


def test_every_line_is_one_exact_version(lines):
    assert [line for line in lines if not re.fullmatch(r"#.*|[a-z0-9-]+==[0-9][a-z0-9.]*", line)] == []


def test_no_address_and_no_path(lines):
    assert [line for line in lines if re.search(r"://|file:|@|\\|(^|[\s'\"=])[./~]*/", line)] == []


def test_sorted_and_once_each(pinned, lines):
    names = [line.split("==")[0] for line in lines if not line.startswith("#")]
    assert names == sorted(names)
    assert len(names) == len(pinned)


def test_the_header_says_how_it_is_refreshed(lines):
    assert "make constraints" in "\n".join(line for line in lines if line.startswith("#"))


def test_every_requirement_is_pinned_within_its_bounds(pinned, requirements):
    assert [each.name for each in requirements if canonicalize_name(each.name) not in pinned] == []
    assert [
        str(each)
        for each in requirements
        if not SpecifierSet(str(each.specifier)).contains(pinned[canonicalize_name(each.name)])
    ] == []


def test_it_is_what_is_installed_here(pinned):
    here = {canonicalize_name(each.metadata["Name"]): each.version for each in distributions()}
    assert {name: here[name] for name in pinned if name in here} == {
        name: version for name, version in pinned.items() if name in here
    }


def test_every_pin_serves_the_oldest_release(pinned, pins):
    """Distributions keep an early release of a Python: Debian 12 has 3.11.2."""
    for each in distributions():
        bound = each.metadata.get("Requires-Python")
        if bound and pinned.get(canonicalize_name(each.metadata["Name"])) == each.version:
            assert SpecifierSet(bound).contains(pins.OLDEST_RELEASE), f"{each.metadata['Name']} wants {bound}"


def test_everything_that_the_package_needs_here_is_pinned(pinned, requirements):
    """Follow the requirements through what is installed: nothing that pip would bring may be left free."""
    installed = {canonicalize_name(each.metadata["Name"]): each for each in distributions()}
    free, seen, waiting = set(), set(), [(each, frozenset(each.extras)) for each in requirements]
    while waiting:
        requirement, extras = waiting.pop()
        name = canonicalize_name(requirement.name)
        if (name, extras) in seen or name not in installed:
            continue
        seen.add((name, extras))
        if name not in pinned:
            free.add(name)
        for text in installed[name].requires or []:
            needed = Requirement(text)
            marker = needed.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras or {""}):
                waiting.append((needed, frozenset(needed.extras)))
    assert free <= ONLY_FOR_NEWER_PYTHONS


# papermill asks for aiohttp under Python 3.12 alone, and the pins are those of 3.11.
ONLY_FOR_NEWER_PYTHONS = {
    "aiohappyeyeballs", "aiohttp", "aiosignal", "frozenlist", "multidict", "propcache", "yarl",
}  # fmt: skip


def test_a_newer_python_does_not_write_the_pins(pins, monkeypatch, capsys):
    monkeypatch.setattr(pins.sys, "version_info", (3, 13, 0))
    monkeypatch.setattr(pins, "TARGET", None)
    assert pins.main() == 1
    assert "make constraints PYTHON=python3.11" in capsys.readouterr().err
