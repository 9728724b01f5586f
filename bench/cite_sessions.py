"""The audit's findings on files, names and dependencies in Markdown that people wrote about their repositories.

    python -m bench cite-sessions GITDIR… [--files N] [--show N] [--seed S]

These texts were not recorded, so every line is checked. People rarely name a file that does not exist, so most
findings are false and there should be few. ``--show`` prints some findings for review.
"""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TextIO

from custody.cite.app.records import read_cited_repository_content
from custody.cite.codes import CitationCode
from custody.cite.missing_names import (
    NameMention,
    RepositoryContent,
    find_file_mentions,
    find_missing_files,
    find_missing_mentioned_names,
    find_missing_packages,
    find_missing_symbols,
    find_name_mentions,
)
from custody.cite.subject import AuditSubject, CheckFinding
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.git import FileAt, Object, ObjectReader, discover_repository

FILES = 200
FAULTS_EACH = 2
"""The number of correct names of each kind per file that are made wrong, one at a time."""
ENDINGS = (".md", ".markdown")
BYTES_MAX = 1 << 20


class Seen(NamedTuple):
    """A finding in a file of a repository, with its line."""

    repository: str
    path: str
    line: int
    code: CitationCode
    message: str
    text: str


class Looked(NamedTuple):
    """The counts of one repository: ``caught`` of the ``put`` wrong names that the bench inserted were found."""

    files: int
    lines: int
    found: list[Seen]
    put: Counter[CitationCode]
    caught: Counter[CitationCode]


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Audit the Markdown of repositories and count the findings; return 1 when there is none to audit."""
    out, err = out or sys.stdout, err or sys.stderr
    args = arguments().parse_args(argv)
    dice = random.Random(args.seed)
    everything: list[Seen] = []
    files, put, caught = 0, Counter[CitationCode](), Counter[CitationCode]()
    for place in args.repositories:
        began = time.process_time()
        looked = _look(place, args.files, dice)
        files, put, caught = files + looked.files, put + looked.put, caught + looked.caught
        everything += looked.found
        counts = Counter(one.code.value for one in looked.found)
        told = ", ".join(f"{code} {count}" for code, count in sorted(counts.items())) or "nothing"
        name = place.parent.name if place.name == "repo" else place.name
        out.write(f"{name}: {looked.files} files, {looked.lines:,} lines: {told}\n")
        err.write(f"{name}: {time.process_time() - began:.1f} s of processor time\n")
    if not files:
        err.write("not measured: no Markdown in these repositories\n")
        return 1
    for named, count in sorted(Counter(one.code.value for one in everything).items()):
        out.write(f"{named}: {count} in {files} files, {100 * count / files:.1f} for 100 files\n")
    for code in put:
        out.write(f"{code.value}: {caught[code]} of {put[code]} names that were made wrong\n")
    for one in dice.sample(everything, min(args.show, len(everything))):
        out.write(f"\n{one.repository} {one.path}:{one.line} {one.code.value} {one.message}\n  {one.text}\n")
    return 0


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench cite-sessions", description="Count findings in real Markdown."
    )
    parser.add_argument("repositories", nargs="+", type=Path, metavar="GITDIR", help="repositories, bare or not")
    parser.add_argument("--files", type=int, default=FILES, metavar="N", help="most files per repository (%(default)s)")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N random findings")
    parser.add_argument("--seed", type=int, default=20260131)
    return parser


def _look(place: Path, limit: int, dice: random.Random) -> Looked:
    repository = discover_repository(place.resolve())
    head = repository.head().commit
    if head is None:
        return Looked(0, 0, [], Counter(), Counter())
    with repository.objects() as objects:
        holding = read_cited_repository_content(repository, head, objects)
        paths = sorted(path for path in holding.paths if path.lower().endswith(ENDINGS))
        chosen = sorted(dice.sample(paths, min(limit, len(paths))))
        lines, put, caught = 0, Counter[CitationCode](), Counter[CitationCode]()
        found: list[Seen] = []
        for path in chosen:
            data = _read(objects, head, path)
            for fault in _right(data, holding):
                put[fault[0]] += 1
                caught[fault[0]] += _is_caught(data, path, holding, fault)
            lines += data.count(b"\n")
            name = place.parent.name if place.name == "repo" else place.name
            found += [_seen(name, path, data, one) for one in _findings(data, path, holding)]
    return Looked(len(chosen), lines, found, put, caught)


def _right(data: bytes, holding: RepositoryContent) -> Iterator[tuple[CitationCode, int, bytes]]:
    """Yield some of the existing files and names that a text mentions, with position and spelling."""
    subject = AuditSubject.of(data)
    files = [
        one for one in find_file_mentions(subject) if not one.link and "/" in one.path and one.path in holding.paths
    ]
    for one in files[:FAULTS_EACH]:
        yield CitationCode.NOFILE, one.at, one.path.rpartition("/")[2].encode()
    for name in [one for one in find_name_mentions(subject) if is_judged(one, holding)][:FAULTS_EACH]:
        yield CitationCode.NOSYMBOL, name.at, name.names[0 if name.path is not None else -1].encode()


def is_judged(mention: NameMention, holding: RepositoryContent) -> bool:
    """Return whether a name is said to be in an existing file, so that a wrong name can be found."""
    wrong = mention._replace(names=(*mention.names[:-1], f"{mention.names[-1]}_"))
    return any(True for _ in find_missing_mentioned_names(wrong, holding))


def _is_caught(data: bytes, path: str, holding: RepositoryContent, fault: tuple[CitationCode, int, bytes]) -> bool:
    """Return whether a wrong name in the same place is found."""
    code, start, name = fault
    at = data.index(name, start)
    wrong = data[:at] + b"wrong_" + data[at:]
    return any(found.at == start and found.code is code for found in _findings(wrong, path, holding))


def _read(objects: ObjectReader[Object], head: CommitSha, path: str) -> bytes:
    found = objects.read(FileAt(head, RepoPath.of(path)))
    return found.content[:BYTES_MAX] if isinstance(found, Object) else b""


def _findings(data: bytes, path: str, holding: RepositoryContent) -> Iterator[CheckFinding]:
    subject = AuditSubject.of(data)
    judged = dict.fromkeys(range(1, data.count(b"\n") + 2))
    yield from find_missing_files(subject, judged, holding, path).found
    yield from find_missing_symbols(subject, judged, holding, path)
    yield from find_missing_packages(subject, judged, holding)


def _seen(name: str, path: str, data: bytes, one: CheckFinding) -> Seen:
    line = data.count(b"\n", 0, one.at) + 1
    text = data.split(b"\n")[line - 1].decode("utf-8", "replace").strip()[:300]
    return Seen(name, path, line, one.code, one.message, text)


if __name__ == "__main__":
    sys.exit(main())
