"""Profile ``document``: document 000 from end to end, by its own steps; for comparison, and where nothing is better."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import groupby

from custody.attribution.app.context import AttributionContext
from custody.attribution.app.proposals import Proposal, Proposals
from custody.attribution.engine import AttributionRun, attribute, merge_findings
from custody.attribution.model import AttributionFinding, Segment, TraceAttribution, TraceCandidate
from custody.attribution.rules import AttributeRules
from custody.attribution.signals import REVISION_DIGITS_MIN, revisions_match
from custody.attribution.text import could_name, file_named, line_runs
from custody.core.errors import InputError
from custody.core.ids import CommitSha, RecordRef, SessionId, content_hash
from custody.core.paths import Lines, RepoPath
from custody.core.views import TracedFile
from custody.core.wire.canonical import rules_digest
from custody.git import Ancestry, BlameEntry, FileAt, Object, ObjectInfo, Repository, WorkFile
from custody.ledger.queries import first_prompt
from custody.store import Store
from custody.workspace.rules_in_force import load_rules
from custody.workspace.workspace import Workspace

_NS = 1_000_000_000


def document_findings(
    evidence: AttributionContext, commit: CommitSha | None, path: RepoPath, lines: Sequence[Lines] = ()
) -> list[AttributionFinding]:
    """Which trace wrote these lines of ``path`` (all, if none are named) as of ``commit``, or of the work tree."""
    workspace, rules = evidence.workspace, evidence.rules
    blamed = _blamed(workspace, commit, path, lines)  # 1: git blame, parents, times, texts
    segments = _segments(workspace, path, blamed)  # 2: content hashes
    proposals = _proposals(evidence.store, segments, rules)  # 3: link, parent revision, time window
    version = commit or workspace.repository.head().commit
    proposals = _touching(workspace.repository, version, path, proposals)  # 4: only what touches the file
    matches = _candidates(workspace.repository, version, segments, proposals)
    # 5 to 8: score, gate, tier, the best
    return [
        attribute(segment_text.segment, candidates, rules, rules_digest=evidence.digest)
        for segment_text, candidates in matches
    ]


# --- 1: what git says -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _BlamedLine:
    """One line of the blamed version: its number, its bytes, and the commit that wrote it with its author time."""

    number: int
    text: bytes
    commit: CommitSha | None
    at_ns: int | None


@dataclass(frozen=True, slots=True)
class _SegmentText:
    """A segment with the bytes of its lines."""

    segment: Segment
    texts: tuple[bytes, ...]


def _blamed(
    workspace: Workspace, commit: CommitSha | None, path: RepoPath, lines: Sequence[Lines]
) -> list[_BlamedLine]:
    if commit is not None:
        return _committed(workspace.repository, commit, path, lines)
    return _in_work_tree(workspace, path, lines)


def _committed(repository: Repository, commit: CommitSha, path: RepoPath, lines: Iterable[Lines]) -> list[_BlamedLine]:
    with repository.blame(commit, path, lines) as entries:
        return [line for entry in entries for line in _lines_of(entry)]


def _lines_of(entry: BlameEntry) -> Iterator[_BlamedLine]:
    authored_ns = None if entry.authored is None else entry.authored.seconds * _NS
    for number, text in enumerate(entry.texts, start=entry.lines.first):
        yield _BlamedLine(number, text, entry.commit, authored_ns)


def _in_work_tree(workspace: Workspace, path: RepoPath, lines: Sequence[Lines]) -> list[_BlamedLine]:
    """Lines as they are on disk: those that HEAD has too are blamed there, the others have no commit yet."""
    file = workspace.repository.work_file(path)
    if not isinstance(file, WorkFile):
        raise InputError(f"'{path.display}' {file.reason}", hint="name a file of the work tree, or a commit")
    texts = _split(file.content)
    wanted = _select_lines(path, lines, len(texts))
    head = workspace.repository.head().commit
    known = dict[int, int]() if head is None else _unchanged(_split(_blob(workspace.repository, head, path)), texts)
    there = sorted(known[number] for number in wanted if number in known)
    blamed = dict[int, _BlamedLine]()
    if head is not None and there:
        blamed = {line.number: line for line in _committed(workspace.repository, head, path, line_runs(there))}
    now_ns = workspace.now_ns()
    return [
        replace(blamed[known[number]], number=number, text=texts[number - 1])
        if number in known
        else _BlamedLine(number, texts[number - 1], None, now_ns)
        for number in wanted
    ]


def _blob(repository: Repository, head: CommitSha, path: RepoPath) -> bytes:
    with repository.objects() as objects:
        found = objects.read(FileAt(head, path))
    return found.content if isinstance(found, Object) and found.info.kind == "blob" else b""


def _split(content: bytes) -> list[bytes]:
    return content.removesuffix(b"\n").split(b"\n") if content else []


def _select_lines(path: RepoPath, lines: Sequence[Lines], count: int) -> list[int]:
    beyond = [stretch for stretch in lines if stretch.first > count]
    if beyond:
        raise InputError(f"'{path.display}' has only {count} line(s)", hint=f"'{beyond[0]}' is behind its end")
    stretches = lines or ([Lines(1, count)] if count else [])
    return sorted({n for stretch in stretches for n in range(stretch.first, min(stretch.last, count) + 1)})


def _unchanged(old: Sequence[bytes], new: Sequence[bytes]) -> dict[int, int]:
    """Which lines of ``new`` stand in ``old`` too, and where; line ends do not count, since git may convert them."""
    before, after = ([line.removesuffix(b"\r") for line in lines] for lines in (old, new))
    # Most files change in one place: what is equal at both ends need not be compared.
    head = next((n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(old), len(new)))
    most = min(len(old), len(new)) - head
    pairs = zip(reversed(before[head:]), reversed(after[head:]), strict=False)
    tail = next((n for n, (a, b) in enumerate(pairs) if a != b), most)
    found = {n + 1: n + 1 for n in range(head)}
    found |= {len(new) - n: len(old) - n for n in range(tail)}
    middle = before[head : len(old) - tail], after[head : len(new) - tail]
    for block in SequenceMatcher(None, *middle, autojunk=False).get_matching_blocks():
        found |= {head + block.b + n + 1: head + block.a + n + 1 for n in range(block.size)}
    return found


# --- 2: segments ------------------------------------------------------------------------------------------------------


def _segments(workspace: Workspace, path: RepoPath, blamed: Sequence[_BlamedLine]) -> list[_SegmentText]:
    if any(b"\0" in line.text for line in blamed):
        raise InputError(f"'{path.display}' is a binary file", hint="lines are attributed in text files only")
    parents = _parents(workspace.repository, sorted({line.commit for line in blamed if line.commit is not None}))
    uncommitted = any(line.commit is None for line in blamed)
    head = workspace.repository.head().commit if uncommitted else None
    made = []
    for group in _groups(blamed):
        first = group[0]
        parent = head if first.commit is None else parents.get(first.commit)
        texts = tuple(line.text for line in group)
        lines = Lines(first.number, group[-1].number)
        segment = Segment(path, lines, first.commit, parent, first.at_ns, content_hash(texts))
        made.append(_SegmentText(segment, texts))
    return made


def _groups(blamed: Sequence[_BlamedLine]) -> Iterator[list[_BlamedLine]]:
    """Neighbouring lines of one commit."""
    for _, group in groupby(enumerate(blamed), key=lambda pair: (pair[1].commit, pair[1].number - pair[0])):
        yield [line for _, line in group]


def _parents(repository: Repository, commits: Sequence[CommitSha]) -> dict[CommitSha, CommitSha]:
    """The first parent of each commit that has one, by one process."""
    if not commits:
        return {}
    with repository.objects() as objects:
        pairs = zip(commits, objects.read_all(commits), strict=True)
        return {commit: parent for commit, git_object in pairs if (parent := _first_parent(git_object)) is not None}


def _first_parent(git_object: object) -> CommitSha | None:
    if not isinstance(git_object, Object):
        return None
    for line in git_object.content.split(b"\n"):
        if line.startswith(b"parent "):
            return CommitSha(line.removeprefix(b"parent ").decode("ascii"))
        if not line:
            return None
    return None


# --- 3 and 4: candidates ----------------------------------------------------------------------------------------------


def _proposals(
    store: Store, segments: Sequence[_SegmentText], rules: AttributeRules
) -> dict[CommitSha | None, list[Proposal]]:
    """What may have written the lines of each commit; a commit is asked once, whatever it wrote."""
    proposals = Proposals(store, rules)
    firsts = {segment.segment.commit: segment.segment for segment in reversed(segments)}
    return {commit: proposals.of(segment) for commit, segment in firsts.items()}


def _touching(
    repository: Repository,
    version: CommitSha | None,
    path: RepoPath,
    proposals: dict[CommitSha | None, list[Proposal]],
) -> dict[CommitSha | None, list[Proposal]]:
    """Only what touches the file: under its exact path, or under one that can mean no other file."""
    lenient = {
        proposal.path
        for commit_proposals in proposals.values()
        for proposal in commit_proposals
        if proposal.path != path
    }
    lenient = {traced for traced in lenient if could_name(traced, path)}
    files: set[RepoPath] = {entry.path for entry in repository.tree(version)} if lenient and version else set()
    named = {path, *(traced for traced in lenient if file_named(traced, files) == path)}
    return {
        commit: [proposal for proposal in commit_proposals if proposal.path in named]
        for commit, commit_proposals in proposals.items()
    }


def _candidates(
    repository: Repository,
    version: CommitSha | None,
    segments: Sequence[_SegmentText],
    proposals: dict[CommitSha | None, list[Proposal]],
) -> Iterator[tuple[_SegmentText, list[TraceCandidate]]]:
    revisions = _full(
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
    true = repository.ancestries(pairs) if pairs else frozenset()
    for segment_text in segments:
        commit = segment_text.segment.commit or version
        yield (
            segment_text,
            [
                proposal.candidate(
                    segment_text.segment,
                    segment_text.texts,
                    precedes=_precedes(revisions.get(proposal.revision), commit, true),
                )
                for proposal in proposals[segment_text.segment.commit]
            ],
        )


def _precedes(revision: CommitSha | None, commit: CommitSha | None, true: frozenset[Ancestry]) -> bool:
    """Whether the revision is an ancestor of the commit; the commit itself came before what was made on top of it."""
    return revision is not None and commit is not None and revision != commit and Ancestry(revision, commit) in true


def _full(repository: Repository, written: set[str]) -> dict[str | None, CommitSha]:
    """The commits that revisions name, which may be abbreviated; those that are not here name none."""
    asked = sorted(text for text in written if len(text) >= REVISION_DIGITS_MIN)
    found = zip(asked, repository.look_up(asked), strict=True) if asked else ()
    return {
        text: CommitSha(info.id)
        for text, info in found
        if isinstance(info, ObjectInfo) and info.kind == "commit" and revisions_match(text, info.id)
    }


# Blame for a client that ran git blame itself: steps 3 to 8 of document 000 over the store alone, without git.
# Which commit came before which is not known here, so the signal of an ancestor revision never counts. A trace that
# names a file by the end of its path counts only when no trace that may have written the lines names the file itself.


@dataclass(frozen=True, slots=True)
class SegmentOrigin:
    """Who wrote neighboring lines: the best finding, the trace as a tool reported it, and the first prompt."""

    lines: Lines
    finding: AttributionFinding
    trace: TracedFile | None = None
    prompt: str | None = None


def blame_segments(workspace: Workspace, segments: Iterable[Segment], *, with_prompt: bool) -> list[SegmentOrigin]:
    """Who wrote the segments of one file, neighbors with the same trace and tier as one."""
    rules = replace(load_rules(workspace)[0].of(AttributeRules), profile="document")
    digest = rules_digest({"attribute": rules})
    ordered = sorted(segments, key=lambda segment: segment.lines)
    with workspace.reading() as store, store.reading():
        asking = _SegmentQuery(store, rules)
        findings = [
            attribute(
                segment,
                [proposal.candidate(segment, (), precedes=False) for proposal in asking.of(segment)],
                rules,
                rules_digest=digest,
            )
            for segment in ordered
        ]
        return [asking.origin(answer, with_prompt=with_prompt) for answer in merge_findings(findings)]


class _SegmentQuery:
    """Asks a store about one file."""

    def __init__(self, store: Store, rules: AttributeRules) -> None:
        self._store = store
        self._proposals = Proposals(store, rules)
        self._by: dict[RecordRef, Proposal] = {}

    def of(self, segment: Segment) -> list[Proposal]:
        """What may have written a segment and touches its file."""
        proposals = [proposal for proposal in self._proposals.of(segment) if could_name(proposal.path, segment.path)]
        exact = [proposal for proposal in proposals if proposal.path == segment.path]
        for proposal in proposals:
            self._by[proposal.record] = proposal
        return exact or proposals

    def origin(self, answer: AttributionRun, *, with_prompt: bool) -> SegmentOrigin:
        """An answer with its trace."""
        best = _best(answer.findings)
        if not isinstance(best, TraceAttribution):
            return SegmentOrigin(answer.lines, best)
        view = self._by[best.candidate.records[0]].view
        trace = view if isinstance(view, TracedFile) else None
        url = None if trace is None else trace.conversation
        return SegmentOrigin(answer.lines, best, trace, self._prompt(best, url) if with_prompt else None)

    def _prompt(self, found: TraceAttribution, url: str | None) -> str | None:
        """The first prompt: in the trace's own session, or in the conversation that it names."""
        trace = found.candidate.trace
        for session in (trace.session, None if url is None else SessionId(url)):
            seen = None if session is None else first_prompt(self._store, trace.agent, session)
            if seen is not None:
                return seen.view.text.content
        return None


def _best(findings: Sequence[AttributionFinding]) -> AttributionFinding:
    """Of findings with the same trace and tier, the one that shows most."""
    return max(findings, key=lambda finding: finding.evidence.score if isinstance(finding, TraceAttribution) else 0.0)
