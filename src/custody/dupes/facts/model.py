"""The facts of one file, and the channels that files are put into."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from custody.core.paths import Lines

FACTS_VERSION = 1
"""Of the extractor: raised when the same bytes give other facts, so that kept ones are made again."""


class Channel(Enum):
    """What a file is for."""

    PRODUCTION = "production"
    TESTS = "tests"
    DOCS = "docs"
    META = "meta"
    """What agents and tools leave beside the work: traces, logs, prompts, their settings. Not scored."""
    GENERATED = "generated"
    """Written by a program or by somebody else: lock files, bundles, vendored code. Not scored."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declaration with its qualified name, such as ``Class.method``, and all of its lines, decorators included."""

    name: str
    kind: str
    lines: Lines
    exported: bool


@dataclass(frozen=True, slots=True)
class ExportedName:
    """A name that others can import, and the lines that make it: the declaration's, or those of the export itself."""

    name: str
    lines: Lines


@dataclass(frozen=True, slots=True)
class ImportedModule:
    """A module that the file asks for, in the one form in which equal modules are equal."""

    module: str
    lines: Lines


@dataclass(frozen=True, slots=True)
class TestName:
    """A name in a test, and where it stands: of a suite or test all lines, of a matcher its call."""

    name: str
    lines: Lines


@dataclass(frozen=True, slots=True)
class Intent:
    """What tests are about.

    Names of suites and tests are in small letters, without punctuation, one space between words. ``imports`` are the
    modules under test: what the file asks for, test frameworks left out.
    """

    suites: tuple[TestName, ...] = ()
    tests: tuple[TestName, ...] = ()
    matched: tuple[TestName, ...] = ()
    imports: tuple[ImportedModule, ...] = ()

    @property
    def matchers(self) -> tuple[tuple[str, int], ...]:
        """How often each matcher is used, by name.

        >>> line = Lines(1, 1)
        >>> Intent(matched=(TestName("toBe", line), TestName("not.toBe", line), TestName("toBe", line))).matchers
        (('not.toBe', 1), ('toBe', 2))
        """
        return tuple(sorted(Counter(name.name for name in self.matched).items()))


@dataclass(frozen=True, slots=True)
class DocumentHeading:
    """A heading of a document: 1 is the highest level; its lines are its own, not its section's."""

    level: int
    text: str
    lines: Lines


@dataclass(frozen=True, slots=True)
class FencedCode:
    """A block of code in a document: its language as written, in small letters, and its first tokens."""

    language: str
    tokens: tuple[str, ...]
    lines: Lines


@dataclass(frozen=True, slots=True)
class Reference:
    """A mention of an issue or pull request: ``#12``, or ``owner/name#12`` where the document says whose."""

    name: str
    lines: Lines


@dataclass(frozen=True, slots=True)
class Structure:
    """What a document is made of."""

    headings: tuple[DocumentHeading, ...] = ()
    blocks: tuple[FencedCode, ...] = ()
    references: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything one file says. ``degraded`` tells in words why something may be missing; None means all was read.

    ``language`` is None for a file that nobody here can read. ``is_test`` says that the syntax alone shows a test file.
    """

    language: str | None = None
    degraded: str | None = None
    declared: tuple[Declaration, ...] = ()
    exports: tuple[ExportedName, ...] = ()
    imports: tuple[ImportedModule, ...] = ()
    intent: Intent = Intent()
    structure: Structure = Structure()
    is_test: bool = False


# Names in the one form in which equal ones are equal: of tests, of modules.


_HUMP = re.compile(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z0-9]+|[^\W_A-Za-z0-9]+")
_PUNCTUATION = re.compile(r"[\W_]+")
_SUBSTITUTED = re.compile(r"\$\{[^{}]*\}")
_SCRIPT_ENDING = re.compile(r"(?:\.d)?\.[cm]?[jt]sx?$")
_OWN = (".", "/", "~/", "@/", "#/")
"""How specifiers begin that name a file of the same project, not a package."""


def plain(text: str) -> str:
    """A sentence in small letters, without punctuation, one space between words.

    >>> plain("adds  `x`, returns ${n + 1} items!")
    'adds x returns items'
    """
    return _PUNCTUATION.sub(" ", _SUBSTITUTED.sub(" ", text).casefold()).strip()


def humps(identifier: str) -> list[str]:
    """The words of an identifier in small letters; a capital after a small letter begins one.

    >>> humps("parseHTTPHeader_v2"), humps("stacktrace")
    (['parse', 'http', 'header', 'v2'], ['stacktrace'])
    """
    return [word.casefold() for word in _HUMP.findall(identifier)]


def spelt(identifier: str) -> str:
    """An identifier as a sentence.

    >>> spelt("TestParser.test_readsNothing")
    'test parser test reads nothing'
    """
    return " ".join(humps(identifier))


def script_module(specifier: str) -> str:
    """What a script asks for: of the project's own files without ending and without ``/index``.

    >>> [script_module(name) for name in ("./x.js", "./x", "../lib/index.ts", "chart.js", "node:fs", "./a.json")]
    ['./x', './x', '../lib', 'chart.js', 'node:fs', './a.json']
    """
    if not specifier.startswith(_OWN):
        return specifier
    return _SCRIPT_ENDING.sub("", specifier).removesuffix("/index")


# How much of one file is looked at.


Enough = Callable[[], bool]
"""Asked now and then while a file is parsed: whether to stop. A caller with a clock gives a deadline this way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactLimits:
    """Bounds on the work for one file; what lies beyond them is not read, and the facts say so."""

    bytes_max: int = 4 << 20
    """A larger file is not parsed."""
    depth_max: int = 500
    """Syntax that is nested deeper is not looked at: no person wrote it, and every level costs."""
    error_tokens_max: int = 4_000
    """A stretch of more tokens without any syntax makes a tree that is slow to read, and says nothing."""
    reads_max: int = 24
    """A parser that asks for the text more often than this many times over is going in circles."""
    name_chars_max: int = 200
    """Longer names are cut."""
    block_tokens_max: int = 16
    """How many tokens of a code block in a document count."""
