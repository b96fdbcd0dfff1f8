"""Every exception that Afterload raises on purpose, shown whole.

::

    AfterloadError
    ├── InputError                something that a person gave is wrong           exit 3
    │   ├── UnitError             a rate, duration, time or count cannot be read
    │   ├── ScenarioError         a scenario file has one or more problems
    │   ├── OverrideError         a single-value override is wrong
    │   ├── ParameterError        a notebook parameter is unknown or of a wrong kind
    │   ├── UnsupportedError      a file is of no kind that is read
    │   └── NotFoundError         a file, example or chapter does not exist
    ├── ModelError                a model was asked for something without meaning  exit 3
    ├── ChapterError              chapters failed; the packet of the rest exists   exit 4
    ├── OutputError               a result could not be written                    exit 5
    │   └── ChangedError          the file to be written was changed by somebody else meanwhile
    ├── ObjectiveError            an objective of a gate is broken                 exit 6
    └── ClusterError              a Dask cluster cannot be used, or has gone       exit 7

Doubts that do not stop the work are warnings::

    AfterloadWarning
    ├── ApproximationWarning      the figure rests on a simplification that may matter here
    ├── LowerBoundWarning         the true figure may be larger
    └── MissingEvidenceWarning    the scenario does not say; a default was used

Exit 2 is a wrong command line, exit 70 a fault of Afterload itself. A batch ends with the first that applies of 130
(interrupted, its index written), 5, 4, 3 and 6: 4 is also a team whose process was killed or went over a limit.
"""

from __future__ import annotations

__all__ = [
    "AfterloadError",
    "AfterloadWarning",
    "ApproximationWarning",
    "ChangedError",
    "ChapterError",
    "ClusterError",
    "InputError",
    "LowerBoundWarning",
    "MissingEvidenceWarning",
    "ModelError",
    "NotFoundError",
    "ObjectiveError",
    "OutputError",
    "OverrideError",
    "ParameterError",
    "ScenarioError",
    "UnitError",
    "UnsupportedError",
]


class AfterloadError(Exception):
    """Base of every error raised on purpose; ``exit_code`` is what a command ends with."""

    exit_code = 70

    def _render_traceback_(self) -> list[str]:
        """Show the message alone in a notebook: the traceback of a user's mistake helps nobody."""
        return str(self).splitlines() or [type(self).__name__]


class InputError(AfterloadError):
    """Something that a person gave is wrong."""

    exit_code = 3


class UnsupportedError(InputError):
    """A file is of no kind that is read; ``holds`` says what it holds, in words that fit after "holds"."""

    def __init__(self, name: str, holds: str) -> None:
        super().__init__(f"{name}: unsupported file: holds {holds}")
        self.holds = holds


class UnitError(InputError, ValueError):
    """A rate, duration, time or count cannot be read.

    ``accepted`` says what would be, in words that fit after "accepted:".
    """

    def __init__(self, message: str, accepted: str = "") -> None:
        super().__init__(f"{message}; accepted: {accepted}" if accepted else message)
        self.message = message
        self.accepted = accepted


class ScenarioError(InputError):
    """A scenario file has one or more problems; ``problems`` holds them all."""

    def __init__(self, message: str, problems: tuple[object, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems


class OverrideError(InputError):
    """A single-value override is wrong: its form, its path or its value."""


class ParameterError(InputError):
    """A notebook parameter is unknown or of a wrong kind."""


class NotFoundError(InputError):
    """A file, example or chapter does not exist."""


class ModelError(AfterloadError, ValueError):
    """A model was asked for something without meaning, such as a negative rate."""

    exit_code = 3


class ChapterError(AfterloadError):
    """One or more chapters failed; the packet of the others has been written."""

    exit_code = 4


class OutputError(AfterloadError):
    """A result could not be written."""

    exit_code = 5


class ChangedError(OutputError):
    """The file to be written is not the one that was read: somebody else changed, made or removed it meanwhile."""


class ObjectiveError(AfterloadError):
    """An objective that a gate checks is broken: the inputs are right, the recovery is not good enough."""

    exit_code = 6


class ClusterError(AfterloadError):
    """A Dask cluster cannot be reached or used, or has gone in the middle; packets that were made stay."""

    exit_code = 7


class AfterloadWarning(UserWarning):
    """Base of every doubt that a person should read beside a figure."""


class ApproximationWarning(AfterloadWarning):
    """The figure rests on a simplification that may matter here."""


class LowerBoundWarning(AfterloadWarning):
    """The true figure may be larger."""


class MissingEvidenceWarning(AfterloadWarning):
    """The scenario does not say, so a stated default was used."""
