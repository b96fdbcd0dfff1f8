"""The audit chapter: findings by severity, what each costs here, how to change it, and what could not be checked."""

from __future__ import annotations

from html import escape
from typing import Any

from afterload.figures.charts import GREY, alt, chart_of, drawn, finish, tip
from afterload.figures.figure import Figure, Prose, Table
from afterload.figures.words import paragraph, sentence_list
from afterload.findings.audit import SEVERITIES, UNITS, Audit, Finding
from afterload.findings.phrases import counted
from afterload.scenario import LoadedScenario

__all__ = ["audit_answer", "audit_details", "audit_figure", "audit_gaps"]

NOTHING = "No rule of the audit finds anything in what this scenario and its exports show."
_COLOURS = {"high": "#D55E00", "medium": "#E69F00", "low": "#56B4E9", "info": GREY}
# A chart has one panel for each unit, since numbers of two units do not compare.
PANEL_WIDTH_PX, BAR_PX = 560, 26


def audit_answer(loaded: LoadedScenario, audit: Audit) -> Prose:
    """How many findings there are, the first of them, and what they rest on."""
    lines = []
    if audit.findings:
        parts = [f"{number} {name}" for name, number in audit.counts.items() if number]
        lines.append(f"{counted(len(audit.findings), 'finding')}: {', '.join(parts)}.")
        first = audit.findings[0]
        lines.append(f"First: {audit.rule(first).title}, {first.target}. {first.cost.sentence}")
    else:
        lines.append(NOTHING)
    files = list(dict.fromkeys(export.file for export in loaded.scenario.exports))
    if files:
        lines.append(f"Settings were read from {counted(len(files), 'export')}: {', '.join(files)}.")
    else:
        lines.append(
            "Settings of the account are not exported: the audit has the scenario alone. Name exports of the AWS CLI or of "
            "Terraform under exports to have the settings themselves checked."
        )
    gaps = len(audit.gaps)
    if gaps:
        verb = (
            "was not made for want of a setting; it is"
            if gaps == 1
            else "were not made for want of a setting; they are"
        )
        lines.append(f"{counted(gaps, 'check')} {verb} listed below.")
    lines.append(
        "Order: severity, then cost, then name. High: work is lost, a dependency is pushed down or capacity is removed. "
        "Medium: the recovery takes longer or does work twice. Low: little at stake here, or the stake is not known. "
        "Words in capitals in a command, such as MAPPING_UUID, stand for your own names."
    )
    return sentence_list(lines)


def audit_figure(loaded: LoadedScenario, audit: Audit) -> Figure | Prose | Table:
    """Every finding with the number that it costs here, as bars by unit and as a table."""
    if not audit.findings:
        return paragraph(NOTHING)
    table = _table(audit)
    # What costs nothing here has no bar: the table says so.
    measured = [item for item in audit.findings if item.cost.amount]
    if not measured:
        return table
    shown, notes = drawn(measured, lambda item: -audit.findings.index(item))
    units = [unit for unit in UNITS if any(item.cost.unit == unit for item in shown)]
    panels = [_panel([item for item in shown if item.cost.unit == unit], UNITS[unit]) for unit in units]
    return Figure(
        title="What each finding costs here",
        chart=finish(alt.vconcat(*panels)),
        table=table,
        source=_source(loaded, audit),
        method=(
            "Each rule looks at one kind of setting and computes its cost with the estimates of the other chapters, the "
            "exported setting in place of the scenario's. One panel for each unit."
        ),
        alt="Bars of what findings cost, one panel for each unit. "
        + " ".join(f"{_label(item)}, {item.severity}: {item.cost.short}." for item in shown),
        notes=notes,
    )


def _table(audit: Audit) -> Table:
    records = [
        {
            "severity": item.severity,
            "finding": audit.rule(item).title,
            "where": item.target,
            "costs here": item.cost.short,
            "setting seen": _setting(item),
            "why it matters": audit.rule(item).why,
        }
        for item in audit.findings
    ]
    formats: dict[str, Any] = dict.fromkeys(records[0], str)
    return Table.of(records, formats, caption="Findings, severity first", status="severity")


