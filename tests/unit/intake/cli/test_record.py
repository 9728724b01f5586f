"""``custody record`` as any tool may call it: exits 0, reports errors, acknowledges only stored events."""

import json
from pathlib import Path

import pytest

from custody.capture.hook.event_home import read_capture_gaps
from tests.builders.cli import a_git_folder, spool_of
from tests.builders.hooks import home_of
from tests.builders.in_process import custody


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_git_folder(tmp_path / "repository")


def record(repository: Path, **event: object) -> tuple[int, str, str]:
    ran = custody(repository, "record", "--agent", "mine", "--receipt", stdin=json.dumps(event))
    return ran.status, ran.out, ran.err


def test_a_generic_event_is_acknowledged(repository: Path) -> None:
    assert record(repository, custody=1, kind="prompt", session="s1", text="hello") == (0, "EVENT\n", "")
    assert len(spool_of(repository).names()) == 1


@pytest.mark.parametrize(
    ("event", "why"),
    [
        ({"custody": 1, "kind": "prompt", "session": "s1"}, "Object missing required field `text`"),
        ({"custody": 1, "kind": "nonsense"}, "Invalid value 'nonsense' - at `$.kind`"),
        ({"custody": 1, "session": "s1"}, "'kind' is missing"),
        ({"custody": 9, "kind": "prompt"}, "newer than this custody knows"),
        ({"custody": 1, "kind": "edit", "session": "s1", "path": "../x"}, "../x"),
    ],
    ids=["field", "kind", "no kind", "version", "path"],
)
def test_what_would_be_set_aside_is_refused_at_once_and_counted(
    repository: Path, event: dict[str, object], why: str
) -> None:
    status, out, err = record(repository, **event)
    assert (status, out) == (0, "")
    assert err.startswith("not recorded: ") and why in err
    assert spool_of(repository).names() == []
    assert len(read_capture_gaps(home_of(repository))) == 1


def test_an_agents_own_event_needs_no_shape(repository: Path) -> None:
    assert record(repository, anything="goes") == (0, "EVENT\n", "")
