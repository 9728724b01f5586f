"""Propose traces for lines: by commit link, by parent revision, by time (document 000, section 3)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import cached_property, partial

from msgspec import Struct, field

from custody.attribution.model import Grade, Segment, Trace, TraceCandidate, TraceEntry
from custody.attribution.queries.traces import (
    find_candidate_edits_at_revision,
    find_candidate_edits_by_session,
    find_candidate_edits_in_window,
    find_commit_session_links,
    find_longer_traced_files_in_window,
    find_traced_files,
    find_traced_files_at_revision,
    find_traced_files_in_window,
    find_traced_files_of_commits,
)
from custody.attribution.rules import AttributeRules
from custody.attribution.signals import REVISION_DIGITS_MIN, compute_commit_window_ns
from custody.attribution.text import can_traced_path_match, list_traced_path_suffixes
from custody.core.ids import (
    AgentName,
    CommitSha,
    RecordRef,
    SessionId,
    StoreId,
    content_hash_from_lines,
    content_hash_from_text,
)
from custody.core.paths import Lines, RepoPath
from custody.core.views import CommitLink, FileEdit, LinkOrigin, TracedFile
from custody.core.wire.canonical import encode_json_text
from custody.core.wire.claims import is_claim_record
from custody.store import ObservedView, Store

_RECORDED = frozenset(("hook", "snapshot"))
"""Kinds of records that custody's own hook made at the time; all others are claims."""

CANDIDATES_MIN = 5
"""With fewer candidates than this, document 000 also searches the time window."""


class Proposal(Struct, frozen=True, dict=True):
    """A trace that touched a file, from one record, with the records that link it to the commit."""

    view: TracedFile | FileEdit
    record: RecordRef
    grade: Grade
    links: tuple[RecordRef, ...] = ()

    @property
    def path(self) -> RepoPath:
        """The path in the trace."""
        return self.view.path

    @property
    def revision(self) -> str | None:
        """The commit that the trace was recorded on top of, perhaps abbreviated."""
        return self.view.revision

    def candidate(self, segment: Segment, texts: Sequence[bytes], *, precedes: bool) -> TraceCandidate:
        """Return the candidate for one segment with the bytes of its lines."""
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
            named=self.path,
        )

    @cached_property
    def entries(self) -> tuple[TraceEntry, ...]:
        """The trace's line ranges and hashes."""
        if isinstance(self.view, TracedFile):
            return tuple(TraceEntry(range_.level, range_.lines, range_.hash) for range_ in self.view.ranges)
        return tuple(dict.fromkeys(_trace_entries_from_edit(self.view)))

    @cached_property
    def _lines(self) -> frozenset[bytes]:
        text = None if isinstance(self.view, TracedFile) else _encode_text_after_edit(self.view)
        return frozenset() if text is None else frozenset(text.split(b"\n"))


_ProposalMatch = ObservedView[TracedFile] | ObservedView[FileEdit]


