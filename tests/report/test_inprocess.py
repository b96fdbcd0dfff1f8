"""Chapters in a shell of the process itself: the notebook is the kernel's, and nothing gets from one packet to the next."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode

from afterload.report.engine import Failure
from afterload.report.launch import ForkServer
from afterload.report.nodes import notebook_text
from afterload.report.packet import chapter_paths, relevant
from afterload.report.run import run_packet
from afterload.report.workers import Ended, Problem, run_tasks
from afterload.scenario import load_scenario

Chapter = Callable[..., Path]
EXAMPLES = sorted(path.stem for path in (Path(__file__).resolve().parents[2] / "data" / "scenarios").glob("*.yaml"))


@dataclass(frozen=True)
class Run:
    text: str
    failures: tuple[Failure, ...]
    warnings: tuple[str, ...]
    problem: Problem | None

    @property
    def nb(self) -> NotebookNode:
        nb = nbformat.reads(self.text, as_version=4)
        nbformat.validate(nb)
        return nb

    @property
    def printed(self) -> str:
        outputs = (output for cell in self.nb.cells for output in cell.get("outputs", []))
        return "".join(output.text for output in outputs if output.output_type == "stream")

    @property
    def notes(self) -> dict[str, str]:
        marks = [cell.metadata.get("afterload", {}) for cell in self.nb.cells]
        return {mark.chapter: mark.note for mark in marks if "note" in mark}

    @property
    def names(self) -> dict[str, str]:
        return {failure.chapter: failure.ename for failure in self.failures}


@pytest.fixture
def here(warm_server: ForkServer) -> Callable[..., Run]:
    """Run chapters in a worker's own process."""
    jobs = importlib.import_module("worker_jobs")

    def run(paths: list[Path], parameters: Any = None, limit: float | None = 60, grace: float = 5.0) -> Run:
        job = [str(path) for path in paths], parameters or {}, limit, grace
        end: Ended[Any, Any]
        [end] = run_tasks(jobs.chapters, [job], workers=1, launcher=warm_server, rescue=jobs.rescued_chapters)
        assert end.value is not None, end.problem
        return Run(*end.value, end.problem)

    return run


# As a kernel does it

ALIKE = {
    "results": ("1 + 1", "_ + 1", "None", "'quiet';", "Out[2], In[1]"),
    "streams": (
        "import sys\nfor n in range(3):\n    print(n)\n    print('w', n, file=sys.stderr)\ndisplay('between')\nprint('after')",
        "print('a', end='', flush=True)\nprint('\\rb')\nsys.stdout.write('c\\b\\n')",
        "print('no line end', end='')",
        "sys.stdout.isatty(), sys.stdout.encoding, sys.stdout.errors",
    ),
    "others": (
        "import os, subprocess\nos.write(1, b'raw\\n')\nsubprocess.run(['echo', 'child'])",
        "!echo shell; echo err >&2",
        "%%bash\necho script\necho of two lines",
        "got = !echo caught\ngot",
        "%%capture kept\nprint('kept')",
        "kept.stdout",
    ),
    "shown": (
        "import pandas as pd\npd.DataFrame({'a': [1, 2.5], 'b': ['<x>', None]})",
        "from IPython.display import HTML, JSON, Image, Markdown, clear_output\nHTML('<b>x</b>')",
        "display(Markdown('**x**'), JSON({'a': [1, None]}), metadata={'m': 1})",
        "display({'text/plain': 'x', 'application/json': {'n': float('nan'), 't': (1, 2)}}, raw=True)",
        "Image(data=b'\\x89PNG\\r\\n\\x1a\\n' + b'\\0' * 40, format='png')",
        "class Rich:\n    def _repr_html_(self): return '<i>r</i>'\n    def __repr__(self): return 'r'\nRich()",
        "class Both:\n    def _repr_mimebundle_(self, **_): return {'text/plain': 'b', 'x/y': 'z'}, {'x/y': {}}\nBoth()",
        "import altair\naltair.Chart(pd.DataFrame({'x': [1]})).mark_bar().encode(x='x:Q').to_dict()['mark']",
        "print('gone')\nclear_output()\nprint('stays')",
        "display('gone')\nclear_output(wait=True)\ndisplay('stays')",
    ),
    "updated": ("handle = display('one', display_id='d')", "handle.update('two')"),
    "widgets": (
        "import ipywidgets as w\nout = w.Output()\ndisplay(w.IntSlider(), out)\nwith out:\n    print('inside')\nprint('outside')",
        "out.outputs",
        "w.interact(lambda n: print('n is', n), n=(0, 3))",
    ),
    "awaited": (
        "import asyncio\nawait asyncio.sleep(0.01)\n7",
        "async def f(): return 8\nawait f()",
        "asyncio.run(f())",
    ),
    "error": ("1 / 0", "print('never')"),
    "syntax": ("def f(:",),
    "exit": ("raise SystemExit(3)",),
    "bare exit": ("import sys\nsys.exit()",),
    "magic": ("%nosuchmagic",),
    "caught": ("try:\n    1/0\nexcept Exception:\n    get_ipython().showtraceback()",),
    "bad repr": ("class Bad:\n    def __repr__(self): raise KeyError('repr')\nBad()",),
    "mute error": ("class Mute(Exception):\n    def __str__(self): raise ValueError\nraise Mute",),
    "asks": ("input('name? ')",),
    "asks for a secret": ("import getpass\ngetpass.getpass()",),
    "interrupts itself": ("raise KeyboardInterrupt",),
    "warns": ("import warnings\nwarnings.warn('careful')", "import logging\nlogging.getLogger('x').warning('logged')"),
    "group": ("raise ExceptionGroup('several', [ValueError(1), KeyError('k')])",),
    "set order": ("print({'a', 'b', 'c', 'd'})",),
    "main": ("import __main__, pickle\nclass C: pass\npickle.loads(pickle.dumps(C())).__class__ is __main__.C",),
    "path": ("import sys\nsys.path[0], sys.path.index(''), __name__",),
    "environment": ("[os.environ.get(n) for n in ('TERM', 'PAGER', 'CLICOLOR', 'MPLBACKEND')]",),
    "flood": ("print(('x' * 99 + '\\n') * 2_000)", "print('never')"),
    "shown flood": ("from IPython.display import HTML\nHTML('x' * 6_000_000)",),
    "empty": ("", "# nothing"),
}


