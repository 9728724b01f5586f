"""YAML as plain values, and only the part of YAML that every reader understands alike.

No aliases, anchors, tags or second documents; no key twice; plain scalars mean what YAML 1.2 says (``yes`` and
``010`` are texts, not a truth and an eight). PyYAML reads the text; what a scalar means is decided here.
"""

import math
import re
from typing import Any

import yaml

from custody.config.file_text import NESTING_MAX, place_of, text_of, unreadable
from custody.config.rule import printable

FORM = "YAML that custody reads"
NODES_MAX = 10_000
"""Keys, lists and values together: keeps the time that reading takes short."""

_WHOLE = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,300})", re.ASCII)
_REAL = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_WORDS: dict[str, object] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **{sign + word: float(sign + "inf") for sign in ("", "-", "+") for word in (".inf", ".Inf", ".INF")},
}


class UnsupportedYaml(yaml.MarkedYAMLError):
    """Something that YAML knows and that a file of rules may not hold."""

    def __init__(self, problem: str, mark: Any) -> None:
        super().__init__(problem=problem, problem_mark=mark)


class _Loader(yaml.SafeLoader):
    """Composes nodes and refuses, as early as it sees it, what may not be there."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = self._nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """One node with all below it."""
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


def parse_yaml(name: str, data: bytes) -> object:
    """The file's value (None if it is empty), or an ``InputError`` that names line and column."""
    text = text_of(name, data)
    try:
        node = _Loader(text).get_single_node()
        return None if node is None else _value(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else place_of(text, len(text))
        raise unreadable(name, FORM, printable(error.problem or str(error.context)), place) from error
    except yaml.reader.ReaderError as error:
        place = place_of(text, error.position)
        raise unreadable(name, FORM, "a character that may not be there", place) from error


def _value(node: yaml.Node) -> object:
    if isinstance(node, yaml.MappingNode):
        return _mapping(node)
    if isinstance(node, yaml.SequenceNode):
        return [_value(item) for item in node.value]
    text: str = node.value
    return text if getattr(node, "style", None) else plain(text)


def _mapping(node: yaml.MappingNode) -> dict[str, object]:
    made: dict[str, object] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise UnsupportedYaml("a key that is no text", key.start_mark)
        if key.value in made:
            raise UnsupportedYaml(f"the key '{printable(key.value)}' a second time", key.start_mark)
        made[key.value] = _value(value)
    return made


def plain(text: str) -> object:
    """What a plain scalar means.

    >>> [plain(text) for text in ("5", "0.3", "true", "~", "yes", "010", "1_000", "12:30")]
    [5, 0.3, True, None, 'yes', '010', '1_000', '12:30']
    """
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _REAL.fullmatch(text) else text
