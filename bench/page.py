"""docs/accuracy.md, from the kept results and from rows of bench/README.md. Files in, text out."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from bench.bars import BenchError
from bench.kept import RESULTS, RUNS, Kept, read

PAGE = "docs/accuracy.md"
GUIDE = "bench/README.md"
INTRO = """<!-- Made by 'python -m bench tables --write' from bench/results and bench/README.md; do not edit. -->

# How good the answers are

Every table below was written by the command above it, into `bench/results`, and this page is made from those files.
`DATA` is a folder with the streams that the benches name, `REPORTS` one with Markdown reports. What takes long is taken
over from the tables of [bench/README.md](../bench/README.md), which also says what each figure means, what was looked
at while rules were chosen, and how fast things are. Where a bar is missed, it says so.
"""
PARTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Attribution": (
            "91 stories, transcripts",
            "91 stories, `agent-trace-cli`",
            "16 random histories",
            "the same, transcripts",
            "12 random histories",
        ),
        "Trust": ("parts: ",),
        "Duplicates": ("aiohttp, ", "django, ", "calibration error: aiohttp"),
        "Citations": (
            "files, names and dependencies",
            "those 25 looked at",
            "right names in them",
            "near copies of",
            "vector search",
        ),
        "Redaction": (),
        "Graph": ("139 traces of agents",),
        "Other tools": (),
    }
)
"""The headings of the page, in order, and how the rows begin that are taken over under each."""


def accuracy_page(root: Path) -> str:
    """The whole page; a result of no bench, or a row that is gone from the guide, is an error."""
    files = {path.stem: path for path in (root / RESULTS).glob("*.json")}
    if lost := sorted(files.keys() - RUNS.keys()):
        raise BenchError(f"'{RESULTS}/{lost[0]}.json' is the result of no bench")
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
        blocks.append(f"Taken over from [bench/README.md](../bench/README.md):\n\n{_table(header, rows)}")
    return "\n".join(blocks)


def taken(guide: str, part: str) -> list[list[str]]:
    """The guide's rows that the page takes over under ``part``, in the guide's order."""
    wanted = PARTS[part]
    found = [row for row in rows_of(guide, part) if row[0].startswith(wanted)]
    for begin in wanted:
        if not any(row[0].startswith(begin) for row in found):
            raise BenchError(f"'{GUIDE}' has no row any more that begins with '{begin}'")
    return found


def rows_of(guide: str, section: str) -> Iterator[list[str]]:
    """The rows of all tables of a section, with four cells: a table without a command has none there."""
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
