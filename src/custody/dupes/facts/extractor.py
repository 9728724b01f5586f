"""Facts from a path and bytes: language, reader and channel of a file."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from msgspec import Struct

from custody.core.paths import matches_path_pattern
from custody.core.patterns import lazy_pattern
from custody.dupes.facts.documents import parse_markdown_structure, parse_restructuredtext_structure
from custody.dupes.facts.languages import go, java, javascript, python, rust
from custody.dupes.facts.model import Channel, Enough, FactLimits, Facts, Structure, split_identifier_words
from custody.dupes.facts.syntax_tree import parse_syntax_tree
from custody.dupes.facts.walk import LanguageReader

LIMITS = FactLimits()

READERS: Mapping[str, LanguageReader] = MappingProxyType(
    {
        **dict.fromkeys(("ts", "mts", "cts"), javascript.TYPESCRIPT_READER),
        "tsx": javascript.TSX_READER,
        **dict.fromkeys(("js", "jsx", "mjs", "cjs"), javascript.JAVASCRIPT_READER),
        **dict.fromkeys(("py", "pyi"), python.READER),
        "go": go.READER,
        "rs": rust.READER,
        "java": java.READER,
    }
)
"""Readers by file extension."""
# extension → language, scanner
_DOCUMENTS: Mapping[str, tuple[str, Callable[[str, FactLimits], Structure]]] = MappingProxyType(
    {
        **dict.fromkeys(("md", "mdx", "markdown"), ("markdown", parse_markdown_structure)),
        "rst": ("restructuredtext", parse_restructuredtext_structure),
        "txt": ("text", parse_restructuredtext_structure),
    }
)


def detect_file_language(path: str) -> str | None:
    """Return the language of a file by its extension; None if it is not supported.

    >>> detect_file_language("src/a.tsx"), detect_file_language("docs/a.MD"), detect_file_language("Makefile")
    ('tsx', 'markdown', None)
    """
    extension = _get_file_extension(path)
    if extension in READERS:
        return READERS[extension].name
    return _DOCUMENTS[extension][0] if extension in _DOCUMENTS else None


def extract_file_facts(
    path: str, content: bytes, limits: FactLimits = LIMITS, *, enough: Enough | None = None
) -> Facts:
    """Return the facts of a file; never raises for its content, ``degraded`` says what is missing and why.

    ``limits`` bound the time for usual files. A hostile file can still keep a parser busy, so callers that read
    untrusted files pass ``enough``, which is called while the file is parsed.
    """
    extension = _get_file_extension(path)
    if extension in _DOCUMENTS:
        return _extract_document_facts(*_DOCUMENTS[extension], content, limits)
    if extension not in READERS:
        return Facts(degraded="unsupported language")
    reader = READERS[extension]
    return reader.read(parse_syntax_tree(reader.grammar, content, limits, enough), limits)


def _extract_document_facts(
    language: str, scan: Callable[[str, FactLimits], Structure], content: bytes, limits: FactLimits
) -> Facts:
    if len(content) > limits.bytes_max:
        return Facts(language=language, degraded=f"not parsed: larger than {limits.bytes_max:,} bytes")
    return Facts(language=language, structure=scan(content.decode("utf-8", "replace"), limits))


def _get_file_extension(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2].casefold() if "." in name else ""


# The channel of a file, by its path and then by its syntax.
# Patterns (``?``, ``*``, ``**``, see ``core/paths.py``) match the whole path and ignore case. The last matching pattern
# of a channel decides, and ``!`` excludes files. Channels are tried in order; all other files are production.


PATTERN_CHANNELS = (Channel.TESTS, Channel.DOCS, Channel.META, Channel.GENERATED)
PATHS_CACHED_MAX = 1 << 15
"""Paths cached with their channel: the same files change repeatedly."""
HEAD_BYTES = 4_096
"""Bytes searched for the marker of a generator."""

SOURCE_EXTENSIONS = frozenset(
    "astro bash bat bzl c cc cjs clj cljs cljc cmake coffee cpp cs css cts cu cue cxx d dart ejs el elm erl ex exs f90 "
    "fish fs fsx gleam go gql gradle graphql groovy h hcl hh hpp hrl hs html htm hx hxx java jinja jl js jsp jsx kt "
    "kts less lisp lua m mjs ml mli mm mts nim nix pas php pl plist pm proto ps1 psm1 py pyi pyx r raku rakumod rb rkt "
    "rs sass scala scm scss sh sol sql svelte swift tcl tf thrift tmpl tpl ts tsx twig v vb vhd vim vue xsl zig "
    "zsh".split()
)
"""Extensions of source files."""

ChannelPatterns = tuple[tuple[str, ...], ...]


def classify_file_channel(path: str, patterns: Mapping[str, Sequence[str]]) -> Channel:
    """Return the channel of a file: the first of tests, docs, meta and generated whose patterns match.

    Patterns of meta match whole words and never match a source file.

    >>> rules = {"tests": ["**/tests/**", "!**/*.snap"], "docs": [], "meta": ["**/*log*.*"], "generated": ["**/*.snap"]}
    >>> paths = ("tests/a.py", "tests/a.snap", "log.txt", "login.txt", "log.py")
    >>> [classify_file_channel(path, rules).value for path in paths]
    ['tests', 'generated', 'meta', 'production', 'production']
    """
    return _match_channel_patterns(path, tuple(tuple(patterns.get(channel.value, ())) for channel in PATTERN_CHANNELS))


@lru_cache(maxsize=PATHS_CACHED_MAX)
def _match_channel_patterns(path: str, patterns: ChannelPatterns) -> Channel:
    folded = path.casefold()
    for channel, compiled in zip(PATTERN_CHANNELS, _compile_channel_patterns(patterns), strict=True):
        if channel is Channel.META and is_source_file(path):
            continue
        if _is_in_channel(path, folded, compiled, whole_words=channel is Channel.META):
            return channel
    return Channel.PRODUCTION


class _Pattern(Struct, frozen=True):
    """A pattern with two lower-case texts that every matching path contains: one anywhere, one at the end."""

    glob: str
    infix: str
    suffix: str
    includes: bool
    """Whether it includes files, or excludes them."""


@lru_cache(maxsize=16)
def _compile_channel_patterns(patterns: ChannelPatterns) -> tuple[tuple[_Pattern, ...], ...]:
    """Return the patterns of each channel, last first."""
    return tuple(tuple(_compile_channel_pattern(pattern) for pattern in reversed(channel)) for channel in patterns)


def _compile_channel_pattern(pattern: str) -> _Pattern:
    glob = pattern.removeprefix("!")
    fixed = re.split(r"[*?/]+", glob.casefold())
    return _Pattern(glob, infix=max(fixed, key=len), suffix=fixed[-1], includes=glob == pattern)


def _is_in_channel(path: str, folded: str, compiled: tuple[_Pattern, ...], *, whole_words: bool) -> bool:
    for pattern in compiled:
        # Checking the fixed texts first avoids nearly all matching.
        if (
            pattern.infix not in folded
            or not folded.endswith(pattern.suffix)
            or not matches_path_pattern(pattern.glob, path)
        ):
            continue
        if not (whole_words and _splits_pattern_word(pattern.glob, path)):
            return pattern.includes
    return False


def is_source_file(path: str) -> bool:
    """Return whether the extension is that of a source file."""
    return path.rpartition("/")[2].rpartition(".")[2].casefold() in SOURCE_EXTENSIONS


def _splits_pattern_word(glob: str, path: str) -> bool:
    """Return whether a word of the pattern occurs in the path only as part of another word."""
    return not set(split_identifier_words(glob)) <= set(split_identifier_words(path))


def refine_channel(channel: Channel, facts: Facts) -> Channel:
    """Return the channel by syntax: a production file may turn out to be tests; other channels stay."""
    return Channel.TESTS if channel is Channel.PRODUCTION and facts.is_test else channel


_COMMENT = lazy_pattern(rb"\s*(?:/[/*]|\*|#|--|;|<!--|%|\"\"\"|'''|\(\*|\{-)")
_GENERATED = lazy_pattern(
    rb"@generated\b(?![\w/-])|<auto-generated"
    rb"|\bdo not (?:edit|modify)\b.*\bgenerated\b|\bgenerated\b.*\bdo not (?:edit|modify)\b"
    rb"|\bthis (?:file|code) (?:is|was|has been) auto(?:matically)?[- ]?generated\b",
    re.IGNORECASE,
)


def is_generated_file(content_head: bytes) -> bool:
    """Return whether a comment in the first lines says that the file is generated.

    >>> heads = (b"// Code generated by stringer. DO NOT EDIT.\\npackage a\\n", b"x = '@generated'")
    >>> [is_generated_file(head) for head in heads]
    [True, False]
    """
    lines = content_head[:HEAD_BYTES].splitlines()
    return any(_COMMENT.match(line) is not None and _GENERATED.search(line) is not None for line in lines)
