"""What the inputs show by themselves: impact windows against the restore."""

from afterload.findings.windows import SplitWindow, split_windows

__all__ = ["SplitWindow", "split_windows"]
