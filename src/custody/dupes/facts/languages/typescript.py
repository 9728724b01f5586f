"""TypeScript and TSX: JavaScript with types."""

from dataclasses import replace
from types import MappingProxyType

from custody.dupes.facts.languages import ecmascript, ecmascript_tests
from custody.dupes.facts.syntax_tree import Grammar
from custody.dupes.facts.walk import LanguageReader


def _typescript() -> object:
    import tree_sitter_typescript

    return tree_sitter_typescript.language_typescript()


def _tsx() -> object:
    import tree_sitter_typescript

    return tree_sitter_typescript.language_tsx()


READER = LanguageReader(
    name="typescript",
    grammar=Grammar("typescript", _typescript, ecmascript.looks_broken),
    handlers=MappingProxyType(
        {
            **ecmascript.HANDLERS,
            "abstract_class_declaration": ecmascript.declares("class"),
            "abstract_method_signature": ecmascript.member,
            "function_signature": ecmascript.declares("function"),
            "interface_declaration": ecmascript.declares("interface"),
            "type_alias_declaration": ecmascript.declares("type"),
            "enum_declaration": ecmascript.declares("enum"),
            "internal_module": ecmascript.declares("namespace"),
            "module": ecmascript.declares("namespace"),
            "public_field_definition": ecmascript.field,
        }
    ),
    calls=ecmascript.CALLS,
    wants_calls=ecmascript_tests.wants_calls,
    finish=ecmascript.facts,
)
TSX_READER = replace(READER, name="tsx", grammar=Grammar("tsx", _tsx, ecmascript.looks_broken))
