"""Handlers that JavaScript and TypeScript share."""

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from custody.core.paths import Lines
from custody.core.patterns import lazy_pattern
from custody.dupes.facts.languages import ecmascript_tests as tests
from custody.dupes.facts.model import Declaration, ExportedName, Facts, ImportedModule, normalize_script_module
from custody.dupes.facts.walk import (
    Handler,
    SyntaxWalk,
    collect_test_intent,
    get_named_child,
    imports_test_framework,
    lines_from_node,
)

if TYPE_CHECKING:
    from tree_sitter import Node

FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function"})
HOLDERS = frozenset({"file", "namespace", "const", "object", "exports"})
"""Scopes in which functions of objects are declarations, and variables are not local."""
PATTERN_NODES_MAX = 1_000


_COMMENT_OR_STRING = lazy_pattern(
    rb"""//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|())|'(?:[^'\\\n]|\\.)*(?:'|())|"(?:[^"\\\n]|\\.)*(?:"|())"""
    rb"""|`(?:[^`\\]|\\.)*(?:`|())""",
    re.DOTALL,
)
"""Comments and strings; a group matches if one is not closed."""


def has_unclosed_brackets(content: bytes) -> bool:
    """Return whether brackets or quotes may be unclosed; a few valid files are suspected, too.

    >>> [has_unclosed_brackets(text) for text in (b"f('(', `${a}`); // {", b"f({ a: 1)", b"'a")]
    [False, True, True]
    """
    rest = _COMMENT_OR_STRING.sub(lambda match: b" " if match.lastindex is None else b"(", content)
    return any(rest.count(left) != rest.count(right) for left, right in ((b"(", b")"), (b"{", b"}"), (b"[", b"]")))


def make_declaration_handler(kind: str) -> Handler:
    """Make a handler for named declarations that contain others."""

    def handle(walk: SyntaxWalk, node: "Node") -> None:
        name = walk.field_text(node).strip("\"'")
        walk.declare(node, name, kind)
        walk.enter(node, name, kind)

    return handle


def infer_declaration_kind(value: "Node | None") -> str | None:
    """Return the kind of a declaration by its value; None if the value contains no declarations."""
    if value is None:
        return None
    return "function" if value.type in FUNCTIONS else {"class": "class", "object": "const"}.get(value.type)


def enter_anonymous_function(walk: SyntaxWalk, node: "Node") -> None:
    """Enter a function without a name: names in it are local to the outer scope."""
    walk.enter(node)


def extract_class_field(walk: SyntaxWalk, node: "Node") -> None:
    """Add a field of a class as a method if its value is a function."""
    value = node.child_by_field_name("value")
    if value is not None and value.type in FUNCTIONS:
        name = walk.field_text(node, "name") or walk.field_text(node, "property")
        walk.declare(node, name, "method")
        walk.enter(node, name, "method")


def extract_script_variable(walk: SyntaxWalk, node: "Node") -> None:
    """Add a variable whose value is a function or a class, or that is not local."""
    target, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    kind = infer_declaration_kind(value) or "const"
    if target is None or (kind == "const" and walk.scope.kind not in HOLDERS):
        return
    names = [*_list_bound_names(walk, target)]
    for name in names:
        walk.declare(node, name, kind)
    if len(names) == 1:
        walk.enter(node, names[0], kind)


def _list_bound_names(walk: SyntaxWalk, target: "Node") -> Iterator[str]:
    """Yield the names that the target of an assignment binds: a name, or those of a pattern."""
    waiting, count = [target], 0
    while waiting and count < PATTERN_NODES_MAX:
        node, count = waiting.pop(), count + 1
        if node.type in ("identifier", "shorthand_property_identifier_pattern"):
            yield walk.text(node)
        elif node.type == "pair_pattern":
            waiting.extend(_list_optional_node(node.child_by_field_name("value")))
        elif node.type == "assignment_pattern":
            waiting.extend(_list_optional_node(node.child_by_field_name("left")))
        elif node.type in ("object_pattern", "array_pattern", "rest_pattern", "object_assignment_pattern"):
            waiting.extend(reversed(node.named_children))


