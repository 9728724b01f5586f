"""Go."""

from types import MappingProxyType
from typing import TYPE_CHECKING

from custody.core.patterns import lazy_pattern
from custody.dupes.facts.model import Facts, ImportedModule, TestName, identifier_to_sentence, normalize_test_name
from custody.dupes.facts.syntax_tree import Grammar
from custody.dupes.facts.walk import (
    Handler,
    LanguageReader,
    SyntaxWalk,
    facts_from_walk,
    get_named_child,
    imports_test_framework,
    lines_from_node,
)

if TYPE_CHECKING:
    from tree_sitter import Node

FRAMEWORK_HEADS = (
    "testing",
    "github.com/stretchr/testify",
    "github.com/onsi/ginkgo",
    "github.com/onsi/gomega",
    "gotest.tools",
    "github.com/google/go-cmp",
    "go.uber.org/mock",
)
_TEST = lazy_pattern(r"(?:Test|Benchmark|Fuzz|Example)(?![a-z])")
_RECEIVER = lazy_pattern(r"\(\s*(?:\w+\s+)?\*?\s*(\w+)")
_SUBTEST = lazy_pattern(rb"\w+\.Run\s*\(\s*[\"`]")
_ASSERTION = lazy_pattern(rb"(?:assert|require|is)\.([A-Z]\w*)\s*\(|t\.((?:Error|Fatal)f?|Fail(?:Now)?)\s*\(")


def _load_go_grammar() -> object:
    import tree_sitter_go

    return tree_sitter_go.language()


def is_test_framework(module: str) -> bool:
    """Return whether tests are written with this package."""
    return module.startswith(FRAMEWORK_HEADS)


def _is_exported_name(name: str) -> bool:
    return name[:1].isupper()


def _extract_go_function(walk: SyntaxWalk, node: "Node") -> None:
    name = walk.field_text(node)
    lines = walk.declare(node, name, "function", exported=_is_exported_name(name))
    if _TEST.match(name):
        walk.tests.append(TestName(identifier_to_sentence(name), lines))
    walk.enter(node, name)


def _extract_go_method(walk: SyntaxWalk, node: "Node") -> None:
    match = _RECEIVER.match(walk.field_text(node, "receiver"))
    receiver, name = match[1] if match else "", walk.field_text(node)
    full = f"{receiver}.{name}" if receiver else name
    lines = walk.declare(node, full, "method", exported=_is_exported_name(name) and _is_exported_name(receiver))
    if _TEST.match(name) and "Suite" in receiver:
        walk.tests.append(TestName(identifier_to_sentence(name), lines))
    walk.enter(node, full)


def _make_go_declaration_handler(kind: str) -> Handler:
    """Make a handler of declarations at the top level; names in functions are local."""

    def handle(walk: SyntaxWalk, node: "Node") -> None:
        if walk.scope.kind != "file":
            return
        for target in node.children_by_field_name("name"):
            if target.is_named:
                name = walk.text(target)
                walk.declare(node, name, kind, exported=_is_exported_name(name))

    return handle


def _extract_go_import(walk: SyntaxWalk, node: "Node") -> None:
    if module := walk.field_text(node, "path").strip('"`'):
        walk.imports.append(ImportedModule(module, lines_from_node(node)))


def _extract_go_test_call(walk: SyntaxWalk, node: "Node") -> None:
    if _SUBTEST.match(walk.content, node.start_byte):
        arguments = node.child_by_field_name("arguments")
        first = get_named_child(arguments)
        if first is not None and (name := normalize_test_name(walk.text(first))):
            walk.tests.append(TestName(name, lines_from_node(node)))
    elif match := _ASSERTION.match(walk.content, node.start_byte):
        walk.matched.append(TestName(walk.decode_name(match[1] or match[2]), lines_from_node(node)))


def _collect_go_facts(walk: SyntaxWalk, root: "Node") -> Facts:
    del root
    is_test = imports_test_framework(walk, is_test_framework)
    if not is_test:
        walk.tests = []
    return facts_from_walk(walk, is_test_framework, is_test=is_test)


READER = LanguageReader(
    name="go",
    grammar=Grammar("go", _load_go_grammar),
    handlers=MappingProxyType(
        {
            "import_spec": _extract_go_import,
            "function_declaration": _extract_go_function,
            "method_declaration": _extract_go_method,
            "type_spec": _make_go_declaration_handler("type"),
            "type_alias": _make_go_declaration_handler("type"),
            "const_spec": _make_go_declaration_handler("const"),
            "var_spec": _make_go_declaration_handler("var"),
        }
    ),
    calls=MappingProxyType({"call_expression": _extract_go_test_call}),
    wants_calls=lambda content: b'"testing"' in content,
    finish=_collect_go_facts,
)
