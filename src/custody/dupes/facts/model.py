"""The facts of one file, and the channels that files are put into."""

from collections import Counter
from dataclasses import dataclass
from enum import Enum

from custody.core.lines import Lines

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
