"""The retries chapter: what one call at the top becomes at the bottom."""

from __future__ import annotations

from typing import Any

import numpy as np

from afterload.estimates import Estimates, StackEstimate
from afterload.figures.charts import LINE_LEGEND, MOST_VALUES, alt, chart_of, coloured, drawn, finish, tip
from afterload.figures.figure import Figure, Number, Prose, Table
from afterload.figures.words import paragraph, sentence_list
from afterload.model.retries import stack
from afterload.plan.change import failing, share
from afterload.units import format_count, format_number, format_share

__all__ = ["calls_in_words", "layers_data", "layers_figure", "probability_figure", "retries_answer"]

NO_STACKS = "This scenario has no call stacks, so no retry multiplier is computed."


def _source(estimates: Estimates) -> str:
    given = sorted({item.stack.source for item in estimates.stacks.values() if item.stack.source})
    words = "; ".join(given)
    return f"{estimates.loaded.name} ({words})" if words else estimates.loaded.name


def retries_answer(estimates: Estimates) -> Prose:
    """Each call stack in words."""
    if not estimates.stacks:
        return paragraph(NO_STACKS)
    return sentence_list([_sentence(item) for item in estimates.stacks.values()])


def _sentence(item: StackEstimate) -> str:
    tries = " x ".join(str(layer.tries) for layer in item.stack.layers)
    probability = item.stack.failure_probability
    text = (
        f"{item.name}: when {failing(probability)} at the bottom, one call at the top becomes "
        f"{calls_in_words(item.result.multiplier)} at the bottom ({tries} tries), and "
        f"{share(item.result.success_probability)} of calls succeed at the top."
    )
    if probability < 1:
        most = stack([layer.tries for layer in item.stack.layers], 1.0).multiplier
        text += f" If every attempt fails, it becomes {calls_in_words(most)}."
    if item.stack.request_rate_per_min is not None:
        load = item.stack.request_rate_per_min * item.result.multiplier
        text += (
            f" {format_number(item.stack.request_rate_per_min)} calls a minute at the top become {format_number(load)} a "
            f"minute{'' if probability == 1 else f' when {share(probability)} fail'}."
        )
    return text


def calls_in_words(multiplier: float) -> str:
    """How many calls one becomes."""
    text = format_number(multiplier)
    return f"{text} {'call' if text == '1' else 'calls'}"


def _weight(item: StackEstimate) -> float:
    return item.result.multiplier


def layers_figure(estimates: Estimates) -> Figure | Prose:
    """Calls at each layer for one call at the top."""
    if not estimates.stacks:
        return paragraph(NO_STACKS)
    values: list[dict[str, Any]] = []
    records = []
    shown, notes = drawn(estimates.stacks.values(), _weight, lambda item: len(item.stack.layers), MOST_VALUES)
    for item in estimates.stacks.values():
        for place, layer in enumerate(item.stack.layers):
            calls = item.result.calls_per_top_call[place]
            label = f"{place + 1} {layer.name}"
            if item in shown:
                values.append({"stack": item.name, "layer": label, "calls": round(calls, 6), "tries": layer.tries})
            records.append(
                {
                    "stack": item.name,
                    "layer": label,
                    "most tries": Number(format_count(layer.tries)),
                    "tries made": Number(format_number(item.result.tries[place])),
                    "calls it makes for one at the top": Number(format_number(calls)),
                    "fails after its tries": Number(share(item.result.failure_after[place])),
                }
            )
    several = len(estimates.stacks) > 1
    bars = (
        chart_of(values)
        .mark_bar(height={"band": 0.7})
        .encode(
            x=alt.X(
                "calls", type="quantitative", scale=alt.Scale(type="symlog", constant=1),
                axis=alt.Axis(format=",~f", values=_ticks(values)), title="calls for one call at the top (logarithmic)",
            ),
            y=alt.Y("layer", type="nominal", sort=None, title=None, axis=alt.Axis(labelLimit=220)),
            yOffset=alt.YOffset("stack", type="nominal") if several else alt.Undefined,
            color=coloured("stack"),
            tooltip=[
                tip("stack"), tip("layer"), alt.Tooltip("tries", type="quantitative", title="most tries"), tip("calls", ",.4~f"),
            ],
        )
    )  # fmt: skip
    return Figure(
        title="Calls at each layer",
        chart=finish(bars, height=max(120, 34 * len({value["layer"] for value in values}))),
        table=Table.of(
            records,
        ),
        source=_source(estimates),
        notes=notes,
        method=(
            "From the bottom up, with independent failures of probability p at the dependency: a layer of n tries makes "
            "(1 - q^n) / (1 - q) calls and fails with q^n, where q is how often the layer below fails. Calls at a layer are "
            "the product of the tries from the top to it."
        ),
        alt="Bars of calls at each layer, top to bottom. "
        + " ".join(
            f"{item.name}: {', '.join(format_number(calls) for calls in item.result.calls_per_top_call)}."
            for item in estimates.stacks.values()
        ),
    )


