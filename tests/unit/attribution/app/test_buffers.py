"""Buffers of editors: an unsaved text has the answer that it would have on disk, and nothing is read through it."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from custody.attribution.app.blame import blame
from custody.attribution.cli import MARKS
from custody.core.errors import InputError
from custody.core.wire.report import encode_report
from custody.git import FILE_BYTES_MAX
from custody.why.why import why
from tests.builders.drawn_lines import AGENTS_LINES, LOW_LINES, PERSONS_LINES, Turn, lives
from tests.builders.in_process import custody
from tests.builders.lines import Scene, an_edit_event, text

FEW = settings(max_examples=settings().max_examples // 12)
"""Each example creates a repository and asks for 13 buffers: about 100 in all."""
BUFFERS = st.lists(
    st.tuples(
        st.lists(st.sampled_from(AGENTS_LINES + PERSONS_LINES + LOW_LINES), max_size=6),
        st.sampled_from(("\n", "\r\n")),
        st.sampled_from((b"", b"\xff no text \xfe\n", b"last line without an end")),
    ),
    min_size=13,
    max_size=13,
)
AGENTS_TEXT = text(*AGENTS_LINES[:3])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder for the repositories of all examples."""
    return tmp_path_factory.mktemp("buffers")


def a_lived_scene(folder: Path, life: Sequence[Turn]) -> Scene:
    scene = Scene(Path(tempfile.mkdtemp(dir=folder)))
    scene.saw(
        *(
            an_edit_event("app.py", text(*turn.before), text(*turn.after), at=10 * n, id=f"e{n}")
            for n, turn in enumerate(life)
            if turn.by_agent
        )
    )
    half = len(life) // 2
    scene.committed(at=10 * half + 5, app__py=text(*life[half].after))
    return scene.wrote("app.py", text(*life[-1].after))


def answers(scene: Scene, content: bytes | None, profile: str) -> list[bytes]:
    """Return blame's answer, and why's on each line, of a buffer or (None) of the file on disk."""
    workspace = scene.workspace if content is None else scene.workspace.with_buffer("app.py", content)
    report = blame(workspace, "app.py", profile="document" if profile == "document" else "lineage").report
    last = report.attributions[-1].end_line if report.attributions else 0
    chains = [why(workspace, "app.py", line) for line in sorted({1, last})] if last else []
    return [encode_report(one) for one in (report, *chains)]


@FEW
@given(lives(), BUFFERS, st.sampled_from(("lineage", "document")))
def test_a_buffer_has_the_answer_of_the_same_text_on_disk(
    folder: Path, life: list[Turn], buffers: list[tuple[list[str], str, bytes]], profile: str
) -> None:
    scene = a_lived_scene(folder, life)
    saved = (scene.built.path / "app.py").read_bytes()
    assert answers(scene, saved, profile) == answers(scene, None, profile)
    for lines, end, rest in buffers:
        content = "".join(line + end for line in lines).encode() + rest
        held = answers(scene, content, profile)
        assert (scene.built.path / "app.py").read_bytes() == saved
        scene.wrote("app.py", content)
        assert held == answers(scene, None, profile)
        scene.wrote("app.py", saved)


def test_contents_replace_the_file_on_disk_in_blame_and_why(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "repository").edited("app.py", None, AGENTS_TEXT, at=1)
    scene.committed(at=5, app__py=AGENTS_TEXT)
    typed = "typed_just_now(by_a_person)\n" + AGENTS_TEXT
    told = custody(scene.built.path, "blame", "app.py", "--contents", "-", "--porcelain", stdin=typed)
    assert told.status == 0, told.err
    assert [row.split("\t")[1] for row in told.out.splitlines()] == ["none", "agent", "agent", "agent"]
    shown = custody(scene.built.path, "why", "app.py:1", "--contents", "-", stdin=typed)
    assert "typed_just_now" in shown.out
    assert "unknown author" in shown.out
    (scene.built.path / "other.txt").write_text(typed)
    named = custody(scene.built.path, "blame", "app.py", "--contents", "other.txt", "--porcelain")
    assert named.out == told.out


def test_a_file_that_exists_only_in_a_buffer_has_lines(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "repository").edited("app.py", None, AGENTS_TEXT, at=1)
    found = blame(scene.workspace.with_buffer("app.py", AGENTS_TEXT.encode()), "app.py").report.attributions
    assert "".join(MARKS[one.kind] * (one.end_line - one.start_line + 1) for one in found) == "AAA"


def test_contents_are_refused_where_a_file_on_disk_would_be(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "repository")
    scene.committed(at=1, app__py=AGENTS_TEXT)
    for path, words in {"../secret": "outside the repository", ".git/config": "belongs to git"}.items():
        with pytest.raises(InputError, match=words):
            blame(scene.workspace.with_buffer(path, b"a = 1\n"), path)
    with pytest.raises(InputError, match="larger than"):
        blame(scene.workspace.with_buffer("app.py", b"a\n" * (FILE_BYTES_MAX // 2 + 1)), "app.py")
    for typed in ("blame app.py HEAD --contents -", "why app.py:1 --contents missing"):
        told = custody(scene.built.path, *typed.split(), stdin="a")
        assert told.status == 2, told.out
        assert "--contents" in told.err or "cannot read 'missing'" in told.err
