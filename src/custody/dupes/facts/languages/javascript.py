"""JavaScript and JSX."""

from types import MappingProxyType

from custody.dupes.facts.languages import ecmascript, ecmascript_tests
from custody.dupes.facts.syntax_tree import Grammar
from custody.dupes.facts.walk import LanguageReader


def _grammar() -> object:
    import tree_sitter_javascript

    return tree_sitter_javascript.language()


READER = LanguageReader(
    name="javascript",
    grammar=Grammar("javascript", _grammar),
    handlers=MappingProxyType({**ecmascript.HANDLERS, "field_definition": ecmascript.field}),
    calls=ecmascript.CALLS,
    wants_calls=ecmascript_tests.wants_calls,
    finish=ecmascript.facts,
)
