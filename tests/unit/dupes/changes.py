"""Builders of changes for tests."""

from collections.abc import Sequence

from hypothesis import strategies as st

from custody.core.ids import CommitSha
from custody.core.paths import Hunk
from custody.dupes.descent import ChangeSet
from custody.dupes.facts.model import Channel
from custody.dupes.facts.touched_facts import TouchedFacts
from custody.dupes.model import ChangeDescription, ChangedPiece, Shape


def a_piece(
    path: str = "src/app.ts",
    added: Sequence[str] = (),
    *,
    removed: Sequence[str] = (),
    first: int = 1,
    old_path: str | None = None,
    channel: Channel = Channel.PRODUCTION,
    after: TouchedFacts | None = None,
) -> ChangedPiece:
    """Return a file changed in one place."""
    return ChangedPiece(
        path=path,
        channel=channel,
        shape=Shape.MODIFIED if old_path is None else Shape.RENAMED,
        old_path=old_path,
        runs=(Hunk(first, first, tuple(removed), tuple(added)),) if added or removed else (),
        after=after or TouchedFacts(),
    )


def a_described(*pieces: ChangedPiece, opened_ns: int = 1_000) -> ChangeDescription:
    """Return a change of these pieces."""
    return ChangeDescription(base=CommitSha("b" * 40), head=CommitSha("a" * 40), opened_ns=opened_ns, pieces=pieces)


def some_code(count: int, *, first: int = 0) -> list[str]:
    """Return lines of code that all differ."""
    return [f"const value{n} = compute{n}(input{n}, output{n}) + offset{n};" for n in range(first, first + count)]


def a_set(
    elements: str = "",
    *,
    prints: Sequence[int] = (),
    symbols: str = "",
    opened_ns: int = 1_000,
    paths: str = "",
    lines: int = 0,
    files: int = 0,
    renamed: int = 0,
) -> ChangeSet:
    """Return a change set whose shingles, symbols and paths are single letters."""
    return ChangeSet(
        opened_ns=opened_ns,
        shingles=frozenset(elements),
        fingerprints=frozenset(prints),
        symbols=frozenset(symbols),
        paths=frozenset(paths),
        lines_changed=lines,
        files_changed=files,
        files_renamed=renamed,
    )


def sets() -> st.SearchStrategy[ChangeSet]:
    """Return change sets of few elements, so that containment, equality and equal times are common."""
    return st.builds(
        a_set,
        st.text("abcdefgh", max_size=8),
        prints=st.lists(st.integers(0, 8), max_size=8),
        symbols=st.text("stuvw", max_size=5),
        opened_ns=st.integers(0, 3),
        paths=st.text("xyz", max_size=3),
        lines=st.sampled_from([0, 10, 2_001]),
        files=st.integers(1, 4),
        renamed=st.integers(0, 1),
    )
