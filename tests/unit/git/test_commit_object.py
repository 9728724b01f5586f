"""Commit objects as git stores them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from custody.core.errors import GitError
from custody.core.ids import CommitSha
from custody.git import Object, Person, ZonedTime, discover_repository, parse_commit
from tests.builders.repo import Built

SHA = CommitSha("a" * 40)
WHOLE = b"""tree %s
parent %s
parent %s
author Ana B <ana@example.invalid> 1700000000 +0530
committer Bo <> 1700000060 -0100
gpgsig -----BEGIN PGP SIGNATURE-----
 parent of nothing
 tree in the signature
 -----END PGP SIGNATURE-----
encoding ISO-8859-1

sub
ject

caf\xe9

tree of another
""" % (b"d" * 40, b"b" * 40, b"c" * 40)
NAMES = st.binary(min_size=1, max_size=12).map(
    lambda raw: b"x" + bytes(byte for byte in raw if byte not in b"<>\n\0") + b"x"
)


def test_all_fields_of_a_commit() -> None:
    commit = parse_commit(SHA, WHOLE)
    assert (commit.id, commit.tree, commit.parents) == (SHA, "d" * 40, ("b" * 40, "c" * 40))
    assert commit.author == Person(b"Ana B", b"ana@example.invalid", ZonedTime(1_700_000_000, "+0530"))
    assert commit.committer == Person(b"Bo", b"", ZonedTime(1_700_000_060, "-0100"))
    assert (commit.subject, commit.message[-17:]) == (b"sub ject", b"\ntree of another\n")


def test_lines_of_a_signature_are_not_fields() -> None:
    assert len(parse_commit(SHA, WHOLE).parents) == 2


def test_a_root_has_no_parents_and_may_have_no_message() -> None:
    commit = parse_commit(SHA, b"tree " + b"d" * 40 + b"\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n")
    assert (commit.parents, commit.message) == ((), b"")


@pytest.mark.parametrize(
    ("line", "person"),
    [
        (b"A <a> 1 +0000", Person(b"A", b"a", ZonedTime(1, "+0000"))),
        (b"<a> 1 +0000", Person(b"", b"a", ZonedTime(1, "+0000"))),
        (b"A <a>", Person(b"A", b"a", None)),
        (b"A <a> yesterday", Person(b"A", b"a", None)),
        (b"A <a> 1 +0000 more", Person(b"A", b"a", ZonedTime(1, "+0000"))),
        (b"nobody", Person(b"nobody", b"", None)),
    ],
)
def test_damaged_people_are_parsed_in_part(line: bytes, person: Person) -> None:
    commit = parse_commit(SHA, b"tree " + b"d" * 40 + b"\nauthor " + line + b"\n\nx\n")
    assert commit.author == person
    assert commit.committer == Person(b"", b"", None)


@pytest.mark.parametrize("content", [b"", b"\n\ntree x", b"object " + b"a" * 40, b"tree nothing\n\nx\n"])
def test_an_invalid_commit_is_a_git_error(content: bytes) -> None:
    with pytest.raises(GitError):
        parse_commit(SHA, content)


@settings(max_examples=25)
@given(NAMES, st.binary(max_size=40).map(lambda raw: raw.replace(b"\0", b"")), st.integers(0, 2**40))
def test_the_parsed_object_matches_git(shared: Built, name: bytes, message: bytes, at: int) -> None:
    sha = shared.commit({b"x": b"1\n"}, message=message, author=name + b" <" + name + b">", at=at)
    repository = discover_repository(shared.path)
    with repository.objects() as objects:
        found = objects.read(sha)
    assert isinstance(found, Object)
    (logged,) = repository.log([sha])
    assert parse_commit(sha, found.content) == logged
