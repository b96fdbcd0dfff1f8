"""Clients in a legacy retry mode: more attempts, and often no quota that ends them."""

from __future__ import annotations

from collections.abc import Iterator

from afterload import limits
from afterload.errors import UnitError
from afterload.findings.audit.facts import Facts, number
from afterload.findings.audit.finding import Cost, Finding, Rule, Severity
from afterload.findings.audit.steps import Steps, choose, comments
from afterload.findings.phrases import counted, quoted, where
from afterload.scenario import Client
from afterload.units import format_number, format_rate

ID = "legacy-retries"


def _find(facts: Facts) -> Iterator[Finding]:
    for name, client in facts.estimates.loaded.scenario.clients.items():
        preset = limits.client_preset(client.sdk, client.version, client.mode, client.service)
        standard = _standard(client)
        attempts = client.max_attempts or preset.attempts
        if preset.mode == "legacy" and standard is not None and attempts is not None and attempts > 1:
            yield _client(facts, name, client, preset, standard, attempts)
    yield from _functions(facts)


def _standard(client: Client) -> limits.RetryPreset | None:
    """The standard mode of an SDK; None for one that has none, whose retries are another matter."""
    try:
        return limits.client_preset(client.sdk, client.version, "standard", client.service)
    except UnitError:
        return None


def _client(
    facts: Facts,
    name: str,
    client: Client,
    preset: limits.RetryPreset,
    standard: limits.RetryPreset,
    attempts: int,
) -> Finding:
    usual = standard.attempts or attempts
    ends = f"a quota of {preset.quota} tokens ends them" if preset.quota else "no quota ends them"
    words = f"A call that fails makes {counted(attempts, 'attempt')}, and {ends}; standard mode makes {usual}."
    dependency = facts.estimates.loaded.scenario.dependencies.get(client.dependency or "")
    if dependency is not None:
        capacity = dependency.capacity_per_min or dependency.tested_rate_per_min
        words += (
            f" If all load of {client.dependency} came from clients like these, with no layer of retries above them, it would "
            f"heal by itself only below {format_rate(capacity)} / {attempts} = {format_rate(capacity / attempts)}; with "
            f"{usual} attempts below {format_rate(capacity / usual)}. The chapter on the dependency has all its callers."
        )
    severity: Severity = "low" if preset.quota else "medium" if attempts <= usual else "high"
    version = f" {client.version}" if client.version else ""
    unsure = "" if preset.mode_known else ", if its version is an old one (none is given)"
    if unsure:
        severity = "low"
    return Finding(
        ID, f"clients.{name}", severity,
        f"{counted(client.number, 'client')} of {client.sdk}{version} in legacy mode{unsure}",
        f"{where(facts.estimates.loaded, 'clients', name, 'sdk')}; not exported",
        Cost(words, float(attempts), "attempts"),
        Steps(
            ("export AWS_RETRY_MODE=standard", f"export AWS_MAX_ATTEMPTS={min(attempts, usual)}  # the first attempt counts"),
            (
                "unset AWS_RETRY_MODE" if client.mode == "default" else f"export AWS_RETRY_MODE={client.mode}",
                "unset AWS_MAX_ATTEMPTS" if client.max_attempts is None else f"export AWS_MAX_ATTEMPTS={client.max_attempts}",
            ),
        ),
        note=(
            "What the code sets goes before these variables. max_attempts in a botocore Config counts retries there, "
            "AWS_MAX_ATTEMPTS and total_max_attempts count attempts."
        ),
    )  # fmt: skip


def _functions(facts: Facts) -> Iterator[Finding]:
    for function in facts.inventory.of("lambda.function"):
        seen = facts.setting(function, "aws_retry_mode")
        if seen is None or seen.value != "legacy":
            continue
        given = number(function.get("aws_max_attempts"))
        if given == 1:
            continue
        # The variable is read by every AWS SDK; only that of Python is sure from the runtime.
        python = str(function.get("runtime") or "").startswith("python")
        usual = limits.client_preset("botocore", None, "legacy").attempts if python else None
        attempts = given if given is not None else usual
        name = quoted(function.name, "FUNCTION_NAME")
        yield Finding(
            ID, f"function {function.name}", "medium", "AWS_RETRY_MODE is legacy", seen.where,
            Cost("A call that fails is tried again without a quota.", missing="the SDK, under clients of the scenario")
            if attempts is None else
            Cost(
                f"A call that fails makes {counted(attempts, 'attempt')}, and no quota ends them.", float(attempts), "attempts"
            ),
            choose(
                seen.origin,
                comments(
                    f"read all variables first: aws lambda get-function-configuration --function-name {name}",
                    "then set AWS_RETRY_MODE=standard among them: update-function-configuration --environment replaces them all",
                ),
                comments("set AWS_RETRY_MODE=legacy again, among all other variables"),
                ("environment {", "  variables = {", '    AWS_RETRY_MODE = "standard"', "  }", "}",
                 "# among all other variables"),
                ("environment {", "  variables = {", '    AWS_RETRY_MODE = "legacy"', "  }", "}",
                 "# among all other variables"),
            ),
            note=f"AWS_MAX_ATTEMPTS is {format_number(given)}: it counts the first attempt too." if given else "",
        )  # fmt: skip


RULE = Rule(
    ID,
    "A client in legacy retry mode",
    "Retries without a quota go on at full rate for as long as the dependency fails, and keep it down after the restore.",
    "AWS SDKs and Tools Reference Guide, retry behavior",
    _find,
)
