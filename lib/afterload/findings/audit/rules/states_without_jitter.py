"""Step Functions retries without jitter, which come back in waves."""

from __future__ import annotations

from collections.abc import Iterator

from afterload.findings.audit.facts import Facts, Setting
from afterload.findings.audit.finding import Cost, Finding, Rule
from afterload.findings.audit.steps import choose, comments
from afterload.findings.phrases import counted
from afterload.units import format_number

ID = "states-without-jitter"
# Waves that are written out; more than that says no more.
MOST_SHOWN = 6


def _find(facts: Facts) -> Iterator[Finding]:
    for retry in facts.inventory.of("states.retry"):
        jitter, attempts = facts.setting(retry, "jitter"), facts.setting(retry, "max_attempts")
        if jitter is None or str(jitter.value or "NONE").upper() == "FULL":
            continue
        if attempts is None or not attempts.number:
            continue
        retries = round(attempts.number)
        waits = _waits(facts.setting(retry, "interval_s"), facts.setting(retry, "backoff"),
                       facts.setting(retry, "max_delay_s"), retries)  # fmt: skip
        if waits is None:
            continue
        times, at = [], 0.0
        for wait in waits[:MOST_SHOWN]:
            at += wait
            times.append(format_number(at))
        machine = retry.name.partition("/")[0]
        more = ", and so on" if len(waits) > MOST_SHOWN else ""
        yield Finding(
            ID, f"state {retry.name}", "medium",
            f"{counted(retries, 'retry').replace('retrys', 'retries')}, no JitterStrategy", jitter.where,
            Cost(
                f"Executions that fail together retry together, {', '.join(times)} s later{more}: {retries + 1} attempts of "
                "each. How many executions that is, no export shows.",
                float(retries + 1), "attempts",
            ),
            choose(
                jitter.origin,
                (
                    f'# in the Retry entry of {retry.name}: "JitterStrategy": "FULL"',
                    f"# the definition of {machine}: aws stepfunctions describe-state-machine "
                    "--state-machine-arn STATE_MACHINE_ARN",
                    "aws stepfunctions update-state-machine --state-machine-arn STATE_MACHINE_ARN "
                    "--definition file://definition.json",
                ),
                comments(f"take JitterStrategy out of the Retry entry of {retry.name}, and update the state machine again"),
                comments(f'in definition, in the Retry entry of {retry.name}: "JitterStrategy" = "FULL"'),
                comments(f"in definition, take JitterStrategy out of the Retry entry of {retry.name}"),
            ),
            note="An execution that runs keeps the definition with which it began.",
        )  # fmt: skip


def _waits(
    interval: Setting | None, backoff: Setting | None, longest: Setting | None, retries: int
) -> tuple[float, ...] | None:
    """Seconds before each retry: the interval times the backoff rate to the power of the retries before, up to the cap."""
    if interval is None or interval.number is None or backoff is None or backoff.number is None:
        return None
    cap = longest.number if longest is not None and longest.number else None
    shown = min(retries, MOST_SHOWN + 1)
    waits = (interval.number * backoff.number**place for place in range(shown))
    return tuple(wait if cap is None else min(wait, cap) for wait in waits)


RULE = Rule(
    ID,
    "Step Functions retries without jitter",
    "What failed in one moment comes back in one moment, wave after wave, onto a dependency that has just come back.",
    "AWS Step Functions Developer Guide, handling errors in workflows, Retry fields",
    _find,
)