class Proposals(Struct, frozen=True):
    """Proposals from a store; each query runs once."""

    store: Store
    rules: AttributeRules
    believed: frozenset[StoreId]
    """The chains whose live recordings count as recorded."""
    _answers: dict[object, Sequence[_ProposalMatch]] = field(default_factory=dict)

    def of(self, segment: Segment) -> list[Proposal]:
        """Return the proposals for ``segment``; the time window counts only if there are few traces of this file."""
        links = self._links(segment.commit)
        matches = [*self._find_linked_traces(segment, links), *self._at_parent(segment)]
        traces = {match.view.session for match in matches if can_traced_path_match(match.view.path, segment.path)}
        if len(traces) < CANDIDATES_MIN:
            matches += self._in_window(segment)
        proposals: dict[tuple[RecordRef, int], Proposal] = {}
        for match in matches:
            if isinstance(match.view, TracedFile) and match.view.of_revision:
                continue  # traces about a commit's own lines are added below
            grade = self._grade(match)
            own = [link for link in links if _is_link_of_trace(link, match.view) and self._may_link(link, grade)]
            refs = tuple(sorted({link.record.ref for link in own}))
            proposals[match.record.ref, match.n] = Proposal(match.view, match.record.ref, grade, refs)
        for match in self._of_commit(segment.commit):
            if isinstance(match.view, TracedFile) and match.view.of_revision:
                # Such a trace names the commit itself, which is the link.
                ref = match.record.ref
                proposals[ref, match.n] = Proposal(match.view, ref, Grade.CLAIMED, (ref,))
        return list(proposals.values())

    def _grade(self, match: _ProposalMatch) -> Grade:
        is_recorded = match.record.entry.kind in _RECORDED and not is_claim_record(match.record, self.believed)
        return Grade.RECORDED if is_recorded else Grade.CLAIMED

    def _may_link(self, link: ObservedView[CommitLink], grade: Grade) -> bool:
        """Return whether a link may apply: anyone can write a link, so a claimed link applies only to claims."""
        return grade is Grade.CLAIMED or not is_claim_record(link.record, self.believed)

    def _of_commit(self, commit: CommitSha | None) -> Sequence[_ProposalMatch]:
        if commit is None:
            return []
        return self._cache_answer("traced of", commit, partial(find_traced_files_of_commits, self.store, [commit]))

    def _links(self, commit: CommitSha | None) -> list[ObservedView[CommitLink]]:
        # A link derived from content does not count: content has its own signal.
        return [
            link
            for link in (() if commit is None else find_commit_session_links(self.store, commit))
            if link.view.origin is not LinkOrigin.CONTENT
        ]

    def _find_linked_traces(
        self, segment: Segment, links: Iterable[ObservedView[CommitLink]]
    ) -> Iterator[_ProposalMatch]:
        for session in dict.fromkeys(link.view.session for link in links):
            yield from self._cache_answer("traced by", session, partial(find_traced_files, self.store, session))
            yield from self._cache_answer(
                "edits by", session, partial(find_candidate_edits_by_session, self.store, session, segment.path)
            )

    def _at_parent(self, segment: Segment) -> Iterator[_ProposalMatch]:
        parent = segment.parent
        if parent is not None:
            traced = partial(find_traced_files_at_revision, self.store, parent, REVISION_DIGITS_MIN)
            yield from self._cache_answer("traced at", parent, traced)
            yield from self._cache_answer(
                "edits at", parent, partial(find_candidate_edits_at_revision, self.store, segment.path, parent)
            )

    def _in_window(self, segment: Segment) -> Iterator[_ProposalMatch]:
        if segment.at_ns is None:
            return
        since, until = compute_commit_window_ns(segment.at_ns, self.rules)
        yield from find_traced_files_in_window(
            self.store, list(list_traced_path_suffixes(segment.path)), since_ns=since, until_ns=until
        )
        yield from find_longer_traced_files_in_window(self.store, segment.path, since_ns=since, until_ns=until)
        yield from find_candidate_edits_in_window(self.store, segment.path, since_ns=since, until_ns=until)

    def _cache_answer(
        self, query: str, name: CommitSha | SessionId, run: Callable[[], Sequence[_ProposalMatch]]
    ) -> Sequence[_ProposalMatch]:
        if (query, name) not in self._answers:
            self._answers[query, name] = run()
        return self._answers[query, name]


def _is_link_of_trace(link: ObservedView[CommitLink], view: TracedFile | FileEdit) -> bool:
    """Return whether a link has the view's session and, unless it is imported, its agent."""
    if link.view.session != view.session:
        return False
    return link.view.origin is LinkOrigin.IMPORTED or AgentName(link.view.agent) == view.agent


# --- the lines of an edit ---------------------------------------------------------------------------------------------


def _trace_entries_from_edit(edit: FileEdit) -> Iterator[TraceEntry]:
    for digits in edit.hashes:
        yield TraceEntry("file", None, digits)
    text = _encode_text_after_edit(edit)
    if text is not None:
        yield TraceEntry("file", None, content_hash_from_text(text))
    for lines, hashed in list_edit_added_ranges(edit):
        yield TraceEntry("change", lines, None if hashed is None else content_hash_from_lines(hashed))


def list_edit_added_ranges(edit: FileEdit) -> Iterator[tuple[Lines, tuple[bytes, ...] | None]]:
    """Yield the line ranges that an edit added, each with its bytes if known."""
    text = _encode_text_after_edit(edit)
    texts = [] if not text else text.removesuffix(b"\n").split(b"\n")
    if edit.part:
        # The text is a piece of the file: only a single range of the same length is known to hold it.
        is_single = len(edit.lines) == 1 and len(texts) == len(edit.lines[0])
        yield from ((lines, tuple(texts) if is_single else None) for lines in edit.lines)
        return
    for lines in edit.lines or _find_lines_added_by_edit(edit, texts):
        known = lines.last <= len(texts)
        yield lines, tuple(texts[lines.first - 1 : lines.last]) if known else None


def _find_lines_added_by_edit(edit: FileEdit, after: Sequence[bytes]) -> Iterator[Lines]:
    """Yield the line ranges of the text after that the text before lacks; all lines if there was none."""
    if edit.before is not None and edit.before.content is None:
        return  # the text before was erased, so the new lines are unknown
    content = "" if edit.before is None else edit.before.content or ""
    before = encode_json_text(content).removesuffix(b"\n").split(b"\n") if content else []
    for tag, _, _, first, last in SequenceMatcher(None, before, list(after), autojunk=False).get_opcodes():
        if tag in ("insert", "replace"):
            yield Lines(first + 1, last)


def _encode_text_after_edit(edit: FileEdit) -> bytes | None:
    return None if edit.after is None or edit.after.content is None else encode_json_text(edit.after.content)
