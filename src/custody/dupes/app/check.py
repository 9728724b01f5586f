"""Is this change already there? Search the index, look closely at the best, keep what each suggestion rests on."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec

from custody.config import EffectiveRules
from custody.core.errors import InputError
from custody.core.wire.body import digest_text
from custody.core.wire.canonical import dump, rules_digest
from custody.dupes.app.change_reader import NO_COMMIT, OWN, ChangeRef, UnreadableChange, read_changes
from custody.dupes.app.labels import model_for
from custody.dupes.app.report import report_change, report_evidence
from custody.dupes.app.search import ChangeMatch, ChangeSearch, DuplicateCheck, DuplicateMatch
from custody.dupes.app.select import typed_change
from custody.dupes.evidence import overlap_of
from custody.dupes.model import ChangeDescription, DuplicateVerdict
from custody.dupes.queries import DupesTables, EvidenceRow
from custody.dupes.relations import GitRelations, relations
from custody.dupes.rules import DedupeRules
from custody.dupes.score import ALOUD, verdict
from custody.dupes.signature import SIGNATURE_VERSION, sketch_change
from custody.dupes.wire import DupesCheckReport, DupesEvidence, DuplicateSuggestion
from custody.git import Ancestry, Repository
from custody.store import Store
from custody.workspace.rules_in_force import load_rules
from custody.workspace.workspace import Workspace

# What git tells about a change and those it is like: which has landed, which is below which, which was taken back.


def arounds(repository: Repository, asked: ChangeRef, likes: Sequence[ChangeMatch]) -> list[GitRelations]:
    """One answer for each of ``likes``, by one walk through history."""
    pairs = {
        Ancestry(like.change.head, descendant)
        for like in likes
        for descendant in (asked.base, asked.head, asked.onto)
        if descendant and like.change.head != descendant
    }
    true = repository.ancestries(pairs) if pairs else frozenset()
    return [
        GitRelations(
            other_on_main=like.change.on_main,
            other_below_base=Ancestry(like.change.head, asked.base) in true or like.change.head == asked.base,
            other_on_its_line=Ancestry(like.change.head, asked.onto) in true or like.change.head == asked.onto,
            other_in_branch=Ancestry(like.change.head, asked.head) in true,
            takes_back=like.takes_back,
            taken_back=_taken_back(like, likes),
        )
        for like in likes
    ]


def _taken_back(like: ChangeMatch, likes: Sequence[ChangeMatch]) -> bool:
    """Whether a change found beside it names its commits as reverted: a revert is always like what it undoes."""
    return any(
        other.change.opened_ns >= like.change.opened_ns and bool(other.signature.reverted & like.signature.commits)
        for other in likes
        if other is not like
    )


EXACT_MAX = 5
"""Changes that are read from git and compared exactly, the best first: reading them is what takes time."""
SHOWN = 5
"""Suggestions that are told unless the caller wants more."""


def dupes_check(
    workspace: Workspace, change: str | None, *, worktree: bool = False, limit: int = SHOWN
) -> DupesCheckReport:
    """What ``BASE..HEAD``, a commit or the work tree is like among everything indexed."""
    rules = load_rules(workspace)[0].of(DedupeRules)
    digest = digest_text(rules_digest({"dedupe": rules}))
    with _open_change(workspace, change, worktree=worktree) as (repository, asked), workspace.writing() as store:
        checked = check_change(repository, store, asked, rules, digest)
        kept = [_store_suggestion(store, checked, match, workspace.now_ns()) for match in checked.matches]
    return _report(checked, kept, limit, rules)


def dupes_look(workspace: Workspace, asked: ChangeRef, *, limit: int = SHOWN) -> DupesCheckReport:
    """The same answer about one change, for somebody who only looks: its evidence is not kept."""
    rules = load_rules(workspace)[0].of(DedupeRules)
    digest = digest_text(rules_digest({"dedupe": rules}))
    with workspace.reading() as store:
        checked = check_change(workspace.repository, store, asked, rules, digest)
    kept = [_suggested(report_evidence(checked, match)) for match in checked.matches]
    return _report(checked, kept, limit, rules)


def _report(
    checked: DuplicateCheck, kept: Sequence[DuplicateSuggestion], limit: int, rules: DedupeRules
) -> DupesCheckReport:
    pairs = zip(checked.matches, kept, strict=True)
    aloud = [(match.says, suggestion) for match, suggestion in pairs if match.says in ALOUD][:limit]
    return DupesCheckReport(
        outcome="found" if any(says is DuplicateVerdict.DUPLICATE for says, _ in aloud) else "fine",
        this=report_change(checked.read),
        suggestions=[suggestion for _, suggestion in aloud],
        nearest=None if aloud or not kept else kept[0],
        candidates=checked.found.candidates,
        compared=checked.found.compared,
        changes=checked.found.changes,
        notes=list(_notes(checked.read.described)),
        profile=rules.profile,
        rules_digest=checked.rules_digest,
    )


def check_change(
    repository: Repository, store: Store, asked: ChangeRef, rules: DedupeRules, digest: str
) -> DuplicateCheck:
    """Search for one change, and look closely at the best of what is found."""
    tables = DupesTables(store)
    if tables.newest() == 0:
        raise InputError("no change is indexed yet", hint="run 'custody dupes index' first")
    if tables.is_of_another(SIGNATURE_VERSION):
        raise InputError(
            "the index was made by another version of custody", hint="run 'custody dupes index', which makes it anew"
        )
    (read,) = read_changes(repository, [asked], rules)
    if isinstance(read, UnreadableChange):
        raise InputError(f"the change cannot be read: {read.why}", hint="try 'git fsck'")
    itself = tables.find(OWN, asked.base, asked.head)
    model = model_for(store, rules)
    sketch = sketch_change(read.described, rules)
    found = ChangeSearch(tables, rules, model).find(sketch, without=() if itself is None else (itself,))
    best = found.likes[:EXACT_MAX]
    others = _others(repository, best, rules)
    around = arounds(repository, asked, best)
    matches: list[DuplicateMatch] = []
    for like, other, near in zip(best, others, around, strict=True):
        says = verdict(like.scored, like.chance, like.exact, like.terms, rules)
        related = relations(read.described.title, sketch.signature, like.signature, like.scored, near, rules)
        overlap = overlap_of(read.described, other, rules) if isinstance(other, ChangeDescription) else other
        matches.append(DuplicateMatch(like, says, related, overlap))
    return DuplicateCheck(read, found, tuple(matches), model.version, digest)


def find_matches(
    repository: Repository, store: Store, asked: ChangeRef, effective: EffectiveRules
) -> tuple[DuplicateMatch, ...]:
    """Return what a change is like among everything indexed, best first, by the rules that are passed in.

    Nothing is stored. An ``InputError`` says why the change could not be looked up.
    """
    return check_change(repository, store, asked, effective.of(DedupeRules), "").matches


@contextmanager
def _open_change(workspace: Workspace, change: str | None, *, worktree: bool) -> Iterator[tuple[Repository, ChangeRef]]:
    if worktree == (change is not None):
        raise InputError("say what to look for: BASE..HEAD, a commit, or --worktree", hint="give exactly one of them")
    if change is not None:
        yield workspace.repository, typed_change(workspace.repository, change)
        return
    with workspace.repository.with_work_tree() as work:
        for left_out in work.left_out:
            workspace.talk(f"'{left_out.path.display}' {left_out.reason}; it is left out")
        base = workspace.repository.head().commit or NO_COMMIT
        commits = (work.commit,)
        yield work.repository, ChangeRef(base=base, head=work.commit, name="the work tree", commits=commits)


def _others(repository: Repository, likes: Sequence[ChangeMatch], rules: DedupeRules) -> list[ChangeDescription | str]:
    """The changes themselves, or why one cannot be read: then its sketch has to do."""
    asked = [ChangeRef(base=like.change.base, head=like.change.head, opened_ns=like.change.opened_ns) for like in likes]
    return [
        read.why if isinstance(read, UnreadableChange) else read.described
        for read in read_changes(repository, asked, rules)
    ]


def _store_suggestion(store: Store, checked: DuplicateCheck, match: DuplicateMatch, now_ns: int) -> DuplicateSuggestion:
    """Store what a suggestion rests on under its digest."""
    evidence = report_evidence(checked, match)
    made = _suggested(evidence)
    if match.says in ALOUD:
        row = EvidenceRow(made.id, evidence.this.head, evidence.other.head, now_ns, _body(evidence).decode())
        with store.writing():
            DupesTables(store).put_evidence(row)
    return made


def _suggested(evidence: DupesEvidence) -> DuplicateSuggestion:
    return DuplicateSuggestion(id=hashlib.sha256(_body(evidence)).hexdigest(), evidence=evidence)


def _body(evidence: DupesEvidence) -> bytes:
    return dump(msgspec.to_builtins(evidence))


def _notes(change: ChangeDescription) -> Iterator[str]:
    """What could not be looked at."""
    if not change.pieces:
        yield "the change is empty"
    opaque = [piece for piece in change.pieces if piece.opaque is not None]
    if opaque:
        yield f"{len(opaque)} file(s) were compared as wholes only; '{opaque[0].path}' is {opaque[0].opaque}"
    degraded = [piece for piece in change.pieces if piece.degraded is not None]
    if degraded:
        first = degraded[0]
        yield f"{len(degraded)} file(s) were compared by their words only; '{first.path}': {first.degraded}"
