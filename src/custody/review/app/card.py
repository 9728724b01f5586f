"""The cards of hunks: authors, the prompt, the calls that wrote the lines, and the sources that were read before."""

from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from msgspec import Struct
from msgspec.structs import replace

from custody.attribution import Trace
from custody.attribution.app.answers import NAMED_BY_COMMIT, LineAnswer
from custody.core.ids import StoreId
from custody.core.views import ToolCall
from custody.core.wire.prompt_excerpts import decode_prompt_excerpts, excerpt_prompt
from custody.core.wire.time import format_timestamp
from custody.gate.app.reading_order import JudgedHunk
from custody.git import Repository
from custody.ledger.queries import read_prompt_excerpts
from custody.review.queries import number_session_calls
from custody.review.wire import AuthoredBlock, CertaintyName, HunkAuthor, HunkCall, HunkSource, PromptCard
from custody.store import Store
from custody.why.certainty import list_certainty_reasons
from custody.why.context import SourceQuestion, list_sources_before
from custody.why.prompts import PromptFinding
from custody.why.why import LinePrompt, find_line_prompt

PROMPTS_SHOWN_MAX = 3
CALLS_SHOWN_MAX = 5
SOURCES_SHOWN_MAX = 8
CERTAINTY_WORDS: tuple[CertaintyName, ...] = get_args(CertaintyName)
NO_SESSION = "no session recorded"
EXCERPT_NOTE = "excerpt, as the store that recorded it shared it"
PROMPT_NOTES: Mapping[str, str] = {
    "not-shared": "prompt not shared by the store that recorded it",
    "hidden": "prompt hidden: the access token does not allow prompts",
    "erased": "prompt erased",
    "not-captured": "prompt not captured",
    "no-session": NO_SESSION,
}
UNKNOWN_AUTHOR = "No session recorded these lines: a person may have written them, or an agent that was not recorded."


class HunkAuthors(Struct, frozen=True):
    """The authors of a hunk, most lines first, its lines by author, and how certain that is."""

    authors: list[HunkAuthor]
    blocks: list[AuthoredBlock]
    confidence: CertaintyName
    certainty: str


class HunkCard(Struct, frozen=True):
    """What records show about a hunk beside its authors."""

    prompts: list[PromptCard]
    calls: list[HunkCall]
    sources: list[HunkSource]
    sources_more: int


NO_CARD = HunkCard([], [], [], 0)


def describe_hunk_authors(hunk: JudgedHunk) -> HunkAuthors:
    """Return the authors of the added lines; the confidence is that of the least certain lines."""
    authors: dict[tuple[str, str | None, str | None], HunkAuthor] = {}
    keys = []
    for added, answer in zip(hunk.ranges, hunk.answers, strict=False):
        trace = answer.trace
        key = (added.whose.value, None if trace is None else trace.session, answer.model)
        keys.append(key)
        certainty = _find_certainty(added.certainty)
        known = authors.get(key)
        lines = len(added.lines) + (0 if known is None else known.lines)
        if known is None or CERTAINTY_WORDS.index(certainty) > CERTAINTY_WORDS.index(known.certainty):
            authors[key] = HunkAuthor(
                kind=added.whose.value,
                lines=lines,
                certainty=certainty,
                agent=None if trace is None else trace.agent,
                model=answer.model,
                operator=None if added.author is None else added.author.operator,
                session=None if trace is None else trace.session,
                tier=added.tier,
                grade=None if added.grade is None else added.grade.value,
            )
        else:
            authors[key] = replace(known, lines=lines)
    ranked = sorted(authors, key=lambda key: (-authors[key].lines, key[0], key[1] or "", key[2] or ""))
    blocks = [
        AuthoredBlock(start=added.lines.first, end=added.lines.last, author=ranked.index(key), call=answer.call)
        for added, answer, key in zip(hunk.ranges, hunk.answers, keys, strict=False)
    ]
    words: list[CertaintyName] = [author.certainty for author in authors.values()]
    confidence = max(words, key=CERTAINTY_WORDS.index) if words else CERTAINTY_WORDS[-1]
    return HunkAuthors([authors[key] for key in ranked], blocks, confidence, _describe_certainty(hunk, confidence))


def _find_certainty(word: str) -> CertaintyName:
    return next(each for each in CERTAINTY_WORDS if each == word)


def _describe_certainty(hunk: JudgedHunk, confidence: CertaintyName) -> str:
    """Return one sentence about the least certain lines."""
    if hunk.unread is not None:
        return f"Not checked: {hunk.unread}."
    if not hunk.ranges:
        return "No lines were added." if hunk.removed else "No lines to attribute."
    pairs = zip(hunk.ranges, hunk.answers, strict=False)
    weakest = [answer for added, answer in pairs if added.certainty == confidence]
    if confidence == "unknown" or not weakest:
        return UNKNOWN_AUTHOR
    answer = min(weakest, key=lambda each: sum(signal.points for signal in each.signals))
    points = {signal.name: signal.points for signal in answer.signals}
    grade = None if answer.grade is None else answer.grade.value
    is_named = answer.source == NAMED_BY_COMMIT
    sentence = ", ".join(list_certainty_reasons(points, grade, is_named_by_commit=is_named))
    return f"{sentence[:1].upper()}{sentence[1:]}."


