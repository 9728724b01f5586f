"""Selects the test lanes for a change: slow tests of one part of the tree run when that part changed.

    python tools/lanes.py          print the pytest options that leave out lanes nothing touched
    python tools/lanes.py --list   print each lane and why it runs or not

The change is everything since the merge base with ``CUSTODY_BASE`` or the upstream branch, and what is not committed.
Where neither is known, or nothing differs from it, every lane runs. `make test-full` runs them all.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

ROOT = Path(__file__).resolve().parents[1]
EVERYWHERE = ("pyproject.toml", "requirements/", "Makefile", "tests/conftest.py", "tests/builders/", "tests/house/")
"""Paths whose change may break any test."""
LANES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "tests/browser": ("tests/browser/", "web/", "src/"),
        "tests/faults": (
            "tests/faults/",
            "bench/faults/",
            "src/custody/capture/",
            "src/custody/core/",
            "src/custody/intake/",
            "src/custody/store/",
            "src/custody/workspace/",
        ),
        "tests/unit/bench": ("tests/unit/bench/", "bench/", "src/"),
    }
)
"""The folder of each lane, and the paths whose change it is for."""


def skipped(touched: Iterable[str] | None) -> list[str]:
    """Return the lanes that nothing touched; None if what was touched is not known.

    >>> skipped(["docs/why.md", "bench/faults/kill.py"])
    ['tests/browser']
    >>> skipped(["Makefile"]), skipped(None)
    ([], [])
    """
    if touched is None:
        return []
    paths = tuple(touched)
    if any(path.startswith(EVERYWHERE) for path in paths):
        return []
    return [lane for lane, own in LANES.items() if not any(path.startswith(own) for path in paths)]


def touched_paths(root: Path, environment: Mapping[str, str]) -> list[str] | None:
    """Return the paths that differ from the base; None without a base or without a difference."""
    base = environment.get("CUSTODY_BASE") or _git(root, "rev-parse", "--abbrev-ref", "@{upstream}").strip()
    if not base or not (start := _git(root, "merge-base", "HEAD", base).strip()):
        return None
    changed = _git(root, "diff", "--name-only", "-z", start)
    new = _git(root, "ls-files", "--others", "--exclude-standard", "-z")
    return [path for path in (changed + new).split("\0") if path] or None


def _git(root: Path, *arguments: str) -> str:
    ran = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)
    return ran.stdout if ran.returncode == 0 else ""


def main(arguments: list[str]) -> int:
    """Print the options, or the list of lanes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print each lane and whether it runs")
    options = parser.parse_args(arguments)
    left_out = skipped(touched_paths(ROOT, os.environ))
    if options.list:
        for lane in LANES:
            print(f"{lane}: {'not touched' if lane in left_out else 'runs'}")
    else:
        print(" ".join(f"--ignore={lane}" for lane in left_out))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
