"""Caps that add up to more than the account leaves to functions without a reservation."""

from __future__ import annotations

from collections.abc import Iterator

from afterload import limits
from afterload.findings.audit.concurrency import Reach, cap_steps, joined, quota, reach, shares
from afterload.findings.audit.facts import Backlog, Facts
from afterload.findings.audit.finding import Cost, Finding, Rule
from afterload.findings.audit.steps import Steps, comments

ID = "caps-over-account"


def _find(facts: Facts) -> Iterator[Finding]:
    account, source = facts.account_concurrency
    left = max(0, account - sum(facts.reserved.values()))
    capped: list[tuple[Backlog, Reach]] = []
    for backlog in facts.of_kind("sqs"):
        found = reach(facts, backlog)
        if (
            found is not None
            and found.is_capped
            and not backlog.is_stopped
            and backlog.function_name not in facts.reserved
        ):
            capped.append((backlog, found))
    total = sum(each.concurrency for _, each in capped)
    if total <= left:
        return
    parts = " + ".join(f"{each.concurrency:,}" for _, each in capped)
    yield Finding(
        ID, "account", "low" if "default" in source else "medium",
        "; ".join(f"{item.target}: {each.words}" for item, each in capped),
        "; ".join(each.where for _, each in capped),
        Cost(
            f"Functions without a reservation can be asked for {parts} = {total:,} at once while {left:,} are left to all of "
            f"them: {total - left:,} too many.",
            total - left, "concurrent",
        ),
        _steps(facts, left, capped),
        quota=quota(facts, capped[0][0].function_name),
        note=(
            "Reserving concurrency for the drain instead takes it from every other function, and the account must keep 100 "
            "unreserved."
        ),
    )  # fmt: skip


def _steps(facts: Facts, left: int, capped: list[tuple[Backlog, Reach]]) -> Steps:
    most = limits.whole("lambda.sqs.max_concurrency.maximum")
    parts = shares(left, [min(each.concurrency, most) for _, each in capped])
    steps = [] if parts is None else [
        cap_steps(facts, item, part) for (item, _), part in zip(capped, parts, strict=True)
    ]  # fmt: skip
    return joined(steps) or Steps(
        comments(f"lower these caps to {left:,} together, or ask for a higher quota of concurrent executions"),
        comments("set the caps back to what they were"),
    )


RULE = Rule(
    ID,
    "Caps above the concurrency of the account",
    "In a recovery all backlogs drain at once: those that come first leave synchronous callers without concurrency.",
    "AWS Lambda Developer Guide, quotas and reserved concurrency",
    _find,
)
