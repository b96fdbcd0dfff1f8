"""Charts, tables and prose of the workbook, each with its source and method."""

from afterload.figures.figure import Figure, Prose, Table

__all__ = ["Figure", "Prose", "Table"]
