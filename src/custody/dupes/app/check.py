"""The check of a change for duplicates: search the index, compare the best matches exactly, store the evidence."""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

import msgspec
from msgspec.structs import replace

from custody.config import EffectiveRules
from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.plural import count_noun
from custody.core.wire.body import format_digest
from custody.core.wire.canonical import digest_rule_tables, dump_canonical_json
from custody.dupes.app.change_reader import OWN, ChangeRef, UnreadableChange, read_changes
from custody.dupes.app.pairs import ComparedChange, ComparedPair, PairAnswers, PairJudge, compare_read, compare_row
from custody.dupes.app.report import report_change, report_evidence
from custody.dupes.app.search import ChangeMatch, ChangeSearch, DuplicateCheck, DuplicateMatch, SearchResult
from custody.dupes.app.select import list_names_at, resolve_change_ref
from custody.dupes.decision import REPORTED, PairDecision
from custody.dupes.evidence import compute_change_overlap
from custody.dupes.model import NO_COMMIT, ChangeDescription, DuplicateVerdict
from custody.dupes.queries import DupesTables, EvidenceRow
from custody.dupes.rules import DedupeRules
from custody.dupes.wire import SUGGESTIONS_MAX, DupesCheckReport, DupesEvidence, DuplicateSuggestion
from custody.git import Repository
from custody.store import Store
from custody.workspace.rules_in_force import load_workspace_rules
from custody.workspace.workspace import Workspace

EXACT_MAX = 5
"""Matches that are read from git and compared exactly, best first; reading them is slow."""
JUDGED_MAX = 20
"""Best matches that are decided about: pairs with a relation must not hide a duplicate below them."""
VERDICT_ORDER = tuple(DuplicateVerdict)


def dupes_check(
    workspace: Workspace,
    change: str | None,
    *,
    worktree: bool = False,
    limit: int = SUGGESTIONS_MAX,
    makes_index: bool = False,
) -> DupesCheckReport:
    """Check ``BASE..HEAD``, a commit or the work tree for duplicates, and store the evidence.

    With ``makes_index``, a missing or outdated index is made first; otherwise it is an ``InputError``.
    """
    rules = load_workspace_rules(workspace)[0].of(DedupeRules)
    digest = format_digest(digest_rule_tables({"dedupe": rules}))
    with (
        _open_change_to_compare(workspace, change, worktree=worktree) as (repository, ref),
        _open_store_with_index(workspace, makes_index=makes_index) as store,
    ):
        check = compare_with_index(repository, store, ref, rules, digest)
        suggestions = [_store_suggestion(store, check, match, workspace.now_ns()) for match in check.matches]
    return _make_duplicate_report(check, suggestions, limit, rules)


def dupes_preview(workspace: Workspace, ref: ChangeRef, *, limit: int = SUGGESTIONS_MAX) -> DupesCheckReport:
    """Check a change for duplicates without storing the evidence."""
    rules = load_workspace_rules(workspace)[0].of(DedupeRules)
    digest = format_digest(digest_rule_tables({"dedupe": rules}))
    with workspace.reading() as store:
        check = check_change(workspace.repository, store, ref, rules, digest)
    suggestions = [_make_suggestion(report_evidence(check, match)) for match in check.matches]
    return _make_duplicate_report(check, suggestions, limit, rules)


def _make_duplicate_report(
    check: DuplicateCheck, suggestions: Sequence[DuplicateSuggestion], limit: int, rules: DedupeRules
) -> DupesCheckReport:
    pairs = zip(check.matches, suggestions, strict=True)
    reported = [(match, suggestion) for match, suggestion in pairs if match.decision.verdict in REPORTED][:limit]
    return DupesCheckReport(
        outcome="found" if any(match.decision.is_duplicate for match, _ in reported) else "fine",
        this=report_change(check.change),
        suggestions=[suggestion for _, suggestion in reported],
        nearest=None if reported or not suggestions else suggestions[0],
        candidates=check.result.candidates,
        compared=check.result.compared,
        changes=check.result.changes,
        notes=list(_list_comparison_caveats(check.change.description)),
        profile=rules.profile,
        rules_digest=check.rules_digest,
    )


