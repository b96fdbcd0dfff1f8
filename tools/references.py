"""Run every chapter on the embedded example and keep its outputs as the reference that nbval compares with.

    python tools/references.py [FOLDER]

Look at the difference before committing it: a changed reference is a changed result.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import papermill

from afterload.report.nodes import notebook_text, read_notebook
from afterload.report.packet import relevant
from afterload.scenario import load_scenario

TOP = Path(__file__).resolve().parents[1]


def parameters_of(chapter: Path) -> dict[str, str]:
    """The example that shows a chapter: the one with which it opens, else the first that has what the chapter needs."""
    examples = sorted((TOP / "data" / "scenarios").glob("*.yaml"), key=lambda path: (path.stem != "orders", path.stem))
    shown = next((path.stem for path in examples if relevant((chapter,), load_scenario(path))), "orders")
    return {} if shown == "orders" else {"scenario": f"builtin:scenarios/{shown}.yaml"}


def execute(chapter: Path, target: Path) -> None:
    """Run one chapter alone, as plain papermill does, and write it without clocks and paths."""
    with tempfile.TemporaryDirectory() as folder:
        executed = Path(folder) / chapter.name
        papermill.execute_notebook(chapter, executed, parameters_of(chapter), progress_bar=False)
        nb = read_notebook(executed)
    nb.metadata = read_notebook(chapter).metadata
    for cell in nb.cells:
        # papermill ends the cell that it puts in with an empty line.
        cell.source = cell.source.rstrip("\n")
        if "injected-parameters" in cell.metadata.get("tags", []):
            # papermill gives it another id each time.
            cell.id = f"{chapter.stem}-injected"
        for name in ("papermill", "execution"):
            cell.metadata.pop(name, None)
    target.write_text(notebook_text(nb), encoding="utf-8")


def main(arguments: list[str]) -> None:
    folder = Path(arguments[0]) if arguments else TOP / "tests" / "references"
    folder.mkdir(parents=True, exist_ok=True)
    chapters = sorted((TOP / "workbooks").glob("*.ipynb"))
    for stale in {path.name for path in folder.glob("*.ipynb")} - {path.name for path in chapters}:
        (folder / stale).unlink()
    for chapter in chapters:
        execute(chapter, folder / chapter.name)
        print(folder / chapter.name)


if __name__ == "__main__":
    main(sys.argv[1:])
