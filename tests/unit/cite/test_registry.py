"""What holds of a registry whatever happens to it: numbers, merges and their undoing, replay."""

from collections.abc import Sequence
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from custody.cite.event_fold import GAP_NUMBERS_MAX, MEMBERS_MAX, apply
from custody.cite.keys import ALSO_BYTES_MAX, ALSO_VALUES_MAX, clean_source, keys_of, richer
from custody.cite.model import ResearchSource, number_of
from custody.cite.registry import (
    aliases_of,
    identity_of,
    merges_of,
    source_of,
    sources,
    to_merge,
    to_register,
    to_unmerge,
    to_use,
    usage_of,
)
from custody.cite.shelf import (
    AddressSplit,
    MemoryShelf,
    MergeReversal,
    RegistrationReason,
    RegistryChange,
    SourceLost,
    SourceMergeEvent,
    SourceRegistration,
    SourceUseEvent,
    Stamp,
)
from custody.core.errors import InputError
from tests.builders.sources import a_source

WORDS = st.text("ab \u202e漢\0\n", max_size=5).map(lambda text: f"t{text}")
SOURCES = st.builds(
    lambda title, url, author, doi: ResearchSource(
        title=title, url=url, author=author, metadata={} if doi is None else {"doi": doi}
    ),
    WORDS,
    st.sampled_from([None, *(f"https://example.org/{n}" for n in range(4)), "http://example.org/0?utm_source=x"]),
    st.sampled_from([None, "Ana", "Ana Lee", "Ben"]),
    st.sampled_from([None, None, "10.1000/1", "10.1000/2"]),
)


class Story:
    """A registry and everything that happened to it."""

    def __init__(self) -> None:
        self.shelf = MemoryShelf()
        self.told: list[RegistryChange] = []
        self._tick = count(1)

    def stamp(self) -> Stamp:
        tick = next(self._tick)
        return Stamp(id=str(tick), at_ns=tick, who="ana")

    def let(self, events: Sequence[RegistryChange]) -> None:
        for event in events:
            assert apply(self.shelf, event)
            self.told.append(event)

    def register(self, source: ResearchSource) -> str:
        try:
            number, events = to_register(self.shelf, source, self.stamp())
        except InputError:
            return ""
        self.let(events)
        entry = self.shelf.entry(number)
        assert entry is not None
        return identity_of(self.shelf, entry).source_id

    def seen(self) -> list[object]:
        """Everything that can be looked up."""
        ids = [f"S{n}" for n in range(1, self.shelf.last() + 1)]
        return [
            list(sources(self.shelf)),
            [aliases_of(self.shelf, one) for one in ids],
            [merges_of(self.shelf, one) for one in ids],
            [usage_of(self.shelf, one) for one in ids],
        ]


def a_story(told: Sequence[ResearchSource]) -> Story:
    story = Story()
    for source in told:
        story.register(source)
    return story


# Conformance: 003-002
@given(st.lists(SOURCES, max_size=12))
def test_numbers_are_given_without_gaps_and_never_twice(told: list[ResearchSource]) -> None:
    story = Story()
    for source in told:
        before = story.shelf.last()
        given_id = story.register(source)
        assert story.shelf.last() in (before, before + 1)
        assert not given_id or number_of(given_id) <= story.shelf.last()
    assert [entry.number for entry in story.shelf.entries()] == list(range(1, story.shelf.last() + 1))


# Conformance: 003-065
@given(st.lists(SOURCES, max_size=12))
def test_the_same_registrations_again_change_nothing(told: list[ResearchSource]) -> None:
    story = a_story(told)
    ids = [story.register(source) for source in told]
    before = story.seen()
    assert [story.register(source) for source in told] == ids
    assert story.seen() == before


# Conformance: 003-065
@given(st.lists(SOURCES, min_size=1, max_size=10), st.data())
def test_merges_taken_back_in_any_order_leave_no_trace(told: list[ResearchSource], data: st.DataObject) -> None:
    story = a_story(told)
    before = story.seen()
    numbers = st.integers(1, max(1, story.shelf.last()))
    merged: list[str] = []
    for _ in range(data.draw(st.integers(0, 6))):
        one, other = (f"S{data.draw(numbers)}" for _ in range(2))
        try:
            events = to_merge(story.shelf, one, other, "why", story.stamp())
        except InputError:
            continue
        story.let(events)
        merged.extend(f"S{event.absorbed}" for event in events if isinstance(event, SourceMergeEvent))
    for one in data.draw(st.permutations(merged)):
        story.let(to_unmerge(story.shelf, one, "", story.stamp()))
    assert story.seen() == before


