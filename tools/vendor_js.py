"""Refresh or check the JavaScript that packets carry.

    python tools/vendor_js.py            fetch the pinned builds with ``npm pack`` and write them
    python tools/vendor_js.py --policy   write the script policy anew, after a change of packet.js
    python tools/vendor_js.py --check    compare every file with its digest; no network

The script policy lists the digest of every script that a packet may run, so that nothing else runs there.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

STATIC = Path(__file__).resolve().parents[1] / "templates" / "nbconvert" / "afterload" / "static"
MANIFEST = STATIC / "manifest.json"
POLICY = STATIC / "policy.j2"
PINNED = {"vega": "5.33.1", "vega-lite": "5.23.0", "vega-embed": "6.29.0"}
# This release of Vega was packed without its licence; the same project's earlier one has it.
LICENCE_VERSION = {"vega": "5.30.0"}
# What the builds hold of other authors. The other d3 modules share the author and the terms of d3-array.
BUNDLED = {
    "d3-array": "3.2.4",
    "delaunator": "5.0.1",
    "fast-json-patch": "3.1.1",
    "json-stringify-pretty-compact": "4.0.0",
    "semver": "7.6.3",
    "topojson-client": "3.1.0",
    "tslib": "2.8.1",
}
BUNDLED_FILE = "bundled.LICENSE"
OWN_SCRIPT = "packet.js"
# A source map would be asked for by a browser with its tools open, and it is not in the packet.
SOURCE_MAP = re.compile(r"\s*//# sourceMappingURL=\S+\s*\Z")


def script_names() -> list[str]:
    return [f"{name}.min.js" for name in PINNED] + [OWN_SCRIPT]


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def pack(name: str, version: str, folder: Path) -> Path:
    """Fetch one package through npm's own client; return the path of its archive."""
    subprocess.run(
        ["npm", "pack", f"{name}@{version}", "--silent", "--pack-destination", str(folder)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return folder / f"{name}-{version}.tgz"


def read_member(path: Path, pattern: str) -> str:
    """Text of the first file in an archive whose name matches."""
    with tarfile.open(path) as archive:
        for member in archive.getmembers():
            handle = archive.extractfile(member) if re.fullmatch(pattern, member.name) else None
            if handle is not None:
                return handle.read().decode("utf-8")
    raise SystemExit(f"{path.name} holds no {pattern}")


def read_licence(name: str, version: str, folder: Path) -> str:
    text = read_member(pack(name, version, folder), r"package/(LICENSE|LICENCE|CopyrightNotice)(\.\w+)?")
    return text.replace("\r\n", "\n").strip() + "\n"


def read_package(name: str, version: str, folder: Path) -> dict[str, str]:
    """The build and the licence of one package as text, by the name they get here."""
    build = read_member(pack(name, version, folder), rf"package/build/{name}\.min\.js")
    build = SOURCE_MAP.sub("\n", build)
    if "</script" in build.lower() or "<!--" in build:
        raise SystemExit(f"{name} cannot stand inside a page: it holds script markup")
    licence = read_licence(name, LICENCE_VERSION.get(name, version), folder)
    return {f"{name}.min.js": build, f"{name}.LICENSE": licence}


def read_bundled(folder: Path) -> str:
    """Licences of what the builds hold of other authors, one after the other."""
    parts = [f"{name} {version}\n\n{read_licence(name, version, folder)}" for name, version in BUNDLED.items()]
    return f"\n{'-' * 72}\n\n".join(parts)


def refresh() -> None:
    STATIC.mkdir(parents=True, exist_ok=True)
    packages = {}
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = Path(name_of_folder)
        for name, version in PINNED.items():
            texts = read_package(name, version, folder)
            packages[name] = {"version": version, "license": "BSD-3-Clause", "files": write(texts)}
        bundled = {"versions": BUNDLED, "files": write({BUNDLED_FILE: read_bundled(folder)})}
    manifest = {
        "about": "Builds from npm; only the source-map line at the end is left out. See tools/vendor_js.py.",
        "packages": packages,
        "bundled": bundled,
    }
    MANIFEST.write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def write(texts: dict[str, str]) -> dict[str, str]:
    """Write files below ``static``; return their digests."""
    digests = {}
    for file_name, text in sorted(texts.items()):
        (STATIC / file_name).write_text(text, encoding="utf-8", newline="\n")
        digests[file_name] = sha256(text.encode("utf-8"))
    return digests


def policy_text() -> str:
    """Template text that names the digest of every script, as the page's policy wants them."""
    digests = []
    for name in script_names():
        # The template writes a line break between the tag and the script; the browser hashes it too.
        text = "\n" + (STATIC / name).read_text(encoding="utf-8")
        digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
        digests.append(f"'sha256-{digest}'")
    note = "{# Written by tools/vendor_js.py --policy. #}"
    return f'{note}\n{{%- set script_digests = "{" ".join(digests)}" -%}}\n'


def check() -> list[str]:
    """What is wrong with the vendored files; an empty list when all is well."""
    problems = []
    manifest = json.loads(MANIFEST.read_text(encoding="utf-8"))
    packages = manifest["packages"]
    files = dict(manifest["bundled"]["files"])
    for name, version in PINNED.items():
        entry = packages.get(name, {"version": "none", "files": {}})
        if entry["version"] != version:
            problems.append(f"{name}: {version} is pinned, {entry['version']} is vendored")
        files.update(entry["files"])
    for file_name, digest in files.items():
        path = STATIC / file_name
        if not path.is_file():
            problems.append(f"{file_name} is missing")
        elif sha256(path.read_bytes()) != digest:
            problems.append(f"{file_name} differs from its digest")
    if not problems and POLICY.read_text(encoding="utf-8") != policy_text():
        problems.append("policy.j2 is stale: run tools/vendor_js.py --policy")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description="Refresh or check the JavaScript that packets carry.")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--check", action="store_true", help="compare every file with its digest")
    choice.add_argument("--policy", action="store_true", help="write the script policy anew")
    arguments = parser.parse_args()
    if arguments.check:
        problems = check()
        for problem in problems:
            print(problem, file=sys.stderr)
        return 1 if problems else 0
    if not arguments.policy:
        refresh()
    POLICY.write_text(policy_text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
