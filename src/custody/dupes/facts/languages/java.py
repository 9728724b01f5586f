"""Java."""

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from custody.dupes.facts.model import Facts, ImportedModule, TestName, plain, spelt
from custody.dupes.facts.syntax_tree import Grammar
from custody.dupes.facts.walk import (
    Handler,
    LanguageReader,
    SyntaxWalk,
    child_of,
    intent_of,
    lines_of,
    surface,
    with_tests,
)

if TYPE_CHECKING:
    from tree_sitter import Node

FRAMEWORK_HEADS = (
    *("org.junit.", "junit.framework.", "org.testng.", "org.mockito.", "org.assertj.", "org.hamcrest."),
    *("org.springframework.boot.test.", "org.springframework.test.", "io.restassured.", "org.testcontainers."),
)
MODIFIERS_BYTES_MAX = 2_000
_PUBLIC = re.compile(r"\b(?:public|protected)\b")
_TEST = re.compile(r"@(?:\w+\.)*(?:Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate|Property)\b")
_DISPLAYED = re.compile(r"@DisplayName\s*\(\s*\"((?:[^\"\\]|\\.)*)\"")
_CONSTANT = re.compile(r"\bstatic\b.*\bfinal\b|\bfinal\b.*\bstatic\b", re.DOTALL)
_ASSERTION = re.compile(r"(?:assert|verify|fail)(?:[A-Z]\w*)?$")


def _grammar() -> object:
    import tree_sitter_java

    return tree_sitter_java.language()


def is_framework(module: str) -> bool:
    """Whether tests are written with this package."""
    return module.startswith(FRAMEWORK_HEADS)


def _modifiers(walk: SyntaxWalk, node: "Node") -> str:
    first = child_of(node)
    if first is None or first.type != "modifiers":
        return ""
    return walk.content[first.start_byte : min(first.end_byte, first.start_byte + MODIFIERS_BYTES_MAX)].decode(
        "utf-8", "replace"
    )


def _is_public(walk: SyntaxWalk, modifiers: str) -> bool:
    return walk.scope.exported and (walk.scope.kind == "interface" or _PUBLIC.search(modifiers) is not None)


def _type(kind: str) -> Handler:
    def handle(walk: SyntaxWalk, node: "Node") -> None:
        modifiers, name = _modifiers(walk, node), walk.named(node)
        exported = _is_public(walk, modifiers)
        lines = walk.declare(node, name, kind, exported=exported)
        walk.enter(node, name, kind, exported=exported)
        displayed = _DISPLAYED.search(modifiers)
        walk.suites.append(TestName(plain(displayed[1]) if displayed else spelt(name), lines))

    return handle


def _method(walk: SyntaxWalk, node: "Node") -> None:
    modifiers, name = _modifiers(walk, node), walk.named(node)
    lines = walk.declare(node, name, "method", exported=_is_public(walk, modifiers))
    if _TEST.search(modifiers):
        displayed = _DISPLAYED.search(modifiers)
        walk.tests.append(TestName(plain(displayed[1]) if displayed else spelt(name), lines))
    walk.enter(node, name)


def _field(walk: SyntaxWalk, node: "Node") -> None:
    modifiers = _modifiers(walk, node)
    if walk.scope.kind != "interface" and not _CONSTANT.search(modifiers):
        return
    for declarator in node.children_by_field_name("declarator"):
        walk.declare(node, walk.named(declarator), "const", exported=_is_public(walk, modifiers))


def _import(walk: SyntaxWalk, node: "Node") -> None:
    words = walk.text(node).rstrip(";").split()
    walk.imports.append(
        ImportedModule("".join(word for word in words if word not in ("import", "static")), lines_of(node))
    )


def _call(walk: SyntaxWalk, node: "Node") -> None:
    name = walk.named(node)
    if _ASSERTION.match(name):
        walk.matched.append(TestName(name, lines_of(node)))


def _facts(walk: SyntaxWalk, root: "Node") -> Facts:
    del root
    walk.suites = with_tests(walk.suites, walk.tests)
    return Facts(
        declared=tuple(walk.declared),
        exports=surface(walk),
        imports=tuple(walk.imports),
        intent=intent_of(walk, is_framework),
        is_test=any(is_framework(imported.module) for imported in walk.imports),
    )


READER = LanguageReader(
    name="java",
    grammar=Grammar("java", _grammar),
    handlers=MappingProxyType(
        {
            "import_declaration": _import,
            "class_declaration": _type("class"),
            "interface_declaration": _type("interface"),
            "enum_declaration": _type("enum"),
            "record_declaration": _type("class"),
            "annotation_type_declaration": _type("interface"),
            "method_declaration": _method,
            "constructor_declaration": _method,
            "field_declaration": _field,
            "constant_declaration": _field,
        }
    ),
    calls=MappingProxyType({"method_invocation": _call}),
    wants_calls=lambda content: b"@Test" in content or b"assert" in content,
    finish=_facts,
)
