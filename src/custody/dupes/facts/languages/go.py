"""Go."""

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from custody.dupes.facts.model import Facts, ImportedModule, TestName, plain, spelt
from custody.dupes.facts.syntax_tree import Grammar
from custody.dupes.facts.walk import Handler, LanguageReader, SyntaxWalk, child_of, intent_of, lines_of, surface

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
_TEST = re.compile(r"(?:Test|Benchmark|Fuzz|Example)(?![a-z])")
_RECEIVER = re.compile(r"\(\s*(?:\w+\s+)?\*?\s*(\w+)")
_SUBTEST = re.compile(rb"\w+\.Run\s*\(\s*[\"`]")
_ASSERTION = re.compile(rb"(?:assert|require|is)\.([A-Z]\w*)\s*\(|t\.((?:Error|Fatal)f?|Fail(?:Now)?)\s*\(")


def _grammar() -> object:
    import tree_sitter_go

    return tree_sitter_go.language()


def is_framework(module: str) -> bool:
    """Whether tests are written with this package."""
    return module.startswith(FRAMEWORK_HEADS)


def _is_public(name: str) -> bool:
    return name[:1].isupper()


def _function(walk: SyntaxWalk, node: "Node") -> None:
    name = walk.named(node)
    lines = walk.declare(node, name, "function", exported=_is_public(name))
    if _TEST.match(name):
        walk.tests.append(TestName(spelt(name), lines))
    walk.enter(node, name)


def _method(walk: SyntaxWalk, node: "Node") -> None:
    found = _RECEIVER.match(walk.named(node, "receiver"))
    holder, name = found[1] if found else "", walk.named(node)
    full = f"{holder}.{name}" if holder else name
    lines = walk.declare(node, full, "method", exported=_is_public(name) and _is_public(holder))
    if _TEST.match(name) and "Suite" in holder:
        walk.tests.append(TestName(spelt(name), lines))
    walk.enter(node, full)


def _declares(kind: str) -> Handler:
    """Names are declarations outside of functions only."""

    def handle(walk: SyntaxWalk, node: "Node") -> None:
        if walk.scope.kind != "file":
            return
        for target in node.children_by_field_name("name"):
            if target.is_named:
                name = walk.text(target)
                walk.declare(node, name, kind, exported=_is_public(name))

    return handle


def _import(walk: SyntaxWalk, node: "Node") -> None:
    if module := walk.named(node, "path").strip('"`'):
        walk.imports.append(ImportedModule(module, lines_of(node)))


def _call(walk: SyntaxWalk, node: "Node") -> None:
    if _SUBTEST.match(walk.content, node.start_byte):
        arguments = node.child_by_field_name("arguments")
        first = child_of(arguments)
        if first is not None and (name := plain(walk.text(first))):
            walk.tests.append(TestName(name, lines_of(node)))
    elif found := _ASSERTION.match(walk.content, node.start_byte):
        walk.matched.append(TestName(walk.bare(found[1] or found[2]), lines_of(node)))


def _facts(walk: SyntaxWalk, root: "Node") -> Facts:
    del root
    is_test = any(is_framework(imported.module) for imported in walk.imports)
    if not is_test:
        walk.tests = []
    return Facts(
        declared=tuple(walk.declared),
        exports=surface(walk),
        imports=tuple(walk.imports),
        intent=intent_of(walk, is_framework),
        is_test=is_test,
    )


READER = LanguageReader(
    name="go",
    grammar=Grammar("go", _grammar),
    handlers=MappingProxyType(
        {
            "import_spec": _import,
            "function_declaration": _function,
            "method_declaration": _method,
            "type_spec": _declares("type"),
            "type_alias": _declares("type"),
            "const_spec": _declares("const"),
            "var_spec": _declares("var"),
        }
    ),
    calls=MappingProxyType({"call_expression": _call}),
    wants_calls=lambda content: b'"testing"' in content,
    finish=_facts,
)
