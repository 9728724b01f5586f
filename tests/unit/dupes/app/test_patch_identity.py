"""What two changes share that have the same patch identity."""

from pathlib import Path

import pytest

from custody.dupes.app.patch_identity import identify_patch
from custody.workspace.change import resolve_change_range
from custody.workspace.workspace import Workspace
from tests.builders.repo import PROGRAM, Built, Files, a_repository

OLD = b"".join(b"line %d\n" % number for number in range(30))
NEW = OLD.replace(b"line 20\n", b"line twenty\n")
BASE: Files = {b"a.py": OLD, b"logo": b"\0one"}


@pytest.fixture
def built(tmp_path: Path) -> Built:
    return a_repository(tmp_path / "repository")


def identity(built: Built, before: Files, after: Files, *, at: int = 1) -> str:
    base = built.commit(before, at=at)
    head = built.commit(after, base, at=at + 1)
    return identify_patch(resolve_change_range(Workspace(built.path).repository, f"{base}..{head}").files)


def test_another_commit_or_base_keeps_it(built: Built) -> None:
    first = identity(built, BASE, {**BASE, b"a.py": NEW})
    assert len(first) == 64
    assert identity(built, BASE, {**BASE, b"a.py": NEW}, at=900) == first, "another time and commit"
    more = {**BASE, b"a.py": b"above\n" + OLD, b"b.py": b"other\n"}
    assert identity(built, more, {**more, b"a.py": b"above\n" + NEW}) == first, "another base"


@pytest.mark.parametrize(
    "after",
    [
        {b"a.py": NEW.replace(b"twenty", b"Twenty")},
        {b"a.py": NEW.replace(b"line twenty", b" line twenty")},
        {b"a.py": NEW, b"b.py": b""},
        {b"a.py": (PROGRAM, NEW)},
        {b"a.py": NEW, b"logo": b"\0two"},
        {b"b.py": NEW, b"a.py": OLD},
    ],
)
def test_every_difference_in_what_it_does_changes_it(built: Built, after: Files) -> None:
    known = identity(built, BASE, {**BASE, b"a.py": NEW})
    assert identity(built, BASE, {**BASE, **after}) != known


def test_other_content_of_a_binary_file_changes_it(built: Built) -> None:
    one, other = (identity(built, BASE, {**BASE, b"logo": content}) for content in (b"\0two", b"\0three"))
    assert one != other
