"""What JavaScript and TypeScript have in common: everything but types."""

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from custody.core.paths import Lines
from custody.dupes.facts.languages import ecmascript_tests as tests
from custody.dupes.facts.model import Declaration, ExportedName, Facts, ImportedModule, script_module
from custody.dupes.facts.walk import Handler, SyntaxWalk, child_of, intent_of, lines_of

if TYPE_CHECKING:
    from tree_sitter import Node

FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function"})
HOLDERS = frozenset({"file", "namespace", "const", "object", "exports"})
"""Scopes in which an object's functions belong to somebody, and in which a variable is more than a local."""
PATTERN_NODES_MAX = 1_000


_QUIET = re.compile(
    rb"""//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|())|'(?:[^'\\\n]|\\.)*(?:'|())|"(?:[^"\\\n]|\\.)*(?:"|())"""
    rb"""|`(?:[^`\\]|\\.)*(?:`|())""",
    re.DOTALL,
)
"""Comments and quoted texts; a group takes part in those that are not closed."""


def looks_broken(content: bytes) -> bool:
    """Whether brackets or quotes are left open, at a glance: a few files are suspected that are quite right.

    >>> looks_broken(b"f('(', `${a}`); // {"), looks_broken(b"f({ a: 1)"), looks_broken(b"'a")
    (False, True, True)
    """
    rest = _QUIET.sub(lambda found: b" " if found.lastindex is None else b"(", content)
    return any(rest.count(left) != rest.count(right) for left, right in ((b"(", b")"), (b"{", b"}"), (b"[", b"]")))


def declares(kind: str) -> Handler:
    """A handler for declarations with a name that hold others."""

    def handle(walk: SyntaxWalk, node: "Node") -> None:
        name = walk.named(node).strip("\"'")
        walk.declare(node, name, kind)
        walk.enter(node, name, kind)

    return handle


def held_kind(value: "Node | None") -> str | None:
    """What a value makes of the name that it is given to, if it holds declarations."""
    if value is None:
        return None
    return "function" if value.type in FUNCTIONS else {"class": "class", "object": "const"}.get(value.type)


def scope(walk: SyntaxWalk, node: "Node") -> None:
    """A function without a name: what is in it is local, and belongs to whoever is around it."""
    walk.enter(node)


def field(walk: SyntaxWalk, node: "Node") -> None:
    """A field of a class is a method if it holds a function."""
    value = node.child_by_field_name("value")
    if value is not None and value.type in FUNCTIONS:
        name = walk.named(node, "name") or walk.named(node, "property")
        walk.declare(node, name, "method")
        walk.enter(node, name, "method")


def variable(walk: SyntaxWalk, node: "Node") -> None:
    """A variable that holds a function or a class, or one that is not local."""
    target, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    kind = held_kind(value) or "const"
    if target is None or (kind == "const" and walk.scope.kind not in HOLDERS):
        return
    names = [*_bound(walk, target)]
    for name in names:
        walk.declare(node, name, kind)
    if len(names) == 1:
        walk.enter(node, names[0], kind)


def _bound(walk: SyntaxWalk, target: "Node") -> Iterator[str]:
    """The names that a target of an assignment binds: its own, or those of a pattern."""
    waiting, seen = [target], 0
    while waiting and seen < PATTERN_NODES_MAX:
        node, seen = waiting.pop(), seen + 1
        if node.type in ("identifier", "shorthand_property_identifier_pattern"):
            yield walk.text(node)
        elif node.type == "pair_pattern":
            waiting.extend(_there(node.child_by_field_name("value")))
        elif node.type == "assignment_pattern":
            waiting.extend(_there(node.child_by_field_name("left")))
        elif node.type in ("object_pattern", "array_pattern", "rest_pattern", "object_assignment_pattern"):
            waiting.extend(reversed(node.named_children))


def _there(node: "Node | None") -> "Iterable[Node]":
    return () if node is None else (node,)


def member(walk: SyntaxWalk, node: "Node") -> None:
    """A method of a class or of an object that belongs to somebody."""
    name = "" if _is_nobodys(walk) else walk.named(node).strip("\"'[]")
    walk.declare(node, name, "method")
    walk.enter(node, name, "method")


def _is_nobodys(walk: SyntaxWalk) -> bool:
    """Whether an object here belongs to nobody: it is an argument of a call, say."""
    return walk.scope.kind in HOLDERS and walk.scope.kind != "exports" and not walk.scope.name


def pair(walk: SyntaxWalk, node: "Node") -> None:
    """An entry of an object that belongs to somebody: a method if it holds a function, a name above if an object."""
    if walk.scope.kind not in HOLDERS or _is_nobodys(walk):
        return
    value = node.child_by_field_name("value")
    if value is None or value.type not in FUNCTIONS | {"object"}:
        return
    name = walk.named(node, "key").strip("\"'[]")
    if value.type == "object":
        walk.enter(node, name, "object")
    else:
        walk.declare(node, name, "method")
        walk.enter(node, name, "method")


def read_import(walk: SyntaxWalk, node: "Node") -> None:
    """``import … from "x"`` and ``import x = require("x")``."""
    source = node.child_by_field_name("source")
    if source is None:
        clause = next((child for child in node.named_children if child.type == "import_require_clause"), None)
        source = None if clause is None else clause.child_by_field_name("source")
    ask_for(walk, source, lines_of(node))


def ask_for(walk: SyntaxWalk, source: "Node | None", lines: Lines) -> None:
    """Note the module that a string names."""
    if source is not None and source.type in ("string", "template_string"):
        walk.imports.append(ImportedModule(script_module(walk.text(source).strip("\"'`")), lines))


