"""Python."""

import re
from collections.abc import Iterator
from types import MappingProxyType
from typing import TYPE_CHECKING

from custody.core.paths import Lines
from custody.dupes.facts.model import Declaration, ExportedName, Facts, ImportedModule, TestName, spelt
from custody.dupes.facts.syntax_tree import Grammar
from custody.dupes.facts.walk import LanguageReader, SyntaxWalk, child_of, intent_of, lines_of, with_tests

if TYPE_CHECKING:
    from tree_sitter import Node

FRAMEWORKS = frozenset("pytest unittest nose nose2 hypothesis testtools trial doctest absltest mock".split())
_FRAMEWORK_PARTS = ("django.test", "twisted.trial", "absl.testing", "rest_framework.test", "numpy.testing")
_TEST_BASE = re.compile(r"(?:^|\.|_)\w*(?:TestCase|TestBase|TransactionTest)\w*$")
_ASSERTION = re.compile(
    rb"(?:self|cls)\s*\.\s*(assert\w*|fail\w*)\s*\(|pytest\s*\.\s*(raises|warns|deprecated_call)\s*\("
)
_WANTED = re.compile(rb"\bdef[ \t]+test|\bassert")


def _grammar() -> object:
    import tree_sitter_python

    return tree_sitter_python.language()


def is_framework(module: str) -> bool:
    """Whether tests are written with this module."""
    return module.partition(".")[0] in FRAMEWORKS or module.startswith(_FRAMEWORK_PARTS)


def _decorated(walk: SyntaxWalk, node: "Node") -> None:
    definition = node.child_by_field_name("definition")
    if definition is not None:
        walk.lead(node.start_point[0] + 1, definition.start_byte)


def _class(walk: SyntaxWalk, node: "Node") -> None:
    name = walk.named(node)
    lines = walk.declare(node, name, "class")
    bases = [base.strip() for base in walk.named(node, "superclasses").strip("()").split(",")]
    is_case = any(_TEST_BASE.search(base) for base in bases)
    is_suite = walk.scope.kind != "function" and (is_case or name.startswith("Test") or name.endswith("Tests"))
    walk.enter(node, name, "suite" if is_suite else "class")
    if is_suite:
        walk.suites.append(TestName(spelt(name), lines))


def _function(walk: SyntaxWalk, node: "Node") -> None:
    name = walk.named(node)
    in_class = walk.scope.kind in ("class", "suite")
    lines = walk.declare(node, name, "method" if in_class else "function")
    if name.startswith("test") and walk.scope.kind in ("file", "suite"):
        walk.tests.append(TestName(spelt(name), lines))
    walk.enter(node, name)


def _import(walk: SyntaxWalk, node: "Node") -> None:
    for name in node.children_by_field_name("name"):
        walk.imports.append(ImportedModule(walk.named(name) or walk.text(name), lines_of(node)))


def _import_from(walk: SyntaxWalk, node: "Node") -> None:
    if module := walk.named(node, "module_name"):
        walk.imports.append(ImportedModule("".join(module.split()), lines_of(node)))


def _call(walk: SyntaxWalk, node: "Node") -> None:
    if found := _ASSERTION.match(walk.content, node.start_byte):
        walk.matched.append(TestName(walk.bare(found[1] or found[2]), lines_of(node)))


def _assert(walk: SyntaxWalk, node: "Node") -> None:
    walk.matched.append(TestName("assert", lines_of(node)))


def _facts(walk: SyntaxWalk, root: "Node") -> Facts:
    listed = _top_level(walk, root)
    walk.suites = with_tests(walk.suites, walk.tests)
    public = {
        declaration.name
        for declaration in walk.declared
        if "." not in declaration.name and not declaration.name.startswith("_")
    }
    names = public if listed is None else {name for name, _ in listed}
    declared = tuple(
        Declaration(declaration.name, declaration.kind, declaration.lines, declaration.name.partition(".")[0] in names)
        for declaration in sorted(walk.declared, key=lambda declaration: declaration.lines)
    )
    where: dict[str, Lines] = {}
    for declaration in declared:
        where.setdefault(declaration.name, declaration.lines)
    surface = [(name, lines) for name, lines in where.items() if name in public] if listed is None else listed
    imports = tuple(walk.imports)
    return Facts(
        declared=declared,
        exports=tuple(ExportedName(name, where.get(name, lines)) for name, lines in surface),
        imports=imports,
        intent=intent_of(walk, is_framework),
        is_test=bool(walk.tests) and (bool(walk.suites) or any(is_framework(imported.module) for imported in imports)),
    )


def _top_level(walk: SyntaxWalk, root: "Node") -> list[tuple[str, Lines]] | None:
    """Note the constants of the module; the names that ``__all__`` lists, with their places, or None without it."""
    listed: list[tuple[str, Lines]] | None = None
    walk.to(len(walk.content))
    for statement in root.named_children:
        given = child_of(statement) if statement.type == "expression_statement" else statement
        if given is None or given.type not in ("assignment", "augmented_assignment", "type_alias_statement"):
            continue
        left, right = given.child_by_field_name("left"), given.child_by_field_name("right")
        if left is None:
            continue
        if walk.text(left) == "__all__":
            listed = [*(listed or ()), *_listed(walk, right)]
        elif given.type != "augmented_assignment":
            for target in left.named_children or [left]:
                if target.type == "identifier":
                    walk.declare(statement, walk.text(target), "const")
    return listed


def _listed(walk: SyntaxWalk, value: "Node | None") -> Iterator[tuple[str, Lines]]:
    if value is not None and value.type in ("list", "tuple"):
        for entry in value.named_children:
            content = child_of(entry, 1)
            if content is not None and content.type == "string_content":
                yield walk.text(content), lines_of(entry)


READER = LanguageReader(
    name="python",
    grammar=Grammar("python", _grammar),
    handlers=MappingProxyType(
        {
            "decorated_definition": _decorated,
            "class_definition": _class,
            "function_definition": _function,
            "import_statement": _import,
            "import_from_statement": _import_from,
        }
    ),
    calls=MappingProxyType({"call": _call, "assert_statement": _assert}),
    wants_calls=lambda content: _WANTED.search(content) is not None,
    finish=_facts,
)
