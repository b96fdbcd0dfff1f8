"""What a batch is about: files, patterns, folders and shipped examples, or a table of teams over a base scenario.

Nothing here opens a scenario whole: a team's name is read from its line alone, so that a run with nothing to do is quick.
"""

from __future__ import annotations

import glob
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from afterload.batch.jobs import Override
from afterload.batch.teams_csv import TEAM, Row, TeamsTable, read_teams
from afterload.errors import AfterloadError, InputError, NotFoundError, OverrideError
from afterload.files import slug
from afterload.reads import open_input
from afterload.resources import BUILTIN, builtin_path, resource
from afterload.yamltree import MAX_BYTES, read_file, read_text

__all__ = [
    "Given",
    "collect",
    "collect_all",
    "collect_table",
    "expand",
    "read_team_overrides",
    "refuse_unknown_columns",
]

# The name of a file of overrides, and the values that it holds by team and path.
ByTeam = tuple[str, dict[str, dict[str, Any]]]
_ENDINGS = (".yaml", ".yml")
_WILD = re.compile(r"[*?\[]")
_TEAM_LINE = re.compile(r"^(?:team|\"team\"|'team')[ \t]*:(?:[ \t]|\r?$)", re.MULTILINE)


@dataclass(frozen=True)
class Given:
    """One team as it was given; ``problem`` says why nothing can be done for it.

    Attributes:
        id: the name of its files; for one with a problem, a name for the index alone.
        team: its name, or the file's where it cannot be told.
        scenario: an absolute path, or ``builtin:`` and a name.
        origin: the file as a person named it, or the line of a table.
        overrides: from ``--set``, the table and the file of overrides, in this order.
    """

    id: str
    team: str
    scenario: str
    origin: str
    overrides: tuple[Override, ...] = ()
    problem: str = ""


def expand(texts: Sequence[str], outside: Path | None = None) -> tuple[list[str], list[str]]:
    """The scenario files that words of the command line name, each once, and the files of folders that are no scenarios.

    A word is a file, a pattern (``**`` goes through folders), a folder with everything below it, or ``builtin:`` and one
    of these below the shipped data. In a folder, a scenario is a YAML file with ``team`` at its top, or one that cannot be
    read; what begins with a dot is left out, and so is all below ``outside``. Raises :class:`NotFoundError` for a pattern
    or folder without any.
    """
    found: dict[str, str] = {}
    others: list[str] = []
    for text in texts:
        for name, path in _named(text, outside, others):
            found.setdefault(os.path.realpath(path), name)
    return list(found.values()), others


def _named(text: str, outside: Path | None, others: list[str]) -> Iterator[tuple[str, Path]]:
    shipped = text.startswith(BUILTIN)
    base = resource("data") if shipped else Path()
    given = text.removeprefix(BUILTIN) if shipped else os.path.expanduser(text)  # noqa: PTH111 - it may be a pattern
    if shipped and ".." in given.split("/"):
        raise NotFoundError(f"{text!r} leaves the shipped data folder")

    def name(path: Path) -> str:
        return f"{BUILTIN}{path.relative_to(base).as_posix()}" if shipped else str(path)

    path = base / given
    if _is_folder(path):
        inside, rest = _in_folder(path, outside)
        others += [name(each) for each in rest]
        if not inside:
            raise NotFoundError(f"{text}: the folder has no scenario: no file *.yaml or *.yml with team at its top")
        yield from ((name(each), each) for each in inside)
    elif _WILD.search(given) and not _exists(path):
        matches = sorted(glob.glob(str(path) if shipped else given, recursive=True))  # noqa: PTH207 - a pattern may begin anywhere
        files = [Path(match) for match in matches if not _is_folder(Path(match))]
        if not files:
            raise NotFoundError(f"{text}: no file fits this pattern")
        yield from ((name(each), each) for each in files)
    else:
        # One that is missing is told as that team's problem.
        yield name(path), path


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _in_folder(root: Path, outside: Path | None) -> tuple[list[Path], list[Path]]:
    """The scenarios below a folder and its other YAML files. What cannot be read counts as a scenario, so that it is told."""
    scenarios: list[Path] = []
    others: list[Path] = []
    left_out = None if outside is None else os.path.realpath(outside)
    for folder, folders, names in os.walk(root, onerror=lambda problem: scenarios.append(Path(problem.filename))):
        folders[:] = sorted(
            each for each in folders
            if not each.startswith(".") and os.path.realpath(Path(folder, each)) != left_out
        )  # fmt: skip
        for each in sorted(names):
            path = Path(folder, each)
            if path.suffix.lower() in _ENDINGS and not each.startswith("."):
                head = _head(path)
                (scenarios if head is None or _TEAM_LINE.search(head) else others).append(path)
    return scenarios, others


