"""The retries chapter, clients: how each kind retries, what its fleet holds, and what goes on once that is spent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from afterload.clients import ClientKind
from afterload.figures.charts import LINE_LEGEND, LONG_LEGEND, alt, chart_of, coloured, drawn, finish, tip
from afterload.figures.figure import Figure, Prose, Table
from afterload.figures.words import paragraph, sentence_list
from afterload.model.budgets import AdaptiveThrottling, ConcurrencyBudget, RateBudget
from afterload.model.deadline import DeadlineAttempts
from afterload.model.policies import FixedAttempts, FleetView, RetryQuota, RetryThrottling, TokenBucketRetry
from afterload.plan.change import counted, share
from afterload.scenario import LoadedScenario
from afterload.units import format_count, format_duration, format_number, format_share

__all__ = ["clients_answer", "clients_table", "fleets_figure"]

NO_CLIENTS = "This scenario names no clients: give sdk, version, mode and number to see how they retry."
GIVE_CALLS, GIVE_ATTEMPTS = "give calls", "give max_attempts"
MOST_KINDS = 20


def _sdk(kind: ClientKind) -> str:
    given, preset = kind.client, kind.preset
    text = f"{given.sdk} {given.version or ''}".strip()
    if kind.limit is not None:
        return f"{text}, {kind.limit.kind}"
    doubt = "" if preset.mode_known and preset.figures_known else ", if the version is old"
    return f"{text}, {preset.mode} mode{doubt}"


def _limit(kind: ClientKind) -> str:
    """What holds retries back, in a few words."""
    policy = kind.policy
    match policy:
        case FixedAttempts(attempts=1):
            return "it does not retry"
        case FixedAttempts() if kind.limit is None and kind.preset.quota is not None:
            return f"its quota takes no tokens for {kind.client.errors} errors"
        case RetryQuota():
            return f"{policy.capacity:,} tokens, {policy.cost(kind.client.errors)} a retry"
        case RetryThrottling():
            return f"{policy.max_tokens:g} tokens, {policy.token_ratio:g} a success; retries stop at half"
        case TokenBucketRetry():
            earned = f"{policy.per_success:g} a success" if policy.per_success else f"{policy.per_call:g} a call"
            return f"{policy.capacity:g} tokens, {earned}, {policy.cost:g} a retry"
        case ConcurrencyBudget():
            return f"{format_share(policy.share)} of what is in flight, at least {policy.least:g}"
        case RateBudget():
            earned = "calls" if policy.earned_by == "call" else "responses that do not fail"
            window = format_duration(policy.window_s / 60)
            return f"{format_share(policy.share)} of {earned}, at least {policy.least_per_s:g}/s, over {window}"
        case AdaptiveThrottling():
            return f"rejects by itself above {policy.multiplier:g} requests for one accepted"
        case DeadlineAttempts():
            return f"no limit up to a deadline of {format_duration(policy.deadline_s / 60)}"
    return "no limit" if policy is not None else "not known"


def _lacks(kind: ClientKind) -> str:
    return GIVE_ATTEMPTS if kind.policy is None else GIVE_CALLS


def _span(kind: ClientKind, seconds: float | None) -> str:
    """A time that follows from the call rate, as text."""
    if seconds is None:
        return "never"
    if seconds == 0:
        return "at once"
    return GIVE_CALLS if kind.client.calls_per_min is None else format_duration(seconds / 60)


def _burst(kind: ClientKind, view: FleetView) -> str:
    if view.burst_retries is None:
        return "no limit" if kind.limit is None else "never binds"
    return format_count(view.burst_retries)


def _refill(view: FleetView) -> str:
    if view.successes_to_refill is None:
        return "time refills it"
    return "nothing to refill" if view.successes_to_refill == 0 else f"{format_count(view.successes_to_refill)}"


def clients_answer(loaded: LoadedScenario, kinds: Sequence[ClientKind]) -> Prose:
    """Each kind of client in words."""
    return sentence_list([_sentence(kind) for kind in kinds]) if kinds else paragraph(NO_CLIENTS)


def _sentence(kind: ClientKind) -> str:
    number = kind.client.number
    who = f"{kind.name}: {counted(number, 'client')} ({_sdk(kind)})"
    own = kind.view(1.0)
    if own is None:
        field = "max_attempts" if kind.policy is None else "calls"
        why = "how often they try a call is not known" if kind.policy is None else "their limit follows their calls"
        return f"{who}: {why}, so give clients.{kind.name}.{field}."
    if own.burst_retries is None:
        tries = f"{format_number(own.open_loop or 1.0)} tries" if own.open_loop != 1 else "1 try"
        why = "nothing limits retries" if kind.limit is None else "their limit never binds at these calls"
        return f"{who}: {why}, so {tries} a call go on for as long as every attempt fails."
    if own.burst_retries == 0 and own.open_loop == 1:
        return f"{who}: a failing call is not tried again."
    verb = "holds" if number == 1 else "hold"
    held = f"{verb} {_retries(own.burst_retries)} in all"
    if isinstance(kind.policy, ConcurrencyBudget):
        held = f"{'lets' if number == 1 else 'let'} {_retries(own.burst_retries)} be in flight at once"
    first = "the tries of a call have no end" if own.open_loop is None else f"a call is tried {_times(own.open_loop)}"
    text = f"{who} {held}. While every attempt fails {first} at first"
    if own.time_to_bind_s == 0:
        text += f", and {_times(own.sustained or 1.0)} from then on, as nothing is saved up."
    elif own.time_to_bind_s is not None:
        when = "" if kind.client.calls_per_min is None else f", after {format_duration(own.time_to_bind_s / 60)},"
        text += f"; once they are spent{when} it is tried {_times(own.sustained or 1.0)}."
    else:
        text += ", which the limit never stops."
    if own.binds_above is not None:
        text += f" The limit binds only where more than {share(own.binds_above)} of attempts fail."
    if own.successes_to_refill:
        text += f" {format_count(own.successes_to_refill)} first-try successes make one client's reserve full again."
    return text


def _retries(number: float) -> str:
    return "1 retry" if round(number) == 1 else f"{format_count(number)} retries"


def _times(tries: float) -> str:
    return "once" if abs(tries - 1) < 5e-4 else f"{format_number(tries)} times"


def clients_table(loaded: LoadedScenario, kinds: Sequence[ClientKind]) -> Table | Prose:
    """How each kind of client retries, and what its fleet holds."""
    if not kinds:
        return paragraph(NO_CLIENTS)
    records = []
    for kind in kinds:
        view, attempts = kind.view(1.0), kind.attempts
        lacks = _lacks(kind)
        records.append(
            {
                "clients": kind.name,
                "number": kind.client.number,
                "SDK and mode": _sdk(kind),
                "attempts a call": "no count" if attempts is None else format_count(attempts),
                "held back by": _limit(kind),
                "retries the fleet holds": lacks if view is None else _burst(kind, view),
                "binds above": lacks if view is None else _above(view),
                "successes to refill": lacks if view is None else _refill(view),
            }
        )
    formats = {name: format_count if name == "number" else str for name in records[0]}
    return Table.of(records, formats, caption="How each kind of client retries a failing call, and what holds it back")


def _above(view: FleetView) -> str:
    return "never" if view.binds_above is None else f"{share(view.binds_above)} failing"


def fleets_figure(loaded: LoadedScenario, kinds: Sequence[ClientKind]) -> Figure | Prose:
    """Tries a call before and after each fleet's limit binds."""
    known = [kind for kind in kinds if kind.view(1.0) is not None]
    if not known:
        return paragraph(NO_CLIENTS if not kinds else "No kind of client here says enough to compute its tries a call.")
    shown, notes = drawn(known, lambda kind: float(kind.client.number), most=MOST_KINDS)
    grid = np.linspace(0.0, 1.0, 21)
    values: list[dict[str, Any]] = []
    for kind in shown:
        view = kind.view(1.0)
        bend = [] if view is None or view.binds_above is None else [view.binds_above]
        points = np.union1d(grid, bend)
        for p, tries in zip(points, kind.long_run(points), strict=True):
            first = None if kind.policy is None else kind.policy.open_loop(kind.load(float(p)))
            at = {"clients": kind.name, "p": round(float(p), 4)}
            if first is not None:
                values.append({**at, "when": "until it binds", "tries": round(first, 4)})
            values.append({**at, "when": "in the long run", "tries": round(float(tries), 4)})
    lines = (
        chart_of(values)
        .mark_line(strokeWidth=2.5, point=alt.OverlayMarkDef(size=20, opacity=0.01))
        .encode(
            x=alt.X("p", type="quantitative", axis=alt.Axis(format=".0%"), title="share of attempts that fail"),
            y=alt.Y("tries", type="quantitative", title="tries a call"),
            color=coloured("clients", legend=LONG_LEGEND),
            strokeDash=alt.StrokeDash(
                "when", type="nominal", title=None, legend=LINE_LEGEND,
                scale=alt.Scale(domain=["in the long run", "until it binds"], range=[[1, 0], [5, 4]]),
            ),
            tooltip=[tip("clients"), tip("when"), tip("p", ".0%", "attempts that fail"), tip("tries", ",.2f")],
        )
    )  # fmt: skip
    records = [_record(kind, p) for kind in kinds for p in kind.failing]
    return Figure(
        title="What each fleet of clients sends while attempts fail",
        chart=finish(lines),
        table=Table.of(records, dict.fromkeys(records[0], str)),
        source=_sources(loaded, kinds),
        method=(
            "Each kind by its own policy, with independent failures. Until the limit binds a call of n attempts is tried "
            "(1 - p^n) / (1 - p) times; in the long run as often as the limit earns. Every client holds a reserve of its "
            "own, and a restarted one starts full. Times need the calls of one client; the reserve fills when no attempt "
            f"fails any more. Figures of clients and limits: {_preset_sources(kinds)}."
        ),
        notes=notes + tuple(_notes(kinds)),
        alt="Lines of tries a call against the share of attempts that fail. "
        + " ".join(f"{kind.name}: {_summary(kind)}." for kind in shown),
    )


