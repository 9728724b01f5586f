"""How many near copies of real texts each search method finds, and how many of its results are wrong.

The texts are the documents of a repository at HEAD, given by path. Each is changed in ways of growing strength, and
every changed text is searched for among all originals. Found is the original; wrong is any other text that has hardly a
run of words in common with what was searched for. What has more in common (documents repeat each other) is not judged.
"""

import argparse
import json
import random
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from bench.attribution.telling import ran
from bench.attribution.world import surroundings
from bench.bars import BenchError
from bench.facts import contents_of
from bench.progress import Progress, Tell
from bench.runner import MissingData
from custody.cite.keys import split_source_words
from custody.cite.near_copies import WAYS, Way, find_near_sources
from custody.cite.vectors import VectorIndex
from custody.sketch.tokens import compute_set_containment, shingle_tokens

OWN = Path(__file__).resolve().parents[1]
ENDINGS = (".md", ".rst", ".txt", ".mdx")
TEXTS = 100
WORDS_MIN, WORDS_MAX = 120, 6000
RELATED_MIN = 0.1
"""With a larger share of common runs of words, two documents are not counted as different."""
RUN_WORDS = 5
ASKED_WORDS = 12
PLACES = (1, 5, 20)

Edit = Callable[[str, random.Random, Sequence[str]], str]


@dataclass(slots=True)
class Counts:
    """The counts of one search method."""

    found: dict[str, int] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    wrong: int = 0

    @property
    def precision(self) -> float:
        """The correct share of the judged results; 1 without results."""
        right = sum(self.found.values())
        return right / (right + self.wrong) if right + self.wrong else 1.0

    def recall(self, edit: str | None = None) -> float:
        """Return the share of searches that found their text: after one kind of edit, or after all."""
        if edit is not None:
            return self.found.get(edit, 0) / self.asked[edit]
        return sum(self.found.values()) / sum(self.asked.values())


