"""How many of the agents' lines on the current branch a person read."""

from collections.abc import Iterator, Sequence
from datetime import date

from msgspec import Struct

from custody.attribution.app.context import AttributionContext, open_attribution
from custody.attribution.app.findings import LineAttributor
from custody.core.assurance import Assurance
from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.paths import Lines
from custody.core.views import HunkRead
from custody.core.wire.time import format_timestamp, parse_timestamp
from custody.git import Commit, Comparison, FileDiff, HunkDetail, Walk
from custody.people.queries import find_hunk_reads, list_read_ranges
from custody.people.read_assurance import is_involved, rate_hunk_read
from custody.people.reads import ChangedHunk, list_changed_hunks
from custody.people.wire import ReadShareReport
from custody.store import ObservedView
from custody.trust.app.decision_assurance import DecisionPolicy, list_commit_people, load_decision_policy
from custody.workspace.workspace import Workspace

NS = 1_000_000_000
DAY_NS = 86_400 * NS
COMMITS_MAX = 1_000
"""Maximum commits that are counted."""


class CountedRange(Struct, frozen=True):
    """Commits of the main line that are counted as one change, since somebody read them as one."""

    parent: CommitSha | None
    head: CommitSha
    commits: Sequence[Commit]


class _Counts(Struct):
    agent: int = 0
    read: int = 0
    witnessed: int = 0
    left_out: int = 0


def count_read_lines(workspace: Workspace, *, since: str | None = None, days: int = 30) -> ReadShareReport:
    """Count the agents' lines that commits of the current branch added since a date, and those that a person read.

    Whoever wrote or committed a change does not count as its reader. Merges are compared with their first parent.
    """
    head = workspace.repository.head().commit
    if head is None:
        raise InputError("HEAD has no commit", hint="make a first commit")
    since_ns = workspace.now_ns() - days * DAY_NS if since is None else _parse_since(since)
    commits = _list_main_line(workspace, head, since_ns)
    counts, notes = _Counts(), []
    if len(commits) == COMMITS_MAX:
        notes.append(f"only the newest {COMMITS_MAX:,} commits are counted")
    with open_attribution(workspace, "lineage") as context:
        policy = load_decision_policy(workspace, context.store)
        attributor = LineAttributor(context, is_brief=True)
        ranges = _join_read_ranges(commits, list_read_ranges(context.store))
        workspace.progress.start("counting", len(ranges))
        for counted in ranges:
            _count_range(context, attributor, policy, counted, counts)
            workspace.progress.step(1)
    return ReadShareReport(
        head=head,
        since=format_timestamp(since_ns),
        commits=len(commits),
        agent_lines=counts.agent,
        read_lines=counts.read,
        witnessed_lines=counts.witnessed,
        left_out=counts.left_out,
        notes=notes,
    )


def _parse_since(text: str) -> int:
    """Return a time: a date, or RFC 3339."""
    try:
        return parse_timestamp(f"{date.fromisoformat(text).isoformat()}T00:00:00Z")
    except ValueError:
        return parse_timestamp(text)


def _list_main_line(workspace: Workspace, head: CommitSha, since_ns: int) -> list[Commit]:
    """Return the first-parent commits since a time, the newest first."""
    found: list[Commit] = []
    with workspace.repository.log([head], walk=Walk(first_parent=True, count_max=COMMITS_MAX)) as commits:
        for commit in commits:
            at = commit.committer.at
            if at is not None and at.seconds * NS < since_ns:
                break
            found.append(commit)
    return found


def _join_read_ranges(commits: Sequence[Commit], reads: Sequence[ObservedView[HunkRead]]) -> list[CountedRange]:
    """Return the commits as changes: those between the base and the head of a read are one, the longest first."""
    place = {commit.id: index for index, commit in enumerate(commits)}
    ends = {
        (place[read.view.head], _find_end(commits, place, read.view.base)) for read in reads if read.view.head in place
    }
    taken: dict[int, int] = {}
    for start, end in sorted(ends, key=lambda pair: (pair[0] - (pair[1] or 0), pair)):
        if end is not None and end > start and not any(index in taken for index in range(start, end)):
            taken.update(dict.fromkeys(range(start, end), end))
    ranges, at = [], 0
    while at < len(commits):
        end = taken.get(at, at + 1)
        parents = commits[end - 1].parents
        ranges.append(CountedRange(parents[0] if parents else None, commits[at].id, commits[at:end]))
        at = end
    return ranges


def _find_end(commits: Sequence[Commit], place: dict[CommitSha, int], base: CommitSha | None) -> int | None:
    """Return the index behind the last commit after ``base``; None if that is not a commit of the main line."""
    if base is None:
        return None
    if base in place:
        return place[base]
    return len(commits) if commits and base in commits[-1].parents[:1] else None


def _count_range(
    context: AttributionContext,
    attributor: LineAttributor,
    policy: DecisionPolicy,
    counted: CountedRange,
    counts: _Counts,
) -> None:
    with context.repository.diffs([Comparison(counted.head, counted.parent)], renames=True) as answers:
        files = tuple(file for diff in answers for file in diff.files)
    counts.left_out += sum(file.shown is not HunkDetail.WHOLE for file in files)
    readable = [file for file in files if file.hunks and file.change.new is not None]
    reads: dict[str, Assurance] = {}
    involved = list_commit_people(_list_brought_commits(context, counted))
    for read in find_hunk_reads(context.store, (changed.hunk.id for changed in list_changed_hunks(readable))):
        if is_involved(read.view.person, policy, read.view.at_ns, involved):
            continue
        rated = rate_hunk_read(read, policy, involved)
        reads[read.view.hunk] = max(reads.get(read.view.hunk, rated), rated, key=lambda each: each.rank)
    for file in readable:
        _count_file(context, attributor, counted.head, file, reads, counts)
    context.save()
    del context.history


def _list_brought_commits(context: AttributionContext, counted: CountedRange) -> list[Commit]:
    """Return the commits of a change; whoever merged it may be its reader."""
    others: list[Commit] = []
    for commit in counted.commits:
        if len(commit.parents) < 2:
            others.append(commit)
            continue
        walk = Walk(without=commit.parents[:1], count_max=COMMITS_MAX)
        with context.repository.log(commit.parents[1:], walk=walk) as brought:
            others += brought
    return others


def _count_file(
    context: AttributionContext,
    attributor: LineAttributor,
    head: CommitSha,
    file: FileDiff,
    reads: dict[str, Assurance],
    counts: _Counts,
) -> None:
    ranges = [(changed, lines) for changed in list_changed_hunks([file]) for lines in _new_lines(changed)]
    if not ranges:
        return
    try:
        version = context.version(file.change.path, head)
        answers = attributor.of(version, [lines for _, lines in ranges])
    except InputError:
        counts.left_out += 1
        return
    agents = {
        n for answer in answers if answer.owner.is_agent for n in range(answer.lines.first, answer.lines.last + 1)
    }
    for changed, lines in ranges:
        written = sum(n in agents for n in range(lines.first, lines.last + 1))
        rated = reads.get(changed.hunk.id)
        counts.agent += written
        counts.read += written if rated is not None else 0
        counts.witnessed += written if rated is Assurance.WITNESSED else 0


def _new_lines(changed: ChangedHunk) -> Iterator[Lines]:
    return (run.new_lines for run in changed.hunk.runs if run.new_lines is not None)
