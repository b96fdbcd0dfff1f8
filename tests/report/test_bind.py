from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from afterload.errors import InputError, NotFoundError, ParameterError
from afterload.report.bind import bind, parameter_defaults

Chapter = Callable[..., Path]


def test_one_notebook_with_one_parameters_cell(chapter: Chapter) -> None:
    nb = bind([chapter("01-first", "a"), chapter("02-second", "b")], "Title")
    nbformat.validate(nb)
    tagged = [cell for cell in nb.cells if "parameters" in cell.metadata.get("tags", [])]
    assert [cell.metadata.afterload.chapter for cell in tagged] == ["01-first"]
    assert [cell.source for cell in nb.cells] == ["# 01-first", "x = 1\n", "a", "# 02-second", "b"]
    assert nb.metadata.title == "Title"
    assert nb.metadata.kernelspec.name == "python3"


def test_every_cell_says_its_chapter_and_has_an_id_of_its_own(chapter: Chapter) -> None:
    nb = bind([chapter("01-first", "a"), chapter("02-second", "b")], "T")
    assert [cell.metadata.afterload.chapter for cell in nb.cells] == ["01-first"] * 3 + ["02-second"] * 2
    assert [cell.id for cell in nb.cells] == [
        "01-first-1",
        "01-first-2",
        "01-first-3",
        "02-second-1",
        "02-second-2",
    ]


def test_same_chapters_same_bytes(chapter: Chapter) -> None:
    paths = [chapter("01-first", "a"), chapter("02-second", "b")]
    assert nbformat.writes(bind(paths, "T")) == nbformat.writes(bind(paths, "T"))


def test_names_that_no_id_may_hold_stay_apart(chapter: Chapter) -> None:
    long = "n" * 90
    nb = bind([chapter("a b", "1"), chapter("a.b", "2"), chapter(long, "3"), chapter(long + "m", "4")], "T")
    nbformat.validate(nb)
    ids = [cell.id for cell in nb.cells]
    assert len(set(ids)) == len(ids)


def test_outputs_and_foreign_metadata_are_left_out(tmp_path: Path) -> None:
    cell = new_code_cell("y", outputs=[new_output("stream", text="old")], execution_count=7)
    cell.metadata.update({"tags": ["keep"], "secret": "/home/someone"})
    parameters = new_code_cell("x = 1", metadata={"tags": ["parameters"]})
    nbformat.write(new_notebook(cells=[parameters, cell]), tmp_path / "c.ipynb")
    bound = bind([tmp_path / "c.ipynb"], "T").cells[1]
    assert bound.outputs == []
    assert bound.execution_count is None
    assert bound.metadata == {"afterload": {"chapter": "c"}, "tags": ["keep"]}


@pytest.mark.parametrize(
    ("second", "part"),
    [
        ("x = 2", "x is 2, not 1"),
        ("y = 1", "x is missing"),
        ("x = 1\ny = 2", "y is not declared"),
        (None, "0 cells tagged"),
        ("x = open('f')", "not NAME = VALUE"),
        ("import os", "not NAME = VALUE"),
        ("x = = 1", "not plain Python"),
    ],
)
def test_other_parameters_are_refused(chapter: Chapter, second: str | None, part: str) -> None:
    paths = [chapter("01-first"), chapter("02-second", parameters=second)]
    with pytest.raises(ParameterError, match=part) as caught:
        bind(paths, "T")
    assert "02-second" in str(caught.value)


def test_comments_and_types_beside_parameters_do_not_matter(chapter: Chapter) -> None:
    text = '"""Where the scenario is."""\nx: int = 1  # a = comment, with: everything'
    nb = bind([chapter("01-first"), chapter("02-second", parameters=text)], "T")
    assert parameter_defaults(nb) == {"x": "1"}


def test_no_chapter_twins_missing_and_broken_files(chapter: Chapter, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no chapter"):
        bind([], "T")
    with pytest.raises(InputError, match="share the name"):
        bind([chapter("01-a"), chapter("01-a", folder="other")], "T")
    with pytest.raises(NotFoundError, match="nowhere"):
        bind([tmp_path / "nowhere.ipynb"], "T")
    for name, text in {"text": "hello", "list": "[]", "dict": "{}", "v3": '{"nbformat": 9}'}.items():
        path = tmp_path / f"{name}.ipynb"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match="not a notebook"):
            bind([path], "T")
