"""Labels of lines in charts: no two of them in one place, in the narrowest chart."""

from __future__ import annotations

from itertools import pairwise

import pytest

from afterload.figures.charts import LABEL_CHARACTER_PX, NARROW_PX, rows_apart


@pytest.mark.parametrize(
    ("marks", "rows"),
    [
        ([(0, "trigger"), (500, "restored")], [0, 0]),
        ([(0, "trigger"), (100, "restored")], [0, 1]),
        ([(100, "restored"), (0, "trigger")], [1, 0]),
        ([(0, "restored"), (10, "net rate changed"), (20, "objective")], [0, 1, 2]),
        # The first row is free again once its label has ended.
        ([(0, "restored"), (100, "net rate changed"), (300, "objective")], [0, 1, 0]),
        ([(7, "restored"), (7, "restored")], [0, 1]),
        ([], []),
    ],
)
def test_a_label_that_would_run_into_another_goes_one_row_up(
    marks: list[tuple[int | float, str]], rows: list[int]
) -> None:
    assert rows_apart(marks, 1_000) == rows


def test_labels_in_one_row_are_apart_in_the_narrowest_chart() -> None:
    marks: list[tuple[int | float, str]] = [(at, "x" * (at % 17 + 1)) for at in range(0, 1_000, 37)]
    rows = rows_apart(marks, 1_000)
    for row in set(rows):
        its = [mark for mark, found in zip(marks, rows, strict=True) if found == row]
        for (at, label), (after, _) in pairwise(its):
            assert (after - at) / 1_000 * NARROW_PX >= len(label) * LABEL_CHARACTER_PX
