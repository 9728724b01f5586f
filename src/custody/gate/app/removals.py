"""The calls that removed text in a change: a deleted guard or word weakens a line, and no added line shows it."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from custody.attribution.app.context import AttributionContext
from custody.attribution.app.findings import LineAttributor
from custody.attribution.app.removals import Removal, find_removals_between
from custody.core.errors import InputError
from custody.core.paths import RepoPath
from custody.gate.app.change import ChangeUnderReview
from custody.gate.wire.report import CallRemovals, ShortenedLine
from custody.git import FileDiff

SHORTENED_SHOWN_MAX = 50


def gather_call_removals(
    context: AttributionContext, attributor: LineAttributor, review: ChangeUnderReview
) -> tuple[CallRemovals, ...]:
    """Return what captured calls removed from the files of a change, in the order of files and lines."""
    return tuple(
        report
        for file in review.change.files
        if file.change.old is not None and any(hunk.removed for hunk in file.hunks)
        for report in _report_file_removals(context, attributor, review, file)
    )


def _report_file_removals(
    context: AttributionContext, attributor: LineAttributor, review: ChangeUnderReview, file: FileDiff
) -> Iterator[CallRemovals]:
    assert file.change.old is not None, "the caller passes files that were there before"
    path = file.change.old.path
    try:
        old = context.texts(path, review.change.fork)
        new = [] if file.change.new is None else context.texts(file.change.new.path, review.version)
    except InputError:
        return  # a binary or unreadable file has no lines, which the attribution check reports
    removals = find_removals_between(context, path, (old, new), since=review.change.fork)
    by_state = sorted(removals, key=lambda removal: removal.state or 0)
    for state, same in groupby(by_state, key=lambda removal: removal.state):
        story = None if state is None else attributor.story(state)
        if story is not None:
            trace = story.trace
            yield _count_call_removals(path, trace.agent, trace.session, story.call, list(same))


def _count_call_removals(
    path: RepoPath, agent: str, session: str, call: str | None, removals: Iterable[Removal]
) -> CallRemovals:
    shortened = [removal for removal in removals if removal.words]
    return CallRemovals(
        path=path.display,
        agent=agent,
        session_id=session,
        tool_call_id=call,
        lines=sum(not removal.words for removal in removals),
        words=sum(len(removal.words) for removal in shortened),
        shortened=[
            ShortenedLine(removal.new_line or 0, list(removal.words)) for removal in shortened[:SHORTENED_SHOWN_MAX]
        ],
    )