def _head(path: Path) -> str | None:
    """The text of a file as far as it can be read; None where it cannot be opened."""
    try:
        with open_input(path) as file:
            raw = file.read(MAX_BYTES + 1)
    except (OSError, ValueError):
        return None
    encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    return raw.decode(encoding, "replace")


def read_team_overrides(path: str | Path) -> dict[str, dict[str, Any]]:
    """Overrides by team from a YAML file: ``Team name: {queues.orders.arrival_rate: 1500/min}``.

    Raises :class:`InputError` with file and line where it is another form.
    """
    tree, _ = read_file(Path(path))
    form = "a mapping of teams, each with paths and values"
    if not isinstance(tree.data, dict):
        raise InputError(f"{path}:1: is not {form}")
    for team, values in tree.data.items():
        if not isinstance(values, dict):
            raise InputError(f"{path}:{tree.line((team,))}: {team}: {values!r} is no mapping; accepted: {form}")
    return dict(tree.data)


def collect(names: Iterable[str], common: Sequence[Override] = (), by_team: ByTeam = ("", {})) -> list[Given]:
    """One :class:`Given` a scenario file, in the order of their ids; see :func:`collect_all`."""
    return collect_all(names, "", None, common, by_team)


def collect_table(
    base: str, file: str | Path, common: Sequence[Override] = (), by_team: ByTeam = ("", {})
) -> tuple[list[Given], TeamsTable]:
    """One :class:`Given` a row of a table of teams over the scenario ``base``, and the table.

    Raises like :func:`collect_all` and :func:`afterload.batch.teams_csv.read_teams`.
    """
    table = read_teams(file)
    return collect_all((), base, table, common, by_team), table


def collect_all(
    names: Iterable[str],
    base: str,
    table: TeamsTable | None,
    common: Sequence[Override] = (),
    by_team: ByTeam = ("", {}),
) -> list[Given]:
    """One :class:`Given` a scenario file and a row of the table over the scenario ``base``, in the order of their ids.

    ``by_team`` is the name of the file of overrides and what it holds. Teams that would write the same files have a
    problem that names them. Raises :class:`InputError` where the overrides speak of a team that is not there.
    """
    given = []
    known = set()
    for name in names:
        item, team = _of_file(name, common, by_team)
        given.append(item)
        known.add(team)
    if table is not None:
        given += [_of_row(row, base, table, common, by_team) for row in table.rows]
    _refuse_strangers(by_team, known, given)
    return _with_ids(given)


def _of_file(name: str, common: Sequence[Override], by_team: ByTeam) -> tuple[Given, str]:
    """What is given by a scenario file, and the team as the file names it."""
    path = name if name.startswith(BUILTIN) else str(Path(name).absolute())
    written, problem = _team_of(name)
    if not problem and not _is_text(name):
        problem = f"{name}: its name is not UTF-8 text, so nothing that is written could name it: rename the file"
    team = next((str(item.value).strip() for item in reversed(common) if item.path == TEAM), written)
    own = _own(by_team, team)
    team = next((str(item.value) for item in reversed(own) if item.path == TEAM), team)
    return Given("", team, path, name, (*common, *own), problem), written


def _of_row(row: Row, base: str, table: TeamsTable, common: Sequence[Override], by_team: ByTeam) -> Given:
    path = base if base.startswith(BUILTIN) else str(Path(base).expanduser().absolute())
    place = f"{table.name} line {row.line}"
    cells = [Override(column, cell, True, place, table.european) for column, cell in row.cells]
    team = Override(TEAM, row.team, False, place)
    return Given("", row.team, path, place, (*common, team, *cells, *_own(by_team, row.team)), row.problem)


