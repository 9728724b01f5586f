"""Python."""

from collections.abc import Iterator
from types import MappingProxyType
from typing import TYPE_CHECKING

from custody.core.paths import Lines
from custody.core.patterns import lazy_pattern
from custody.dupes.facts.model import Declaration, ExportedName, Facts, ImportedModule, TestName, identifier_to_sentence
from custody.dupes.facts.syntax_tree import Grammar
from custody.dupes.facts.walk import (
    LanguageReader,
    SyntaxWalk,
    collect_test_intent,
    get_named_child,
    imports_test_framework,
    lines_from_node,
    select_suites_with_tests,
)

if TYPE_CHECKING:
    from tree_sitter import Node

FRAMEWORKS = frozenset("pytest unittest nose nose2 hypothesis testtools trial doctest absltest mock".split())
_FRAMEWORK_PARTS = ("django.test", "twisted.trial", "absl.testing", "rest_framework.test", "numpy.testing")
_TEST_BASE = lazy_pattern(r"(?:^|\.|_)\w*(?:TestCase|TestBase|TransactionTest)\w*$")
_ASSERTION = lazy_pattern(
    rb"(?:self|cls)\s*\.\s*(assert\w*|fail\w*)\s*\(|pytest\s*\.\s*(raises|warns|deprecated_call)\s*\("
)
_RELEVANT = lazy_pattern(rb"\bdef[ \t]+test|\bassert")


def _load_python_grammar() -> object:
    import tree_sitter_python

    return tree_sitter_python.language()


def is_test_framework(module: str) -> bool:
    """Return whether tests are written with this module."""
    return module.partition(".")[0] in FRAMEWORKS or module.startswith(_FRAMEWORK_PARTS)


def _extract_python_decorators(walk: SyntaxWalk, node: "Node") -> None:
    definition = node.child_by_field_name("definition")
    if definition is not None:
        walk.set_first_line(node.start_point[0] + 1, definition.start_byte)


def _extract_python_class(walk: SyntaxWalk, node: "Node") -> None:
    name = walk.field_text(node)
    lines = walk.declare(node, name, "class")
    bases = [base.strip() for base in walk.field_text(node, "superclasses").strip("()").split(",")]
    is_case = any(_TEST_BASE.search(base) for base in bases)
    is_suite = walk.scope.kind != "function" and (is_case or name.startswith("Test") or name.endswith("Tests"))
    walk.enter(node, name, "suite" if is_suite else "class")
    if is_suite:
        walk.suites.append(TestName(identifier_to_sentence(name), lines))


def _extract_python_function(walk: SyntaxWalk, node: "Node") -> None:
    name = walk.field_text(node)
    in_class = walk.scope.kind in ("class", "suite")
    lines = walk.declare(node, name, "method" if in_class else "function")
    if name.startswith("test") and walk.scope.kind in ("file", "suite"):
        walk.tests.append(TestName(identifier_to_sentence(name), lines))
    walk.enter(node, name)


def _extract_python_import(walk: SyntaxWalk, node: "Node") -> None:
    for name in node.children_by_field_name("name"):
        walk.imports.append(ImportedModule(walk.field_text(name) or walk.text(name), lines_from_node(node)))


def _extract_python_from_import(walk: SyntaxWalk, node: "Node") -> None:
    if module := walk.field_text(node, "module_name"):
        walk.imports.append(ImportedModule("".join(module.split()), lines_from_node(node)))


def _extract_python_assertion_call(walk: SyntaxWalk, node: "Node") -> None:
    if match := _ASSERTION.match(walk.content, node.start_byte):
        walk.matched.append(TestName(walk.decode_name(match[1] or match[2]), lines_from_node(node)))


def _extract_python_assert(walk: SyntaxWalk, node: "Node") -> None:
    walk.matched.append(TestName("assert", lines_from_node(node)))


def _collect_python_facts(walk: SyntaxWalk, root: "Node") -> Facts:
    listed = _extract_module_constants(walk, root)
    walk.suites = select_suites_with_tests(walk.suites, walk.tests)
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
    lines_by_name: dict[str, Lines] = {}
    for declaration in declared:
        lines_by_name.setdefault(declaration.name, declaration.lines)
    exports = [(name, lines) for name, lines in lines_by_name.items() if name in public] if listed is None else listed
    return Facts(
        declared=declared,
        exports=tuple(ExportedName(name, lines_by_name.get(name, lines)) for name, lines in exports),
        imports=tuple(walk.imports),
        intent=collect_test_intent(walk, is_test_framework),
        is_test=bool(walk.tests) and (bool(walk.suites) or imports_test_framework(walk, is_test_framework)),
    )


def _extract_module_constants(walk: SyntaxWalk, root: "Node") -> list[tuple[str, Lines]] | None:
    """Add the constants of the module; return the names in ``__all__`` with their lines, or None without it."""
    listed: list[tuple[str, Lines]] | None = None
    walk.advance_to(len(walk.content))
    for statement in root.named_children:
        assignment = get_named_child(statement) if statement.type == "expression_statement" else statement
        if assignment is None or assignment.type not in ("assignment", "augmented_assignment", "type_alias_statement"):
            continue
        left, right = assignment.child_by_field_name("left"), assignment.child_by_field_name("right")
        if left is None:
            continue
        if walk.text(left) == "__all__":
            listed = [*(listed or ()), *_list_dunder_all_names(walk, right)]
        elif assignment.type != "augmented_assignment":
            for target in left.named_children or [left]:
                if target.type == "identifier":
                    walk.declare(statement, walk.text(target), "const")
    return listed


def _list_dunder_all_names(walk: SyntaxWalk, value: "Node | None") -> Iterator[tuple[str, Lines]]:
    if value is not None and value.type in ("list", "tuple"):
        for entry in value.named_children:
            content = get_named_child(entry, 1)
            if content is not None and content.type == "string_content":
                yield walk.text(content), lines_from_node(entry)


READER = LanguageReader(
    name="python",
    grammar=Grammar("python", _load_python_grammar),
    handlers=MappingProxyType(
        {
            "decorated_definition": _extract_python_decorators,
            "class_definition": _extract_python_class,
            "function_definition": _extract_python_function,
            "import_statement": _extract_python_import,
            "import_from_statement": _extract_python_from_import,
        }
    ),
    calls=MappingProxyType({"call": _extract_python_assertion_call, "assert_statement": _extract_python_assert}),
    wants_calls=lambda content: _RELEVANT.search(content) is not None,
    finish=_collect_python_facts,
)
