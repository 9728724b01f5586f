"""The registry of sources: what every way of asking it does, wherever it is kept."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from custody.cite.app.registry_stores import RecordRegistryStore, RegistryStore
from custody.cite.links import LinkCheck, LinkMemory
from custody.cite.model import (
    ArtifactType,
    ResearchSource,
    SourceError,
    SourceID,
    SourceIdentity,
    SourceUsage,
    number_of,
)
from custody.cite.registry import (
    SAID_SO,
    check_of,
    entry_at,
    entry_of,
    identity_of,
    root,
    source_of,
    sources,
    to_check,
    to_excerpt,
    to_merge,
    to_part,
    to_read,
    to_register,
    to_unmerge,
    to_use,
    usage_of,
)
from custody.cite.shelf import RegistryChange, Shelf, Stamp
from custody.cite.source_texts import ContextCandidate, candidate, candidates
from custody.cite.urls import url_key
from custody.core.views import Reading
from custody.workspace.machine import now_ns, token, user
from custody.workspace.workspace import Workspace


@dataclass(frozen=True)
class SourceRegistry:
    """Sources with permanent ids. Every call is whole: it happened, durably, or nothing did."""

    keeper: RegistryStore
    who: str | None = None
    now_ns: Callable[[], int] = field(default=now_ns)
    token: Callable[[], str] = field(default=token)

    def register(self, source: ResearchSource) -> SourceIdentity:
        """Give a source its id, or the one that it has; what it says more is kept."""
        return self.registered(source)[0]

    def registered(self, source: ResearchSource) -> tuple[SourceIdentity, bool]:
        """The same, and whether the id was given just now."""
        kept, keys = self.keeper.safe(source)
        given: list[tuple[int, bool]] = []

        def decide(shelf: Shelf) -> tuple[RegistryChange, ...]:
            number, events = to_register(shelf, kept, self._stamp(), keys)
            given.append((number, number > shelf.last()))
            return events

        def look(shelf: Shelf) -> tuple[SourceIdentity, bool]:
            number, is_new = given[-1]
            return identity_of(shelf, entry_at(shelf, number)), is_new

        return self.keeper.change(decide, look)

    def get(self, source_id: SourceID) -> ResearchSource | None:
        """What is known of a source, by any of its ids; None when nobody registered it or all of it is gone."""
        try:
            number = number_of(source_id)
        except SourceError:
            return None  # no registry ever gave such an id

        def look(shelf: Shelf) -> ResearchSource | None:
            entry = shelf.entry(number)
            return None if entry is None else source_of(shelf, entry)

        return self.keeper.look(look)

    def find_by_key(self, canonical_key: str) -> SourceIdentity | None:
        """Who is registered under a canonical key, or under a URL."""
        page = url_key(canonical_key)
        wanted = canonical_key if page is None else f"url:{page}"

        def look(shelf: Shelf) -> SourceIdentity | None:
            number = shelf.number_at(wanted)
            return None if number is None else identity_of(shelf, entry_at(shelf, number))

        return self.keeper.look(look)

    def find_by_canonical_key(self, key: str) -> SourceID | None:
        """The id that is registered under a key: the document's appendix asks so."""
        found = self.find_by_key(key)
        return None if found is None else found.source_id

    def all(self) -> list[tuple[SourceIdentity, ResearchSource]]:
        """Every source once, by number."""
        return self.keeper.look(lambda shelf: list(sources(shelf)))

    def register_usage(self, source_id: SourceID, artifact_type: ArtifactType, artifact_id: str) -> SourceUsage:
        """Note that something rests on a source; what is known changes nothing."""
        return self.keeper.change(
            lambda shelf: to_use(shelf, source_id, artifact_type, artifact_id, self._stamp()),
            lambda shelf: usage_of(shelf, source_id),
        )

    def usage(self, source_id: SourceID) -> SourceUsage:
        """What rests on a source."""
        return self.keeper.look(lambda shelf: usage_of(shelf, source_id))

    def merge(self, kept: SourceID, absorbed: SourceID, reason: str = SAID_SO) -> SourceIdentity:
        """Say that two ids are one source; the second stays as an alias of the first."""
        return self.keeper.change(
            lambda shelf: to_merge(shelf, kept, absorbed, self.keeper.safe_text(reason), self._stamp()),
            lambda shelf: identity_of(shelf, entry_of(shelf, kept)),
        )

    def unmerge(self, source_id: SourceID, reason: str = "") -> SourceIdentity:
        """Take a merge back: the id stands for its own source again."""
        return self.keeper.change(
            lambda shelf: to_unmerge(shelf, source_id, self.keeper.safe_text(reason), self._stamp()),
            lambda shelf: identity_of(shelf, entry_of(shelf, source_id)),
        )

    def part(self, source_id: SourceID, url: str, reason: str = "") -> SourceIdentity:
        """Say that one address of a source is another source, which gets an id of its own."""
        made: list[int] = []

        def decide(shelf: Shelf) -> tuple[RegistryChange, ...]:
            events = to_part(shelf, source_id, url, self.keeper.safe_text(reason), self._stamp())
            made.extend(event.number for event in events)
            return events

        return self.keeper.change(decide, lambda shelf: identity_of(shelf, entry_at(shelf, made[-1])))

    def excerpt(self, source_id: SourceID, text: str, span: tuple[int, int] | None = None) -> None:
        """Keep a passage that was read; merging never loses it."""
        kept = self.keeper.safe_text(text)
        self.keeper.change(lambda shelf: to_excerpt(shelf, source_id, kept, span, self._stamp()), lambda _: None)

    def known(self, source_id: SourceID) -> tuple[ResearchSource, str | None] | None:
        """A source and the whole text that was kept of it, by any of its ids; None when nobody registered it."""

        def look(shelf: Shelf) -> tuple[ResearchSource, str | None] | None:
            entry = shelf.entry(number_of(source_id))
            found = None if entry is None else candidate(shelf, root(shelf, entry))
            return None if found is None else (found.source, found.text)

        return self.keeper.look(look)

    def candidates(self) -> list[ContextCandidate]:
        """Every source with its text and when it was accessed, by number: what a context is made from."""
        return self.keeper.look(lambda shelf: list(candidates(shelf)))

    def read(self, source_id: SourceID, reading: Reading, session: str | None = None) -> None:
        """Note how a source was read."""
        self.keeper.change(lambda shelf: to_read(shelf, source_id, reading, session, self._stamp()), lambda _: None)

    def checked(self, looks: Iterable[tuple[SourceID, LinkCheck]]) -> None:
        """Remember what looks at sources' addresses saw, all of them or none."""
        every = list(looks)

        def decide(shelf: Shelf) -> tuple[RegistryChange, ...]:
            return tuple(
                event for source_id, look in every for event in to_check(shelf, source_id, look, self._stamp())
            )

        if every:
            self.keeper.change(decide, lambda _: None)

    def check(self, source_id: SourceID) -> LinkMemory | None:
        """What is remembered of how a source's address answers; None when nobody looked."""
        return self.keeper.look(lambda shelf: check_of(shelf, source_id))

    def _stamp(self) -> Stamp:
        return Stamp(id=self.token(), at_ns=self.now_ns(), who=self.who)


def registry_of(workspace: Workspace, who: str | None = None) -> SourceRegistry:
    """The registry of a workspace's store; ``who`` changes it, without it the user of this machine."""
    return SourceRegistry(RecordRegistryStore(workspace), who or user(), workspace.now_ns, workspace.token)
