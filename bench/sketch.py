"""The time to sketch real changes, against a datasketch pipeline with the same job and the same shingles.

Both sides go from the changed lines of commits to MinHash signatures of 128 values and to LSH keys, once with numbers
and strings masked and once literally. Tokens and shingles are ours on both sides; *signatures* hands them over ready
made (to datasketch as bytes, each once, as it wants them), *pipeline* begins with the text.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from bench import report
from bench.attribution.telling import ran
from bench.attribution.world import surroundings
from bench.bars import BenchError, at_most
from bench.progress import Progress
from bench.runner import Bench, Ground, MissingData, Sides, Verdict, measure
from bench.stats import PAIRS_MIN
from custody.sketch.hashing import compute_lsh_bands
from custody.sketch.minhash import compute_minhash, estimate_minhash_similarity
from custody.sketch.tokens import compute_set_jaccard, mask_literals, shingle_tokens, tokenize_text

OWN = Path(__file__).resolve().parents[1]
COMMITS = 80
COMMIT_LINES_MAX = 4_000
"""A commit with more changed lines is skipped: it would dominate the measurement."""
VALUES, BANDS, TOKENS = 128, 16, 5
ERROR_MAX = 0.25
"""The largest accepted error of an estimated similarity, for either side."""

Pieces = list[str]
Tokens = list[list[str]]
"""The tokens of each piece of a change."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The input: for each commit, the text of each side of each hunk."""

    texts: list[Pieces]
    passed_over: int

    @property
    def lines(self) -> int:
        """The number of changed lines."""
        return sum(piece.count("\n") + 1 for pieces in self.texts for piece in pieces)


def changes_of(repo: Path, folder: Path, commits: int = COMMITS) -> Changes:
    """Return the latest commits of a repository that change text and have all objects."""
    environment = surroundings(folder) | {"GIT_NO_LAZY_FETCH": "1"}
    git = ["git", "-C", str(repo)]
    try:
        log = ran([*git, "log", "--no-merges", "--format=%H", f"-{4 * commits}"], folder, environment).decode().split()
    except BenchError as error:
        raise MissingData(f"needs a repository with commits, by --repo GITDIR ({error})") from error
    found: list[Pieces] = []
    passed_over = 0
    for sha in log:
        words = [*git, "diff-tree", "--root", "-r", "-p", "-U0", "--no-commit-id", "--no-ext-diff", "--no-textconv"]
        try:
            pieces = [*_pieces(ran([*words, sha], folder, environment))]
        except BenchError:
            pieces = []  # an object is missing in this copy: only this commit is skipped
        if pieces and sum(piece.count("\n") + 1 for piece in pieces) <= COMMIT_LINES_MAX:
            found.append(pieces)
        else:
            passed_over += 1
        if len(found) == commits:
            break
    if not found:
        raise MissingData(f"none of the last {len(log)} commits of '{repo}' changes text")
    return Changes(found, passed_over)


def _pieces(diff: bytes) -> Iterator[str]:
    """Yield the removed and the added lines of every hunk."""
    _, *hunks = f"\n{diff.decode('utf-8', 'surrogateescape')}".split("\n@@ ")
    for hunk in hunks:
        lines = hunk.split("\ndiff --git ")[0].split("\n")[1:]
        for sign in "-+":
            if side := [line[1:] for line in lines if line.startswith(sign)]:
                yield "\n".join(side)


def views_of(texts: Pieces) -> tuple[Tokens, Tokens]:
    """Return the tokens of one change, masked and literal."""
    literal = [tokenize_text(text) for text in texts]
    return [mask_literals(tokens) for tokens in literal], literal


# What each side does with the shingles of a change.


def ours(signature: bytes | None) -> list[int]:
    """Return the LSH keys of our signature."""
    return [] if signature is None else compute_lsh_bands(signature, BANDS)


class Theirs:
    """Our job done by datasketch, with its permutations made once and keys cut as in its own index."""

    def __init__(self) -> None:
        from datasketch import MinHash  # type: ignore[import-untyped]

        self._empty = MinHash(num_perm=VALUES)
        rows = VALUES // BANDS
        self._ranges = [(at, at + rows) for at in range(0, VALUES, rows)]

    def __call__(self, shingles: list[bytes]) -> list[bytes]:
        """Return the LSH keys of its signature."""
        values = self.signature(shingles).hashvalues
        return [bytes(values[start:end].byteswap().data) for start, end in self._ranges]

    def signature(self, shingles: list[bytes]):  # type: ignore[no-untyped-def]
        """Return its signature."""
        found = self._empty.copy()
        found.update_batch(shingles)
        return found


