"""How well duplicates are found in a repository, over pairs that people or the history itself have labeled.

    python -m bench dupes-pairs --pairs FILE --repo GITDIR [--others N] [--pointers] [--json]

The changes of the pairs and others of the repository are indexed in the order of time, in a temporary
folder. For every pair the later change is searched for among all earlier ones. The last line is one JSON object.
"""

import argparse
import gzip
import statistics
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, TextIO

import msgspec
from msgspec.structs import replace

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.dupes.app.change_reader import COMMITS_READ_MAX, NS, ChangeRef, SketchedChange, UnreadableChange
from custody.dupes.app.index import index_sketched_change, sketch_changes
from custody.dupes.app.search import ChangeMatch, ChangeSearch, SearchResult
from custody.dupes.app.select import REFS, read_change_ancestry, select_changes
from custody.dupes.chance import Model, compute_duplicate_probability
from custody.dupes.decision import PairEvidence, decide_pair
from custody.dupes.history import Graph
from custody.dupes.model import Category, DuplicateVerdict
from custody.dupes.queries import DupesTables
from custody.dupes.rules import DedupeRules
from custody.dupes.score import NAMED, measure_similarities
from custody.dupes.weights import SHIPPED
from custody.store import Store, StoreEnvironment, ViewWiring, open_sqlite
from custody.workspace.rules_in_force import load_workspace_rules
from custody.workspace.workspace import Workspace

NOT_RELATED = "NOT_RELATED"
OTHERS = 10_000
"""Changes of the repository that are indexed beside those of the pairs, by default."""
WORKERS = 2
FLAGS = (DuplicateVerdict.DUPLICATE, DuplicateVerdict.COMPETING)
DOCUMENT_FLAGS = (Category.SAME_CHANGE, Category.SAME_FEATURE, Category.COMPETING_IMPLEMENTATION)
_LINE_BYTES_MAX = 1 << 20
BINS = 10


class PairFigures(msgspec.Struct, frozen=True, kw_only=True):
    """How well duplicates are found, over labeled pairs of a repository; a figure without any pairs is None."""

    pairs: int
    changes: int
    unread: int
    exact_recall: float | None
    recall_at_1: float | None
    recall_at_5: float | None
    recall_at_20: float | None
    recall_at_p95: float | None
    false_flags_hard: float | None
    false_flags_random: float | None
    ece: float | None
    candidates_median: float | None
    candidates_p95: float | None
    flags: list[str]
    by_kind: dict[str, dict[str, float]]
    profile: str
    model_version: str


class LabelledPair(msgspec.Struct, frozen=True, kw_only=True):
    """A labeled pair as a file has it: two changes, each the diff from its base, with the time it was opened."""

    a_sha: str
    b_sha: str
    a_base: str
    b_base: str
    a_time: int
    b_time: int
    label: Literal["SAME_CHANGE", "DUPLICATE", "SAME_FEATURE", "NOT_RELATED"]
    kind: str
    exact: bool | None = None
    pair_id: str = ""


@dataclass(frozen=True, slots=True)
class PairPrediction:
    """The answer for one labeled pair: its rank in the search (from 0), and the predicted probability.

    ``place`` is None where it was not found among those scored; ``exact`` says that it was found as the same diff;
    ``by_document`` that the document's rules alone would flag it.
    """

    kind: str
    is_duplicate: bool
    is_exact: bool
    place: int | None
    exact: bool
    flagged: bool
    by_document: bool
    chance: float


PairKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _BenchIndex:
    """All changes that were read: each with its sketch and its number in the index."""

    made: dict[PairKey, SketchedChange]
    numbers: dict[PairKey, int]
    unread: int


