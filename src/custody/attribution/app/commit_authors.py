"""What agents wrote in each commit: the lines that it brought, by whom; the form in which other tools tell it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from custody.attribution.app.answers import LineAnswer
from custody.attribution.app.commit_claims import CommitClaim, attested_in
from custody.attribution.app.context import AttributionContext
from custody.attribution.app.findings import LineAttributor
from custody.attribution.app.history import HORIZON_DAYS
from custody.attribution.model import TraceAttribution
from custody.attribution.queries.traces import first_trace_ns, revisions_of_traces
from custody.attribution.text import line_runs
from custody.core.errors import GitError, InputError
from custody.core.ids import CommitSha
from custody.core.paths import Lines, RepoPath
from custody.git import BRANCH_PREFIXES, ChangeKind, Comparison, Repository, Walk

NS = 1_000_000_000
DAY_NS = 24 * 3600 * NS
SHARE_DIGITS = 4


@dataclass(frozen=True, slots=True)
class AgentLines:
    """Lines of a commit's file that an agent wrote; ``captured`` by us, else somebody's claim."""

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


def commits_written(evidence: AttributionContext, *, captured: bool = False) -> Iterator[list[AgentLines]]:
    """What agents wrote, commit by commit, of all that branches hold since the first thing that is known.

    With ``captured`` it may leave out what is only claimed.
    """
    since = evidence.history.since_ns
    ends = _ends(evidence.repository) if since is not None else []
    if since is None or not ends:
        return
    walk = Walk(since_seconds=max(0, since // NS))
    with evidence.repository.log(ends, walk=walk) as log:
        commits = [(commit.id, commit.committer.at.seconds if commit.committer.at else None) for commit in log]
    open_since = _open_since(evidence)
    told, walked = list[CommitSha](), list[CommitSha]()
    for commit, seconds in commits:
        only_claims = open_since is None or (seconds is not None and seconds * NS < open_since)
        (told if only_claims else walked).append(commit)
    evidence.workspace.progress.start("reading commits", len(commits))
    yield from _walked(evidence, walked)
    evidence.workspace.progress.step(len(told))
    yield from () if captured else _iterate_claims(evidence, told)


def _open_since(evidence: AttributionContext) -> int | None:
    """From when on a commit's lines may have another answer than a claim about that commit; None for never."""
    known = (evidence.lineage.tables.earliest_ns(), first_trace_ns(evidence.store))
    before = HORIZON_DAYS * DAY_NS
    return min((at - before for at in known if at is not None), default=None)


def _iterate_claims(evidence: AttributionContext, commits: Sequence[CommitSha]) -> Iterator[list[AgentLines]]:
    """What is claimed of commits that are older than everything else that is known."""
    claimed = revisions_of_traces(evidence.store)
    for sha in (commit for commit in commits if commit in claimed):
        commit = evidence.commit(sha)
        written = [] if commit is None else [_claimed(sha, claim) for claim in attested_in(evidence, commit)]
        if written:
            yield written


def _walked(evidence: AttributionContext, commits: Sequence[CommitSha]) -> Iterator[list[AgentLines]]:
    """What the lines that a commit brought answer."""
    answers = LineAttributor(evidence)
    # Which files a commit touched can be told without their contents, which a partial clone may not have.
    with evidence.repository.changes([Comparison(commit) for commit in commits], renames=False) as changes:
        for commit, change in zip(commits, changes, strict=True):
            paths = [file.path for file in change.files if file.kind is not ChangeKind.DELETED]
            written = [wrote for path in paths for wrote in _of_file(evidence, answers, commit, path)]
            evidence.workspace.progress.step(1)
            if written:
                yield written


def _ends(repository: Repository) -> list[CommitSha]:
    """Where branches of code end; the branches in which Entire keeps its checkpoints hold no code."""
    kept = {
        ref.id for prefix in BRANCH_PREFIXES for ref in repository.refs(prefix) if b"/entire/checkpoints/" in ref.name
    }
    return [end for end in repository.tips() if end not in kept]


def _of_file(
    evidence: AttributionContext, answers: LineAttributor, commit: CommitSha, path: RepoPath
) -> Iterator[AgentLines]:
    try:
        version = evidence.version(path, commit)
    except InputError:
        return  # no text: a link, a submodule, a binary file
    except GitError as error:
        evidence.workspace.talk(f"'{path.display}' in {commit[:12]} is left out: {error.message}")
        return
    brought = [n for n, line in enumerate(version.lines, start=1) if line.trail and line.trail[-1] == commit]
    if not brought:
        return
    for answer in answers.of(version, list(line_runs(brought))):
        if isinstance(answer.finding, TraceAttribution):
            yield _wrote(commit, path, version.texts, answer, answer.finding)


def _claimed(commit: CommitSha, claim: CommitClaim) -> AgentLines:
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


def _wrote(
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