def _setting(item: Finding) -> str:
    """A setting with the place where it was seen."""
    return f"{item.seen} ({item.where})" if item.where else item.seen


def _source(loaded: LoadedScenario, audit: Audit) -> str:
    seen = sorted({item.origin.file for item in audit.inventory.observations})
    return f"{loaded.name} and {', '.join(seen)}" if seen else f"{loaded.name}; no exports"


def _label(item: Finding) -> str:
    return f"{item.rule} on {item.target.removeprefix('queues.')}"


def _panel(items: list[Finding], unit: str) -> Any:
    values = [
        {"finding": _label(item), "severity": item.severity, "amount": round(item.cost.amount or 0.0, 4)}
        for item in items
    ]
    return (
        chart_of(values)
        .mark_bar(height={"band": 0.7})
        .encode(
            x=alt.X("amount", type="quantitative", title=unit, axis=alt.Axis(format=",~f", tickCount=5)),
            y=alt.Y("finding", type="nominal", title=None, sort=None, axis=alt.Axis(labelLimit=300, minExtent=260)),
            color=alt.Color(
                "severity",
                type="nominal",
                title=None,
                scale=alt.Scale(domain=list(SEVERITIES), range=[_COLOURS[name] for name in SEVERITIES]),
            ),
            tooltip=[tip("finding"), tip("severity"), tip("amount", ",.4~f", unit)],
        )
        .properties(width=PANEL_WIDTH_PX, height=max(40, BAR_PX * len(values)))
    )


def audit_details(audit: Audit) -> Prose:
    """Every finding whole: setting, place, cost, why, commands, reference."""
    if not audit.findings:
        return paragraph(NOTHING)
    html, text = [], []
    for place, item in enumerate(audit.findings, 1):
        rule = audit.rule(item)
        title = f"{place}. {rule.title}: {item.target}"
        facts = [
            ("Setting", _setting(item)),
            (
                "Costs here",
                item.cost.sentence if item.cost.amount is None else f"{item.cost.short}. {item.cost.sentence}",
            ),
            ("Why", rule.why),
            ("Quota", item.quota.removeprefix("Quota: ")),
            ("Note", item.note),
            ("Reference", rule.reference),
        ]
        known = [(name, value) for name, value in facts if value]
        rows = "".join(f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in known)
        html.append(
            f'<section class="af-change"><h3>{escape(title)} '
            f'<span class="af-status-{item.severity}">{item.severity}</span></h3><dl>{rows}'
            f"{_block('Apply', item.steps.apply)}{_block('Undo', item.steps.undo)}</dl></section>"
        )
        lines = [f"{title} [{item.severity}]", *(f"  {name}: {value}" for name, value in known)]
        for word, commands in (("Apply", item.steps.apply), ("Undo", item.steps.undo)):
            lines += [f"  {word}: {command}" for command in commands]
        text.append("\n".join(lines))
    return Prose("".join(html), "\n\n".join(text))


def _block(word: str, commands: tuple[str, ...]) -> str:
    return f"<dt>{word}</dt><dd><pre><code>{escape(chr(10).join(commands))}</code></pre></dd>"


def audit_gaps(audit: Audit) -> Table | Prose:
    """Checks that could not be made and what readers remarked, each with what would settle it."""
    records = [
        {"check": audit.check(gap), "where": gap.target, "needs": gap.missing, "command": gap.command}
        for gap in audit.gaps
    ]
    records += [
        {
            "check": f"export: {remark.kind}",
            "where": f"{remark.file} line {remark.line}" if remark.line else remark.file,
            "needs": remark.text,
            "command": "",
        }
        for remark in audit.inventory.remarks
    ]
    if not records:
        return paragraph("Every check that applies here was made.")
    return Table.of(records, dict.fromkeys(records[0], str), caption="Not checked, and why")
