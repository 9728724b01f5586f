"""Profile ``document``: document 000 step by step, for comparison and for data without captured text."""

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from custody.attribution.app.context import AttributionContext
from custody.attribution.app.proposals import Proposal, Proposals
from custody.attribution.engine import AttributionRun, attribute, merge_findings
from custody.attribution.model import AttributionFinding, Segment, TraceAttribution, TraceCandidate
from custody.attribution.rules import AttributeRules
from custody.attribution.signals import REVISION_DIGITS_MIN, is_same_trace_revision
from custody.attribution.text import can_traced_path_match, line_ranges_from_numbers, resolve_traced_path
from custody.core.errors import InputError
from custody.core.ids import CommitSha, RecordRef, SessionId, StoreId, content_hash_from_lines
from custody.core.paths import Lines, RepoPath
from custody.core.plural import count_noun
from custody.core.views import TracedFile
from custody.core.wire.canonical import digest_rule_tables
from custody.git import Ancestry, BlameEntry, FileAt, Object, ObjectInfo, Repository, WorkFile
from custody.ledger.assurance import rate_workspace_chains
from custody.ledger.queries import find_first_session_prompt
from custody.store import Store
from custody.workspace.rules_in_force import load_workspace_rules
from custody.workspace.workspace import Workspace

_NS = 1_000_000_000


def find_document_attributions(
    evidence: AttributionContext, commit: CommitSha | None, path: RepoPath, lines: Sequence[Lines] = ()
) -> list[AttributionFinding]:
    """Return which traces wrote ``lines`` (or all lines) of ``path`` as of ``commit`` or (None) of the work tree."""
    workspace, rules = evidence.workspace, evidence.rules
    blamed = _blame_version_lines(workspace, commit, path, lines)  # 1: git blame, parents, times, texts
    segments = _segment_blamed_lines(workspace, path, blamed)  # 2: content hashes
    # 3: link, parent revision, time window
    proposals = _propose_traces_by_commit(evidence.store, segments, rules, evidence.ratings.believed)
    version = commit or workspace.repository.head().commit
    proposals = _filter_proposals_by_path(
        workspace.repository, version, path, proposals
    )  # 4: only what touches the file
    matches = _list_segment_candidates(workspace.repository, version, segments, proposals)
    # 5 to 8: score, gate, tier, the best
    return [
        attribute(segment_text.segment, candidates, rules, rules_digest=evidence.digest)
        for segment_text, candidates in matches
    ]


# --- 1: git blame -----------------------------------------------------------------------------------------------------


class _BlamedLine(Struct, frozen=True):
    """One line of the blamed version: its number, its bytes, and the commit that wrote it with its author time."""

    number: int
    text: bytes
    commit: CommitSha | None
    at_ns: int | None


class _SegmentText(Struct, frozen=True):
    """A segment with the bytes of its lines."""

    segment: Segment
    texts: tuple[bytes, ...]


def _blame_version_lines(
    workspace: Workspace, commit: CommitSha | None, path: RepoPath, lines: Sequence[Lines]
) -> list[_BlamedLine]:
    if commit is not None:
        return _blame_committed_lines(workspace.repository, commit, path, lines)
    return _blame_work_tree_lines(workspace, path, lines)


def _blame_committed_lines(
    repository: Repository, commit: CommitSha, path: RepoPath, lines: Iterable[Lines]
) -> list[_BlamedLine]:
    with repository.blame(commit, path, lines) as entries:
        return [line for entry in entries for line in _blamed_lines_from_entry(entry)]


def _blamed_lines_from_entry(entry: BlameEntry) -> Iterator[_BlamedLine]:
    authored_ns = None if entry.authored is None else entry.authored.seconds * _NS
    for number, text in enumerate(entry.texts, start=entry.lines.first):
        yield _BlamedLine(number, text, entry.commit, authored_ns)


