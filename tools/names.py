"""The check of names: every public type has a noun of its own, and every public method starts with a verb.

``python -m tools.names`` checks ``src/custody`` by section 1 of STYLE.md, as far as a program can tell.
"""

import argparse
import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from tools.problems import Problem

SOURCE = "src/custody"
BANNED_WORDS = frozenset(
    "About Again Against All Are Around Asked Answered Before Behind Beside Both Bound Brought Came Canonical"
    " Done Each Earlier Effective Every Found Gone Given Has Heard Held Here How Is Judged Kept Known Landed"
    " Lately Learnt Like Looked Lost Made Many Meant Near Never Now Nothing One Only Ours Past Put Ran Rests Said"
    " Says Seen Sent Shown Some Taken Theirs There Told Wanted Was What When Where Which Who Whose Why Wish"
    " Withheld Worded Words Written Wrote".split()
)
"""Words with which no type name may end: participles, pronouns and adverbs."""
NOUNS = frozenset("Finding Heading Listing Reading Setting String Thing Warning Standing Winnowing Binding".split())
"""Words that look like participles and are nouns of the field."""
EXCEPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "Compressed": "a public name of custody.sources",
        "Near": "a public name of custody.sources",
        "SourceLost": "an event of the source registry says what happened",
        "WorkerLost": "an error says what happened",
        "NameNotFound": "an error says what happened",
    }
)
"""Type names that stay, each with its reason."""
BANNED_FUNCTIONS = frozenset("told words said asked one".split())
"""Names of functions and methods, with or without an underscore before them."""
BANNED_STARTS = frozenset(
    "about after again against all among around at before behind below beside between brought by done during earlier"
    " every everything from gave given gone heard held in known lost made many near of off on past said see seen sent"
    " shown since taken to under until what when where which who whose why with withheld within without wrong"
    " written".split()
)
"""Words without a verb with which no public method starts; participles in ``-ed`` are found by their ending."""
STARTS_BEFORE_A_NOUN: Mapping[str, str] = MappingProxyType(
    {
        "after": "a callback",
        "before": "a callback",
        "on": "a callback",
        "to": "a conversion",
        "with": "a changed copy",
    }
)
"""Starts that are a convention when a noun follows: ``on_end``, ``to_report``, ``with_notes``."""
VERBS_IN_ED = frozenset("embed feed need seed shed".split())
_PUBLIC = "public through custody.sources"
_OLDER = "older than the rule; renamed with the next change of its type"
METHODS_KEPT: Mapping[str, str] = MappingProxyType(
    {
        "Attempt.words": _PUBLIC,
        "AttentionAwareContextManager.accessed": _PUBLIC,
        "CircuitBreaker.failed": _PUBLIC,
        "CircuitBreaker.gave_up": _PUBLIC,
        "CircuitBreaker.succeeded": _PUBLIC,
        "ContextPerformanceMonitor.compressed": _PUBLIC,
        "ContextPerformanceMonitor.evicted": _PUBLIC,
        "ContextPerformanceMonitor.looked_up": _PUBLIC,
        "ContextPerformanceMonitor.prefetched": _PUBLIC,
        "ContextPerformanceMonitor.registered": _PUBLIC,
        "DraftLoop.answered": _PUBLIC,
        "RestorableSourceCompressor.restored_text": _PUBLIC,
        "SourceUsage.used_by": _PUBLIC,
        "_Repository.ordered_sources": _PUBLIC,
        "EffectiveRules.of": _OLDER,
        "ForeignStates.withheld": _OLDER,
        "LineAttributor.of": _OLDER,
        "LineAttributor.of_file": _OLDER,
        "Lineage.known": _OLDER,
        "Lineage.withheld": _OLDER,
        "LineageTables.adopted": _OLDER,
        "LineageTables.brought": _OLDER,
        "LineageTables.by_first_snapshot": _OLDER,
        "LineageTables.of_chain": _OLDER,
        "LineageTables.replayed": _OLDER,
        "LineageTables.touched": _OLDER,
        "OpenVersion.closed": _OLDER,
        "Proposals.of": _OLDER,
        "RemovedLines.by": _OLDER,
        "Setting.under": _OLDER,
        "_SegmentQuery.of": _OLDER,
    }
)
"""Methods that stay, each with its reason."""
BANNED_VARIABLES = frozenset({"one"})
"""Names of variables and parameters; fields of a type may be part of its JSON."""

_HUMP = re.compile(r"[A-Z][a-z0-9]*|[A-Z]+(?![a-z])")


