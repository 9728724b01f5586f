"""From a path and bytes to facts: which language a file is in, and who reads it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from custody.core.paths import matches
from custody.dupes.facts.documents import markdown, restructured
from custody.dupes.facts.languages import go, java, javascript, python, rust, typescript
from custody.dupes.facts.model import Channel, Enough, FactLimits, Facts, Structure, humps
from custody.dupes.facts.syntax_tree import parse_syntax
from custody.dupes.facts.walk import LanguageReader

LIMITS = FactLimits()

READERS: Mapping[str, LanguageReader] = MappingProxyType(
    {
        **dict.fromkeys(("ts", "mts", "cts"), typescript.READER),
        "tsx": typescript.TSX_READER,
        **dict.fromkeys(("js", "jsx", "mjs", "cjs"), javascript.READER),
        **dict.fromkeys(("py", "pyi"), python.READER),
        "go": go.READER,
        "rs": rust.READER,
        "java": java.READER,
    }
)
"""Who reads the files with an ending."""
# ending → language, scanner
_DOCUMENTS: Mapping[str, tuple[str, Callable[[str, FactLimits], Structure]]] = MappingProxyType(
    {
        **dict.fromkeys(("md", "mdx", "markdown"), ("markdown", markdown)),
        "rst": ("restructuredtext", restructured),
        "txt": ("text", restructured),
    }
)


def language_of(path: str) -> str | None:
    """The language of a file by its ending; None if nobody here reads it.

    >>> language_of("src/a.tsx"), language_of("docs/a.MD"), language_of("Makefile")
    ('tsx', 'markdown', None)
    """
    ending = _ending(path)
    if ending in READERS:
        return READERS[ending].name
    return _DOCUMENTS[ending][0] if ending in _DOCUMENTS else None


def facts_of(path: str, content: bytes, limits: FactLimits = LIMITS, *, enough: Enough | None = None) -> Facts:
    """The facts of a file. Whatever it holds, there is an answer; ``degraded`` says what is missing from it and why.

    Time is bounded by ``limits`` for anything that people write. A text made to be slow can still keep a parser busy,
    so a caller who reads what strangers wrote gives ``enough``, which is asked while the file is parsed.
    """
    ending = _ending(path)
    if ending in _DOCUMENTS:
        return _document(*_DOCUMENTS[ending], content, limits)
    if ending not in READERS:
        return Facts(degraded="no reader for files of this kind")
    reader = READERS[ending]
    return reader.read(parse_syntax(reader.grammar, content, limits, enough), limits)


def _document(language: str, scan: Callable[[str, FactLimits], Structure], content: bytes, limits: FactLimits) -> Facts:
    if len(content) > limits.bytes_max:
        return Facts(language=language, degraded=f"larger than {limits.bytes_max:,} bytes: not read")
    return Facts(language=language, structure=scan(content.decode("utf-8", "replace"), limits))


def _ending(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2].casefold() if "." in name else ""


# Which channel a file belongs to: by its path, then by what its syntax shows.
# Patterns are those of ``core/paths.py``: ``?``, ``*`` and ``**``, capitals and small letters alike, always the whole
# path. The list of a channel is ordered: the last pattern that fits decides, and one that begins with ``!`` takes its
# files out again. The channels are tried in turn; production is the rest.


TRIED = (Channel.TESTS, Channel.DOCS, Channel.META, Channel.GENERATED)
PATHS_KEPT = 1 << 15
"""So many paths are remembered with their channel: the same files change again and again."""
HEAD_BYTES = 4_096
"""Of a file, so much is looked at for the words of a generator."""

SOURCE_ENDINGS = frozenset(
    "astro bash bat bzl c cc cjs clj cljs cljc cmake coffee cpp cs css cts cu cue cxx d dart ejs el elm erl ex exs f90 "
    "fish fs fsx gleam go gql gradle graphql groovy h hcl hh hpp hrl hs html htm hx hxx java jinja jl js jsp jsx kt "
    "kts less lisp lua m mjs ml mli mm mts nim nix pas php pl plist pm proto ps1 psm1 py pyi pyx r raku rakumod rb rkt "
    "rs sass scala scm scss sh sol sql svelte swift tcl tf thrift tmpl tpl ts tsx twig v vb vhd vim vue xsl zig "
    "zsh".split()
)
"""Endings of files that programs are made of."""

ChannelPatterns = tuple[tuple[str, ...], ...]


def channel_of(path: str, patterns: Mapping[str, Sequence[str]]) -> Channel:
    """The channel of the file at ``path``: the first one, in the order tests, docs, meta, generated, whose list fits.

    The rules for meta match whole words and never take a source file.

    >>> rules = {"tests": ["**/tests/**", "!**/*.snap"], "docs": [], "meta": ["**/*log*.*"], "generated": ["**/*.snap"]}
    >>> [channel_of(path, rules).value for path in ("tests/a.py", "tests/a.snap", "log.txt", "login.txt", "log.py")]
    ['tests', 'generated', 'meta', 'production', 'production']
    """
    return _channel_of(path, tuple(tuple(patterns.get(channel.value, ())) for channel in TRIED))


@lru_cache(maxsize=PATHS_KEPT)
def _channel_of(path: str, patterns: ChannelPatterns) -> Channel:
    folded = path.casefold()
    for channel, compiled in zip(TRIED, _compiled(patterns), strict=True):
        if channel is Channel.META and is_source(path):
            continue
        if _is_taken(path, folded, compiled, whole_words=channel is Channel.META):
            return channel
    return Channel.PRODUCTION


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A pattern with two texts that every fitting path has, in small letters: one anywhere, one at its end."""

    glob: str
    held: str
    tail: str
    takes: bool
    """Whether it takes files in; else it takes them out again."""


