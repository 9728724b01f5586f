"""Tests in JavaScript and TypeScript: jest, vitest, mocha, jasmine, node:test, Playwright, QUnit, Deno."""

from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from custody.core.paths import Lines
from custody.core.patterns import lazy_pattern
from custody.dupes.facts.model import TestName, normalize_test_name
from custody.dupes.facts.walk import SyntaxWalk, get_named_child, lines_from_node

if TYPE_CHECKING:
    from tree_sitter import Node

SUITES = frozenset("describe context suite xdescribe fdescribe".split())
TESTS = frozenset("it test specify xit fit xtest xspecify".split())
ASSERTING = frozenset({"expect", "assert"})
RUNNERS = frozenset({"QUnit", "Deno", "Bun"})
VARIANTS = frozenset(
    "only skip each todo concurrent sequential failing fails fixme slow skipIf runIf for serial parallel".split()
)
"""Modifiers of suites and tests, such as ``it.only``."""

_NAMES = "|".join(sorted(SUITES | TESTS | ASSERTING | RUNNERS | {"require", "import"}))
_CALLEE = lazy_pattern(rf"(?:{_NAMES})\b(?:\s*\.\s*[A-Za-z_$][\w$]*)*".encode())
_RELEVANT = lazy_pattern(
    rf"\b(?:{'|'.join(sorted(SUITES | TESTS | RUNNERS | {'require', 'import'}))})\s*[(.`]".encode()
)
_CHAIN = lazy_pattern(rb"(?:\s*[!?]?\.\s*[A-Za-z_$][\w$]*)+")
_SPACE = lazy_pattern(rb"\s+")

FRAMEWORKS = frozenset(
    "vitest mocha chai ava tape tap uvu uvu/assert jasmine jest qunit sinon supertest cypress node:test bun:test "
    "@jest/globals @playwright/test @playwright/experimental-ct-react vitest/browser jest-mock jest-axe nock msw/node "
    "chai-as-promised sinon-chai enzyme react-test-renderer ink-testing-library node-mocks-http ts-mockito".split()
)
FRAMEWORK_HEADS = ("@testing-library/", "@vitest/", "@std/testing", "@std/assert", "@japa/", "jest-extended")
CONFIGURATIONS = frozenset({"vitest/config", "vitest/node", "@vitest/coverage-v8", "@vitest/eslint-plugin"})


def is_test_framework(module: str) -> bool:
    """Return whether only test files import this module."""
    return module in FRAMEWORKS or (module.startswith(FRAMEWORK_HEADS) and module not in CONFIGURATIONS)


def has_test_or_import_calls(content: bytes) -> bool:
    """Return whether the file may have tests, or import modules by a call."""
    return _RELEVANT.search(content) is not None


class Callee(Struct, frozen=True):
    """A called name: ``it.only`` has the head ``it`` and the part ``only``; ``chars`` is its length as written."""

    head: str
    parts: tuple[str, ...]
    chars: int


def match_script_callee(content: bytes, start: int) -> Callee | None:
    """Return the name called at ``start``, if it is relevant for tests or imports."""
    match = _CALLEE.match(content, start)
    return None if match is None else _parse_callee(match.group())


@lru_cache(maxsize=1024)
def _parse_callee(raw: bytes) -> Callee:
    head, *parts = _SPACE.sub(b"", raw).decode("ascii", "replace").split(".")
    if head in RUNNERS:
        head, *parts = ["describe" if part == "module" else part for part in parts] or [head]
    if "describe" in parts:
        head, parts = "describe", [part for part in parts if part != "describe"]
    return Callee(head, tuple(parts), len(raw))


def extract_test_call(walk: SyntaxWalk, node: "Node", callee: Callee) -> None:
    """Add the suite, test or assertion of a call, if it is one."""
    if callee.head in ASSERTING:
        _extract_assertion(walk, node, callee)
    elif (
        VARIANTS.issuperset(callee.parts) and callee.head in SUITES | TESTS and (name := _extract_test_name(walk, node))
    ):
        (walk.suites if callee.head in SUITES else walk.tests).append(TestName(name, lines_from_node(node)))
        walk.is_test = walk.is_test or walk.scope.kind == "file"


def _extract_test_name(walk: SyntaxWalk, node: "Node") -> str | None:
    """Return the name of a suite or test: the first argument, a string or the name of the tested object."""
    arguments = node.child_by_field_name("arguments")
    if arguments is None or arguments.type != "arguments" or arguments.named_child_count < 1:
        return None
    first = get_named_child(arguments)
    if first is None or first.type not in ("string", "template_string", "binary_expression", "identifier"):
        return None
    # A call with a single identifier may be any function named ``test``.
    if first.type == "identifier" and arguments.named_child_count == 1:
        return None
    return normalize_test_name(walk.text(first)) or None


def _extract_assertion(walk: SyntaxWalk, node: "Node", callee: Callee) -> None:
    """Add a matcher: ``expect(x).not.toBe(y)`` is ``not.toBe``, ``assert.equal(x, y)`` is ``equal``."""
    function = node.child_by_field_name("function")
    if function is None or function.end_byte != node.start_byte + callee.chars:
        return  # the call of a matcher; the inner call of ``expect`` comes next
    lines = lines_from_node(node)
    if callee.head == "assert":
        walk.matched.append(TestName(".".join(callee.parts) or callee.head, lines))
    elif chain := _CHAIN.match(walk.content, node.end_byte):
        name = walk.decode_name(_SPACE.sub(b"", chain.group()).translate(None, b"!?").lstrip(b"."))
        walk.matched.append(TestName(name, Lines(lines.first, lines.last + chain.group().count(b"\n"))))
