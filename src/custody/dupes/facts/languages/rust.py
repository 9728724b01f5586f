"""Rust."""

import re
from collections.abc import Iterator
from types import MappingProxyType
from typing import TYPE_CHECKING

from custody.dupes.facts.model import ExportedName, Facts, ImportedModule, TestName, spelt
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

FRAMEWORKS = frozenset(
    "proptest quickcheck rstest insta mockall wiremock assert_cmd pretty_assertions criterion test_case serial_test "
    "assert_fs tempfile predicates".split()
)
USES_MAX = 1_000
"""Of a longer list of names in one ``use``, only so many are read."""
_TEST = re.compile(r"#\[\s*(?:\w+\s*::\s*)*(?:test|rstest|test_case|quickcheck|proptest|wasm_bindgen_test)\b")
_CFG_TEST = re.compile(r"#!?\[\s*cfg\s*\(\s*(?:all\s*\(\s*)?test\b")
_ASSERTION = re.compile(rb"((?:debug_)?assert(?:_\w+)?|insta::assert_\w+|prop_assert\w*)\s*!")
_GENERIC = re.compile(r"<.*", re.DOTALL)
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


def _grammar() -> object:
    import tree_sitter_rust

    return tree_sitter_rust.language()


def is_framework(module: str) -> bool:
    """Whether tests are written with this crate."""
    return module.partition("::")[0] in FRAMEWORKS


def _attribute(walk: SyntaxWalk, node: "Node") -> None:
    walk.mark(node)


def _is_public(walk: SyntaxWalk, node: "Node") -> bool:
    first = child_of(node)
    return first is not None and first.type == "visibility_modifier" and walk.text(first) == "pub"


def _inner_attribute(walk: SyntaxWalk, node: "Node") -> None:
    if walk.scope.kind == "file" and _CFG_TEST.match(walk.text(node)):
        walk.is_test = True


def _function(walk: SyntaxWalk, node: "Node") -> None:
    attributes = walk.marks(node)
    name = walk.named(node)
    exported = walk.scope.exported and (_is_public(walk, node) or walk.scope.kind == "trait")
    at_top = walk.scope.kind == "file"
    lines = walk.declare(
        node, name, "method" if walk.scope.kind in ("impl", "trait") else "function", exported=exported
    )
    if any(_TEST.match(text) for text in attributes):
        walk.tests.append(TestName(spelt(name), lines))
        walk.is_test = walk.is_test or at_top
    elif at_top and (exported or name == "main"):
        walk.is_mixed = True
    walk.enter(node, name)


def _item(walk: SyntaxWalk, node: "Node") -> None:
    walk.marks(node)
    if walk.scope.kind == "function":
        return
    exported = walk.scope.exported and (_is_public(walk, node) or walk.scope.kind == "trait")
    if walk.scope.kind == "file" and exported:
        walk.is_mixed = True
    walk.declare(node, walk.named(node), ITEMS[node.type], exported=exported)


def _trait(walk: SyntaxWalk, node: "Node") -> None:
    walk.marks(node)
    exported, name = walk.scope.exported and _is_public(walk, node), walk.named(node)
    walk.declare(node, name, "trait", exported=exported)
    walk.enter(node, name, "trait", exported=exported)


def _impl(walk: SyntaxWalk, node: "Node") -> None:
    walk.marks(node)
    name = _GENERIC.sub("", walk.named(node, "type")).lstrip("&").rpartition("::")[2].strip()
    # What a trait asks for is as public as the trait; nobody can tell from here, so only what says `pub` counts.
    walk.declare(node, name, "impl")
    walk.enter(node, name, "impl", exported=walk.scope.exported)


def _module(walk: SyntaxWalk, node: "Node") -> None:
    attributes = walk.marks(node)
    name, public = walk.named(node), _is_public(walk, node)
    lines = walk.declare(node, name, "module", exported=walk.scope.exported and public)
    if node.child_by_field_name("body") is None:
        if public:
            walk.is_mixed = True
        return
    if any(_CFG_TEST.match(text) for text in attributes) or name == "tests":
        walk.suites.append(TestName(spelt(name), lines))
    walk.enter(node, name, "module", exported=walk.scope.exported and public)


def _use(walk: SyntaxWalk, node: "Node") -> None:
    walk.marks(node)
    public, lines = _is_public(walk, node), lines_of(node)
    argument = node.child_by_field_name("argument")
    if argument is None:
        return
    for path, name in _paths(walk, argument):
        walk.imports.append(ImportedModule(path, lines))
        if public and walk.scope.kind == "file":
            walk.exports.append(ExportedName(name, lines))


def _paths(walk: SyntaxWalk, argument: "Node") -> Iterator[tuple[str, str]]:
    """Each path that a ``use`` names, whole, and the name that it brings in."""
    waiting, seen = [("", argument)], 0
    while waiting and seen < USES_MAX:
        (above, node), seen = waiting.pop(), seen + 1
        match node.type:
            case "scoped_use_list" | "use_list":
                inner = node if node.type == "use_list" else node.child_by_field_name("list")
                path = f"{above}{walk.named(node, 'path')}::".lstrip(":")
                waiting.extend((path, child) for child in reversed(inner.named_children if inner else []))
            case "use_as_clause":
                yield above + walk.named(node, "path"), walk.named(node, "alias")
            case "self":
                whole = above.removesuffix("::")
                yield whole, whole.rpartition("::")[2]
            case "line_comment" | "block_comment":
                pass
            case _:
                whole = above + "".join(walk.text(node).split())
                yield whole, whole.rpartition("::")[2]


def _extern_crate(walk: SyntaxWalk, node: "Node") -> None:
    walk.imports.append(ImportedModule(walk.named(node), lines_of(node)))


def _macro(walk: SyntaxWalk, node: "Node") -> None:
    if found := _ASSERTION.match(walk.content, node.start_byte):
        walk.matched.append(TestName(walk.bare(found[1]), lines_of(node)))


def _facts(walk: SyntaxWalk, root: "Node") -> Facts:
    """Everything put together. A file is one of tests only if all of it is: most Rust code has its tests inside."""
    del root
    walk.suites = with_tests(walk.suites, walk.tests)
    return Facts(
        declared=tuple(walk.declared),
        exports=surface(walk),
        imports=tuple(walk.imports),
        intent=intent_of(walk, is_framework),
        is_test=walk.is_test and not walk.is_mixed,
    )


_HANDLERS: dict[str, Handler] = {
    "attribute_item": _attribute,
    "inner_attribute_item": _inner_attribute,
    "function_item": _function,
    "function_signature_item": _function,
    "trait_item": _trait,
    "impl_item": _impl,
    "mod_item": _module,
    "use_declaration": _use,
    "extern_crate_declaration": _extern_crate,
    **dict.fromkeys(ITEMS, _item),
}
READER = LanguageReader(
    name="rust",
    grammar=Grammar("rust", _grammar),
    handlers=MappingProxyType(_HANDLERS),
    calls=MappingProxyType({"macro_invocation": _macro}),
    wants_calls=lambda content: b"test" in content and b"assert" in content,
    finish=_facts,
)
