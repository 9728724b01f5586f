"""How a search for duplicates grows with the index, and the fitting of the shipped model.

    python -m bench dupes fit --pairs FILE GITDIR [--pairs FILE GITDIR]   fit, and print weights.py
    python -m bench dupes-steps                                           steps of a search

A synthetic change has terms as real ones have them: a few that are unique, some that a handful of changes share,
some that nearly all changes have. They are generated, not read from a diff; the index and the search are custody's.
"""

import argparse
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TextIO

from bench.bars import BenchError
from bench.dupes_pairs import NOT_RELATED, changes_of_pairs, read_pairs
from bench.growth import Growth, Population
from bench.runner import Ground
from custody.core.ids import CommitSha
from custody.dupes.app.change_reader import ChangeRef, SketchedChange, UnreadableChange
from custody.dupes.app.index import sketch_changes
from custody.dupes.app.search import ChangeSearch
from custody.dupes.chance import CalibrationStep, Model, features_from_similarities, fit_duplicate_calibration
from custody.dupes.model import ChangeSketch, Signature
from custody.dupes.packing import pack_signature
from custody.dupes.queries import DupesTables
from custody.dupes.rules import DedupeRules
from custody.dupes.score import SIGNALS, measure_similarities, select_index_terms, select_query_terms
from custody.dupes.signature import KEPT_IDENTIFIERS, SIGNATURE_VERSION
from custody.dupes.weights import SHIPPED
from custody.sketch.hashing import hash32, hash64, make_bottom_sketch
from custody.store import Store, StoreEnvironment, ViewWiring, open_sqlite
from custody.store.sqlite import SqliteDb
from custody.workspace.workspace import Workspace

COMMITTED = 50_000
"""Changes in one transaction."""
CACHE_KILOBYTES = 4_000_000
COMMON, SHARED, OWN = 40, 30, 30
"""Terms of a synthetic change that many changes have, that a few have, and unique ones."""
COLUMNS = "id, repo, base, head, name, title, opened_ns, on_main, version, signature, author"
AUTHORS = 50
ALIKE_EVERY = 10
"""One in this many changes is a near copy of an earlier one."""
RULES = DedupeRules()


def a_change(n: int, size: int) -> SketchedChange:
    """Return the ``n``-th of ``size`` synthetic changes; equal arguments give equal changes."""
    chance = Random(f"{n - n % ALIKE_EVERY}" if n % ALIKE_EVERY == 1 else f"{n}")
    words = [f"common {int(400 * chance.random() ** 3)}" for _ in range(COMMON)]
    words += [f"shared {int(max(1, size / 10) * chance.random())}" for _ in range(SHARED)]
    words += [f"own {n} {m}" for m in range(OWN)]
    terms = tuple(sorted({hash64("identifier", word) for word in words}))
    paths = tuple(sorted({hash64("path", f"src/f{int(2_000 * chance.random() ** 2)}.py") for _ in range(3)}))
    names = make_bottom_sketch((hash32("identifier", word) for word in words), KEPT_IDENTIFIERS)
    signature = Signature(identifiers=names, lines=names, files=names, added=40, removed=5)
    head = CommitSha(f"{n:040x}")
    asked = ChangeRef(base=CommitSha("0" * 40), head=head)
    sketch = ChangeSketch(signature, {}, {"identifier": terms, "path": paths})
    return SketchedChange(asked, f"change {n}", f"author {n % AUTHORS}", n, sketch, 0)


