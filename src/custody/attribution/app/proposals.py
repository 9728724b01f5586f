"""Which traces a store proposes for lines: by commit link, by parent revision, by time (document 000, section 3)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property, partial

from custody.attribution.model import Grade, Segment, Trace, TraceCandidate, TraceEntry
from custody.attribution.queries.traces import (
    edits_of_file,
    edits_of_file_at,
    edits_of_file_by,
    links_of_commit,
    traced_files,
    traced_files_at,
    traced_files_between,
    traced_files_of_commits,
)
from custody.attribution.rules import AttributeRules
from custody.attribution.signals import REVISION_DIGITS_MIN, window_ns
from custody.attribution.text import could_name, endings
from custody.core.ids import AgentName, CommitSha, RecordRef, SessionId, StoreId, content_hash, whole_hash
from custody.core.paths import Lines, RepoPath
from custody.core.views import CommitLink, FileEdit, LinkOrigin, TracedFile
from custody.core.wire.canonical import text_bytes
from custody.ledger.records import is_claim, list_trusted_chains
from custody.store import ObservedView, Store

_RECORDED = frozenset(("hook", "snapshot"))
"""Kinds of records that our own hook made while it happened; all others are what somebody says afterwards."""

CANDIDATES_MIN = 5
"""With fewer candidates than this, document 000 asks the time window for more."""


@dataclass(frozen=True)
class Proposal:
    """A trace that touched a file, as one record shows it, with the records that link it to the commit."""

    view: TracedFile | FileEdit
    record: RecordRef
    grade: Grade
    links: tuple[RecordRef, ...] = ()

    @property
    def path(self) -> RepoPath:
        """The file, as the trace names it."""
        return self.view.path

    @property
    def revision(self) -> str | None:
        """The commit that the trace was recorded on top of, perhaps abbreviated."""
        return self.view.revision

    def candidate(self, segment: Segment, texts: Sequence[bytes], *, precedes: bool) -> TraceCandidate:
        """What the engine looks at, for one segment with the bytes of its lines."""
        return TraceCandidate(
            trace=Trace(self.view.session, self.view.agent, self.view.session),
            path=segment.path,
            at_ns=self.view.at_ns,
            revision=self.revision,
            entries=self.entries,
            linked=bool(self.links),
            precedes=precedes,
            supports=sum(text in self._lines for text in texts),
            grade=self.grade,
            call=self.view.call if isinstance(self.view, FileEdit) else None,
            records=(self.record,),
            link_records=self.links,
        )

    @cached_property
    def entries(self) -> tuple[TraceEntry, ...]:
        """Where the trace says that it wrote, and the hashes of what."""
        if isinstance(self.view, TracedFile):
            return tuple(TraceEntry(said.level, said.lines, said.hash) for said in self.view.ranges)
        return tuple(dict.fromkeys(_entries(self.view)))

    @cached_property
    def _lines(self) -> frozenset[bytes]:
        text = None if isinstance(self.view, TracedFile) else _after(self.view)
        return frozenset() if text is None else frozenset(text.split(b"\n"))


_ProposalSearch = ObservedView[TracedFile] | ObservedView[FileEdit]


@dataclass(frozen=True)
class Proposals:
    """Asks a store, each question once."""

    store: Store
    rules: AttributeRules
    _answers: dict[object, Sequence[_ProposalSearch]] = field(default_factory=dict)

    def of(self, segment: Segment) -> list[Proposal]:
        """All that may have written ``segment``; the time window only while that is too few traces of this file."""
        links = self._links(segment.commit)
        seen = [*self._linked(segment, links), *self._at_parent(segment)]
        traces = {
            observed_view.view.session for observed_view in seen if could_name(observed_view.view.path, segment.path)
        }
        if len(traces) < CANDIDATES_MIN:
            seen += self._in_window(segment)
        proposals: dict[tuple[RecordRef, int], Proposal] = {}
        for observed_view in seen:
            if isinstance(observed_view.view, TracedFile) and observed_view.view.of_revision:
                continue  # what is said of a commit's own lines is asked for below
            grade = self._grade(observed_view)
            own = [link for link in links if _is_of(link, observed_view.view) and self._may_link(link, grade)]
            refs = tuple(sorted({link.record.ref for link in own}))
            proposals[observed_view.record.ref, observed_view.n] = Proposal(
                observed_view.view, observed_view.record.ref, grade, refs
            )
        for observed_view in self._of_commit(segment.commit):
            if isinstance(observed_view.view, TracedFile) and observed_view.view.of_revision:
                # Such a trace names the commit itself, which is the link.
                proposals[observed_view.record.ref, observed_view.n] = Proposal(
                    observed_view.view, observed_view.record.ref, Grade.CLAIMED, (observed_view.record.ref,)
                )
        return list(proposals.values())

    def _grade(self, search: _ProposalSearch) -> Grade:
        is_recorded = search.record.entry.kind in _RECORDED and not is_claim(search.record, self._chains)
        return Grade.RECORDED if is_recorded else Grade.CLAIMED

    def _may_link(self, link: ObservedView[CommitLink], grade: Grade) -> bool:
        """Anybody can write a link: one that is a claim links no more than claims."""
        return grade is Grade.CLAIMED or not is_claim(link.record, self._chains)

    @cached_property
    def _chains(self) -> set[StoreId]:
        return list_trusted_chains(self.store)

    def _of_commit(self, commit: CommitSha | None) -> Sequence[_ProposalSearch]:
        if commit is None:
            return []
        return self._once("traced of", commit, partial(traced_files_of_commits, self.store, [commit]))

    def _links(self, commit: CommitSha | None) -> list[ObservedView[CommitLink]]:
        # A link that was only derived from content says nothing that the content does not say itself.
        return [
            seen
            for seen in (() if commit is None else links_of_commit(self.store, commit))
            if seen.view.origin is not LinkOrigin.CONTENT
        ]

    def _linked(self, segment: Segment, links: Iterable[ObservedView[CommitLink]]) -> Iterator[_ProposalSearch]:
        for session in dict.fromkeys(link.view.session for link in links):
            yield from self._once("traced by", session, partial(traced_files, self.store, session))
            yield from self._once("edits by", session, partial(edits_of_file_by, self.store, session, segment.path))

    def _at_parent(self, segment: Segment) -> Iterator[_ProposalSearch]:
        parent = segment.parent
        if parent is not None:
            traced = partial(traced_files_at, self.store, parent, REVISION_DIGITS_MIN)
            yield from self._once("traced at", parent, traced)
            yield from self._once("edits at", parent, partial(edits_of_file_at, self.store, segment.path, parent))

    def _in_window(self, segment: Segment) -> Iterator[_ProposalSearch]:
        if segment.at_ns is None:
            return
        since, until = window_ns(segment.at_ns, self.rules)
        yield from traced_files_between(self.store, list(endings(segment.path)), since_ns=since, until_ns=until)
        yield from edits_of_file(self.store, segment.path, since_ns=since, until_ns=until)

    def _once(
        self, what: str, name: CommitSha | SessionId, ask: Callable[[], Sequence[_ProposalSearch]]
    ) -> Sequence[_ProposalSearch]:
        if (what, name) not in self._answers:
            self._answers[what, name] = ask()
        return self._answers[what, name]


def _is_of(link: ObservedView[CommitLink], view: TracedFile | FileEdit) -> bool:
    """Whether a link names the view's trace; one that was imported knows the trace's id, not whose it is."""
    said = link.view
    if said.session != view.session:
        return False
    return said.origin is LinkOrigin.IMPORTED or AgentName(said.agent) == view.agent


# --- what an edit says of its lines -----------------------------------------------------------------------------------


def _entries(edit: FileEdit) -> Iterator[TraceEntry]:
    for digits in edit.hashes:
        yield TraceEntry("file", None, digits)
    text = _after(edit)
    if text is not None:
        yield TraceEntry("file", None, whole_hash(text))
    for lines, hashed in added_ranges(edit):
        yield TraceEntry("change", lines, None if hashed is None else content_hash(hashed))


def added_ranges(edit: FileEdit) -> Iterator[tuple[Lines, tuple[bytes, ...] | None]]:
    """The lines that an edit added, each run with its bytes where they are known."""
    text = _after(edit)
    texts = [] if not text else text.removesuffix(b"\n").split(b"\n")
    if edit.part:
        # The text is a piece of the file: where that stands is all that is known, and only of a single one which text.
        alone = len(edit.lines) == 1 and len(texts) == len(edit.lines[0])
        yield from ((lines, tuple(texts) if alone else None) for lines in edit.lines)
        return
    for lines in edit.lines or _new_lines(edit, texts):
        known = lines.last <= len(texts)
        yield lines, tuple(texts[lines.first - 1 : lines.last]) if known else None


def _new_lines(edit: FileEdit, after: Sequence[bytes]) -> Iterator[Lines]:
    """The lines of the text after that the text before has not; all of them where there was none."""
    if edit.before is not None and edit.before.content is None:
        return  # what was there before is erased: which lines are new is not known any more
    content = "" if edit.before is None else edit.before.content or ""
    before = text_bytes(content).removesuffix(b"\n").split(b"\n") if content else []
    for tag, _, _, first, last in SequenceMatcher(None, before, list(after), autojunk=False).get_opcodes():
        if tag in ("insert", "replace"):
            yield Lines(first + 1, last)


def _after(edit: FileEdit) -> bytes | None:
    return None if edit.after is None or edit.after.content is None else text_bytes(edit.after.content)