def _list_optional_node(node: "Node | None") -> "Iterable[Node]":
    return () if node is None else (node,)


def extract_script_method(walk: SyntaxWalk, node: "Node") -> None:
    """Add a method of a class or of a named object."""
    name = "" if _is_anonymous_object(walk) else walk.field_text(node).strip("\"'[]")
    walk.declare(node, name, "method")
    walk.enter(node, name, "method")


def _is_anonymous_object(walk: SyntaxWalk) -> bool:
    """Return whether an object here has no name, such as an argument of a call."""
    return walk.scope.kind in HOLDERS and walk.scope.kind != "exports" and not walk.scope.name


def extract_object_entry(walk: SyntaxWalk, node: "Node") -> None:
    """Add an entry of a named object: a function is a method, an object is a scope."""
    if walk.scope.kind not in HOLDERS or _is_anonymous_object(walk):
        return
    value = node.child_by_field_name("value")
    if value is None or value.type not in FUNCTIONS | {"object"}:
        return
    name = walk.field_text(node, "key").strip("\"'[]")
    if value.type == "object":
        walk.enter(node, name, "object")
    else:
        walk.declare(node, name, "method")
        walk.enter(node, name, "method")


def extract_script_import(walk: SyntaxWalk, node: "Node") -> None:
    """Add the module of ``import … from "x"`` or ``import x = require("x")``."""
    source = node.child_by_field_name("source")
    if source is None:
        clause = next((child for child in node.named_children if child.type == "import_require_clause"), None)
        source = None if clause is None else clause.child_by_field_name("source")
    add_imported_module(walk, source, lines_from_node(node))


def add_imported_module(walk: SyntaxWalk, source: "Node | None", lines: Lines) -> None:
    """Add the module that a string names."""
    if source is not None and source.type in ("string", "template_string"):
        walk.imports.append(ImportedModule(normalize_script_module(walk.text(source).strip("\"'`")), lines))


def extract_script_export(walk: SyntaxWalk, node: "Node") -> None:
    """Add the names of an ``export`` statement."""
    lines, source = lines_from_node(node), node.child_by_field_name("source")
    add_imported_module(walk, source, lines)
    kinds = {child.type: child for child in node.children}
    if clause := kinds.get("export_clause"):
        _extract_export_specifiers(walk, clause, is_from_elsewhere=source is not None)
    if whole := kinds.get("namespace_export"):
        _add_exported_name(walk, walk.text(whole).removeprefix("* as").strip(), lines)
    if "*" in kinds:
        _add_exported_name(walk, "*", lines)
    if (declaration := node.child_by_field_name("declaration")) is not None:
        for name in _list_declared_names(walk, declaration):
            _add_exported_name(walk, "default" if "default" in kinds else name, lines, name)
    if (value := node.child_by_field_name("value")) is not None:
        _add_exported_name(walk, "default", lines, walk.text(value) if value.type == "identifier" else "")
        if kind := infer_declaration_kind(value):
            walk.declare(node, "default", kind)
            walk.enter(node, "default", kind)


def _extract_export_specifiers(walk: SyntaxWalk, clause: "Node", *, is_from_elsewhere: bool) -> None:
    for specifier in clause.named_children:
        if specifier.type == "export_specifier":
            name = walk.field_text(specifier)
            _add_exported_name(
                walk,
                walk.field_text(specifier, "alias") or name,
                lines_from_node(specifier),
                "" if is_from_elsewhere else name,
            )


def _list_declared_names(walk: SyntaxWalk, declaration: "Node") -> Iterator[str]:
    if declaration.type in ("lexical_declaration", "variable_declaration"):
        for child in declaration.named_children:
            if (target := child.child_by_field_name("name")) is not None:
                yield from _list_bound_names(walk, target)
    elif name := walk.field_text(declaration):
        yield name


def _add_exported_name(walk: SyntaxWalk, name: str, lines: Lines, local: str = "") -> None:
    """Add an export; ``local`` is its local name, if the file declares it."""
    # Exports of a namespace or module inside the file are not exports of the file.
    if name and not walk.scope.name:
        walk.exports.append(ExportedName(name, lines))
        walk.local_names.append(local)


