"""Layers that retry above each other."""

from __future__ import annotations

import math
from collections.abc import Iterator

from afterload.findings.audit.facts import Facts
from afterload.findings.audit.finding import Cost, Finding, Rule
from afterload.findings.audit.steps import Steps, comments
from afterload.findings.phrases import where
from afterload.units import format_number, format_share

ID = "stacked-retries"


def _find(facts: Facts) -> Iterator[Finding]:
    for name, item in facts.estimates.stacks.items():
        retrying = [layer for layer in item.stack.layers if layer.tries > 1]
        probability = item.stack.failure_probability
        if len(retrying) < 2 or probability == 0:
            continue
        kept = retrying[-1]
        tries = " x ".join(str(layer.tries) for layer in retrying)
        every = math.prod(layer.tries for layer in retrying)
        amount = item.result.multiplier
        words = f"{tries} = {every:,} attempts at the bottom for one call at the top when every attempt fails"
        if probability < 1:
            words += f"; {format_number(amount)} when {format_share(probability)} fail"
        yield Finding(
            ID, f"call_stacks.{name}", "high" if amount > 2 * kept.tries else "medium",
            f"{len(retrying)} of {len(item.stack.layers)} layers retry: "
            f"{', '.join(f'{layer.name} {layer.tries}' for layer in retrying)}",
            f"{where(facts.estimates.loaded, 'call_stacks', name, 'layers')}; not exported",
            Cost(f"{words}. With retries in {kept.name} alone it is {kept.tries} at most.", amount, "attempts"),
            Steps(
                comments(*(f"set 1 try in: {layer.name}" for layer in retrying[:-1]), f"keep {kept.tries} tries in: {kept.name}"),
                comments(*(f"set {layer.tries} tries again in: {layer.name}" for layer in retrying[:-1])),
            ),
        )  # fmt: skip


RULE = Rule(
    ID,
    "Retries at several layers of a call stack",
    "Tries multiply down the stack, so the dependency gets most load when it can bear least.",
    "Timeouts, retries, and backoff with jitter, AWS Builders' Library",
    _find,
)
