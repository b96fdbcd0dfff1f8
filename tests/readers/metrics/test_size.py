"""A CSV file of a million rows is read within 500 MB."""

from __future__ import annotations

import json
import subprocess
import sys

ROWS = 1_000_000
# The peak of the process by the kernel's own count, numpy and pandas included. Where there is no /proc, as on macOS, the
# count of the process may be that of the one that started it, which is no smaller.
CODE = """
import json, pathlib, resource, sys
from afterload.readers.metrics import read_metrics_file
series = read_metrics_file(sys.argv[1]).series
status = pathlib.Path("/proc/self/status")
lines = status.read_text().splitlines() if status.exists() else []
kib = next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), None)
peak = kib * 1024 if kib else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"peak": peak, "series": [[len(s.times), float(s.values.sum()), s.period_s] for s in series]}))
"""


def test_a_million_rows_take_less_than_500_mb(tmp_path):
    path = tmp_path / "million.csv"
    start = 1_704_067_200
    with path.open("w") as file:
        file.write("time,sent,age\n")
        file.writelines(f"{start + 10 * i},{i % 1000},{i % 100}.5\n" for i in range(ROWS))
    done = subprocess.run([sys.executable, "-c", CODE, path], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    # 1,000 times 0 to 999, and 10,000 times 0.5 to 99.5.
    assert found["series"] == [[ROWS, 1000 * 499_500.0, 10.0], [ROWS, 10_000 * 5_000.0, 10.0]]
    assert found["peak"] < 500e6
