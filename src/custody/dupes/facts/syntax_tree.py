"""Parsing with bounded time, without exceptions for any content.

tree-sitter parses anything, but recovering from errors can take quadratic time, and the grammars of TypeScript (0.23)
can insert missing tokens endlessly (tree-sitter-typescript issue 323). Neither can be interrupted from Python below
3.14: the binding's progress callback crashes there (tree-sitter 0.26). So the text is passed in pieces and cut short:
a parser that sees the end stops.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING

from msgspec import Struct

from custody.core.patterns import lazy_pattern
from custody.dupes.facts.model import Enough, FactLimits

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query

PIECE_BYTES = 256
TOKEN_BYTES = 4
"""The usual size of a token, including space."""
READS_FREE = 4_096
"""Reads that are always allowed."""
_TOKEN = lazy_pattern(rb"\s*(?:\w+|[\x80-\xff]+|.)?", re.DOTALL)


class Grammar(Struct, frozen=True):
    """How a grammar is loaded, and which texts could send it into an endless loop.

    A loop is noticed only when the parser reads another piece, so such a text is passed token by token: a parser that
    returns to a token must read it again.
    """

    name: str
    load: Callable[[], object]
    looks_broken: Callable[[bytes], bool] = lambda _: False


class SyntaxTree(Struct, frozen=True):
    """The tree of ``content``; ``root`` is None if it is not usable, and ``degraded`` says why."""

    content: bytes
    root: "Node | None"
    degraded: str | None


def parse_syntax_tree(grammar: Grammar, content: bytes, limits: FactLimits, enough: Enough | None) -> SyntaxTree:
    """Parse ``content`` as far as possible."""
    if len(content) > limits.bytes_max:
        return SyntaxTree(content, None, f"not parsed: larger than {limits.bytes_max:,} bytes")
    try:
        language = _load_grammar_language(grammar)
    except ImportError:
        return SyntaxTree(content, None, f"not parsed: the grammar of {grammar.name} is not installed")
    pieces = _Pieces(content, limits, enough, by_token=grammar.looks_broken(content))
    root = _parse_root_node(language, pieces)
    if pieces.stopped is not None:
        return SyntaxTree(content, None, pieces.stopped)
    if not root.has_error:
        return SyntaxTree(content, root, None)
    line, worst = _measure_syntax_errors(root, limits.error_tokens_max)
    if worst > limits.error_tokens_max:
        return SyntaxTree(content, None, f"not parsed: more than {limits.error_tokens_max:,} invalid tokens in a row")
    return SyntaxTree(content, root, f"syntax error in line {line}")


SyntaxRow = tuple[int, int, int, str, "Node"]
"""Start, negative end, number, kind and node; sorts outer nodes before inner ones."""


def collect_syntax_nodes(tree: "Node", grammar: Grammar, kinds: tuple[str, ...], limits: FactLimits) -> list[SyntaxRow]:
    """Return the nodes of these kinds in the order of the text, outer before inner nodes."""
    from tree_sitter import QueryCursor

    cursor = QueryCursor(_compile_node_query(grammar, kinds))
    # Single-node patterns with limited depth keep the time linear.
    cursor.set_max_start_depth(limits.depth_max)
    order = count()
    rows = [
        (node.start_byte, -node.end_byte, next(order), kind, node)
        for kind, nodes in cursor.captures(tree).items()
        for node in nodes
    ]
    rows.sort()
    return rows


class _Pieces:
    """Passes the text to the parser, and ends it early if there are too many reads."""

    def __init__(self, content: bytes, limits: FactLimits, enough: Enough | None, *, by_token: bool) -> None:
        self._content, self._enough, self._by_token = content, enough, by_token
        self._left = READS_FREE + limits.reads_max * (len(content) // (TOKEN_BYTES if by_token else PIECE_BYTES) + 1)
        self.stopped: str | None = None

    def __call__(self, offset: int, _: object) -> bytes:
        self._left -= 1
        if self._left < 0 or (self._enough is not None and self._enough()):
            return self._stop()
        if self._by_token and (token := _TOKEN.match(self._content, offset)) is not None:
            return token.group()
        return self._content[offset : offset + PIECE_BYTES]

    def _stop(self) -> bytes:
        if self.stopped is None:
            self.stopped = f"not parsed: the parser {'loops' if self._left < 0 else 'takes too long'}"
        return b""


def _parse_root_node(language: "Language", read: Callable[[int, object], bytes]) -> "Node":
    from tree_sitter import Parser

    # A new parser each time: Python may switch threads while the text is read.
    return Parser(language).parse(read).root_node


@lru_cache(maxsize=16)
def _load_grammar_language(grammar: Grammar) -> "Language":
    from tree_sitter import Language

    return Language(grammar.load())


@lru_cache(maxsize=32)
def _compile_node_query(grammar: Grammar, kinds: tuple[str, ...]) -> "Query":
    from tree_sitter import Query

    return Query(_load_grammar_language(grammar), "\n".join(f"({kind}) @{kind}" for kind in kinds))


def _measure_syntax_errors(root: "Node", tokens_max: int) -> tuple[int, int]:
    """Return the line of the first error and the tokens of the longest; a too long error ends the search."""
    first, worst = root.end_point[0], 0
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.is_error or node.is_missing:
            first, worst = min(first, node.start_point[0]), max(worst, node.child_count)
            if worst > tokens_max:
                break
        waiting.extend(child for child in node.children if child.has_error or child.is_missing)
    return first + 1, worst