# Conformance: 003-008, 003-095
@given(st.lists(SOURCES, min_size=2, max_size=10), st.data())
def test_replaying_what_happened_gives_the_same_registry(told: list[ResearchSource], data: st.DataObject) -> None:
    story = a_story(told)
    for kind in data.draw(st.lists(st.sampled_from(["merge", "use"]), max_size=5)):
        one, other = (f"S{data.draw(st.integers(1, max(1, story.shelf.last())))}" for _ in range(2))
        try:
            if kind == "merge":
                story.let(to_merge(story.shelf, one, other, "why", story.stamp()))
            else:
                story.let(to_use(story.shelf, one, "finding", other, story.stamp()))
        except InputError:
            continue
    again = Story()
    again.let(story.told)
    assert again.seen() == story.seen()


# Conformance: 003-023
@given(SOURCES, SOURCES, SOURCES)
def test_what_was_said_is_shown_or_kept_beside(a: ResearchSource, b: ResearchSource, c: ResearchSource) -> None:
    both = richer(richer(clean_source(a), clean_source(b)), clean_source(c))
    for said in map(clean_source, (a, b, c)):
        assert richer(both, said) == both
        for name in ("title", "author"):
            value = getattr(said, name)
            assert not value or value == getattr(both, name) or value in both.metadata["also"][name]


def test_what_is_kept_beside_has_a_limit() -> None:
    source = clean_source(a_source(1, title="t"))
    for n in range(100):
        source = richer(source, clean_source(a_source(1, title=f"{n} {'x' * 4000}")))
    beside = source.metadata["also"]["title"]
    assert len(beside) <= ALSO_VALUES_MAX
    assert len(repr(beside)) <= ALSO_BYTES_MAX + 4100


def test_addresses_beyond_the_limit_are_kept_with_the_first() -> None:
    story = Story()
    for n in range(MEMBERS_MAX + 20):
        assert story.register(a_source(url=f"https://example.org/a?fbclid={n}", author=f"A{n}")) == "S1"
    (entry,) = story.shelf.entries()
    assert len(entry.members) == MEMBERS_MAX


def test_events_that_do_not_fit_change_nothing() -> None:
    story = a_story([a_source(1), a_source(2)])
    before = story.seen()
    keys, stamp = keys_of(a_source(3)), story.stamp()
    misfits: list[RegistryChange] = [
        SourceRegistration(stamp=stamp, number=2, how=RegistrationReason.NEW, keys=keys, source=a_source(3)),
        SourceRegistration(stamp=stamp, number=9, how=RegistrationReason.URL, keys=keys, source=a_source(3)),
        SourceRegistration(
            stamp=stamp, number=GAP_NUMBERS_MAX + 9, how=RegistrationReason.NEW, keys=keys, source=a_source(3)
        ),
        SourceMergeEvent(stamp=stamp, number=1, absorbed=1, how=RegistrationReason.PERSON, reason="x"),
        SourceMergeEvent(stamp=stamp, number=1, absorbed=9, how=RegistrationReason.PERSON, reason="x"),
        MergeReversal(stamp=stamp, number=1, absorbed=2, reason="x"),
        AddressSplit(stamp=stamp, number=3, of=1, spelling="https://example.org/1", reason="x"),
        SourceUseEvent(stamp=stamp, number=9, kind="finding", artifact="f"),
    ]
    assert [apply(story.shelf, event) for event in misfits] == [False] * len(misfits)
    assert story.seen() == before


def test_a_number_whose_event_is_gone_is_never_given_again() -> None:
    story = a_story([a_source(1)])
    story.let([SourceLost(stamp=story.stamp(), number=2)])
    assert story.register(a_source(3)) == "S3"
    entry = story.shelf.entry(2)
    assert entry is not None
    assert source_of(story.shelf, entry) is None
    assert [identity.source_id for identity, _ in sources(story.shelf)] == ["S1", "S3"]
