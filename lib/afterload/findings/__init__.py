"""What the inputs show by themselves: impact windows against the restore, an account of the event against the figures."""

from afterload.findings.windows import SplitWindow, split_windows

__all__ = ["SplitWindow", "split_windows"]
