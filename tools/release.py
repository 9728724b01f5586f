"""Build what a release consists of: wheel, source archive, manual pages, and the checksums of all.

python tools/release.py    write dist/ again
"""

import hashlib
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
SUMS = "SHA256SUMS"


def main() -> None:
    """Fill ``dist`` and print what it holds."""
    shutil.rmtree(DIST, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(DIST)], cwd=ROOT, check=True)
    with tarfile.open(DIST / "custody-man.tar.gz", "w:gz") as archive:
        archive.add(ROOT / "docs" / "reference" / "man", arcname="man1")
        archive.add(ROOT / "docs" / "reference" / "man7", arcname="man7")
    (DIST / SUMS).write_text("".join(checksum_line(path) for path in sorted(DIST.iterdir())), "utf-8")
    print((DIST / SUMS).read_text("utf-8"), end="")


def checksum_line(path: Path) -> str:
    """Return a line that ``sha256sum --check`` reads."""
    return f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"


if __name__ == "__main__":
    main()