@lru_cache(maxsize=16)
def _compiled(patterns: ChannelPatterns) -> tuple[tuple[_Pattern, ...], ...]:
    """The patterns of each channel, the last first."""
    return tuple(tuple(_pattern(pattern) for pattern in reversed(channel)) for channel in patterns)


def _pattern(pattern: str) -> _Pattern:
    glob = pattern.removeprefix("!")
    fixed = re.split(r"[*?/]+", glob.casefold())
    return _Pattern(glob, held=max(fixed, key=len), tail=fixed[-1], takes=glob == pattern)


def _is_taken(path: str, folded: str, compiled: tuple[_Pattern, ...], *, whole_words: bool) -> bool:
    for pattern in compiled:
        # Looking for the fixed texts first spares nearly all of the matching.
        if pattern.held not in folded or not folded.endswith(pattern.tail) or not matches(pattern.glob, path):
            continue
        if not (whole_words and _splits_word(pattern.glob, path)):
            return pattern.takes
    return False


def is_source(path: str) -> bool:
    """Whether the ending says that programs are made of this file."""
    return path.rpartition("/")[2].rpartition(".")[2].casefold() in SOURCE_ENDINGS


def _splits_word(glob: str, path: str) -> bool:
    """Whether a word of the pattern stands in the path only as a part of another word."""
    return not set(humps(glob)) <= set(humps(path))


def refined(channel: Channel, facts: Facts) -> Channel:
    """The channel after a look at the syntax: what its path leaves in production may be tests; nothing else moves."""
    return Channel.TESTS if channel is Channel.PRODUCTION and facts.is_test else channel


_COMMENT = re.compile(rb"\s*(?:/[/*]|\*|#|--|;|<!--|%|\"\"\"|'''|\(\*|\{-)")
_GENERATED = re.compile(
    rb"@generated\b(?![\w/-])|<auto-generated"
    rb"|\bdo not (?:edit|modify)\b.*\bgenerated\b|\bgenerated\b.*\bdo not (?:edit|modify)\b"
    rb"|\bthis (?:file|code) (?:is|was|has been) auto(?:matically)?[- ]?generated\b",
    re.IGNORECASE,
)


def is_generated(content_head: bytes) -> bool:
    """Whether a comment among a file's first lines says that a program wrote it.

    >>> is_generated(b"// Code generated by stringer. DO NOT EDIT.\\npackage a\\n"), is_generated(b"x = '@generated'")
    (True, False)
    """
    lines = content_head[:HEAD_BYTES].splitlines()
    return any(_COMMENT.match(line) is not None and _GENERATED.search(line) is not None for line in lines)
