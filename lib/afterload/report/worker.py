"""Make one packet in a process of its own and tell how far it is, a line of JSON at a time.

    python -m afterload.report.worker SCENARIO FOLDER

Lines hold ``share`` (0 to 1) while the chapters run, then ``files`` and ``failures``. Anything else on the output says why
there is no packet.
"""

from __future__ import annotations

import json
import re
import sys

from afterload.errors import AfterloadError

__all__ = ["main"]

_SHARE = re.compile(r"(\d+)%\|")


class _Teller:
    """Takes the place of the terminal that progress bars draw on."""

    def __init__(self) -> None:
        self.share = -1

    def write(self, text: str) -> int:
        """Say the share of a bar, where it is a new one."""
        for share in _SHARE.findall(text):
            if int(share) > self.share:
                self.share = int(share)
                _tell({"share": self.share / 100})
        return len(text)

    def flush(self) -> None:
        """Nothing waits."""


def _tell(record: dict[str, object]) -> None:
    print(json.dumps(record), flush=True)


def main(arguments: list[str]) -> int:
    """Make the packet of the scenario named first in the folder named second; 0 where there is one."""
    path, folder = arguments
    from afterload.report.packet import check_folder, make_packet
    from afterload.scenario import load_scenario

    errors, sys.stderr = sys.stderr, _Teller()
    try:
        loaded = load_scenario(path)
        check_folder(folder)
        packet = make_packet(loaded, path, folder, progress=True)
    except AfterloadError as problem:
        print(problem, flush=True)
        return problem.exit_code
    finally:
        sys.stderr = errors
    _tell({"files": [str(file) for file in packet.files], "failures": list(packet.failures)})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
