"""The check of shapes: no class has nearly the same fields as a class of another package.

``python -m tools.twins`` checks ``src/custody`` by section 4 of STYLE.md: a noun has one type inside and one JSON shape
at the edge. Two classes are twins if they share at least three fields, and these are at least 60 % of the fields of
each. A JSON shape may have the fields of an inner type, so such pairs are only counted; ``--all`` lists them.
"""

import argparse
import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from tools.problems import Problem

SOURCE = "src/custody"
SHARED_MIN = 3
SHARE_MIN = 0.6
WIRE = frozenset({"wire", "wire.py"})
WIRE_FILES = frozenset({"why/report.py"})
"""Files outside ``wire`` with JSON shapes only."""

_SESSION = "both name a session, and nothing else is the same"
_PUBLISHED = "each is part of another published JSON schema, with other ranges or fields"
_REQUEST = "the body of a request with its limits, and a stored event or a report"
_TRACED = "a traced program loads no other package (the contract 'sdk')"
JUDGED: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("CallLine", "CallLink"): _PUBLISHED,
        ("CallTraceEvent", "TraceEvent"): _TRACED,
        ("Chain", "ChainState"): _PUBLISHED,
        ("ChainExtent", "ChainHead"): _PUBLISHED,
        ("ChainExtent", "ChainReceipt"): _PUBLISHED,
        ("ChainExtent", "ChainState"): _PUBLISHED,
        ("CiteSource", "SourceDescription"): "a report on a source in the registry, and a stored event",
        ("CommandResult", "WorkerEnd"): "text of a command, and limited output of a worker that a signal may end",
        ("CommitLink", "SessionEdit"): _SESSION,
        ("Decision", "DecisionRequest"): "a request names a commit and a time as text, and may lack its id and time",
        ("EvidenceItem", "RecordSummary"): _PUBLISHED,
        ("BlameEntry", "FileVersion"): "one run of git's blame in bytes, and a whole file with the origin of each line",
        ("FileEdit", "FileSnapshot"): "a snapshot is an edit or a file state at its place in the replay, decoded",
        ("HttpAnswer", "_Answer"): "an answer that a server gives, and one that a client received",
        ("ImportProblem", "SpanPlace"): "a place that was repaired is not a problem",
        ("Observation", "SessionEdit"): _SESSION,
        ("ObservedSpan", "SpanRecord"): _TRACED,
        ("PageReading", "SourceUse"): "a reading has a time and may come from a prompt; a use is part of one call",
        ("Prompt", "SessionEdit"): _SESSION,
        ("Prompt", "Trace"): _SESSION,
        ("PromptBody", "PromptLine"): _REQUEST,
        ("PromptBody", "PromptLink"): _REQUEST,
        ("PromptItem", "PromptLine"): _PUBLISHED,
        ("PromptItem", "PromptLink"): _PUBLISHED,
        ("PromptLine", "PromptLink"): _PUBLISHED,
        ("SourceBody", "SourceDescription"): _REQUEST,
        ("SourceBody", "SourceEvent"): _REQUEST,
    }
)
"""Pairs of twins that stay two types, each with its reason."""


class FieldedClass(NamedTuple):
    """A class with its fields, and whether it is a JSON shape."""

    path: str
    line: int
    name: str
    package: str
    fields: frozenset[str]
    is_wire: bool


def check(root: Path, judged: Mapping[tuple[str, str], str] = JUDGED) -> list[Problem]:
    """Return the twins below ``root`` without a row in ``judged``, and the rows that name no twins."""
    pairs = list(find_twins(_read_classes(root)))
    problems = [_describe_twins(*pair) for pair in pairs if is_one_side(*pair) and _key(*pair) not in judged]
    for left, right in judged.keys() - {_key(*pair) for pair in pairs}:
        problems.append(Problem("tools/twins.py", 0, f"'{left}' and '{right}' are not twins: remove their row"))
    return sorted(problems)


def find_twins(classes: Iterable[FieldedClass]) -> Iterator[tuple[FieldedClass, FieldedClass]]:
    """Yield every pair of classes of two packages with nearly the same fields."""
    for left, right in combinations([c for c in classes if len(c.fields) >= SHARED_MIN], 2):
        shared = len(left.fields & right.fields)
        is_near = shared >= SHARED_MIN and shared >= SHARE_MIN * max(len(left.fields), len(right.fields))
        if is_near and left.package != right.package:
            yield left, right


def is_one_side(left: FieldedClass, right: FieldedClass) -> bool:
    """Return whether both are inner types, or both JSON shapes."""
    return left.is_wire == right.is_wire


def _key(left: FieldedClass, right: FieldedClass) -> tuple[str, str]:
    first, second = sorted((left.name, right.name))
    return first, second


def _describe_twins(left: FieldedClass, right: FieldedClass) -> Problem:
    shared = ", ".join(sorted(left.fields & right.fields))
    where = f"{right.path}:{right.line}"
    return Problem(left.path, left.line, f"'{left.name}' has the fields of '{right.name}' ({where}): {shared}")


def _read_classes(root: Path) -> Iterator[FieldedClass]:
    source = root / SOURCE
    for path in sorted(source.rglob("*.py")):
        within = path.relative_to(source)
        is_wire = not WIRE.isdisjoint(within.parts) or within.as_posix() in WIRE_FILES
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                name = path.relative_to(root).as_posix()
                fields = frozenset(_read_fields(node))
                yield FieldedClass(name, node.lineno, node.name, within.parts[0], fields, is_wire)


def _read_fields(node: ast.ClassDef) -> Iterator[str]:
    """Yield the fields that the class declares itself."""
    for statement in node.body:
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        if not ast.unparse(statement.annotation).startswith("ClassVar"):
            yield statement.target.id


def main() -> int:
    """Print every pair of twins and the counts; 1 if a pair has no row."""
    parser = argparse.ArgumentParser(description="Check that no class repeats the fields of another package's class.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--all", action="store_true", help="also list the judged pairs, and JSON shapes of inner types")
    arguments = parser.parse_args()
    problems = check(arguments.root)
    for problem in problems:
        print(problem)
    if arguments.all:
        _list_pairs(arguments.root)
    return int(bool(problems))


def _list_pairs(root: Path) -> None:
    classes = [c for c in _read_classes(root) if len(c.fields) >= SHARED_MIN]
    pairs = list(find_twins(classes))
    for title, is_same in (("judged", True), ("JSON shapes of inner types", False)):
        chosen = [pair for pair in pairs if is_one_side(*pair) is is_same]
        twins = {side for pair in chosen for side in pair}
        print(f"{title}: {len(chosen)} pairs, {len(twins)} of {len(classes)} classes with {SHARED_MIN} fields or more")
        for left, right in chosen:
            print(f"  {left.path}:{left.line} {left.name} ~ {right.path}:{right.line} {right.name}")


if __name__ == "__main__":
    sys.exit(main())
