"""Standard retry mode on every client, and one retrying layer in a stack."""

from __future__ import annotations

from collections.abc import Iterator

from afterload import limits
from afterload.estimates import Estimates, StackEstimate
from afterload.model.retries import stack
from afterload.plan.change import (
    DO,
    IN_PLACE,
    NEEDS_EVIDENCE,
    NOT_HERE,
    Change,
    PlanItem,
    counted,
    failing,
    share,
    where,
)
from afterload.scenario import CallStack, Client
from afterload.units import format_number

ID = "standard-retries"
AWS_SDKS = frozenset({"boto3", "botocore", "aws-cli-v2", "java-v2", "js-v3", "go-v2", "dotnet", "cpp"})


def _items(estimates: Estimates) -> Iterator[PlanItem]:
    loaded = estimates.loaded
    for name, client in loaded.scenario.clients.items():
        yield _client(estimates, name, client)
    for item in estimates.stacks.values():
        yield _stack(estimates, item)


def _client(estimates: Estimates, name: str, client: Client) -> PlanItem:
    preset = limits.client_preset(client.sdk, client.version, client.mode, client.service)
    attempts = client.max_attempts or preset.attempts
    what = f"{client.sdk}{f' {client.version}' if client.version else ''}"
    line = where(estimates.loaded, "clients", name, "sdk")
    if attempts == 1:
        tries = "1 attempt a call, so no retries"
    else:
        tries = "retries without a count" if attempts is None else f"up to {attempts:,} attempts a call"
    quota = f"a quota of {preset.quota} tokens" if preset.quota else "no retry quota"
    evidence = f"{counted(client.number, 'client')} of {what} in {preset.mode} mode: {tries}, {quota} ({line})."
    target, owner = f"clients.{name}", _owner(estimates, client)
    if client.retry_limit is not None:
        held = f"{counted(client.number, 'client')} of {what}: retries are held by {client.retry_limit.kind} ({line})."
        return PlanItem(ID, target, IN_PLACE, held, owner=owner)
    if not preset.mode_known:
        return PlanItem(
            ID, target, NEEDS_EVIDENCE,
            f"{evidence} The default mode depends on the version: give clients.{name}.version.",
            owner=owner,
            apply=(f'python -c "import {client.sdk}; print({client.sdk}.__version__)"', "aws configure get retry_mode"),
        )  # fmt: skip
    if attempts == 1:
        return PlanItem(ID, target, IN_PLACE, evidence, owner=owner)
    standard = _standard(client)
    if standard is None:
        return PlanItem(
            ID, target, NOT_HERE,
            f"{evidence} This SDK has no standard mode: a retry budget takes its place.",
            owner=owner,
        )  # fmt: skip
    usual = standard.attempts or 3
    if preset.mode in ("standard", "adaptive") and (attempts is None or attempts <= usual):
        return PlanItem(ID, target, IN_PLACE, evidence, owner=owner)
    planned = usual if attempts is None else min(attempts, usual)
    before = "an unbounded number" if attempts is None else f"{attempts:,}"
    # An SDK's own legacy mode may already have the quota: then the change is the number of attempts.
    added = "" if preset.quota == standard.quota else f" and gives each client a quota of {standard.quota} tokens"
    fewer = attempts is None or planned < attempts
    return PlanItem(
        ID, target, DO, evidence,
        bounds=(
            f"Bounds attempts a failing call from {before} to {planned}{added}." if fewer else
            f"Keeps at most {planned} attempts a call{added or ', with the backoff of standard mode'}."
        ),
        price="Calls that a later attempt would have saved fail sooner." if fewer else "",
        owner=owner,
        apply=("export AWS_RETRY_MODE=standard",
               f"export AWS_MAX_ATTEMPTS={planned}  # attempts, the first one included",
               "# what the code sets itself goes before these variables"),
        undo=(_set("AWS_RETRY_MODE", None if client.mode == "default" else client.mode),
              _set("AWS_MAX_ATTEMPTS", client.max_attempts)),
        edit={f"{target}.mode": "standard", f"{target}.max_attempts": planned},
    )  # fmt: skip


