"""List the lines that agents wrote in each commit, as other tools' formats need them."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from custody.attribution.app.answers import LineAnswer
from custody.attribution.app.commit_claims import CommitClaim, find_commit_claims
from custody.attribution.app.commit_messages import is_named_by_commit
from custody.attribution.app.context import AttributionContext
from custody.attribution.app.findings import LineAttributor
from custody.attribution.app.history import HORIZON_DAYS
from custody.attribution.model import TraceAttribution
from custody.attribution.queries.traces import find_first_trace_ns, list_traced_revisions
from custody.attribution.text import line_ranges_from_numbers
from custody.core.errors import GitError, InputError
from custody.core.ids import CommitSha
from custody.core.paths import Lines, RepoPath
from custody.git import BRANCH_PREFIXES, ChangeKind, Comparison, Repository, Walk

NS = 1_000_000_000
DAY_NS = 24 * 3600 * NS
SHARE_DIGITS = 4


class AgentLines(Struct, frozen=True):
    """Lines of a commit's file that an agent wrote; ``captured`` by custody, else claimed."""

    commit: CommitSha
    path: RepoPath
    lines: Lines
    agent: str
    session: str
    call: str | None
    model: str | None
    at_ns: int | None
    share: float
    captured: bool
    texts: tuple[str, ...]


def iterate_agent_lines_by_commit(
    evidence: AttributionContext, *, captured: bool = False
) -> Iterator[list[AgentLines]]:
    """Yield the agents' lines of each commit of all branches since the first evidence.

    With ``captured`` it may leave out lines that are only claimed.
    """
    since = evidence.history.since_ns
    tips = _list_attributed_branch_tips(evidence.repository) if since is not None else []
    if since is None or not tips:
        return
    walk = Walk(since_seconds=max(0, since // NS))
    with evidence.repository.log(tips, walk=walk) as log:
        commits = [(commit.id, commit.committer.at.seconds if commit.committer.at else None) for commit in log]
    first_evidence_ns = _find_first_evidence_ns(evidence)
    claimed, attributed = list[CommitSha](), list[CommitSha]()
    for commit, seconds in commits:
        only_claims = first_evidence_ns is None or (seconds is not None and seconds * NS < first_evidence_ns)
        (claimed if only_claims else attributed).append(commit)
    evidence.workspace.progress.start("reading commits", len(commits))
    yield from attribute_commit_lines(evidence, attributed)
    evidence.workspace.progress.step(len(claimed))
    yield from () if captured else _iterate_claimed_lines(evidence, claimed)


def _find_first_evidence_ns(evidence: AttributionContext) -> int | None:
    """Return the time from which commits may have evidence other than claims about them; None for never."""
    known = (evidence.lineage.tables.earliest_ns(), find_first_trace_ns(evidence.store))
    before = HORIZON_DAYS * DAY_NS
    return min((at - before for at in known if at is not None), default=None)


def _iterate_claimed_lines(evidence: AttributionContext, commits: Sequence[CommitSha]) -> Iterator[list[AgentLines]]:
    """Yield the claimed lines of commits that are older than all other evidence."""
    claimed = list_traced_revisions(evidence.store)
    for sha in (commit for commit in commits if commit in claimed):
        commit = evidence.commit(sha)
        written = (
            []
            if commit is None
            else [_agent_lines_from_claim(sha, claim) for claim in find_commit_claims(evidence, commit)]
        )
        if written:
            yield written


def attribute_commit_lines(evidence: AttributionContext, commits: Sequence[CommitSha]) -> Iterator[list[AgentLines]]:
    """Yield the agents' lines among those that each commit added."""
    attributor = LineAttributor(evidence, is_brief=True)
    # Listing the changed files needs no contents, which a partial clone may lack.
    with evidence.repository.changes([Comparison(commit) for commit in commits], renames=False) as changes:
        for commit, change in zip(commits, changes, strict=True):
            paths = [file.path for file in change.files if file.kind is not ChangeKind.DELETED]
            written = [lines for path in paths for lines in _attribute_file_lines(evidence, attributor, commit, path)]
            evidence.workspace.progress.step(1)
            if written:
                yield written


def _list_attributed_branch_tips(repository: Repository) -> list[CommitSha]:
    """Return the tips of all branches, without Entire's checkpoint branches, which hold no code."""
    checkpoints = {ref.id for ref in repository.refs(*BRANCH_PREFIXES) if b"/entire/checkpoints/" in ref.name}
    return [tip for tip in repository.tips() if tip not in checkpoints]


def _attribute_file_lines(
    evidence: AttributionContext, attributor: LineAttributor, commit: CommitSha, path: RepoPath
) -> Iterator[AgentLines]:
    try:
        version = evidence.version(path, commit)
    except InputError:
        return  # not a text file: a link, a submodule, a binary file
    except GitError as error:
        evidence.workspace.talk(f"skipped '{path.display}' in {commit[:12]}: {error.message}")
        return
    added = [n for n, line in enumerate(version.lines, start=1) if line.trail and line.trail[-1] == commit]
    if not added:
        return
    for answer in attributor.of(version, list(line_ranges_from_numbers(added))):
        # A commit's own statement is in the commit: other tools need no copy of it.
        if isinstance(answer.finding, TraceAttribution) and not is_named_by_commit(answer):
            yield _agent_lines_from_finding(commit, path, version.texts, answer, answer.finding)


def _agent_lines_from_claim(commit: CommitSha, claim: CommitClaim) -> AgentLines:
    return AgentLines(
        commit=commit,
        path=claim.path,
        lines=claim.lines,
        agent=claim.candidate.trace.agent,
        session=claim.candidate.trace.session,
        call=claim.candidate.call,
        model=claim.model,
        at_ns=claim.candidate.at_ns,
        share=claim.share,
        captured=False,
        texts=(),
    )


def _agent_lines_from_finding(
    commit: CommitSha, path: RepoPath, texts: Sequence[str], answer: LineAnswer, finding: TraceAttribution
) -> AgentLines:
    candidate, lines = finding.candidate, answer.lines
    return AgentLines(
        commit=commit,
        path=path,
        lines=lines,
        agent=candidate.trace.agent,
        session=candidate.trace.session,
        call=candidate.call,
        model=answer.model,
        at_ns=candidate.at_ns,
        share=round(answer.share, SHARE_DIGITS),
        captured=answer.story is not None,
        texts=tuple(texts[lines.first - 1 : lines.last]),
    )
