"""The examples of the page run unchanged."""

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


def test_the_first_example_records_the_spans_of_the_page(tmp_path: Path) -> None:
    repository = a_git_folder(tmp_path)
    subprocess.run([sys.executable, "-c", EXAMPLES[0]], cwd=repository, check=True)
    with Workspace(repository).reading() as store:
        spans = [record.view for record in store.views.look_up(ObservedSpan, "seq > ?", (0,))]
    by_id = {record.id: record for record in spans}
    assert sorted((record.node, by_id[record.parent].node if record.parent else "") for record in spans) == [
        ("capability:summarize", ""),
        ("filesystem:read_file", "llm:ask the model"),
        ("filesystem:read_file", "llm:ask the model"),
        ("llm:ask the model", "capability:summarize"),
    ]
