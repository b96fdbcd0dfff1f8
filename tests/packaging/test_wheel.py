"""The wheel, as someone without the checkout gets it: what it holds, and that it works on its own."""

from __future__ import annotations

import json
import re
import tarfile
import tomllib
import zipfile
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

TEMPLATE = "data/share/jupyter/nbconvert/templates/afterload/"


def members(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


def tree_files(root: Path, folder: str) -> set[str]:
    hidden = {"__pycache__", ".ipynb_checkpoints"}
    found = (path.relative_to(root) for path in (root / folder).rglob("*") if path.is_file())
    return {path.as_posix() for path in found if not hidden & set(path.parts)}


@pytest.mark.parametrize("folder", ["workbooks", "data", "templates"])
def test_it_carries_every_shipped_file(built, root, folder):
    expected = tree_files(root, folder)
    assert expected
    assert {f"afterload/share/{name}" for name in expected} <= members(built.from_tree)


def test_it_carries_the_package_whole_and_typed(built, root):
    names = members(built.from_tree)
    assert {name.removeprefix("lib/") for name in tree_files(root, "lib")} <= names
    assert "afterload/py.typed" in names


def test_it_puts_the_template_where_nbconvert_looks(built, root):
    template = "templates/nbconvert/afterload/"
    expected = {name.removeprefix(template) for name in tree_files(root, template)}
    assert "conf.json" in expected
    placed = {name.partition(TEMPLATE)[2] for name in members(built.from_tree) if TEMPLATE in name}
    assert placed == expected


def test_nothing_else_is_in_it(built):
    names = members(built.from_tree)
    allowed = re.compile(r"afterload/|afterload-[^/]+\.(dist-info|data/data/share/jupyter/nbconvert/templates)/")
    assert [name for name in names if not allowed.match(name)] == []
    unwanted = re.compile(r"(^|/)(tests?|__pycache__|\.ipynb_checkpoints|packets)/|\.pyc$|left over")
    assert [name for name in names if unwanted.search(name)] == []


def test_licence_and_notice_travel(built):
    names = {Path(name).name for name in members(built.from_tree) if ".dist-info/licenses/" in name}
    assert names == {"LICENSE", "NOTICE"}


def test_commands_and_plugins_are_declared(built):
    wheel = zipfile.ZipFile(built.from_tree)
    [name] = [name for name in wheel.namelist() if name.endswith(".dist-info/entry_points.txt")]
    declared = wheel.read(name).decode()
    for section in ("[console_scripts]", "[papermill.engine]", "[nbconvert.exporters]"):
        assert section in declared


def test_the_sdist_makes_the_same_wheel(built):
    tree, sdist = zipfile.ZipFile(built.from_tree), zipfile.ZipFile(built.from_sdist)
    assert {name: tree.read(name) for name in tree.namelist()} == {name: sdist.read(name) for name in sdist.namelist()}


def test_the_sdist_holds_what_its_tests_and_make_need(built):
    with tarfile.open(built.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"Makefile", "constraints.txt", "tools/setup_env.py", "tests/packaging/test_wheel.py"} <= names
    assert not [name for name in names if name.startswith(("packets", ".venv"))]


def test_the_installed_package_is_the_wheel_not_the_checkout(installed, root):
    where = installed.run("python", "-c", "import afterload; print(afterload.__file__)").strip()
    assert Path(where).is_relative_to(installed.scripts.parent.resolve())
    assert not Path(where).is_relative_to(root)


def test_the_environment_is_consistent_and_has_no_test_tools(installed):
    assert "No broken requirements" in installed.run("python", "-m", "pip", "check")
    listed = json.loads(installed.run("python", "-m", "pip", "list", "--format", "json"))
    names = {each["name"].lower() for each in listed}
    assert {"afterload", "papermill", "altair"} <= names
    assert not {"pytest", "playwright", "jupyterlab", "ruff"} & names


def test_version(installed, root):
    version = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert version in installed.run("afterload", "--version")


def test_the_example_packet(installed):
    said = installed.run("afterload", "report", "--example", "-o", "out")
    packet = printed_packet(said, installed.folder)
    assert packet.is_relative_to(installed.folder / "out")
    page = packet.read_text(encoding="utf-8")
    for figure in ("206,400", "344", "243"):
        assert re.search(rf"(?<![\d,.]){figure}(?![\d,])", page), figure


def printed_packet(said: str, folder: Path) -> Path:
    """The HTML file that the command names: a whole line, or what follows a colon."""
    for line in reversed(said.splitlines()):
        for text in (line.strip(), line.rpartition(": ")[2].strip()):
            path = folder / text
            if text.endswith(".html") and path.is_file():
                return path
    raise AssertionError(f"no packet that exists is named in:\n{said}")


def test_schema(installed):
    schema = json.loads(installed.run("afterload", "schema"))
    assert schema["properties"]


def test_a_new_scenario_passes_its_check(installed):
    installed.run("afterload", "new", "checkout")
    assert (installed.folder / "checkout.yaml").is_file()
    installed.run("afterload", "check", "checkout.yaml")


def test_plain_nbconvert_finds_the_template_by_name(installed):
    chart = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "mark": "bar",
        "data": {"values": [{"minute": 0}, {"minute": 172}]},
        "encoding": {"x": {"field": "minute", "type": "quantitative"}},
    }
    output = new_output("display_data", {"application/vnd.vegalite.v5+json": chart, "text/plain": "a chart"})
    notebook = new_notebook(cells=[new_markdown_cell("# Backlog"), new_code_cell("backlog", outputs=[output])])
    nbformat.write(notebook, installed.folder / "small.ipynb")
    installed.run("jupyter", "nbconvert", "--to", "html", "--template", "afterload", "small.ipynb")
    page = (installed.folder / "small.html").read_text(encoding="utf-8")
    assert "Backlog" in page
    # The template's own mark: nbconvert's templates load their scripts from elsewhere.
    assert not re.search(r"<(script|link)[^>]+(src|href)=[\"']?(https?:)?//", page)
