"""Properties of ``custody undo`` on random histories in real repositories."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.builders.undone import MINE, THEIRS, Undone, an_undone

OLD = tuple(f"old_line_{n} = read_value({n})" for n in range(6))
NEW = tuple(f"    new_line_{n} = compute_value({n}, other)" for n in range(6))
LITTLE = ("", "}", "    return None")
TEXTS = st.lists(st.sampled_from(OLD + LITTLE), min_size=1, max_size=8)
EDITS = st.lists(st.sampled_from(OLD + NEW + LITTLE), max_size=9)
AFTERWARDS = st.sampled_from(["nothing", "commit", "commit", "amend", "squash", "rename", "branch"])
STEPS = st.lists(st.tuples(st.sampled_from(["a.py", "b.py", "new/c.py"]), EDITS, AFTERWARDS), min_size=1, max_size=5)
ENDS = st.sampled_from(["\n", "\r\n"])
SOME = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def _written(lines: list[str], end: str, *, ended: bool = True, of: str = "") -> str:
    """Return lines as a file holds them, with the words of that file: equal lines elsewhere may have moved."""
    lines = [line.replace("_line_", f"_line_{of}").replace("_value(", f"_{of}(") for line in lines]
    return end.join(lines) + (end if ended and lines else "")


def _afterwards(story: Undone, way: str, count: int) -> None:
    """Commit in a way that a person may: the contents of files stay as they are."""
    if way == "nothing":
        return
    story.commit(amend=way == "amend" and count > 0)
    if way == "squash" and count > 0:
        story.git("reset", "--quiet", "--soft", "HEAD~1")
        story.commit(amend=True)
    if way == "branch":
        name = f"topic-{story.at}"
        story.git("checkout", "--quiet", "-b", name)
        story.git("checkout", "--quiet", "main")
        story.git("merge", "--quiet", "--no-ff", "--no-edit", name)


@SOME
@given(first=TEXTS, second=TEXTS, end=ENDS, ended=st.booleans(), steps=STEPS)
@example([OLD[0]], [OLD[0]], "\n", False, [("b.py", [OLD[0], OLD[0]], "rename"), ("b.py", [], "amend")])
def test_undoing_the_only_session_gives_exactly_the_state_without_it(
    tmp_path_factory: pytest.TempPathFactory,
    first: list[str],
    second: list[str],
    end: str,
    ended: bool,
    steps: list[tuple[str, list[str], str]],
) -> None:
    files = {"a.py": _written(first, end, ended=ended, of="a"), "b.py": _written(second, "\n", of="b")}
    story = an_undone(tmp_path_factory.mktemp("only"), dict(files))
    names = {"a.py": "a.py", "b.py": "b.py", "new/c.py": "new/c.py"}
    commits = 0
    versions = {name: [text] for name, text in files.items()}
    for name, lines, way in steps:
        text = _written(lines, end if name == "a.py" else "\n", of=name.removeprefix("new/")[0])
        versions.setdefault(name, []).append(text)
        if (story.read(names[name]) or b"") != text.encode():
            story.edit(names[name], text)
        if way == "rename" and name == "b.py" and story.read(names[name]) is not None:
            story.commit()
            story.git("mv", names[name], f"b_{story.at}.py")
            names[name] = f"b_{story.at - 60}.py"
            names[name] = next(path for path in story.files() if path.startswith("b_"))
            way = "commit"
        _afterwards(story, way, commits)
        commits += way != "nothing"
    if not story.calls:
        return
    report = story.apply()
    left = {name: content for name, (content, _) in story.files().items()}
    expected = {names[name]: text.encode() for name, text in files.items()}
    if any(_has_line_that_came_back(texts) for texts in versions.values()) and report["spared"]:
        # Whose line that is cannot be told: it stays, and is listed.
        unlike = {name for name in left.keys() | expected.keys() if left.get(name) != expected.get(name)}
        assert unlike <= {block["path"] for block in report["spared"]}
        return
    assert left == expected, (report["spared"], report["patch"])
    assert report["spared"] == []


def _has_line_that_came_back(texts: list[str]) -> bool:
    """Return whether a line of the first text, or more of the same line, was deleted and written again."""
    for line in set(texts[0].splitlines()):
        counts = [text.splitlines().count(line) for text in texts]
        if any(after > before for before, after in pairwise(counts)) and min(counts) < counts[0]:
            return True
    return False


@SOME
@given(first=TEXTS, steps=st.lists(st.tuples(st.sampled_from([MINE, THEIRS, ""]), EDITS), min_size=1, max_size=6))
def test_undoing_loses_no_line_that_only_others_wrote(
    tmp_path_factory: pytest.TempPathFactory, first: list[str], steps: list[tuple[str, list[str]]]
) -> None:
    story = an_undone(tmp_path_factory.mktemp("others"), {"a.py": _written(first, "\n")})
    for n, (session, lines) in enumerate(steps):
        # Every author's new lines are recognizable, whatever the place.
        marked = [
            line if not line.startswith("    new") or "by" in line else f"{line}  # by {session or 'ana'} {n}"
            for line in lines
        ]
        text = _written(marked, "\n")
        if (story.read("a.py") or b"") == text.encode():
            continue
        if session:
            story.edit("a.py", text, session=session)
        else:
            story.write("a.py", text)
        if n % 2:
            story.commit()
    before = (story.read("a.py") or b"").decode().splitlines()
    if not any(session == MINE for session, _ in steps):
        return
    if story.run(MINE).status == 2:
        return  # its edits changed nothing
    report = story.apply()
    left = (story.read("a.py") or b"").decode().splitlines()
    for line in before:
        if f"by {THEIRS}" in line or "by ana" in line:
            assert line in left, report


def test_a_session_with_many_files_is_undone_in_bounded_steps(tmp_path: Path) -> None:
    files = {f"src/part_{n // 50}/file_{n}.py": f"value_{n} = read_value({n})\n" for n in range(400)}
    story = an_undone(tmp_path / "repository", dict(files))
    before = story.files()
    for name, text in files.items():
        story.edit(name, f"{text}added = compute_more({name!r})\n")
    story.commit("by the agent")
    report = story.apply()
    assert (len(report["files"]), report["spared"]) == (400, [])
    assert story.files() == before