def populate(ground: Ground, size: int) -> Population:
    """Return an index of ``size`` synthetic changes: the same rows as indexing one by one, inserted together."""
    db = open_sqlite(ground.folder / "custody.db")
    store = Store(db, ViewWiring({}), StoreEnvironment(lambda: 0, lambda: "0" * 32, None))
    fill(db, size, ground.number_batches(size, COMMITTED))
    searching = ChangeSearch(DupesTables(store), RULES, SHIPPED)
    asked = [a_change(n, size).sketch for n in range(size // 2, size // 2 + 20)]

    def search() -> int:
        return sum(len(searching.find(one).matches) for one in asked)

    if not search():
        raise BenchError("a search finds nothing: there is nothing to measure")
    return Population(db.connection, {"search": search}, db.close)


def fill(db: SqliteDb, size: int, batches: Iterable[range]) -> None:
    """Index ``size`` synthetic changes, with the rows that ``dupes index`` makes one by one."""
    db.connection.execute(f"PRAGMA cache_size = -{CACHE_KILOBYTES}")
    (newest,) = db.connection.execute("SELECT coalesce(max(id), 0) FROM dupe_change").fetchone()
    counts = _repeated_counts(db, size)
    for numbers in batches:
        if numbers.stop > newest:  # else the last run was killed between this transaction and its mark
            _index(db, [a_change(n, size) for n in numbers], counts)


def _repeated_counts(db: SqliteDb, size: int) -> dict[int, int]:
    """Return the stored counts of the terms that several changes can have; a change's own terms are counted once."""
    words = [f"common {n}" for n in range(400)] + [f"shared {n}" for n in range(max(1, size // 10))]
    terms = [hash64("identifier", word) for word in words] + [hash64("path", f"src/f{n}.py") for n in range(2_000)]
    read = db.connection.cursor()
    found = {term: read.execute("SELECT n FROM dupe_term WHERE term = ?", (term,)).fetchone() for term in terms}
    return {term: row[0] if row else 0 for term, row in found.items()}


def _index(db: SqliteDb, changes: Sequence[SketchedChange], counts: dict[int, int]) -> None:
    """Insert the rows of these changes in one transaction, in the order of the tables' keys."""
    posts: list[tuple[int, int]] = []
    for change in changes:
        known = {term: n for term in select_query_terms(change.sketch.terms) if (n := counts.get(term))}
        for term in select_index_terms(change.sketch.terms, known):
            posts.append((term, change.opened_ns + 1))
            if term in counts:
                counts[term] += 1
    rows = [_row(change.opened_ns + 1, change) for change in changes]
    terms = sorted({term: counts.get(term, 1) for term, _ in posts}.items())
    with db.writing():
        db.run_for_each(f"INSERT INTO dupe_change ({COLUMNS}) VALUES ({', '.join('?' * len(rows[0]))})", rows)
        db.run_for_each("INSERT INTO dupe_post (term, change) VALUES (?, ?)", sorted(posts))
        db.run_for_each(
            "INSERT INTO dupe_term (term, n) VALUES (?, ?) ON CONFLICT (term) DO UPDATE SET n = excluded.n", terms
        )


def _row(number: int, change: SketchedChange) -> tuple[int | str | bytes, ...]:
    signature = pack_signature(change.sketch.signature)
    named = ("", change.ref.base, change.ref.head, "", change.title)
    return (number, *named, change.opened_ns, 0, SIGNATURE_VERSION, signature, change.author)


BENCHES = (
    Growth(
        name="dupes-steps",
        what="searching for a duplicate does not depend on how many changes are indexed",
        populate=populate,
        small=10_000,
        large=1_000_000,
    ),
)


@dataclass(frozen=True, slots=True)
class Example:
    """A labeled pair as the model sees it."""

    kind: str
    label: bool
    weight: float
    features: dict[str, float]


def examples(workspace: Workspace, pairs: Path) -> Iterator[Example]:
    """Return the examples for the model; exact pairs need no model and are left out."""
    labelled = list(read_pairs(pairs))
    folder = str(workspace.repository.git_dir)
    made: dict[tuple[str, str], Signature] = {
        (one.ref.base, one.ref.head): one.sketch.signature
        for one in sketch_changes(folder, changes_of_pairs(workspace, labelled), RULES, workers=2)
        if not isinstance(one, UnreadableChange)
    }
    for pair in labelled:
        sides = [made.get((pair.a_base, pair.a_sha)), made.get((pair.b_base, pair.b_sha))]
        if None not in sides and not pair.exact:
            a, b = (side for side in sides if side is not None)
            # Changes for one issue are only probably the same: silver, not gold.
            weight = SILVER_WEIGHT if pair.kind == "same_issue" else 1.0
            yield Example(
                pair.kind, pair.label != NOT_RELATED, weight, features_from_similarities(measure_similarities(a, b))
            )


SILVER_WEIGHT = 0.3
RIDGE = 2.0
REFERENCES_RIDGE = 200.0
"""Limit the weight of references: in labeled pairs a common issue always means a duplicate, in practice not."""
ROUNDS = 300
NAMES = tuple(name for signal in SIGNALS for name in (signal, f"{signal} squared", f"{signal} missing"))


def fitted(some: Sequence[Example], version: str) -> Model:
    """Fit logistic weights by Newton's method with a ridge; those of references are limited."""
    import numpy as np

    values = np.array([[1.0, *(one.features.get(name, 0.0) for name in NAMES)] for one in some])
    wanted = np.array([float(one.label) for one in some])
    importance = np.array([one.weight for one in some])
    ridge = np.full(values.shape[1], RIDGE)
    ridge[0] = 0.0
    for place, name in enumerate(NAMES, 1):
        if name.startswith("references_sim"):
            ridge[place] = REFERENCES_RIDGE
    weights = np.zeros(values.shape[1])
    for _ in range(ROUNDS):
        chances = 1 / (1 + np.exp(-np.clip(values @ weights, -30, 30)))
        slope = values.T @ (importance * (chances - wanted)) + ridge * weights
        bend = (values * (importance * chances * (1 - chances))[:, None]).T @ values + np.diag(ridge + 1e-9)
        step = np.linalg.solve(bend, slope)
        weights -= step
        if abs(step).max() < 1e-9:
            break
    found = {
        name: round(float(weight), 4) for name, weight in zip(NAMES, weights[1:], strict=True) if abs(weight) > 1e-3
    }
    return Model(version, round(float(weights[0]), 4), found)


def raw_of(model: Model, one: Example) -> float:
    """Return the model's score of an example."""
    total = model.intercept + sum(model.weights.get(name, 0.0) * value for name, value in one.features.items())
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Fit on all given pairs; each repository is calibrated with the model of the others."""
    out = out or sys.stdout
    parser = argparse.ArgumentParser(prog="python -m bench dupes", description="Fit the shipped model of duplicates.")
    parser.add_argument("--pairs", nargs=2, action="append", metavar=("FILE", "GITDIR"), type=Path, required=True)
    args = parser.parse_args(argv)
    sets = [list(examples(Workspace(folder), file)) for file, folder in args.pairs]
    model = fitted([one for some in sets for one in some], "1")
    answers = []
    for place, some in enumerate(sets):
        rest = [one for other, more in enumerate(sets) if other != place for one in more]
        answers += [(round(raw_of(fitted(rest or some, "1"), one), 2), one.label) for one in some]
    steps = fit_duplicate_calibration(answers).steps
    out.write(
        as_module(model, [CalibrationStep(step.raw, float(step.pairs), float(step.duplicates)) for step in steps])
    )
    return 0


def as_module(model: Model, steps: Sequence[CalibrationStep]) -> str:
    """Return the text of ``dupes/weights.py``."""
    weights = "".join(f'            "{name}": {weight!r},\n' for name, weight in model.weights.items())
    rows = "".join(f"    Step({step.raw!r}, {step.pairs!r}, {step.duplicates!r}),\n" for step in steps)
    return f'''"""The shipped model and its calibration; ``python -m bench dupes`` prints this file."""

from types import MappingProxyType

from custody.dupes.chance import Calibration, CalibrationStep
from custody.dupes.chance import Model

_STEPS = (
{rows})

SHIPPED = Model(
    "{model.version}",
    {model.intercept!r},
    MappingProxyType(
        {{
{weights}        }}
    ),
    Calibration(_STEPS),
)
'''
