"""The time to read the facts of files, against tree-sitter only parsing the same files.

The ratio shows what custody adds to the parse, which every tool needs: the walk, the names, and passing the text piece
by piece.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from tree_sitter import Language, Parser

from bench import report
from bench.attribution.telling import ran
from bench.attribution.world import surroundings
from bench.bars import BenchError
from bench.progress import Progress
from bench.runner import Bench, Ground, MissingData, Sides, measure
from bench.stats import PAIRS_MIN
from custody.dupes.facts.extractor import READERS, detect_file_language, extract_file_facts
from custody.dupes.facts.model import FactLimits

OWN = Path(__file__).resolve().parents[1]
FILES = 400
LIMITS = FactLimits()


@dataclass(frozen=True, slots=True)
class File:
    """A file that is parsed."""

    path: str
    content: bytes


def files_of(repo: Path, folder: Path, most: int = FILES) -> list[File]:
    """Files of HEAD that have a grammar, evenly over the whole tree if there are more than ``most``."""
    environment = surroundings(folder) | {"GIT_NO_LAZY_FETCH": "1"}
    git = ["git", "-C", str(repo)]
    try:
        tree = ran([*git, "ls-tree", "-r", "-z", "HEAD"], folder, environment).split(b"\0")[:-1]
    except BenchError as error:
        raise MissingData(f"needs a repository with commits, by --repo GITDIR ({error})") from error
    entries = [
        (meta.split()[2], name.decode("utf-8", "replace")) for meta, _, name in (row.partition(b"\t") for row in tree)
    ]
    code = [(blob, path) for blob, path in entries if path.rpartition(".")[2] in READERS]
    if not code:
        raise MissingData(f"'{repo}' has no file that is parsed")
    chosen = [code[at * len(code) // min(most, len(code))] for at in range(min(most, len(code)))]
    given = b"\n".join(blob for blob, _ in chosen) + b"\n"
    contents = contents_of(ran([*git, "cat-file", "--batch"], folder, environment, given))
    found = [
        File(path, content)
        for (_, path), content in zip(chosen, contents, strict=True)
        if content is not None and len(content) <= LIMITS.bytes_max
    ]
    if not found:
        raise MissingData(f"the files of '{repo}' are not in this copy")
    return found


def contents_of(said: bytes) -> Iterator[bytes | None]:
    """Return the output of ``cat-file --batch`` for each object; None for a missing one."""
    at = 0
    while at < len(said):
        head, at = said[at : said.index(b"\n", at)], said.index(b"\n", at) + 1
        if head.endswith(b" missing"):
            yield None
            continue
        size = int(head.split()[2])
        yield said[at : at + size]
        at += size + 1


def sides(files: Sequence[File]) -> Sides:
    """Make both sides; they get the same bytes, and a new parser per file."""
    grammars = {ending: Language(reader.grammar.load()) for ending, reader in READERS.items()}

    def bare() -> int:
        parsers = (Parser(grammars[file.path.rpartition(".")[2]]).parse(file.content) for file in files)
        return sum(tree.root_node.has_error for tree in parsers)

    def facts() -> int:
        return sum(len(extract_file_facts(file.path, file.content).declared) for file in files)

    if not facts():
        raise BenchError("no declaration was found in any file")
    return Sides(facts, bare)


def bench_of(repo: Path, most: int = FILES) -> Bench:
    """Return the bench on the files of one repository."""
    return Bench(
        name="facts-parse",
        what="symbols, exports, imports and test intent of a repository's files",
        baseline="a bare tree-sitter parse",
        set_up=lambda ground: sides(files_of(repo, ground.folder, most)),
        calls=1,
    )


BENCHES = (bench_of(OWN),)


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Measure processor time on the files of a repository given by path; 1 when nothing could be measured."""
    out, err = out or sys.stdout, err or sys.stderr
    args = arguments().parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="custody-facts-") as temporary, Progress(err) as tell:
        ground = Ground(Path(temporary))
        try:
            files = files_of(args.repo.resolve(), ground.folder, args.files)
            result = measure(
                bench_of(args.repo.resolve(), args.files),
                ground,
                pairs=args.pairs,
                clock=time.process_time_ns,
                tell=tell,
            )
        except (BenchError, MissingData) as error:
            err.write(f"not measured: {error}\n")
            return 1
    degraded = sum(extract_file_facts(file.path, file.content).degraded is not None for file in files)
    sizes = {"files": len(files), "bytes": sum(len(file.content) for file in files), "degraded": degraded}
    if args.json:
        out.write(json.dumps({**sizes, **report.as_json([result])}, indent=2, ensure_ascii=False) + "\n")
        return 0
    languages = Counter(detect_file_language(file.path) for file in files)
    told = ", ".join(f"{count} {language}" for language, count in languages.most_common())
    out.write(f"{sizes['files']:,} files ({told}), {sizes['bytes']:,} bytes; {degraded} not read in full\n")
    out.write(report.tables([result]))
    return 0


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench facts", description="Time reading facts against parsing.")
    parser.add_argument("--repo", type=Path, default=OWN, metavar="GITDIR", help="a repository (default: our own)")
    parser.add_argument("--files", type=int, default=FILES, metavar="N", help="how many files (%(default)s)")
    parser.add_argument("--pairs", type=int, default=PAIRS_MIN, metavar="N", help="pairs per round (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser
