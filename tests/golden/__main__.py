"""Rewrite the golden answers."""

import sys
import tempfile
from pathlib import Path

from tests.golden.cases import FOLDER, cases

for name, make in cases():
    if any(name.startswith(wanted) for wanted in sys.argv[1:] or [""]):
        with tempfile.TemporaryDirectory() as folder:
            (FOLDER / name).write_text(make(Path(folder)), encoding="utf-8")
        print(f"wrote {FOLDER.name}/{name}")
