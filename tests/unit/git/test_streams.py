"""All parsers: the same result for any pieces, and only ``GitError`` for invalid output."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from custody.core.errors import GitError
from custody.core.ids import CommitSha
from custody.git.blame import parse_blame
from custody.git.chunk_reader import ChunkReader, parse_git_number, unquote_git_name
from custody.git.commit_log import LOG_OPTIONS, parse_commit_log, parse_commit_parents
from custody.git.diff import parse_diff_changes, parse_patches
from custody.git.objects import parse_tree_entries, read_object, read_object_info
from custody.git.refs import REF_FORMAT, parse_refs
from tests.builders.repo import LINK, SUBMODULE, Built, a_repository
from tests.unit.git.strategies import every

Parser = Callable[[Iterable[bytes]], Iterator[object]]
PARSERS: dict[str, Parser] = {
    "blame": parse_blame,
    "changes": parse_diff_changes,
    "patches": parse_patches,
    "log": parse_commit_log,
    "parents": parse_commit_parents,
    "infos": every(read_object_info),
    "objects": every(partial(read_object, bytes_max=100)),
    "tree": parse_tree_entries,
    "refs": parse_refs,
}


def a_busy_repository(folder: Path) -> tuple[Built, CommitSha]:
    body = b"".join(b"line %d\n" % n for n in range(30))
    built = a_repository(folder)
    base: dict[bytes, bytes | tuple[str, bytes]] = {
        b"x": body,
        b'odd "\n\xff': b"a\r\n\0b",
        b"link": (LINK, b"x"),
        b"sub": (SUBMODULE, b"1" * 40),
    }
    left = base | {b"x": body.replace(b"7", b"seven"), b"link": b"now a file"}
    right: dict[bytes, bytes | tuple[str, bytes]] = {
        b"y\t": body + b"end",
        b"empty": b"",
        b"sub": (SUBMODULE, b"2" * 40),
    }
    commits = built.commits(
        [(base, []), (left, [0]), (right, [0]), (right | {b"z": b"z"}, [1, 2])], message=b"a\n\nb\n"
    )
    return built, commits[-1]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return real output of git, by parser."""
    built, head = a_busy_repository(tmp_path_factory.mktemp("busy"))
    commits = built.git("rev-list", head)
    files = [b"y\t", b"empty", b"z"]
    names = b"".join(head.encode() + b":" + file + b"\n" for file in files) + b"1" * 40 + b"\n" + commits
    diff = ("diff-tree", "--stdin", "-r", "-z", "--root", "--always", "-m", "-M", "--full-index", "--raw")
    return {
        "blame": built.git("blame", "--porcelain", head, "--", b"y\t"),
        "changes": built.git(*diff, feed=commits),
        "patches": built.git(*diff, "-p", "-U0", feed=commits),
        "log": built.git("rev-list", *LOG_OPTIONS, head),
        "parents": built.git("rev-list", "--parents", head),
        "infos": built.git("cat-file", "--batch-check", feed=names),
        "objects": built.git("cat-file", "--batch", feed=names),
        "tree": built.git("ls-tree", "-r", "-z", head),
        "refs": built.git("for-each-ref", REF_FORMAT),
    }


def test_every_parser_is_tested(outputs: dict[str, bytes]) -> None:
    assert outputs.keys() == PARSERS.keys()
    for name, parse in PARSERS.items():
        assert list(parse([outputs[name]])), name


def pieces(data: st.DataObject, whole: bytes) -> list[bytes]:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    return [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]


@pytest.mark.parametrize("name", PARSERS)
@given(data=st.data())
@settings(max_examples=50)
def test_pieces_may_end_anywhere(outputs: dict[str, bytes], name: str, data: st.DataObject) -> None:
    parse, whole = PARSERS[name], outputs[name]
    assert list(parse(pieces(data, whole))) == list(parse([whole]))


@pytest.mark.parametrize("name", PARSERS)
def test_one_byte_at_a_time(outputs: dict[str, bytes], name: str) -> None:
    parse, whole = PARSERS[name], outputs[name]
    assert list(parse(bytes([byte]) for byte in whole)) == list(parse([whole]))


def parsed_or_refused(parse: Parser, chunks: Iterable[bytes]) -> bool:
    try:
        list(parse(chunks))
    except GitError:
        return False
    return True


