"""Recovery load after a dependency failure: a Jupyter workbook and its library."""

from importlib.metadata import version

__version__ = version("afterload")
