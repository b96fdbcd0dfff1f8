"""The retries chapter, jitter: when clients that failed together come back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from afterload.clients import ClientKind
from afterload.figures.charts import COLOURS, LINE_LEGEND, alt, chart_of, finish, tip
from afterload.figures.figure import Figure, Prose, Table
from afterload.figures.words import paragraph
from afterload.model.curves import FloatArray
from afterload.model.jitter import Backoff, Jitter, retry_wave
from afterload.plan.change import counted
from afterload.scenario import LoadedScenario
from afterload.units import format_count, format_duration, format_number

__all__ = ["retry_waves", "waves_figure"]

NO_WAVES = "This scenario names no clients that retry, so no load shape of their retries is drawn."
SEED = 20_251_020
# Clients followed one by one: small fleets are drawn several times and averaged, large ones are scaled.
FOLLOWED = 40_000
MOST_RETRIES = 10
# Steps in the base of the backoff: as long as the base, a step would hide how jitter spreads the first retries.
STEPS_IN_BASE = 10
# Steps that the chart shows, of each of four kinds of jitter.
SHOWN = 240
# Base and cap of an exponential backoff where those of the SDK are not known.
USUAL = Backoff("full", 1.0, 20.0)


@dataclass(frozen=True)
class Waves:
    """Retries of one kind of client after all of them failed at the same moment.

    Attributes:
        kind: the clients.
        own: how they wait; None: not known, so that the usual base and cap are used.
        retries: retries of each that are followed.
        step_s: length of a step in seconds.
        sends: mean retries in each step by kind of jitter, each of shape (steps,).
    """

    kind: ClientKind
    own: Backoff | None
    retries: int
    step_s: float
    sends: dict[Jitter, FloatArray]

    @property
    def steps(self) -> int:
        """Steps counted."""
        return len(self.sends["none"])

    def most_in_a_second(self, jitter: Jitter) -> float:
        """Most retries in one second, from the failure on; less where all of them are over sooner."""
        per_second = max(1, round(1.0 / self.step_s))
        return float(np.add.reduceat(self.sends[jitter], np.arange(0, self.steps, per_second)).max())


def retry_waves(kinds: Sequence[ClientKind]) -> Waves | None:
    """The load shapes of the largest kind of client that retries; None where none does."""
    retrying = [kind for kind in kinds if kind.policy is not None and kind.attempts != 1]
    if not retrying:
        return None
    kind = max(retrying, key=lambda item: item.client.number)
    own, base = kind.backoff, kind.backoff or USUAL
    retries = min(MOST_RETRIES, (kind.attempts or MOST_RETRIES + 1) - 1)
    plain = _backoff("none", base)
    last_s = sum(plain.longest_s(place + 1) for place in range(retries))
    step_s = base.base_s / STEPS_IN_BASE
    steps = math.floor(last_s / step_s + 1e-9) + 1
    number = kind.client.number
    followed = number * math.ceil(FOLLOWED / number) if number < FOLLOWED else FOLLOWED
    sends: dict[Jitter, FloatArray] = {}
    for jitter in get_args(Jitter):
        wave = retry_wave(
            _backoff(jitter, base), followed, retries, np.random.default_rng(SEED), step_s=step_s, span_s=steps * step_s
        )
        sends[jitter] = np.asarray(wave.sends * (number / followed), dtype=np.float64)
    return Waves(kind, own, retries, step_s, sends)


def _backoff(jitter: Jitter, base: Backoff) -> Backoff:
    at_once = base.first_at_once and jitter != "decorrelated"
    return Backoff(jitter, base.base_s, base.cap_s, first_at_once=at_once)


def waves_figure(loaded: LoadedScenario, waves: Waves | None) -> Figure | Prose:
    """Retries second by second with each kind of jitter, and peak over mean."""
    if waves is None:
        return paragraph(NO_WAVES)
    kind, base = waves.kind, waves.own or USUAL
    each = format_duration(waves.step_s / 60)
    values: list[dict[str, Any]] = []
    records: list[dict[str, Any]] = []
    for jitter, sends in waves.sends.items():
        label = f"{jitter} jitter" if jitter != "none" else "no jitter"
        values += [
            {"jitter": label, "seconds": round(place * waves.step_s, 6), "retries": round(float(count), 3)}
            for place, count in enumerate(sends[:SHOWN])
        ]
        peak, mean = float(sends.max()), float(sends.mean())
        records.append(
            {
                "jitter": label,
                "as it is": f"what {kind.name} does" if waves.own is not None and waves.own.jitter == jitter else "",
                f"most retries in {each}": peak,
                f"mean in {each}": mean,
                "peak over mean": peak / mean if mean else 1.0,
                "most in one second": waves.most_in_a_second(jitter),
            }
        )
    lines = (
        chart_of(values)
        .mark_line(interpolate="step-after", strokeWidth=2, point=alt.OverlayMarkDef(size=20, opacity=0.01))
        .encode(
            x=alt.X("seconds", type="quantitative", title="seconds after the failure", axis=alt.Axis(format=",~f")),
            y=alt.Y("retries", type="quantitative", title=f"retries in {each}", axis=alt.Axis(format=",~f")),
            color=alt.Color(
                "jitter", type="nominal", title=None, sort=None, scale=alt.Scale(range=list(COLOURS)),
                legend=LINE_LEGEND,
            ),
            tooltip=[tip("jitter"), tip("seconds", ",~f"), tip("retries", ",.1~f")],
        )
    )  # fmt: skip
    cap = "without a cap" if base.cap_s is None else f"up to {format_duration(base.cap_s / 60)}"
    known = (
        f"those of {kind.preset.sdk}" if waves.own is not None else "usual ones, as those of this client are not known"
    )
    clients, retries = (
        counted(kind.client.number, "client"),
        "1 retry" if waves.retries == 1 else f"{waves.retries} retries",
    )
    notes = [f"{kind.name} sends its first retry at once, and only later ones wait."] if base.first_at_once else []
    if waves.steps > SHOWN:
        notes.append(
            f"The chart shows the first {format_duration(SHOWN * waves.step_s / 60)}; the table counts all of it."
        )
    span = format_duration(waves.steps * waves.step_s / 60)
    return Figure(
        title="Retries of clients that failed together",
        chart=finish(lines),
        table=Table.of(
            records, {name: str if name in ("jitter", "as it is") else _format(name) for name in records[0]}
        ),
        source=loaded.name,
        method=(
            f"{clients} of {kind.name} fail in one moment, and the dependency stays away: {retries} of each in {span}. "
            f"Waits double from {format_duration(base.base_s / 60)} {cap}, {known}. Without jitter a client waits just that "
            "long, with equal jitter half of it and up to as much again, with full jitter anything up to it, with "
            "decorrelated jitter anything from the base to three times the wait before. The mean of many draws; retries "
            "after that span are left out."
        ),
        notes=tuple(notes),
        alt="Lines of retries after a common failure. "
        + " ".join(
            f"{record['jitter']}: peak {format_number(float(record['peak over mean']))} times the mean."
            for record in records
        ),
    )


def _format(name: str) -> Any:
    return format_count if name.startswith("most") else format_number
