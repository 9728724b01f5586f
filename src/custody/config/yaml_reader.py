"""YAML as plain values, limited to the part that all YAML parsers read the same way.

No aliases, anchors, tags, second documents or repeated keys. Plain scalars follow YAML 1.2 (``yes`` and ``010`` are
texts, not true and 8). PyYAML parses the text; this module decides the values of scalars.
"""

import math
import re
from typing import Any

import yaml

from custody.config.file_text import NESTING_MAX, decode_rule_file, find_rule_file_position, make_rule_syntax_error
from custody.config.rule import escape_rule_text
from custody.core.patterns import lazy_pattern

FORM = "YAML that custody reads"
NODES_MAX = 10_000
"""Keys, lists and values together; limits the time to parse."""

_WHOLE = lazy_pattern(r"[-+]?(?:0|[1-9][0-9]{0,300})", re.ASCII)
_REAL = lazy_pattern(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_WORDS: dict[str, object] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **{prefix + word: float(prefix + "inf") for prefix in ("", "-", "+") for word in (".inf", ".Inf", ".INF")},
}


class UnsupportedYaml(yaml.MarkedYAMLError):
    """A feature of YAML that a file of rules must not use."""

    def __init__(self, problem: str, mark: Any) -> None:
        super().__init__(problem=problem, problem_mark=mark)


class _Loader(yaml.SafeLoader):
    """Composes nodes, and raises an error for unsupported features as early as possible."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = self._nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Return one node with all below it."""
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            raise UnsupportedYaml("an alias", event.start_mark)
        if event.anchor is not None:
            raise UnsupportedYaml("an anchor", event.start_mark)
        if event.tag is not None:
            raise UnsupportedYaml("a tag", event.start_mark)
        self._depth, self._nodes = self._depth + 1, self._nodes + 1
        if self._depth > NESTING_MAX:
            raise UnsupportedYaml(f"more than {NESTING_MAX} levels", event.start_mark)
        if self._nodes > NODES_MAX:
            raise UnsupportedYaml(f"more than {NODES_MAX:,} values", event.start_mark)
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


def parse_rule_yaml(name: str, data: bytes) -> object:
    """Return the file's value (None if it is empty), or raise an ``InputError`` with line and column."""
    text = decode_rule_file(name, data)
    try:
        node = _Loader(text).get_single_node()
        return None if node is None else _value_from_yaml_node(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else find_rule_file_position(text, len(text))
        raise make_rule_syntax_error(
            name, FORM, escape_rule_text(error.problem or str(error.context)), place
        ) from error
    except yaml.reader.ReaderError as error:
        place = find_rule_file_position(text, error.position)
        raise make_rule_syntax_error(name, FORM, "an invalid character", place) from error


def _value_from_yaml_node(node: yaml.Node) -> object:
    if isinstance(node, yaml.MappingNode):
        return _mapping_from_yaml_node(node)
    if isinstance(node, yaml.SequenceNode):
        return [_value_from_yaml_node(item) for item in node.value]
    text: str = node.value
    return text if getattr(node, "style", None) else parse_yaml_scalar(text)


def _mapping_from_yaml_node(node: yaml.MappingNode) -> dict[str, object]:
    mapping: dict[str, object] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise UnsupportedYaml("a key that is not a text", key.start_mark)
        if key.value in mapping:
            raise UnsupportedYaml(f"repeated key '{escape_rule_text(key.value)}'", key.start_mark)
        mapping[key.value] = _value_from_yaml_node(value)
    return mapping


def parse_yaml_scalar(text: str) -> object:
    """Return the value of a plain scalar.

    >>> [parse_yaml_scalar(text) for text in ("5", "0.3", "true", "~", "yes", "010", "1_000", "12:30")]
    [5, 0.3, True, None, 'yes', '010', '1_000', '12:30']
    """
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _REAL.fullmatch(text) else text
