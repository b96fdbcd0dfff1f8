"""The house rules: names in order, imports where they belong, nothing that only this machine has."""

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import afterload
from afterload import errors

TOP = Path(__file__).resolve().parents[2]
MODULES = sorted(module.name for module in pkgutil.walk_packages(afterload.__path__, "afterload."))


def public_names(path):
    """Names that a module defines at its top without an underscore."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
    return {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize("name", MODULES)
def test_all_is_complete_and_holds_only_what_exists(name):
    module = importlib.import_module(name)
    if not hasattr(module, "__all__"):
        assert public_names(Path(module.__file__)) == set()
        return
    assert len(set(module.__all__)) == len(module.__all__)
    assert [entry for entry in module.__all__ if not hasattr(module, entry)] == []


def test_the_error_tree_is_shown_whole():
    classes = {
        name for name, value in vars(errors).items() if isinstance(value, type) and value.__module__ == errors.__name__
    }
    assert set(errors.__all__) == classes
    shown = set(re.findall(r"\b(\w+(?:Error|Warning))\b", errors.__doc__))
    assert shown == classes


def loaded_by(statement):
    """Packages that a fresh interpreter has loaded after a statement."""
    code = f"import sys\n{statement}\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_model_loads_numpy_and_nothing_else_of_the_stack():
    heavy = {"pandas", "altair", "pydantic", "papermill", "nbformat", "nbconvert", "IPython", "ruamel", "click"}
    loaded = loaded_by("import afterload.model.coupled, afterload.model.launches, afterload.model.retries")
    assert "numpy" in loaded
    assert loaded & heavy == set()


def test_a_workbook_without_metrics_loads_no_pandas():
    code = "from afterload.chapters import open_workbook; open_workbook('builtin:scenarios/orders.yaml').backlog()"
    assert "pandas" not in loaded_by(code)


def test_checking_a_scenario_loads_no_notebook_machinery():
    heavy = {"papermill", "nbformat", "nbconvert", "nbclient", "altair"}
    assert loaded_by("import afterload.cli, afterload.scenario") & heavy == set()


@pytest.mark.parametrize("module", ["afterload.figures.charts", "afterload.report.packet"])
def test_charts_and_packets_leave_the_uri_package_importable(module):
    code = f"import sys, {module}; print(sys.modules.get('rfc3987_syntax', 'free'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "free"


def tracked(*patterns):
    done = subprocess.run(
        ["git", "ls-files", "-z", "--", *patterns], cwd=TOP, capture_output=True, text=True, check=True
    )
    return [TOP / name for name in done.stdout.split("\0") if name and (TOP / name).is_file()]


def test_no_file_names_a_folder_of_one_machine_or_a_package_index():
    wrong = re.compile(r"(?<![\w.])/(?:work|root|Users)/[a-z]|index-url|https?://[^ ]*/simple(?:/|\b)")
    found = []
    for path in tracked("*.py", "*.md", "*.toml", "*.txt", "*.yaml", "*.yml", "*.ipynb", "Makefile", ".ci/run", "*.j2"):
        if path == Path(__file__):
            continue
        text = path.read_text(encoding="utf-8")
        found += [f"{path.relative_to(TOP)}: {match.group()}" for match in wrong.finditer(text)]
    assert found == []


# What is started by name: commands, notebooks, workers, and the entries that packages of entries find by themselves.
ENTRIES = (
    "afterload.__main__", "afterload.cli", "afterload.chapters", "afterload.report.engine", "afterload.report.exporter",
    "afterload.report.forked", "afterload.report.rehearsal", "afterload.report.worker",
)  # fmt: skip
FOUND_BY_FILE = ("afterload.findings.audit.rules.", "afterload.plan.changes.", "afterload.readers.timelines.")


def imported_by(name):
    """Modules of the package that a module names in an import, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(Path(importlib.import_module(name).__file__).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    with_parents = {name[: place.start()] for name in found for place in re.finditer(r"\.|$", name)}
    return with_parents & set(MODULES)


def test_every_module_is_reached_from_what_is_started():
    reached, left = set(), {*ENTRIES, *(name for name in MODULES if name.startswith(FOUND_BY_FILE))}
    while left:
        reached |= left
        left = set().union(*map(imported_by, left)) - reached
    assert sorted(set(MODULES) - reached) == []
