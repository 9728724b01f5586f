"""From a path and bytes to facts: which language a file is in, and who reads it."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from custody.dupes.facts.documents import markdown, restructured
from custody.dupes.facts.languages import go, java, javascript, python, rust, typescript
from custody.dupes.facts.limits import Enough, FactLimits
from custody.dupes.facts.model import Facts, Structure
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
