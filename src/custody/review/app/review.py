"""The review of a change: the gate's verdict, its hunks in reading order, and what records show about each."""

import shlex
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from custody.core.errors import StoreError
from custody.core.plural import count_noun
from custody.gate.app.gate import GateRequest, JudgedChange, judge_change
from custody.gate.app.reading_order import JudgedHunk, find_hunk_duplicates
from custody.gate.app.statements import report_statements
from custody.gate.wire.report import GateReport
from custody.people.reads import find_hunk_readers
from custody.review.app.card import NO_CARD, CardMaker, HunkCard, describe_hunk_authors, make_missing_prompt
from custody.review.app.tests import report_tests
from custody.review.wire import (
    HunkDuplicate,
    HunkLinks,
    HunkReport,
    HunkRiskReport,
    HunksLeftOut,
    LineSpan,
    ReadMark,
    ReviewReport,
    RiskFactorReport,
    RiskName,
    TestedLines,
)
from custody.runs import TestState
from custody.runs.app.evidence import get_review_rules
from custody.workspace.workspace import Workspace

HUNKS_MAX = 1_000
"""Hunks of one report; more are counted."""
CARDS_MAX = 200
"""Hunks whose prompts, calls and sources are gathered, in reading order."""
SHA_DIGITS = 12


class ReviewRequest(Struct, frozen=True, kw_only=True):
    """A change to review: ``BASE..HEAD``, or the work tree for None; ``description`` is its author's text.

    Without ``with_prompts`` excerpts of prompts are left out, unless the base branch publishes them.
    """

    change: str | None = None
    description: bytes | None = None
    cards_max: int = CARDS_MAX
    with_prompts: bool = True


def review_change(workspace: Workspace, request: ReviewRequest) -> ReviewReport:
    """Return what to read in a change, in which order, and what records show about each hunk."""
    asked = GateRequest(change=request.change, description=request.description, budget="look")
    with judge_change(workspace, asked) as judged:
        report = make_review(workspace, judged, cards_max=request.cards_max)
        return report if request.with_prompts or report.publishes_prompts else hide_review_prompts(report)


def make_review(workspace: Workspace, judged: JudgedChange, *, cards_max: int = CARDS_MAX) -> ReviewReport:
    """Return the review of a change that was judged."""
    order = judged.make_order()
    shown = order.hunks[:HUNKS_MAX]
    cards, note = _gather_cards(workspace, shown[:cards_max])
    names = _name_versions(judged)
    marks = _find_read_marks(workspace, shown, judged)
    hunks = [
        replace(_report_hunk(hunk, cards.get(hunk.id), names, judged), read_by=marks.get(hunk.id, [])) for hunk in shown
    ]
    report = judged.report
    rest = order.hunks[HUNKS_MAX:]
    levels: dict[RiskName, int] = {"high": 0, "medium": 0, "low": 0}
    for hunk in order.hunks:
        levels[hunk.risk.level.value] += 1
    return ReviewReport(
        outcome=report.outcome,
        base=report.base,
        head=report.head,
        fork=report.fork,
        worktree=report.worktree,
        verdict=report.level,
        assurance=report.assurance,
        summary=order.summary,
        files=report.files or 0,
        added=report.added,
        removed_lines=report.removed_lines or 0,
        tested=_count_tested_lines(order.hunks),
        levels=levels,
        reasons=report.reasons,
        statements=report_statements(judged.gathered.statements),
        order=[hunk.id for hunk in hunks],
        hunks=hunks,
        more=_count_rest(rest) if rest else None,
        trust=report.trust,
        unread=report.unread,
        skipped=report.skipped,
        duplicates_checked="duplicates" in report.checks,
        rules_digest=report.rules_digest,
        as_of=report.as_of,
        notes=[*note, *_list_notes(report, len(hunks), len(cards))],
        publishes_prompts=get_review_rules(judged.policy.rules).publish_prompts,
    )


def hide_review_prompts(report: ReviewReport, note: str = "prompt not shared") -> ReviewReport:
    """Return a review without the texts of prompts, for readers who may not read conversations."""
    return replace(report, hunks=[_hide_hunk_prompts(hunk, note) for hunk in report.hunks])


def _hide_hunk_prompts(hunk: HunkReport, note: str) -> HunkReport:
    prompts = [replace(card, state="hidden", text=None, note=note) if card.text else card for card in hunk.prompts]
    return replace(hunk, prompt=prompts[0] if prompts else hunk.prompt, prompts=prompts)


class _Names(Struct, frozen=True):
    """How commands name the version that is reviewed."""

    revision: str | None


def _name_versions(judged: JudgedChange) -> _Names:
    return _Names(None if judged.review.is_work_tree else judged.report.head[:SHA_DIGITS])