def test_the_notebook_is_that_of_a_kernel(
    chapter: Chapter, here: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Under pytest ipykernel does not look at what goes past Python.
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    paths = [chapter(name.replace(" ", "-"), *sources) for name, sources in ALIKE.items()]
    kernel = run_packet(paths, {"x": 5}, "T", cell_timeout_s=60)
    own = here(paths, {"x": 5})
    assert own.problem is None
    assert {failure.chapter for failure in own.failures} >= {"error", "syntax", "exit", "bare-exit", "flood"}
    theirs = nbformat.reads(notebook_text(kernel.nb), as_version=4)
    different = [(m, o) for m, o in zip(own.nb.cells, theirs.cells, strict=True) if m != o]
    assert different == []
    assert own.text == notebook_text(kernel.nb)
    assert [(f.chapter, f.ename, f.evalue) for f in own.failures] == [
        (f.chapter, f.ename, f.evalue) for f in kernel.failures
    ]
    # Other chapters warn with paths and with lines of the code that ran them.
    told = ("streams: ", "warns: ", "shown: UserWarning: ")
    assert [line for line in own.warnings if line.startswith(told)] == [
        line for line in kernel.warnings if line.startswith(told)
    ]
    assert "streams: w 0" in own.warnings


def test_quitting_ends_the_packet_as_in_a_kernel(chapter: Chapter, here: Callable[..., Run]) -> None:
    paths = [chapter("01-good", "print('kept')"), chapter("02-quits", "quit()"), chapter("03-later", "print('never')")]
    assert here(paths).text == notebook_text(run_packet(paths, {}, "T").nb)


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_are_those_of_a_kernel(example: str, here: Callable[..., Run]) -> None:
    loaded = load_scenario(f"builtin:scenarios/{example}.yaml")
    paths = list(relevant(chapter_paths(), loaded))
    parameters = {"scenario": f"builtin:scenarios/{example}.yaml", "overrides": {}}
    own = here(paths, parameters, 300)
    assert own.failures == ()
    assert own.text == notebook_text(run_packet(paths, parameters, "T").nb)


# Limits


def test_a_cell_over_its_limit_is_stopped_and_the_others_go_on(chapter: Chapter, here: Callable[..., Run]) -> None:
    run = here(
        [
            chapter("01-good", "print('good', x)"),
            chapter("02-loop", "print('before')\nwhile True: pass", "print('never')"),
            chapter("03-sleep", "import time\ntime.sleep(60)"),
            chapter("04-await", "import asyncio\nawait asyncio.sleep(60)"),
            chapter("05-shell", "!sleep 60"),
            chapter("06-child", "import subprocess\nsubprocess.run(['sleep', '60'])"),
            chapter("07-flood", "while True: print('y' * 100)"),
            chapter("08-good", "print('still here')"),
        ],
        {"x": 5},
        1.5,
    )
    slow = [f"{n:02}-{name}" for n, name in enumerate(["loop", "sleep", "await", "shell", "child", "flood"], 2)]
    assert run.names == dict.fromkeys(slow, "TimeLimit")
    assert {failure.evalue for failure in run.failures} == {
        "this cell took longer than its limit of 1.5 s and was stopped"
    }
    assert run.printed.startswith("good 5\nbefore\n")
    assert run.printed.endswith("still here\n")
    assert "never" not in run.printed
    assert len(run.printed) < 100_000
    assert run.problem is None


ENDINGS = {
    "swallows": (
        "import time\nwhile True:\n    try: time.sleep(60)\n    except KeyboardInterrupt: pass",
        "TimeLimit",
        "this cell took longer than its limit of 3 s and did not stop when asked, so its process was ended",
    ),
    "numba": (
        "from numba import njit\n@njit(nogil=True)\ndef f():\n    n = 0\n    while True: n += 1\n    return n\nf()",
        "TimeLimit",
        "did not stop when asked",
    ),
    "holds the lock": ("sum(range(10**12))", "TimeLimit", "did not stop when asked"),
    "kills itself": (
        "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
        "KernelDied",
        "the Python process ended while this cell ran (killed by SIGKILL, often for want of memory)",
    ),
    "exits": ("import os\nos._exit(3)", "KernelDied", "the Python process ended while this cell ran (exit code 3)"),
    "segfault": ("import ctypes\nctypes.string_at(0)", "KernelDied", "(killed by SIGSEGV)"),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_what_was_computed_outlives_the_process(chapter: Chapter, here: Callable[..., Run], name: str) -> None:
    source, kind, text = ENDINGS[name]
    run = here(
        [
            chapter("01-good", "print('kept')", "handle = display('shown', display_id=True)", "1 + 1"),
            chapter("02-failed", "1 / 0"),
            chapter("03-dies", "display('in the cell')\n" + source, "print('never')"),
            chapter("04-later", "print('never')", "print('never')"),
        ],
        {},
        3.0 if kind == "TimeLimit" else 60.0,  # the first traceback of a process takes a second of a busy machine
        0.3,
    )
    assert run.names == {"02-failed": "ZeroDivisionError", "03-dies": kind, "04-later": "NotRun"}
    assert text in run.failures[1].evalue
    assert run.printed == "kept\n"
    assert "part above failed" in run.notes["03-dies"]
    assert (
        run.notes["04-later"] == "This chapter was not run, because the Python process had ended in an earlier chapter."
    )
    shown = [o.data["text/plain"] for cell in run.nb.cells for o in cell.get("outputs", []) if "data" in o]
    assert shown == ["'shown'", "2", "'in the cell'"]
    dead = run.nb.cells[run.failures[1].cell_index]
    assert [output.evalue for output in dead.outputs if output.output_type == "error"] == [run.failures[1].evalue]


def test_a_dead_process_leaves_the_notebook_of_a_dead_kernel(chapter: Chapter, here: Callable[..., Run]) -> None:
    paths = [
        chapter("01-good", "print('kept')"),
        chapter("02-dies", "display('in the cell')\nimport os\nos._exit(3)", "print('never')"),
        chapter("03-later", "print('never')", "print('never')"),
    ]
    kernel = run_packet(paths, {}, "T")
    own = here(paths)
    assert own.problem is not None
    assert own.problem.kind == "killed"
    assert [(f.chapter, f.ename, f.evalue) for f in own.failures] == [
        (f.chapter, f.ename, f.evalue) for f in kernel.failures
    ]
    # A kernel that exits may take with it what it has said last: what the cell shows, and its number.
    mine, theirs = (json.loads(text) for text in (own.text, notebook_text(kernel.nb)))
    for nb in (mine, theirs):
        for cell in nb["cells"]:
            cell["outputs"] = [o for o in cell.get("outputs", []) if o["output_type"] != "display_data"]
            if "os._exit(3)" in "".join(cell["source"]):
                cell.pop("execution_count")
    assert mine == theirs


def test_want_of_memory_is_a_failed_cell(chapter: Chapter, warm_server: ForkServer) -> None:
    from afterload.report.workers import Limits

    jobs = importlib.import_module("worker_jobs")
    hungry = "blocks = []\nwhile True:\n    blocks.append(bytearray(50_000_000))"
    paths = [chapter("01-good", "print('kept')"), chapter("02-hungry", hungry), chapter("03-good", "print('later')")]
    job = [str(path) for path in paths], {}, 60.0, 5.0
    end: Ended[Any, Any]
    limits = Limits(memory_bytes=800_000_000)
    [end] = run_tasks(
        jobs.chapters, [job], workers=1, launcher=warm_server, limits=limits, rescue=jobs.rescued_chapters
    )
    assert end.value is not None, end.problem
    run = Run(*end.value, end.problem)
    assert run.names == {"02-hungry": "MemoryError"}
    assert run.printed == "kept\nlater\n"


# Isolation

SPOILS = """
import os, sys, random, locale, threading, time, warnings, tempfile, pathlib, json, builtins, decimal
import numpy as np, pandas as pd, altair
import afterload.units, afterload.figures, afterload.chapters
from IPython.core.formatters import PlainTextFormatter
pd.set_option('display.max_rows', 1); pd.set_option('display.precision', 1)
np.set_printoptions(precision=1); np.seterr(all='raise'); np.random.seed(1); random.seed(1)
os.environ['TZ'] = 'Asia/Tokyo'; time.tzset(); os.environ['AFTERLOAD'] = 'x'; os.environ['PYTHONHASHSEED'] = '9'
os.makedirs('elsewhere', exist_ok=True); os.chdir('elsewhere'); os.umask(0o777)
sys.path.insert(0, os.getcwd()); sys.setrecursionlimit(500)
pathlib.Path('numbers.py').write_text('raise SystemExit')
pathlib.Path(tempfile.gettempdir(), 'numbers.py').write_text('raise SystemExit')
locale.setlocale(locale.LC_ALL, 'C'); decimal.getcontext().prec = 2
afterload.chapters.open_workbook = lambda *_: 1 / 0
afterload.figures.Figure._repr_mimebundle_ = lambda *_, **__: {'text/plain': 'spoilt'}
json.dumps = lambda *_, **__: 'spoilt'
altair.themes.enable('dark') if hasattr(altair, 'themes') else altair.theme.enable('dark')
get_ipython().display_formatter.formatters['text/plain'].for_type(int, lambda o, p, c: p.text('spoilt'))
builtins.print = lambda *_, **__: None
warnings.simplefilter('error')
threading.Thread(target=time.sleep, args=(60,), daemon=False).start()
import atexit; atexit.register(lambda: os.write(1, b'spoilt'))
sys.settrace(None); sys.stdout.write('spoilt')
spoilt = True
"""


def test_no_team_sees_or_changes_another(
    chapter: Chapter, here: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    loaded = load_scenario("builtin:scenarios/orders.yaml")
    paths = [
        path for path in relevant(chapter_paths(), loaded) if path.stem in ("00-answer", "20-backlog", "90-provenance")
    ]
    looks = (
        "import os, random, locale, decimal, time, tempfile, threading, sys, warnings, pandas as pd\n"
        "print('spoilt' in globals(), pd.get_option('display.max_rows'), os.environ.get('AFTERLOAD'), time.tzname)\n"
        "print(os.path.basename(os.getcwd()), decimal.getcontext().prec)\n"
        "print([n for n in os.listdir(tempfile.gettempdir()) if n[:9] != 'afterload'])\n"
        "print(oct(os.umask(0o22)), locale.setlocale(locale.LC_ALL), sys.getrecursionlimit())\n"
        "print(sorted(t.name for t in threading.enumerate() if not t.daemon), len(warnings.filters))\n"
        "pd.DataFrame({'a': [1.23456]})"
    )
    parameters = {"scenario": "builtin:scenarios/orders.yaml", "overrides": {}}
    declared = "scenario = 'builtin:scenarios/orders.yaml'\noverrides = {}"
    first = nbformat.read(paths[0], as_version=4)
    [declared] = [cell.source for cell in first.cells if "parameters" in cell.metadata.get("tags", [])]
    look = chapter("95-look", looks, parameters=declared)
    spoil = chapter("01-spoil", SPOILS, parameters=declared)
    alone = here([*paths, look], parameters)
    assert alone.failures == ()
    assert "spoilt" not in alone.text.replace("'spoilt' in globals()", "")
    spoilt = here([spoil], parameters)
    assert "spoilt" in spoilt.text
    after = here([*paths, look], parameters)
    assert after.text == alone.text
