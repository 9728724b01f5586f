"""The walk over a syntax tree, shared by all languages: nodes in the order of the text, with their scopes."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from custody.core.paths import Lines
from custody.core.patterns import lazy_pattern
from custody.dupes.facts.model import Declaration, ExportedName, FactLimits, Facts, ImportedModule, Intent, TestName
from custody.dupes.facts.syntax_tree import Grammar, SyntaxTree, collect_syntax_nodes

if TYPE_CHECKING:
    from tree_sitter import Node


class NodeScope(Struct, frozen=True):
    """The scope around a node, up to byte ``end``; ``name`` is qualified, and empty at the top."""

    end: int
    name: str
    kind: str
    exported: bool


FILE = NodeScope(end=1 << 62, name="", kind="file", exported=True)


_BETWEEN = lazy_pattern(rb"(?:\s|//[^\n]*)*")


class _Marks(Struct):
    """Consecutive attributes up to byte ``end``; the first one is in line ``first``."""

    end: int = -1
    first: int = 0
    texts: list[str] = field(default_factory=list)

    def reach(self, content: bytes, start: int) -> bool:
        """Return whether only space and comments separate them from byte ``start``."""
        if not 0 <= self.end <= start:
            return False
        gap = _BETWEEN.match(content, self.end, start)
        return gap is not None and gap.end() == start


class SyntaxWalk:
    """The facts found so far, and the position of the walk."""

    def __init__(self, content: bytes, limits: FactLimits) -> None:
        self.content = content
        self._limits = limits
        self.scope = FILE
        """The innermost scope around the walk."""
        self._around: list[NodeScope] = []
        self.declared: list[Declaration] = []
        self.exports: list[ExportedName] = []
        self.local_names: list[str] = []
        """The local name of each export; empty without one."""
        self.imports: list[ImportedModule] = []
        self.suites: list[TestName] = []
        self.tests: list[TestName] = []
        self.matched: list[TestName] = []
        self.is_test = False
        self.is_mixed = False
        """Whether the file has code outside of tests."""
        self._first_lines: dict[int, int] = {}
        self._marks = _Marks()

    def advance_to(self, byte: int) -> None:
        """Go on to ``byte``, and leave the scopes that end before it."""
        while self.scope.end <= byte:
            self.scope = self._around.pop()

    def enter(self, node: "Node", name: str = "", kind: str = "function", *, exported: bool = False) -> None:
        """Enter a scope that lasts to the end of ``node``; without ``name`` it has the name of the outer scope."""
        inner = NodeScope(node.end_byte, self.qualify_name(name), kind, exported)
        self._around.append(self.scope)
        self.scope = inner

    def qualify_name(self, name: str) -> str:
        """Return ``name`` qualified by the scope."""
        scope = self.scope.name
        return f"{scope}.{name}" if scope and name else scope or name

    def text(self, node: "Node") -> str:
        """Return the text of a node, cut to the length of a name."""
        return self.decode_name(self.content[node.start_byte : node.end_byte])

    def decode_name(self, raw: bytes) -> str:
        """Return bytes of the content as a name."""
        return raw[: 4 * self._limits.name_chars_max].decode("utf-8", "replace")[: self._limits.name_chars_max]

    def field_text(self, node: "Node", part: str = "name") -> str:
        """Return the text of a field of a node; empty without the field."""
        child = node.child_by_field_name(part)
        return "" if child is None else self.text(child)

    def set_first_line(self, first: int, start_byte: int) -> None:
        """Let the declaration at ``start_byte`` start at line ``first``, because of decorators or attributes."""
        self._first_lines[start_byte] = first

    def add_attribute(self, node: "Node") -> None:
        """Collect ``node`` as an attribute of the next declaration."""
        if not self._marks.reach(self.content, node.start_byte):
            self._marks = _Marks(first=node.start_point[0] + 1)
        self._marks.texts.append(self.text(node))
        self._marks.end = node.end_byte

    def take_attributes(self, node: "Node") -> list[str]:
        """Return the attributes right before the declaration ``node``, and count their lines as its lines."""
        marks, self._marks = self._marks, _Marks()
        if not marks.reach(self.content, node.start_byte):
            return []
        self.set_first_line(marks.first, node.start_byte)
        return marks.texts

    def lines_of(self, node: "Node") -> Lines:
        """Return the lines of a declaration, including decorators."""
        lines = lines_from_node(node)
        return Lines(self._first_lines.pop(node.start_byte, lines.first), lines.last)

    def declare(self, node: "Node", name: str, kind: str, *, exported: bool = False) -> Lines:
        """Add a declaration in the current scope, unless it has no name, and return its lines."""
        lines = self.lines_of(node)
        if name:
            self.declared.append(Declaration(self.qualify_name(name), kind, lines, exported))
        return lines


def lines_from_node(node: "Node") -> Lines:
    """Return the lines of a node; a closing line end belongs to the last line."""
    first, (last, column) = node.start_point[0] + 1, node.end_point
    return Lines(first, max(first, last + (column > 0)))


def get_named_child(node: "Node | None", index: int = 0) -> "Node | None":
    """Return a named child; None without one, where the binding would raise."""
    return node.named_child(index) if node is not None and node.named_child_count > index else None


Handler = Callable[[SyntaxWalk, "Node"], None]


class LanguageReader(Struct, frozen=True):
    """The reader of a language: a handler per kind of node, and ``finish``, which makes the facts.

    ``calls`` are handlers that only run in files for which ``wants_calls`` is true.
    """

    name: str
    grammar: Grammar
    handlers: Mapping[str, Handler]
    calls: Mapping[str, Handler]
    wants_calls: Callable[[bytes], bool]
    finish: Callable[[SyntaxWalk, "Node"], Facts]

    def read(self, tree: SyntaxTree, limits: FactLimits) -> Facts:
        """Return the facts of a parsed file."""
        if tree.root is None:
            return Facts(language=self.name, degraded=tree.degraded)
        walk = SyntaxWalk(tree.content, limits)
        handlers = {**self.handlers, **self.calls} if self.wants_calls(tree.content) else self.handlers
        for start, _, _, kind, node in collect_syntax_nodes(tree.root, self.grammar, tuple(handlers), limits):
            if walk.scope.end <= start:
                walk.advance_to(start)
            handlers[kind](walk, node)
        return replace(self.finish(walk, tree.root), language=self.name, degraded=tree.degraded)


def collect_exported_names(walk: SyntaxWalk) -> tuple[ExportedName, ...]:
    """Return the exported declarations, and the exports without a declaration."""
    return (
        *(ExportedName(declaration.name, declaration.lines) for declaration in walk.declared if declaration.exported),
        *walk.exports,
    )


def select_suites_with_tests(suites: Sequence[TestName], tests: Sequence[TestName]) -> list[TestName]:
    """Return the suites that contain a test: a class without tests is a helper."""
    firsts = sorted(test.lines.first for test in tests)
    positions = ((suite, bisect_left(firsts, suite.lines.first)) for suite in suites)
    return [suite for suite, at in positions if at < len(firsts) and firsts[at] <= suite.lines.last]


def collect_test_intent(walk: SyntaxWalk, is_framework: Callable[[str], bool]) -> Intent:
    """Return the intent of the tests of the walk; empty without tests."""
    if not walk.suites and not walk.tests:
        return Intent()
    under_test = tuple(imported for imported in walk.imports if not is_framework(imported.module))
    return Intent(tuple(walk.suites), tuple(walk.tests), tuple(walk.matched), under_test)


def imports_test_framework(walk: SyntaxWalk, is_framework: Callable[[str], bool]) -> bool:
    """Return whether the file imports a test framework."""
    return any(is_framework(imported.module) for imported in walk.imports)


def facts_from_walk(walk: SyntaxWalk, is_framework: Callable[[str], bool], *, is_test: bool) -> Facts:
    """Return the facts of a language whose declarations say themselves whether they are exported."""
    return Facts(
        declared=tuple(walk.declared),
        exports=collect_exported_names(walk),
        imports=tuple(walk.imports),
        intent=collect_test_intent(walk, is_framework),
        is_test=is_test,
    )
