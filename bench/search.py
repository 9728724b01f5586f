"""``python -m bench search``: processor time of a search, against a scan of the same words by the same database.

    python -m bench search --repository PATH
    python -m bench search --repository PATH --questions FILE --json figures.json

The repository needs recorded sessions; the index is brought up to date first. Without a file of questions, one per
line, they are commit subjects of the sessions themselves. The baseline asks SQLite which indexed texts contain each
word (LIKE), and ranks nothing. Rounds alternate. A line of the file may be ``SESSION|words``: then the figures also
count the sessions, by the beginning of their id, that were among the first ten.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import TextIO, TypeVar

from custody.core.ids import CommitSha
from custody.search.app import SearchRequest, open_search_index, search_sessions
from custody.search.model import parse_search_terms
from custody.store import Store
from custody.workspace.workspace import CommandResources, Workspace

ROUNDS = 5
BAR_MS = 50.0
QUESTIONS = 40
FIRST = 10

T = TypeVar("T")


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Measure and print the figures; 1 if the median question is over the bar."""
    args = _parse(argv)
    resources = CommandResources()
    try:
        workspace = Workspace(Path(args.repository).resolve(), resources=resources)
        with open_search_index(workspace) as store:
            records = sum(int(head.seq) for head in store.tables.chains())
            asked = _read_questions(args.questions) if args.questions else _draw_questions(workspace, store)
            figures = _measure(workspace, store, asked)
    finally:
        resources.close()
    figures = {"records": records, "questions": len(asked), **figures}
    print(json.dumps(figures), file=out or sys.stdout)
    if args.json:
        Path(args.json).write_text(json.dumps(figures) + "\n")
    if figures["search_ms"] > BAR_MS:
        print(f"a search costs more than {BAR_MS:g} ms of processor time", file=err or sys.stderr)
        return 1
    return 0


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench search", description="Measure searches.")
    parser.add_argument("--repository", required=True, metavar="PATH", help="a repository with recorded sessions")
    parser.add_argument("--questions", metavar="FILE", help="one question per line, or SESSION|question")
    parser.add_argument("--json", metavar="FILE", help="also write the figures here")
    return parser.parse_args(argv)


def _read_questions(file: str) -> list[tuple[str, str]]:
    lines = [line.strip() for line in Path(file).read_text().splitlines() if line.strip()]
    return [(line.partition("|")[0], line.partition("|")[2]) if "|" in line else ("", line) for line in lines]


def _draw_questions(workspace: Workspace, store: Store) -> list[tuple[str, str]]:
    """Return subjects of commits that sessions made, evenly drawn."""
    found = store.db.rows("SELECT DISTINCT name FROM search_item WHERE kind = 'commit' ORDER BY name")
    step = max(1, len(found) // QUESTIONS)
    ids = [CommitSha(str(name)) for (name,) in found[::step]][:QUESTIONS]
    with workspace.repository.log(ids) as log:
        subjects = {str(commit.id): commit.subject.decode(errors="replace") for commit in log}
    return [("", subjects[each]) for each in ids if parse_search_terms(subjects.get(each, ""))]


def _measure(workspace: Workspace, store: Store, asked: Sequence[tuple[str, str]]) -> dict[str, float]:
    searches: dict[str, list[float]] = {words: [] for _, words in asked}
    scans: dict[str, list[float]] = {words: [] for _, words in asked}
    first = known = 0
    for number in range(ROUNDS):
        for session, words in asked:
            report, spent = _time(lambda words=words: search_sessions(workspace, SearchRequest(words=words)))  # type: ignore[misc]
            searches[words].append(spent)
            _, spent = _time(lambda words=words: _scan(store, words))  # type: ignore[misc]
            scans[words].append(spent)
            if number == 0 and session:
                known += 1
                first += any(found.session.startswith(session) for found in report.sessions[:FIRST])
    times = sorted(median(each) for each in searches.values())
    figures: dict[str, float] = {
        "search_ms": round(median(times), 1),
        "slowest_ms": round(times[-1], 1),
        "scan_ms": round(median(median(each) for each in scans.values()), 1),
    }
    return figures | ({"in_first_ten": first, "of": known} if known else {})


def _time(job: Callable[[], T]) -> tuple[T, float]:
    before = time.process_time()
    answer = job()
    return answer, (time.process_time() - before) * 1000


def _scan(store: Store, words: str) -> int:
    terms = [word for term in parse_search_terms(words) for word in term.words]
    return sum(len(store.db.rows("SELECT rowid FROM search_text WHERE words LIKE ?", (f"%{word}%",))) for word in terms)