def extract_script_assignment(walk: SyntaxWalk, node: "Node") -> None:
    """Add ``module.exports = …``, ``exports.x = …``, and methods such as ``A.prototype.b = …``."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None or left.type != "member_expression" or walk.scope.kind not in HOLDERS:
        return
    parts = walk.text(left).split(".")
    if parts[0] == "module" and parts[1:2] == ["exports"]:
        parts = parts[1:]
    if parts[0] == "exports":
        _extract_exports_assignment(walk, node, parts[1:], right)
    elif infer_declaration_kind(right) in ("function", "class") and all(part.isidentifier() for part in parts):
        name = ".".join(part for part in parts if part != "prototype")
        walk.declare(node, name, "method")
        walk.enter(node, name, "method")


def _extract_exports_assignment(walk: SyntaxWalk, node: "Node", parts: list[str], right: "Node") -> None:
    lines = lines_from_node(node)
    if parts:
        _add_exported_name(walk, parts[0], lines, parts[0])
    elif right.type == "object":
        for entry in right.named_children:
            name = walk.text(entry) if entry.type == "shorthand_property_identifier" else _get_entry_key(walk, entry)
            _add_exported_name(walk, name, lines_from_node(entry), name)
    else:
        name = walk.text(right) if right.type == "identifier" else ""
        _add_exported_name(walk, name or "default", lines, name)
    if kind := infer_declaration_kind(right):
        walk.declare(node, ".".join(parts), kind)
        walk.enter(node, ".".join(parts), kind if parts else "exports")


def _get_entry_key(walk: SyntaxWalk, entry: "Node") -> str:
    return (walk.field_text(entry, "key") or walk.field_text(entry)).strip("\"'")


def extract_module_call(walk: SyntaxWalk, node: "Node") -> None:
    """Add the module of ``require`` or ``import()``, or the test of a call to a test framework."""
    callee = tests.match_script_callee(walk.content, node.start_byte)
    if callee is None:
        return
    if callee.head in ("require", "import"):
        arguments = node.child_by_field_name("arguments")
        first = get_named_child(arguments)
        add_imported_module(walk, first, lines_from_node(node))
    else:
        tests.extract_test_call(walk, node, callee)


def collect_script_facts(walk: SyntaxWalk, root: "Node") -> Facts:
    """Return the facts; a declaration is exported if its outermost name is."""
    del root
    names = {*walk.local_names, "default"}
    declared = tuple(
        Declaration(declaration.name, declaration.kind, declaration.lines, declaration.name.partition(".")[0] in names)
        for declaration in walk.declared
    )
    lines_by_name = {declaration.name: declaration.lines for declaration in reversed(declared)}
    exports = tuple(
        ExportedName(
            export.name,
            lines_by_name.get(local or export.name, export.lines)
            if local or export.name == "default"
            else export.lines,
        )
        for export, local in zip(walk.exports, walk.local_names, strict=True)
    )
    return Facts(
        declared=declared,
        exports=exports,
        imports=tuple(walk.imports),
        intent=collect_test_intent(walk, tests.is_test_framework),
        is_test=walk.is_test or imports_test_framework(walk, tests.is_test_framework),
    )


HANDLERS: Mapping[str, Handler] = MappingProxyType(
    {
        "import_statement": extract_script_import,
        "export_statement": extract_script_export,
        "function_declaration": make_declaration_handler("function"),
        "generator_function_declaration": make_declaration_handler("function"),
        "class_declaration": make_declaration_handler("class"),
        "method_definition": extract_script_method,
        "variable_declarator": extract_script_variable,
        "assignment_expression": extract_script_assignment,
        "pair": extract_object_entry,
        "arrow_function": enter_anonymous_function,
        "function_expression": enter_anonymous_function,
        "generator_function": enter_anonymous_function,
    }
)
CALLS: Mapping[str, Handler] = MappingProxyType({"call_expression": extract_module_call})
