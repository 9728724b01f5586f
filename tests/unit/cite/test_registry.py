"""Properties of a registry: numbers, merges and unmerges, replay."""

from collections.abc import Sequence
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from custody.cite.catalog import (
    AddressSplit,
    MemoryCatalog,
    MergeReversal,
    RegistrationReason,
    RegistryChange,
    SourceLost,
    SourceMergeEvent,
    SourceRegistration,
    SourceUseEvent,
    Stamp,
)
from custody.cite.event_fold import GAP_NUMBERS_MAX, MEMBERS_MAX, apply_source_event
from custody.cite.keys import ALSO_BYTES_MAX, ALSO_VALUES_MAX, clean_source, compute_source_keys, merge_source_pair
from custody.cite.model import ResearchSource, source_number_from_id
from custody.cite.registry import (
    collect_source_usage,
    combine_merged_source,
    identify_source,
    iterate_sources,
    list_source_aliases,
    list_source_merges,
    plan_source_merge,
    plan_source_registration,
    plan_source_unmerge,
    plan_source_use,
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
    """A registry and all its events."""

    def __init__(self) -> None:
        self.catalog = MemoryCatalog()
        self.told: list[RegistryChange] = []
        self._tick = count(1)

    def stamp(self) -> Stamp:
        tick = next(self._tick)
        return Stamp(id=str(tick), at_ns=tick, who="ana")

    def let(self, events: Sequence[RegistryChange]) -> None:
        for event in events:
            assert apply_source_event(self.catalog, event)
            self.told.append(event)

    def register(self, source: ResearchSource) -> str:
        try:
            number, events = plan_source_registration(self.catalog, source, self.stamp())
        except InputError:
            return ""
        self.let(events)
        entry = self.catalog.entry(number)
        assert entry is not None
        return identify_source(self.catalog, entry).source_id

    def seen(self) -> list[object]:
        """Return everything that the registry shows."""
        ids = [f"S{n}" for n in range(1, self.catalog.last() + 1)]
        return [
            list(iterate_sources(self.catalog)),
            [list_source_aliases(self.catalog, one) for one in ids],
            [list_source_merges(self.catalog, one) for one in ids],
            [collect_source_usage(self.catalog, one) for one in ids],
        ]


def a_story(told: Sequence[ResearchSource]) -> Story:
    story = Story()
    for source in told:
        story.register(source)
    return story


# Conformance: 003-002
@given(st.lists(SOURCES, max_size=12))
def test_numbers_are_assigned_without_gaps_and_never_twice(told: list[ResearchSource]) -> None:
    story = Story()
    for source in told:
        before = story.catalog.last()
        given_id = story.register(source)
        assert story.catalog.last() in (before, before + 1)
        assert not given_id or source_number_from_id(given_id) <= story.catalog.last()
    assert [entry.number for entry in story.catalog.entries()] == list(range(1, story.catalog.last() + 1))


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
def test_merges_undone_in_any_order_leave_no_trace(told: list[ResearchSource], data: st.DataObject) -> None:
    story = a_story(told)
    before = story.seen()
    numbers = st.integers(1, max(1, story.catalog.last()))
    merged: list[str] = []
    for _ in range(data.draw(st.integers(0, 6))):
        one, other = (f"S{data.draw(numbers)}" for _ in range(2))
        try:
            events = plan_source_merge(story.catalog, one, other, "why", story.stamp())
        except InputError:
            continue
        story.let(events)
        merged.extend(f"S{event.absorbed}" for event in events if isinstance(event, SourceMergeEvent))
    for one in data.draw(st.permutations(merged)):
        story.let(plan_source_unmerge(story.catalog, one, "", story.stamp()))
    assert story.seen() == before


# Conformance: 003-008, 003-095
@given(st.lists(SOURCES, min_size=2, max_size=10), st.data())
def test_replaying_events_gives_the_same_registry(told: list[ResearchSource], data: st.DataObject) -> None:
    story = a_story(told)
    for kind in data.draw(st.lists(st.sampled_from(["merge", "use"]), max_size=5)):
        one, other = (f"S{data.draw(st.integers(1, max(1, story.catalog.last())))}" for _ in range(2))
        try:
            if kind == "merge":
                story.let(plan_source_merge(story.catalog, one, other, "why", story.stamp()))
            else:
                story.let(plan_source_use(story.catalog, one, "finding", other, story.stamp()))
        except InputError:
            continue
    again = Story()
    again.let(story.told)
    assert again.seen() == story.seen()


# Conformance: 003-023
@given(SOURCES, SOURCES, SOURCES)
def test_every_value_is_shown_or_stored_as_an_alternative(
    a: ResearchSource, b: ResearchSource, c: ResearchSource
) -> None:
    both = merge_source_pair(merge_source_pair(clean_source(a), clean_source(b)), clean_source(c))
    for said in map(clean_source, (a, b, c)):
        assert merge_source_pair(both, said) == both
        for name in ("title", "author"):
            value = getattr(said, name)
            assert not value or value == getattr(both, name) or value in both.metadata["also"][name]


def test_stored_alternatives_are_bounded() -> None:
    source = clean_source(a_source(1, title="t"))
    for n in range(100):
        source = merge_source_pair(source, clean_source(a_source(1, title=f"{n} {'x' * 4000}")))
    beside = source.metadata["also"]["title"]
    assert len(beside) <= ALSO_VALUES_MAX
    assert len(repr(beside)) <= ALSO_BYTES_MAX + 4100


def test_urls_beyond_the_limit_are_combined_with_the_first() -> None:
    story = Story()
    for n in range(MEMBERS_MAX + 20):
        assert story.register(a_source(url=f"https://example.org/a?fbclid={n}", author=f"A{n}")) == "S1"
    (entry,) = story.catalog.entries()
    assert len(entry.members) == MEMBERS_MAX


def test_contradictory_events_change_nothing() -> None:
    story = a_story([a_source(1), a_source(2)])
    before = story.seen()
    keys, stamp = compute_source_keys(a_source(3)), story.stamp()
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
    assert [apply_source_event(story.catalog, event) for event in misfits] == [False] * len(misfits)
    assert story.seen() == before


def test_a_number_with_a_lost_event_is_never_reused() -> None:
    story = a_story([a_source(1)])
    story.let([SourceLost(stamp=story.stamp(), number=2)])
    assert story.register(a_source(3)) == "S3"
    entry = story.catalog.entry(2)
    assert entry is not None
    assert combine_merged_source(story.catalog, entry) is None
    assert [identity.source_id for identity, _ in iterate_sources(story.catalog)] == ["S1", "S3"]
