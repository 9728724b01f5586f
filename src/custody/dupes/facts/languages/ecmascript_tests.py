"""Tests in JavaScript and TypeScript: those of jest, vitest, mocha, jasmine, node:test, Playwright, QUnit, Deno."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from custody.core.paths import Lines
from custody.dupes.facts.model import TestName, plain
from custody.dupes.facts.walk import SyntaxWalk, child_of, lines_of

if TYPE_CHECKING:
    from tree_sitter import Node

SUITES = frozenset("describe context suite xdescribe fdescribe".split())
TESTS = frozenset("it test specify xit fit xtest xspecify".split())
ASSERTING = frozenset({"expect", "assert"})
RUNNERS = frozenset({"QUnit", "Deno", "Bun"})
VARIANTS = frozenset(
    "only skip each todo concurrent sequential failing fails fixme slow skipIf runIf for serial parallel".split()
)
"""What may stand behind the name of a suite or test without making it something else."""

_NAMES = "|".join(sorted(SUITES | TESTS | ASSERTING | RUNNERS | {"require", "import"}))
_CALLEE = re.compile(rf"(?:{_NAMES})\b(?:\s*\.\s*[A-Za-z_$][\w$]*)*".encode())
_WANTED = re.compile(rf"\b(?:{'|'.join(sorted(SUITES | TESTS | RUNNERS | {'require', 'import'}))})\s*[(.`]".encode())
_CHAIN = re.compile(rb"(?:\s*[!?]?\.\s*[A-Za-z_$][\w$]*)+")
_SPACE = re.compile(rb"\s+")

FRAMEWORKS = frozenset(
    "vitest mocha chai ava tape tap uvu uvu/assert jasmine jest qunit sinon supertest cypress node:test bun:test "
    "@jest/globals @playwright/test @playwright/experimental-ct-react vitest/browser jest-mock jest-axe nock msw/node "
    "chai-as-promised sinon-chai enzyme react-test-renderer ink-testing-library node-mocks-http ts-mockito".split()
)
FRAMEWORK_HEADS = ("@testing-library/", "@vitest/", "@std/testing", "@std/assert", "@japa/", "jest-extended")
CONFIGURATIONS = frozenset({"vitest/config", "vitest/node", "@vitest/coverage-v8", "@vitest/eslint-plugin"})


def is_framework(module: str) -> bool:
    """Whether only test files ask for this module."""
    return module in FRAMEWORKS or (module.startswith(FRAMEWORK_HEADS) and module not in CONFIGURATIONS)


def wants_calls(content: bytes) -> bool:
    """Whether the file may have tests, or ask for modules by a call."""
    return _WANTED.search(content) is not None


@dataclass(frozen=True, slots=True)
class Callee:
    """What is called: ``it.only`` is ``it`` with ``only``. ``chars`` is how long it is as written."""

    head: str
    parts: tuple[str, ...]
    chars: int


def callee_of(content: bytes, start: int) -> Callee | None:
    """What is called at ``start``, if its name is one that matters here."""
    found = _CALLEE.match(content, start)
    return None if found is None else _callee(found.group())


@lru_cache(maxsize=1024)
def _callee(raw: bytes) -> Callee:
    head, *parts = _SPACE.sub(b"", raw).decode("ascii", "replace").split(".")
    if head in RUNNERS:
        head, *parts = ["describe" if part == "module" else part for part in parts] or [head]
    if "describe" in parts:
        head, parts = "describe", [part for part in parts if part != "describe"]
    return Callee(head, tuple(parts), len(raw))


def read_test_call(walk: SyntaxWalk, node: "Node", callee: Callee) -> None:
    """A suite, a test or an assertion, if the call is one."""
    if callee.head in ASSERTING:
        _asserted(walk, node, callee)
    elif VARIANTS.issuperset(callee.parts) and callee.head in SUITES | TESTS and (name := _name(walk, node)):
        (walk.suites if callee.head in SUITES else walk.tests).append(TestName(name, lines_of(node)))
        walk.is_test = walk.is_test or walk.scope.kind == "file"


def _name(walk: SyntaxWalk, node: "Node") -> str | None:
    """The name that a call gives to a suite or test: its first argument, a text or the name of what is tested."""
    arguments = node.child_by_field_name("arguments")
    if arguments is None or arguments.type != "arguments" or arguments.named_child_count < 1:
        return None
    first = child_of(arguments)
    if first is None or first.type not in ("string", "template_string", "binary_expression", "identifier"):
        return None
    # A call with nothing but a name that is no text is any function called test.
    if first.type == "identifier" and arguments.named_child_count == 1:
        return None
    return plain(walk.text(first)) or None


def _asserted(walk: SyntaxWalk, node: "Node", callee: Callee) -> None:
    """``expect(x).not.toBe(y)`` is ``not.toBe``; ``assert.equal(x, y)`` is ``equal``; ``assert(x)`` is ``assert``."""
    function = node.child_by_field_name("function")
    if function is None or function.end_byte != node.start_byte + callee.chars:
        return  # the call of a matcher: that of ``expect`` itself stands at its beginning, and is seen next
    lines = lines_of(node)
    if callee.head == "assert":
        walk.matched.append(TestName(".".join(callee.parts) or callee.head, lines))
    elif chain := _CHAIN.match(walk.content, node.end_byte):
        name = walk.bare(_SPACE.sub(b"", chain.group()).translate(None, b"!?").lstrip(b"."))
        walk.matched.append(TestName(name, Lines(lines.first, lines.last + chain.group().count(b"\n"))))
