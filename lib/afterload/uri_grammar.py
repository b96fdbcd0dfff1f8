"""Import jsonschema without the grammar of URIs, which takes a second and is for formats that nothing here has."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["without_uri_grammar"]


@contextmanager
def without_uri_grammar() -> Iterator[None]:
    """Keep jsonschema from building its URI grammar where it is imported for the first time in this block.

    altair and nbformat import it, and neither charts nor notebooks hold a value that their schemas call a URI. The grammar
    comes with JupyterLab. Nothing is left behind: later imports find the package as usual.
    """
    name = "rfc3987_syntax"
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        sys.modules.pop(name, None)
