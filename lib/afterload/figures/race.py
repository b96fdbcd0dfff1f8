"""The race chapter: can automation that applies numbered plans empty its own active state?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from afterload.figures.charts import AFTER, BEFORE, alt, chart_of, coloured, finish, tip
from afterload.figures.figure import Figure, Prose, Table
from afterload.figures.words import paragraph, sentence_list
from afterload.model.race import Automation, RaceResult, explore
from afterload.scenario import LoadedScenario
from afterload.units import format_count

__all__ = ["race_answer", "race_figure", "race_variants"]

NO_AUTOMATION = (
    "This scenario describes no automation that applies numbered plans. Give plan_automation, or plan_automation: published "
    "for the configuration of the reference event."
)
Case = tuple[str, Automation, RaceResult]


def automation_of(loaded: LoadedScenario) -> Automation | None:
    """The team's automation as the model takes it."""
    shape = loaded.scenario.plan_automation
    if shape is None:
        return None
    return Automation(
        appliers=shape.appliers,
        plans=tuple(shape.plans),
        check_at=shape.check_at,
        clean_up=shape.clean_up,
        generations=shape.generations,
        version_guard=shape.version_guard,
    )


def race_variants(loaded: LoadedScenario) -> tuple[Case, ...]:
    """The team's automation, and the same with each single remedy."""
    ours = automation_of(loaded)
    if ours is None:
        return ()
    cases = [("as it is", ours)]
    if not ours.version_guard:
        cases.append(("with a version guard on the apply", replace(ours, version_guard=True)))
    if ours.check_at != "apply":
        cases.append(("with the check at the apply", replace(ours, check_at="apply")))
    if ours.clean_up != "never the active":
        cases.append(("with a clean-up that spares the active plan", replace(ours, clean_up="never the active")))
    if ours.appliers > 1:
        cases.append(("with one applier", replace(ours, appliers=1)))
    return tuple((name, automation, explore(automation)) for name, automation in cases)


def race_answer(loaded: LoadedScenario, cases: tuple[Case, ...]) -> Prose:
    """Whether any interleaving empties the active state, and the shortest one that does."""
    if not cases:
        return paragraph(NO_AUTOMATION)
    _, automation, result = cases[0]
    lines = [
        f"{automation.appliers} appliers and the plans {', '.join(map(str, automation.plans))}: all "
        f"{format_count(result.states)} states that any interleaving reaches were visited."
    ]
    if result.is_safe:
        lines.append("None of them has an empty record: no order of steps removes the active plan.")
    else:
        refill = "some later step can fill it" if result.can_refill else "no later step fills it again"
        lines.append(
            f"{format_count(result.empty_states)} of them have an empty record. The shortest way there takes "
            f"{len(result.shortest)} steps, and {refill}."
        )
        safe = [name for name, _, other in cases[1:] if other.is_safe]
        lines.append(
            f"Removed completely: {'; '.join(safe)}." if safe else "None of the remedies below removes it alone."
        )
    return sentence_list(lines)


def race_figure(loaded: LoadedScenario, cases: tuple[Case, ...]) -> Figure | Prose:
    """The shortest sequence that empties the active state, and what each remedy leaves of it."""
    if not cases:
        return paragraph(NO_AUTOMATION)
    values: list[dict[str, Any]] = []
    for name, _, result in cases:
        values += [
            {"case": name, "what": "record empty", "states": result.empty_states},
            {"case": name, "what": "a plan is active", "states": result.states - result.empty_states},
        ]
    bars = (
        chart_of(values)
        .mark_bar(height={"band": 0.6})
        .encode(
            x=alt.X(
                "states", type="quantitative", title="states reached by some interleaving", axis=alt.Axis(format=",~f")
            ),
            y=alt.Y(
                "case", type="nominal", title=None, sort=[case[0] for case in cases], axis=alt.Axis(labelLimit=320)
            ),
            color=coloured("what", {"record empty": BEFORE, "a plan is active": AFTER}),
            tooltip=[tip("case"), tip("what"), tip("states", ",")],
        )
    )
    first = cases[0][2]
    rows = tuple(
        (str(place), f"applier {step.applier}", str(step).removeprefix(f"applier {step.applier} "))
        for place, step in enumerate(first.shortest, 1)
    )
    if not rows:
        rows = tuple((name, "", "safe" if result.is_safe else "can be emptied") for name, _, result in cases)
    return Figure(
        title="Every interleaving, and what each remedy leaves",
        chart=finish(bars, height=40 * len(cases)),
        table=Table(
            ("step", "who", "what"),
            rows,
            caption="The shortest sequence that empties the record" if first.shortest else "",
        ),
        source=f"{loaded.name}; the published configuration is that of the provider's summary of the event",
        method=(
            "Breadth first over all states: between any two steps of one applier all others may run. An applier picks up a "
            "plan, checks that it is newer than the active one, applies it and cleans up; a version guard lets an apply "
            "succeed only on the plan that was checked."
        ),
        alt="Bars of reachable states by case. "
        + " ".join(
            f"{name}: {format_count(result.empty_states)} of {format_count(result.states)} states have an empty record."
            for name, _, result in cases
        ),
    )