def as_bytes(shingles: Iterable[str]) -> list[bytes]:
    """Return shingles for datasketch: bytes without duplicates, since its time grows with each."""
    return [shingle.encode("utf-8", "surrogatepass") for shingle in set(shingles)]


def shingles_of_pieces(pieces: Iterable[Sequence[str]]) -> list[str]:
    """Return the shingles of each piece's tokens, one piece after the other."""
    return [shingle for piece in pieces for shingle in shingle_tokens(piece, TOKENS)]


def signatures(changes: Changes) -> Sides:
    """Make both sides; they get finished shingles."""
    given = [shingles_of_pieces(view) for texts in changes.texts for view in views_of(texts)]
    encoded = [as_bytes(view) for view in given]
    theirs = Theirs()
    _check(given, encoded, theirs)
    return Sides(
        lambda: [ours(compute_minhash(view, VALUES)) for view in given], lambda: [theirs(view) for view in encoded]
    )


def pipeline(changes: Changes) -> Sides:
    """Make both sides; they start with the text."""
    theirs = Theirs()
    return Sides(
        lambda: [
            ours(compute_minhash(shingles_of_pieces(view), VALUES))
            for texts in changes.texts
            for view in views_of(texts)
        ],
        lambda: [theirs(as_bytes(shingles_of_pieces(view))) for texts in changes.texts for view in views_of(texts)],
    )


def _check(given: list[list[str]], encoded: list[list[bytes]], theirs: Theirs) -> None:
    """Check that both sides report how similar a change and its other view are."""
    for at in range(0, len(given), 2):
        exact = compute_set_jaccard(given[at], given[at + 1])
        mine, other = (compute_minhash(view, VALUES) for view in given[at : at + 2])
        if exact is None or mine is None or other is None:
            continue
        first, second = (theirs.signature(view) for view in encoded[at : at + 2])
        for estimate in (estimate_minhash_similarity(mine, other), float(first.jaccard(second))):
            if abs(estimate - exact) > ERROR_MAX:
                raise BenchError(f"a similarity of {exact:.2f} was estimated as {estimate:.2f}")


JOBS: tuple[tuple[str, str, Callable[[Changes], Sides]], ...] = (
    ("sketch-signatures", "MinHash and LSH keys from ready shingles, masked and literal", signatures),
    ("sketch-pipeline", "from changed lines to MinHash and LSH keys, masked and literal", pipeline),
)


def benches_of(repo: Path, commits: int = COMMITS) -> tuple[Bench, ...]:
    """Return the benches on the changes of one repository."""

    def set_up_of(job: Callable[[Changes], Sides]) -> Callable[[Ground], Sides]:
        return lambda ground: job(changes_of(repo, ground.folder, commits))

    return tuple(
        Bench(name=name, what=what, baseline="datasketch", bar=at_most(0.333), set_up=set_up_of(job), calls=1)
        for name, what, job in JOBS
    )


BENCHES = benches_of(OWN)


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Measure processor time on the changes of a repository given by path; 1 when nothing could be measured."""
    out, err = out or sys.stdout, err or sys.stderr
    args = arguments().parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="custody-sketch-") as temporary, Progress(err) as tell:
        ground = Ground(Path(temporary))
        try:
            changes = changes_of(args.repo.resolve(), ground.folder, args.commits)
            results = [
                measure(bench, ground, pairs=args.pairs, clock=time.process_time_ns, tell=tell)
                for bench in benches_of(args.repo.resolve(), args.commits)
            ]
        except (BenchError, MissingData) as error:
            err.write(f"not measured: {error}\n")
            return 1
    sizes = {"commits": len(changes.texts), "lines": changes.lines, "passed_over": changes.passed_over}
    if args.json:
        out.write(json.dumps({**sizes, **report.as_json(results)}, indent=2, ensure_ascii=False) + "\n")
    else:
        out.write(f"{sizes['commits']:,} commits of {sizes['lines']:,} changed lines; {sizes['passed_over']} skipped\n")
        out.write(report.tables(results))
        times = ", ".join(f"{result.bench.name} {1 / result.spread.median:.1f}" for result in results)
        out.write(f"datasketch's time divided by ours: {times}\n")
    return int(any(result.verdict is Verdict.FAILED for result in results))


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench sketch", description="Time sketching against datasketch.")
    parser.add_argument("--repo", type=Path, default=OWN, metavar="GITDIR", help="a repository (default: our own)")
    parser.add_argument("--commits", type=int, default=COMMITS, metavar="N", help="how many commits (%(default)s)")
    parser.add_argument("--pairs", type=int, default=PAIRS_MIN, metavar="N", help="pairs per round (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser
