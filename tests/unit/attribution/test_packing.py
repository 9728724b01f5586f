"""Packed origins and versions are unpacked unchanged."""

from hypothesis import given
from hypothesis import strategies as st

from custody.attribution.lineage import BETWEEN, UNKNOWN, LineOrigin, make_person_origin
from custody.attribution.origin_search import VersionLine
from custody.attribution.packing import (
    pack_line_origins,
    pack_version_origins,
    unpack_line_origins,
    unpack_version_origins,
)
from custody.attribution.text import is_informative_lineage_line, make_lineage_key
from custody.core.ids import CommitSha

ORIGINS = st.sampled_from((UNKNOWN, BETWEEN, make_person_origin(3), make_person_origin(2**40))) | st.builds(
    LineOrigin, st.integers(1, 2**62), st.integers(0, 1_000_000).map(lambda part: part / 1_000_000)
)
SHAS = st.sampled_from([CommitSha(digit * 40) for digit in "abc"] + [CommitSha("d" * 64)])
TRAILS = st.lists(SHAS | st.none(), max_size=3).map(tuple)
LINES = st.lists(st.tuples(st.sampled_from(("", "}", "one_thing = 1", "other_thing = 2")), ORIGINS, TRAILS), max_size=8)


@given(st.lists(ORIGINS, max_size=20))
def test_origins_are_unpacked_unchanged(origins: list[LineOrigin]) -> None:
    assert unpack_line_origins(pack_line_origins(origins)) == origins


def test_a_run_of_one_origin_is_as_short_as_one_line() -> None:
    assert len(pack_line_origins([LineOrigin(5)] * 10_000)) == len(pack_line_origins([LineOrigin(5)]))
    assert pack_line_origins([]) == b""


@given(LINES, st.integers(0, 2**31))
def test_versions_are_unpacked_with_trails_commits_and_notes(
    drawn: list[tuple[str, LineOrigin, tuple[CommitSha | None, ...]]], commits: int
) -> None:
    lines = [
        VersionLine(make_lineage_key(text), is_informative_lineage_line(text), origin, trail)
        for text, origin, trail in drawn
    ]
    texts = [text for text, _, _ in drawn]
    notes = ["more than 5,000 lines were compared line by line only"]
    assert unpack_version_origins(pack_version_origins(lines, commits), texts) == (lines, commits, [])
    assert unpack_version_origins(pack_version_origins(lines, commits, notes), texts) == (lines, commits, notes)


def test_a_version_of_another_text_is_not_used() -> None:
    packed = pack_version_origins([VersionLine(make_lineage_key("one_thing"), True, LineOrigin(1), ())], 1)
    assert unpack_version_origins(packed, []) is None
    assert unpack_version_origins(packed, ["one_thing", "more"]) is None
