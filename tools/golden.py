"""Keep every number that Afterload computes for its examples and for sixty made-up teams, and tell what changed.

    python tools/golden.py [--check] [--since COMMIT] [--most N] [NAME ...]

Without --check the files in tests/golden/numbers are written anew. Either way each changed number is told, old -> new, by the
kind of number: one sentence for each kind goes into tests/golden/CHANGES.md. --check ends with 1 where any number changed.
--since tells what changed since a commit, whatever the files say by now; so does it for files that a merge left in two versions.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.golden.kept import ALL, FOLDER, Difference, differences, kept, pattern, text_of, today
from tests.golden.taken import Numbers


def told(found: list[Difference], most: int) -> list[str]:
    """The differences as lines: by kind of number, the most frequent first."""
    groups: dict[str, list[Difference]] = defaultdict(list)
    for item in found:
        groups[pattern(item.name)].append(item)
    lines = []
    for name, items in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        files = len({item.file for item in items})
        lines.append(f"{name}: {len(items)} in {files} file{'' if files == 1 else 's'}")
        lines += [f"    {item.file}  {item.name}: {item.before} -> {item.after}" for item in items[:most]]
        if len(items) > most:
            lines.append(f"    and {len(items) - most} more")
    return lines


def kept_in(commit: str, name: str) -> Numbers:
    """The numbers of one file as a commit has them; none where it has no such file."""
    path = f"{commit}:./{name}.json"
    done = subprocess.run(["git", "show", path], cwd=FOLDER, capture_output=True, text=True, check=False)
    found: Numbers = json.loads(done.stdout) if done.returncode == 0 else {}
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these files")
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--since", metavar="COMMIT", help="tell what changed since then")
    parser.add_argument("--most", type=int, default=10**9, help="numbers told of each kind")
    given = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    known = ["git", "cat-file", "-e", f"{given.since}^{{commit}}"]
    if given.since is not None and subprocess.run(known, cwd=FOLDER, capture_output=True, check=False).returncode:
        parser.error(f"there is no commit {given.since}")
    unknown = [name for name in given.names if name not in ALL]
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}; known: {', '.join(ALL)}")
    found: list[Difference] = []
    count = 0
    for name in given.names or ALL:
        after = today(name)
        before = kept(name) if given.since is None else kept_in(given.since, name)
        count += len(after)
        own = list(differences(name, before, after))
        found += own
        if given.check:
            continue
        # What only differs in its last digits stays as it is, so that files are the same on every machine.
        (FOLDER / f"{name}.json").write_text(text_of(after if own else before), encoding="utf-8", newline="\n")
    left = [] if given.names or given.since else sorted(path for path in FOLDER.glob("*.json") if path.stem not in ALL)
    for path in left:
        found += differences(path.stem, kept(path.stem), {})
        if not given.check:
            path.unlink()
    print("\n".join([*told(found, given.most), f"{len(found):,} of {count:,} numbers changed."]))
    return 1 if found and given.check else 0


if __name__ == "__main__":
    sys.exit(main())
