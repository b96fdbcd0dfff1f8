"""The change plan: what to change before the next event, in order, each with what it buys this team."""

from afterload.plan.build import Plan, build_plan
from afterload.plan.change import DO, IN_PLACE, NEEDS_EVIDENCE, NOT_HERE, Change, PlanItem
from afterload.plan.exports import plan_csv, plan_json, plan_markdown

__all__ = [
    "DO",
    "IN_PLACE",
    "NEEDS_EVIDENCE",
    "NOT_HERE",
    "Change",
    "Plan",
    "PlanItem",
    "build_plan",
    "plan_csv",
    "plan_json",
    "plan_markdown",
]
