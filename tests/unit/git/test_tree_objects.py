"""Trees as git writes them, whatever the names."""

import contextlib
import hashlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from custody.core.errors import GitError
from custody.git.objects import list_tree_folders, parse_tree_object, write_tree_objects
from tests.builders.repo import Built, a_repository

# Names around "/" in the order of bytes: a folder is sorted as if its name ended with it.
_parts = st.sampled_from((b"a", b"a-", b"a.b", b"a0", b"b", b"-", b"\xff", b" "))
_paths = st.lists(_parts, min_size=1, max_size=3).map(b"/".join)


@pytest.fixture(scope="module", params=["sha1", "sha256"])
def built(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Built:
    return a_repository(tmp_path_factory.mktemp("trees"), object_format=request.param)


@given(st.sets(_paths, max_size=12))
@settings(max_examples=30)
def test_trees_equal_those_of_git(built: Built, drawn: set[bytes]) -> None:
    paths = {path for path in drawn if not any(path in list_tree_folders(other) for other in drawn)}
    blob = built.git("hash-object", "-w", "--stdin", feed=b"x").decode().strip()
    lines = b"".join(b"100644 %s 0\t%s\0" % (blob.encode(), path) for path in paths)
    index = {"GIT_INDEX_FILE": f"{built.path}/index-{len(paths)}"}
    Path(index["GIT_INDEX_FILE"]).unlink(missing_ok=True)
    built.git("update-index", "-z", "--index-info", feed=lines, environment=index)
    by_git = built.git("write-tree", environment=index).decode().strip()

    def keep(content: bytes) -> str:
        return hashlib.new(built.format, b"tree %d\0%s" % (len(content), content)).hexdigest()

    assert write_tree_objects(((path, 0o100644, blob) for path in paths), keep) == by_git

    entries = list(parse_tree_object(built.git("cat-file", "tree", by_git), len(by_git) // 2))
    listed = built.git("ls-tree", "-z", by_git)
    assert (
        b"".join(b"%06o %s %s\t%s\0" % (e.mode, e.kind.encode(), e.id.encode(), e.path.raw) for e in entries) == listed
    )


@given(st.binary(max_size=60))
def test_no_bytes_of_a_tree_object_are_dropped_silently(content: bytes) -> None:
    with contextlib.suppress(GitError):
        entries = list(parse_tree_object(content, 20))
        assert sum(len(entry.path.raw) + 22 for entry in entries) <= len(content)
        assert b"" not in {entry.path.raw for entry in entries}


def test_thousands_of_nested_folders() -> None:
    kept: list[bytes] = []

    def keep(content: bytes) -> str:
        kept.append(content)
        return f"{len(kept):040x}"

    deep = b"/".join([b"d"] * 3000)
    assert write_tree_objects([(deep, 0o100644, "a" * 40), (b"x", 0o100644, "a" * 40)], keep) == f"{3000:040x}"
    assert len(list(list_tree_folders(deep))) == 2999
