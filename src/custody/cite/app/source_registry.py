"""The registry of sources, over any store."""

from collections.abc import Callable, Iterable

from msgspec import Struct, field

from custody.cite.app.registry_stores import RecordRegistryStore, RegistryStore
from custody.cite.catalog import Catalog, RegistryChange, Stamp
from custody.cite.links import LinkCheck, LinkMemory
from custody.cite.model import (
    ArtifactType,
    ResearchSource,
    SourceError,
    SourceID,
    SourceIdentity,
    SourceUsage,
    source_number_from_id,
)
from custody.cite.registry import (
    DEFAULT_REASON,
    collect_source_usage,
    combine_merged_source,
    find_source_entry,
    find_source_entry_by_number,
    find_source_link_memory,
    identify_source,
    iterate_sources,
    plan_link_check,
    plan_source_excerpt,
    plan_source_merge,
    plan_source_reading,
    plan_source_registration,
    plan_source_split,
    plan_source_unmerge,
    plan_source_use,
    resolve_merged_source,
)
from custody.cite.source_texts import ContextCandidate, build_context_source, iterate_context_sources
from custody.cite.urls import compute_source_url_key
from custody.core.views import Reading
from custody.workspace.machine import machine_now_ns, machine_user_name, make_machine_token
from custody.workspace.workspace import Workspace


