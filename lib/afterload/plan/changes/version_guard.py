"""Compare-and-set on the plan that automation applies, so that no interleaving empties the record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from afterload.errors import ModelError
from afterload.estimates import Estimates
from afterload.model.race import Automation, explore
from afterload.plan.change import DO, IN_PLACE, NEEDS_EVIDENCE, Change, PlanItem, counted, owner_of, where
from afterload.scenario.coupled_schema import PlanAutomation

ID = "version-guard"
TARGET = "plan_automation"


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    shape = estimates.loaded.scenario.plan_automation
    if shape is not None:
        yield _item(estimates, shape)


def _item(estimates: Estimates, shape: PlanAutomation) -> PlanItem:
    loaded, owner = estimates.loaded, owner_of(estimates)
    line = where(loaded, TARGET)
    today = Automation(
        appliers=shape.appliers,
        plans=tuple(shape.plans),
        check_at=shape.check_at,
        clean_up=shape.clean_up,
        generations=shape.generations,
        version_guard=shape.version_guard,
    )
    what = f"{counted(shape.appliers, 'applier')} of {counted(len(shape.plans), 'plan')} ({line})"
    try:
        before, after = explore(today), explore(replace(today, version_guard=True))
    except ModelError as problem:
        words = f"{what}: {problem}. Give fewer of {TARGET}.appliers or {TARGET}.plans."
        return PlanItem(ID, TARGET, NEEDS_EVIDENCE, words, owner=owner)
    states = f"{counted(before.empty_states, 'state')} of {before.states:,} with an empty record"
    if before.is_safe or shape.version_guard:
        return PlanItem(ID, TARGET, IN_PLACE, f"{what} can reach {states}.", owner=owner)
    refill = "" if before.can_refill else " Nothing that can follow the shortest of these fills it again."
    return PlanItem(
        ID, TARGET, DO, f"{what} can reach {states}, the nearest after {counted(len(before.shortest), 'step')}.{refill}",
        bounds=f"Bounds what can happen: {counted(before.empty_states, 'state')} with an empty record today, "
        f"{counted(after.empty_states, 'state')} of {after.states:,} with it.",
        price="An apply that lost the race is refused, and has to be taken up anew.",
        owner=owner,
        apply=("# write the record only if the plan in force is still the one that was checked: a conditional write",
               "# in DynamoDB: a ConditionExpression on the plan's number; in S3: If-Match with the ETag that was read"),
        undo=("# write the record without the condition",),
        edit={f"{TARGET}.version_guard": True},
    )  # fmt: skip


CHANGE = Change(
    id=ID,
    order=6,
    title="A version guard on automation that applies plans",
    why="A check that is old when its apply comes lets an older plan win, and a clean-up then deletes what is in force.",
    exercise="Stall one applier between its check and its apply, let the others go on, and see its write refused.",
    reference="event summary, on the automation of DNS records",
    items=_items,
    effort_days=3,
    risk="An applier that does not handle the refusal stops: let it take the newest plan anew.",
)
