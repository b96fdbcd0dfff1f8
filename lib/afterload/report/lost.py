"""What is left of a packet's run whose process has ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

__all__ = ["Lost"]


@dataclass(frozen=True)
class Lost:
    """What a process had kept by its end, and the problem of the cell during which it ended.

    ``records`` are ``("begin", cell_index)``, then each ``("message", message)``, then ``("end", cell_index, reply, over_limit,
    left_out)``, as :mod:`afterload.report.inprocess` keeps them.
    """

    records: tuple[tuple[Any, ...], ...]
    ename: str
    evalue: str

    @property
    def cell_index(self) -> int | None:
        """The cell during which it ended, or None where it was between two."""
        marks = [record for record in self.records if record[0] in ("begin", "end")]
        return marks[-1][1] if marks and marks[-1][0] == "begin" else None

    @classmethod
    def of(cls, records: tuple[Any, ...], kind: str, detail: str, cell_limit_s: float | None) -> Self:
        """By the ``kind`` and ``detail`` of a :class:`afterload.report.workers.Problem`."""
        if kind == "time" and detail == "part":
            limit = f"this cell took longer than its limit of {cell_limit_s:g} s"
            return cls(records, "TimeLimit", f"{limit} and did not stop when asked, so its process was ended")
        if kind == "time":
            return cls(records, "TimeLimit", f"the packet was not ready in time: {detail}")
        if kind == "memory":
            return cls(records, "MemoryLimit", f"the Python process was ended while this cell ran: {detail}")
        if kind == "error":
            return cls(records, "PacketError", f"the Python process failed: {detail}")
        return cls(records, "KernelDied", f"the Python process ended while this cell ran ({detail})")
