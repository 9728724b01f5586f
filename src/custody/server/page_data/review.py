"""The review of a change for pages: computed once for a state of the records, kept while that holds."""

from msgspec.structs import replace

from custody.review.wire import PromptCard, ReviewReport
from custody.server.app.questions import Note, require_project_repository
from custody.server.page_data.cache import StateCache, make_page_cache_key, read_page_cache_state
from custody.server.page_data.diff import ChangeDiff
from custody.server.page_data.late import LateAnswer, answer_late
from custody.server.page_data.work import WorkQueue
from custody.workspace.workspace import Workspace

ReviewMemory = StateCache[ReviewReport]
DiffMemory = StateCache[ChangeDiff]


def review_change_for_page(
    workspace: Workspace, memory: ReviewMemory, queue: WorkQueue | None, diff: ChangeDiff, *, note: Note | None
) -> LateAnswer[ReviewReport]:
    """Return the review of a change, or the last one while the queue computes it.

    Prompts are shown only with a ``note``, which logs that they are read.
    """
    here = require_project_repository(workspace)
    change = f"{diff.range.base}..{diff.range.head}"
    with here.reading() as store:
        state = read_page_cache_state(store)
    late = answer_late(
        queue,
        memory,
        (*make_page_cache_key(here), change),
        state,
        here.now_ns(),
        lambda progress: _review(replace(here, progress=progress), change),
    )
    return late if late.answer is None else replace(late, answer=_show_prompts(late.answer, note))


def _review(workspace: Workspace, change: str) -> ReviewReport:
    from custody.review.app.review import ReviewRequest, review_change

    return review_change(workspace, ReviewRequest(change=change))


def _show_prompts(report: ReviewReport, note: Note | None) -> ReviewReport:
    """Return the report with its prompts, and log that they are read; without ``note``, with hidden prompts."""
    prompts = [prompt for hunk in report.hunks for prompt in hunk.prompts if prompt.text is not None]
    if not prompts:
        return report
    if note is not None:
        for session in sorted({prompt.session or "unknown" for prompt in prompts}):
            note(f"prompts of session {session}")
        return report
    return replace(
        report,
        hunks=[
            replace(hunk, prompt=_hide(hunk.prompt), prompts=[_hide(prompt) for prompt in hunk.prompts])
            for hunk in report.hunks
        ],
    )


def _hide(prompt: PromptCard) -> PromptCard:
    return prompt if prompt.text is None else replace(prompt, state="hidden", text=None, note=None)