def _blame_work_tree_lines(workspace: Workspace, path: RepoPath, lines: Sequence[Lines]) -> list[_BlamedLine]:
    """Return lines as on disk: unchanged lines are blamed in HEAD, the others have no commit yet."""
    file = workspace.repository.work_file(path)
    if not isinstance(file, WorkFile):
        raise InputError(
            f"cannot read '{path.display}': it {file.reason}", hint="pass a file of the work tree, or a commit"
        )
    texts = _split_blamed_lines(file.content)
    numbers = _select_blame_line_numbers(path, lines, len(texts))
    head = workspace.repository.head().commit
    unchanged = (
        dict[int, int]()
        if head is None
        else _map_unchanged_blame_lines(_split_blamed_lines(_read_blamed_blob(workspace.repository, head, path)), texts)
    )
    head_numbers = sorted(unchanged[number] for number in numbers if number in unchanged)
    blamed = dict[int, _BlamedLine]()
    if head is not None and head_numbers:
        blamed = {
            line.number: line
            for line in _blame_committed_lines(workspace.repository, head, path, line_ranges_from_numbers(head_numbers))
        }
    now_ns = workspace.now_ns()
    return [
        replace(blamed[unchanged[number]], number=number, text=texts[number - 1])
        if number in unchanged
        else _BlamedLine(number, texts[number - 1], None, now_ns)
        for number in numbers
    ]


def _read_blamed_blob(repository: Repository, head: CommitSha, path: RepoPath) -> bytes:
    with repository.objects() as objects:
        blob = objects.read(FileAt(head, path))
    return blob.content if isinstance(blob, Object) and blob.info.kind == "blob" else b""


def _split_blamed_lines(content: bytes) -> list[bytes]:
    return content.removesuffix(b"\n").split(b"\n") if content else []


def _select_blame_line_numbers(path: RepoPath, lines: Sequence[Lines], count: int) -> list[int]:
    beyond = [line_range for line_range in lines if line_range.first > count]
    if beyond:
        hint = f"'{beyond[0]}' is after its end"
        raise InputError(f"'{path.display}' has only {count_noun(count, 'line')}", hint=hint)
    line_ranges = lines or ([Lines(1, count)] if count else [])
    return sorted({n for line_range in line_ranges for n in range(line_range.first, min(line_range.last, count) + 1)})


def _map_unchanged_blame_lines(old: Sequence[bytes], new: Sequence[bytes]) -> dict[int, int]:
    """Return the line number in ``old`` of each unchanged line; line ends are ignored, since git may convert them."""
    before, after = ([line.removesuffix(b"\r") for line in lines] for lines in (old, new))
    # Most files change in one place, so equal lines at both ends are skipped.
    head = next((n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(old), len(new)))
    most = min(len(old), len(new)) - head
    pairs = zip(reversed(before[head:]), reversed(after[head:]), strict=False)
    tail = next((n for n, (a, b) in enumerate(pairs) if a != b), most)
    unchanged = {n + 1: n + 1 for n in range(head)}
    unchanged |= {len(new) - n: len(old) - n for n in range(tail)}
    middle = before[head : len(old) - tail], after[head : len(new) - tail]
    for block in SequenceMatcher(None, *middle, autojunk=False).get_matching_blocks():
        unchanged |= {head + block.b + n + 1: head + block.a + n + 1 for n in range(block.size)}
    return unchanged


# --- 2: segments ------------------------------------------------------------------------------------------------------


def _segment_blamed_lines(workspace: Workspace, path: RepoPath, blamed: Sequence[_BlamedLine]) -> list[_SegmentText]:
    if any(b"\0" in line.text for line in blamed):
        raise InputError(f"'{path.display}' is a binary file", hint="only text files have lines")
    parents = _read_segment_parents(
        workspace.repository, sorted({line.commit for line in blamed if line.commit is not None})
    )
    uncommitted = any(line.commit is None for line in blamed)
    head = workspace.repository.head().commit if uncommitted else None
    segments = []
    for group in _group_blamed_lines(blamed):
        first = group[0]
        parent = head if first.commit is None else parents.get(first.commit)
        texts = tuple(line.text for line in group)
        lines = Lines(first.number, group[-1].number)
        segment = Segment(path, lines, first.commit, parent, first.at_ns, content_hash_from_lines(texts))
        segments.append(_SegmentText(segment, texts))
    return segments