def _ticks(values: list[dict[str, Any]]) -> list[int]:
    """1, 3, 10, 30 and so on, up to the largest value."""
    most = max(float(value["calls"]) for value in values)
    ticks, power = [0], 1
    while power <= most * 1.5:
        ticks += [power, 3 * power]
        power *= 10
    return [tick for tick in ticks if tick <= most * 1.5]


def probability_figure(estimates: Estimates) -> Figure | Prose:
    """The multiplier at any failure probability."""
    if not estimates.stacks:
        return paragraph(NO_STACKS)
    shown, notes = drawn(estimates.stacks.values(), _weight)
    grid = np.linspace(0.0, 1.0, min(51, max(11, MOST_VALUES // len(shown) // 10 * 10 + 1)))
    marks = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
    values: list[dict[str, Any]] = []
    records = []
    for item in estimates.stacks.values():
        tries = [layer.tries for layer in item.stack.layers]
        if item in shown:
            values += [
                {"stack": item.name, "p": round(float(p), 4), "multiplier": round(stack(tries, float(p)).multiplier, 6)}
                for p in grid
            ]
        records.append({"stack": item.name} | {format_share(p): stack(tries, p).multiplier for p in marks})
    today = [
        {"stack": item.name, "p": item.stack.failure_probability, "multiplier": round(item.result.multiplier, 6)}
        for item in shown
    ]
    y = alt.Y(
        "multiplier", type="quantitative", scale=alt.Scale(type="log"), axis=alt.Axis(format=",~f"),
        title="calls at the bottom for one at the top (logarithmic)",
    )  # fmt: skip
    x = alt.X("p", type="quantitative", axis=alt.Axis(format=".0%"), title="share of attempts that fail")
    colour = coloured("stack", legend=LINE_LEGEND)
    tooltip = [
        alt.Tooltip("stack", type="nominal"),
        alt.Tooltip("p", type="quantitative", title="attempts that fail", format=".0%"),
        alt.Tooltip("multiplier", type="quantitative", format=",.2f"),
    ]
    lines = chart_of(values).mark_line(strokeWidth=2.5).encode(x=x, y=y, color=colour, tooltip=tooltip)
    points = chart_of(today).mark_point(size=110, filled=True).encode(
        x=x, y=y, color=colour, tooltip=tooltip
    )  # fmt: skip
    return Figure(
        title="Multiplier against failure probability",
        chart=finish(lines + points),
        table=Table.of(
            records,
            {"stack": str} | {format_share(p): format_number for p in marks},
            caption="Calls at the bottom for one at the top, by share of attempts that fail",
        ),
        source=_source(estimates),
        method="The same formula at other failure probabilities; the point is the scenario's.",
        notes=notes,
        alt="Rising curves of the retry multiplier against failure probability. "
        + " ".join(
            f"{item.name} is at {format_number(item.result.multiplier)} for {share(item.stack.failure_probability)}."
            for item in estimates.stacks.values()
        ),
    )


def layers_data(estimates: Estimates) -> list[list[dict[str, Any]]]:
    """The data alone of the chart of calls at each layer; empty where there is no call stack."""
    shown, _ = drawn(estimates.stacks.values(), _weight, lambda item: len(item.stack.layers), MOST_VALUES)
    values = [
        {
            "stack": item.name,
            "layer": f"{place + 1} {layer.name}",
            "calls": round(item.result.calls_per_top_call[place], 6),
            "tries": layer.tries,
        }
        for item in shown
        for place, layer in enumerate(item.stack.layers)
    ]
    return [values] if values else []
