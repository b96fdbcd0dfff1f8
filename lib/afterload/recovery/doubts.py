"""What a person should know before trusting a figure."""

from __future__ import annotations

from dataclasses import dataclass

from afterload.errors import AfterloadWarning, ApproximationWarning, LowerBoundWarning, MissingEvidenceWarning

__all__ = ["Doubt"]


@dataclass(frozen=True)
class Doubt:
    """One thing that a person should know before trusting a figure."""

    kind: type[AfterloadWarning]
    text: str

    @property
    def word(self) -> str:
        """The kind in plain words."""
        names = {
            ApproximationWarning: "Approximation",
            LowerBoundWarning: "Lower bound",
            MissingEvidenceWarning: "Default used",
        }
        return names.get(self.kind, "Note")
