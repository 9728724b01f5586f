"""Repository paths: any bytes in a name, never a path out of the repository."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from custody.core.errors import InputError
from custody.core.paths import PATH_BYTES_MAX, RepoPath
from tests.builders.table import table

parts = (
    st.binary(min_size=1, max_size=12)
    .map(lambda raw: raw.translate(None, b"\0/"))
    .filter(lambda part: part not in (b"", b".", b".."))
)
raw_paths = st.lists(parts, min_size=1, max_size=5).map(b"/".join)
"""Names that git supports: any bytes but NUL, no empty part, no ``.`` and no ``..``."""

REFUSED = {
    b"": "is empty",
    b"/etc/passwd": "is absolute",
    b"/": "is absolute",
    b"//": "is absolute",
    b"..": "leaves the repository",
    b"../a": "leaves the repository",
    b"a/../b": "leaves the repository",
    b"a/..": "leaves the repository",
    b"a//b": "is not in its shortest form",
    b"a/": "is not in its shortest form",
    b".": "is not in its shortest form",
    b"./a": "is not in its shortest form",
    b"a/./b": "is not in its shortest form",
    b"a\0b": "has a NUL byte",
    b"\0": "has a NUL byte",
}


@given(raw_paths)
@example(b"d/\xff\n'\".py")
@example(b"...")
@example(b"a/..b/.c.")
@example(b"\\..\\a")
@example("é/€/😀".encode())
@example(b"\xed\xb3\xbf")
@example(b"\xc3/\xa9")
def test_any_bytes_that_git_can_hold_survive_the_way_through_text(raw: bytes) -> None:
    path = RepoPath(raw)
    assert path.raw == raw
    assert RepoPath.of(str(path)) == path


@given(raw_paths, parts, parts)
def test_different_paths_never_have_the_same_text(folder: bytes, one: bytes, other: bytes) -> None:
    texts = {
        str(RepoPath(b"%s/%s%s" % (folder, name, odd))) for name in (one, other) for odd in (b"", b"\xff", b"\xfe")
    }
    assert len(texts) == len({name + odd for name in (one, other) for odd in (b"", b"\xff", b"\xfe")})


@table(("raw", "problem"), REFUSED.items())
def test_a_path_outside_the_repository_is_refused_with_the_reason(raw: bytes, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as refusal:
        RepoPath(raw)
    assert refusal.value.hint is not None
    with pytest.raises(InputError, match=problem):
        RepoPath.of(raw.decode())


@given(st.lists(parts, max_size=3), st.sampled_from((b"..", b".", b"")), st.lists(parts, max_size=3))
def test_a_way_out_is_refused_wherever_it_stands(before: list[bytes], bad: bytes, after: list[bytes]) -> None:
    with pytest.raises(InputError):
        RepoPath(b"/".join((*before, bad, *after)))


@given(raw_paths, st.data())
def test_a_nul_is_refused_wherever_it_stands(raw: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(raw)))
    with pytest.raises(InputError, match="has a NUL byte"):
        RepoPath(raw[:at] + b"\0" + raw[at:])


@pytest.mark.parametrize("size", [PATH_BYTES_MAX - 1, PATH_BYTES_MAX])
def test_a_path_may_be_as_long_as_the_limit(size: int) -> None:
    assert len(RepoPath(b"a" * size).raw) == size
    assert len(RepoPath.of("\udcff" * size).raw) == size, "bytes count, not the characters that stand for them"


def test_a_path_over_the_limit_is_refused() -> None:
    with pytest.raises(InputError, match=f"is longer than {PATH_BYTES_MAX} bytes"):
        RepoPath(b"a" * (PATH_BYTES_MAX + 1))
    with pytest.raises(InputError, match=f"is longer than {PATH_BYTES_MAX} bytes"):
        RepoPath.of("é" * (PATH_BYTES_MAX // 2) + "a")


@given(st.text(st.characters(min_codepoint=0xD800, max_codepoint=0xDFFF), min_size=1, max_size=3))
@example("\udc80")
@example("\udcff")
@example("\udc7f")
@example("\udd00")
@example("\ud800")
def test_only_surrogates_that_stand_for_a_byte_are_read(text: str) -> None:
    if all("\udc80" <= character <= "\udcff" for character in text):
        assert RepoPath.of(text).raw == bytes(ord(character) - 0xDC00 for character in text)
    else:
        with pytest.raises(InputError, match="lone surrogate"):
            RepoPath.of(text)


@given(raw_paths)
def test_what_people_see_is_always_printable(raw: bytes) -> None:
    shown = RepoPath(raw).display
    assert shown.isprintable()
    shown.encode("utf-8")


def test_display_by_hand() -> None:
    assert RepoPath(b"src/a b.py").display == "src/a b.py"
    assert RepoPath("naïve.py".encode()).display == "naïve.py"
    assert RepoPath(b"a\x1b[2J\n\xff").display == "a\\x1b[2J\\n\\xff"
    assert RepoPath("a\u202eb".encode()).display == "a\\u202eb", "no name may turn the text around it"


def test_a_refusal_is_printable_and_short_whatever_was_sent() -> None:
    for raw in (b"/\x1b[2J\xff", b"a\0b", b"../" + b"\xff" * 5000):
        with pytest.raises(InputError) as refusal:
            RepoPath(raw)
        assert refusal.value.message.isprintable()
        assert len(refusal.value.message) < 250
    with pytest.raises(InputError) as refusal:
        RepoPath.of("\x1b\ud800" * 500)
    assert refusal.value.message.isprintable() and len(refusal.value.message) < 250


@given(raw_paths)
def test_the_name_is_what_stands_behind_the_last_slash(raw: bytes) -> None:
    assert RepoPath(raw).name == raw.split(b"/")[-1]


@given(raw_paths, raw_paths)
def test_order_is_that_of_the_bytes_as_in_git(one: bytes, other: bytes) -> None:
    assert (RepoPath(one) < RepoPath(other)) == (one < other)
