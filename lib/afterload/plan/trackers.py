"""The open lines of a plan for issue trackers: Jira as CSV, GitHub as JSON or as a script that uses ``gh``.

Every issue carries the stable name of the team's line, so that a second run updates it and makes no second one, and no other
team's issue in the same tracker is taken for it.
"""

from __future__ import annotations

import csv
import io
import json
import shlex
from hashlib import sha256
from typing import Any

from afterload.plan.build import Plan
from afterload.plan.change import PlanItem
from afterload.plan.exports import entered_words, formula_safe, plain_markdown
from afterload.plan.kept import Kept, owner_agreed
from afterload.plan.whole import mind
from afterload.plan.wording import effort_and_risk, minutes_bought, money_words, worth

__all__ = ["github_json", "github_script", "jira_csv"]

LABEL = "recovery-plan"
# A search of GitHub's takes no more than 256 signs in all.
MARKER_LETTERS = 160


def _title(plan: Plan, item: PlanItem) -> str:
    return f"{plan.change(item).title}: {item.target}"


def _marker(team: str, item: PlanItem) -> str:
    """The stable name as a word that a search finds: letters, digits and dashes.

    A search takes it word by word, so that a part of it would find another line too, and names that differ only in other signs
    come to the same letters: the last word tells team and line apart from every other.
    """
    letters = "".join(char if char.isascii() and char.isalnum() else "-" for char in item.id)
    return f"afterload-{letters[:MARKER_LETTERS]}-{sha256(json.dumps([team, item.id]).encode()).hexdigest()[:12]}"


def _body(plan: Plan, item: PlanItem, team: str, kept: Kept) -> str:
    change = plan.change(item)
    words = entered_words(kept.get(item.id, {}))
    parts = [
        change.why,
        f"Team: {team}. Owner: {owner_agreed(kept, item.id, item.owner)}.",
        f"Evidence: {item.evidence}",
        f"Worth: {worth(item)}",
        mind(plan, item) and f"Mind: {mind(plan, item)}",
        money_words(plan, item) and f"Money: {money_words(plan, item)}",
        effort_and_risk(plan, item),
        f"Exercise: {change.exercise}",
        f"Reference: {change.reference}",
    ]
    text = "\n\n".join(plain_markdown(part) for part in parts if part)
    if words:
        text += f"\n\nEntered: {words}."
    for word, commands in (("Apply", item.apply), ("Undo", item.undo), ("Terraform", item.terraform)):
        if commands:
            text += f"\n\n{word}:\n\n" + "\n".join(
                f"    {line}" for command in commands for line in command.split("\n")
            )
    return f"{text}\n\nLine of the plan: `{item.id.replace('`', '')}` ({_marker(team, item)})\n"


def _issues(plan: Plan, kept: Kept, team: str) -> list[dict[str, Any]]:
    return [
        {
            "id": item.id,
            "marker": _marker(team, item),
            "title": _title(plan, item),
            "body": _body(plan, item, team, kept),
            "labels": [LABEL, item.change],
            "owner": owner_agreed(kept, item.id, item.owner),
            "due": kept.get(item.id, {}).get("due", ""),
            "minutes_bought": minutes_bought(item),
        }
        for item in plan.open
    ]


def github_json(plan: Plan, kept: Kept, team: str) -> str:
    """The open lines as JSON: a list of issues with title, body, labels and the marker that finds them again."""
    return json.dumps(_issues(plan, kept, team), indent=2, ensure_ascii=False) + "\n"


def github_script(plan: Plan, kept: Kept, team: str) -> str:
    """A shell script that makes or updates an issue for each open line with GitHub's ``gh``."""
    lines = [
        "#!/bin/sh",
        "# One issue for each open line of the plan; an issue that holds the line's marker is updated instead.",
        "set -eu",
        f"gh label create {LABEL} --description 'Recovery change plan' --force",
        "keep() { # marker, title, body",
        '  number=$(gh issue list --state all --limit 1 --search "$1 in:body" --json number --jq ".[0].number // empty")',
        '  if [ -n "$number" ]; then',
        '    gh issue edit "$number" --title "$2" --body "$3"',
        "  else",
        f'    gh issue create --title "$2" --body "$3" --label {LABEL}',
        "  fi",
        "}",
    ]
    lines += [
        f"keep {issue['marker']} {shlex.quote(issue['title'])} {shlex.quote(issue['body'])}"
        for issue in _issues(plan, kept, team)
    ]
    return "\n".join(lines) + "\n"


def jira_csv(plan: Plan, kept: Kept, team: str) -> str:
    """The open lines as CSV for Jira's import; map ``External ID`` so that a second import updates."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(("External ID", "Summary", "Issue Type", "Description", "Labels", "Assignee", "Due Date"))
    for issue in _issues(plan, kept, team):
        row = (
            issue["marker"], issue["title"], "Task", issue["body"], " ".join(issue["labels"]), issue["owner"], issue["due"],
        )  # fmt: skip
        writer.writerow([formula_safe(cell) for cell in row])
    return out.getvalue()
