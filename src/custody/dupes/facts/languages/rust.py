"""Rust."""

import re
from collections.abc import Iterator
from types import MappingProxyType
from typing import TYPE_CHECKING

from custody.core.patterns import lazy_pattern
from custody.dupes.facts.model import ExportedName, Facts, ImportedModule, TestName, identifier_to_sentence
from custody.dupes.facts.syntax_tree import Grammar
from custody.dupes.facts.walk import (
    Handler,
    LanguageReader,
    SyntaxWalk,
    facts_from_walk,
    get_named_child,
    lines_from_node,
    select_suites_with_tests,
)

if TYPE_CHECKING:
    from tree_sitter import Node

FRAMEWORKS = frozenset(
    "proptest quickcheck rstest insta mockall wiremock assert_cmd pretty_assertions criterion test_case serial_test "
    "assert_fs tempfile predicates".split()
)
USES_MAX = 1_000
"""Names read of one ``use``."""
_TEST = lazy_pattern(r"#\[\s*(?:\w+\s*::\s*)*(?:test|rstest|test_case|quickcheck|proptest|wasm_bindgen_test)\b")
_CFG_TEST = lazy_pattern(r"#!?\[\s*cfg\s*\(\s*(?:all\s*\(\s*)?test\b")
_ASSERTION = lazy_pattern(rb"((?:debug_)?assert(?:_\w+)?|insta::assert_\w+|prop_assert\w*)\s*!")
_GENERIC = lazy_pattern(r"<.*", re.DOTALL)
ITEMS = MappingProxyType(
    {
        "struct_item": "struct",
        "enum_item": "enum",
        "union_item": "struct",
        "type_item": "type",
        "const_item": "const",
        "static_item": "const",
        "macro_definition": "macro",
    }
)


def _load_rust_grammar() -> object:
    import tree_sitter_rust

    return tree_sitter_rust.language()


def is_test_framework(module: str) -> bool:
    """Return whether tests are written with this crate."""
    return module.partition("::")[0] in FRAMEWORKS


def _is_exported_item(walk: SyntaxWalk, node: "Node") -> bool:
    first = get_named_child(node)
    return first is not None and first.type == "visibility_modifier" and walk.text(first) == "pub"


def _extract_rust_inner_attribute(walk: SyntaxWalk, node: "Node") -> None:
    if walk.scope.kind == "file" and _CFG_TEST.match(walk.text(node)):
        walk.is_test = True


def _extract_rust_function(walk: SyntaxWalk, node: "Node") -> None:
    attributes = walk.take_attributes(node)
    name = walk.field_text(node)
    exported = walk.scope.exported and (_is_exported_item(walk, node) or walk.scope.kind == "trait")
    at_top = walk.scope.kind == "file"
    lines = walk.declare(
        node, name, "method" if walk.scope.kind in ("impl", "trait") else "function", exported=exported
    )
    if any(_TEST.match(text) for text in attributes):
        walk.tests.append(TestName(identifier_to_sentence(name), lines))
        walk.is_test = walk.is_test or at_top
    elif at_top and (exported or name == "main"):
        walk.is_mixed = True
    walk.enter(node, name)


def _extract_rust_item(walk: SyntaxWalk, node: "Node") -> None:
    walk.take_attributes(node)
    if walk.scope.kind == "function":
        return
    exported = walk.scope.exported and (_is_exported_item(walk, node) or walk.scope.kind == "trait")
    if walk.scope.kind == "file" and exported:
        walk.is_mixed = True
    walk.declare(node, walk.field_text(node), ITEMS[node.type], exported=exported)


def _extract_rust_trait(walk: SyntaxWalk, node: "Node") -> None:
    walk.take_attributes(node)
    exported, name = walk.scope.exported and _is_exported_item(walk, node), walk.field_text(node)
    walk.declare(node, name, "trait", exported=exported)
    walk.enter(node, name, "trait", exported=exported)


