"""The examples of the page run as they stand there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from custody.core.views import ObservedSpan
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder

PAGE = Path(__file__).resolve().parents[3] / "docs" / "graph-tracing.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_runs(number: int, tmp_path: Path) -> None:
    script = tmp_path / "example.py"
    script.write_text(EXAMPLES[number])
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)], cwd=a_git_folder(tmp_path), env=dict(os.environ), check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_the_first_example_records_what_the_page_says(tmp_path: Path) -> None:
    repository = a_git_folder(tmp_path)
    subprocess.run([sys.executable, "-c", EXAMPLES[0]], cwd=repository, check=True)
    with Workspace(repository).reading() as store:
        seen = [one.view for one in store.views.look_up(ObservedSpan, "seq > ?", (0,))]
    by_id = {one.id: one for one in seen}
    assert sorted((one.node, by_id[one.parent].node if one.parent else "") for one in seen) == [
        ("capability:summarise", ""),
        ("filesystem:read_file", "llm:ask the model"),
        ("filesystem:read_file", "llm:ask the model"),
        ("llm:ask the model", "capability:summarise"),
    ]