def _set(variable: str, value: str | int | None) -> str:
    return f"unset {variable}" if value is None else f"export {variable}={value}"


def _standard(client: Client) -> limits.RetryPreset | None:
    if client.sdk not in AWS_SDKS:
        return None
    return limits.client_preset(client.sdk, client.version, "standard", client.service)


def _stack(estimates: Estimates, item: StackEstimate) -> PlanItem:
    layers, probability = item.stack.layers, item.stack.failure_probability
    retrying = [layer for layer in layers if layer.tries > 1]
    line = where(estimates.loaded, "call_stacks", item.name, "layers")
    tries = " x ".join(str(layer.tries) for layer in layers)
    how_many = f"{len(retrying)} of {len(layers)} layers" if len(layers) > 1 else "The only layer"
    retry = "retry" if len(layers) > 1 and len(retrying) != 1 else "retries" if retrying else "does not retry"
    all_fail = stack([layer.tries for layer in layers], 1.0).multiplier
    evidence = (
        f"{how_many} {retry} ({tries}): one call at the top makes {format_number(item.result.multiplier)} at the bottom "
        f"when {failing(probability)}{'' if probability == 1 else f', {format_number(all_fail)} when all do'} "
        f"({line})."
    )
    target, owner = f"call_stacks.{item.name}", _owner(estimates, item.stack)
    if len(retrying) <= 1:
        return PlanItem(ID, target, IN_PLACE, evidence, owner=owner)
    kept = retrying[-1]
    planned = stack([layer.tries if layer is kept else 1 for layer in layers], probability)
    names = ", ".join(layer.name for layer in retrying if layer is not kept)
    success, falls = _success(item.result.success_probability, planned.success_probability)
    return PlanItem(
        ID, target, DO, evidence,
        bounds=(
            f"Bounds the multiplier from {format_number(item.result.multiplier)} to {format_number(planned.multiplier)}"
            f"{'' if probability == 1 else f', and from {format_number(all_fail)} to {kept.tries} when every attempt fails,'} "
            f"by leaving retries to {kept.name}.{'' if falls else f' {success}'}"
        ),
        price=success if falls else "",
        owner=owner,
        apply=(f"# set 1 try in: {names}", f"# keep {kept.tries} tries in: {kept.name}"),
        undo=tuple(f"# set {layer.tries} tries again in: {layer.name}" for layer in retrying if layer is not kept),
        edit={f"{target}.layers": [
            {"name": layer.name, "tries": layer.tries if layer is kept else 1} for layer in layers
        ]},
    )  # fmt: skip


def _success(before: float, after: float) -> tuple[str, bool]:
    """What fewer tries cost, calls that a later try would have saved, and whether they cost any."""
    if abs(before - after) < 5e-4:
        return f"The share of calls that succeed at the top stays at {share(after)} at this failure probability.", False
    return (
        f"The share of calls that succeed at the top falls from {share(before)} to {share(after)} at this "
        "failure probability."
    ), True


def _owner(estimates: Estimates, part: Client | CallStack) -> str:
    return part.owner or estimates.loaded.scenario.owner or "no owner yet"


CHANGE = Change(
    id=ID,
    order=1,
    title="Standard retry mode on every client, retries at one layer only",
    why="Retries of retries multiply the load on a dependency that is just coming back.",
    exercise=(
        "Fail the dependency in a test account and count attempts for each logical request at every layer; check that "
        "each client reports the mode assumed here and that its quota runs empty."
    ),
    reference="recovery planning guide, retries; SDK reference guide, retry behaviour",
    items=_items,
    effort_days=1,
    risk="Calls that a later attempt would have saved fail sooner: watch the error rate of each caller.",
)
