"""Is there anybody who could use a widget? Papermill, nbconvert and nbval run a notebook where nobody is."""

from __future__ import annotations

import os
import sys
from typing import Any

__all__ = ["has_front_end"]


def has_front_end() -> bool:
    """True where the running cell was sent by something that a person sits at: it lets a cell ask for input.

    Voila does not, but shows widgets; it says who it is in the kernel's environment.
    """
    if os.environ.get("SERVER_SOFTWARE", "").lower().startswith("voila"):
        return True
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    parent: Any = getattr(shell, "get_parent", dict)() or {}
    content = parent.get("content", {}) if isinstance(parent, dict) else {}
    return bool(content.get("allow_stdin"))
