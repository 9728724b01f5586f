"""Make the stores of ``fixtures/stores``: one per schema that a commit of this repository could write.

``python -m tests.golden.old_stores`` unpacks the commits in a temporary folder and runs their own code. Versions 1, 5
and 6 have no store: their migrations arrived together with the next ones. Commits before 5356b7f do not start.
"""

import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
from contextlib import closing
from pathlib import Path

from custody.capture.hook.durable import frame_spool_event

ROOT = Path(__file__).parents[2]
STORES = Path(__file__).parent / "fixtures" / "stores"
COMMITS = {
    "2-without-record-at": "5356b7fa",
    "2": "6faf6875",
    "3": "c6f03c5a",
    "4-lineage-by-call": "469890d8",
    "4-without-time-indexes": "0031d71f",
    "4": "42400ecf",
    "7": "50aaabf7",
    "8": "3156bd19",
    "9": "27d3d605",
    "10": "594dbbc6",
    "11": "cbf9e0b6",
    "12": "2dfdb86f",
    "13": "644467bb",
    "14": "f96599ac",
    "15": "4bcdfb74",
    "16": "e488a85b",
    "17": "0ad872bf",
}
"""The commit that made each store. A name starts with the schema's version; the rest says how it differs from the
migrations of today."""
FILE = "src/app.py"
BEFORE, AFTER = "price = 3\n", "price = 3\ndiscount = price / 10\n"
EVENTS = (
    {"kind": "session", "id": "1", "agent": "robot", "session": "s1", "at": "2026-01-31T12:00:00Z"},
    {"kind": "prompt", "id": "2", "agent": "robot", "session": "s1", "at": "2026-01-31T12:00:01Z", "text": "discounts"},
    {
        "kind": "edit",
        "id": "3",
        "agent": "robot",
        "session": "s1",
        "at": "2026-01-31T12:00:02Z",
        "path": FILE,
        "before": BEFORE,
        "after": AFTER,
    },
)
WRITTEN = ("custody.db", "head-*", "id", "key")
"""The files of a store's folder that are part of a fixture."""


def make_repository(folder: Path) -> None:
    """Create a repository with two commits of ``FILE``, before and after the edit of ``EVENTS``."""
    subprocess.run(["git", "init", "-q", "-b", "main", folder], check=True)
    (folder / FILE).parent.mkdir()
    for text, day in ((BEFORE, 30), (AFTER, 31)):
        (folder / FILE).write_text(text)
        at = f"2026-01-{day}T18:00:00Z"
        who = {
            f"GIT_{role}_{part}": "ana@example.org" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")
        }
        environment = {**os.environ, **who, "GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
        subprocess.run(["git", "add", "."], cwd=folder, check=True)
        subprocess.run(["git", "commit", "-q", "-m", f"day {day}"], cwd=folder, env=environment, check=True)


def make_store(name: str, source: Path, folder: Path) -> bytes:
    """Record ``EVENTS`` with the code in ``source``; return the packed files of the store."""
    make_repository(folder)
    home = folder / ".git" / "custody"
    (home / "spool").mkdir(parents=True, mode=0o700)
    for number, event in enumerate(EVENTS):
        waiting = home / "spool" / f"{1769860800000000000 + number:020d}-4242-{number:016x}"
        waiting.write_bytes(frame_spool_event(json.dumps({"custody": 1, **event}).encode()))
    verbs = [["verify"], ["blame", FILE]] if int(name.partition("-")[0]) >= 4 else [["verify"]]
    for words in verbs:
        environment = {**os.environ, "PYTHONPATH": str(source / "src")}
        subprocess.run([sys.executable, "-m", "custody", *words], cwd=folder, env=environment, check=True)
    with closing(sqlite3.connect(home / "custody.db")) as db:
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute("VACUUM")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as archive:
        for path in sorted(path for pattern in WRITTEN for path in home.glob(pattern)):
            info = tarfile.TarInfo(path.name)
            info.size, info.mode = path.stat().st_size, 0o600
            archive.addfile(info, io.BytesIO(path.read_bytes()))
    return packed.getvalue()


def unpack_store(name: str, home: Path) -> None:
    """Unpack a fixture to ``home``, the folder of a store."""
    home.mkdir(parents=True, mode=0o700)
    with tarfile.open(STORES / f"{name}.tar.xz") as archive:
        archive.extractall(home, filter="data")


def main() -> None:
    """Make every store again."""
    STORES.mkdir(exist_ok=True)
    for name, commit in COMMITS.items():
        folder = Path(tempfile.mkdtemp(prefix="custody-old-"))
        try:
            tree = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, check=True, capture_output=True).stdout
            with tarfile.open(fileobj=io.BytesIO(tree)) as archive:
                archive.extractall(folder / "source", filter="data")
            (STORES / f"{name}.tar.xz").write_bytes(make_store(name, folder / "source", folder / "work"))
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