class SourceRegistry(Struct, frozen=True):
    """Sources with permanent ids; every call is atomic and durable."""

    store: RegistryStore
    who: str | None = None
    now_ns: Callable[[], int] = field(default=machine_now_ns)
    token: Callable[[], str] = field(default=make_machine_token)

    def register(self, source: ResearchSource) -> SourceIdentity:
        """Register a source and return its id; new facts about a known source are stored."""
        return self.register_or_find(source)[0]

    def register_or_find(self, source: ResearchSource) -> tuple[SourceIdentity, bool]:
        """Register a source; return its id and whether the id is new."""
        safe, keys = self.store.safe(source)
        assigned: list[tuple[int, bool]] = []

        def decide(catalog: Catalog) -> tuple[RegistryChange, ...]:
            number, events = plan_source_registration(catalog, safe, self._stamp(), keys)
            assigned.append((number, number > catalog.last()))
            return events

        def read(catalog: Catalog) -> tuple[SourceIdentity, bool]:
            number, is_new = assigned[-1]
            return identify_source(catalog, find_source_entry_by_number(catalog, number)), is_new

        return self.store.change(decide, read)

    def get(self, source_id: SourceID) -> ResearchSource | None:
        """Return a source, by any of its ids; None if it is not registered or was erased."""
        try:
            number = source_number_from_id(source_id)
        except SourceError:
            return None  # not a valid id, so not registered

        def read(catalog: Catalog) -> ResearchSource | None:
            entry = catalog.entry(number)
            return None if entry is None else combine_merged_source(catalog, entry)

        return self.store.read(read)

    def find_by_key(self, canonical_key: str) -> SourceIdentity | None:
        """Return the source with a canonical key or a URL."""
        page = compute_source_url_key(canonical_key)
        key = canonical_key if page is None else f"url:{page}"

        def read(catalog: Catalog) -> SourceIdentity | None:
            number = catalog.number_at(key)
            return None if number is None else identify_source(catalog, find_source_entry_by_number(catalog, number))

        return self.store.read(read)

    def find_by_canonical_key(self, key: str) -> SourceID | None:
        """Return the id of the source with a key, as in the appendix of document 003."""
        identity = self.find_by_key(key)
        return None if identity is None else identity.source_id

    def list_all(self) -> list[tuple[SourceIdentity, ResearchSource]]:
        """Return all sources once, by number."""
        return self.store.read(lambda catalog: list(iterate_sources(catalog)))

    def register_usage(self, source_id: SourceID, artifact_type: ArtifactType, artifact_id: str) -> SourceUsage:
        """Record that an artifact uses a source; a known use changes nothing."""
        return self.store.change(
            lambda catalog: plan_source_use(catalog, source_id, artifact_type, artifact_id, self._stamp()),
            lambda catalog: collect_source_usage(catalog, source_id),
        )

    def usage(self, source_id: SourceID) -> SourceUsage:
        """Return the artifacts that use a source."""
        return self.store.read(lambda catalog: collect_source_usage(catalog, source_id))

    def merge(self, kept: SourceID, absorbed: SourceID, reason: str = DEFAULT_REASON) -> SourceIdentity:
        """Merge two ids into one source; the second becomes an alias of the first."""
        return self.store.change(
            lambda catalog: plan_source_merge(catalog, kept, absorbed, self.store.safe_text(reason), self._stamp()),
            lambda catalog: identify_source(catalog, find_source_entry(catalog, kept)),
        )

    def unmerge(self, source_id: SourceID, reason: str = "") -> SourceIdentity:
        """Undo a merge: the id is a source of its own again."""
        return self.store.change(
            lambda catalog: plan_source_unmerge(catalog, source_id, self.store.safe_text(reason), self._stamp()),
            lambda catalog: identify_source(catalog, find_source_entry(catalog, source_id)),
        )

    def part(self, source_id: SourceID, url: str, reason: str = "") -> SourceIdentity:
        """Split off one URL of a source as a new source."""
        numbers: list[int] = []

        def decide(catalog: Catalog) -> tuple[RegistryChange, ...]:
            events = plan_source_split(catalog, source_id, url, self.store.safe_text(reason), self._stamp())
            numbers.extend(event.number for event in events)
            return events

        return self.store.change(
            decide, lambda catalog: identify_source(catalog, find_source_entry_by_number(catalog, numbers[-1]))
        )

    def excerpt(self, source_id: SourceID, text: str, span: tuple[int, int] | None = None) -> None:
        """Store a passage that was read; merging never loses it."""
        safe = self.store.safe_text(text)
        self.store.change(
            lambda catalog: plan_source_excerpt(catalog, source_id, safe, span, self._stamp()), lambda _: None
        )

    def find_with_text(self, source_id: SourceID) -> tuple[ResearchSource, str | None] | None:
        """Return a source and its full stored text, by any of its ids; None if it is not registered."""

        def read(catalog: Catalog) -> tuple[ResearchSource, str | None] | None:
            entry = catalog.entry(source_number_from_id(source_id))
            candidate = None if entry is None else build_context_source(catalog, resolve_merged_source(catalog, entry))
            return None if candidate is None else (candidate.source, candidate.text)

        return self.store.read(read)

    def candidates(self) -> list[ContextCandidate]:
        """Return all sources with text and accesses, by number, for a context."""
        return self.store.read(lambda catalog: list(iterate_context_sources(catalog)))

    def read(self, source_id: SourceID, reading: Reading, session: str | None = None) -> None:
        """Record how a source was read."""
        self.store.change(
            lambda catalog: plan_source_reading(catalog, source_id, reading, session, self._stamp()), lambda _: None
        )

    def record_checks(self, checks: Iterable[tuple[SourceID, LinkCheck]]) -> None:
        """Record link checks, all of them or none."""
        pending = list(checks)

        def decide(catalog: Catalog) -> tuple[RegistryChange, ...]:
            return tuple(
                event
                for source_id, check in pending
                for event in plan_link_check(catalog, source_id, check, self._stamp())
            )

        if pending:
            self.store.change(decide, lambda _: None)

    def check(self, source_id: SourceID) -> LinkMemory | None:
        """Return the stored link checks of a source; None if its URL was never checked."""
        return self.store.read(lambda catalog: find_source_link_memory(catalog, source_id))

    def _stamp(self) -> Stamp:
        return Stamp(id=self.token(), at_ns=self.now_ns(), who=self.who)


def open_source_registry(workspace: Workspace, who: str | None = None) -> SourceRegistry:
    """Open the registry of a workspace's store as ``who``, by default this machine's user."""
    return SourceRegistry(RecordRegistryStore(workspace), who or machine_user_name(), workspace.now_ns, workspace.token)