def _summary(kind: ClientKind) -> str:
    view = kind.view(1.0)
    if view is None:
        return "not known"
    first = "without end" if view.open_loop is None else format_number(view.open_loop)
    return f"{first} while every attempt fails, {format_number(view.sustained or 0.0)} in the long run"


def _record(kind: ClientKind, p: float) -> dict[str, str]:
    view, lacks = kind.view(p), _lacks(kind)
    record = {"clients": kind.name, "attempts that fail": share(p)}
    if view is None:
        names = ("tries a call at first", "limit binds after", "then tries a call", "retries of the fleet, a second",
                 "full again after")  # fmt: skip
        return record | dict.fromkeys(names, lacks)
    return record | {
        "tries a call at first": "no end" if view.open_loop is None else format_number(view.open_loop),
        "limit binds after": _span(kind, view.time_to_bind_s),
        "then tries a call": format_number(view.sustained or 0.0),
        "retries of the fleet, a second": _flow(kind, view),
        "full again after": (
            "nothing to refill" if view.successes_to_refill == 0 else _span(kind, view.time_to_refill_s)
        ),
    }


def _flow(kind: ClientKind, view: FleetView) -> str:
    """Retries a second of the whole fleet, first and later."""
    if kind.client.calls_per_min is None:
        return GIVE_CALLS
    calls = kind.client.calls_per_min / 60 * kind.client.number
    later = format_number(calls * max(0.0, (view.sustained or 0.0) - 1.0))
    if view.open_loop is None:
        return f"no end, then {later}"
    first = format_number(calls * (view.open_loop - 1.0))
    return first if view.time_to_bind_s is None else f"{first}, then {later}"


def _notes(kinds: Sequence[ClientKind]) -> list[str]:
    seen = {kind.limit.note if kind.limit is not None else kind.preset.note: kind.name for kind in reversed(kinds)}
    return [f"{name}: {note}." for note, name in reversed(seen.items()) if note]


def _preset_sources(kinds: Sequence[ClientKind]) -> str:
    return ", ".join(sorted({kind.preset.source if kind.limit is None else kind.limit.source for kind in kinds}))


def _sources(loaded: LoadedScenario, kinds: Sequence[ClientKind]) -> str:
    given = sorted({kind.client.source for kind in kinds if kind.client.source})
    return f"{loaded.name} ({'; '.join(given)})" if given else loaded.name