def _gather_cards(workspace: Workspace, hunks: Sequence[JudgedHunk]) -> tuple[Mapping[str, HunkCard], list[str]]:
    """Return the cards of these hunks by id, and a note if the store cannot be read."""
    if not any(answer.trace is not None for hunk in hunks for answer in hunk.answers):
        return {hunk.id: NO_CARD for hunk in hunks}, []
    try:
        with workspace.reading() as store:
            maker = CardMaker(workspace.repository, store, hunks)
            cards = {}
            workspace.progress.start("cards of hunks", len(hunks))
            for hunk in hunks:
                workspace.progress.step(1)
                cards[hunk.id] = maker.make_card(hunk)
            return cards, []
    except StoreError as error:
        return {}, [f"prompts, calls and sources were not read: {error.message}"]


def _find_read_marks(
    workspace: Workspace, hunks: Sequence[JudgedHunk], judged: JudgedChange
) -> Mapping[str, list[ReadMark]]:
    """Return who read each hunk, the first reader first; none if the store cannot be read."""
    if not workspace.exists():
        return {}
    try:
        with workspace.reading() as store:
            readers = find_hunk_readers(workspace, store, (hunk.id for hunk in hunks), judged.review.change)
    except StoreError:
        return {}  # the integrity check reports it
    return {
        hunk: [ReadMark(person=reader.person, at=reader.at, assurance=reader.assurance) for reader in found]
        for hunk, found in readers.items()
    }


def _report_hunk(hunk: JudgedHunk, card: HunkCard | None, names: _Names, judged: JudgedChange) -> HunkReport:
    authors = describe_hunk_authors(hunk)
    found = card or NO_CARD
    prompts = found.prompts or [make_missing_prompt(hunk)]
    old = None if hunk.file is None else hunk.file.change.old
    old_path = None if old is None or old.path.display == hunk.path else old.path.display
    session = next((author.session for author in authors.authors if author.session is not None), None)
    return HunkReport(
        id=hunk.id,
        path=hunk.path,
        old_path=old_path,
        lines=None if hunk.lines is None else LineSpan(hunk.lines.first, hunk.lines.last),
        old_lines=None if hunk.old_lines is None else LineSpan(hunk.old_lines.first, hunk.old_lines.last),
        added=hunk.added,
        removed=hunk.removed,
        channel=hunk.channel,
        risk=HunkRiskReport(
            hunk.risk.level.value,
            [RiskFactorReport(factor.code, factor.level.value, factor.words) for factor in hunk.risk.factors],
        ),
        authors=authors.authors,
        blocks=authors.blocks,
        confidence=authors.confidence,
        certainty=authors.certainty,
        tests=report_tests(hunk.tests),
        prompt=prompts[0],
        prompts=prompts,
        calls=found.calls,
        sources=found.sources,
        sources_more=found.sources_more,
        duplicates=_report_duplicates(hunk, judged),
        read_by=[],
        links=_make_links(hunk, names, session),
        has_card=card is not None,
        note=hunk.unread,
    )


def _report_duplicates(hunk: JudgedHunk, judged: JudgedChange) -> list[HunkDuplicate] | None:
    similar = find_hunk_duplicates(judged.gathered.evidence, hunk)
    if similar is None:
        return None
    return [
        HunkDuplicate(change=change.head, name=change.name, code=change.code.value, why=change.why)
        for change in similar
    ]


def _make_links(hunk: JudgedHunk, names: _Names, session: str | None) -> HunkLinks:
    at = "" if names.revision is None else f" {names.revision}"
    why = None if hunk.lines is None else f"custody why {shlex.quote(f'{hunk.path}:{hunk.lines.first}')}{at}"
    return HunkLinks(why=why, log=None if session is None else f"custody log {shlex.quote(session)}")


def _count_tested_lines(hunks: Sequence[JudgedHunk]) -> TestedLines | None:
    """Count the agents' added lines, and those in files that were tested after their last edit."""
    lines = tested = 0
    for hunk in hunks:
        own = sum(len(added.lines) for added in hunk.ranges if added.whose.is_agent)
        lines += own
        tested += own if hunk.tests.state is TestState.AFTER_EDIT else 0
    return TestedLines(tested, lines) if lines else None


def _count_rest(hunks: Sequence[JudgedHunk]) -> HunksLeftOut:
    files = len({hunk.path for hunk in hunks})
    return HunksLeftOut(len(hunks), files, sum(hunk.added for hunk in hunks), sum(hunk.removed for hunk in hunks))


def _list_notes(report: GateReport, shown: int, cards: int) -> list[str]:
    notes = []
    if report.local is not None and report.local.withheld:
        notes.append(f"{count_noun(report.local.withheld, 'text')} not shared by other stores")
    if 0 < cards < shown:
        notes.append(f"only the first {count_noun(cards, 'hunk')} have prompts, calls and sources")
    return notes
