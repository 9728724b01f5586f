"""Whether what answers about lines rest on is contradicted by other records, or is not what its records say.

Origins of lines are kept beside the records, where somebody may change them; and what was recorded once can be told
again otherwise. An answer is believed as far as its own records bear it out.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

from custody.attribution import LineOwner, Trace
from custody.attribution.app.answers import LineAnswer
from custody.attribution.app.blame import compute_word_share, find_agents_by_line, words_in
from custody.attribution.app.context import AttributionContext
from custody.core.ids import CommitSha, NaturalKey, RecordRef, SessionId, StoreId
from custody.core.paths import Lines, RepoPath
from custody.core.views import FileEdit, FileState, TracedFile
from custody.gate.model import MissingEvidence, RecordState
from custody.ledger.queries import edits_of_session, edits_recorded_twice
from custody.ledger.records import is_claim, list_trusted_chains
from custody.store import ObservedView

WORDS_SHARE_MIN = 0.5
"""A line is an agent's, or partly so, if at least this share of its words is; so much must stand in its record."""
MARKER = "[redacted:"

Call = tuple[str, SessionId, str | None]
"""An agent's call in a session; None where its events name no call."""


_TextView = FileEdit | FileState | TracedFile


class ContradictionCheck:
    """One set of answers, held against the records behind them."""

    def __init__(self, evidence: AttributionContext, commit: CommitSha | None) -> None:
        self._evidence = evidence
        self._store = evidence.store
        self._commit = commit
        self._told_twice: dict[SessionId, frozenset[Call]] = {}
        self._unfounded: list[str] = []
        self._words: dict[tuple[RecordRef, int], frozenset[str] | None] = {}

    def recorded(self, recorded: RecordState | MissingEvidence | None) -> RecordState | MissingEvidence | None:
        """The state of the store, with what was found here."""
        if not self._unfounded or isinstance(recorded, MissingEvidence):
            return recorded
        found = tuple(
            f"what is kept of where lines of '{path}' come from is not what the records say"
            for path in dict.fromkeys(self._unfounded)
        )
        known = recorded or RecordState()
        return RecordState(known.gaps, (*known.damage, *found))

    def of(self, path: RepoPath, answers: Sequence[LineAnswer]) -> frozenset[Lines]:
        """The lines of one file about which other records contradict the answers."""
        named = [(answer, answer.trace) for answer in answers if answer.trace is not None]
        if not named or self._evidence.rules.profile != "lineage":
            return frozenset()
        texts = self._evidence.texts(path, self._commit)
        blocks = {answer.lines: texts[answer.lines.first - 1 : answer.lines.last] for answer, _ in named}
        for answer, trace in named:
            if not self._is_founded(answer, trace, blocks[answer.lines]):
                self._unfounded.append(path.display)
        claims = find_agents_by_line(self._evidence, path, texts, [line for block in blocks.values() for line in block])
        return frozenset(
            answer.lines
            for answer, trace in named
            if self._is_told_twice(answer, trace)
            or self._is_a_claim(answer, trace)
            or any(_is_claimed(answer, trace, claims.get(line, frozenset())) for line in blocks[answer.lines])
        )

    # --- told twice -----------------------------------------------------------------------------------------------

    def _is_told_twice(self, answer: LineAnswer, trace: Trace) -> bool:
        """Whether the call behind an answer was recorded a second time, and otherwise."""
        if trace.session not in self._told_twice:
            self._told_twice[trace.session] = frozenset(self._calls_told_twice(trace.session))
        return (trace.agent, trace.session, answer.call) in self._told_twice[trace.session]

    def _calls_told_twice(self, session: SessionId) -> Iterator[Call]:
        told: dict[NaturalKey, dict[RecordRef, list[FileEdit]]] = {}
        for seen in edits_recorded_twice(self._store, session):
            records = told.setdefault(seen.record.entry.key, {})
            records.setdefault(seen.record.ref, []).append(seen.view)
        for records in told.values():
            if len({frozenset(map(_content, edits)) for edits in records.values()}) > 1:
                for edits in records.values():
                    yield from ((edit.agent, edit.session, edit.call) for edit in edits)

    def _is_a_claim(self, answer: LineAnswer, trace: Trace) -> bool:
        """Whether only an import says that a person wrote what a call brought."""
        return answer.owner is LineOwner.PERSON and all(
            is_claim(seen.record, self._owned) for seen in self._records_of(answer, trace)
        )

    @cached_property
    def _owned(self) -> set[StoreId]:
        return list_trusted_chains(self._store)

    # --- founded --------------------------------------------------------------------------------------------------

    def _is_founded(self, answer: LineAnswer, trace: Trace, lines: Sequence[str]) -> bool:
        """Whether a record of the very session holds most of the words of these lines."""
        readable = [line for line in lines if MARKER not in line]
        recorded = (self._words_in(seen) for seen in self._records_of(answer, trace))
        return any(words is None or compute_word_share(readable, words) >= WORDS_SHARE_MIN for words in recorded)

    def _words_in(self, seen: ObservedView[_TextView]) -> frozenset[str] | None:
        """The words that a record brought; None where there is no text any more."""
        place = seen.record.ref, seen.n
        if place not in self._words:
            text = _text_in(seen)
            self._words[place] = None if text is None else words_in(text)
        return self._words[place]

    def _records_of(self, answer: LineAnswer, trace: Trace) -> Iterator[ObservedView[_TextView]]:
        """What the records that an answer rests on say, as far as it is of its agent and session."""
        if answer.owner is LineOwner.PERSON:
            for seen in edits_of_session(self._store, trace.session):
                edit = seen.view
                if edit.proposed is not None and (edit.agent, edit.call) == (trace.agent, answer.call):
                    yield seen
            return
        for ref in sorted({ref for signal in answer.signals for ref in signal.records}):
            record = self._store.tables.record(ref)
            for n, view in enumerate(() if record is None else self._store.views.of(record)):
                if isinstance(view, _TextView) and (view.agent, view.session) == (trace.agent, trace.session):
                    assert record is not None, "a view is one of a record"
                    yield ObservedView(record, view, n)


def _is_claimed(answer: LineAnswer, trace: Trace, agents: frozenset[str]) -> bool:
    """Whether somebody else is recorded to have brought a line: another agent, or any where it is a person's."""
    return bool(agents if answer.owner is LineOwner.PERSON else agents - {trace.agent})


def _content(edit: FileEdit) -> tuple[object, ...]:
    """What an edit says apart from when."""
    return edit.id, edit.path, edit.before, edit.after, edit.proposed, edit.part


def _text_in(seen: ObservedView[_TextView]) -> str | None:
    """The text that a record brought; None where there is no text any more."""
    view = seen.view
    text = view.after if isinstance(view, FileEdit) else view.text if isinstance(view, FileState) else None
    return None if text is None else text.content
