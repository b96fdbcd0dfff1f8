"""What views say, as escaped HTML."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path

from afterload.figures import Figure, Prose, Table
from afterload.figures.answer import headline
from afterload.forms.state.form import FormState
from afterload.forms.state.places import Entry
from afterload.forms.state.results import Results

__all__ = ["STYLE", "beside", "file_line", "headline_html", "notice", "said", "table_html"]

STYLE = f"<style>{(Path(__file__).resolve().parent / 'form.css').read_text(encoding='utf-8')}</style>"


def beside(entry: Entry) -> str:
    """What stands beside a field: what is wrong with it, or else its help."""
    if entry.problems:
        return said(entry.problems)
    field = entry.field
    default = f" Default: {field.default}." if field.default not in ("", "none") else ""
    # A bare number is for a key that has the unit in its name, which only a file gives.
    unit = f" With its unit, as in {field.example}." if field.unit and entry.path[-1] == field.key else ""
    return f'<span class="af-help">{escape(f"{field.help}{unit}{default}")}</span>'


def said(problems: Iterable[str]) -> str:
    """Problems of one place."""
    return "".join(f'<p class="af-problem" role="alert">{escape(words)}</p>' for words in problems)


def file_line(form: FormState) -> str:
    """Which file this is, and whether it is saved."""
    if form.is_saved:
        state = "saved"
    elif form.document.is_new:
        state = "not saved yet"
    else:
        state = "changes not saved"
    return f'<span class="af-file">{escape(form.name)}</span> <span class="af-soft">{state}</span>'


def notice(form: FormState) -> str:
    """Problems first, then the last message."""
    lines = form.problem_lines
    if lines:
        kept = "; the results are those of the last scenario without problems" if form.results is not None else ""
        kept += ", with sliders as they were moved since" if form.is_moved else ""
        count = "1 problem" if len(lines) == 1 else f"{len(lines)} problems"
        found = "".join(f"<li>{escape(line)}</li>" for line in lines[:8])
        more = "<li>and more</li>" if lines[8:] else ""
        words = f"<b>{count}</b>{kept}:<ul>{found}{more}</ul>"
        return f'<div class="af-notice af-bad" role="status">{words}{_last(form)}</div>'
    return f'<div class="af-notice" role="status">{_last(form)}</div>' if form.notice else ""


def _last(form: FormState) -> str:
    return f"<div>{escape(form.notice)}</div>" if form.notice else ""


def headline_html(results: Results | None, is_current: bool) -> str:
    """The few numbers that matter."""
    if results is None:
        return '<p class="af-soft">Fill in the team and one queue, call stack, client or fleet: the answers follow at once.</p>'
    tiles = headline(results.estimates)
    big = "".join(
        f'<div><span class="af-big">{escape(number)}</span> <span class="af-big-label">{escape(words)}</span></div>'
        for number, words in tiles
    )
    return f'<div class="af-headline{"" if is_current else " af-stale"}">{big}</div>'


def table_html(shown: Figure | Prose | Table) -> str:
    """A figure without its chart, a table or prose."""
    if isinstance(shown, Figure):
        return f'<div class="af-wide">{shown.table.to_html()}</div>'
    return f'<div class="af-wide">{shown.to_html()}</div>' if isinstance(shown, Table) else shown.html
