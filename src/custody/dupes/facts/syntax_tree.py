"""The one way to a syntax tree: bounded, and never with an exception for what a file holds.

tree-sitter parses anything, but its way out of errors can take time that grows with the square of the text, and the
grammars of TypeScript (0.23) can insert missing tokens without end (tree-sitter-typescript issue 323). Neither can be
interrupted from Python below 3.14: the binding's progress callback crashes there (tree-sitter 0.26). What does work is
to hand over the text piece by piece and to end it early: a parser that sees the end comes to an end.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING

from custody.dupes.facts.model import Enough, FactLimits

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query

PIECE_BYTES = 256
TOKEN_BYTES = 4
"""The size of a usual token, space included."""
READS_FREE = 4_096
"""So many questions for text are never too many."""
_TOKEN = re.compile(rb"\s*(?:\w+|[\x80-\xff]+|.)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Grammar:
    """How a grammar is loaded, and which texts could send it in circles.

    A circle is seen only when it leaves a piece of the text, so such a text is handed over token by token: a parser
    that looks at a token again has seen the sign behind it, and must ask again.
    """

    name: str
    load: Callable[[], object]
    looks_broken: Callable[[bytes], bool] = lambda _: False


@dataclass(frozen=True, slots=True)
class SyntaxTree:
    """A tree over ``content``; ``root`` is None when there is none that is worth reading. ``degraded`` says why."""

    content: bytes
    root: "Node | None"
    degraded: str | None


def parse_syntax(grammar: Grammar, content: bytes, limits: FactLimits, enough: Enough | None) -> SyntaxTree:
    """The syntax tree of ``content``, as far as it goes."""
    if len(content) > limits.bytes_max:
        return SyntaxTree(content, None, f"larger than {limits.bytes_max:,} bytes: not parsed")
    try:
        language = _language(grammar)
    except ImportError:
        return SyntaxTree(content, None, f"the grammar of {grammar.name} is not installed: not parsed")
    pieces = _Pieces(content, limits, enough, by_token=grammar.looks_broken(content))
    root = _tree(language, pieces)
    if pieces.stopped is not None:
        return SyntaxTree(content, None, pieces.stopped)
    if not root.has_error:
        return SyntaxTree(content, root, None)
    line, worst = _errors(root, limits.error_tokens_max)
    if worst > limits.error_tokens_max:
        return SyntaxTree(
            content, None, f"more than {limits.error_tokens_max:,} tokens in a row are no syntax: not parsed"
        )
    return SyntaxTree(content, root, f"a syntax error in line {line}")


SyntaxRow = tuple[int, int, int, str, "Node"]
"""Where a node begins, where it ends (less is further), its number, its kind, and itself."""


def collect_nodes(tree: "Node", grammar: Grammar, kinds: tuple[str, ...], limits: FactLimits) -> list[SyntaxRow]:
    """The nodes of these kinds, in the order of the text, the outer before the inner."""
    from tree_sitter import QueryCursor

    cursor = QueryCursor(_query(grammar, kinds))
    # One node at a time and no deeper than people write: the time then grows with the tree and no faster.
    cursor.set_max_start_depth(limits.depth_max)
    order = count()
    found = [
        (node.start_byte, -node.end_byte, next(order), kind, node)
        for kind, nodes in cursor.captures(tree).items()
        for node in nodes
    ]
    found.sort()
    return found


class _Pieces:
    """Hands the text over and ends it early when there was enough of it."""

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
            self.stopped = f"the parser {'goes in circles' if self._left < 0 else 'takes too long'}: not parsed"
        return b""


def _tree(language: "Language", read: Callable[[int, object], bytes]) -> "Node":
    from tree_sitter import Parser

    # A parser of its own: Python may change threads while the text is handed over.
    return Parser(language).parse(read).root_node


@lru_cache(maxsize=16)
def _language(grammar: Grammar) -> "Language":
    from tree_sitter import Language

    return Language(grammar.load())


@lru_cache(maxsize=32)
def _query(grammar: Grammar, kinds: tuple[str, ...]) -> "Query":
    from tree_sitter import Query

    return Query(_language(grammar), "\n".join(f"({kind}) @{kind}" for kind in kinds))


def _errors(root: "Node", tokens_max: int) -> tuple[int, int]:
    """The line of the first error, and how many tokens the longest has; one that is too long ends the search."""
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
