"""Make one packet in a process of its own and tell how far it is, a line of JSON at a time.

    python -m afterload.report.worker SCENARIO FOLDER

Lines hold ``share`` (0 to 1) while the chapters run, then ``files`` and ``failures``. Anything else on the output says why
there is no packet.
"""

from __future__ import annotations

import json
import sys

from afterload.errors import AfterloadError

__all__ = ["main"]


def _tell(record: dict[str, object]) -> None:
    print(json.dumps(record), flush=True)


def main(arguments: list[str]) -> int:
    """Make the packet of the scenario named first in the folder named second; 0 where there is one."""
    path, folder = arguments
    from afterload.report.packet import check_folder, make_packet
    from afterload.scenario import load_scenario

    try:
        loaded = load_scenario(path)
        check_folder(folder)
        packet = make_packet(loaded, path, folder, seen=lambda done, of: _tell({"share": round(done / of, 2)}))
    except AfterloadError as problem:
        print(problem, flush=True)
        return problem.exit_code
    _tell({"files": [str(file) for file in packet.files], "failures": list(packet.failures)})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
