"""A warm repository answers as a fresh command does, whatever has happened between two questions."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from custody.attribution.app.blame import blame
from custody.core.errors import InputError
from custody.core.wire.report import encode_report
from custody.why.warm import FILES_OPEN_MAX, WarmWorkspace
from custody.why.why import why
from custody.workspace.workspace import Workspace
from tests.builders.drawn_lines import AGENTS_LINES, LOW_LINES, PERSONS_LINES
from tests.builders.lines import Scene, text

FEW = settings(max_examples=settings().max_examples // 12)
"""Each example creates a repository."""
TEXTS = st.lists(st.sampled_from(AGENTS_LINES + PERSONS_LINES + LOW_LINES), min_size=1, max_size=6).map(
    lambda lines: text(*lines)
)
STEPS = st.lists(st.tuples(st.sampled_from(("edit", "commit", "save", "type", "rules")), TEXTS), min_size=1, max_size=8)
AGENTS_TEXT = text(*AGENTS_LINES[:3])
PERSONS_TEXT = text(*PERSONS_LINES[:2])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder for the repositories of all examples."""
    return tmp_path_factory.mktemp("warm")


def opened(scene: Scene) -> WarmWorkspace:
    root, now_ns = scene.built.path, scene.workspace.now_ns
    return WarmWorkspace(lambda resources: Workspace(root, now_ns=now_ns, resources=resources))


@FEW
@given(TEXTS, STEPS)
def test_every_warm_answer_is_that_of_a_fresh_command(folder: Path, first: str, steps: list[tuple[str, str]]) -> None:
    scene = Scene(Path(tempfile.mkdtemp(dir=folder)))
    head = scene.committed(at=1, app__py=first)
    warm, saved = opened(scene), first
    for at, (step, content) in enumerate(steps, start=2):
        match step:
            case "edit":
                scene.edited("app.py", saved, content, at=at, id=f"e{at}", call=f"c{at}").wrote("app.py", content)
                saved = content
            case "commit":
                head = scene.committed(head, at=at, app__py=content)
                saved = content
            case "save":
                scene.wrote("app.py", content)
                saved = content
            case "rules":
                scene.wrote("custody.toml", f"[attribute]\nwindow_hours_after = {at}\n")
            case _:
                pass
        buffer = content.encode() if step == "type" else None
        fresh = scene.workspace if buffer is None else scene.workspace.with_buffer("app.py", buffer)
        last = (content if step == "type" else saved).count("\n")
        for line in sorted({1, last}):
            held = warm.explain_line("app.py", line, buffer)
            assert encode_report(held) == encode_report(why(fresh, "app.py", line)), (at, step, line)
        shown = warm.blame("app.py", buffer).report
        assert encode_report(shown) == encode_report(blame(fresh, "app.py", is_brief=True).report)
    warm.close()


def test_each_answer_counts_only_what_was_searched_for_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "repository").edited("app.py", None, PERSONS_TEXT, at=3)
    scene.committed(at=1, app__py=AGENTS_TEXT)
    opened(scene).explain_line("app.py", 1)
    warm = opened(scene)
    for typed in (AGENTS_TEXT, PERSONS_TEXT, AGENTS_TEXT):
        fresh = why(scene.workspace.with_buffer("app.py", typed.encode()), "app.py", 1)
        assert encode_report(warm.explain_line("app.py", 1, typed.encode())) == encode_report(fresh)
    warm.close()


def test_a_warm_repository_that_is_gone_is_an_error_and_its_return_is_noticed(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "repository").edited("app.py", None, AGENTS_TEXT, at=1)
    scene.committed(at=5, app__py=AGENTS_TEXT)
    warm = opened(scene)
    assert warm.blame("app.py").report.attributions[0].kind == "agent"
    moved = scene.built.path.rename(tmp_path / "elsewhere")
    for _ in range(2):
        with pytest.raises(InputError):
            warm.blame("app.py")
    moved.rename(scene.built.path)
    assert warm.blame("app.py").report.attributions[0].kind == "agent"
    warm.close()
    shutil.rmtree(scene.built.path)
    with pytest.raises(InputError):
        warm.explain_line("app.py", 1)


def test_only_a_few_files_stay_open(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "repository")
    count = FILES_OPEN_MAX + 3
    scene.commit_of({b"f%d.py" % number: AGENTS_TEXT.encode() for number in range(count)}, at=5)
    warm = opened(scene)
    for number in range(count):
        warm.explain_line(f"f{number}.py", 1)
    assert len(warm._files) == FILES_OPEN_MAX
    warm.close()
