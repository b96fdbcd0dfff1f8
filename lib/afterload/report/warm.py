"""What every report needs is loaded once, in the process from which the others are forked."""

from __future__ import annotations

import importlib

__all__ = ["warm_up"]


def warm_up() -> None:
    """Import what a packet needs, build the exporter's template, and load the compiled kernels.

    No shell, event loop, thread or connection may be left behind: the children inherit this process.
    """
    import ipykernel.ipkernel  # noqa: F401
    import ipywidgets  # type: ignore[import-untyped] # noqa: F401
    import nbclient  # noqa: F401
    import papermill  # noqa: F401

    # By name: chapters and reports stand beside each other, and only the cells of a notebook use both.
    importlib.import_module("afterload.chapters")
    from afterload.report import build, inprocess  # noqa: F401
    from afterload.report.exporter import PacketExporter
    from afterload.report.nodes import make_node

    empty = {"cells": [], "metadata": {"title": "Warm"}, "nbformat": 4, "nbformat_minor": 5}
    PacketExporter.shared().to_html(make_node(empty), "Warm")
