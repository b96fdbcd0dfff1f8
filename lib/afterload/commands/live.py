"""The command for the hour after a restore: eta."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from afterload.commands.shared import SET, echo
from afterload.errors import InputError, UnitError
from afterload.files import append_line, refuse_without_folder
from afterload.units import (
    read_count,
    read_duration_min,
    read_instant,
    read_number,
    read_rate_per_min,
    read_share,
    read_zone,
)

if TYPE_CHECKING:
    from afterload.findings.live_known import Known
    from afterload.scenario import LoadedScenario, Reading

__all__ = ["eta"]

T = TypeVar("T")
# A clock may be wrong by this; what is later was mistyped.
FUTURE_MIN = 5.0
# A backlog that is five times as large within so many minutes has a digit too many; one that goes five times as fast as
# consumers can serve has one too few.
TYPO_TIMES, TYPO_MIN, TYPO_LEAST = 5.0, 10.0, 100.0
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
    help="Keep this reading there, and use the earlier ones; those of the scenario if not given.",
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
    from afterload.scenario.readings import log_columns, of_queue, reading_line

    if given["log"] is not None:
        refuse_without_folder(given["log"])
    loaded = _loaded(file, overrides)
    now = datetime.now(UTC).replace(microsecond=0)
    zone = _read("zone", given, read_zone)
    if given["log"] is None and loaded is not None:
        earlier = list(loaded.readings)
    else:
        earlier = _log(given["log"], None if loaded is None else loaded.scenario.time_zone)
    queue = _queue(loaded, given["queue"], earlier)
    known = _known(loaded, queue, given, zone)
    earlier = [*of_queue(earlier, queue), *_from_metrics(loaded, queue, given, known)]
    new = _new(given, queue, now, known, earlier)
    if new is not None and not given["force"]:
        _refuse_nonsense(new, earlier, now, known)
    if not earlier and new is None:
        raise InputError("give what waits with --depth, readings of before with --log, or metrics with --metrics")
    answer = live([*earlier, *([] if new is None else [new])], known)
    if new is not None and given["log"] is not None:
        line = reading_line(new, log_columns(Path(given["log"])))
        append_line(given["log"], line.header, line.line)
    if given["as_json"]:
        echo(json.dumps(live_json(answer), indent=2, ensure_ascii=False))
        return
    echo("\n".join(live_lines(answer)))


def _read(name: str, given: dict[str, Any], read: Callable[[Any], T]) -> T | None:
    """One option; a value that cannot be read is told with the option that brought it."""
    value = given[name.replace("-", "_")]
    if value is None:
        return None
    try:
        return read(value)
    except UnitError as problem:
        raise InputError(f"--{name} {problem}") from None


def _at_least_one(value: object) -> float:
    number = read_number(value)
    if number < 1:
        raise UnitError(f"{value} is less than one", "1 or more")
    return number


def _above_zero(value: object) -> float:
    minutes = read_duration_min(value)
    if minutes <= 0:
        raise UnitError(f"{value!r} is zero", "a duration above zero, such as 2 s")
    return minutes


def _loaded(file: str | None, overrides: tuple[str, ...]) -> LoadedScenario | None:
    if file is None:
        if overrides:
            raise click.UsageError("--set changes a value of a scenario: give its FILE")
        return None
    from afterload.scenario import load_scenario

    return load_scenario(file, overrides)


def _log(path: str | None, zone: Any) -> list[Reading]:
    """The readings of before; none where the file is not there yet, or empty."""
    from afterload.scenario.readings import Reading, read_readings

    if path is None or not Path(path).exists() or (Path(path).is_file() and not Path(path).stat().st_size):
        return []
    attachment, problems = read_readings(Path(path), zone)
    real = [problem for problem in problems if "holds no rows" not in problem.message]
    if real:
        lines = "\n".join(f"  {problem}" for problem in real[:20])
        raise InputError(f"{path} is not a log of readings that can be used; nothing was added:\n{lines}")
    return [row for row in attachment.rows if isinstance(row, Reading)] if isinstance(attachment.rows, tuple) else []


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


def _known(loaded: LoadedScenario | None, queue: str, given: dict[str, Any], zone: tzinfo | None) -> Known:
    """What is known beside the readings: from the scenario, and over it what is given here."""
    from afterload.findings.live_known import READ_SHARE, Known, Side, StatedRate, known_of, served_under_cap

    local = datetime.now().astimezone().tzinfo or UTC
    item_time, cap = _read("item-time", given, _above_zero), _read("cap", given, read_count)
    seconds = None if item_time is None else 60 * item_time
    if loaded is not None:
        base = known_of(loaded, queue, cap, seconds)
    else:
        base = Known(zone=local, cap=cap, item_time_s=seconds)
        if cap is not None and seconds is not None:
            under = served_under_cap(cap, seconds)
            base = replace(base, service=under, bound=replace(under, words=f"the cap of {cap:,} at once"))
    changes: dict[str, Any] = {} if zone is None else {"zone": zone}
    for option, field, read in (
        ("order", "order", str),
        ("restored", "restored_at", lambda text: read_instant(text, base.zone)),
        ("objective", "objective_min", read_duration_min),
    ):
        value: Any = _read(option, given, read)
        if value is not None:
            changes[field] = value
    tested, direct = _read("tested", given, read_rate_per_min), _read("direct", given, read_rate_per_min)
    tries = _read("tries", given, _at_least_one)
    side = base.side
    if side is None and tested is not None:
        side = Side("the dependency", tested)
    elif side is None and (direct is not None or tries is not None):
        raise click.UsageError("--direct and --tries are of a dependency: give what it is tested to with --tested")
    if side is not None:
        side = replace(
            side,
            tested_per_min=side.tested_per_min if tested is None else tested,
            direct_per_min=side.direct_per_min if direct is None else direct,
            attempts_failing=side.attempts_failing if tries is None else tries,
        )
    service = _read("service", given, read_rate_per_min)
    if service is not None:
        changes["service"], changes["consumers"] = StatedRate(service, READ_SHARE * service, "as read"), None
    return replace(base, side=side, **changes)


def _from_metrics(
    loaded: LoadedScenario | None, queue: str, given: dict[str, Any], known: Known
) -> list[Reading]:  # fmt: skip
    if not given["metrics"]:
        if given["series"]:
            raise click.UsageError("--series tells what a series of --metrics measures: give that too")
        return []
    from afterload.intake.live import metric_readings

    names: set[str] = set()
    if loaded is not None:
        resources = loaded.scenario.queues[queue].resources
        url = resources.queue_url
        names = {name for name in (resources.function, url, url.rsplit("/", 1)[-1] if url else None) if name}
    readings, remarks = metric_readings(
        given["metrics"], queue, zone=loaded.scenario.time_zone if loaded is not None else _read("zone", given, read_zone),
        series=given["series"], names=frozenset(names), since=known.restored_at,
    )  # fmt: skip
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


def _refuse_nonsense(new: Reading, earlier: list[Reading], now: datetime, known: Known) -> None:
    """What was mistyped spoils every later answer, so it is refused before it is kept."""
    if new.at > now + timedelta(minutes=FUTURE_MIN):
        raise InputError(f"--at {new.at.isoformat()} is in the future; it is {now.isoformat()} now")
    if new.age_min is not None and new.age_min > 0 and new.depth == 0:
        raise InputError(f"nothing waits, so the oldest cannot be {new.age_min:g} min old: leave --age out")
    before = max((item for item in earlier if item.at < new.at), key=lambda item: item.at, default=None)
    if before is None or before.depth < TYPO_LEAST:
        return
    minutes = (new.at - before.at).total_seconds() / 60
    if minutes <= TYPO_MIN and new.depth > TYPO_TIMES * before.depth:
        raise InputError(
            f"--depth {new.depth:,.0f} is more than {TYPO_TIMES:g} times the {before.depth:,.0f} of {minutes:.3g} min before: "
            "is it mistyped? Give --force if not"
        )
    fastest = known.service.per_min if known.service is not None else None
    if fastest is not None and before.depth - new.depth > TYPO_TIMES * fastest * max(1.0, minutes):
        raise InputError(
            f"--depth {new.depth:,.0f} is {before.depth - new.depth:,.0f} less than {minutes:.3g} min before, more than "
            f"{TYPO_TIMES:g} times what {fastest:,.4g}/min serve: is it mistyped, or was the queue purged? Then give --force"
        )
