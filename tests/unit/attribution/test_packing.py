"""What is kept comes back as it was."""

from hypothesis import given
from hypothesis import strategies as st

from custody.attribution.lineage import BETWEEN, UNKNOWN, LineOrigin, person_at
from custody.attribution.origin_search import VersionLine
from custody.attribution.packing import pack_origins, pack_version, unpack_origins, unpack_version
from custody.attribution.text import is_informative, key_of
from custody.core.ids import CommitSha

ORIGINS = st.sampled_from((UNKNOWN, BETWEEN, person_at(3), person_at(2**40))) | st.builds(
    LineOrigin, st.integers(1, 2**62), st.integers(0, 1_000_000).map(lambda part: part / 1_000_000)
)
SHAS = st.sampled_from([CommitSha(digit * 40) for digit in "abc"] + [CommitSha("d" * 64)])
TRAILS = st.lists(SHAS | st.none(), max_size=3).map(tuple)
LINES = st.lists(st.tuples(st.sampled_from(("", "}", "one_thing = 1", "other_thing = 2")), ORIGINS, TRAILS), max_size=8)


@given(st.lists(ORIGINS, max_size=20))
def test_origins_come_back(origins: list[LineOrigin]) -> None:
    assert unpack_origins(pack_origins(origins)) == origins


def test_neighbours_with_one_origin_take_the_room_of_one() -> None:
    assert len(pack_origins([LineOrigin(5)] * 10_000)) == len(pack_origins([LineOrigin(5)]))
    assert pack_origins([]) == b""


@given(LINES, st.integers(0, 2**31))
def test_versions_come_back_with_their_trails_and_what_was_read(
    drawn: list[tuple[str, LineOrigin, tuple[CommitSha | None, ...]]], commits: int
) -> None:
    lines = [VersionLine(key_of(text), is_informative(text), origin, trail) for text, origin, trail in drawn]
    texts = [text for text, _, _ in drawn]
    notes = ["more than 5,000 lines were compared line by line only"]
    assert unpack_version(pack_version(lines, commits), texts) == (lines, commits, [])
    assert unpack_version(pack_version(lines, commits, notes), texts) == (lines, commits, notes)


def test_a_version_of_another_text_is_not_used() -> None:
    packed = pack_version([VersionLine(key_of("one_thing"), True, LineOrigin(1), ())], 1)
    assert unpack_version(packed, []) is None
    assert unpack_version(packed, ["one_thing", "more"]) is None
