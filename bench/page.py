"""Makes docs/accuracy.md from the stored results and from rows of bench/README.md."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from bench.bars import BenchError
from bench.kept import RESULTS, RUNS, Kept, read

PAGE = "docs/accuracy.md"
GUIDE = "bench/README.md"
INTRO = """<!-- Made by 'python -m bench tables --write' from bench/results and bench/README.md; do not edit. -->

# Accuracy

The command above each table wrote its figures to `bench/results`, and this page is made from those files. `DATA` is a
folder with the streams that the benches name, `REPORTS` a folder with Markdown reports. Rows of long runs come from
[bench/README.md](../bench/README.md). That page also explains each figure, what was inspected while rules were chosen,
and how fast custody is. Missed bars are marked.
"""
PARTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Attribution": (
            "91 stories, transcripts",
            "91 stories, `agent-trace-cli`",
            "50 seeds of",
            "4 stories of merge queues",
            "10 more hostile stories",
            "6 more hostile stories",
            "16 random histories",
            "the same, transcripts",
            "12 random histories",
        ),
        "Trust": ("parts: ",),
        "Duplicates": ("aiohttp, ", "django, ", "calibration error: aiohttp"),
        "Citations": (
            "files, names and dependencies",
            "those 25 reviewed",
            "right names in them",
            "near copies of",
            "vector search",
        ),
        "Redaction": (),
        "Graph": ("139 traces of agents",),
        "Other tools": (),
    }
)
"""The headings of the page, in order, and the beginnings of the rows to copy under each."""


def accuracy_page(root: Path) -> str:
    """Return the whole page; an unknown result or a missing row of the guide is an error."""
    files = {path.stem: path for path in (root / RESULTS).glob("*.json")}
    if lost := sorted(files.keys() - RUNS.keys()):
        raise BenchError(f"'{RESULTS}/{lost[0]}.json' does not belong to a bench")
    kept = [read(files[name]) for name in RUNS if name in files]
    guide = (root / GUIDE).read_text("utf-8")
    return "\n".join([INTRO, *(_part(name, kept, taken(guide, name)) for name in PARTS)])


def _part(name: str, kept: Sequence[Kept], rows: Sequence[Sequence[str]]) -> str:
    blocks = [f"## {name}\n"]
    blocks += [
        f"{_sentence(one.what)}:\n\n```text\n{one.command}\n```\n\n{_table(one.header, one.rows)}"
        for one in kept
        if one.part == name
    ]
    if rows:
        header = ("what", "command", "figure", "bar")
        blocks.append(f"From [bench/README.md](../bench/README.md):\n\n{_table(header, rows)}")
    return "\n".join(blocks)


def taken(guide: str, part: str) -> list[list[str]]:
    """Return the rows of the guide to copy under ``part``, in the guide's order."""
    wanted = PARTS[part]
    found = [row for row in rows_of(guide, part) if row[0].startswith(wanted)]
    for begin in wanted:
        if not any(row[0].startswith(begin) for row in found):
            raise BenchError(f"'{GUIDE}' has no row that begins with '{begin}'")
    return found


def rows_of(guide: str, section: str) -> Iterator[list[str]]:
    """Yield the rows of all tables of a section, with four cells; the command may be empty."""
    inside = False
    for line in guide.splitlines():
        if line.startswith("## "):
            inside = line == f"## {section}"
        if inside and line.startswith("| ") and not line.startswith("| what |"):
            cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
            yield cells if len(cells) == 4 else [cells[0], "", *cells[1:]]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]