def texts_of(repo: Path, folder: Path, most: int = TEXTS) -> list[str]:
    """Return documents of HEAD of a usual length, at most ``most``, evenly over the tree."""
    environment = surroundings(folder) | {"GIT_NO_LAZY_FETCH": "1"}
    git = ["git", "-C", str(repo)]
    try:
        tree = ran([*git, "ls-tree", "-r", "-z", "HEAD"], folder, environment).split(b"\0")[:-1]
    except BenchError as error:
        raise MissingData(f"needs a repository with commits, by --repo GITDIR ({error})") from error
    rows = (row.partition(b"\t") for row in tree)
    blobs = dict.fromkeys(meta.split()[2] for meta, _, name in rows if name.decode("latin-1").endswith(ENDINGS))
    given = b"".join(blob + b"\n" for blob in blobs)
    contents = contents_of(ran([*git, "cat-file", "--batch"], folder, environment, given))
    texts = [one.decode("utf-8", "replace") for one in contents if one is not None]
    fitting = [text for text in texts if WORDS_MIN <= len(split_source_words(text)) <= WORDS_MAX]
    if not fitting:
        raise MissingData(f"'{repo}' holds no documents of {WORDS_MIN} to {WORDS_MAX} words")
    count = min(most, len(fitting))
    return [fitting[at * len(fitting) // count] for at in range(count)]


def respelled(text: str, chance: random.Random, _others: Sequence[str]) -> str:
    """Change capitals and line endings, and remove punctuation."""
    plain = re.sub(r"[^\w\s]", " ", text)
    return re.sub(r"\s+", lambda _: chance.choice((" ", "\n")), plain.upper())


def replaced(share: float) -> Edit:
    """Replace a share of the words."""

    def edit(text: str, chance: random.Random, others: Sequence[str]) -> str:
        words = split_source_words(chance.choice(others))
        return re.sub(r"\w+", lambda word: chance.choice(words) if chance.random() < share else word[0], text)

    return edit


def moved(text: str, chance: random.Random, _others: Sequence[str]) -> str:
    """Reorder the paragraphs."""
    parts = re.split(r"\n\s*\n", text)
    chance.shuffle(parts)
    return "\n\n".join(parts)


def part(share: float) -> Edit:
    """Keep a share of the text, in one piece."""

    def edit(text: str, chance: random.Random, _others: Sequence[str]) -> str:
        words = text.split()
        length = max(20, int(len(words) * share))
        start = chance.randrange(max(1, len(words) - length))
        return " ".join(words[start : start + length])

    return edit


def framed(text: str, chance: random.Random, others: Sequence[str]) -> str:
    """Return the text inside a page twice as long."""
    around = [word for _ in range(8) for word in chance.choice(others).split()][: 2 * len(text.split())]
    half = len(around) // 2
    return " ".join((*around[:half], text, *around[half:]))


EDITS: dict[str, Edit] = {
    "respelled": respelled,
    "5 % replaced": replaced(0.05),
    "15 % replaced": replaced(0.15),
    "30 % replaced": replaced(0.30),
    "moved": moved,
    "half of it": part(0.5),
    "tenth of it": part(0.1),
    "framed": framed,
}


def measured(texts: Sequence[str], seed: int, least: dict[str, float], tell: Tell) -> dict[Way, Counts]:
    """Search for the same changed texts with each method."""
    chance = random.Random(seed)
    runs = [frozenset(shingle_tokens(split_source_words(text), RUN_WORDS)) for text in texts]
    counts = {way: Counts() for way in WAYS}
    indexes = {way: make() for way, make in WAYS.items()}
    for number, text in enumerate(texts, start=1):
        for index in indexes.values():
            index.add(f"S{number}", text)
    for number, text in enumerate(texts, start=1):
        tell(f"cite-near: text {number} of {len(texts)}")
        others = [*texts[: number - 1], *texts[number:]] or [text]
        for name, edit in EDITS.items():
            asked = edit(text, chance, others)
            related = _related(asked, runs) | {f"S{number}"}
            for way, index in indexes.items():
                found = {one for one, _ in find_near_sources(index, asked, least.get(way))}
                count = counts[way]
                count.asked[name] = count.asked.get(name, 0) + 1
                count.found[name] = count.found.get(name, 0) + (f"S{number}" in found)
                count.wrong += len(found - related)
    return counts


def _related(asked: str, runs: Sequence[frozenset[str]]) -> set[str]:
    """Return the texts that share more than a little with the query, by all runs and without sketches."""
    ours = frozenset(shingle_tokens(split_source_words(asked), RUN_WORDS))
    shares = (
        (at, max(compute_set_containment(ours, one) or 0.0, compute_set_containment(one, ours) or 0.0))
        for at, one in enumerate(runs, 1)
    )
    return {f"S{at}" for at, share in shares if share >= RELATED_MIN}


def searched(texts: Sequence[str], seed: int) -> dict[int, float]:
    """Return how often search finds a text by a few consecutive words, among the first 1, 5 and 20."""
    chance = random.Random(seed)
    index = VectorIndex([(f"S{number}", text) for number, text in enumerate(texts, start=1)])
    places: list[int] = []
    for number, text in enumerate(texts, start=1):
        words = text.split()
        start = chance.randrange(len(words) - ASKED_WORDS)
        found = [one for one, _ in index.search(" ".join(words[start : start + ASKED_WORDS]), max(PLACES))]
        places.append(found.index(f"S{number}") if f"S{number}" in found else max(PLACES))
    return {most: sum(place < most for place in places) / len(places) for most in PLACES}


def table(counts: dict[Way, Counts]) -> str:
    """Return the figures, one row per method."""
    rows = [["way", "precision", "recall", *EDITS], ["---"] * (len(EDITS) + 3)]
    for way, count in counts.items():
        figures = (count.precision, count.recall(), *(count.recall(edit) for edit in EDITS))
        rows.append([way, *(f"{figure:.3f}" for figure in figures)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Search for changed documents of the given repositories; return 1 when nothing could be measured."""
    out, err = out or sys.stdout, err or sys.stderr
    args = arguments().parse_args(argv)
    least = {way: float(value) for way, _, value in (one.partition("=") for one in args.least)}
    with tempfile.TemporaryDirectory(prefix="custody-near-") as temporary, Progress(err) as tell:
        try:
            texts = [
                text for repo in args.repo or [OWN] for text in texts_of(repo.resolve(), Path(temporary), args.texts)
            ]
        except (BenchError, MissingData) as error:
            err.write(f"not measured: {error}\n")
            return 1
        counts = measured(texts, args.seed, least, tell)
        places = searched(texts, args.seed)
    if args.json:
        ways = {
            way: {"precision": one.precision, "recall": {edit: one.recall(edit) for edit in EDITS}}
            for way, one in counts.items()
        }
        out.write(json.dumps({"texts": len(texts), "seed": args.seed, "ways": ways, "search": places}, indent=2) + "\n")
    else:
        out.write(f"{len(texts)} texts, {len(EDITS)} edits each, seed {args.seed}\n\n{table(counts)}\n")
        said = ", ".join(f"{share:.3f} among the first {most}" for most, share in places.items())
        out.write(f"vector search for {ASKED_WORDS} words in a row: {said}\n")
    return 0


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench cite-near", description=__doc__)
    parser.add_argument("--repo", type=Path, action="append", metavar="GITDIR", help="a repository (default: this one)")
    parser.add_argument(
        "--texts", type=int, default=TEXTS, metavar="N", help="texts per repository (default %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the edits (default %(default)s)")
    parser.add_argument("--least", action="append", default=[], metavar="WAY=X", help="another bound for a method")
    parser.add_argument("--json", action="store_true", help="as JSON")
    return parser
