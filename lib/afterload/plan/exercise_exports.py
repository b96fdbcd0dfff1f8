"""Exercises as experiments of Chaos Toolkit and of AWS Fault Injection Service.

Words in capitals, such as ACCOUNT_ID, stand for what a scenario does not name.
"""

from __future__ import annotations

import math
import shlex
from typing import Any

from afterload import limits
from afterload.plan.exercises import Exercise, Fault
from afterload.plan.runbook import is_lift, is_name

__all__ = ["exercise_chaostoolkit", "exercise_fis"]

# The service runs an action for one minute to twelve hours.
SHORTEST_MIN, LONGEST_MIN = 1, 720
ROLE = "arn:aws:iam::ACCOUNT_ID:role/FIS_ROLE_NAME"
ALARM = "arn:aws:cloudwatch:REGION:ACCOUNT_ID:alarm:ALARM_NAME"
# Longer texts are refused.
TEXT_LENGTH = 512


def exercise_fis(exercise: Exercise) -> dict[str, Any] | None:
    """The input of CreateExperimentTemplate, without its client token; None where the exercise breaks nothing on purpose.

    Subnets and groups are found by the tag ``afterload-exercise``, so that nothing is touched which nobody chose. A fault of
    over twelve hours, the most that the service takes, is given as twelve.
    """
    if not exercise.faults:
        return None
    targets: dict[str, Any] = {}
    actions: dict[str, Any] = {}
    for place, fault in enumerate(exercise.faults, 1):
        name = f"fault-{place}"
        action = limits.fault_action(fault.kind)
        targets[name] = {
            "resourceType": action.resource_type,
            "resourceTags": {"afterload-exercise": f"{exercise.id}-{place}"},
            "selectionMode": "ALL",
        }
        actions[name] = {
            "actionId": action.action,
            "description": _short(f"{fault.kind}: {fault.target}{_group(fault)}"),
            "parameters": _network(fault) if fault.kind == "dependency away" else _launches(fault),
            "targets": {action.target: name},
        }
    return {
        "description": _short(exercise.title),
        "targets": targets,
        "actions": actions,
        "stopConditions": [{"source": "aws:cloudwatch:alarm", "value": ALARM}],
        "roleArn": ROLE,
        "tags": {"afterload-exercise": exercise.id},
    }


def _short(text: str) -> str:
    return text if len(text) <= TEXT_LENGTH else f"{text[: TEXT_LENGTH - 3]}..."


def _group(fault: Fault) -> str:
    return f", group {fault.group}" if fault.group else ""


def _duration(fault: Fault) -> str:
    return f"PT{min(LONGEST_MIN, max(SHORTEST_MIN, math.ceil(fault.minutes)))}M"


def _network(fault: Fault) -> dict[str, str]:
    if fault.service == "dynamodb":
        return {"duration": _duration(fault), "scope": "dynamodb"}
    return {"duration": _duration(fault), "scope": "prefix-list", "prefixListIdentifier": "PREFIX_LIST_ID"}


def _launches(fault: Fault) -> dict[str, str]:
    return {"duration": _duration(fault), "availabilityZoneIdentifiers": "ZONE_NAMES", "percentage": "100"}


def exercise_chaostoolkit(exercise: Exercise) -> dict[str, Any]:
    """The exercise as an experiment of Chaos Toolkit.

    Its steady state is an alarm on the signal of recovery that does not ring. The method applies the commands of the runbook
    that belong to the exercise, before or after it starts the experiment of the fault injection service and waits while the fault
    lasts. Lines for people are among the words of the description.
    """
    commands, by_hand = _commands(exercise)
    method = [_process(name, command, wait) for name, command, wait in commands]
    if exercise.faults:
        lasts = max(math.ceil(fault.minutes) for fault in exercise.faults)
        start = "aws fis start-experiment --experiment-template-id TEMPLATE_ID"
        method.insert(len(method) if exercise.prepares else 0, _process("start the fault", start, lasts))
    words = (
        [exercise.nothing] if exercise.nothing else [*exercise.steps, *exercise.expected, *exercise.passes, *by_hand]
    )
    stop = "aws fis stop-experiment --id EXPERIMENT_ID"
    return {
        "version": "1.0.0",
        "title": exercise.title,
        "description": " ".join([*words, exercise.measured]).strip(),
        "tags": ["afterload", exercise.id],
        "steady-state-hypothesis": {"title": "The signal of recovery is normal", "probes": [_alarm()]},
        "method": method,
        "rollbacks": [_process("stop the fault", stop, 0.0)] if exercise.faults else [],
    }


def _commands(exercise: Exercise) -> tuple[list[tuple[str, str, float]], dict[str, None]]:
    """The commands of an exercise, each under a name with its step, lift and queue or fleet; and sentences for people."""
    commands, by_hand = list[tuple[str, str, float]](), dict[str, None]()
    lift = about = ""
    for line, wait in exercise.commands:
        if is_lift(line):
            lift, about = line.removeprefix("# ").split(",")[0], ""
            by_hand[_sentence(line)] = None
        elif is_name(line):
            about = line.removeprefix("# ")
        elif line.startswith("#"):
            by_hand[f"{about}: {_sentence(line)}" if about else _sentence(line)] = None
        else:
            where = ", ".join(part for part in (f"step {exercise.step}", lift, about) if part)
            commands.append((f"runbook {len(commands) + 1}: {where}", line, wait))
    return commands, by_hand


def _sentence(comment: str) -> str:
    """A line for people without the mark that makes it a comment."""
    return f"{comment.lstrip('# ').rstrip('.:')}."


def _process(name: str, command: str, wait_min: float) -> dict[str, Any]:
    # A team's own command may be any line of a shell.
    path, *arguments = shlex.split(command) if command.startswith("aws ") else ("sh", "-c", command)
    activity: dict[str, Any] = {
        "type": "action",
        "name": name,
        "provider": {"type": "process", "path": path, "arguments": arguments},
    }
    if wait_min > 0:
        activity["pauses"] = {"after": round(60 * wait_min)}
    return activity


def _alarm() -> dict[str, Any]:
    command = "aws cloudwatch describe-alarms --alarm-names ALARM_NAME --query MetricAlarms[0].StateValue --output text"
    return {
        **_process("the alarm does not ring", command, 0.0),
        "type": "probe",
        "tolerance": {"type": "regex", "target": "stdout", "pattern": "^OK"},
    }