def _group_blamed_lines(blamed: Sequence[_BlamedLine]) -> Iterator[list[_BlamedLine]]:
    """Yield adjacent lines of one commit."""
    for _, group in groupby(enumerate(blamed), key=lambda pair: (pair[1].commit, pair[1].number - pair[0])):
        yield [line for _, line in group]


def _read_segment_parents(repository: Repository, commits: Sequence[CommitSha]) -> dict[CommitSha, CommitSha]:
    """Return the first parent of each commit that has one, by one git process."""
    if not commits:
        return {}
    with repository.objects() as objects:
        pairs = zip(commits, objects.read_all(commits), strict=True)
        return {
            commit: parent for commit, git_object in pairs if (parent := _parse_segment_parent(git_object)) is not None
        }


def _parse_segment_parent(git_object: object) -> CommitSha | None:
    if not isinstance(git_object, Object):
        return None
    for line in git_object.content.split(b"\n"):
        if line.startswith(b"parent "):
            return CommitSha(line.removeprefix(b"parent ").decode("ascii"))
        if not line:
            return None
    return None


# --- 3 and 4: candidates ----------------------------------------------------------------------------------------------


def _propose_traces_by_commit(
    store: Store, segments: Sequence[_SegmentText], rules: AttributeRules, believed: frozenset[StoreId]
) -> dict[CommitSha | None, list[Proposal]]:
    """Return the proposals for each commit, searched once per commit."""
    proposals = Proposals(store, rules, believed)
    firsts = {segment.segment.commit: segment.segment for segment in reversed(segments)}
    return {commit: proposals.of(segment) for commit, segment in firsts.items()}


def _filter_proposals_by_path(
    repository: Repository,
    version: CommitSha | None,
    path: RepoPath,
    proposals: dict[CommitSha | None, list[Proposal]],
) -> dict[CommitSha | None, list[Proposal]]:
    """Return only proposals that name the file, by its exact path or by one that fits no other file."""
    lenient = {
        proposal.path
        for commit_proposals in proposals.values()
        for proposal in commit_proposals
        if proposal.path != path
    }
    lenient = {traced for traced in lenient if can_traced_path_match(traced, path)}
    files: set[RepoPath] = {entry.path for entry in repository.tree(version)} if lenient and version else set()
    named = {path, *(traced for traced in lenient if resolve_traced_path(traced, files) == path)}
    return {
        commit: [proposal for proposal in commit_proposals if proposal.path in named]
        for commit, commit_proposals in proposals.items()
    }


def _list_segment_candidates(
    repository: Repository,
    version: CommitSha | None,
    segments: Sequence[_SegmentText],
    proposals: dict[CommitSha | None, list[Proposal]],
) -> Iterator[tuple[_SegmentText, list[TraceCandidate]]]:
    revisions = _resolve_trace_revisions(
        repository,
        {
            proposal.revision
            for commit_proposals in proposals.values()
            for proposal in commit_proposals
            if proposal.revision
        },
    )
    pairs = {
        Ancestry(revisions[proposal.revision], descendant)
        for commit, commit_proposals in proposals.items()
        for proposal in commit_proposals
        if proposal.revision in revisions and (descendant := commit or version) is not None
    }
    ancestries = repository.ancestries(pairs) if pairs else frozenset()
    for segment_text in segments:
        commit = segment_text.segment.commit or version
        yield (
            segment_text,
            [
                proposal.candidate(
                    segment_text.segment,
                    segment_text.texts,
                    precedes=_is_trace_revision_ancestor(revisions.get(proposal.revision), commit, ancestries),
                )
                for proposal in proposals[segment_text.segment.commit]
            ],
        )


def _is_trace_revision_ancestor(
    revision: CommitSha | None, commit: CommitSha | None, ancestries: frozenset[Ancestry]
) -> bool:
    """Return whether the revision is an ancestor of the commit, and not the commit itself."""
    if revision is None or commit is None or revision == commit:
        return False
    return Ancestry(revision, commit) in ancestries