@contextmanager
def _open_store_with_index(workspace: Workspace, *, makes_index: bool) -> Iterator[Store]:
    """Open the store with an index of changes; ``makes_index`` makes a missing or outdated one."""
    from custody.dupes.app.index import IndexRequest, dupes_index

    with workspace.writing() as store:
        fault = _find_index_fault(store)
    if fault is not None:
        if not makes_index:
            raise fault
        indexed = dupes_index(workspace, IndexRequest())
        if indexed.unread_count:
            changes = count_noun(indexed.unread_count, "change")
            workspace.talk(f"{changes} could not be read: 'custody dupes index' lists them")
    with workspace.writing() as store:
        yield store


def _find_index_fault(store: Store) -> InputError | None:
    """Return why the index cannot be searched: it is empty, or another version made it."""
    from custody.dupes.signature import SIGNATURE_VERSION

    tables = DupesTables(store)
    if tables.newest() == 0:
        return InputError("the index of changes is empty", hint="run 'custody dupes index'")
    if tables.has_other_version(SIGNATURE_VERSION):
        return InputError(
            "another version of custody made the index of changes", hint="run 'custody dupes index' to rebuild it"
        )
    return None


def check_change(
    repository: Repository,
    store: Store,
    ref: ChangeRef,
    rules: DedupeRules,
    digest: str,
    *,
    only_claims: bool = False,
) -> DuplicateCheck:
    """Search the index for a change; an index that is missing or outdated is an ``InputError``."""
    fault = _find_index_fault(store)
    if fault is not None:
        raise fault
    return compare_with_index(repository, store, ref, rules, digest, only_claims=only_claims)


def compare_with_index(
    repository: Repository,
    store: Store,
    ref: ChangeRef,
    rules: DedupeRules,
    digest: str,
    *,
    only_claims: bool = False,
) -> DuplicateCheck:
    """Search the index, which may be empty, for a change, and compare the best matches exactly.

    With ``only_claims``, answers of people that deny a duplicate are not used.
    """
    from custody.dupes.app.labels import load_duplicate_model, load_pair_answers
    from custody.dupes.signature import sketch_change

    tables = DupesTables(store)
    (change,) = read_changes(repository, [ref], rules)
    if isinstance(change, UnreadableChange):
        raise InputError(f"cannot read the change: {change.why}", hint="run 'git fsck'")
    model = load_duplicate_model(store)
    answers = load_pair_answers(store, only_claims=only_claims)
    sketch = sketch_change(change.description, rules)
    names = list_names_at(repository, ref.head) | {ref.name}
    own = find_own_changes(tables, ref.head, names)
    answered = {head for pair in answers if ref.head in pair for head in pair} - {ref.head}
    wanted = [row.id for head in sorted(answered) for row in tables.list_changes_by_head(head)]
    result = ChangeSearch(tables, rules, model).find(sketch, without=own, wanted=wanted)
    if not change.description.pieces:
        result = replace(result, matches=())
    itself = next((row for row in tables.changes(own).values() if row.head == ref.head), None)
    this = compare_read(change, sketch.signature, names, itself)
    best = _decide_best_matches(repository, store, rules, this, result, answers)
    others = _read_matched_changes(repository, [match for match, _ in best], rules)
    matches = [
        DuplicateMatch(
            match,
            decision,
            compute_change_overlap(change.description, other, rules) if isinstance(other, ChangeDescription) else other,
        )
        for (match, decision), other in zip(best, others, strict=True)
    ]
    return DuplicateCheck(change, result, tuple(matches), model.version, digest)


def find_own_changes(tables: DupesTables, head: CommitSha, names: Collection[str]) -> list[int]:
    """Return the indexed changes that are this change: the same head, or an earlier push under one of its names."""
    stored = tables.list_names(OWN)
    pushes = tables.changes({stored[name] for name in names if name in stored})
    earlier = [id_ for id_, row in pushes.items() if not row.merged]
    return [*(row.id for row in tables.list_changes_by_head(head)), *earlier]


