"""The check of names: every public type has a noun of its own, and no function is called by a word without a verb.

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
METHODS_KEPT = frozenset({"Attempt.words"})
"""Methods that stay: they are public through custody.sources."""
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
            yield from _module_statements([*statement.body, *statement.orelse])


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
        is_kept = f"{owners.get(id(node))}.{node.name}" in METHODS_KEPT
        if node.name.lstrip("_") in BANNED_FUNCTIONS and not is_kept:
            yield node.lineno, f"the function '{node.name}' has no verb"


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
