"""The command for the hour after a restore: eta."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from afterload.commands.shared import SET, echo
from afterload.errors import InputError, UnitError
from afterload.files import refuse_without_folder
from afterload.units import read_count, read_duration_min, read_instant, read_rate_per_min, read_share, read_zone

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from afterload.findings.live_known import Known
    from afterload.scenario import LoadedScenario, Reading

__all__ = ["eta"]

T = TypeVar("T")
USUAL_QUEUE = "queue"


@click.command()
@click.argument("file", required=False)
@click.option("--queue", metavar="NAME", help="Which queue; may be left out where there is one.")
@click.option("--depth", metavar="N", help="Items waiting now.")
@click.option("--age", metavar="DURATION", help="Age of the oldest, as in 172min.")
@click.option("--arrival", metavar="RATE", help="Items that arrive, as in 1200/min; from depth and age if not given.")
@click.option("--service", metavar="RATE", help="Items that are served; from two readings on it is not needed.")
@click.option("--in-flight", metavar="N", help="Items that consumers hold.")
@click.option("--errors", metavar="SHARE", help="Share of attempts at the dependency that fail or are throttled.")
@click.option("--attempts", metavar="RATE", help="Attempts at the dependency, retries included.")
@click.option("--at", metavar="TIME", help="When this was seen, with an offset; now if not given.")
@click.option(
    "--log",
    metavar="CSV",
    help="Keep this reading there, and use the earlier ones. Not given: use those of the log that FILE names, keep none.",
)
@click.option("--metrics", multiple=True, metavar="FILE", help="Readings from CloudWatch, Prometheus or CSV metrics.")
@click.option(
    "--series", multiple=True, metavar="NAME=SIGNAL[:QUEUE[:UNIT]]", help="What a series of --metrics measures."
)
@click.option("--tested", metavar="RATE", help="What the dependency is tested to bear.")
@click.option("--direct", metavar="RATE", help="What reaches the dependency beside the queue.")
@click.option("--item-time", metavar="DURATION", help="Time an item takes, for a cap in concurrency.")
@click.option("--tries", metavar="N", help="Attempts that one request costs while the dependency fails.")
@click.option("--cap", metavar="N", help="Concurrency to which the consumers are capped now.")
@click.option("--order", type=click.Choice(["fifo", "lifo"]), help="Order of work; fifo without a scenario.")
@click.option("--restored", metavar="TIME", help="When the dependency was back, with an offset.")
@click.option("--objective", metavar="DURATION", help="From there until first attempts shall be on time.")
@click.option("--zone", metavar="ZONE", help="Zone of the times printed; the scenario's, else this machine's.")
@click.option("--force", is_flag=True, help="Take a reading that looks mistyped.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@SET
def eta(file: str | None, overrides: tuple[str, ...], **given: Any) -> None:
    """Tell when a backlog is empty, what may be drained, and what must wait: for the hour after a restore.

    The first line is the answer. FILE is a scenario, for all that is not given here. Every further reading makes the
    answer surer: --log keeps them. In a terminal what is missing is asked for.
    """
    from afterload.findings.live import live
    from afterload.findings.live_words import live_json, live_lines
    from afterload.scenario.reading_log import add_reading, is_shipped, near, read_log
    from afterload.scenario.readings import joined, of_queue

    if given["log"] is not None:
        refuse_without_folder(given["log"])
    loaded, named = _loaded(file, overrides)
    now = datetime.now(UTC).replace(microsecond=0)
    _refuse_unreadable(given, loaded)
    zone = _read("zone", given, read_zone)
    log = named if given["log"] is None else Path(given["log"])
    team_zone = zone if loaded is None else loaded.scenario.time_zone
    earlier = [] if log is None else list(read_log(log, team_zone))
    queue = _queue(loaded, given["queue"], earlier)
    known = _known(loaded, queue, given, zone)
    kept, measured = of_queue(earlier, queue), _from_metrics(loaded, queue, given, known, team_zone)
    earlier = list(joined(kept, measured))
    new = _new(given, queue, now, known, earlier)
    if new is not None and not given["force"]:
        _refuse_mistyped(new, earlier, now, known)
    if not earlier and new is None:
        raise InputError(_no_reading(file, queue, log, is_named=given["log"] is None))
    answer = live(joined([*kept, *([] if new is None else [new])], measured), known)
    if new is not None and given["log"] is not None:
        add_reading(Path(given["log"]), new)
    elif new is not None and named is not None and not is_shipped(named):
        echo(f"this reading is not kept: --log {near(named)} keeps it in the log that {file} names", err=True)
    if given["as_json"]:
        echo(json.dumps(live_json(answer), indent=2, ensure_ascii=False))
        return
    echo("\n".join(live_lines(answer)))


def _no_reading(file: str | None, queue: str, log: Path | None, is_named: bool) -> str:
    """What to do where nothing was read, and which log there was none in. ``is_named``: the scenario names it."""
    from afterload.scenario.reading_log import near

    if log is None:
        return "give what waits with --depth, readings of before with --log, or metrics with --metrics"
    where = f"{near(log)}, which {file} names under live.log," if is_named else f"{log}, given with --log,"
    state = f"has no reading of {queue} yet" if log.exists() else "is not there yet"
    keep = f"; --log {near(log)} keeps it there" if is_named else ", which begins it" if not log.exists() else ""
    return f"{where} {state}: give what waits with --depth{keep}; or give metrics with --metrics"


def _read(name: str, given: dict[str, Any], read: Callable[[Any], T]) -> T | None:
    """One option; a value that cannot be read is told with the option that brought it."""
    value = given[name.replace("-", "_")]
    if value is None:
        return None
    try:
        return read(value)
    except UnitError as problem:
        raise InputError(f"--{name} {problem}") from None


def _refuse_unreadable(given: dict[str, Any], loaded: LoadedScenario | None) -> None:
    """Name every option whose value cannot be read, not only the first."""
    from afterload.findings.live_given import read_attempts, read_item_time_s

    local: tzinfo = datetime.now().astimezone().tzinfo or UTC
    zone = local if loaded is None else loaded.scenario.time_zone
    wrong: list[str] = []
    try:
        zone = _read("zone", given, read_zone) or zone
    except InputError as problem:
        wrong.append(str(problem))

    def instant(text: Any) -> datetime:
        return read_instant(text, zone)

    readers: dict[str, Callable[[Any], Any]] = {
        "depth": read_count, "age": read_duration_min, "arrival": read_rate_per_min, "service": read_rate_per_min,
        "in-flight": read_count, "errors": read_share, "attempts": read_rate_per_min, "at": instant,
        "tested": read_rate_per_min, "direct": read_rate_per_min, "item-time": read_item_time_s, "tries": read_attempts,
        "cap": read_count, "restored": instant, "objective": read_duration_min,
    }  # fmt: skip
    for name, read in readers.items():
        try:
            _read(name, given, read)
        except InputError as problem:
            wrong.append(str(problem))
    if wrong:
        raise InputError("\n".join(wrong))


def _loaded(file: str | None, overrides: tuple[str, ...]) -> tuple[LoadedScenario | None, Path | None]:
    """The scenario and the log that it names, which is not read yet: another may be meant, or none be there yet."""
    if file is None:
        if overrides:
            raise click.UsageError("--set changes a value of a scenario: give its FILE")
        return None, None
    from afterload.scenario.reading_log import load_without_log

    return load_without_log(file, overrides)


def _queue(loaded: LoadedScenario | None, name: str | None, earlier: list[Reading]) -> str:
    from afterload.scenario.problems import nearest

    names = list(loaded.scenario.queues) if loaded is not None else sorted({item.queue for item in earlier})
    if name is not None:
        if loaded is not None and name not in names:
            near = nearest(name, names)
            hint = f"; nearest: {near}" if near else ""
            raise InputError(
                f"--queue {name!r} is not a queue of {loaded.name}{hint}; known: {', '.join(names) or 'none'}"
            )
        return name
    if loaded is not None and loaded.scenario.live is not None:
        return loaded.scenario.live.queue
    if len(names) == 1:
        return names[0]
    if loaded is None and not names:
        return USUAL_QUEUE
    raise InputError(f"which queue? Give --queue with one of {', '.join(names) or 'none: the scenario has no queue'}")


def _known(loaded: LoadedScenario | None, queue: str, given: dict[str, Any], zone: ZoneInfo | None) -> Known:
    """What is known beside the readings: from the scenario, and over it what is given here."""
    from afterload.findings.live_given import Given, known_given, lacks_tested_rate, read_attempts, read_item_time_s

    local: tzinfo = datetime.now().astimezone().tzinfo or UTC
    of_team = local if loaded is None else loaded.scenario.time_zone
    here = Given(
        zone=zone or of_team,
        order=given["order"],
        restored_at=_read("restored", given, lambda text: read_instant(text, of_team)),
        objective_min=_read("objective", given, read_duration_min),
        service_per_min=_read("service", given, read_rate_per_min),
        cap=_read("cap", given, read_count),
        item_time_s=_read("item-time", given, read_item_time_s),
        tested_per_min=_read("tested", given, read_rate_per_min),
        direct_per_min=_read("direct", given, read_rate_per_min),
        attempts_failing=_read("tries", given, read_attempts),
    )
    if lacks_tested_rate(here, loaded, queue):
        raise click.UsageError("--direct and --tries are of a dependency: give what it is tested to with --tested")
    return known_given(here, loaded, queue)


def _from_metrics(
    loaded: LoadedScenario | None, queue: str, given: dict[str, Any], known: Known, zone: ZoneInfo | None
) -> list[Reading]:
    if not given["metrics"]:
        if given["series"]:
            raise click.UsageError("--series tells what a series of --metrics measures: give that too")
        return []
    from afterload.intake.live import metric_readings, names_elsewhere, names_of

    readings, remarks = metric_readings(
        given["metrics"],
        queue,
        zone=zone,
        series=given["series"],
        names=names_of(loaded, queue),
        others=names_elsewhere(loaded, queue),
        since=known.restored_at,
    )
    for remark in remarks:
        if remark.kind == "ask":
            echo(f"{remark.file}: {remark.text}", err=True)
    return list(readings)


def _new(given: dict[str, Any], queue: str, now: datetime, known: Known, earlier: list[Reading]) -> Reading | None:
    """The reading that is given here, asked for in a terminal where something is missing."""
    from afterload.scenario import Reading

    values = dict(given)
    if _may_ask(given) and (given["depth"] is None and not earlier):
        values = _asked(values, known)
    depth = _read("depth", values, read_count)
    parts = {
        "age_min": _read("age", values, read_duration_min),
        "arrival_per_min": _read("arrival", values, read_rate_per_min),
        "service_per_min": _read("service", values, read_rate_per_min),
        "in_flight": _read("in-flight", values, read_count),
        "error_share": _read("errors", values, read_share),
        "attempts_per_min": _read("attempts", values, read_rate_per_min),
    }
    at = _read("at", values, lambda text: read_instant(text, known.zone))
    if depth is None:
        if any(value is not None for name, value in parts.items() if name != "service_per_min") or at is not None:
            raise InputError("a reading needs what waits: give it with --depth")
        return None
    return Reading(at or now, queue, float(depth), **parts)


def _may_ask(given: dict[str, Any]) -> bool:
    """True in a terminal with a person at it; never in CI."""
    return not given["as_json"] and not os.environ.get("CI") and sys.stdin.isatty() and sys.stdout.isatty()


def _asked(values: dict[str, Any], known: Known) -> dict[str, Any]:
    """Ask for what a first look needs; an empty answer leaves it out."""
    questions: list[tuple[str, str, Callable[[Any], Any]]] = [
        ("depth", "Items waiting", read_count),
        ("age", "Age of the oldest, as in 172 min", read_duration_min),
        ("arrival", "Items that arrive, as in 1200/min (empty: from depth and age)", read_rate_per_min),
    ]
    if known.service is None:
        questions.append(("service", "Items that are served, as in 1800/min (empty: not known)", read_rate_per_min))
    questions.append(
        ("errors", "Share of failing attempts at the dependency, as in 2 % (empty: not known)", read_share)
    )
    if known.side is None:
        questions.append(
            ("tested", "What the dependency is tested to, as in 3000/min (empty: not known)", read_rate_per_min)
        )
    found = dict(values)
    for name, words, read in questions:
        while found.get(name) is None:
            text = click.prompt(words, default="", show_default=False, err=True).strip()
            if not text and name != "depth":
                break
            try:
                read(text)
            except UnitError as problem:
                echo(problem, err=True)
                continue
            found[name] = text
    return found


def _refuse_mistyped(new: Reading, earlier: list[Reading], now: datetime, known: Known) -> None:
    """What was mistyped spoils every later answer, so it is refused before it is kept."""
    from afterload.findings.typed_reading import mistyped

    found = mistyped(new, earlier, now, None if known.service is None else known.service.per_min)
    if found is not None:
        then = "Then give --force" if found.or_else else "Give --force if not"
        raise InputError(f"--{found.part} {found.words}: {found.question} {then}")
