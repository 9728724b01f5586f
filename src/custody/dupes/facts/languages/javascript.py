"""JavaScript with JSX, TypeScript and TSX."""

from types import MappingProxyType

from msgspec.structs import replace

from custody.dupes.facts.languages import ecmascript, ecmascript_tests
from custody.dupes.facts.syntax_tree import Grammar
from custody.dupes.facts.walk import LanguageReader


def _load_javascript_grammar() -> object:
    import tree_sitter_javascript

    return tree_sitter_javascript.language()


def _load_typescript_grammar() -> object:
    import tree_sitter_typescript

    return tree_sitter_typescript.language_typescript()


def _load_tsx_grammar() -> object:
    import tree_sitter_typescript

    return tree_sitter_typescript.language_tsx()


JAVASCRIPT_READER = LanguageReader(
    name="javascript",
    grammar=Grammar("javascript", _load_javascript_grammar),
    handlers=MappingProxyType({**ecmascript.HANDLERS, "field_definition": ecmascript.extract_class_field}),
    calls=ecmascript.CALLS,
    wants_calls=ecmascript_tests.has_test_or_import_calls,
    finish=ecmascript.collect_script_facts,
)
TYPESCRIPT_READER = replace(
    JAVASCRIPT_READER,
    name="typescript",
    grammar=Grammar("typescript", _load_typescript_grammar, ecmascript.has_unclosed_brackets),
    handlers=MappingProxyType(
        {
            **ecmascript.HANDLERS,
            "abstract_class_declaration": ecmascript.make_declaration_handler("class"),
            "abstract_method_signature": ecmascript.extract_script_method,
            "function_signature": ecmascript.make_declaration_handler("function"),
            "interface_declaration": ecmascript.make_declaration_handler("interface"),
            "type_alias_declaration": ecmascript.make_declaration_handler("type"),
            "enum_declaration": ecmascript.make_declaration_handler("enum"),
            "internal_module": ecmascript.make_declaration_handler("namespace"),
            "module": ecmascript.make_declaration_handler("namespace"),
            "public_field_definition": ecmascript.extract_class_field,
        }
    ),
)
TSX_READER = replace(
    TYPESCRIPT_READER, name="tsx", grammar=Grammar("tsx", _load_tsx_grammar, ecmascript.has_unclosed_brackets)
)
