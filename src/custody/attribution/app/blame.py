"""Attribute each line of a file."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct, field, structs
from msgspec.structs import replace

from custody.attribution.app.answers import AuthorStatement, LineAnswer, ToolClaim
from custody.attribution.app.context import AttributionContext, FileVersion, open_attribution
from custody.attribution.app.findings import LineAttributor
from custody.attribution.engine import merge_findings
from custody.attribution.line_spec import LineSpec as LineSpec
from custody.attribution.line_spec import resolve_line_specs
from custody.attribution.model import Grade, LineOwner, NoAttribution, Trace, TraceAttribution, format_certainty
from custody.attribution.rules import Profile as Profile
from custody.attribution.text import (
    is_informative_lineage_line,
    make_lineage_key,
    split_lineage_lines,
    split_lineage_words,
)
from custody.attribution.wire import (
    Attribution,
    AuthorStatementReport,
    BlameReport,
    CompetingClaim,
    RemovedLine,
    RemovedReport,
    SearchScope,
    SignalReport,
)
from custody.capture.hook.event_home import read_capture_gaps
from custody.core.errors import InputError
from custody.core.evidence import Signal
from custody.core.ids import CommitSha
from custody.core.paths import Lines, RepoPath
from custody.core.plural import count_noun
from custody.core.wire.body import format_digest
from custody.core.wire.time import format_timestamp
from custody.git import Repository
from custody.ledger.queries import find_first_session_prompt
from custody.workspace.revisions import format_author_time
from custody.workspace.workspace import Workspace

if TYPE_CHECKING:
    from custody.attribution.app.removals import LineChanges, Removal

SUMMARY_CHARACTERS_MAX = 200


class BlameResult(Struct, frozen=True):
    """The report on a file, and the text of its lines."""

    report: BlameReport
    texts: Sequence[str]
    blocks: Sequence[Attribution] = ()
    """The attributions by commit; if requested with commits, older lines by the commit that git blame names."""
    commits: Mapping[str, "CommitLabel"] = field(default_factory=dict)
    """The commits that last changed the lines, if requested."""
    older: Sequence[Lines] = ()
    """The lines older than all commits that were searched: they are committed, and git blame knows by which commit."""


class CommitLabel(Struct, frozen=True):
    """A commit as people recognize it: its subject, and when its author made it."""

    subject: str
    at: str | None


def blame(  # noqa: PLR0913 - one for each option of the command
    workspace: Workspace,
    file: str,
    *,
    revision: str | None = None,
    line_ranges: Sequence[Lines | LineSpec] = (),
    profile: Profile | None = None,
    with_commits: bool = False,
    with_changes: bool = False,
    is_brief: bool = False,
) -> BlameResult:
    """Return who wrote each line of a file (or of the line ranges), in order and with the evidence.

    An answer ``is_brief`` if its signals and reasons are not shown: they then leave out what captured texts show.
    The last change of each line is returned only ``with_changes``: it needs the texts of calls.
    """
    repository = workspace.repository
    path = repository.path(file, workspace.folder)
    bare = repository.work_tree is None
    commit = _resolve_blame_revision(repository, revision or "HEAD") if revision is not None or bare else None
    with open_attribution(workspace, profile) as evidence:
        ranges = _resolve_blame_line_ranges(evidence, path, commit, line_ranges)
        reporter = BlameReporter(evidence, is_brief=is_brief)
        result = reporter.blame_file(path, commit, _merge_blame_line_ranges(ranges), with_changes=with_changes)
        evidence.save()
        return _add_commits(evidence, result, path, commit) if with_commits else result


def list_removed_lines(workspace: Workspace, file: str, since: str, *, revision: str | None = None) -> RemovedReport:
    """Return what was removed from a file since a revision, each line with the call or commit that removed it."""
    from custody.attribution.app.removals import find_removals

    repository = workspace.repository
    path = repository.path(file, workspace.folder)
    base = _resolve_blame_revision(repository, since)
    bare = repository.work_tree is None
    commit = _resolve_blame_revision(repository, revision or "HEAD") if revision is not None or bare else None
    with open_attribution(workspace, "lineage") as evidence:
        attributor = LineAttributor(evidence)
        removals = find_removals(evidence, path, base, commit)
        return RemovedReport(
            path=path.display,
            since=base,
            revision=commit,
            rules_digest=format_digest(evidence.digest),
            removed=[report_removed_line(attributor, removal) for removal in removals],
            notes=list(evidence.history.searched.limits),
        )


def report_removed_line(attributor: LineAttributor, removal: "Removal") -> RemovedLine:
    """Return a removal as a report, with the session and call that made it, if one is known."""
    story = None if removal.state is None else attributor.story(removal.state)
    return RemovedLine(
        line=removal.line,
        text=removal.text,
        words=list(removal.words),
        now=removal.new_line,
        commit=removal.commit,
        agent=None if story is None else story.trace.agent,
        model_id=None if story is None else story.model,
        session_id=None if story is None else story.trace.session,
        tool_call_id=None if story is None else story.call,
        grade=None if story is None else story.grade.value,
        record=None if story is None else str(story.record),
    )


def _resolve_blame_line_ranges(
    evidence: AttributionContext, path: RepoPath, commit: CommitSha | None, line_ranges: Sequence[Lines | LineSpec]
) -> list[Lines]:
    specs = [line_range for line_range in line_ranges if isinstance(line_range, LineSpec)]
    ranges = [line_range for line_range in line_ranges if isinstance(line_range, Lines)]
    return [*ranges, *(resolve_line_specs(specs, evidence.texts(path, commit), path.display) if specs else ())]


def _add_commits(
    evidence: AttributionContext, result: BlameResult, path: RepoPath, commit: CommitSha | None
) -> BlameResult:
    blocks = result.blocks
    if result.older:
        known = evidence.find_introducing_commits(path, commit, result.texts, result.older)
        firsts = {lines.first for lines in result.older}
        blocks = [
            piece
            for block in blocks
            for piece in (_split_block_by_commit(block, known) if block.start_line in firsts else (block,))
        ]
    return replace(result, blocks=blocks, commits=_label_commits(evidence, blocks))


def _split_block_by_commit(block: Attribution, known: Mapping[int, CommitSha]) -> Iterator[Attribution]:
    """Yield the lines of a block by the commit of each line; lines without a known commit have an empty one."""
    for commit, run in groupby(range(block.start_line, block.end_line + 1), key=lambda line: known.get(line, "")):
        lines = list(run)
        yield structs.replace(block, start_line=lines[0], end_line=lines[-1], commits=[commit])


def _label_commits(evidence: AttributionContext, blocks: Iterable[Attribution]) -> dict[str, CommitLabel]:
    shas = {CommitSha(block.commits[-1]) for block in blocks if block.commits and block.commits[-1]}
    evidence.read_commits(sorted(shas))
    labels = {}
    for sha in shas:
        commit = evidence.commit(sha)
        if commit is not None:
            subject = commit.subject.decode("utf-8", "backslashreplace")
            labels[str(sha)] = CommitLabel(subject, format_author_time(commit.author))
    return labels


class BlameReporter:
    """Turns answers into reports."""

    def __init__(self, evidence: AttributionContext, *, is_brief: bool = False) -> None:
        self._evidence = evidence
        self._is_brief = is_brief
        self._summaries: dict[Trace, str | None] = {}
        self._records: dict[RepoPath, int] = {}

    def blame_file(
        self, path: RepoPath, commit: CommitSha | None, line_ranges: Sequence[Lines], *, with_changes: bool = False
    ) -> BlameResult:
        """Return the report on one file."""
        texts, answers = LineAttributor(self._evidence, is_brief=self._is_brief).of_file(path, commit, line_ranges)
        changes = None
        if with_changes and self._evidence.rules.profile != "document":
            from custody.attribution.app.removals import LineChanges  # few answers show changes

            version = FileVersion(path, commit, commit or self._evidence.repository.head().commit, texts, ())
            changes = LineChanges(self._evidence, version, commits=False)
        return self._report(path, commit, texts, answers, changes)

    def blame_version(self, version: FileVersion, line_ranges: Sequence[Lines] = ()) -> BlameResult:
        """Return the report on a version of a file, always in profile ``lineage``."""
        answers = LineAttributor(self._evidence, is_brief=self._is_brief).of(version, line_ranges)
        return self._report(version.path, version.commit, version.texts, answers, None)

    def _report(
        self,
        path: RepoPath,
        commit: CommitSha | None,
        texts: Sequence[str],
        answers: Sequence[LineAnswer],
        changes: "LineChanges | None",
    ) -> BlameResult:
        blocks = [self.attribution(answer, changes) for answer in answers]
        is_document = self._evidence.rules.profile == "document"
        report = BlameReport(
            path=path.display,
            revision=commit,
            profile=self._evidence.rules.profile,
            rules_digest=format_digest(self._evidence.digest),
            attributions=list(_merge_attributions(answers, blocks)) if is_document else blocks,
            notes=[*self._evidence.history.searched.limits, *self._list_missing_evidence()],
        )
        return BlameResult(report, texts, blocks, older=[answer.lines for answer in answers if not answer.trail])

    def _list_missing_evidence(self) -> Iterator[str]:
        """Yield a note for events that could not be recorded and for missing records."""
        gaps = sum(len(read_capture_gaps(folder)) for folder in self._evidence.workspace.gap_folders)
        if gaps:
            yield f"{count_noun(gaps, 'event')} could not be recorded here; 'custody doctor' lists them"
        store = self._evidence.store
        heads = () if store.heads is None else (stored.head for stored in store.heads.read_all())
        if any(head is not None and head.seq > store.tables.head(head.store).seq for head in heads):
            yield "records are missing from the store; 'custody verify' lists them"

    def attribution(self, answer: LineAnswer, changes: "LineChanges | None" = None) -> Attribution:
        """Return one answer as a report, with the last change of its lines from ``changes``."""
        finding, owner, trace = answer.finding, answer.owner, answer.trace
        return Attribution(
            start_line=answer.lines.first,
            end_line=answer.lines.last,
            kind=owner.value,
            share=_compute_agent_share(answer),
            tier=answer.tier,
            confidence=finding.confidence if isinstance(finding, TraceAttribution) else 0.0,
            score=finding.evidence.score if isinstance(finding, TraceAttribution) else 0.0,
            grade=None if answer.grade is None else answer.grade.value,
            trace_id=None if trace is None else trace.id,
            agent=None if trace is None else trace.agent,
            model_id=None if trace is None else answer.model,
            session_id=None if trace is None else trace.session,
            tool_call_id=None if trace is None else answer.call,
            conversation_url=answer.conversation,
            conversation_summary=None if trace is None else self._summary(trace),
            signals=[signal.name for signal in answer.signals],
            evidence=[_report_signal(signal) for signal in answer.signals],
            commits=[commit for commit in answer.trail if commit is not None],
            reason=finding.reason if isinstance(finding, NoAttribution) and not answer.statements else None,
            searched=self._report_search_scope(finding.segment.path) if owner is LineOwner.NONE else None,
            claims=[_report_competing_claim(claim) for claim in answer.others],
            certainty=format_certainty(answer.tier, answer.grade, is_person=owner is LineOwner.PERSON),
            last_changes=[] if changes is None else changes.report(answer),
            said_by=[_report_author_statement(statement) for statement in answer.statements] or UNSET,
        )

    def _report_search_scope(self, path: RepoPath) -> SearchScope:
        if path not in self._records:
            self._records[path] = self._evidence.lineage.tables.count_of(path)
        history = self._evidence.history
        since = None if history.since_ns is None else format_timestamp(history.since_ns)
        return SearchScope(since, self._records[path], history.searched.commits)

    def _summary(self, trace: Trace) -> str | None:
        """Return the beginning of the first prompt of a session."""
        if trace not in self._summaries:
            prompt = find_first_session_prompt(self._evidence.store, trace.agent, trace.session)
            text = None if prompt is None else prompt.view.text.content
            self._summaries[trace] = None if text is None else " ".join(text.split())[:SUMMARY_CHARACTERS_MAX]
        return self._summaries[trace]


def _merge_attributions(answers: Sequence[LineAnswer], blocks: Sequence[Attribution]) -> Iterator[Attribution]:
    """Yield the attributions with neighbors of one trace and tier merged (document 000, section 11).

    The strongest of them gives the evidence.
    """
    rest = iter(blocks)
    for run in merge_findings([answer.finding for answer in answers]):
        parts = [next(rest) for _ in run.findings]
        best = max(parts, key=lambda part: part.score)
        commits = list(dict.fromkeys(commit for part in parts for commit in part.commits))
        yield structs.replace(best, start_line=run.lines.first, end_line=run.lines.last, commits=commits)


def _compute_agent_share(answer: LineAnswer) -> float:
    if answer.owner is LineOwner.MIXED:
        return round(answer.share, 4)
    return 1.0 if answer.owner is LineOwner.AGENT else 0.0


def _report_signal(signal: Signal) -> SignalReport:
    return SignalReport(signal.name, signal.points, signal.why, [str(ref) for ref in signal.records])


def _report_author_statement(statement: AuthorStatement) -> AuthorStatementReport:
    return AuthorStatementReport(
        statement.person, format_timestamp(statement.at_ns), statement.message, str(statement.record)
    )


def _report_competing_claim(claim: ToolClaim) -> CompetingClaim:
    trace = claim.trace
    return CompetingClaim(
        claim.producer, trace.agent, claim.model, trace.session, Grade.CLAIMED.value, str(claim.record)
    )


def _resolve_blame_revision(repository: Repository, revision: str) -> CommitSha:
    try:
        return repository.resolve(revision)
    except InputError as error:
        hint = "pass a commit, branch or tag of this repository, such as HEAD~1"
        raise InputError(f"unknown revision {revision[:80]!a}", hint=hint) from error


def _merge_blame_line_ranges(line_ranges: Sequence[Lines]) -> list[Lines]:
    """Return the line ranges sorted, each line once."""
    merged: list[Lines] = []
    for line_range in sorted(line_ranges):
        if merged and line_range.first <= merged[-1].last:
            merged[-1] = Lines(merged[-1].first, max(merged[-1].last, line_range.last))
        else:
            merged.append(line_range)
    return merged


# Records of single lines: which agents added them, and how many of their words a text holds.


def find_agents_by_line(
    evidence: AttributionContext, path: RepoPath, texts: Sequence[str], lines: Sequence[str]
) -> Mapping[str, frozenset[str]]:
    """Return the agents recorded to have added each of ``lines`` to a file that holds ``texts``.

    Uninformative lines and lines that occur more than once in the file are left out: anyone may have added them.
    """
    counts = Counter(map(make_lineage_key, texts))
    single = {
        make_lineage_key(line): line
        for line in lines
        if is_informative_lineage_line(line) and counts[make_lineage_key(line)] == 1
    }
    agents_by_key = evidence.lineage.tables.find_agents_of_lines(path, list(single))
    return {single[key]: agents for key, agents in agents_by_key.items()}


def collect_lineage_words(text: str) -> frozenset[str]:
    """Return the words that occur in a text."""
    return frozenset(word for line in split_lineage_lines(text) for word in split_lineage_words(line))


def compute_line_word_share(lines: Sequence[str], words: Container[str]) -> float:
    """Return the share of the words of ``lines`` that are among ``words``; 1 for lines without words.

    >>> compute_line_word_share(["total = price", "}"], collect_lineage_words("price = 3"))
    0.5
    >>> compute_line_word_share(["}"], ())
    1.0
    """
    line_words = [word for line in lines for word in split_lineage_words(line)]
    return sum(word in words for word in line_words) / len(line_words) if line_words else 1.0
