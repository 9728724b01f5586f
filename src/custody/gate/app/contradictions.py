"""Checks whether other records contradict an attribution, or its own records do not support it.

Line origins are stored beside the records, where they can be changed, and a call can be recorded twice with different
content. An attribution counts only as far as its own records support it.
"""

from collections.abc import Iterator, Sequence

from custody.attribution import Grade, LineOwner, Trace
from custody.attribution.app.answers import LineAnswer
from custody.attribution.app.blame import collect_lineage_words, compute_line_word_share, find_agents_by_line
from custody.attribution.app.context import AttributionContext
from custody.core.assurance import Assurance, find_lowest_assurance
from custody.core.ids import CommitSha, NaturalKey, RecordRef, SessionId
from custody.core.paths import Lines, RepoPath
from custody.core.views import FileEdit, FileState, TracedFile
from custody.core.wire.claims import is_claim_record
from custody.gate.model import MissingEvidence, RecordState
from custody.ledger.queries import list_conflicting_session_edits, list_session_edits
from custody.store import ObservedView
from custody.trust.app.authors import rate_line_origin

WORDS_SHARE_MIN = 0.5
"""A line is an agent's, at least in part, from this share of its words on; its record must hold as much."""
MARKER = "[redacted:"

Call = tuple[str, SessionId, str | None]
"""Agent, session and call; the call is None where the events do not name it."""


_TextView = FileEdit | FileState | TracedFile


