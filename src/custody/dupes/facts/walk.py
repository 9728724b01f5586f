"""Reads nodes in the order of the text and keeps track of what is around them: one walk for every language."""

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from custody.core.paths import Lines
from custody.dupes.facts.model import Declaration, ExportedName, FactLimits, Facts, ImportedModule, Intent, TestName
from custody.dupes.facts.syntax_tree import Grammar, SyntaxTree, collect_nodes

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class NodeScope:
    """What a node stands in, until byte ``end``: ``name`` is qualified, and empty outside of everything."""

    end: int
    name: str
    kind: str
    exported: bool


FILE = NodeScope(end=1 << 62, name="", kind="file", exported=True)


_BETWEEN = re.compile(rb"(?:\s|//[^\n]*)*")


@dataclass(slots=True)
class _Marks:
    """Attributes that follow each other, up to byte ``end``; the first one is in line ``first``."""

    end: int = -1
    first: int = 0
    texts: list[str] = field(default_factory=list)

    def reach(self, content: bytes, start: int) -> bool:
        """Whether nothing but space and comments stands between them and byte ``start``."""
        if not 0 <= self.end <= start:
            return False
        gap = _BETWEEN.match(content, self.end, start)
        return gap is not None and gap.end() == start


class SyntaxWalk:
    """What was found so far, and where the walk is."""

    def __init__(self, content: bytes, limits: FactLimits) -> None:
        self.content = content
        self._limits = limits
        self.scope = FILE
        """The innermost scope around the walk."""
        self._around: list[NodeScope] = []
        self.declared: list[Declaration] = []
        self.exports: list[ExportedName] = []
        self.local_names: list[str] = []
        """For each export what the file itself calls it; empty where it does not."""
        self.imports: list[ImportedModule] = []
        self.suites: list[TestName] = []
        self.tests: list[TestName] = []
        self.matched: list[TestName] = []
        self.is_test = False
        self.is_mixed = False
        """Whether something was found that is no test and belongs to no test."""
        self._leads: dict[int, int] = {}
        self._marks = _Marks()

    def to(self, byte: int) -> None:
        """Go on to ``byte``: what ended before it is no longer around."""
        while self.scope.end <= byte:
            self.scope = self._around.pop()

    def enter(self, node: "Node", name: str = "", kind: str = "function", *, exported: bool = False) -> None:
        """From here to the end of ``node``, names are those of ``name`` (or of what is around, without one)."""
        inner = NodeScope(node.end_byte, self.qualified(name), kind, exported)
        self._around.append(self.scope)
        self.scope = inner

    def qualified(self, name: str) -> str:
        """``name`` with the names around it."""
        around = self.scope.name
        return f"{around}.{name}" if around and name else around or name

    def text(self, node: "Node") -> str:
        """The text of a node, cut where it is too long for a name."""
        return self.bare(self.content[node.start_byte : node.end_byte])

    def bare(self, raw: bytes) -> str:
        """Some of the content as a name."""
        return raw[: 4 * self._limits.name_chars_max].decode("utf-8", "replace")[: self._limits.name_chars_max]

    def named(self, node: "Node", part: str = "name") -> str:
        """The text of a field of a node; empty if it has none."""
        found = node.child_by_field_name(part)
        return "" if found is None else self.text(found)

    def lead(self, first: int, start_byte: int) -> None:
        """The declaration that begins at ``start_byte`` has decorators or attributes from line ``first`` on."""
        self._leads[start_byte] = first

    def mark(self, node: "Node") -> None:
        """``node`` is an attribute of the declaration that follows it."""
        if not self._marks.reach(self.content, node.start_byte):
            self._marks = _Marks(first=node.start_point[0] + 1)
        self._marks.texts.append(self.text(node))
        self._marks.end = node.end_byte

    def marks(self, node: "Node") -> list[str]:
        """The attributes right before the declaration ``node``; its lines then begin with theirs."""
        marks, self._marks = self._marks, _Marks()
        if not marks.reach(self.content, node.start_byte):
            return []
        self.lead(marks.first, node.start_byte)
        return marks.texts

    def lines_of(self, node: "Node") -> Lines:
        """The lines of a declaration, from its first decorator on."""
        lines = lines_of(node)
        return Lines(self._leads.pop(node.start_byte, lines.first), lines.last)

    def declare(self, node: "Node", name: str, kind: str, *, exported: bool = False) -> Lines:
        """Note a declaration where the walk is, and give its lines; one without a name is not noted."""
        lines = self.lines_of(node)
        if name:
            self.declared.append(Declaration(self.qualified(name), kind, lines, exported))
        return lines


def lines_of(node: "Node") -> Lines:
    """The lines that a node stands on; a line end that closes it belongs to its last line."""
    first, (last, column) = node.start_point[0] + 1, node.end_point
    return Lines(first, max(first, last + (column > 0)))


def child_of(node: "Node | None", place: int = 0) -> "Node | None":
    """The named child at a place; the binding itself raises where there is none."""
    return node.named_child(place) if node is not None and node.named_child_count > place else None


Handler = Callable[[SyntaxWalk, "Node"], None]


@dataclass(frozen=True, slots=True)
class LanguageReader:
    """How one language is read: a function for each kind of node, and one to put everything together at the end.

    ``calls`` are the kinds that are looked at only in files in which ``wants_calls`` sees a reason to.
    """

    name: str
    grammar: Grammar
    handlers: Mapping[str, Handler]
    calls: Mapping[str, Handler]
    wants_calls: Callable[[bytes], bool]
    finish: Callable[[SyntaxWalk, "Node"], Facts]

    def read(self, tree: SyntaxTree, limits: FactLimits) -> Facts:
        """The facts of a parsed file."""
        if tree.root is None:
            return Facts(language=self.name, degraded=tree.degraded)
        walk = SyntaxWalk(tree.content, limits)
        handlers = {**self.handlers, **self.calls} if self.wants_calls(tree.content) else self.handlers
        for start, _, _, kind, node in collect_nodes(tree.root, self.grammar, tuple(handlers), limits):
            if walk.scope.end <= start:
                walk.to(start)
            handlers[kind](walk, node)
        return replace(self.finish(walk, tree.root), language=self.name, degraded=tree.degraded)


def surface(walk: SyntaxWalk) -> tuple[ExportedName, ...]:
    """The exports of a language in which a declaration itself says that it is one, and what was exported besides."""
    return (
        *(ExportedName(declaration.name, declaration.lines) for declaration in walk.declared if declaration.exported),
        *walk.exports,
    )


def with_tests(suites: Sequence[TestName], tests: Sequence[TestName]) -> list[TestName]:
    """The suites that hold a test: a class without any is a helper, whatever its name says."""
    firsts = sorted(test.lines.first for test in tests)
    begun = ((suite, bisect_left(firsts, suite.lines.first)) for suite in suites)
    return [suite for suite, at in begun if at < len(firsts) and firsts[at] <= suite.lines.last]


def intent_of(walk: SyntaxWalk, is_framework: Callable[[str], bool]) -> Intent:
    """What the tests that the walk found are about; without any, nothing."""
    if not walk.suites and not walk.tests:
        return Intent()
    under_test = tuple(imported for imported in walk.imports if not is_framework(imported.module))
    return Intent(tuple(walk.suites), tuple(walk.tests), tuple(walk.matched), under_test)