def refuse_unknown_columns(base: str, table: TeamsTable) -> None:
    """Raise :class:`InputError` for a column that names no value of the base scenario: every row would fail for it.

    Raises what reading the base raises, too: without it there is no team.
    """
    from afterload.scenario.overrides import locate
    from afterload.scenario.schema import Scenario

    data = read_file(builtin_path(base, Path()) if base.startswith(BUILTIN) else Path(base).expanduser())[0].data
    if not isinstance(data, dict):
        raise InputError(f"{base}:1: is not a scenario: it needs keys such as team, incident and queues")
    for column in table.columns:
        try:
            locate(data, column, Scenario)
        except OverrideError as problem:
            words = str(problem).removeprefix(f"{column}: ")
            raise InputError(f"{table.name} line {table.header_line} column {column}: {words}") from None


def _own(by_team: ByTeam, team: str) -> tuple[Override, ...]:
    name, values = by_team
    return tuple(Override(path, value, False, name) for path, value in values.get(team, {}).items())


def _refuse_strangers(by_team: ByTeam, teams: Iterable[str], given: Sequence[Given]) -> None:
    known = {*teams, *(item.team for item in given)}
    strangers = [team for team in by_team[1] if team not in known]
    if strangers:
        words = ", ".join(map(repr, strangers[:5])) + (", ..." if len(strangers) > 5 else "")
        raise InputError(f"{by_team[0]}: has overrides for {words}, which is none of the {len(given)} teams")


def _team_of(name: str) -> tuple[str, str]:
    """The team that a scenario file is about, and what is wrong where it cannot be told; then the file's name."""
    stem = Path(name.removeprefix(BUILTIN)).stem or name
    path = builtin_path(name, Path()) if name.startswith(BUILTIN) else Path(name).absolute()
    try:
        text = _team_text(_head(path) or "")
        data = read_text(text, str(path)).data if text else read_file(path)[0].data
    except InputError as problem:
        return stem, str(problem)
    team = data.get(TEAM) if isinstance(data, dict) else None
    if isinstance(team, bool) or not isinstance(team, str | int | float) or not str(team).strip():
        # Whoever opens it says all that is wrong with it.
        return stem, _why_not(path, name)
    return str(getattr(team, "text", team)).strip(), ""


def _is_text(name: str) -> bool:
    """Whether a file's name is text: Linux takes any bytes for one."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _why_not(path: Path, name: str) -> str:
    from afterload.scenario import load_scenario

    try:
        load_scenario(path)
    except AfterloadError as problem:
        return str(problem)
    return f"{name}: its team cannot be told: write the name as plain text on one line"


def _team_text(text: str) -> str:
    """The line of the team's name where it says all by itself; empty text where the whole file must be read."""
    found = list(_TEAM_LINE.finditer(text))
    if len(found) != 1:
        return ""
    line, _, rest = text[found[0].start() :].partition("\n")
    value = line.partition(":")[2].strip()
    following = next((each for each in rest.splitlines() if each.strip()), "")
    if not value or value[0] in "&*!|>[{%@`" or following.startswith((" ", "\t")):
        return ""
    if value[0] in "\"'" and value.find(value[0], 1) < 0:
        return ""
    return line.rstrip("\r")


# Others with the same files that a problem names.
_MOST_NAMED = 3


def _with_ids(given: list[Given]) -> list[Given]:
    sharing: dict[str, list[Given]] = defaultdict(list)
    for item in given:
        if not item.problem:
            sharing[slug(item.team)].append(item)
    done = [replace(items[0], id=name) for name, items in sharing.items() if len(items) == 1]
    names = {item.id for item in done}
    # Whoever has a problem takes no name from one that has none.
    for item in given:
        same = [] if item.problem else sharing[slug(item.team)]
        if item.problem or len(same) > 1:
            base, number = slug(item.team or item.origin), 2
            name = base
            while name in names:
                name, number = f"{base}-{number}", number + 1
            names.add(name)
            done.append(replace(item, id=name, problem=item.problem or _same_files(item, same)))
    return sorted(done, key=lambda item: item.id)


def _same_files(item: Given, same: Sequence[Given]) -> str:
    others = [each for each in same[: _MOST_NAMED + 1] if each is not item][:_MOST_NAMED]
    named = " and ".join(f"{each.origin} (team {each.team!r})" for each in others)
    more = f" and {len(same) - 1 - len(others)} more" if len(same) - 1 > len(others) else ""
    return (
        f"{item.origin} (team {item.team!r}) and {named}{more} would write the same files, {slug(item.team)}.html and "
        "others, so none of them is made: give each another name"
    )