def read_export(walk: SyntaxWalk, node: "Node") -> None:
    """``export`` in each of its forms."""
    lines, source = lines_of(node), node.child_by_field_name("source")
    ask_for(walk, source, lines)
    kinds = {child.type: child for child in node.children}
    if clause := kinds.get("export_clause"):
        _specifiers(walk, clause, is_from_elsewhere=source is not None)
    if whole := kinds.get("namespace_export"):
        _export(walk, walk.text(whole).removeprefix("* as").strip(), lines)
    if "*" in kinds:
        _export(walk, "*", lines)
    if (declaration := node.child_by_field_name("declaration")) is not None:
        for name in _declared_by(walk, declaration):
            _export(walk, "default" if "default" in kinds else name, lines, name)
    if (value := node.child_by_field_name("value")) is not None:
        _export(walk, "default", lines, walk.text(value) if value.type == "identifier" else "")
        if kind := held_kind(value):
            walk.declare(node, "default", kind)
            walk.enter(node, "default", kind)


def _specifiers(walk: SyntaxWalk, clause: "Node", *, is_from_elsewhere: bool) -> None:
    for specifier in clause.named_children:
        if specifier.type == "export_specifier":
            name = walk.named(specifier)
            _export(
                walk, walk.named(specifier, "alias") or name, lines_of(specifier), "" if is_from_elsewhere else name
            )


def _declared_by(walk: SyntaxWalk, declaration: "Node") -> Iterator[str]:
    if declaration.type in ("lexical_declaration", "variable_declaration"):
        for child in declaration.named_children:
            if (target := child.child_by_field_name("name")) is not None:
                yield from _bound(walk, target)
    elif name := walk.named(declaration):
        yield name


def _export(walk: SyntaxWalk, name: str, lines: Lines, local: str = "") -> None:
    """Note an export; ``local`` is what the file itself calls it, if it is declared there."""
    # What a namespace or a module within the file exports, the file itself does not.
    if name and not walk.scope.name:
        walk.exports.append(ExportedName(name, lines))
        walk.local_names.append(local)


def assigned(walk: SyntaxWalk, node: "Node") -> None:
    """``module.exports = …``, ``exports.x = …``, and functions that are given to somebody: ``A.prototype.b = …``."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None or left.type != "member_expression" or walk.scope.kind not in HOLDERS:
        return
    parts = walk.text(left).split(".")
    if parts[0] == "module" and parts[1:2] == ["exports"]:
        parts = parts[1:]
    if parts[0] == "exports":
        _exports_assigned(walk, node, parts[1:], right)
    elif held_kind(right) in ("function", "class") and all(part.isidentifier() for part in parts):
        name = ".".join(part for part in parts if part != "prototype")
        walk.declare(node, name, "method")
        walk.enter(node, name, "method")


def _exports_assigned(walk: SyntaxWalk, node: "Node", parts: list[str], right: "Node") -> None:
    lines = lines_of(node)
    if parts:
        _export(walk, parts[0], lines, parts[0])
    elif right.type == "object":
        for entry in right.named_children:
            name = walk.text(entry) if entry.type == "shorthand_property_identifier" else _key(walk, entry)
            _export(walk, name, lines_of(entry), name)
    else:
        name = walk.text(right) if right.type == "identifier" else ""
        _export(walk, name or "default", lines, name)
    if kind := held_kind(right):
        walk.declare(node, ".".join(parts), kind)
        walk.enter(node, ".".join(parts), kind if parts else "exports")


def _key(walk: SyntaxWalk, entry: "Node") -> str:
    return (walk.named(entry, "key") or walk.named(entry)).strip("\"'")


def read_module_call(walk: SyntaxWalk, node: "Node") -> None:
    """Calls that ask for a module, and those of test frameworks."""
    callee = tests.callee_of(walk.content, node.start_byte)
    if callee is None:
        return
    if callee.head in ("require", "import"):
        arguments = node.child_by_field_name("arguments")
        first = child_of(arguments)
        ask_for(walk, first, lines_of(node))
    else:
        tests.read_test_call(walk, node, callee)


def facts(walk: SyntaxWalk, root: "Node") -> Facts:
    """Everything put together: a declaration is exported if its outermost name is."""
    del root
    names = {*walk.local_names, "default"}
    declared = tuple(
        Declaration(declaration.name, declaration.kind, declaration.lines, declaration.name.partition(".")[0] in names)
        for declaration in walk.declared
    )
    where = {declaration.name: declaration.lines for declaration in reversed(declared)}
    exports = tuple(
        ExportedName(
            export.name,
            where.get(local or export.name, export.lines) if local or export.name == "default" else export.lines,
        )
        for export, local in zip(walk.exports, walk.local_names, strict=True)
    )
    intent = intent_of(walk, tests.is_framework)
    return Facts(
        declared=declared,
        exports=exports,
        imports=tuple(walk.imports),
        intent=intent,
        is_test=walk.is_test or any(tests.is_framework(imported.module) for imported in walk.imports),
    )


HANDLERS: Mapping[str, Handler] = MappingProxyType(
    {
        "import_statement": read_import,
        "export_statement": read_export,
        "function_declaration": declares("function"),
        "generator_function_declaration": declares("function"),
        "class_declaration": declares("class"),
        "method_definition": member,
        "variable_declarator": variable,
        "assignment_expression": assigned,
        "pair": pair,
        "arrow_function": scope,
        "function_expression": scope,
        "generator_function": scope,
    }
)
CALLS: Mapping[str, Handler] = MappingProxyType({"call_expression": read_module_call})
