"""Java."""

import re
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
    select_suites_with_tests,
)

if TYPE_CHECKING:
    from tree_sitter import Node

FRAMEWORK_HEADS = (
    *("org.junit.", "junit.framework.", "org.testng.", "org.mockito.", "org.assertj.", "org.hamcrest."),
    *("org.springframework.boot.test.", "org.springframework.test.", "io.restassured.", "org.testcontainers."),
)
MODIFIERS_BYTES_MAX = 2_000
_PUBLIC = lazy_pattern(r"\b(?:public|protected)\b")
_TEST = lazy_pattern(r"@(?:\w+\.)*(?:Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate|Property)\b")
_DISPLAY_NAME = lazy_pattern(r"@DisplayName\s*\(\s*\"((?:[^\"\\]|\\.)*)\"")
_CONSTANT = lazy_pattern(r"\bstatic\b.*\bfinal\b|\bfinal\b.*\bstatic\b", re.DOTALL)
_ASSERTION = lazy_pattern(r"(?:assert|verify|fail)(?:[A-Z]\w*)?$")


def _load_java_grammar() -> object:
    import tree_sitter_java

    return tree_sitter_java.language()


def is_test_framework(module: str) -> bool:
    """Return whether tests are written with this package."""
    return module.startswith(FRAMEWORK_HEADS)


def _get_java_modifiers(walk: SyntaxWalk, node: "Node") -> str:
    first = get_named_child(node)
    if first is None or first.type != "modifiers":
        return ""
    return walk.content[first.start_byte : min(first.end_byte, first.start_byte + MODIFIERS_BYTES_MAX)].decode(
        "utf-8", "replace"
    )


def _is_exported_declaration(walk: SyntaxWalk, modifiers: str) -> bool:
    return walk.scope.exported and (walk.scope.kind == "interface" or _PUBLIC.search(modifiers) is not None)


def _get_java_test_name(modifiers: str, name: str) -> str:
    match = _DISPLAY_NAME.search(modifiers)
    return normalize_test_name(match[1]) if match else identifier_to_sentence(name)


def _make_java_type_handler(kind: str) -> Handler:
    def handle(walk: SyntaxWalk, node: "Node") -> None:
        modifiers, name = _get_java_modifiers(walk, node), walk.field_text(node)
        exported = _is_exported_declaration(walk, modifiers)
        lines = walk.declare(node, name, kind, exported=exported)
        walk.enter(node, name, kind, exported=exported)
        walk.suites.append(TestName(_get_java_test_name(modifiers, name), lines))

    return handle


def _extract_java_method(walk: SyntaxWalk, node: "Node") -> None:
    modifiers, name = _get_java_modifiers(walk, node), walk.field_text(node)
    lines = walk.declare(node, name, "method", exported=_is_exported_declaration(walk, modifiers))
    if _TEST.search(modifiers):
        walk.tests.append(TestName(_get_java_test_name(modifiers, name), lines))
    walk.enter(node, name)


def _extract_java_field(walk: SyntaxWalk, node: "Node") -> None:
    modifiers = _get_java_modifiers(walk, node)
    if walk.scope.kind != "interface" and not _CONSTANT.search(modifiers):
        return
    for declarator in node.children_by_field_name("declarator"):
        walk.declare(node, walk.field_text(declarator), "const", exported=_is_exported_declaration(walk, modifiers))


def _extract_java_import(walk: SyntaxWalk, node: "Node") -> None:
    words = walk.text(node).rstrip(";").split()
    walk.imports.append(
        ImportedModule("".join(word for word in words if word not in ("import", "static")), lines_from_node(node))
    )


def _extract_java_assertion(walk: SyntaxWalk, node: "Node") -> None:
    name = walk.field_text(node)
    if _ASSERTION.match(name):
        walk.matched.append(TestName(name, lines_from_node(node)))


def _collect_java_facts(walk: SyntaxWalk, root: "Node") -> Facts:
    del root
    walk.suites = select_suites_with_tests(walk.suites, walk.tests)
    is_test = imports_test_framework(walk, is_test_framework)
    return facts_from_walk(walk, is_test_framework, is_test=is_test)


READER = LanguageReader(
    name="java",
    grammar=Grammar("java", _load_java_grammar),
    handlers=MappingProxyType(
        {
            "import_declaration": _extract_java_import,
            "class_declaration": _make_java_type_handler("class"),
            "interface_declaration": _make_java_type_handler("interface"),
            "enum_declaration": _make_java_type_handler("enum"),
            "record_declaration": _make_java_type_handler("class"),
            "annotation_type_declaration": _make_java_type_handler("interface"),
            "method_declaration": _extract_java_method,
            "constructor_declaration": _extract_java_method,
            "field_declaration": _extract_java_field,
            "constant_declaration": _extract_java_field,
        }
    ),
    calls=MappingProxyType({"method_invocation": _extract_java_assertion}),
    wants_calls=lambda content: b"@Test" in content or b"assert" in content,
    finish=_collect_java_facts,
)
