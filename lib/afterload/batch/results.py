"""What became of every team, and what a batch leaves of it beside the packets: the index, JUnit XML, an exit code."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from afterload.batch.jobs import TEAMS
from afterload.batch.progress import first_line
from afterload.errors import AfterloadError, ChapterError, InputError, ObjectiveError, OutputError
from afterload.files import write_all
from afterload.reads import read_input
from afterload.resources import resource

__all__ = ["INDEX", "State", "TeamResult", "ending", "index_problem", "packet_of", "read_previous", "write_index"]

INDEX = ("index.html", "index.json", "junit.xml")
PREVIOUS = "previous.json"
STATE = "batch.json"
# Broken objectives that the last message names.
MOST_LINES = 20

State = Literal["made", "kept", "failed", "cancelled"]
# The exit code of a batch is that of the first kind here that occurs.
_ENDINGS: tuple[tuple[frozenset[str], type[AfterloadError]], ...] = (
    (frozenset({"output"}), OutputError),
    (frozenset({"fault", "error", "killed", "memory", "time", "start", "chapter"}), ChapterError),
    (frozenset({"input"}), InputError),
)


@dataclass(frozen=True)
class TeamResult:
    """One team of a batch.

    Attributes:
        id: the name of its files.
        scenario: the scenario as seen from the index's folder.
        state: ``made`` now, ``kept`` from an earlier run, ``failed``, or ``cancelled`` before it was done.
        told: what :func:`afterload.batch.jobs.make_team` gave, for one that was made.
        kind: what failed: input, output, fault, error, killed, memory, time or start.
        text: the problem in words, the same wherever the folders lie.
        seen: the same for whoever started the batch, with files as seen from the folder where that was.
        earlier: the packet of an earlier run that still lies there, for one that failed or was not done.
    """

    id: str
    team: str
    scenario: str
    state: State
    told: Mapping[str, Any] = field(default_factory=dict)
    kind: str = ""
    text: str = ""
    earlier: str = ""
    seen: str = ""

    @property
    def whole(self) -> bool:
        """Its packet is there, and no part of it failed."""
        return self.state in ("made", "kept") and not self.told["failures"]

    @property
    def record(self) -> Mapping[str, Any] | None:
        """What :func:`afterload.batch.record.team_record` gave; None where there is none."""
        return self.told.get("record")

    @property
    def verdicts(self) -> Sequence[Mapping[str, Any]]:
        """Its objectives."""
        return self.record["verdicts"] if self.record is not None else ()

    @property
    def broken(self) -> list[str]:
        """Its broken objectives, in words."""
        return [item["words"] for item in self.verdicts if not item["met"]]


def packet_of(name: str, files: Iterable[str]) -> str:
    """The path of a team's page as seen from the index, or of its first file where the page failed."""
    files = list(files)
    page = f"{name}.html"
    return f"{TEAMS}/{name}/{page if page in files or not files else files[0]}"


def records_of(results: Sequence[TeamResult]) -> list[dict[str, Any]]:
    """The records of teams that have one, each with the parts of its packet that failed."""
    found = []
    for item in results:
        if item.record is not None:
            parts = list(item.told["failures"])
            found.append({**item.record, "failures": parts} if parts else dict(item.record))
    return found


def failures_of(results: Sequence[TeamResult]) -> list[tuple[str, str, str, str, str]]:
    """Id, name, scenario, kind and words of teams without a record."""
    found = []
    for item in results:
        if item.record is None:
            parts = "; ".join(item.told.get("failures", ()))
            earlier = f" (the packet of an earlier run is still there: {item.earlier})" if item.earlier else ""
            found.append((item.id, item.team, item.scenario, item.kind or "chapter", f"{item.text or parts}{earlier}"))
    return found


def read_previous(path: Path) -> dict[str, Any]:
    """The ``index.json`` of another run, to compare with.

    Raises :class:`InputError`, with the file, where it is none that this version can compare with.
    """
    from afterload.batch.portfolio import check_previous

    document = _index(path)
    try:
        check_previous(document)
    except InputError as problem:
        raise InputError(f"{path}: {problem}") from None
    return document


def write_index(
    folder: Path, results: Sequence[TeamResult], library: str, previous: Mapping[str, Any] | None = None
) -> bool:
    """Write ``index.html``, ``index.json`` and ``junit.xml`` whole; False where they are there already.

    The trend is against ``previous``, what :func:`read_previous` gave; by default against the last run into this folder that
    was not interrupted and had other results. So a run with the same results writes the same bytes.
    Raises :class:`OutputError` where a file cannot be written.
    """
    records, failures = records_of(results), failures_of(results)
    complete = not any(item.state == "cancelled" for item in results)
    page = [_text(path) for path in sorted(resource("templates", "batch").iterdir())]
    key = _digest(json.dumps([records, failures], sort_keys=True))
    # The same results may be shown by another Afterload, or beside another run.
    page_key = _digest(json.dumps([library, page, previous], sort_keys=True))
    state = _state(folder)
    if (state.get("results_sha256"), state.get("page_sha256")) == (key, page_key) and _whole(folder, state):
        return False
    contents: dict[Path, str | bytes] = {}
    kept = _kept_previous(folder)
    if state.get("results_sha256") != key and state.get("complete") and _whole(folder, state):
        # The last run becomes what this one is compared with.
        kept = _text(folder / INDEX[1])
        if kept is not None:
            contents[folder / PREVIOUS] = kept
    before = previous if previous is not None else (None if kept is None else json.loads(kept))
    try:
        html, document = _index_files(records, failures, before)
    except InputError:
        if previous is not None:
            raise
        # The index of another version, in this folder: then there is nothing to compare with.
        html, document = _index_files(records, failures, None)
    contents |= dict(zip((folder / name for name in INDEX), (html, document, junit_xml(results)), strict=True))
    outputs = {path.name: _digest(content) for path, content in contents.items() if path.name in INDEX}
    new = {"format": 1, "results_sha256": key, "page_sha256": page_key, "complete": complete, "outputs": outputs}
    contents[folder / STATE] = json.dumps(new, indent=1) + "\n"
    write_all(contents)
    return True


