"""The facts of a file, and the channels of files."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from custody.core.paths import Lines

FACTS_VERSION = 1
"""The version of the extractor, raised when the same bytes give other facts."""


class Channel(Enum):
    """What a file is for."""

    PRODUCTION = "production"
    TESTS = "tests"
    DOCS = "docs"
    META = "meta"
    """Files of agents and tools: traces, logs, prompts, settings. Not scored."""
    GENERATED = "generated"
    """Generated or third-party files: lock files, bundles, vendored code. Not scored."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declaration with its qualified name, such as ``Class.method``, and its lines, including decorators."""

    name: str
    kind: str
    lines: Lines
    exported: bool


@dataclass(frozen=True, slots=True)
class ExportedName:
    """An exported name, and the lines of its declaration or of the export statement."""

    name: str
    lines: Lines


@dataclass(frozen=True, slots=True)
class ImportedModule:
    """An imported module, in normal form."""

    module: str
    lines: Lines


@dataclass(frozen=True, slots=True)
class TestName:
    """The name of a suite, test or matcher, and its lines; those of a matcher are its call."""

    name: str
    lines: Lines


@dataclass(frozen=True, slots=True)
class Intent:
    """What tests are about.

    Names of suites and tests are lower-case, without punctuation, with single spaces. ``imports`` are the modules under
    test: the imports without test frameworks.
    """

    suites: tuple[TestName, ...] = ()
    tests: tuple[TestName, ...] = ()
    matched: tuple[TestName, ...] = ()
    imports: tuple[ImportedModule, ...] = ()

    @property
    def matchers(self) -> tuple[tuple[str, int], ...]:
        """The number of uses of each matcher, by name.

        >>> line = Lines(1, 1)
        >>> Intent(matched=(TestName("toBe", line), TestName("not.toBe", line), TestName("toBe", line))).matchers
        (('not.toBe', 1), ('toBe', 2))
        """
        return tuple(sorted(Counter(name.name for name in self.matched).items()))


@dataclass(frozen=True, slots=True)
class DocumentHeading:
    """A heading of a document; level 1 is the highest. Its lines do not include its section."""

    level: int
    text: str
    lines: Lines


@dataclass(frozen=True, slots=True)
class FencedCode:
    """A code block in a document: its language in lower case, and its first tokens."""

    language: str
    tokens: tuple[str, ...]
    lines: Lines


@dataclass(frozen=True, slots=True)
class Reference:
    """A mention of an issue or pull request: ``#12`` or ``owner/name#12``."""

    name: str
    lines: Lines


@dataclass(frozen=True, slots=True)
class Structure:
    """Headings, code blocks and references of a document."""

    headings: tuple[DocumentHeading, ...] = ()
    blocks: tuple[FencedCode, ...] = ()
    references: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of a file; ``degraded`` says why some may be missing.

    ``language`` is None if it is not supported. ``is_test`` means that the syntax shows a test file.
    """

    language: str | None = None
    degraded: str | None = None
    declared: tuple[Declaration, ...] = ()
    exports: tuple[ExportedName, ...] = ()
    imports: tuple[ImportedModule, ...] = ()
    intent: Intent = Intent()
    structure: Structure = Structure()
    is_test: bool = False


# Normal forms of the names of tests and modules.


_HUMP = re.compile(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z0-9]+|[^\W_A-Za-z0-9]+")
_PUNCTUATION = re.compile(r"[\W_]+")
_SUBSTITUTED = re.compile(r"\$\{[^{}]*\}")
_SCRIPT_ENDING = re.compile(r"(?:\.d)?\.[cm]?[jt]sx?$")
_PROJECT_PREFIXES = (".", "/", "~/", "@/", "#/")
"""Prefixes of specifiers that name a file of the project, not a package."""


def normalize_test_name(text: str) -> str:
    """Return a name in lower case, without punctuation, with single spaces.

    >>> normalize_test_name("adds  `x`, returns ${n + 1} items!")
    'adds x returns items'
    """
    return _PUNCTUATION.sub(" ", _SUBSTITUTED.sub(" ", text).casefold()).strip()


def split_identifier_words(identifier: str) -> list[str]:
    """Return the words of an identifier in lower case; a capital letter after a small one starts a word.

    >>> split_identifier_words("parseHTTPHeader_v2"), split_identifier_words("stacktrace")
    (['parse', 'http', 'header', 'v2'], ['stacktrace'])
    """
    return [word.casefold() for word in _HUMP.findall(identifier)]


def identifier_to_sentence(identifier: str) -> str:
    """Return an identifier as a sentence.

    >>> identifier_to_sentence("TestParser.test_readsNothing")
    'test parser test reads nothing'
    """
    return " ".join(split_identifier_words(identifier))


def normalize_script_module(specifier: str) -> str:
    """Return the normal form of a module: project files without extension and without ``/index``.

    >>> names = ("./x.js", "./x", "../lib/index.ts", "chart.js", "node:fs", "./a.json")
    >>> [normalize_script_module(name) for name in names]
    ['./x', './x', '../lib', 'chart.js', 'node:fs', './a.json']
    """
    if not specifier.startswith(_PROJECT_PREFIXES):
        return specifier
    return _SCRIPT_ENDING.sub("", specifier).removesuffix("/index")


Enough = Callable[[], bool]
"""Called now and then while a file is parsed: return whether to stop, for example at a deadline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactLimits:
    """Bounds on the work for one file; the facts say if a bound was reached."""

    bytes_max: int = 4 << 20
    """A larger file is not parsed."""
    depth_max: int = 500
    """Deeper nested syntax is ignored."""
    error_tokens_max: int = 4_000
    """Tokens in a row without syntax; more make a tree that is slow to read."""
    reads_max: int = 24
    """Times that a parser may read the text; more means an endless loop."""
    name_chars_max: int = 200
    """Characters of a name."""
    block_tokens_max: int = 16
    """Tokens of a code block in a document."""