def _resolve_trace_revisions(repository: Repository, revisions: set[str]) -> dict[str | None, CommitSha]:
    """Return the commits of revisions, which may be abbreviated; unknown revisions are left out."""
    names = sorted(text for text in revisions if len(text) >= REVISION_DIGITS_MIN)
    objects = zip(names, repository.look_up(names), strict=True) if names else ()
    return {
        text: CommitSha(info.id)
        for text, info in objects
        if isinstance(info, ObjectInfo) and info.kind == "commit" and is_same_trace_revision(text, info.id)
    }


# Blame for a client that ran git blame itself: steps 3 to 8 of document 000 over the store alone, without git.
# The order of commits is unknown here, so the signal ``revision_ancestor`` never counts. A trace that names a file by
# the end of its path counts only if no other proposed trace names the exact path.


class SegmentOrigin(Struct, frozen=True):
    """The origin of adjacent lines: the best finding, the trace as a tool reported it, and the first prompt."""

    lines: Lines
    finding: AttributionFinding
    trace: TracedFile | None = None
    prompt: str | None = None


def blame_segments(workspace: Workspace, segments: Iterable[Segment], *, with_prompt: bool) -> list[SegmentOrigin]:
    """Return the origins of the segments of one file, adjacent ones with the same trace and tier merged."""
    rules = replace(load_workspace_rules(workspace)[0].of(AttributeRules), profile="document")
    digest = digest_rule_tables({"attribute": rules})
    ordered = sorted(segments, key=lambda segment: segment.lines)
    with workspace.reading() as store, store.reading():
        query = _SegmentQuery(store, rules, rate_workspace_chains(workspace, store).believed)
        findings = [
            attribute(
                segment,
                [proposal.candidate(segment, (), precedes=False) for proposal in query.of(segment)],
                rules,
                rules_digest=digest,
            )
            for segment in ordered
        ]
        return [query.origin(run, with_prompt=with_prompt) for run in merge_findings(findings)]


class _SegmentQuery:
    """Proposals and prompts of one store about one file."""

    def __init__(self, store: Store, rules: AttributeRules, believed: frozenset[StoreId]) -> None:
        self._store = store
        self._proposals = Proposals(store, rules, believed)
        self._by_record: dict[RecordRef, Proposal] = {}

    def of(self, segment: Segment) -> list[Proposal]:
        """Return the proposals for a segment that name its file."""
        proposals = [
            proposal for proposal in self._proposals.of(segment) if can_traced_path_match(proposal.path, segment.path)
        ]
        exact = [proposal for proposal in proposals if proposal.path == segment.path]
        for proposal in proposals:
            self._by_record[proposal.record] = proposal
        return exact or proposals

    def origin(self, run: AttributionRun, *, with_prompt: bool) -> SegmentOrigin:
        """Return a run of findings with its trace."""
        best = _select_strongest_finding(run.findings)
        if not isinstance(best, TraceAttribution):
            return SegmentOrigin(run.lines, best)
        view = self._by_record[best.candidate.records[0]].view
        trace = view if isinstance(view, TracedFile) else None
        url = None if trace is None else trace.conversation
        return SegmentOrigin(run.lines, best, trace, self._prompt(best, url) if with_prompt else None)

    def _prompt(self, finding: TraceAttribution, url: str | None) -> str | None:
        """Return the first prompt of the trace's own session, or of the conversation that it names."""
        trace = finding.candidate.trace
        for session in (trace.session, None if url is None else SessionId(url)):
            prompt = None if session is None else find_first_session_prompt(self._store, trace.agent, session)
            if prompt is not None:
                return prompt.view.text.content
        return None


def _select_strongest_finding(findings: Sequence[AttributionFinding]) -> AttributionFinding:
    """Return the finding with the best score among those with the same trace and tier."""
    return max(findings, key=lambda finding: finding.evidence.score if isinstance(finding, TraceAttribution) else 0.0)