def _index_files(
    records: list[dict[str, Any]], failures: list[tuple[str, str, str, str, str]], previous: Mapping[str, Any] | None
) -> tuple[str, str]:
    from afterload.batch.index import index_html, index_json
    from afterload.batch.portfolio import build_portfolio

    portfolio = build_portfolio(records, failures, previous)
    return index_html(portfolio), index_json(portfolio)


def _index(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(read_input(path).decode("utf-8"))
    except OSError as problem:
        raise InputError(f"{path}: cannot be read: {problem.strerror or problem}") from None
    except (ValueError, RecursionError) as problem:
        raise InputError(f"{path}: is not JSON: {problem}; accepted: the index.json of an earlier batch") from None
    if not isinstance(document, dict):
        raise InputError(f"{path}: is not the index.json of an earlier batch")
    return document


def _kept_previous(folder: Path) -> str | None:
    text = _text(folder / PREVIOUS)
    try:
        return text if text is not None and isinstance(json.loads(text), dict) else None
    except (ValueError, RecursionError):
        return None


def _text(path: Path) -> str | None:
    try:
        return read_input(path).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _state(folder: Path) -> dict[str, Any]:
    try:
        document = json.loads(read_input(folder / STATE).decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) and document.get("format") == 1 else {}


def _whole(folder: Path, state: Mapping[str, Any]) -> bool:
    outputs = state.get("outputs")
    if not isinstance(outputs, dict) or set(outputs) != set(INDEX):
        return False
    try:
        return all(_digest(read_input(folder / name)) == digest for name, digest in outputs.items())
    except OSError:
        return False


def _digest(content: str | bytes) -> str:
    return sha256(content if isinstance(content, bytes) else content.encode("utf-8")).hexdigest()


def junit_xml(results: Sequence[TeamResult]) -> str:
    """JUnit XML: a suite a team, with a case for its packet, one for each part that failed and one for each objective."""
    root = ET.Element("testsuites", name="afterload batch")
    for item in results:
        suite = ET.SubElement(root, "testsuite", name=_xml(item.team))
        made = ET.SubElement(suite, "testcase", classname=_xml(item.team), name="packet", time="0")
        if item.state == "cancelled":
            ET.SubElement(made, "skipped", message=_xml(item.text))
        elif item.state == "failed":
            _note(made, "error", item.text, item.kind)
        for failure in item.told.get("failures", ()):
            part = ET.SubElement(
                suite, "testcase", classname=_xml(item.team), name=_xml(failure.partition(":")[0]), time="0"
            )
            _note(part, "error", failure, "chapter")
        for verdict in item.verdicts:
            name = f"{verdict['name']} of {verdict['subject']} ({verdict['level']})"
            case = ET.SubElement(suite, "testcase", classname=_xml(item.team), name=_xml(name), time="0")
            if not verdict["met"]:
                _note(case, "failure", verdict["words"], "objective")
        cases = list(suite)
        for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            suite.set(attribute, str(sum(case.find(tag) is not None for case in cases)))
        suite.set("tests", str(len(cases)))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _note(case: ET.Element, tag: str, text: str, kind: str) -> None:
    note = ET.SubElement(case, tag, message=_xml(text.splitlines()[0] if text else kind), type=_xml(kind))
    note.text = _xml(text)


def _xml(text: str) -> str:
    from afterload.plan.objectives import xml_text

    return xml_text(text)


def index_problem(problem: OutputError) -> OutputError:
    """Say of an index that could not be written what is there all the same."""
    return OutputError(
        f"{problem}; the packets that were made are there, and --resume writes the index once there is room"
    )


def ending(results: Sequence[TeamResult], gate: bool) -> AfterloadError | None:
    """The error that a batch ends with, after everything is written; None where all is well.

    Output that could not be written counts before packets that could not be made, these before wrong inputs, and broken
    objectives come last, and only where they are asked for; their lines are told in any case.
    """
    kinds = [_kind(item) for item in results if not item.whole and item.state != "cancelled"]
    lines = _broken_lines(results) if gate else []
    for group, error in _ENDINGS:
        if any(kind in group for kind in kinds):
            words = f"{'has' if len(kinds) == 1 else 'have'} no whole packet; the index tells why"
            return error("\n".join([f"{len(kinds)} of {_teams(len(results))} {words}", *lines]))
    return ObjectiveError("\n".join(lines)) if lines else None


def _broken_lines(results: Sequence[TeamResult]) -> list[str]:
    """How many teams break objectives, and which; nothing where none does."""
    broken = [item for item in results if item.broken]
    lines = [f"  {first_line(item.team)}: {first_line(words)}" for item in broken for words in item.broken]
    if len(lines) > MOST_LINES:
        lines[MOST_LINES:] = [f"  and {len(lines) - MOST_LINES} more, all in {INDEX[0]} and {INDEX[2]}"]
    verb = "breaks" if len(broken) == 1 else "break"
    return [f"{len(broken)} of {_teams(len(results))} {verb} objectives", *lines] if broken else []


def _teams(number: int) -> str:
    return "1 team" if number == 1 else f"{number} teams"


def _kind(item: TeamResult) -> str:
    return item.kind if item.state == "failed" else "chapter"
