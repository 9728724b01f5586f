"""Line endings, filters and other conversions: unmodified files as in git, and no program ever runs."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from custody.core.errors import GitError
from custody.git.work_tree_settings import (
    Attributes,
    LineEndings,
    WorkSettings,
    choose_line_endings,
    find_unsupported_conversion,
    normalize_line_endings,
    parse_git_attributes,
    parse_work_settings,
)
from tests.builders.repo import Built, a_history, a_repository
from tests.unit.git.work_trees import files_of, head_tree, let_settle, put, same, tree_by_git, tree_of

_PIECES = st.sampled_from((b"a", b"\r\n", b"\n", b"\r", b"\0", b"\x1a", b"\x01", b"\x7f", b"\x1b", b"x" * 130, b"\xe9"))
_CONTENTS = st.lists(_PIECES, max_size=8).map(b"".join)
_ATTRIBUTES = st.sampled_from(
    (
        *("", "text", "-text", "text=auto", "text=odd", "eol=crlf", "eol=lf", "text eol=crlf", "-text eol=lf"),
        *("text=auto eol=lf", "crlf", "-crlf", "crlf=input", "text=auto crlf", "binary"),
    )
)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return a_repository(tmp_path_factory.mktemp("drawn"))


_CASES = st.lists(st.tuples(_CONTENTS, _CONTENTS, _ATTRIBUTES), min_size=4, max_size=12)


@given(_CASES, st.sampled_from(("true", "input", "false")))
@example([(b"a\r\n", b"a\n", ""), (b"a\r\n", b"a\r\n", ""), (b"a\r\n\x1a", b"", "text=auto")], "true")
@example([(b"\r\n", b"\0\r\n", ""), (b"a\r\n", b"a\x01\r\n", ""), (b"a\r\n", b"\x01\r\nb", "text=auto")], "true")
@settings(max_examples=20)
def test_line_endings_are_committed_like_git_does(
    drawn: Built, cases: list[tuple[bytes, bytes, str]], autocrlf: str
) -> None:
    """Each file has other contents on disk, contents in the index and attributes."""
    drawn.commit({b"%d" % number: indexed for number, (_, indexed, _) in enumerate(cases)})
    drawn.git("-c", "core.autocrlf=false", "reset", "--quiet", "--hard", "main")
    drawn.git("config", "core.autocrlf", autocrlf)
    lines = (f"{number} {attributes}\n" for number, (_, _, attributes) in enumerate(cases))
    (drawn.path / ".git" / "info" / "attributes").write_text("".join(lines))
    for number, (content, _, _) in enumerate(cases):
        put(drawn, str(number), content)
    same(drawn, Path(tempfile.mkdtemp(dir=drawn.path.parent)))


@pytest.mark.parametrize("setting", ["true", "input"])
def test_a_work_tree_with_crlf_is_clean_with_autocrlf(tmp_path: Path, setting: str) -> None:
    built = a_repository(tmp_path / "here")
    a_history(built, {b"a": b"one\ntwo\n", b"kept": b"one\r\n", b"data": b"\0\r\n"})
    built.git("config", "core.autocrlf", "true")
    built.checkout()
    assert (built.path / "a").read_bytes() == b"one\r\ntwo\r\n"
    built.git("config", "core.autocrlf", setting)
    assert tree_of(built) == (head_tree(built), {})
    put(built, "a", b"one\r\nthree\r\n")
    put(built, "new", b"new\r\n")
    same(built, tmp_path)
    assert files_of(built)[b"a"][1] == b"one\nthree\n"


def test_tracked_attributes_and_the_users_own(work: Built, tmp_path: Path) -> None:
    put(work, "folder/.gitattributes", b"*.txt text\n")
    put(work, "folder/x.txt", b"1\r\n")
    put(work, "y.md", b"1\r\n")
    put(work, "z.md", b"1\r\n")
    user = tmp_path / "attributes"
    user.write_text("*.md text\n")
    work.git("config", "core.attributesFile", os.fspath(user))
    (work.path / ".git" / "info" / "attributes").write_text("z.md -text\n")
    same(work, tmp_path)
    files = files_of(work)
    assert [files[name][1] for name in (b"folder/x.txt", b"y.md", b"z.md")] == [b"1\n", b"1\n", b"1\r\n"]


@pytest.fixture
def filtered(work: Built) -> Built:
    """Return a repository where ``run`` has a filter that leaves a mark when it runs."""
    (work.path / ".git" / "info" / "attributes").write_text("run filter=mine\nnew filter=mine\nfolder/* filter=other\n")
    for key in ("clean", "smudge", "process"):
        work.git("config", f"filter.mine.{key}", f"touch {work.path.parent}/ran; cat")
    return work


def test_an_unchanged_filtered_file_is_taken_from_the_index(filtered: Built) -> None:
    let_settle(filtered)
    (filtered.path.parent / "ran").unlink(missing_ok=True)
    assert tree_of(filtered) == (head_tree(filtered), {})
    assert not (filtered.path.parent / "ran").exists()


def test_a_changed_filtered_file_is_reported(filtered: Built) -> None:
    let_settle(filtered)
    (filtered.path.parent / "ran").unlink(missing_ok=True)
    put(filtered, "run", b"changed\n", 0o755)
    put(filtered, "new", b"untracked\n")
    tree, out = tree_of(filtered)
    assert tree == head_tree(filtered)
    assert set(out) == {b"run", b"new"} and "filter 'mine'" in out[b"run"]
    assert not (filtered.path.parent / "ran").exists()


def test_a_filter_without_configuration_changes_nothing(filtered: Built, tmp_path: Path) -> None:
    put(filtered, "folder/b", b"changed\n")
    filtered.git("config", "--remove-section", "filter.mine")
    same(filtered, tmp_path)


@pytest.mark.parametrize("line", ["a ident", "a working-tree-encoding=UTF-16"])
def test_other_conversions_are_not_made(work: Built, line: str) -> None:
    let_settle(work)
    (work.path / ".git" / "info" / "attributes").write_text(line + "\n")
    assert tree_of(work) == (head_tree(work), {})
    put(work, "a", b"$Id: x$\n")
    tree, out = tree_of(work)
    assert tree == head_tree(work) and list(out) == [b"a"]


@pytest.mark.parametrize("key", ["fileMode", "symlinks"])
def test_modes_that_do_not_count(work: Built, tmp_path: Path, key: str) -> None:
    work.git("config", f"core.{key}", "false")
    (work.path / "run").chmod(0o644)
    (work.path / "a").chmod(0o755)
    put(work, "new", b"#!/bin/sh\n", 0o755)
    (work.path / "link").unlink()
    put(work, "link", b"a")
    assert tree_of(work)[0] == tree_by_git(work, tmp_path / "copy")


def test_meaning_of_attributes() -> None:
    assert choose_line_endings(Attributes(), guess=False) is LineEndings.KEPT
    assert choose_line_endings(Attributes(), guess=True) is LineEndings.GUESSED
    assert choose_line_endings(Attributes(text=b"unset", eol=b"crlf"), guess=True) is LineEndings.KEPT
    assert normalize_line_endings(b"\r\r\n", LineEndings.TEXT, lambda: b"") == b"\r\n"
    assert find_unsupported_conversion(Attributes(filter=b"lfs"), {b"lfs"})
    assert find_unsupported_conversion(Attributes(filter=b"set"), {b"set"}) is None
    assert find_unsupported_conversion(Attributes(encoding=b"utf-8"), ()) is None
    with pytest.raises(GitError):
        list(parse_git_attributes([b"x\0text\0set\0x\0eol\0lf\0"]))


def test_settings_are_parsed_like_git_does() -> None:
    assert parse_work_settings(b"") == WorkSettings()
    read = parse_work_settings(
        b"core.autocrlf\ninput\0core.filemode\nfalse\0core.filemode\nYES\0core.symlinks\n0\0core.ignorecase\0"
        b"core.checkstat\nminimal\0core.trustctime\n\0filter.a.b.clean\nx\0filter.LFS.process\ny\0"
    )
    assert read == WorkSettings(
        guesses_endings=True,
        has_links=False,
        ignores_case=True,
        whole_stat=False,
        trusts_ctime=False,
        filters=frozenset((b"a.b", b"LFS")),
    )
    for bad in (b"core.filemode", b"core.filemode\nmaybe\0"):
        with pytest.raises(GitError):
            parse_work_settings(bad)