class ContradictionCheck:
    """Compares a set of attributions with the records behind them."""

    def __init__(self, evidence: AttributionContext, commit: CommitSha | None) -> None:
        self._evidence = evidence
        self._store = evidence.store
        self._commit = commit
        self._conflicting: dict[SessionId, frozenset[Call]] = {}
        self._unfounded: list[str] = []
        self._words: dict[tuple[RecordRef, int], frozenset[str] | None] = {}

    def add_unfounded_damage(
        self, recorded: RecordState | MissingEvidence | None
    ) -> RecordState | MissingEvidence | None:
        """Return the state of the store with the damage found here."""
        if not self._unfounded or isinstance(recorded, MissingEvidence):
            return recorded
        damage = tuple(
            f"the stored line origins of '{path}' do not match the records" for path in dict.fromkeys(self._unfounded)
        )
        known = recorded or RecordState()
        return RecordState(known.gaps, (*known.damage, *damage))

    def find_contradicted_lines(self, path: RepoPath, answers: Sequence[LineAnswer]) -> frozenset[Lines]:
        """Return the lines of one file whose attribution is contradicted by other records."""
        named = [(answer, answer.trace) for answer in answers if answer.trace is not None]
        if not named or self._evidence.rules.profile != "lineage":
            return frozenset()
        texts = self._evidence.texts(path, self._commit)
        blocks = {answer.lines: texts[answer.lines.first - 1 : answer.lines.last] for answer, _ in named}
        for answer, trace in named:
            if not self._is_backed_by_record(answer, trace, blocks[answer.lines]):
                self._unfounded.append(path.display)
        claims = find_agents_by_line(self._evidence, path, texts, [line for block in blocks.values() for line in block])
        return frozenset(
            answer.lines
            for answer, trace in named
            if self._has_conflicting_record(answer, trace)
            or self._is_a_claim(answer, trace)
            or any(
                _is_answer_contradicted(answer, trace, claims.get(line, frozenset())) for line in blocks[answer.lines]
            )
        )

    # --- recorded twice -------------------------------------------------------------------------------------------

    def _has_conflicting_record(self, answer: LineAnswer, trace: Trace) -> bool:
        """Return whether the call behind an answer was recorded a second time with different content."""
        if trace.session not in self._conflicting:
            self._conflicting[trace.session] = frozenset(self._find_conflicting_calls(trace.session))
        return (trace.agent, trace.session, answer.call) in self._conflicting[trace.session]

    def _find_conflicting_calls(self, session: SessionId) -> Iterator[Call]:
        by_key: dict[NaturalKey, dict[RecordRef, list[FileEdit]]] = {}
        for observed in list_conflicting_session_edits(self._store, session):
            records = by_key.setdefault(observed.record.entry.key, {})
            records.setdefault(observed.record.ref, []).append(observed.view)
        for records in by_key.values():
            if len({frozenset(map(_extract_contradiction_key, edits)) for edits in records.values()}) > 1:
                for edits in records.values():
                    yield from ((edit.agent, edit.session, edit.call) for edit in edits)

    def _is_a_claim(self, answer: LineAnswer, trace: Trace) -> bool:
        """Return whether only imported records say that a person wrote the lines."""
        believed = self._evidence.ratings.believed
        return answer.owner is LineOwner.PERSON and all(
            is_claim_record(observed.record, believed) for observed in self._records_of(answer, trace)
        )

    # --- how far to believe it ------------------------------------------------------------------------------------

    def rate_answer(self, answer: LineAnswer) -> Assurance | None:
        """Return how far the author of some lines can be believed; None for an unknown author."""
        if answer.trace is None or answer.grade is None:
            return None
        if answer.grade is Grade.CLAIMED:
            return Assurance.SELF_REPORTED
        rate, rated = self._evidence.ratings.rate_record, [rate_line_origin(self._evidence, answer)]
        if answer.owner is LineOwner.PERSON:
            # One record that names the person is enough, but the call around it must be believed too.
            named = (rate(observed.record) for observed in self._records_of(answer, answer.trace))
            rated.append(max(named, key=lambda assurance: assurance.rank, default=Assurance.SELF_REPORTED))
        return find_lowest_assurance(rated)

    # --- supported by its own records -----------------------------------------------------------------------------

    def _is_backed_by_record(self, answer: LineAnswer, trace: Trace, lines: Sequence[str]) -> bool:
        """Return whether a record of the same session holds most of the words of these lines."""
        readable = [line for line in lines if MARKER not in line]
        recorded = (self._read_record_vocabulary(observed) for observed in self._records_of(answer, trace))
        return any(words is None or compute_line_word_share(readable, words) >= WORDS_SHARE_MIN for words in recorded)

    def _read_record_vocabulary(self, observed: ObservedView[_TextView]) -> frozenset[str] | None:
        """Return the words of a record's text; None where the text is gone."""
        place = observed.record.ref, observed.n
        if place not in self._words:
            text = _read_evidence_text(observed)
            self._words[place] = None if text is None else collect_lineage_words(text)
        return self._words[place]

    def _records_of(self, answer: LineAnswer, trace: Trace) -> Iterator[ObservedView[_TextView]]:
        """Yield the views behind an answer that belong to its agent and session."""
        if answer.owner is LineOwner.PERSON:
            own = self._list_own_edits(answer)
            for observed in list_session_edits(self._store, trace.session):
                edit = observed.view
                is_same = edit.call == answer.call or edit.id in own
                if edit.proposed is not None and edit.agent == trace.agent and is_same:
                    yield observed
            return
        for ref in sorted({ref for signal in answer.signals for ref in signal.records}):
            record = self._store.tables.record(ref)
            for n, view in enumerate(() if record is None else self._store.views.read_views(record)):
                if isinstance(view, _TextView) and (view.agent, view.session) == (trace.agent, trace.session):
                    assert record is not None, "a view belongs to a record"
                    yield ObservedView(record, view, n)

    def _list_own_edits(self, answer: LineAnswer) -> frozenset[str]:
        """Return the ids of the edits in the record that an answer is from: another record may report one again."""
        record = None if answer.story is None else self._store.tables.record(answer.story.record)
        views = () if record is None else self._store.views.read_views(record)
        return frozenset(view.id for view in views if isinstance(view, FileEdit))


def _is_answer_contradicted(answer: LineAnswer, trace: Trace, agents: frozenset[str]) -> bool:
    """Return whether another agent is recorded as the author of a line; any agent, if the answer is a person."""
    return bool(agents if answer.owner is LineOwner.PERSON else agents - {trace.agent})


def _extract_contradiction_key(edit: FileEdit) -> tuple[object, ...]:
    """Return the content of an edit without its time."""
    return edit.id, edit.path, edit.before, edit.after, edit.proposed, edit.part


def _read_evidence_text(observed: ObservedView[_TextView]) -> str | None:
    """Return the text of a record; None where it is gone."""
    view = observed.view
    text = view.after if isinstance(view, FileEdit) else view.text if isinstance(view, FileState) else None
    return None if text is None else text.content
