"""The built files of the pages: made from ``web``, committed in the package, so that a wheel never needs node.

python tools/assets.py --write    build them into the package
python tools/assets.py --check    check the islands' types, build elsewhere, and compare every byte
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
BUILT = ROOT / "src/custody/server/static"


def main(wanted: str) -> int:
    """Build or compare; return 1 when a file differs."""
    node = shutil.which("node")
    if node is None or not (WEB / "node_modules").is_dir():
        print("assets: node or web/node_modules is not here, so nothing was built or compared", file=sys.stderr)
        return 1 if os.environ.get("CI") else 0
    if wanted == "--write":
        _build(node, BUILT)
        return 0
    subprocess.run([node, WEB / "node_modules/typescript/bin/tsc", "--noEmit", "--project", WEB], check=True)
    with tempfile.TemporaryDirectory() as fresh:
        _build(node, Path(fresh))
        names = {file.name for folder in (Path(fresh), BUILT) for file in folder.iterdir()}
        other = [name for name in sorted(names) if _read(Path(fresh) / name) != _read(BUILT / name)]
    for name in other:
        print(f"assets: {name} is not what web/ builds: run 'make assets' and commit it", file=sys.stderr)
    return 1 if other else 0


def _build(node: str, out: Path) -> None:
    subprocess.run([node, WEB / "build.mjs", out], check=True)


def _read(file: Path) -> bytes | None:
    return file.read_bytes() if file.is_file() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