@pytest.mark.parametrize("name", PARSERS)
def test_truncated_output_is_an_error_or_shorter(outputs: dict[str, bytes], name: str) -> None:
    parse, whole = PARSERS[name], outputs[name]
    full = list(parse([whole]))
    for end in range(len(whole)):
        if parsed_or_refused(parse, [whole[:end]]):
            part = list(parse([whole[:end]]))
            assert part != full
            assert part[:-1] == full[: max(0, len(part) - 1)]


@pytest.mark.parametrize("name", PARSERS)
@given(data=st.data())
@settings(max_examples=80)
def test_damage_is_a_git_error_or_ignored(outputs: dict[str, bytes], name: str, data: st.DataObject) -> None:
    whole = bytearray(outputs[name])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(whole)))
        gone = data.draw(st.integers(0, 10))
        whole[at : at + gone] = data.draw(
            st.one_of(st.binary(max_size=6), st.sampled_from((b"\0", b"\n", b":", b"@@")))
        )
    parsed_or_refused(PARSERS[name], [bytes(whole)])


@pytest.mark.parametrize("name", PARSERS)
@given(rubbish=st.lists(st.binary(max_size=60), max_size=3))
@settings(max_examples=40)
def test_invalid_output_is_a_git_error_or_ignored(name: str, rubbish: list[bytes]) -> None:
    parsed_or_refused(PARSERS[name], rubbish)


@pytest.mark.slow
@pytest.mark.parametrize("name", PARSERS)
@given(data=st.data())
@settings(max_examples=1000)
def test_much_damage_is_a_git_error_or_ignored(outputs: dict[str, bytes], name: str, data: st.DataObject) -> None:
    whole = outputs[name]
    parts = data.draw(st.lists(st.one_of(st.binary(max_size=20), slices(whole)), max_size=12))
    parsed_or_refused(PARSERS[name], parts)


def slices(whole: bytes) -> st.SearchStrategy[bytes]:
    ends = st.integers(0, len(whole))
    return st.tuples(ends, ends).map(lambda pair: whole[min(pair) : max(pair)])


def test_a_long_line_in_small_pieces_is_read_in_linear_time() -> None:
    reader = ChunkReader(b"x" * 1000 for _ in range(100_000))
    with pytest.raises(GitError, match="unexpected end"):
        reader.line()


def test_a_reader_reads_lines_fields_and_bytes() -> None:
    reader = ChunkReader([b"ab", b"", b"c\nd", b"ef\0", b"ghij"])
    assert reader.peek(5) == b"abc\nd"
    assert (reader.line(), reader.read_until(b"\0")) == (b"abc", b"def")
    reader.skip(2)
    assert (reader.read_exactly(2), reader.read_exactly(0), reader.is_at_end(), reader.peek(3)) == (
        b"ij",
        b"",
        True,
        b"",
    )
    for ask in (reader.line, lambda: reader.read_exactly(1), lambda: reader.skip(1)):
        with pytest.raises(GitError):
            ask()


@pytest.mark.parametrize("raw", [b"", b"-1", b"+1", b" 1", b"1_0", b"9" * 21, "١".encode()])
def test_only_digits_are_numbers(raw: bytes) -> None:
    with pytest.raises(GitError):
        parse_git_number(raw)


@given(st.binary(min_size=1, max_size=20).filter(lambda name: b"\0" not in name and b"/" not in name))
@settings(max_examples=150)
def test_quoted_names_are_unquoted(shared: Built, name: bytes) -> None:
    if name in (b".", b"..") or name.lower() == b".git":
        return
    feed = b"100644 blob e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\t%s\0" % name
    tree = shared.git("mktree", "-z", "--missing", feed=feed).strip()
    quoted = shared.git("ls-tree", "--name-only", tree).removesuffix(b"\n")
    assert unquote_git_name(quoted) == name


@pytest.mark.parametrize("bad", [b'"', b'"a', b'"a"b"', b'"\\"', b'"\\x41"', b'"\\400"', b'"\\1"'])
def test_bad_quotes_are_a_git_error(bad: bytes) -> None:
    with pytest.raises(GitError):
        unquote_git_name(bad)
