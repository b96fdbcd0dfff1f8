"""Figure = chart + table + source + method + alternative text, never one without the others.

In a notebook a figure shows itself as two outputs: the chart (Vega-Lite, with the alternative text as its plain
form) and its table and notes (HTML). Every text from a team's files is escaped here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from afterload.errors import ModelError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CHART_MIME", "Figure", "Number", "Prose", "Table"]

CHART_MIME = "application/vnd.vegalite.v5+json"
# Cells up to this length, such as a time, are not broken over lines.
TIGHT = 16


class Number(str):
    """The cell of a table that is set to the right."""

    __slots__ = ()


@dataclass(frozen=True)
class Table:
    """Rows for people: every cell is text already, ``numeric`` names the columns that are set to the right.

    ``links`` gives for each row the place in the same page to which its cell of the column ``linked`` leads.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[str] = frozenset()
    caption: str = ""
    status: str = ""
    linked: str = ""
    links: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.linked and len(self.links) != len(self.rows):
            raise ModelError(f"a table has {len(self.links)} links for {len(self.rows)} rows")
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ModelError(f"a row has {len(row)} cells for {len(self.columns)} columns: {row}")

    @classmethod
    def of(
        cls,
        records: Sequence[Mapping[str, Any]],
        formats: Mapping[str, Callable[[Any], str]] | None = None,
        caption: str = "",
        status: str = "",
    ) -> Table:
        """Build from records of one form: of texts and :class:`Number`, or of values that ``formats`` writes (``str``: text)."""
        if formats is None:
            numeric = frozenset(name for record in records for name, cell in record.items() if isinstance(cell, Number))
            formats = dict.fromkeys(records[0] if records else (), str)
        else:
            numeric = frozenset(name for name, write in formats.items() if write is not str)
        rows = tuple(
            tuple("" if record.get(name) is None else write(record[name]) for name, write in formats.items())
            for record in records
        )
        return cls(tuple(formats), rows, numeric, caption, status)

    @property
    def frame(self) -> pd.DataFrame:
        """The same rows as a data frame of text."""
        import pandas as pd

        return pd.DataFrame(list(self.rows), columns=list(self.columns))

    def to_html(self) -> str:
        """Escaped HTML."""
        caption = f"<caption>{escape(self.caption)}</caption>" if self.caption else ""
        head = "".join(f'<th scope="col"{self._class(name)}>{escape(name)}</th>' for name in self.columns)
        body = "".join(
            f"<tr>{''.join(self._cell(name, cell, place) for name, cell in zip(self.columns, row, strict=True))}</tr>"
            for place, row in enumerate(self.rows)
        )
        return f'<table class="af-table">{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'

    def _class(self, name: str) -> str:
        return ' class="num"' if name in self.numeric else ""

    def _cell(self, name: str, cell: str, place: int) -> str:
        if name == self.linked:
            return f'<td><a href="#{escape(self.links[place])}">{escape(cell)}</a></td>'
        if name == self.status:
            return f'<td><span class="af-status-{escape(cell.replace(" ", "-"))}">{escape(cell)}</span></td>'
        tight = ' class="af-tight"' if len(cell) <= TIGHT else ""
        return f"<td{self._class(name) or tight}>{escape(cell)}</td>"

    def to_text(self) -> str:
        """Plain text with aligned columns."""
        lines = [self.columns, *self.rows]
        widths = [max(len(line[place]) for line in lines) for place in range(len(self.columns))]
        right = [name in self.numeric for name in self.columns]
        return "\n".join(
            "  ".join(
                cell.rjust(width) if to_right else cell.ljust(width)
                for cell, width, to_right in zip(line, widths, right, strict=True)
            ).rstrip()
            for line in lines
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self.to_html(), "text/plain": self.to_text()}


@dataclass(frozen=True)
class Prose:
    """Sentences for people, as escaped HTML and as plain text."""

    html: str
    text: str

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": self.text}


@dataclass(frozen=True)
class Figure:
    """One finding, whole: ``chart`` is a Vega-Lite specification, ``alt`` says in words what it shows."""

    title: str
    chart: dict[str, Any] = field(repr=False)
    table: Table
    source: str
    method: str
    alt: str
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("title", "source", "method", "alt"):
            if not getattr(self, name):
                raise ModelError(f"the figure {self.title!r} has no {name}: please report this")
        if not self.chart:
            raise ModelError(f"the figure {self.title!r} has no chart: please report this")

    def to_html(self) -> str:
        """Table, source, method and notes as escaped HTML."""
        notes = "".join(f'<p class="af-note">{escape(note)}</p>' for note in self.notes)
        return (
            f'<div class="af-figure-table">{self.table.to_html()}</div>'
            f'<div class="af-figure-notes"><p><b>Source:</b> {escape(self.source)}</p>'
            f"<p><b>Method:</b> {escape(self.method)}</p>{notes}</div>"
        )

    def to_text(self) -> str:
        """The same as plain text."""
        notes = "".join(f"\nNote: {note}" for note in self.notes)
        return f"{self.title}\n{self.table.to_text()}\nSource: {self.source}\nMethod: {self.method}{notes}"

    def _ipython_display_(self) -> None:
        from IPython.display import display

        heading = f'<h3 class="af-figure-title">{escape(self.title)}</h3>'
        display({"text/html": heading, "text/plain": self.title}, raw=True)
        display({CHART_MIME: self.chart, "text/plain": self.alt}, raw=True)
        display({"text/html": self.to_html(), "text/plain": self.to_text()}, raw=True)