def dupes_bench(workspace: Workspace, pairs: Path, *, others: int = OTHERS, pointers: bool = False) -> PairFigures:
    """Index the changes of the pairs and others of the repository by time; search for every pair.

    Without ``pointers``, commits that messages name as their origin are not used: labels are often made from them.
    """
    rules = load_workspace_rules(workspace)[0].of(DedupeRules)
    labelled = list(read_pairs(pairs))
    asked = _select_changes(workspace, labelled, others, rules)
    with TemporaryDirectory() as folder:
        db = open_sqlite(Path(folder) / "index.db")
        with Store(db, ViewWiring({}), StoreEnvironment(workspace.now_ns, workspace.token, None)) as store:
            indexed = _index(workspace, store, asked, rules, pointers=pointers)
            workspace.progress.start("asking about pairs", len(labelled))
            asking = _PairQuery(store, indexed, rules, SHIPPED)
            told = [prediction for pair in labelled for prediction in asking.about(pair)]
    return _report(labelled, told, asking, indexed, rules)


def read_pairs(path: Path) -> Iterator[LabelledPair]:
    """Yield the pairs of a file of JSON lines, optionally compressed."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as raw:
            for number, line in enumerate(raw, 1):
                if line.strip():
                    yield _pair(line, number)
    except OSError as error:
        raise InputError(
            f"cannot read '{path}': {error.strerror or error}", hint="name a file of labeled pairs"
        ) from error


def _pair(line: bytes, number: int) -> LabelledPair:
    try:
        return msgspec.json.decode(line[:_LINE_BYTES_MAX], type=LabelledPair)
    except msgspec.MsgspecError as error:
        raise InputError(
            f"line {number} is not a labeled pair: {error}", hint="each line is one JSON object"
        ) from error


def changes_of_pairs(workspace: Workspace, pairs: Sequence[LabelledPair]) -> list[ChangeRef]:
    """Return the changes of the pairs, each once, with their own commits."""
    named: dict[PairKey, ChangeRef] = {}
    for pair in pairs:
        for base, head, seconds in ((pair.a_base, pair.a_sha, pair.a_time), (pair.b_base, pair.b_sha, pair.b_time)):
            named.setdefault(
                (base, head), ChangeRef(base=CommitSha(base), head=CommitSha(head), opened_ns=seconds * NS)
            )
    graph = read_change_ancestry(workspace.repository, [asked.head for asked in named.values()])
    return [
        replace(asked, commits=tuple(list_first_parents(graph, asked.base, asked.head))) for asked in named.values()
    ]


def list_first_parents(graph: Graph, base: CommitSha, head: CommitSha) -> list[CommitSha]:
    """Return the commits from ``head`` down to ``base`` by first parents, newest first."""
    commits: list[CommitSha] = []
    commit: CommitSha | None = head
    while commit is not None and commit != base and len(commits) < COMMITS_READ_MAX:
        commits.append(commit)
        commit = next(iter(graph.get(commit, ())), None)
    return commits


def _select_changes(
    workspace: Workspace, pairs: Sequence[LabelledPair], others: int, rules: DedupeRules
) -> list[ChangeRef]:
    """Return the changes of the pairs, and others of the repository evenly spread over its history."""
    mine = changes_of_pairs(workspace, pairs)
    if not others:
        return mine
    heads = {asked.head for asked in mine}
    every = select_changes(workspace.repository, REFS, rules, commits=True).changes
    rest = [change for change in every if change.head not in heads]
    return [*mine, *rest[:: max(1, -(-len(rest) // others))]]


def _index(
    workspace: Workspace, store: Store, asked: Sequence[ChangeRef], rules: DedupeRules, *, pointers: bool
) -> _BenchIndex:
    workspace.progress.start("reading changes", len(asked))
    made: dict[PairKey, SketchedChange] = {}
    unread = 0
    for sketched_change in sketch_changes(str(workspace.repository.git_dir), asked, rules, workers=WORKERS):
        workspace.progress.step(1)
        if isinstance(sketched_change, UnreadableChange):
            unread += 1
            continue
        made[sketched_change.ref.base, sketched_change.ref.head] = (
            sketched_change if pointers else _without_pointers(sketched_change)
        )
    workspace.progress.start("indexing changes", len(made))
    numbers: dict[PairKey, int] = {}
    with store.writing():
        for key, change in sorted(made.items(), key=lambda item: (item[1].opened_ns, item[0])):
            numbers[key] = index_sketched_change(store, change)
            workspace.progress.step(1)
    return _BenchIndex(made, numbers, unread)


def _without_pointers(change: SketchedChange) -> SketchedChange:
    terms = {name: terms for name, terms in change.sketch.terms.items() if name != NAMED}
    signature = replace(change.sketch.signature, picked=frozenset(), reverted=frozenset())
    return replace(change, sketch=replace(change.sketch, signature=signature, terms=terms))


class _PairQuery:
    """Searches the index for the later change of each pair, and reports the earlier one's result."""

    def __init__(self, store: Store, indexed: _BenchIndex, rules: DedupeRules, model: Model) -> None:
        self._indexed = indexed
        self._rules = rules
        self._model = model
        self._searching = ChangeSearch(DupesTables(store), rules, model)
        self._found: dict[int, SearchResult] = {}
        self.candidates: list[int] = []
        self.flags: list[str] = []

    def about(self, pair: LabelledPair) -> Iterator[PairPrediction]:
        """Return the answer for a pair; None if it could not be read or is a single change."""
        keys = [key for key in ((pair.a_base, pair.a_sha), (pair.b_base, pair.b_sha)) if key in self._indexed.numbers]
        if len(set(keys)) < 2:
            return
        early, late = sorted(keys, key=lambda key: self._indexed.numbers[key])
        found = self._search(late)
        wanted = self._indexed.numbers[early]
        place = next((at for at, like in enumerate(found.matches) if like.change.id == wanted), None)
        like = None if place is None else found.matches[place]
        flagged = like is not None and self._says(like) in FLAGS
        if flagged and pair.label == NOT_RELATED:
            self.flags.append(f"{pair.pair_id or late[1]}: {late[1]} and {early[1]}")
        yield PairPrediction(
            kind=pair.kind,
            is_duplicate=pair.label != NOT_RELATED,
            is_exact=bool(pair.exact),
            place=place,
            exact=like is not None and bool(like.exact) and like.score.category is Category.SAME_CHANGE,
            flagged=flagged,
            by_document=like is not None and like.score.category in DOCUMENT_FLAGS,
            chance=self._chance(early, late),
        )

    def _says(self, like: ChangeMatch) -> DuplicateVerdict:
        evidence = PairEvidence(score=like.score, chance=like.chance, exact=like.exact, terms=like.shared_terms)
        return decide_pair(evidence, self._rules).verdict

    def _search(self, key: PairKey) -> SearchResult:
        number = self._indexed.numbers[key]
        if number not in self._found:
            self._found[number] = self._searching.find(self._indexed.made[key].sketch, until=number - 1)
            self.candidates.append(self._found[number].candidates)
        return self._found[number]

    def _chance(self, early: PairKey, late: PairKey) -> float:
        signatures = (self._indexed.made[key].sketch.signature for key in (late, early))
        return compute_duplicate_probability(measure_similarities(*signatures), self._model).probability


