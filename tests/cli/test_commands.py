"""Every command: what it prints where, and what it ends with."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

from afterload import __version__, cli
from afterload.errors import AfterloadError, ChapterError, InputError, ModelError, OutputError
from afterload.report.packet import slug

Run = Callable[..., Any]
PARTS = ("report", "check", "eta", "postmortem", "new", "schema", "examples")


def test_help_names_every_command(afterload: Run) -> None:
    done = afterload("--help")
    assert (done.code, done.err) == (0, "")
    for part in PARTS:
        assert part in done.out
        own = afterload(part, "-h")
        assert (own.code, own.err) == (0, "")
        assert own.out.startswith("Usage: afterload ")


def test_the_package_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "afterload"]
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, f"{__version__}\n")
    done = subprocess.run([*command, "check", "nope.yaml"], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 3
    assert done.stderr.startswith("error: nope.yaml: no such file")
    assert "Traceback" not in done.stderr


def test_version(afterload: Run) -> None:
    assert (afterload("--version").code, afterload("--version").out) == (0, f"{__version__}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ("nothing",),
        ("--nothing",),
        ("report",),
        ("report", "a.yaml", "--example"),
        ("report", "a.yaml", "b.yaml"),
        ("report", "--example", "--cell-timeout", "0"),
        ("report", "--example", "--cell-timeout", "soon"),
        ("report", "--example", "--cell-timeout", "nan"),
        ("report", "--example", "--cell-timeout", "inf"),
        ("report", "--example", "--chapters", " , "),
        ("report", "--example", "--chapters", ""),
        ("report", "--example", "--workbooks", __file__),
        ("check",),
        ("check", "a.yaml", "--set"),
        ("check", "a.yaml", "--example"),
        ("postmortem",),
        ("postmortem", "a.yaml", "-o", "."),
        ("new",),
        ("new", "a", "-o", "."),
        ("schema", "extra"),
        ("schema", "-o", "."),
        ("examples", "extra"),
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("no_kernel")
def test_a_wrong_command_line_ends_with_2(
    afterload: Run, arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = afterload(*arguments)
    assert (done.code, done.out) == (2, "")
    assert "Error: " in done.err
    assert "Traceback" not in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("check", "no.yaml"), ("no.yaml", "no such file")),
        (("check", "."), ("cannot be read",)),
        (("check", "--example", "nobody"), ("'nobody'", "known: ", "orders")),
        (("report", "no.yaml"), ("no.yaml", "no such file")),
        (("report", ""), ("cannot be read",)),
        (("report", "--example", "nobody"), ("'nobody'", "known: ", "orders")),
        (("report", "--example", "--chapters", "epilogue"), ("'epilogue'", "known: ", "backlog")),
        (("report", "--example", "--workbooks", "no/such"), ("no/such", "holds no notebooks")),
        (("new", ""), ("the team's name is empty",)),
        (("new", "   "), ("the team's name is empty",)),
        (("new", "two\nlines"), ("is not one short line",)),
        (("new", "x" * 300), ("at most 200",)),
        (("new", "../evil"), ("the team's name '../evil' is a path", "-o")),
        (("new", ".."), ("is a path",)),
        (("new", "~/evil"), ("is a path",)),
        (("new", "/tmp/evil"), ("is a path",)),
        (("new", "teams/"), ("is a path",)),
        (("new", "C:\\con"), ("is a path",)),
    ],
    ids=lambda value: " ".join(value)[:40] if value and isinstance(value, tuple) else None,
)
@pytest.mark.usefixtures("no_kernel")
def test_a_wrong_input_ends_with_3(
    afterload: Run, arguments: tuple[str, ...], parts: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = afterload(*arguments)
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith("error: ")
    for part in parts:
        assert part in done.err
    assert list(tmp_path.iterdir()) == []


WRONG_SETS = {
    "unknown name": ("queues.jobs.arrival_rat=1500/min", "nearest: queues.jobs.arrival_rate"),
    "unknown item": ("queues.nobody.arrival_rate=1500/min", "'nobody'"),
    "wrong value": ("queues.jobs.arrival_rate=fast", "'fast'"),
    "negative": ("queues.jobs.arrival_rate=-5/min", "-5/min"),
    "not a number": ("queues.jobs.arrival_rate=nan", "nan"),
    "infinite": ("queues.jobs.arrival_rate_per_min=inf", "inf"),
    "no value": ("queues.jobs.arrival_rate", "not of the form path=value"),
    "no path": ("=1500/min", "not of the form path=value"),
    "empty": ("", "not of the form path=value"),
}


@pytest.mark.parametrize("command", ["report", "check"])
@pytest.mark.parametrize("name", WRONG_SETS)
@pytest.mark.usefixtures("no_kernel")
def test_a_wrong_set_is_refused_at_once(
    afterload: Run, scenario: Path, tmp_path: Path, name: str, command: str
) -> None:
    text, part = WRONG_SETS[name]
    folder = tmp_path / "packets"
    output = ("-o", folder) if command == "report" else ()
    began = time.monotonic()
    done = afterload(command, scenario, *output, "--set", text)
    assert time.monotonic() - began < 2
    assert (done.code, done.out) == (3, "")
    assert part in done.err
    assert "--set" in done.err
    assert "Traceback" not in done.err
    assert not folder.exists()


def test_a_set_given_twice_is_refused(afterload: Run, scenario: Path) -> None:
    done = afterload("check", scenario, *(2 * ("--set", "queues.jobs.arrival_rate=1500/min")))
    assert done.code == 3
    assert "set twice" in done.err


def test_refusing_imports_nothing_that_runs_chapters(scenario: Path) -> None:
    code = (
        "import sys; from afterload.cli import main\n"
        "sys.argv = ['afterload', 'report', sys.argv[1], '--set', 'queues.jobs.arrival_rat=1']\n"
        "try: main()\nexcept SystemExit as end: print(end.code)\n"
        "print(sorted({'papermill', 'nbconvert', 'nbclient', 'altair', 'pandas'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, scenario], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["3", "[]"]


def test_check_lists_what_bounds_a_recovery(afterload: Run) -> None:
    bounds = {
        "queues.orders.consumers.number": "40",
        "dependencies.orders-table.operate_up_to": "3,500/min",
        "dependencies.orders-table.above_capacity": "throttle",
        "dependencies.orders-table.capacity_course.steps": "[{at: 0 min, share: 40 %}, {at: 2 h, share: 1}]",
    }
    given = [part for path, value in bounds.items() for part in ("--set", f"{path}={value}")]
    out = afterload("check", "builtin:scenarios/orders.yaml", *given).out
    assert "\nConsumers of orders: service rate 1,800/min, consumers 1,200/min.\n" in out
    assert "\nAt orders-table: tested to 3,000/min, operated up to 3,500/min, throttles above its capacity.\n" in out
    assert "\nCapacity of orders-table: 40 % from 2025-10-19 23:48 PDT (UTC-07:00); 100 % from 2025-10-20 01:48" in out


def test_check_tells_of_a_dependency_that_stays_down(afterload: Run) -> None:
    orders = "builtin:scenarios/orders.yaml"
    assert "Dependency orders-table" not in afterload("check", orders).out
    done = afterload("check", orders, "--set", "dependencies.orders-table.state_at_restore=collapsed")
    # 600/min of direct requests at 243 attempts, and 60 consumers whose items take 2 s, ten time-outs of 1 s and 22.2 s of backoff.
    assert (
        "\nDependency orders-table: collapsed without end at these rates; direct requests that fail: 600/min from the restore "
        "on; at most 146,851/min of attempts.\n"
    ) in done.out


def test_every_wrong_override_is_named(afterload: Run) -> None:
    wrong = (
        "queues.orders.arival_rate=4/s", "incident.trigger=yesterday", "queues.nope.order=fifo",
        "queues.orders.stream.nope=1", "recovery_objective=soon", "recovery_objective.x=1",
    )  # fmt: skip
    done = afterload("check", "builtin:scenarios/orders.yaml", *(part for item in wrong for part in ("--set", item)))
    assert done.code == 3
    told = [line.partition("--set ")[2].partition(":")[0] for line in done.err.splitlines()]
    assert sorted(told) == sorted(item.partition("=")[0] for item in wrong)
    assert "nearest: queues.orders.arrival_rate" in done.err
    forms = afterload("check", "builtin:scenarios/orders.yaml", "--set", "one", "--set", "two")
    assert "--set one: is not of the form" in forms.err
    assert "--set two: is not of the form" in forms.err


def test_check_says_what_it_read(afterload: Run, scenario: Path) -> None:
    done = afterload("check", scenario)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("team.yaml: valid. Team Team A")
    assert "206,400" in done.out
    assert "258,000" in afterload("check", scenario, "--set", "queues.jobs.arrival_rate=1500/min").out


def test_check_takes_a_shipped_scenario(afterload: Run) -> None:
    assert afterload("check", "builtin:scenarios/orders.yaml").code == 0
    assert afterload("check", "builtin:../../pyproject.toml").code == 3


def test_check_takes_an_example_by_its_name(afterload: Run) -> None:
    done = afterload("check", "--example", "orders")
    assert (done.code, done.err) == (0, "")
    assert done == afterload("check", "builtin:scenarios/orders.yaml")
    assert afterload("check", "--example").out == done.out


def test_check_tells_every_problem_with_its_line(afterload: Run, scenario: Path) -> None:
    text = scenario.read_text("utf-8")
    text = text.replace("arrival_rate: 1,200/min", "arrival_rate: 1,200 parsecs").replace(
        "version: 1.43.11", "verson: 1"
    )
    scenario.write_text(text, "utf-8")
    done = afterload("check", scenario)
    assert (done.code, done.out) == (3, "")
    lines = text.splitlines()
    for wrong in ("1,200 parsecs", "verson"):
        number = next(n for n, line in enumerate(lines, 1) if wrong in line)
        assert f"team.yaml:{number}" in done.err
        assert wrong in done.err


@pytest.mark.parametrize("content", [b"", b"a: [", b"- 1\n- 2\n", b"\xff\xfe\x00", b"team: {}\n", b"just text"])
def test_what_is_no_scenario_is_refused(afterload: Run, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(content)
    done = afterload("check", path)
    assert (done.code, done.out) == (3, "")
    assert "bad.yaml" in done.err
    assert "Traceback" not in done.err


# new


def test_new_writes_a_scenario_that_checks(afterload: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = afterload("new", "Payments")
    assert (done.code, done.out, done.err) == (0, "Payments.yaml\n", "")
    assert afterload("check", "Payments.yaml").code == 0
    first = Path("Payments.yaml").read_bytes()
    Path("Payments.yaml").write_text("mine", "utf-8")
    again = afterload("new", "Payments")
    assert (again.code, again.out) == (5, "")
    assert "exists" in again.err
    assert "--force" in again.err
    assert Path("Payments.yaml").read_text("utf-8") == "mine"
    assert afterload("new", "Payments", "--force").code == 0
    assert Path("Payments.yaml").read_bytes() == first
    assert [path.name for path in tmp_path.iterdir()] == ["Payments.yaml"]
    below = afterload("new", "Payments", "-o", "a/b/c.yaml")
    assert (below.code, below.out) == (0, "a/b/c.yaml\n")


@pytest.mark.parametrize("name", ["billing.yaml", "billing.yml", "teams/billing.yaml"])
def test_new_takes_the_name_of_a_file(
    afterload: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = afterload("new", name)
    assert (done.code, done.out, done.err) == (0, f"{name}\n", "")
    assert "Team billing," in afterload("check", name).out


ODD_NAMES = {
    "a/b": "a-b.yaml",
    "\U0001f600\U0001f525": "team.yaml",
    "null": "null.yaml",
    "{{7*7}}": "7-7.yaml",
    "a: b # c": "a--b---c.yaml",
    "\"quoted\" 'twice'": "quoted---twice.yaml",
    "TEAM_NAME": "TEAM_NAME.yaml",
    "Zahlungen Köln": "Zahlungen-Köln.yaml",
    "فريق": "فريق.yaml",
    "Search\\Ads": "Search-Ads.yaml",
    "</script><b>": "script--b.yaml",
    "=1+1": "1-1.yaml",
    "yes": "yes.yaml",
    "2025-10-19": "2025-10-19.yaml",
    "1_000": "1_000.yaml",
}


@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
def test_odd_names_stay_names(afterload: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    monkeypatch.chdir(folder)
    done = afterload("new", name)
    assert (done.code, done.out) == (0, f"{ODD_NAMES[name]}\n")
    assert (f"its file {ODD_NAMES[name]}, in this folder" in done.err) == bool({"/", "\\"} & set(name))
    assert [path.name for path in folder.iterdir()] == [ODD_NAMES[name]]
    assert [path.name for path in tmp_path.iterdir()] == ["inner"]
    assert YAML(typ="safe").load(Path(ODD_NAMES[name]).read_text("utf-8"))["team"] == name
    checked = afterload("check", ODD_NAMES[name])
    assert checked.code == 0
    assert f"Team {name}," in checked.out


def test_new_where_nothing_can_be_written(afterload: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", "utf-8")
    done = afterload("new", "a", "-o", tmp_path / "file" / "a.yaml")
    assert (done.code, done.out) == (5, "")
    assert done.err.startswith(f"error: cannot write {tmp_path / 'file' / 'a.yaml'}: ")


# schema and examples


def test_schema_is_a_json_schema_that_the_examples_meet(afterload: Run, tmp_path: Path) -> None:
    done = afterload("schema")
    assert (done.code, done.err) == (0, "")
    document = json.loads(done.out)
    jsonschema.Draft202012Validator.check_schema(document)
    validator = jsonschema.Draft202012Validator(document)
    for path in sorted((Path(__file__).resolve().parents[2] / "data" / "scenarios").glob("*.yaml")):
        data = json.loads(json.dumps(YAML(typ="safe").load(path.read_text("utf-8")), default=str))
        assert [error.message for error in validator.iter_errors(data)] == []
    target = tmp_path / "schema.json"
    written = afterload("schema", "-o", target)
    assert (written.code, written.out) == (0, f"{target}\n")
    assert target.read_text("utf-8") == done.out


def test_examples_are_listed_with_their_teams(afterload: Run) -> None:
    done = afterload("examples")
    assert (done.code, done.err) == (0, "")
    names = [line.split("\t")[0] for line in done.out.splitlines()]
    assert "orders\tOrders" in done.out.splitlines()
    folder = Path(__file__).resolve().parents[2] / "data" / "scenarios"
    assert names == sorted(path.stem for path in folder.glob("*.yaml"))


# What the parts raise becomes an exit code.


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("x"), 3),
        (ModelError("x"), 3),
        (ChapterError("x"), 4),
        (OutputError("x"), 5),
        (AfterloadError("x"), 70),
    ],
)
def test_an_error_ends_with_its_code_and_message(
    afterload: Run, monkeypatch: pytest.MonkeyPatch, error: AfterloadError, code: int
) -> None:
    monkeypatch.setattr(cli.cli, "main", raising(error))
    assert afterload() == replace(afterload(), code=code, out="", err="error: x\n")


def test_an_interrupt_ends_with_130(afterload: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli.cli, "main", raising(KeyboardInterrupt()))
    done = afterload()
    assert (done.code, done.out) == (130, "")
    assert done.err.startswith("interrupted")


def test_a_fault_of_our_own_is_named_as_such(afterload: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli.cli, "main", raising(ZeroDivisionError("x")))
    done = afterload()
    assert (done.code, done.out) == (70, "")
    assert "ZeroDivisionError: x" in done.err
    assert "fault of Afterload itself" in done.err.splitlines()[-1]


def raising(error: BaseException) -> Callable[..., None]:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    return fail


def test_the_codes_of_the_text_are_the_codes_of_the_errors() -> None:
    text = str(cli.__doc__)
    for number in (0, 2, InputError.exit_code, ChapterError.exit_code, OutputError.exit_code, 70, 130, 141):
        assert f"{number} " in text


# File names of packets


@pytest.mark.parametrize(
    ("team", "expected"),
    [
        ("Orders", "orders"),
        ("Orders & Co.", "orders-co"),
        ("a/b", "a-b"),
        ("../../etc/passwd", "etc-passwd"),
        ("C:\\con", "c-con"),
        ("Zahlungen Köln", "zahlungen-koln"),
        ("São Paulo", "sao-paulo"),
        (".hidden", "hidden"),
    ],
)
def test_a_packet_is_named_after_its_team(team: str, expected: str) -> None:
    assert slug(team) == expected


def test_teams_with_nothing_left_keep_apart() -> None:
    teams = [
        "\U0001f600",
        "\U0001f525",
        "支払い",
        "注文",
        "فريق",
        "a 支払い",
        "a 注文",
        "x" * 90,
        "x" * 90 + "y",
        "/",
        "..",
    ]
    names = [slug(team) for team in teams]
    assert len(set(names)) == len(names)
    for name in names:
        assert name.isascii()
        assert 0 < len(name) <= 80
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
        assert not name.startswith("-")
    assert slug("支払い") == slug("支払い")