def _extract_rust_impl(walk: SyntaxWalk, node: "Node") -> None:
    walk.take_attributes(node)
    name = _GENERIC.sub("", walk.field_text(node, "type")).lstrip("&").rpartition("::")[2].strip()
    # Methods of a trait are as public as the trait, which is unknown here, so only `pub` counts.
    walk.declare(node, name, "impl")
    walk.enter(node, name, "impl", exported=walk.scope.exported)


def _extract_rust_module(walk: SyntaxWalk, node: "Node") -> None:
    attributes = walk.take_attributes(node)
    name, public = walk.field_text(node), _is_exported_item(walk, node)
    lines = walk.declare(node, name, "module", exported=walk.scope.exported and public)
    if node.child_by_field_name("body") is None:
        if public:
            walk.is_mixed = True
        return
    if any(_CFG_TEST.match(text) for text in attributes) or name == "tests":
        walk.suites.append(TestName(identifier_to_sentence(name), lines))
    walk.enter(node, name, "module", exported=walk.scope.exported and public)


def _extract_rust_use(walk: SyntaxWalk, node: "Node") -> None:
    walk.take_attributes(node)
    public, lines = _is_exported_item(walk, node), lines_from_node(node)
    argument = node.child_by_field_name("argument")
    if argument is None:
        return
    for path, name in _list_use_paths(walk, argument):
        walk.imports.append(ImportedModule(path, lines))
        if public and walk.scope.kind == "file":
            walk.exports.append(ExportedName(name, lines))


def _list_use_paths(walk: SyntaxWalk, argument: "Node") -> Iterator[tuple[str, str]]:
    """Yield each full path that a ``use`` names, and the name that it imports."""
    waiting, count = [("", argument)], 0
    while waiting and count < USES_MAX:
        (above, node), count = waiting.pop(), count + 1
        match node.type:
            case "scoped_use_list" | "use_list":
                inner = node if node.type == "use_list" else node.child_by_field_name("list")
                path = f"{above}{walk.field_text(node, 'path')}::".lstrip(":")
                waiting.extend((path, child) for child in reversed(inner.named_children if inner else []))
            case "use_as_clause":
                yield above + walk.field_text(node, "path"), walk.field_text(node, "alias")
            case "self":
                whole = above.removesuffix("::")
                yield whole, whole.rpartition("::")[2]
            case "line_comment" | "block_comment":
                pass
            case _:
                whole = above + "".join(walk.text(node).split())
                yield whole, whole.rpartition("::")[2]


def _extract_rust_extern_crate(walk: SyntaxWalk, node: "Node") -> None:
    walk.imports.append(ImportedModule(walk.field_text(node), lines_from_node(node)))


def _extract_rust_assertion_macro(walk: SyntaxWalk, node: "Node") -> None:
    if match := _ASSERTION.match(walk.content, node.start_byte):
        walk.matched.append(TestName(walk.decode_name(match[1]), lines_from_node(node)))


def _collect_rust_facts(walk: SyntaxWalk, root: "Node") -> Facts:
    """Return the facts; a file is a test file only if it has no other code, since most Rust code contains its tests."""
    del root
    walk.suites = select_suites_with_tests(walk.suites, walk.tests)
    return facts_from_walk(walk, is_test_framework, is_test=walk.is_test and not walk.is_mixed)


_HANDLERS: dict[str, Handler] = {
    "attribute_item": SyntaxWalk.add_attribute,
    "inner_attribute_item": _extract_rust_inner_attribute,
    "function_item": _extract_rust_function,
    "function_signature_item": _extract_rust_function,
    "trait_item": _extract_rust_trait,
    "impl_item": _extract_rust_impl,
    "mod_item": _extract_rust_module,
    "use_declaration": _extract_rust_use,
    "extern_crate_declaration": _extract_rust_extern_crate,
    **dict.fromkeys(ITEMS, _extract_rust_item),
}
READER = LanguageReader(
    name="rust",
    grammar=Grammar("rust", _load_rust_grammar),
    handlers=MappingProxyType(_HANDLERS),
    calls=MappingProxyType({"macro_invocation": _extract_rust_assertion_macro}),
    wants_calls=lambda content: b"test" in content and b"assert" in content,
    finish=_collect_rust_facts,
)