def _report(
    pairs: Sequence[LabelledPair],
    told: Sequence[PairPrediction],
    asking: _PairQuery,
    indexed: _BenchIndex,
    rules: DedupeRules,
) -> PairFigures:
    counts = sorted(asking.candidates)
    return PairFigures(
        pairs=len(pairs),
        changes=len(indexed.numbers),
        unread=indexed.unread,
        exact_recall=exact_recall(told),
        recall_at_1=recall_at(told, 1),
        recall_at_5=recall_at(told, 5),
        recall_at_20=recall_at(told, 20),
        recall_at_p95=recall_at_precision(told, "cherry_pick", 0.95),
        false_flags_hard=false_flags(told, "neg_same_file"),
        false_flags_random=false_flags(told, "neg_random"),
        ece=calibration_error(told),
        candidates_median=statistics.median(counts) if counts else None,
        candidates_p95=float(counts[int(0.95 * (len(counts) - 1))]) if counts else None,
        flags=asking.flags,
        by_kind={kind: _of_kind(told, kind) for kind in sorted({prediction.kind for prediction in told})},
        profile=rules.profile,
        model_version=SHIPPED.version,
    )


def _of_kind(predictions: Iterable[PairPrediction], kind: str) -> dict[str, float]:
    matching = [prediction for prediction in predictions if prediction.kind == kind]
    measures = {
        "recall_at_1": recall_at(matching, 1),
        "recall_at_5": recall_at(matching, 5),
        "recall_at_20": recall_at(matching, 20),
        "flagged": sum(prediction.flagged for prediction in matching) / len(matching),
        "flagged_by_document": sum(prediction.by_document for prediction in matching) / len(matching),
    }
    return {"pairs": float(len(matching))} | {name: value for name, value in measures.items() if value is not None}


