"""Keep every number that Afterload computes for its examples and for sixty made-up teams, and tell what changed.

    python tools/golden.py [--check] [--most N] [NAME ...]

Without --check the files in tests/golden/numbers are written anew. Either way each changed number is told, old -> new, by the
kind of number: one sentence for each kind goes into tests/golden/CHANGES.md. --check ends with 1 where any number changed.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.golden.kept import ALL, FOLDER, Difference, differences, kept, pattern, text_of, today


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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these files")
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--most", type=int, default=10**9, help="numbers told of each kind")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in ALL]
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}; known: {', '.join(ALL)}")
    found: list[Difference] = []
    count = 0
    for name in given.names or ALL:
        before, after = kept(name), today(name)
        count += len(after)
        own = list(differences(name, before, after))
        found += own
        if own and not given.check:
            FOLDER.mkdir(exist_ok=True)
            (FOLDER / f"{name}.json").write_text(text_of(after), encoding="utf-8", newline="\n")
    left = [] if given.names else sorted(path for path in FOLDER.glob("*.json") if path.stem not in ALL)
    for path in left:
        found += differences(path.stem, kept(path.stem), {})
        if not given.check:
            path.unlink()
    print("\n".join([*told(found, given.most), f"{len(found):,} of {count:,} numbers changed."]))
    return 1 if found and given.check else 0


if __name__ == "__main__":
    sys.exit(main())
