"""The facts of a file, and the channels of files."""

from collections import Counter
from collections.abc import Callable
from enum import Enum

from msgspec import Struct

from custody.core.paths import Lines
from custody.core.patterns import lazy_pattern

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


class Declaration(Struct, frozen=True):
    """A declaration with its qualified name, such as ``Class.method``, and its lines, including decorators."""

    name: str
    kind: str
    lines: Lines
    exported: bool


class ExportedName(Struct, frozen=True):
    """An exported name, and the lines of its declaration or of the export statement."""

    name: str
    lines: Lines


class ImportedModule(Struct, frozen=True):
    """An imported module, in normal form."""

    module: str
    lines: Lines


class TestName(Struct, frozen=True):
    """The name of a suite, test or matcher, and its lines; those of a matcher are its call."""

    name: str
    lines: Lines


class Intent(Struct, frozen=True):
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


class DocumentHeading(Struct, frozen=True):
    """A heading of a document; level 1 is the highest. Its lines do not include its section."""

    level: int
    text: str
    lines: Lines


class FencedCode(Struct, frozen=True):
    """A code block in a document: its language in lower case, and its first tokens."""

    language: str
    tokens: tuple[str, ...]
    lines: Lines


class Reference(Struct, frozen=True):
    """A mention of an issue or pull request: ``#12`` or ``owner/name#12``."""

    name: str
    lines: Lines


class Structure(Struct, frozen=True):
    """Headings, code blocks and references of a document."""

    headings: tuple[DocumentHeading, ...] = ()
    blocks: tuple[FencedCode, ...] = ()
    references: tuple[Reference, ...] = ()


class Facts(Struct, frozen=True):
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


_HUMP = lazy_pattern(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z0-9]+|[^\W_A-Za-z0-9]+")
_PUNCTUATION = lazy_pattern(r"[\W_]+")
_SUBSTITUTED = lazy_pattern(r"\$\{[^{}]*\}")
_SCRIPT_ENDING = lazy_pattern(r"(?:\.d)?\.[cm]?[jt]sx?$")
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


class FactLimits(Struct, frozen=True, kw_only=True):
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