def recall_at(predictions: Sequence[PairPrediction], most: int) -> float | None:
    """Return the share of duplicates that are among the first ``most``."""
    return _share(
        [
            prediction.place is not None and prediction.place < most
            for prediction in predictions
            if prediction.is_duplicate
        ]
    )


def exact_recall(told: Sequence[PairPrediction]) -> float | None:
    """Return the share of exact duplicates that are found as such."""
    return _share([prediction.exact for prediction in told if prediction.is_duplicate and prediction.is_exact])


def recall_at_precision(predictions: Sequence[PairPrediction], kind: str, precision: float) -> float | None:
    """Return the largest share of a kind's inexact pairs that can be found with this precision.

    Every pair that is not a duplicate counts against it; a pair that the search does not find is never flagged.
    """
    wanted = [prediction for prediction in predictions if prediction.kind == kind and not prediction.is_exact]
    against = [prediction for prediction in predictions if not prediction.is_duplicate]
    ranked = sorted(
        (prediction for prediction in (*wanted, *against) if prediction.place is not None),
        key=lambda prediction: -prediction.chance,
    )
    best = right = 0
    for place, prediction in enumerate(ranked, 1):
        right += prediction.is_duplicate
        if right / place >= precision:
            best = right
    return best / len(wanted) if wanted else None


def false_flags(told: Sequence[PairPrediction], kind: str) -> float | None:
    """Return the share of pairs of a kind that are flagged and should not be."""
    return _share(
        [prediction.flagged for prediction in told if prediction.kind == kind and not prediction.is_duplicate]
    )


def calibration_error(predictions: Sequence[PairPrediction]) -> float | None:
    """Return the mean distance between predicted and observed rates, over equal bins of probability."""
    bins: list[list[PairPrediction]] = [[] for _ in range(BINS)]
    for prediction in predictions:
        bins[min(BINS - 1, int(prediction.chance * BINS))].append(prediction)
    gaps = [
        abs(sum(prediction.chance for prediction in members) - sum(prediction.is_duplicate for prediction in members))
        for members in bins
        if members
    ]
    return sum(gaps) / len(predictions) if predictions else None


def _share(right: Sequence[bool]) -> float | None:
    return sum(right) / len(right) if right else None


def render_figures(figures: PairFigures) -> Iterator[str]:
    """Yield the figures by kind of pair, as lines to read."""
    yield f"{figures.pairs:,} pairs among {figures.changes:,} changes; {figures.unread} could not be read"
    for kind, values in figures.by_kind.items():
        yield f"  {kind:<16}" + "  ".join(f"{name} {value:g}" for name, value in values.items())
    yield from (f"  flagged, labeled as not related: {flag}" for flag in figures.flags)


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Measure one repository."""
    out, err = out or sys.stdout, err or sys.stderr
    parser = argparse.ArgumentParser(prog="python -m bench dupes-pairs", description="Measure duplicate search.")
    parser.add_argument(
        "--pairs", metavar="FILE", type=Path, required=True, help="labeled pairs, one JSON object per line"
    )
    parser.add_argument("--repo", metavar="GITDIR", type=Path, default=Path(), help="the repository of the pairs")
    parser.add_argument("--others", metavar="N", type=int, default=OTHERS, help="other changes to index")
    parser.add_argument("--pointers", action="store_true", help="use commits that messages name as their origin, too")
    parser.add_argument("--json", action="store_true", help="print the JSON object only")
    args = parser.parse_args(argv)
    try:
        figures = dupes_bench(Workspace(args.repo), args.pairs, others=args.others, pointers=args.pointers)
    except InputError as error:
        err.write(f"error: {error.message}\n")
        return 2
    if not args.json:
        out.write("".join(f"{line}\n" for line in render_figures(figures)))
    out.write(msgspec.json.encode(figures).decode() + "\n")
    return 0