def check(root: Path) -> list[Problem]:
    """Return what is wrong with the names below ``root``, by file and line."""
    defined: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    problems: list[Problem] = []
    for path in sorted((root / SOURCE).rglob("*.py")):
        name = path.relative_to(root).as_posix()
        tree = ast.parse(path.read_text("utf-8"))
        for type_name, line in _types(tree):
            if not type_name.startswith("_") and len(type_name) > 1:
                defined[type_name].append((name, line))
            if why := _wrong_type(type_name):
                problems.append(Problem(name, line, why))
        problems += [Problem(name, line, why) for line, why in _wrong_functions(tree)]
        problems += [Problem(name, line, why) for line, why in _wrong_variables(tree)]
    return sorted([*problems, *_repeated(defined)])


def _types(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield every class, and every type alias of the module itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name, node.lineno
    for statement in _module_statements(tree.body):
        targets = statement.targets if isinstance(statement, ast.Assign) else ()
        if isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        for target in targets:
            if isinstance(target, ast.Name) and _HUMP.match(target.id.lstrip("_")) and not target.id.isupper():
                yield target.id, target.lineno


def _module_statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, ast.If):
            # What is defined for type checkers is the same type as what is defined for the interpreter.
            is_checked = isinstance(statement.test, ast.Name) and statement.test.id == "TYPE_CHECKING"
            yield from _module_statements([*statement.body, *(() if is_checked else statement.orelse)])


def _wrong_type(name: str) -> str | None:
    """Return why a type may not have this name.

    >>> _wrong_type("_Told"), _wrong_type("GateEvidence"), _wrong_type("Finding")
    ("the type '_Told' is named by 'Told', not by a noun", None, None)
    >>> _wrong_type("Weighed")
    "the type 'Weighed' is named by 'Weighed', not by a noun"
    """
    humps = _HUMP.findall(name)
    if not humps or name in EXCEPTIONS:
        return None
    last = humps[-1]
    is_participle = len(humps) == 1 and last.endswith(("ed", "ing")) and last not in NOUNS
    if last in BANNED_WORDS or is_participle:
        return f"the type '{name}' is named by '{last}', not by a noun"
    return None


def _wrong_functions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    owners = {id(child): node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for child in node.body}
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        owner = owners.get(id(node))
        if f"{owner}.{node.name}" in METHODS_KEPT:
            continue
        if node.name.lstrip("_") in BANNED_FUNCTIONS:
            yield node.lineno, f"the function '{node.name}' has no verb"
        elif owner is not None and not _may_omit_verb(node) and _lacks_verb(node.name):
            yield node.lineno, f"the method '{owner}.{node.name}' has no verb"


def _may_omit_verb(method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a method is read like a value: a property, a block of ``with``, a constructor."""
    decorators = " ".join(ast.unparse(decorator) for decorator in method.decorator_list)
    return any(kind in decorators for kind in ("property", "contextmanager", "classmethod"))


def _lacks_verb(method: str) -> bool:
    """Return whether a public method starts with a preposition, an adverb or a participle.

    >>> _lacks_verb("behind"), _lacks_verb("erased_here"), _lacks_verb("all"), _lacks_verb("to")
    (True, True, True, True)
    >>> _lacks_verb("count_unread_records"), _lacks_verb("to_report"), _lacks_verb("_known")
    (False, False, False)
    """
    start, _, rest = method.partition("_")
    if start in BANNED_STARTS:
        return not (rest and start in STARTS_BEFORE_A_NOUN)
    return start.endswith("ed") and start not in VERBS_IN_ED


def _wrong_variables(tree: ast.Module) -> Iterator[tuple[int, str]]:
    fields = {id(field.target) for field in ast.walk(tree) if isinstance(field, ast.AnnAssign)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in fields:
            if node.id in BANNED_VARIABLES:
                yield node.lineno, f"the variable '{node.id}' does not say what it holds"
        elif isinstance(node, ast.arg) and node.arg in BANNED_VARIABLES:
            yield node.lineno, f"the parameter '{node.arg}' does not say what it holds"


def _repeated(defined: Mapping[str, list[tuple[str, int]]]) -> Iterator[Problem]:
    for name, places in defined.items():
        if len(places) > 1:
            others = ", ".join(path for path, _ in places[:-1])
            path, line = places[-1]
            yield Problem(path, line, f"the type '{name}' is also defined in {others}")


def main() -> int:
    """Print every problem; 1 if there is any."""
    parser = argparse.ArgumentParser(description="Check the names of types and functions.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    arguments = parser.parse_args()
    problems = check(arguments.root)
    for problem in problems:
        print(problem)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