class CardMaker:
    """Makes the cards of several hunks; each call and each prompt is read once, and git is asked once."""

    def __init__(self, repository: Repository, store: Store, hunks: Sequence[JudgedHunk]) -> None:
        self._store = store
        self._numbers: dict[Trace, Mapping[str, int]] = {}
        self._prompts: dict[tuple[Trace, str | None], LinePrompt] = {}
        self._excerpts: dict[StoreId, Mapping[tuple[str, str, str], str]] = {}
        questions = {question: None for hunk in hunks for question in self._list_source_questions(hunk)}
        links = list_sources_before(repository, store, list(questions), SOURCES_SHOWN_MAX) if questions else []
        self._sources = dict(zip(questions, links, strict=True))

    def make_card(self, hunk: JudgedHunk) -> HunkCard:
        """Return the card of one of the hunks."""
        answers = _list_answers_by_lines(hunk)
        prompts: dict[tuple[str | None, str | None, str], PromptCard] = {}
        calls: dict[str, HunkCall] = {}
        for answer in answers:
            found = self._find_prompt(answer)
            operator = _find_operator(hunk, answer)
            card = _make_prompt_card(answer, found, operator, self._find_shared_excerpt(found.prompt))
            prompts.setdefault((card.session, card.id, card.state), card)
            if found.calls and answer.trace is not None:
                calls.setdefault(found.calls[0].id, self._make_call(answer.trace, found.calls[0], answer))
        question = next(iter(self._list_source_questions(hunk)), None)
        link = None if question is None else self._sources[question]
        sources = (
            []
            if link is None
            else [
                HunkSource(locator=source.locator, reading=source.reading, at=source.at)
                for source in link.sources
                if source.reading not in ("never", "attempted", "listed")
            ]
        )
        return HunkCard(
            list(prompts.values())[:PROMPTS_SHOWN_MAX],
            sorted(calls.values(), key=lambda call: (call.at, call.id))[-CALLS_SHOWN_MAX:],
            sources,
            0 if link is None else link.more,
        )

    def _list_source_questions(self, hunk: JudgedHunk) -> Iterator[SourceQuestion]:
        """Yield the session of most lines with the time of its last edit of the hunk."""
        by_trace: dict[Trace, int] = {}
        for answer in _list_answers_by_lines(hunk):
            if answer.trace is not None and answer.story is not None:
                by_trace[answer.trace] = max(by_trace.get(answer.trace, 0), answer.story.at_ns)
        yield from (SourceQuestion(trace, at_ns) for trace, at_ns in list(by_trace.items())[:1])

    def _find_prompt(self, answer: LineAnswer) -> LinePrompt:
        assert answer.trace is not None, "only lines of sessions have a prompt"
        key = (answer.trace, answer.call if answer.story is not None else None)
        if key not in self._prompts:
            self._prompts[key] = find_line_prompt(self._store, answer.trace, answer)
        return self._prompts[key]

    def _find_shared_excerpt(self, finding: PromptFinding) -> str | None:
        """Return the excerpt that the store of a withheld prompt published; None without one."""
        prompt = finding.prompt
        if finding.state != "not-shared" or prompt is None:
            return None
        for record in finding.records:
            chain = StoreId(record.rpartition(":")[0])
            if chain not in self._excerpts:
                found = decode_prompt_excerpts(read_prompt_excerpts(self._store, chain), chain)
                self._excerpts[chain] = {excerpt.key: excerpt.text for excerpt in found}
            text = self._excerpts[chain].get((prompt.agent, prompt.session, prompt.id))
            if text is not None:
                return text
        return None

    def _make_call(self, trace: Trace, call: ToolCall, answer: LineAnswer) -> HunkCall:
        if trace not in self._numbers:
            self._numbers[trace] = number_session_calls(self._store, trace.agent, trace.session)
        numbers = self._numbers[trace]
        return HunkCall(
            id=call.id,
            tool=call.name,
            session=trace.session,
            number=numbers.get(call.id),
            of=len(numbers) or None,
            at=format_timestamp(call.started_ns),
            status=call.status.value,
            model=answer.model or call.model,
        )


def _list_answers_by_lines(hunk: JudgedHunk) -> list[LineAnswer]:
    """Return the answers that name a session, those of most lines first."""
    lines: dict[tuple[Trace, str | None], int] = {}
    first: dict[tuple[Trace, str | None], LineAnswer] = {}
    for answer in hunk.answers:
        if answer.trace is not None:
            key = (answer.trace, answer.call)
            lines[key] = lines.get(key, 0) + len(answer.lines)
            first.setdefault(key, answer)
    return [first[key] for key in sorted(first, key=lambda key: (-lines[key], first[key].lines.first))]


def _find_operator(hunk: JudgedHunk, answer: LineAnswer) -> str | None:
    owners = (added.author for added, each in zip(hunk.ranges, hunk.answers, strict=False) if each is answer)
    return next((author.operator for author in owners if author is not None), None)


def _make_prompt_card(
    answer: LineAnswer, found: LinePrompt, operator: str | None, shared: str | None = None
) -> PromptCard:
    """Return the card of a prompt; ``shared`` is the excerpt that another store published in place of its text."""
    finding = found.prompt
    session = None if answer.trace is None else answer.trace.session
    prompt = finding.prompt
    text = None if prompt is None else prompt.text.content
    if text is None and shared is not None:
        text = shared
    return PromptCard(
        state=finding.state if shared is None else "shown",
        note=PROMPT_NOTES.get(finding.state) if shared is None else EXCERPT_NOTE,
        text=None if text is None else excerpt_prompt(text),
        length=0 if text is None else len(text),
        by=operator,
        at=None if prompt is None else format_timestamp(prompt.at_ns),
        id=finding.id,
        session=session,
        named=finding.is_named or prompt is None,
    )


def make_missing_prompt(hunk: JudgedHunk) -> PromptCard:
    """Return the card of a hunk without any session."""
    note = NO_SESSION if hunk.ranges or hunk.unread is not None else "no lines were added"
    return PromptCard(state="no-session", note=note)
