"""After any edits, the commit of a work tree has the tree that git would write, and nothing else changes."""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders.repo import a_history, a_repository
from tests.unit.git.strategies import contents, odd_names
from tests.unit.git.work_trees import head_tree, same, tree_of

_SAME_PLACES = (b"a.txt", b"b.txt", b"folder/c.txt", b"folder/d", b"folder", b"folder/d/e", b"link")
_names = st.one_of(st.sampled_from(_SAME_PLACES), odd_names)


def _make_way(path: bytes) -> None:
    """Create the folder of ``path``, and delete ``path``."""
    if os.path.islink(path) or os.path.isfile(path):
        os.unlink(path)
    elif os.path.isdir(path):
        shutil.rmtree(path)
    parent = os.path.dirname(path)
    if os.path.islink(parent) or os.path.isfile(parent):
        os.unlink(parent)
    if not os.path.isdir(parent):
        _make_way(parent)
        os.mkdir(parent)


def _write(path: bytes, content: bytes) -> None:
    _make_way(path)
    with open(path, "wb") as file:
        file.write(content)


def _link(path: bytes, content: bytes) -> None:
    _make_way(path)
    os.symlink(content.replace(b"\0", b"")[:100] or b"a.txt", path)


def _remove(path: bytes, content: bytes) -> None:
    if os.path.lexists(path):
        _make_way(path)


def _mode(path: bytes, content: bytes) -> None:
    if os.path.isfile(path) and not os.path.islink(path):
        os.chmod(path, 0o755 if len(content) % 2 else 0o644)


_DEEDS: tuple[Callable[[bytes, bytes], None], ...] = (_write, _link, _remove, _mode)
_edits = st.lists(st.tuples(st.sampled_from(_DEEDS), _names, contents, st.booleans()), max_size=6)
_versions = st.dictionaries(st.sampled_from(_SAME_PLACES[:4]), contents, min_size=1, max_size=4)


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("properties")


@given(_versions, _edits, st.sampled_from(("sha1", "sha256")))
@settings(max_examples=25)
def test_any_edits_give_the_tree_that_git_would_write(
    top: Path,
    version: dict[bytes, bytes],
    edits: list[tuple[Callable[[bytes, bytes], None], bytes, bytes, bool]],
    form: str,
) -> None:
    folder = Path(tempfile.mkdtemp(dir=top))
    built = a_repository(folder / "here", object_format=form)
    a_history(built, version)
    built.checkout()
    assert tree_of(built) == (head_tree(built), {})
    for deed, name, content, staged in edits:
        deed(os.path.join(os.fsencode(built.path), name), content)
        if staged:
            built.git("add", "--all")
    same(built, folder)
    shutil.rmtree(folder)
