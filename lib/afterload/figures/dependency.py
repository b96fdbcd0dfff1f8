"""The dependency chapter: hidden capacity, classes of load, and which triggers heal by themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from afterload.figures.charts import AFTER, BEFORE, GREY, alt, chart_of, coloured, finish, tip
from afterload.figures.figure import Figure, Number, Prose, Table
from afterload.figures.words import paragraph, sentence_list
from afterload.findings.dependencies import DependencyStanding, dependency_standings
from afterload.model.overload import RetryingService, is_near, retry_allowance
from afterload.model.trigger import trigger_map
from afterload.recovery.build import Coupling
from afterload.units import format_duration, format_number, format_rate

__all__ = ["dependency_answer", "hidden_figure", "trigger_figure"]

NO_DEPENDENCIES = "This scenario has no dependencies: give one with its tested rate to see its hidden capacity."
MEANING = {
    "stable": "it heals by itself from any trigger",
    "vulnerable": "it runs well until a trigger, and then stays down",
    "overloaded": "it cannot bear this load even when it is healthy",
}
# Limits that are drawn and listed: one for all that call, in the parts they have in the recovery, and one for direct traffic.
MIX = "hidden capacity for this mix"
ALONE = "hidden capacity for direct traffic alone"
# The same in the legend, which stands beside another one in a narrow chart.
SHORT = {MIX: "hidden, mix", ALONE: "hidden, direct"}
# Retries in the map of triggers, as many as five layers of three tries make; more take seconds. Many are solved in longer steps.
MOST_RETRIES = 242
MANY_RETRIES = 30
# Below this share of capacity a hidden capacity would be off an even scale of loads.
EVEN_SHARE = 0.1
# Attempts that are a whole number to this share are the map's own.
ROUNDED_ATTEMPTS = 1e-6


def dependency_answer(coupling: Coupling | None) -> Prose:
    """Each dependency in words."""
    standings = dependency_standings(coupling)
    if not standings:
        return paragraph(NO_DEPENDENCIES)
    return sentence_list([_words(item) for item in standings])


def _words(item: DependencyStanding) -> str:
    kind, parts = item.kind, [f"{item.name} bears {format_rate(item.capacity)}."]
    if item.is_mixed:
        held = "" if item.direct_kind == "stable" else ": once down it stays so, even while every drain is held"
        parts.append(
            f"While it fails a direct request costs {format_number(item.direct_attempts)} attempts, so the hidden capacity for "
            f"direct traffic alone is {format_rate(item.direct_hidden)}; that traffic is {format_rate(item.direct)}, "
            f"{item.direct_kind}{held}."
        )
    one = "In the mix of the recovery a request" if item.is_mixed else "While it fails a request"
    callers = (
        "the mean over direct traffic and drains with the retries of all their clients and layers"
        if item.direct > 0 and item.drains > 0
        else "with the retries of all its clients and layers"
    )
    its = "the hidden capacity for this mix" if item.is_mixed else "its hidden capacity"
    parts.append(
        f"{one} costs {format_number(item.mean_attempts)} attempts, {callers}, so {its}, up to which it heals by itself, is "
        f"{format_rate(item.hidden)}."
    )
    parts.append(
        f"In the recovery it gets {format_rate(item.load)} "
        f"({format_rate(item.direct)} direct and {format_rate(item.drains)} of drains): {kind}, {MEANING[kind]}."
    )
    if kind == "vulnerable":
        parts.append(f"It heals if retries are held under {format_rate(retry_allowance(item.capacity, item.load))}.")
    if is_near(item.load, item.hidden) or is_near(item.load, item.capacity):
        parts.append("The load is within 2 % of a boundary, so this verdict is not certain.")
    elif item.is_mixed and is_near(item.direct, item.direct_hidden):
        parts.append("Direct traffic is within 2 % of its hidden capacity, so its verdict is not certain.")
    return " ".join(parts)


def hidden_figure(coupling: Coupling | None) -> Figure | Prose:
    """Load of each dependency against its hidden and its advertised capacity."""
    standings = dependency_standings(coupling)
    if coupling is None or not standings:
        return paragraph(NO_DEPENDENCIES)
    values, marks, records = [], [], []
    for item in standings:
        for part, rate in (("direct traffic", item.direct), ("drains", item.drains)):
            values.append({"dependency": item.name, "part": part, "rate": round(rate, 3)})
        limits = [(MIX, item.hidden), (ALONE, item.direct_hidden), ("capacity", item.capacity)]
        for what, rate in limits if item.is_mixed else limits[::2]:
            marks.append({"dependency": item.name, "limit": SHORT.get(what, what), "rate": round(rate, 3)})
        records.append(
            {
                "dependency": item.name,
                "capacity": Number(format_rate(item.capacity)),
                "mean attempts while failing": Number(format_number(item.mean_attempts)),
                MIX: Number(format_rate(item.hidden)),
                "load in the recovery": Number(format_rate(item.load)),
                "class": item.kind,
                "attempts of direct traffic": Number(format_number(item.direct_attempts) if item.direct > 0 else ""),
                ALONE: Number(format_rate(item.direct_hidden) if item.direct > 0 else ""),
                "class of direct traffic alone": item.direct_kind if item.direct > 0 else None,
                "room for retries": Number(
                    format_rate(retry_allowance(item.capacity, item.load) if item.load <= item.capacity else 0.0)
                ),
            }
        )
    bars = (
        chart_of(values)
        .mark_bar(height={"band": 0.5})
        .encode(
            x=alt.X("rate", type="quantitative", title="requests a minute", axis=alt.Axis(format=",~f")),
            y=alt.Y("dependency", type="nominal", title=None),
            color=coloured("part"),
            tooltip=[tip("dependency"), tip("part"), tip("rate", ",.0f")],
        )
    )
    ticks = (
        chart_of(marks)
        .mark_tick(thickness=3, size=56)
        .encode(
            x=alt.X("rate", type="quantitative"),
            y=alt.Y("dependency", type="nominal"),
            color=coloured("limit", {SHORT[MIX]: BEFORE, SHORT[ALONE]: GREY, "capacity": "black"}),
            tooltip=[tip("limit"), tip("rate", ",.0f")],
        )
    )
    return Figure(
        title="Load against hidden capacity",
        chart=finish(alt.layer(bars, ticks).resolve_scale(color="independent"), height=max(90, 70 * len(standings))),
        table=Table.of(
            records,
        ),
        source=coupling.loaded.name,
        method=(
            "Hidden capacity = capacity / attempts of a request while failing: for the mix of direct traffic and drains their "
            "mean, weighted by rates; for direct traffic alone its own. At or below it a load is stable; up to capacity "
            "vulnerable; above it overloaded. Source of the idea: Metastable Failures in Distributed Systems, HotOS 2021."
        ),
        alt="Bars of load with ticks at hidden capacity and capacity. "
        + " ".join(
            f"{item.name}: load {format_rate(item.load)}, {MIX} {format_rate(item.hidden)}, "
            + (f"{ALONE} {format_rate(item.direct_hidden)}, " if item.is_mixed else "")
            + f"capacity {format_rate(item.capacity)}."
            for item in standings
        ),
    )


def trigger_figure(coupling: Coupling | None) -> Figure | Prose:
    """Which length of a full outage the first dependency survives by itself, at which load."""
    standings = dependency_standings(coupling)
    if coupling is None or not standings:
        return paragraph(NO_DEPENDENCIES)
    item = max(standings, key=lambda standing: standing.load / standing.capacity)
    # One kind of caller, since the map is of requests that are all tried alike; its retries are whole.
    attempts = item.caller_attempts
    retries = min(MOST_RETRIES, max(0, round(attempts) - 1))
    service = RetryingService(item.capacity / 60, timeout_s=item.timeout_s, retries=retries)
    hidden = service.hidden_capacity_per_s / service.capacity_per_s
    # The map reaches below hidden capacity, so that it shows where every outage heals.
    shares = np.linspace(0.05, 0.98, 24) if hidden > EVEN_SHARE else np.geomspace(0.8 * hidden, 0.98, 24)
    loads = shares * service.capacity_per_s
    lengths = np.geomspace(0.25, 16.0, 19) * item.timeout_s
    found = trigger_map(
        service, loads.tolist(), lengths_s=lengths.tolist(), steps_per_timeout=20 if retries <= MANY_RETRIES else 8
    )
    values = []
    for row, length in enumerate(lengths):
        for column, load in enumerate(loads):
            seconds = found.recovery_s(row, column)
            values.append(
                {
                    "load": float(f"{load * 60:.4g}"),
                    "length": f"{length:.2g} s",
                    "verdict": "not certain" if found.is_uncertain[row, column] else found.verdict(row, column),
                    "recovery": "never" if seconds is None else f"{seconds:.3g} s",
                }
            )
    order = [f"{length:.2g} s" for length in lengths]
    cells = (
        chart_of(values)
        .mark_rect()
        .encode(
            x=alt.X(
                "load", type="ordinal", title="requests a minute", axis=alt.Axis(labelOverlap=True, format=",.3~r")
            ),
            y=alt.Y(
                "length",
                type="ordinal",
                sort=order[::-1],
                title="length of a full outage",
                axis=alt.Axis(labelOverlap=True),
            ),
            color=coloured("verdict", {"heals itself": AFTER, "stays down": BEFORE, "not certain": "#bbbbbb"}),
            tooltip=[
                tip("load", ",.4~r", "requests a minute"),
                tip("length", title="outage"),
                tip("verdict"),
                tip("recovery", title="time to recover"),
            ],
        )
    )
    records = []
    for column in range(0, len(loads), 4):
        heals = [float(length) for row, length in enumerate(lengths) if found.heals[row, column]]
        records.append(
            {
                "load": format_rate(float(loads[column]) * 60),
                "class": service.classify(float(loads[column])),
                "longest outage tried that heals": "none" if not heals else f"{max(heals):.2g} s",
                "shortest that stays down": _shortest(found, lengths, column),
            }
        )
    healing, whose = format_rate(60 * service.hidden_capacity_per_s), "direct traffic" if item.direct > 0 else "drains"
    tries = f"{retries} {'retry' if retries == 1 else 'retries'} of a request"
    inexact = (
        f"The nearest that the map can take to {format_number(attempts)} attempts: with these hidden capacity would be "
        f"{format_rate(item.capacity / attempts)}. "
        if abs(attempts - 1 - retries) > ROUNDED_ATTEMPTS * attempts
        else ""
    )
    return Figure(
        title=f"Which outages {item.name} survives by itself",
        chart=finish(cells, height=300),
        table=Table.of(records, dict.fromkeys(records[0], str)),
        source=f"{coupling.loaded.name}; time-out {format_duration(item.timeout_s / 60)}",
        method=(
            f"At the scale of seconds: capacity {format_number(service.capacity_per_s)}/s, "
            f"time-out {format_number(item.timeout_s)} s, "
            f"all load with the attempts of {whose}: {tries}, so a hidden capacity of {healing}. "
            f"{inexact}Work of callers who have left is still done. Compare the boundary with "
            "your own test: apply a trigger at a known load and see whether the system quiets down unaided."
        ),
        alt=(
            f"Map of outage length against load for {item.name}, all of it with the attempts of {whose}. Hidden capacity "
            f"{healing}: below it every outage heals, above it outages past a length stay down."
        ),
    )


def _shortest(found: Any, lengths: Any, column: int) -> str:
    down = [float(length) for row, length in enumerate(lengths) if not found.heals[row, column]]
    return "none" if not down else f"{min(down):.2g} s"