def _decide_best_matches(
    repository: Repository,
    store: Store,
    rules: DedupeRules,
    this: ComparedChange,
    result: SearchResult,
    answers: PairAnswers,
) -> list[tuple[ChangeMatch, PairDecision]]:
    """Return the matches to report with their decisions, duplicates first."""
    labeled = {head for pair in answers if this.head in pair for head in pair}
    judged = [match for place, match in enumerate(result.matches) if place < JUDGED_MAX or match.change.head in labeled]
    names = DupesTables(store).list_names_of([match.change.id for match in judged])
    sides = [compare_row(match.change, match.signature, names.get(match.change.id, ())) for match in judged]
    reverters = [compare_row(match.change, match.signature) for match in result.matches]
    judge = PairJudge(repository, store, rules, answers, reverters)
    pairs = [
        ComparedPair(
            this=this, other=side, score=match.score, chance=match.chance, exact=match.exact, terms=match.shared_terms
        )
        for match, side in zip(judged, sides, strict=True)
    ]
    decided = list(zip(judged, judge.decide(pairs), strict=True))
    return sorted(decided, key=lambda pair: VERDICT_ORDER.index(pair[1].verdict))[:EXACT_MAX]


def find_duplicate_matches(
    repository: Repository, store: Store, ref: ChangeRef, effective: EffectiveRules
) -> tuple[DuplicateMatch, ...]:
    """Return the indexed changes that match a change, best first, by the rules that are passed in.

    Nothing is stored. A person's answer that denies a duplicate does not count here. Raises ``InputError``
    if the change or the index cannot be read.
    """
    return check_change(repository, store, ref, effective.of(DedupeRules), "", only_claims=True).matches


@contextmanager
def _open_change_to_compare(
    workspace: Workspace, change: str | None, *, worktree: bool
) -> Iterator[tuple[Repository, ChangeRef]]:
    if worktree == (change is not None):
        raise InputError("name a change to check", hint="pass either BASE..HEAD, a commit or --worktree")
    if change is not None:
        yield workspace.repository, resolve_change_ref(workspace.repository, change)
        return
    with workspace.repository.with_work_tree() as work:
        for left_out in work.left_out:
            workspace.talk(f"skipped '{left_out.path.display}': it {left_out.reason}")
        base = workspace.repository.head().commit or NO_COMMIT
        commits = (work.commit,)
        yield work.repository, ChangeRef(base=base, head=work.commit, name="the work tree", commits=commits)


def _read_matched_changes(
    repository: Repository, matches: Sequence[ChangeMatch], rules: DedupeRules
) -> list[ChangeDescription | str]:
    """Return the changes as git has them, or why a change cannot be read."""
    refs = [
        ChangeRef(base=match.change.base, head=match.change.head, opened_ns=match.change.opened_ns) for match in matches
    ]
    return [
        change.why if isinstance(change, UnreadableChange) else change.description
        for change in read_changes(repository, refs, rules)
    ]


def _store_suggestion(store: Store, check: DuplicateCheck, match: DuplicateMatch, now_ns: int) -> DuplicateSuggestion:
    """Store the evidence of a reported suggestion under its digest."""
    evidence = report_evidence(check, match)
    suggestion = _make_suggestion(evidence)
    if match.decision.verdict in REPORTED:
        body = _encode_duplicate_evidence(evidence).decode()
        row = EvidenceRow(suggestion.id, evidence.this.head, evidence.other.head, now_ns, body)
        with store.writing():
            DupesTables(store).put_evidence(row)
    return suggestion


def _make_suggestion(evidence: DupesEvidence) -> DuplicateSuggestion:
    return DuplicateSuggestion(id=hashlib.sha256(_encode_duplicate_evidence(evidence)).hexdigest(), evidence=evidence)


def _encode_duplicate_evidence(evidence: DupesEvidence) -> bytes:
    return dump_canonical_json(msgspec.to_builtins(evidence))


def _list_comparison_caveats(change: ChangeDescription) -> Iterator[str]:
    """Yield what limits the comparison: an empty change, files compared only by content or by words."""
    if not change.pieces:
        yield "the change is empty"
    opaque = [piece for piece in change.pieces if piece.opaque is not None]
    if opaque:
        files = count_noun(len(opaque), "file")
        yield f"{files} compared by content only: '{opaque[0].path}' is {opaque[0].opaque}"
    degraded = [piece for piece in change.pieces if piece.degraded is not None]
    if degraded:
        files = count_noun(len(degraded), "file")
        yield f"{files} compared by words only: '{degraded[0].path}': {degraded[0].degraded}"
