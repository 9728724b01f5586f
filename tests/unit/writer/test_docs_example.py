"""The example on the page about writing runs, and prints what the page says."""

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs" / "cite-writing.md"


def test_the_example_of_the_page_prints_what_the_page_says(tmp_path: Path) -> None:
    page = PAGE.read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (printed,) = re.findall(r"^Output:\n\n```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONUTF8": "1"},
        check=False,
    )
    assert (done.stderr, done.stdout) == ("", printed)
    assert (tmp_path / "mackerel.md").read_text() == printed.split("\n{")[0]
    assert (tmp_path / "mackerel.md.citations.json").is_file()
